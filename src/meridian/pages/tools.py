"""A tool, derived from a declaration: its name, its words, its two schemas, whether it acts or reads.

A tool is what an MCP client sees of a route. Everything in it follows from the declaration; nothing of it is written twice.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from meridian.callers import Level, Role
from meridian.records import Shape, schema

__all__ = ["Tool", "input_schema", "output_schema", "refuse_name", "title_from"]

NAME: Final = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
DESCRIPTION_LIMIT: Final = 2_000
"""Characters of a description; clients cut what is longer, in silence."""

NOTHING: Final[dict[str, Any]] = {"type": "object", "properties": {}, "additionalProperties": False}


@dataclass(frozen=True)
class Tool:
    """What an MCP client may call: one route, by name.

    `reads` is True where a call changes nothing. `roles` are all of the plugin's where the route names none. The schemas are
    in the portable form that every client takes. `shape` is of the record it takes; `path` and `method` are the route's.
    """

    name: str
    title: str
    description: str
    reads: bool
    levels: tuple[Level, ...]
    roles: tuple[Role, ...]
    checked_by: str | None
    accounts: tuple[str, ...]
    made_on: str | None
    shape: Shape[Any] | None
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any]
    destructive: bool
    idempotent: bool
    open_world: bool
    path: str
    method: str


def title_from(name: str) -> str:
    """A title made from a name: `confirm_lots` is `Confirm lots`."""
    return name.replace("_", " ").strip().capitalize()


def refuse_name(name: str) -> str | None:
    """Why a client would refuse the tool name `name`, and what would do; None where none would."""
    if NAME.fullmatch(name) and len(name) <= 48:
        return None
    mended = re.sub(r"_+", "_", re.sub(r"[^a-z0-9]+", "_", name.lower())).strip("_")[:48] or "confirm_lots"
    mended = mended if mended[0].isalpha() else f"t_{mended}"[:48]
    return (
        f"the tool name {name!r} would be refused by clients: it takes small letters, digits and single underscores, "
        f"begins with a letter and has at most 48 characters; write name={mended!r}"
    )


def input_schema(shape: Shape[Any] | None) -> dict[str, Any]:
    """The schema of a tool's arguments."""
    return dict(NOTHING) if shape is None else schema(shape, portable=True)


def output_schema(shape: Shape[Any] | None) -> dict[str, Any]:
    """The schema of a tool's whole answer: the outcome object, a refusal included."""
    data: dict[str, Any] = {"type": "object"} if shape is None else schema(shape, portable=True, answer=True)
    data["description"] = "What the call answered; absent where it was refused."
    text = {"type": "string"}
    field = {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The cell, as it was sent; empty for the arguments as a whole."},
            "message": text,
            "entry": {"type": "object", "properties": {"path": text, "title": text, "meaning": text}},
            "said": text,
        },
        "required": ["path", "message"],
    }
    return {
        "type": "object",
        "properties": {
            "outcome": {
                "type": "string",
                "enum": ["made", "unchanged", "refused", "prepared"],
                "description": "made: something was changed. unchanged: nothing was. refused: no, and why. "
                "prepared: kept for a person to make.",
            },
            "data": data,
            "reason": {"type": "string", "description": "A refusal in one word, to branch on."},
            "detail": {"type": "string", "description": "A refusal in a sentence."},
            "fields": {"type": "array", "items": field, "description": "The cells a refusal is about."},
            "prepared_call_id": text,
        },
        "required": ["outcome"],
    }
