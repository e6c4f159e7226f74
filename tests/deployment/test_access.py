"""Who holds what."""

from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from meridian.callers import EVERY_ACCOUNT, Accounts, Holding, cut
from meridian.commands import Account
from meridian.deployment import access, identity
from meridian.deployment.access import AccessRow, Permission
from meridian.deployment.identity import DEPLOYMENT_ADMINS
from meridian.errors import Problem, Refusal

ROLES = ("operations", "custody")

_NO_ROW = "row: choose a plugin's role at a level"


def refused(work, *args, **named):
    with pytest.raises(Refusal) as refusal:
        work(*args, **named)
    return refusal.value.reason, refusal.value.detail


def test_write_through_one_permission_and_read_through_another_is_never_write_on_the_other(store, grant):
    grant("P-1", ("A",), ("operations", "operations", "write"))
    grant("P-1", ("B",), ("operations", "operations", "read"))
    assert access.holdings(store, "P-1", "operations", ROLES) == {
        "operations": Holding(frozenset({"write", "read"}), Accounts.of({"A", "B"}), Accounts.of({"A"}))
    }


def test_a_level_on_one_role_is_none_on_the_other(store, grant):
    grant("P-1", ("A",), ("operations", "custody", "write"))
    assert set(access.holdings(store, "P-1", "operations", ROLES)) == {"custody"}
    assert access.holdings(store, "P-1", "operations", ("operations",)) == {}


def test_a_level_on_one_plugin_is_none_on_another(store, grant):
    grant("P-1", ("A",), ("operations", "operations", "write"))
    assert access.holdings(store, "P-1", "research", ROLES) == {}


def test_a_permission_of_anothers_group_is_not_mine(store, grant, now):
    grant("P-1", ("A",), ("operations", "operations", "write"))
    identity.add_person(store, "other", "Other", subject="P-2", now=now)
    assert access.holdings(store, "P-2", "operations", ROLES) == {}


def test_admin_reaches_no_account_and_includes_neither_read_nor_write(store, grant):
    grant("P-1", ("A",), ("operations", "operations", "admin"))
    held = access.holdings(store, "P-1", "operations", ROLES)
    assert held == {"operations": Holding(frozenset({"admin"}))}
    assert (cut(held, "read"), cut(held, "write")) == ({}, {})


def test_a_plugin_without_roles_has_one_without_a_name(store, grant):
    grant("P-1", ("A",), ("notes", "", "read"))
    assert access.holdings(store, "P-1", "notes", ()) == {"": Holding(frozenset({"read"}), Accounts.of({"A"}))}


def test_all_accounts_is_a_mark_that_new_accounts_are_under(store, grant, now):
    grant("P-1", (), ("operations", "operations", "read"))
    group = access.every_user_group(store)[1].id
    levels = access.every_access_group(store)[1].id
    access.grant(store, group, access.ALL_ACCOUNTS, levels)
    assert access.holdings(store, "P-1", "operations", ROLES)["operations"].read == EVERY_ACCOUNT


def test_a_deployment_admin_holds_admin_on_every_role_of_any_plugin_and_no_account(store, now):
    identity.add_person(store, "admin", "Demo admin", subject="P-1", now=now)
    access.join(store, DEPLOYMENT_ADMINS, "P-1")
    assert access.holdings(store, "P-1", "whatever-comes", ROLES) == dict.fromkeys(ROLES, Holding(frozenset({"admin"})))
    assert access.is_deployment_admin(store, "P-1")


def test_the_last_deployment_admin_stays(store, now):
    for number in (1, 2):
        identity.add_person(store, f"admin-{number}", "Demo admin", subject=f"P-{number}", now=now)
        access.join(store, DEPLOYMENT_ADMINS, f"P-{number}")
    access.leave(store, DEPLOYMENT_ADMINS, "P-1")
    last = ("last_admin", "This is the last deployment admin; make somebody else one first.")
    assert refused(access.leave, store, DEPLOYMENT_ADMINS, "P-2") == last
    assert refused(access.let_go, store, "P-2", now=now) == last
    assert (access.is_deployment_admin(store, "P-1"), access.is_deployment_admin(store, "P-2")) == (False, True)


def test_somebody_who_was_never_in_the_group_may_leave_it(store, now):
    identity.add_person(store, "admin", "Demo admin", subject="P-1", now=now)
    identity.add_person(store, "other", "Other", subject="P-2", now=now)
    access.join(store, DEPLOYMENT_ADMINS, "P-1")
    access.leave(store, DEPLOYMENT_ADMINS, "P-2")
    assert access.is_deployment_admin(store, "P-1")


