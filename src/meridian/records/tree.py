"""A form's pairs, put where their names lead.

Names and texts come in, in the order sent; the cells of one record come out, as dicts: a field's name to its text, a row's
number to what is in the row. The rows keep the numbers they were sent with, so that a problem's path is the cell a person
typed in. Blank cells are left out here, and names that lead nowhere under a field of the record are noted. What a text means
is for `cells` to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final, NamedTuple

from meridian.errors import Problem, Unread
from meridian.records import cells
from meridian.records.cells import UNREAD, File, Found, Many, Unreadable
from meridian.records.path import parse_path, print_path
from meridian.records.shape import (
    MAX_ROWS,
    Boolean,
    Cell,
    DateTime,
    FieldShape,
    JsonObject,
    Kind,
    Mapping,
    RecordKind,
    Rows,
    Shape,
)

__all__: list[str] = []

MAX_FIELDS: Final = 50_000
"""How many fields a form may have."""

Cells = dict[Any, Any]
Fields = dict[str, FieldShape]
_NO_FIELDS: Final[Fields] = {}
_BLANK_BESIDE: Final = (Boolean, Rows, RecordKind, Mapping)
"""What may have a blank cell beside a value of the same name."""
_BOTH: Final = "it was given as a text and by its cells; give the cells alone"

_NO_PARTS: Final = "it has no parts"
_TOO_HIGH: Final = f"a row's number is at most {MAX_ROWS - 1:,}"


def fields_of(shape: Shape[Any]) -> Fields:
    """The fields of `shape` by their names, kept with it."""
    kept = shape.derived.get("fields")
    if kept is None:
        kept = shape.derived["fields"] = {field.name: field for field in shape.fields}
    return kept


# ── The urlencoded text ────────────────────────────────────────────────────

_ESCAPES = re.compile("%(?:[0-9A-Fa-f]{2}(?:%[0-9A-Fa-f]{2})*+|%*(?=%))")  # or, at once, what of many `%` can begin none
_BAD_ESCAPE = re.compile("%(?![0-9A-Fa-f]{2})").search
_BYTES: Final = {f"{n:02{case}}": chr(n) for n in range(256) for case in "xX"} | {
    f"{a}{b}": chr(int(a + b, 16)) for a in "abcdefABCDEF" for b in "abcdefABCDEF"
}


def unescape(text: str) -> str:
    """`text` with its `+` and `%` escapes undone; a `%` that begins no escape stays one. Bytes that are no UTF-8 become
    halves of surrogate pairs, which no cell reads."""
    if "+" in text:
        text = text.replace("+", " ")
    if "%" not in text:
        return text
    escapes = text.count("%")
    if escapes < 50 or escapes * 4 > len(text) or _BAD_ESCAPE(text):  # few, or in long runs, or not all of them escapes
        return _ESCAPES.sub(_run, text)
    first, *parts = (text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("latin-1")).split("%")
    sent = first + "".join([_BYTES[part[:2]] + part[2:] for part in parts])
    return sent if sent.isascii() else sent.encode("latin-1").decode("utf-8", "surrogateescape")


def _run(escapes: re.Match[str]) -> str:
    digits = escapes[0].replace("%", "")
    return bytes.fromhex(digits).decode("utf-8", "surrogateescape") if digits else escapes[0]


def decoded(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError:
        return body.decode("utf-8", "surrogateescape")


# ── Where a name leads ─────────────────────────────────────────────────────


class _Place(NamedTuple):
    """Where the steps of a name led: what stands there, in what it is held under which key, or why nothing is there."""

    kind: Kind | None = None
    holder: Cells | None = None
    key: Any = None
    why: str = ""

    @property
    def is_moment(self) -> bool:
        """Whether it is a moment's, which may have its zone beside it."""
        return isinstance(self.kind, DateTime) and not isinstance(self.key, tuple)


