"""adaptix generates a loader for each dataclass, and here keeps every error with its trail."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal
from typing import Any

from adaptix import DebugTrail, ExtraForbid, Retort, dumper, loader, name_mapping
from adaptix.load_error import LoadError, ValueLoadError
from adaptix.struct_trail import get_trail

from bench.corpus import Answer
from bench.peers.exact import amount, day
from bench.peers.tree import path
from bench.records import RECORDS, anew


def _load(read: Callable[[object], Any]) -> Callable[[object], Any]:
    def load(value: object) -> Any:
        try:
            return read(value)
        except ValueError as wrong:
            raise ValueLoadError(str(wrong), value) from None

    return load


retort = Retort(
    strict_coercion=True,
    debug_trail=DebugTrail.ALL,
    recipe=[
        loader(Decimal, _load(amount)),
        dumper(Decimal, str),
        loader(date, _load(day)),
        name_mapping(extra_in=ExtraForbid()),
    ],
)
_LOAD = {name: retort.get_loader(record) for name, record in RECORDS.items()}
_DUMP = {name: retort.get_dumper(record) for name, record in RECORDS.items()}


def from_json(name: str, body: bytes) -> Answer:
    try:
        return _LOAD[name](json.loads(body)), ()
    except LoadError as wrong:
        return None, list(_leaves(wrong, ()))


def declare(name: str) -> object:
    return retort.extend(recipe=[]).get_loader(anew(name))


def dump(name: str, record: Any) -> str:
    return json.dumps(_DUMP[name](record), separators=(",", ":"), ensure_ascii=False)


def _leaves(wrong: Any, above: tuple[Any, ...]) -> Iterator[tuple[str, str]]:
    trail = (*above, *get_trail(wrong))
    inner = getattr(wrong, "exceptions", None)
    if inner is None:
        yield path(trail), str(wrong)
    else:
        for each in inner:
            yield from _leaves(each, trail)
