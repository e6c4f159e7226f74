"""The form that a shape draws, as plain frozen values.

A shape, what was typed and what did not read enter; a `Form` leaves, and the template `meridian/form.html` writes it out. No
name, no input and no message is decided in the template: what a person sees of a cell can be read, and tested, here. Rows are
never renumbered, so the cell of `lots[7]` stays the eighth row's, whatever stands before it.

Three rules shape what is drawn. A spare row is blank, its choices and boxes too, because a row whose cells hold the defaults is
a row. A `secret` is drawn empty, always, and its form is not offered to a browser's agent: Chromium offers every named control
but hidden and file inputs, a password among them, so the only form that keeps one back is a form that declares no tool. And a
value that the browser's own control would drop (a date that is none, a time with an offset) is drawn in a text input, where it
stays as typed.
"""

from __future__ import annotations

import datetime as dt
import json
import re
import zoneinfo
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, localcontext
from enum import Enum
from typing import Any, Final, Literal, TypeAlias
from uuid import UUID

from meridian.errors import Problem
from meridian.pages.showing import by_thousands, draw_record, draw_table, humanised, inline, shown
from meridian.records import (
    EVERY,
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
    RecordKind,
    Rows,
    Shape,
    Step,
    Time,
    Uuid,
    parse_path,
    print_path,
)
from meridian.records import Mapping as Entries

__all__ = [
    "Blank",
    "Column",
    "Dictionary",
    "Form",
    "FormTool",
    "Grid",
    "Group",
    "Input",
    "Item",
    "Look",
    "Mention",
    "Option",
    "Part",
    "Row",
    "Total",
    "draw_form",
    "draw_record",
    "draw_table",
    "edit_rows",
    "names",
    "reaches",
    "shown",
]

Pairs: TypeAlias = Sequence[tuple[str, str]]
Control = Literal[
    "text", "textarea", "checkbox", "checks", "radios", "select", "list", "date", "time", "moment", "secret", "json", "file"
]

Width = Literal["short", "medium", "long"]

RADIOS: Final = 5
"""Choices up to here are radios, more are a select."""
SELECT: Final = 25
"""Choices up to here are a select; more are a text input that suggests them, which filters without a script."""
LONG_TEXT: Final = 200
"""A text that may be longer than this is drawn as a textarea."""
FOLDED: Final = 3
"""A nested list with more rows than this is folded."""
LAST_ROW: Final = 9_999
MAX_STEPS: Final = 64
"""A name of more steps than this is no cell that a form draws."""

ROW_TOKEN: Final = "@row{}@"  # noqa: S105  not a secret
"""What stands for a row's number, by depth, in the blank row that the script copies."""
NUMBER_TOKEN: Final = "@number{}@"  # noqa: S105
"""The same, counted from one, as a person reads it."""


# ── The model ──────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class FormTool:
    """A form as a browser's agent sees it (WebMCP). `auto_submit` is for reads alone: an act waits for the person's press."""

    name: str
    description: str
    auto_submit: bool = False


@dataclass(frozen=True, slots=True)
class Option:
    """One choice: what is sent, and what a person reads."""

    value: str
    label: str


@dataclass(frozen=True, slots=True)
class Look:
    """What a field's input is like wherever it stands; the inputs of a column share one.

    `figure` is a number, set to the right; `attributes` are what the browser is told; `default` is what blank means;
    `companion` says that a box left unticked must still be sent; `tool` is what the browser's agent is told.
    """

    control: Control
    label: str
    hint: str = ""
    optional: bool = False
    figure: bool = False
    width: Width = "medium"
    attributes: tuple[tuple[str, str], ...] = ()
    options: tuple[Option, ...] = ()
    default: str = ""
    companion: bool = False
    tool: str = ""


@dataclass(frozen=True, slots=True)
class Input:
    """One cell: its name, which is its path, and what stands in it.

    `where` names it in words, as in "Row 8, cost". `control` is the look's, or `text` where the browser's own control would
    drop `value`. A checkbox has `ticked`, a set of checks has `chosen`, a moment has its `zone`.
    """

    path: str
    id: str
    look: Look
    control: Control
    where: str
    value: str = ""
    ticked: bool = False
    chosen: tuple[str, ...] = ()
    zone: str = ""
    problem: str = ""
    required: bool = False
    focus: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """A record inside the record: its parts, under its name."""

    path: str
    id: str
    label: str
    hint: str
    optional: bool
    parts: tuple[Part, ...]
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a grid. `path` goes on from the row's, and is empty where a row is one cell; `group` is the label of the
    inner record the column belongs to; `summed` says that it has a total."""

    path: str
    look: Look
    group: str = ""
    summed: bool = False


@dataclass(frozen=True, slots=True)
class Total:
    """The sum of the figures at `key`, a path that leaves out the numbers of the rows summed; "—" where one does not read."""

    key: str
    label: str
    text: str

    @property
    def groups(self) -> tuple[str, ...]:
        """Its digits by thousands."""
        return by_thousands(self.text)


@dataclass(frozen=True, slots=True)
class Row:
    """One row: `number` as a person counts, an input for each column, and what is nested under it."""

    path: str
    id: str
    number: str
    cells: tuple[Input, ...]
    under: tuple[Part, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Grid:
    """A list of rows as a table. `next` is the number that a new row takes; `of` names the row a nested grid is under.

    `heads` are the labels over the columns, with how many each spans, and empty where no column belongs to an inner record.
    `words` explains the columns, those of nested lists too, once, at the outermost grid. `totals` has one for each column, or
    None; `sums` are those of nested lists. `depth` counts from 0; `opened` says whether a nested grid is unfolded.
    """

    path: str
    id: str
    label: str
    hint: str
    optional: bool
    columns: tuple[Column, ...]
    heads: tuple[tuple[str, int], ...]
    rows: tuple[Row, ...]
    next: int
    depth: int
    of: str = ""
    opened: bool = True
    words: tuple[tuple[str, str], ...] = ()
    totals: tuple[Total | None, ...] = ()
    sums: tuple[Total, ...] = ()
    problem: str = ""

    @property
    def name(self) -> str:
        """Its label inside a sentence."""
        return inline(self.label)

    @property
    def span(self) -> int:
        """How many cells a row is wide: its number, its columns, its button."""
        return len(self.columns) + 2


@dataclass(frozen=True, slots=True)
class Item:
    """One entry of a dict: its key, and the part drawn for its value."""

    key: str
    path: str
    part: Part


@dataclass(frozen=True, slots=True)
class Dictionary:
    """A dict as a list of entries. A new one's key is typed in the input `key_name`."""

    path: str
    id: str
    label: str
    hint: str
    optional: bool
    items: tuple[Item, ...]
    key_name: str
    problem: str = ""


