"""What a client is given: a code, once, for which it gets tokens, and tokens that it renews until its delegation ends.

A code or a refresh token enters, and is spent; an access token for ten minutes and the next refresh token leave. Both follow
from the one that was spent, by a key that only the deployment has. So fingerprints are all that is kept, and whoever asks
again within a minute with the one just spent, because two windows were open or an answer was lost, is answered the same. After
that minute it is the sign of a token in two hands, and the delegation is revoked.

Each of these is one transaction: what was spent and what was given for it are kept together, or neither is.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection, Row, and_, delete, insert, or_, select, update

from meridian.deployment import delegations
from meridian.deployment.delegations import Delegation
from meridian.deployment.fingerprints import fingerprint, new_token, same
from meridian.deployment.oauth.declining import Declined
from meridian.deployment.oauth.metadata import canonical
from meridian.deployment.store import Store
from meridian.deployment.store.tables import codes, people, tokens
from meridian.deployment.store.tables import delegations as delegations_table

__all__ = ["ACCESS_LASTS", "CODE_LASTS", "GIVEN_AGAIN", "Given", "exchange", "make_code", "prune", "refresh", "revoke"]

ACCESS_LASTS: Final = timedelta(minutes=10)
CODE_LASTS: Final = timedelta(minutes=1)
GIVEN_AGAIN: Final = timedelta(minutes=1)
"""For how long a refresh token that was just spent is answered again with what it was answered with."""

_CODES_KEPT: Final = timedelta(days=1)
_VERIFIER: Final = re.compile(r"[A-Za-z0-9\-._~]{43,128}")
_SPENT: Final = "It was used already, so that what it gave is revoked; ask for access again."


@dataclass(frozen=True)
class Given:
    """What a client gets. The access token lasts another `seconds`."""

    access: str
    refresh: str
    seconds: int


def make_code(
    connection: Connection,
    delegation: Delegation,
    *,
    redirect_uri: str,
    code_challenge: str,
    resource: str,
    now: datetime,
) -> str:
    """A code that the client exchanges once, inside the transaction in which its delegation is made."""
    connection.execute(delete(codes).where(codes.c.expires_at < now - _CODES_KEPT))
    code = new_token("mrc_")
    connection.execute(
        insert(codes).values(
            fingerprint=fingerprint(code),
            delegation=delegation.id,
            redirect_uri=redirect_uri,
            code_challenge=code_challenge,
            resource=resource,
            made_at=now,
            expires_at=now + CODE_LASTS,
        )
    )
    return code


def exchange(
    store: Store,
    key: bytes,
    code: str,
    *,
    client: str,
    verifier: str,
    redirect_uri: str = "",
    resource: str = "",
    now: datetime,
) -> Given:
    """What the code is good for, once. Raises Declined; a code that comes a second time takes with it what it gave."""
    with store.write() as connection:
        row = connection.execute(
            _standing(codes, codes.c.delegation).where(codes.c.fingerprint == fingerprint(code)).with_for_update(of=codes)
        ).one_or_none()
        if row is None or row.client != client:
            raise Declined("invalid_grant", "There is no such code for this client.")
        if row.spent_at is None:
            _check_code(row, verifier, redirect_uri, now)
            _check_resource(row, resource)
            connection.execute(update(codes).where(codes.c.fingerprint == row.fingerprint).values(spent_at=now))
            return _give(connection, key, code, row, family=row.fingerprint, now=now)
        _end_family(connection, row.delegation, row.fingerprint, now)
    raise Declined("invalid_grant", _SPENT)


def refresh(store: Store, key: bytes, token: str, *, client: str, resource: str = "", now: datetime) -> Given:
    """The next tokens for a refresh token, which is spent by that. Raises Declined."""
    with store.write() as connection:
        while True:
            row = _refresh_token(connection, token)
            if row is None or row.client != client or not _stands(row, now):
                raise Declined("invalid_grant", "There is no such refresh token for this client, or it stands no longer.")
            _check_resource(row, resource)
            if row.spent_at is None:
                connection.execute(update(tokens).where(tokens.c.fingerprint == row.fingerprint).values(spent_at=now))
                return _give(connection, key, token, row, family=row.family, now=now)
            if row.spent_at + GIVEN_AGAIN <= now:
                delegations.revoke_in(connection, row.delegation, by=None, now=now)
                break
            following = _follows(key, "refresh", token)
            after = _refresh_token(connection, following)
            if after is not None and after.spent_at is None:
                left = ACCESS_LASTS - (now - row.spent_at)
                return Given(_follows(key, "access", token), following, int(left.total_seconds()))
            token = following
    raise Declined("invalid_grant", _SPENT)


def revoke(store: Store, token: str, *, client: str, now: datetime) -> None:
    """Let the token be of no more use; with a refresh token go all that came of the same code. Raises Declined for a token of
    another client; one that is none is none already."""
    with store.write() as connection:
        row = connection.execute(
            _standing(tokens, tokens.c.delegation).where(
                tokens.c.fingerprint == fingerprint(token), tokens.c.kind.in_(("access", "refresh"))
            )
        ).one_or_none()
        if row is None:
            return
        if row.client != client:
            raise Declined("invalid_client", "That token was given to another client.")
        if row.kind == "access":
            connection.execute(delete(tokens).where(tokens.c.fingerprint == row.fingerprint))
        else:
            _end_family(connection, row.delegation, row.family, now)


def prune(store: Store, *, now: datetime) -> None:
    """Let go of access tokens whose time is over, and of every token of a delegation that is over. To be called now and then,
    and not with each renewal: a token that goes has every process look anew at what it knows."""
    over = select(delegations_table.c.id).where(delegations_table.c.expires_at <= now)
    with store.write() as connection:
        connection.execute(
            delete(tokens).where(
                or_(and_(tokens.c.kind == "access", tokens.c.expires_at <= now), tokens.c.delegation.in_(over))
            )
        )


def _standing(table: Any, delegation: Any) -> Any:
    """A row of `table` with what is asked of its delegation: whose client it is, and whether it stands."""
    return (
        select(
            table,
            delegations_table.c.client.label("client"),
            delegations_table.c.revoked_at,
            delegations_table.c.expires_at.label("ends_at"),
            people.c.left_at,
        )
        .join(delegations_table, delegations_table.c.id == delegation)
        .join(people, people.c.subject == delegations_table.c.subject)
    )


def _stands(row: Row[Any], now: datetime) -> bool:
    return row.revoked_at is None and row.left_at is None and now < row.ends_at


def _refresh_token(connection: Connection, token: str) -> Row[Any] | None:
    return connection.execute(
        _standing(tokens, tokens.c.delegation)
        .where(tokens.c.fingerprint == fingerprint(token), tokens.c.kind == "refresh")
        .with_for_update(of=tokens)
    ).one_or_none()


def _check_code(row: Row[Any], verifier: str, redirect_uri: str, now: datetime) -> None:
    if not now < row.expires_at or not _stands(row, now):
        raise Declined("invalid_grant", "The code is too old, or its delegation stands no longer.")
    if redirect_uri and redirect_uri != row.redirect_uri:
        raise Declined("invalid_grant", "The code was sent to another redirect_uri.")
    spelled = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode("utf-8", "replace")).digest()).rstrip(b"=").decode()
    if not _VERIFIER.fullmatch(verifier) or not same(spelled, row.code_challenge):
        raise Declined("invalid_grant", "The code_verifier does not go with the code_challenge that was sent for this code.")


def _check_resource(row: Row[Any], resource: str) -> None:
    if resource and canonical(resource) != row.resource:
        raise Declined("invalid_target", f"What was asked for is good at {row.resource} alone.")


def _give(connection: Connection, key: bytes, spent: str, row: Row[Any], *, family: str, now: datetime) -> Given:
    """File the tokens that follow from the one just spent."""
    given = Given(_follows(key, "access", spent), _follows(key, "refresh", spent), int(ACCESS_LASTS.total_seconds()))
    common = {"delegation": row.delegation, "family": family, "resource": row.resource, "made_at": now}
    for kind, token, until in (("access", given.access, now + ACCESS_LASTS), ("refresh", given.refresh, row.ends_at)):
        connection.execute(insert(tokens).values(fingerprint=fingerprint(token), kind=kind, expires_at=until, **common))
    return given


def _follows(key: bytes, kind: str, spent: str) -> str:
    """The token that follows from the one that was spent."""
    made = hmac.digest(key, f"{kind}/{spent}".encode("utf-8", "replace"), "sha256")
    return f"mr{kind[0]}_" + base64.urlsafe_b64encode(made).rstrip(b"=").decode()


def _end_family(connection: Connection, delegation: str, family: str, now: datetime) -> None:
    """Let go of all that came of one code; and of the delegation, where nothing else speaks for it."""
    connection.execute(delete(tokens).where(tokens.c.delegation == delegation, tokens.c.family == family))
    if connection.scalar(select(tokens.c.fingerprint).where(tokens.c.delegation == delegation).limit(1)) is None:
        delegations.revoke_in(connection, delegation, by=None, now=now)
