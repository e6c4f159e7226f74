"""What a record says, as plain frozen values to be read: facts, and tables of rows.

Records enter, of any shape; `Facts` and `Table`s leave, which `meridian/record.html` and `meridian/table.html` write out.
Amounts stay exact, moments keep theirs beside what a person reads, and what a `secret` field holds never gets here. What
others wrote goes through `shown`, so that no character works unseen.
"""

from __future__ import annotations

import datetime as dt
import json
import re
import unicodedata
import zoneinfo
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from operator import attrgetter
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias

from meridian.records import (
    Boolean,
    Cell,
    Choice,
    Date,
    DateTime,
    DecimalKind,
    Integer,
    JsonObject,
    RecordKind,
    Rows,
    Shape,
    Time,
    Uuid,
    shape_of,
)
from meridian.records import Mapping as Entries

__all__ = [
    "Facts",
    "Heading",
    "Line",
    "Link",
    "Section",
    "Shown",
    "Table",
    "by_thousands",
    "choice_words",
    "draw_record",
    "draw_table",
    "heads_over",
    "humanised",
    "inline",
    "shown",
]

# ── Words ──────────────────────────────────────────────────────────────────

_HIDDEN: Final = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"})
_BLANK: Final = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4\u17b5")
"""Letters and marks that look like nothing."""


def shown(text: object) -> str:
    """`text` with every hidden character, and every one that changes the direction of what follows, written as its number.

    A line feed and a tab stay, and so does each space that looks like one.

    >>> shown("pay\\u202egnp.exe")
    'pay[U+202E]gnp.exe'
    """
    said = str(text)
    if said.isascii() and said.isprintable():
        return said
    return "".join(f"[U+{ord(each):04X}]" if _is_hidden(each) else each for each in said)


def _is_hidden(character: str) -> bool:
    if character in "\n\t":
        return False
    return (
        unicodedata.category(character) in _HIDDEN
        or character in _BLANK
        or "\ufe00" <= character <= "\ufe0f"
        or "\U000e0100" <= character <= "\U000e01ef"
    )


def humanised(name: str) -> str:
    """A field's name as a label: `as_of` is "As of", `entry_id` is "Entry ID".

    >>> humanised("entry_id")
    'Entry ID'
    """
    words = name.replace("_", " ").split()
    said = " ".join("ID" if word == "id" else "IDs" if word == "ids" else word for word in words)
    return said[:1].upper() + said[1:] if said else name


def choice_words(value: str) -> str:
    """A choice as a person reads it: `in_kind` is "In kind", `CUSIP` stays."""
    return humanised(value) if re.fullmatch(r"[a-z][a-z0-9_]*", value) else shown(value)


def inline(label: str) -> str:
    """A label inside a sentence: "Cost" is "cost", "ISIN" stays."""
    return label if label[1:2].isupper() else label[:1].lower() + label[1:]


# ── The model ──────────────────────────────────────────────────────────────

Look = Literal["text", "figure", "count", "day", "moment", "code", "flag", "json", "none", "list"]


NOTHING: Final = "—"
"""What stands where there is no value."""


class Shown(NamedTuple):
    """One value as a person reads it. `exact` is a moment's, for a `<time>`; `groups` are a figure's digits by thousands,
    which are set apart and copied together; `pad` is the room behind them that brings the points of a column in line; `each`
    are the values of a list."""

    look: Look
    text: str
    exact: str = ""
    groups: tuple[str, ...] = ()
    each: tuple[Shown, ...] = ()
    pad: str = ""


@dataclass(frozen=True, slots=True)
class Link:
    """A plain link; `current` where it leads to what is shown already."""

    text: str
    href: str
    current: bool = False


@dataclass(frozen=True, slots=True)
class Heading:
    """The head of one column. `figure` sets it to the right; `group` is the label of the inner record it belongs to."""

    label: str
    figure: bool = False
    group: str = ""
    hint: str = ""


