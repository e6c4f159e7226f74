"""What one cell says: the rules of each kind, and the words where they are not kept.

A cell and what came for it go in, as parsed JSON or as a form's text; its value comes out, or `UNREAD` with a problem put on
`Found`. These functions are the rule. The readers that `generating` writes take shortcuts through the good cases and come
here for everything else, so that a shortcut may be narrower than the rule and never wider.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import re
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any, Final, TypeGuard, cast
from uuid import UUID

from meridian.errors import Problem, Unread
from meridian.records.path import Step, parse_path, print_path
from meridian.records.shape import (
    MAX_DEPTH,
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
    Mapping,
    RecordKind,
    Rows,
    Shape,
    Text,
    Time,
    Uuid,
    is_clean,
)

__all__: list[str] = []

MAX_NAMED: Final = 1000
"""How many problems are named, each with its path; against hostile volume the rest are counted in one last problem."""
MAX_PATHS: Final = 1_000_000
"""How many characters of paths are written: one long key of JSON is in the path of everything under it."""
MAX_QUOTED: Final = 60
"""How much of what came is quoted."""
MAX_GUESSES: Final = 20
"""How many unknown names are compared with the known ones."""

At = tuple[Any, ...]
"""Where a cell is, as `(where its holder is, step)`; the record itself is at `()`. Made text only for a problem."""


class Unreadable:
    """The one value, UNREAD, of a cell that did not read."""

    def __repr__(self) -> str:
        return "UNREAD"


UNREAD: Final = Unreadable()
ABSENT: Final = object()
"""What came for a field of JSON that was not given."""


_new_problem: Final = Problem.__new__
_set_path: Final = Problem.__dict__["path"].__set__
_set_message: Final = Problem.__dict__["message"].__set__


class Found:
    """What one reading found: its problems, and how many; how it reads; how many members its JSON objects had; whether a needed
    field was `lacking`, or a list too long to be looked at (`bulky`); and whether a long list may still be read by column."""

    __slots__ = ("__dict__", "count", "lacking", "members", "problems", "room")  # what every reading has, or every problem

    guesses = 0
    bulky = False
    by_column = True
    lenient = False
    query = False
    zones: dict[tuple[int, Step], Any] | None = None
    problems: list[Problem]
    room: int

    def __init__(self) -> None:
        self.count = self.members = 0
        self.lacking = False

    def add(self, at: At | str, message: str) -> None:
        """Adds a problem of the cell at `at`, or of the one whose path that is."""
        if self.count == 0:
            self.problems, self.room = [], MAX_PATHS
        if self.count < MAX_NAMED and self.room > 0:
            path = at if isinstance(at, str) else print_at(at)
            problem = _new_problem(Problem)  # half of what `Problem(path, message)` takes, which goes around what freezes it
            _set_path(problem, path)
            _set_message(problem, message)
            self.problems.append(problem)
            self.room -= len(path)
        self.count += 1

    def all(self) -> tuple[Problem, ...]:
        """The problems, each cell once, and how many more there are."""
        problems = self.problems
        named = len(problems)
        if named > 1 and len({each.path for each in problems}) < named:
            said: dict[str, str] = {}
            for each in problems:
                held = said.setdefault(each.path, each.message)
                if held is not each.message:
                    said[each.path] = f"{held}; {each.message}"
            problems = [Problem(path, message) for path, message in said.items()]
        if self.count > named:
            problems = [*problems, Problem("", f"{self.count - named} more did not read; these are the first {named}")]
        return tuple(problems)


def steps_of(at: At) -> list[Step]:
    steps: list[Step] = []
    while at:
        at, step = at
        steps.append(step)
    steps.reverse()
    return steps


def print_at(at: At) -> str:
    """The path of `at`, as `print_path` has it: written out, since a thousand problems have one each."""
    if not at:
        return ""
    holder, step = at
    if type(step) is int:
        return f"{print_at(holder)}[{step}]"
    if not (step.isidentifier() and step.isascii()):
        return print_at(holder) + print_path((step,))
    if holder and type(holder[1]) is int:  # a row, as most are
        return f"{print_at(holder[0])}[{holder[1]}].{step}"
    return f"{print_at(holder)}.{step}" if holder else f"{step}"


# ── What comes that is no value ────────────────────────────────────────────


class Constant:
    """NaN, Infinity or -Infinity, which Python's decoder knows and JSON does not; or a number too long to be made one."""

    def __init__(self, text: str) -> None:
        self.text = text


