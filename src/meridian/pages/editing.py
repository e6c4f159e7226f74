"""Rows added and removed by a plain submit, where no script does it.

What was typed enters as pairs, with the list or the row whose button was pressed; the pairs leave that draw the form so.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from meridian.pages.typed import LAST_ROW, MAX_STEPS, NOTHING, Pairs, head, path_below, rows_typed, typed_at, walk_to
from meridian.records import EVERY, Boolean, Cell, Kind, RecordKind, Rows, Shape, parse_path
from meridian.records import Mapping as Entries

__all__ = ["edit_rows"]


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
    kind, node = _kind_of(shape, add), walk_to(typed_at(edited, {head(add)}), add) or NOTHING
    if isinstance(kind, Rows):
        number = max(rows_typed(node, kind.item), default=-1) + 1
        if number <= LAST_ROW:
            edited.extend(_blank_cells(kind.item, f"{add}[{number}]"))
    elif isinstance(kind, Entries):
        key = next((value.strip() for name, value in pairs if name == f"meridian.key.{add}"), "")
        if key and key not in node.below:
            edited = [(name, value) for name, value in edited if name != f"meridian.key.{add}"]
            edited.extend(_blank_cells(kind.item, path_below(add, key)))
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
                yield from _blank_cells(each, path_below(path, each.name))
        case Rows(item):
            yield from _blank_cells(item, f"{path}[0]")
        case Entries():
            return
        case Boolean():
            yield path, "" if cell.nullable else "0"
        case _:
            yield path, ""
