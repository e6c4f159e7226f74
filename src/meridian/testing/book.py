"""A real book in memory, behind the same door and the same admission as a deployment's.

Accounts enter; what comes out answers to everything a plugin's handle is asked for (`record_opening_balance`, the lists),
and is a door as well (`send`), so that it may stand for `request.plugin` or behind one. Nothing is kept past the object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final, cast

from meridian.callers import Accounts
from meridian.commands import (
    Account,
    AccountList,
    Entries,
    Entry,
    ListAccounts,
    ListEntries,
    ListPositions,
    Positions,
    Provenance,
    RecordOpeningBalance,
    entry_number,
    same_balance,
)
from meridian.deployment.door import OperationsDoor
from meridian.errors import Problem, Refusal
from meridian.pages import Prepared, assertion

__all__ = ["DEPLOYMENT_KEY", "InMemoryBook", "book"]

DEPLOYMENT_KEY: Final = b"the key of a deployment that only tests know"
"""The key that a header must be signed with for the book to believe it, unless the book was given another."""


def _utc_now() -> datetime:
    return datetime.now(UTC)


def book(
    accounts: Mapping[str, str] | Iterable[str] | None = None,
    *,
    deployment_key: bytes = DEPLOYMENT_KEY,
    clock: Callable[[], datetime] = _utc_now,
) -> InMemoryBook:
    """A book in memory of these accounts: their ids, or their names by id; None for whatever account is named."""
    return InMemoryBook(accounts, deployment_key=deployment_key, clock=clock)


class InMemoryBook:
    """A book in memory, the door before it, and the handle by which a view asks it.

    Every call is open until `close_call`, for as long as its header lasts. `entries` is what was recorded, in order, and
    `provenance` says of each entry, by its ID, who recorded it, through what, and when.
    """

    def __init__(
        self,
        accounts: Mapping[str, str] | Iterable[str] | None = None,
        *,
        deployment_key: bytes = DEPLOYMENT_KEY,
        clock: Callable[[], datetime] = _utc_now,
    ) -> None:
        self.deployment_key = deployment_key
        self._changes = _Changes()
        self._kept = _Kept(accounts, self._changes)
        self._calls = _Calls()
        self._door = OperationsDoor(self._kept, self._calls, self._changes, deployment_key, clock)
        self._clock = clock

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Every entry, in the order recorded."""
        return tuple(self._kept.entries)

    @property
    def provenance(self) -> Mapping[str, Provenance]:
        """Who recorded each entry, through what, and when, by the entry's ID."""
        return dict(self._kept.provenance)

    def close_call(self, call_id: str) -> None:
        """From here on, refuse what is sent for this call."""
        self._calls.closed.add(call_id)

    def keep_accounts(self, ids: Iterable[str]) -> None:
        """Keep a set of accounts that headers name by its digest."""
        kept = frozenset(ids)
        self._calls.sets[assertion.digest_of_accounts(kept)] = kept

    async def send(self, instance: str, command: object, acting_for: str) -> object:
        """The answer to `command`, as a deployment's door answers a plugin. Raises Refusal."""
        return await self._door.send(instance, command, acting_for)

    async def account_sets(self, instance: str | None = None, acting_for: str = "") -> Mapping[str, frozenset[str]]:
        """The sets of accounts that the header names by digest; as a handle is asked, without the instance, too."""
        return await self._door.account_sets(self._instance_of(acting_for) if instance is None else instance, acting_for)

    def keep_prepared(self, change: Prepared) -> None:
        """Keep a prepared change, for pages that are opened from it."""
        self._changes.kept[change.prepared_call_id] = change

    async def prepared_change(self, instance: str | None = None, acting_for: str = "") -> Prepared:
        """The prepared change that the page was opened from; as a handle is asked, without the instance, too."""
        return await self._door.prepared_change(self._instance_of(acting_for) if instance is None else instance, acting_for)

    async def record_opening_balance(self, command: RecordOpeningBalance, *, acting_for: str) -> Entry:
        """Record the balance for the caller of `acting_for`; the same one again answers `unchanged`. Raises Refusal."""
        return cast("Entry", await self._ask(command, acting_for))

    async def list_accounts(self, command: ListAccounts | None = None, *, acting_for: str) -> AccountList:
        """The accounts the caller may read. Raises Refusal."""
        return cast("AccountList", await self._ask(command or ListAccounts(), acting_for))

    async def list_positions(self, command: ListPositions, *, acting_for: str) -> Positions:
        """What the account holds by its latest opening balance. Raises Refusal."""
        return cast("Positions", await self._ask(command, acting_for))

    async def list_entries(self, command: ListEntries | None = None, *, acting_for: str) -> Entries:
        """The book's entries, the latest first. Raises Refusal."""
        return cast("Entries", await self._ask(command or ListEntries(), acting_for))

    async def _ask(self, command: object, acting_for: str) -> object:
        return await self._door.send(self._instance_of(acting_for), command, acting_for)

    def _instance_of(self, acting_for: str) -> str:
        sets = self._calls.sets
        try:
            now = self._clock().timestamp()
            return assertion.read(acting_for, deployment_key=self.deployment_key, now=now, sets=sets).instance
        except (assertion.NotAsserted, assertion.AccountsWanted):
            return ""


