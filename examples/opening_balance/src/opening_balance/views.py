"""The plugin's pages, their routes, and the one tool that stands in for an upload.

Each route is declared once, with the record it takes; its form, its tool and its checks of single cells follow from that.
What is left to say here is what a record cannot: which cells contradict each other, and what the answer looks like.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, localcontext
from functools import partial
from importlib.resources import files
from typing import Literal
from urllib.parse import urlencode

import meridian
from meridian.commands import Entries, Entry, ListEntries, ListPositions, Positions, RecordOpeningBalance, same_balance
from meridian.records import read_json, shape_of, write_form
from opening_balance.records import (
    MAX_POSITIONS,
    MAX_STATEMENT,
    Account,
    Checked,
    Choice,
    Difference,
    Draft,
    Lot,
    Position,
    Started,
    Statement,
    StatementFile,
    StatementText,
)
from opening_balance.statements import read_statements

__all__ = ["pages"]

BOTH = ["operations", "custody"]

pages = meridian.Pages("Opening balance", templates="templates", roles=BOTH)


# Statements ----------------------------------------------------------------------------------------------------------------


@pages.page("/", title="Statements", levels=["read", "write"], roles=BOTH)
async def statements(request: meridian.Request) -> meridian.Response:
    """Choose the statement to start from."""
    return pages.render("statements.html")


@pages.route(
    "/statements",
    levels=["read", "write"],
    roles=BOTH,
    methods=["POST"],
    params=Choice,
    reads=True,
    made_on="/",
    tool=False,
    why="a file the person chooses",
)
async def upload(request: meridian.Request[Choice]) -> meridian.Response:
    """Start an opening balance from a statement that is uploaded."""
    chosen = request.files.get("statement")
    if chosen is None:
        pages.refuse("No file was chosen.", ("statement", "choose the OFX or QFX file that your broker lets you download"))
    file = await asyncio.to_thread(read_statements, await chosen.read(MAX_STATEMENT + 1))
    statement = next((each for each in file.statements if each.number == request.params.number), None)
    if not file.statements:
        pages.refuse("The file was not read as a statement.", ("statement", _said(file)))
    if statement is None:
        numbers = ", ".join(str(each.number) for each in file.statements)
        pages.refuse("The file has no such statement.", ("number", f"what was read of this file is numbered {numbers}"))
    started = Started.of(statement, file)
    return pages.render(
        "started.html",
        statement=statement,
        started=started,
        again_at=f"/opening?{urlencode(write_form(started))}",
        draft=Draft(
            account=await _account_of(statement, request),
            as_of=statement.as_of,
            reason=f"Statement of {statement.broker} as of {statement.as_of}"[:200],
            positions=statement.positions,
        ),
    )


def _said(file: StatementFile) -> str:
    return " ".join(f"{note.about}: {note.message}" if len(file.notes) > 1 else note.message for note in file.notes)


async def _account_of(statement: Statement, request: meridian.Request[Choice]) -> str:
    """The statement's account, where it has the same ID here and may be written; else nothing, for the person to say."""
    listed = await request.plugin.list_accounts(acting_for=request.caller.header)
    here = statement.account_number in {account.id for account in listed.accounts}
    return statement.account_number if here and statement.account_number in request.caller.write_for("operations") else ""


@pages.tool(replaces="/statements", method="POST", params=StatementText, answers=StatementFile, reads=True)
async def read_statement(request: meridian.Request[StatementText]) -> meridian.Response:
    """Read the text of an OFX investment statement into positions, ready for check_opening_draft and confirm_opening_balance.
    Records nothing. Read the notes: they say which positions were left out, and what is not carried over exactly.
    """
    file = await asyncio.to_thread(read_statements, request.params.statement)
    if not file.statements:
        pages.refuse("The text was not read as a statement.", ("statement", _said(file)))
    return pages.answer(None, file)


@pages.route("/sample", levels=["read", "write"], roles=BOTH)
async def sample(request: meridian.Request) -> meridian.Response:
    """A small statement to try the page with."""
    content = files("opening_balance").joinpath("samples", "statement.ofx").read_bytes()
    return meridian.Response(
        content, media_type="application/x-ofx", headers={"Content-Disposition": "attachment; filename=sample.ofx"}
    )


# Opening balance -----------------------------------------------------------------------------------------------------------


