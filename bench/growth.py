"""How a read grows from 1,000 rows to 10,000: the exponent, which is 1 in step with the rows and 2 with their square.

M has that many lots; L has a fifth as many positions, of 5 lots each. The standard library's parser is shown beside: what its
exponent has over 1 is the memory's and the garbage collector's, and no reader's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

from bench.peers import floor, ours
from bench.timing import Case, times
from bench.work import FLOORS, call, checked

__all__ = ["cases"]

FEW, MANY = 1_000, 10_000


def cases(short: bool) -> Iterator[Case]:
    for work, lots in (("json M", 1), ("json L", 5), ("form M", 1), ("form L", 5)):
        few, many = f"{work} {FEW // lots}", f"{work} {MANY // lots}"
        verb, name = work.split()
        ours_grows, floor_grows = (partial(_exponent, call(peer, few), call(peer, many), short) for peer in (ours, floor))
        checked(ours, many)
        yield Case(f"growth {work}", "rows", ours_grows, unit="exponent")
        yield Case(f"growth {FLOORS[verb]} {name}", "rows", floor_grows, unit="exponent")


def _exponent(few: Callable[[], object], many: Callable[[], object], short: bool) -> float:
    return math.log(times(many, few, short=short)) / math.log(MANY / FEW)
