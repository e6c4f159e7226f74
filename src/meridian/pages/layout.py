"""What every drawing of one form has in common: the looks of its fields, and what the rows of its lists are made of.

A shape and the author's words enter; a `Layout` leaves, which is kept, so that a page drawn a thousand times works it out once.
Nothing in it is of one person or one request.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from meridian.errors import DeclarationError
from meridian.pages.declaring import near
from meridian.pages.form import Blank, Column, Look, Option
from meridian.pages.looks import Looks
from meridian.pages.places import Place, has_cell, inside
from meridian.pages.showing import heads_over, inline
from meridian.pages.typed import Typed, path_below
from meridian.records import Cell, DecimalKind, FieldShape, JsonObject, RecordKind, Rows, Shape, paths
from meridian.records import Mapping as Entries

__all__ = ["Layout", "Leaf", "RowLayout", "Words", "layout_of"]


class Words(NamedTuple):
    """What an author says of a form, as `drawing.draw_form` takes it, in values that can be compared: `form` is its id, `reads`
    whether it asks a GET, `told` whether a browser's agent is told of it. `totals` None sums every Decimal column."""

    form: str
    reads: bool
    told: bool
    labels: tuple[tuple[str, str], ...]
    choices: tuple[tuple[str, tuple[Option, ...]], ...]
    autocomplete: tuple[tuple[str, str], ...]
    multiline: frozenset[str]
    totals: frozenset[str] | None
    without: frozenset[str]
    zone: str


class Leaf(NamedTuple):
    """One thing in a row, inner records laid out flat: a cell of a column, which has a look, or a list or dict under the row.

    `place` goes on from the row's, and so do `steps`. `group` is the label of the inner record it belongs to.
    """

    cell: Cell
    place: Place
    steps: tuple[str, ...]
    label: str
    group: str
    look: Look | None

    def below(self, row: Typed) -> Typed:
        """What was typed here in a row."""
        for step in self.steps:
            row = row.at(step)
        return row


class RowLayout(NamedTuple):
    """What the rows of one list are made of: the leaves that have a column each, with its look, and those `under` it.

    `places` are those of the columns' leaves. `record` says that a row is a record, and not one cell. `words` explains the
    columns, those of nested lists too. `kept` is where the template keeps what it drew (`pages.alike`).
    """

    record: bool
    leaves: tuple[tuple[Leaf, Look], ...]
    places: tuple[Place, ...]
    under: tuple[Leaf, ...]
    columns: tuple[Column, ...]
    heads: tuple[tuple[str, int], ...]
    words: tuple[tuple[str, str], ...]
    kept: dict[Any, Any]