def test_what_is_built_in_stays_as_it_is(store):
    assert [
        refused(access.remove_group, store, "user", DEPLOYMENT_ADMINS)[0],
        refused(access.remove_group, store, "account", access.ALL_ACCOUNTS)[0],
        refused(access.remove_group, store, "access", access.ALL_PLUGINS_ADMIN)[0],
        refused(access.name_accounts, store, access.ALL_ACCOUNTS, [])[0],
        refused(access.name_rows, store, access.ALL_PLUGINS_ADMIN, [])[0],
        refused(access.withdraw, store, "built-in")[0],
    ] == ["built_in"] * 6


def test_removing_a_group_removes_what_was_granted_through_it(store, grant):
    grant("P-1", ("A",), ("operations", "operations", "write"))
    access.remove_group(store, "account", "accounts-0")
    assert access.every_permission(store) == (
        Permission("built-in", DEPLOYMENT_ADMINS, access.ALL_ACCOUNTS, access.ALL_PLUGINS_ADMIN, True),
    )
    assert access.holdings(store, "P-1", "operations", ROLES) == {}


def test_withdrawing_a_permission_takes_what_it_gave_at_once(store, grant):
    kept = grant("P-1", ("A",), ("operations", "operations", "read"))
    access.withdraw(store, grant("P-1", ("A",), ("operations", "operations", "write")))
    assert access.holdings(store, "P-1", "operations", ROLES)["operations"].level == "read"
    access.withdraw(store, kept)
    assert access.holdings(store, "P-1", "operations", ROLES) == {}


def test_the_same_three_groups_are_one_permission(store, grant):
    made = grant("P-1", ("A",), ("operations", "operations", "read"))
    assert access.grant(store, "people-0", "accounts-0", "levels-0") == made


def test_groups_are_listed_with_what_they_name(store, grant):
    grant("P-1", ("B", "A"), ("operations", "operations", "write"), ("operations", "custody", "read"))
    assert access.every_user_group(store)[1].members == ("P-1",)
    assert access.every_account_group(store)[0].accounts == Accounts.of({"A", "B"})
    assert access.every_access_group(store)[1].rows == (
        AccessRow("operations", "custody", "read"),
        AccessRow("operations", "operations", "write"),
    )
    assert access.every_account(store) == (Account("A", "Account A"), Account("B", "Account B"))
    assert access.every_account(store, Accounts.of({"B", "C"})) == (Account("B", "Account B"),)


def test_what_a_group_names_is_replaced_whole(store, grant):
    grant("P-1", ("A", "B"), ("operations", "operations", "write"))
    access.name_accounts(store, "accounts-0", ["B"])
    access.name_rows(store, "levels-0", [AccessRow("operations", "operations", "read")])
    assert access.holdings(store, "P-1", "operations", ROLES) == {
        "operations": Holding(frozenset({"read"}), Accounts.of({"B"}))
    }


@pytest.mark.parametrize(
    ("work", "path"),
    [
        (lambda store: access.add_account(store, "no spaces"), "id"),
        (lambda store: access.add_account(store, ""), "id"),
        (lambda store: access.add_account(store, "A" * 65), "id"),
        (lambda store: access.add_group(store, "user", "  "), "name"),
        (lambda store: access.add_group(store, "user", "x" * 201), "name"),
        (lambda store: access.add_group(store, "user", "Deployment admins"), "name"),
        (lambda store: access.join(store, DEPLOYMENT_ADMINS, "nobody"), "subject"),
        (lambda store: access.join(store, "none", "nobody"), "user_group"),
        (lambda store: access.grant(store, DEPLOYMENT_ADMINS, "none", access.ALL_PLUGINS_ADMIN), "account_group"),
        (lambda store: access.name_accounts(store, access.add_group(store, "account", "New"), ["A"]), "accounts"),
        (
            lambda store: access.name_rows(store, access.add_group(store, "access", "New"), [AccessRow("x", "y", "all")]),
            "rows",
        ),
    ],
)
def test_what_cannot_be_filed_is_refused_by_its_cell(store, work, path):
    with pytest.raises(Refusal) as refusal:
        work(store)
    assert [problem.path for problem in refusal.value.fields] == [path]


