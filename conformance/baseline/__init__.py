"""What of the conformance suite is known not to pass, a file for each revision. Every entry says why, and none is stale."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["path_of", "wrong_with"]

_ENTRY = re.compile(r"  - ([a-z0-9-]+:[A-Za-z0-9$-]+)  # (\w.*\w.*)")
_SEEN = re.compile(r"^\s*~ (\S+)$", re.MULTILINE)


def path_of(revision: str) -> Path:
    """The baseline of a revision."""
    return Path(__file__).with_name(f"{revision}.yml")


def wrong_with(revision: str, printed: str) -> str:
    """What is wrong with the baseline of `revision`, by what the suite printed of it; empty where nothing is.

    The suite lets be an entry whose scenario or check it never came to, a misspelt one too; here that is stale.
    """
    lines = path_of(revision).read_text(encoding="utf-8").splitlines()
    entries = {line: _ENTRY.fullmatch(line) for line in lines if line.strip().startswith("-")}
    unsaid = [line.strip() for line, entry in entries.items() if entry is None]
    if unsaid:
        return f"an entry is one check and why, like '- scenario:check  # no prompts are offered': {'; '.join(unsaid)}"
    seen = set(_SEEN.findall(printed))
    stale = [entry[1] for entry in entries.values() if entry is not None and entry[1] not in seen]
    return f"stale in the baseline, as the suite did not see it fail: {', '.join(stale)}" if stale else ""
