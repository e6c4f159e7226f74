"""Importing Meridian, in a Python started for it: milliseconds over Starlette and Jinja, and over bare Python for the records.

They are milliseconds of the machine that the goals were set on. Which modules each import loads is for the tests to say.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from statistics import median

from bench.timing import Case, milliseconds

__all__ = ["cases"]

_TIMED = "import time; start = time.process_time(); {}; print(time.process_time() - start)"
BENEATH = "import starlette.applications, starlette.responses, starlette.routing, jinja2"


def cases(short: bool) -> Iterator[Case]:
    rounds = 5 if short else 15
    yield Case("import meridian", "Starlette and Jinja", partial(_over, BENEATH, "import meridian", rounds), unit="ms")
    yield Case("import meridian.records", "bare Python", partial(_over, "pass", "import meridian.records", rounds), unit="ms")


def _over(beneath: str, statement: str, rounds: int) -> float:
    """How much longer both take than what is beneath alone, in turns."""
    return milliseconds(median(_seconds(f"{beneath}; {statement}") - _seconds(beneath) for _ in range(rounds)))


def _seconds(statements: str) -> float:
    ran = subprocess.run([sys.executable, "-c", _TIMED.format(statements)], capture_output=True, text=True, check=True)
    return float(ran.stdout)
