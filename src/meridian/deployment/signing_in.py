"""Signing in and out in a browser: the session's cookie, and the pages that set it and take it away.

A sign-in name and a password, a one-time link, or what the firm's provider answers, come in; a cookie leaves that names a
session and says nothing else. Whose session it is, and whether it still stands, `identity` says, anew with each request.

What matters more than a page may ask for a *fresh* sign-in: a session begun after a moment, whatever session there is.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from anyio import CapacityLimiter
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from meridian.deployment import identity
from meridian.deployment.confining import is_of_this_site
from meridian.deployment.drawing import SIGN_OUT, Drawing, origin_of
from meridian.deployment.gateway import Refused
from meridian.deployment.identity import Person, Session
from meridian.deployment.settings import Settings
from meridian.deployment.store import Store
from meridian.errors import Problem, Refusal
from meridian.pages import assertion
from meridian.pages.bodies import BadBody, Limits, read_body
from meridian.records import field, read_form, shape_of

if TYPE_CHECKING:  # what asks a provider is loaded where there is one
    from meridian.deployment.oidc import Provider

__all__ = ["CHOOSE_PASSWORD", "COOKIE_NAMES", "SigningIn"]

CHOOSE_PASSWORD: Final = "/sign-in/password"  # noqa: S105  an address

_SESSION: Final = ("__Host-meridian", "meridian")
_FORM: Final = ("__Host-meridian-form", "meridian-form")
_ONWARD: Final = ("__Host-meridian-onward", "meridian-onward")
_PROVIDER: Final = ("__Host-meridian-provider", "meridian-provider")
"""The cookies' names over https and over http; the prefix binds them to this host and to https."""

COOKIE_NAMES: Final = frozenset(_SESSION)

_AT_ONCE: Final = 2
_ASKED_AT_ONCE: Final = 8
_MOST_WAITING: Final = 50
_AWAY: Final = timedelta(minutes=10)
"""How long somebody may be on their way to signing in: at the provider, or fetching a link."""

_PASSWORD_AFTER: Final = timedelta(minutes=10)
"""How lately somebody must have signed in to choose a password, so that a browser left open cannot be taken over by one."""

_LIMITS: Final = Limits(body_bytes=16 << 10, fields=20, files=0)


@dataclass(frozen=True)
class Credentials:
    """What somebody signs in with."""

    sign_in_name: str = field(title="Name", max_length=200)
    password: str = field(secret=True, max_length=256)


@dataclass(frozen=True)
class FirstAdmin:
    """Who the first deployment admin is."""

    sign_in_name: str = field(title="Sign-in name", description="What you type to sign in.", max_length=200)
    display_name: str = field(title="Your name", description="What others see.", max_length=200)
    password: str = field(secret=True, description="10 to 256 characters.", max_length=256)


@dataclass(frozen=True)
class NewPassword:
    """A password, typed twice."""

    password: str = field(title="New password", secret=True, description="10 to 256 characters.", max_length=1_000)
    again: str = field(title="The same once more", secret=True, max_length=1_000)


