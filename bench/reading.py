"""Reading and writing records, declaring them and their schema, beside the standard library's parsers, which make no record.

S has five scalars; M an account, a reason and 8 lots; L 200 positions of 5 lots. Each piece of work is checked before it is
timed: the record must be exactly the one that was sent, and the cells named as wrong exactly those that were made wrong.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial

from bench.peers import floor, ours
from bench.timing import Case, times
from bench.work import FLOORS, WORK, call, checked

__all__ = ["cases"]


def cases(short: bool) -> Iterator[Case]:
    for work in WORK:
        verb, name, *_ = work.split()
        # A schema has no floor of its own: it is held against writing the same schema as JSON.
        floors = call(floor, work) if verb != "schema" else partial(json.dumps, ours.schema(name))
        yield Case(work, FLOORS[verb], partial(times, checked(ours, work), floors, short=short))
