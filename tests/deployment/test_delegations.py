"""A person's leave for one client: never more than they hold, never more than they ticked, never after it was revoked."""

import hashlib
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import select

from meridian.callers import Accounts, Holding
from meridian.deployment import access, delegations, identity
from meridian.deployment.access import AccessRow
from meridian.deployment.delegations import Covers
from meridian.deployment.store.tables import tokens
from meridian.errors import Problem, Refusal

WRITE = AccessRow("operations", "operations", "write")
READ = AccessRow("operations", "operations", "read")
ADMIN = AccessRow("operations", "operations", "admin")
ROLES = ("operations", "custody")


@pytest.fixture
def writer(store, grant, operations):
    """Somebody who writes A, reads B, and writes C by the other role."""
    grant("P-1", ("A",), ("operations", "operations", "write"))
    grant("P-1", ("B",), ("operations", "operations", "read"))
    grant("P-1", ("C",), ("operations", "custody", "write"))
    return "P-1"


def lent(store, now, *rows, subject="P-1", days=30):
    made, _ = delegations.make_by_hand(store, subject, "Desktop agent", rows, days, now=now)
    return made


def refused(work, *args, **named):
    with pytest.raises(Refusal) as refusal:
        work(*args, **named)
    return refusal.value.detail, refusal.value.fields


def test_a_token_is_kept_as_its_fingerprint_alone(store, writer, now, tmp_path):
    made, token = delegations.make_by_hand(store, writer, "Desktop agent", [READ], 7, now=now)
    with store.read() as connection:
        assert connection.scalar(select(tokens.c.fingerprint)) == hashlib.sha256(token.encode()).hexdigest()
    store.close()
    assert token.encode() not in b"".join(file.read_bytes() for file in tmp_path.glob("meridian.db*"))
    assert delegations.by_token(store, token, now=now) == made


def test_a_token_speaks_for_its_person_until_its_day(store, writer, now):
    made, token = delegations.make_by_hand(store, writer, " Desktop  agent ", [READ, READ], 7, now=now)
    assert (made.subject, made.client_name, made.rows, made.expires_at) == (
        "P-1",
        "Desktop agent",
        (READ,),
        now + timedelta(days=7),
    )
    last = now + timedelta(days=7) - timedelta(seconds=1)
    assert delegations.by_token(store, token, now=last) == made
    assert delegations.by_token(store, token, now=now + timedelta(days=7)) is None


@pytest.mark.parametrize("token", ["", "mrd_", "x" * 1_000_000, "\ud800", "é"])
def test_a_token_that_was_never_made_is_nobodys(store, writer, now, token):
    assert delegations.by_token(store, token, now=now) is None


def test_nobody_lends_what_they_do_not_hold(store, writer, now):
    other = AccessRow("research", "operations", "read")
    assert refused(delegations.make_by_hand, store, writer, "Agent", [ADMIN, WRITE, other], 7, now=now) == (
        "You can lend no more than you hold.",
        (
            Problem("rows", "you do not hold admin on operations, operations"),
            Problem("rows", "you do not hold read on research, operations"),
        ),
    )


def test_not_even_an_admin_lends_a_role_that_no_plugin_has(store, operations, now):
    identity.add_person(store, "admin", "Demo admin", subject="P-9", now=now)
    access.join(store, identity.DEPLOYMENT_ADMINS, "P-9")
    assert lent(store, now, ADMIN, subject="P-9").rows == (ADMIN,)
    for row in (AccessRow("operations", "research", "admin"), AccessRow("nowhere", "operations", "admin")):
        with pytest.raises(Refusal, match="no more than you hold"):
            lent(store, now, row, subject="P-9")


def test_a_delegation_names_a_client_days_and_rows(store, writer, now):
    assert refused(delegations.make_by_hand, store, writer, " ", [], 8, now=now) == (
        "Nothing was lent yet; put right what is named here.",
        (
            Problem("client_name", "give the client a name, of at most 200 characters"),
            Problem("days", "8 is no choice; it lasts 7, 30 or 90 days"),
            Problem("rows", "tick at least one row, and at most 500"),
        ),
    )


