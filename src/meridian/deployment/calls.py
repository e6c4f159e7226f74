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

from sqlalchemy import (
    BigInteger,
    Connection,
    Integer,
    and_,
    bindparam,
    case,
    delete,
    exists,
    func,
    insert,
    literal_column,
    or_,
    select,
    update,
)

from meridian.callers import Accounts, Caller, Level
from meridian.deployment import prepared
from meridian.deployment.fingerprints import new_id
from meridian.deployment.prepared import Making
from meridian.deployment.store import Store
from meridian.deployment.store.prepared import Prepared
from meridian.deployment.store.revision import read_revision
from meridian.deployment.store.tables import account_sets, call_minutes, calls, recent_acts, revision
from meridian.pages.assertion import LISTED_ACCOUNTS, digest_of_accounts

__all__ = [
    "CallLimits",
    "CallRecord",
    "Opened",
    "Opening",
    "StoredCalls",
    "TooMany",
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
_REPEATED_WITHIN: Final = timedelta(seconds=60)
PERHAPS_MADE: Final = frozenset({"failed", "timed_out", "untyped"})
"""Refusals after which nobody knows whether the act was made."""

_OPENED: Final = ("id", "instance", "subject", "level", "acts", "opened_at", "expires_at", "delegation", "tool")
_SEEN: Final = bindparam("revision", type_=BigInteger)
_OPEN: Final = Prepared(
    insert(calls).from_select(
        _OPENED,
        select(*(bindparam(name, type_=calls.c[name].type) for name in _OPENED)).where(
            or_(_SEEN.is_(None), exists().where(revision.c.number == _SEEN)),
            select(func.count())
            .where(
                calls.c.delegation == bindparam("delegation"),
                calls.c.closed_at.is_(None),
                calls.c.expires_at > bindparam("opened_at", type_=calls.c.opened_at.type),
            )
            .scalar_subquery()
            < bindparam("at_once", type_=Integer),
        ),
    ),
)
_CLOSE: Final = Prepared(
    update(calls)
    .where(calls.c.id == bindparam("call"), calls.c.closed_at.is_(None), calls.c.tool.is_not(None))
    .values({name: bindparam(name) for name in ("closed_at", "outcome", "reason")})
)
_MINUTE: Final = bindparam("minute", type_=BigInteger)
_COUNT: Final = Prepared(
    update(call_minutes)
    .where(
        call_minutes.c.delegation == bindparam("of"),
        or_(call_minutes.c.minute != _MINUTE, call_minutes.c.calls < bindparam("most", type_=Integer)),
    )
    .values(minute=_MINUTE, calls=case((call_minutes.c.minute == _MINUTE, call_minutes.c.calls + 1), else_=1))
)
"""Counts one call more, where it is not one too many. Its row stays locked until the transaction ends, so that the calls of one
delegation are opened one after another, on PostgreSQL as well, and of two acts alike the second finds the first."""

_MARK: Final = Prepared(insert(recent_acts).values({each.name: bindparam(each.name) for each in recent_acts.c}))
_FORGET: Final = Prepared(
    delete(recent_acts).where(recent_acts.c.opened_at <= bindparam("until", type_=recent_acts.c.opened_at.type))
)
_UNSURE: Final = or_(
    calls.c.outcome.is_(None),
    and_(calls.c.outcome == "refused", or_(*(calls.c.reason == each for each in sorted(PERHAPS_MADE)))),
)
_SAME: Final = Prepared(
    select(calls.c.id, case((_UNSURE, "unsure"), else_=calls.c.outcome).label("came"))
    .join(recent_acts, recent_acts.c.call == calls.c.id)
    .where(recent_acts.c.mark == bindparam("mark"), or_(_UNSURE, calls.c.outcome != "refused"))
    .order_by(recent_acts.c.opened_at.desc())
    .limit(literal_column("1"))
)
"""The last act with a mark, and what came of it; one that was refused is none."""


@dataclass(frozen=True)
class CallLimits:
    """How many calls a delegation may have under way, and make in a minute of the clock."""

    at_once: int = 32
    per_minute: int = 600


@dataclass(frozen=True)
class Opened:
    """A call that was opened. `repeat_of` is the same act of the same delegation within the last minute, and what came of it:
    `made`, `unchanged`, or `unsure` where it is under way or nobody knows."""

    repeat_of: tuple[str, str] | None = None


class TooMany(Exception):
    """A call that was not opened, because its delegation makes as many as it may; `detail` says so."""

    def __init__(self, detail: str) -> None:
        self.detail = detail
        super().__init__(detail)


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
    """A call that is to be opened. `revision` is the one its caller was worked out under: under another it is not opened.

    `mark` is what an act of a client's has in common with the same one sent again; one that `has_key` is known by that instead.
    `making` is the prepared change that it makes: where that is not to be made so, the call is not opened, and Refusal raised.
    """

    id: str
    caller: Caller
    instance: str
    acts: bool
    lasts: timedelta
    now: datetime
    tool: str | None = None
    revision: int | None = None
    mark: str | None = None
    has_key: bool = False
    making: Making | None = None


def open_in(connection: Connection, opening: Opening, limits: CallLimits = CallLimits()) -> Opened | TooMany | None:
    """Open the call, inside a transaction. TooMany where its delegation is at one of its limits; None where the revision has
    passed."""
    caller = opening.caller
    until = opening.now + opening.lasts
    if caller.delegation_id is not None and (said := _count(connection, caller.delegation_id, opening.now, limits)):
        return said
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
        "at_once": limits.at_once,
    }
    found = None
    if opening.mark is not None and not opening.has_key:
        found = _same_act(connection, opening.mark, opening.now)
    if _OPEN.run(connection, values) == 0:
        if opening.revision is not None and opening.revision != read_revision(connection):
            minutes = call_minutes.c  # the call comes again, and is counted then
            connection.execute(
                update(call_minutes).where(minutes.delegation == caller.delegation_id).values(calls=minutes.calls - 1)
            )
            return None
        return TooMany(
            f"This client has {_calls(limits.at_once)} under way, as many as it may at once. Nothing was asked; call again "
            "when one of them is answered."
        )
    if opening.making is not None:
        by = prepared.By.of(caller)
        prepared.begin(connection, opening.making, call=opening.id, until=until, by=by, now=opening.now)
    if opening.mark is not None:
        _MARK.run(connection, {"call": opening.id, "mark": opening.mark, "opened_at": opening.now})
    return Opened(found)


