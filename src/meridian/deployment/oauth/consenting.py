"""Where a client sends its person, and the page on which they answer: "Allow a client to act as you".

A browser comes in with what a client asks; it leaves for the client with a code, or with a no. In between the person signs in
anew, always, sees who asks and what it would reach, and ticks. What is granted is what the page showed: the form carries a
digest of it, and where the two differ by the time it is sent, the page is shown again. Nobody is led anywhere before they
have answered, and then only to an address that the client registered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from meridian.deployment import delegations, lending
from meridian.deployment.delegations import LASTING_DAYS, Covers, Delegation
from meridian.deployment.drawing import SIGN_OUT, Drawing, origin_of
from meridian.deployment.identity import Person
from meridian.deployment.lending import Lendable, row_in
from meridian.deployment.oauth import authorizing, clients
from meridian.deployment.oauth.addresses import answered_at, form_action_of, host_of, is_one_of, kind_of
from meridian.deployment.oauth.authorizing import Authorization
from meridian.deployment.oauth.clients import Client, Fetch
from meridian.deployment.oauth.declining import Declined
from meridian.deployment.oauth.metadata import Place
from meridian.deployment.reaching import Hosted
from meridian.deployment.signing_in import SigningIn
from meridian.deployment.store import Store
from meridian.errors import Problem, Refusal
from meridian.records import field, read_form, shape_of

__all__ = ["Consenting"]

_LONGEST_QUERY: Final = 8 << 10
_TITLE: Final = "Allow a client to act as you"


@dataclass(frozen=True)
class Answer:
    """What a person answers to a client that asks."""

    request: str = field(default="", max_length=100)
    shown: str = field(default="", max_length=100)
    decision: Literal["allow", "deny"] = field(default="deny")
    covers: Literal["rows", "everything"] = field(default="rows")
    rows: list[str] = field(default_factory=list)
    prepares: list[str] = field(default_factory=list)
    days: int = field(default=30, choices=LASTING_DAYS)


@dataclass(frozen=True)
class Shown:
    """What the page shows a person of one client: what they may lend, and what they lent it before."""

    asked: Authorization
    client: Client
    person: Person
    offered: tuple[Lendable, ...]
    before: Delegation | None

    @property
    def digest(self) -> str:
        """The digest of all that is shown, so that what is granted is that and nothing else."""
        return lending.digest_of(self.offered, self.asked.id, self.person.subject, self.client.name, self.asked.redirect_uri)

    @property
    def new(self) -> frozenset[str]:
        """The tools that act, under the rows lent before, which the person was not shown then."""
        if self.before is None:
            return frozenset()
        return frozenset(
            name
            for each in self.offered
            if each.row in self.before.rows
            for name, tool in each.acts
            if self.before.awaits_consent((each.row.instance, tool.name))
        )

    def covered(self, answer: Answer) -> Covers:
        """What the delegation covers that the person answers with. Raises Refusal for a row that was not offered."""
        if answer.covers == "everything":
            return Covers(everything=True, only_prepares="everything" in answer.prepares)
        rows = {row_in(each) for each in answer.rows}
        if not rows <= {each.row for each in self.offered}:
            raise Refusal("You can lend no more than you hold.", [Problem("rows", "tick rows that stand here, and no others")])
        prepares = frozenset(row_in(each) for each in answer.prepares) & rows
        return Covers(tuple(sorted(rows)), acts=lending.acts_under(self.offered, rows), prepares=prepares)


@dataclass(frozen=True)
class Again:
    """Why the page is shown once more: the answer did not do, or what it was given to is no longer what there is."""

    detail: str
    problems: Sequence[Problem] = ()
    status_code: int = 422


_ANSWER: Final = shape_of(Answer)
_CHANGED: Final = Again(
    "What you hold, or what the tools do, has changed since this page was drawn. It is drawn anew: look at it once more.",
    status_code=409,
)


class Consenting:
    """The two addresses at which a person meets a client that asks. `fetch` reads the documents that describe clients; None
    where none is read."""

    def __init__(
        self,
        store: Store,
        hosted: Mapping[str, Hosted],
        *,
        drawing: Drawing,
        signing_in: SigningIn,
        fetch: Fetch | None,
        clock: Callable[[], datetime],
    ) -> None:
        self._store = store
        self._hosted = hosted
        self._drawing = drawing
        self._signing_in = signing_in
        self._fetch = fetch
        self._clock = clock

    def routes(self) -> list[BaseRoute]:
        """Their addresses."""
        return [
            Route("/oauth/authorize", self._authorize, methods=["GET"]),
            Route("/oauth/consent", self._ask, methods=["GET"]),
            Route("/oauth/consent", self._answered, methods=["POST"]),
        ]

    async def _authorize(self, request: Request) -> Response:
        """Keep what a client asks, and lead the person to where they answer."""
        if len(request.url.query) > _LONGEST_QUERY:
            return await self._no_use(request, "What the client asks is longer than anything that is read here.")
        place, asked_from = Place(origin_of(request)), _asked_from(request)
        pairs = request.query_params.multi_items()
        asked, problems = authorizing.read(pairs)
        state = next((value for name, value in pairs if name == "state" and value), None)
        try:
            client = await clients.find(self._store, self._fetch, asked.client_id, told_from=asked_from, now=self._clock())
            redirect_uri = authorizing.redirect_of(client, asked, problems)
        except Declined as no:
            return await self._no_use(request, no.said, no.status_code)
        nonce, _ = self._signing_in.token_for(request)
        try:
            authorizing.check(asked, problems, place)
            kept = await self._store.run(
                authorizing.keep, client, redirect_uri, asked, place,
                state=state, browser=nonce, asked_from=asked_from, now=self._clock(),
            )  # fmt: skip
        except Declined as no:
            told = {"error": no.error, "error_description": no.said, "state": state, "iss": place.origin}
            return await self._no_use(
                request, no.said, no.status_code, onward=[("Tell the client so", answered_at(redirect_uri, told))]
            )
        return self._signing_in.keep(request, _to(_consent(kept)), nonce)

    async def _ask(self, request: Request) -> Response:
        """The page, where the person has signed in since the client asked; else the way there."""
        shown = await self._shown(request, request.query_params.get("request", ""))
        return shown if isinstance(shown, Response) else self._page(request, shown)

    async def _answered(self, request: Request) -> Response:
        """What the person answered, told to the client; or the page once more."""
        pairs = await self._signing_in.posted(request)
        reading = read_form(_ANSWER, [pair for pair in pairs if pair[0] != "csrf"])
        answer = reading.record or Answer()
        shown = await self._shown(request, answer.request)
        if isinstance(shown, Response):
            return shown
        place = Place(origin_of(request))
        if answer.decision == "deny" and not reading.problems:
            denied = await self._store.run(authorizing.deny, shown.asked, now=self._clock())
            told = {"error": "access_denied", "error_description": "The person did not allow it."}
            return self._told(place, shown.asked, told) if denied else await self._no_use(request, _ANSWERED)
        if answer.shown != shown.digest:
            return self._page(request, shown, pairs, _CHANGED)
        if reading.problems:
            return self._page(request, shown, pairs, Again("", reading.problems))
        try:
            code = await self._store.run(
                authorizing.allow, shown.asked, subject=shown.person.subject, client_name=shown.client.name,
                covers=shown.covered(answer), days=answer.days, now=self._clock(),
            )  # fmt: skip
        except Refusal as no:
            return self._page(request, shown, pairs, Again(no.detail, no.fields))
        return self._told(place, shown.asked, {"code": code}) if code else await self._no_use(request, _ANSWERED)

    async def _shown(self, request: Request, wanted: str) -> Shown | Response:
        """What is shown of the request that waits in this browser; or the answer where there is none, or nobody signed in."""
        nonce, _ = self._signing_in.token_for(request)
        asked = await self._store.run(authorizing.find, wanted, browser=nonce, now=self._clock())
        client = await self._store.run(clients.kept, asked.client) if asked is not None else None
        if asked is None or client is None or not is_one_of(asked.redirect_uri, client.redirect_uris):
            return await self._no_use(request, _ANSWERED)
        session = await self._signing_in.fresh(request, asked.asked_at)
        if session is None:
            return self._signing_in.anew(_consent(asked.id))
        person = session.person

        def look(store: Store) -> Shown:
            offered = lending.lendable(store, self._hosted, person.subject)
            return Shown(asked, client, person, offered, delegations.latest_of(store, person.subject, client.id))

        return await self._store.run(look)

    def _page(
        self, request: Request, shown: Shown, pairs: Sequence[tuple[str, str]] | None = None, again: Again | None = None
    ) -> Response:
        nonce, token = self._signing_in.token_for(request)
        covers, rows, prepares, days = _typed(pairs) if pairs is not None else _as_before(shown)
        redirect_uri = shown.asked.redirect_uri
        page = self._drawing.page(
            request,
            "consent.html",
            title=_TITLE,
            person=shown.person.display_name,
            sign_out=SIGN_OUT,
            status_code=again.status_code if again else 200,
            error=again is not None,
            leads_to=form_action_of(redirect_uri),
            csrf=token,
            shown_request=shown,
            client=shown.client,
            goes_to=host_of(redirect_uri),
            kind=kind_of(redirect_uri),
            elsewhere=shown.client.described and kind_of(redirect_uri) == "web" and host_of(redirect_uri) != shown.client.host,
            new=shown.new,
            covers=covers,
            ticked=rows,
            prepares=prepares,
            days=days,
            lasting=LASTING_DAYS,
            again=again,
            now=self._clock(),
        )
        return self._signing_in.keep(request, page, nonce)

    def _told(self, place: Place, asked: Authorization, answer: Mapping[str, str | None]) -> Response:
        """The browser led to the client with what the person answered."""
        return _to(answered_at(asked.redirect_uri, {**answer, "state": asked.state, "iss": place.origin}))

    async def _no_use(
        self, request: Request, said: str, status_code: int = 400, onward: Sequence[tuple[str, str]] = ()
    ) -> Response:
        """A page of words for what leads nowhere."""
        return await self._signing_in.words(request, status_code, "That client cannot be connected so", said, onward=onward)


_ANSWERED: Final = (
    "Nothing that a client asked waits for your answer here: it was answered, has waited too long, or was asked in another "
    "browser. Connect the client again."
)


def _typed(pairs: Sequence[tuple[str, str]]) -> tuple[str, frozenset[str], frozenset[str], str]:
    """What the form said, to be shown in it again: what is covered, the rows ticked, what to prepare only, and how long."""
    said = dict(pairs)
    rows, prepares = (frozenset(value for each, value in pairs if each == name) for name in ("rows", "prepares"))
    return said.get("covers", "rows"), rows, prepares, said.get("days", "30")


def _as_before(shown: Shown) -> tuple[str, frozenset[str], frozenset[str], str]:
    """What the person lent the client before; nothing where they did not."""
    if shown.before is None:
        return "rows", frozenset(), frozenset(), "30"
    before = shown.before.covers
    prepares = {*map(lending.text_of, before.prepares), *(["everything"] if before.only_prepares else [])}
    return (
        "everything" if before.everything else "rows",
        frozenset(map(lending.text_of, before.rows)),
        frozenset(prepares),
        "30",
    )


def _asked_from(request: Request) -> str:
    return (request.client.host if request.client else "")[:64]


def _consent(authorization: str) -> str:
    return "/oauth/consent?" + urlencode({"request": authorization})


def _to(address: str) -> Response:
    return RedirectResponse(address, 303, {"cache-control": "no-store", "referrer-policy": "no-referrer"})
