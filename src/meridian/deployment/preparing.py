"""Preparing: an act is checked and kept instead of made, and those who may make it see it.

A caller and an act's arguments enter, or a prepared change; what leaves is kept in `prepared`. Here it is decided who may
prepare, see, amend, make and put aside a change: somebody who holds, at this moment, what its act takes, on every account that
it names; and whoever prepared it. The act's plugin reads and checks its arguments, with the claims of whoever prepares, and
does not act.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from functools import cache
from typing import Any, Final, Protocol

from sqlalchemy import Connection

from meridian.callers import NO_ACCOUNTS, Caller, Holdings, cut
from meridian.deployment import delegations, prepared
from meridian.deployment.allowing import limits_in, second_pair_in
from meridian.deployment.prepared import Arguments, By, Change, Step
from meridian.deployment.reaching import Hosted, held_on, opening
from meridian.deployment.store import Store
from meridian.errors import Problem, Refusal
from meridian.pages import Prepared, assertion
from meridian.pages.guarding import not_reached
from meridian.pages.tools import Tool
from meridian.plugins import surface_name

__all__ = ["MOST_LISTED", "News", "Preparing", "Seen", "StoredChanges", "arguments_in"]

MOST_LISTED: Final = 50
"""How many changes a list gives at a time."""
_READ: Final = 200
TOLD: Final = frozenset({"prepared", "amended", "refused", "made", "changed", "discarded", "withdrawn", "lapsed", "unsure"})
"""The steps that those who see a change are told of."""


class Asks(Protocol):
    """How a plugin is asked to read an act's arguments, and to check them, without acting."""

    async def __call__(
        self, hosted: Hosted, tool: Tool, arguments: Mapping[str, Any], caller: Caller, *, only: assertion.Only
    ) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Seen:
    """A change as somebody sees it: its act, None where no plugin has it now, whether they hold what it takes to make it, and
    whether it `is_theirs`: prepared or amended by them, or by what asks as them.

    `needs_another` says that it needs a second pair of eyes from them, and so somebody else to make it.
    """

    change: Change
    hosted: Hosted | None
    tool: Tool | None
    holds: bool
    is_theirs: bool = False
    needs_another: bool = False

    @property
    def may_make(self) -> bool:
        """Whether they may make it, on its page."""
        return self.holds and not self.needs_another


@dataclass(frozen=True)
class News:
    """Something that became of a change that somebody sees."""

    step: Step
    seen: Seen


