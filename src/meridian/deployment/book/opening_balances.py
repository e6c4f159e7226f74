"""Opening balances in the store.

An admitted command and its provenance enter; an entry leaves, made or found. Entries are only ever added. For an account
and a day the last one added stands, and recording what stands changes nothing. Who may record is settled at the door; that
the call is still open is looked at again here, in the transaction that writes, so that nothing lands after a call's end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, Literal

from sqlalchemy import Connection, Integer, Row, Select, and_, bindparam, insert, or_, select

from meridian.callers import Accounts
from meridian.commands import (
    AccountList,
    Entries,
    Entry,
    ListAccounts,
    ListEntries,
    ListPositions,
    Position,
    Positions,
    Provenance,
    RecordOpeningBalance,
    entry_number,
    same_balance,
)
from meridian.deployment import prepared
from meridian.deployment.access import every_account
from meridian.deployment.calls import is_open_in
from meridian.deployment.store import Store
from meridian.deployment.store.prepared import Prepared
from meridian.deployment.store.tables import accounts, entries
from meridian.errors import Problem, Refusal
from meridian.records import field, read_json, shape_of, write_json

__all__ = ["StoredBook"]


@dataclass(frozen=True)
class _Balance:
    positions: list[Position] = field(description="What the account held.")


_BALANCE: Final = shape_of(_Balance)
_BEFORE: Final = bindparam("before", type_=Integer)
_KEPT: Final = select(accounts.c.id, entries).where(accounts.c.id == bindparam("account"))
"""The entries of an account: no row where there is no such account, and one row without an entry where there is none of it."""
_LATEST: Final = Prepared(
    _KEPT.select_from(accounts.outerjoin(entries)).order_by(entries.c.as_of.desc(), entries.c.ordinal.desc()).limit(1)
)
_OF_ACCOUNT: Final = Prepared(
    _KEPT.select_from(
        accounts.outerjoin(
            entries, and_(entries.c.account == accounts.c.id, or_(_BEFORE.is_(None), entries.c.number < _BEFORE))
        )
    )
    .order_by(entries.c.number.desc())
    .limit(bindparam("most", type_=Integer))
)
_MOST_ASKED_FOR: Final = 1_000
"""Of a set of more accounts than this the database is not asked; its rows are looked through instead."""


class StoredBook:
    """The book that a deployment's store keeps, as `commands` asks it."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def record_opening_balance(self, command: RecordOpeningBalance, provenance: Provenance) -> Entry:
        """Keep the balance; or, where it is what stands for the account on that day, answer with that entry, `unchanged`."""
        return await self._store.keep_lasting(_record, command, provenance)

    async def list_accounts(self, command: ListAccounts, readable: Accounts) -> AccountList:
        """The accounts among `readable`."""
        return AccountList(list(await self._store.run(every_account, readable)))

    async def list_positions(self, command: ListPositions, readable: Accounts) -> Positions:
        """What the account holds by its latest opening balance."""
        return await self._store.look(_positions, command.account)

    async def list_entries(self, command: ListEntries, readable: Accounts) -> Entries:
        """The entries of the accounts among `readable`, the latest first."""
        if command.account is not None:
            return await self._store.look(_entries_of, command, command.account)
        return await self._store.run(_entries, command, readable)


def _record(connection: Connection, command: RecordOpeningBalance, provenance: Provenance) -> Entry:
    if not is_open_in(connection, provenance.call_id, now=provenance.at):
        raise Refusal("The call this is sent for is closed; a command is sent while its call is open.", reason="call_closed")
    prepared_by = None
    if provenance.prepared_call_id is not None:
        prepared_by = prepared.command(connection, provenance.prepared_call_id, call=provenance.call_id, now=provenance.at)
    if connection.scalar(select(accounts.c.id).where(accounts.c.id == command.account)) is None:
        raise _no_account(command.account)
    standing = connection.execute(
        select(entries)
        .where(entries.c.account == command.account, entries.c.as_of == command.as_of)
        .order_by(entries.c.ordinal.desc())
        .limit(1)
    ).one_or_none()
    if standing is not None:
        entry = _entry(standing, "unchanged")
        if same_balance(entry, command):
            return entry
    made = connection.execute(
        insert(entries)
        .values(
            account=command.account,
            as_of=command.as_of,
            ordinal=1 if standing is None else standing.ordinal + 1,
            positions=write_json(_Balance(command.positions)).decode(),
            reason=command.reason,
            recorded_at=provenance.at,
            instance=provenance.instance,
            call=provenance.call_id,
            subject=provenance.subject,
            display_name=provenance.display_name,
            subject_kind=provenance.subject_kind,
            owner_subject=provenance.owner_subject,
            delegation=provenance.delegation_id,
            client_name=provenance.client_name,
            tool_name=provenance.tool_name,
            prepared_call=provenance.prepared_call_id,
            prepared_by=prepared_by,
        )
        .returning(entries)
    ).one()
    return _entry(made, "made")


def _positions(connection: Connection, account: str) -> Positions:
    kept = _kept(account, _LATEST.rows(connection, {"account": account}))
    if not kept:
        return Positions(account)
    entry = _entry(kept[0], "unchanged")
    return Positions(account, entry.as_of, entry.positions, entry.entry_id)


def _entries(store: Store, command: ListEntries, readable: Accounts) -> Entries:
    wanted: Select[Any] = select(entries).order_by(entries.c.number.desc())
    if command.before is not None:
        wanted = wanted.where(entries.c.number < entry_number(command.before))
    if not readable.all and len(readable.ids) <= _MOST_ASKED_FOR:
        wanted = wanted.where(entries.c.account.in_(readable.ids))
    with store.read() as connection:
        found = connection.execute(wanted.execution_options(yield_per=500))
        return _page(list(islice((row for row in found if row.account in readable), command.limit + 1)), command.limit)


def _entries_of(connection: Connection, command: ListEntries, account: str) -> Entries:
    before = None if command.before is None else entry_number(command.before)
    wanted = {"account": account, "before": before, "most": command.limit + 1}
    return _page(_kept(account, _OF_ACCOUNT.rows(connection, wanted)), command.limit)


def _kept(account: str, rows: Sequence[Any]) -> Sequence[Any]:
    """Those rows that have an entry. Raises Refusal where there is no such account."""
    if not rows:
        raise _no_account(account)
    return [row for row in rows if row.number is not None]


def _page(rows: Sequence[Row[Any]], limit: int) -> Entries:
    page = [_entry(row, "made") for row in rows[:limit]]
    return Entries(page, page[-1].entry_id if len(rows) > limit else None)


def _no_account(account: str) -> Refusal:
    return Refusal(
        f"The book has no account {account}.", [Problem("account", f"no account {account}")], reason="unknown_account"
    )


def _entry(row: Row[Any], outcome: Literal["made", "unchanged"]) -> Entry:
    balance = read_json(_BALANCE, row.positions).record
    assert balance is not None, f"entry {row.number} holds what the book never wrote"  # noqa: S101  ours to be right about
    return Entry(
        entry_id=f"E-{row.number}",
        account=row.account,
        as_of=row.as_of,
        reason=row.reason,
        recorded_at=row.recorded_at,
        outcome=outcome,
        recorded_by=row.subject,
        display_name=row.display_name,
        delegation_id=row.delegation,
        client_name=row.client_name,
        positions=balance.positions,
        prepared_call_id=row.prepared_call,
        prepared_by=row.prepared_by,
    )
