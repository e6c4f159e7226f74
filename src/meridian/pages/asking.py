"""One request as a view meets it: who asks, and the record of what they ask.

Everything a view may know is here, and all of it was checked before: the caller comes from the signed header alone, the
record from the one parser. Reading `params` where something did not read refuses, so that a view written for the good case
is safe; one that looks at `reading` or `param_errors` first may decide for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple
from urllib.parse import urlencode

from starlette.datastructures import Headers, ImmutableMultiDict, QueryParams, UploadFile
from typing_extensions import TypeVar

from meridian.callers import Caller
from meridian.errors import Problem, Unread
from meridian.pages.plugin import Plugin, Prepared
from meridian.records import Reading

__all__ = ["Prepared", "Redraw", "Repeat", "Request"]

R = TypeVar("R", default=Any)


class Repeat(NamedTuple):
    """An identical act of the same delegation within the last minute, and its outcome: `made`, `unchanged`, or `unsure`
    where it is under way still or nobody knows what came of it."""

    call_id: str
    outcome: str


@dataclass
class Redraw:
    """A form that is drawn again: whose it is, what was typed, and what did not read or was refused.

    `focus` is the list or the row that a button was pressed for, "" where none was. `files` are the names of the files that
    were chosen, by their input's. `drawn` becomes True when the drawn form has shown its problems, so that the page need not
    show them a second time; `asked` when a form drawn by hand asked for what was typed or for a problem.
    """

    path: str
    pairs: Sequence[tuple[str, str]]
    problems: Sequence[Problem] = ()
    detail: str = ""
    focus: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    drawn: bool = False
    asked: bool = False

    @property
    def form(self) -> str:
        """The id that its author gave the form; empty for none."""
        return next((value for name, value in self.pairs if name == "meridian.form"), "")


@dataclass(kw_only=True)
class Request(Generic[R]):
    """A request to one of the plugin's routes, its inputs read as the record the route declares.

    `path` is the plugin's own (`/confirm`). `plugin` is the handle to the deployment: its commands, `settings` and
    `storage_url`. `files` are the uploads by input name, spooled; they are gone when the answer is sent. `repeat_of` names
    an identical act of the same delegation a moment ago, None where there is none. `second_pair_of_eyes` names the acts that
    whoever prepared them may not make.
    """

    method: str
    path: str
    caller: Caller
    plugin: Plugin
    query: QueryParams
    headers: Headers = field(repr=False)
    files: ImmutableMultiDict[str, UploadFile] = field(default_factory=ImmutableMultiDict, repr=False)
    repeat_of: Repeat | None = None
    second_pair_of_eyes: tuple[str, ...] = ()
    redraw: Redraw | None = field(default=None, repr=False)
    read_as: Reading[R] | None = field(default=None, repr=False)
    pairs: Sequence[tuple[str, str]] = field(default=(), repr=False)
    link: Callable[[str], str] = field(default=str, repr=False)
    from_prepared: Prepared | None = field(default=None, repr=False)
    _looked: bool = field(default=False, init=False, repr=False)

    @property
    def reading(self) -> Reading[R]:
        """What the inputs read as: the record, or every problem. Looking at it leaves the decision to the view.

        Raises TypeError where the route declares no record.
        """
        if self.read_as is None:
            raise TypeError(f"{self.path} declares no record; name one with params= to read its inputs")
        self._looked = True
        return self.read_as

    @property
    def param_errors(self) -> tuple[Problem, ...]:
        """Every cell that did not read, in the order of the record."""
        return self.reading.problems

    @property
    def params(self) -> R:
        """The record, as the route declares it. Raises Unread, with every cell, where something did not read and nobody has
        looked at `reading` or `param_errors` before; the form is then drawn again with each problem on its cell."""
        reading = self.read_as
        if reading is None:
            raise TypeError(f"{self.path} declares no record; name one with params= to read its inputs")
        if reading.problems and not self._looked:
            raise Unread(*reading.problems)
        if reading.record is None:
            raise Unread(*reading.problems)
        return reading.record

    def typed(self, path: str) -> str:
        """What was typed in the cell at `path`, as it came; empty where nothing was."""
        if self.redraw is not None:
            self.redraw.asked = True
        pairs = self.redraw.pairs if self.redraw else self.pairs
        return next((value for name, value in pairs if name == path), "")

    def path_for(self, path: str, **query: object) -> str:
        """The address of the plugin's own `path`, as this session reaches it, with `query` behind it.

        Raises ValueError where nothing is served at `path`.
        """
        said: Mapping[str, str] = {name: str(value) for name, value in query.items() if value is not None}
        return self.link(path) + (f"?{urlencode(said)}" if said else "")

    async def prepared(self) -> Prepared | None:
        """The prepared change that this page was opened from; None where it was opened from none."""
        return self.from_prepared
