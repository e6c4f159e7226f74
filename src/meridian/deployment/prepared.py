"""Prepared changes: acts that were checked and wait for a person to make them.

An act's arguments enter, as its plugin read and checked them, with who prepares it; a `Change` leaves, and what became of it,
step by step: by whom, through what, when. Here are its states and the moves between them, each one atomic claim in the
caller's transaction. Who may see and make one, and how a plugin is asked, are `preparing`'s matter.

    prepared ─▶ making ─▶ made, changed (with other values), unsure, or prepared again
        └─▶ discarded, withdrawn, lapsed            unsure ─▶ made, prepared

A change is `making` from before its act is called until its plugin has answered. The book takes one command under it, in the
transaction that writes the command down; so, whatever ends the process between, the change can tell whether it was made.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, Final, Literal, cast

from sqlalchemy import ColumnElement, Connection, Row, and_, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from meridian.callers import Caller
from meridian.deployment.fingerprints import new_id
from meridian.deployment.store import Store
from meridian.deployment.store.tables import inbox_places, prepared_changes, prepared_steps
from meridian.errors import Problem, Refusal

__all__ = [
    "LASTING_DAYS",
    "WAITING",
    "Arguments",
    "By",
    "Change",
    "Making",
    "State",
    "Step",
    "amend",
    "amenders",
    "begin",
    "command",
    "discard",
    "find",
    "keep",
    "keep_place",
    "kept",
    "note",
    "place_of",
    "refuse_instead",
    "settle",
    "settle_unsure",
    "steps_after",
    "steps_of",
    "sweep",
    "tidy",
    "withdraw",
]

State = Literal["prepared", "making", "made", "changed", "discarded", "withdrawn", "lapsed", "unsure"]

WAITING: Final[tuple[State, ...]] = ("prepared", "making")
LASTING_DAYS: Final = 14
LONGEST_REASON: Final = 2_000
_STEPS_TOLD: Final = 1_000
LONGEST_ARGUMENTS: Final = 1_000_000
_MOST_WAITING: Final = 500
"""How many changes one person, with all their clients, may have waiting."""

_t = prepared_changes.c


@dataclass(frozen=True)
class By:
    """Who did something, and through what: a person on a page, or a client of theirs. `subject` is None where the deployment
    did it itself."""

    subject: str | None = None
    display_name: str | None = None
    delegation_id: str | None = None
    client_name: str | None = None
    subject_kind: str = "person"
    owner_subject: str | None = None

    @classmethod
    def of(cls, caller: Caller) -> By:
        """Whoever calls."""
        return cls(
            caller.subject,
            caller.display_name,
            caller.delegation_id,
            caller.client_name,
            caller.subject_kind,
            caller.owner_subject,
        )


ITSELF: Final = By()


@dataclass(frozen=True)
class Arguments:
    """What an act is called with, as its plugin read it: its record's JSON, without what is secret; `alike`, the digest that
    two records share which a form would say alike; and the accounts it names."""

    json: str
    alike: str
    accounts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Making:
    """A change that is to be made: its revision, as a page showed it, and the arguments that came from there."""

    change: str
    revision: int
    arguments: Arguments


@dataclass(frozen=True)
class Change:
    """One act of an instance, prepared. `revision` counts its arguments, from 1."""

    id: str
    instance: str
    tool: str
    arguments: Arguments
    reason: str
    revision: int
    state: State
    by: By
    prepared_at: datetime
    lapses_at: datetime
    made_with: str | None = None
    call: str | None = None
    settled_by: str | None = None
    settled_by_name: str | None = None
    settled_at: datetime | None = None

    @property
    def waits(self) -> bool:
        """Whether somebody may make it still."""
        return self.state == "prepared"


@dataclass(frozen=True)
class Step:
    """Something that became of a change. `arguments` are its new ones, where there are any."""

    number: int
    change: str
    revision: int
    what: str
    at: datetime
    by: By
    reason: str
    arguments: str | None


def keep(
    connection: Connection,
    instance: str,
    tool: str,
    arguments: Arguments,
    *,
    by: By,
    reason: str,
    now: datetime,
    days: int = LASTING_DAYS,
) -> tuple[Change, bool]:
    """The act, prepared; True where it is a new change, False where it is one that waits already, with an equal record.

    Raises Refusal: `too_many_prepared`, or by the path of what is too long.
    """
    _check(reason, arguments)
    sweep(connection, now)
    for _ in range(2):
        found = connection.execute(
            select(prepared_changes).where(
                _t.instance == instance, _t.tool == tool, _t.alike == arguments.alike, _t.state.in_(WAITING)
            )
        ).one_or_none()
        if found is not None:
            note(connection, found.id, found.revision, "again", by=by, reason=reason, now=now)
            return _change(found), False
        mine = connection.scalar(
            select(func.count()).select_from(prepared_changes).where(_t.subject == by.subject, _t.state.in_(WAITING))
        )
        if (mine or 0) >= _MOST_WAITING:
            raise Refusal(
                f"{_MOST_WAITING} changes that you prepared wait already; withdraw some, or have them made.",
                reason="too_many_prepared",
            )
        try:
            with connection.begin_nested():
                return _add(connection, instance, tool, arguments, by, reason, now, days), True
        except IntegrityError:  # a sibling prepared the same meanwhile
            continue
    raise Refusal("The same change is being prepared by somebody else; try again.", reason="busy")


def find(connection: Connection, change: str) -> Change | None:
    """The change of that id, as it stood when the changes were last swept."""
    row = connection.execute(select(prepared_changes).where(_t.id == change)).one_or_none()
    return None if row is None else _change(row)


def kept(
    connection: Connection,
    *,
    instances: Iterable[str],
    subject: str,
    waiting: bool,
    before: tuple[datetime, str] | None = None,
    limit: int,
) -> tuple[Change, ...]:
    """Changes of these instances, and those that `subject` prepared, the latest first: those that wait, with those of which
    nobody knows; or those that are over. To be tidied before."""
    still = _t.state.in_((*WAITING, "unsure"))
    wanted = select(prepared_changes).where(
        still if waiting else ~still, or_(_t.instance.in_(list(instances)), _t.subject == subject)
    )
    if before is not None:
        at, last = before
        wanted = wanted.where(or_(_t.prepared_at < at, and_(_t.prepared_at == at, _t.id < last)))
    rows = connection.execute(wanted.order_by(_t.prepared_at.desc(), _t.id.desc()).limit(limit))
    return tuple(map(_change, rows))


def steps_of(connection: Connection, change: str) -> tuple[Step, ...]:
    """What became of the change, in order."""
    c = prepared_steps.c
    return tuple(map(_step, connection.execute(select(prepared_steps).where(c.change == change).order_by(c.number))))


def steps_after(connection: Connection, number: int, *, limit: int) -> tuple[Step, ...]:
    """The steps after that number, of whatever change, in order."""
    c = prepared_steps.c
    rows = connection.execute(select(prepared_steps).where(c.number > number).order_by(c.number).limit(limit))
    return tuple(map(_step, rows))


def amenders(connection: Connection, change: Change) -> frozenset[str]:
    """Who gave the change other arguments since it was prepared."""
    if change.revision == 1:
        return frozenset()
    c = prepared_steps.c
    said = select(c.subject).where(c.change == change.id, c.what == "amended", c.subject.is_not(None))
    return frozenset(connection.scalars(said))


def begin(connection: Connection, making: Making, *, call: str, until: datetime, by: By, now: datetime) -> Change:
    """Begin to make the change; nobody else may then, until it is settled. `call` is the one it is made by, which is over by
    `until`. Raises Refusal that says what became of the change instead."""
    sweep(connection, now)
    change, revision, arguments = making.change, making.revision, making.arguments
    begun = connection.execute(
        update(prepared_changes)
        .where(_t.id == change, _t.state == "prepared", _t.revision == revision)
        .values(
            state="making",
            call=call,
            making_until=until,
            made_arguments=arguments.json,
            made_alike=arguments.alike,
            settled_by=by.subject,
            settled_by_name=by.display_name,
        )
    )
    if begun.rowcount != 1:
        raise _instead(_row(connection, change, now), revision, now)
    note(connection, change, revision, "making", by=by, call=call, now=now)
    return _change(_row(connection, change, now))


def command(connection: Connection, change: str, *, call: str, now: datetime) -> str:
    """Take the one command that the book may take under a change that is being made by `call`, in the transaction that writes
    it down; the name of who prepared it. Raises Refusal for another."""
    taken = connection.execute(
        update(prepared_changes)
        .where(_t.id == change, _t.state == "making", _t.call == call, _t.commanded_at.is_(None))
        .values(commanded_at=now)
    )
    if taken.rowcount != 1:
        raise Refusal(
            f"The prepared change {change} takes one command, while it is being made; this one came past that.",
            reason="made_already",
        )
    return str(connection.scalar(select(_t.display_name).where(_t.id == change)))


def refuse_instead(connection: Connection, change: str, revision: int, now: datetime) -> Refusal | None:
    """Why the change is not to be made as its revision `revision`; None where it is."""
    row = _row(connection, change, now)
    return None if row.state == "prepared" and row.revision == revision else _instead(row, revision, now)


def settle(
    connection: Connection, change: str, *, call: str, outcome: str | None, sure: bool, reason: str | None, now: datetime
) -> None:
    """Settle a change by what its plugin answered in `call`: made, where the record was the prepared one, or changed. A refusal
    leaves it waiting, unless the book took its command. `sure` is False where nobody knows whether the act was made."""
    row = connection.execute(
        select(prepared_changes).where(_t.id == change, _t.state == "making", _t.call == call)
    ).one_or_none()
    if row is None:
        return
    if outcome in ("made", "unchanged") or row.commanded_at is not None:
        _made(connection, row, now)
    elif sure:
        _move(connection, row, "prepared", now, what="refused", reason=reason or "")
    else:
        _move(connection, row, "unsure", now)


def settle_unsure(connection: Connection, change: str, *, was_made: bool, by: By, now: datetime) -> Change:
    """What a person found out of a change of which nobody knew: that it was made, or not, and then it waits again. Raises
    Refusal where it is known, or where another with an equal record waits meanwhile."""
    row = _row(connection, change, now)
    if row.state != "unsure":
        raise _instead(row, row.revision, now)
    if was_made:
        return _made(connection, row, now, by=by)
    lapses = max(row.lapses_at, now + timedelta(days=1))
    return _move(connection, row, "prepared", now, by=by, what="not_made", values={"lapses_at": lapses})


def amend(
    connection: Connection, change: str, revision: int, arguments: Arguments, *, by: By, reason: str = "", now: datetime
) -> Change:
    """The change with other arguments, as its next revision: whoever has a page of the last one open cannot make it from there.
    Without a `reason` the one before stays. Raises Refusal that says what became of it instead, or that another with an equal
    record waits."""
    _check(reason, arguments)
    row = _row(connection, change, now)
    if row.state != "prepared" or row.revision != revision:
        raise _instead(row, revision, now)
    if row.alike == arguments.alike and reason in ("", row.reason):
        return _change(row)
    values = {
        "arguments": arguments.json,
        "alike": arguments.alike,
        "accounts": json.dumps(arguments.accounts),
        "reason": reason or row.reason,
        "revision": revision + 1,
    }
    return _move(connection, row, "prepared", now, by=by, what="amended", reason=reason, told=arguments.json, values=values)


def discard(connection: Connection, change: str, *, by: By, reason: str = "", now: datetime) -> Change:
    """The change, discarded by somebody who might have made it, or who settles one of which nobody knew. Raises Refusal that
    says what became of it instead."""
    return _end(connection, change, "discarded", by, reason, now)


def withdraw(connection: Connection, change: str, *, by: By, reason: str = "", now: datetime) -> Change:
    """The change, withdrawn by whoever prepared it. Raises Refusal that says what became of it instead."""
    return _end(connection, change, "withdrawn", by, reason, now)


def tidy(store: Store, now: datetime) -> None:
    """Sweep, where there is anything to be swept: before changes are read."""
    with store.read() as connection:
        if connection.execute(select(_t.id).where(_over(now)).limit(1)).first() is None:
            return
    store.rewrite(lambda connection: sweep(connection, now))


def place_of(connection: Connection, subject: str, delegation: str | None) -> int:
    """How far somebody has read what became of changes, on the pages or by one client: the number of the last step. What is
    older than the last thousand is nobody's news."""
    c = inbox_places.c
    found = connection.scalar(select(c.number).where(c.subject == subject, c.delegation == (delegation or "")))
    latest = connection.scalar(select(func.max(prepared_steps.c.number)))
    return max(int(found or 0), int(latest or 0) - _STEPS_TOLD)


