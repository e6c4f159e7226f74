"""Times Meridian beside its floors, and says which goals are met: `python -m bench --help`. Exits 1 where one is missed."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from importlib import import_module

from bench.judging import Result, judged
from bench.showing import keep

BENCHMARKS = ("reading", "growth", "hostile", "importing")
"""The modules that time something: each has `cases(short)`, and says in the first line of its docstring what it times."""


def main() -> int:
    words = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    words.add_argument("--short", action="store_true", help="fewer rounds and smaller inputs: well under 90 seconds, for CI")
    words.add_argument("--only", metavar="NAMES", default=",".join(BENCHMARKS), help="which benchmarks, by comma: %(default)s")
    words.add_argument("--keep", action="store_true", help="keep the figures, for docs/performance.md to show")
    said = words.parse_args()
    started = time.monotonic()
    results: list[tuple[str, Result]] = []
    for name in said.only.split(","):
        print(f"\n{_first_line(name)}\nagain: python -m bench --only {name}\n", flush=True)
        for result in measured(name, short=said.short):
            print(line(result), flush=True)
            results.append((name, result))
    held = [result for _, result in results if result.goal]
    missed = [result for result in held if result.missed]
    print(f"\n{len(held) - len(missed)} of {len(held)} goals met, in {time.monotonic() - started:.0f} seconds")
    for each in missed:
        print("missed:" + line(each))
    if said.keep:
        keep("alone", [{"benchmark": name, **asdict(result)} for name, result in results])
    return 1 if missed else 0


def measured(name: str, *, short: bool) -> Iterator[Result]:
    """Each case of a benchmark, measured before the next is asked for."""
    yield from map(judged, import_module(f"bench.{name}").cases(short))


def line(result: Result) -> str:
    figure = f"{result.figure:8.3g} {result.unit} {result.against}"
    goal = f"at most {result.goal.at_most:g}" if result.goal else ""
    return f"  {result.case:44}{figure:36}{goal:16}{result.verdict}".rstrip()


def _first_line(name: str) -> str:
    return (import_module(f"bench.{name}").__doc__ or name).splitlines()[0]


if __name__ == "__main__":
    sys.exit(main())
