"""Repeats: an act that is sent again under the key its caller gave it is made once.

An act and its key enter before its plugin is asked; what is known of them leaves: nothing, so that it is to be made, or the
outcome that is to be given instead. Processes agree by the store, whose constraint lets one of them take a key. What is kept is
apart from the record of calls, for a day: digests of key and record, and what was answered. Whether a caller may make
the act at all is settled before, in `surface`; it holds for as long as the revision it was settled under does.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import anyio
from sqlalchemy import Connection, Row, and_, delete, insert, select, update

from meridian.deployment.calls import PERHAPS_MADE, TooMany
from meridian.deployment.gateway import Changed
from meridian.deployment.store import Store
from meridian.deployment.store.revision import read_revision
from meridian.deployment.store.tables import repeats
from meridian.pages.answering import refused
from meridian.pages.assertion import digest
from meridian.pages.tools import Tool
from meridian.records import read_value, write_json

__all__ = ["KEY", "LONGEST_KEY", "KeyedAct", "Repeats", "digest_of_key", "digest_of_record", "prune"]

KEY: Final = "meridian/idempotency-key"
"""Where a request's `_meta` has the key of an act."""
LONGEST_KEY: Final = 200

_KEPT: Final = timedelta(hours=24)
_LOOKED_AGAIN_AFTER_SECONDS: Final = 0.1


@dataclass(frozen=True)
class KeyedAct:
    """An act with a key: through which delegation, by which tool, and the digests of its key and of its record."""

    delegation: str
    tool: str
    key: str
    record: str


def digest_of_key(key: object) -> str | None:
    """The digest of the key that a request gave; None where it is none."""
    if not isinstance(key, str) or not 0 < len(key) <= LONGEST_KEY:
        return None
    return digest(key.encode("utf-8", "surrogatepass"))


def digest_of_record(tool: Tool, arguments: Mapping[str, Any]) -> str | None:
    """The digest of the record that `arguments` read as, however they spell it; None where they do not read."""
    if tool.shape is None:
        return digest(b"{}")
    reading = read_value(tool.shape, dict(arguments), lenient=True)
    return None if reading.problems else digest(write_json(reading.record))


class Repeats:
    """The keyed acts of a store. `clock` tells the time, `lasts` how long a call may be under way."""

    def __init__(self, store: Store, clock: Callable[[], datetime], lasts: timedelta) -> None:
        self._store = store
        self._clock = clock
        self._lasts = lasts

    async def begin(self, act: KeyedAct, *, revision: int) -> dict[str, Any] | None:
        """None where the act is to be made, by `make`; else what is answered in its place. Waits for one that is under way.

        Raises Changed where `revision`, under which it was settled that the act may be made, has passed.
        """
        while True:
            current, found = await self._store.look(_look, act, now=self._clock())
            if current != revision:
                raise Changed
            if found is None:
                if await self._store.keep_lasting(_take, act, now=self._clock()):
                    return None
            elif (said := self._known(act, found)) is not None:
                return said
            else:
                await anyio.sleep(_LOOKED_AGAIN_AFTER_SECONDS)

    async def make(self, act: KeyedAct, ask: Callable[[], Awaitable[dict[str, Any]]]) -> dict[str, Any]:
        """What `ask` answers, remembered unless it was refused. Where nobody knows what came of it, the key says so."""
        try:
            outcome = await ask()
        except (Changed, TooMany):
            await self._store.keep(_let_go, act)
            raise
        if outcome["outcome"] != "refused":
            await self._store.keep(_answer, act, json.dumps(outcome))
        elif outcome["reason"] not in PERHAPS_MADE:
            await self._store.keep(_let_go, act)
        return outcome

    def _known(self, act: KeyedAct, found: Row[Any]) -> dict[str, Any] | None:
        """What is answered in place of an act whose key is taken; None while the first is under way."""
        if found.record != act.record:
            return refused(
                "key_used",
                "The key was given with other arguments before. Nothing was done; give each act a key of its own.",
            )
        if found.answer is not None:
            return {**json.loads(found.answer), "outcome": "unchanged"}
        if self._clock() < found.begun_at + self._lasts:
            return None
        return refused(
            "unsure",
            "The act was begun under this key, and what came of it is not known: it may have been made or not. Nothing was "
            "done now; read, and where it was not made, call it under another key.",
        )


def prune(store: Store, *, now: datetime) -> None:
    """Forget the keys of more than a day ago. To be called now and then."""
    with store.write() as connection:
        connection.execute(delete(repeats).where(repeats.c.begun_at <= now - _KEPT))


def _of(act: KeyedAct) -> Any:
    return and_(repeats.c.delegation == act.delegation, repeats.c.tool == act.tool, repeats.c.key == act.key)


def _look(connection: Connection, act: KeyedAct, *, now: datetime) -> tuple[int, Row[Any] | None]:
    """The revision, and what is kept of the act's key."""
    kept = select(repeats).where(_of(act), repeats.c.begun_at > now - _KEPT)
    return read_revision(connection), connection.execute(kept).one_or_none()


def _take(connection: Connection, act: KeyedAct, *, now: datetime) -> bool:
    """Take the key for the act; whether nobody had."""
    connection.execute(delete(repeats).where(_of(act), repeats.c.begun_at <= now - _KEPT))
    if connection.execute(select(repeats.c.key).where(_of(act))).one_or_none() is not None:
        return False
    connection.execute(
        insert(repeats).values(delegation=act.delegation, tool=act.tool, key=act.key, record=act.record, begun_at=now)
    )
    return True


def _answer(connection: Connection, act: KeyedAct, answer: str) -> None:
    connection.execute(update(repeats).where(_of(act)).values(answer=answer))


def _let_go(connection: Connection, act: KeyedAct) -> None:
    connection.execute(delete(repeats).where(_of(act)))
