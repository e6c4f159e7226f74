"""The strategies a plugin's author draws records from."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated

import pytest
from hypothesis import find, given
from hypothesis.errors import NoSuchExample

from meridian.records import field, read_form, read_json, shape_of
from meridian.testing.strategies import as_form, as_json, records


@dataclass(frozen=True)
class Price:
    amount: Decimal = field(places=2, min="0.005", max="0.02")
    currency: str = field(pattern="[A-Z]{3}", default="EUR")
    lots: list[Annotated[int, field(min=1, max=3)]] = field(default_factory=list, min_length=0, max_length=2)


@given(records(Price))
def test_records_keep_their_bounds(price):
    assert price.amount in (Decimal("0.01"), Decimal("0.02"))
    assert len(price.currency) == 3
    assert set(price.lots) <= {1, 2, 3}
    assert len(price.lots) <= 2


@given(records(Price))
def test_a_form_and_its_json_say_the_record_they_were_made_of(price):
    shape = shape_of(Price)
    assert read_form(shape, as_form(price)).record == read_json(shape, as_json(price)).record == price


@dataclass(frozen=True)
class Span:
    first: int = field(min=0, max=9)
    last: int = field(min=0, max=9)

    def __post_init__(self) -> None:
        if self.last < self.first:
            raise ValueError("it ends before it begins")


@given(records(Span))
def test_what_a_record_refuses_itself_is_not_drawn(span):
    assert span.first <= span.last


def test_a_field_with_a_default_is_sometimes_left_out_and_sometimes_not():
    assert find(records(Price), lambda price: price.currency == "EUR")
    assert find(records(Price), lambda price: price.currency != "EUR")
    with pytest.raises(NoSuchExample):
        find(records(Price), lambda price: price.currency == "eur")
