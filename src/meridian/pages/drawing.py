"""The form that a shape draws: its inputs, groups and grids, each with what was typed there and why it did not read.

A shape, what was typed and what did not read enter; a `Form` leaves. Rows are never renumbered, so the cell of `lots[7]` stays
the eighth row's, whatever stands before it.

Three rules shape what is drawn. A spare row is blank, its choices and boxes too, because a row whose cells hold the defaults is
a row. A `secret` is drawn empty, always, and its form is not offered to a browser's agent: Chromium offers every named control
but hidden and file inputs, a password among them, so the only form that keeps one back is a form that declares no tool. And a
value that the browser's own control would drop (a date that is none, a time with an offset) is drawn in a text input, where it
stays as typed.
"""

from __future__ import annotations

import datetime as dt
import re
import zoneinfo
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, localcontext
from typing import Any, Final, Literal, TypeAlias

from meridian.errors import Problem
from meridian.pages.form import (
    Blank,
    Control,
    Dictionary,
    Form,
    FormTool,
    Grid,
    Group,
    Input,
    Item,
    Look,
    Mention,
    Option,
    Part,
    Row,
    Total,
)
from meridian.pages.layout import Layout, RowLayout, Words, layout_of
from meridian.pages.looks import SELECT, Looks, choices_of, is_optional
from meridian.pages.places import Place, id_of
from meridian.pages.showing import humanised, inline, shown
from meridian.pages.typed import (
    LAST_ROW,
    NOTHING,
    Pairs,
    Typed,
    every,
    rows_of,
    rows_typed,
    typed_at,
    typed_by_default,
    typed_in,
    values_in,
)
from meridian.records import (
    Boolean,
    Cell,
    FieldShape,
    RecordKind,
    Rows,
    Shape,
    parse_path,
)
from meridian.records import Mapping as Entries

__all__ = ["draw_form", "option_of"]

FOLDED: Final = 3
"""A nested list with more rows than this is folded."""

KEY: Final = "meridian.key."
"""What begins the name of the input for a new key of a dict; the dict's path follows."""

ROW_TOKEN: Final = "@row{}@"  # noqa: S105  not a secret
"""What stands for a row's number, by depth, in the blank row that the script copies."""
NUMBER_TOKEN: Final = "@number{}@"  # noqa: S105
"""The same, counted from one, as a person reads it."""

_NUMBER = re.compile(r"\[\d+\]")
_TOKEN = re.compile(r"\[@row\d+@\]")
_LOCAL = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?")
_OFFSET = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_CLOCK = re.compile(r"\d\d:\d\d(:\d\d(\.\d{1,3})?)?")
_FIGURE = re.compile(r"-?[0-9]{1,100}(\.[0-9]{1,100})?")
Choices: TypeAlias = Mapping[str, Sequence[str] | Sequence[tuple[str, str]]]

_TRUE: Final = frozenset({"on", "true", "1", "yes"})
_FALSE: Final = frozenset({"off", "false", "0", "no"})


