"""The demo's five people."""

from datetime import timedelta

from meridian.callers import Accounts, Holding
from meridian.deployment import access, calls, delegations, demo, identity
from meridian.deployment.access import AccessRow
from meridian.deployment.instances import configure
from meridian.deployment.store import Store

ROLES = ("operations", "custody")
FAMILIES = Accounts.of({"A-1", "A-2"})
MANAGES = "admin on the instance operations, role {}, no account's data"
INSTITUTIONS = Accounts.of({"A-3", "A-4"})


def test_five_people_of_different_grants(store, operations, now):
    seated = demo.seed(store, [operations], now=now)
    assert [(person.subject, person.display_name, person.holds) for person in seated] == [
        ("demo-admin", "Demo admin", f"deployment admin; {MANAGES.format('custody')}; {MANAGES.format('operations')}"),
        ("demo-writer", "Demo writer", "write on the instance operations, role operations, accounts A-1, A-2"),
        ("demo-reader", "Demo reader", "read on the instance operations, role operations, accounts A-1, A-2, A-3, A-4"),
        ("demo-custody", "Demo custody writer", "write on the instance operations, role custody, accounts A-3, A-4"),
        ("demo-newcomer", "Demo newcomer", "nothing yet"),
    ]  # fmt: skip
    held = {person.subject: access.holdings(store, person.subject, "operations", ROLES) for person in seated}
    assert held == {
        "demo-admin": dict.fromkeys(ROLES, Holding(frozenset({"admin"}))),
        "demo-writer": {"operations": Holding(frozenset({"write", "read"}), FAMILIES, FAMILIES)},
        "demo-reader": {"operations": Holding(frozenset({"read"}), FAMILIES | INSTITUTIONS)},
        "demo-custody": {"custody": Holding(frozenset({"write", "read"}), INSTITUTIONS, INSTITUTIONS)},
        "demo-newcomer": {},
    }


def test_each_has_a_link_that_signs_in_once_and_a_client_that_reaches_what_they_hold(store, operations, now):
    for person in demo.seed(store, [operations], now=now):
        token = identity.sign_in_by_link(store, person.sign_in_token, now=now)
        assert identity.read_session(store, token, now=now).person.subject == person.subject
        lent = delegations.by_token(store, person.client_token, now=now)
        assert lent.subject == person.subject
        assert delegations.narrowed(store, lent, "operations", ROLES) == access.holdings(
            store, person.subject, "operations", ROLES
        )


def test_seeding_again_gives_fresh_links_and_the_same_clients_and_adds_nothing(store, operations, now):
    first = demo.seed(store, [operations], now=now)
    before = (identity.every_person(store), access.every_permission(store), delegations.every_delegation(store))
    second = demo.seed(store, [operations], now=now + timedelta(days=1))
    assert (identity.every_person(store), access.every_permission(store), delegations.every_delegation(store)) == before
    assert [person.client_token for person in second] == [person.client_token for person in first]
    assert {person.sign_in_token for person in second}.isdisjoint({person.sign_in_token for person in first})


def test_a_client_that_was_revoked_or_has_lapsed_is_replaced(store, operations, now):
    first = demo.seed(store, [operations], now=now)
    delegations.revoke(store, delegations.by_token(store, first[1].client_token, now=now).id, by="demo-writer", now=now)
    second = demo.seed(store, [operations], now=now)
    assert [one.client_token == other.client_token for one, other in zip(first, second, strict=True)] == [
        True, False, True, True, True,
    ]  # fmt: skip
    later = now + timedelta(days=85)
    third = demo.seed(store, [operations], now=later)
    assert all(delegations.by_token(store, person.client_token, now=later + timedelta(days=7)) for person in third)


def test_what_somebody_changed_since_stays_changed(store, operations, now):
    demo.seed(store, [operations], now=now)
    group = next(group for group in access.every_access_group(store) if group.name == "Demo reader access")
    access.name_rows(store, group.id, [AccessRow("operations", "operations", "write")])
    assert (
        demo.seed(store, [operations], now=now)[2].holds
        == "write on the instance operations, role operations, accounts A-1, A-2, A-3, A-4"
    )


def test_a_plugin_added_at_a_later_run_has_its_people_too(store, operations, now):
    demo.seed(store, [operations], now=now)
    notes = configure(store, "notes", target="notes:pages", title="Notes", roles=[], now=now)
    seated = demo.seed(store, [operations, notes], now=now)
    assert seated[1].holds.split("; ") == [
        "write on the instance notes, accounts A-1, A-2",
        "write on the instance operations, role operations, accounts A-1, A-2",
    ]


def test_a_demo_token_differs_from_deployment_to_deployment(store, operations, now, tmp_path):
    other = Store(f"sqlite:///{tmp_path / 'other.db'}")
    twins = [demo.seed(each, [operations], now=now)[4].client_token for each in (store, other)]
    other.close()
    assert len(set(twins)) == 2


def test_a_demo_that_ran_leaves_no_open_call(store, operations, now):
    demo.seed(store, [operations], now=now)
    calls.prune(store, now=now)
    assert identity.first_admin_link(store, now=now) is None
