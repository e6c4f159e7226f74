"""Who may send a command."""

from dataclasses import dataclass
from datetime import date

import pytest

from meridian.callers import Accounts, Caller, Holding, cut
from meridian.commands import (
    Entry,
    ListAccounts,
    ListEntries,
    ListPositions,
    RecordOpeningBalance,
    accounts_named,
    admit,
    command,
    command_of,
    commands,
    reach,
)
from meridian.errors import DeclarationError, Problem, Refusal

WRITES_A = Holding(frozenset({"write", "read"}), Accounts.of({"A"}), Accounts.of({"A"}))
READS_B = Holding(frozenset({"read"}), Accounts.of({"B"}))
MANAGES = Holding(frozenset({"admin"}))

ON_A = RecordOpeningBalance("A", date(2026, 1, 31), [])
ON_B = RecordOpeningBalance("B", date(2026, 1, 31), [])


def caller(level="write", **holdings):
    return Caller("P-1", "Demo writer", level, cut(holdings, level))


def refused(sent, by, *, changes_allowed=True):
    with pytest.raises(Refusal) as refusal:
        admit(sent, by, changes_allowed=changes_allowed)
    return refusal.value.reason, refusal.value.detail, refusal.value.fields


def test_write_on_the_account_by_a_role_that_holds_the_command_is_admitted():
    assert set(admit(ON_A, caller(operations=WRITES_A), changes_allowed=True)) == {"A"}


def test_write_on_one_account_and_read_on_another_is_never_write_on_the_other():
    both = WRITES_A | READS_B
    assert refused(ON_B, caller(operations=both)) == (
        "not_admitted",
        "RecordOpeningBalance is admitted by write on operations on every account it names; not held on account B.",
        (Problem("account", "write is not held on account B"),),
    )


def test_a_command_that_changes_something_is_refused_in_a_read():
    assert refused(ON_A, caller(operations=WRITES_A), changes_allowed=False) == (
        "not_admitted",
        "RecordOpeningBalance changes something, and this call is a read.",
        (),
    )


def test_a_session_at_read_sends_no_command_that_changes_something():
    assert refused(ON_A, caller("read", operations=WRITES_A))[:2] == (
        "not_admitted",
        "RecordOpeningBalance is admitted by write on operations; this call carries read on operations.",
    )


def test_write_on_another_role_is_refused_and_both_roles_are_named():
    assert refused(ON_A, caller(custody=WRITES_A))[:2] == (
        "not_admitted",
        "RecordOpeningBalance is admitted by write on operations; this call carries write on custody.",
    )


def test_a_plugin_that_holds_no_role_is_told_to_name_one():
    assert refused(ON_A, caller(**{"": WRITES_A}))[1] == (
        "RecordOpeningBalance is admitted by write on operations; "
        'the plugin asked as holds no role, and would name it in roles=["operations"].'
    )


def test_an_admin_reaches_no_account():
    assert refused(ListAccounts(), caller("admin", operations=MANAGES | WRITES_A))[1] == (
        "ListAccounts is admitted by read on operations or custody; this call carries admin on operations."
    )


def test_reading_asks_for_read_or_write_on_any_role_that_holds_the_command():
    for holding in (WRITES_A, Holding(frozenset({"read"}), Accounts.of({"A"}))):
        admit(ListPositions("A"), caller("read", custody=holding), changes_allowed=False)
    assert refused(ListPositions("B"), caller(custody=WRITES_A))[2] == (Problem("account", "read is not held on account B"),)


def test_a_command_that_names_no_account_reaches_those_of_its_roles():
    both = caller(operations=WRITES_A, custody=READS_B, research=Holding(frozenset({"read"}), Accounts.of({"C"})))
    admit(ListEntries(), both, changes_allowed=False)
    assert (reach(ListEntries(), both), reach(ON_A, both)) == (Accounts.of({"A", "B"}), Accounts.of({"A"}))


def test_every_account_is_a_mark_that_reaches_any():
    every = Holding(frozenset({"write", "read"}), Accounts(all=True), Accounts(all=True))
    admit(RecordOpeningBalance("anything", date(2026, 1, 31), []), caller(operations=every), changes_allowed=True)


def test_what_is_no_command_is_a_mistake_of_the_author_with_the_near_name():
    with pytest.raises(DeclarationError, match="did you mean RecordOpeningBalance"):
        command_of("RecordOpeningBalanse")
    with pytest.raises(DeclarationError, match="Caller is no command; the commands are RecordOpeningBalance, ListAccounts"):
        command_of(caller())


def test_a_command_is_found_by_name_class_or_itself():
    info = command_of("RecordOpeningBalance")
    assert [command_of(RecordOpeningBalance), command_of(ON_A)] == [info, info]
    assert (info.verb, info.roles, info.changes, info.accounts) == (
        "record_opening_balance",
        ("operations",),
        True,
        ("account",),
    )
    assert {each.verb: each.roles for each in commands()} == {
        "record_opening_balance": ("operations",),
        "list_accounts": ("operations", "custody"),
        "list_positions": ("operations", "custody"),
        "list_entries": ("operations", "custody"),
    }


def test_accounts_are_named_by_the_cell_that_names_them():
    assert accounts_named(ON_A) == (("account", "A"),)
    assert accounts_named(ListEntries()) == ()


def test_a_command_cannot_name_a_path_it_lacks_or_take_anothers_name():
    with pytest.raises(DeclarationError, match="accounts names acount, which the record lacks"):

        @command(roles=("operations",), changes=True, accounts=("acount",), answers=Entry)
        @dataclass(frozen=True)
        class RecordNothing:
            account: str

    with pytest.raises(DeclarationError, match="ListAccounts is already a command"):

        @command(roles=("operations",), changes=False, answers=Entry)
        @dataclass(frozen=True)
        class ListAccounts:
            account: str
