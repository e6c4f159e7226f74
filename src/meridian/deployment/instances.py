"""The plugins a deployment runs, each under a name: what was configured, and the settings its admin chose.

A name, a target and what the plugin's Pages say of themselves enter; an `Instance` leaves. How a target becomes a plugin
is `plugins`' matter, and what a settings record holds the plugin's own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, Row, insert, select, update

from meridian.callers import Role
from meridian.deployment.store import Store
from meridian.deployment.store.tables import instances
from meridian.errors import DeploymentError

__all__ = ["RESERVED_NAMES", "Instance", "change_settings", "configure", "configured", "find"]

RESERVED_NAMES: Final = frozenset({"dashboard", "mcp", "oauth", "static"})
"""Names that belong to the deployment itself."""

LONGEST_TARGET: Final = 300
"""How much of a target is kept."""

_NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,39}")


@dataclass(frozen=True)
class Instance:
    """One plugin as the deployment runs it. A plugin without roles has one, whose name is empty; `roles` says so."""

    name: str
    target: str
    title: str
    roles: tuple[Role, ...]
    settings: Mapping[str, Any]


def configure(
    store: Store, name: str, *, target: str, title: str, roles: Iterable[Role], now: datetime, reserved: bool = False
) -> Instance:
    """The instance `name` as it is now configured. Settings chosen before stay.

    `reserved` lets the deployment configure a plugin of its own under a reserved name. Raises DeploymentError for a name
    that no instance may have.
    """
    if not _NAME.fullmatch(name):
        raise DeploymentError(
            f"instance {name[:60]}: a name is small letters, digits and hyphens, from a letter on, at most 40"
        )
    if name in RESERVED_NAMES and not reserved:
        raise DeploymentError(f"instance {name}: that name is the deployment's own; choose another, {name}-2=…")
    if len(target) > LONGEST_TARGET:
        raise DeploymentError(
            f"instance {name}: its target has {len(target)} characters, and {LONGEST_TARGET} are kept; "
            "put the plugin in a folder of a shorter path, or install it"
        )
    values = {
        "target": target,
        "title": title[:200],
        "roles": json.dumps(list(roles) or [""]),
        "configured_at": now,
    }

    def file(connection: Connection) -> Instance:
        if not connection.execute(update(instances).where(instances.c.name == name).values(values)).rowcount:
            connection.execute(insert(instances).values(values | {"name": name, "settings": "{}"}))
        return _instance(connection.execute(select(instances).where(instances.c.name == name)).one())

    return store.rewrite(file)


def configured(store: Store) -> tuple[Instance, ...]:
    """Every instance that was ever configured, by name."""
    with store.read() as connection:
        return tuple(map(_instance, connection.execute(select(instances).order_by(instances.c.name))))


def find(store: Store, name: str) -> Instance | None:
    """The instance of that name, if there is one."""
    with store.read() as connection:
        row = connection.execute(select(instances).where(instances.c.name == name)).one_or_none()
    return None if row is None else _instance(row)


def change_settings(store: Store, name: str, settings: Mapping[str, Any]) -> None:
    """Keep these settings, a JSON object, for the instance."""
    with store.write() as connection:
        connection.execute(update(instances).where(instances.c.name == name).values(settings=json.dumps(dict(settings))))


def _instance(row: Row[Any]) -> Instance:
    return Instance(row.name, row.target, row.title, tuple(json.loads(row.roles)), json.loads(row.settings))
