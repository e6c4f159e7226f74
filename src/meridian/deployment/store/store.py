"""The store: one database, reached in short transactions.

An SQLAlchemy URL enters; a `Store` leaves, its tables brought up to date. Rooms of the deployment are plain functions that
take the store first and open one transaction each; nothing is held open between them. The functions block, so what runs
on the event loop calls them as `await store.run(access.holdings, subject, instance, roles)`: on a thread of the store's
own few, never on the loop. What every call writes is a function of a connection, and goes by `await store.keep(…)`, where
those that wait at the same time share a transaction. Which tables there are is `tables`' matter, and what a row means that
of the room it is of.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec, TypeVar, cast

import anyio.to_thread
from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from anyio import CapacityLimiter
from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, IntegrityError, NoSuchModuleError, OperationalError, SQLAlchemyError

from meridian.deployment.store.at_once import AtOnce
from meridian.deployment.store.revision import READ_REVISION, read_revision
from meridian.deployment.store.together import Together
from meridian.errors import DeploymentError

__all__ = ["Store"]

P = ParamSpec("P")
T = TypeVar("T")

_THREADS: Final = 8
_READING_THREADS: Final = 4
_TIDIED_AFTER: Final = 8_000
"""So many writes fill the write-ahead log with some hundred megabytes. While the rest of it is brought in nobody writes, and so
that is done seldom."""
_CALM_AFTER: Final = 1_000
_CALM_SECONDS: Final = 60
"""So many writes in so long a time, or a longer one, leave a moment in which the log is brought in sooner."""
_LONGEST_LOG_PAGES: Final = 40_000
"""What is written at length fills the log sooner; past these hundred and sixty megabytes, whoever writes brings it in."""
_TIDYING_MILLISECONDS: Final = 20
_BUSY_TIMEOUT_SECONDS: Final = 15
_ATTEMPTS: Final = 5
_MIGRATION_LOCK: Final = 4701
"""The number under which PostgreSQL lets one process at a time bring the tables up to date."""


class Store:
    """The database at `url`, its tables made or brought up to date. Raises DeploymentError where that cannot be done.

    SQLite runs with a write-ahead log, foreign keys, and patience for a sibling that is writing; its file is made readable
    by its owner alone.
    """

    def __init__(self, url: str) -> None:
        parsed = _parse(url)
        if parsed.get_backend_name() == "sqlite":
            _make_private(parsed)
        try:
            self._engine = _engine(parsed)
        except (NoSuchModuleError, ModuleNotFoundError) as reason:
            raise DeploymentError(f"store: no driver is installed for {parsed.drivername} ({reason})") from reason
        self._limiter: CapacityLimiter | None = None
        self._writing = Together(self._writes, self.rewrite, threads=1, then=self._tidy)
        self._reading = Together(self._engine.connect, self._read_alone, threads=_READING_THREADS)
        self._at_once = AtOnce(self._engine) if self._engine.dialect.name == "sqlite" else None
        self._untidied, self._tidied_at = 0, time.monotonic()
        try:
            self._migrate(parsed)
        except BaseException:
            self.close()
            raise

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that reads. What it sees is of one moment."""
        with self._engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def write(self, lasting: bool = True) -> Iterator[Connection]:
        """A transaction that may write: kept whole where the block ends, undone where it raises.

        On SQLite one writes at a time. Elsewhere two may, and a constraint refuses the second; see `rewrite`. What is kept
        outlives the process; what is `lasting` outlives a power cut, too, because the disk has it before the block ends.
        """
        options = {"meridian_writes": True, "meridian_lasting": lasting}
        with self._engine.connect().execution_options(**options) as connection, connection.begin():
            yield connection

    def rewrite(self, work: Callable[[Connection], T], lasting: bool = True) -> T:
        """The result of `work` in a transaction that may write, done over where a sibling got between.

        For work that looks before it writes and leaves the last word to a constraint: it is run again, and sees what the
        sibling wrote.
        """
        for attempt in range(_ATTEMPTS):
            try:
                with self.write(lasting) as connection:
                    return work(connection)
            except IntegrityError:
                if attempt == _ATTEMPTS - 1:
                    raise
                time.sleep(0.01 * 2**attempt)
        raise AssertionError("unreachable: the last attempt returns or raises")

    async def run(self, work: Callable[Concatenate[Store, P], T], *args: P.args, **named: P.kwargs) -> T:
        """The result of `work(store, …)`, run on one of the store's threads, so that the event loop goes on."""
        if self._limiter is None:
            self._limiter = CapacityLimiter(_THREADS)
        return await anyio.to_thread.run_sync(lambda: work(self, *args, **named), limiter=self._limiter)

    async def look(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **named: P.kwargs) -> T:
        """The result of `work(connection, …)`, which reads, and reads little: for what every call asks, on the event loop."""

        def looks(connection: Connection) -> T:
            return work(connection, *args, **named)

        if self._at_once is not None:
            with suppress(OperationalError):
                return self._at_once.run(looks, writes=False)
        return cast("T", await self._reading.run(looks))

    async def keep(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **named: P.kwargs) -> T:
        """The result of `work(connection, …)`, once what it wrote is kept: for what every call writes, on the event loop.

        `work` writes little, and is one that may be run again, as for `rewrite`. What is kept so outlives the process; a power
        cut may take what was kept after the last that was lasting.
        """

        def writes(connection: Connection) -> T:
            return work(connection, *args, **named)

        self._untidied += 1
        if self._at_once is not None and not self._is_to_be_tidied():
            with suppress(OperationalError):
                return self._at_once.run(writes, writes=True)
        return cast("T", await self._writing.run(writes))

    async def keep_lasting(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **named: P.kwargs) -> T:
        """`keep`, for what is to outlive a power cut. Works that wait for the disk at the same time share a transaction."""
        self._untidied += 1
        return cast("T", await self._writing.run(lambda connection: work(connection, *args, **named), lasting=True))

    async def revision(self) -> int:
        """The number that grows with every change of who may ask what, by any process."""
        if self._at_once is not None:
            with suppress(OperationalError):
                return int(self._at_once.value(READ_REVISION))
        return await self.look(read_revision)

    def close(self) -> None:
        """Let go of every connection. The store may be used again afterwards."""
        self._writing.close()
        self._reading.close()
        if self._at_once is not None:
            self._at_once.close()
        self._engine.dispose()

    def _writes(self) -> Connection:
        connection = self._engine.connect().execution_options(meridian_writes=True)
        if self._at_once is not None:  # or SQLite brings the log in before whoever waits for the transaction is answered
            driver: Any = connection.connection.dbapi_connection
            driver.execute(f"PRAGMA wal_autocheckpoint = {_LONGEST_LOG_PAGES}")
        return connection

    def _is_to_be_tidied(self) -> bool:
        """Whether the log is long; or so long that a calm moment is used."""
        written = self._untidied
        if written < _CALM_AFTER or written >= _TIDIED_AFTER:
            return written >= _TIDIED_AFTER
        return time.monotonic() - self._tidied_at >= written * _CALM_SECONDS / _CALM_AFTER

    def _tidy(self, connection: Connection) -> None:
        """Bring the write-ahead log into the database now and then, so that it begins anew: most of it while others write on,
        and the rest while nobody does, unless somebody is reading of old."""
        if self._at_once is None or not self._is_to_be_tidied():
            return
        self._untidied, self._tidied_at = 0, time.monotonic()
        driver: Any = connection.connection.dbapi_connection
        driver.execute("PRAGMA wal_checkpoint(PASSIVE)")
        driver.execute(f"PRAGMA busy_timeout = {_TIDYING_MILLISECONDS}")
        driver.execute("PRAGMA wal_checkpoint(RESTART)")
        driver.execute(f"PRAGMA busy_timeout = {_BUSY_TIMEOUT_SECONDS * 1_000}")

    def _read_alone(self, work: Callable[[Connection], T], _: bool) -> T:
        with self.read() as connection:
            return work(connection)

    def _migrate(self, url: URL) -> None:
        config = Config()
        config.set_main_option("script_location", "meridian.deployment.store:migrations")
        shown = url.render_as_string(hide_password=True)
        try:
            with self.write() as connection:
                if connection.dialect.name == "postgresql":
                    connection.execute(text(f"SELECT pg_advisory_xact_lock({_MIGRATION_LOCK})"))
                config.attributes["connection"] = connection
                command.upgrade(config, "head")
        except CommandError as reason:
            raise DeploymentError(f"store: {shown} was made by a later Meridian; upgrade this one ({reason})") from reason
        except OperationalError as reason:
            raise DeploymentError(
                f"store: {shown} did not open ({reason.orig}); is it there, and may it be written?"
            ) from reason
        except SQLAlchemyError as reason:
            raise DeploymentError(f"store: {shown} could not be brought up to date ({reason})") from reason


