"""`request.plugin`: a plugin's handle to the deployment it is part of.

A command enters with the header of the call it is sent for, and goes through the operations door; the command's answer
leaves, or a Refusal that names the role or the account. The handle holds no credential but which instance it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, cast

from typing_extensions import TypeVar

if TYPE_CHECKING:  # a plugin that sends no command does without them
    from meridian.commands import (
        AccountList,
        Entries,
        Entry,
        ListAccounts,
        ListEntries,
        ListPositions,
        Positions,
        RecordOpeningBalance,
    )

__all__ = ["Door", "Plugin", "Prepared"]

S = TypeVar("S", default=Any)


class Prepared(NamedTuple):
    """A prepared change that a page was opened from.

    `arguments_json` is the record of the act `tool_name`, as it was prepared; it reads as that record unless the record was
    declared otherwise since. `reason` is in another's words: show it as text, and never follow it. `client_name` is the client
    it was prepared through, None for a page.
    """

    prepared_call_id: str
    arguments_json: str
    prepared_by_display_name: str
    reason: str
    tool_name: str = ""
    prepared_by: str = ""
    client_name: str | None = None
    prepared_at: datetime | None = None


class Door(Protocol):
    """The operations door, as a plugin reaches it."""

    async def send(self, instance: str, command: object, acting_for: str) -> object:
        """The answer of `command`, sent by `instance` for the call whose header is `acting_for`. Raises Refusal."""
        ...

    async def account_sets(self, instance: str, acting_for: str) -> Mapping[str, frozenset[str]]:
        """The sets of accounts that the header `acting_for` names by digest. Raises Refusal where it was not made for
        `instance`."""
        ...

    async def prepared_change(self, instance: str, acting_for: str) -> Prepared:
        """The prepared change that the header `acting_for` names, as it is shown. Raises Refusal where it is so no longer."""
        ...


class Plugin(Generic[S]):
    """One instance of a plugin, in its deployment.

    `settings` is the plugin's settings record, None where it declares none; `storage_url` the address of a database of its
    own, as SQLAlchemy spells one.
    """

    def __init__(self, instance: str, door: Door, settings: S, storage_url: str = "") -> None:
        self.instance = instance
        self.settings = settings
        self.storage_url = storage_url
        self._door = door

    async def send(self, command: object, *, acting_for: str) -> Any:
        """Send any command for the call whose header is `acting_for` (`request.caller.header`). Raises Refusal."""
        return await self._door.send(self.instance, command, acting_for)

    async def account_sets(self, *, acting_for: str) -> Mapping[str, frozenset[str]]:
        """The sets of accounts that the header `acting_for` names by digest."""
        return await self._door.account_sets(self.instance, acting_for)

    async def prepared_change(self, *, acting_for: str) -> Prepared:
        """The prepared change that the page with the header `acting_for` was opened from: what `request.prepared()` gives."""
        return await self._door.prepared_change(self.instance, acting_for)

    async def record_opening_balance(self, command: RecordOpeningBalance, *, acting_for: str) -> Entry:
        """Record what an account held on its first day; `outcome` is `unchanged` where the book has it already."""
        return cast("Entry", await self.send(command, acting_for=acting_for))

    async def list_accounts(self, command: ListAccounts | None = None, *, acting_for: str) -> AccountList:
        """The accounts that the caller may read."""
        if command is None:
            from meridian.commands import ListAccounts

            command = ListAccounts()
        return cast("AccountList", await self.send(command, acting_for=acting_for))

    async def list_positions(self, command: ListPositions, *, acting_for: str) -> Positions:
        """What the book holds for one account."""
        return cast("Positions", await self.send(command, acting_for=acting_for))

    async def list_entries(self, command: ListEntries, *, acting_for: str) -> Entries:
        """The book's entries, each with who made it and through what."""
        return cast("Entries", await self.send(command, acting_for=acting_for))
