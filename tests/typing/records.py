"""What an editor knows of records: a shape, a reading and a field keep the type of their record."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, assert_type

import meridian
from meridian.records import Reading, Shape, read_form, read_json, read_value, shape_of, write_form, write_json


@dataclass(frozen=True)
class Lot:
    quantity: Decimal = meridian.field(description="How many were held.", places=8)
    cost: Decimal | None = meridian.field(default=None, description="What they cost together.")
    tags: list[str] = meridian.field(default_factory=list)


@dataclass(frozen=True)
class Note:
    text: Annotated[str, meridian.field(description="What is to be remembered.")]
    account: str
    tag: Annotated[str, meridian.field(description="A word for it.")] = ""


def a_field_said_in_its_annotation_may_stand_before_a_bare_one() -> None:
    assert_type(Note("Call back.", "A-1").tag, str)


def a_shape_is_of_its_record() -> None:
    assert_type(shape_of(Lot), Shape[Lot])


def a_reading_is_of_its_record() -> None:
    assert_type(read_json(shape_of(Lot), b"{}"), Reading[Lot])
    assert_type(read_value(shape_of(Lot), {}), Reading[Lot])
    assert_type(read_form(shape_of(Lot), [("quantity", "1")]), Reading[Lot])
    assert_type(read_form(shape_of(Lot), b"quantity=1").record, Lot | None)


def a_record_is_written_as_bytes_or_pairs() -> None:
    assert_type(write_json(Lot(Decimal(1))), bytes)
    assert_type(write_form(Lot(Decimal(1))), list[tuple[str, str]])