_Held = tuple[Cells, Fields, bool | None]
"""What is held under a name: a record's cells, or rows by their number; the fields there; and whether it is rows."""
_NOTHING: Final[_Held] = ({}, _NO_FIELDS, None)
_IGNORED: Final = _Place()
_HIGH: Final = _Place(why=_TOO_HIGH)
_FIELD = re.compile(r"\.?([A-Za-z_][A-Za-z0-9_]*)")
_ROW = re.compile(r"\[(0|[1-9][0-9]*)\]")

_NUMBERS: Final[dict[str, int]] = {}
"""The numbers of the rows that there may be, by what a name of theirs ends with after its last bracket."""


def _number(end: str) -> int:
    """The number of a row whose name ends with `end` after its last bracket; -1 where it says none."""
    digits = end[:-1] if end[-1:] == "]" else end[:-3] if end[-3:] == "%5D" else ""
    if not (digits.isdecimal() and digits.isascii()) or (digits[0] == "0" and digits != "0"):
        return -1
    if len(digits) > 4:
        return MAX_ROWS
    number = _NUMBERS[end] = int(digits)
    return number


class Tree:
    """The cells of one form while its pairs are put in their places."""

    zones: dict[tuple[int, Any], Any] | None = None
    more = 0

    def __init__(self, shape: Shape[Any]) -> None:
        self.shape = shape
        self.root: Cells = {}
        self.known: dict[str, _Held] = {}  # what is held under the names of records and of lists of records, as they were sent
        self.lost: dict[str, tuple[str, Cells, _Place]] = {}  # the cells of no record, by what stands before their last dot
        self.blanks: list[tuple[str | None, str]] = []  # blank cells, before and after their last dot where that says all
        self.wrong: dict[str, str] = {}

    # the quick way: a name is where its row is, a dot, and a field

    def add_text(self, text: str) -> None:
        """Put an urlencoded body's fields in their places."""
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        if _has_keys(self.shape):
            self.add_pairs((unescape(name), unescape(value)) for name, _, value in (f.partition("=") for f in text.split("&")))
            return
        before, here = "", self.root
        for field in text.replace("+", " ").split("&"):
            name, _, value = field.partition("=")
            if "%" in value:
                value = unescape(value)
                if "\r" in value:
                    value = value.replace("\r\n", "\n").replace("\r", "\n")
            value = value.strip()
            if "." in name:
                head, _, last = name.rpartition(".")
                if not head:  # a dot before the first step
                    continue
            else:
                head, last = "", name
            if not value:
                self.blanks.append((head, last))
                continue
            if head != before:  # a row's cells come together
                before, here = head, self.open(head)
            if last in here:
                self.again(here, last, value, unescape(name))
            elif last.isidentifier():
                here[last] = value
            else:
                self.put(unescape(name), value)

    def add_pairs(self, pairs: Iterable[tuple[str, Any]]) -> None:
        """Put decoded names and texts, or files, in their places."""
        before, here = "", self.root
        plain = not _has_keys(self.shape)
        for name, value in pairs:
            if type(value) is str:
                if "\r" in value:
                    value = value.replace("\r\n", "\n").replace("\r", "\n")
                value = value.strip()
            elif not isinstance(value, File):
                file = getattr(value, "filename", None)
                if not file:  # nothing, though it be the second of its name
                    if why := self.walk(name, make=False).why:
                        self.no(said(name), f"no cell has this name: {why}")
                    continue
                value = File(file)
            head, _, last = name.rpartition(".")
            if not plain or "%" in name or name[:1] == "." or not last.isidentifier():
                if value:
                    self.put(name, value)
                else:
                    self.blanks.append((None, name))
            elif not value:
                self.blanks.append((head, last))
            else:
                if head != before:
                    before, here = head, self.open(head)
                if last in here:
                    self.again(here, last, value, name)
                else:
                    here[last] = value

    # the careful way

    def walk(self, name: str, *, make: bool) -> _Place:
        """Where `name` leads, from left to right, and no further than the record goes. Holders on the way are made if asked."""
        kind: Kind = RecordKind(self.shape)
        holder: Cells | None = None
        key: Any = None
        here: Any = self.root
        at, end = 0, len(name)
        while at < end:
            match kind:
                case RecordKind(shape):
                    step = _FIELD.match(name, at)
                    if step is None or (name[at] == ".") != (at > 0):
                        return _Place(why="a name of a field was expected") if at else _IGNORED
                    field = fields_of(shape).get(step[1])
                    if field is None:
                        return _Place(why=f"{shape.name} has no {cells.quoted(None, step[1])}") if at else _IGNORED
                    if at == 0 and step.end() < end and name[step.end()] not in ".[":
                        return _IGNORED
                    kind, key, at = field.kind, step[1], step.end()
                case Rows(item):
                    step = _ROW.match(name, at)
                    if step is None:
                        return _Place(why="a row's number was expected, like [0]")
                    if len(step[1]) > 4:
                        return _HIGH
                    kind, key, at = item.kind, int(step[1]), step.end()
                case Mapping(item):
                    found = _key(name, at)
                    if found is None:
                        return _Place(why='a key was expected, like .key or ["any key"]')
                    kind, key, at = item.kind, found[0], found[1]
                case DateTime() if name[at:] == ".zone":
                    return _Place(kind, holder, (key, "zone"))
                case _:
                    return _Place(why=_NO_PARTS)
            holder = here
            if isinstance(kind, Rows) and name[at:] == "[]" and is_plain(kind.item):
                return _Place(kind, holder, (key, "[]"))
            if isinstance(kind, RecordKind | Rows | Mapping) and at < end and holder is not None:
                here = holder.get(key)
                if type(here) is not dict:
                    if make and here is not None:  # a text under the whole's own name: the cells win, and the text is wrong
                        self.no(said(name[:at]), _BOTH)
                    here = {} if make else None
                    if make:
                        holder[key] = here
        return _Place(kind, holder, key)

    def open(self, head: str) -> Cells:
        """The cells of what stands before a last dot, `head` as it was sent."""
        found = self.find(head, make=True)
        if found is not None:
            return found[0]
        if head in self.lost:
            return self.lost[head][1]
        name = unescape(head)
        place = self.walk(name, make=True)
        if isinstance(place.kind, RecordKind) and place.holder is not None:
            there = place.holder.get(place.key)
            if type(there) is dict:
                return there
            if there is not None:
                self.no(said(name), _BOTH)
            made: Cells = {}
            place.holder[place.key] = made
            return made
        if place is _IGNORED:
            return {}
        return self.lose(head, place if place.why or place.is_moment else self.walk(f"{name}.", make=False))

    def lose(self, head: str, place: _Place) -> Cells:
        """Cells that are no record's, whose names `close` tells; far past what is told, nothing is kept of them."""
        if head in self.lost:
            return self.lost[head][1]
        made: Cells = {}
        if len(self.lost) <= cells.MAX_NAMED:
            self.lost[head] = unescape(head), made, place
        else:
            self.more += 1
        return made

    def find(self, head: str, *, make: bool) -> tuple[Cells, Fields] | None:
        """The cells and the fields of the record at `head`, as it was sent; None where only `walk` can tell."""
        if not head:
            return self.root, fields_of(self.shape)
        name, _, end = head.rpartition("[" if head[-1] == "]" else "%5B")
        number = _NUMBERS.get(end) if name else -1
        if number is None:
            number = _number(end)
        if number < 0:
            name = head
        held, fields, are_rows = self.known.get(name) or self.under(name, are_rows=number >= 0)
        if are_rows is not (number >= 0):
            return None
        if not are_rows:
            return held, fields
        if number >= MAX_ROWS:
            return (self.lose(head, _HIGH), _NO_FIELDS) if make else None
        row = held.get(number)
        if row is None:
            row = {}
            if make:
                held[number] = row
        return (row, fields) if type(row) is dict else None

    def under(self, name: str, *, are_rows: bool) -> _Held:
        """What is held under a field's name, as it was sent: a record's cells, or the rows of a list of records."""
        head, _, last = name.rpartition(".")
        found = self.find(head, make=True) if name.count(".") < _depth(self.shape) else None
        if found is None or last not in found[1]:
            return _NOTHING
        kind: Kind | None = found[1][last].kind
        if are_rows:
            kind = kind.item.kind if isinstance(kind, Rows) else None
        if not isinstance(kind, RecordKind):
            return _NOTHING
        held = found[0].setdefault(last, {})
        if type(held) is not dict:
            return _NOTHING
        self.known[name] = held, fields_of(kind.shape), are_rows
        return self.known[name]

    def put(self, name: str, value: Any) -> None:
        """Put one cell where its name leads, which may be anywhere."""
        place = self.walk(name, make=True)
        if place.holder is None or place.kind is None:
            if place.why:
                self.no(said(name), f"no cell has this name: {place.why}")
            return
        if isinstance(place.key, tuple):
            key, what = place.key
            if what == "zone":
                self.zone(place.holder, key, value)
                return
            value, key = _Own(value), key
            held = place.holder.get(key)
            if isinstance(held, _Own):
                held.values.append(value.values[0])
            elif held is None:
                place.holder[key] = value
            else:
                self.no(said(name), "it was given by number too; give one or the other")
            return
        if place.key in place.holder:
            self.again(place.holder, place.key, value, name)
        else:
            place.holder[place.key] = value

    def zone(self, holder: Cells, key: Any, value: Any) -> None:
        if self.zones is None:
            self.zones = {}
        held = self.zones.get((id(holder), key))
        if isinstance(held, Many):
            held.values.append(value)
        else:
            self.zones[(id(holder), key)] = value if held is None else Many(held, value)

    def again(self, holder: Cells, key: Any, value: Any, name: str) -> None:
        """A second value under one `name`."""
        held = holder[key]
        if type(held) is dict or isinstance(held, _Own):
            self.no(said(name), _BOTH)
        elif isinstance(held, Many):
            held.values.append(value)
        else:
            holder[key] = Many(held, value)

    def no(self, name: str, why: str) -> None:
        """Note that `name` is wrong. Far past the problems that are named, it is not even remembered."""
        if len(self.wrong) <= cells.MAX_NAMED:
            self.wrong.setdefault(name, why)
        else:
            self.more += 1

    # afterwards

    def names_a_field(self) -> bool:
        """Whether any name leads to a field of the record, or begins as if it did."""
        fields = fields_of(self.shape)
        if self.wrong or self.lost or not fields.keys().isdisjoint(self.root):
            return True
        names = (last if head is None else unescape(head or last) for head, last in self.blanks)
        return any(re.split(r"[.[]", name, maxsplit=1)[0] in fields for name in names)

    def close(self) -> None:
        """Look at what was left aside: blank cells, zones, and names that led nowhere."""
        before = None
        for head, last in self.blanks:
            if len(self.wrong) > cells.MAX_NAMED:
                break
            if head is None:
                self.blank_name(last)
                continue
            if head != before:
                before, (fields, here, why) = head, self.look(head)
            field = fields.get(last)
            if field is None:
                name = unescape(f"{head}.{last}" if head else last)
                if why:
                    self.no(said(name), f"no cell has this name: {why}")
                elif fields is not _NO_FIELDS:
                    self.blank_name(name)
            elif last in here and not isinstance(field.kind, _BLANK_BESIDE):
                self.again(here, last, "", last)
        for name, made, place in self.lost.values():
            for last, value in made.items():
                if last == "zone" and place.is_moment and place.holder is not None:
                    self.zone(place.holder, place.key, value)
                else:
                    self.no(said(f"{name}.{last}"), f"no cell has this name: {place.why or _NO_PARTS}")

    def look(self, head: str) -> tuple[Fields, Cells, str]:
        """The fields where `head` leads, and the cells that are there already; or why none may be."""
        found = self.find(head, make=False)
        if found is not None:
            return found[1], found[0], ""
        place = self.walk(unescape(head), make=False)
        if isinstance(place.kind, RecordKind):
            here = place.holder and place.holder.get(place.key)
            return fields_of(place.kind.shape), here if type(here) is dict else {}, ""
        if place is _IGNORED or place.is_moment:
            return _NO_FIELDS, {}, ""
        return _NO_FIELDS, {}, place.why or self.walk(f"{unescape(head)}.", make=False).why

    def blank_name(self, name: str) -> None:
        """The same, of a whole name."""
        place = self.walk(name, make=False)
        if place.why:
            self.no(said(name), f"no cell has this name: {place.why}")
            return
        holder, key = place.holder, place.key
        if holder is not None and not isinstance(key, tuple) and key in holder and not isinstance(place.kind, _BLANK_BESIDE):
            self.again(holder, key, "", name)


