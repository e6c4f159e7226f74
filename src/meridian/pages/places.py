"""Where something stands: whether a record has a cell there, what it is called in words, and the id of what is drawn there."""

from __future__ import annotations

import re
from operator import add
from typing import Any, NamedTuple

from meridian.pages.showing import inline, shown
from meridian.pages.typed import path_below
from meridian.records import DateTime, JsonObject, Kind, RecordKind, Rows, Shape, parse_path
from meridian.records import Mapping as Entries

__all__ = ["Place", "has_cell", "id_of", "inside"]

_UNSAFE = re.compile(r"[^A-Za-z0-9_.\[\]@-]")


class Place(NamedTuple):
    """Where the drawing is, or how it goes on from there: a path, the pattern it is one of, its words, and its id."""

    path: str
    pattern: str
    words: str
    id: str

    def on(self, more: Place) -> Place:
        """What `more` goes on to from here."""
        return Place._make(map(add, self, more))

    def field(self, name: str, label: str) -> Place:
        """The field `name` here."""
        return self.on(inside(name, label)) if self.path else Place(name, name, label, f"{self.id}-{name}")

    def row(self, number: str, words: str) -> Place:
        """The row of that number here."""
        return Place(f"{self.path}[{number}]", f"{self.pattern}[]", words, f"{self.id}[{number}]")

    def key(self, name: str) -> Place:
        """The entry under the key `name` here."""
        path = path_below(self.path, name)
        return Place(path, f"{self.pattern}[]", f"{self.words}, {shown(name)}", self.id + id_of(path[len(self.path) :]))


def inside(name: str, label: str) -> Place:
    """How the field `name` goes on from the record that it is in."""
    return Place(f".{name}", f".{name}", f", {inline(label)}", f".{name}")


def has_cell(shape: Shape[Any], path: str) -> bool:
    """Whether the record has a cell at `path`, which may be a pattern: any row of a list and any key of a dict are there."""
    try:
        steps = parse_path(path)
    except ValueError:
        return False
    kind: Kind = RecordKind(shape)
    for step in steps:
        match kind:
            case RecordKind(inner) if isinstance(step, str) and (cell := inner.field(step)) is not None:
                kind = cell.kind
            case Rows(item) if not isinstance(step, str):
                kind = item.kind
            case Entries(item):
                kind = item.kind
            case DateTime() if step == "zone":
                return len(steps) > 1
            case JsonObject():
                return True
            case _:
                return False
    return bool(steps)


def id_of(path: str) -> str:
    """`path` as it may stand in an id."""
    return _UNSAFE.sub(lambda found: f"~{ord(found[0]):x}", path)
