"""The record of calls to plugins: opened before the plugin is asked, closed when it has answered.

A caller and an instance enter; a call's id leaves, which the signed header carries and the operations door asks about. A
tool's call stays, for its person to see with its client: which tool, when, at which level, with what outcome; never what
was asked or answered. A browser's call leaves no row behind.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import BigInteger, Connection, bindparam, delete, exists, insert, or_, select, update

from meridian.callers import Accounts, Caller, Level
from meridian.deployment.fingerprints import new_id
from meridian.deployment.store import Store
from meridian.deployment.store.prepared import Prepared
from meridian.deployment.store.tables import account_sets, calls, revision
from meridian.pages.assertion import LISTED_ACCOUNTS, digest_of_accounts

__all__ = [
    "CallRecord",
    "Opening",
    "StoredCalls",
    "close_call",
    "close_in",
    "is_open",
    "is_open_in",
    "kept_account_sets",
    "listed",
    "open_call",
    "open_in",
    "prune",
    "record_unasked",
]

_KEPT_DAYS: Final = 400
_MOST_LISTED: Final = 500

_OPENED: Final = ("id", "instance", "subject", "level", "acts", "opened_at", "expires_at", "delegation", "tool")
_SEEN: Final = bindparam("revision", type_=BigInteger)
_OPEN: Final = Prepared(
    insert(calls).from_select(
        _OPENED,
        select(*(bindparam(name, type_=calls.c[name].type) for name in _OPENED)).where(
            or_(_SEEN.is_(None), exists().where(revision.c.number == _SEEN))
        ),
    ),
)
_CLOSE: Final = Prepared(
    update(calls)
    .where(calls.c.id == bindparam("call"), calls.c.closed_at.is_(None), calls.c.tool.is_not(None))
    .values({name: bindparam(name) for name in ("closed_at", "outcome", "reason")})
)


@dataclass(frozen=True)
class CallRecord:
    """A tool's call as its person sees it. `outcome` is None while it is open, and for one that was never answered."""

    id: str
    tool: str
    level: Level
    opened_at: datetime
    closed_at: datetime | None
    outcome: str | None
    reason: str | None


def open_call(
    store: Store,
    caller: Caller,
    *,
    instance: str,
    acts: bool,
    lasts: timedelta,
    now: datetime,
    tool: str | None = None,
) -> str:
    """Open a call of `caller` to `instance`, and answer with its id. It is open until closed, or until `lasts` has passed.

    `tool` is the name on the surface, for a tool's call. The caller's large sets of accounts are kept for as long, for the
    plugin and the door to fetch by their digests.
    """
    made = new_id("C")
    opening = Opening(id=made, caller=caller, instance=instance, acts=acts, lasts=lasts, now=now, tool=tool)
    store.rewrite(lambda connection: open_in(connection, opening))
    return made


@dataclass(frozen=True, kw_only=True)
class Opening:
    """A call that is to be opened. `revision` is the one its caller was worked out under: under another it is not opened."""

    id: str
    caller: Caller
    instance: str
    acts: bool
    lasts: timedelta
    now: datetime
    tool: str | None = None
    revision: int | None = None


def open_in(connection: Connection, opening: Opening) -> bool:
    """Open the call, inside a transaction; whether it was, which only a revision that has passed can be in the way of."""
    caller = opening.caller
    until = opening.now + opening.lasts
    sets = {
        digest_of_accounts(reached.ids): reached
        for holding in caller.holdings.values()
        for reached in (holding.read, holding.write)
        if len(reached.ids) > LISTED_ACCOUNTS
    }
    if sets:
        _keep_sets(connection, sets, until)
    values = {
        "id": opening.id,
        "instance": opening.instance,
        "subject": caller.subject,
        "level": caller.level,
        "acts": opening.acts,
        "opened_at": opening.now,
        "expires_at": until,
        "delegation": caller.delegation_id,
        "tool": opening.tool,
        "revision": opening.revision,
    }
    return _OPEN.run(connection, values) == 1


def close_call(store: Store, call_id: str, *, now: datetime, outcome: str | None = None, reason: str | None = None) -> None:
    """Close the call: from here on the door admits nothing for it. A browser's is forgotten; a tool's keeps its outcome, as far
    as what its plugin said of it are words."""
    with store.write() as connection:
        close_in(connection, call_id, now=now, outcome=outcome, reason=reason)


def close_in(
    connection: Connection, call_id: str, *, now: datetime, outcome: str | None = None, reason: str | None = None
) -> None:
    """`close_call`, inside a transaction that is open already."""
    closed = _CLOSE.run(
        connection, {"call": call_id, "closed_at": now, "outcome": _word(outcome, 20), "reason": _word(reason, 60)}
    )
    if not closed:
        connection.execute(delete(calls).where(calls.c.id == call_id, calls.c.tool.is_(None)))