class Twice:
    """What came under a name that an object has twice."""

    def __init__(self, values: list[Any]) -> None:
        self.values = values


class Many:
    """Every text a form sent under one name."""

    __slots__ = ("values",)

    def __init__(self, *values: Any) -> None:
        self.values: list[Any] = list(values)


class File:
    """A file that a form sent under a name."""

    def __init__(self, name: str) -> None:
        self.name = name


# ── Words ──────────────────────────────────────────────────────────────────


def quoted(cell: Cell | None, came: object) -> str:
    """`came` as a problem quotes it: cut, its unprintable characters escaped, and never where the cell is secret."""
    if cell is not None and cell.secret:
        return "what was given"
    if type(came) is str:
        return f'"{came if len(came) <= MAX_QUOTED and came.isprintable() else _cut(came)}"'
    match came:
        case None:
            return "null"
        case bool():
            return "true" if came else "false"
        case int():
            return _cut(str(came)) if abs(came) < 10**MAX_DIGITS else "a number of over 100 digits"
        case float():
            return repr(came)
        case list() | tuple():
            return "a list"
        case dict():
            return "an object"
        case Constant():
            return _cut(came.text)
        case File():
            return f'the file "{_cut(came.name)}"'
    return type(came).__name__


def _cut(text: str) -> str:
    cut = text if len(text) <= MAX_QUOTED else text[: MAX_QUOTED - 1] + "…"
    if cut.isprintable():
        return cut
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in cut)


def wanted(cell: Cell) -> str:
    """What would be right in `cell`, to follow "write"; kept with the cell."""
    kept: str | None = cell.__dict__.get("_wanted")
    if kept is None:
        kept = cell.__dict__["_wanted"] = _wanted(cell)
    return kept


def told(cell: Cell, came: object, how: str) -> str:
    """The sentence of a problem, as most are: what came, `how` it will not do, and what would be right."""
    if type(came) is str and len(came) <= MAX_QUOTED and came.isprintable() and not cell.secret:
        return (
            f'"{came}" {how}; write {cell.__dict__.get("_wanted") or wanted(cell)}'  # `quoted` in place, a thousand times over
        )
    return f"{quoted(cell, came)} {how}; write {wanted(cell)}"


def _wanted(cell: Cell) -> str:
    match cell.kind:
        case Text():
            if cell.choices:
                return _one_of(cell.choices)
            return f"a text that matches {cell.pattern}" if cell.pattern and not _asked(cell) else "a text"
        case Integer():
            return _one_of(cell.choices) if cell.choices else f"a whole number{_between(cell)}, like {_example(cell, 12)}"
        case Boolean():
            return "true or false"
        case DecimalKind():
            example = _example(cell, Decimal("1500.25") if cell.places is None or cell.places > 1 else Decimal(1500))
            return f"a number{_between(cell)}, like {example}"
        case Date():
            return "a day, like 2026-03-31"
        case DateTime():
            return "a moment with its offset, like 2026-03-31T16:30:00+02:00"
        case Time():
            return "a time, like 16:30"
        case Uuid():
            return "a UUID, like 6f1e6bd0-6a0c-4b7e-9c3d-2f6c8d1a5b40"
        case Choice(values):
            return _one_of(values)
        case RecordKind(shape):
            return f"an object with {_listed([f.name for f in shape.fields if f.required]) or 'its fields'}"
        case Rows():
            return "a list"
        case Mapping() | JsonObject():
            return "an object"


def _asked(cell: Cell) -> str:
    """The author's own words for the cell, which tell a person more than a pattern does."""
    return (cell.description or cell.title).rstrip(".")


