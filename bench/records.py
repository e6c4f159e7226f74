"""The records that everything here reads and writes: standard dataclasses, whose metadata says what a cell may be.

`anew` declares one again. It needs nothing but the standard library, so that a peer's process can use it too.
"""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from pathlib import Path
from types import CodeType, ModuleType

__all__ = ["RECORDS", "L", "Lot", "M", "Position", "S", "anew"]


@dataclass(frozen=True)
class S:
    account: str = field(metadata={"max_length": 40})
    count: int = field(metadata={"min": 0, "max": 1_000_000})
    active: bool
    price: Decimal = field(metadata={"places": 4, "min": "0"})
    day: date


@dataclass(frozen=True)
class Lot:
    quantity: Decimal = field(metadata={"places": 6})
    cost: Decimal | None = None
    acquired: date | None = None


@dataclass(frozen=True)
class M:
    account: str = field(metadata={"max_length": 40})
    reason: str = field(default="", metadata={"max_length": 400})
    lots: list[Lot] = field(default_factory=list)


@dataclass(frozen=True)
class Position:
    settled: Decimal | None = None
    lots: list[Lot] = field(default_factory=list)


@dataclass(frozen=True)
class L:
    account: str = field(metadata={"max_length": 40})
    reason: str = field(default="", metadata={"max_length": 400})
    positions: list[Position] = field(default_factory=list)


RECORDS: dict[str, type] = {"S": S, "M": M, "L": L}
_MADE_OF = {"S": {"S"}, "M": {"Lot", "M"}, "L": {"Lot", "Position", "L"}}


def anew(name: str) -> type:
    """A record's classes, declared once more in a module of their own: nothing that was kept for a class is kept for these."""
    module = ModuleType("bench.records_anew")
    sys.modules[module.__name__] = module
    vars(module).update(dataclass=dataclass, field=field, date=date, Decimal=Decimal)
    exec(_CODE[name], vars(module))
    return vars(module)[name]  # type: ignore[no-any-return]


def _code(name: str) -> CodeType:
    source = ast.parse(Path(__file__).read_text(encoding="utf-8"))
    source.body = [each for each in source.body if isinstance(each, ast.ClassDef) and each.name in _MADE_OF[name]]
    return compile(source, "records declared anew", "exec")


_CODE = {name: _code(name) for name in RECORDS}
