"""pydantic's frozen, strict models, with an amount held to its text by a pattern: they do all the work but for forms' names."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationError
from pydantic_core import CoreSchema, core_schema

from bench.corpus import Answer
from bench.peers.tree import path, tree


class Amount:
    """A Decimal out of a text of digits, with so many places at most."""

    def __init__(self, sign: str = "-?", places: int | None = None) -> None:
        digits = "+" if places is None else f"{{1,{places}}}"
        self.text = core_schema.str_schema(pattern=rf"^{sign}[0-9]+(\.[0-9]{digits})?$", strict=True)

    def __get_pydantic_core_schema__(self, _source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        as_text = core_schema.to_string_ser_schema()
        return core_schema.no_info_after_validator_function(Decimal, self.text, serialization=as_text)

    def __get_pydantic_json_schema__(self, _schema: CoreSchema, handler: GetJsonSchemaHandler) -> Any:
        return handler(self.text)


class Record(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class S(Record):
    account: Annotated[str, Field(max_length=40)]
    count: Annotated[int, Field(ge=0, le=1_000_000)]
    active: bool
    price: Annotated[Decimal, Amount(sign="", places=4)]
    day: date


class Lot(Record):
    quantity: Annotated[Decimal, Amount(places=6)]
    cost: Annotated[Decimal, Amount()] | None = None
    acquired: date | None = None


class M(Record):
    account: Annotated[str, Field(max_length=40)]
    reason: Annotated[str, Field(max_length=400)] = ""
    lots: list[Lot] = Field(default_factory=list)


class Position(Record):
    settled: Annotated[Decimal, Amount()] | None = None
    lots: list[Lot] = Field(default_factory=list)


class L(Record):
    account: Annotated[str, Field(max_length=40)]
    reason: Annotated[str, Field(max_length=400)] = ""
    positions: list[Position] = Field(default_factory=list)


_RECORDS: dict[str, type[Record]] = {"S": S, "M": M, "L": L}


def from_json(name: str, body: bytes) -> Answer:
    try:
        return _RECORDS[name].model_validate_json(body), ()
    except ValidationError as wrong:
        return None, said(wrong)


def from_form(name: str, body: bytes) -> Answer:
    try:
        return _RECORDS[name].model_validate(tree(body), strict=False), ()
    except ValidationError as wrong:
        return None, said(wrong)


def schema(name: str) -> dict[str, Any]:
    return _RECORDS[name].model_json_schema()


def dump(_name: str, record: Any) -> str:
    return record.model_dump_json()


def said(wrong: ValidationError) -> list[tuple[str, str]]:
    errors = wrong.errors(include_url=False, include_context=False, include_input=False)
    return [(path(error["loc"]), error["msg"]) for error in errors]
