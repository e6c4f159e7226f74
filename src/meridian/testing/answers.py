"""What a client of the tests was answered: a page, as a browser has it, or a tool's outcome, as an agent has it."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from meridian.callers import Level
from meridian.pages.assertion import NOTE
from meridian.testing.asgi import Heard
from meridian.testing.forms import Form, Sent, read_forms

__all__ = ["Answered", "AnsweredHeaders", "ToolAnswered"]


class AnsweredHeaders(Mapping[str, str]):
    """Headers by name, in whatever letters; several of one name are joined by commas, and apart in `all`."""

    def __init__(self, headers: tuple[tuple[str, str], ...]) -> None:
        self.raw = headers

    def __getitem__(self, name: str) -> str:
        found = self.all(name)
        if not found:
            raise KeyError(name)
        return ", ".join(found)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(name for name, _ in self.raw))

    def __len__(self) -> int:
        return len({name for name, _ in self.raw})

    def all(self, name: str) -> list[str]:
        """Every value under `name`, in the order sent."""
        return [value for each, value in self.raw if each == name.lower()]

    def __repr__(self) -> str:
        return f"AnsweredHeaders({self.raw!r})"


class _Answered:
    """What every answer has: `status`, `headers`, the body's `content`, and the `level` of the session it was asked in."""

    def __init__(self, heard: Heard, level: Level) -> None:
        self.status = heard.status
        self.headers = AnsweredHeaders(heard.headers)
        self.content = heard.body
        self.level = level

    @property
    def text(self) -> str:
        """The body as text."""
        return self.content.decode("utf-8")

    @property
    def json(self) -> Any:
        """The body as JSON. Raises ValueError where it is none."""
        return json.loads(self.content)

    def __repr__(self) -> str:
        said = self.content.decode("utf-8", "replace")
        return f"<{self.status} {self.headers.get('content-type', 'no content')} at {self.level}: {said[:200]!r}>"


class Answered(_Answered):
    """What a browser was answered.

    `path` is what was asked, with its query. `outcome` and `reason` are what the plugin vouched for to the gateway behind its
    HTML (`made`, `unchanged`, `refused` and why), None where it vouched for nothing.
    """

    def __init__(
        self,
        heard: Heard,
        level: Level,
        path: str,
        *,
        outcome: str | None,
        reason: str | None,
        prefix: str,
        get: Callable[[str, Level], Answered],
        send: Callable[[str, Level, Sent], Answered],
    ) -> None:
        super().__init__(heard, level)
        self.path = path
        self.outcome = outcome
        self.reason = reason
        self._prefix = prefix
        self._get = get
        self._send = send

    @property
    def location(self) -> str | None:
        """Where a redirect leads: the plugin's own path, or the address as it is where that is none of the plugin's. The note
        that Meridian leaves there for a browser's agent is not shown; `follow` takes it along."""
        location = self.headers.get("location")
        if location is not None and location.startswith(f"{self._prefix}/"):
            return re.sub(rf"[?&]{re.escape(NOTE)}=[^&]*$", "", location[len(self._prefix) :])
        return location

    def follow(self) -> Answered:
        """What is at the redirect's end, in the same session. Raises ValueError where this is no redirect to the plugin."""
        if self.location is None or not self.location.startswith("/") or self.location == self.headers.get("location"):
            raise ValueError(f"{self!r} is no redirect to a page of the plugin")
        return self._get(self.headers["location"][len(self._prefix) :], self.level)

    @property
    def forms(self) -> list[Form[Answered]]:
        """The forms the page draws, to be filled in and submitted."""
        return read_forms(self.text, lambda sent: self._send(self.path, self.level, sent))

    def shows(self, text: str) -> bool:
        """Whether `text` stands in the page, written out as HTML escapes it."""
        return text in html.unescape(self.text)


@dataclass(frozen=True)
class ToolAnswered:
    """What an agent was answered: the outcome object, in `json`, and its parts.

    `outcome` is `made`, `unchanged` or `refused`. `data` is what was answered, None where it was refused; `reason`, `detail`
    and `fields` are of a refusal, and `paths` are the fields' paths. `level` is the one the call opened at, None where the
    person reaches none of the tool's. `status` is of HTTP: 200, 422 where the call was refused, 403 where it was not served.
    """

    status: int
    json: Any
    level: Level | None
    headers: AnsweredHeaders = field(repr=False)

    @property
    def outcome(self) -> str | None:
        """What came of the call."""
        return self._word("outcome")

    @property
    def data(self) -> Any:
        """The typed data, as JSON values."""
        return self._said.get("data")

    @property
    def reason(self) -> str | None:
        """A refusal in one word."""
        return self._word("reason")

    @property
    def detail(self) -> str | None:
        """A refusal in a sentence."""
        return self._word("detail")

    @property
    def fields(self) -> list[dict[str, Any]]:
        """The cells a refusal is about: each with `path` and `message`, and `entry` and `said` where they were given."""
        return list(self._said.get("fields", []))

    @property
    def paths(self) -> list[str]:
        """The paths of `fields`."""
        return [each["path"] for each in self.fields]

    @property
    def _said(self) -> Mapping[str, Any]:
        return self.json if isinstance(self.json, Mapping) else {}

    def _word(self, name: str) -> str | None:
        said = self._said.get(name)
        return said if isinstance(said, str) else None
