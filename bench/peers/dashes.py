"""A form under the names that form libraries give their cells: `lots-0-cost` for `lots[0].cost`."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, urlencode

__all__ = ["counted", "dashed"]


def dashed(body: bytes) -> list[tuple[str, str]]:
    pairs = parse_qsl(body.decode(), keep_blank_values=True)
    return [(name.replace("[", "-").replace("].", "-"), text) for name, text in pairs]


def counted(body: bytes) -> bytes:
    """With the number of rows of each list, which a Django formset asks for beside them."""
    pairs = dashed(body)
    rows: dict[str, int] = {}
    for name, _ in pairs:
        for number in re.finditer(r"-(\d+)-", name):
            at = name[: number.start()]
            rows[at] = max(rows.get(at, 0), int(number[1]) + 1)
    totals = [(f"{at}-TOTAL_FORMS", str(count)) for at, count in rows.items()]
    return urlencode([*pairs, *totals, *((f"{at}-INITIAL_FORMS", "0") for at in rows)]).encode()
