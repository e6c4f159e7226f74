"""What is read: bodies made, never listed, and the record or the wrong cells that each must come to.

The same name gives the same bytes in every process. Standard library alone.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from datetime import date
from decimal import Decimal
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlencode

from bench.records import L, Lot, M, Position, S

__all__ = ["Answer", "Input", "Source", "body", "fault", "filled", "input_of", "plain"]

Source = str
"""`json` or `form`."""
Answer = tuple[Any, Sequence[tuple[str, str]]]
"""What a reader makes of an input: the record, and the path of each cell that did not read with what is said about it."""
Pairs = list[tuple[str, str]]
T = TypeVar("T")

NOT_DECIMALS = ("1,000.00", "12.5.1", "1e5", "NaN", "--1", 12.5)
NOT_DAYS = ("2024-02-30", "05/11/2024", "20241105", "soon", 20241105)
"""What is no amount and no day. In JSON a number is neither; in a form it is text like the rest, and one of these no amount."""


class Input(NamedTuple):
    body: bytes
    record: object
    """What it reads as, where nothing is wrong."""
    wrong: frozenset[str]
    """The paths of the cells that do not read."""


def input_of(source: Source, name: str, variant: str = "valid", rows: int | None = None) -> Input:
    """What is sent of record `name`: `valid`; `invalid`, one exact cell in ten wrong; or, for M as a form, with `gaps`."""
    record = filled(name, rows)
    if variant == "gaps":
        assert isinstance(record, M)
        return Input(urlencode(_careless(record)).encode(), record, frozenset())
    said = plain(record)
    wrong = frozenset(_spoil(said, source)) if variant == "invalid" else frozenset()
    return Input(body(source, said), record, wrong)


def body(source: Source, said: dict[str, Any]) -> bytes:
    """A JSON body as an agent sends it, or a form's as a browser does."""
    if source == "form":
        return urlencode(list(_pairs(said, ""))).encode()
    return json.dumps(said, separators=(",", ":"), ensure_ascii=False).encode()


def filled(name: str, rows: int | None = None) -> S | M | L:
    """A record with every kind of value: of M `rows` lots, of L `rows` positions with five lots each."""
    rng = random.Random(f"{name} {rows}")
    reason = "Corrected after the broker's statement of 5 November"
    if name == "S":
        return S("ACC-0042", 1250, True, Decimal("1043.2750"), date(2024, 11, 5))
    if name == "M":
        return M("ACC-0042", reason, _lots(rng, 8 if rows is None else rows))
    positions = [Position(_perhaps(rng, _amount(rng)), _lots(rng, 5)) for _ in range(200 if rows is None else rows)]
    return L("ACC-0042", reason, positions)


def _lots(rng: random.Random, count: int) -> list[Lot]:
    return [Lot(_amount(rng), _perhaps(rng, _amount(rng)), _perhaps(rng, _day(rng))) for _ in range(count)]


def _amount(rng: random.Random) -> Decimal:
    return Decimal(f"{rng.randrange(1, 10_000_000)}.{rng.randrange(10_000):04}")


def _day(rng: random.Random) -> date:
    return date(rng.randrange(1990, 2026), rng.randrange(1, 13), rng.randrange(1, 29))


def _perhaps(rng: random.Random, value: T) -> T | None:
    return None if rng.randrange(8) == 0 else value


def plain(value: Any) -> Any:
    """A record as the JSON that says it."""
    if is_dataclass(value):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, list):
        return [plain(each) for each in value]
    return str(value) if isinstance(value, Decimal | date) else value


def _pairs(said: Any, at: str) -> Iterator[tuple[str, str]]:
    """What a browser sends for it, cell by cell: a ticked box as `on`, an empty cell as empty."""
    if isinstance(said, dict):
        for name, each in said.items():
            yield from _pairs(each, f"{at}.{name}" if at else name)
    elif isinstance(said, list):
        for n, each in enumerate(said):
            yield from _pairs(each, f"{at}[{n}]")
    elif said is not False:
        yield at, "on" if said is True else "" if said is None else str(said)


def _careless(record: M) -> Pairs:
    """A form with its rows out of order, numbers left out, blank rows between and spaces around what was typed."""
    said = plain(record)
    numbers = [3, 4, 5, 9, 12, 17, 18, 200]
    rows = [(numbers[n], {name: f" {text or ''} " for name, text in said["lots"][n].items()}) for n in (3, 0, 7, 5, 2, 6, 1, 4)]
    blank = dict.fromkeys(("quantity", "cost", "acquired"), "  ")
    rows += [(1, blank), (6, blank), (900, blank)]
    cells = [(f"lots[{n}].{name}", text) for n, row in rows for name, text in row.items()]
    return [("account", f"  {record.account} "), ("reason", f"\t{record.reason}\r\n"), *cells]


def _spoil(said: Any, source: Source) -> Iterator[str]:
    """Make the first of every ten amounts and days wrong, each in another way, and say where."""
    for n, (at, holder, name) in enumerate(list(_exact(said, ""))):
        if n % 10 == 0:
            ways = NOT_DAYS if name in ("day", "acquired") else NOT_DECIMALS
            way = ways[n // 10 % len(ways)]
            holder[name] = "1.2.3" if source == "form" and isinstance(way, float) else way
            yield at


def _exact(said: Any, at: str) -> Iterator[tuple[str, dict[str, Any], str]]:
    if isinstance(said, list):
        for n, each in enumerate(said):
            yield from _exact(each, f"{at}[{n}]")
    elif isinstance(said, dict):
        for name, each in said.items():
            here = f"{at}.{name}" if at else name
            if name in ("price", "day", "quantity", "cost", "acquired", "settled"):
                yield here, said, name
            yield from _exact(each, here)


def fault(given: Input, answer: Answer) -> str:
    """What a reader left undone; nothing where it did all the work."""
    record, problems = answer
    named = {path for path, _ in problems}
    if given.wrong - named:
        return f"it leaves out {len(given.wrong - named)} of {len(given.wrong)} wrong cells"
    if named - given.wrong:
        return f"it names {len(named - given.wrong)} of the cells that are right"
    return "" if given.wrong or _same(given.record, record) else "it makes another record"


def _same(expected: Any, value: Any) -> bool:
    """Whether a record of whatever class holds exactly what the dataclass `expected` does."""
    if is_dataclass(expected):
        return all(_same(getattr(expected, each.name), getattr(value, each.name, None)) for each in fields(expected))
    if isinstance(expected, list):
        return len(expected) == len(value) and all(map(_same, expected, value))
    return type(expected) is type(value) and str(expected) == str(value)