Part: TypeAlias = Input | Group | Grid | Dictionary


@dataclass(frozen=True, slots=True)
class Mention:
    """One line of the summary above a form: where, and what; `id` is the cell's, empty where nothing is drawn for it."""

    id: str
    where: str
    message: str


@dataclass(frozen=True, slots=True)
class Blank:
    """The blank row that the script copies for every grid of one `pattern`; tokens stand for the numbers of its rows."""

    pattern: str
    grid: Grid
    row: Row


@dataclass(frozen=True, slots=True)
class Form:
    """A form, whole. `parts` stand in the order of the record; `problems` in the order they were found.

    `lists` are the suggestions of inputs with many choices, by the id of their datalist. `blanks` has one for each list.
    """

    id: str
    action: str
    method: Literal["get", "post"]
    submit: str
    parts: tuple[Part, ...]
    hidden: tuple[tuple[str, str], ...] = ()
    problems: tuple[Mention, ...] = ()
    detail: str = ""
    prepare: bool = False
    reason: str = ""
    save: bool = True
    tool: FormTool | None = None
    multipart: bool = False
    lists: tuple[tuple[str, tuple[Option, ...]], ...] = ()
    blanks: tuple[Blank, ...] = ()

    @property
    def heading(self) -> str:
        """What the summary is headed with; empty where there is none."""
        if len(self.problems) > 1:
            return f"There are {len(self.problems)} problems"
        return "There is a problem" if self.problems or self.detail else ""

    @property
    def edits(self) -> bool:
        """Whether it has buttons that add and remove rows or entries."""
        return bool(self.blanks) or any(isinstance(each, Dictionary) for each in _walk(self.parts))

    def part(self, path: str) -> Part:
        """The part at `path`, for a page that lays its form out by hand. Raises LookupError where the form has none."""
        for part in _walk(self.parts):
            if part.path == path:
                return part
        raise LookupError(f"the form draws nothing at {path!r}; it draws {', '.join(part.path for part in self.parts)}")


def _walk(parts: Iterable[Part]) -> Iterator[Part]:
    for part in parts:
        yield part
        match part:
            case Group():
                yield from _walk(part.parts)
            case Grid():
                for row in part.rows:
                    yield from row.cells
                    yield from _walk(row.under)
            case Dictionary():
                yield from _walk(item.part for item in part.items)
            case Input():
                pass


# ── What was typed, as a tree ──────────────────────────────────────────────


class _Node:
    """What was typed at one path, and below it."""

    __slots__ = ("below", "values")

    def __init__(self) -> None:
        self.values: list[str] = []
        self.below: dict[Step, _Node] = {}

    @property
    def value(self) -> str:
        return self.values[-1] if self.values else ""

    def at(self, step: Step) -> _Node:
        return self.below.get(step, _NOTHING)


_NOTHING: Final = _Node()


def _tree(pairs: Iterable[tuple[str, str]], fields: Collection[str]) -> _Node:
    """The tree of those pairs whose name is a path that begins with one of `fields`."""
    root = _Node()
    found: dict[str, _Node | None] = {}

    def find(name: str) -> _Node | None:
        if name not in found:
            before, dot, last = name.rpartition(".")
            if dot and last.isidentifier() and last.isascii():
                above = find(before)
                found[name] = None if above is None else above.below.setdefault(last, _Node())
            else:
                found[name] = _walk_to(root, name)
        return found[name]

    for name, value in pairs:
        if _head(name) in fields and name.count(".") + name.count("[") <= MAX_STEPS and (node := find(name)) is not None:
            node.values.append(value)
    return root


def _walk_to(root: _Node, name: str) -> _Node | None:
    try:
        steps = parse_path(name)
    except ValueError:
        return None
    node = root
    for step in steps:
        node = node.below.setdefault(step, _Node())
    return node


_HEAD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def _head(name: str) -> str:
    found = _HEAD.match(name)
    return found[0] if found else ""


def _step(path: str, name: str) -> str:
    """The path of the field or key `name` under `path`."""
    own = print_path((name,))
    return own if not path else path + own if own.startswith("[") else f"{path}.{own}"


# ── What a default looks like as it would be typed ─────────────────────────


