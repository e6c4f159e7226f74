"""A whole deployment, put together: the one module that knows every room.

The plugins that were loaded and the settings enter; a `Deployment` leaves: its store, its ASGI application for people and
agents, and its surface over stdio. Nothing is decided here but which part is handed to which.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

import meridian.pages
from meridian.callers import Caller, Holdings, Level
from meridian.deployment import access, calls, dashboard, delegations, instances, repeats
from meridian.deployment.book import StoredBook
from meridian.deployment.calls import CallLimits, StoredCalls
from meridian.deployment.dashboard import Desk
from meridian.deployment.delegations import Delegation
from meridian.deployment.door import OperationsDoor
from meridian.deployment.drawing import BRAND, SIGN_OUT, Drawing
from meridian.deployment.gateway import KIT_URL, Gateway, Refused
from meridian.deployment.instances import Instance
from meridian.deployment.keys import deployment_key, instance_key, token_key
from meridian.deployment.oauth import tokens
from meridian.deployment.oauth.clients import Fetch
from meridian.deployment.oauth.consenting import Consenting
from meridian.deployment.oauth.endpoints import Endpoints
from meridian.deployment.oauth.fetching import Fetching
from meridian.deployment.preparing import Preparing, StoredChanges
from meridian.deployment.reaching import BUTTON_OF, DASHBOARD, Hosted, first_page, held_on
from meridian.deployment.repeats import Repeats
from meridian.deployment.settings import Settings
from meridian.deployment.signing_in import COOKIE_NAMES, SigningIn
from meridian.deployment.store import Store
from meridian.deployment.surface import Surface
from meridian.errors import DeploymentError
from meridian.pages import Plugin
from meridian.pages.rendering import Surroundings
from meridian.pages.serving import Served
from meridian.plugins import Loaded
from meridian.records import read_value

if TYPE_CHECKING:
    from meridian.deployment.oidc import Provider

__all__ = ["Deployment", "utc_now"]

log = logging.getLogger(__name__)

KIT_FOLDER = Path(meridian.pages.__file__).parent / "static"


def utc_now() -> datetime:
    """This moment, aware, in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True)
class _Button:
    """One button of the home page: its word, and where it leads."""

    word: str
    address: str


