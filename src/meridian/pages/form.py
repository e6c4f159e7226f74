"""The values of a drawn form: frozen, whole, and all that a template needs to write it out.

`drawing` makes them; `meridian/form.html` reads them. No name, no input and no message is decided in the template: what a
person sees of a cell can be read, and tested, here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from meridian.pages.places import Place
from meridian.pages.showing import by_thousands, inline

__all__ = [
    "Blank",
    "Column",
    "Control",
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
    "Width",
    "walk",
]

Control = Literal[
    "text", "textarea", "checkbox", "checks", "radios", "select", "list", "date", "time", "moment", "secret", "json", "file"
]

Width = Literal["short", "medium", "long"]


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
    `companion` says that a box left unticked must still be sent; `tool` is what the browser's agent is told. `kept` is where
    the template keeps what it drew (`pages.alike`), and None in a look that is of one drawing alone.
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
    kept: dict[Any, Any] | None = field(default=None, repr=False, compare=False)


class Input(NamedTuple):
    """One cell: its name, which is its path, and what stands in it. A form has thousands, so it is a tuple.

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

    def at(self, place: Place) -> Input:
        """The same input there."""
        return self._replace(path=place.path, id=place.id, where=place.words)


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


class Row(NamedTuple):
    """One row: `where` names it in words, as in "Row 8", and `number` as a person counts; what stands in each column, and what
    is nested under it.

    `typed` are its inputs without their names. Most rows are drawn from one like them, so that only a few inputs are ever asked
    for by name; `places` say how the name of each goes on from the row's, and are the same for every row of a list.
    """

    path: str
    id: str
    where: str
    number: str
    typed: tuple[Input, ...]
    places: tuple[Place, ...]
    under: tuple[Part, ...] = ()
    problem: str = ""

    @property
    def cells(self) -> tuple[Input, ...]:
        """An input for each column."""
        here = Place(self.path, "", self.where, self.id.removesuffix("-row"))
        return tuple(each.at(here.on(place)) for each, place in zip(self.typed, self.places, strict=True))


@dataclass(frozen=True, slots=True)
class Grid:
    """A list of rows as a table. `next` is the number that a new row takes; `of` names the row a nested grid is under.

    `heads` are the labels over the columns, with how many each spans, and empty where no column belongs to an inner record.
    `words` explains the columns, those of nested lists too, once, at the outermost grid. `totals` has one for each column, or
    None; `sums` are those of nested lists. `depth` counts from 0; `opened` says whether a nested grid is unfolded. `kept` is
    where the template keeps what it drew (`pages.alike`).
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
    kept: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)

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
    """A dict as a list of entries. A new one's key is typed in the input `key_name`, where `key_typed` stands."""

    path: str
    id: str
    label: str
    hint: str
    optional: bool
    items: tuple[Item, ...]
    key_name: str
    key_typed: str = ""
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
        return bool(self.blanks) or any(isinstance(each, Dictionary) for each in walk(self.parts))

    def part(self, path: str) -> Part:
        """The part at `path`, for a page that lays its form out by hand. Raises LookupError where the form has none."""
        for part in walk(self.parts):
            if part.path == path:
                return part
        raise LookupError(f"the form draws nothing at {path!r}; it draws {', '.join(part.path for part in self.parts)}")


def walk(parts: Iterable[Part]) -> Iterator[Part]:
    for part in parts:
        yield part
        match part:
            case Group():
                yield from walk(part.parts)
            case Grid():
                for row in part.rows:
                    yield from row.cells
                    yield from walk(row.under)
            case Dictionary():
                yield from walk(item.part for item in part.items)
            case Input():
                pass