def _key(name: str, at: int) -> tuple[str, int] | None:
    if name[at] == ".":
        step = _FIELD.match(name, at)
        return None if step is None else (step[1], step.end())
    if not name.startswith('["', at):
        return None
    try:
        end = _KEY_END(name, at)
        if end is None:
            return None
        (key,) = parse_path(end[0])
    except ValueError:
        return None
    if isinstance(key, str) and cells.half_a_key(key):
        return None
    return (key, end.end()) if isinstance(key, str) else None


_KEY_END = re.compile(r'\["(?:[^"\\]|\\.)*+"\]').match


def said(name: str) -> str:
    """A name as a problem's path says it."""
    return name if name.isprintable() else "".join(c if c.isprintable() else "\ufffd" for c in name)


class _Own(Many):
    """What a list of plain rows was sent as under its own name with `[]`."""

    __slots__ = ()


def is_plain(item: Cell) -> bool:
    """Whether rows of `item` may be sent by their list's own name, repeated."""
    return not isinstance(item.kind, RecordKind | Rows | Mapping | JsonObject)


def _has_keys(shape: Shape[Any]) -> bool:
    """Whether a name of this record may have a quoted key in it."""
    kept = shape.derived.get("keys")
    if kept is None:
        kept = shape.derived["keys"] = any(_keyed(field.kind) for field in shape.fields)
    return bool(kept)


