"""The operations door, before the store's book and before the one in memory: the same admission, the same answers."""

import asyncio
import hashlib
import threading
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from sqlalchemy import select

from meridian.callers import Accounts, Caller, Holding, cut
from meridian.commands import (
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
)
from meridian.deployment import access, calls
from meridian.deployment.book import StoredBook
from meridian.deployment.calls import StoredCalls
from meridian.deployment.door import OperationsDoor
from meridian.deployment.preparing import StoredChanges
from meridian.deployment.store import Store
from meridian.deployment.store.tables import entries
from meridian.errors import Problem, Refusal
from meridian.pages import assertion
from meridian.testing.book import DEPLOYMENT_KEY, book

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
INSTANCE_KEY = b"the key of the instance"
ACCOUNTS = {"A-1": "Household", "A-2": "Retirement", "A-3": "Foundation"}
DAY = date(2026, 1, 31)
FUND = Instrument("F-1", "OTHER", "A fund")
BALANCE = RecordOpeningBalance("A-1", DAY, [Position(FUND, [Lot(Decimal("1.50"), Decimal("30.00000001"), DAY)])], "As read.")
WRITES = {"operations": Holding(frozenset({"write", "read"}), Accounts.of({"A-1", "A-2"}), Accounts.of({"A-1"}))}
ENTRY = Entry("E-1", "A-1", DAY, "As read.", NOW, "made", "P-1", "Demo writer", "D-1", "Desktop agent", BALANCE.positions)


class Deployment:
    """A door with calls that can be opened and closed, whichever book is behind it."""

    def __init__(self, door, open_call, close_call):
        self.door, self.open_call, self.close_call = door, open_call, close_call
        self.now = NOW

    def header(self, level="write", *, acts=True, method="POST", instance="operations", holdings=WRITES, **caller):
        """The header of a call that is open now, of a person who holds `holdings`."""
        said = {"display_name": "Demo writer", "delegation_id": "D-1", "client_name": "Desktop agent"} | caller
        asks = Caller("P-1", level=level, holdings=cut(holdings, level), **said)
        claims = assertion.Claims(
            asks, instance, method, "/confirm", "", hashlib.sha256(b"").hexdigest(), "", int(self.now.timestamp()) + 60, acts
        )
        return assertion.write(replace(claims, call_id=self.open_call(asks, self.now)), INSTANCE_KEY, DEPLOYMENT_KEY)

    def send(self, command, header=None, instance="operations"):
        """The answer, or the reason and the words of the refusal."""
        try:
            return asyncio.run(self.door.send(instance, command, self.header() if header is None else header))
        except Refusal as refusal:
            return refusal.reason, refusal.detail


@pytest.fixture(params=["store", "memory"])
def deployment(request, tmp_path):
    """The same deployment twice: on a store, and in memory."""
    if request.param == "memory":
        kept = book(ACCOUNTS, clock=lambda: made.now)
        numbers = iter(range(100))
        made = Deployment(kept, lambda asks, now: f"C-{next(numbers)}", kept.close_call)
        yield made
        return
    store = Store(f"sqlite:///{tmp_path / 'meridian.db'}")
    for account, name in ACCOUNTS.items():
        access.add_account(store, account, name)
    made = Deployment(
        OperationsDoor(StoredBook(store), StoredCalls(store), StoredChanges(store), DEPLOYMENT_KEY, lambda: made.now),
        lambda asks, now: calls.open_call(
            store, replace(asks, delegation_id=None), instance="operations", acts=True, lasts=timedelta(seconds=60), now=now
        ),
        lambda call_id: calls.close_call(store, call_id, now=made.now),
    )
    yield made
    store.close()


def call_of(header):
    return assertion.read(header, deployment_key=DEPLOYMENT_KEY, now=NOW.timestamp()).call_id


def test_an_entry_says_who_recorded_it_through_what_and_when(deployment):
    assert deployment.send(BALANCE) == ENTRY


def test_a_person_in_a_browser_is_recorded_without_a_client(deployment):
    made = deployment.send(BALANCE, deployment.header(delegation_id=None, client_name=None))
    assert made == replace(ENTRY, delegation_id=None, client_name=None)


def test_amounts_come_back_as_exact_as_they_went_in(deployment):
    (position,) = deployment.send(BALANCE).positions
    assert [str(amount) for amount in (position.lots[0].quantity, position.lots[0].cost)] == ["1.50", "30.00000001"]


def test_the_same_balance_twice_is_unchanged_and_answers_with_the_first_entry(deployment):
    deployment.send(BALANCE)
    deployment.now += timedelta(seconds=5)
    again = replace(BALANCE, reason="Again.", positions=[Position(FUND, [Lot(Decimal("1.5"), Decimal("30.00000001"), DAY)])])
    assert deployment.send(again, deployment.header(client_name="Another agent")) == replace(ENTRY, outcome="unchanged")
    assert deployment.send(ListEntries()) == Entries([ENTRY])


