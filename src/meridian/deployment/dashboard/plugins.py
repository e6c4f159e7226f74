"""The plugins as whoever looks reaches them: which there are, what each offers, and what they hold there.

The plugins that run, and a person or their client, enter; typed answers leave, drawn as pages for a browser. A client is
told of no plugin that it does not reach. Nothing here changes anything: who holds what, people alone say.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from meridian.callers import LEVELS, Holdings, Level
from meridian.deployment import delegations
from meridian.deployment.dashboard.desk import desk_of, pages, row_named
from meridian.deployment.lending import accounts_of
from meridian.deployment.reaching import Hosted, held_on, opening
from meridian.errors import Problem, Refusal
from meridian.pages import Response
from meridian.pages.asking import Request
from meridian.plugins import surface_name
from meridian.records import field

__all__ = ["WhichPlugin"]

_CONNECT: Final = "Connect it anew, from the program itself."
_MAKE: Final = "Make it another token under Connected clients, and give the program that."


@dataclass(frozen=True)
class WhichPlugin:
    """One of the plugins that are reached."""

    instance: str = field(title="Plugin", description="Its instance, as list_plugins names it.", max_length=64)


@dataclass(frozen=True)
class Reached:
    """A plugin that is reached, and the levels at which: write before read before admin."""

    instance: str = field(description="Its instance, by which the other tools ask for it.")
    title: str = field(description="What people call it.")
    levels: list[str] = field(description="A role's levels, such as write on operations.")


@dataclass(frozen=True)
class Plugins:
    """The plugins that are reached, by instance."""

    plugins: list[Reached] = field(description="Each plugin that is reached.")


@dataclass(frozen=True)
class OfferedTool:
    """One tool that a client reaches."""

    name: str = field(description="Its name, as it is listed and called.")
    acts: bool = field(description="Whether a call may change something.")
    level: str = field(description="The level a call opens at.")
    description: str = field(default="", description="What it does, in its plugin's words.")


@dataclass(frozen=True)
class Summary:
    """A plugin, its roles, and the tools of it that are reached."""

    instance: str = field(description="Its instance, by which the other tools ask for it.")
    title: str = field(description="What people call it.")
    roles: list[str] = field(description="The roles that it has; none where it knows no parts.")
    tools: list[OfferedTool] = field(description="Its tools that are reached.")


@dataclass(frozen=True)
class HeldLevel:
    """A level that the person holds on a role, and the accounts it reaches."""

    role: str = field(description="The role; empty on a plugin without roles.")
    level: str = field(description="write, read or admin.")
    accounts: str = field(description="Which accounts, in words.")
    lent: bool = field(description="Whether it is reached here: by a client, what it was lent of what its person holds.")


@dataclass(frozen=True)
class PluginAccess:
    """What the person holds on a plugin."""

    instance: str = field(description="Its instance, by which the other tools ask for it.")
    held: list[HeldLevel] = field(description="Each level that is held, by role: write before read before admin.")


@dataclass(frozen=True)
class LentTo:
    """A client that may ask as the person now."""

    delegation_id: str = field(description="What the book names it by.")
    client: str = field(description="What the client is called: its own word, or its person's.")
    made_at: datetime = field(description="When it was last made.")
    expires_at: datetime = field(description="From when on it may ask no more.")
    last_used_at: datetime | None = field(description="When it last asked; nothing where it never did.")
    lent: list[str] = field(description="What it may reach, in words.")
    lapses_soon: bool = field(
        description="Whether it may soon ask no more: a week before, or sooner for a short one. Tell your person."
    )
    to_go_on: str = field(description="What its person does so that it may ask for longer.")
    this_client: bool = field(description="Whether it is the one that asks.")


@dataclass(frozen=True)
class Delegations:
    """The clients that may ask as the person now, the latest made first."""

    delegations: list[LentTo] = field(description="Each client that may ask.")


@pages.page("/plugins", levels=["read", "write"], title="Plugins", answers=Plugins, name="list_plugins")
def plugins(request: Request[Any]) -> Response:
    """List the plugins that you reach, and the levels you hold there."""
    found = [
        Reached(each.name, each.pages.name, [_spoken(level, role) for role, level in _levels(lent)])
        for each, _, lent in _reached(request)
    ]
    return pages.answer("plugins.html", Plugins(found), plugins=found)


@pages.route(
    "/plugins/summary", levels=["read", "write"], params=WhichPlugin, answers=Summary, name="read_plugin_summary", reads=True
)
def summary(request: Request[WhichPlugin]) -> Response:
    """Read what a plugin is: its roles, and the tools of it that are reached, with what each does."""
    hosted, _, lent = _one(request)
    tools = [
        OfferedTool(surface_name(hosted.name, each.name), not each.reads, level, each.description)
        for each in hosted.pages.tools
        if (level := opening(each, lent))
    ]
    found = Summary(hosted.name, hosted.pages.name, [role for role in hosted.roles if role], tools)
    return pages.answer("plugin-summary.html", found, found=found)


@pages.route(
    "/plugins/access", levels=["read", "write"], params=WhichPlugin, answers=PluginAccess, name="read_plugin_access", reads=True
)
def plugin_access(request: Request[WhichPlugin]) -> Response:
    """Read what your person holds on a plugin: each role's levels, the accounts, and what of that is reached here."""
    hosted, held, lent = _one(request)
    levels = [
        HeldLevel(role, level, accounts_of(held[role], level), role in lent and level in lent[role].levels)
        for role, level in _levels(held)
    ]
    found = PluginAccess(hosted.name, levels)
    return pages.answer("plugin-access.html", found, found=found, title=hosted.pages.name)