def _one_of(values: Iterable[object]) -> str:
    said = [str(each) for each in values]
    return "one of " + _listed(said[:12], "or") + (" …" if len(said) > 12 else "")


def _listed(words: list[str], last: str = "and") -> str:
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + f" {last} {words[-1]}" if words else ""


def _between(cell: Cell) -> str:
    if cell.min is not None and cell.max is not None:
        return f" from {_number(cell.min)} to {_number(cell.max)}"
    if cell.min is not None:
        return f" of at least {_number(cell.min)}"
    return f" of at most {_number(cell.max)}" if cell.max is not None else ""


def _example(cell: Cell, example: int | Decimal) -> str:
    if cell.min is not None and example < cell.min:
        return _number(cell.min)
    return _number(cell.max if cell.max is not None and example > cell.max else example)


def _number(value: int | Decimal) -> str:
    """As it is to be sent: without an exponent."""
    return format(value, "f") if isinstance(value, Decimal) else str(value)


# ── Texts, the same in JSON and in a form ──────────────────────────────────

CLOCK: Final = r"(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,6})?)?"
DAY: Final = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
MOMENT: Final = rf"{DAY}T{CLOCK}(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
UUID_TEXT: Final = "[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"

_is_decimal: Final = re.compile(r"-?[0-9]+(?:\.[0-9]+)?").fullmatch
_is_integer: Final = re.compile(r"-?[0-9]+").fullmatch
_is_day: Final = re.compile(DAY).fullmatch
_is_clock: Final = re.compile(CLOCK).fullmatch
_is_moment: Final = re.compile(MOMENT).fullmatch
_is_local: Final = re.compile(rf"{DAY}[T ]{CLOCK}").fullmatch
_is_uuid: Final = re.compile(UUID_TEXT).fullmatch


def plain_number(cell: Cell) -> str:
    """The pattern of a Decimal of `cell` as nearly all are: of the places that it may have, zeros at its end aside; of not
    quite so many digits as it may have; and not minus nothing, nor minus anything where it is at least 0."""
    most = 50 if cell.places is None else min(cell.places, 50)
    fraction = f"[0-9]{{1,{most}}}+" if most else "0"
    sign = "" if cell.min == 0 else "(?:-(?=[0.]*[1-9]))?+"
    return rf"{sign}[0-9]{{1,40}}+(?:\.{fraction}0{{0,9}}+)?+"


def read_text(cell: Cell, came: str) -> tuple[Any, str]:
    """The value that the text `came` says in `cell`, and why it says none, which is empty where it does."""
    return _TEXTS[type(cell.kind)](cell, came)


def _time(cell: Cell, came: str) -> tuple[Any, str]:
    if _is_clock(came):
        return dt.time.fromisoformat(came), ""
    return None, told(cell, came, "is no time")


def _uuid(cell: Cell, came: str) -> tuple[Any, str]:
    if _is_uuid(came):
        return UUID(came), ""
    return None, told(cell, came, "is no UUID")


def _choice(cell: Cell, came: str) -> tuple[Any, str]:
    kind = cast("Choice", cell.kind)
    if came in kind.values:
        return (came if kind.enum is None else kind.enum(came)), ""
    return None, told(cell, came, "is not among the choices")


def _plain(cell: Cell, came: str) -> tuple[Any, str]:
    text = came.replace("\r\n", "\n").replace("\r", "\n") if "\r" in came else came
    if not is_clean(text):
        if _HALF.search(text):
            return None, f"{quoted(cell, came)} has half a character, or is not UTF-8; write whole ones"
        return None, f"{quoted(cell, came)} has a control character; write tabs and line breaks only"
    if cell.max_length is not None and len(text) > cell.max_length:
        return None, f"{quoted(cell, came)} has {len(text)} characters; write at most {cell.max_length}"
    if cell.min_length is not None and len(text) < cell.min_length:
        return None, f"{quoted(cell, came)} has {len(text)} characters; write at least {cell.min_length}"
    if cell.pattern is not None and not re.compile(cell.pattern, re.ASCII).fullmatch(text):
        words = _asked(cell)
        return None, f"{quoted(cell, came)} does not match" + (
            f" what is asked for: {words}" if words else f"; write {wanted(cell)}"
        )
    if cell.choices and text not in cell.choices:
        return None, told(cell, came, "is not among the choices")
    return text, ""