def _count(connection: Connection, delegation: str, now: datetime, limits: CallLimits) -> TooMany | None:
    """Count a call of the delegation; TooMany, and it is not counted, where it made as many in this minute as it may."""
    minute, second = divmod(int(now.timestamp()), 60)
    if _COUNT.run(connection, {"of": delegation, "minute": minute, "most": limits.per_minute}):
        return None
    known = connection.execute(select(call_minutes.c.minute).where(call_minutes.c.delegation == delegation)).one_or_none()
    if known is None:
        connection.execute(insert(call_minutes).values(delegation=delegation, minute=minute, calls=1))
        return None
    return TooMany(
        f"This client made {_calls(limits.per_minute)} in this minute, as many as it may. Nothing was asked; call again in "
        f"{60 - second} seconds."
    )


def _calls(number: int) -> str:
    return f"{number} call{'' if number == 1 else 's'}"


def _same_act(connection: Connection, mark: str, now: datetime) -> tuple[str, str] | None:
    """The last call with this mark within a minute, and what came of it; one that was refused is none. Older marks are
    forgotten."""
    _FORGET.run(connection, {"until": now - _REPEATED_WITHIN})
    found = _SAME.rows(connection, {"mark": mark})
    return (found[0].id, found[0].came) if found else None


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
    limits: CallLimits = CallLimits(),
) -> TooMany | None:
    """Record a tool's call that was answered without its plugin being asked, inside a transaction; TooMany, and it is not
    recorded, where its delegation made as many calls in this minute as it may."""
    if caller.delegation_id is not None and (said := _count(connection, caller.delegation_id, now, limits)):
        return said
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
    return None


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

    def __init__(self, store: Store, limits: CallLimits = CallLimits()) -> None:
        self._store = store
        self._limits = limits
        self._open_here: dict[str, datetime] = {}

    async def open(self, opening: Opening) -> Opened | TooMany | None:
        """Open the call. TooMany where its delegation is at one of its limits; None where the revision has passed.

        What is about to act is known to the disk before its plugin is; that something is read may be lost in a power cut.
        """
        keep = self._store.keep_lasting if opening.acts else self._store.keep
        opened = await keep(open_in, opening, self._limits)
        if isinstance(opened, Opened):
            self._open_here[opening.id] = opening.now + opening.lasts
        return opened

    async def close(
        self,
        call_id: str,
        *,
        now: datetime,
        outcome: str | None = None,
        reason: str | None = None,
        making: Making | None = None,
    ) -> None:
        """Close the call: from here on the door admits nothing for it. The prepared change that it made is settled with it."""
        self._open_here.pop(call_id, None)
        if making is None:
            await self._store.keep(close_in, call_id, now=now, outcome=outcome, reason=reason)
        else:
            await self._store.keep_lasting(_settle_in, call_id, making, now=now, outcome=outcome, reason=reason)

    async def record_unasked(
        self, caller: Caller, *, instance: str, tool: str, now: datetime, outcome: str, reason: str | None
    ) -> TooMany | None:
        """Record a tool's call that was answered without its plugin being asked; TooMany, and it is not recorded, where its
        delegation made as many calls in this minute as it may."""
        return await self._store.keep(
            record_unasked,
            caller,
            instance=instance,
            tool=tool,
            now=now,
            outcome=outcome,
            reason=reason,
            limits=self._limits,
        )

    async def is_open(self, call_id: str, *, now: datetime) -> bool:
        """Whether the call was opened, is not closed, and has not outlived its time."""
        until = self._open_here.get(call_id)
        return now < until if until is not None else await self._store.look(is_open_in, call_id, now=now)

    async def account_sets(self, digests: frozenset[str]) -> Mapping[str, frozenset[str]]:
        """The sets of accounts kept under these digests."""
        return await self._store.run(kept_account_sets, digests)


def _settle_in(
    connection: Connection, call_id: str, making: Making, *, now: datetime, outcome: str | None, reason: str | None
) -> None:
    """Close the call, and settle the prepared change that it was to make."""
    sure = outcome is not None and reason not in PERHAPS_MADE
    reason = _word(reason, 60)
    prepared.settle(connection, making.change, call=call_id, outcome=outcome, sure=sure, reason=reason, now=now)
    close_in(connection, call_id, now=now, outcome=outcome, reason=reason)


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