def test_another_balance_for_the_day_stands_from_then_on_and_the_first_may_come_back(deployment):
    corrected = replace(BALANCE, positions=[])
    outcomes = [deployment.send(each).outcome for each in (BALANCE, corrected, corrected, BALANCE)]
    assert outcomes == ["made", "made", "unchanged", "made"]
    assert deployment.send(ListPositions("A-1")) == Positions("A-1", DAY, BALANCE.positions, "E-3")


def test_the_latest_day_is_what_an_account_holds(deployment):
    deployment.send(replace(BALANCE, as_of=date(2026, 2, 28), positions=[]))
    deployment.send(BALANCE)
    assert deployment.send(ListPositions("A-1")) == Positions("A-1", date(2026, 2, 28), [], "E-1")
    assert deployment.send(ListPositions("A-2")) == Positions("A-2")


def test_accounts_are_those_that_may_be_read(deployment):
    every = {"operations": Holding(frozenset({"read"}), Accounts(all=True))}
    assert deployment.send(ListAccounts()) == AccountList([Account("A-1", "Household"), Account("A-2", "Retirement")])
    assert deployment.send(ListAccounts(), deployment.header("read", holdings=every)) == AccountList(
        [Account(account, name) for account, name in ACCOUNTS.items()]
    )


def test_entries_are_those_of_accounts_that_may_be_read_the_latest_first_and_page_by_page(deployment):
    writes = {"operations": Holding(frozenset({"write"}), Accounts(), Accounts.of({"A-1", "A-3"}))}
    made = [
        deployment.send(replace(BALANCE, account=account), deployment.header(holdings=writes)).entry_id
        for account in ("A-1", "A-3")
    ]
    made += [deployment.send(replace(BALANCE, as_of=date(2026, 2, day))).entry_id for day in (1, 2)]
    assert made == ["E-1", "E-2", "E-3", "E-4"]

    def page(**asked):
        answered = deployment.send(ListEntries(**asked))
        return [entry.entry_id for entry in answered.entries], answered.next

    assert page() == (["E-4", "E-3", "E-1"], None)
    assert page(limit=2) == (["E-4", "E-3"], "E-3")
    assert page(limit=2, before="E-3") == (["E-1"], None)
    assert page(account="A-2") == ([], None)
    assert deployment.send(ListEntries(account="A-3")) == (
        "not_admitted",
        "ListEntries is admitted by read on operations or custody on every account it names; not held on account A-3.",
    )
    assert deployment.send(ListEntries(before="x")) == ("not_read", "x is no entry to go on from.")


def test_a_command_that_changes_something_is_refused_in_a_read_and_in_a_get(deployment):
    refused = ("not_admitted", "RecordOpeningBalance changes something, and this call is a read.")
    assert deployment.send(BALANCE, deployment.header(acts=False)) == refused
    assert deployment.send(BALANCE, deployment.header(method="GET")) == refused
    assert deployment.send(BALANCE, deployment.header(method="HEAD")) == refused
    assert deployment.send(ListEntries()) == Entries([])


def test_a_command_is_refused_once_its_call_is_closed(deployment):
    header = deployment.header()
    deployment.close_call(call_of(header))
    assert deployment.send(BALANCE, header) == (
        "call_closed",
        "The call this is sent for is closed; a command is sent while its call is open.",
    )
    assert deployment.send(ListEntries()) == Entries([])


def test_a_header_is_of_no_use_after_its_moment(deployment):
    header = deployment.header()
    deployment.now += timedelta(seconds=61)
    assert deployment.send(BALANCE, header)[0] == "not_asserted"


def test_a_header_made_for_another_instance_is_refused(deployment):
    assert deployment.send(BALANCE, deployment.header(instance="research")) == (
        "not_asserted",
        "This call was made to research, not to operations.",
    )


def test_a_header_that_a_plugin_made_up_is_refused(deployment):
    by_instance, by_door, said = deployment.header().split(".", 2)
    for forged in (f"{by_instance}.{by_instance}.{said}", f"{by_instance}.{by_door}.{said}x", said, "", "é.x.y", "."):
        assert deployment.send(BALANCE, forged)[0] == "not_asserted"
    assert deployment.send(ListEntries()) == Entries([])


def test_an_account_that_is_only_read_is_refused_by_name(deployment):
    assert deployment.send(replace(BALANCE, account="A-2")) == (
        "not_admitted",
        "RecordOpeningBalance is admitted by write on operations on every account it names; not held on account A-2.",
    )


def test_write_on_a_role_that_does_not_hold_the_command_is_refused_by_name(deployment):
    custody = {"custody": WRITES["operations"]}
    assert deployment.send(BALANCE, deployment.header(holdings=custody)) == (
        "not_admitted",
        "RecordOpeningBalance is admitted by write on operations; this call carries write on custody.",
    )


