"""A plugin in a folder of its own, and the command run as an operator types it."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

PLUGIN = '''
from dataclasses import dataclass

import meridian
from meridian.commands import ListAccounts

pages = meridian.Pages("Front desk", roles=["operations"])


@dataclass(frozen=True)
class Nothing:
    """Nothing is asked."""


@dataclass(frozen=True)
class Reached:
    """The accounts a caller reaches."""

    accounts: list[str]


@pages.page("/", levels=["read", "write"], params=Nothing, answers=Reached, name="list_reached")
async def list_reached(request: meridian.Request[Nothing]) -> meridian.Response:
    """List the accounts that are reached."""
    print("a plugin prints")
    listed = await request.plugin.send(ListAccounts(), acting_for=request.caller.header)
    return pages.answer(None, Reached([each.id for each in listed.accounts]))
'''

SECONDS = 60


class Command:
    """`meridian …` in a process of its own; what it says on standard output is read line by line."""

    def __init__(self, folder: Path, *arguments: str, cwd: Path | None = None) -> None:
        self.log = folder / f"log-{time.monotonic_ns()}"
        environment = {name: value for name, value in os.environ.items() if name != "MERIDIAN_TOKEN"}
        told = folder / f"out-{time.monotonic_ns()}"
        with self.log.open("wb") as log, told.open("wb") as out:
            self.process = subprocess.Popen(
                [Path(sys.executable).with_name("meridian"), *arguments],
                cwd=cwd or folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=log,
            )

        self.out = told.open(encoding="utf-8")

    def line(self) -> str:
        """The next line of its standard output; empty where it ended before."""
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            ended = self.process.poll() is not None
            line = self.out.readline()
            if line or ended:
                return line
            time.sleep(0.05)
        pytest.fail(f"nothing was said within {SECONDS} seconds: {self.log.read_text()}")

    def told(self) -> dict[str, Any]:
        """Its first line, as JSON."""
        line = self.line()
        assert line, self.log.read_text()
        return json.loads(line)

    def end(self, by: signal.Signals = signal.SIGINT) -> int:
        """End it; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(by)
        code = self.process.wait(SECONDS)
        assert "Traceback" not in self.log.read_text(), self.log.read_text()
        return code


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the command is typed: a folder with a plugin's module in it."""
    (tmp_path / "front_desk.py").write_text(PLUGIN)
    return tmp_path


@pytest.fixture
def meridian(folder: Path) -> Iterator[Any]:
    """`meridian("serve", …)` starts the command in the folder; every one that is started is ended."""
    started: list[Command] = []

    def start(*arguments: str, cwd: Path | None = None) -> Command:
        started.append(Command(folder, *arguments, cwd=cwd))
        return started[-1]

    yield start
    for each in started:
        each.end()
        each.out.close()
