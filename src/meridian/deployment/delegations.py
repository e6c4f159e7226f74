"""A person's leave for one client to ask on their behalf.

A person, a client's name and rows (a plugin's role at a level) enter; a `Delegation` and, once, its token leave. The token
is known to the client alone: here is its fingerprint. What a delegation reaches is worked out anew at each asking, as what
the person holds at that moment, cut to the rows; so it never grants more than they hold.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection, Row, Select, delete, func, insert, select, update

from meridian.callers import NO_ACCOUNTS, Holding, Holdings, Level, Role
from meridian.deployment.access import AccessRow, holdings_in
from meridian.deployment.fingerprints import fingerprint, new_id, new_token, same
from meridian.deployment.store import Store
from meridian.deployment.store.tables import delegation_rows, delegations, instances, people, tokens
from meridian.errors import Problem, Refusal

__all__ = [
    "LASTING_DAYS",
    "TOKEN_PREFIX",
    "Delegation",
    "by_token",
    "every_delegation",
    "find",
    "held_by",
    "lend",
    "make_by_hand",
    "narrowed",
    "note_use",
    "revoke",
]

LASTING_DAYS: Final = (7, 30, 90)
TOKEN_PREFIX: Final = "mrd_"  # noqa: S105  what every token begins with
"""What a client's token begins with, so that one is known where it does not belong."""

_MOST_ROWS: Final = 500
_MOST_STANDING: Final = 100


@dataclass(frozen=True)
class Delegation:
    """One client's leave to ask as one person, for the rows named and until it expires or is revoked."""

    id: str
    subject: str
    client_name: str
    rows: tuple[AccessRow, ...]
    made_at: datetime
    expires_at: datetime
    revoked_at: datetime | None = None
    revoked_by: str | None = None
    last_used_at: datetime | None = None
    last_refused_at: datetime | None = None

    def stands(self, now: datetime) -> bool:
        """Whether the client may ask by it at that moment."""
        return self.revoked_at is None and now < self.expires_at


def make_by_hand(
    store: Store, subject: str, client_name: str, rows: Iterable[AccessRow], days: int, *, now: datetime
) -> tuple[Delegation, str]:
    """A new delegation, and the token to be shown once.

    Raises Refusal, with the fields named, for days other than 7, 30 or 90, for no row or one the person does not hold, and
    for a client without a name.
    """
    wanted = tuple(sorted(set(rows)))
    name = " ".join(client_name.split())
    problems = []
    if not 1 <= len(name) <= 200:
        problems.append(Problem("client_name", "give the client a name, of at most 200 characters"))
    if days not in LASTING_DAYS:
        problems.append(Problem("days", f"{days} is no choice; it lasts 7, 30 or 90 days"))
    if not 1 <= len(wanted) <= _MOST_ROWS:
        problems.append(Problem("rows", f"tick at least one row, and at most {_MOST_ROWS}"))
    if problems:
        raise Refusal("No client token was made yet; put right what is named here.", problems)
    with store.write() as connection:
        beyond = [row for row in wanted if not _holds(connection, subject, row)]
        if beyond:
            raise Refusal(
                "You can lend no more than you hold.",
                [Problem("rows", f"you do not hold {row.level} on {_named(row)}") for row in beyond[:20]],
            )
        standing = connection.scalar(
            select(func.count())
            .select_from(delegations)
            .where(delegations.c.subject == subject, delegations.c.revoked_at.is_(None), delegations.c.expires_at > now)
        )
        if (standing or 0) >= _MOST_STANDING:
            raise Refusal(f"You have {_MOST_STANDING} connected clients; revoke one first.")
        token = new_token(TOKEN_PREFIX)
        return lend(connection, subject, name, wanted, days, token, now=now), token


def lend(
    connection: Connection, subject: str, client_name: str, rows: Sequence[AccessRow], days: int, token: str, *, now: datetime
) -> Delegation:
    """Write a delegation whose token is `token`, unchecked, inside a transaction that is open."""
    made = Delegation(new_id("D"), subject, client_name, tuple(rows), now, now + timedelta(days=days))
    connection.execute(
        insert(delegations).values(
            id=made.id,
            subject=subject,
            client_name=client_name,
            made_by="hand",
            made_at=now,
            expires_at=made.expires_at,
        )
    )
    for row in rows:
        connection.execute(
            insert(delegation_rows).values(delegation=made.id, instance=row.instance, role=row.role, level=row.level)
        )
    connection.execute(
        insert(tokens).values(
            fingerprint=fingerprint(token), delegation=made.id, kind="hand", made_at=now, expires_at=made.expires_at
        )
    )
    return made


