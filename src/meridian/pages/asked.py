"""One request on its way through: what was let in, and what its answer needs to know.

`pages.serving` makes it and fills it; what draws a form again reads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from starlette.datastructures import Headers

from meridian.callers import Caller
from meridian.pages.asking import Prepared, Redraw
from meridian.pages.assertion import Claims
from meridian.pages.bodies import Body
from meridian.pages.declaring import Declaration
from meridian.records import Reading

__all__ = ["NOWHERE", "Asked"]

NOWHERE: Final = Declaration("route", "")


@dataclass
class Asked:
    """One request on its way through: what was let in, and what its answer needs to know."""

    claims: Claims
    headers: Headers
    root_path: str
    path: str
    method: str
    query: str
    declaration: Declaration
    body: Body
    reading: Reading[Any] | None = None
    led_here: Mapping[Any, str] | None = None
    """What came of the act that led the browser to this page."""
    prepared: Prepared | None = None
    """The prepared change that the page was opened from."""
    alone: bool = False
    """Whether the form of an act that stands on no page is asked for, to make a prepared change by it."""
    starts_from: Redraw | None = None
    """What the page's form starts from, of that."""

    @property
    def caller(self) -> Caller:
        """The caller, as this route meets them."""
        return self.claims.caller.on(self.declaration.roles)

    @property
    def declared(self) -> Declaration | None:
        """What is asked; None where nothing declared was found for it."""
        return None if self.declaration is NOWHERE else self.declaration

    @property
    def by_tool(self) -> bool:
        """Whether an agent's call of a tool is being answered."""
        return self.claims.caller.tool_name is not None

    @property
    def wants_json(self) -> bool:
        """Whether the answer is JSON: to a tool call, a JSON body, or whoever accepts JSON and no HTML."""
        if self.by_tool or self.body.kind == "json":
            return True
        accept = self.headers.get("accept", "")
        return "application/json" in accept and "text/html" not in accept
