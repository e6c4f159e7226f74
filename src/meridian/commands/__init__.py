"""What a plugin may send to the deployment: the commands, who may send them, and what their fields mean. Pure."""

from meridian.commands.admitting import admit, reach
from meridian.commands.balances import (
    Account,
    AccountList,
    Entries,
    Entry,
    Instrument,
    ListAccounts,
    ListEntries,
    ListPositions,
    Lot,
    Position,
    Positions,
    RecordOpeningBalance,
    entry_number,
    same_balance,
)
from meridian.commands.booking import Book, Provenance, ask
from meridian.commands.declaring import CommandInfo, accounts_named, command, command_of, commands
from meridian.commands.dictionary import DictionaryEntry, dictionary

__all__ = [
    "Account",
    "AccountList",
    "Book",
    "CommandInfo",
    "DictionaryEntry",
    "Entries",
    "Entry",
    "Instrument",
    "ListAccounts",
    "ListEntries",
    "ListPositions",
    "Lot",
    "Position",
    "Positions",
    "Provenance",
    "RecordOpeningBalance",
    "accounts_named",
    "admit",
    "ask",
    "command",
    "command_of",
    "commands",
    "dictionary",
    "entry_number",
    "reach",
    "same_balance",
]
