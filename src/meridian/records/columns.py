"""A long list, read by column: every row's `cost` at once, then every row's `acquired`.

The rows of a list go in; their values come out, or `NotPlainError` where one of them is not plainly good: then the list is read
by row, which has the rules and the words of every problem. So nothing here finds a problem, and all columns are looked at
before a value is made. A list in every row is chained with those of the other rows, read as one column, and cut again.

JSON's columns have numbers, booleans, lists, objects and nulls where a form's have texts, and rows by their number. In a form,
what was left blank is absent, and a row that says nothing is none: one such, and the list is read by row.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from itertools import chain, islice, repeat, starmap
from typing import Any, Final
from uuid import UUID

from meridian.records import cells
from meridian.records.cells import Found
from meridian.records.shape import (
    MAX_DIGITS,
    MAX_ROWS,
    Boolean,
    Cell,
    Choice,
    Date,
    DateTime,
    DecimalKind,
    FieldShape,
    Integer,
    JsonObject,
    Kind,
    Mapping,
    RecordKind,
    Rows,
    Shape,
    Text,
    Time,
    Uuid,
    in_order,
    is_clean,
)

__all__: list[str] = []

LONG: Final = 16
"""How many rows a list has that is worth reading by column; wrong input is read twice, the first time in vain."""

Column = Callable[[list[Any], Found], Iterable[Any]]
"""Reads what came in one column, of which there is some, to its values: as they are taken, wherever they can no longer fail."""


class NotPlainError(ValueError):
    """Something in a column that only the reader by row can tell the value of, or the problem."""


_ABSENT: Final = object()


def reads(kind: Kind) -> bool:
    """Whether there is a column of `kind`, which there is none of where dicts are in it."""
    match kind:
        case Mapping() | JsonObject():
            return False
        case Rows(item):
            return reads(item.kind)
        case RecordKind(shape):
            kept = shape.derived.get("by column")
            if kept is None:
                kept = shape.derived["by column"] = bool(shape.fields) and all(reads(each.kind) for each in shape.fields)
            return bool(kept)
    return True


def list_reader(cell: Cell, by_row: Callable[[Any, Any, Found], Any], *, form: bool) -> Callable[[Any, Any, Found], Any]:
    """What reads a long list in `cell` by column, and else by row; then the lists in it do not try again."""
    column = column_of(cell, form=form)

    def read(rows: Any, at: Any, found: Found) -> Any:
        members = found.members
        try:
            (value,) = column([rows], found)
        except ValueError:  # what is not plain, a day outside the calendar, or what the record's own `__post_init__` refused
            found.members = members
        else:
            return value
        found.by_column = False
        kept = by_row(rows, at, found)
        found.by_column = True
        return kept

    return read


def column_of(cell: Cell, *, form: bool) -> Column:
    """What reads a column of `cell`, nulls of JSON among them where it may be null."""
    plain = _column(cell, form=form)
    wanted = {(_FORM_TYPES if form else _JSON_TYPES).get(type(cell.kind), str)}
    allowed = wanted | {type(None)} if cell.nullable else wanted

    def read(column: list[Any], found: Found) -> Iterable[Any]:
        types = set(map(type, column))
        if types == wanted:
            return plain(column, found)
        if not types <= allowed:
            raise NotPlainError
        given = [each for each in column if each is not None]
        if not given:
            return column
        made, nulls = iter(plain(given, found)), repeat(None)
        return map(next, [nulls if each is None else made for each in column])

    return read


_JSON_TYPES: Final[dict[type[Kind], type]] = {Integer: int, Boolean: bool, Rows: list, RecordKind: dict}
"""What Python's decoder makes of the JSON of a kind, where that is not a text."""
_FORM_TYPES: Final[dict[type[Kind], type]] = {Rows: dict, RecordKind: dict}
"""What `tree` makes of the cells of a kind, where that is not a text."""


def _column(cell: Cell, *, form: bool) -> Column:
    match cell.kind:
        case RecordKind(shape):
            return column_of_record(shape, form=form)
        case Rows():
            return _lists(cell, cell.kind, form=form)
        case Integer():
            numbers = _matching(f"-?[0-9]{{1,{MAX_DIGITS}}}+", int) if form else _as_they_are
            return lambda column, found: _bounded(cell, list(numbers(column, found)))
        case Boolean():
            return _choices(cells.TRUTHS) if form else _as_they_are
        case Text():
            return _texts(cell)
        case DecimalKind():
            return _decimals(cell)
        case Choice(values, enum):
            known = {value: value if enum is None else enum(value) for value in values}
            return _choices(known)
        case Date():
            return _at_once(_matching(cells.DAY, dt.date.fromisoformat))
        case DateTime():
            return _at_once(_matching(cells.MOMENT, dt.datetime.fromisoformat))
        case Time():
            return _matching(cells.CLOCK, dt.time.fromisoformat)
        case Uuid():
            return _matching(cells.UUID_TEXT, UUID)
    raise AssertionError(f"{cell.kind} has no column")


# ── Records and lists ──────────────────────────────────────────────────────