class Line(NamedTuple):
    """One row of a table: a value for each column, tables under it, and the record itself, for a page that adds a cell.

    `beside` are the rows of its one list, where the table has them in columns of their own.
    """

    cells: tuple[Shown, ...]
    under: tuple[Table, ...] = ()
    href: str = ""
    record: Any = None
    beside: tuple[tuple[Shown, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of data. `empty` says what would be here, and how to begin; `pages` and `filters` are plain links.

    `heads` are the labels over the columns with how many each spans, and empty where no column belongs to an inner record.
    `actions` heads one more column, which the page fills. The last `inner` columns are those of the rows' one list, headed once
    for all of them. `kept` is where the template keeps what it drew (`pages.alike`).
    """

    caption: str
    columns: tuple[Heading, ...]
    lines: tuple[Line, ...]
    heads: tuple[tuple[str, int], ...] = ()
    empty: str = ""
    pages: tuple[Link, ...] = ()
    filters: tuple[Link, ...] = ()
    actions: str = ""
    inner: int = 0
    kept: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Section:
    """A record inside the record, under its label."""

    label: str
    facts: Facts


@dataclass(frozen=True, slots=True)
class Facts:
    """A record: its single values as label and value, then what has rows or fields of its own."""

    name: str
    values: tuple[tuple[str, Shown], ...]
    parts: tuple[Table | Section, ...] = ()


# ── Drawing ────────────────────────────────────────────────────────────────

Links: TypeAlias = Iterable[Link | tuple[str, str] | tuple[str, str, bool]]


def draw_record(
    data: object, *, zone: str = "UTC", labels: Mapping[str, str] | None = None, without: Iterable[str] = ()
) -> Facts:
    """What the record `data` says; a secret is left out, and so are the fields named in `without`. Moments are told in
    `zone`, an IANA name."""
    shape = shape_of(type(data))
    teller = _Teller(_known_zone(zone), labels or {}, frozenset(without))
    return teller.facts(shape, data, "")


def draw_table(
    rows: Sequence[object],
    *,
    caption: str,
    shape: Shape[Any] | None = None,
    columns: Sequence[str] | None = None,
    empty: str = "Nothing is here yet.",
    pages: Links = (),
    filters: Links = (),
    link: Callable[[Any], str] | None = None,
    actions: str = "",
    labels: Mapping[str, str] | None = None,
    none: Mapping[str, str] | None = None,
    zone: str = "UTC",
) -> Table:
    """A table of records of one class, figures to the right.

    `shape` is needed where there may be no rows, to head the columns all the same. `columns` are the paths to show (`account`,
    `instrument.name`; None: every field). `link` gives the address the first column leads to. `actions` heads a last column
    that the page fills, row by row. `none` is what the absence of a value means, by path, where it means something.
    """
    teller = _Teller(_known_zone(zone), labels or {}, frozenset(), none or {})
    of = shape or (shape_of(type(rows[0])) if rows else None)
    if of is None:
        return Table(caption, (), (), empty=empty, pages=_links(pages), filters=_links(filters), actions=actions)
    table = teller.table(of, rows, caption, None if columns is None else tuple(columns), link)
    return replace(table, empty=empty, pages=_links(pages), filters=_links(filters), actions=actions)


def _links(links: Links) -> tuple[Link, ...]:
    return tuple(each if isinstance(each, Link) else Link(*each) for each in links)


def _known_zone(name: str) -> dt.tzinfo:
    """The zone called `name`; UTC where none is known by it, since a time must be told in some zone."""
    try:
        return dt.UTC if name == "UTC" else zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return dt.UTC


class _Column(NamedTuple):
    """One column, or a list under each row: where it stands in a row's record, and how to get its value `of` that record."""

    path: str
    cell: Cell
    label: str
    group: str
    of: Callable[[Any], Any]


class _RowLayout(NamedTuple):
    """What the rows of one table are made of: its columns, the lists under each row with the shape of their rows, and its
    heads."""

    single: tuple[_Column, ...]
    nested: tuple[tuple[_Column, Shape[Any]], ...]
    heads: tuple[Heading, ...]
    kept: dict[Any, Any]


@dataclass(frozen=True)
class _Teller:
    zone: dt.tzinfo
    labels: Mapping[str, str]
    without: frozenset[str]
    none: Mapping[str, str] = field(default_factory=dict)
    known: dict[tuple[type[Any], str], _RowLayout] = field(default_factory=dict)

    def facts(self, shape: Shape[Any], data: object, path: str) -> Facts:
        values: list[tuple[str, Shown]] = []
        parts: list[Table | Section] = []
        for each in shape.fields:
            below = f"{path}.{each.name}" if path else each.name
            if each.secret or below in self.without:
                continue
            value, label = getattr(data, each.name), self.label(each, below, each.name)
            match each.kind:
                case RecordKind(inner) if value is not None:
                    parts.append(Section(label, self.facts(inner, value, below)))
                case Rows(item) if isinstance(item.kind, RecordKind) and value is not None:
                    parts.append(self.table(item.kind.shape, value, label, None, None, below))
                case _:
                    values.append((label, self.value(each, value)))
        return Facts(shape.name, tuple(values), tuple(parts))

    def label(self, cell: Cell, path: str, name: str) -> str:
        return self.labels.get(path) or cell.title or humanised(name)

    def table(
        self,
        shape: Shape[Any],
        rows: Iterable[object],
        caption: str,
        columns: tuple[str, ...] | None,
        link: Callable[[Any], str] | None,
        path: str = "",
    ) -> Table:
        made_of = self.made_of(shape, columns, path)
        lines = []
        for row in rows:
            cells = tuple([self.told(each, each.of(row)) for each in made_of.single])
            under = tuple(
                [
                    self.table(inner, each.of(row) or (), each.label, None, None, f"{path}[].{each.path}")
                    for each, inner in made_of.nested
                ]
            )
            lines.append(Line(cells, under, link(row) if link else "", row))
        heads = made_of.heads
        return _beside(Table(caption, heads, _in_line(heads, lines), heads_over(heads), kept=made_of.kept))

    def made_of(self, shape: Shape[Any], columns: tuple[str, ...] | None, path: str) -> _RowLayout:
        """What the rows at `path` are made of; the same for every table there."""
        known = self.known.get((shape.record, path))
        if known is None:
            found = list(self.columns(shape, f"{path}[]." if path else ""))
            if columns is not None:
                found = sorted((each for each in found if each.path in columns), key=lambda each: columns.index(each.path))
            nested = [(each, inner) for each in found if (inner := _shape_of_rows(each.cell)) is not None]
            single = [each for each in found if _shape_of_rows(each.cell) is None]
            heads = [
                Heading(each.label, isinstance(each.cell.kind, DecimalKind | Integer), each.group, each.cell.description)
                for each in single
            ]
            known = self.known[shape.record, path] = _RowLayout(tuple(single), tuple(nested), tuple(heads), {})
        return known

    def columns(self, shape: Shape[Any], path: str, at: str = "", group: str = "") -> Iterator[_Column]:
        """The columns, inner records laid out flat."""
        for each in shape.fields:
            if each.secret:
                continue
            below = f"{at}.{each.name}" if at else each.name
            label = self.label(each, f"{path}{below}", each.name)
            if isinstance(each.kind, RecordKind):
                yield from self.columns(each.kind.shape, path, below, f"{group}, {inline(label)}" if group else label)
            else:
                yield _Column(below, each, label, group, partial(_reach, path=below) if at else attrgetter(below))

    def told(self, column: _Column, value: Any) -> Shown:
        """The value in a column, or what it means that there is none."""
        said = self.value(column.cell, value)
        return Shown("none", self.none[column.path]) if said.look == "none" and column.path in self.none else said

    def value(self, cell: Cell, value: Any) -> Shown:
        """One value, as a person reads it."""
        if value is None or value == "":
            return Shown("none", NOTHING)
        match cell.kind:
            case DecimalKind():
                text = format(value, "f")
                return Shown("figure", text, groups=by_thousands(text))
            case Integer():
                return Shown("count", str(value))
            case Boolean():
                return Shown("flag", "Yes" if value else "No")
            case DateTime():
                return self.moment(value)
            case Date() | Time():
                return Shown("day", value.isoformat(), value.isoformat())
            case Uuid():
                return Shown("code", str(value))
            case Choice():
                text = str(value.value if isinstance(value, Enum) else value)
                return Shown("text", choice_words(text))
            case JsonObject():
                return Shown("json", shown(json.dumps(value, ensure_ascii=False, indent=2)))
            case Rows(item):
                items = tuple([self.value(item, each) for each in value])
                return Shown("list", "", each=items) if items else Shown("none", NOTHING)
            case Entries(item):
                pairs = [Shown("text", f"{shown(key)}: {self.value(item, each).text}") for key, each in value.items()]
                return Shown("list", "", each=tuple(pairs)) if pairs else Shown("none", NOTHING)
            case RecordKind(shape):
                told = self.facts(shape, value, "")
                return Shown("text", "; ".join(f"{label}: {each.text}" for label, each in told.values))
            case _:
                return Shown("text", shown(value))

    def moment(self, value: dt.datetime) -> Shown:
        """A moment in the person's zone, to the second, and exactly as it is."""
        try:
            local = value.astimezone(self.zone)
        except OverflowError:  # the zone has no day for it
            local = value
        return Shown("moment", f"{local:%Y-%m-%d %H:%M:%S} {local.tzname() or ''}".strip(), value.isoformat())


def _shape_of_rows(cell: Cell) -> Shape[Any] | None:
    """The shape of a list's records; None for what is no list of records."""
    return cell.kind.item.kind.shape if isinstance(cell.kind, Rows) and isinstance(cell.kind.item.kind, RecordKind) else None


def _in_line(heads: tuple[Heading, ...], lines: Sequence[Line]) -> tuple[Line, ...]:
    """The lines with the points of each column of figures in line."""
    places = [max((_room(line.cells[n]) for line in lines), default=0) if head.figure else 0 for n, head in enumerate(heads)]
    if not any(places):
        return tuple(lines)
    return tuple([line._replace(cells=_padded(line.cells, places)) for line in lines])


def _padded(cells: tuple[Shown, ...], places: Sequence[int]) -> tuple[Shown, ...]:
    return tuple(
        [
            cell._replace(pad=("." if "." not in cell.text else "").ljust(room - _room(cell), "0"))
            if room and cell.look == "figure" and room > _room(cell)
            else cell
            for cell, room in zip(cells, places, strict=True)
        ]
    )


def _room(cell: Shown) -> int:
    """How many characters stand from the point on."""
    point = cell.text.find(".") if cell.look == "figure" else -1
    return 0 if point < 0 else len(cell.text) - point


def _beside(table: Table) -> Table:
    """The table with the one list that each of its rows has laid out beside it, where all of them are short: a list of one then
    stands on its row's line, and its columns are headed once."""
    inner = [line.under[0] for line in table.lines if len(line.under) == 1]
    if not inner or len(inner) < len(table.lines) or table.inner:
        return table
    columns = next((each.columns for each in inner if each.lines), ())
    if not columns or len(table.columns) + len(columns) > _MOST_COLUMNS:
        return table
    if any(len(each.lines) > _MOST_BESIDE or each.inner or any(line.under for line in each.lines) for each in inner):
        return table
    heads = (*table.columns, *(replace(each, group=each.group or inner[0].caption) for each in columns))
    every = _in_line(columns, [line._replace(cells=_bare(line.cells)) for each in inner for line in each.lines])
    told = iter(every)
    lines = [
        line._replace(under=(), beside=tuple(next(told).cells for _ in each.lines))
        for line, each in zip(table.lines, inner, strict=True)
    ]
    return replace(table, columns=heads, lines=tuple(lines), heads=heads_over(heads), inner=len(columns))


def _bare(cells: tuple[Shown, ...]) -> tuple[Shown, ...]:
    return tuple(cell._replace(pad="") if cell.pad else cell for cell in cells)


_MOST_BESIDE: Final = 12
_MOST_COLUMNS: Final = 9


def _reach(record: Any, path: str) -> Any:
    for name in path.split("."):
        record = getattr(record, name) if record is not None else None
    return record


class Headed(Protocol):
    """A column, which may belong to a group."""

    @property
    def group(self) -> str: ...


def heads_over(columns: Iterable[Headed]) -> tuple[tuple[str, int], ...]:
    """The labels over columns, with how many each spans, and empty over those that belong to none; no label where all have the
    same one, which tells nothing apart."""
    groups = [column.group for column in columns]
    if len(set(groups)) < 2:
        return ()
    heads: list[tuple[str, int]] = []
    for label in groups:
        if heads and label and heads[-1][0] == label:
            heads[-1] = (label, heads[-1][1] + 1)
        else:
            heads.append((label, 1))
    return tuple(heads)


def by_thousands(text: str) -> tuple[str, ...]:
    """The digits of a number in threes, the fraction with the last of them; together they are the number.

    >>> by_thousands("-1234567.125")
    ('-1', '234', '567.125')
    """
    whole, point, rest = text.partition(".")
    sign, digits = ("-", whole[1:]) if whole.startswith("-") else ("", whole)
    first = len(digits) % 3 or 3
    groups = [digits[:first], *(digits[at : at + 3] for at in range(first, len(digits), 3))]
    groups[0] = sign + groups[0]
    groups[-1] += point + rest
    return tuple(groups)