_HALF = re.compile("[\ud800-\udfff]")


def _decimal(cell: Cell, came: str) -> tuple[Any, str]:
    if not _is_decimal(came):
        return None, told(cell, came, _no_number(came))
    if len(came) - came.startswith("-") - ("." in came) > MAX_DIGITS:
        return None, f"{quoted(cell, came)} has over {MAX_DIGITS} digits; write fewer"
    if cell.places is not None and len(came.partition(".")[2].rstrip("0")) > cell.places:
        return None, f"{quoted(cell, came)} has too many decimal places; write at most {cell.places}"
    value = Decimal(came)
    return _bounded(cell, came, value or value.copy_abs())


def _no_number(came: str) -> str:
    if "," in came:
        return "has a comma"
    start = came[:200]
    if start and start.split() != [start]:
        return "has a space"
    if "e" in start.lower() and re.fullmatch(r"[+-]?[0-9.]+[eE][+-]?[0-9]+", start):
        return "has an exponent"
    if came.startswith("+"):
        return "has a plus sign"
    if came.startswith(".") or came.endswith("."):
        return "has a point without digits on both sides"
    return "is no number"


def _integer(cell: Cell, came: str) -> tuple[Any, str]:
    """A whole number, as a form's text says it."""
    if not _is_integer(came):
        return None, told(cell, came, "is not whole" if _is_decimal(came) else _no_number(came))
    if len(came) - came.startswith("-") > MAX_DIGITS:
        return None, f"{quoted(cell, came)} has over {MAX_DIGITS} digits; write fewer"
    return _bounded(cell, came, int(came))


def _bounded(cell: Cell, came: object, value: Any) -> tuple[Any, str]:
    if cell.min is not None and value < cell.min:
        return None, told(cell, came, "is too small")
    if cell.max is not None and value > cell.max:
        return None, told(cell, came, "is too large")
    if cell.choices and value not in cell.choices:
        return None, told(cell, came, "is not among the choices")
    return value, ""


def _day(cell: Cell, came: str) -> tuple[Any, str]:
    if _is_day(came):
        try:
            return dt.date.fromisoformat(came), ""
        except ValueError:
            return None, told(cell, came, "is not in the calendar")
    return None, told(cell, came, "is no day")


def _moment(cell: Cell, came: str) -> tuple[Any, str]:
    if _is_moment(came):
        try:
            return dt.datetime.fromisoformat(came), ""
        except ValueError:
            return None, told(cell, came, "is not in the calendar")
    if _is_local(came):
        return None, told(cell, came, "has no offset")
    return None, told(cell, came, "is no moment")


_TEXTS: Final[dict[type, Callable[[Cell, str], tuple[Any, str]]]] = {
    Text: _plain,
    DecimalKind: _decimal,
    Date: _day,
    DateTime: _moment,
    Time: _time,
    Uuid: _uuid,
    Choice: _choice,
}

_MATCHED: Final[dict[type, Callable[[str], object]]] = {
    DecimalKind: _is_decimal,
    Integer: _is_integer,
    Date: _is_day,
    Time: _is_clock,
    Uuid: _is_uuid,
}
"""What each text of a kind matches, whatever else it must be. In JSON all of these but a whole number are texts."""


def _is_lost(cell: Cell, came: object) -> bool:
    """Whether `came`, which is no object, plainly does not read: enough to know where so many problems are named already that
    it is only counted."""
    kind = type(cell.kind)
    if kind is RecordKind:
        return True
    matched = _MATCHED.get(kind)
    return matched is not None and (not matched(came) if type(came) is str else kind is not Integer)


# ── A cell of JSON ─────────────────────────────────────────────────────────