def _written(cell: Cell, value: object, path: str) -> Iterator[tuple[str, str]]:
    """The pairs that say `value`, of Python's, at `path`."""
    match cell.kind, value:
        case _, None:
            return
        case RecordKind(shape), _:
            for each in shape.fields:
                yield from _written(each, getattr(value, each.name), _step(path, each.name))
        case Rows(item), list() | tuple():
            for number, row in enumerate(value):
                yield from _written(item, row, f"{path}[{number}]")
        case Entries(item), dict():
            for key, each in value.items():
                yield from _written(item, each, _step(path, key))
        case Boolean(), bool():
            if value:
                yield path, "true"
            elif cell.nullable:
                yield path, "false"
        case _:
            yield path, _text(value)


def _text(value: object) -> str:
    match value:
        case Enum():
            return str(value.value)
        case str():
            return value
        case Decimal():
            return format(value, "f")
        case dt.date() | dt.time():
            return value.isoformat()
        case dict():
            return json.dumps(value, ensure_ascii=False, indent=2)
        case bool():
            return "true" if value else "false"
        case UUID() | int():
            return str(value)
        case _:
            return ""


def _defaults(shape: Shape[Any], path: str = "") -> Iterator[tuple[str, str]]:
    for each in shape.fields:
        at = _step(path, each.name)
        if each.secret:
            continue
        if not each.required:
            yield from _written(each, each.make_default(), at)
        elif isinstance(each.kind, RecordKind):
            yield from _defaults(each.kind.shape, at)


# ── Drawing ────────────────────────────────────────────────────────────────

_UNSAFE = re.compile(r"[^A-Za-z0-9_.\[\]@-]")
_NUMBER = re.compile(r"\[\d+\]")
_TOKEN = re.compile(r"\[@row\d+@\]")
_LOCAL = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?")
_OFFSET = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_CLOCK = re.compile(r"\d\d:\d\d(:\d\d(\.\d{1,3})?)?")
_FIGURE = re.compile(r"-?[0-9]{1,100}(\.[0-9]{1,100})?")
_TRUE: Final = frozenset({"on", "true", "1", "yes"})
_FALSE: Final = frozenset({"off", "false", "0", "no"})
_OFF: Final = (("autocomplete", "off"), ("spellcheck", "false"))

Choices: TypeAlias = Mapping[str, Sequence[str] | Sequence[tuple[str, str]]]


def draw_form(
    shape: Shape[Any] | None,
    *,
    action: str,
    submit: str,
    pairs: Pairs | None = None,
    problems: Sequence[Problem] = (),
    detail: str = "",
    method: Literal["get", "post"] = "post",
    id: str = "",  # noqa: A002
    hidden: Pairs = (),
    prepare: bool = False,
    save: bool = True,
    tool: FormTool | None = None,
    multipart: bool = False,
    files: Sequence[Sequence[str]] = (),
    spare_rows: int = 2,
    focus: str = "",
    labels: Mapping[str, str] | None = None,
    choices: Choices | None = None,
    autocomplete: Mapping[str, str] | None = None,
    multiline: Collection[str] = (),
    totals: Collection[str] | None = None,
    without: Collection[str] = (),
    zone: str = "",
) -> Form:
    """The form of `shape`, whose inputs are named by its paths. A form without a shape is a button.

    `pairs` None draws it from the defaults; else what they say stands in it, and a box they leave out is unticked. `detail` is
    a refusal's sentence. `spare_rows` blank rows follow those of each outermost list; where there are any, an empty nested list
    has one. `files` are inputs for uploads: name, label, what to accept, hint.

    The author's words go by pattern path (`positions[].lots[].cost`): `labels`; `choices` a person picks from, as texts or as
    value and label; `autocomplete` tokens, such as `current-password`; `multiline` texts; `totals` to sum (None: every Decimal
    column, under itself). `without` names fields that the page draws by hand. `zone` is the person's, an IANA name. `focus` is
    the list or the row that a button was pressed for. `id` tells two forms of one page apart.
    """
    fields = () if shape is None else tuple(each for each in shape.fields if each.name not in without)
    if pairs is None:
        typed: Pairs = [] if shape is None else list(_defaults(shape))
    else:
        typed = pairs
    secret = any(_secrets(fields))
    drawer = _Drawer(
        form=id or _slug(action),
        problems=_by_path(problems),
        reads=method == "get",
        tool=tool is not None and not secret,
        spare_rows=spare_rows,
        labels=labels or {},
        choices=choices or {},
        autocomplete=autocomplete or {},
        multiline=frozenset(multiline),
        totals=None if totals is None else frozenset(totals),
        zone=zone,
        focus=focus,
        several=sum(isinstance(each.kind, Rows) for each in fields) > 1,
    )
    uploads = tuple(drawer.upload(*each) for each in files)
    parts = drawer.parts(fields, _tree(typed, {each.name for each in fields}), _Place("", "", ""), must=True)
    return Form(
        id=drawer.form,
        action=action,
        method=method,
        submit=submit,
        parts=(*uploads, *parts),
        hidden=tuple(hidden),
        problems=tuple(drawer.mention(each) for each in problems),
        detail=detail,
        prepare=prepare,
        reason=next((value for name, value in typed if name == "prepare.reason"), ""),
        save=save,
        tool=None if secret else tool,
        multipart=multipart or bool(files),
        lists=tuple(drawer.lists.items()),
        blanks=tuple(drawer.blanks.values()),
    )


