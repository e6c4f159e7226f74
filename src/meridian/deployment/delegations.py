"""A person's leave for one client to ask on their behalf.

A person, a client and what it is to cover enter: everything the person holds, as that changes, or rows (a plugin's role at a
level). A `Delegation` leaves and, for a client without a browser, once its token, which the client alone knows: here is its
fingerprint. What a delegation reaches is worked out anew at each asking, as what the person holds at that moment, cut to the
rows; so it never grants more than they hold. Nor does one of rows grow by itself: a tool that acts is reached only where its
person was shown it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection, Row, Select, and_, delete, func, insert, or_, select, update

from meridian.callers import NO_ACCOUNTS, Holding, Holdings, Level, Role
from meridian.deployment.access import AccessRow, holdings_in
from meridian.deployment.allowing import Allows
from meridian.deployment.fingerprints import fingerprint, new_id, new_token, same
from meridian.deployment.reaching import DASHBOARD
from meridian.deployment.store import Store
from meridian.deployment.store.tables import delegation_acts, delegation_rows, delegations, instances, people, tokens
from meridian.errors import Problem, Refusal

__all__ = [
    "LASTING_DAYS",
    "TOKEN_PREFIX",
    "Act",
    "Covers",
    "Delegation",
    "by_token",
    "every_delegation",
    "find",
    "held_by",
    "latest_of",
    "lend",
    "make",
    "make_by_hand",
    "narrowed",
    "note_use",
    "revoke",
    "revoke_in",
]

LASTING_DAYS: Final = (7, 30, 90)
TOKEN_PREFIX: Final = "mrd_"  # noqa: S105  what every token begins with
"""What a client's token begins with, so that one is known where it does not belong."""

_NOTICE: Final = timedelta(days=7)
_MOST_ROWS: Final = 500
_MOST_STANDING: Final = 100


Act = tuple[str, str]
"""A tool that acts: its instance, and its name there."""


@dataclass(frozen=True)
class Covers:
    """What a delegation is for: everything its person holds, as that changes, or rows.

    `acts` are those that its person was shown under the rows; None where they were not kept, and acts follow the rows.
    `prepares` are the rows whose acts it may prepare and not make; `only_prepares` says the same of everything.
    """

    rows: tuple[AccessRow, ...] = ()
    everything: bool = False
    acts: frozenset[Act] | None = None
    prepares: frozenset[AccessRow] = frozenset()
    only_prepares: bool = False


@dataclass(frozen=True)
class Delegation:
    """One client's leave to ask as one person, for what it covers and until it expires or is revoked.

    `client` is the id by which the client asked for it; None where it was made by hand.
    """

    id: str
    subject: str
    client_name: str
    covers: Covers
    made_at: datetime
    expires_at: datetime
    revoked_at: datetime | None = None
    revoked_by: str | None = None
    last_used_at: datetime | None = None
    last_refused_at: datetime | None = None
    client: str | None = None

    @property
    def rows(self) -> tuple[AccessRow, ...]:
        """The rows it covers; none where it covers everything."""
        return self.covers.rows

    def stands(self, now: datetime) -> bool:
        """Whether the client may ask by it at that moment."""
        return self.revoked_at is None and now < self.expires_at

    def lapses_soon(self, now: datetime) -> bool:
        """Whether its time is over within a week, or within a third of it where it lasts no longer than that."""
        notice = min(_NOTICE, (self.expires_at - self.made_at) / 3)
        return self.stands(now) and self.expires_at - now <= notice

    def reaches(self, instance: str) -> bool:
        """Whether it may reach anything of the instance; on the dashboard every one may, to look."""
        return instance == DASHBOARD or self.covers.everything or any(row.instance == instance for row in self.rows)

    def awaits_consent(self, act: Act) -> bool:
        """Whether a tool that acts is one that its person was not shown: one added since, or one that only read then."""
        return not self.covers.everything and self.covers.acts is not None and act not in self.covers.acts


def make_by_hand(
    store: Store,
    subject: str,
    client_name: str,
    rows: Iterable[AccessRow],
    days: int,
    *,
    now: datetime,
    acts: frozenset[Act] | None = None,
    prepares: frozenset[AccessRow] = frozenset(),
) -> tuple[Delegation, str]:
    """A new delegation for a client without a browser, and the token to be shown once.

    Raises Refusal, with the fields named, for days other than 7, 30 or 90, for no row or one the person does not hold, and
    for a client without a name.
    """
    name = " ".join(client_name.split())
    covers = Covers(tuple(sorted(set(rows))), acts=acts, prepares=prepares)
    with store.write() as connection:
        _check(connection, subject, name, covers, days, now)
        token = new_token(TOKEN_PREFIX)
        made = _write(connection, subject, name, None, covers, days, now)
        _write_token(connection, made, token)
        return made, token