def draw_form(
    shape: Shape[Any] | None,
    *,
    action: str,
    submit: str,
    start: object = None,
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
    chosen: Mapping[str, str] | None = None,
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

    What was typed stands in it, where there are `pairs`, and a box they leave out is unticked; else what the record `start`
    says, of any class; else the defaults. `detail` is a refusal's sentence. `spare_rows` blank rows follow those of each
    outermost list; where there are any, an empty nested list has one. `files` are inputs for uploads: name, label, what to
    accept, hint; `chosen` the files that were sent before, by the input's name, which must be chosen again.

    The author's words go by pattern path (`positions[].lots[].cost`): `labels`; `choices` a person picks from, as texts or as
    value and label; `autocomplete` tokens, such as `current-password`; `multiline` texts; `totals` to sum (None: every Decimal
    column, under itself). `without` names fields that the page draws by hand. `zone` is the person's, an IANA name. `focus` is
    the list or the row that a button was pressed for. `id` tells two forms of one page apart.
    """
    words = Words(
        form=id or _slug(action),
        reads=method == "get",
        told=tool is not None,
        labels=tuple((labels or {}).items()),
        choices=tuple((path, tuple(option_of(each) for each in given)) for path, given in (choices or {}).items()),
        autocomplete=tuple((autocomplete or {}).items()),
        multiline=frozenset(multiline),
        totals=None if totals is None else frozenset(totals),
        without=frozenset(without),
        zone=zone,
    )
    layout = layout_of(shape, words)
    if pairs is not None:
        typed = typed_at(pairs, {each.name for each in layout.fields})
    elif start is not None:
        typed = typed_in(start)
    else:
        typed = typed_by_default(shape) if shape is not None else NOTHING
    keys = {name: value for name, value in pairs or () if name.startswith(KEY)}
    drawer = _Drawer(layout, _by_path(problems), spare_rows, focus, keys)
    uploads = tuple(drawer.upload(*each, chosen=(chosen or {}).get(each[0], "")) for each in files)
    parts = drawer.parts(layout.fields, typed, Place("", "", "", words.form), must=True)
    return Form(
        id=words.form,
        action=action,
        method=method,
        submit=submit,
        parts=(*uploads, *parts),
        hidden=tuple(hidden),
        problems=tuple(drawer.mention(each) for each in problems),
        detail=detail,
        prepare=prepare,
        reason=next((value for name, value in pairs or () if name == "prepare.reason"), ""),
        save=save,
        tool=None if layout.secret else tool,
        multipart=multipart or bool(files),
        lists=tuple(layout.looks.lists.items()),
        blanks=tuple(drawer.blanks.values()),
    )


def _slug(action: str) -> str:
    last = action.partition("?")[0].rstrip("/").rpartition("/")[2]
    return re.sub(r"[^a-z0-9]+", "-", last.lower()).strip("-") or "form"


def option_of(choice: str | Sequence[str]) -> Option:
    """A choice that an author gave: a text, or value and label."""
    return Option(choice, choice) if isinstance(choice, str) else Option(*choice)


def _by_path(problems: Iterable[Problem]) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in problems:
        found[each.path] = f"{found[each.path]} {each.message}" if each.path in found else each.message
    return found


@dataclass
class _Drawer:
    """One drawing: what holds for the whole form, and what was met so far."""

    layout: Layout
    problems: dict[str, str]
    spare_rows: int
    focus: str
    keys: Mapping[str, str] = field(default_factory=dict)
    places: dict[str, tuple[str, str]] = field(default_factory=dict)
    blanks: dict[str, Blank] = field(default_factory=dict)

    @property
    def looks(self) -> Looks:
        """The looks of its fields."""
        return self.layout.looks

    def met(self, at: Place) -> str:
        """Remember that something is drawn here; its problem, if it has one."""
        if not self.problems:
            return ""
        self.places[at.path] = (at.id, at.words)
        return self.problems.get(at.path, "")

    def mention(self, problem: Problem) -> Mention:
        """The line of the summary for `problem`: at its cell, or at the nearest thing around it that is drawn."""
        path = problem.path
        while path:
            if path in self.places:
                id_, words = self.places[path]
                return Mention(id_, words if path == problem.path else f"{words} ({shown(problem.path)})", problem.message)
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return Mention("", shown(problem.path), problem.message)

    # one field after another

    def parts(self, fields: Iterable[FieldShape], node: Typed, at: Place, *, must: bool, depth: int = 0) -> tuple[Part, ...]:
        drawn: list[Part] = []
        for each in fields:
            label = self.looks.label(each, f"{at.pattern}.{each.name}" if at.pattern else each.name, each.name)
            drawn.append(self.part(each, node.at(each.name), at.field(each.name, label), label, must=must, depth=depth))
        return tuple(drawn)

    def part(self, cell: Cell, node: Typed, at: Place, label: str, *, must: bool, depth: int) -> Part:
        """What is drawn for one cell of the record; `must` where the browser may be told that a required one is."""
        optional = is_optional(cell)
        match cell.kind:
            case RecordKind(shape):
                problem = self.met(at)
                inner = self.parts(shape.fields, node, at, must=must and not optional, depth=depth)
                return Group(at.path, at.id, label, cell.description, optional, inner, problem)
            case Rows(item) if not _as_checks(item, node):
                return self.grid(cell, item, node, at, label, depth)
            case Entries(item):
                problem = self.met(at)
                items = []
                for key, below in node.below.items():
                    if isinstance(key, str):
                        inside = at.key(key)
                        drawn = self.part(item, below, inside, shown(key), must=False, depth=depth)
                        items.append(Item(shown(key), inside.path, drawn))
                key = f"{KEY}{at.path}"
                typed = self.keys.get(key, "")
                return Dictionary(at.path, at.id, label, cell.description, optional, tuple(items), key, typed, problem)
            case _:
                return self.input(
                    cell, self.looks.of(cell, at.pattern, label, in_grid=False), node, at, required=must and not optional
                )

    # one input

    def input(self, cell: Cell, look: Look, node: Typed, at: Place, *, required: bool = False) -> Input:
        """The input of one cell, with what was typed there and why it did not read."""
        return self.typed(cell, look, node).at(at)._replace(problem=self.problem(look, at), required=required)

    def typed(self, cell: Cell, look: Look, node: Typed) -> Input:
        """The input of one cell, wherever that is, with what was typed there, or blank."""
        control, value, zone, ticked = look.control, node.value, "", False
        if control == "text" and "\n" not in value:
            return Input("", "", look, control, "", value)
        chosen: tuple[str, ...] = ()
        match control:
            case "secret":
                if value:
                    look = replace(look, hint=f"{look.hint} Write it again: a secret is not sent back.".lstrip(), kept=None)
                value = ""
            case "checkbox":
                ticked, value = any(each.strip().lower() in _TRUE for each in node.values), ""
            case "checks":
                chosen, value = tuple(values_in(node)), ""
            case "radios" | "select":
                look, value = _chosen(cell, look, value)
            case "date" if value and not _DAY.fullmatch(value.strip()):
                control = "text"
            case "time" if value and not _CLOCK.fullmatch(value.strip()):
                control = "text"
            case "moment":
                given = node.at("zone")
                control, value, zone = _moment(value, given.value if given.values else None, self.layout.words.zone)
            case _:
                pass
        if "\n" in value and control in {"text", "list"}:
            control = "textarea"
        return Input("", "", look, control, "", value, ticked, chosen, zone)

    def problem(self, look: Look, at: Place) -> str:
        """Why the cell drawn here did not read; empty where it did."""
        problem = self.met(at)
        if self.problems and look.control == "moment":
            problem = _both(problem, self.met(at.field("zone", "zone")))
        if self.problems and look.control == "checks":
            for each in [path for path in self.problems if path.startswith(f"{at.path}[")]:
                problem = _both(problem, self.met(at._replace(path=each)))
        return problem

    def upload(self, name: str, label: str, accept: str = "", hint: str = "", *, chosen: str = "") -> Input:
        """An input for a file; the one that was `chosen` before is named, because no page can fill it in."""
        if chosen:
            hint = f"{hint} Choose {shown(chosen[:60])} again: a page cannot keep a file.".lstrip()
        look = Look("file", label, hint, width="long", attributes=(("accept", accept),) if accept else ())
        at = Place(name, name, label, f"{self.looks.form}-{id_of(name)}")
        return Input(name, at.id, look, "file", label, problem=self.met(at))

    # a grid of rows

    def grid(self, cell: Cell, item: Cell, node: Typed, at: Place, label: str, depth: int, *, fresh: bool = False) -> Grid:
        """A list as a table; `fresh` where it is nested and gets a blank row if it has none."""
        made_of = self.layout.rows(item, at, label)
        shell = Grid(
            path=at.path,
            id=at.id,
            label=label,
            hint=cell.description,
            optional=is_optional(cell),
            columns=made_of.columns,
            heads=made_of.heads,
            rows=(),
            next=0,
            depth=depth,
            of=at.words.rpartition(",")[0],
            words=() if depth else made_of.words,
            kept=made_of.kept,
        )
        self.blank(made_of, shell, at)
        problem = self.met(at)
        nodes = rows_typed(node, item)
        first = max(nodes, default=-1) + 1
        spare = self.spare_rows if not depth else int(fresh and not nodes)
        nodes.update(dict.fromkeys(range(first, min(first + spare, LAST_ROW + 1)), NOTHING))
        rows = tuple(
            self.row(made_of, shell, below, at, str(number), str(number + 1), fresh=bool(self.spare_rows))
            for number, below in nodes.items()
        )
        return replace(
            shell,
            rows=self.focused(at.path, rows),
            next=max(nodes, default=-1) + 1,
            opened=not depth or len(rows) <= FOLDED or any(path.startswith(f"{at.path}[") for path in self.problems),
            totals=tuple(
                Total(
                    f"{at.path}[]{column.path and '.'}{column.path}",
                    f"Total {inline(column.look.label)}",
                    _sum([row.typed[n].value for row in rows]),
                )
                if column.summed
                else None
                for n, column in enumerate(made_of.columns)
            ),
            sums=() if depth else tuple(self.sums(f"{at.pattern}[]", node)),
            problem=problem,
        )

    def blank(self, made_of: RowLayout, grid: Grid, at: Place) -> None:
        """Draw the blank row of a grid, and those nested in it, unless one like it was drawn. Those around it come first, so
        that every number of its path is a token's; where no key is in it either, the layout keeps it."""
        pattern = _TOKEN.sub("[]", at.path)
        if pattern in self.blanks or _NUMBER.sub("[]", pattern) in self.blanks:
            return
        drawn = self.layout.blanks.get(pattern)
        if drawn is None:
            nth = at.path.count("[@")
            blank = _Drawer(self.layout, {}, self.spare_rows, "")
            row = blank.row(made_of, grid, NOTHING, at, ROW_TOKEN.format(nth), NUMBER_TOKEN.format(nth), fresh=True)
            drawn = {**blank.blanks, pattern: Blank(pattern, grid, row)}
            if pattern == at.pattern:
                self.layout.blanks[pattern] = drawn
        self.blanks.update(drawn)

    def row(self, made_of: RowLayout, grid: Grid, node: Typed, at: Place, number: str, counted: str, *, fresh: bool) -> Row:
        first = "Row" if made_of.record and at.words == grid.label and not self.layout.several else f"{at.words} row"
        here = at.row(number, f"{first} {counted}")
        whole = here._replace(id=f"{here.id}-row")
        problem = self.met(whole) if made_of.record else ""
        typed: list[Input] = []
        for leaf, look in made_of.leaves:
            each = self.typed(leaf.cell, look, leaf.below(node))
            if self.problems and (wrong := self.problem(look, here.on(leaf.place))):
                each = each._replace(problem=wrong)
            typed.append(each)
        under: list[Part] = []
        for leaf in made_of.under:
            below, place = leaf.below(node), here.on(leaf.place)
            if isinstance(leaf.cell.kind, Rows) and not _as_checks(leaf.cell.kind.item, below):
                under.append(self.grid(leaf.cell, leaf.cell.kind.item, below, place, leaf.label, grid.depth + 1, fresh=fresh))
            else:
                under.append(self.part(leaf.cell, below, place, leaf.label, must=False, depth=grid.depth + 1))
        return Row(here.path, whole.id, here.words, counted, tuple(typed), made_of.places, tuple(under), problem)

    def focused(self, path: str, rows: tuple[Row, ...]) -> tuple[Row, ...]:
        """The rows, with the focus where the button that was pressed leads: the row added, or one beside the row removed."""
        if not rows or not self.focus.startswith(path) or not any(row.typed for row in rows):
            return rows
        rest = self.focus[len(path) :]
        if rest and not _NUMBER.fullmatch(rest):
            return rows
        numbers = [int(row.number) - 1 for row in rows if row.number.isdecimal()]
        after = [n for n, number in enumerate(numbers) if rest and number >= int(rest[1:-1])]
        n = after[0] if after else len(rows) - 1
        first, *others = rows[n].typed
        return (*rows[:n], rows[n]._replace(typed=(first._replace(focus=True), *others)), *rows[n + 1 :])

    def sums(self, pattern: str, node: Typed) -> Iterator[Total]:
        """The totals of lists under the rows of `pattern`, which the author asked for."""
        for total in sorted(self.layout.words.totals or ()):
            if total.startswith(pattern) and "[]" in total[len(pattern) :]:
                steps = parse_path(total[len(pattern) :].lstrip("."))
                values = [each.value for row in rows_of(node) for each in every(row, steps)]
                names = [inline(humanised(step)) for step in reversed(steps) if isinstance(step, str)]
                yield Total(total, self.looks.labels.get(total) or f"Total {' of '.join(names)}", _sum(values))


# ── Small answers about one cell ───────────────────────────────────────────


def _chosen(cell: Cell, look: Look, value: str) -> tuple[Look, str]:
    """The option that `value` says, and the look that has it: what is no option is offered as it was typed."""
    said = value.strip()
    if isinstance(cell.kind, Boolean) and said.lower() in _TRUE | _FALSE:
        said = "true" if said.lower() in _TRUE else "false"
    if any(said == each.value for each in look.options):
        return look, said
    if not said:
        return look, look.default
    return replace(look, options=(*look.options, Option(value, shown(value))), kept=None), value


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


def _as_checks(item: Cell, node: Typed) -> bool:
    """Whether a list is drawn as boxes to tick: its rows are few choices, each at most once and in their order."""
    values = choices_of(item)
    if not 0 < len(values) <= SELECT or item.secret or item.nullable:
        return False
    listed = [each for each in values_in(node) if each]
    return listed == [each for each in values if each in listed]


def _sum(values: Iterable[str]) -> str:
    """The exact sum of what was typed; empty where nothing was, and a dash where something is no number."""
    typed = [each for value in values if (each := value.strip())]
    if not typed:
        return ""
    if not all(_FIGURE.fullmatch(each) for each in typed):
        return "—"
    with localcontext(prec=220):
        return format(sum((Decimal(each) for each in typed), Decimal(0)), "f")