class SigningIn:
    """The pages by which a person signs in and out. `form_key` makes the tokens of their forms; `provider` is the firm's, if
    there is one."""

    def __init__(
        self,
        store: Store,
        drawing: Drawing,
        *,
        settings: Settings,
        form_key: bytes,
        clock: Callable[[], datetime],
        provider: Provider | None = None,
    ) -> None:
        self._store = store
        self._drawing = drawing
        self._settings = settings
        self._form_key = form_key
        self._clock = clock
        self._provider = provider
        self._hashing = CapacityLimiter(_AT_ONCE)
        self._asking = CapacityLimiter(_ASKED_AT_ONCE)

    def routes(self) -> list[BaseRoute]:
        """Their addresses."""
        return [
            Route("/sign-in", self._sign_in, methods=["GET", "POST"]),
            Route(CHOOSE_PASSWORD, self._choose_password, methods=["GET", "POST"]),
            Route("/sign-in/provider", self._to_provider),
            Route("/sign-in/provider/answer", self._from_provider),
            Route("/sign-in/{token}", self._by_link, methods=["GET", "POST"]),
            Route("/first-admin/{token}", self._first_admin, methods=["GET", "POST"]),
            Route("/sign-out", self._sign_out, methods=["GET", "POST"]),
        ]

    async def who(self, request: Request) -> Person | None:
        """The person whose session the request carries; None where it carries none that stands."""
        session = await self._session(request)
        return None if session is None else session.person

    async def fresh(self, request: Request, since: datetime) -> Session | None:
        """The session that the request carries, if whoever it is has signed in since that moment: by password, by a link or at
        the provider, and on this browser. None where they have not; `anew` is then where to send them."""
        session = await self._session(request)
        return session if session is not None and session.started_at >= since else None

    def anew(self, back: str) -> Response:
        """The way to a sign-in whatever session there is, and from it to the address `back` of this deployment."""
        return _to(f"/sign-in?{urlencode({'fresh': 'yes', 'next': back})}")

    async def _session(self, request: Request) -> Session | None:
        token = _cookie(request, _SESSION)
        if not token:
            return None
        settings = self._settings
        return await self._store.run(
            identity.read_session, token, now=self._clock(), idle=settings.session_idle, lasts=settings.session_lasts
        )

    async def words(
        self,
        request: Request,
        status_code: int,
        title: str,
        *paragraphs: str,
        rule: str = "",
        onward: Sequence[tuple[str, str]] = (),
    ) -> Response:
        """A page of a few words, with the name of whoever is signed in."""
        person = await self.who(request)
        name = person.display_name if person else None
        return self._drawing.words(request, status_code, title, *paragraphs, person=name, rule=rule, onward=onward)

    def token_for(self, request: Request) -> tuple[str, str]:
        """A browser's secret for forms outside any plugin (new where it has none), and a token that goes with it."""
        nonce = _cookie(request, _FORM) or secrets.token_urlsafe(24)
        return nonce, assertion.form_token(self._form_key, nonce, "sign-in", "read")

    def keep(self, request: Request, response: Response, nonce: str) -> Response:
        """The response, with the browser's secret for forms in its cookie."""
        _set(request, response, _FORM, nonce)
        return response

    async def _sign_in(self, request: Request) -> Response:
        if request.method != "POST":
            back = _own_address(request.query_params.get("next", "/"))
            person = await self.who(request)
            if person is not None and "fresh" not in request.query_params:
                return _to(back)
            return self._ask(request, back, person=person)
        pairs = await self.posted(request)
        back = _own_address(dict(pairs).get("next", "/"))
        reading = read_form(_CREDENTIALS, [pair for pair in pairs if pair[0] not in _OWN])
        if reading.record is None or reading.problems:
            return self._ask(request, back, pairs, reading.problems)
        given = reading.record
        try:
            async with self._in_turn(self._hashing):
                token = await self._store.run(
                    identity.sign_in, given.sign_in_name, given.password, now=self._clock(), lockout=self._settings.lockout
                )
        except Refusal as refusal:
            status_code = 429 if refusal.reason == "locked" else 422
            return self._ask(request, back, pairs, refusal.fields, refusal.detail, status_code=status_code)
        return await self._start(request, token, back)

    async def _by_link(self, request: Request) -> Response:
        token = request.path_params["token"]
        if request.method == "POST":
            await self.posted(request)
        elif not await self._store.run(identity.link_stands, token, "sign-in", now=self._clock()):
            return await self.words(request, 410, _NO_USE, *_ANOTHER)
        elif request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin") or _only_looks(request):
            form_token = self.token_for(request)
            form = self._drawing.form(None, action=f"/sign-in/{token}", submit="Sign in", token=form_token[1])
            page = self._drawing.page(request, "sign-in.html", title="Sign in by this link", form=form)
            return self.keep(request, page, form_token[0])
        try:
            session = await self._store.run(identity.sign_in_by_link, token, now=self._clock())
        except Refusal as refusal:
            return await self.words(request, 410, _NO_USE, refusal.detail)
        return await self._start(request, session, _own_address(_cookie(request, _ONWARD)))

    async def _to_provider(self, request: Request) -> Response:
        provider = self._provider
        if provider is None:
            raise HTTPException(404)
        back = _own_address(request.query_params.get("next", "/"))
        async with self._in_turn(self._asking):
            address, cookie = await provider.begin(back, answer_at=_answer_at(request))
        response = _to(address)
        _set(request, response, _PROVIDER, cookie, lasts=_AWAY)
        return response

    async def _from_provider(self, request: Request) -> Response:
        provider = self._provider
        if provider is None:
            raise HTTPException(404)
        async with self._in_turn(self._asking):
            came = await provider.finish(_cookie(request, _PROVIDER), request.query_params, answer_at=_answer_at(request))
        try:
            session = await self._store.run(
                identity.sign_in_by_provider, came.vouched, begun_at=came.begun_at, now=self._clock()
            )
        except Refusal as refusal:
            return await self.words(request, 403, "You were not signed in", refusal.detail)
        response = await self._start(request, session, came.back)
        _forget(request, response, _PROVIDER)
        return response

    async def _choose_password(self, request: Request) -> Response:
        session = await self.fresh(request, since=self._clock() - _PASSWORD_AFTER)
        if session is None:
            return self.anew(CHOOSE_PASSWORD)
        if session.person.issuer:
            return await self.words(request, 403, "There is no password here", _NO_PASSWORD)
        if request.method != "POST":
            return self._ask_password(request, session.person)
        pairs = await self.posted(request)
        reading = read_form(_NEW_PASSWORD, [pair for pair in pairs if pair[0] not in _OWN])
        given, problems = reading.record, reading.problems
        if given is not None and given.password != given.again:
            problems = (Problem("again", "type the new password once more, exactly as above"),)
        if given is None or problems:
            return self._ask_password(request, session.person, problems)
        try:
            async with self._in_turn(self._hashing):
                await self._store.run(identity.set_password, session.person.subject, given.password)
        except Refusal as refusal:
            return self._ask_password(request, session.person, refusal.fields, refusal.detail)
        response = await self.words(
            request, 200, "Your password is chosen", "You are signed out wherever you were signed in. Sign in by it."
        )
        _forget(request, response, _SESSION)
        return response

    async def _first_admin(self, request: Request) -> Response:
        token = request.path_params["token"]
        if not await self._store.run(identity.link_stands, token, "first-admin", now=self._clock()):
            return self._drawing.words(
                request, 410, _NO_USE, _LAPSED, "While a deployment has no admin, each start of it prints a new link."
            )
        if request.method != "POST":
            return self._ask_first_admin(request, token)
        pairs = await self.posted(request)
        reading = read_form(_FIRST_ADMIN, [pair for pair in pairs if pair[0] not in _OWN])
        if reading.record is None or reading.problems:
            return self._ask_first_admin(request, token, pairs, reading.problems)
        given = reading.record
        try:
            async with self._in_turn(self._hashing):
                session = await self._store.run(
                    identity.become_first_admin,
                    token,
                    given.sign_in_name,
                    given.display_name,
                    given.password,
                    now=self._clock(),
                )
        except Refusal as refusal:
            return self._ask_first_admin(request, token, pairs, refusal.fields, refusal.detail)
        return await self._start(request, session, "/")

    async def _sign_out(self, request: Request) -> Response:
        if request.method == "POST":
            await self.posted(request)
            await self._store.run(identity.end_session, _cookie(request, _SESSION))
            response = _to("/sign-in")
            _forget(request, response, _SESSION)
            return response
        person = await self.who(request)
        if person is None:
            return _to("/sign-in")
        nonce, token = self.token_for(request)
        form = self._drawing.form(None, action="/sign-out", submit="Sign out", token=token)
        page = self._drawing.page(request, "sign-out.html", title="Sign out", person=person.display_name, form=form)
        return self.keep(request, page, nonce)

    def _ask(
        self,
        request: Request,
        back: str,
        pairs: Sequence[tuple[str, str]] | None = None,
        problems: Sequence[Problem] = (),
        detail: str = "",
        *,
        status_code: int = 422,
        person: Person | None = None,
    ) -> Response:
        nonce, token = self.token_for(request)
        form = self._drawing.form(
            _CREDENTIALS, action="/sign-in", submit="Sign in", token=token, hidden=[("next", back)],
            pairs=_typed(pairs), problems=problems, detail=detail,
        )  # fmt: skip
        failed = pairs is not None
        page = self._drawing.page(
            request,
            "ask-who.html",
            title="Sign in again" if person else "Sign in",
            form=form,
            error=failed,
            status_code=status_code if failed else 200,
            person=person.display_name if person else None,
            sign_out=SIGN_OUT if person else None,
            again=person is not None,
            provider=self._provider.name if self._provider else None,
            to_provider=f"/sign-in/provider?{urlencode({'next': back})}",
        )
        self.keep(request, page, nonce)
        if back != _own_address(_cookie(request, _ONWARD)):
            _set(request, page, _ONWARD, back, lasts=_AWAY)
        return page

    def _ask_password(self, request: Request, person: Person, problems: Sequence[Problem] = (), detail: str = "") -> Response:
        nonce, token = self.token_for(request)
        failed = bool(problems or detail)
        form = self._drawing.form(
            _NEW_PASSWORD, action=CHOOSE_PASSWORD, submit="Choose this password", token=token,
            pairs=() if failed else None, problems=problems, detail=detail,
        )  # fmt: skip
        page = self._drawing.page(
            request,
            "choose-password.html",
            title="Choose a password",
            form=form,
            error=failed,
            status_code=422 if failed else 200,
            person=person.display_name,
            sign_out=SIGN_OUT,
            sign_in_name=person.sign_in_name,
        )
        return self.keep(request, page, nonce)

    def _ask_first_admin(
        self,
        request: Request,
        link: str,
        pairs: Sequence[tuple[str, str]] | None = None,
        problems: Sequence[Problem] = (),
        detail: str = "",
    ) -> Response:
        nonce, token = self.token_for(request)
        form = self._drawing.form(
            _FIRST_ADMIN, action=f"/first-admin/{link}", submit="Become the deployment's admin", token=token,
            pairs=_typed(pairs), problems=problems, detail=detail,
        )  # fmt: skip
        failed = pairs is not None
        page = self._drawing.page(
            request,
            "sign-in.html",
            title="The first deployment admin",
            form=form,
            error=failed,
            status_code=422 if failed else 200,
        )
        return self.keep(request, page, nonce)

    @asynccontextmanager
    async def _in_turn(self, turn: CapacityLimiter) -> AsyncIterator[None]:
        """Around what is dear, hashing a password or asking the provider: a few at once, so that people who are signed in never
        wait for those who are not. Raises Refused where many wait already."""
        if turn.statistics().tasks_waiting >= _MOST_WAITING:
            raise Refused(503, "Too many are signing in", "Try again in a minute.")
        async with turn:
            yield

    async def posted(self, request: Request) -> Sequence[tuple[str, str]]:
        """What a form of these pages says. Raises Refused where it did not come from one."""
        if not is_of_this_site(dict(request.headers), origin_of(request)):
            said = "The form was sent from another site. Open the page here and send it."
            raise Refused(403, "That came from elsewhere", said)
        try:
            body = await read_body(request.stream(), request.headers.get("content-type", ""), _LIMITS)
        except BadBody as bad:
            raise Refused(bad.status_code, "That was not taken", bad.detail) from bad
        except ClientDisconnect as gone:
            raise Refused(400, "That was not taken", "The body was cut off.") from gone
        nonce = _cookie(request, _FORM)
        if not nonce or not assertion.check_form_token(body.value("csrf"), self._form_key, nonce, "sign-in", "read"):
            said = "Open the page again, with cookies allowed, and send the form from there."
            raise Refused(403, "That form is not yours to send", said)
        return body.pairs

    async def _start(self, request: Request, session: str, back: str) -> Response:
        """The way on, with a new session's cookie; the session there was before is over."""
        before = _cookie(request, _SESSION)
        if before:
            await self._store.run(identity.end_session, before)
        response = _to(back)
        _set(request, response, _SESSION, session)
        if _cookie(request, _ONWARD):
            _forget(request, response, _ONWARD)
        return response