@pages.route("/delegations", levels=["read", "write"], answers=Delegations, name="list_my_delegations", reads=True)
def list_my_delegations(request: Request[Any]) -> Response:
    """List the clients that may ask as your person now: what each may reach, until when, and when it last asked."""
    desk = desk_of(request)
    now = desk.clock()
    found = [
        LentTo(
            delegation_id=each.id,
            client=each.client_name,
            lent=["everything, as that changes"]
            if each.covers.everything
            else [row_named(row, desk.hosted) for row in each.rows],
            made_at=each.made_at,
            expires_at=each.expires_at,
            last_used_at=each.last_used_at,
            lapses_soon=each.lapses_soon(now),
            to_go_on=_CONNECT if each.client else _MAKE,
            this_client=each.id == request.caller.delegation_id,
        )
        for each in delegations.held_by(desk.store, request.caller.subject)
        if each.stands(now)
    ]
    return pages.answer(None, Delegations(found))


def _reached(request: Request[Any]) -> Iterator[tuple[Hosted, Holdings, Holdings]]:
    """Each plugin that is reached, with what the person holds there and what of it they lent: all of it, to themselves."""
    desk, caller = desk_of(request), request.caller
    lent_by = delegations.find(desk.store, caller.delegation_id) if caller.delegation_id else None
    for name in sorted(desk.hosted):
        hosted = desk.hosted[name]
        held, _ = held_on(desk.store, caller.subject, hosted)
        lent = held if lent_by is None else delegations.narrowed(desk.store, lent_by, name, hosted.roles)
        if any(holding.levels for holding in lent.values()):
            yield hosted, held, lent


def _one(request: Request[WhichPlugin]) -> tuple[Hosted, Holdings, Holdings]:
    """The plugin that was asked for. Raises Refusal, in the same words for one that is not reached as for none."""
    asked = request.params.instance
    found = list(_reached(request))
    for each in found:
        if each[0].name == asked:
            return each
    there = ", ".join(hosted.name for hosted, _, _ in found) or "none"
    raise Refusal(
        f"You reach no plugin {asked!r}.",
        [Problem("instance", f"it is none that you reach; there is {there}")],
        reason="unknown",
    )


def _levels(holdings: Holdings) -> Iterator[tuple[str, Level]]:
    for role, holding in sorted(holdings.items()):
        for level in LEVELS:
            if level in holding.levels:
                yield role, level


def _spoken(level: Level, role: str) -> str:
    return f"{level} on {role}" if role else level
