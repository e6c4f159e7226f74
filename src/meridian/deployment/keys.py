"""The keys that sign: the deployment's own, and one for each instance, so that no two instances share any.

A key is made at the first asking and kept in the store, where sibling processes find the same one.
"""

from __future__ import annotations

import secrets
from datetime import datetime

from sqlalchemy import Connection, insert, select

from meridian.deployment.store import Store
from meridian.deployment.store.tables import keys

__all__ = ["deployment_key", "instance_key", "token_key"]


def deployment_key(store: Store, *, now: datetime) -> bytes:
    """The key that only the deployment holds; the operations door checks with it."""
    return _key(store, "deployment", now)


def instance_key(store: Store, instance: str, *, now: datetime) -> bytes:
    """The key that the deployment and the plugin `instance` share."""
    return _key(store, f"instance/{instance}", now)


def token_key(store: Store, *, now: datetime) -> bytes:
    """The key by which a client's next tokens follow from the one it spends."""
    return _key(store, "tokens", now)


def _key(store: Store, name: str, now: datetime) -> bytes:
    wanted = select(keys.c.key).where(keys.c.name == name)
    with store.read() as connection:
        found = connection.scalar(wanted)
    if found is not None:
        return bytes(found)

    def make(connection: Connection) -> bytes:
        present = connection.scalar(wanted)
        if present is not None:
            return bytes(present)
        made = secrets.token_bytes(32)
        connection.execute(insert(keys).values(name=name, key=made, made_at=now))
        return made

    return store.rewrite(make)
