"""A megabyte sent to hurt: the milliseconds until it is read or refused, and the memory that takes.

Each figure is for a megabyte sent: milliseconds of the machine that the goals were set on, and the most megabytes that Python's
allocators held over the body itself. What the small hostile inputs come to is for the tests to say.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal

from bench.corpus import Source
from bench.peers import ours
from bench.timing import Case, milliseconds, once

__all__ = ["cases"]

FIELDS, ROWS = 49_000, 10_000
"""As many as are read; more are refused at once."""
MEGABYTE = 1_000_000


@dataclass(frozen=True)
class Hostile:
    what: str
    source: Source
    record: str
    body: bytes
    comes_to: Literal["read", "refused"] = "refused"


def cases(short: bool) -> Iterator[Case]:
    for sent in inputs():
        read = partial(ours.from_form if sent.source == "form" else ours.from_json, sent.record, sent.body)
        _, problems = read()
        if bool(problems) != (sent.comes_to == "refused"):
            raise AssertionError(f"{sent.source} {sent.what}: it is not {sent.comes_to}; {list(problems[:1])}")
        megabytes = len(sent.body) / MEGABYTE
        name = f"hostile {sent.source}, {sent.what}"
        yield Case(name, "a megabyte", partial(_milliseconds, read, megabytes), unit="ms")
        yield Case(f"{name}, memory", "a megabyte", partial(_memory, read, megabytes), unit="MB")


def inputs() -> Iterator[Hostile]:
    form, json = partial(Hostile, source="form"), partial(Hostile, source="json")
    rows = "&".join(f"lots[{n}].quantity=x&lots[{n}].cost=1e5&lots[{n}].acquired=soon" for n in range(ROWS))
    yield form("cells wrong", record="M", body=f"account=A&{rows}".encode())
    yield form("rows past their number", record="M", body=_joined("&", "lots[{}].quantity=1", FIELDS))
    yield form("fields past their number", record="M", body=b"account=A" + b"&" * MEGABYTE)
    yield form("names unknown", record="M", body=b"account=A&" + _joined("&", "unknown{}=12345", FIELDS), comes_to="read")
    yield form("cells unknown in a row", record="M", body=b"account=A&" + _joined("&", "lots[0].x{}=1", FIELDS))
    yield form("one name many times", record="M", body=_joined("&", "account=account-{}", FIELDS))
    yield form("a name of many steps", record="M", body=b"account=A&lots" + b"[0]." * (MEGABYTE // 4) + b"=1")
    yield form("rows in rows", record="L", body=b"account=A&positions[0]" + b".lots[0]" * (MEGABYTE // 8) + b"=1")
    yield form("percent signs", record="M", body=b"account=" + b"%" * MEGABYTE)
    yield form("escapes not UTF-8", record="M", body=b"account=" + b"%FF" * (MEGABYTE // 3))
    yield form("digits of a Decimal", record="S", body=b"account=A&count=1&day=2024-11-05&price=" + b"9" * MEGABYTE)
    yield form("digits of an int", record="S", body=b"account=A&price=1&day=2024-11-05&count=" + b"9" * MEGABYTE)
    rows = ",".join(['{"quantity":0,"cost":"1e5","acquired":"soon"}'] * ROWS)
    yield json("cells wrong", record="M", body=f'{{"account":"A","lots":[{rows}]}}'.encode())
    yield json("rows wrong", record="M", body=b'{"account":"A","lots":[' + b",".join([b'"no object"'] * ROWS) + b"]}")
    yield json("rows past their number", record="M", body=b'{"account":"A","lots":[' + b"0," * (MEGABYTE // 2) + b"0]}")
    yield json("names unknown", record="M", body=b'{"account":"A",' + _joined(",", '"unknown{}":1', 60_000) + b"}")
    yield json("one name many times", record="M", body=b"{" + _joined(",", '"account":"{}"', 50_000) + b"}")
    yield json("colons in a text", record="M", body=b'{"account":"A","reason":"' + b":" * MEGABYTE + b'"}')
    yield json("lists in lists", record="M", body=b"[" * MEGABYTE)
    yield json("objects in objects", record="M", body=b'{"account":' * (MEGABYTE // 11))
    yield json("halves of characters", record="M", body=b'{"account":"' + b"\\ud800" * (MEGABYTE // 6) + b'"}')
    yield json("digits of a Decimal", record="S", body=_json_s(price=f'"{"9" * MEGABYTE}"'))
    yield json("digits of an int", record="S", body=_json_s(count="9" * MEGABYTE))
    yield json("a long text for a day", record="S", body=_json_s(day=f'"{"x" * MEGABYTE}"'))


def _joined(between: str, piece: str, count: int) -> bytes:
    return between.join(map(piece.format, range(count))).encode()


def _json_s(count: str = "1", price: str = '"1.5"', day: str = '"2024-11-05"') -> bytes:
    return f'{{"account":"A","count":{count},"active":true,"price":{price},"day":{day}}}'.encode()


def _milliseconds(read: Callable[[], object], megabytes: float) -> float:
    return milliseconds(min(once(read, 1) for _ in range(3))) / megabytes


def _memory(read: Callable[[], object], megabytes: float) -> float:
    tracemalloc.start()
    read()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most / MEGABYTE / megabytes
