"""How a person signs in, and the way to choose a password: on a page outside any plugin, which asks for a fresh sign-in."""

from __future__ import annotations

from typing import Any

from meridian.deployment import identity
from meridian.deployment.dashboard.desk import desk_of, pages
from meridian.pages import Response
from meridian.pages.asking import Request

__all__ = ["password"]


@pages.page("/password", levels="write", title="Your password")
def password(request: Request[Any]) -> Response:
    """See how you sign in, and go on to choose a password."""
    return pages.render("password.html", who=identity.person(desk_of(request).store, request.caller.subject))