def _depth(shape: Shape[Any]) -> int:
    """How many records deep a form of this record goes."""
    kept = shape.derived.get("depth")
    if kept is None:
        inner = [field.kind.item.kind if isinstance(field.kind, Rows) else field.kind for field in shape.fields]
        depths = [_depth(kind.shape) for kind in inner if isinstance(kind, RecordKind)]
        kept = shape.derived["depth"] = 1 + max(depths, default=-1)
    return kept


def _keyed(kind: Kind) -> bool:
    match kind:
        case Mapping():
            return True
        case Rows(item):
            return _keyed(item.kind)
        case RecordKind(shape):
            return _has_keys(shape)
    return False


# ── What the readers ask of a tree ─────────────────────────────────────────


def is_blank(shape: Shape[Any], row: Cells) -> bool:
    """Whether nothing in `row` makes it a row: no text, no ticked box and no nested row."""
    fields = fields_of(shape)
    return not any(name in fields and _says(fields[name].kind, came) for name, came in row.items())


def _says(kind: Kind, came: Any) -> bool:
    if isinstance(kind, Boolean):
        values = came.values if isinstance(came, Many) else [came]
        return any(not isinstance(each, str) or cells.TRUTHS.get(each, True) for each in values)
    if type(came) is not dict:
        return True
    if isinstance(kind, RecordKind):
        return not is_blank(kind.shape, came)
    if isinstance(kind, Rows | Mapping):
        return any(_says(kind.item.kind, each) for each in came.values())
    return True