def record_unasked(
    connection: Connection,
    caller: Caller,
    *,
    instance: str,
    tool: str,
    now: datetime,
    outcome: str = "refused",
    reason: str | None = None,
) -> None:
    """Record a tool's call that was answered without its plugin being asked, inside a transaction."""
    connection.execute(
        insert(calls).values(
            id=new_id("C"),
            instance=instance[:64],
            subject=caller.subject,
            level=caller.level,
            acts=False,
            opened_at=now,
            expires_at=now,
            closed_at=now,
            delegation=caller.delegation_id,
            tool=tool[:200],
            outcome=outcome,
            reason=reason and reason[:60],
        )
    )


def is_open(store: Store, call_id: str, *, now: datetime) -> bool:
    """Whether the call was opened, is not closed, and has not outlived its time."""
    with store.read() as connection:
        return is_open_in(connection, call_id, now=now)


def is_open_in(connection: Connection, call_id: str, *, now: datetime) -> bool:
    """`is_open`, inside a transaction, which holds the call open until it ends."""
    return (
        connection.scalar(
            select(calls.c.id)
            .where(calls.c.id == call_id, calls.c.closed_at.is_(None), calls.c.expires_at > now)
            .with_for_update(read=True)
        )
        is not None
    )


def listed(store: Store, delegation: str, *, limit: int = 100, before: datetime | None = None) -> tuple[CallRecord, ...]:
    """The calls made by a delegation, the latest first; those before a moment, to go on."""
    wanted = select(calls).where(calls.c.delegation == delegation, calls.c.tool.is_not(None))
    if before is not None:
        wanted = wanted.where(calls.c.opened_at < before)
    with store.read() as connection:
        rows = connection.execute(wanted.order_by(calls.c.opened_at.desc(), calls.c.id).limit(min(max(limit, 1), _MOST_LISTED)))
        return tuple(
            CallRecord(row.id, row.tool, row.level, row.opened_at, row.closed_at, row.outcome, row.reason) for row in rows
        )


def kept_account_sets(store: Store, digests: frozenset[str]) -> Mapping[str, frozenset[str]]:
    """The sets of accounts kept under these digests."""
    with store.read() as connection:
        rows = connection.execute(select(account_sets).where(account_sets.c.digest.in_(digests)))
        return {row.digest: frozenset(json.loads(row.ids)) for row in rows}


def prune(store: Store, *, now: datetime) -> None:
    """Forget what no longer matters: browsers' calls that outlived their time, tools' calls of more than 400 days, and sets
    of accounts no open call names. To be called now and then."""
    with store.write() as connection:
        connection.execute(
            delete(calls).where(
                or_(
                    calls.c.tool.is_(None) & (calls.c.expires_at < now - timedelta(hours=1)),
                    calls.c.opened_at < now - timedelta(days=_KEPT_DAYS),
                )
            )
        )
        connection.execute(delete(account_sets).where(account_sets.c.kept_until < now))


class StoredCalls:
    """The calls of a store, as the gateway opens them and the operations door asks about them.

    Those that this process has open it knows by itself: nobody else closes them.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._open_here: dict[str, datetime] = {}

    async def open(self, opening: Opening) -> bool:
        """Open the call; whether it was, which only a revision that has passed can be in the way of.

        What is about to act is known to the disk before its plugin is; that something is read may be lost in a power cut.
        """
        keep = self._store.keep_lasting if opening.acts else self._store.keep
        opened = await keep(open_in, opening)
        if opened:
            self._open_here[opening.id] = opening.now + opening.lasts
        return opened

    async def close(self, call_id: str, *, now: datetime, outcome: str | None = None, reason: str | None = None) -> None:
        """Close the call: from here on the door admits nothing for it."""
        self._open_here.pop(call_id, None)
        await self._store.keep(close_in, call_id, now=now, outcome=outcome, reason=reason)

    async def is_open(self, call_id: str, *, now: datetime) -> bool:
        """Whether the call was opened, is not closed, and has not outlived its time."""
        until = self._open_here.get(call_id)
        return now < until if until is not None else await self._store.look(is_open_in, call_id, now=now)

    async def account_sets(self, digests: frozenset[str]) -> Mapping[str, frozenset[str]]:
        """The sets of accounts kept under these digests."""
        return await self._store.run(kept_account_sets, digests)


def _word(said: object, longest: int) -> str | None:
    """What a plugin said, where that is a word; it may say anything, and its call is to be closed all the same."""
    return said[:longest] if isinstance(said, str) and said.isprintable() else None


def _keep_sets(connection: Connection, sets: Mapping[str, Accounts], until: datetime) -> None:
    present: Sequence[str] = connection.scalars(select(account_sets.c.digest).where(account_sets.c.digest.in_(sets))).all()
    connection.execute(
        update(account_sets)
        .where(account_sets.c.digest.in_(present), account_sets.c.kept_until < until)
        .values(kept_until=until)
    )
    for digest, reached in sets.items():
        if digest not in present:
            connection.execute(
                insert(account_sets).values(digest=digest, ids=json.dumps(sorted(reached.ids)), kept_until=until)
            )