class Deployment:
    """A deployment of `loaded`, which runs while `running` is entered or its `app` is served.

    `fetch` reads the documents that describe clients; left out, from the public internet alone. What no longer matters is
    forgotten at the start, and `tidied_every` so long. Raises DeploymentError for a
    store that does not open, a name that no instance may have, or settings that do not read.
    """

    def __init__(
        self,
        loaded: Sequence[Loaded],
        settings: Settings,
        *,
        clock: Callable[[], datetime] = utc_now,
        fetch: Fetch | None = None,
        tidied_every: timedelta = timedelta(hours=1),
    ) -> None:
        self.settings = settings
        self.store = Store(settings.database_url)
        self._clock = clock
        self._fetch = fetch or Fetching()
        self._tidied_every = tidied_every
        try:
            self._put_together(loaded)
        except BaseException:
            self.store.close()
            raise

    def _put_together(self, loaded: Sequence[Loaded]) -> None:
        """Make each room of its parts, and hand them to each other."""
        settings, clock = self.settings, self._clock
        self.instances: tuple[Instance, ...] = ()
        now = clock()
        key = deployment_key(self.store, now=now)
        kept_calls = StoredCalls(self.store, CallLimits(settings.calls_at_once, settings.calls_per_minute))
        door = OperationsDoor(StoredBook(self.store), kept_calls, StoredChanges(self.store), key, clock)
        surroundings = Surroundings(kit_url=KIT_URL, brand=BRAND, sign_out=SIGN_OUT, prepares=True)
        self._served: list[Served] = []
        hosted: dict[str, Hosted] = {}

        def host(name: str, pages: meridian.Pages, plugin: object) -> None:
            own = instance_key(self.store, name, now=now)
            served = Served(
                pages, instance=name, key=own, plugin=plugin, surroundings=surroundings, clock=lambda: clock().timestamp()
            )
            self._served.append(served)
            hosted[name] = Hosted(name, pages, served, own)

        for each in loaded:
            instance = instances.configure(
                self.store, each.name, target=each.lasting, title=each.pages.name, roles=each.pages.roles, now=now
            )
            self.instances += (instance,)
            host(each.name, each.pages, Plugin(each.name, door, _settings_of(each, instance), settings.storage_url(each.name)))
        self._preparing = preparing = Preparing(self.store, dict(hosted), clock)
        self._desk = Desk(self.store, dict(hosted), clock, settings, preparing)
        host(DASHBOARD, dashboard.pages, self._desk)
        self._drawing = Drawing()
        self._signing_in = SigningIn(
            self.store, self._drawing, settings=settings, form_key=key, clock=clock, provider=_provider(settings, key, clock)
        )
        self._endpoints = Endpoints(
            self.store, key=token_key(self.store, now=now), documents=settings.fetches_documents, clock=clock
        )
        self._consenting = Consenting(
            self.store,
            self._desk.hosted,
            drawing=self._drawing,
            signing_in=self._signing_in,
            fetch=self._fetch if settings.fetches_documents else None,
            clock=clock,
        )
        self.gateway = Gateway(
            self.store,
            kept_calls,
            hosted,
            settings=settings,
            deployment_key=key,
            clock=clock,
            who=self._signing_in.who,
            words=self._signing_in.words,
            preparing=preparing,
        )
        preparing.ask = self.gateway.only
        self.surface = Surface(
            self.store,
            self.gateway,
            calls=kept_calls,
            repeats=Repeats(self.store, clock, settings.call_lasts, at_once=settings.calls_at_once),
            clock=clock,
            cookie_names=COOKIE_NAMES,
            max_body_bytes=settings.max_body_bytes,
        )
        application = self._application()

        async def front(scope: Scope, receive: Receive, send: Send) -> None:
            """An agent's request goes to the surface by itself: it needs nothing of what is put around a person's."""
            if scope["type"] == "http" and _is_said_twice(scope):
                await _SAID_TWICE(scope, receive, send)
                return
            asked = self.surface if scope["type"] == "http" and scope["path"] == "/mcp" else application
            await asked(scope, receive, send)

        self.app: ASGIApp = _Public(front, settings.public_url) if settings.public_url else front

    @asynccontextmanager
    async def running(self, *, over_http: bool = True) -> AsyncIterator[None]:
        """Around all the time that the deployment runs: what its plugins start is started, and stopped again."""
        await self.store.run(_tidy, now=self._clock())
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._tidied())
            for served in self._served:
                await stack.enter_async_context(served.running())
            if over_http:
                await stack.enter_async_context(self.surface.running())
            yield
        self.store.close()

    @asynccontextmanager
    async def _tidied(self) -> AsyncIterator[None]:
        """Around the time in which what no longer matters is forgotten now and then."""

        async def now_and_then() -> None:
            while True:
                await asyncio.sleep(self._tidied_every.total_seconds())
                try:
                    await self.store.run(_tidy, now=self._clock())
                except Exception:
                    log.exception("what no longer matters was not forgotten; it is tried again later")

        tidying = asyncio.create_task(now_and_then())
        try:
            yield
        finally:
            tidying.cancel()
            with suppress(asyncio.CancelledError):
                await tidying

    def _application(self) -> Starlette:
        @asynccontextmanager
        async def lifespan(_: Starlette) -> AsyncIterator[None]:
            async with self.running():
                yield

        async def refuse(request: Request, no: Exception) -> Response:
            if isinstance(no, Refused):
                return await self._signing_in.words(
                    request, no.status_code, no.title, no.detail, rule=no.rule, onward=no.onward
                )
            if isinstance(no, HTTPException):
                title, said = _WORDS.get(no.status_code, ("That is not served", no.detail))
                response = await self._signing_in.words(request, no.status_code, title, said)
                response.headers.update(no.headers or {})
                return response
            return self._drawing.words(request, 500, "The deployment failed", "It was written to the log. Try again.")

        return Starlette(
            routes=[
                Route("/", self._home),
                *self._signing_in.routes(),
                *self._endpoints.routes(),
                *self._consenting.routes(),
                Route("/favicon.ico", _no_icon),
                Mount(KIT_URL, _Kit(directory=KIT_FOLDER, check_dir=False)),
                Route("/mcp", self.surface),
                Mount("/", self.gateway),
            ],
            lifespan=lifespan,
            exception_handlers={Refused: refuse, HTTPException: refuse, Exception: refuse},
        )

    async def _home(self, request: Request) -> Response:
        """The plugins of whoever is signed in, with a button for each level they hold and find something at."""
        person = await self._signing_in.who(request)
        if person is None:
            return Response(status_code=303, headers={"location": "/sign-in", "cache-control": "no-store"})

        def look(store: Store) -> tuple[list[tuple[str, str, list[_Button]]], bool, list[Delegation]]:
            now = self._clock()
            soon = [each for each in delegations.held_by(store, person.subject) if each.lapses_soon(now)]
            rows = []
            for name, hosted in sorted(self.gateway.hosted.items()):
                if name != DASHBOARD and (buttons := _buttons(hosted, held_on(store, person.subject, hosted)[0])):
                    rows.append((hosted.pages.name, name, buttons))
            return rows, access.is_deployment_admin(store, person.subject), soon

        rows, admin, soon = await self.store.run(look)
        seen = await self._preparing.listed(Caller(person.subject, person.display_name, "read"), waiting=True)
        nonce, token = self._signing_in.token_for(request)
        page = self._drawing.page(
            request,
            "home.html",
            title="Plugins",
            person=person.display_name,
            sign_out=(SIGN_OUT[0], token),
            plugins=rows,
            only_manage=bool(rows) and all(button.word == "Manage" for _, _, buttons in rows for button in buttons),
            admin=admin,
            soon=soon,
            to_make=sum(each.may_make for each in seen),
        )
        return self._signing_in.keep(request, page, nonce)