def json_field(field: FieldShape, came: object, at: At, found: Found) -> Any:
    """As `json_cell`, of a field of the record at `at`; its default where it is ABSENT and has one."""
    if came is ABSENT:
        return missing(field, (at, field.name), found) if field.required else field.make_default()
    return json_cell(field, came, (at, field.name), found)


def json_cell(cell: Cell, came: object, at: At, found: Found) -> Any:
    """The value of a cell that is no record, list or dict; or UNREAD, with the problem found."""
    if came is None and cell.nullable:
        return None
    if found.count >= MAX_NAMED and not found.lenient and _is_lost(cell, came):
        found.count += 1
        return UNREAD
    if type(came) is str and (text := _TEXTS.get(type(cell.kind))):
        value, why = text(cell, came)
    elif isinstance(cell.kind, Integer) and type(came) is int:
        value, why = _bounded(cell, came, came)
        if abs(came) >= 10**MAX_DIGITS:
            why = _TOO_LONG
    elif isinstance(cell.kind, Boolean) and isinstance(came, bool):
        return came
    elif isinstance(cell.kind, JsonObject) and isinstance(came, dict):
        value, why = came, _no_json(cell, came, len(steps_of(at)), found)
    else:
        why = _another_kind(cell, came)
    if not why:
        return value
    if found.lenient and came in ("", "null") and _may_be_left_out(cell):
        return cell.make_default()
    found.add(at, why)
    return UNREAD


def _may_be_left_out(cell: Cell) -> TypeGuard[FieldShape]:
    return isinstance(cell, FieldShape) and not cell.required and not isinstance(cell.kind, Text)


_TOO_LONG: Final = f"it has over {MAX_DIGITS} digits; write fewer"


def _another_kind(cell: Cell, came: object) -> str:
    if isinstance(came, Twice):
        first, last = came.values[0], came.values[-1]
        if cell.secret:
            return "it is given twice; give it once"
        return f"it is given twice, as {quoted(cell, first)} and as {quoted(cell, last)}; give it once"
    if isinstance(came, Constant) and not came.text.lstrip("-").isdigit():
        return f"{came.text} is no JSON; write {wanted(cell)}"
    if isinstance(came, Constant) and isinstance(cell.kind, Integer):
        return _TOO_LONG
    if isinstance(cell.kind, DecimalKind) and isinstance(came, int | float) and not isinstance(came, bool):
        return f"{quoted(cell, came)} is a JSON number, which is not exact; write it as a text, in quotes"
    if isinstance(cell.kind, Integer) and isinstance(came, str):
        return f"{quoted(cell, came)} is a text; write {wanted(cell)}, without quotes"
    if isinstance(came, str) and isinstance(cell.kind, RecordKind | Rows | Mapping | JsonObject):
        return f"{quoted(cell, came)} is a text; write {wanted(cell)} itself, not as a text"
    if came is None:
        return f"null is not allowed here; write {wanted(cell)}"
    if isinstance(cell.kind, Integer) and isinstance(came, float):
        how = "has a point or an exponent" if came.is_integer() else "is not whole"
        return told(cell, came, how)
    if isinstance(cell.kind, Text):
        return f"{quoted(cell, came)} is no text; write {wanted(cell)} in quotes"
    return told(cell, came, "will not do")


