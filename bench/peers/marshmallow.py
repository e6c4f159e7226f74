"""marshmallow loads with schemas written beside the dataclasses, which make them when all is well."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from marshmallow import RAISE, Schema, ValidationError, fields, post_load
from marshmallow.validate import Length, Range

from bench import records
from bench.corpus import Answer
from bench.peers.tree import path, tree


class Record(Schema):
    made: type

    class Meta:
        unknown = RAISE

    @post_load
    def make(self, data: dict[str, Any], **_: Any) -> Any:
        return self.made(**data)


class S(Record):
    made = records.S
    account = fields.String(required=True, validate=Length(max=40))
    count = fields.Integer(required=True, strict=True, validate=Range(0, 1_000_000))
    active = fields.Boolean(required=True)
    price = fields.Decimal(required=True, as_string=True, validate=Range(min=0))
    day = fields.Date(required=True)


class SOfAForm(S):
    count = fields.Integer(required=True, validate=Range(0, 1_000_000))


class Lot(Record):
    made = records.Lot
    quantity = fields.Decimal(required=True, as_string=True)
    cost = fields.Decimal(load_default=None, allow_none=True, as_string=True)
    acquired = fields.Date(load_default=None, allow_none=True)


class M(Record):
    made = records.M
    account = fields.String(required=True, validate=Length(max=40))
    reason = fields.String(load_default="", validate=Length(max=400))
    lots = fields.List(fields.Nested(Lot), load_default=list)


class Position(Record):
    made = records.Position
    settled = fields.Decimal(load_default=None, allow_none=True, as_string=True)
    lots = fields.List(fields.Nested(Lot), load_default=list)


class L(Record):
    made = records.L
    account = fields.String(required=True, validate=Length(max=40))
    reason = fields.String(load_default="", validate=Length(max=400))
    positions = fields.List(fields.Nested(Position), load_default=list)


_SCHEMAS: dict[str, Schema] = {"S": S(), "M": M(), "L": L()}
_OF_FORMS = {**_SCHEMAS, "S": SOfAForm()}


def from_json(name: str, body: bytes) -> Answer:
    return _load(_SCHEMAS[name], json.loads(body))


def from_form(name: str, body: bytes) -> Answer:
    return _load(_OF_FORMS[name], tree(body))


def dump(name: str, record: Any) -> str:
    return json.dumps(_SCHEMAS[name].dump(record), separators=(",", ":"), ensure_ascii=False)


def _load(schema: Schema, sent: Any) -> Answer:
    try:
        return schema.load(sent), ()
    except ValidationError as wrong:
        return None, list(_leaves(wrong.messages, ()))


def _leaves(messages: Any, at: tuple[Any, ...]) -> Iterator[tuple[str, str]]:
    if isinstance(messages, dict):
        for step, each in messages.items():
            yield from _leaves(each, (*at, step))
    else:
        yield path(at), messages[0]
