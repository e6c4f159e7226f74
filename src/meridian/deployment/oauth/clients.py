"""The programs that may ask for access: those that registered themselves, and those that a document at their id describes.

What a client says of itself enters; a `Client` leaves, or `Declined`. Nobody vouches for what it says: a name is a name, and
what is relied on are the redirect addresses alone. None has a secret. Whoever can reach the deployment may register, so that
how much is kept of it is bounded, and what nobody used is forgotten.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import urlsplit

from sqlalchemy import Connection, Row, and_, delete, func, insert, or_, select, update

from meridian.deployment.fingerprints import new_id
from meridian.deployment.oauth.addresses import host_of, is_allowed
from meridian.deployment.oauth.declining import Declined
from meridian.deployment.oauth.fetching import Unfetched
from meridian.deployment.store import Store
from meridian.deployment.store.tables import clients
from meridian.records import field, read_value, shape_of

__all__ = ["Client", "Fetch", "find", "kept", "register"]

Fetch = Callable[[str], Awaitable[Mapping[str, Any]]]

_MOST_ADDRESSES: Final = 20
_LONGEST_NAME: Final = 100
_LONGEST_ID: Final = 500

_AN_HOUR: Final = timedelta(hours=1)
_FROM_ONE_PLACE: Final = 60
_FROM_ALL: Final = 3_000
"""How many clients may tell of themselves within an hour, from one network address and from all of them."""

_READ_ANEW: Final = timedelta(minutes=5)
_TRIED_ANEW: Final = timedelta(seconds=20)
_UNUSED_KEPT: Final = timedelta(days=30)
_USED_KEPT: Final = timedelta(days=400)
_A_DAY: Final = timedelta(days=1)
_MANY_UNUSED: Final = 10_000
"""Past so many that nobody used, each is kept for a day."""

_DOCUMENT: Final = re.compile(r"https://[A-Za-z0-9.\-\[\]:]+/[A-Za-z0-9\-._~:/?@!$&'()*+,;=%]+")


@dataclass(frozen=True)
class Client:
    """A program that may ask. `described` says that a document at `id`, on the host named there, describes it."""

    id: str
    name: str
    redirect_uris: tuple[str, ...]
    described: bool

    @property
    def host(self) -> str:
        """The host of the document that describes it; empty where none does."""
        return urlsplit(self.id).netloc if self.described else ""


@dataclass(frozen=True)
class Description:
    """What a client says of itself, as far as it is read: the rest of it is let be."""

    redirect_uris: list[str]
    client_name: str = field(default="", max_length=1_000)
    token_endpoint_auth_method: str = field(default="none", max_length=100)
    grant_types: list[str] = field(default_factory=lambda: ["authorization_code"])
    response_types: list[str] = field(default_factory=lambda: ["code"])


_DESCRIPTION: Final = shape_of(Description)


def register(store: Store, told: object, *, told_from: str, now: datetime) -> Client:
    """The client that registers with what it told of itself, a JSON value. Raises Declined, and then keeps nothing.

    A client that would have a secret is registered as one that has none: the standard lets the server say so.
    """
    said = _read(told)
    made = Client(new_id("CL"), _name(said), tuple(said.redirect_uris), described=False)

    def file(connection: Connection) -> None:
        _one_more(connection, told_from, now)
        _file(connection, made, told_from, now)

    store.rewrite(file)
    return made


async def find(store: Store, fetch: Fetch | None, client_id: str, *, told_from: str, now: datetime) -> Client:
    """The client of that id, its document read anew where it was not a moment ago. Raises Declined; also for a client that a
    document describes, where there is nothing to fetch it with."""
    if not client_id.startswith("https://"):
        found = await store.run(kept, client_id)
        if found is None:
            raise Declined(
                "invalid_client",
                "No client of that client_id is registered here; connect anew, so that the client registers again.",
            )
        return found
    if fetch is None:
        raise Declined(
            "invalid_client", "This deployment reads no documents of clients; connect anew, so that the client registers."
        )
    if not _is_document(client_id):
        raise Declined("invalid_client", "The client_id is no address of a client's document: https, with a path.")
    present = await store.run(_read_lately, client_id, now)
    if present is not None:
        return present
    await store.run(_will_read, client_id, told_from, now)
    try:
        described = _described(client_id, await fetch(client_id))
    except Unfetched as unread:
        await store.run(_keep_unread, client_id, now)
        raise Declined("invalid_client", f"The client's document was not read: {unread.said}.") from unread
    except Declined:
        await store.run(_keep_unread, client_id, now)
        raise
    await store.run(_keep_read, described, told_from, now)
    return described


def kept(store: Store, client_id: str) -> Client | None:
    """The client of that id, as last told."""
    with store.read() as connection:
        row = connection.execute(select(clients).where(clients.c.id == client_id)).one_or_none()
    return None if row is None else _client(row)


def _described(client_id: str, document: Mapping[str, Any]) -> Client:
    """The client that the document describes, which has to name itself by the address it was read from."""
    if document.get("client_id") != client_id:
        raise Declined("invalid_client", "The client's document names another client_id than its own address.")
    said = _read(document)
    if "client_secret" in document or said.token_endpoint_auth_method != "none":  # noqa: S105
        raise Declined("invalid_client", "The client's document asks for a secret or a key; here a client has neither.")
    return Client(client_id, _name(said), tuple(said.redirect_uris), described=True)


def _read(told: object) -> Description:
    """What a client says of itself. Raises Declined in the words of RFC 7591."""
    known = {field.name for field in _DESCRIPTION.fields}
    said = (
        {name: value for name, value in told.items() if name in known and value is not None} if isinstance(told, dict) else told
    )
    reading = read_value(_DESCRIPTION, said)
    if reading.record is None or reading.problems:
        at_fault = "; ".join(map(str, reading.problems[:5]))
        of_addresses = any(each.path.startswith("redirect_uris") for each in reading.problems)
        raise Declined("invalid_redirect_uri" if of_addresses else "invalid_client_metadata", f"{at_fault}.")
    read = reading.record
    if not 1 <= len(read.redirect_uris) <= _MOST_ADDRESSES:
        raise Declined("invalid_redirect_uri", f"redirect_uris: name at least one address, and at most {_MOST_ADDRESSES}.")
    if not all(map(is_allowed, read.redirect_uris)):
        raise Declined(
            "invalid_redirect_uri",
            "redirect_uris: each is https, http on 127.0.0.1, [::1] or localhost, or of an app's scheme; none has a fragment.",
        )
    if "authorization_code" not in read.grant_types or "code" not in read.response_types:
        raise Declined("invalid_client_metadata", "Access is given by the grant authorization_code and the response code.")
    return read


def _name(said: Description) -> str:
    """What the client calls itself, on one line; where it does not, where its answers go."""
    return " ".join(said.client_name.split())[:_LONGEST_NAME] or host_of(said.redirect_uris[0])[:_LONGEST_NAME]


def _is_document(client_id: str) -> bool:
    if len(client_id) > _LONGEST_ID or not _DOCUMENT.fullmatch(client_id):
        return False
    return not {".", ".."} & set(urlsplit(client_id).path.split("/"))


def _one_more(connection: Connection, told_from: str, now: datetime) -> None:
    """Forget what nobody used, and see that there is room for one more. Raises Declined."""
    unused = clients.c.used_at.is_(None)
    many = (connection.scalar(select(func.count()).select_from(clients).where(unused)) or 0) > _MANY_UNUSED
    connection.execute(
        delete(clients).where(
            or_(
                and_(unused, clients.c.told_at < now - (_A_DAY if many else _UNUSED_KEPT)),
                clients.c.used_at < now - _USED_KEPT,
            )
        )
    )
    lately = select(func.count()).select_from(clients).where(clients.c.told_at > now - _AN_HOUR)
    here = connection.scalar(lately.where(clients.c.told_from == told_from)) or 0
    if here >= _FROM_ONE_PLACE or (connection.scalar(lately) or 0) >= _FROM_ALL:
        raise Declined(
            "too_many_requests", "Too many clients told of themselves lately; try again in an hour.", status_code=429
        )


def _file(connection: Connection, client: Client, told_from: str, now: datetime) -> None:
    values = {
        "name": client.name,
        "redirect_uris": json.dumps(client.redirect_uris),
        "described": client.described,
        "told_from": told_from,
        "told_at": now,
    }
    if not connection.execute(update(clients).where(clients.c.id == client.id).values(values)).rowcount:
        connection.execute(insert(clients).values(values | {"id": client.id}))


def _read_lately(store: Store, client_id: str, now: datetime) -> Client | None:
    """A described client whose document was read a moment ago. Raises Declined where it was tried a moment ago, in vain."""
    with store.read() as connection:
        row = connection.execute(select(clients).where(clients.c.id == client_id)).one_or_none()
    if row is None:
        return None
    found = _client(row)
    if not found.redirect_uris and now < row.told_at + _TRIED_ANEW:
        raise Declined("invalid_client", "The client's document was asked for a moment ago; try again in half a minute.")
    return found if found.redirect_uris and now < row.told_at + _READ_ANEW else None


def _will_read(store: Store, client_id: str, told_from: str, now: datetime) -> None:
    """Keep that the document is asked for, before it is. Until it was read a client that is new has no address; one that was
    read before is as it was then, for whoever is at its page, and is asked for by nobody else meanwhile."""

    def file(connection: Connection) -> None:
        _one_more(connection, told_from, now)
        known = connection.execute(select(clients).where(clients.c.id == client_id)).one_or_none()
        if known is not None and _client(known).redirect_uris:
            _file(connection, _client(known), told_from, now - _READ_ANEW + _TRIED_ANEW)
        else:
            _file(connection, Client(client_id, "", (), described=True), told_from, now)

    store.rewrite(file)


def _keep_unread(store: Store, client_id: str, now: datetime) -> None:
    """Keep that the document did not do: its client has no address until it does."""
    with store.write() as connection:
        connection.execute(update(clients).where(clients.c.id == client_id).values(redirect_uris="[]", told_at=now))


def _keep_read(store: Store, client: Client, told_from: str, now: datetime) -> None:
    store.rewrite(lambda connection: _file(connection, client, told_from, now))


def _client(row: Row[Any]) -> Client:
    return Client(row.id, row.name, tuple(json.loads(row.redirect_uris)), row.described)