def nothing_in(kind: Kind, came: Any, at: cells.At, found: Found) -> bool:
    """Whether what came for a record, list or dict is as if it had not; names in it that are no field's are problems still."""
    if _says(kind, came):
        return False
    _astray_inside(kind, came, at, found)
    return True


def _astray_inside(kind: Kind, came: Any, at: cells.At, found: Found) -> None:
    match kind:
        case RecordKind(shape) if type(came) is dict:
            for field in shape.fields:
                if field.name in came:
                    _astray_inside(field.kind, came[field.name], (at, field.name), found)
            astray(shape, came, at, found)
        case Rows(item) | Mapping(item) if type(came) is dict:
            for key, each in came.items():
                _astray_inside(item.kind, each, (at, key), found)
        case _:
            pass


def astray(shape: Shape[Any], row: Cells, at: cells.At, found: Found) -> None:
    """A problem for each name in `row` that is no field of `shape`."""
    fields = fields_of(shape)
    for name in row:
        if name not in fields:
            found.add((at, name), f"no cell has this name: {shape.name} has no {cells.quoted(None, name)}")


def own_rows(cell: Cell, came: Any, at: cells.At, found: Found) -> Any:
    """The rows of a list of plain values that was sent by its own name, once a row."""
    assert isinstance(cell.kind, Rows)  # noqa: S101  (the reader that calls this was written for rows)
    values = came.values if isinstance(came, Many) else [came]
    kept = []
    before = found.count
    suffix = "[]" if isinstance(came, _Own) else ""
    aside = Found()
    for each in values:
        value = cells.form_cell(cell.kind.item, each, (), aside)
        if value is UNREAD:
            if found.count == before:
                found.add(cells.print_at(at) + suffix, aside.problems[-1].message)
        else:
            kept.append(value)
    if found.count != before:
        return UNREAD
    if not (cell.min_length or 0) <= len(kept) <= (MAX_ROWS if cell.max_length is None else cell.max_length):
        return cells.wrong_length(cell, len(kept), at, found)
    return tuple(kept) if cell.kind.as_tuple else kept


