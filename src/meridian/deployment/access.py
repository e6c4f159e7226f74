"""Who holds what: four kinds of record, and the one rule by which they add up.

User groups name people, account groups name accounts, access groups name levels on plugins' roles, and a permission joins
one of each. Access only adds up, permission by permission: write on A through one and read on B through another is never
write on B. Three groups are built in, and the permission that joins them: deployment admins, all accounts, all plugins
(admin). The deployment admin group, once it has a member, never is without one.

A person and an instance enter; `Holdings` leave. Cutting them to a session is `callers`' matter, and to what a client was
lent that of `delegations`.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal

from sqlalchemy import Connection, Table, delete, func, insert, select, update

from meridian.callers import EVERY_ACCOUNT, LEVELS, Accounts, Holding, Holdings, Level, Role
from meridian.commands import Account
from meridian.deployment.allowing import ALLOWS, Allows
from meridian.deployment.identity import DEPLOYMENT_ADMINS
from meridian.deployment.store import Store
from meridian.deployment.store.tables import (
    access_group_rows,
    access_groups,
    account_group_accounts,
    account_groups,
    accounts,
    delegations,
    instances,
    people,
    permissions,
    sessions,
    user_group_members,
    user_groups,
)
from meridian.errors import Problem, Refusal

__all__ = [
    "ALL_ACCOUNTS",
    "ALL_PLUGINS_ADMIN",
    "AccessGroup",
    "AccessRow",
    "AccountGroup",
    "Permission",
    "UserGroup",
    "add_account",
    "add_group",
    "add_to_access_group",
    "add_to_account_group",
    "every_access_group",
    "every_account",
    "every_account_group",
    "every_permission",
    "every_user_group",
    "grant",
    "holdings",
    "holdings_in",
    "is_deployment_admin",
    "join",
    "leave",
    "let_go",
    "name_accounts",
    "name_how_far",
    "name_rows",
    "remove_group",
    "take_from_access_group",
    "take_from_account_group",
    "withdraw",
]

ALL_ACCOUNTS: Final = "all-accounts"
ALL_PLUGINS_ADMIN: Final = "all-plugins-admin"

GroupKind = Literal["user", "account", "access"]

_GROUPS: Final[Mapping[GroupKind, Table]] = {"user": user_groups, "account": account_groups, "access": access_groups}
_ACCOUNT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,63}")
_MOST_GROUPS: Final = 2_000
_MOST_NAMED: Final = 20_000


@dataclass(frozen=True)
class UserGroup:
    """People who hold the same. `members` are subjects, in order."""

    id: str
    name: str
    members: tuple[str, ...]
    built_in: bool


@dataclass(frozen=True)
class AccountGroup:
    """Accounts that go together; or, where it is marked so, every account there is and will be."""

    id: str
    name: str
    accounts: Accounts
    built_in: bool


@dataclass(frozen=True, order=True)
class AccessRow:
    """A level on one role of one plugin. A plugin without roles has one, whose name is empty."""

    instance: str
    role: Role
    level: Level


@dataclass(frozen=True)
class AccessGroup:
    """Levels that go together; or, where it is marked so, admin on every role of every plugin there is and will be."""

    id: str
    name: str
    rows: tuple[AccessRow, ...]
    all_plugins_admin: bool
    built_in: bool
    clients: Mapping[AccessRow, Allows] = field(default_factory=dict)
    """How far clients may go with the acts of a row, where that is not to make them."""


@dataclass(frozen=True)
class Permission:
    """Three groups joined, by their ids: these people, on these accounts, at these levels."""

    id: str
    user_group: str
    account_group: str
    access_group: str
    built_in: bool


def holdings(store: Store, subject: str, instance: str, roles: Iterable[Role]) -> Holdings:
    """What the person holds now on each of `roles` of the plugin `instance`; a role on which they hold nothing is left out.

    Write includes read. Admin reaches no account. `roles` empty stands for the one role, without a name, of a plugin that
    has none.
    """
    with store.read() as connection:
        return holdings_in(connection, subject, instance, roles)


def holdings_in(
    connection: Connection, subject: str, instance: str, roles: Iterable[Role], *, going: Allows = "may_not"
) -> Holdings:
    """`holdings`, inside a transaction that is open already. `going` leaves of them what is granted so that clients may go that
    far with its acts at least."""
    wanted = tuple(roles) or ("",)
    joined = list(
        connection.execute(
            select(
                permissions.c.account_group,
                permissions.c.access_group,
                access_groups.c.all_plugins_admin,
                account_groups.c.all_accounts,
            )
            .join(user_group_members, user_group_members.c.user_group == permissions.c.user_group)
            .join(people, people.c.subject == user_group_members.c.subject)
            .join(access_groups, access_groups.c.id == permissions.c.access_group)
            .join(account_groups, account_groups.c.id == permissions.c.account_group)
            .where(user_group_members.c.subject == subject, people.c.left_at.is_(None))
        )
    )
    if not joined:
        return {}
    levels = _levels_by_group(connection, {row.access_group for row in joined}, instance, going)
    named = _accounts_by_group(connection, {row.account_group for row in joined if not row.all_accounts})
    held: dict[Role, Holding] = {}
    for row in joined:
        reached = EVERY_ACCOUNT if row.all_accounts else named.get(row.account_group, Accounts())
        for role in wanted:
            given = [level for of, level in levels.get(row.access_group, ()) if of == role]
            for level in [*given, "admin"] if row.all_plugins_admin else given:
                held[role] = held.get(role, Holding()) | _holding(level, reached)
    return {role: held[role] for role in wanted if role in held}


def is_deployment_admin(store: Store, subject: str) -> bool:
    """Whether the person is a member of the deployment admin group."""
    with store.read() as connection:
        return (
            connection.scalar(
                select(user_group_members.c.subject)
                .join(people, people.c.subject == user_group_members.c.subject)
                .where(
                    user_group_members.c.user_group == DEPLOYMENT_ADMINS,
                    user_group_members.c.subject == subject,
                    people.c.left_at.is_(None),
                )
            )
            is not None
        )


def every_user_group(store: Store) -> tuple[UserGroup, ...]:
    """Every user group, by name."""
    with store.read() as connection:
        members: dict[str, list[str]] = {}
        for row in connection.execute(select(user_group_members).order_by(user_group_members.c.subject)):
            members.setdefault(row.user_group, []).append(row.subject)
        return tuple(
            UserGroup(row.id, row.name, tuple(members.get(row.id, ())), row.built_in)
            for row in connection.execute(select(user_groups).order_by(user_groups.c.name, user_groups.c.id))
        )


def every_account_group(store: Store) -> tuple[AccountGroup, ...]:
    """Every account group, by name."""
    with store.read() as connection:
        rows = list(connection.execute(select(account_groups).order_by(account_groups.c.name, account_groups.c.id)))
        named = _accounts_by_group(connection, {row.id for row in rows})
        return tuple(
            AccountGroup(row.id, row.name, EVERY_ACCOUNT if row.all_accounts else named.get(row.id, Accounts()), row.built_in)
            for row in rows
        )


def every_access_group(store: Store) -> tuple[AccessGroup, ...]:
    """Every access group, by name."""
    with store.read() as connection:
        rows: dict[str, list[AccessRow]] = {}
        clients: dict[str, dict[AccessRow, Allows]] = {}
        for row in connection.execute(select(access_group_rows)):
            named = AccessRow(row.instance, row.role, row.level)
            rows.setdefault(row.access_group, []).append(named)
            if row.clients != "make":
                clients.setdefault(row.access_group, {})[named] = row.clients
        return tuple(
            AccessGroup(
                row.id,
                row.name,
                tuple(sorted(rows.get(row.id, ()))),
                row.all_plugins_admin,
                row.built_in,
                clients.get(row.id, {}),
            )
            for row in connection.execute(select(access_groups).order_by(access_groups.c.name, access_groups.c.id))
        )


def every_permission(store: Store) -> tuple[Permission, ...]:
    """Every permission, by the groups it joins."""
    with store.read() as connection:
        order = (permissions.c.user_group, permissions.c.account_group, permissions.c.access_group)
        return tuple(
            Permission(row.id, row.user_group, row.account_group, row.access_group, row.built_in)
            for row in connection.execute(select(permissions).order_by(*order))
        )


def every_account(store: Store, among: Accounts = EVERY_ACCOUNT) -> tuple[Account, ...]:
    """The accounts among those given, by id."""
    with store.read() as connection:
        return tuple(
            Account(row.id, row.name) for row in connection.execute(select(accounts).order_by(accounts.c.id)) if row.id in among
        )


def add_account(store: Store, account: str, name: str = "") -> None:
    """Add an account, or give one there is another name. Raises Refusal for an id that no account may have."""
    if not _ACCOUNT.fullmatch(account):
        raise Refusal(
            "That is no account's ID.",
            [Problem("id", f'"{account[:60]}" is no ID; it is 1 to 64 letters, digits and . _ : / -, like A-1')],
        )

    def file(connection: Connection) -> None:
        values = {"name": _name(name, "name", may_be_blank=True)}
        if not connection.execute(update(accounts).where(accounts.c.id == account).values(values)).rowcount:
            connection.execute(insert(accounts).values(values | {"id": account}))

    store.rewrite(file)


def add_group(store: Store, kind: GroupKind, name: str) -> str:
    """Add an empty group, and answer with its id, which is made from its name. Raises Refusal for a name that is taken."""
    said = _name(name, "name")
    made = re.sub(r"[^a-z0-9]+", "-", said.casefold()).strip("-")[:60] or f"group-{secrets.token_hex(4)}"
    table = _GROUPS[kind]
    values: dict[str, Any] = {"id": made, "name": said, "built_in": False}
    values |= {"account": {"all_accounts": False}, "access": {"all_plugins_admin": False}, "user": {}}[kind]

    def file(connection: Connection) -> str:
        if (connection.scalar(select(func.count()).select_from(table)) or 0) >= _MOST_GROUPS:
            raise Refusal(f"There are {_MOST_GROUPS} groups of that kind, and there may be no more.")
        if connection.scalar(select(table.c.id).where(table.c.id == made)) is not None:
            raise Refusal(f"There is a group {made} already.", [Problem("name", f"{said} is taken; choose another name")])
        connection.execute(insert(table).values(values))
        return made

    return store.rewrite(file)


def remove_group(store: Store, kind: GroupKind, group: str) -> None:
    """Remove a group, and every permission that joins it. Raises Refusal for a built-in one."""
    with store.write() as connection:
        _changeable(connection, kind, group)
        connection.execute(delete(_GROUPS[kind]).where(_GROUPS[kind].c.id == group))


def join(store: Store, group: str, subject: str) -> None:
    """Make the person a member of the user group, whatever the provider comes to say of them. Raises Refusal for a group or a
    person there is not."""

    def file(connection: Connection) -> None:
        _there(connection, "user", group)
        if connection.scalar(select(people.c.subject).where(people.c.subject == subject, people.c.left_at.is_(None))) is None:
            raise Refusal("There is nobody of that name.", [Problem("subject", f"nobody is {subject[:60]}")])
        members = user_group_members.c
        given = update(user_group_members).where(members.user_group == group, members.subject == subject).values(given_by=None)
        if not connection.execute(given).rowcount:
            connection.execute(insert(user_group_members).values(user_group=group, subject=subject))

    store.rewrite(file)


def leave(store: Store, group: str, subject: str) -> None:
    """Make the person no member of the user group. Raises Refusal, reason `last_admin`, for the last deployment admin."""
    with store.write() as connection:
        _there(connection, "user", group)
        _leave(connection, group, subject)


def let_go(store: Store, subject: str, *, now: datetime) -> None:
    """Let the person go: out of every group, signed out, their delegations revoked. What they recorded stays theirs.

    Raises Refusal, reason `last_admin`, for the last deployment admin.
    """
    with store.write() as connection:
        for group in list(
            connection.scalars(select(user_group_members.c.user_group).where(user_group_members.c.subject == subject))
        ):
            _leave(connection, group, subject)
        connection.execute(delete(sessions).where(sessions.c.subject == subject))
        connection.execute(
            update(delegations)
            .where(delegations.c.subject == subject, delegations.c.revoked_at.is_(None))
            .values(revoked_at=now)
        )
        connection.execute(update(people).where(people.c.subject == subject, people.c.left_at.is_(None)).values(left_at=now))


def name_accounts(store: Store, group: str, named: Iterable[str]) -> None:
    """Let the account group be these accounts and no others. Raises Refusal for an account there is not."""
    wanted = sorted(set(named))
    _bound(len(wanted), "accounts")
    with store.write() as connection:
        _changeable(connection, "account", group)
        known = set(connection.scalars(select(accounts.c.id)))
        unknown = [account for account in wanted if account not in known]
        if unknown:
            raise Refusal(
                "Some of these accounts are not the deployment's.",
                [Problem("accounts", f"there is no account {account[:60]}") for account in unknown[:20]],
            )
        connection.execute(delete(account_group_accounts).where(account_group_accounts.c.account_group == group))
        if wanted:
            connection.execute(
                insert(account_group_accounts), [{"account_group": group, "account": account} for account in wanted]
            )


def name_rows(store: Store, group: str, rows: Iterable[AccessRow]) -> None:
    """Let the access group be these rows and no others."""
    wanted = sorted(set(rows))
    _bound(len(wanted), "rows")
    for row in wanted:
        if row.level not in LEVELS:
            raise Refusal("That is no level.", [Problem("rows", f"{row.level[:60]} is no level; write read, write or admin")])
    with store.write() as connection:
        _changeable(connection, "access", group)
        t = access_group_rows.c
        kept = connection.execute(select(t.instance, t.role, t.level, t.clients).where(t.access_group == group)).all()
        clients = {AccessRow(each.instance, each.role, each.level): each.clients for each in kept}
        connection.execute(delete(access_group_rows).where(t.access_group == group))
        if wanted:
            connection.execute(
                insert(access_group_rows),
                [
                    {
                        "access_group": group,
                        "instance": row.instance[:64],
                        "role": row.role[:64],
                        "level": row.level,
                        "clients": clients.get(row, "make"),
                    }
                    for row in wanted
                ],
            )


def add_to_account_group(store: Store, group: str, account: str) -> None:
    """Name one more account in the account group. Raises Refusal for an account there is not."""

    def file(connection: Connection) -> None:
        _changeable(connection, "account", group)
        if connection.scalar(select(accounts.c.id).where(accounts.c.id == account)) is None:
            raise Refusal("That is no account.", [Problem("account", f'there is no account "{account[:60]}"')])
        named = account_group_accounts.c
        count = select(func.count()).select_from(account_group_accounts).where(named.account_group == group)
        _bound((connection.scalar(count) or 0) + 1, "accounts")
        if connection.scalar(select(named.account).where(named.account_group == group, named.account == account)) is None:
            connection.execute(insert(account_group_accounts).values(account_group=group, account=account))

    store.rewrite(file)


def take_from_account_group(store: Store, group: str, account: str) -> None:
    """Name the account in the account group no longer."""
    with store.write() as connection:
        _changeable(connection, "account", group)
        connection.execute(
            delete(account_group_accounts).where(
                account_group_accounts.c.account_group == group, account_group_accounts.c.account == account
            )
        )


def add_to_access_group(store: Store, group: str, row: AccessRow) -> None:
    """Name one more row in the access group. Raises Refusal for a role or a level that no plugin there is has."""

    def file(connection: Connection) -> None:
        _changeable(connection, "access", group)
        roles = connection.scalar(select(instances.c.roles).where(instances.c.name == row.instance))
        if roles is None or row.role not in json.loads(roles) or row.level not in LEVELS:
            raise Refusal("That is no plugin's role at a level.", [Problem("row", "choose a plugin's role at a level")])
        count = select(func.count()).select_from(access_group_rows).where(access_group_rows.c.access_group == group)
        _bound((connection.scalar(count) or 0) + 1, "rows")
        if connection.scalar(select(access_group_rows.c.level).where(*_is(group, row))) is None:
            connection.execute(
                insert(access_group_rows).values(access_group=group, instance=row.instance, role=row.role, level=row.level)
            )

    store.rewrite(file)


def take_from_access_group(store: Store, group: str, row: AccessRow) -> None:
    """Name the row in the access group no longer, whether or not its plugin still runs."""
    with store.write() as connection:
        _changeable(connection, "access", group)
        connection.execute(delete(access_group_rows).where(*_is(group, row)))


def name_how_far(store: Store, group: str, row: AccessRow, clients: Allows) -> None:
    """Say how far clients may go with the acts that a row of the access group gives. Raises Refusal for a row it has not."""
    with store.write() as connection:
        _changeable(connection, "access", group)
        if not connection.execute(update(access_group_rows).where(*_is(group, row)).values(clients=clients)).rowcount:
            raise Refusal("The group has no such level.", [Problem("row", "choose a level that is in the group")])


def grant(store: Store, user_group: str, account_group: str, access_group: str) -> str:
    """Join the three groups, and answer with the permission's id; the same three again are the permission there is."""

    def file(connection: Connection) -> str:
        for kind, group in (("user", user_group), ("account", account_group), ("access", access_group)):
            _there(connection, kind, group)
        joined = {"user_group": user_group, "account_group": account_group, "access_group": access_group}
        present = connection.scalar(select(permissions.c.id).filter_by(**joined))
        if present is not None:
            return str(present)
        made = f"PM-{secrets.token_urlsafe(9)}"
        connection.execute(insert(permissions).values(id=made, built_in=False, **joined))
        return made

    return store.rewrite(file)


