"""The Python that Meridian writes for the record of `docs/how-a-record-is-read.md`, put where that page shows it."""

from __future__ import annotations

import linecache
import re
import sys
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

from meridian.records import read_form, read_json, shape_of
from meridian.records.generating import record_reader

__all__ = ["page"]

_RECORD = re.compile(r"```python\n(.*?)```", re.DOTALL)
_PLACE = re.compile(r"(<!-- written: (?P<name>[^>]+) -->\n).*?(?=<!-- end -->)", re.DOTALL)


def page(text: str) -> str:
    """`text` with each place for a listing filled in with what is written for the page's own record, `Confirmation`."""
    page = sys.modules["the_page"] = ModuleType("the_page")
    declared = _RECORD.search(text)
    assert declared
    exec(declared[1], vars(page))
    shape: Any = shape_of(page.Confirmation)
    for _ in range(2):  # the first reading writes none for the record, and what is written for a list is written when one comes
        read_json(shape, b'{"lots": [{}]}')
        read_form(shape, b"lots[0].cost=1")
    written = dict(_listings(record_reader(shape, "JSON"))) | dict(_listings(record_reader(shape, "form")))
    return _PLACE.sub(lambda found: f"{found[1]}```py\n{written[found['name']]}```\n\n", text)


def _listings(reader: Any) -> Iterator[tuple[str, str]]:
    """What was written for `reader`, by name, and for those that it calls."""
    file = reader.__code__.co_filename
    yield file, "".join(linecache.getlines(file, reader.__globals__))
    for each in reader.__globals__.values():
        if isinstance(each, FunctionType) and each is not reader and each.__code__.co_filename.startswith("meridian "):
            yield from _listings(each)