def _slug(action: str) -> str:
    last = action.partition("?")[0].rstrip("/").rpartition("/")[2]
    return re.sub(r"[^a-z0-9]+", "-", last.lower()).strip("-") or "form"


def _secrets(cells: Iterable[Cell]) -> Iterator[bool]:
    for cell in cells:
        yield cell.secret
        match cell.kind:
            case RecordKind(shape):
                yield from _secrets(shape.fields)
            case Rows(item) | Entries(item):
                yield from _secrets([item])
            case _:
                pass


def _by_path(problems: Iterable[Problem]) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in problems:
        found[each.path] = f"{found[each.path]} {each.message}" if each.path in found else each.message
    return found


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the drawing is: a path, the pattern it is one of, and its words."""

    path: str
    pattern: str
    words: str

    def field(self, name: str, label: str = "") -> _Place:
        """The field or the key `name` here."""
        words = f"{self.words}, {inline(label)}" if self.words and label else self.words or label
        return _Place(_step(self.path, name), _step(self.pattern, name), words)

    def key(self, name: str) -> _Place:
        """The entry under the key `name` here."""
        return _Place(_step(self.path, name), f"{self.pattern}[]", f"{self.words}, {shown(name)}")


@dataclass
class _Drawer:
    """One drawing: what holds for the whole form, and what was met so far."""

    form: str
    problems: dict[str, str]
    reads: bool
    tool: bool
    spare_rows: int
    labels: Mapping[str, str]
    choices: Choices
    autocomplete: Mapping[str, str]
    multiline: frozenset[str]
    totals: frozenset[str] | None
    zone: str
    focus: str
    several: bool
    places: dict[str, tuple[str, str]] = field(default_factory=dict)
    lists: dict[str, tuple[Option, ...]] = field(default_factory=dict)
    looks: dict[tuple[str, str, bool], Look] = field(default_factory=dict)
    blanks: dict[str, Blank] = field(default_factory=dict)
    numbered: int = 0

    def id(self, path: str) -> str:
        return f"{self.form}-{_UNSAFE.sub(lambda found: f'~{ord(found[0]):x}', path)}"

    def met(self, path: str, id: str, words: str) -> str:  # noqa: A002
        """Remember that `path` is drawn as `id`; its problem, if it has one."""
        if not self.problems:
            return ""
        self.places[path] = (id, words)
        return self.problems.get(path, "")

    def mention(self, problem: Problem) -> Mention:
        """The line of the summary for `problem`: at its cell, or at the nearest thing around it that is drawn."""
        path = problem.path
        while path:
            if path in self.places:
                id_, words = self.places[path]
                return Mention(id_, words if path == problem.path else f"{words} ({shown(problem.path)})", problem.message)
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return Mention("", shown(problem.path), problem.message)

    def label(self, cell: Cell, pattern: str, name: str) -> str:
        return self.labels.get(pattern) or cell.title or humanised(name)

    # one field after another

    def parts(self, fields: Iterable[FieldShape], node: _Node, at: _Place, *, must: bool, depth: int = 0) -> tuple[Part, ...]:
        drawn: list[Part] = []
        for each in fields:
            label = self.label(each, _step(at.pattern, each.name), each.name)
            drawn.append(self.part(each, node.at(each.name), at.field(each.name, label), label, must=must, depth=depth))
        return tuple(drawn)

    def part(self, cell: Cell, node: _Node, at: _Place, label: str, *, must: bool, depth: int) -> Part:
        """What is drawn for one cell of the record; `must` where the browser may be told that a required one is."""
        optional = _optional(cell)
        id_ = self.id(at.path)
        match cell.kind:
            case RecordKind(shape):
                problem = self.met(at.path, id_, at.words)
                inner = self.parts(shape.fields, node, at, must=must and not optional, depth=depth)
                return Group(at.path, id_, label, cell.description, optional, inner, problem)
            case Rows(item) if not _as_checks(item, node):
                return self.grid(cell, item, node, at, label, depth)
            case Entries(item):
                problem = self.met(at.path, id_, at.words)
                items = []
                for key, below in node.below.items():
                    if isinstance(key, str):
                        inside = at.key(key)
                        drawn = self.part(item, below, inside, shown(key), must=False, depth=depth)
                        items.append(Item(shown(key), inside.path, drawn))
                return Dictionary(
                    at.path, id_, label, cell.description, optional, tuple(items), f"meridian.key.{at.path}", problem
                )
            case _:
                return self.input(
                    cell, self.look(cell, at.pattern, label, in_grid=False), node, at, required=must and not optional
                )

    # one input

    def look(self, cell: Cell, pattern: str, label: str, *, in_grid: bool) -> Look:
        """What the input of a field is like; made once for each pattern path, and for each key of a dict."""
        known = self.looks.get((pattern, label, in_grid))
        if known is None:
            known = self.looks[pattern, label, in_grid] = self.new_look(cell, pattern, label, in_grid)
        return known

    def new_look(self, cell: Cell, pattern: str, label: str, in_grid: bool) -> Look:
        optional, default = _optional(cell), _default_of(cell)
        offered = self.offered(cell, pattern)
        options: tuple[Option, ...] = ()
        attributes: tuple[tuple[str, str], ...] = ()
        control: Control
        width: Width = "medium"
        if cell.secret:
            control, attributes = "secret", (("autocomplete", "new-password"),)
        elif isinstance(cell.kind, Rows):
            control, options = "checks", self.offered(cell.kind.item, f"{pattern}[]")
        elif isinstance(cell.kind, Boolean) and not cell.nullable and not pattern.endswith("[]"):
            control = "checkbox"
        elif len(offered) > SELECT:
            control, attributes = "list", (("list", self.id(f"{pattern}-choices")), *_OFF)
            self.lists[self.id(f"{pattern}-choices")] = offered
        elif offered and not in_grid and len(offered) <= RADIOS:
            control = "radios"
            options = (_blank(offered, optional, default), *offered) if optional and not default else offered
        elif offered:
            control = "select"
            options = (_blank(offered, optional, default), *offered) if in_grid or not default else offered
        else:
            control, width, attributes = _plain(cell, in_grid, long=pattern in self.multiline)
            if default and control in {"text", "textarea"}:
                attributes = (*attributes, ("placeholder", default))
        if pattern in self.autocomplete:
            told = [each for each in attributes if each[0] != "autocomplete"]
            attributes = (*told, ("autocomplete", self.autocomplete[pattern]))
        return Look(
            control=control,
            label=label,
            hint=cell.description,
            optional=optional and control not in {"checkbox", "checks"} and not (control in {"radios", "select"} and default),
            figure=isinstance(cell.kind, Integer | DecimalKind) and control in {"text", "list"},
            width=width,
            attributes=attributes,
            options=options,
            default=default,
            companion=self.reads and control == "checkbox",
            tool=" ".join(filter(None, (cell.description, _bounds(cell)))) if self.tool else "",
        )

    def offered(self, cell: Cell, pattern: str) -> tuple[Option, ...]:
        """What may be chosen: the author's choices, else the field's own; empty where it is no choice."""
        given = self.choices.get(pattern)
        if given is not None:
            return tuple(Option(each, each) if isinstance(each, str) else Option(*each) for each in given)
        if isinstance(cell.kind, Boolean):
            return (Option("true", "Yes"), Option("false", "No"))
        return tuple(Option(each, _choice_words(each)) for each in _values(cell))

    def input(self, cell: Cell, look: Look, node: _Node, at: _Place, *, required: bool = False) -> Input:
        """The input of one cell with what was typed there, or blank."""
        control, value, zone, ticked = look.control, node.value, "", False
        chosen: tuple[str, ...] = ()
        match control:
            case "text":
                if "\n" in value:
                    control = "textarea"
            case "secret":
                value = ""
            case "checkbox":
                ticked, value = any(each.strip().lower() in _TRUE for each in node.values), ""
            case "checks":
                chosen, value = tuple(_listed(node)), ""
            case "radios" | "select":
                look, value = _chosen(cell, look, value)
            case "date" if value and not _DAY.fullmatch(value.strip()):
                control = "text"
            case "time" if value and not _CLOCK.fullmatch(value.strip()):
                control = "text"
            case "moment":
                given = node.at("zone")
                control, value, zone = _moment(value, given.value if given.values else None, self.zone)
            case _:
                pass
        id_ = self.id(at.path)
        problem = self.met(at.path, id_, at.words)
        if self.problems and look.control == "moment":
            problem = _both(problem, self.met(f"{at.path}.zone", f"{id_}.zone", f"{at.words}, zone"))
        if self.problems and control == "checks":
            for each in [path for path in self.problems if path.startswith(f"{at.path}[")]:
                problem = _both(problem, self.met(each, id_, at.words))
        return Input(at.path, id_, look, control, at.words, value, ticked, chosen, zone, problem, required)

    def upload(self, name: str, label: str, accept: str = "", hint: str = "") -> Input:
        """An input for a file."""
        look = Look("file", label, hint, width="long", attributes=(("accept", accept),) if accept else ())
        id_ = self.id(name)
        return Input(name, id_, look, "file", label, problem=self.met(name, id_, label))

    # a grid of rows

    def grid(self, cell: Cell, item: Cell, node: _Node, at: _Place, label: str, depth: int, *, fresh: bool = False) -> Grid:
        """A list as a table; `fresh` where it is nested and gets a blank row if it has none."""
        pattern = f"{at.pattern}[]"
        columns = tuple(self.columns(item, pattern, label))
        shell = Grid(
            path=at.path,
            id=self.id(at.path),
            label=label,
            hint=cell.description,
            optional=_optional(cell),
            columns=columns,
            heads=_heads(columns),
            rows=(),
            next=0,
            depth=depth,
            of=at.words.rpartition(",")[0],
            words=() if depth else tuple(self.words(item, pattern, "")),
        )
        self.blank(item, shell, at)
        problem = self.met(at.path, shell.id, at.words)
        nodes = _rows(node, item)
        first = max(nodes, default=-1) + 1
        spare = self.spare_rows if not depth else int(fresh and not nodes)
        nodes.update(dict.fromkeys(range(first, min(first + spare, LAST_ROW + 1)), _NOTHING))
        rows = tuple(
            self.row(item, shell, below, at, str(number), str(number + 1), fresh=bool(self.spare_rows))
            for number, below in nodes.items()
        )
        return replace(
            shell,
            rows=self.focused(at.path, rows),
            next=max(nodes, default=-1) + 1,
            opened=not depth or len(rows) <= FOLDED or any(path.startswith(f"{at.path}[") for path in self.problems),
            totals=tuple(
                Total(
                    _below(f"{at.path}[]", column.path),
                    f"Total {inline(column.look.label)}",
                    _sum(row.cells[n].value for row in rows),
                )
                if column.summed
                else None
                for n, column in enumerate(columns)
            ),
            sums=() if depth else tuple(self.sums(pattern, node)),
            problem=problem,
        )

    def blank(self, item: Cell, grid: Grid, at: _Place) -> None:
        """Keep the blank row of a grid, unless one like it was kept. Those around it come first, so that every number of its
        path is a token's."""
        pattern = _TOKEN.sub("[]", at.path)
        if pattern not in self.blanks and _NUMBER.sub("[]", pattern) not in self.blanks:
            nth = at.path.count("[@")
            row = self.row(item, grid, _NOTHING, at, ROW_TOKEN.format(nth), NUMBER_TOKEN.format(nth), fresh=True)
            self.blanks[pattern] = Blank(pattern, grid, row)

    def columns(self, item: Cell, pattern: str, label: str, path: str = "", group: str = "") -> Iterator[Column]:
        """The columns of a row: its one cell, or the fields of its record, those of records inside it among them."""
        match item.kind:
            case RecordKind(shape):
                for each in shape.fields:
                    below = _step(pattern, each.name)
                    own = self.label(each, below, each.name)
                    inner = f"{group}, {inline(own)}" if group else own
                    yield from self.columns(
                        each, below, own, _step(path, each.name), inner if isinstance(each.kind, RecordKind) else group
                    )
            case Rows() | Entries():
                return
            case _:
                summed = isinstance(item.kind, DecimalKind) and (self.totals is None or pattern in self.totals)
                yield Column(path, self.look(item, pattern, label, in_grid=True), group, summed and not item.secret)

    def row(self, item: Cell, grid: Grid, node: _Node, at: _Place, number: str, counted: str, *, fresh: bool) -> Row:
        record = isinstance(item.kind, RecordKind)
        first = "Row" if record and at.words == grid.label and not self.several else f"{at.words} row"
        here = _Place(f"{at.path}[{number}]", f"{at.pattern}[]", f"{first} {counted}")
        id_ = f"{self.id(here.path)}-row"
        problem = self.met(here.path, id_, here.words) if record else ""
        cells: list[Input] = []
        under: list[Part] = []
        for cell, below, place, label in self.in_row(item, node, here, grid.label):
            match cell.kind:
                case Rows(inner) if not _as_checks(inner, below):
                    under.append(self.grid(cell, inner, below, place, label, grid.depth + 1, fresh=fresh))
                case Rows() | Entries():
                    under.append(self.part(cell, below, place, label, must=False, depth=grid.depth + 1))
                case _:
                    cells.append(self.input(cell, grid.columns[len(cells)].look, below, place))
        return Row(here.path, id_, counted, tuple(cells), tuple(under), problem)

    def in_row(self, item: Cell, node: _Node, at: _Place, label: str) -> Iterator[tuple[Cell, _Node, _Place, str]]:
        """The cells of a row, in the order of its columns, and the lists and dicts that go under it."""
        if not isinstance(item.kind, RecordKind):
            yield item, node, at, label
            return
        for each in item.kind.shape.fields:
            own = self.label(each, _step(at.pattern, each.name), each.name)
            yield from self.in_row(each, node.at(each.name), at.field(each.name, own), own)

    def focused(self, path: str, rows: tuple[Row, ...]) -> tuple[Row, ...]:
        """The rows, with the focus where the button that was pressed leads: the row added, or one beside the row removed."""
        if not rows or not self.focus.startswith(path) or not any(row.cells for row in rows):
            return rows
        rest = self.focus[len(path) :]
        if rest and not _NUMBER.fullmatch(rest):
            return rows
        numbers = [int(row.number) - 1 for row in rows if row.number.isdecimal()]
        after = [n for n, number in enumerate(numbers) if rest and number >= int(rest[1:-1])]
        n = after[0] if after else len(rows) - 1
        first, *others = rows[n].cells
        return (*rows[:n], replace(rows[n], cells=(replace(first, focus=True), *others)), *rows[n + 1 :])

    def words(self, item: Cell, pattern: str, label: str) -> Iterator[tuple[str, str]]:
        """What each column means; those of an inner record or list under its label."""
        if isinstance(item.kind, RecordKind):
            for each in item.kind.shape.fields:
                below = _step(pattern, each.name)
                own = self.label(each, below, each.name)
                yield from self.words(each, below, f"{label}: {inline(own)}" if label else own)
        elif isinstance(item.kind, Rows | Entries):
            if item.description:
                yield label, item.description
            yield from self.words(item.kind.item, f"{pattern}[]", label)
        elif item.description and label:
            yield label, item.description

    def sums(self, pattern: str, node: _Node) -> Iterator[Total]:
        """The totals of lists under the rows of `pattern`, which the author asked for."""
        for total in sorted(self.totals or ()):
            if total.startswith(pattern) and "[]" in total[len(pattern) :]:
                steps = parse_path(total[len(pattern) :].lstrip("."))
                values = [each.value for row in _rows_of(node) for each in _all(row, steps)]
                names = [inline(humanised(step)) for step in reversed(steps) if isinstance(step, str)]
                yield Total(total, self.labels.get(total) or f"Total {' of '.join(names)}", _sum(values))


