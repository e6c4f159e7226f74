"""The standard library, which makes no record: what any reader in Python stands on."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qsl

from bench.corpus import Answer
from bench.records import anew


def from_json(_name: str, body: bytes) -> Answer:
    return json.loads(body), ()


def from_form(_name: str, body: bytes) -> Answer:
    return dict(parse_qsl(body.decode(), keep_blank_values=True)), ()


def declare(name: str) -> object:
    return anew(name)


def dump(_name: str, record: Any) -> str:
    """Here a record is the plain object that says the same."""
    return json.dumps(record, separators=(",", ":"), ensure_ascii=False)
