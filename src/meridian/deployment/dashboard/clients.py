"""Connected clients: what a person lent to which client, what it did with that, and the way to lend and to take back.

A person's own delegations and their calls enter; they leave as pages. The token of a new one leaves once, on the page that
answers the form. What may be lent is decided in `delegations`.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from meridian.deployment import calls, delegations, identity
from meridian.deployment.connecting import http_configuration, stdio_configuration
from meridian.deployment.dashboard.desk import (
    address,
    again,
    desk_of,
    origin_of,
    pages,
    row_in,
    row_named,
    shelved,
)
from meridian.deployment.delegations import LASTING_DAYS, Delegation
from meridian.deployment.lending import acts_under, digest_of, lendable
from meridian.errors import Refusal
from meridian.pages import Response
from meridian.pages.asking import Request
from meridian.records import field

_CALLS: Final = 50
_ENDED: Final = 20
_WHY: Final = "a person looks after their clients themselves"

_REASONS: Final = {
    "not_served": "not lent, or not held",
    "unknown_tool": "there is no such tool",
    "awaits_consent": "it waits for your consent",
    "not_read": "it did not read",
    "timed_out": "it took too long",
    "failed": "the plugin failed",
}
"""Why a call was refused, as far as that is the deployment's to say; a plugin's own reason may tell of the account."""


@dataclass(frozen=True)
class WhichClient:
    """Which client is shown; all of them where none is named."""

    client: str = field(default="", max_length=100)
    before: datetime | None = None
    ended: bool = False
    revoked: str = field(default="", max_length=100)


@dataclass(frozen=True)
class WhoseClients:
    """Whose clients are shown: everybody's, or those whose name or whose person's has `find` in it; or one of them."""

    client: str = field(default="", max_length=100)
    before: datetime | None = None
    find: str = field(default="", max_length=200)
    page: int = field(default=1, min=1)
    revoked: str = field(default="", max_length=100)


@dataclass(frozen=True)
class MakeToken:
    """A client, what it may reach, and for how long."""

    client_name: str = field(default="", title="Client", max_length=1_000)
    rows: list[str] = field(default_factory=list, title="What it may reach")
    days: int = field(default=30, title="For how long", choices=LASTING_DAYS)
    prepares: list[str] = field(default_factory=list)
    shown: str = field(default="", max_length=100)


@dataclass(frozen=True)
class Revoke:
    """The client whose token shall be of no more use."""

    client: str = field(max_length=100)


@pages.page(
    "/clients", levels=["read", "write"], params=WhichClient, title="Connected clients", name="clients", tool=False, why=_WHY
)
def clients(request: Request[WhichClient]) -> Response:
    """The clients that ask as whoever looks, and one of them with its calls."""
    desk, asked = desk_of(request), request.params
    if asked.client:
        return _one(request, _own(request, asked.client), asked.before)
    now = desk.clock()
    own = delegations.held_by(desk.store, request.caller.subject)
    ended = [each for each in own if not each.stands(now)]
    redraw = again(request, "/clients/make")
    offered = lendable(desk.store, desk.hosted, request.caller.subject)
    pairs = () if redraw is None else redraw.pairs
    return pages.render(
        "clients.html",
        standing=[each for each in own if each.stands(now)],
        soon=[each for each in own if each.lapses_soon(now)],
        ended=ended if asked.ended else ended[:_ENDED],
        ended_count=len(ended),
        now=now,
        revoked=next((each for each in ended if each.id == asked.revoked and each.revoked_at is not None), None),
        offered=offered,
        digest=digest_of(offered),
        lasting=LASTING_DAYS,
        again=redraw,
        ticked={value for name, value in pairs if name == "rows"},
        prepares={value for name, value in pairs if name == "prepares"},
        days=next((value for name, value in pairs if name == "days"), "30"),
        named=lambda row: row_named(row, desk.hosted),
    )


@pages.route(
    "/clients/make", levels="write", methods=["POST"], params=MakeToken, tool=False, why="it shows a secret, once, to a person"
)
def make_token(request: Request[MakeToken]) -> Response:
    """Make a client token, and show it this once."""
    desk, asked = desk_of(request), request.params
    rows = [row_in(each) for each in asked.rows]
    offered = lendable(desk.store, desk.hosted, request.caller.subject)
    if asked.shown != digest_of(offered):
        raise Refusal(
            "What you hold, or what the tools do, has changed since this page was drawn. It is drawn anew: look once more.",
            reason="changed_since",
        )
    acts = acts_under(offered, rows)
    made, token = delegations.make_by_hand(
        desk.store,
        request.caller.subject,
        asked.client_name,
        rows,
        asked.days,
        now=desk.clock(),
        acts=acts,
        prepares=frozenset(map(row_in, asked.prepares)) & frozenset(rows),
    )
    url = f"{origin_of(request)}/mcp"
    return pages.render(
        "token.html",
        made=made,
        token=token,
        url=url,
        over_http=json.dumps(http_configuration(url, token), indent=2),
        by_command=shlex.join(
            ["claude", "mcp", "add", "--transport", "http", "meridian", url, "--header", f"Authorization: Bearer {token}"]
        ),
        over_stdio=json.dumps(stdio_configuration(desk.settings, token), indent=2),
        named=lambda row: row_named(row, desk.hosted),
    )


@pages.route("/clients/revoke", levels="write", methods=["POST"], params=Revoke, tool=False, why=_WHY)
def revoke(request: Request[Revoke]) -> Response:
    """Revoke a client of one's own: its next call is refused."""
    desk, asked = desk_of(request), request.params
    delegations.revoke(desk.store, asked.client, by=request.caller.subject, now=desk.clock())
    return pages.answer(None, None, location=address("/clients", revoked=asked.client))


