"""The dashboard's Pages, what its views reach of the deployment, and what several of them say alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Generic, TypeVar, cast
from urllib.parse import urlencode

from meridian.deployment.lending import accounts_of, row_in, row_named, text_of
from meridian.deployment.preparing import Preparing
from meridian.deployment.reaching import Hosted
from meridian.deployment.settings import Settings
from meridian.deployment.store import Store
from meridian.pages import Pages
from meridian.pages.asking import Redraw, Request
from meridian.pages.showing import Link

__all__ = [
    "Desk",
    "Shelf",
    "accounts_of",
    "address",
    "again",
    "desk_of",
    "only_people",
    "origin_of",
    "pages",
    "row_in",
    "row_named",
    "shelved",
    "text_of",
]

T = TypeVar("T")

pages = Pages("Dashboard", templates="templates")

only_people: Final = "people alone say who may do what"
"""Why agents are not offered what shows or changes access."""

_ON_A_PAGE: Final = 100


@dataclass(frozen=True)
class Desk:
    """The deployment, as its own pages reach it: `request.plugin` of the dashboard.

    `hosted` are the plugins it runs, the dashboard not among them.
    """

    store: Store
    hosted: Mapping[str, Hosted]
    clock: Callable[[], datetime]
    settings: Settings
    preparing: Preparing


def desk_of(request: Request[Any]) -> Desk:
    """The deployment that the request reaches."""
    return cast("Desk", request.plugin)


def origin_of(request: Request[Any]) -> str:
    """Where the deployment is, as whoever asks reaches it: as its operator said, else as the browser says."""
    said = request.headers.get("origin") or f"http://{request.headers.get('host', 'localhost')}"
    return desk_of(request).settings.public_url.rstrip("/") or said


def address(path: str, **query: str) -> str:
    """The dashboard's own `path`, with `query` behind it: where a form leads once it was taken."""
    return f"{path}?{urlencode(query)}"


def again(request: Request[Any], *forms: str) -> Redraw | None:
    """What came of a form that the page draws by hand, one of those sent to `forms`; None where none of them is drawn again.
    The page says itself what was wrong."""
    redraw = request.redraw
    if redraw is None or redraw.path not in forms:
        return None
    redraw.drawn = True
    return redraw


@dataclass(frozen=True)
class Shelf(Generic[T]):
    """One page of a long list: what stands on it, how many there are in all, and plain links to the other pages."""

    each: Sequence[T]
    count: int
    links: tuple[Link, ...]


def shelved(found: Sequence[T], page: int, link: Callable[[int], str]) -> Shelf[T]:
    """Page `page`, counted from 1, of what was found; the last one where there are fewer."""
    last = max(1, -(-len(found) // _ON_A_PAGE))
    here = min(max(page, 1), last)
    links = tuple(Link(f"{each}", link(each), each == here) for each in range(1, last + 1)) if last > 1 else ()
    return Shelf(found[(here - 1) * _ON_A_PAGE : here * _ON_A_PAGE], len(found), links)
