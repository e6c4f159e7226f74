"""The rows of a grid as HTML, those that are alike drawn once.

A grid has thousands of rows that differ by their names, their words and what was typed, and a macro draws one in the time of
twenty fillings. So the macro draws one row of each kind with a hole for whatever differs, and every row like it is that text,
filled. A row that a problem or the focus makes unlike the others is drawn by the macro itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from html import escape
from typing import Final, TypeAlias

from markupsafe import Markup

from meridian.pages.form import Form, Grid, Input, Row

__all__ = ["draw_rows"]

RowMacro: TypeAlias = Callable[[Form, Grid, Row, bool, str], str]
"""Draws a row, given whether its cells tell the browser's agent what they mean, and the HTML of what is under it."""
UnderMacro: TypeAlias = Callable[[Form, Grid, Row], str]

PLAIN: Final = frozenset({"text", "list", "date"})
"""The controls whose value stands in one place and decides nothing else."""
KEPT: Final = 256
"""How many kinds of row are kept for one list; what is chosen in a row is a person's to vary."""
CHOSEN: Final = frozenset({"select", "checkbox", "checks"})
"""The controls in which one of a few things was chosen; the rows in which the same was are alike."""


def draw_rows(form: Form, grid: Grid, rows: Sequence[Row], row: RowMacro, under: UnderMacro) -> Markup:
    """The HTML of `rows`, each as the macro `row` draws it. What is kept for the rows that are alike is `grid.kept`."""
    drawn: list[str] = []
    first = grid.rows[0] if form.tool is not None and grid.rows and not grid.depth else None
    for each in rows:
        told = each is first
        below = under(form, grid, each) if each.under else ""
        chosen = _chosen(grid, each)
        holed = grid.kept.get((row, told, chosen))
        if holed is None and chosen is not None and len(grid.kept) < KEPT:
            holed = grid.kept[row, told, chosen] = _with_holes(form, grid, each, row, told)
        drawn.append(row(form, grid, each, told, below) if holed is None else holed % _filling(grid, each, below))
    return Markup("".join(drawn))  # noqa: S704  the kit's own macro, escaped there and in _filling


def _chosen(grid: Grid, row: Row) -> tuple[object, ...] | None:
    """How a row is drawn beside what was typed: its controls, and what was chosen in them. None for a row like no other."""
    if row.problem:
        return None
    chosen: list[object] = []
    for cell, column in zip(row.cells, grid.columns, strict=True):
        if cell.problem or cell.focus or cell.look is not column.look:
            return None
        if cell.control in CHOSEN:
            chosen.append((cell.value, cell.ticked, cell.chosen))
        elif cell.control in PLAIN or not (cell.value or cell.zone):
            chosen.append(cell.control)
        else:
            return None
    return tuple(chosen)


def _hole(name: object) -> str:
    """A hole, between two characters that no text holds."""
    return f"\ufdd0{name}\ufdd1"


def _with_holes(form: Form, grid: Grid, row: Row, draw: RowMacro, told: bool) -> str:
    """The HTML of `row` with holes, to be filled with `%`."""
    base = row.id.removesuffix("-row")

    def cell(n: int, each: Input) -> Input:
        return each._replace(
            path=_hole("path") + each.path[len(row.path) :],
            id=_hole("id") + each.id[len(base) :],
            where=_hole("where") + each.where[len(row.where) :],
            value=_hole(n) if each.control in PLAIN else each.value,
        )

    holed = row._replace(
        path=_hole("path"),
        id=f"{_hole('id')}-row",
        where=_hole("where"),
        number=_hole("number"),
        cells=tuple(cell(n, each) for n, each in enumerate(row.cells)),
    )
    html = draw(form, replace(grid, of=_hole("of")), holed, told, _hole("under"))
    return str(html).replace("%", "%%").replace("\ufdd0", "%(").replace("\ufdd1", ")s")


def _filling(grid: Grid, row: Row, under: str) -> dict[str, str]:
    """What goes into the holes, escaped."""
    said = {str(n): escape(cell.value) for n, cell in enumerate(row.cells)}
    said["path"], said["id"] = escape(row.path), escape(row.id.removesuffix("-row"))
    said["where"], said["number"] = escape(row.where), escape(row.number)
    said["of"], said["under"] = escape(grid.of), under
    return said