@pages.page(
    "/opening",
    title="Opening balance",
    levels="write",
    roles=["operations"],
    params=Started,
    tool=False,
    why="it draws the form that confirm_opening_balance is the tool of",
)
async def opening(request: meridian.Request[Started]) -> meridian.Response:
    """Write an opening balance by hand, or go on with one that was started from a statement or prepared."""
    # What the form was started from is told by the form alone, when it is drawn again: a link could say anything.
    started = request.reading.record if request.redraw else None
    prepared = await request.prepared()
    return pages.render(
        "opening.html",
        started=started if started and started.statements else None,
        prepared=prepared,
        differs=await _what_differs(prepared, request) if prepared else (),
    )


async def _what_differs(prepared: meridian.Prepared, request: meridian.Request[Started]) -> list[Difference]:
    """Each cell that was prepared otherwise than the book has it for that account and day; nothing where it has none."""
    draft = read_json(shape_of(Draft), prepared.arguments_json).record
    if draft is None or draft.account not in request.caller.read:
        return []
    listed = await request.plugin.list_entries(ListEntries(draft.account), acting_for=request.caller.header)
    standing = next((entry for entry in listed.entries if entry.as_of == draft.as_of), None)
    if standing is None:
        return []
    before, after = (dict(write_form(replace(draft, positions=each.positions))) for each in (standing, draft))
    return [
        Difference(path, before.get(path, ""), after.get(path, ""))
        for path in {**after, **before}
        if before.get(path) != after.get(path)
    ]


@pages.route(
    "/opening/check",
    levels="write",
    roles=["operations"],
    methods=["POST"],
    params=Draft,
    answers=Checked,
    reads=True,
    title="Check an opening balance",
)
async def check_opening_draft(request: meridian.Request[Draft]) -> meridian.Response:
    """Check an opening balance before it is recorded: what contradicts itself, by cell, and what confirming would do.
    Takes what confirm_opening_balance takes. Changes nothing.
    """
    draft = request.params
    _refuse_what_contradicts(draft, request)
    lots = [lot for position in draft.positions for lot in position.lots]
    checked = Checked(
        account=draft.account,
        as_of=draft.as_of,
        would=await _what_confirming_would_do(draft, request),
        positions=len(draft.positions),
        lots=len(lots),
        cost=_cost_of(lots),
    )
    return pages.answer(None, checked)


@pages.route(
    "/opening/confirm",
    levels="write",
    roles=["operations"],
    methods=["POST"],
    params=Draft,
    answers=Entry,
    title="Record an opening balance",
    checked_by="check_opening_draft",
    accounts=["account"],
    destructive=False,
    idempotent=True,
)
async def confirm_opening_balance(request: meridian.Request[Draft]) -> meridian.Response:
    """Record what an account held on a day. Confirming the same balance again is recognised and changes nothing.
    Call check_opening_draft with the same arguments first.
    """
    draft = request.params
    _refuse_what_contradicts(draft, request)
    entry = await request.plugin.record_opening_balance(_command(draft), acting_for=request.caller.header)
    there = request.path_for("/positions", account=entry.account, entry=entry.entry_id, outcome=entry.outcome)
    return pages.answer(None, entry, outcome=entry.outcome, location=there)


def _cost_of(lots: list[Lot]) -> Decimal | None:
    """What the lots cost together, exactly; None where one of them does not say."""
    costs = [lot.cost for lot in lots if lot.cost is not None]
    with localcontext(prec=120):  # beyond what ten thousand numbers of a hundred digits can need
        return sum(costs, Decimal()) if len(costs) == len(lots) else None


def _command(draft: Draft) -> RecordOpeningBalance:
    return RecordOpeningBalance(draft.account, draft.as_of, draft.positions, draft.reason)


async def _what_confirming_would_do(
    draft: Draft, request: meridian.Request[Draft]
) -> Literal["record", "correct", "change nothing"]:
    """What the book would make of the draft, by the entry that stands for its account on its day."""
    before: str | None = None
    while True:
        asked = ListEntries(draft.account, before=before)
        listed = await request.plugin.list_entries(asked, acting_for=request.caller.header)
        standing = next((entry for entry in listed.entries if entry.as_of == draft.as_of), None)
        if standing is not None:
            return "change nothing" if same_balance(standing, _command(draft)) else "correct"
        if listed.next is None:
            return "record"
        before = listed.next


