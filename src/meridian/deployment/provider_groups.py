"""Which groups of the firm's provider are which user groups here: what a deployment admin named, and what follows of it.

A provider's word on whose member somebody is enters at each sign-in; memberships leave, marked as given by it. Those that a
person gave stay as they are. No group here is anything by being called alike: it is what it was named for.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Any, Final

from sqlalchemy import Connection, delete, insert, select

from meridian.deployment.store import Store
from meridian.deployment.store.tables import provider_groups, user_group_members, user_groups
from meridian.errors import Problem, Refusal

__all__ = ["follow", "given", "name", "named", "unname"]

_LONGEST: Final = 200
_MOST: Final = 100


def named(store: Store, user_group: str, issuer: str) -> tuple[str, ...]:
    """The provider's groups that the user group is named for, in order."""
    with store.read() as connection:
        return tuple(connection.scalars(_named_for(user_group, issuer).order_by(provider_groups.c.name)))


def given(store: Store, user_group: str) -> dict[str, str]:
    """Who is a member of the user group by a group of the provider, and by which, by subject."""
    members = user_group_members.c
    with store.read() as connection:
        rows = connection.execute(
            select(members.subject, members.given_by).where(members.user_group == user_group, members.given_by.is_not(None))
        )
        return {row.subject: row.given_by for row in rows}


def name(store: Store, user_group: str, issuer: str, group: str) -> None:
    """Let whoever is in the provider's `group` be a member of the user group, from their next sign-in on.

    Raises Refusal for a group there is not, for a name that none has, and for a built-in group: who is a deployment admin
    is not the provider's to say.
    """
    said = group.strip()
    if not 1 <= len(said) <= _LONGEST or not said.isprintable():
        raise Refusal("That is no group's name.", [Problem("name", f"a group's name has 1 to {_LONGEST} characters")])

    def file(connection: Connection) -> None:
        built_in = connection.scalar(select(user_groups.c.built_in).where(user_groups.c.id == user_group))
        if built_in is None:
            raise Refusal(f"There is no user group {user_group[:60]}.", reason="unknown")
        if built_in:
            raise Refusal("Deployment admins are named here, one by one, and by no provider.", reason="built_in")
        present = set(connection.scalars(_named_for(user_group, issuer)))
        if len(present) >= _MOST:
            raise Refusal(f"A user group is named for at most {_MOST} groups of the provider.")
        if said not in present:
            connection.execute(insert(provider_groups).values(user_group=user_group, issuer=issuer, name=said))

    store.rewrite(file)


def unname(store: Store, user_group: str, issuer: str, group: str) -> None:
    """Let the provider's `group` give no membership of the user group any more; those it gave are over."""
    members = user_group_members.c
    with store.write() as connection:
        connection.execute(
            delete(provider_groups).where(
                provider_groups.c.user_group == user_group, provider_groups.c.issuer == issuer, provider_groups.c.name == group
            )
        )
        connection.execute(delete(user_group_members).where(members.user_group == user_group, members.given_by == group))


def follow(connection: Connection, subject: str, issuer: str, groups: AbstractSet[str]) -> None:
    """Let the person be, by the provider's word, a member of what its `groups` give, and of nothing else. What is so already
    is not written again, since every change of who holds what has others look anew."""
    members = user_group_members.c
    rows = connection.execute(select(members.user_group, members.given_by).where(members.subject == subject))
    held = {row.user_group: row.given_by for row in rows}
    naming = connection.execute(
        select(provider_groups.c.user_group, provider_groups.c.name)
        .where(provider_groups.c.issuer == issuer)
        .order_by(provider_groups.c.name.desc())
    )
    gives = {row.user_group: row.name for row in naming if row.name in groups}
    by_hand = {group for group, given_by in held.items() if given_by is None}
    for group in held.keys() - by_hand:
        if gives.get(group) != held[group]:
            connection.execute(delete(user_group_members).where(members.subject == subject, members.user_group == group))
    for group, by in gives.items():
        if group not in by_hand and held.get(group) != by:
            connection.execute(insert(user_group_members).values(user_group=group, subject=subject, given_by=by))


def _named_for(user_group: str, issuer: str) -> Any:
    return select(provider_groups.c.name).where(provider_groups.c.user_group == user_group, provider_groups.c.issuer == issuer)
