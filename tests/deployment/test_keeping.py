"""What every call writes and asks: kept when it says so, together with what waits, and never in another's way."""

import asyncio
import sqlite3
import threading
from contextlib import closing

import pytest
from sqlalchemy import event, func, insert, select
from sqlalchemy.exc import IntegrityError

from meridian.deployment.store import store as store_module
from meridian.deployment.store.prepared import Prepared
from meridian.deployment.store.tables import accounts, entries, keys
from meridian.errors import Refusal

COUNT = select(func.count()).select_from(accounts)


def add(connection, account):
    connection.execute(insert(accounts).values(id=account, name=""))
    return account


def count(connection):
    return connection.scalar(COUNT)


@pytest.fixture(params=["keep", "keep_lasting"])
def kept(request, store):
    """`keep` and `keep_lasting`, which differ only in what they outlive."""
    return getattr(store, request.param)


def other(tmp_path):
    return closing(sqlite3.connect(tmp_path / "meridian.db", isolation_level=None))


def test_what_is_kept_is_there_for_a_sibling_when_the_result_is(kept, tmp_path):
    async def keep():
        with other(tmp_path) as sibling:
            assert await kept(add, "A-1") == "A-1"
            return sibling.execute("select id from accounts").fetchall()

    assert asyncio.run(keep()) == [("A-1",)]


def test_what_is_lasting_is_synced_and_what_is_kept_is_not(store):
    def synchronous(connection):
        return connection.exec_driver_sql("PRAGMA synchronous").scalar_one()

    async def both():
        return await store.keep(synchronous), await store.keep_lasting(synchronous), await store.keep(synchronous)

    assert asyncio.run(both()) == (1, 2, 1)


def test_what_raises_leaves_nothing_and_the_next_is_kept(kept, store):
    def fail(connection):
        add(connection, "A-1")
        raise Refusal("No.")

    async def keep():
        with pytest.raises(Refusal):
            await kept(fail)
        with pytest.raises(IntegrityError):
            await kept(lambda connection: [add(connection, "A-1"), add(connection, "A-1")])
        await kept(add, "A-2")
        return await store.look(lambda connection: connection.scalars(select(accounts.c.id)).all())

    assert asyncio.run(keep()) == ["A-2"]


def test_works_that_wait_at_once_share_a_transaction_and_one_that_fails_fails_alone(store):
    commits = []
    event.listen(store._engine, "commit", commits.append)
    released = threading.Event()

    def wait(connection):
        assert released.wait(10)
        return add(connection, "first")

    def fail(connection):
        add(connection, "failed")
        raise Refusal("No.")

    async def at_once(*works):
        commits.clear()
        released.clear()
        first = asyncio.ensure_future(store.keep_lasting(wait))
        await asyncio.sleep(0.05)
        others = [asyncio.ensure_future(store.keep_lasting(work)) for work in works]
        await asyncio.sleep(0)
        released.set()
        await first
        return await asyncio.gather(*others, return_exceptions=True)

    def adding(account):
        return lambda connection: add(connection, account)

    async def both():
        together = await at_once(*map(adding, "abcdefgh"))
        committed = len(commits)
        with store.write() as connection:
            connection.execute(accounts.delete())
        apart = await at_once(adding("i"), fail, adding("j"))
        return together, committed, apart, await store.look(count)

    together, committed, apart, found = asyncio.run(both())
    assert (together, committed) == (list("abcdefgh"), 2)
    assert (apart[0], type(apart[1]), apart[2], found) == ("i", Refusal, "j", 3)


def test_a_sibling_that_writes_is_waited_for_and_the_loop_goes_on(kept, tmp_path):
    async def keep():
        with other(tmp_path) as sibling:
            sibling.execute("BEGIN IMMEDIATE")
            waiting = asyncio.ensure_future(kept(add, "A-1"))
            for _ in range(10):
                await asyncio.sleep(0.01)
            assert not waiting.done()
            sibling.execute("COMMIT")
            return await asyncio.wait_for(waiting, 10)

    assert asyncio.run(keep()) == "A-1"