# ── Small answers about one cell ───────────────────────────────────────────


def _optional(cell: Cell) -> bool:
    return isinstance(cell, FieldShape) and not cell.required


def _values(cell: Cell) -> tuple[str, ...]:
    """What may stand in `cell`; empty where it is no choice."""
    return cell.kind.values if isinstance(cell.kind, Choice) else tuple(str(each) for each in cell.choices)


def _default_of(cell: Cell) -> str:
    """What blank means in one cell, as it would be typed; empty where it means nothing, or nobody may see it."""
    if (
        not isinstance(cell, FieldShape)
        or cell.required
        or cell.secret
        or isinstance(cell.kind, RecordKind | Rows | Entries | JsonObject)
    ):
        return ""
    return _text(cell.make_default())


def _choice_words(value: str) -> str:
    """A choice as a person reads it: `in_kind` is "In kind", `CUSIP` stays."""
    return humanised(value) if re.fullmatch(r"[a-z][a-z0-9_]*", value) else value


def _blank(offered: tuple[Option, ...], optional: bool, default: str) -> Option:
    if default:
        return Option("", f"{next((each.label for each in offered if each.value == default), default)} (default)")
    return Option("", "Not given" if optional else "Choose")


def _chosen(cell: Cell, look: Look, value: str) -> tuple[Look, str]:
    """The option that `value` says, and the look that has it: what is no option is offered as it was typed."""
    said = value.strip()
    if isinstance(cell.kind, Boolean) and said.lower() in _TRUE | _FALSE:
        said = "true" if said.lower() in _TRUE else "false"
    if any(said == each.value for each in look.options):
        return look, said
    if not said:
        return look, look.default
    return replace(look, options=(*look.options, Option(value, shown(value)))), value


