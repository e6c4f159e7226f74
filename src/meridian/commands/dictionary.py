"""The data dictionary: what each field of a command means, by the path at which plugins and agents name it.

A command's name enters; its entries leave. They are read from the command's record and kept nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

from meridian.commands.declaring import command_of
from meridian.records import FieldShape, paths

__all__ = ["DictionaryEntry", "dictionary"]


@dataclass(frozen=True)
class DictionaryEntry:
    """What the dictionary says of one field: its pattern path, its title, its meaning, and its JSON Schema."""

    path: str
    title: str
    meaning: str
    schema: Mapping[str, Any]


@cache
def dictionary(operation: str) -> Mapping[str, DictionaryEntry]:
    """Every field of the command `operation`, by pattern path (`positions[].lots[].cost`).

    Raises DeclarationError where no command has that name.
    """
    shape = command_of(operation).shape
    entries: dict[str, DictionaryEntry] = {}
    for path, node in paths(shape).items():
        found = shape.at(path)
        if isinstance(found, FieldShape):
            entries[path] = DictionaryEntry(
                path, found.title or _in_words(found.name), found.description, MappingProxyType(node)
            )
    return MappingProxyType(entries)


def _in_words(name: str) -> str:
    return name.replace("_", " ").capitalize()
