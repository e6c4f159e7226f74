"""The record of calls: open while they last, kept without what was asked or answered."""

from datetime import timedelta

import pytest
from sqlalchemy import select

from meridian.callers import Caller
from meridian.deployment import calls, delegations
from meridian.deployment.access import AccessRow
from meridian.deployment.calls import CallLimits, CallRecord, Opened, Opening, TooMany
from meridian.deployment.store import tables
from meridian.deployment.store.revision import read_revision

MINUTE = timedelta(seconds=60)
PERSON = Caller("P-1", "Demo writer", "write")


@pytest.fixture
def agent(store, grant, operations, now):
    """Somebody's client, as a caller."""
    grant("P-1", ("A",), ("operations", "operations", "write"))
    rows = [AccessRow("operations", "operations", "write")]
    made, _ = delegations.make_by_hand(store, "P-1", "Desktop agent", rows, 30, now=now)
    return Caller("P-1", "Demo writer", "write", delegation_id=made.id, client_name=made.client_name)


def opened(store, caller, now, tool=None):
    return calls.open_call(store, caller, instance="operations", acts=True, lasts=MINUTE, now=now, tool=tool)


def test_a_call_is_open_until_it_is_closed_or_outlived(store, now):
    one, other = (opened(store, PERSON, now) for _ in range(2))
    calls.close_call(store, one, now=now)
    assert [calls.is_open(store, call_id, now=now) for call_id in (one, other, "C-none", "")] == [False, True, False, False]
    assert not calls.is_open(store, other, now=now + MINUTE)


def test_a_browsers_call_leaves_no_row_behind(store, now):
    calls.close_call(store, opened(store, PERSON, now), now=now, outcome="made")
    with store.read() as connection:
        assert connection.execute(select(tables.calls)).all() == []


def test_a_tools_call_is_listed_with_tool_level_outcome_and_time(store, agent, now):
    made = opened(store, agent, now, "operations__confirm_opening_balance")
    later = now + timedelta(seconds=2)
    calls.close_call(store, made, now=later, outcome="refused", reason="not_admitted")
    calls.close_call(store, made, now=later + MINUTE, outcome="made")
    assert calls.listed(store, agent.delegation_id) == (
        CallRecord(made, "operations__confirm_opening_balance", "write", now, later, "refused", "not_admitted"),
    )


@pytest.mark.parametrize("said", [5, ["x"] * 99, {"a": 1}, "\ud800", "a\0b", "x" * 1_000])
def test_a_call_is_closed_whatever_its_plugin_says_of_it(store, agent, now, said):
    made = opened(store, agent, now, "operations__confirm_opening_balance")
    calls.close_call(store, made, now=now, outcome=said, reason=said)
    assert not calls.is_open(store, made, now=now)


def test_nothing_that_was_asked_or_answered_has_a_place_in_the_record(store):
    assert set(tables.calls.c.keys()) == {
        "id", "instance", "subject", "level", "acts", "opened_at", "expires_at", "closed_at", "delegation", "tool", "outcome",
        "reason",
    }  # fmt: skip


def test_a_call_refused_before_its_plugin_was_asked_is_listed_too_and_was_never_open(store, agent, now):
    with store.write() as connection:
        calls.record_unasked(connection, agent, instance="operations", tool="operations__none", reason="not_listed", now=now)
    (record,) = calls.listed(store, agent.delegation_id)
    assert (record.tool, record.outcome, record.reason, record.closed_at) == ("operations__none", "refused", "not_listed", now)
    assert not calls.is_open(store, record.id, now=now)


def test_calls_are_listed_the_latest_first_and_go_on_from_a_moment(store, agent, now):
    moments = [now + timedelta(seconds=number) for number in range(5)]
    for moment in moments:
        opened(store, agent, moment, f"operations__{moment.second}")
    first = calls.listed(store, agent.delegation_id, limit=2)
    then = calls.listed(store, agent.delegation_id, before=first[-1].opened_at)
    assert [record.tool[-1] for record in (*first, *then)] == ["4", "3", "2", "1", "0"]
    assert calls.listed(store, "D-none") == ()


def test_what_no_longer_matters_is_forgotten(store, agent, now):
    opened(store, PERSON, now)
    kept = opened(store, agent, now, "operations__read")
    calls.prune(store, now=now + timedelta(hours=2))
    with store.read() as connection:
        assert connection.scalars(select(tables.calls.c.id)).all() == [kept]
    calls.prune(store, now=now + timedelta(days=401))
    assert calls.listed(store, agent.delegation_id) == ()


def test_a_call_that_is_looked_at_anew_counts_once(store, agent, now):
    def open_under(number):
        common = {"caller": agent, "instance": "operations", "acts": True, "lasts": MINUTE, "now": now, "tool": "operations__x"}
        opening = Opening(id=f"C-{number}", revision=number, **common)
        return store.rewrite(lambda connection: calls.open_in(connection, opening, CallLimits(per_minute=1)))

    with store.read() as connection:
        revision = read_revision(connection)
    assert [open_under(revision - 1) for _ in range(3)] == [None] * 3
    assert isinstance(open_under(revision), Opened)
    assert isinstance(open_under(revision), TooMany)