def _plain(cell: Cell, in_grid: bool, *, long: bool) -> tuple[Control, Width, tuple[tuple[str, str], ...]]:
    """The control of a cell that is no choice, how wide, and what the browser is told."""
    match cell.kind:
        case DecimalKind():
            point = "" if cell.places == 0 else r"(\.[0-9]+)?"
            return "text", "short", (("inputmode", "decimal"), *_OFF, ("pattern", f"-?[0-9]+{point}"))
        case Integer():
            return "text", "short", (("inputmode", "numeric"), *_OFF, ("pattern", "-?[0-9]+"))
        case Date():
            return "date", "short", ()
        case Time():
            return "time", "short", ()
        case DateTime():
            return "moment", "short", ()
        case Uuid():
            return "text", "long", (*_OFF, ("maxlength", "36"))
        case JsonObject():
            return "json", "long", _OFF
        case _:
            pass
    most = cell.max_length or 0
    told = [(name, str(at)) for name, at in (("minlength", cell.min_length), ("maxlength", cell.max_length)) if at]
    if in_grid:
        told.append(("autocomplete", "off"))
    if long or (most > LONG_TEXT and not in_grid):
        return "textarea", "long", tuple(told)
    if cell.pattern:
        told.append(("pattern", cell.pattern))
    return "text", "long" if most > 80 else "short" if 0 < most <= 12 else "medium", tuple(told)


