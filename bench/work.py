"""The work that is timed, by name: `json M invalid` is reading M from JSON with wrong cells in it, `dump L` writing L.

Whoever does it is a module with the functions of `bench.peers.Peer`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from bench.corpus import Input, fault, input_of

__all__ = ["WORK", "call", "left_undone"]

WORK = (
    *(f"{source} {name} {variant}" for source in ("json", "form") for name in "SML" for variant in ("valid", "invalid")),
    "form M gaps",
    *(f"{verb} {name}" for verb in ("schema", "declare") for name in "SM"),
    *(f"dump {name}" for name in "SML"),
)


def call(peer: Any, work: str) -> Callable[[], Any] | None:
    """What does the work once, or None where `peer` does not do it. `json M 1000` reads M with 1000 rows."""
    verb, name, *_ = work.split()
    if verb in ("json", "form"):
        read = getattr(peer, f"from_{verb}", None)
        return read and partial(read, name, _sent_to(peer, work).body)
    does = getattr(peer, verb, None)
    if verb == "dump" and does:
        record, _ = peer.from_json(name, input_of("json", name).body)
        return partial(does, name, record)
    return does and partial(does, name)


def left_undone(peer: Any, work: str) -> str:
    """What `peer` leaves of the work undone, in words; nothing where it does it all."""
    verb, name, *_ = work.split()
    does = call(peer, work)
    if does is None:
        return "it does not do this"
    answer = does()
    if verb in ("json", "form"):
        return fault(_given(work), answer)
    if verb == "dump":
        return "" if json.loads(answer) == json.loads(input_of("json", name).body) else "it writes something else"
    return ""


def _given(work: str) -> Input:
    source, name, how = work.split()
    rows, variant = (int(how), "valid") if how.isdecimal() else (None, how)
    return input_of(source, name, variant, rows)


def _sent_to(peer: Any, work: str) -> Input:
    """A library with names of its own for the cells of a form is sent these."""
    given = _given(work)
    renamed = getattr(peer, "renamed", None)
    return given._replace(body=renamed(given.body)) if renamed and work.startswith("form") else given
