"""A record read along its shape, a field after another: what is read once need not have a reader written for it.

To write one takes as long as a hundred readings, and a command line or a test often reads one of a record. So its first
reading walks its fields here, each by the function of `cells` that has its rule; from the second on there is what `generating`
writes. A list is many readings already: a written reader has it at once.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from meridian.records import cells, tree
from meridian.records.cells import ABSENT, At, Found
from meridian.records.generating import Reader, Source, holder_reader, record_reader
from meridian.records.shape import Boolean, FieldShape, Mapping, RecordKind, Rows, Shape

__all__: list[str] = []


def reader(shape: Shape[Any], source: Source) -> Reader:
    """What reads one `shape` from an object, or from a form's cells: at first the walk, and then what is written for it."""
    walked = f"{source} was walked"
    if walked in shape.derived:
        return record_reader(shape, source)
    shape.derived[walked] = True
    return partial(_walk, shape, source)


def _walk(shape: Shape[Any], source: Source, row: dict[str, Any], at: At, found: Found) -> Any:
    form = source == "form"
    value = _of_form if form else _of_json
    before = found.count
    values = {each.name: value(shape, each, row, at, found) for each in shape.fields}
    if not form:
        found.members += len(row)
        cells.unknown(shape, row, at, found)
    elif at:  # at the top, other names may be another's
        tree.astray(shape, row, at, found)
    if found.count != before:
        return cells.mended(shape, tuple(values.values()))
    try:
        return shape.record(**values)
    except ValueError as wrong:
        return tree.refused(wrong, shape, row, at, found) if form else cells.refused(wrong, at, found)


def _of_json(shape: Shape[Any], field: FieldShape, row: dict[str, Any], at: At, found: Found) -> Any:
    came = row.get(field.name, ABSENT)
    if isinstance(field.kind, RecordKind | Rows | Mapping) and type(came) is (list if isinstance(field.kind, Rows) else dict):
        return _whole(shape, field, "JSON", came, at, found)
    return cells.json_field(field, came, at, found)


def _of_form(shape: Shape[Any], field: FieldShape, row: dict[str, Any], at: At, found: Found) -> Any:
    kind, here = field.kind, (at, field.name)
    came = row.get(field.name)
    if type(came) is dict and isinstance(kind, RecordKind | Rows | Mapping):
        may_be_left_out = field.nullable or (isinstance(kind, RecordKind) and not field.required)
        if not (may_be_left_out and tree.nothing_in(kind, came, here, found)):
            return _whole(shape, field, "form", came, at, found)
        came = None
    if came is None:
        return _left_blank(shape, field, at, found)
    if isinstance(kind, Rows) and tree.is_plain(kind.item):
        return tree.own_rows(field, came, here, found)
    return cells.form_field(field, came, at, found, found.zones and found.zones.get((id(row), field.name)))


def _left_blank(shape: Shape[Any], field: FieldShape, at: At, found: Found) -> Any:
    kind, optional = field.kind, not field.required
    if isinstance(kind, Boolean) and not field.nullable:
        return found.query and optional and field.make_default() is True
    if isinstance(kind, Rows | Mapping) and not (field.nullable and optional and field.make_default() is None):
        if field.min_length:
            return cells.wrong_length(field, 0, (at, field.name), found)
        return {} if isinstance(kind, Mapping) else () if kind.as_tuple else []
    if isinstance(kind, RecordKind) and not field.nullable and not optional:
        return _whole(shape, field, "form", {}, at, found)
    return cells.form_field(field, None, at, found)


def _whole(shape: Shape[Any], field: FieldShape, source: Source, came: Any, at: At, found: Found) -> Any:
    """What is read of a field that holds others."""
    kind = field.kind
    read = (
        reader(kind.shape, source)
        if isinstance(kind, RecordKind)
        else holder_reader(field, f"{shape.name}.{field.name}", source)
    )
    return read(came, (at, field.name), found)