def _bounds(cell: Cell) -> str:
    """What a browser's agent must know of a cell and no attribute says."""
    words: list[str] = []
    match cell.kind:
        case DecimalKind():
            words.append("A number such as 1500.25, without grouping.")
        case DateTime():
            words.append("A local time; its zone stands beside it.")
        case _:
            pass
    if cell.min is not None:
        words.append(f"At least {_text(cell.min)}.")
    if cell.max is not None:
        words.append(f"At most {_text(cell.max)}.")
    if cell.places is not None:
        words.append(f"At most {cell.places} decimal places.")
    return " ".join(words)


def _moment(value: str, zone: str | None, home: str) -> tuple[Control, str, str]:
    """A moment as the browser's local control and its zone say it. `zone` is what was typed there, `home` the person's own.

    A text with an offset becomes the local time at home, or in UTC where that time is there twice; what is no moment stays a
    text.
    """
    said = value.strip()
    if not said or _LOCAL.fullmatch(said):
        return "moment", said, home if zone is None else zone
    if _OFFSET.fullmatch(said) and not zone:
        try:
            moment = dt.datetime.fromisoformat(said)
            for name in filter(None, (home, "UTC")):
                local = moment.astimezone(_zone(name))
                if local.replace(fold=0).utcoffset() == local.replace(fold=1).utcoffset() and not local.microsecond % 1000:
                    spec = "milliseconds" if local.microsecond else "seconds" if local.second else "minutes"
                    return "moment", local.replace(tzinfo=None).isoformat(timespec=spec), name
        except (ValueError, OverflowError):
            pass
    return "text", value, zone or ""


def _zone(name: str) -> dt.tzinfo:
    """The zone called `name`. Raises ValueError where there is none."""
    if name == "UTC":
        return dt.UTC
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, OSError) as unknown:
        raise ValueError(f"{name} is no zone that is known here") from unknown


def _both(one: str, other: str) -> str:
    return f"{one} {other}".strip()


# ── Small answers about rows ───────────────────────────────────────────────


def _below(path: str, more: str) -> str:
    """The path `more` goes on from `path`."""
    return path if not more else path + more if more.startswith("[") else f"{path}.{more}"


def _listed(node: _Node) -> Iterator[str]:
    """The values of a list of single cells, whichever way they were sent."""
    yield from node.values
    yield from node.at(EVERY).values
    for each in _rows_of(node):
        yield each.value


def _as_checks(item: Cell, node: _Node) -> bool:
    """Whether a list is drawn as boxes to tick: its rows are few choices, each at most once and in their order."""
    values = _values(item)
    if not 0 < len(values) <= SELECT or item.secret or item.nullable:
        return False
    listed = [each for each in _listed(node) if each]
    return listed == [each for each in values if each in listed]