def test_one_account_or_one_row_is_put_in_and_taken_out_beside_what_stays(store, grant, operations):
    grant("P-1", ("A", "B"), ("operations", "operations", "read"))
    (accounts,) = [each.id for each in access.every_account_group(store) if not each.built_in]
    (levels,) = [each.id for each in access.every_access_group(store) if not each.built_in]
    custody = AccessRow("operations", "custody", "write")
    access.add_account(store, "C")
    for _ in range(2):
        access.add_to_account_group(store, accounts, "C")
        access.add_to_access_group(store, levels, custody)
        access.take_from_account_group(store, accounts, "A")
        access.take_from_access_group(store, levels, AccessRow("operations", "operations", "read"))
    reached = Accounts.of({"B", "C"})
    assert access.holdings(store, "P-1", "operations", ROLES) == {
        "custody": Holding(frozenset({"write", "read"}), reached, reached)
    }


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (lambda store: access.add_to_account_group(store, "desk", "Z-9"), 'account: there is no account "Z-9"'),
        (lambda store: access.add_to_access_group(store, "desk", AccessRow("operations", "treasury", "read")), _NO_ROW),
        (lambda store: access.add_to_access_group(store, "desk", AccessRow("research", "operations", "read")), _NO_ROW),
        (lambda store: access.add_to_access_group(store, "desk", AccessRow("operations", "custody", "own")), _NO_ROW),
    ],
)
def test_what_there_is_not_is_put_into_no_group(store, operations, work, said):
    access.add_group(store, "account", "Desk")
    access.add_group(store, "access", "Desk")
    with pytest.raises(Refusal) as refusal:
        work(store)
    assert list(map(str, refusal.value.fields)) == [said]


def test_nothing_is_put_into_what_is_built_in_nor_taken_from_it(store, grant, operations):
    grant("P-1", ("A",))
    row = AccessRow("operations", "custody", "write")
    assert {
        refused(access.add_to_account_group, store, access.ALL_ACCOUNTS, "A")[0],
        refused(access.take_from_account_group, store, access.ALL_ACCOUNTS, "A")[0],
        refused(access.add_to_access_group, store, access.ALL_PLUGINS_ADMIN, row)[0],
        refused(access.take_from_access_group, store, access.ALL_PLUGINS_ADMIN, row)[0],
    } == {"built_in"}


def test_a_group_keeps_a_name_in_any_letters(store):
    made = [access.add_group(store, "user", name) for name in ("Früh & spät", "夜", "夜 2")]
    assert [group.id for group in access.every_user_group(store) if group.name == "Früh & spät"] == ["fr-h-sp-t"]
    assert len(set(made)) == 3


def test_whoever_was_let_go_holds_nothing(store, grant, now):
    grant("P-1", ("A",), ("operations", "operations", "write"))
    access.let_go(store, "P-1", now=now + timedelta(days=1))
    assert access.holdings(store, "P-1", "operations", ROLES) == {}
    assert refused(access.join, store, "people-0", "P-1")[1] == "There is nobody of that name."


LEVEL = st.sampled_from(["read", "write", "admin"])
GRANTS = st.lists(
    st.tuples(st.frozensets(st.sampled_from("ABC"), min_size=1), st.sampled_from(ROLES), LEVEL), min_size=1, max_size=4
)


@given(GRANTS)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_access_only_adds_up_permission_by_permission(store, now, grants):
    subject = identity.add_person(store, f"somebody-{len(identity.every_person(store))}", "Somebody", now=now).subject
    for reached, role, level in grants:
        number = len(access.every_permission(store))
        people, accounts, levels = (access.add_group(store, kind, f"{kind} {number}") for kind in ("user", "account", "access"))
        for account in reached:
            access.add_account(store, account)
        access.join(store, people, subject)
        access.name_accounts(store, accounts, reached)
        access.name_rows(store, levels, [AccessRow("operations", role, level)])
        access.grant(store, people, accounts, levels)
    held = access.holdings(store, subject, "operations", ROLES)
    for role in ROLES:
        of_role = [(reached, level) for reached, of, level in grants if of == role]
        writes = {account for reached, level in of_role if level == "write" for account in reached}
        reads = {account for reached, level in of_role if level == "read" for account in reached}
        levels = {level for _, level in of_role} | ({"read"} if writes else set())
        expected = Holding(frozenset(levels), Accounts.of(reads | writes), Accounts.of(writes))
        assert held.get(role, Holding()) == expected


def test_an_account_that_is_not_there_is_named(store):
    group = access.add_group(store, "account", "New")
    with pytest.raises(Refusal) as refusal:
        access.name_accounts(store, group, ["A", "B"])
    assert refusal.value.fields == (Problem("accounts", "there is no account A"), Problem("accounts", "there is no account B"))