def test_a_write_row_reaches_what_may_be_read_too(store, writer, now):
    assert delegations.narrowed(store, lent(store, now, WRITE), "operations", ROLES) == {
        "operations": Holding(frozenset({"write", "read"}), Accounts.of({"A", "B"}), Accounts.of({"A"}))
    }


def test_a_read_row_writes_nothing_though_its_person_may(store, writer, now):
    assert delegations.narrowed(store, lent(store, now, READ), "operations", ROLES) == {
        "operations": Holding(frozenset({"read"}), Accounts.of({"A", "B"}))
    }


def test_a_row_reaches_its_own_role_and_plugin_alone(store, writer, now):
    made = lent(store, now, AccessRow("operations", "custody", "write"))
    assert set(delegations.narrowed(store, made, "operations", ROLES)) == {"custody"}
    assert delegations.narrowed(store, made, "research", ROLES) == {}


def test_an_admin_row_lends_admin_and_no_account(store, grant, writer, now):
    grant("P-1", (), ("operations", "operations", "admin"))
    assert delegations.narrowed(store, lent(store, now, ADMIN), "operations", ROLES) == {
        "operations": Holding(frozenset({"admin"}))
    }


def test_a_delegation_follows_its_person_down_and_up_but_never_past_its_rows(store, grant, operations, now):
    permission = grant("P-1", ("A",), ("operations", "operations", "write"))
    made = lent(store, now, WRITE)
    access.withdraw(store, permission)
    assert delegations.narrowed(store, made, "operations", ROLES) == {}
    grant("P-1", ("B",), ("operations", "operations", "read"), ("operations", "custody", "write"))
    assert delegations.narrowed(store, made, "operations", ROLES) == {
        "operations": Holding(frozenset({"read"}), Accounts.of({"B"}))
    }


def test_a_revoked_token_is_nobodys_at_once(store, writer, now):
    made, token = delegations.make_by_hand(store, writer, "Agent", [READ], 7, now=now)
    for later in (1, 2):
        delegations.revoke(store, made.id, by=writer, now=now + timedelta(hours=later))
    assert delegations.by_token(store, token, now=now) is None
    found = delegations.find(store, made.id)
    assert (found.revoked_at, found.revoked_by, found.stands(now)) == (now + timedelta(hours=1), "P-1", False)


def test_another_persons_delegation_is_as_good_as_none(store, writer, grant, now):
    grant("P-2", ("A",), ("operations", "operations", "read"))
    made, token = delegations.make_by_hand(store, writer, "Agent", [READ], 7, now=now)
    words = ("You have no such connected client.", ())
    assert refused(delegations.revoke, store, made.id, by="P-2", now=now) == words
    assert refused(delegations.revoke, store, "D-none", by="P-2", now=now) == words
    assert delegations.by_token(store, token, now=now) == made
    delegations.revoke(store, made.id, by="P-2", anyones=True, now=now)
    assert delegations.by_token(store, token, now=now) is None


def test_delegations_are_listed_for_their_person_and_everyones_for_an_admin(store, writer, grant, now):
    grant("P-2", ("A",), ("operations", "operations", "read"))
    first = lent(store, now, READ)
    second = lent(store, now + timedelta(hours=1), WRITE)
    others = lent(store, now + timedelta(hours=2), READ, subject="P-2")
    assert delegations.held_by(store, "P-1") == (second, first)
    assert delegations.every_delegation(store) == (others, second, first)


def test_a_use_and_a_refusal_are_noted(store, writer, now):
    made = lent(store, now, READ)
    later = now + timedelta(seconds=30)
    with store.write() as connection:
        delegations.note_use(connection, made.id, refused=False, now=now)
    assert delegations.find(store, made.id) == replace(made, last_used_at=now)
    with store.write() as connection:
        delegations.note_use(connection, made.id, refused=True, now=later)
    assert delegations.find(store, made.id) == replace(made, last_used_at=later, last_refused_at=later)