_OWN: Final = frozenset({"csrf", "next"})
_CREDENTIALS: Final = shape_of(Credentials)
_FIRST_ADMIN: Final = shape_of(FirstAdmin)
_NEW_PASSWORD: Final = shape_of(NewPassword)
_NO_PASSWORD: Final = "You sign in through a provider; choose a password there."  # noqa: S105  words
_NO_USE: Final = "This link is of no more use"
_LAPSED: Final = "It was used already, or has lapsed."
_ANOTHER: Final = (
    _LAPSED,
    "Sign in by your name and password, or ask a deployment admin for another link.",
)


def _typed(pairs: Sequence[tuple[str, str]] | None) -> Sequence[tuple[str, str]] | None:
    return None if pairs is None else [pair for pair in pairs if pair[0] not in {"csrf", "next", "password"}]


def _only_looks(request: Request) -> bool:
    """Whether nobody has followed the link yet: a browser fetches it ahead, or somebody asks for its headers."""
    return request.method == "HEAD" or "prefetch" in request.headers.get("sec-purpose", request.headers.get("purpose", ""))


def _own_address(address: str) -> str:
    """`address` where it is one of the deployment's own, else the home page."""
    own = re.fullmatch(r"/(?![/\\])[A-Za-z0-9._~!$&'()*+,;=:@%/?-]{0,2000}", address)
    return address if own else "/"


def _to(address: str) -> Response:
    return RedirectResponse(address, 303, {"cache-control": "no-store"})


def _cookie(request: Request, names: tuple[str, str]) -> str:
    return request.cookies.get(names[request.url.scheme != "https"], "")


def _answer_at(request: Request) -> str:
    """Where the provider sends a browser back to; it is registered there."""
    return f"{origin_of(request)}/sign-in/provider/answer"


def _set(request: Request, response: Response, names: tuple[str, str], value: str, *, lasts: timedelta | None = None) -> None:
    secure = request.url.scheme == "https"
    seconds = None if lasts is None else int(lasts.total_seconds())
    response.set_cookie(names[not secure], value, seconds, path="/", secure=secure, httponly=True, samesite="lax")


def _forget(request: Request, response: Response, names: tuple[str, str]) -> None:
    secure = request.url.scheme == "https"
    response.delete_cookie(names[not secure], path="/", secure=secure, httponly=True, samesite="lax")