def _rows(node: _Node, item: Cell) -> dict[int, _Node]:
    """What was typed in each row, by its number; a list's own name repeated makes rows of single cells."""
    rows = {step: below for step, below in node.below.items() if isinstance(step, int) and step <= LAST_ROW}
    found = dict(sorted(rows.items()))
    if not isinstance(item.kind, RecordKind | Rows | Entries):
        for number, value in enumerate([*node.values, *node.at(EVERY).values], start=max(found, default=-1) + 1):
            found[number] = _Node()
            found[number].values.append(value)
    return found


def _rows_of(node: _Node) -> Iterator[_Node]:
    numbers = sorted(step for step in node.below if isinstance(step, int))
    yield from (node.below[number] for number in numbers)


def _all(node: _Node, steps: Sequence[Step]) -> Iterator[_Node]:
    """Every cell that the pattern `steps` leads to."""
    if not steps:
        yield node
    elif isinstance(steps[0], str | int):
        yield from _all(node.at(steps[0]), steps[1:])
    else:
        for each in node.below.values():
            yield from _all(each, steps[1:])


def _heads(columns: tuple[Column, ...]) -> tuple[tuple[str, int], ...]:
    """The labels over the columns, with how many each spans; none where all have the same one, which tells nothing apart."""
    if len({column.group for column in columns}) < 2:
        return ()
    heads: list[tuple[str, int]] = []
    for column in columns:
        if heads and column.group and heads[-1][0] == column.group:
            heads[-1] = (column.group, heads[-1][1] + 1)
        else:
            heads.append((column.group, 1))
    return tuple(heads)


def _sum(values: Iterable[str]) -> str:
    """The exact sum of what was typed; empty where nothing was, and a dash where something is no number."""
    typed = [each.strip() for each in values if each.strip()]
    if not typed:
        return ""
    if not all(_FIGURE.fullmatch(each) for each in typed):
        return "—"
    with localcontext(prec=220):
        return format(sum((Decimal(each) for each in typed), Decimal(0)), "f")


# ── Rows added and removed by a plain submit ───────────────────────────────


def edit_rows(shape: Shape[Any], pairs: Pairs, *, add: str | None = None, remove: str | None = None) -> list[tuple[str, str]]:
    """What was typed, with a blank row added to the list `add`, or without the row `remove`; no other row is renumbered.

    `add` may also be a dict, whose new key is what was typed in the kit's own input beside it. A path that leads to neither
    leaves everything as it was, as does a list whose last row is 9,999.
    """
    edited = list(pairs)
    if remove is not None and isinstance(_kind_of(shape, remove, above=True), Rows | Entries):
        edited = [
            (name, value) for name, value in edited if name != remove and not name.startswith((f"{remove}.", f"{remove}["))
        ]
    if add is None:
        return edited
    kind, node = _kind_of(shape, add), _walk_to(_tree(edited, {_head(add)}), add) or _NOTHING
    if isinstance(kind, Rows):
        number = max(_rows(node, kind.item), default=-1) + 1
        if number <= LAST_ROW:
            edited.extend(_blank_cells(kind.item, f"{add}[{number}]"))
    elif isinstance(kind, Entries):
        key = next((value.strip() for name, value in pairs if name == f"meridian.key.{add}"), "")
        if key and key not in node.below:
            edited.extend(_blank_cells(kind.item, _step(add, key)))
    return edited


def _kind_of(shape: Shape[Any], path: str, *, above: bool = False) -> Kind | None:
    """The kind of the cell at `path`, which is no pattern, or of what holds that cell; None where there is none."""
    try:
        steps = parse_path(path)
    except ValueError:
        return None
    if not steps or len(steps) > MAX_STEPS or EVERY in steps or shape.at(steps) is None:
        return None
    cell = shape.at(steps[:-1] if above else steps)
    return cell.kind if cell is not None else None


def _blank_cells(cell: Cell, path: str) -> Iterator[tuple[str, str]]:
    """The pairs of a blank row or entry: enough for every cell of it to be drawn."""
    match cell.kind:
        case RecordKind(shape):
            for each in shape.fields:
                yield from _blank_cells(each, _step(path, each.name))
        case Rows(item):
            yield from _blank_cells(item, f"{path}[0]")
        case Entries():
            return
        case Boolean():
            yield path, "" if cell.nullable else "0"
        case _:
            yield path, ""


# ── Names ──────────────────────────────────────────────────────────────────


def names(shape: Shape[Any], pairs: Pairs | None = None) -> tuple[str, ...]:
    """The name of every input for the record that its drawn form holds, in the order they stand."""
    drawn = draw_form(shape, action="", submit="", pairs=pairs)
    found: list[str] = []
    for part in _walk(drawn.parts):
        if isinstance(part, Input):
            found.append(part.path)
            if part.look.control == "moment":
                found.append(f"{part.path}.zone")
    return tuple(found)


def reaches(shape: Shape[Any], name: str) -> bool:
    """Whether an input called `name` says something of the record: it is one of its cells, a moment's zone, a list of single
    cells, or one of the kit's own names."""
    if name in {"csrf", "prepare"} or name.startswith(("prepare.", "meridian.")):
        return True
    for path, kinds in ((name, None), (name.removesuffix(".zone"), DateTime)):
        cell = shape.at(path) if path.count(".") + path.count("[") <= MAX_STEPS else None
        if cell is not None and (kinds is None or (path != name and isinstance(cell.kind, kinds))):
            inner = cell.kind.item if isinstance(cell.kind, Rows) else cell
            return not isinstance(inner.kind, RecordKind | Rows | Entries)
    return False
