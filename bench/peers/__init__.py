"""The libraries that do the same work, each as its own documentation would have it done: one module a library.

Such a module has some of the functions of `Peer`; what it leaves out the library does not do, and is not timed.
"""

from __future__ import annotations

from typing import Any, Protocol

from bench.corpus import Answer

__all__ = ["Peer"]


class Peer(Protocol):
    """`name` is that of a record in `bench.records`; the module makes ready at import what an application would."""

    def from_json(self, name: str, body: bytes, /) -> Answer: ...
    def from_form(self, name: str, body: bytes, /) -> Answer: ...
    def schema(self, name: str, /) -> dict[str, Any]:
        """Derived anew, and not kept from an earlier call."""

    def declare(self, name: str, /) -> object:
        """Declare the record's classes anew and make them as ready as a first request needs."""

    def dump(self, name: str, record: Any, /) -> bytes | str:
        """The record that the peer itself read, as compact JSON."""
