"""What every test of this repository stands on: how long Hypothesis looks, and a deployment run as its operator runs it.

`HYPOTHESIS_PROFILE` chooses: `quick` while writing, `ci` (the default: enough to find what breaks, the same examples at each
run), `thorough` before a release.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pytest
from hypothesis import HealthCheck, settings

_SLOW_MACHINES = [HealthCheck.too_slow]

settings.register_profile("quick", max_examples=10, deadline=None, suppress_health_check=_SLOW_MACHINES)
settings.register_profile("ci", max_examples=60, deadline=None, derandomize=True, suppress_health_check=_SLOW_MACHINES)
settings.register_profile("thorough", max_examples=1000, deadline=None, suppress_health_check=_SLOW_MACHINES)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

SECONDS_TO_START = 60
SECONDS_TO_END = 20


@dataclass
class Running:
    """A `meridian serve` that runs: what its first line of JSON told, the process to end, its log and its data."""

    told: dict[str, Any]
    process: subprocess.Popen[bytes]
    log: Path
    data: Path

    @property
    def url(self) -> str:
        return self.told["url"].rstrip("/")

    @property
    def mcp_url(self) -> str:
        return self.told["mcp_url"]

    @property
    def people(self) -> dict[str, dict[str, Any]]:
        """Everyone the demo made, by subject."""
        return {person["subject"]: person for person in self.told["people"]}

    def end(self) -> None:
        """Press Ctrl-C, and see that it ended as it should. Ending it twice is ending it once."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            code = self.process.wait(SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            pytest.fail(f"meridian serve did not end within {SECONDS_TO_END} seconds of Ctrl-C:\n{self.log.read_text()}")
        assert (code, "Traceback" in self.log.read_text()) == (0, False), self.log.read_text()


class Serve(Protocol):
    """Start `meridian serve TARGET… --demo --json`; the same `data` goes on where the last one stopped."""

    def __call__(self, *targets: str, data: Path | None = None, options: tuple[str, ...] = ()) -> Running: ...


def first_line(told: Path, process: subprocess.Popen[bytes], log: Path) -> str:
    """The first whole line written to `told`. Fails with the log where the process ends, or says nothing, before that."""
    until = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < until:
        line, end, _ = told.read_text(encoding="utf-8").partition("\n")
        if end:
            return line
        if process.poll() is not None:
            pytest.fail(f"meridian serve ended with {process.returncode} before it served:\n{log.read_text()}")
        time.sleep(0.05)
    process.kill()
    process.wait()
    pytest.fail(f"meridian serve said nothing within {SECONDS_TO_START} seconds:\n{log.read_text()}")


@contextmanager
def _serving(folder: Path) -> Iterator[Serve]:
    """A function that starts a deployment in a process of its own; all it started are ended with Ctrl-C at the end."""
    started: list[Running] = []

    def serve(*targets: str, data: Path | None = None, options: tuple[str, ...] = ()) -> Running:
        told, log = folder / f"serve-{len(started)}.out", folder / f"serve-{len(started)}.log"
        data = data or folder / "data"
        command = [Path(sys.executable).with_name("meridian"), "serve", *targets, "--demo", "--json"]
        command += ["--data", data, "--port", "0", *options]
        with told.open("wb") as out, log.open("wb") as errors:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=errors, cwd=folder)
        running = Running(json.loads(first_line(told, process, log)), process, log, data)
        started.append(running)
        return running

    yield serve
    for running in started:
        running.end()


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """A function that starts a deployment in a process of its own, for one test."""
    with _serving(tmp_path) as serve:
        yield serve


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The opening-balance example, served with its demo's people to all tests of a module."""
    with _serving(tmp_path_factory.mktemp("served")) as serve:
        yield serve("operations=opening_balance:pages")


@pytest.fixture(scope="session")
def within() -> Callable[..., Any]:
    """`within(main, *args)` runs an async function to its end on a thread of its own, so beside a browser's loop too."""

    def within(main: Callable[..., Any], *args: Any) -> Any:
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(lambda: asyncio.run(main(*args))).result()

    return within
