"""Meridian."""

from __future__ import annotations

from typing import Any

from bench.corpus import Answer
from bench.records import RECORDS, anew
from meridian.records import Reading, Shape, read_form, read_json, shape_of, write_json
from meridian.records import schema as schema_of

_SHAPES: dict[str, Shape[Any]] = {name: shape_of(record) for name, record in RECORDS.items()}


def from_json(name: str, body: bytes) -> Answer:
    return _answer(read_json(_SHAPES[name], body))


def from_form(name: str, body: bytes) -> Answer:
    return _answer(read_form(_SHAPES[name], body))


def schema(name: str) -> dict[str, Any]:
    return schema_of(_SHAPES[name])


def declare(name: str) -> object:
    shape: Shape[Any] = shape_of(anew(name))
    return read_json(shape, b"{}"), read_form(shape, b"")


def dump(_name: str, record: Any) -> bytes:
    return write_json(record)


def _answer(reading: Reading[Any]) -> Answer:
    return reading.record, [(problem.path, problem.message) for problem in reading.problems]
