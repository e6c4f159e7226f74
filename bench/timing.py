"""What a benchmark is made of: a case that measures one figure, and two functions timed in turns.

A figure is better when it is smaller. Nearly all are ratios, since only these mean the same on another machine.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from statistics import median
from time import process_time

__all__ = ["Case", "calls_in", "milliseconds", "once", "only_what_is_made", "times"]

Call = Callable[[], object]

_TEXT = json.dumps([{"quantity": f"{n}.5", "cost": None, "acquired": "2024-11-05"} for n in range(1_000)])
THERE = 390e-6
"""The seconds that `json.loads` took of it on the machine that the goals were set on: a virtual Intel Xeon, CPython 3.11."""


@dataclass(frozen=True)
class Case:
    """One figure: what it is of (`json M valid`), what it is held against (`json.loads`), and what measures it.

    `goals.toml` has the goal of a case by these two names. `measure` is called again where the goal was missed.
    """

    name: str
    against: str
    measure: Callable[[], float]
    unit: str = "×"


def times(ours: Call, theirs: Call, *, short: bool = False) -> float:
    """How many times as long `ours` takes as `theirs`: the median of what each round says.

    A round takes a sample of both, so that whatever slows the machine for a while slows both and drops out. A sample is as many
    calls as fill its time. The garbage collector runs, as in a server, but not over what was there before. What is measured is
    the time this process has the processor for: what else the machine does meanwhile is not counted.
    """
    rounds, seconds = (9, 0.01) if short else (15, 0.025)
    with only_what_is_made():
        ours_calls, their_calls = calls_in(seconds, ours), calls_in(seconds, theirs)
        ratios = []
        for turn in range(rounds):
            if turn % 2:
                below, above = once(theirs, their_calls), once(ours, ours_calls)
            else:
                above, below = once(ours, ours_calls), once(theirs, their_calls)
            ratios.append(above / below)
    return median(ratios)


def milliseconds(seconds: float) -> float:
    """`seconds` of this machine as milliseconds of the one that the goals were set on: being slow makes no machine miss one.

    The two are compared by what `json.loads` takes of one text.
    """
    return 1000 * seconds * THERE / min(once(partial(json.loads, _TEXT), 20) for _ in range(5))


def once(call: Call, calls: int) -> float:
    """The seconds of processor time that one of `calls` calls takes."""
    gc.collect()
    turns = range(calls)
    start = process_time()
    for _ in turns:
        call()
    return (process_time() - start) / calls


def calls_in(seconds: float, call: Call) -> int:
    call()
    calls = 1
    while (taken := once(call, calls) * calls) < seconds / 4:
        calls *= 4
    return max(1, round(calls * seconds / taken))


@contextmanager
def only_what_is_made() -> Iterator[None]:
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