def by_token(store: Store, token: str, *, now: datetime) -> Delegation | None:
    """The delegation that `token` speaks for, until the first of the two expires; None where there is none that stands, or its
    person has gone."""
    print_ = fingerprint(token)
    with store.read() as connection:
        row = connection.execute(
            select(tokens.c.fingerprint, tokens.c.expires_at.label("token_expires_at"), delegations)
            .join(delegations, delegations.c.id == tokens.c.delegation)
            .join(people, people.c.subject == delegations.c.subject)
            .where(tokens.c.fingerprint == print_, people.c.left_at.is_(None))
        ).one_or_none()
        if row is None or not same(row.fingerprint, print_):
            return None
        whole = _delegation(row, _rows(connection, [row.id]).get(row.id, []))
    found = replace(whole, expires_at=min(whole.expires_at, row.token_expires_at))
    return found if found.stands(now) else None


def find(store: Store, delegation: str) -> Delegation | None:
    """The delegation of that id, whether or not it stands."""
    return next(iter(_listed(store, select(delegations).where(delegations.c.id == delegation))), None)


def held_by(store: Store, subject: str) -> tuple[Delegation, ...]:
    """Every delegation of the person, the latest first, those that stand no longer among them."""
    return _listed(store, select(delegations).where(delegations.c.subject == subject))


def every_delegation(store: Store) -> tuple[Delegation, ...]:
    """Everybody's delegations, the latest first: for a deployment admin."""
    return _listed(store, select(delegations))


def revoke(store: Store, delegation: str, *, by: str, anyones: bool = False, now: datetime) -> None:
    """Revoke the delegation, from the next call on. Revoking it again changes nothing.

    `anyones` lets a deployment admin revoke another person's. Raises Refusal, reason `unknown`, for one there is not, and in
    the same words for another person's.
    """
    with store.write() as connection:
        owner = connection.scalar(select(delegations.c.subject).where(delegations.c.id == delegation))
        if owner is None or not (anyones or owner == by):
            raise Refusal("You have no such connected client.", reason="unknown")
        connection.execute(
            update(delegations)
            .where(delegations.c.id == delegation, delegations.c.revoked_at.is_(None))
            .values(revoked_at=now, revoked_by=by)
        )
        connection.execute(delete(tokens).where(tokens.c.delegation == delegation))


def narrowed(store: Store, delegation: Delegation, instance: str, roles: Iterable[Role]) -> Holdings:
    """What the delegation reaches now on each of `roles`: what its person holds now, cut to its rows.

    A write row reaches what may be read, too; a read row reaches accounts that its person may write, to read them.
    """
    with store.read() as connection:
        held = holdings_in(connection, delegation.subject, instance, roles)
    cut: dict[Role, Holding] = {}
    for role, holding in held.items():
        for row in delegation.rows:
            if (row.instance, row.role) == (instance, role):
                cut[role] = cut.get(role, Holding()) | _through(row, holding)
    return {role: holding for role, holding in cut.items() if holding.levels}


def note_use(connection: Connection, delegation: str, *, refused: bool, now: datetime) -> None:
    """Note that the client asked, and whether it was refused, inside a transaction."""
    values = {"last_used_at": now} | ({"last_refused_at": now} if refused else {})
    connection.execute(update(delegations).where(delegations.c.id == delegation).values(values))


def _through(row: AccessRow, held: Holding) -> Holding:
    reached: frozenset[Level] = frozenset({"write", "read"}) if row.level == "write" else frozenset({row.level})
    levels = reached & held.levels
    if row.level == "admin":
        return Holding(levels)
    return Holding(levels, held.read, held.write if "write" in levels else NO_ACCOUNTS)


def _holds(connection: Connection, subject: str, row: AccessRow) -> bool:
    roles = connection.scalar(select(instances.c.roles).where(instances.c.name == row.instance))
    if roles is None or row.role not in json.loads(roles):
        return False
    held = holdings_in(connection, subject, row.instance, (row.role,))
    return row.role in held and row.level in held[row.role].levels


def _named(row: AccessRow) -> str:
    return f"{row.instance}, {row.role}" if row.role else row.instance


def _listed(store: Store, wanted: Select[Any]) -> tuple[Delegation, ...]:
    with store.read() as connection:
        found = list(connection.execute(wanted.order_by(delegations.c.made_at.desc(), delegations.c.id).limit(1_000)))
        rows = _rows(connection, [each.id for each in found])
        return tuple(_delegation(each, rows.get(each.id, [])) for each in found)


def _rows(connection: Connection, ids: Sequence[str]) -> dict[str, list[AccessRow]]:
    found: dict[str, list[AccessRow]] = {}
    for row in connection.execute(select(delegation_rows).where(delegation_rows.c.delegation.in_(ids))):
        found.setdefault(row.delegation, []).append(AccessRow(row.instance, row.role, row.level))
    return found


def _delegation(row: Row[Any], rows: Iterable[AccessRow]) -> Delegation:
    return Delegation(
        row.id,
        row.subject,
        row.client_name,
        tuple(sorted(rows)),
        row.made_at,
        row.expires_at,
        row.revoked_at,
        row.revoked_by,
        row.last_used_at,
        row.last_refused_at,
    )
