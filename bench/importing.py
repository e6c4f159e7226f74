"""Importing Meridian, in a Python started for it: milliseconds over Starlette and Jinja, and over bare Python for the records.

They are milliseconds of the machine that the goals were set on. Which modules each import loads is for the tests to say.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from statistics import median
from tempfile import TemporaryDirectory

from bench.timing import Case, milliseconds

__all__ = ["cases"]

_TIMED = "import time; start = time.process_time(); {}; print(time.process_time() - start)"
BENEATH = "import starlette.applications, starlette.responses, starlette.routing, jinja2"


def cases(short: bool) -> Iterator[Case]:
    rounds = 5 if short else 15
    with TemporaryDirectory() as folder:
        compiled = {**os.environ, "PYTHONPYCACHEPREFIX": folder, "PYTHONDONTWRITEBYTECODE": ""}
        for name, against, beneath in (
            ("import meridian", "Starlette and Jinja", BENEATH),
            ("import meridian.records", "bare Python", "pass"),
        ):
            _seconds(f"{beneath}; {name}", compiled)  # from now on everything is compiled, as it is where it was installed
            yield Case(name, against, partial(_over, beneath, name, rounds, compiled), unit="ms")


def _over(beneath: str, statement: str, rounds: int, environment: Mapping[str, str]) -> float:
    """How much longer both take than what is beneath alone, in turns."""
    both = f"{beneath}; {statement}"
    return milliseconds(median(_seconds(both, environment) - _seconds(beneath, environment) for _ in range(rounds)))


def _seconds(statements: str, environment: Mapping[str, str]) -> float:
    command = [sys.executable, "-c", _TIMED.format(statements)]
    return float(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
