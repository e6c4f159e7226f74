"""The figures kept, and the page and the drawing that show them: `python -m bench.showing` writes both anew.

`python -m bench --keep` and `python -m bench.peers --run DIR --keep` keep what they measured, in `bench/figures`.
"""

from __future__ import annotations

import json
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

__all__ = ["keep"]

FIGURES = Path(__file__).with_name("figures")


def keep(name: str, results: list[dict[str, Any]]) -> None:
    """Keep what was measured, with the day and the kind of machine."""
    python = f"{platform.python_implementation()} {platform.python_version()}"
    measured = {"day": f"{datetime.now(UTC):%Y-%m-%d}", "python": python, "machine": platform.machine(), "results": results}
    FIGURES.mkdir(exist_ok=True)
    (FIGURES / f"{name}.json").write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")
