"""A deployment to try things on: five people of different grants, four accounts, and a way in for each of them.

The instances a deployment runs enter; what leaves is said once, and never kept: for each person a one-time sign-in link's
token and a client's token. Seeding again adds nothing that is there, changes nothing that somebody changed since, and gives
the same client token as long as its delegation stands.
"""

from __future__ import annotations

import base64
import hmac
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import func, select

from meridian.callers import Holding, Level
from meridian.deployment import access, delegations, identity
from meridian.deployment.access import AccessRow
from meridian.deployment.instances import Instance
from meridian.deployment.keys import deployment_key
from meridian.deployment.store import Store, tables

__all__ = ["DemoPerson", "seed"]

_CLIENT: Final = "Demo client"
_DAYS: Final = 90
_RESTED: Final = timedelta(days=7)
_ACCOUNTS: Final = {"A-1": "Household", "A-2": "Retirement", "A-3": "Foundation", "A-4": "Endowment"}
_ACCOUNT_GROUPS: Final = {"Demo families": ("A-1", "A-2"), "Demo institutions": ("A-3", "A-4")}


@dataclass(frozen=True)
class DemoPerson:
    """One of the five, what they hold in words, and two ways in: a link's token, used once, and a client's token."""

    subject: str
    display_name: str
    holds: str
    sign_in_token: str
    client_token: str


@dataclass(frozen=True)
class _Part:
    """What a person of the demo is given: a level on each plugin's first role or its second, on some account groups."""

    subject: str
    display_name: str
    level: Level | None = None
    second_role: bool = False
    account_groups: tuple[str, ...] = ()
    deployment_admin: bool = False


_PARTS: Final = (
    _Part("demo-admin", "Demo admin", deployment_admin=True),
    _Part("demo-writer", "Demo writer", "write", account_groups=("Demo families",)),
    _Part("demo-reader", "Demo reader", "read", account_groups=("Demo families", "Demo institutions")),
    _Part("demo-custody", "Demo custody writer", "write", second_role=True, account_groups=("Demo institutions",)),
    _Part("demo-newcomer", "Demo newcomer"),
)


def seed(store: Store, instances: Iterable[Instance], *, now: datetime) -> tuple[DemoPerson, ...]:
    """See that the five are there, with a part in each of `instances`, and answer with a way in for each person.

    A plugin that some access group names already is left as it is.
    """
    running = tuple(instances)
    named = {row.instance for group in access.every_access_group(store) for row in group.rows}
    if identity.person(store, _PARTS[0].subject) is None:
        for account, name in _ACCOUNTS.items():
            access.add_account(store, account, name)
        for name, accounts in _ACCOUNT_GROUPS.items():
            access.name_accounts(store, _group(store, "account", name), accounts)
    for part in _PARTS:
        if identity.person(store, part.subject) is None:
            _add(store, part, now)
        if part.level is not None:
            _widen(store, part, [instance for instance in running if instance.name not in named])
    return tuple(_way_in(store, part, running, now) for part in _PARTS)


def _add(store: Store, part: _Part, now: datetime) -> None:
    identity.add_person(store, part.subject, part.display_name, subject=part.subject, now=now)
    if part.deployment_admin:
        access.join(store, identity.DEPLOYMENT_ADMINS, part.subject)
    if part.level is not None:
        people, levels = _group(store, "user", f"{part.display_name}s"), _group(store, "access", f"{part.display_name} access")
        access.join(store, people, part.subject)
        for name in part.account_groups:
            access.grant(store, people, _group(store, "account", name), levels)


def _widen(store: Store, part: _Part, instances: Sequence[Instance]) -> None:
    wanted = f"{part.display_name} access"
    group = next((group for group in access.every_access_group(store) if group.name == wanted), None)
    if group is not None and instances:
        added = [AccessRow(each.name, _role(each, part), part.level) for each in instances if part.level is not None]
        access.name_rows(store, group.id, [*group.rows, *added])


def _way_in(store: Store, part: _Part, running: Sequence[Instance], now: datetime) -> DemoPerson:
    held = {each.name: access.holdings(store, part.subject, each.name, each.roles) for each in running}
    rows = sorted(
        AccessRow(instance, role, level)
        for instance, by_role in held.items()
        for role, holding in by_role.items()
        if (level := holding.level) is not None
    )
    words = [f"{row.level} on {_named(row)}{_reached(held[row.instance][row.role])}" for row in rows]
    if access.is_deployment_admin(store, part.subject):
        words.insert(0, "deployment admin")
    return DemoPerson(
        part.subject,
        part.display_name,
        "; ".join(words) or "nothing yet",
        identity.sign_in_link(store, part.subject, now=now),
        _client_token(store, part.subject, rows, now),
    )


def _named(row: AccessRow) -> str:
    return f"the instance {row.instance}" + (f", role {row.role}" if row.role else "")


def _reached(holding: Holding) -> str:
    if holding.level == "admin":
        return ", no account's data"
    return ", every account" if holding.read.all else f", accounts {', '.join(holding.read) or 'none'}"


def _role(instance: Instance, part: _Part) -> str:
    """The role the part is of; a plugin with one role has no second, and the grant then waits for it to come."""
    if part.second_role:
        return instance.roles[1] if len(instance.roles) > 1 else "custody"
    return instance.roles[0]


def _group(store: Store, kind: access.GroupKind, name: str) -> str:
    """The id of the group of that name, added where it is not there."""
    every: Mapping[
        access.GroupKind, Callable[[Store], Sequence[access.UserGroup | access.AccountGroup | access.AccessGroup]]
    ] = {
        "user": access.every_user_group,
        "account": access.every_account_group,
        "access": access.every_access_group,
    }
    found = next((group.id for group in every[kind](store) if group.name == name), None)
    return found or access.add_group(store, kind, name)


def _client_token(store: Store, subject: str, rows: Sequence[AccessRow], now: datetime) -> str:
    """A token that stands for a week at least. It follows from the deployment's key, so that a client that was set up with
    it at one run still has the right one at the next."""
    key = deployment_key(store, now=now)
    with store.read() as connection:
        made = connection.scalar(
            select(func.count())
            .select_from(tables.delegations)
            .where(tables.delegations.c.subject == subject, tables.delegations.c.client_name == _CLIENT)
        )
    token = _spelled(key, subject, made or 0)
    standing = delegations.by_token(store, token, now=now + _RESTED)
    if standing is not None and standing.rows == tuple(rows):
        return token
    token = _spelled(key, subject, (made or 0) + 1)
    with store.write() as connection:
        delegations.lend(connection, subject, _CLIENT, rows, _DAYS, token, now=now)
    return token


def _spelled(key: bytes, subject: str, number: int) -> str:
    made = hmac.digest(key, f"meridian/demo/{subject}/{number}".encode(), "sha256")
    return delegations.TOKEN_PREFIX + base64.urlsafe_b64encode(made).rstrip(b"=").decode()