def _parse(url: str) -> URL:
    try:
        return make_url(url)
    except ArgumentError as reason:
        raise DeploymentError(
            "store: that is no database URL; write sqlite:///FILE or postgresql+psycopg://USER@HOST/DATABASE"
        ) from reason


def _engine(url: URL) -> Engine:
    if url.get_backend_name() != "sqlite":
        engine = create_engine(url, pool_pre_ping=True)
        event.listen(engine, "begin", _begin_postgresql)
        return engine
    engine = create_engine(url, connect_args={"timeout": _BUSY_TIMEOUT_SECONDS})
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in ("journal_mode = WAL", "foreign_keys = ON", "synchronous = FULL"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    """Begin in so many words: a transaction that will write takes its place in the queue first, and so never finds at its
    end that a sibling wrote in between."""
    options = connection.get_execution_options()
    if options.get("meridian_begun", False):
        return
    if not options.get("meridian_writes", False):
        connection.exec_driver_sql("BEGIN")
        return
    synchronous = "FULL" if options["meridian_lasting"] else "NORMAL"
    if connection.info.get("synchronous", "FULL") != synchronous:
        connection.exec_driver_sql(f"PRAGMA synchronous = {synchronous}")
        connection.info["synchronous"] = synchronous
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _begin_postgresql(connection: Connection) -> None:
    if not connection.get_execution_options().get("meridian_lasting", True):
        connection.exec_driver_sql("SET LOCAL synchronous_commit = off")


def _make_private(url: URL) -> None:
    if url.database and url.database != ":memory:" and not url.query:
        file = Path(url.database)
        try:
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with suppress(FileExistsError):
                os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        except OSError as reason:
            raise DeploymentError(f"store: {file} cannot be made ({reason.strerror}); may its folder be written?") from reason
