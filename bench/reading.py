"""Reading and writing records, declaring them and their schema, beside the standard library's parsers, which make no record.

S has five scalars; M an account, a reason and 8 lots; L 200 positions of 5 lots. Each piece of work is checked before it is
timed: the record must be exactly the one that was sent, and the cells named as wrong exactly those that were made wrong.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial

from bench.peers import floor, ours
from bench.timing import Case, times
from bench.work import WORK, call, left_undone

__all__ = ["cases"]

FLOORS = {"json": "json.loads", "form": "parse_qsl", "declare": "dataclasses", "dump": "json.dumps", "schema": "json.dumps"}


def cases(short: bool) -> Iterator[Case]:
    for work in WORK:
        undone = left_undone(ours, work)
        if undone:
            raise AssertionError(f"{work}: {undone}")
        does, below = call(ours, work), _floor(work)
        assert does
        yield Case(work, FLOORS[work.split()[0]], partial(times, does, below, short=short))


def _floor(work: str) -> Callable[[], object]:
    """A schema has no floor of its own: it is held against writing the same schema as JSON."""
    if work.startswith("schema"):
        return partial(json.dumps, ours.schema(work.split()[1]))
    below = call(floor, work)
    assert below
    return below
