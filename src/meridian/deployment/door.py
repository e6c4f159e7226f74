"""The operations door: the one way by which a plugin's command reaches the book.

An instance's name, a command and the header the plugin was asked with (`acting_for`) enter; the command's answer leaves, or
a Refusal. The header is checked with the key that only the deployment holds, so a plugin can send nothing for a caller it
was not asked by. Who may send what is `commands`' rule; what a book keeps, and which calls are open, are handed in, so the
same door stands before the deployment's store and before the book in memory that `testing` has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final, Protocol

from meridian.commands import Book, Provenance, ask
from meridian.errors import Refusal
from meridian.pages import Prepared, assertion

__all__ = ["OpenCalls", "OperationsDoor", "ShownChanges"]

_READING_METHODS: Final = frozenset({"GET", "HEAD"})


class OpenCalls(Protocol):
    """What the door asks of whoever keeps the calls."""

    async def is_open(self, call_id: str, *, now: datetime) -> bool:
        """Whether the call was opened and has been neither closed nor outlived."""
        ...

    async def account_sets(self, digests: frozenset[str]) -> Mapping[str, frozenset[str]]:
        """The sets of accounts that a header names by these digests, as far as they are kept."""
        ...


class ShownChanges(Protocol):
    """What the door asks of whoever keeps the prepared changes."""

    async def shown(self, change: str, revision: int, *, now: datetime) -> Prepared:
        """The change, as that revision of it is shown on the page it is made on. Raises Refusal where it is so no longer."""
        ...


class OperationsDoor:
    """A door before `book`, for calls that `calls` has open and the prepared changes that `changes` keeps. `clock` tells the
    time, aware and in UTC."""

    def __init__(
        self, book: Book, calls: OpenCalls, changes: ShownChanges, deployment_key: bytes, clock: Callable[[], datetime]
    ) -> None:
        self._book = book
        self._calls = calls
        self._changes = changes
        self._deployment_key = deployment_key
        self._clock = clock

    async def send(self, instance: str, command: object, acting_for: str) -> object:
        """The book's answer to `command`, sent by the plugin `instance` for the caller of `acting_for`.

        Raises Refusal: `not_asserted` for a header that is not this deployment's or is another instance's, `call_closed` for
        a call that is over, `not_admitted` with the role or the account named, or whatever the book refuses.
        """
        now = self._clock()
        claims = await self._claims(instance, acting_for, now)
        if not await self._calls.is_open(claims.call_id, now=now):
            raise Refusal(
                "The call this is sent for is closed; a command is sent while its call is open.", reason="call_closed"
            )
        return await ask(
            self._book,
            command,
            claims.caller,
            Provenance.of(claims.caller, at=now, call_id=claims.call_id, instance=instance),
            changes_allowed=claims.acts and claims.method not in _READING_METHODS,
        )

    async def prepared_change(self, instance: str, acting_for: str) -> Prepared:
        """The prepared change that the header `acting_for` names, for the instance it was made for. Raises Refusal."""
        now = self._clock()
        claims = await self._claims(instance, acting_for, now)
        if claims.shows is None:
            raise Refusal("This call was opened from no prepared change.", reason="unknown")
        return await self._changes.shown(*claims.shows, now=now)

    async def account_sets(self, instance: str, acting_for: str) -> Mapping[str, frozenset[str]]:
        """The sets of accounts that the header `acting_for` names by digest, for the instance it was made for."""
        now = self._clock()
        try:
            assertion.read(acting_for, deployment_key=self._deployment_key, now=now.timestamp())
        except assertion.AccountsWanted as wanted:
            sets = await self._calls.account_sets(wanted.digests)
            await self._claims(instance, acting_for, now)
            return sets
        except assertion.NotAsserted as reason:
            raise _not_asserted(reason) from reason
        return {}

    async def _claims(self, instance: str, acting_for: str, now: datetime) -> assertion.Claims:
        def read(sets: Mapping[str, frozenset[str]] | None = None) -> assertion.Claims:
            return assertion.read(acting_for, deployment_key=self._deployment_key, now=now.timestamp(), sets=sets)

        try:
            try:
                claims = read()
            except assertion.AccountsWanted as wanted:
                claims = read(await self._calls.account_sets(wanted.digests))
        except assertion.AccountsWanted as wanted:
            raise Refusal("The accounts of this call are kept no longer; ask again.", reason="call_closed") from wanted
        except assertion.NotAsserted as reason:
            raise _not_asserted(reason) from reason
        if claims.instance != instance:
            raise Refusal(f"This call was made to {claims.instance}, not to {instance}.", reason="not_asserted")
        return claims


def _not_asserted(reason: assertion.NotAsserted) -> Refusal:
    return Refusal(f"Nobody asked for this: {reason}.", reason="not_asserted")
