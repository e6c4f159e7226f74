"""Records for property tests: every value a declared field may hold.

A record class goes in, a Hypothesis strategy of its instances comes out; a record goes in, what a browser or an agent would
send for it comes out. Hypothesis is loaded when a strategy is asked for (the extra `testing` brings it), never at import.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, TypeVar

from meridian.records import (
    Boolean,
    Cell,
    Choice,
    Date,
    DateTime,
    DecimalKind,
    Integer,
    JsonObject,
    Mapping,
    RecordKind,
    Rows,
    Shape,
    Text,
    Time,
    Uuid,
    shape_of,
    write_form,
    write_json,
)

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["as_form", "as_json", "records"]

R = TypeVar("R")

MAX_PLACES: Final = 9
"""How many decimal places a Decimal has at most where its field says nothing of them."""
MAX_NUMBER: Final = 10**99
"""How large a number may be: with one digit more it would not read."""


def records(cls: type[R]) -> SearchStrategy[R]:
    """Instances of the record `cls` that keep its bounds, each as if it had been read: a field with a default is often left
    out. What a record's own `__post_init__` refuses with ValueError is not drawn.

    >>> from dataclasses import dataclass
    >>> from hypothesis import given
    >>> @dataclass(frozen=True)
    ... class Lot:
    ...     quantity: Decimal
    >>> @given(records(Lot))
    ... def test_a_lot_has_digits(lot):
    ...     assert lot.quantity.is_finite()
    >>> test_a_lot_has_digits()
    """
    return _record(shape_of(cls))


def as_form(record: object) -> list[tuple[str, str]]:
    """The pairs a browser posts for `record`, each named by its path."""
    return write_form(record)


def as_json(record: object) -> bytes:
    """The JSON an agent sends for `record`."""
    return write_json(record)


def _record(shape: Shape[R]) -> SearchStrategy[R]:
    from hypothesis import reject
    from hypothesis import strategies as st

    def build(given: dict[str, Any]) -> R:
        try:
            return shape.record(**given)
        except ValueError:
            reject()

    needed = {each.name: values_of(each) for each in shape.fields if each.required}
    others = {each.name: values_of(each) for each in shape.fields if not each.required}
    return st.fixed_dictionaries(needed, optional=others).map(build)


def values_of(cell: Cell) -> SearchStrategy[Any]:
    """Values that may stand in `cell`, None among them where it is allowed."""
    from hypothesis import strategies as st

    return st.none() | _kind(cell) if cell.nullable else _kind(cell)


def _kind(cell: Cell) -> SearchStrategy[Any]:
    from hypothesis import strategies as st

    match cell.kind:
        case Text():
            return _text(cell)
        case Integer():
            return _integer(cell)
        case Boolean():
            return st.booleans()
        case DecimalKind():
            return _decimal(cell)
        case Date():
            return st.dates()
        case DateTime():
            offsets = st.integers(-23 * 60, 23 * 60).map(lambda minutes: dt.timezone(dt.timedelta(minutes=minutes)))
            return st.datetimes(timezones=st.just(dt.UTC) | offsets)
        case Time():
            return st.times()
        case Uuid():
            return st.uuids()
        case Choice(values, enum):
            return st.sampled_from(values if enum is None else list(enum))
        case RecordKind(shape):
            return _record(shape)
        case Rows(item, as_tuple):
            rows = st.lists(values_of(item), min_size=cell.min_length or 0, max_size=cell.max_length)
            return rows.map(tuple) if as_tuple else rows
        case Mapping(item):
            return st.dictionaries(_characters(), values_of(item))
        case JsonObject():
            return _json_object()


def _characters(min_size: int = 0, max_size: int | None = None) -> SearchStrategy[str]:
    from hypothesis import strategies as st

    alphabet = st.characters(exclude_categories=("Cc", "Cs"), include_characters="\t\n")
    return st.text(alphabet, min_size=min_size, max_size=max_size)


_UNREADABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]").search


def _text(cell: Cell) -> SearchStrategy[str]:
    from hypothesis import strategies as st

    pattern = None if cell.pattern is None else re.compile(cell.pattern, re.ASCII)
    least, most = cell.min_length or 0, cell.max_length

    def fits(text: str) -> bool:
        return (
            least <= len(text)
            and (most is None or len(text) <= most)
            and (pattern is None or pattern.fullmatch(text) is not None)
            and not _UNREADABLE(text)
        )

    if cell.choices:
        return st.sampled_from([each for each in cell.choices if isinstance(each, str) and fits(each)])
    if pattern is None:
        return _characters(least, most)
    return st.from_regex(pattern, fullmatch=True).filter(fits)


def _integer(cell: Cell) -> SearchStrategy[int]:
    from hypothesis import strategies as st

    low = -MAX_NUMBER if cell.min is None else int(cell.min)
    high = MAX_NUMBER if cell.max is None else int(cell.max)
    if cell.choices:
        return st.sampled_from([each for each in cell.choices if isinstance(each, int) and low <= each <= high])
    return st.integers(low, high)


def _decimal(cell: Cell) -> SearchStrategy[Decimal]:
    from hypothesis import strategies as st

    most = MAX_PLACES if cell.places is None else cell.places
    low = Fraction(-MAX_NUMBER if cell.min is None else cell.min)
    high = Fraction(MAX_NUMBER if cell.max is None else cell.max)

    def units(places: int) -> tuple[int, int]:
        """The least and the greatest number of this many places, in units of the last."""
        scale: int = 10**places
        return max(math.ceil(low * scale), -MAX_NUMBER), min(math.floor(high * scale), MAX_NUMBER)

    def of(places: int) -> SearchStrategy[Decimal]:
        return st.integers(*units(places)).map(lambda unit: Decimal(f"{unit}E-{places}"))

    enough = [places for places in range(most + 1) if units(places)[0] <= units(places)[1]]
    return st.sampled_from(enough).flatmap(of)


def _json_object() -> SearchStrategy[dict[str, Any]]:
    from hypothesis import strategies as st

    texts = st.text(st.characters(exclude_categories=["Cs"]))
    numbers = st.integers(-MAX_NUMBER, MAX_NUMBER) | st.floats(allow_nan=False, allow_infinity=False)
    values = st.recursive(
        st.none() | st.booleans() | numbers | texts,
        lambda inside: st.lists(inside, max_size=4) | st.dictionaries(texts, inside, max_size=4),
        max_leaves=8,
    )
    return st.dictionaries(texts, values)
