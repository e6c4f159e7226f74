"""An amount and a day as Meridian takes them, for the libraries that let one say how a kind is read."""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal

__all__ = ["amount", "day"]

_AMOUNT = re.compile(r"-?[0-9]+(?:\.[0-9]+)?").fullmatch
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}").fullmatch


def amount(value: object) -> Decimal:
    if not isinstance(value, str) or not _AMOUNT(value):
        raise ValueError("an amount is a text like 1500.25")
    return Decimal(value)


def day(value: object) -> date:
    if not isinstance(value, str) or not _DAY(value):
        raise ValueError("a day is a text like 2026-01-31")
    return date.fromisoformat(value)