def withdraw(store: Store, permission: str) -> None:
    """Withdraw a permission. Raises Refusal for the built-in one."""
    with store.write() as connection:
        built_in = connection.scalar(select(permissions.c.built_in).where(permissions.c.id == permission))
        if built_in:
            raise Refusal("This permission is built in; it is the deployment admins'.", reason="built_in")
        connection.execute(delete(permissions).where(permissions.c.id == permission))


def _is(group: str, row: AccessRow) -> tuple[Any, ...]:
    named = access_group_rows.c
    return named.access_group == group, named.instance == row.instance, named.role == row.role, named.level == row.level


def _holding(level: Level, reached: Accounts) -> Holding:
    if level == "admin":
        return Holding(frozenset({"admin"}))
    if level == "write":
        return Holding(frozenset({"write", "read"}), reached, reached)
    return Holding(frozenset({"read"}), reached)


def _levels_by_group(
    connection: Connection, groups: set[str], instance: str, going: Allows
) -> dict[str, list[tuple[Role, Level]]]:
    found: dict[str, list[tuple[Role, Level]]] = {}
    as_far = ALLOWS[: ALLOWS.index(going) + 1]
    for row in connection.execute(
        select(access_group_rows).where(access_group_rows.c.access_group.in_(groups), access_group_rows.c.instance == instance)
    ):
        if row.clients not in as_far:
            continue
        found.setdefault(row.access_group, []).append((row.role, row.level))
    return found


