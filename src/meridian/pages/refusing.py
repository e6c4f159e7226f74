"""A no, as a person reads it: what it is headed with, why, by what rule, and where to go on.

The exact no that a program gets (its reason, its detail with levels and roles) enters, with who asked and what; words and
plain links leave. Only what this session knows is said: it is not told what else the person holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from meridian.callers import LEVELS, Caller
from meridian.errors import Problem
from meridian.pages.declaring import Declaration, Pages
from meridian.pages.guarding import serves
from meridian.pages.rendering import LEVEL_NAMES
from meridian.pages.showing import humanised

__all__ = ["Told", "tell"]

_LEVELS_RULE: Final = (
    "Each page names the buttons and the roles it is for: View to look, Open to record, Manage to set the plugin up. Manage "
    "reaches no account. A deployment admin says who holds which, under Access."
)
_ACCOUNTS_RULE: Final = (
    "Everyone reaches the accounts that they hold by a role of this plugin, and of another account not even whether it is "
    "there. A deployment admin says who holds what, under Access."
)
_RULES: Final = {
    "not_admitted": _ACCOUNTS_RULE,
    "unknown_account": _ACCOUNTS_RULE,
    "method_not_allowed": "What changes something is sent by its form, so that following a link changes nothing.",
}


@dataclass(frozen=True)
class Told:
    """What a page of a no says. `cells` are the problems, each with what its cell is called; `next` are plain links, text and
    address, to what may be done instead."""

    heading: str
    detail: str
    rule: str = ""
    cells: Sequence[tuple[str, Problem]] = ()
    next: Sequence[tuple[str, str]] = ()


def tell(
    pages: Pages, declaration: Declaration | None, caller: Caller, *, status_code: int, reason: str, detail: str, method: str,
    root_path: str, problems: Sequence[Problem] = (),
) -> Told:  # fmt: skip
    """The no in a person's words. `declaration` is what was asked, None where nothing is there; `root_path` is the plugin's
    address under the session's button, like `/operations/open`."""
    elsewhere: list[tuple[str, str]] = []
    rule = _RULES.get(reason, "")
    if reason == "not_served" and declaration is not None and not serves(declaration, caller):
        heading = "That is not yours to open"
        rule, detail = _LEVELS_RULE, _not_served(declaration, caller)
        elsewhere = _other_buttons(pages, declaration, caller, root_path)
    elif status_code == HTTPStatus.FORBIDDEN:
        heading = "That form was not taken"
    elif status_code == HTTPStatus.NOT_FOUND:
        heading = "There is nothing here"
    elif status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        heading = "Nothing is shown here"
        detail = "This address takes what a form sends, and shows nothing by itself. Open the page and send its form."
    elif status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
        heading = f"{pages.name} failed"
    elif status_code != HTTPStatus.UNPROCESSABLE_ENTITY:
        heading = "That was not taken"
    elif method in ("GET", "HEAD"):
        heading = "That cannot be shown"
        if reason == "not_admitted" and problems:
            detail = "It is about an account that you do not reach here."
    else:
        heading = "Nothing was changed" if declaration is not None and not declaration.reads else "That was not taken"
    cells = [(humanised(each.path) if each.path.isidentifier() else each.path, each) for each in problems]
    return Told(heading, detail, rule, cells, (*elsewhere, *_own_pages(pages, declaration, caller, root_path)))


def _not_served(declaration: Declaration, caller: Caller) -> str:
    what = "This page is" if "GET" in declaration.methods else "This form is"
    roles = [role for role in declaration.roles if role]
    on = f" on {' or '.join(roles)}" if roles else ""
    here = LEVEL_NAMES[caller.level]
    held = [role for role in sorted(caller.holdings) if role and caller.level in caller.holdings[role].levels]
    if caller.level in declaration.levels and held:
        here += f" on {' and '.join(held)}"
    return f"{what} for {_buttons(declaration)}{on}; you are in {here}."


def _buttons(declaration: Declaration) -> str:
    return " or ".join(LEVEL_NAMES[level] for level in sorted(declaration.levels, key=list(LEVEL_NAMES).index))


def _other_buttons(pages: Pages, declaration: Declaration, caller: Caller, root_path: str) -> list[tuple[str, str]]:
    """A link to the same page by each other button that serves it. Only of View is it known that somebody in Open holds it."""
    instance, _, button = root_path.rpartition("/")
    page = declaration if declaration.kind == "page" else pages.page_of(declaration)
    if page is None or button != LEVEL_NAMES[caller.level].lower():
        return []
    links = []
    for level in LEVELS:
        if level == caller.level or level not in page.levels:
            continue
        known = level == "read" and any(role in page.roles and "read" in held.levels for role, held in caller.holdings.items())
        name = LEVEL_NAMES[level]
        links.append((f"{page.title}, by {name}{'' if known else ', if you hold it'}", f"{instance}/{name.lower()}{page.path}"))
    return links


def _own_pages(pages: Pages, declaration: Declaration | None, caller: Caller, root_path: str) -> list[tuple[str, str]]:
    """The page that was asked, or that the form stands on, and the plugin's first one, as far as this session reaches them."""
    reached = [each for each in pages.declared if each.kind == "page" and serves(each, caller)]
    asked = None if declaration is None else declaration if declaration.kind == "page" else pages.page_of(declaration)
    first = next((each for each in reached if each.path == "/"), next(iter(reached), None))
    found = [each for each in (asked, first if first is not asked else None) if each is not None and each in reached]
    return [(f"{each.title}, in {LEVEL_NAMES[caller.level]}", root_path + each.path) for each in found]
