"""The revision: a number that grows with every change of who may ask what.

What was worked out of people, groups, permissions, delegations and tokens may be kept in memory for as long as the number is
the one it was worked out under. The database itself counts, by triggers, in the transaction that changes: so no way of
writing can forget it, and a sibling process is heard at the next look. Which tables are counted is said here; the migration
makes their triggers, and a test walks the tables.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection

__all__ = ["READ_REVISION", "read_revision"]

READ_REVISION: Final = "SELECT number FROM revision"


def read_revision(connection: Connection) -> int:
    """The revision as the transaction sees it. Read it before what is to be kept under it."""
    return int(connection.exec_driver_sql(READ_REVISION).scalar_one())