def keep_place(connection: Connection, subject: str, delegation: str | None, number: int) -> None:
    """Keep it; it never goes back."""
    c = inbox_places.c
    mine = and_(c.subject == subject, c.delegation == (delegation or ""))
    moved = connection.execute(update(inbox_places).where(mine, c.number < number).values(number=number)).rowcount
    if not moved and connection.execute(select(c.number).where(mine)).first() is None:
        connection.execute(insert(inbox_places).values(subject=subject, delegation=delegation or "", number=number))


def sweep(connection: Connection, now: datetime) -> None:
    """Let lapse what waited past its day, and settle what was being made by a call that is over, as whatever ended the process
    left it: made where the book took its command, else unsure."""
    for row in connection.execute(select(prepared_changes).where(_over(now))).all():
        if row.state == "prepared":
            _move(connection, row, "lapsed", now)
        elif row.commanded_at is not None:
            _made(connection, row, now)
        else:
            _move(connection, row, "unsure", now)


def note(
    connection: Connection,
    change: str,
    revision: int,
    what: str,
    *,
    by: By,
    now: datetime,
    call: str | None = None,
    reason: str = "",
    arguments: str | None = None,
) -> None:
    """Write down a step."""
    connection.execute(
        insert(prepared_steps).values(
            change=change,
            revision=revision,
            what=what,
            at=now,
            subject=by.subject,
            display_name=by.display_name,
            delegation=by.delegation_id,
            client_name=by.client_name,
            call=call,
            reason=reason,
            arguments=arguments,
        )
    )


