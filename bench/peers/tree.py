"""A form's cells as nested objects: what one writes by hand before a library that reads none."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qsl

__all__ = ["path", "tree"]

_STEP = re.compile(r"\[([0-9]{1,5})\]|([A-Za-z_]\w*)")


def tree(body: bytes, ticked: str = "on") -> dict[str, Any]:
    """Rows in the order of their numbers, texts trimmed, blank cells left out, a ticked box as `ticked`."""
    root: dict[str | int, Any] = {}
    for name, text in parse_qsl(body.decode(), keep_blank_values=True):
        value = text.strip()
        if value:
            *steps, last = [int(number) if number else word for number, word in _STEP.findall(name)]
            holder = root
            for step in steps:
                holder = holder.setdefault(step, {})
            holder[last] = ticked if value == "on" else value
    return _with_lists(root)


def _with_lists(node: Any) -> Any:
    if not isinstance(node, dict):
        return node
    if any(isinstance(step, int) for step in node):
        return [_with_lists(node[n]) for n in sorted(node)]
    return {name: _with_lists(each) for name, each in node.items()}


def path(steps: Any) -> str:
    """The place of a cell, given as names and numbers, as a path."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).removeprefix(".")
