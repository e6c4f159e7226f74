"""pydantic's own dataclasses, frozen and strict, as its documentation shows them."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Annotated, Any

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from bench.corpus import Answer
from bench.peers.pydantic_model import said
from bench.peers.tree import tree

STRICT = ConfigDict(strict=True, extra="forbid")


@dataclass(frozen=True, config=STRICT)
class S:
    account: Annotated[str, Field(max_length=40)]
    count: Annotated[int, Field(ge=0, le=1_000_000)]
    active: bool
    price: Annotated[Decimal, Field(ge=0, decimal_places=4)]
    day: date


@dataclass(frozen=True, config=STRICT)
class Lot:
    quantity: Annotated[Decimal, Field(decimal_places=6)]
    cost: Decimal | None = None
    acquired: date | None = None


@dataclass(frozen=True, config=STRICT)
class M:
    account: Annotated[str, Field(max_length=40)]
    reason: Annotated[str, Field(max_length=400)] = ""
    lots: list[Lot] = Field(default_factory=list)


@dataclass(frozen=True, config=STRICT)
class Position:
    settled: Decimal | None = None
    lots: list[Lot] = Field(default_factory=list)


@dataclass(frozen=True, config=STRICT)
class L:
    account: Annotated[str, Field(max_length=40)]
    reason: Annotated[str, Field(max_length=400)] = ""
    positions: list[Position] = Field(default_factory=list)


_ADAPTERS: dict[str, TypeAdapter[Any]] = {"S": TypeAdapter(S), "M": TypeAdapter(M), "L": TypeAdapter(L)}


def from_json(name: str, body: bytes) -> Answer:
    try:
        return _ADAPTERS[name].validate_json(body), ()
    except ValidationError as wrong:
        return None, said(wrong)


def from_form(name: str, body: bytes) -> Answer:
    try:
        return _ADAPTERS[name].validate_python(tree(body), strict=False), ()
    except ValidationError as wrong:
        return None, said(wrong)


def schema(name: str) -> dict[str, Any]:
    return _ADAPTERS[name].json_schema()


def dump(name: str, record: Any) -> bytes:
    return _ADAPTERS[name].dump_json(record)