def _over(now: datetime) -> ColumnElement[bool]:
    return or_(
        and_(_t.state == "prepared", _t.lapses_at <= now),
        and_(_t.state == "making", _t.making_until <= now),
    )


def _add(
    connection: Connection,
    instance: str,
    tool: str,
    arguments: Arguments,
    by: By,
    reason: str,
    now: datetime,
    days: int,
) -> Change:
    made = new_id("PC")
    connection.execute(
        insert(prepared_changes).values(
            id=made,
            instance=instance,
            tool=tool,
            arguments=arguments.json,
            alike=arguments.alike,
            accounts=json.dumps(arguments.accounts),
            reason=reason,
            revision=1,
            state="prepared",
            subject=by.subject,
            display_name=by.display_name,
            subject_kind=by.subject_kind,
            owner_subject=by.owner_subject,
            delegation=by.delegation_id,
            client_name=by.client_name,
            prepared_at=now,
            lapses_at=now + timedelta(days=days),
        )
    )
    note(connection, made, 1, "prepared", by=by, reason=reason, arguments=arguments.json, now=now)
    return _change(_row(connection, made, now))


def _row(connection: Connection, change: str, now: datetime) -> Row[Any]:
    """The change's row, which nobody else writes until the transaction ends. Raises Refusal where there is none."""
    sweep(connection, now)
    row = connection.execute(select(prepared_changes).where(_t.id == change).with_for_update()).one_or_none()
    if row is None:
        raise Refusal("There is no such prepared change.", reason="unknown")
    return row


