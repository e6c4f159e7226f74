"""The parts of a form and of a table as HTML, those that are alike drawn once.

A grid has thousands of rows that differ by their names, their words and what was typed, and a macro draws one in the time of
twenty fillings. So the macro draws one of each kind with a hole for whatever differs, and every part like it is that text,
filled. Fields and whole grids are drawn in the same way, since a form is drawn many times. What a problem or the focus makes
unlike the others is drawn by the macro itself, and so is a list of values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeAlias

from markupsafe import Markup, escape

from meridian.pages.form import Form, Grid, Input, Row, Total
from meridian.pages.showing import NOTHING, Line, Shown, Table

__all__ = ["draw_field", "draw_grid", "draw_line", "draw_rows"]

FieldMacro: TypeAlias = Callable[[Input], str]
"""Draws a field."""
GridMacro: TypeAlias = Callable[[Form, Grid, "Inside"], str]
"""Draws a grid, given the HTML of what is inside."""
RowMacro: TypeAlias = Callable[[Form, Grid, Row, bool, str], str]
"""Draws a row, given whether its cells tell the browser's agent what they mean, and the HTML of what is under it."""
UnderMacro: TypeAlias = Callable[[Form, Grid, Row], str]
TotalMacro: TypeAlias = Callable[[Total], str]
LineMacro: TypeAlias = Callable[[Table, Line, Sequence[str], Sequence[Sequence[str]], str], str]
"""Draws a row of a table, given the HTML of its values, of those beside it, and of what the page adds."""
ValueMacro: TypeAlias = Callable[[Shown], str]


class Inside(NamedTuple):
    """What stands in a grid, as HTML: its rows, a total for each column that has one, and the sums of nested lists."""

    rows: str
    totals: Sequence[str]
    sums: Sequence[str]


PLAIN: Final = frozenset({"text", "list", "date"})
"""The controls whose value stands in one place and decides nothing else."""
CHOSEN: Final = frozenset({"select", "radios", "checkbox", "checks"})
"""The controls in which one of a few things was chosen; those in which the same was are alike."""
KEPT: Final = 256
"""How many kinds are kept for one list or field; what is chosen in a row is a person's to vary."""

_HOLE: Final = re.compile("\ufdd0([0-9]+)\ufdd1")
"""A hole, between two characters that no text holds."""
_SPECIAL: Final = re.compile("[&<>\"']")
"""What must be escaped; most rows are of figures and dates, and hold none of it."""


def draw_field(field: Input, draw: FieldMacro) -> Markup:
    """The HTML of `field` as the macro `draw` draws it."""

    def with_holes(path: str, id: str, where: str, value: str) -> str:  # noqa: A002
        return draw(field._replace(path=path, id=id, where=where, value=value if field.control in PLAIN else field.value))

    how, kept = _how(field), field.look.kept
    said = [field.path, field.id, field.where, field.value]
    filled = None if how is None or kept is None else _filled(kept, (draw, field.required, how), with_holes, said)
    return _markup(draw(field) if filled is None else filled)


def draw_grid(form: Form, grid: Grid, draw: GridMacro, row: RowMacro, under: UnderMacro, total: TotalMacro) -> Markup:
    """The HTML of `grid` as the macro `draw` draws it, with its rows as `row` and its totals as `total` do."""
    rows = draw_rows(form, grid, grid.rows, row, under)
    totals = ["" if each is None else total(each) for each in grid.totals]
    sums = [total(each) for each in grid.sums]

    def with_holes(path: str, id: str, of: str, next: Any, rows: str, *html: str) -> str:  # noqa: A002
        holed = replace(grid, path=path, id=id, of=of, next=next)
        return draw(form, holed, Inside(rows, html[: len(totals)], html[len(totals) :]))

    count = len(grid.rows) if grid.depth else bool(grid.rows)
    kind = (draw, form.save or form.prepare, grid.opened, count, bool(grid.rows and grid.rows[0].under))
    said = [grid.path, grid.id, grid.of, str(grid.next)]
    filled = None if grid.problem else _filled(grid.kept, kind, with_holes, said, [rows, *totals, *sums])
    return _markup(draw(form, grid, Inside(rows, totals, sums)) if filled is None else filled)


def draw_rows(form: Form, grid: Grid, rows: Sequence[Row], draw: RowMacro, under: UnderMacro) -> Markup:
    """The HTML of `rows`, each as the macro `draw` draws it."""
    first = grid.rows[0] if form.tool is not None and grid.rows and not grid.depth else None
    return _markup("".join([_row(form, grid, each, draw, under, told=each is first) for each in rows]))


