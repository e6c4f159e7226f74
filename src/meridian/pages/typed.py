"""What was typed, as a tree: each text at the path of its cell.

A form's pairs enter, as a browser sent them, or a record, as it would be typed; the tree leaves. Nothing is read or refused
here, because a form is drawn from what was typed, right or wrong.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from decimal import Decimal
from enum import Enum
from typing import Any, Final, TypeAlias

from meridian.records import EVERY, Cell, Kind, RecordKind, Rows, Shape, Step, parse_path, print_path, shape_of
from meridian.records import Mapping as Entries

__all__ = [
    "LAST_ROW",
    "MAX_STEPS",
    "NOTHING",
    "Pairs",
    "Typed",
    "every",
    "head",
    "path_below",
    "rows_of",
    "rows_typed",
    "text_of",
    "typed_at",
    "typed_by_default",
    "typed_in",
    "values_in",
    "walk_to",
]

Pairs: TypeAlias = Sequence[tuple[str, str]]

LAST_ROW: Final = 9_999
MAX_STEPS: Final = 64
"""A name of more steps than this is no cell that a form draws."""


class Typed:
    """What was typed at one path, and below it."""

    __slots__ = ("below", "values")

    def __init__(self, values: list[str] | None = None, below: dict[Step, Typed] | None = None) -> None:
        self.values = [] if values is None else values
        self.below = {} if below is None else below

    @property
    def value(self) -> str:
        return self.values[-1] if self.values else ""

    def at(self, step: Step) -> Typed:
        return self.below.get(step, NOTHING)


NOTHING: Final = Typed()


def typed_at(pairs: Iterable[tuple[str, str]], fields: Collection[str]) -> Typed:
    """The tree of those pairs whose name is a path that begins with one of `fields`."""
    root = Typed()
    found: dict[str, Typed | None] = {}

    def find(name: str) -> Typed | None:
        if name not in found:
            before, dot, last = name.rpartition(".")
            if dot and last.isidentifier() and last.isascii():
                above = find(before)
                found[name] = None if above is None else above.below.setdefault(last, Typed())
            else:
                found[name] = walk_to(root, name)
        return found[name]

    for name, value in pairs:
        if head(name) in fields and name.count(".") + name.count("[") <= MAX_STEPS and (node := find(name)) is not None:
            node.values.append(value)
    return root


def walk_to(root: Typed, name: str) -> Typed | None:
    try:
        steps = parse_path(name)
    except ValueError:
        return None
    node = root
    for step in steps:
        node = node.below.setdefault(step, Typed())
    return node


_HEAD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def head(name: str) -> str:
    found = _HEAD.match(name)
    return found[0] if found else ""


def path_below(path: str, name: str) -> str:
    """The path of the field or key `name` under `path`."""
    own = print_path((name,))
    return own if not path else path + own if own.startswith("[") else f"{path}.{own}"


def values_in(node: Typed) -> Iterator[str]:
    """The values of a list of single cells, whichever way they were sent."""
    yield from node.values
    yield from node.at(EVERY).values
    for each in rows_of(node):
        yield each.value


def rows_typed(node: Typed, item: Cell) -> dict[int, Typed]:
    """What was typed in each row, by its number; a list's own name repeated makes rows of single cells."""
    rows = {step: below for step, below in node.below.items() if isinstance(step, int) and step <= LAST_ROW}
    found = dict(sorted(rows.items()))
    if not isinstance(item.kind, RecordKind | Rows | Entries):
        for number, value in enumerate([*node.values, *node.at(EVERY).values], start=max(found, default=-1) + 1):
            found[number] = Typed([value])
    return found


def rows_of(node: Typed) -> Iterator[Typed]:
    numbers = sorted(step for step in node.below if isinstance(step, int))
    yield from (node.below[number] for number in numbers)


def every(node: Typed, steps: Sequence[Step]) -> Iterator[Typed]:
    """Every cell that the pattern `steps` leads to."""
    if not steps:
        yield node
    elif isinstance(steps[0], str | int):
        yield from every(node.at(steps[0]), steps[1:])
    else:
        for each in node.below.values():
            yield from every(each, steps[1:])


# ── What a record looks like as it would be typed ──────────────────────────


def typed_in(record: object) -> Typed:
    """The tree of `record`, without its secrets, to be drawn and not added to."""
    return _typed(RecordKind(shape_of(type(record))), record)


def typed_by_default(shape: Shape[Any]) -> Typed:
    """The tree of what the fields of `shape` are where nobody says anything, without its secrets."""
    root = Typed()
    for each in shape.fields:
        if not each.required and not each.secret:
            root.below[each.name] = _typed(each.kind, each.make_default())
        elif isinstance(each.kind, RecordKind):
            root.below[each.name] = typed_by_default(each.kind.shape)
    return root


_SINGLE: Final[dict[type, Callable[[Any], str]]] = {str: str, Decimal: "{:f}".format, dt.date: dt.date.isoformat, int: str}
"""How the values of most cells are typed, by their class; none of these is of several cells."""


def _typed(kind: Kind, value: Any) -> Typed:
    if value is None:
        return NOTHING
    single = _SINGLE.get(type(value))
    if single is not None:
        return Typed([single(value)], NOTHING.below)
    match kind:
        case RecordKind(shape):
            below: dict[Step, Typed] = {}
            for each in shape.fields:
                if not each.secret:
                    below[each.name] = _typed(each.kind, getattr(value, each.name))
            return Typed(NOTHING.values, below)
        case Rows(item):
            return Typed(NOTHING.values, {number: _typed(item.kind, each) for number, each in enumerate(value)})
        case Entries(item):
            return Typed(NOTHING.values, {key: _typed(item.kind, each) for key, each in value.items()})
        case _:
            return Typed([text_of(value)], NOTHING.below)


def text_of(value: object) -> str:
    """One value as it would be typed; nothing for None."""
    match value:
        case Decimal():
            return format(value, "f")
        case None:
            return ""
        case Enum():
            return str(value.value)
        case dt.date() | dt.time():
            return value.isoformat()
        case dict():
            return json.dumps(value, ensure_ascii=False, indent=2)
        case bool():
            return "true" if value else "false"
        case _:
            return str(value)
