"""Times Meridian beside its floors, and says which goals are met: `python -m bench --help`. Exits 1 where one is missed that is
not missed already."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from importlib import import_module

from bench.judging import Result, judged
from bench.showing import keep

__all__ = ["concluded", "main"]

BENCHMARKS = ("reading", "growth", "hostile", "importing", "pages", "surface")
"""The modules that time something: each has `cases(short)`, and says in the first line of its docstring what it times."""


def main() -> int:
    words = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    words.add_argument("--short", action="store_true", help="fewer rounds and smaller inputs: well under 90 seconds, for CI")
    words.add_argument("--only", nargs="+", choices=BENCHMARKS, default=BENCHMARKS, help="which benchmarks; all, if left out")
    words.add_argument("--keep", action="store_true", help="keep the figures, for docs/performance.md to show")
    said = words.parse_args()
    started = time.monotonic()
    results: list[Result] = []
    for name in said.only:
        measured = list(_run(name, short=said.short))
        results += measured
        if said.keep:
            keep(name, [asdict(result) for result in measured])
    print(f"\n{time.monotonic() - started:.0f} seconds; ", end="")
    return concluded(results)


def _run(name: str, *, short: bool) -> Iterator[Result]:
    """A benchmark's figures, printed as they come: each case is measured before the next is asked for."""
    benchmark = import_module(f"bench.{name}")
    print(f"\n{(benchmark.__doc__ or name).splitlines()[0]}\nagain: python -m bench --only {name}\n", flush=True)
    for result in map(judged, benchmark.cases(short)):
        print(_line(result), flush=True)
        yield result


def concluded(results: list[Result]) -> int:
    """Say how many goals were met and which were missed; 1 where the build is to fail for one."""
    held = [result for result in results if result.goal]
    missed = [result for result in held if result.missed]
    print(f"{len(held) - len(missed)} of {len(held)} goals met")
    for each in missed:
        print(_line(each))
    return 1 if any(each.fails for each in missed) else 0


def _line(result: Result) -> str:
    figure = f"{result.figure:8.3g} {result.unit} {result.against}"
    goal = f"at most {result.goal.at_most:g}" if result.goal else ""
    return f"  {result.case:46}{figure:36}{goal:16}{result.verdict}".rstrip()


if __name__ == "__main__":
    sys.exit(main())
