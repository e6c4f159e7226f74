"""What a person reaches of an instance: what they hold there, the level a call opens at, and the same in words.

Holdings and a tool, or a page, enter; a level leaves, or an address, or a sentence. Gateway, surface, home page and consent
all ask here, so that what is listed, what is called and what is said never differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from starlette.types import ASGIApp

from meridian.callers import LEVELS, Holding, Holdings, Level, cut
from meridian.deployment import access
from meridian.deployment.store import Store
from meridian.pages import Pages
from meridian.pages.tools import Tool

__all__ = ["BUTTONS", "BUTTON_OF", "DASHBOARD", "Hosted", "first_page", "held_on", "opening", "words_of"]

BUTTONS: Final[Mapping[str, Level]] = {"view": "read", "open": "write", "manage": "admin"}
"""The last part of an instance's address: the button a person pressed, and the level it opens a session at."""
BUTTON_OF: Final[Mapping[Level, str]] = {level: button for button, level in BUTTONS.items()}

DASHBOARD: Final = "dashboard"
"""The instance of the deployment's own pages: everyone who is signed in holds read and write on it, an admin admin."""


@dataclass(frozen=True)
class Hosted:
    """One instance as the deployment serves it: its pages, as an application, under its own key."""

    name: str
    pages: Pages
    app: ASGIApp
    key: bytes

    @property
    def roles(self) -> tuple[str, ...]:
        """Its roles; the one without a name where it declares none."""
        return self.pages.roles or ("",)


def opening(tool: Tool, holdings: Holdings) -> Level | None:
    """The level a call of `tool` opens at: the highest that it serves and that is held on one of its roles, write before read
    before admin; None where there is none."""
    for level in LEVELS:
        if level in tool.levels:
            carried = cut(holdings, level)
            if any(role in carried and level in carried[role].levels for role in tool.roles):
                return level
    return None


def first_page(pages: Pages, level: Level, holdings: Holdings) -> str | None:
    """The path of the page that a session at `level` begins on: `/` where that is served, else the first that is; None where
    none is."""
    carried = cut(holdings, level)
    served = [
        each.path
        for each in pages.declared
        if each.kind == "page"
        and level in each.levels
        and any(role in carried and level in carried[role].levels for role in each.roles)
    ]
    return "/" if "/" in served else next(iter(served), None)


def held_on(store: Store, subject: str, hosted: Hosted) -> tuple[Holdings, bool]:
    """What the person holds on an instance, and whether they are a deployment admin."""
    admin = access.is_deployment_admin(store, subject)
    if hosted.name == DASHBOARD:
        own: frozenset[Level] = frozenset({"read", "write", "admin"} if admin else {"read", "write"})
        return {"": Holding(own)}, admin
    return access.holdings(store, subject, hosted.name, hosted.roles), admin


def words_of(holdings: Holdings, named: Mapping[Level, str] | None = None) -> str:
    """What is held, in words: `write on operations and read on custody`; `nothing` where nothing is. `named` are other words
    for the levels."""
    names: Mapping[Level, str] = named or {level: level for level in LEVELS}
    said = []
    for role, holding in sorted(holdings.items()):
        levels = " and ".join(names[level] for level in LEVELS if level in holding.levels and not _implied(level, holding))
        if levels:
            said.append(f"{levels} on {role}" if role else levels)
    return ", ".join(said) or "nothing"


def _implied(level: Level, holding: Holding) -> bool:
    return level == "read" and "write" in holding.levels
