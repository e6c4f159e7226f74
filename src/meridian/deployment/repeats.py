"""Repeats: an act that is sent again under the key its caller gave it is made once.

An act and its key enter before its plugin is asked; what is known of them leaves: nothing, so that it is to be made, or the
outcome that is to be given instead. Processes agree by the store, whose constraint lets one of them take a key. What is kept is
apart from the record of calls, for a day and within bounds: digests of key and record, and what was answered. Whether a
caller may make the act at all is settled before, in `surface`; it holds for as long as the revision it was settled under does.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import anyio
from sqlalchemy import Connection, Row, and_, delete, func, insert, select, update

from meridian.deployment.calls import PERHAPS_MADE, TooMany
from meridian.deployment.gateway import Changed
from meridian.deployment.store import Store
from meridian.deployment.store.revision import read_revision
from meridian.deployment.store.tables import repeats
from meridian.pages.answering import refused
from meridian.pages.assertion import digest
from meridian.pages.tools import Tool
from meridian.records import read_value, write_json

__all__ = ["KEY", "LONGEST_KEY", "KeyedAct", "Repeats", "digest_of_record", "keyed_act", "prune"]

KEY: Final = "meridian/idempotency-key"
"""Where a request's `_meta` has the key of an act."""
LONGEST_KEY: Final = 200

_KEPT: Final = timedelta(hours=24)
_LOOKED_AGAIN_AFTER_SECONDS: Final = 0.1
MOST_KEYS: Final = 10_000
"""So many keys are kept at most of one delegation."""
LONGEST_ANSWER: Final = 64 << 10
"""An answer that is longer, in characters, is not kept: of its act it is known that it was made."""
_NOT_KEPT: Final = "null"


@dataclass(frozen=True)
class KeyedAct:
    """An act with a key: through which delegation, by which tool, and the digests of its key and of its record. That of the
    record is made with the key, so that nobody who sees it finds the record by guessing."""

    delegation: str
    tool: str
    key: str
    record: str


def keyed_act(delegation: str, tool: str, key: object, record: str) -> KeyedAct | None:
    """The act whose record has that digest, under the key that a request gave; None where that is no key."""
    if not isinstance(key, str) or not 0 < len(key) <= LONGEST_KEY:
        return None
    said = key.encode("utf-8", "surrogatepass")
    return KeyedAct(delegation, tool, digest(said), hmac.new(said, record.encode(), hashlib.sha256).hexdigest())


def digest_of_record(tool: Tool, arguments: Mapping[str, Any]) -> str | None:
    """The digest of the record that `arguments` read as, however they spell it; None where they do not read."""
    if tool.shape is None:
        return digest(b"{}")
    reading = read_value(tool.shape, dict(arguments), lenient=True)
    return None if reading.problems else digest(write_json(reading.record))


