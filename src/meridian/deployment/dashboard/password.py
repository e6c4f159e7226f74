"""A person's own password."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from meridian.deployment import identity
from meridian.deployment.dashboard.desk import desk_of, pages
from meridian.errors import Problem, Refusal
from meridian.pages import Response
from meridian.pages.asking import Request
from meridian.records import field

__all__ = ["NewPassword"]


@dataclass(frozen=True)
class NewPassword:
    """A password, typed twice."""

    password: str = field(title="New password", secret=True, description="10 to 256 characters.", max_length=1_000)
    again: str = field(title="The same once more", secret=True, max_length=1_000)


@pages.page("/password", levels="write", title="Your password")
def password(request: Request[Any]) -> Response:
    """Choose a password."""
    return pages.render("password.html", who=identity.person(desk_of(request).store, request.caller.subject))


@pages.route(
    "/password/set", levels="write", methods=["POST"], params=NewPassword, tool=False, why="a person's secret is theirs to type"
)
def set_password(request: Request[NewPassword]) -> Response:
    """Choose a password, and sign out wherever one is signed in."""
    asked = request.params
    if asked.password != asked.again:
        raise Refusal("The two are not the same.", [Problem("again", "type the new password once more, exactly as above")])
    identity.set_password(desk_of(request).store, request.caller.subject, asked.password)
    return pages.answer(None, None, location="/password")
