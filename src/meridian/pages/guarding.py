"""May this be asked at all: level, role, the tool's own route, and the form's token.

A declaration and the claims of the signed header enter; nothing leaves, or a `NotServed` with words for whoever asked. What
is in the record, and whether the account may be touched, is not asked here: the view and the operations door say that.
"""

from __future__ import annotations

from collections.abc import Iterable

from starlette.datastructures import Headers

from meridian.callers import LEVELS, Caller, Holdings, Level, cut
from meridian.pages.assertion import Claims, check_form_token
from meridian.pages.declaring import Declaration
from meridian.pages.tools import Tool

__all__ = [
    "FORM_TOKEN_HEADER",
    "NotServed",
    "guard_caller",
    "guard_form",
    "guard_tool",
    "not_reached",
    "opening",
    "serves",
    "words_of",
    "words_of_holdings",
]

FORM_TOKEN_HEADER = "Meridian-Form-Token"  # noqa: S105  the header's name, not a token


class NotServed(Exception):
    """A request that is not served; `detail` names what serves the path and what the caller holds. `declaration` is what was
    asked for, where the level or the role is why."""

    def __init__(self, detail: str, declaration: Declaration | None = None) -> None:
        self.detail = detail
        self.declaration = declaration
        super().__init__(detail)


def serves(declaration: Declaration, caller: Caller) -> bool:
    """Whether `declaration` serves the caller's session: its level, held on one of its roles."""
    levels = declaration.levels
    if caller.level in levels:
        for role in declaration.roles:
            if caller.level_for(role) in levels:
                return True
    return False


def guard_caller(declaration: Declaration, caller: Caller) -> None:
    """Let the caller through to `declaration`. Raises NotServed, naming levels and roles on both sides."""
    if not serves(declaration, caller):
        raise NotServed(f"{declaration} serves {words_of(declaration)}; {_held(caller)}.", declaration)


def guard_tool(declarations: Iterable[Declaration], claims: Claims, method: str) -> Declaration:
    """The declaration that the claimed tool names, among those at the path. Raises NotServed where it is none of them."""
    for each in declarations:
        if each.offered and each.name == claims.caller.tool_name and each.method == method:
            return each
    raise NotServed(f"The call is claimed for the tool {claims.caller.tool_name}, which is not served here.")


def guard_form(claims: Claims, headers: Headers, token: str, instance_key: bytes) -> None:
    """Let a change from a browser through: it carries the token of its person, plugin and level, and came from a page of
    this site. Raises NotServed."""
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise NotServed("The form was sent from another site. Open the page here and send it again.")
    caller = claims.caller
    if not check_form_token(token, instance_key, caller.subject, claims.instance, caller.level):
        raise NotServed("The form's token is missing or is not yours. Open the page again and send the form from there.")


def opening(tool: Tool, holdings: Holdings) -> Level | None:
    """The level a call of `tool` opens at: the highest that it serves and that is held on one of its roles, write before read
    before admin; None where there is none."""
    for level in LEVELS:
        if level in tool.levels:
            carried = cut(holdings, level)
            if any(role in carried and level in carried[role].levels for role in tool.roles):
                return level
    return None


def not_reached(name: str, tool: Tool, holdings: Holdings) -> str:
    """Why the tool that the surface names `name` is not served to someone of `holdings`: the roles it serves, and what they
    hold on each."""
    return f"{name} serves {words_of(tool)}; you hold {words_of_holdings(holdings)}."


def words_of_holdings(holdings: Holdings) -> str:
    """What is held on each role, in words: `write on operations, admin on custody`; `nothing here` where nothing is."""
    said = [
        _on(level, role)
        for role, held in sorted(holdings.items())
        for level in LEVELS
        if level in held.levels and not (level == "read" and "write" in held.levels)
    ]
    return ", ".join(said) or "nothing here"


def words_of(declaration: Declaration | Tool) -> str:
    """The levels and roles that a declaration serves, in words: `write on operations or custody`."""
    levels = " or ".join(declaration.levels)
    roles = " or ".join(role for role in declaration.roles if role)
    return f"{levels} on {roles}" if roles else levels


def _held(caller: Caller) -> str:
    held = [(role, level) for role in sorted(caller.holdings) if (level := caller.level_for(role))]
    said = ", ".join(_on(level, role) for role, level in held) or "nothing here"
    return f"you are in a session at {caller.level}, which carries {said}"


def _on(level: Level, role: str) -> str:
    return f"{level} on {role}" if role else level
