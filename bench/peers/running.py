"""The peers side by side: an environment for each, a process for each, and the same work in turns."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
import venv
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from bench.work import FLOORS

__all__ = ["PEERS", "Beside", "compare", "make", "workers"]

ROOT = Path(__file__).parents[2]


class About(NamedTuple):
    title: str
    requires: list[str]
    note: str

    @property
    def environment(self) -> str:
        """The folder of its environment: by the first package that is installed there."""
        return self.requires[0].partition("==")[0]


PEERS = {name: About(**each) for name, each in tomllib.loads(Path(__file__).with_name("peers.toml").read_text()).items()}


class Beside(NamedTuple):
    """One peer beside Meridian, at one piece of work."""

    work: str
    peer: str
    """Its title; `Meridian` beside itself, and the name of the floor."""
    microseconds: float
    """Its median: to be compared with others of the same work alone."""
    ratio: float
    """How many times as long Meridian took: the median of the rounds' ratios."""
    undone: str
    """What it left undone, in words."""


class Worker:
    """A peer in a process of its own."""

    def __init__(self, name: str, python: str | Path) -> None:
        environment = dict(os.environ)
        if name in PEERS:
            environment.pop("PYTHONPATH", None)  # it has what was installed for it and no more
        command = [python, "-m", "bench.peers.worker", name]
        self.process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def asked(self, work: str, calls: int = 0) -> Any:
        assert self.process.stdin
        assert self.process.stdout
        print(json.dumps([work, calls]), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())


def make(folder: Path) -> None:
    """Make the peers' environments, each with the versions of `peers.toml`."""
    for about in {each.environment: each for each in PEERS.values()}.values():
        home = folder / about.environment
        venv.create(home, with_pip=True, clear=True)
        subprocess.run([home / "bin" / "python", "-m", "pip", "install", "--quiet", *about.requires], check=True)


@contextmanager
def workers(folder: Path) -> Iterator[Mapping[str, Worker]]:
    """Everyone at work: Meridian and the floor in this environment, the peers each in its own."""
    pythons = {name: folder / about.environment / "bin" / "python" for name, about in PEERS.items()}
    everyone: dict[str, str | Path] = {"ours": sys.executable, "floor": sys.executable, **pythons}
    started = {name: Worker(name, python) for name, python in everyone.items()}
    try:
        yield started
    finally:
        for worker in started.values():
            worker.process.kill()
            worker.process.communicate()


def compare(work: str, everyone: Mapping[str, Worker], rounds: int) -> list[Beside]:
    """Have everyone who does the work do it in turns, the fastest first in what comes of it."""
    asked = {name: answer for name, worker in everyone.items() if (answer := worker.asked(work))}
    names = list(asked)
    samples: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(rounds):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            samples[name].append(everyone[name].asked(work, asked[name]["calls"]))
    titles = {"ours": "Meridian", "floor": FLOORS[work.split()[0]]} | {name: about.title for name, about in PEERS.items()}
    results = []
    for name, taken in samples.items():
        ratio = median(ours / theirs for ours, theirs in zip(samples["ours"], taken, strict=True))
        undone = "" if name == "floor" else asked[name]["undone"]
        results.append(Beside(work, titles[name], 1e6 * median(taken), ratio, undone))
    return sorted(results, key=lambda each: each.microseconds)
