"""open-meridian reads the dataclasses themselves, and its forms by the same paths."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qsl

from bench.corpus import Answer
from bench.records import RECORDS, anew
from meridian import params  # type: ignore[attr-defined]  # the other package of that name


def from_json(name: str, body: bytes) -> Answer:
    try:
        return params.from_json(RECORDS[name], json.loads(body)), ()
    except params.Unread as unread:
        return None, _said(unread.problems)


def from_form(name: str, body: bytes) -> Answer:
    record, problems = params.from_form(RECORDS[name], dict(parse_qsl(body.decode(), keep_blank_values=True)))
    return record, _said(problems)


def schema(name: str) -> dict[str, Any]:
    return params.schema(RECORDS[name])


def declare(name: str) -> object:
    return params.check(anew(name))


def dump(_name: str, record: Any) -> str:
    return json.dumps(params.to_json(record), separators=(",", ":"))


def _said(problems: Any) -> list[tuple[str, str]]:
    return [(problem.path, problem.message) for problem in problems]