def _refuse_what_contradicts(draft: Draft, request: meridian.Request[Draft]) -> None:
    """Refuse a draft whose cells each read, and do not go together. Raises Refusal, with every one of them by path."""
    problems = list(_contradictions(draft))
    if draft.account not in request.caller.write:
        problems.insert(0, ("account", f"you may not write {draft.account}; Positions lists the accounts that you reach"))
    if problems:
        pages.refuse(
            "The opening balance cannot be recorded so.",
            *(meridian.Field.of(path, message, operation="RecordOpeningBalance") for path, message in problems),
        )


def _contradictions(draft: Draft) -> Iterator[tuple[str, str]]:
    """The cells of a draft that contradict others, each with why."""
    if draft.as_of > (datetime.now(UTC) + timedelta(hours=14)).date():  # the latest that it is anywhere
        yield "as_of", f"{draft.as_of} has not been yet"
    seen: dict[tuple[str, str], int] = {}
    for n, position in enumerate(draft.positions):
        at = f"positions[{n}]"
        key = (position.instrument.scheme, position.instrument.identifier)
        if key in seen:
            yield f"{at}.instrument.identifier", f"{key[1]} is position {seen[key] + 1} already; add its lots there"
        seen.setdefault(key, n)
        yield from _contradictions_of_lots(position, at, draft.as_of)


def _contradictions_of_lots(position: Position, at: str, as_of: date) -> Iterator[tuple[str, str]]:
    if not position.lots:
        yield f"{at}.lots", "a position has at least one lot; add the lot, or remove the position"
    held = sum(lot.quantity for lot in position.lots)
    for n, lot in enumerate(position.lots):
        if not lot.quantity:
            yield f"{at}.lots[{n}].quantity", "a lot of 0 is no lot; write how many units, or remove it"
        elif (lot.quantity < 0) != (held < 0):
            yield f"{at}.lots[{n}].quantity", f"the position holds some and owes some; {lot.quantity} belongs on one side of it"
        if lot.acquired is not None and lot.acquired > as_of:
            yield f"{at}.lots[{n}].acquired", f"{lot.acquired} is after {as_of}, the day that the balance is of"


# Positions -----------------------------------------------------------------------------------------------------------------


@pages.page(
    "/positions",
    title="Positions",
    levels=["read", "write"],
    roles=BOTH,
    params=Account,
    answers=Positions,
    name="list_positions_held",
)
async def positions(request: meridian.Request[Account]) -> meridian.Response:
    """List what an account holds by its latest opening balance."""
    header = request.caller.header
    if request.reading.record is None and not request.param_errors:  # opened as a tab: no account was asked about yet
        reached = await request.plugin.list_accounts(acting_for=header)
        return pages.render(
            "accounts.html",
            accounts=reached.accounts,
            to_positions=lambda account: request.path_for("/positions", account=account.id),
        )
    held = await request.plugin.list_positions(ListPositions(request.params.account), acting_for=header)
    listed = await request.plugin.list_entries(ListEntries(request.params.account), acting_for=header)
    recorded = next((entry for entry in listed.entries if entry.entry_id == request.query.get("entry")), None)
    return pages.answer("positions.html", held, held=held, entries=listed.entries, recorded=recorded)


# Entries -------------------------------------------------------------------------------------------------------------------


@pages.page(
    "/entries",
    title="Entries",
    levels=["read", "write"],
    roles=BOTH,
    params=ListEntries,
    answers=Entries,
    name="list_entries",
)
async def entries(request: meridian.Request[ListEntries]) -> meridian.Response:
    """List what was recorded, the latest first: who recorded it, when, why, and through which delegation and client. Name an
    account, or get those of every account that you may read. To go on, ask again with before, which is the next of this answer.
    """
    asked, header = request.params, request.caller.header
    listed = await request.plugin.list_entries(asked, acting_for=header)
    reached = await request.plugin.list_accounts(acting_for=header)
    of = partial(request.path_for, "/entries", limit=asked.limit)
    return pages.answer(
        "entries.html",
        listed,
        asked=asked,
        accounts=[
            ("Every account", of(), asked.account is None),
            *((f"{each.id} {each.name}".rstrip(), of(account=each.id), asked.account == each.id) for each in reached.accounts),
        ],
        older=of(account=asked.account, before=listed.next) if listed.next else "",
        newest=of(account=asked.account) if asked.before else "",
    )


# About ---------------------------------------------------------------------------------------------------------------------


@pages.page("/about", title="About", levels="admin", roles=BOTH)
async def about(request: meridian.Request) -> meridian.Response:
    """What the plugin does and how far it goes. It shows no account's data, because admin reaches none."""
    return pages.render("about.html", max_statement=MAX_STATEMENT, max_positions=MAX_POSITIONS)