def draw_line(table: Table, line: Line, draw: LineMacro, value: ValueMacro, act: str = "") -> Markup:
    """The HTML of a row of `table` as the macro `draw` draws it, with its values as `value` does."""
    wide = len(table.columns) - table.inner
    shown = [_value(table.kept, each, value) for cells in (line.cells, *line.beside) for each in cells]

    def with_holes(href: str, act: str, *html: str) -> str:
        beside = [html[at : at + table.inner] for at in range(wide, len(html), table.inner or 1)]
        return draw(table, line._replace(href=href if line.href else ""), html[:wide], beside, act)

    kind = (draw, table.inner, bool(line.href), len(line.beside))
    filled = _filled(table.kept, kind, with_holes, [line.href], [escape(act), *shown])
    if filled is None:
        filled = str(with_holes(line.href, act, *map(_markup, shown)))
    return _markup(filled)


def _value(kept: dict[Any, Any], it: Shown, draw: ValueMacro) -> str:
    def with_holes(text: str, exact: str, pad: str, *groups: str) -> str:
        return draw(Shown(it.look, NOTHING if it.text == NOTHING else text, exact, groups, (), pad if it.pad else ""))

    kind = (draw, it.look, len(it.groups), not it.pad, it.text == NOTHING)
    filled = None if it.each else _filled(kept, kind, with_holes, [it.text, it.exact, it.pad, *it.groups])
    return str(draw(it)) if filled is None else filled


def _row(form: Form, grid: Grid, row: Row, draw: RowMacro, under: UnderMacro, *, told: bool) -> str:
    def with_holes(path: str, id: str, of: str, where: str, number: str, *more: str) -> str:  # noqa: A002
        *values, below = more
        typed = tuple(
            each._replace(value=value) if each.control in PLAIN else each for each, value in zip(row.typed, values, strict=True)
        )
        return draw(
            form,
            replace(grid, of=of),
            row._replace(path=path, id=f"{id}-row", where=where, number=number, typed=typed),
            told,
            below,
        )

    below = under(form, grid, row) if row.under else ""
    how = _how_row(grid, row)
    if how is not None:
        said = [row.path, row.id.removesuffix("-row"), grid.of, row.where, row.number, *[each.value for each in row.typed]]
        filled = _filled(grid.kept, (draw, told, how), with_holes, said, [below])
        if filled is not None:
            return filled
    return draw(form, grid, row, told, below)


def _how(field: Input) -> object:
    """How an input is drawn beside what was typed: its control, and what was chosen in it. None for one like no other."""
    if field.problem or field.focus:
        return None
    control = field.control
    if control in PLAIN:
        return control
    if control in CHOSEN:
        return (control, field.value, field.ticked, field.chosen)
    return None if field.value or field.zone else control


def _how_row(grid: Grid, row: Row) -> object:
    """The same of all inputs of a row."""
    if row.problem:
        return None
    how: list[object] = []
    for each, column in zip(row.typed, grid.columns, strict=True):
        if each.look is not column.look or (one := _how(each)) is None:
            return None
        how.append(one)
    return tuple(how)


class _Holed(NamedTuple):
    """A text to be filled with `%`, and which of the things said goes into each of its holes."""

    text: str
    order: Callable[[Sequence[str]], str | tuple[str, ...]]


def _filled(
    kept: dict[Any, Any], kind: object, with_holes: Callable[..., str], said: list[str], html: Sequence[str] = ()
) -> str | None:
    """The text kept for one kind, filled with what is `said`, which is escaped, and with `html`. It is drawn `with_holes`, one
    for each of them, where it is not kept yet. None where too much is kept already."""
    holed = kept.get(kind)
    if holed is None:
        if len(kept) >= KEPT:
            return None
        drawn = str(with_holes(*[f"\ufdd0{n}\ufdd1" for n in range(len(said) + len(html))]))
        order = [int(n) for n in _HOLE.findall(drawn)]
        holed = kept[kind] = _Holed(_HOLE.sub("%s", drawn.replace("%", "%%")), itemgetter(*order) if order else _none)
    if _SPECIAL.search("".join(said)):
        said = [escape(text) for text in said]
    return holed.text % holed.order([*said, *html])


def _none(_: Sequence[str]) -> tuple[str, ...]:
    """What goes into no hole."""
    return ()


def _markup(html: str) -> Markup:
    return Markup(html)  # noqa: S704  the kit's own macros, which escape, filled with what was escaped
