"""The opening balance: the command that records one, the commands that read what was recorded, and what answers them.

The fields here are the data dictionary: their names are the paths a plugin's own record may share, and their descriptions
are what a person or an agent reads of a cell that was refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Literal

from meridian.commands.declaring import command
from meridian.errors import Problem, Refusal
from meridian.records import field

__all__ = [
    "Account",
    "AccountList",
    "Entries",
    "Entry",
    "Instrument",
    "ListAccounts",
    "ListEntries",
    "ListPositions",
    "Lot",
    "Position",
    "Positions",
    "RecordOpeningBalance",
    "entry_number",
    "same_balance",
]

Scheme = Literal["CUSIP", "ISIN", "TICKER", "OTHER"]


@dataclass(frozen=True)
class Instrument:
    """What is held: a security, a fund, or cash, as its scheme identifies it."""

    identifier: str = field(description="The instrument's identifier in its scheme, such as US0378331005.", max_length=64)
    scheme: Scheme = field(default="OTHER", description="The scheme that the identifier belongs to.")
    name: str = field(default="", description="What people call the instrument.", max_length=200)


@dataclass(frozen=True)
class Lot:
    """A part of a position that was acquired at one time, at one cost."""

    quantity: Decimal = field(description="How many units the lot holds; negative where they are owed.", places=8)
    cost: Decimal | None = field(
        default=None,
        description="What the whole lot cost, in the account's currency; left out where it is not known.",
        places=8,
    )
    acquired: date | None = field(default=None, description="The day the lot was acquired; left out where it is not known.")


@dataclass(frozen=True)
class Position:
    """What an account holds of one instrument, lot by lot."""

    instrument: Instrument = field(description="The instrument that is held.")
    lots: list[Lot] = field(description="The lots that make up the position.")


@dataclass(frozen=True)
class Entry:
    """What the book keeps of one opening balance, with who recorded it, through what, and when."""

    entry_id: str = field(description="The entry's ID in the book.")
    account: str = field(description="The ID of the account.")
    as_of: date = field(description="The day at whose end the account held this.")
    reason: str = field(description="Why it was recorded, in the words of whoever did.")
    recorded_at: datetime = field(description="The moment it was recorded.")
    outcome: Literal["made", "unchanged"] = field(description="Whether this call made the entry, or found it already made.")
    recorded_by: str = field(description="The subject of the person it was recorded as.")
    display_name: str = field(description="That person's name, as it was then.")
    delegation_id: str | None = field(default=None, description="The delegation it was recorded on; left out for a browser.")
    client_name: str | None = field(default=None, description="The client that asked; left out for a browser.")
    positions: list[Position] = field(default_factory=list, description="What the account held.")
    prepared_call_id: str | None = field(default=None, description="The prepared change it was made by; left out for none.")
    prepared_by: str | None = field(default=None, description="Who prepared that, by their name then; left out for none.")


@dataclass(frozen=True)
class Account:
    """An account the caller may read."""

    id: str = field(description="The account's ID.")
    name: str = field(default="", description="What people call the account.")


@dataclass(frozen=True)
class AccountList:
    """The accounts the caller may read, in the order of their IDs."""

    accounts: list[Account] = field(description="The accounts.")


@dataclass(frozen=True)
class Positions:
    """What an account holds by its latest opening balance; no entry and no day where none was recorded."""

    account: str = field(description="The ID of the account.")
    as_of: date | None = field(default=None, description="The day the positions are of; left out where none was recorded.")
    positions: list[Position] = field(default_factory=list, description="What the account held.")
    entry_id: str | None = field(default=None, description="The entry that says so; left out where there is none.")


@dataclass(frozen=True)
class Entries:
    """Entries of the book, the latest first."""

    entries: list[Entry] = field(description="The entries.")
    next: str | None = field(default=None, description="What to ask with as `before` for the entries that follow, if any.")


@command(roles=("operations",), changes=True, accounts=("account",), answers=Entry)
@dataclass(frozen=True)
class RecordOpeningBalance:
    """Record what an account holds on the day it is opened here."""

    account: str = field(description="The ID of the account whose opening balance this is.", min_length=1, max_length=64)
    as_of: date = field(description="The day at whose end the account held this.")
    positions: list[Position] = field(description="What the account holds, one position for each instrument.")
    reason: str = field(default="", description="Why it is recorded, for whoever reads the book.", max_length=2000)


@command(roles=("operations", "custody"), changes=False, answers=AccountList)
@dataclass(frozen=True)
class ListAccounts:
    """List the accounts the caller may read."""


@command(roles=("operations", "custody"), changes=False, accounts=("account",), answers=Positions)
@dataclass(frozen=True)
class ListPositions:
    """List what an account holds by its latest opening balance."""

    account: str = field(description="The ID of the account.", min_length=1, max_length=64)


@command(roles=("operations", "custody"), changes=False, accounts=("account",), answers=Entries)
@dataclass(frozen=True)
class ListEntries:
    """List the book's entries, the latest first: of one account, or of every account the caller may read."""

    account: str | None = field(default=None, description="The ID of the account; left out for all of them.", max_length=64)
    limit: int = field(default=50, description="How many entries to answer with at most.", min=1, max=200)
    before: str | None = field(default=None, description="Where to go on: the `next` of the answer before.", max_length=64)


def same_balance(one: RecordOpeningBalance | Entry, other: RecordOpeningBalance | Entry) -> bool:
    """Whether the two say the same of an account on a day, so that recording one after the other changes nothing.

    Amounts are compared as numbers (1.50 is 1.5) and rows in any order; the reason is no part of a balance.
    """
    return _said(one) == _said(other)


def entry_number(entry_id: str) -> int:
    """The number of the entry `E-17`, counted from 1. Raises Refusal, reason `not_read`, for what is no entry's ID."""
    digits = entry_id.removeprefix("E-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 18 and int(digits) > 0):
        raise Refusal(
            f"{entry_id[:60]} is no entry to go on from.",
            [Problem("before", f"{entry_id[:60]} is no entry; it is the `next` of an answer, like E-17")],
            reason="not_read",
        )
    return int(digits)


def _said(balance: RecordOpeningBalance | Entry) -> Hashable:
    positions = Counter(
        (position.instrument, frozenset(Counter((lot.quantity, lot.cost, lot.acquired) for lot in position.lots).items()))
        for position in balance.positions
    )
    return balance.account, balance.as_of, frozenset(positions.items())