def make(
    connection: Connection, *, subject: str, client: str, client_name: str, covers: Covers, days: int, now: datetime
) -> Delegation:
    """The person's delegation for the client that asks, inside a transaction that is open: a new one, or the one that stands
    for that client, made over. Raises Refusal as `make_by_hand` does."""
    name = " ".join(client_name.split())
    connection.execute(select(people.c.subject).where(people.c.subject == subject).with_for_update())
    standing = _latest(connection, subject, client)
    if standing is None or not standing.stands(now):
        _check(connection, subject, name, covers, days, now)
        return _write(connection, subject, name, client, covers, days, now)
    _check(connection, subject, name, covers, days, now, one_more=False)
    renewed = replace(standing, client_name=name, covers=covers, expires_at=now + timedelta(days=days))
    for table in (delegation_rows, delegation_acts):
        connection.execute(delete(table).where(table.c.delegation == renewed.id))
    connection.execute(
        update(delegations)
        .where(delegations.c.id == renewed.id)
        .values(
            client_name=name,
            expires_at=renewed.expires_at,
            everything=covers.everything,
            prepares=covers.only_prepares,
            acts_kept=covers.acts is not None,
        )
    )
    _write_covers(connection, renewed)
    return renewed


def lend(
    connection: Connection, subject: str, client_name: str, rows: Sequence[AccessRow], days: int, token: str, *, now: datetime
) -> Delegation:
    """Write a delegation whose token is `token`, unchecked, inside a transaction that is open."""
    made = _write(connection, subject, client_name, None, Covers(tuple(rows)), days, now)
    _write_token(connection, made, token)
    return made


def by_token(store: Store, token: str, *, now: datetime, resource: str | None = None) -> Delegation | None:
    """The delegation that `token` speaks for, until the first of the two expires; None where there is none that stands, or its
    person has gone.

    `resource` is the address it is presented at: a token that was given for one address is nothing at another, and none of
    those is anything where there is no address.
    """
    print_ = fingerprint(token)
    with store.read() as connection:
        row = connection.execute(
            select(tokens.c.fingerprint, tokens.c.expires_at.label("token_expires_at"), delegations)
            .join(delegations, delegations.c.id == tokens.c.delegation)
            .join(people, people.c.subject == delegations.c.subject)
            .where(
                tokens.c.fingerprint == print_,
                or_(tokens.c.kind == "hand", and_(tokens.c.kind == "access", tokens.c.resource == resource)),
                people.c.left_at.is_(None),
            )
        ).one_or_none()
        if row is None or not same(row.fingerprint, print_):
            return None
        [whole] = _whole(connection, [row])
    found = replace(whole, expires_at=min(whole.expires_at, row.token_expires_at))
    return found if found.stands(now) else None


def find(store: Store, delegation: str) -> Delegation | None:
    """The delegation of that id, whether or not it stands."""
    return next(iter(_listed(store, select(delegations).where(delegations.c.id == delegation))), None)


def held_by(store: Store, subject: str) -> tuple[Delegation, ...]:
    """Every delegation of the person, the latest first, those that stand no longer among them."""
    return _listed(store, select(delegations).where(delegations.c.subject == subject))


def latest_of(store: Store, subject: str, client: str) -> Delegation | None:
    """The last delegation that the person made for the client and did not revoke, whether or not its time is over."""
    with store.read() as connection:
        return _latest(connection, subject, client)


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
        revoke_in(connection, delegation, by=by, now=now)


def revoke_in(connection: Connection, delegation: str, *, by: str | None, now: datetime) -> None:
    """Revoke the delegation, unchecked, inside a transaction that is open. `by` is None where the deployment does it itself."""
    connection.execute(
        update(delegations)
        .where(delegations.c.id == delegation, delegations.c.revoked_at.is_(None))
        .values(revoked_at=now, revoked_by=by)
    )
    connection.execute(delete(tokens).where(tokens.c.delegation == delegation))


def narrowed(
    store: Store, delegation: Delegation, instance: str, roles: Iterable[Role], *, going: Allows = "may_not"
) -> Holdings:
    """What the delegation reaches now on each of `roles`: what its person holds now, cut to its rows where it has some.

    A write row reaches what may be read, too; a read row reaches accounts that its person may write, to read them. `going`
    leaves of it what was granted, and lent, to go that far with its acts at least.
    """
    covers = delegation.covers
    with store.read() as connection:
        held = holdings_in(connection, delegation.subject, instance, roles, going=going)
    if covers.everything:
        return {} if covers.only_prepares and going == "make" else held
    cut: dict[Role, Holding] = {}
    for role, holding in held.items():
        for row in delegation.rows:
            if going == "make" and row in covers.prepares:
                continue
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


