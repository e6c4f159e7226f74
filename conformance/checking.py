"""One check: a program that is run, the exit code it is to end with, and what is wrong with what it printed, if anything."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

__all__ = ["Check", "run"]

SECONDS: Final = 300
"""How long one program may take."""
LINES_TOLD: Final = 60
"""How much of a failed program's output is shown; all of it is in its log."""


def _nothing_wrong(_: str) -> str:
    return ""


@dataclass(frozen=True)
class Check:
    """A program to run. `wrong` reads what it printed and says in words what is not as it should be; empty where all is."""

    name: str
    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    code: int = 0
    wrong: Callable[[str], str] = _nothing_wrong


def run(check: Check, logs: Path) -> bool:
    """Run the check and print its line; whether it passed."""
    log = logs / (re.sub(r"[^A-Za-z0-9.]+", "-", check.name) + ".log")
    begun = time.monotonic()
    with log.with_suffix(".err").open("w") as errors:
        try:
            ended = subprocess.run(
                check.command,
                env={**os.environ, **check.env},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                timeout=SECONDS,
                check=False,
            )
            code, printed = str(ended.returncode), ended.stdout
        except subprocess.TimeoutExpired as late:
            code, printed = f"none in {SECONDS} s", str(late.stdout or "")
    log.write_text(printed)
    wrong = f"it was to exit with {check.code}" if code != str(check.code) else check.wrong(printed)
    print(f"{'FAIL' if wrong else 'pass'}  exit {code}  {time.monotonic() - begun:5.1f} s  {check.name}", flush=True)
    if wrong:
        told = [*printed.splitlines(), *log.with_suffix(".err").read_text().splitlines()]
        print(f"      {wrong}\n" + "\n".join(f"      | {line}" for line in told[-LINES_TOLD:]), flush=True)
    return not wrong