def _move(
    connection: Connection,
    row: Row[Any],
    state: State,
    now: datetime,
    *,
    by: By = ITSELF,
    what: str = "",
    reason: str = "",
    told: str | None = None,
    values: Mapping[str, Any] = MappingProxyType({}),
) -> Change:
    """Move a change on from where `row` says it is, and write down the step. Raises Refusal where an equal one waits."""
    try:
        with connection.begin_nested():
            moved = connection.execute(
                update(prepared_changes)
                .where(_t.id == row.id, _t.state == row.state, _t.revision == row.revision)
                .values(state=state, settled_at=None if state in WAITING else now, **values)
            )
    except IntegrityError:
        raise Refusal(
            "Another change with the same values waits already; this one cannot wait beside it.", reason="prepared_already"
        ) from None
    if moved.rowcount == 1:
        revision = values.get("revision", row.revision)
        note(
            connection,
            row.id,
            revision,
            what or state,
            by=by,
            call=row.call if row.state == "making" else None,
            reason=reason,
            arguments=told,
            now=now,
        )
    return _change(_row(connection, row.id, now))


def _made(connection: Connection, row: Row[Any], now: datetime, by: By | None = None) -> Change:
    """Made with what was prepared, or with other values, by whoever began to make it."""
    maker = by or By(row.settled_by, row.settled_by_name)
    if row.made_alike == row.alike:
        return _move(connection, row, "made", now, by=maker)
    return _move(connection, row, "changed", now, by=maker, told=row.made_arguments)


