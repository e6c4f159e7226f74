"""The work that is timed, by name: `json M invalid` is reading M from JSON with wrong cells in it, `dump L` writing L.

Whoever does it is a module with the functions of `bench.peers.Peer`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from bench.corpus import Input, fault, input_of

__all__ = ["FLOORS", "GROWING", "WORK", "call", "checked", "does", "left_undone"]

WORK = (
    *(f"{source} {name} {variant}" for source in ("json", "form") for name in "SML" for variant in ("valid", "invalid")),
    "form M gaps",
    *(f"{verb} {name}" for verb in ("schema", "declare") for name in "SM"),
    *(f"dump {name}" for name in "SML"),
)
GROWING = tuple(
    f"{source} {name} {lots // each}"
    for source in ("json", "form")
    for name, each in (("M", 1), ("L", 5))
    for lots in (10, 100, 1_000, 10_000)
)
"""Reading M with so many lots, and L with so many positions of 5 lots each: 10 to 10,000 lots."""
FLOORS = {"json": "json.loads", "form": "parse_qsl", "declare": "dataclasses", "dump": "json.dumps", "schema": "json.dumps"}
"""What each work is held against; `bench.peers.floor` does it, but for a schema's."""
_FUNCTIONS = {"json": "from_json", "form": "from_form", "schema": "schema", "declare": "declare", "dump": "dump"}


def does(peer: Any, work: str) -> bool:
    return hasattr(peer, _FUNCTIONS[work.split()[0]])


def call(peer: Any, work: str) -> Callable[[], Any]:
    """What does the work once. `json M 1000` reads M with 1,000 rows."""
    verb, name, *_ = work.split()
    function = getattr(peer, _FUNCTIONS[verb])
    if verb in ("json", "form"):
        return partial(function, name, _sent_to(peer, work).body)
    if verb == "dump":
        record, _ = peer.from_json(name, input_of("json", name).body)
        return partial(function, name, record)
    return partial(function, name)


def left_undone(peer: Any, work: str) -> str:
    """What `peer` leaves of the work undone, in words; nothing where it does it all."""
    verb, name, *_ = work.split()
    answer = call(peer, work)()
    if verb in ("json", "form"):
        return fault(_given(work), answer)
    if verb == "dump" and json.loads(answer) != json.loads(input_of("json", name).body):
        return "it writes something else"
    return ""


def checked(peer: Any, work: str) -> Callable[[], Any]:
    """What does the work once, and was seen to do all of it."""
    undone = left_undone(peer, work)
    if undone:
        raise AssertionError(f"{work}: {undone}")
    return call(peer, work)


def _given(work: str) -> Input:
    source, name, how = work.split()
    rows, variant = (int(how), "valid") if how.isdecimal() else (None, how)
    return input_of(source, name, variant, rows)


def _sent_to(peer: Any, work: str) -> Input:
    """A library with names of its own for the cells of a form is sent these."""
    given = _given(work)
    renamed = getattr(peer, "renamed", None)
    return given._replace(body=renamed(given.body)) if renamed and work.startswith("form") else given
