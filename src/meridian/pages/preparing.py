"""An act's record on its way to being prepared, and back into the form of the page it is made on.

A record as it was read enters, and leaves as what a deployment keeps of it. What was kept enters again, perhaps after the
record was declared otherwise, and leaves as a form's pairs, with what does not read any more on its cell.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any

from meridian.errors import Problem
from meridian.pages.declaring import Declaration
from meridian.pages.typed import text_of
from meridian.records import (
    EVERY,
    Kind,
    Path,
    RecordKind,
    Rows,
    Shape,
    Step,
    parse_path,
    print_path,
    read_json,
    write_form,
    write_value,
)
from meridian.records import Mapping as Entries

__all__ = ["given_back", "pairs_in", "pairs_of"]


def given_back(declaration: Declaration, record: object, said: object) -> dict[str, Any]:
    """What a plugin gives back of the record that an act would be called with, and what its check `said`: the record without
    what is secret, `alike`, which it shares with every record that a form would say alike, and the accounts it names."""
    shape = declaration.shape
    assert shape is not None, "a record was read"  # noqa: S101  ours to be right about
    value = _open(RecordKind(shape), write_value(record))
    pairs = sorted(pair for pair in write_form(record) if not _is_secret(shape, pair[0]))
    return {
        "outcome": "unchanged",
        "data": said,
        "record": value,
        "alike": hashlib.sha256(json.dumps(pairs).encode()).hexdigest(),
        "accounts": sorted({name for path in declaration.accounts for name in _texts_at(value, parse_path(path))}),
    }


def pairs_of(shape: Shape[Any], arguments: str) -> tuple[list[tuple[str, str]], tuple[Problem, ...]]:
    """A form's pairs for a record that was kept as JSON, and every cell of it that does not read as `shape`."""
    reading = read_json(shape, arguments)
    problems = tuple(each for each in reading.problems if not _is_secret(shape, each.path))
    if reading.record is not None:
        return [pair for pair in write_form(reading.record) if not _is_secret(shape, pair[0])], problems
    return pairs_in(json.loads(arguments)), problems


def pairs_in(arguments: dict[str, Any]) -> list[tuple[str, str]]:
    """A form's pairs for a record's JSON, of whatever shape."""
    return list(_pairs(arguments, ()))


def _open(kind: Kind, value: Any) -> Any:
    """A value of the record's JSON, without what is secret in it."""
    if value is None:
        return None
    match kind:
        case RecordKind(shape):
            return {each.name: _open(each.kind, value[each.name]) for each in shape.fields if not each.secret}
        case Rows(item):
            return [] if item.secret else [_open(item.kind, each) for each in value]
        case Entries(item):
            return {} if item.secret else {key: _open(item.kind, each) for key, each in value.items()}
        case _:
            return value


def _is_secret(shape: Shape[Any], path: str) -> bool:
    """Whether the cell at `path`, or a record around it, is secret."""
    try:
        steps = parse_path(path)
    except ValueError:
        return False
    cells = (shape.at(steps[: end + 1]) for end in range(len(steps)))
    return any(cell is not None and cell.secret for cell in cells)


def _texts_at(value: Any, steps: Sequence[Step]) -> Iterator[str]:
    """Every text that a pattern path leads to in the record's JSON."""
    if value is None:
        return
    if not steps:
        yield str(value)
    elif steps[0] == EVERY:
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts_at(each, steps[1:])
    else:
        yield from _texts_at(value.get(steps[0]), steps[1:])


def _pairs(value: Any, path: Path) -> Iterator[tuple[str, str]]:
    """The pairs of one value, and of those below it."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _pairs(each, (*path, key))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from _pairs(each, (*path, number))
    elif value is not None:
        yield print_path(path), text_of(value)
