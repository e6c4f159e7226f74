"""The name of one cell: `account`, `lots[0].cost`, `payload["any key"]`.

Text comes in and steps go out (`parse_path`), or the other way round (`print_path`). A step is a name or a key (`str`), a row's
number (`int`), or `EVERY`, which a *pattern* path writes `[]` for every row of a list and every entry of a dict
(`positions[].account`). What the steps lead to in a record is `shape`'s to say; how a form's names become rows is `reading`'s.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from json import JSONDecodeError, JSONDecoder, dumps
from typing import Final, Literal, NamedTuple, TypeAlias

__all__ = ["EVERY", "Every", "Path", "Step", "parse_path", "pattern_of", "print_path"]


class Every(NamedTuple):
    """The step `[]` of a pattern path."""

    each: Literal["[]"] = "[]"


EVERY: Final = Every()

Step: TypeAlias = str | int | Every
Path: TypeAlias = tuple[Step, ...]

NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""A step that is written without quotes; with `fullmatch`, what a field may be called."""

_DECODER = JSONDecoder()
_FIRST = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)")
_DOTTED = re.compile(r"\.([A-Za-z_][A-Za-z0-9_]*)")
_ROW = re.compile(r"\[(0|[1-9][0-9]{0,17})?\]")


def parse_path(text: str) -> Path:
    """The steps of `text`, which is a path or a pattern path; the empty path, of the record itself, has none.

    Digits are ASCII, without leading zeros and at most 18. Raises ValueError, saying where, for anything else.

    >>> parse_path("lots[3].cost")
    ('lots', 3, 'cost')
    >>> parse_path('payload["any key"][]')
    ('payload', 'any key', Every(each='[]'))
    """
    steps: list[Step] = []
    at = 0
    while at < len(text):
        if found := (_DOTTED if at else _FIRST).match(text, at):
            steps.append(found[1])
            at = found.end()
        elif found := _ROW.match(text, at):
            steps.append(EVERY if found[1] is None else int(found[1]))
            at = found.end()
        elif text.startswith('["', at):
            key, at = _key(text, at)
            steps.append(key)
        else:
            raise ValueError(f'{_short(text)} is no path: at character {at + 1} a name, [number] or ["key"] was expected')
    return tuple(steps)


def _key(text: str, at: int) -> tuple[str, int]:
    try:
        key, end = _DECODER.raw_decode(text, at + 1)
    except JSONDecodeError as wrong:
        raise ValueError(f"{_short(text)} is no path: the key at character {at + 2} is no JSON string") from wrong
    if text[end : end + 1] != "]":
        raise ValueError(f"{_short(text)} is no path: the key at character {at + 2} lacks its closing ]")
    return key, end + 1


def _short(text: str) -> str:
    return dumps(text if len(text) <= 60 else text[:59] + "…", ensure_ascii=False)


def print_path(steps: Iterable[Step]) -> str:
    """The one spelling of `steps`, which `parse_path` reads back.

    >>> print_path(("payload", "any key", 0, "cost"))
    'payload["any key"][0].cost'
    """
    parts: list[str] = []
    for step in steps:
        if isinstance(step, str):
            if step.isidentifier() and step.isascii():
                parts.append(f".{step}" if parts else step)
            else:
                parts.append(f"[{dumps(step, ensure_ascii=False)}]")
        elif isinstance(step, int):
            parts.append(f"[{step}]")
        else:
            parts.append("[]")
    return "".join(parts)


def pattern_of(path: str) -> str:
    """The pattern that `path` is one cell of: every row's number left out.

    >>> pattern_of("positions[3].lots[0].cost")
    'positions[].lots[].cost'
    """
    return print_path(EVERY if isinstance(step, int) else step for step in parse_path(path))
