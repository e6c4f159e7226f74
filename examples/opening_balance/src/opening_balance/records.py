"""What the plugin asks for and what it answers: every record of its routes.

An `Instrument`, its `Lot`s and the `Position` they make up are the deployment's own, so a cell here has the name and the
meaning it has in the book.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Final, Literal

import meridian
from meridian.commands import Instrument, Lot, Position

__all__ = [
    "MAX_NOTES",
    "MAX_POSITIONS",
    "MAX_STATEMENT",
    "Account",
    "Checked",
    "Choice",
    "Difference",
    "Draft",
    "Instrument",
    "Lot",
    "Note",
    "Position",
    "Started",
    "Statement",
    "StatementFile",
    "StatementText",
]

MAX_STATEMENT: Final = 2_000_000
"""How large a statement may be: bytes of a file, characters of a text."""

MAX_POSITIONS: Final = 1_000
"""How many positions one opening balance may have, so that a person can still look it over as a form."""

MAX_NOTES: Final = 200
"""How many notes stand beside a form."""


@dataclass(frozen=True)
class Draft:
    """An opening balance as somebody means to record it."""

    account: str = meridian.field(
        description="The ID of the account here, which may not be its number at the broker.",
        min_length=1,
        max_length=64,
    )
    as_of: date = meridian.field(title="As of", description="The day at whose end the account held this.")
    reason: str = meridian.field(
        description="Why you record it and what you checked it against, for whoever reads the book later.",
        min_length=1,
        max_length=200,
    )
    positions: list[Position] = meridian.field(
        description="What the account holds, one position for each instrument.", min_length=1, max_length=MAX_POSITIONS
    )


@dataclass(frozen=True)
class Checked:
    """What recording a draft would do; the check itself changes nothing."""

    account: str = meridian.field(description="The ID of the account.")
    as_of: date = meridian.field(description="The day the balance is of.")
    would: Literal["record", "correct", "change nothing"] = meridian.field(
        description="What confirming would do: record the day's first balance, correct the one that stands, or repeat it."
    )
    positions: int = meridian.field(description="How many positions the draft has.")
    lots: int = meridian.field(description="How many lots they have together.")
    cost: Decimal | None = meridian.field(
        default=None, description="What all lots cost together; left out where one of them does not say."
    )


@dataclass(frozen=True)
class Difference:
    """A cell that was prepared otherwise than the book has it."""

    cell: str
    in_the_book: str
    prepared: str


@dataclass(frozen=True)
class Account:
    """The account that is asked about."""

    account: str = meridian.field(description="The ID of the account.", min_length=1, max_length=64)


@dataclass(frozen=True)
class Choice:
    """Which statement of an uploaded file to start from."""

    number: int = meridian.field(
        default=1, title="Number", description="Which statement, where the file holds those of several accounts.", min=1, max=50
    )


@dataclass(frozen=True)
class StatementText:
    """A statement for whoever has its text and no file."""

    statement: str = meridian.field(
        description="The whole OFX investment statement, version 1 (SGML) or 2 (XML), with its header.",
        min_length=1,
        max_length=MAX_STATEMENT,
    )


@dataclass(frozen=True)
class Note:
    """Something in a statement that a person should know before relying on what was read."""

    about: str = meridian.field(description="What it is about, such as Position 3, CUSIP 123456789.")
    message: str = meridian.field(description="What was found, and what was done about it.")
    left_out: bool = meridian.field(default=False, description="Whether the position is not among those that were read.")


@dataclass(frozen=True)
class Statement:
    """One account's statement, as it was read."""

    number: int = meridian.field(description="Its place in the file, the first being 1.")
    account_number: str = meridian.field(description="The account's number at its broker, which may not be its ID here.")
    broker: str = meridian.field(description="The broker, as the statement names it.")
    as_of: date = meridian.field(description="The day the statement is of.")
    currency: str = meridian.field(description="The statement's currency.")
    positions: list[Position] = meridian.field(description="The positions that were read, ready for a draft.")
    notes: list[Note] = meridian.field(default_factory=list, description="What to know before relying on them.")


@dataclass(frozen=True)
class StatementFile:
    """Everything that was read of one file."""

    statements: list[Statement] = meridian.field(description="The investment statements in it, in their order.")
    notes: list[Note] = meridian.field(default_factory=list, description="What could not be read as a statement, and why.")


@dataclass(frozen=True)
class Started:
    """What a form was started from, which stays beside it for as long as it is drawn again."""

    account_number: str = ""
    broker: str = ""
    as_of: date | None = None
    currency: str = ""
    number: int = 1
    statements: int = 0
    notes: list[Note] = meridian.field(default_factory=list)

    @classmethod
    def of(cls, statement: Statement, file: StatementFile) -> Started:
        """What is told of the statement `statement` of `file`."""
        notes = [*statement.notes, *file.notes]
        if len(notes) > MAX_NOTES:
            more = f"{len(notes) - MAX_NOTES} more notes are not shown; read_statement, the tool, answers with all of them."
            notes = [*notes[:MAX_NOTES], Note("The rest", more)]
        return cls(
            statement.account_number,
            statement.broker,
            statement.as_of,
            statement.currency,
            statement.number,
            len(file.statements),
            notes,
        )