def test_whoever_was_let_go_speaks_through_no_client(store, writer, now):
    made, token = delegations.make_by_hand(store, writer, "Agent", [READ], 7, now=now)
    access.let_go(store, writer, now=now)
    assert delegations.by_token(store, token, now=now) is None
    assert delegations.find(store, made.id).revoked_at == now


def test_a_person_has_a_bounded_number_of_clients(store, writer, now):
    for _ in range(100):
        lent(store, now, READ)
    with pytest.raises(Refusal, match="You have 100 connected clients; revoke one first"):
        lent(store, now, READ)
    assert lent(store, now + timedelta(days=31), READ)


def asked_for(store, now, covers, *, client="C-1", days=30, subject="P-1", name="Notes"):
    with store.write() as connection:
        return delegations.make(connection, subject=subject, client=client, client_name=name, covers=covers, days=days, now=now)


def test_a_delegation_of_everything_follows_what_its_person_holds(store, writer, grant, now):
    made = asked_for(store, now, Covers(everything=True))
    assert (made.rows, made.reaches("operations"), made.reaches("anything")) == ((), True, True)
    held = access.holdings(store, "P-1", "operations", ROLES)
    assert delegations.narrowed(store, made, "operations", ROLES) == held
    grant("P-1", ("D",), ("operations", "custody", "read"))
    later = access.holdings(store, "P-1", "operations", ROLES)
    assert delegations.narrowed(store, made, "operations", ROLES) == later != held


def test_a_delegation_of_rows_reaches_acts_that_were_shown_and_awaits_consent_to_others(store, writer, now):
    shown, added = ("operations", "confirm"), ("operations", "settle")
    made = asked_for(store, now, Covers((WRITE,), acts=frozenset({shown})))
    kept = delegations.find(store, made.id)
    assert kept == made
    assert [kept.awaits_consent(each) for each in (shown, added, ("research", "confirm"))] == [False, True, True]
    assert not asked_for(store, now, Covers(everything=True), client="C-2").awaits_consent(added)
    assert not lent(store, now, WRITE).awaits_consent(added)
    assert asked_for(store, now, Covers((WRITE,), acts=frozenset()), client="C-3").awaits_consent(shown)


def test_a_client_that_comes_back_has_its_delegation_made_over(store, writer, now):
    first = asked_for(store, now, Covers((WRITE,), acts=frozenset({("operations", "confirm")})))
    again = asked_for(store, now + timedelta(days=2), Covers((READ,), acts=frozenset()), days=7, name="Other notes")
    assert (again.id, again.rows, again.covers.acts, again.client_name) == (first.id, (READ,), frozenset(), "Other notes")
    assert (again.made_at, again.expires_at) == (now, now + timedelta(days=9))
    assert delegations.held_by(store, "P-1") == (again,)


def test_but_not_one_that_was_revoked_or_whose_time_is_over_nor_another_s(store, writer, grant, now):
    first = asked_for(store, now, Covers((WRITE,)))
    delegations.revoke(store, first.id, by="P-1", now=now)
    second = asked_for(store, now, Covers((WRITE,)), days=7)
    third = asked_for(store, now + timedelta(days=7), Covers((WRITE,)))
    grant("P-2", ("A",), ("operations", "operations", "write"))
    other = asked_for(store, now, Covers((WRITE,)), subject="P-2")
    by_another = asked_for(store, now, Covers((WRITE,)), client="C-2")
    assert len({first.id, second.id, third.id, other.id, by_another.id}) == 5
    assert delegations.latest_of(store, "P-1", "C-1") == third


def test_what_is_asked_for_is_checked_as_what_is_made_by_hand(store, writer, now):
    beyond = refused(asked_for, store, now, Covers((ADMIN,)))
    assert beyond == (
        "You can lend no more than you hold.",
        (Problem("rows", "you do not hold admin on operations, operations"),),
    )
    assert [each.path for each in refused(asked_for, store, now, Covers(), days=8)[1]] == ["days", "rows"]
    assert delegations.held_by(store, "P-1") == ()
