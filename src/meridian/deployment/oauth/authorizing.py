"""What a client asks of a person: checked, kept until the person answers in the same browser, and then settled once.

A query's pairs enter; an `Authorization` leaves, or `Declined`. Whether the answer goes anywhere is decided first, since an
address that does not pass is never led to, not even with an error.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Update, delete, func, insert, select, update

from meridian.deployment import delegations
from meridian.deployment.delegations import Covers
from meridian.deployment.fingerprints import fingerprint, new_id
from meridian.deployment.oauth import tokens
from meridian.deployment.oauth.addresses import LONGEST, is_one_of
from meridian.deployment.oauth.clients import Client
from meridian.deployment.oauth.declining import Declined
from meridian.deployment.oauth.metadata import Place
from meridian.deployment.store import Store
from meridian.deployment.store.tables import authorizations, clients
from meridian.errors import Problem
from meridian.records import field, read_query, shape_of

__all__ = ["WAITS", "Asked", "Authorization", "allow", "check", "deny", "find", "keep", "read", "redirect_of"]

WAITS: Final = timedelta(minutes=30)
"""How long what was asked waits for the person."""

_FROM_ONE_PLACE: Final = 300
_CHALLENGE: Final = re.compile(r"[A-Za-z0-9\-_]{43}")


@dataclass(frozen=True)
class Asked:
    """What a client asks, as its query says it."""

    client_id: str = field(default="", max_length=500)
    redirect_uri: str = field(default="", max_length=LONGEST)
    response_type: str = field(default="", max_length=100)
    state: str = field(default="", max_length=2_000)
    code_challenge: str = field(default="", max_length=200)
    code_challenge_method: str = field(default="plain", max_length=100)
    resource: str = field(default="", max_length=500)


@dataclass(frozen=True)
class Authorization:
    """What a client asked for and a person has yet to answer. `state` goes back to the client as it came."""

    id: str
    client: str
    redirect_uri: str
    state: str | None
    code_challenge: str
    resource: str
    asked_at: datetime


_ASKED: Final = shape_of(Asked)


def read(pairs: Sequence[tuple[str, str]]) -> tuple[Asked, tuple[Problem, ...]]:
    """What a query asks, and what of it did not read."""
    reading = read_query(_ASKED, pairs)
    return reading.record or Asked(), reading.problems


def redirect_of(client: Client, asked: Asked, problems: Sequence[Problem]) -> str:
    """The address that the answer goes to. Raises Declined, which is then for the person alone to see."""
    if any(each.path == "redirect_uri" for each in problems):
        raise Declined("invalid_request", "The redirect_uri did not read, or was given twice.")
    if not asked.redirect_uri and len(client.redirect_uris) == 1:
        return redirect_of(client, Asked(redirect_uri=client.redirect_uris[0]), ())
    if not is_one_of(asked.redirect_uri, client.redirect_uris):
        raise Declined("invalid_request", "The redirect_uri is none of those that the client registered.")
    return asked.redirect_uri


def check(asked: Asked, problems: Sequence[Problem], place: Place) -> None:
    """See that what is asked can be given. Raises Declined, which may be told to the client."""
    if problems:
        raise Declined("invalid_request", f"{problems[0]}.")
    if asked.response_type != "code":
        raise Declined("unsupported_response_type", "Ask with response_type=code.")
    if asked.code_challenge_method != "S256" or not _CHALLENGE.fullmatch(asked.code_challenge):
        raise Declined("invalid_request", "Send a code_challenge with code_challenge_method=S256 (PKCE).")
    if asked.resource and not place.is_here(asked.resource):
        raise Declined("invalid_target", f"The resource here is {place.resource}.")


def keep(
    store: Store,
    client: Client,
    redirect_uri: str,
    asked: Asked,
    place: Place,
    *,
    state: str | None,
    browser: str,
    asked_from: str,
    now: datetime,
) -> str:
    """Keep what was asked until the person answers, for the browser whose secret is `browser`; its id. Raises Declined where
    too many wait from one network address."""
    made = new_id("A")
    with store.write() as connection:
        connection.execute(delete(authorizations).where(authorizations.c.expires_at < now))
        waiting = select(func.count()).where(authorizations.c.asked_from == asked_from, authorizations.c.settled_at.is_(None))
        if (connection.scalar(waiting) or 0) >= _FROM_ONE_PLACE:
            raise Declined("temporarily_unavailable", "Too much waits for an answer already; try again later.", status_code=429)
        connection.execute(
            insert(authorizations).values(
                id=made,
                browser=fingerprint(browser),
                client=client.id,
                redirect_uri=redirect_uri,
                state=state,
                code_challenge=asked.code_challenge,
                resource=place.resource,
                asked_from=asked_from,
                asked_at=now,
                expires_at=now + WAITS,
            )
        )
    return made


def find(store: Store, wanted: str, *, browser: str, now: datetime) -> Authorization | None:
    """What waits under that id for an answer, asked in the browser whose secret is `browser`."""
    with store.read() as connection:
        row = connection.execute(
            select(authorizations).where(
                authorizations.c.id == wanted,
                authorizations.c.browser == fingerprint(browser),
                authorizations.c.settled_at.is_(None),
                authorizations.c.expires_at > now,
            )
        ).one_or_none()
    if row is None:
        return None
    return Authorization(row.id, row.client, row.redirect_uri, row.state, row.code_challenge, row.resource, row.asked_at)


def allow(
    store: Store, asked: Authorization, *, subject: str, client_name: str, covers: Covers, days: int, now: datetime
) -> str | None:
    """The code that the client gets: the delegation is made, the code with it, and what was asked is settled, all or none of
    it. None where it was answered already. Raises Refusal for a delegation that may not be made."""
    with store.write() as connection:
        if not connection.execute(_settle(asked, now)).rowcount:
            return None
        made = delegations.make(
            connection, subject=subject, client=asked.client, client_name=client_name, covers=covers, days=days, now=now
        )
        connection.execute(update(clients).where(clients.c.id == asked.client).values(used_at=now))
        return tokens.make_code(
            connection,
            made,
            redirect_uri=asked.redirect_uri,
            code_challenge=asked.code_challenge,
            resource=asked.resource,
            now=now,
        )


def deny(store: Store, asked: Authorization, *, now: datetime) -> bool:
    """Settle what was asked with a no; False where it was answered already."""
    with store.write() as connection:
        return bool(connection.execute(_settle(asked, now)).rowcount)


def _settle(asked: Authorization, now: datetime) -> Update:
    return (
        update(authorizations)
        .where(authorizations.c.id == asked.id, authorizations.c.settled_at.is_(None), authorizations.c.expires_at > now)
        .values(settled_at=now)
    )