class Repeats:
    """The keyed acts of a store. `clock` tells the time, `lasts` how long a call may be under way, and `at_once` how many of
    one delegation may wait here for another."""

    def __init__(self, store: Store, clock: Callable[[], datetime], lasts: timedelta, *, at_once: int) -> None:
        self._store = store
        self._clock = clock
        self._lasts = lasts
        self._at_once = at_once
        self._waiting: dict[str, int] = {}

    async def begin(self, act: KeyedAct, *, revision: int) -> dict[str, Any] | None:
        """None where the act is to be made, by `make`; else what is answered in its place. Waits for one that is under way, for
        as long as a call may be.

        Raises Changed where `revision`, under which it was settled that the act may be made, has passed; and TooMany where the
        delegation has as many that wait as it may, or keeps as many keys.
        """
        if (taken := await self._take(act, revision)) is not _UNDER_WAY:
            return taken
        until = self._clock() + self._lasts
        with self._in_line(act.delegation):
            while self._clock() < until:
                await anyio.sleep(_LOOKED_AGAIN_AFTER_SECONDS)
                if (taken := await self._take(act, revision)) is not _UNDER_WAY:
                    return taken
        return _UNDER_WAY

    async def _take(self, act: KeyedAct, revision: int) -> dict[str, Any] | None:
        """None where the key was taken for the act; else what is known of the key, `_UNDER_WAY` while its act is."""
        current, found = await self._store.look(_look, act, now=self._clock())
        if current != revision:
            raise Changed
        if found is not None:
            return self._known(act, found)
        taken = await self._store.keep_lasting(_take, act, now=self._clock())
        if isinstance(taken, TooMany):
            raise taken
        return None if taken else _UNDER_WAY

    @contextmanager
    def _in_line(self, delegation: str) -> Iterator[None]:
        """Around a wait for a call of the delegation. Raises TooMany where as many wait as may."""
        waiting = self._waiting.get(delegation, 0)
        if waiting >= self._at_once:
            raise TooMany(
                f"This client has {waiting} call{'' if waiting == 1 else 's'} waiting for others under the same key, as many "
                "as it may. Nothing was asked; call again when one of them is answered."
            )
        self._waiting[delegation] = waiting + 1
        try:
            yield
        finally:
            self._waiting[delegation] -= 1
            if not self._waiting[delegation]:
                del self._waiting[delegation]

    async def make(self, act: KeyedAct, ask: Callable[[], Awaitable[dict[str, Any]]]) -> dict[str, Any]:
        """What `ask` answers, remembered unless it was refused. Where nobody knows what came of it, the key says so."""
        try:
            outcome = await ask()
        except (Changed, TooMany):
            await self._store.keep(_let_go, act)
            raise
        if outcome["outcome"] != "refused":
            answer = json.dumps(outcome)
            await self._store.keep(_answer, act, answer if len(answer) <= LONGEST_ANSWER else _NOT_KEPT)
        elif outcome["reason"] not in PERHAPS_MADE:
            await self._store.keep(_let_go, act)
        return outcome

    def _known(self, act: KeyedAct, found: Row[Any]) -> dict[str, Any]:
        """What is answered in place of an act whose key is taken."""
        if found.record != act.record:
            return refused(
                "key_used",
                "The key was given with other arguments before. Nothing was done; give each act a key of its own.",
            )
        if found.answer == _NOT_KEPT:
            return refused(
                "not_kept",
                "The act was made under this key already, and its answer was too long to be kept. Nothing was done now; read "
                "what came of it.",
            )
        if found.answer is not None:
            return {**json.loads(found.answer), "outcome": "unchanged"}
        if self._clock() < found.begun_at + self._lasts:
            return _UNDER_WAY
        return refused(
            "unsure",
            "The act was begun under this key, and what came of it is not known: it may have been made or not. Nothing was "
            "done now; read, and where it was not made, call it under another key.",
        )


_UNDER_WAY: Final = refused(
    "under_way", "A call under this key is under way. Nothing was done by this one; send it again, with the same key."
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


def _take(connection: Connection, act: KeyedAct, *, now: datetime) -> bool | TooMany:
    """Take the key for the act; whether nobody had. TooMany where its delegation keeps as many keys as it may."""
    connection.execute(delete(repeats).where(_of(act), repeats.c.begun_at <= now - _KEPT))
    if connection.execute(select(repeats.c.key).where(_of(act))).one_or_none() is not None:
        return False
    some = select(repeats.c.key).where(repeats.c.delegation == act.delegation).limit(MOST_KEYS).subquery()
    if connection.scalar(select(func.count()).select_from(some)) == MOST_KEYS:
        return TooMany(
            f"This client gave {MOST_KEYS:,} keys within a day, as many as are kept. Nothing was asked; call without a key, or "
            "wait for the oldest to be a day old."
        )
    connection.execute(
        insert(repeats).values(delegation=act.delegation, tool=act.tool, key=act.key, record=act.record, begun_at=now)
    )
    return True


def _answer(connection: Connection, act: KeyedAct, answer: str) -> None:
    connection.execute(update(repeats).where(_of(act)).values(answer=answer))


def _let_go(connection: Connection, act: KeyedAct) -> None:
    connection.execute(delete(repeats).where(_of(act)))