def _tidy(store: Store, *, now: datetime) -> None:
    """Forget what no longer matters. A sibling process may do the same meanwhile."""
    for each in (calls, repeats, tokens):
        each.prune(store, now=now)


def _buttons(hosted: Hosted, holdings: Holdings) -> list[_Button]:
    """A button for each level that is held and that some page serves, from the least to the most."""
    words: tuple[tuple[Level, str], ...] = (("read", "View"), ("write", "Open"), ("admin", "Manage"))
    found = []
    for level, word in words:
        path = first_page(hosted.pages, level, holdings)
        if path is not None:
            found.append(_Button(word, f"/{hosted.name}/{BUTTON_OF[level]}{path}"))
    return found


def _provider(settings: Settings, key: bytes, clock: Callable[[], datetime]) -> Provider | None:
    """The provider that people sign in through, if the operator named one. What asks it is loaded only then."""
    if not settings.oidc_issuer:
        return None
    from meridian.deployment.oidc import Provider

    return Provider(settings, key=key, clock=clock)


def _settings_of(loaded: Loaded, instance: Instance) -> object:
    """The settings record of a plugin, from what its admin chose; None where it declares none."""
    shape = loaded.pages.settings
    if shape is None:
        return None
    reading = read_value(shape, dict(instance.settings))
    if reading.record is None or reading.problems:
        said = "; ".join(map(str, reading.problems))
        raise DeploymentError(f"{loaded.name}: its settings do not read as {shape.name}: {said}")
    return reading.record


_ONCE: Final = frozenset({b"authorization", b"content-type", b"cookie", b"host", b"origin"})
"""What a request says once, of who asks, from where and in which form."""


def _is_said_twice(scope: Scope) -> bool:
    """Whether a request says twice what is said once, or in two ways how long its body is. What stands before the deployment
    may have believed the other: it takes for a request what was this one's body, or lets through what it would refuse."""
    names = [name for name, _ in scope["headers"]]
    once = [name for name in names if name in _ONCE]
    return len(once) > len(set(once)) or (b"transfer-encoding" in names and b"content-length" in names)


_SAID_TWICE: Final = PlainTextResponse(
    "The request says twice, or in two ways, what is said once: how long its body is, who asks, or from where.\n",
    400,
    {"connection": "close", "cache-control": "no-store"},
)


async def _no_icon(_: Request) -> Response:
    return Response(status_code=204, headers={"cache-control": "public, max-age=86400"})


_WORDS: Final = {
    404: ("There is nothing here", "Nothing of this deployment is at that address."),
    405: ("That is not asked so", "This address is asked in another way."),
}


class _Public:
    """Lets every request be one to the public address, where the operator said that people reach the deployment by another
    than it listens on: a proxy in front of it may hand on neither the host nor that it was asked over https."""

    def __init__(self, app: ASGIApp, url: str) -> None:
        said = urlsplit(url)
        if (
            said.scheme not in ("http", "https")
            or not said.netloc
            or "@" in said.netloc
            or said.path.strip("/")
            or said.query
            or said.fragment
        ):
            raise DeploymentError(f"settings: public_url: {url[:60]!r} is no address; write https://desk.example, with no path")
        self._app = app
        self._scheme = said.scheme
        self._host = said.netloc.encode("idna")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if scope["type"] == "http":
            headers = [(name, value) for name, value in scope["headers"] if name != b"host"]
            scope = {**scope, "scheme": self._scheme, "headers": [*headers, (b"host", self._host)]}
        await self._app(scope, receive, send)


class _Kit(StaticFiles):
    """The kit's style and script, which a browser keeps for a while and then asks whether they changed."""

    def file_response(
        self, full_path: str | os.PathLike[str], stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        """The file, or that it has not changed, with how long it may be kept."""
        response = super().file_response(full_path, stat_result, scope, status_code)
        response.headers["cache-control"] = "public, max-age=300, must-revalidate"
        response.headers["x-content-type-options"] = "nosniff"
        return response