def _no_json(cell: Cell, came: dict[str, Any], depth: int, found: Found) -> str:
    """Why any JSON object `came`, itself `depth` levels below the arguments, does not read. Counts its members."""
    level: list[Any] = [came]
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            return f"it nests deeper than {MAX_DEPTH} levels; write it flatter"
        below: list[Any] = []
        for holder in level:
            if isinstance(holder, dict):
                found.members += len(holder)
                if any(not key.isprintable() and _HALF.search(key) for key in holder):
                    return "a name in it has half a character; write whole ones"
            for each in holder.values() if isinstance(holder, dict) else holder:
                if isinstance(each, dict | list):
                    below.append(each)
                elif isinstance(each, str):
                    if not each.isprintable() and _HALF.search(each):
                        return f"{quoted(cell, each)} in it has half a character; write whole ones"
                elif isinstance(each, float):
                    if not math.isfinite(each):
                        return "a number in it is too large, or none; write one that JSON can say"
                elif type(each) is int:
                    if abs(each) >= 10**MAX_DIGITS:
                        return f"a number in it has over {MAX_DIGITS} digits; write fewer"
                elif isinstance(each, Twice):
                    return "a name in it is given twice; give it once"
                elif isinstance(each, Constant) and each.text.lstrip("-").isdigit():
                    return f"a number in it has over {MAX_DIGITS} digits; write fewer"
                elif isinstance(each, Constant):
                    return f"{quoted(cell, each)} in it is no JSON; write null or leave it out"
                elif each is not None and not isinstance(each, bool):
                    return f"{type(each).__name__} in it is no JSON; write texts, numbers, lists and objects"
        level = below
    return ""


def half_a_key(key: str) -> bool:
    """Whether a name in JSON has half a surrogate pair, so that no path can say it."""
    return not key.isprintable() and _HALF.search(key) is not None


def unknown(shape: Shape[Any], came: dict[str, Any], at: At, found: Found) -> None:
    """A problem for each name in `came` that is no field of `shape`."""
    known = [each.name for each in shape.fields]
    names = set(known)
    for name in came:
        if name in names:
            continue
        if half_a_key(name):
            found.add(at, f"the name {quoted(None, name)} has half a character; write whole ones")
            continue
        near = ""
        found.guesses += 1
        if found.guesses <= MAX_GUESSES and len(name) <= MAX_QUOTED:
            from difflib import get_close_matches

            near = next(iter(get_close_matches(name, known, 1)), "")
        if near:
            found.add(at=(at, name), message=f"{shape.name} has no such argument; did you mean {near}?")
        elif found.count < MAX_NAMED:
            listed = f"write {_listed(known[:12], 'or')}" if known else "leave it out"
            found.add((at, name), f"{shape.name} has no such argument; {listed}")
        else:
            found.count += 1


def missing(cell: Cell, at: At, found: Found) -> Unreadable:
    """The problem of a required field that nothing was given for."""
    found.lacking = True
    if found.count >= MAX_NAMED:
        found.count += 1
        return UNREAD
    said = wanted(cell)
    found.add(at, "nothing was given, and it is needed" if said == "a text" else f"nothing was given; write {said}")
    return UNREAD


def wrong_length(cell: Cell, length: int, at: At, found: Found) -> Unreadable:
    """The problem of a list with too few rows or too many."""
    if length > MAX_ROWS:
        found.bulky = True
        found.add(at, f"{length} rows were given; a list keeps at most {MAX_ROWS}")
    elif cell.max_length is not None and length > cell.max_length:
        found.add(at, f"{length} rows were given; write at most {cell.max_length}")
    else:
        found.add(
            at,
            f"{length or 'no'} row{'s' * (length != 1)} {'was' if length == 1 else 'were'} given; "
            f"write at least {cell.min_length}",
        )
    return UNREAD


# ── The record as a whole ──────────────────────────────────────────────────


def mended(shape: Shape[Any], values: tuple[Any, ...]) -> Any:
    """The record of `values` with those that did not read at their defaults; UNREAD where it cannot be built so."""
    given: dict[str, Any] = {}
    for field, value in zip(shape.fields, values, strict=True):
        if value is not UNREAD:
            given[field.name] = value
        elif field.required:
            return UNREAD
    try:
        return shape.record(**given)
    except Exception:  # noqa: BLE001  (its own code may stumble over a default that stands for what did not read)
        return UNREAD


def refused(wrong: ValueError, at: At, found: Found) -> Unreadable:
    """The problems of a record whose own `__post_init__` raised `wrong`: at the cells it names, or at the record."""
    if isinstance(wrong, Unread) and wrong.problems:
        for each in wrong.problems:
            try:
                steps = parse_path(each.path)
            except ValueError:
                found.add(at, str(each))
            else:
                found.add(print_path([*steps_of(at), *steps]), each.message)
    else:
        found.add(at, str(wrong) or "its parts do not fit together; look at them again")
    return UNREAD