class _Calls:
    def __init__(self) -> None:
        self.closed: set[str] = set()
        self.sets: dict[str, frozenset[str]] = {}

    async def is_open(self, call_id: str, *, now: datetime) -> bool:
        return call_id not in self.closed

    async def account_sets(self, digests: frozenset[str]) -> Mapping[str, frozenset[str]]:
        return {digest: self.sets[digest] for digest in digests if digest in self.sets}


class _Changes:
    def __init__(self) -> None:
        self.kept: dict[str, Prepared] = {}

    async def shown(self, change: str, revision: int, *, now: datetime) -> Prepared:
        if change not in self.kept:
            raise Refusal("The prepared change is another by now; open it anew.", reason="changed_since")
        return self.kept[change]


class _Kept:
    def __init__(self, accounts: Mapping[str, str] | Iterable[str] | None, changes: _Changes) -> None:
        self._changes = changes
        self.entries: list[Entry] = []
        self.provenance: dict[str, Provenance] = {}
        self._any = accounts is None
        self._names = dict(accounts) if isinstance(accounts, Mapping) else dict.fromkeys(accounts or (), "")

    async def record_opening_balance(self, command: RecordOpeningBalance, provenance: Provenance) -> Entry:
        self._find(command.account)
        of_that_day = [entry for entry in self.entries if (entry.account, entry.as_of) == (command.account, command.as_of)]
        if of_that_day and same_balance(of_that_day[-1], command):
            return replace(of_that_day[-1], outcome="unchanged")
        entry = Entry(
            entry_id=f"E-{len(self.entries) + 1}",
            account=command.account,
            as_of=command.as_of,
            reason=command.reason,
            recorded_at=provenance.at,
            outcome="made",
            recorded_by=provenance.subject,
            display_name=provenance.display_name,
            delegation_id=provenance.delegation_id,
            client_name=provenance.client_name,
            positions=command.positions,
            prepared_call_id=provenance.prepared_call_id,
            prepared_by=self.prepared_by(provenance.prepared_call_id),
        )
        self.entries.append(entry)
        self.provenance[entry.entry_id] = provenance
        return entry

    async def list_accounts(self, command: ListAccounts, readable: Accounts) -> AccountList:
        known = self._names if readable.all else (readable.ids if self._any else readable.ids & self._names.keys())
        return AccountList([Account(account, self._names.get(account, "")) for account in sorted(known)])

    async def list_positions(self, command: ListPositions, readable: Accounts) -> Positions:
        self._find(command.account)
        of_account = [entry for entry in self.entries if entry.account == command.account]
        if not of_account:
            return Positions(command.account)
        latest = max(enumerate(of_account), key=lambda each: (each[1].as_of, each[0]))[1]
        return Positions(command.account, latest.as_of, latest.positions, latest.entry_id)

    async def list_entries(self, command: ListEntries, readable: Accounts) -> Entries:
        if command.account is not None:
            self._find(command.account)
        wanted = readable if command.account is None else Accounts.of({command.account})
        before = len(self.entries) if command.before is None else entry_number(command.before) - 1
        found = [entry for entry in self.entries[:before] if entry.account in wanted][::-1]
        page = found[: command.limit]
        return Entries(page, page[-1].entry_id if len(found) > len(page) else None)

    def prepared_by(self, change: str | None) -> str | None:
        kept = None if change is None else self._changes.kept.get(change)
        return None if kept is None else kept.prepared_by_display_name

    def _find(self, account: str) -> None:
        if not self._any and account not in self._names:
            raise Refusal(
                f"The book has no account {account}.", [Problem("account", f"no account {account}")], reason="unknown_account"
            )