class StoredChanges:
    """The prepared changes of a store, as the operations door asks for them."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def shown(self, change: str, revision: int, *, now: datetime) -> Prepared:
        """The change, as that revision of it is shown on the page it is made on. Raises Refusal where it is so no longer."""
        found = await self._store.run(_shown, change, revision, now)
        return Prepared(
            prepared_call_id=found.id,
            arguments_json=found.arguments.json,
            prepared_by_display_name=found.by.display_name or "",
            reason=found.reason,
            tool_name=found.tool,
            prepared_by=found.by.subject or "",
            client_name=found.by.client_name,
            prepared_at=found.prepared_at,
        )


def _shown(store: Store, change: str, revision: int, now: datetime) -> Change:
    prepared.tidy(store, now)
    with store.read() as connection:
        found = prepared.find(connection, change)
    if found is None or found.revision != revision:
        raise Refusal("The prepared change is another by now; open it anew.", reason="changed_since")
    return found


class Preparing:
    """The prepared changes of the plugins `hosted`. `clock` tells the time; `ask` how a plugin is asked, once there is a
    gateway."""

    def __init__(self, store: Store, hosted: Mapping[str, Hosted], clock: Callable[[], datetime]) -> None:
        self.ask: Asks
        self._store = store
        self._hosted = hosted
        self._clock = clock

    async def prepare(self, caller: Caller, name: str, arguments: Mapping[str, Any], reason: str) -> tuple[Change, bool]:
        """The act that the surface calls `name`, checked and kept for somebody to make; False where an equal one waits already.
        Raises Refusal as its check does, by the paths of the arguments."""
        hosted, tool = self._act(name)
        given = await self._checked(caller, hosted, tool, arguments)
        return await self._store.keep_lasting(
            prepared.keep, hosted.name, tool.name, given, by=By.of(caller), reason=reason, now=self._clock()
        )

    async def keep(
        self, caller: Caller, hosted: Hosted, tool: str, said: Mapping[str, Any], reason: str, shows: tuple[str, int] | None
    ) -> tuple[Change, bool]:
        """An act that its plugin has checked on a page, kept; or, where the page was opened from a prepared change, that change
        with what the page says now."""
        given, by, now = arguments_in(said), By.of(caller), self._clock()
        if shows is not None:
            change, revision = shows
            self._refuse_unless(await self.seen(caller, change))
            kept = await self._store.keep_lasting(prepared.amend, change, revision, given, by=by, reason=reason, now=now)
            return kept, True
        return await self._store.keep_lasting(prepared.keep, hosted.name, tool, given, by=by, reason=reason, now=now)

    async def amend(self, caller: Caller, change: str, revision: int, arguments: Mapping[str, Any], reason: str) -> Change:
        """A change of the caller's, checked with other arguments and kept as its next revision."""
        seen = await self.own(caller, change)
        if seen.hosted is None or seen.tool is None:
            raise _gone(seen.change)
        given = await self._checked(caller, seen.hosted, seen.tool, arguments)
        return await self._store.keep_lasting(
            prepared.amend, change, revision, given, by=By.of(caller), reason=reason, now=self._clock()
        )

    async def recheck(self, caller: Caller, change: str) -> tuple[Change, Any]:
        """The change, and what its check says of it now. Raises Refusal as its check does."""
        seen = await self.seen(caller, change)
        if seen.hosted is None or seen.tool is None:
            raise _gone(seen.change)
        said = await self._ask(caller, seen.hosted, seen.tool, json.loads(seen.change.arguments.json))
        return seen.change, said.get("data")

    async def withdraw(self, caller: Caller, change: str, reason: str = "") -> Change:
        """A change of the caller's, withdrawn."""
        await self.own(caller, change)
        return await self._store.keep_lasting(prepared.withdraw, change, by=By.of(caller), reason=reason, now=self._clock())

    async def discard(self, caller: Caller, change: str, reason: str = "") -> Change:
        """A change that the caller might make, discarded."""
        self._refuse_unless(await self.seen(caller, change))
        return await self._store.keep_lasting(prepared.discard, change, by=By.of(caller), reason=reason, now=self._clock())

    async def settle_unsure(self, caller: Caller, change: str, *, was_made: bool) -> Change:
        """A change of which nobody knew, as the caller found out."""
        self._refuse_unless(await self.seen(caller, change))
        return await self._store.keep_lasting(
            prepared.settle_unsure, change, was_made=was_made, by=By.of(caller), now=self._clock()
        )

    async def seen(self, caller: Caller, change: str) -> Seen:
        """The change, as the caller sees it. Raises Refusal, in the same words, for one they do not see as for none."""
        return await self._store.run(lambda _: self._seen(caller, change))

    async def own(self, caller: Caller, change: str) -> Seen:
        """The same for one that the caller prepared, or a client of theirs. Raises Refusal for another's."""
        seen = await self.seen(caller, change)
        if seen.change.by.subject != caller.subject:
            raise Refusal(f"{change} is not yours to change: {seen.change.by.display_name} prepared it.", reason="not_yours")
        return seen

    async def listed(self, caller: Caller, *, waiting: bool, before: tuple[datetime, str] | None = None) -> tuple[Seen, ...]:
        """The changes that the caller sees, the latest first: those that wait, or those that are over."""
        return await self._store.run(lambda _: self._listed(caller, waiting, before))

    def steps(self, change: str) -> tuple[Step, ...]:
        """What became of the change, in order."""
        with self._store.read() as connection:
            return prepared.steps_of(connection, change)

    async def news(self, caller: Caller, *, read: bool) -> tuple[News, ...]:
        """What became, since the caller last read it, of changes that they see, by others than themselves: the latest last.
        `read` says that they have read it now. On the pages and by each client, a person has a place of its own."""
        return await self._store.run(lambda _: self._news(caller, read))

    def _news(self, caller: Caller, read: bool) -> tuple[News, ...]:
        prepared.tidy(self._store, self._clock())
        found: list[News] = []
        changes: dict[str, Seen | None] = {}
        with self._store.read() as connection:
            look = self._looks(connection, caller)
            begun = last = prepared.place_of(connection, caller.subject, caller.delegation_id)
            while len(found) < MOST_LISTED:
                some = prepared.steps_after(connection, last, limit=_READ)
                for step in some:
                    last = step.number
                    if step.change not in changes:
                        change = prepared.find(connection, step.change)
                        changes[step.change] = None if change is None else look(change)
                    seen = changes[step.change]
                    if seen is not None and step.what in TOLD and not _by_themselves(step, caller):
                        found.append(News(step, seen))
                        if len(found) == MOST_LISTED:
                            break
                if len(some) < _READ:
                    break
        if read and last > begun:
            self._store.rewrite(lambda to: prepared.keep_place(to, caller.subject, caller.delegation_id, last))
        return tuple(found)

    async def opened(self, caller: Caller, hosted: Hosted, change: str) -> Seen:
        """The change whose page on the instance the caller opens: to make it or, where that needs somebody else, to amend it.
        Raises Refusal where it is not to be made there, or by them."""
        return await self._store.run(lambda _: self._opened(caller, hosted, change))

    def _opened(self, caller: Caller, hosted: Hosted, change: str) -> Seen:
        seen = self._seen(caller, change)
        if seen.change.instance != hosted.name:
            raise Refusal("That prepared change is made on another page.", reason="unknown")
        self._refuse_unless(seen)
        with self._store.write() as connection:
            instead = prepared.refuse_instead(connection, change, seen.change.revision, self._clock())
        if instead is not None:
            raise instead
        return seen

    def _act(self, name: str) -> tuple[Hosted, Tool]:
        instance, _, own = name.partition("__")
        hosted = self._hosted.get(instance)
        tool = None if hosted is None else next((each for each in hosted.pages.tools if each.name == own), None)
        if hosted is None or tool is None:
            known = [
                surface_name(each.name, tool.name)
                for each in self._hosted.values()
                for tool in each.pages.tools
                if tool.checked_by is not None
            ]
            close = get_close_matches(name, known, 1)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise Refusal(
                "Nothing was prepared.", [Problem("tool", f"there is no tool {name[:80]!r}{hint}")], reason="unknown_tool"
            )
        if tool.reads:
            raise Refusal(
                "Nothing was prepared.",
                [Problem("tool", f"{name} changes nothing; call it")],
                reason="not_prepared",
            )
        if tool.checked_by is None:
            raise Refusal(
                "Nothing was prepared.",
                [Problem("tool", f"{name} has no check, and only what is checked can be prepared")],
                reason="not_prepared",
            )
        return hosted, tool

    async def _checked(self, caller: Caller, hosted: Hosted, tool: Tool, arguments: Mapping[str, Any]) -> Arguments:
        return arguments_in(await self._ask(caller, hosted, tool, arguments))

    async def _ask(self, caller: Caller, hosted: Hosted, tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """What the act's plugin gives back of its arguments, once its check passes them. Raises Refusal where it does not, or
        where the caller may not ask it."""
        holdings = await self._store.run(lambda _: self._to_prepare(caller, hosted, tool))
        level = opening(tool, holdings)
        if level is None:
            no = not_reached(surface_name(hosted.name, tool.name), tool, holdings)
            raise Refusal(f"Nothing was prepared: {no}", reason="not_served")
        asks = Caller(
            subject=caller.subject,
            display_name=caller.display_name,
            level=level,
            holdings=cut(holdings, level),
            deployment_admin=caller.deployment_admin,
            delegation_id=caller.delegation_id,
            client_name=caller.client_name,
            tool_name=tool.name,
            subject_kind=caller.subject_kind,
            owner_subject=caller.owner_subject,
        )
        said = await self.ask(hosted, tool, arguments, asks, only="check")
        if said.get("outcome") == "refused":
            fields = [Problem(f"arguments.{each['path']}".rstrip("."), each["message"]) for each in said.get("fields", ())]
            raise Refusal(f"Nothing was prepared. {said.get('detail', '')}".strip(), fields, reason=str(said.get("reason")))
        return said

    def _to_prepare(self, caller: Caller, hosted: Hosted, tool: Tool) -> Holdings:
        """What the caller reaches to prepare the act: a person what they hold; a client what it was lent to prepare at least,
        unless it may not. Raises Refusal."""
        if caller.delegation_id is None:
            return self.holdings(caller, hosted)
        name = surface_name(hosted.name, tool.name)
        lent = delegations.find(self._store, caller.delegation_id)
        if lent is None:
            return {}
        reached = delegations.narrowed(self._store, lent, hosted.name, hosted.roles, going="prepare")
        if opening(tool, reached) is not None and lent.awaits_consent((hosted.name, tool.name)):
            raise Refusal(
                f"Nothing was prepared: {name} waits for your person's consent; they are asked when this client connects anew.",
                reason="awaits_consent",
            )
        with self._store.read() as connection:
            limit = limits_in(connection).get((hosted.name, tool.name), "make")
        reaches_more = opening(tool, self.holdings(caller, hosted)) is not None
        if limit == "may_not" or (opening(tool, reached) is None and reaches_more):
            raise Refusal(f"Nothing was prepared: {name} is for people, and no client prepares it.", reason="may_not")
        return reached

    def holdings(self, caller: Caller, hosted: Hosted) -> Holdings:
        """What the caller reaches on an instance now: all that the person holds there or, for a client, what was lent of it."""
        if caller.delegation_id is None:
            return held_on(self._store, caller.subject, hosted)[0]
        lent = delegations.find(self._store, caller.delegation_id)
        return {} if lent is None else delegations.narrowed(self._store, lent, hosted.name, hosted.roles)

    def _seen(self, caller: Caller, change: str) -> Seen:
        prepared.tidy(self._store, self._clock())
        with self._store.read() as connection:
            found = prepared.find(connection, change)
            seen = None if found is None else self._looks(connection, caller)(found)
        if seen is None:
            raise Refusal(f"There is no prepared change {change[:40]!r} that you see.", reason="unknown")
        return seen

    def _listed(self, caller: Caller, waiting: bool, before: tuple[datetime, str] | None) -> tuple[Seen, ...]:
        prepared.tidy(self._store, self._clock())
        found: list[Seen] = []
        with self._store.read() as connection:
            look = self._looks(connection, caller)
            while len(found) < MOST_LISTED:
                some = prepared.kept(
                    connection, instances=self._hosted, subject=caller.subject, waiting=waiting, before=before, limit=_READ
                )
                found += filter(None, map(look, some))
                if len(some) < _READ:
                    break
                before = some[-1].prepared_at, some[-1].id
        return tuple(found[:MOST_LISTED])

    def _looks(self, connection: Connection, caller: Caller) -> Callable[[Change], Seen | None]:
        """How the caller sees a change: what gives None for one that they do not see. Each plugin is looked up once."""

        @cache
        def reached(instance: str) -> tuple[Hosted, Holdings, tuple[str, ...]]:
            hosted = self._hosted[instance]
            return hosted, self.holdings(caller, hosted), second_pair_in(connection, instance, caller.subject)

        def look(change: Change) -> Seen | None:
            mine = caller.subject in (change.by.subject, change.by.owner_subject)
            if change.instance not in self._hosted:
                return Seen(change, None, None, holds=False, is_theirs=mine) if mine and not caller.delegation_id else None
            hosted, holdings, second_pair = reached(change.instance)
            tool = next((each for each in hosted.pages.tools if each.name == change.tool and not each.reads), None)
            holds = tool is not None and _reaches(holdings, tool, change)
            if not holds and not (mine and holdings):
                return None
            theirs = mine or caller.subject in prepared.amenders(connection, change)
            return Seen(change, hosted, tool, holds, theirs, needs_another=theirs and change.tool in second_pair)

        return look

    def _refuse_unless(self, seen: Seen) -> None:
        """Raise Refusal where whoever sees the change does not hold what it takes to make it."""
        if seen.tool is None:
            raise _gone(seen.change)
        if not seen.holds:
            accounts = ", ".join(seen.change.arguments.accounts)
            raise Refusal(
                f"{seen.change.id} is for somebody who holds {' or '.join(seen.tool.levels)} there"
                + (f" on {accounts}." if accounts else " on every account."),
                reason="not_served",
            )


def arguments_in(said: Mapping[str, Any]) -> Arguments:
    """What a plugin gave back of an act's arguments. Raises Refusal where that is none."""
    record, alike, accounts = said.get("record"), said.get("alike"), said.get("accounts")
    if not isinstance(record, dict) or not isinstance(alike, str) or len(alike) != 64 or not isinstance(accounts, list):
        raise Refusal("The plugin gave back no record, so that nothing can be prepared.", reason="untyped")
    return Arguments(json.dumps(record, ensure_ascii=False), alike, tuple(str(each)[:64] for each in accounts))


def _reaches(holdings: Holdings, tool: Tool, change: Change) -> bool:
    """Whether these holdings make an act on every account that the change names; one that names none is for whoever reaches
    every account, and one of configuration, which is no account's, for whoever configures."""
    level = opening(tool, holdings)
    if level is None or level == "admin":
        return level == "admin"
    carried = cut(holdings, level)
    reached = NO_ACCOUNTS
    for role in tool.roles:
        if role in carried:
            reached |= carried[role].write if level == "write" else carried[role].read
    accounts = change.arguments.accounts
    return all(account in reached for account in accounts) if accounts else reached.all


def _by_themselves(step: Step, caller: Caller) -> bool:
    """Whether the caller did it: the person on the pages, or this very client."""
    return (step.by.subject, step.by.delegation_id) == (caller.subject, caller.delegation_id)


def _gone(change: Change) -> Refusal:
    return Refusal(f"{change.id} is of {surface_name(change.instance, change.tool)}, which is not there now.", reason="gone")
