"""What came, read as a record: `Reading` has the record, or every problem.

A form's pairs or JSON come in with a Shape. Each way in takes what came apart (`tree` the names of a form, `cells.parse` the
text of JSON), gives it to the record's reader (`walking` the first time, then what `generating` wrote), and answers with what
was found. Nothing here raises for anything that can be sent.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from meridian.errors import Problem
from meridian.records import cells, tree
from meridian.records.cells import UNREAD, Found
from meridian.records.shape import Shape
from meridian.records.walking import reader

__all__ = ["Reading", "as_sent", "form_pairs", "read_form", "read_json", "read_query", "read_value"]

R = TypeVar("R")

_quick = cells.quick


@dataclass(slots=True)
class Reading(Generic[R]):
    """A record, and the problems of what it was read from.

    Where there are problems, `record` has unread fields at their defaults, and is None where it cannot be built so. The
    problems come in the order of the record, each cell once.
    """

    record: R | None
    problems: tuple[Problem, ...] = ()


def read_json(shape: Shape[R], body: bytes | str, *, lenient: bool = False) -> Reading[R]:
    """Read a JSON object, an agent's arguments or a script's body, as the record `shape` describes.

    An empty body is no arguments at all, and reads as `{}`. With `lenient`, as on the MCP surface, `""` and `"null"` for an
    optional field that is not a text are as if left out.

    >>> from dataclasses import dataclass
    >>> from decimal import Decimal
    >>> from meridian.records import shape_of
    >>> @dataclass(frozen=True)
    ... class Lot:
    ...     cost: Decimal
    >>> read_json(shape_of(Lot), '{"cost": "1500.25"}').record
    Lot(cost=Decimal('1500.25'))
    """
    try:
        text = body if isinstance(body, str) else body.decode()
        value, end = _quick(text, 0)
    except UnicodeDecodeError as wrong:
        return Reading(None, (Problem("", f"byte {wrong.start + 1} is not UTF-8; write the JSON in UTF-8"),))
    except (StopIteration, ValueError, RecursionError):
        end = -1
    if end != len(text):
        value, why, _ = cells.parse(text, careful=False)
        if why:
            if text.strip(" \t\r\n"):
                return Reading(None, (Problem("", f"it is not JSON: {why}; write one object of arguments"),))
            value = {}
    if type(value) is not dict:
        return _read(shape, value, Found())
    found = Found()
    if lenient:
        found.lenient = True
    read = shape.derived.get("JSON") or reader(shape, "JSON")
    record = read(value, (), found)
    if found.members != text.count(":") and not found.bulky and cells.may_repeat(text, found.members):
        value, _, twice = cells.parse(text, careful=True)
        if twice:
            found = Found()
            found.lenient = lenient
            record = read(value, (), found)
    if not found.count:
        return Reading(record)
    return Reading(None if record is UNREAD else record, found.all())


def read_value(shape: Shape[R], value: Any, *, lenient: bool = False) -> Reading[R]:
    """Read JSON that was parsed already, as `read_json` reads its text."""
    found = Found()
    found.lenient = lenient
    return _read(shape, value, found)


def _read(shape: Shape[R], value: Any, found: Found) -> Reading[R]:
    if type(value) is not dict:
        return Reading(None, (Problem("", f"{cells.quoted(None, value)} is no object; write one object of arguments"),))
    read = shape.derived.get("JSON") or reader(shape, "JSON")
    record = read(value, (), found)
    return Reading(None if record is UNREAD else record, found.all() if found.count else ())


def read_form(shape: Shape[R], form: bytes | str | Iterable[tuple[str, Any]]) -> Reading[R]:
    """Read what a browser posted as the record `shape` describes.

    `form` is an urlencoded body or its text, or pairs in the order sent; each name is a path. In a pair, what is no text and
    has a `filename` is a file. Amounts stay exact, moments need an offset or a zone beside them.

    >>> from dataclasses import dataclass
    >>> from decimal import Decimal
    >>> from meridian.records import shape_of
    >>> @dataclass(frozen=True)
    ... class Lot:
    ...     cost: Decimal
    >>> print(read_form(shape_of(Lot), [("cost", "1,500")]).problems[0])
    cost: "1,500" has a comma; write a number, like 1500.25
    """
    return _read_form(shape, form, Found())


def read_query(shape: Shape[R], query: bytes | str | Iterable[tuple[str, Any]]) -> Reading[R]:
    """Read a GET's query. It reads as a form, but an absent boolean is its default; and a query that names no field has not
    been asked yet: it has no problems, and its record is that of the defaults, or None."""
    found = Found()
    found.query = True
    return _read_form(shape, query, found)


def as_sent(shape: Shape[Any], form: Iterable[tuple[str, Any]], problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """`problems`, whose paths count the rows of the record that `form` read as, each at the cell as it was sent.

    What a view blames it blames by its record: `lots[0]` is the first row kept, and the form may have sent it as `lots[7]`.
    """
    put = tree.Tree(shape)
    put.add_pairs(form)
    return tuple(tree.as_sent(each, shape, put.root) for each in problems)


def _read_form(shape: Shape[R], form: bytes | str | Iterable[tuple[str, Any]], found: Found) -> Reading[R]:
    put = tree.Tree(shape)
    if isinstance(form, bytes):
        form = tree.decoded(form)
    if isinstance(form, str):
        if len(form) >= tree.MAX_FIELDS and form.count("&") >= tree.MAX_FIELDS:
            return Reading(None, (_too_many(form.count("&") + 1),))
        put.add_text(form)
    else:
        pairs = form if isinstance(form, list | tuple) else list(form)
        if len(pairs) > tree.MAX_FIELDS:
            return Reading(None, (_too_many(len(pairs)),))
        put.add_pairs(pairs)
    if found.query and not put.names_a_field():
        record = cells.mended(shape, (UNREAD,) * len(shape.fields))
        return Reading(None if record is UNREAD else record)
    if put.blanks or put.lost:
        put.close()
    found.zones = put.zones
    read = shape.derived.get("form") or reader(shape, "form")
    record = read(put.root, (), found)
    if put.wrong:
        said = {problem.path for problem in found.problems} if found.count else ()
        for name, why in put.wrong.items():
            if name not in said:
                found.add(name, why)
        found.count += put.more
    if not found.count:
        return Reading(record)
    return Reading(None if record is UNREAD else record, found.all())


def _too_many(fields: int) -> Problem:
    return Problem("", f"the form has {fields:,} fields; send at most {tree.MAX_FIELDS:,}")


def form_pairs(body: bytes | str) -> tuple[list[tuple[str, str]], tuple[Problem, ...]]:
    """The names and texts of an urlencoded body, for whoever needs the pairs themselves, and what is wrong with it as a whole:
    too many fields (there are no pairs then), or names and texts that are not UTF-8 (whose bytes stay as halves of surrogate
    pairs, so that no cell reads them)."""
    text = body if isinstance(body, str) else tree.decoded(body)
    if text.count("&") >= tree.MAX_FIELDS:
        return [], (_too_many(text.count("&") + 1),)
    pairs: list[tuple[str, str]] = []
    problems: list[Problem] = []
    for field in text.split("&"):
        if field:
            name, _, value = field.partition("=")
            name, value = tree.unescape(name), tree.unescape(value)
            pairs.append((name, value))
            if cells.half_a_key(name) or cells.half_a_key(value):
                problems.append(Problem(tree.said(name), "it is not UTF-8; send the form in UTF-8"))
    return pairs, tuple(problems)
