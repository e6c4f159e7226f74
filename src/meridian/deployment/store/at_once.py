"""A small work done on the event loop itself, on SQLite.

A work that reads or writes a few rows enters; its result leaves at once, where nothing is in its way. With a write-ahead log
a reader waits for nobody, and a writer that need not outlive a power cut waits for no disk: either takes less time than a
thread takes to be told of it, and to be given its turn beside the loop. A work that would have to wait after all is given up,
undone; whoever asked hands it to a thread. The log is not tidied here, because that waits for the disk.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import OperationalError

__all__ = ["AtOnce"]

T = TypeVar("T")


class AtOnce:
    """Works done at once, by a connection of its own for each thread. Each raises OperationalError where it would have to wait,
    and has then done nothing."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._here = threading.local()
        self._opened: list[Connection] = []

    def run(self, work: Callable[[Connection], T], *, writes: bool) -> T:
        """The result of `work`, in a transaction; what it wrote outlives the process."""
        connection, driver = self._connection()
        try:
            driver.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
        except sqlite3.OperationalError as reason:
            raise OperationalError("BEGIN", None, reason) from reason
        try:
            given = work(connection)
            driver.execute("COMMIT")
        except BaseException:
            driver.rollback()
            raise
        finally:
            if connection.in_transaction():
                connection.rollback()  # SQLAlchemy's own notion of one; the driver's has ended
        return given

    def value(self, question: str) -> Any:
        """The one value that a statement asks for."""
        _, driver = self._connection()
        try:
            return driver.execute(question).fetchone()[0]
        except sqlite3.OperationalError as reason:
            raise OperationalError(question, None, reason) from reason

    def close(self) -> None:
        """Let go of every connection; the next work opens others."""
        opened, self._opened, self._here = self._opened, [], threading.local()
        for connection in opened:
            connection.close()

    def _connection(self) -> tuple[Connection, sqlite3.Connection]:
        try:
            found: tuple[Connection, sqlite3.Connection] = self._here.found
        except AttributeError:
            found = self._here.found = self._connect()
        return found

    def _connect(self) -> tuple[Connection, sqlite3.Connection]:
        connection = self._engine.connect().execution_options(meridian_begun=True)
        connection.detach()  # no other work is to be as impatient
        self._opened.append(connection)
        driver: Any = connection.connection.dbapi_connection
        for pragma in ("busy_timeout = 0", "wal_autocheckpoint = 0", "synchronous = NORMAL"):
            driver.execute(f"PRAGMA {pragma}")
        return connection, driver