def _end(connection: Connection, change: str, state: State, by: By, reason: str, now: datetime) -> Change:
    _check_reason(reason)
    row = _row(connection, change, now)
    if row.state != "prepared" and not (row.state == "unsure" and state == "discarded"):
        raise _instead(row, row.revision, now)
    settled = {"settled_by": by.subject, "settled_by_name": by.display_name}
    return _move(connection, row, state, now, by=by, reason=reason, values=settled)


def _instead(row: Row[Any], revision: int, now: datetime) -> Refusal:
    """Why a change cannot be moved on as was wanted: what became of it."""
    who = row.settled_by_name or "somebody"
    when = f"{row.settled_at or now:%Y-%m-%d %H:%M} UTC"
    said = {
        "prepared": f"It was changed since: this is its revision {row.revision}, and you saw {revision}. Look at it anew.",
        "making": f"It is being made by {who} at this moment.",
        "made": f"It was made by {who}, {when}.",
        "changed": f"It was made with other values by {who}, {when}.",
        "discarded": f"It was discarded by {who}, {when}.",
        "withdrawn": f"It was withdrawn by {who}, {when}.",
        "lapsed": f"It lapsed on {row.lapses_at:%Y-%m-%d}, because nobody had made it.",
        "unsure": "Nobody knows whether it was made: look in the book, and say so on its page.",
    }
    return Refusal(f"{row.id}: {said[row.state]}", reason="changed_since" if row.state == "prepared" else row.state)


def _check(reason: str, arguments: Arguments) -> None:
    _check_reason(reason)
    if len(arguments.json) > LONGEST_ARGUMENTS:
        raise Refusal(
            f"Nothing was prepared: its record has {len(arguments.json):,} characters; at most {LONGEST_ARGUMENTS:,} are kept.",
            reason="too_long",
        )


def _check_reason(reason: str) -> None:
    if len(reason) > LONGEST_REASON:
        raise Refusal(
            "Nothing was changed.",
            [Problem("reason", f"it has {len(reason):,} characters; at most {LONGEST_REASON:,} are kept")],
        )


def _change(row: Row[Any]) -> Change:
    return Change(
        id=row.id,
        instance=row.instance,
        tool=row.tool,
        arguments=Arguments(row.arguments, row.alike, tuple(json.loads(row.accounts))),
        reason=row.reason,
        revision=row.revision,
        state=cast("State", row.state),
        by=By(row.subject, row.display_name, row.delegation, row.client_name, row.subject_kind, row.owner_subject),
        prepared_at=row.prepared_at,
        lapses_at=row.lapses_at,
        made_with=row.made_arguments,
        call=row.call,
        settled_by=row.settled_by,
        settled_by_name=row.settled_by_name,
        settled_at=row.settled_at,
    )


def _step(row: Row[Any]) -> Step:
    by = By(row.subject, row.display_name, row.delegation, row.client_name)
    return Step(row.number, row.change, row.revision, row.what, row.at, by, row.reason, row.arguments)