@dataclass
class Layout:
    """The layout of one form. `blanks` keeps the blank rows that were drawn for it, each with those nested in it."""

    shape: Shape[Any] | None
    words: Words
    blanks: dict[str, dict[str, Blank]] = field(default_factory=dict)
    _rows: dict[str, RowLayout] = field(default_factory=dict)

    @cached_property
    def fields(self) -> tuple[FieldShape, ...]:
        """The fields that are drawn."""
        return () if self.shape is None else tuple(each for each in self.shape.fields if each.name not in self.words.without)

    @cached_property
    def changes(self) -> bool:
        """Whether what a blank cell means is made anew each time, such as today's date."""
        return any(_is_made_anew(cell) for cell in _within(self.fields))

    @cached_property
    def secret(self) -> bool:
        """Whether something in it is never shown."""
        return any(cell.secret for cell in _within(self.fields))

    @cached_property
    def several(self) -> bool:
        """Whether it has more than one list at the outermost."""
        return sum(isinstance(each.kind, Rows) for each in self.fields) > 1

    @cached_property
    def looks(self) -> Looks:
        """The looks of its fields."""
        words = self.words
        return Looks(
            form=words.form,
            reads=words.reads,
            tool=words.told and not self.secret,
            labels=dict(words.labels),
            choices=dict(words.choices),
            autocomplete=dict(words.autocomplete),
            multiline=words.multiline,
        )

    def rows(self, item: Cell, at: Place, label: str) -> RowLayout:
        """What the rows of the list here are made of; the same for every list of one pattern. A list in an entry of a dict is
        labelled by its key, which is a person's, so that it is not kept."""
        known = self._rows.get(at.pattern)
        if known is None:
            every = list(self._leaves(item, f"{at.pattern}[]", Place("", "", "", ""), (), label, ""))
            leaves = tuple((leaf, leaf.look) for leaf in every if leaf.look is not None)
            columns = tuple(
                Column(leaf.place.path.removeprefix("."), look, leaf.group, self._summed(leaf, at)) for leaf, look in leaves
            )
            known = RowLayout(
                isinstance(item.kind, RecordKind),
                leaves,
                tuple(leaf.place for leaf, _ in leaves),
                tuple(leaf for leaf in every if leaf.look is None),
                columns,
                heads_over(columns),
                tuple(self._words(item, f"{at.pattern}[]", "")),
                {},
            )
            if not at.pattern.endswith("[]"):
                self._rows[at.pattern] = known
        return known

    def _leaves(self, cell: Cell, row: str, at: Place, steps: tuple[str, ...], label: str, group: str) -> Iterator[Leaf]:
        """What stands in the rows of the pattern `row`: the one cell, or the fields of the record, those of records inside it
        among them."""
        match cell.kind:
            case RecordKind(shape):
                inner = f"{group}, {inline(label)}" if group else label if steps else ""
                for each in shape.fields:
                    own = self.looks.label(each, f"{row}{at.pattern}.{each.name}", each.name)
                    yield from self._leaves(each, row, at.on(inside(each.name, own)), (*steps, each.name), own, inner)
            case Rows() | Entries():
                yield Leaf(cell, at, steps, label, group, None)
            case _:
                look = self.looks.of(cell, row + at.pattern, label, in_grid=True)
                yield Leaf(cell, at, steps, label, group, look)

    def _summed(self, leaf: Leaf, at: Place) -> bool:
        """Whether the column of a leaf has a total."""
        asked = self.words.totals is None or f"{at.pattern}[]{leaf.place.pattern}" in self.words.totals
        return asked and isinstance(leaf.cell.kind, DecimalKind) and not leaf.cell.secret

    def _words(self, item: Cell, pattern: str, label: str) -> Iterator[tuple[str, str]]:
        """What each column means; those of an inner record or list under its label."""
        if isinstance(item.kind, RecordKind):
            for each in item.kind.shape.fields:
                below = path_below(pattern, each.name)
                own = self.looks.label(each, below, each.name)
                yield from self._words(each, below, f"{label}: {inline(own)}" if label else own)
        elif isinstance(item.kind, Rows | Entries):
            if item.description:
                yield label, item.description
            yield from self._words(item.kind.item, f"{pattern}[]", label)
        elif item.description and label:
            yield label, item.description


def layout_of(shape: Shape[Any] | None, words: Words) -> Layout:
    """The layout of the form that `shape` draws in these words; kept, unless what a blank cell means is made anew each time.

    Raises DeclarationError where the words are for a cell that the record lacks.
    """
    kept = _kept(shape, words)
    return Layout(shape, words) if kept.changes else kept


@lru_cache(maxsize=256)
def _kept(shape: Shape[Any] | None, words: Words) -> Layout:
    _check(shape, words)
    return Layout(shape, words)


def _check(shape: Shape[Any] | None, words: Words) -> None:
    """Refuse words for a cell that the record lacks; what is left `without` is a whole field."""
    said: dict[str, Iterable[str]] = {
        "labels": dict(words.labels),
        "choices": dict(words.choices),
        "autocomplete": dict(words.autocomplete),
        "multiline": words.multiline,
        "totals": words.totals or (),
        "without": words.without,
    }
    for name, given in said.items():
        for path in sorted(given):
            if shape is None:
                raise DeclarationError(f'{name}= names "{path}", and no record is asked for here')
            if name == "without" and shape.field(path) is None:
                like = near(path, [each.name for each in shape.fields])
                raise DeclarationError(f'{name}= names "{path}", which is no field of {shape.name}{like}')
            if not has_cell(shape, path):
                raise DeclarationError(f'{name}= names "{path}", which {shape.name} lacks{near(path, paths(shape))}')


def _is_made_anew(cell: Cell) -> bool:
    several = isinstance(cell.kind, RecordKind | Rows | Entries | JsonObject)
    return isinstance(cell, FieldShape) and cell.default_factory is not None and not several


def _within(cells: Iterable[Cell]) -> Iterator[Cell]:
    """The cells, and every one inside them."""
    for cell in cells:
        yield cell
        match cell.kind:
            case RecordKind(shape):
                yield from _within(shape.fields)
            case Rows(item) | Entries(item):
                yield from _within([item])
            case _:
                pass