# ── A cell of a form ───────────────────────────────────────────────────────

TRUTHS: Final = {"on": True, "true": True, "1": True, "yes": True, "off": False, "false": False, "0": False, "no": False}


def form_field(field: FieldShape, came: object, at: At, found: Found, zone: Any = None) -> Any:
    """As `form_cell`, of a field of the record at `at`; its default where it was left blank, as None, and has one."""
    if came is None:
        return missing(field, (at, field.name), found) if field.required else field.make_default()
    return form_cell(field, came, (at, field.name), found, zone)


def form_cell(cell: Cell, came: object, at: At, found: Found, zone: Any = None) -> Any:
    """The value of one cell that was not left blank; or UNREAD, with the problem found."""
    value: Any = None
    if found.count >= MAX_NAMED and type(came) is str and _is_lost(cell, came):
        found.count += 1
        return UNREAD
    if isinstance(came, str) and (text := _FORM_TEXTS.get(type(cell.kind))):
        value, why = text(cell, came)
    elif isinstance(came, Many):
        if isinstance(cell.kind, Boolean) and all(isinstance(each, str) and each in TRUTHS for each in came.values):
            return any(TRUTHS[each] for each in came.values)
        files = [each for each in came.values if isinstance(each, File)]
        texts = list(dict.fromkeys(each for each in came.values if isinstance(each, str)))
        if len(texts) < 2 or files:
            return form_cell(cell, (files or texts)[0], at, found, zone)
        said = "two values" if cell.secret else f"{quoted(cell, texts[0])} and {quoted(cell, texts[1])}"
        why = f"{said} were both given; give one"
    elif not isinstance(came, str):
        why = told(cell, came, "will not do")
    elif isinstance(cell.kind, JsonObject):
        value, why = _object(cell, came, len(steps_of(at)))
    elif not isinstance(cell.kind, DateTime):
        why = f"{quoted(cell, came)} stands for the whole; write its cells, like {print_at(at)}{_inside(cell)}"
    elif not _is_local(came):
        value, why = _moment(cell, came)
    else:
        value, why = _local(cell, came, zone if type(zone) is not Many else _same(zone.values))
        at = (at, "zone") if why.startswith("the zone ") else at
    if why:
        found.add(at, why)
        return UNREAD
    return value


def _truth(cell: Cell, came: str) -> tuple[Any, str]:
    if came in TRUTHS:
        return TRUTHS[came], ""
    return None, f"{quoted(cell, came)} is neither; write on, or leave it out"


_FORM_TEXTS: Final = {
    **{kind: read for kind, read in _TEXTS.items() if kind is not DateTime},
    Integer: _integer,
    Boolean: _truth,
}
"""What reads a form's text of a kind; a moment's needs its zone."""


def _inside(cell: Cell) -> str:
    match cell.kind:
        case RecordKind(shape) if shape.fields:
            return f".{shape.fields[0].name}"
        case Rows(item):
            return "[0]" + _inside(item)
        case Mapping(item):
            return ".key" + _inside(item)
    return ""


def _object(cell: Cell, came: str, depth: int) -> tuple[Any, str]:
    value, why, _ = parse(came, careful=True)
    if why:
        return None, f"{quoted(cell, came)} is no JSON ({why}); write an object"
    if not isinstance(value, dict):
        return None, f"{quoted(cell, came)} is no object; write one, like {{}}"
    return value, _no_json(cell, value, depth, Found())


_ZONE = re.compile(r"[A-Z][A-Za-z0-9_+-]{0,31}(?:/[A-Za-z0-9_+-]{1,32}){0,3}").fullmatch
"""What an IANA name looks like; the files beside them (`localtime`, `posix/…`, `right/…`) have small letters."""


def _same(values: list[Any]) -> Any:
    """The one value that a name was given, once or more; else the different ones."""
    different = list(dict.fromkeys(values))
    return different if len(different) > 1 else different[0]


