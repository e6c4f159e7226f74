"""The revision: counted on by whatever changes who may ask what, and by nothing else."""

import asyncio
from contextlib import closing
from datetime import timedelta

import pytest
from sqlalchemy import delete, insert, select, text, update

from meridian.callers import Caller
from meridian.deployment import access, allowing, calls, delegations, identity
from meridian.deployment.access import AccessRow
from meridian.deployment.store import Store, tables
from meridian.deployment.store.revision import read_revision
from meridian.deployment.store.tables import METADATA

SAYS_NOTHING_OF_IT = {
    "account_sets", "accounts", "authorizations", "call_minutes", "calls", "clients", "codes", "entries", "inbox_places",
    "instances", "keys", "links", "prepared_changes", "prepared_steps", "provider_groups", "recent_acts", "repeats",
    "revision", "sessions", "sign_in_tries",
}  # fmt: skip
"""Tables of which nothing is worked out that is kept: an account is reached by its group, a role by its plugin's pages."""

NOT_COUNTED = {
    "people": {"password_hash", "added_at", "issuer", "issuer_subject"},
    "user_group_members": {"given_by"},
    "delegations": {"last_used_at", "last_refused_at"},
    "tokens": {"family", "spent_at"},
    "act_limits": {"chosen_by", "chosen_at"},
    "second_pairs": {"chosen_by", "chosen_at"},
}

NOT_COUNTED_WHERE_IT_COMES = {"tokens"}
"""Nothing was worked out of a token before it was there; clients renew theirs every ten minutes."""

CALLER = Caller("P-1", "Somebody", "write")

COUNTED = sorted(set(METADATA.tables) - SAYS_NOTHING_OF_IT)


@pytest.fixture
def revision(store):
    def revision() -> int:
        with store.read() as connection:
            return read_revision(connection)

    return revision


@pytest.fixture
def filled(store, grant, operations, now):
    """A store with a row in every table that counts."""
    grant("P-1", ("A",), ("operations", "operations", "write"))
    rows, acts = [AccessRow("operations", "operations", "write")], frozenset({("operations", "confirm")})
    delegations.make_by_hand(store, "P-1", "Agent", rows, 7, now=now, acts=acts)
    allowing.name_limit(store, "plugin", "operations", "confirm", "prepare", by="P-1", now=now)
    allowing.name_second_pair(store, "operations", "confirm", ["P-1"], by="P-1", now=now)
    return store


@pytest.mark.parametrize("name", COUNTED)
def test_a_change_of_any_column_counts_on_but_for_those_that_say_nothing_of_it(filled, revision, name):
    table = METADATA.tables[name]
    counted = set()
    for column in table.c:
        before = revision()
        with filled.write() as connection:
            assert connection.execute(update(table).values({column.name: column})).rowcount
        if revision() > before:
            counted.add(column.name)
    assert counted == set(table.c.keys()) - NOT_COUNTED.get(name, set())


@pytest.mark.parametrize("name", COUNTED)
def test_a_row_that_comes_or_goes_counts_on(filled, revision, name):
    table = METADATA.tables[name]
    before = revision()
    with filled.write() as connection:
        connection.execute(text("PRAGMA defer_foreign_keys = ON"))
        row = connection.execute(select(table)).first()._mapping
        connection.execute(delete(table).where(*[each == row[each.name] for each in table.primary_key]))
        gone = connection.scalar(select(tables.revision.c.number))
        connection.execute(insert(table).values(dict(row)))
    assert before < gone
    assert (revision() > gone) == (name not in NOT_COUNTED_WHERE_IT_COMES)


def test_what_is_undone_was_never_counted(filled, revision):
    before = revision()

    def withdraw_and_fail():
        with filled.write() as connection:
            connection.execute(delete(tables.permissions))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        withdraw_and_fail()
    assert revision() == before


def test_calls_and_sessions_count_nothing(filled, revision, now):
    before = revision()
    (made,) = delegations.held_by(filled, "P-1")
    minute = timedelta(minutes=1)
    opened = calls.open_call(filled, CALLER, instance="operations", acts=True, lasts=minute, now=now, tool="operations__x")
    calls.close_call(filled, opened, now=now, outcome="made")
    with filled.write() as connection:
        delegations.note_use(connection, made.id, refused=True, now=now)
    identity.set_password(filled, "P-1", "a long enough password")
    identity.sign_in_by_link(filled, identity.sign_in_link(filled, "P-1", now=now), now=now)
    assert revision() == before


def test_a_sibling_s_change_is_seen_at_the_next_look(store, tmp_path):
    async def looks() -> list[int]:
        seen = [await store.revision()]
        with closing(Store(f"sqlite:///{tmp_path / 'meridian.db'}")) as sibling:
            access.add_group(sibling, "user", "Others")
        return [*seen, await store.revision()]

    before, after = asyncio.run(looks())
    assert before < after
