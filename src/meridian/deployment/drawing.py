"""The deployment's own pages outside any plugin, drawn by the kit: sign-in, home, and pages of a few words.

A template's name and its values enter; a response leaves, with the headers every page of the deployment carries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from meridian.deployment.confining import policies
from meridian.deployment.dashboard import pages as dashboard
from meridian.deployment.gateway import KIT_URL
from meridian.errors import Problem
from meridian.pages.drawing import draw_form
from meridian.pages.rendering import Kit, Surroundings
from meridian.records import Shape

__all__ = ["Drawing", "origin_of"]

BRAND: Final = ("Meridian", "/")
SIGN_OUT: Final = ("/sign-out", "")
"""Where a page leads that has no token for the form which ends a session: there it is asked for by a button."""


def origin_of(request: Request) -> str:
    """The deployment's origin, as the browser that asks knows it."""
    return str(request.base_url).rstrip("/")


class Drawing:
    """Draws the deployment's own pages, with the kit's templates and the dashboard's."""

    def __init__(self) -> None:
        self._kit = Kit(dashboard, Surroundings(kit_url=KIT_URL, brand=BRAND))

    def page(
        self,
        request: Request,
        template: str,
        *,
        title: str,
        status_code: int = 200,
        person: str | None = None,
        sign_out: tuple[str, str] | None = None,
        error: bool = False,
        leads_to: str = "",
        **context: Any,
    ) -> Response:
        """The page of a template. `sign_out` is the address and the token of the form that ends a session; `leads_to` is where
        else its forms may lead, as a policy says it."""
        values: Mapping[str, Any] = {
            "page": title,
            "plugin": None,
            "tabs": (),
            "brand": BRAND,
            "person": person,
            "level_name": None,
            "kit_url": KIT_URL,
            "sign_out": sign_out,
            "ld_json": None,
            "error_prefix": error,
            "redraw": None,
            **context,
        }
        html = self._kit.environment.get_template(template).render(values)
        response = Response(html.encode("utf-8", "replace"), status_code, media_type="text/html")
        response.raw_headers.extend(policies(origin=origin_of(request), prefix="/", kit_url=KIT_URL, onward=leads_to))
        return response

    def words(
        self,
        request: Request,
        status_code: int,
        title: str,
        *paragraphs: str,
        person: str | None = None,
        rule: str = "",
        onward: Sequence[tuple[str, str]] = (),
    ) -> Response:
        """A page of a few words: what was refused, by what rule, and where to go on. `person` is who is signed in, if known."""
        return self.page(
            request,
            "words.html",
            title=title,
            status_code=status_code,
            person=person,
            sign_out=SIGN_OUT if person else None,
            error=status_code >= 400,
            paragraphs=paragraphs,
            rule=rule,
            onward=onward,
        )

    def form(
        self,
        shape: Shape[Any] | None,
        *,
        action: str,
        submit: str,
        token: str,
        pairs: Sequence[tuple[str, str]] | None = None,
        problems: Sequence[Problem] = (),
        detail: str = "",
        hidden: Sequence[tuple[str, str]] = (),
    ) -> Markup:
        """The form of a record, as the kit draws it."""
        drawn = draw_form(
            shape,
            action=action,
            submit=submit,
            pairs=pairs,
            problems=problems,
            detail=detail,
            hidden=[("csrf", token), *hidden],
        )
        module: Any = self._kit.environment.get_template("meridian/form.html").module
        return Markup(module.draw(drawn))  # noqa: S704  the kit's own macro, escaped there