def column_of_record(shape: Shape[Any], *, form: bool) -> Column:
    """What reads rows of `shape`, each a dict of what came by the fields' names."""
    columns = [(field, column_of(field, form=form)) for field in shape.fields]
    make = _maker(shape)
    told = frozenset(field.name for field in shape.fields if not isinstance(field.kind, Boolean))
    may_be_blank = form and all(isinstance(field.kind, Boolean | Rows) or not field.required for field in shape.fields)

    def read(rows: list[Any], found: Found) -> Iterable[Any]:
        if may_be_blank and any(map(told.isdisjoint, rows)):  # since a box that is not ticked says nothing
            raise NotPlainError
        members = 0
        values: list[Iterable[Any]] = []
        for field, column in columns:
            name = field.name
            try:
                came = [row[name] for row in rows]
            except KeyError:
                given = [row[name] for row in rows if name in row]
                members += len(given)
                made = iter(column(given, found))
                defaults = _form_defaults(field, found) if form else _defaults(field)
                values.append(map(next, [made if name in row else defaults for row in rows]))
            else:
                members += len(came)
                values.append(column(came, found))
        if members != sum(map(len, rows)):  # a name that is no field's
            raise NotPlainError
        found.members += members
        return make(*values)

    return read


def _defaults(field: FieldShape) -> Iterator[Any]:
    """What a field is in the rows that have none, as often as it is asked for."""
    if field.required:
        raise NotPlainError
    return repeat(field.default) if field.default_factory is None else starmap(field.default_factory, repeat(()))


def _form_defaults(field: FieldShape, found: Found) -> Iterator[Any]:
    kind = field.kind
    if isinstance(kind, Boolean) and not field.nullable:
        return repeat(found.query and not field.required and field.make_default() is True)
    if isinstance(kind, Rows) and (field.required or not field.nullable or field.make_default() is not None):
        if field.min_length:
            raise NotPlainError
        return starmap(tuple if kind.as_tuple else list, repeat(()))
    return _defaults(field)


def _maker(shape: Shape[Any]) -> Callable[..., Iterator[Any]]:
    """What makes records of their fields' columns, calling the class as Python does."""
    record = shape.record
    if in_order(shape):
        return lambda *columns: map(record, *columns)
    names = [field.name for field in shape.fields]
    return lambda *columns: (record(**dict(zip(names, values, strict=True))) for values in zip(*columns, strict=True))


def _lists(cell: Cell, kind: Rows, *, form: bool) -> Column:
    column = column_of(kind.item, form=form)
    low = max(cell.min_length or 0, 1 if form else 0)
    high = MAX_ROWS if cell.max_length is None else min(cell.max_length, MAX_ROWS)
    whole = tuple if kind.as_tuple else list

    def read(lists: list[Any], found: Found) -> Iterable[Any]:
        if form:
            lists = [[rows[number] for number in sorted(rows)] for rows in lists]
        lengths = list(map(len, lists))
        if min(lengths) < low or max(lengths) > high:
            raise NotPlainError
        made = iter(column(list(chain.from_iterable(lists)), found))
        return (cut(made, length) for length in lengths)

    def cut(made: Iterator[Any], length: int) -> Any:
        rows = whole(islice(made, length))
        if len(rows) != length:  # the author's own code let a StopIteration through, which ends whatever goes on by `next`
            raise NotPlainError
        return rows

    return read


# ── Single cells ───────────────────────────────────────────────────────────


def _as_they_are(column: list[Any], _: Found) -> list[Any]:
    return column


def _bounded(cell: Cell, numbers: list[Any]) -> list[Any]:
    least = 1 - 10**MAX_DIGITS if cell.min is None else cell.min
    most = 10**MAX_DIGITS - 1 if cell.max is None else cell.max
    if min(numbers) < least or max(numbers) > most:
        raise NotPlainError
    if cell.choices and not set(cell.choices).issuperset(numbers):
        raise NotPlainError
    return numbers


def _texts(cell: Cell) -> Column:
    matches = cell.pattern and re.compile(cell.pattern, re.ASCII).fullmatch
    choices = frozenset(cell.choices)

    def read(column: list[Any], _: Found) -> Iterable[Any]:
        text = "".join(column)
        if not text.isprintable() and ("\r" in text or not is_clean(text)):
            raise NotPlainError
        if cell.max_length is not None and max(map(len, column)) > cell.max_length:
            raise NotPlainError
        if cell.min_length and min(map(len, column)) < cell.min_length:
            raise NotPlainError
        if matches and not all(map(matches, column)):
            raise NotPlainError
        if choices and not choices.issuperset(column):
            raise NotPlainError
        return column

    return read


def _choices(known: dict[Any, Any]) -> Column:
    def read(column: list[Any], _: Found) -> Iterable[Any]:
        if not known.keys() >= set(column):
            raise NotPlainError
        return map(known.__getitem__, column)

    return read


def _decimals(cell: Cell) -> Column:
    numbers = _matching(cells.plain_number(cell), Decimal)
    if not cell.min and cell.max is None:  # at least 0 is what has no minus
        return numbers
    return lambda column, found: _bounded(cell, list(numbers(column, found)))


def _matching(pattern: str, make: Callable[[str], Any]) -> Column:
    """A column of texts that match `pattern`: all at once, joined by line breaks, which it has none of."""
    match = re.compile(f"(?:(?:{pattern})\n)*+").fullmatch

    def read(column: list[Any], _: Found) -> Iterable[Any]:
        text = "\n".join(column)
        if text.count("\n") >= len(column) or not match(text + "\n"):
            raise NotPlainError
        return map(make, column)

    return read


def _at_once(column: Column) -> Column:
    """`column` of days or moments, of which not every one that matches is in the calendar."""
    return lambda came, found: list(column(came, found))
