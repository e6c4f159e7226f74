"""mashumaro generates a decoder for each dataclass."""

from __future__ import annotations

from typing import Any

from mashumaro.codecs.json import JSONDecoder, JSONEncoder
from mashumaro.exceptions import InvalidFieldValue
from mashumaro.jsonschema import build_json_schema

from bench.corpus import Answer
from bench.records import RECORDS, anew

_DECODE = {name: JSONDecoder(record).decode for name, record in RECORDS.items()}
_ENCODE = {name: JSONEncoder(record).encode for name, record in RECORDS.items()}


def from_json(name: str, body: bytes) -> Answer:
    try:
        return _DECODE[name](body), ()
    except InvalidFieldValue as wrong:
        return None, [(wrong.field_name, str(wrong))]


def schema(name: str) -> dict[str, Any]:
    return build_json_schema(RECORDS[name]).to_dict()


def declare(name: str) -> object:
    return JSONDecoder(anew(name))


def dump(name: str, record: Any) -> Any:
    return _ENCODE[name](record)