def test_a_look_waits_for_nobody_who_writes(store, tmp_path):
    async def look():
        with other(tmp_path) as sibling:
            sibling.execute("BEGIN IMMEDIATE")
            sibling.execute("insert into accounts values ('A-1', '')")
            seen = await asyncio.wait_for(store.look(count), 1), await asyncio.wait_for(store.revision(), 1)
            sibling.execute("COMMIT")
            return seen[0], await store.look(count)

    assert asyncio.run(look()) == (0, 1)


def test_the_log_ahead_begins_anew_now_and_then(store, tmp_path, monkeypatch):
    monkeypatch.setattr(store_module, "_TIDIED_AFTER", 50)
    sizes = []

    async def keep():
        for number in range(1_000):
            await store.keep(add, f"A-{number}")
            sizes.append((tmp_path / "meridian.db-wal").stat().st_size)

    asyncio.run(keep())
    assert max(sizes) < 2_000_000
    with other(tmp_path) as sibling:
        assert sibling.execute("select count(*) from accounts").fetchone() == (1_000,)


@pytest.mark.parametrize(("calm_seconds", "grows"), [(0, False), (3_600, True)])
def test_the_log_ahead_is_brought_in_sooner_while_it_is_calm(store, tmp_path, monkeypatch, calm_seconds, grows):
    monkeypatch.setattr(store_module, "_CALM_AFTER", 50)
    monkeypatch.setattr(store_module, "_CALM_SECONDS", calm_seconds)

    async def keep():
        for number in range(1_000):
            await store.keep(add, f"A-{number}")

    asyncio.run(keep())
    assert ((tmp_path / "meridian.db-wal").stat().st_size > 2_000_000) is grows


def test_nobody_waits_for_the_log_ahead_to_be_brought_in_unless_it_is_long(store, tmp_path, monkeypatch):
    monkeypatch.setattr(store_module, "_LONGEST_LOG_PAGES", 3_000)
    sizes = []

    def add_many(connection, first):
        connection.execute(insert(accounts), [{"id": f"A-{first}-{number}", "name": "x" * 200} for number in range(2_000)])

    async def keep():
        for number in range(60):
            await store.keep_lasting(add_many, number)
            sizes.append((tmp_path / "meridian.db-wal").stat().st_size)

    asyncio.run(keep())
    assert 2_000 * 4_096 < max(sizes) < 4_000 * 4_096


def test_a_log_that_cannot_be_brought_in_is_in_nobody_s_way(store, monkeypatch, caplog):
    monkeypatch.setattr(store_module, "_TIDIED_AFTER", 1)
    monkeypatch.setattr(store_module, "_TIDYING_MILLISECONDS", "; no number")

    async def keep():
        for number in range(3):
            await asyncio.wait_for(store.keep_lasting(add, f"A-{number}"), 10)
        return await store.look(count)

    assert asyncio.run(keep()) == 3
    assert "what follows a transaction failed" in caplog.text


def test_a_store_that_was_closed_goes_on_when_it_is_asked_again(store):
    async def keep():
        await store.keep(add, "A-1")
        await store.keep_lasting(add, "A-2")
        store.close()
        await store.keep(add, "A-3")
        await store.keep_lasting(add, "A-4")
        return await store.look(count)

    assert asyncio.run(keep()) == 4
    assert asyncio.run(store.look(count)) == 4


def test_whoever_stops_waiting_leaves_the_work_to_be_done(store):
    released = threading.Event()

    def slowly(connection):
        assert released.wait(10)
        return add(connection, "A-1")

    async def stop():
        waiting = asyncio.ensure_future(store.keep_lasting(slowly))
        await asyncio.sleep(0.05)
        waiting.cancel()
        released.set()
        await asyncio.sleep(0.05)
        return await store.look(count)

    assert asyncio.run(stop()) == 1


def test_a_prepared_statement_takes_and_gives_what_sqlalchemy_does(store, now):
    every = select(keys)
    with store.write() as connection:
        connection.execute(insert(keys).values(name="a", key=b"x", made_at=now))
        (row,) = Prepared(every).rows(connection, {})
        assert (row.name, row.key, row.made_at) == tuple(connection.execute(every).one())
        assert Prepared(select(entries).limit(1)).rows(connection, {}) == []
