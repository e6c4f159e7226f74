"""Meridian beside each peer: `python -m bench.peers --make DIR` once, then `--run DIR`. Exits 1 where a goal is missed."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench.judging import GOALS, Goal
from bench.peers.running import Beside, compare, make, workers
from bench.showing import keep
from bench.work import GROWING, WORK


def main() -> int:
    words = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    words.add_argument("--make", metavar="DIR", type=Path, help="make the peers' environments there")
    words.add_argument("--run", metavar="DIR", type=Path, help="time everyone, the peers in the environments made there")
    words.add_argument("--only", metavar="WORK", action="append", help='a piece of work, like "json M valid"; all, if left out')
    words.add_argument("--keep", action="store_true", help="keep the figures, for docs/performance.md to show")
    said = words.parse_args()
    if said.keep and said.only:
        words.error("figures are kept of all the work together")
    if said.make:
        make(said.make)
    return _run(said.run, said.only or [*WORK, *GROWING], keeping=said.keep) if said.run else 0


def _run(folder: Path, works: list[str], *, keeping: bool) -> int:
    results: list[Beside] = []
    with workers(folder) as everyone:
        for work in works:
            print(f"\n{work}")
            for each in compare(work, everyone, rounds=5 if work in GROWING else 15):
                print(_line(each), flush=True)
                results.append(each)
    if keeping:
        keep("peers", [each._asdict() for each in results])
    missed = [each for each in results if (goal := _goal(each)) and each.ratio > goal.at_most]
    print(f"\n{len(missed)} goals missed")
    for each in missed:
        print(f"{each.work:20}{_line(each)}")
    return 1 if missed else 0


def _goal(beside: Beside) -> Goal | None:
    return next((goal for goal in GOALS["peers"] if (goal.case, goal.against) == (beside.work, beside.peer)), None)


def _line(beside: Beside) -> str:
    goal = _goal(beside)
    held = f"at most {goal.at_most:g}: {'met' if beside.ratio <= goal.at_most else 'MISSED'}" if goal else ""
    shown = f"  {beside.peer:26}{beside.microseconds:12.2f} µs   Meridian takes {beside.ratio:7.3g} × {held:24}"
    return f"{shown} {'* ' + beside.undone if beside.undone else ''}".rstrip()


if __name__ == "__main__":
    sys.exit(main())
