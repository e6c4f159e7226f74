"""msgspec's frozen Structs, which refuse what they do not name."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct, field

from bench.corpus import Answer
from bench.peers.tree import tree


class Record(Struct, frozen=True, forbid_unknown_fields=True):  # type: ignore[call-arg]
    pass


class S(Record):
    account: Annotated[str, Meta(max_length=40)]
    count: Annotated[int, Meta(ge=0, le=1_000_000)]
    active: bool
    price: Decimal
    day: date


class Lot(Record):
    quantity: Decimal
    cost: Decimal | None = None
    acquired: date | None = None


class M(Record):
    account: Annotated[str, Meta(max_length=40)]
    reason: Annotated[str, Meta(max_length=400)] = ""
    lots: list[Lot] = field(default_factory=list)


class Position(Record):
    settled: Decimal | None = None
    lots: list[Lot] = field(default_factory=list)


class L(Record):
    account: Annotated[str, Meta(max_length=40)]
    reason: Annotated[str, Meta(max_length=400)] = ""
    positions: list[Position] = field(default_factory=list)


_RECORDS: dict[str, type[Record]] = {"S": S, "M": M, "L": L}
_DECODE = {name: msgspec.json.Decoder(record).decode for name, record in _RECORDS.items()}
_ENCODE = msgspec.json.Encoder().encode


def from_json(name: str, body: bytes) -> Answer:
    try:
        return _DECODE[name](body), ()
    except msgspec.ValidationError as wrong:
        return None, _said(wrong)


def from_form(name: str, body: bytes) -> Answer:
    try:
        return msgspec.convert(tree(body, ticked="true"), _RECORDS[name], strict=False), ()
    except msgspec.ValidationError as wrong:
        return None, _said(wrong)


def schema(name: str) -> dict[str, Any]:
    return msgspec.json.schema(_RECORDS[name])


def dump(_name: str, record: Any) -> bytes:
    return _ENCODE(record)


def _said(wrong: msgspec.ValidationError) -> list[tuple[str, str]]:
    message, _, at = str(wrong).partition(" - at `$")
    return [(at.removesuffix("`").removeprefix("."), message)]
