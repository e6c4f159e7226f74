"""How far clients may go with each act, and whose acts need a second pair of eyes.

What an operator, a plugin's admin and an access group say enters; the strictest of it leaves: to make the act, to prepare it
alone, or neither. A person on a page makes what they hold; but where an act needs a second pair of eyes from them, they prepare
it, and somebody else makes it. Nothing here is reached by a tool.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final, Literal, cast

from sqlalchemy import Connection, delete, insert, or_, select

from meridian.deployment.store import Store
from meridian.deployment.store.tables import act_limits, second_pairs

__all__ = [
    "ALLOWS",
    "WORDS",
    "Allows",
    "Scope",
    "limits_in",
    "limits_of",
    "name_limit",
    "name_second_pair",
    "second_pair_in",
    "second_pairs_of",
    "strictest",
]

Allows = Literal["make", "prepare", "may_not"]
Scope = Literal["deployment", "plugin"]
Act = tuple[str, str]

ALLOWS: Final[tuple[Allows, ...]] = ("make", "prepare", "may_not")
"""How far a client may go with an act, the farthest first."""
WORDS: Final[Mapping[Allows, str]] = {"make": "make it", "prepare": "prepare it only", "may_not": "neither make nor prepare it"}
"""The same, as a person reads it."""


def strictest(allowed: Iterable[Allows]) -> Allows:
    """The least far of these; to make it, where nobody says anything.

    >>> strictest(["make", "prepare"])
    'prepare'
    """
    return max(allowed, key=ALLOWS.index, default="make")


def limits_in(connection: Connection) -> Mapping[Act, Allows]:
    """How far clients may go with each act of which anybody says so: the operator, or the plugin's admin."""
    said: dict[Act, Allows] = {}
    for row in connection.execute(select(act_limits)):
        act = row.instance, row.tool
        said[act] = strictest([said.get(act, "make"), cast("Allows", row.clients)])
    return said


def limits_of(store: Store, instance: str) -> Mapping[tuple[Scope, str], Allows]:
    """The same for one instance, by who says so and the act."""
    with store.read() as connection:
        rows = connection.execute(select(act_limits).where(act_limits.c.instance == instance))
        return {(cast("Scope", row.scope), row.tool): cast("Allows", row.clients) for row in rows}


def name_limit(store: Store, scope: Scope, instance: str, tool: str, allows: Allows, *, by: str, now: datetime) -> None:
    """Say how far clients may go with an act. It holds at a client's next call."""
    t = act_limits.c
    with store.write() as connection:
        connection.execute(delete(act_limits).where(t.scope == scope, t.instance == instance, t.tool == tool))
        if allows != "make":
            connection.execute(
                insert(act_limits).values(
                    scope=scope, instance=instance, tool=tool, clients=allows, chosen_by=by, chosen_at=now
                )
            )


def second_pair_in(connection: Connection, instance: str, subject: str) -> tuple[str, ...]:
    """The acts of the instance that need a second pair of eyes where that person would make them, by name."""
    t = second_pairs.c
    rows = connection.scalars(
        select(t.tool).where(t.instance == instance, or_(t.subject == subject, t.subject == "")).distinct().order_by(t.tool)
    )
    return tuple(rows)


def second_pairs_of(store: Store, instance: str) -> Mapping[str, tuple[str, ...]]:
    """For each act of the instance, whom it needs a second pair of eyes from; the empty subject is everybody."""
    t = second_pairs.c
    found: dict[str, tuple[str, ...]] = {}
    with store.read() as connection:
        for row in connection.execute(select(t.tool, t.subject).where(t.instance == instance).order_by(t.tool, t.subject)):
            found[row.tool] = (*found.get(row.tool, ()), row.subject)
    return found


def name_second_pair(store: Store, instance: str, tool: str, subjects: Iterable[str], *, by: str, now: datetime) -> None:
    """Say from whom an act needs a second pair of eyes: these people, or everybody where the empty subject is among them. It
    holds at their next request."""
    t = second_pairs.c
    named = set(subjects)
    with store.write() as connection:
        connection.execute(delete(second_pairs).where(t.instance == instance, t.tool == tool))
        for subject in {""} if "" in named else named:
            connection.execute(
                insert(second_pairs).values(instance=instance, tool=tool, subject=subject, chosen_by=by, chosen_at=now)
            )