@pages.page(
    "/everybody-s-clients",
    levels="admin",
    params=WhoseClients,
    title="Clients",
    name="everybodys_clients",
    tool=False,
    why=_WHY,
)
def everybodys_clients(request: Request[WhoseClients]) -> Response:
    """Everybody's clients that may ask now, for a deployment admin; or one of them, with its calls."""
    desk, asked = desk_of(request), request.params
    if asked.client:
        return _one(request, _known(request, asked.client), asked.before)
    now, wanted = desk.clock(), asked.find.casefold()
    names = {each.subject: each.display_name for each in identity.every_person(desk.store)}
    every = delegations.every_delegation(desk.store)
    found = [
        each
        for each in every
        if each.stands(now)
        and (wanted in each.client_name.casefold() or wanted in names.get(each.subject, each.subject).casefold())
    ]
    return pages.render(
        "everybodys-clients.html",
        shelf=shelved(
            found, asked.page, lambda page: request.path_for("/everybody-s-clients", find=asked.find or None, page=page)
        ),
        names=names,
        find=asked.find,
        revoked=next((each for each in every if each.id == asked.revoked and each.revoked_at is not None), None),
        named=lambda row: row_named(row, desk.hosted),
    )


@pages.route(
    "/everybody-s-clients/revoke", levels="admin", methods=["POST"], params=Revoke, tool=False, why="people look after people"
)
def revoke_anyones(request: Request[Revoke]) -> Response:
    """Revoke anybody's client, as a deployment admin: its next call is refused."""
    desk, asked = desk_of(request), request.params
    delegations.revoke(desk.store, asked.client, by=request.caller.subject, anyones=True, now=desk.clock())
    return pages.answer(None, None, location=address("/everybody-s-clients", revoked=asked.client))


def _one(request: Request[Any], shown: Delegation, before: datetime | None) -> Response:
    """One client with its calls: which tool, when, at which level, what came of it; never more. Shown to its person, or to a
    deployment admin."""
    desk, home = desk_of(request), request.path
    found = calls.listed(desk.store, shown.id, limit=_CALLS + 1, before=before)
    last = found[_CALLS - 1] if len(found) > _CALLS else None
    owner = identity.person(desk.store, shown.subject)
    ended_by = None if shown.revoked_by is None else identity.person(desk.store, shown.revoked_by)
    return pages.render(
        "client.html",
        shown_client=shown,
        now=desk.clock(),
        home=home,
        mine=shown.subject == request.caller.subject,
        owner=owner.display_name if owner is not None else shown.subject,
        ended_by=ended_by.display_name if ended_by is not None else shown.revoked_by,
        calls=found[:_CALLS],
        reasons=_REASONS,
        newest=request.path_for(home, client=shown.id) if before is not None else "",
        older=request.path_for(home, client=shown.id, before=last.opened_at.isoformat()) if last else "",
        named=lambda row: row_named(row, desk.hosted),
    )


def _known(request: Request[Any], client: str) -> Delegation:
    """Anybody's delegation of that id. Raises Refusal where there is none."""
    found = delegations.find(desk_of(request).store, client)
    if found is None:
        raise Refusal("There is no such client.", reason="unknown")
    return found


def _own(request: Request[Any], client: str) -> Delegation:
    """The person's own delegation of that id. Raises Refusal, in the same words for another person's as for none."""
    found = delegations.find(desk_of(request).store, client)
    if found is None or found.subject != request.caller.subject:
        raise Refusal("You have no such connected client.", reason="unknown")
    return found
