"""A plugin in the versions it comes to have: each is made of what is said of its tools, and each tool tells who called it."""

from collections.abc import Mapping
from dataclasses import dataclass

import meridian
from meridian.callers import Accounts, Level
from meridian.plugins import Loaded

ROLES = ("operations", "custody")
EVERY = "every account"


@dataclass(frozen=True)
class Does:
    """What a tool does, and for whom."""

    reads: bool
    levels: tuple[Level, ...]
    roles: tuple[str, ...] = ("operations",)


@dataclass(frozen=True)
class Nothing:
    """Nothing is asked."""


@dataclass(frozen=True)
class Met:
    """The caller, as the tool met them."""

    level: Level
    read: list[str]
    write: list[str]


def version(instance: str, tools: Mapping[str, Does]) -> Loaded:
    """The plugin under that name, with those tools."""
    pages = meridian.Pages(instance.capitalize(), roles=ROLES)

    def view(request: meridian.Request[Nothing]) -> meridian.Response:
        """Tell who called."""
        caller = request.caller
        return pages.answer(None, Met(caller.level, named(caller.read), named(caller.write)), outcome="unchanged")

    for name, does in tools.items():
        register = pages.route(
            f"/{name}",
            name=name,
            methods=["POST"],
            levels=does.levels,
            roles=does.roles,
            reads=does.reads,
            params=Nothing,
            answers=Met,
        )
        register(view)
    return Loaded(instance, pages, instance, instance)


def named(accounts: Accounts) -> list[str]:
    """The accounts by their ids, or the one word for all of them."""
    return [EVERY] if accounts.all else list(accounts)
