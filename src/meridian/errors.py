"""What can go wrong, sorted by who can put it right.

    MeridianError
      DeclarationError    the author, before anything is served
      Unread              whoever sent the input: every cell that did not read
      Refusal             the same person, told no by the plugin in its own words
      DeploymentError     the operator

Anything else that escapes Meridian is a bug of Meridian. This module stands to the left of every room, so that each may
raise these and none needs another to do so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["DeclarationError", "DeploymentError", "MeridianError", "Problem", "Refusal", "Unread"]


class MeridianError(Exception):
    """Any refusal or mistake that Meridian itself raises."""


class DeclarationError(MeridianError, TypeError):
    """A record, a route or a plugin that cannot be declared so; the message names it and what to write instead."""


class DeploymentError(MeridianError):
    """A deployment that cannot run so; the message names the setting or the part and what to do."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One cell that did not read, and why.

    `path` is the cell as it was sent (`lots[3].cost`); empty for the record as a whole. `message` is a sentence for whoever
    sent it.
    """

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class Unread(MeridianError, ValueError):
    """Input that did not read as its record; `problems` names every cell, in the order of the record.

    A record's own `__post_init__` may raise it with `(path, message)` pairs, paths being its own fields', to blame cells
    instead of the whole record.
    """

    problems: tuple[Problem, ...]

    def __init__(self, *problems: Problem | tuple[str, str]) -> None:
        self.problems = tuple(p if isinstance(p, Problem) else Problem(*p) for p in problems)
        super().__init__("; ".join(map(str, self.problems)) or "the input did not read")


class Refusal(MeridianError):
    """A no, in words for whoever asked: `detail`, a `reason` programs may branch on, and the cells it is about."""

    def __init__(self, detail: str, fields: Iterable[Problem] = (), *, reason: str = "refused") -> None:
        self.detail = detail
        self.fields = tuple(fields)
        self.reason = reason
        super().__init__(detail)
