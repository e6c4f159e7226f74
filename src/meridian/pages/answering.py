"""What a view gives back: an answer, a page drawn from a template, or a refusal.

A view's value says what came of the call; how it is said (HTML to a person, JSON to an agent) is decided where it is
served, by who asks. So an `Answer` or a `Page` holds what is to be drawn, and `pages.serving` draws it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from starlette.responses import Response

from meridian.errors import DeclarationError, Problem, Refusal
from meridian.records import pattern_of, write_json

if TYPE_CHECKING:
    from meridian.commands import DictionaryEntry

__all__ = ["Answer", "Field", "Made", "Page", "Refusal", "Response", "came_of", "refusal_of", "refuse", "write_answer"]

Made = Literal["made", "unchanged"]
"""What came of a call that was not refused: something was changed, or nothing was."""


class _Undrawn(Response):
    """What is drawn where it is served; the headers, cookies and background task that a view gives it go with the drawing."""

    def __init__(self, status_code: int) -> None:
        self.status_code = status_code
        self.raw_headers = []
        self.background = None


class Page(_Undrawn):
    """HTML drawn from a template, for a browser alone."""

    def __init__(self, template: str, context: Mapping[str, Any], *, status_code: int = 200) -> None:
        super().__init__(status_code)
        self.template = template
        self.context = dict(context)


class Answer(_Undrawn):
    """Typed data and what came of the call: JSON to an agent; to a browser the template, or a redirect to `location`.

    `outcome` is None where the route's own kind decides it: `made` for an act, `unchanged` for a read. `prepared` is the id of
    the change that was kept for a person to make, and a sentence on it, where that is what came of the call.
    """

    def __init__(
        self,
        template: str | None,
        data: object,
        context: Mapping[str, Any],
        *,
        outcome: Made | None = None,
        location: str | None = None,
        status_code: int = 200,
        prepared: tuple[str, str] | None = None,
    ) -> None:
        super().__init__(status_code)
        self.prepared = prepared
        self.template = template
        self.data = data
        self.context = dict(context)
        self.outcome = outcome
        self.location = location


@dataclass(frozen=True, slots=True)
class Field(Problem):
    """One cell of a refusal: its path, why, and where they help, the data dictionary's `entry` and what was `said` there."""

    entry: DictionaryEntry | None = None
    said: str | None = None

    @classmethod
    def of(cls, path: str, message: str = "", *, operation: str, said: str | None = None) -> Field:
        """The field at `path` with the data dictionary's entry for it, as the command `operation` knows it.

        Raises DeclarationError where there is no such command, or it has no such path.
        """
        from meridian.commands import dictionary  # a plugin that names no command's field does without them all

        entries = dictionary(operation)
        pattern = pattern_of(path)
        if pattern not in entries:
            raise DeclarationError(f"{operation} has no field {path}; it has {', '.join(entries)}")
        return cls(path, message or entries[pattern].meaning, entries[pattern], said)


def refuse(detail: str, *fields: Problem | tuple[str, str], reason: str = "refused") -> NoReturn:
    """Refuse the call in words, blaming `fields` by path. Raises Refusal."""
    raise Refusal(detail, [each if isinstance(each, Problem) else Field(*each) for each in fields], reason=reason)


def came_of(answer: Answer, *, reads: bool) -> Made:
    """What came of the call: what the view said, else what a call of its kind comes to."""
    return answer.outcome or ("unchanged" if reads else "made")


def write_answer(answer: Answer, *, reads: bool) -> bytes:
    """The outcome object of an answer, as JSON text."""
    opening = f'{{"outcome":"{came_of(answer, reads=reads)}"'.encode()
    if answer.prepared is not None:
        change, detail = answer.prepared
        said = json.dumps({"prepared_call_id": change, "detail": detail}, ensure_ascii=False)
        opening = b'{"outcome":"prepared",' + said[1:-1].encode()
    if answer.data is None:
        return opening + b"}"
    if isinstance(answer.data, Mapping):
        data = json.dumps(dict(answer.data), ensure_ascii=False, separators=(",", ":")).encode()
    else:
        data = write_json(answer.data, portable=True)
    return opening + b',"data":' + data + b"}"


def refusal_of(refusal: Refusal) -> dict[str, Any]:
    """The outcome object of a refusal, as JSON values."""
    return refused(refusal.reason, refusal.detail, refusal.fields)


def refused(reason: str, detail: str, fields: Iterable[Problem] = ()) -> dict[str, Any]:
    """The outcome object of any refusal, as JSON values."""
    return {"outcome": "refused", "reason": reason, "detail": detail, "fields": [_field(each) for each in fields]}


def _field(problem: Problem) -> dict[str, Any]:
    said: dict[str, Any] = {"path": problem.path, "message": problem.message}
    if isinstance(problem, Field):
        if problem.entry is not None:
            said["entry"] = {"path": problem.entry.path, "title": problem.entry.title, "meaning": problem.entry.meaning}
        if problem.said is not None:
            said["said"] = problem.said
    return said
