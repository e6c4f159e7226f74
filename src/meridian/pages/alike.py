"""The rows of a grid as HTML, those that are alike drawn once.

A grid has thousands of rows that differ by their names, their words and what was typed, and a macro draws one in the time of
twenty fillings. So the macro draws one row of each kind with a hole for whatever differs, and every row like it is that text,
filled. A row that a problem or the focus makes unlike the others is drawn by the macro itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

from markupsafe import Markup, escape

from meridian.pages.form import Form, Grid, Input, Row

__all__ = ["draw_rows"]

RowMacro: TypeAlias = Callable[[Form, Grid, Row, bool, str], str]
"""Draws a row, given whether its cells tell the browser's agent what they mean, and the HTML of what is under it."""
UnderMacro: TypeAlias = Callable[[Form, Grid, Row], str]

PLAIN: Final = frozenset({"text", "list", "date"})
"""The controls whose value stands in one place and decides nothing else."""


def draw_rows(form: Form, grid: Grid, rows: Sequence[Row], row: RowMacro, under: UnderMacro) -> Markup:
    """The HTML of `rows`, each as the macro `row` draws it."""
    drawn: list[str] = []
    first = grid.rows[0] if form.tool is not None and grid.rows and not grid.depth else None
    for each in rows:
        below = under(form, grid, each) if each.under else ""
        told = each is first
        kind = None if told else _kind(grid, each)
        if kind is None:
            drawn.append(row(form, grid, each, told, below))
            continue
        holed = form.kept.get(kind)
        if holed is None:
            holed = form.kept[kind] = _with_holes(form, grid, each, row)
        drawn.append(holed % _filling(grid, each, below))
    return Markup("".join(drawn))  # noqa: S704  the kit's own macro, escaped there and in _filling


def _kind(grid: Grid, row: Row) -> tuple[Any, ...] | None:
    """What is alike in every row of a kind: the grid's columns, and what stands in controls that are not plain. None for a row
    that is drawn by itself."""
    if row.problem:
        return None
    kind: list[Any] = [id(grid.columns), grid.depth, bool(row.under)]
    for cell, column in zip(row.cells, grid.columns, strict=True):
        if cell.problem or cell.focus or cell.look is not column.look:
            return None
        kind.append(cell.control if cell.control in PLAIN else (cell.control, cell.value, cell.ticked, cell.chosen, cell.zone))
    return tuple(kind)


def _hole(name: object) -> str:
    return f"\ue000{name}\ue001"


def _with_holes(form: Form, grid: Grid, row: Row, draw: RowMacro) -> str:
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
    html = draw(form, replace(grid, of=_hole("of")), holed, False, _hole("under"))
    return str(html).replace("%", "%%").replace("\ue000", "%(").replace("\ue001", ")s")


def _filling(grid: Grid, row: Row, under: str) -> dict[str, str]:
    """What goes into the holes, escaped."""
    said: dict[str, str] = {str(n): escape(cell.value) for n, cell in enumerate(row.cells)}
    said["path"], said["id"] = escape(row.path), escape(row.id.removesuffix("-row"))
    said["where"], said["number"] = escape(row.where), escape(row.number)
    said["of"], said["under"] = escape(grid.of), under
    return said