def test_whoever_writes_every_account_writes_none_that_is_not_there(deployment):
    every = {"operations": Holding(frozenset({"write"}), Accounts(), Accounts(all=True))}
    assert deployment.send(replace(BALANCE, account="A-9"), deployment.header(holdings=every)) == (
        "unknown_account",
        "The book has no account A-9.",
    )


@pytest.mark.parametrize(
    ("lot", "paths"),
    [
        (Lot(Decimal("0.123456789"), Decimal(1)), ["positions[0].lots[0].quantity"]),
        (Lot(Decimal("NaN")), []),
        (Lot(1.5), []),
        (Lot("1.5"), []),
        (None, []),
    ],
)
def test_a_command_built_outside_its_bounds_is_refused_by_its_cells(deployment, lot, paths):
    built, header = replace(BALANCE, positions=[Position(FUND, [lot])]), deployment.header()
    with pytest.raises(Refusal) as refusal:
        asyncio.run(deployment.door.send("operations", built, header))
    assert (refusal.value.reason, [problem.path for problem in refusal.value.fields]) == ("not_read", paths)


def test_a_large_set_of_accounts_goes_by_its_digest_and_is_fetched(deployment):
    many = frozenset(f"X-{number}" for number in range(300)) | {"A-1"}
    large = {"operations": Holding(frozenset({"write", "read"}), Accounts.of(many), Accounts.of({"A-1"}))}
    if hasattr(deployment.door, "keep_accounts"):
        deployment.door.keep_accounts(many)
    header = deployment.header(holdings=large)
    assert len(header) < 2_000
    assert asyncio.run(deployment.door.account_sets("operations", header)) == {assertion.digest_of_accounts(many): many}
    with pytest.raises(Refusal, match="This call was made to operations, not to research"):
        asyncio.run(deployment.door.account_sets("research", header))
    assert deployment.send(ListAccounts(), header) == AccountList([Account("A-1", "Household")])
    assert deployment.send(BALANCE, header) == ENTRY


def test_two_at_once_make_one_entry(tmp_path):
    store = Store(f"sqlite:///{tmp_path / 'meridian.db'}")
    sibling = Store(f"sqlite:///{tmp_path / 'meridian.db'}")
    access.add_account(store, "A-1")
    outcomes: list[str] = []

    def record(where):
        asks = Caller("P-1", "Demo writer", "write", cut(WRITES, "write"))
        for _ in range(5):
            call_id = calls.open_call(where, asks, instance="operations", acts=True, lasts=timedelta(seconds=60), now=NOW)
            claims = assertion.Claims(asks, "operations", "POST", "/", "", "", call_id, int(NOW.timestamp()) + 60, True)
            header = assertion.write(claims, INSTANCE_KEY, DEPLOYMENT_KEY)
            door = OperationsDoor(StoredBook(where), StoredCalls(where), StoredChanges(where), DEPLOYMENT_KEY, lambda: NOW)
            outcomes.append(asyncio.run(door.send("operations", BALANCE, header)).outcome)

    threads = [threading.Thread(target=record, args=(where,)) for where in (store, sibling, store, sibling)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["made"] + ["unchanged"] * 19
    with store.read() as connection:
        assert len(connection.execute(select(entries)).all()) == 1
    sibling.close()
    store.close()


def test_the_book_in_memory_is_a_handle_as_well():
    kept = book(["A-1"], clock=lambda: NOW)
    deployment = Deployment(kept, lambda asks, now: "C-1", kept.close_call)
    header = deployment.header()

    async def journey():
        made = await kept.record_opening_balance(BALANCE, acting_for=header)
        return [
            made,
            await kept.list_accounts(acting_for=header),
            await kept.list_positions(ListPositions("A-1"), acting_for=header),
            await kept.list_entries(acting_for=header),
            await kept.account_sets(acting_for=header),
        ]

    assert asyncio.run(journey()) == [
        ENTRY,
        AccountList([Account("A-1")]),
        Positions("A-1", DAY, BALANCE.positions, "E-1"),
        Entries([ENTRY]),
        {},
    ]
    assert (kept.entries, kept.provenance["E-1"].call_id, kept.provenance["E-1"].instance) == ((ENTRY,), "C-1", "operations")


def test_a_book_in_memory_of_no_accounts_in_particular_has_whichever_is_named():
    kept = book(clock=lambda: NOW)
    deployment = Deployment(kept, lambda asks, now: "C-1", kept.close_call)
    assert deployment.send(BALANCE) == ENTRY
    with pytest.raises(Refusal) as refusal:
        asyncio.run(book(["A-9"], clock=lambda: NOW).record_opening_balance(BALANCE, acting_for=deployment.header()))
    assert refusal.value.fields == (Problem("account", "no account A-1"),)
