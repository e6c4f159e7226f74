"""The parts of a form as HTML, those that are alike drawn once.

A grid has thousands of rows that differ by their names, their words and what was typed, and a macro draws one in the time of
twenty fillings. So the macro draws one of each kind with a hole for whatever differs, and every part like it is that text,
filled. Fields and whole grids are drawn in the same way, since a form is drawn many times. What a problem or the focus makes
unlike the others is drawn by the macro itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple, TypeAlias

from markupsafe import Markup, escape

from meridian.pages.form import Form, Grid, Input, Row, Total

__all__ = ["draw_field", "draw_grid", "draw_rows"]

FieldMacro: TypeAlias = Callable[[Input], str]
"""Draws a field."""
GridMacro: TypeAlias = Callable[[Form, Grid, "Inside"], str]
"""Draws a grid, given the HTML of what is inside."""
RowMacro: TypeAlias = Callable[[Form, Grid, Row, bool, str], str]
"""Draws a row, given whether its cells tell the browser's agent what they mean, and the HTML of what is under it."""
UnderMacro: TypeAlias = Callable[[Form, Grid, Row], str]
TotalMacro: TypeAlias = Callable[[Total], str]


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

_SPECIAL: Final = re.compile("[&<>\"']")
"""What must be escaped; most rows are of figures and dates, and hold none of it."""


def draw_field(field: Input, draw: FieldMacro) -> Markup:
    """The HTML of `field` as the macro `draw` draws it."""

    def with_holes() -> str:
        value = _hole("value") if field.control in PLAIN else field.value
        return draw(field._replace(path=_hole("path"), id=_hole("id"), where=_hole("where"), value=value))

    how = _how(field)
    holed = None if how is None else _kept(field.look.kept, (draw, field.required, how), with_holes)
    if holed is None:
        return _markup(draw(field))
    said = {"path": field.path, "id": field.id, "where": field.where, "value": field.value}
    return _markup(holed % _escaped(said))


def draw_grid(form: Form, grid: Grid, draw: GridMacro, row: RowMacro, under: UnderMacro, total: TotalMacro) -> Markup:
    """The HTML of `grid` as the macro `draw` draws it, with its rows as `row` and its totals as `total` do."""
    rows = draw_rows(form, grid, grid.rows, row, under)
    inside = Inside(rows, ["" if each is None else total(each) for each in grid.totals], [total(each) for each in grid.sums])
    totals, sums = _numbered("total", inside.totals), _numbered("sum", inside.sums)

    def with_holes() -> str:
        names: dict[str, Any] = {name: _hole(name) for name in ("path", "id", "of", "next")}
        holes = Inside(_hole("rows"), [*map(_hole, totals)], [*map(_hole, sums)])
        return draw(form, replace(grid, **names), holes)

    count = len(grid.rows) if grid.depth else bool(grid.rows)
    kind = (draw, form.save or form.prepare, grid.opened, count, bool(grid.rows and grid.rows[0].under))
    holed = None if grid.problem else _kept(grid.kept, kind, with_holes)
    if holed is None:
        return _markup(draw(form, grid, inside))
    said = {"path": grid.path, "id": grid.id, "of": grid.of, "next": str(grid.next)}
    return _markup(holed % (_escaped(said) | totals | sums | {"rows": rows}))


def draw_rows(form: Form, grid: Grid, rows: Sequence[Row], draw: RowMacro, under: UnderMacro) -> Markup:
    """The HTML of `rows`, each as the macro `draw` draws it."""
    first = grid.rows[0] if form.tool is not None and grid.rows and not grid.depth else None
    return _markup("".join(_row(form, grid, each, draw, under, told=each is first) for each in rows))


def _row(form: Form, grid: Grid, row: Row, draw: RowMacro, under: UnderMacro, *, told: bool) -> str:
    def with_holes() -> str:
        typed = tuple(each._replace(value=_hole(n)) if each.control in PLAIN else each for n, each in enumerate(row.typed))
        holed = row._replace(
            path=_hole("path"), id=f"{_hole('id')}-row", where=_hole("where"), number=_hole("number"), typed=typed
        )
        return draw(form, replace(grid, of=_hole("of")), holed, told, _hole("under"))

    below = under(form, grid, row) if row.under else ""
    how = _how_row(grid, row)
    holed = None if how is None else _kept(grid.kept, (draw, told, how), with_holes)
    if holed is None:
        return draw(form, grid, row, told, below)
    said = {str(n): each.value for n, each in enumerate(row.typed)}
    said["path"], said["id"], said["of"] = row.path, row.id.removesuffix("-row"), grid.of
    said["where"], said["number"] = row.where, row.number
    said = _escaped(said)
    said["under"] = below
    return holed % said


def _how(field: Input) -> object:
    """How an input is drawn beside what was typed: its control, and what was chosen in it. None for one like no other."""
    if field.problem or field.focus:
        return None
    if field.control in CHOSEN:
        return (field.control, field.value, field.ticked, field.chosen)
    return field.control if field.control in PLAIN or not (field.value or field.zone) else None


def _how_row(grid: Grid, row: Row) -> object:
    """The same of all inputs of a row."""
    if row.problem:
        return None
    how = [_how(each) if each.look is column.look else None for each, column in zip(row.typed, grid.columns, strict=True)]
    return None if None in how else tuple(how)


def _kept(kept: dict[Any, str], kind: object, with_holes: Callable[[], str]) -> str | None:
    """The text of one kind, to be filled with `%`; None where it is not kept and too much is."""
    holed = kept.get(kind)
    if holed is None and len(kept) < KEPT:
        drawn = str(with_holes()).replace("%", "%%")
        holed = kept[kind] = drawn.replace("\ufdd0", "%(").replace("\ufdd1", ")s")
    return holed


def _hole(name: object) -> str:
    """A hole, between two characters that no text holds."""
    return f"\ufdd0{name}\ufdd1"


def _numbered(name: str, texts: Sequence[str]) -> dict[str, str]:
    return {f"{name}{n}": text for n, text in enumerate(texts)}


def _escaped(said: dict[str, str]) -> dict[str, str]:
    """What is said, as Jinja escapes it."""
    return {name: escape(text) for name, text in said.items()} if _SPECIAL.search("".join(said.values())) else said


def _markup(html: str) -> Markup:
    return Markup(html)  # noqa: S704  the kit's own macros, which escape, filled with what was escaped
