"""What a client's token stands for at this moment: whose it is, what was lent, and how far that reaches on each plugin.

A token enters with each request; a `Lent` leaves, or None. What was worked out is kept in memory under the store's revision,
which is looked at before anything kept is used: so a change of access, a revocation and a person's leaving hold at the next
call, whichever process they came through. Expiry is looked at each time. The call itself is opened only where the revision
is still the one it was worked out under (`calls`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from meridian.callers import Caller, Holding, Holdings, Level, cut
from meridian.deployment import access, delegations, identity
from meridian.deployment.allowing import ALLOWS, Allows, limits_in, second_pair_in
from meridian.deployment.delegations import Delegation
from meridian.deployment.fingerprints import fingerprint
from meridian.deployment.identity import Person
from meridian.deployment.reaching import DASHBOARD, Hosted, held_on, opening
from meridian.deployment.store import Store
from meridian.pages.tools import Tool

__all__ = ["Lent", "Presented", "Reach", "Standing"]

MOST_KEPT: Final = 200_000
"""How much is kept at most, counted in accounts, with some for each client and each plugin; past it, all is worked out anew."""
_FOR_EACH: Final = 50

_TO_LOOK: Final[Holdings] = {"": Holding(frozenset({"read"}))}
"""What a client that reaches anything reaches on the dashboard: what tells of its person's plugins, access and clients."""

_NOTED_ANEW_AFTER: Final = timedelta(minutes=1)


@dataclass(frozen=True)
class Presented:
    """A token, and the address it was presented at; None over standard input and output, where there is none.

    `steps_up` is why a call of this request waits for consent that its client can ask for; empty where none does.
    """

    token: str
    resource: str | None = None
    steps_up: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Reach:
    """What the person holds on an instance, and what of it they lent: in all, to prepare its acts, and to make them.

    `limits` are how far clients may go with an act at all, where somebody says so, and `second_pair` the acts that the person
    prepares, for somebody else to make.
    """

    held: Holdings
    lent: Holdings
    to_prepare: Holdings
    to_make: Holdings
    limits: Mapping[str, Allows] = field(default_factory=dict)
    second_pair: frozenset[str] = frozenset()
    _openings: dict[str, tuple[Level | None, Holdings]] = field(default_factory=dict)

    def opening(self, tool: Tool) -> tuple[Level | None, Holdings]:
        """The level a call of `tool` opens at, and what it then carries; None, and nothing, where it is not served, or is an
        act that the client may not make."""
        known = self._openings.get(tool.name)
        if known is None:
            lent = self.lent if tool.reads else self.to_make
            level = opening(tool, lent) if self.goes(tool) == "make" else None
            known = self._openings[tool.name] = (level, {} if level is None else cut(lent, level))
        return known

    def goes(self, tool: Tool) -> Allows | None:
        """How far the client may go with the tool; None where it does not reach it."""
        if opening(tool, self.lent) is None:
            return None
        limit = self.limits.get(tool.name, "make")
        if tool.reads:
            return "make"
        if limit == "make" and tool.name not in self.second_pair and opening(tool, self.to_make) is not None:
            return "make"
        may = limit != "may_not" and tool.checked_by is not None and opening(tool, self.to_prepare) is not None
        return "prepare" if may else "may_not"


@dataclass
class Lent:
    """Who a token speaks for: the person, as they are under `revision`, and what they lent."""

    person: Person
    delegation: Delegation
    deployment_admin: bool
    revision: int
    reached: dict[str, Reach] = field(default_factory=dict)
    listed: tuple[str, ...] | None = None
    """The names of the tools that the client is listed, once they were worked out."""
    callers: dict[str, Caller] = field(default_factory=dict)
    """Who asks by each of the tools that were called, by its name on the surface: the person, at the level that it opens at."""

    def __post_init__(self) -> None:
        self._used_at = self.delegation.last_used_at
        self._refused_at = self.delegation.last_refused_at

    def is_to_be_noted(self, *, refused: bool, now: datetime) -> bool:
        """Whether it is to be written down that the client asked: not within a minute of the last time."""
        last = self._refused_at if refused else self._used_at
        if last is not None and now < last + _NOTED_ANEW_AFTER:
            return False
        self._used_at = now
        if refused:
            self._refused_at = now
        return True


class Standing:
    """What the tokens of a deployment stand for. `hosted` are its instances by name; `clock` tells the time."""

    def __init__(self, store: Store, hosted: Mapping[str, Hosted], clock: Callable[[], datetime]) -> None:
        self._store = store
        self._hosted = hosted
        self._clock = clock
        self._kept: dict[tuple[str, str | None], Lent] = {}
        self._weight = 0
        self._revision = 0

    async def of(self, presented: Presented) -> Lent | None:
        """Who the token speaks for where it was presented; None where it stands there no longer, or never did."""
        revision = await self._store.revision()
        if revision != self._revision:
            self._forget()
            self._revision = revision
        key, now = (fingerprint(presented.token), presented.resource), self._clock()
        kept = self._kept.get(key)
        if kept is not None:
            return kept if kept.delegation.stands(now) else None
        found = await self._store.run(_speaks_for, presented, now, revision)
        if found is not None and revision == self._revision:
            self._keep(_FOR_EACH)
            self._kept[key] = found
        return found

    async def reach(self, lent: Lent, hosted: Hosted) -> Reach:
        """What `lent` reaches on an instance."""
        known = lent.reached.get(hosted.name)
        if known is None:
            known = lent.reached[hosted.name] = await self._store.run(_reach, lent, hosted, self._hosted)
            self._keep(_FOR_EACH + _accounts_in(known.held) + _accounts_in(known.lent))
        return known

    def _keep(self, weight: int) -> None:
        if self._weight + weight > MOST_KEPT:
            self._forget()
        self._weight += weight

    def _forget(self) -> None:
        self._kept.clear()
        self._weight = 0


def _speaks_for(store: Store, presented: Presented, now: datetime, revision: int) -> Lent | None:
    delegation = delegations.by_token(store, presented.token, resource=presented.resource, now=now)
    if delegation is None:
        return None
    person = identity.person(store, delegation.subject)
    if person is None:
        return None
    return Lent(person, delegation, access.is_deployment_admin(store, person.subject), revision)


def _reach(store: Store, lent: Lent, hosted: Hosted, every: Mapping[str, Hosted]) -> Reach:
    held, _ = held_on(store, lent.person.subject, hosted)
    if hosted.name != DASHBOARD:
        all_, to_prepare, to_make = (
            delegations.narrowed(store, lent.delegation, hosted.name, hosted.roles, going=going) for going in reversed(ALLOWS)
        )
        with store.read() as connection:
            limits = {tool: said for (name, tool), said in limits_in(connection).items() if name == hosted.name}
            second_pair = frozenset(second_pair_in(connection, hosted.name, lent.person.subject))
        return Reach(held, all_, to_prepare, to_make, limits, second_pair)
    plugins = (each for name, each in every.items() if name != DASHBOARD)
    anything = any(delegations.narrowed(store, lent.delegation, each.name, each.roles) for each in plugins)
    reached: Holdings = _TO_LOOK if anything else {}
    return Reach(held, reached, reached, reached)


def _accounts_in(holdings: Holdings) -> int:
    return sum(len(held.read.ids) + len(held.write.ids) for held in holdings.values())