def _accounts_by_group(connection: Connection, groups: set[str]) -> dict[str, Accounts]:
    found: dict[str, set[str]] = {}
    for row in connection.execute(select(account_group_accounts).where(account_group_accounts.c.account_group.in_(groups))):
        found.setdefault(row.account_group, set()).add(row.account)
    return {group: Accounts.of(ids) for group, ids in found.items()}


def _leave(connection: Connection, group: str, subject: str) -> None:
    if group == DEPLOYMENT_ADMINS:
        connection.execute(select(user_groups.c.id).where(user_groups.c.id == group).with_for_update())
        members = set(connection.scalars(select(user_group_members.c.subject).where(user_group_members.c.user_group == group)))
        if members == {subject}:
            raise Refusal(
                "This is the last deployment admin; make somebody else one first.",
                [Problem("subject", "a deployment keeps at least one deployment admin")],
                reason="last_admin",
            )
    connection.execute(
        delete(user_group_members).where(user_group_members.c.user_group == group, user_group_members.c.subject == subject)
    )


def _there(connection: Connection, kind: str, group: str) -> bool:
    """Whether the group is built in. Raises Refusal where there is none of that id."""
    table = next(table for name, table in _GROUPS.items() if name == kind)
    built_in = connection.scalar(select(table.c.built_in).where(table.c.id == group))
    if built_in is None:
        raise Refusal(f"There is no {kind} group {group[:60]}.", [Problem(f"{kind}_group", f"there is no group {group[:60]}")])
    return bool(built_in)


def _changeable(connection: Connection, kind: GroupKind, group: str) -> None:
    if _there(connection, kind, group):
        raise Refusal("This group is built in and stays as it is.", reason="built_in")


def _name(name: str, path: str, *, may_be_blank: bool = False) -> str:
    said = " ".join(name.split())
    if len(said) > 200 or not (said or may_be_blank):
        raise Refusal("That is no name.", [Problem(path, "a name has 1 to 200 characters")])
    return said


def _bound(count: int, what: str) -> None:
    if count > _MOST_NAMED:
        raise Refusal(f"A group names at most {_MOST_NAMED} {what}.")