def refused(wrong: ValueError, shape: Shape[Any], row: Cells, at: cells.At, found: Found) -> Unreadable:
    """The problems of a record whose own `__post_init__` raised `wrong`, its rows counted as they were sent."""
    if not isinstance(wrong, Unread):
        return cells.refused(wrong, at, found)
    return cells.refused(Unread(*(as_sent(each, shape, row) for each in wrong.problems)), at, found)


def as_sent(problem: Problem, shape: Shape[Any], row: Cells) -> Problem:
    """The problem, which counts the rows that a record keeps, at the cell as it was sent."""
    try:
        steps = list(parse_path(problem.path))
    except ValueError:
        return problem
    kind: Kind = RecordKind(shape)
    here: Any = row
    for n, step in enumerate(steps):
        if type(here) is not dict:
            if n and isinstance(here, str | Many):
                return replace(problem, path=print_path(steps[:n]))
            break
        if isinstance(kind, RecordKind) and isinstance(step, str):
            field = kind.shape.field(step)
            if field is None:
                break
            kind = field.kind
        elif isinstance(kind, Rows) and isinstance(step, int):
            item = kind.item.kind
            sent = (
                [number for number in sorted(here) if _says(item, here[number])]
                if isinstance(item, RecordKind | Rows | Mapping)
                else sorted(here)
            )
            if step >= len(sent):
                break
            steps[n] = step = sent[step]
            kind = item
        elif isinstance(kind, Mapping):
            kind = kind.item.kind
        here = here.get(step)
    return replace(problem, path=print_path(steps))
