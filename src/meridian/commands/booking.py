"""What a book is, and how a command reaches one.

A command, the caller a door has vouched for and the provenance of the call enter; the command's answer leaves. The book
that keeps entries in a database and the one that keeps them in memory are elsewhere, and both are asked through `ask`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from meridian.callers import Accounts, Caller
from meridian.commands.admitting import admit
from meridian.commands.balances import (
    AccountList,
    Entries,
    Entry,
    ListAccounts,
    ListEntries,
    ListPositions,
    Positions,
    RecordOpeningBalance,
)
from meridian.commands.declaring import CommandInfo, command_of
from meridian.errors import Refusal, Unread
from meridian.records import read_json, write_json

__all__ = ["Book", "Provenance", "ask"]


@dataclass(frozen=True)
class Provenance:
    """Who sent a command, through what, and when: what the book keeps beside every entry.

    `delegation_id`, `client_name` and `tool_name` are None where a person asked through a browser.
    """

    subject: str
    display_name: str
    at: datetime
    call_id: str
    instance: str
    delegation_id: str | None = None
    client_name: str | None = None
    tool_name: str | None = None
    prepared_call_id: str | None = None
    subject_kind: Literal["person", "service_account"] = "person"
    owner_subject: str | None = None

    @classmethod
    def of(cls, caller: Caller, *, at: datetime, call_id: str, instance: str) -> Provenance:
        """The provenance of what `caller` sends in the call `call_id`."""
        return cls(
            subject=caller.subject,
            display_name=caller.display_name,
            at=at,
            call_id=call_id,
            instance=instance,
            delegation_id=caller.delegation_id,
            client_name=caller.client_name,
            tool_name=caller.tool_name,
            prepared_call_id=caller.prepared_call_id,
            subject_kind=caller.subject_kind,
            owner_subject=caller.owner_subject,
        )


class Book(Protocol):
    """What keeps records, and answers each command once it is admitted.

    `readable` are the accounts the caller may read by the command's roles: "every account" is a mark that only the book can
    turn into a list. An account the book does not have is a Refusal with the reason `unknown_account`.
    """

    async def record_opening_balance(self, command: RecordOpeningBalance, provenance: Provenance) -> Entry:
        """Keep the balance; or, where it is what stands for the account on that day, answer with that entry, `unchanged`."""
        ...

    async def list_accounts(self, command: ListAccounts, readable: Accounts) -> AccountList:
        """The accounts among `readable`."""
        ...

    async def list_positions(self, command: ListPositions, readable: Accounts) -> Positions:
        """What the account holds by its latest opening balance."""
        ...

    async def list_entries(self, command: ListEntries, readable: Accounts) -> Entries:
        """The entries of the accounts among `readable`, the latest first."""
        ...


async def ask(book: Book, command: object, caller: Caller, provenance: Provenance, *, changes_allowed: bool) -> object:
    """The book's answer to `command`, once it is admitted.

    Raises Refusal: `not_admitted` with the role or the account named, `not_read` with every cell of a command whose values
    are outside its own bounds, or whatever the book refuses.
    """
    info = command_of(command)
    read = _read_again(info, command)
    readable = admit(read, caller, changes_allowed=changes_allowed)
    match read:
        case RecordOpeningBalance():
            return await book.record_opening_balance(read, provenance)
        case ListAccounts():
            return await book.list_accounts(read, readable)
        case ListPositions():
            return await book.list_positions(read, readable)
        case ListEntries():
            return await book.list_entries(read, readable)
    raise Refusal(f"{info.name} is a command that this book does not keep.", reason="not_admitted")


def _read_again(info: CommandInfo, command: object) -> object:
    """The command as its JSON reads, so that one built in a view is held to the same bounds as one that was sent."""
    try:
        reading = read_json(info.shape, write_json(command))
    except (TypeError, ValueError, AttributeError, ArithmeticError) as reason:
        raise Refusal(f"{info.name} holds a value of another kind than it declares: {reason}.", reason="not_read") from reason
    if reading.problems:
        raise Refusal(f"{info.name} did not read: {Unread(*reading.problems)}.", reading.problems, reason="not_read")
    return reading.record
