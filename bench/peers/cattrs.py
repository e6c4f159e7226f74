"""cattrs structures the dataclasses, with its detailed validation, which names every wrong cell."""

from __future__ import annotations

import json
import re
from datetime import date
from decimal import Decimal
from typing import Any

from cattrs import ClassValidationError, transform_error
from cattrs.preconf.json import make_converter

from bench.corpus import Answer
from bench.peers.exact import amount, day
from bench.records import RECORDS, anew

_AT = re.compile(r" @ \$\.?(.*)$")

converter = make_converter(detailed_validation=True, forbid_extra_keys=True)
converter.register_structure_hook(Decimal, lambda value, _: amount(value))
converter.register_unstructure_hook(Decimal, str)
converter.register_structure_hook(date, lambda value, _: day(value))


def _exactly(kind: type) -> None:
    def read(value: Any, _: object) -> Any:
        if type(value) is not kind:
            raise ValueError(f"it is no {kind.__name__}")
        return value

    converter.register_structure_hook(kind, read)


for _kind in (str, int, bool):
    _exactly(_kind)


def from_json(name: str, body: bytes) -> Answer:
    try:
        return converter.structure(json.loads(body), RECORDS[name]), ()
    except ClassValidationError as wrong:
        return None, [(_AT.search(line)[1], line) for line in transform_error(wrong)]  # type: ignore[index]


def declare(name: str) -> object:
    return converter.get_structure_hook(anew(name))


def dump(_name: str, record: Any) -> str:
    return json.dumps(converter.unstructure(record), separators=(",", ":"), ensure_ascii=False)