def _check(
    connection: Connection, subject: str, name: str, covers: Covers, days: int, now: datetime, *, one_more: bool = True
) -> None:
    """Raise the Refusal of a delegation that may not be made so; `one_more` says that it is not one there is, made over."""
    problems = []
    if not 1 <= len(name) <= 200:
        problems.append(Problem("client_name", "give the client a name, of at most 200 characters"))
    if days not in LASTING_DAYS:
        problems.append(Problem("days", f"{days} is no choice; it lasts 7, 30 or 90 days"))
    if not covers.everything and not 1 <= len(covers.rows) <= _MOST_ROWS:
        problems.append(Problem("rows", f"tick at least one row, and at most {_MOST_ROWS}"))
    if problems:
        raise Refusal("Nothing was lent yet; put right what is named here.", problems)
    beyond = [row for row in covers.rows if not _holds(connection, subject, row)]
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
    if one_more and (standing or 0) >= _MOST_STANDING:
        raise Refusal(f"You have {_MOST_STANDING} connected clients; revoke one first.")


def _write(
    connection: Connection, subject: str, name: str, client: str | None, covers: Covers, days: int, now: datetime
) -> Delegation:
    made = Delegation(new_id("D"), subject, name, covers, now, now + timedelta(days=days), client=client)
    connection.execute(
        insert(delegations).values(
            id=made.id,
            subject=subject,
            client_name=name,
            client=client,
            everything=covers.everything,
            prepares=covers.only_prepares,
            acts_kept=covers.acts is not None,
            made_by="hand" if client is None else "consent",
            made_at=now,
            expires_at=made.expires_at,
        )
    )
    _write_covers(connection, made)
    return made


def _write_covers(connection: Connection, made: Delegation) -> None:
    for row in made.rows:
        connection.execute(
            insert(delegation_rows).values(
                delegation=made.id,
                instance=row.instance,
                role=row.role,
                level=row.level,
                prepares=row in made.covers.prepares,
            )
        )
    for instance, tool in sorted(made.covers.acts or ()):
        connection.execute(insert(delegation_acts).values(delegation=made.id, instance=instance, tool=tool))


def _write_token(connection: Connection, made: Delegation, token: str) -> None:
    connection.execute(
        insert(tokens).values(
            fingerprint=fingerprint(token), delegation=made.id, kind="hand", made_at=made.made_at, expires_at=made.expires_at
        )
    )


def _latest(connection: Connection, subject: str, client: str) -> Delegation | None:
    wanted = (
        select(delegations)
        .where(delegations.c.subject == subject, delegations.c.client == client, delegations.c.revoked_at.is_(None))
        .order_by(delegations.c.made_at.desc(), delegations.c.id)
        .limit(1)
    )
    return next(iter(_whole(connection, list(connection.execute(wanted)))), None)


def _listed(store: Store, wanted: Select[Any]) -> tuple[Delegation, ...]:
    with store.read() as connection:
        found = connection.execute(wanted.order_by(delegations.c.made_at.desc(), delegations.c.id).limit(1_000))
        return _whole(connection, list(found))


def _whole(connection: Connection, found: Sequence[Row[Any]]) -> tuple[Delegation, ...]:
    """The delegations of these rows of their table, each with what it covers."""
    ids = [each.id for each in found]
    rows: dict[str, list[AccessRow]] = {}
    prepares: dict[str, set[AccessRow]] = {}
    for row in connection.execute(select(delegation_rows).where(delegation_rows.c.delegation.in_(ids))):
        named = AccessRow(row.instance, row.role, row.level)
        rows.setdefault(row.delegation, []).append(named)
        if row.prepares:
            prepares.setdefault(row.delegation, set()).add(named)
    acts: dict[str, set[Act]] = {each.id: set() for each in found if each.acts_kept}
    if acts:
        for row in connection.execute(select(delegation_acts).where(delegation_acts.c.delegation.in_(list(acts)))):
            acts[row.delegation].add((row.instance, row.tool))
    return tuple(
        Delegation(
            each.id,
            each.subject,
            each.client_name,
            Covers(
                tuple(sorted(rows.get(each.id, ()))),
                each.everything,
                frozenset(acts[each.id]) if each.acts_kept else None,
                frozenset(prepares.get(each.id, ())),
                each.prepares,
            ),
            each.made_at,
            each.expires_at,
            each.revoked_at,
            each.revoked_by,
            each.last_used_at,
            each.last_refused_at,
            each.client,
        )
        for each in found
    )
