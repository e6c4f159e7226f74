"""May this be asked at all: level, role, the tool's own route, and the form's token.

A declaration and the claims of the signed header enter; nothing leaves, or a `NotServed` with words for whoever asked. What
is in the record, and whether the account may be touched, is not asked here: the view and the operations door say that.
"""

from __future__ import annotations

from collections.abc import Iterable

from starlette.datastructures import Headers

from meridian.callers import Caller, Level
from meridian.pages.assertion import Claims, check_form_token
from meridian.pages.declaring import Declaration

__all__ = ["FORM_TOKEN_HEADER", "NotServed", "guard_caller", "guard_form", "guard_tool", "serves"]

FORM_TOKEN_HEADER = "Meridian-Form-Token"  # noqa: S105  the header's name, not a token


class NotServed(Exception):  # noqa: N818  a no, in words
    """A request that is not served; `detail` names what serves the path and what the caller holds."""

    def __init__(self, detail: str) -> None:
        self.detail = detail
        super().__init__(detail)


def serves(declaration: Declaration, caller: Caller) -> bool:
    """Whether `declaration` serves the caller's session: its level, held on one of its roles."""
    return caller.level in declaration.levels and any(
        caller.level_for(role) in declaration.levels for role in declaration.roles
    )


def guard_caller(declaration: Declaration, caller: Caller) -> None:
    """Let the caller through to `declaration`. Raises NotServed, naming levels and roles on both sides."""
    if not serves(declaration, caller):
        raise NotServed(f"{declaration} serves {words_of(declaration)}; {_held(caller)}.")


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


def words_of(declaration: Declaration) -> str:
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
