"""The store: tables as the migrations make them, and transactions that keep whole."""

import asyncio
import stat
import threading
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import func, insert, select, text, update
from sqlalchemy.exc import IntegrityError, StatementError

from meridian.deployment import keys
from meridian.deployment.store import Store
from meridian.deployment.store.tables import METADATA, accounts, instances, permissions
from meridian.deployment.store.tables import keys as keys_table
from meridian.errors import DeploymentError


def test_the_migrations_make_the_tables_there_are(store):
    with store.read() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, METADATA) == []


def test_the_built_in_permission_is_there_from_the_start(store):
    with store.read() as connection:
        assert connection.execute(select(permissions)).all() == [
            ("built-in", "deployment-admins", "all-accounts", "all-plugins-admin", True)
        ]


def test_a_second_start_goes_on_with_what_is_there(store, tmp_path, now):
    key = keys.deployment_key(store, now=now)
    with closing(Store(f"sqlite:///{tmp_path / 'meridian.db'}")) as again:
        assert keys.deployment_key(again, now=now) == key


def test_the_file_is_readable_by_its_owner_alone(store, tmp_path):
    assert stat.S_IMODE((tmp_path / "meridian.db").stat().st_mode) == 0o600


def test_sqlite_keeps_a_log_ahead_and_foreign_keys(store):
    with store.read() as connection:
        pragmas = [connection.scalar(text(f"PRAGMA {name}")) for name in ("journal_mode", "foreign_keys", "synchronous")]
    assert pragmas == ["wal", 1, 2]


def test_a_transaction_that_raises_leaves_nothing(store):
    def write_and_fail():
        with store.write() as connection:
            connection.execute(insert(accounts).values(id="A-1", name=""))
            connection.execute(insert(accounts).values(id="A-1", name=""))

    with pytest.raises(IntegrityError):
        write_and_fail()
    with store.read() as connection:
        assert connection.execute(select(accounts)).all() == []


def test_work_that_a_sibling_got_in_front_of_is_done_over(store):
    with store.write() as connection:
        connection.execute(insert(accounts).values(id="A-1", name=""))
    looked = []

    def work(connection):
        looked.append("A-2" if looked else "A-1")
        connection.execute(insert(accounts).values(id=looked[-1], name=""))
        return looked[-1]

    assert (store.rewrite(work), looked) == ("A-2", ["A-1", "A-2"])


def test_work_that_a_constraint_always_refuses_is_not_done_over_for_ever(store):
    with pytest.raises(IntegrityError):
        store.rewrite(lambda connection: connection.execute(insert(accounts), [{"id": "A-1", "name": ""}] * 2))


def test_many_who_look_and_then_write_are_one_after_another(store):
    with store.write() as connection:
        connection.execute(insert(accounts).values(id="A-1", name="0"))

    def count():
        for _ in range(10):
            with store.write() as connection:
                name = connection.scalar(select(accounts.c.name))
                connection.execute(update(accounts).values(name=str(int(name) + 1)))

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with store.read() as connection:
        assert connection.scalar(select(accounts.c.name)) == "40"


def test_the_loop_goes_on_while_the_store_works(store):
    def slowly(store, released):
        assert released.wait(5)
        with store.read() as connection:
            return connection.scalar(select(func.count()).select_from(accounts))

    async def both():
        released = threading.Event()
        working = asyncio.ensure_future(store.run(slowly, released))
        await asyncio.sleep(0)
        released.set()
        return await working

    assert asyncio.run(both()) == 0


def test_a_moment_is_kept_in_utc_and_a_naive_one_is_refused(store):
    made = datetime(2026, 3, 2, 10, 30, 0, 123456, tzinfo=timezone(timedelta(hours=1)))
    row = {"name": "x", "key": b"x"}
    with store.write() as connection:
        connection.execute(insert(keys_table).values(made_at=made, **row))
        assert connection.scalar(select(keys_table.c.made_at)) == datetime(2026, 3, 2, 9, 30, 0, 123456, tzinfo=UTC)
    with pytest.raises(StatementError, match="has no zone"), store.write() as connection:
        connection.execute(insert(keys_table).values(made_at=datetime(2026, 3, 2), **row | {"name": "y"}))  # noqa: DTZ001


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("nonsense", "that is no database URL; write sqlite:///FILE"),
        ("sqlite:////proc/none/meridian.db", "/proc/none/meridian.db cannot be made"),
        ("mysql+nothing://host/database", "no driver is installed for mysql"),
    ],
)
def test_a_store_that_cannot_be_opened_says_so_to_the_operator(url, words):
    with pytest.raises(DeploymentError, match=words):
        Store(url)


def test_a_store_of_a_later_meridian_is_left_alone(store, tmp_path):
    with store.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(DeploymentError, match="was made by a later Meridian"):
        Store(f"sqlite:///{tmp_path / 'meridian.db'}")


def test_a_file_that_is_no_database_says_so(tmp_path):
    (tmp_path / "notes.db").write_text("no database at all, and long enough to be looked at\n" * 40)
    with pytest.raises(DeploymentError, match="store: sqlite:///"):
        Store(f"sqlite:///{tmp_path / 'notes.db'}")


def test_instances_share_no_key(store, now):
    made = [keys.instance_key(store, "operations", now=now), keys.instance_key(store, "custody", now=now)]
    made += [keys.deployment_key(store, now=now)]
    assert (len(set(made)), {len(key) for key in made}) == (3, {32})
    assert keys.instance_key(store, "operations", now=now) == made[0]


def test_two_who_ask_for_a_key_at_once_get_one(store, now):
    found = []
    threads = [threading.Thread(target=lambda: found.append(keys.deployment_key(store, now=now))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(found), len(set(found))) == (6, 1)


def test_nothing_but_built_ins_is_there_at_first(store):
    with store.read() as connection:
        assert connection.execute(select(instances)).all() == []


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_a_moment_at_the_ends_of_the_calendar_may_be_asked_by(store, moment):
    asked = keys_table.c.made_at < datetime.fromisoformat(moment)
    with store.read() as connection:
        assert connection.execute(select(keys_table).where(asked)).all() == []