def _local(cell: Cell, came: str, zone: Any) -> tuple[Any, str]:
    """The moment a browser's local time says in the zone beside it."""
    if not zone:
        return None, f"{quoted(cell, came)} has no zone; write {wanted(cell)}, or its zone beside it, like Europe/Paris"
    from zoneinfo import ZoneInfo

    try:
        where = ZoneInfo(zone) if isinstance(zone, str) and _ZONE(zone) else None
    except (KeyError, ValueError, OSError):
        where = None
    if where is None:
        if cell.secret:
            return None, "the zone given is not known; write an IANA name, like Europe/Paris"
        if isinstance(zone, list):
            return None, f"the zone was given as {quoted(cell, zone[0])} and as {quoted(cell, zone[1])}; give one"
        return None, f"the zone {quoted(cell, zone)} is not known; write an IANA name, like Europe/Paris"
    try:
        moment = dt.datetime.fromisoformat(came)
        first = moment.replace(tzinfo=where)
        second = moment.replace(tzinfo=where, fold=1)
        before, after = cast("dt.timedelta", first.utcoffset()), cast("dt.timedelta", second.utcoffset())
        if before != after:
            how = "is there twice" if before > after else "does not exist there"
            there = "its zone" if cell.secret else zone
            return None, f"{quoted(cell, came)} {how}, since the clocks of {there} change; write it with its offset"
        if before % dt.timedelta(minutes=1):
            return first.astimezone(dt.UTC), ""
        return moment.replace(tzinfo=dt.timezone(before)), ""
    except (ValueError, OverflowError):
        return None, told(cell, came, "is not in the calendar")


# ── JSON text ──────────────────────────────────────────────────────────────


class _Names:
    """Makes objects, and notices the names that one has twice; their values are kept as Twice."""

    twice = False

    def made(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs):
            self.twice = True
            seen: dict[str, list[Any]] = {}
            for name, value in pairs:
                seen.setdefault(name, []).append(value)
            made = {name: values[0] if len(values) == 1 else Twice(values) for name, values in seen.items()}
        return made


def _whole(text: str) -> Any:
    return int(text) if len(text) <= MAX_DIGITS + 1 else Constant(text)


quick: Final = json.JSONDecoder(parse_constant=Constant).scan_once  # type: ignore[attr-defined]
_BLANK = " \t\n\r"


def parse(text: str, *, careful: bool) -> tuple[Any, str, bool]:
    """The JSON value of `text`, why there is none, and whether an object in it has a name twice; that, and a number of too many
    digits, only a `careful` look tells."""
    names = _Names()
    scan = quick
    if careful:
        decoder = json.JSONDecoder(parse_constant=Constant, parse_int=_whole, object_pairs_hook=names.made)
        scan = decoder.scan_once  # type: ignore[attr-defined]
    if text[:1] not in "{[":
        text = text.strip(_BLANK)
    try:
        value, end = scan(text, 0)
    except StopIteration as stopped:
        why = f"a value was expected at character {stopped.value + 1}" if text else "it is empty"
    except json.JSONDecodeError as wrong:
        why = f"{wrong.msg[0].lower()}{wrong.msg[1:]} at character {wrong.pos + 1}"
    except RecursionError:
        why = f"it nests deeper than {MAX_DEPTH} levels"
    except ValueError:  # a whole number of more digits than Python reads
        return (None, "a number in it is too long", False) if careful else parse(text, careful=True)
    else:
        if end == len(text) or not text[end:].strip(_BLANK):
            return value, "", names.twice
        why = f"something follows it at character {end + 1}"
    return None, why, False


_SPACE_BEFORE_COLON = re.compile(r'"[ \t\n\r]+:').search


def may_repeat(text: str, members: int) -> bool:
    """Whether an object in `text`, of which `members` members were read, may have a name twice; False is certain."""
    if text.count(":") == members:
        return False
    return text.count('":') != members or _SPACE_BEFORE_COLON(text) is not None
