"""A real store under `tmp_path`, and people in it."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from meridian.deployment import access, identity
from meridian.deployment.access import AccessRow
from meridian.deployment.instances import configure
from meridian.deployment.store import Store

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


@pytest.fixture
def now() -> datetime:
    """A moment, aware and in UTC: the tests' own clock."""
    return NOW


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A store of its own."""
    made = Store(f"sqlite:///{tmp_path / 'meridian.db'}")
    yield made
    made.close()


@pytest.fixture
def grant(store: Store):
    """`grant(subject, accounts, *rows)`: one permission of its own, for one person, on those accounts, at those rows."""
    given = iter(range(1_000))

    def grant(subject: str, accounts: tuple[str, ...], *rows: tuple[str, str, str]) -> str:
        number = next(given)
        if identity.person(store, subject) is None:
            identity.add_person(store, subject, subject, subject=subject, now=NOW)
        for account in accounts:
            access.add_account(store, account, f"Account {account}")
        people = access.add_group(store, "user", f"People {number}")
        access.join(store, people, subject)
        reached = access.add_group(store, "account", f"Accounts {number}")
        access.name_accounts(store, reached, accounts)
        levels = access.add_group(store, "access", f"Levels {number}")
        access.name_rows(store, levels, [AccessRow(*row) for row in rows])
        return access.grant(store, people, reached, levels)

    return grant


@pytest.fixture
def operations(store: Store):
    """The instance `operations`, of a plugin that holds two roles."""
    return configure(store, "operations", target="x:pages", title="Operations", roles=["operations", "custody"], now=NOW)
