"""The MCP surface beside a tool that does nothing, the list of tools beside the SDK's own, a recorded entry, and memory.

`/mcp` of a deployment on SQLite and the official SDK's low-level server with the same tools are each one process under uvicorn,
with the same settings, on one core; the load comes from another, in turns, over sockets that stay open. A call checks an
opening balance, whose answer asks the book; the other does nothing. The deployment is made anew: the opening balance as
`operations`, and two plugins of small tools, so that each client is listed 200.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from bench.timing import Case

__all__ = ["cases"]

TOOLS = 200
CHECK = "operations__check_opening_draft"
CONFIRM = "operations__confirm_opening_balance"
REVISION = "2026-07-28"
NOTHING, RAW, BARE = "a tool that does nothing", "the SDK with raw dicts", "a bare transaction"

Params = Callable[[int], dict[str, Any]]
"""The parameters of the request of that number."""


def cases(short: bool) -> Iterator[Case]:
    """Calls and lists for 1, 50 and 300 clients in turn, entries, what a call's parts take of it, and memory."""
    rounds, calls = (7, 2_000) if short else (15, 10_000)
    for clients in (50,) if short else (1, 50, 300):
        with TemporaryDirectory() as folder, _started("ours", folder, str(clients)) as ours:
            yield Case(f"memory, idle, {clients} clients", "nothing", ours.resident, "MB over")
            listed = Path(folder, "listed.json")
            listed.write_text(json.dumps(_list_of(ours)), encoding="utf-8")
            with _started("floor", str(listed)) as floor:
                for at_once in (1, 16):
                    pair = _Pair(ours, floor, "tools/call", CHECK, _check, at_once, rounds, 64 if short else 96)
                    yield Case(f"call, {at_once} at once, {clients} clients", NOTHING, pair.times)
                    yield Case(f"call p99, {at_once} at once, {clients} clients", NOTHING, pair.times_p99)
                lists = _Pair(ours, floor, "tools/list", "", lambda _: {}, 1, rounds, 15)
                yield Case(f"list of {TOOLS} tools, {clients} clients", RAW, lists.times)
            if clients == (50 if short else 300):
                yield Case("confirm, its entry durable", BARE, partial(_confirming, ours, Path(folder), 60 if short else 150))
                yield Case(f"memory after {calls:,} more calls", "what it was", partial(_growth, ours, calls), "MB over")
    with TemporaryDirectory() as folder:
        for part, share in asyncio.run(_shares(folder, 300 if short else 1_000)).items():
            yield Case(part, "a whole call", partial(float, share), "of it")


# The load ------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Server:
    """A server that was started, and the tokens of those who ask it."""

    process: subprocess.Popen[str]
    port: int
    tokens: Sequence[str]

    def resident(self) -> float:
        """How many megabytes of memory it holds."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return int(status.split("VmRSS:")[1].split()[0]) / 1024


@contextmanager
def _started(*command: str) -> Iterator[_Server]:
    """A server of this module on the last core, for as long as the block lasts."""
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.surface", *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            told = json.loads(process.stdout.readline())
            yield _Server(process, told["port"], told["tokens"])
        finally:
            process.stdin.close()
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()


@dataclass
class _Pair:
    """Ours and the floor, under the same load in turns."""

    ours: _Server
    floor: _Server
    method: str
    name: str
    params: Params
    at_once: int
    rounds: int
    requests: int
    p99s: list[float] = field(default_factory=list)

    def times(self) -> float:
        """How many times as long ours takes for a request; and, kept aside, for the slowest in a hundred."""
        ratios = []
        every: dict[int, list[float]] = {self.ours.port: [], self.floor.port: []}
        for turn in range(-1, self.rounds):
            took = {}
            for server in (self.ours, self.floor) if turn % 2 else (self.floor, self.ours):
                took[server.port], each = _load(server, self.method, self.name, self.params, self.requests, self.at_once)
                every[server.port] += each if turn >= 0 else []
            ratios += [took[self.ours.port] / took[self.floor.port]] if turn >= 0 else []  # the first round warms both up
        self.p99s.append(_p99(every[self.ours.port]) / _p99(every[self.floor.port]))
        return median(ratios)

    def times_p99(self) -> float:
        """How many times as long ours takes for the slowest in a hundred."""
        if not self.p99s:
            self.times()
        return self.p99s.pop()


def _p99(times: Sequence[float]) -> float:
    return sorted(times)[int(len(times) * 0.99)]


def _load(server: _Server, method: str, name: str, params: Params, requests: int, at_once: int) -> tuple[float, list[float]]:
    """The seconds that so many requests took, `at_once` of them at a time and each for the next client, and each by itself.

    Raises RuntimeError where one is not answered well.
    """
    sent = [_request(server, method, name, params(number), number) for number in range(requests)]
    times: list[float] = []

    async def ask(share: Sequence[bytes]) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1 << 24)
        for request in share:
            before = time.perf_counter()
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            body = await reader.readexactly(int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0]))
            times.append(time.perf_counter() - before)
            if not head.startswith(b"HTTP/1.1 200") or b'"isError":true' in body or b'"result"' not in body[:100]:
                raise RuntimeError(f"{method} {name} was answered {head[:40]!r} {body[:400]!r}")
        writer.close()
        await writer.wait_closed()

    async def all_of_them() -> float:
        before = time.perf_counter()
        await asyncio.gather(*(ask(sent[first::at_once]) for first in range(at_once)))
        return time.perf_counter() - before

    return asyncio.run(all_of_them()), times


def _request(server: _Server, method: str, name: str, params: dict[str, Any], number: int) -> bytes:
    meta = {
        "io.modelcontextprotocol/protocolVersion": REVISION,
        "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    said = {"jsonrpc": "2.0", "id": 1_000_000 + number, "method": method, "params": {**params, "_meta": meta}}
    body = json.dumps(said).encode()
    head = [
        "POST /mcp HTTP/1.1",
        f"host: 127.0.0.1:{server.port}",
        f"authorization: Bearer {server.tokens[number % len(server.tokens)]}",
        "content-type: application/json",
        "accept: application/json, text/event-stream",
        f"mcp-protocol-version: {REVISION}",
        f"mcp-method: {method}",
        *([f"mcp-name: {name}"] if name else []),
        f"content-length: {len(body)}",
    ]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


def _draft(account: str, cost: int) -> dict[str, Any]:
    """An opening balance of four positions of two lots, as an agent sends one."""
    return {
        "account": account,
        "as_of": "2024-12-31",
        "reason": "Agreed with the custodian's statement of the year's end.",
        "positions": [
            {
                "instrument": {"identifier": f"99999{number}AA1", "scheme": "CUSIP", "name": f"Sample bond fund {number}"},
                "lots": [
                    {"quantity": "120.5", "cost": f"{cost}.00", "acquired": "2020-02-29"},
                    {"quantity": "30.25", "cost": "310.07"},
                ],
            }
            for number in range(4)
        ],
    }


def _check(_: int) -> dict[str, Any]:
    return {"name": CHECK, "arguments": _draft("A-1", 1205)}


def _confirm(number: int) -> dict[str, Any]:
    return {"name": CONFIRM, "arguments": _draft("A-2", time.time_ns() % 10**9 * 1_000 + number)}


def _list_of(server: _Server) -> Any:
    """The tools that the first client is listed."""

    async def ask() -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1 << 24)
        writer.write(_request(server, "tools/list", "", {}, 0))
        head = await reader.readuntil(b"\r\n\r\n")
        body = await reader.readexactly(int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0]))
        writer.close()
        await writer.wait_closed()
        return body

    tools = json.loads(asyncio.run(ask()))["result"]["tools"]
    assert len(tools) == TOOLS
    return tools


# What is written, and held -------------------------------------------------------------------------------------------------


def _confirming(server: _Server, folder: Path, entries: int) -> float:
    """How many times as long an entry takes as its rows do: the call, the entry and the call's outcome in one transaction."""
    ratios = []
    for _ in range(3):
        took, _each = _load(server, "tools/call", CONFIRM, _confirm, entries, 1)
        with closing(sqlite3.connect(folder / f"bare-{time.monotonic_ns()}.db", isolation_level=None)) as bare:
            for pragma in ("journal_mode = WAL", "synchronous = FULL"):
                bare.execute(f"PRAGMA {pragma}")
            bare.execute("CREATE TABLE calls (id TEXT PRIMARY KEY, what TEXT, closed TEXT)")
            bare.execute("CREATE TABLE entries (number INTEGER PRIMARY KEY, account TEXT, positions TEXT, call TEXT)")
            positions = json.dumps(_draft("A-2", 1205)["positions"])
            before = time.perf_counter()
            for number in range(entries):
                bare.execute("BEGIN IMMEDIATE")
                bare.execute("INSERT INTO calls VALUES (?, ?, NULL)", (f"C-{number}", "operations " * 10))
                bare.execute("INSERT INTO entries VALUES (?, 'A-2', ?, ?)", (number, positions, f"C-{number}"))
                bare.execute("UPDATE calls SET closed = 'made' WHERE id = ?", (f"C-{number}",))
                bare.execute("COMMIT")
            ratios.append(took / (time.perf_counter() - before))
    return median(ratios)


def _growth(server: _Server, calls: int) -> float:
    """How many megabytes more it holds after so many calls, once it has made a tenth of them."""
    _load(server, "tools/call", CHECK, _check, calls // 10, 16)
    before = server.resident()
    for _ in range(10):
        _load(server, "tools/call", CHECK, _check, calls // 10, 16)
    return server.resident() - before


async def _shares(folder: str, calls: int) -> dict[str, float]:
    """What each part of a call takes of a whole one, in process: none of them is left out, or put off past the answer."""
    from meridian.callers import Caller
    from meridian.deployment.calls import CallLimits, Opening, StoredCalls
    from meridian.deployment.fingerprints import new_id
    from meridian.deployment.standing import Presented, Standing

    deployment = _deployment(folder)
    (token,) = _lend(deployment, 1)
    presented = Presented(token, "http://127.0.0.1/mcp")
    store, clock = deployment.store, partial(datetime.now, UTC)
    async with deployment.running():
        every = deployment.gateway.hosted
        kept, hosted = Standing(store, every, clock), every["operations"]
        tool = next(each for each in hosted.pages.tools if CHECK.endswith(each.name))
        lent = await kept.of(presented)
        assert lent is not None
        level, carried = (await kept.reach(lent, hosted)).opening(tool)
        assert level is not None
        caller = Caller(lent.person.subject, lent.person.display_name, level, carried, delegation_id=lent.delegation.id)
        recorded, opened = StoredCalls(store, CallLimits(10_000, 1_000_000)), list[str]()

        async def anew() -> None:
            standing = Standing(store, every, clock)
            found = await standing.of(presented)
            assert found is not None
            (await standing.reach(found, hosted)).opening(tool)

        async def looked_up() -> None:
            found = await kept.of(presented)
            assert found is not None
            (await kept.reach(found, hosted)).opening(tool)

        async def opening() -> None:
            opened.append(new_id("C"))
            lasts = timedelta(minutes=1)
            said: dict[str, Any] = {"instance": "operations", "tool": CHECK, "revision": lent.revision}
            await recorded.open(Opening(id=opened[-1], caller=caller, acts=False, lasts=lasts, now=clock(), **said))

        whole = await _seconds(lambda: deployment.surface.call(presented, CHECK, _draft("A-1", 1205)), calls)
        parts = {
            "its token, and what it reaches, as kept": looked_up,
            "the same, worked out anew after a change": anew,
            "its record, before the plugin is asked": opening,
            "its outcome, before the answer": lambda: recorded.close(opened.pop(), now=clock(), outcome="unchanged"),
        }
        return {part: await _seconds(work, calls) / whole for part, work in parts.items()}


async def _seconds(work: Callable[[], Awaitable[object]], calls: int) -> float:
    """The processor's time for one of them, at its best of five."""
    best = float("inf")
    for _ in range(5):
        before = time.process_time()
        for _ in range(calls // 5):
            await work()
        best = min(best, (time.process_time() - before) / (calls // 5))
    return best


# What is served ------------------------------------------------------------------------------------------------------------


def _deployment(folder: str) -> Any:
    from meridian.deployment import dashboard
    from meridian.deployment.app import Deployment
    from meridian.deployment.settings import Settings
    from meridian.plugins import Loaded, find

    balance = find("operations=opening_balance:pages")
    own = dashboard.pages.tools
    left = TOOLS - len(balance.pages.tools) - len(own)
    parts = {"one": left // 2, "two": left - left // 2}
    return Deployment(
        [balance, *(Loaded(name, _small(name, count), name, name) for name, count in parts.items())],
        Settings(data=folder, calls_at_once=10_000, calls_per_minute=1_000_000),
    )


def _small(name: str, count: int) -> Any:
    """A plugin of `count` small reads."""
    import meridian

    @dataclass(frozen=True)
    class Wanted:
        record_id: int = meridian.field(description="Which record.", min=1)
        note: str = meridian.field(default="", description="A note for the record.", max_length=200)

    pages = meridian.Pages(name.capitalize(), roles=["operations"])

    def declare(number: int) -> None:
        async def view(request: meridian.Request[Wanted]) -> meridian.Response:
            return pages.answer(None, {"record_id": request.params.record_id})

        view.__name__ = f"look_up_{number}"
        view.__doc__ = f"Look up the record of kind {number}, as its register keeps it, and answer with its id."
        pages.route(f"/look-up-{number}", levels=["read", "write"], methods=["POST"], params=Wanted, reads=True)(view)

    for number in range(count):
        declare(number)
    return pages


def _lend(deployment: Any, count: int) -> list[str]:
    """The tokens of `count` clients, of as many people as it takes, each of whom may write two accounts."""
    from meridian.deployment import access, delegations, identity
    from meridian.deployment.access import AccessRow

    store, now = deployment.store, datetime.now(UTC)
    for account in ("A-1", "A-2"):
        access.add_account(store, account)
    rows = [AccessRow(each.name, role, "write") for each in deployment.instances for role in each.roles]
    people, reached, levels = (access.add_group(store, kind, "Writers") for kind in ("user", "account", "access"))
    access.name_accounts(store, reached, ["A-1", "A-2"])
    access.name_rows(store, levels, rows)
    access.grant(store, people, reached, levels)
    tokens: list[str] = []
    while len(tokens) < count:
        person = identity.add_person(store, f"Writer {len(tokens)}", f"Writer {len(tokens)}", now=now)
        access.join(store, people, person.subject)
        made = (delegations.make_by_hand(store, person.subject, "Bench", rows, 30, now=now) for _ in range(100))
        tokens += [token for (_, token), _ in zip(made, range(count - len(tokens)), strict=False)]
    return tokens


def _floor(listed: str) -> Any:
    """The SDK's low-level server with the tools that the file has, as raw dicts, and a call that does nothing."""
    from mcp.server.lowlevel import Server

    tools = json.loads(Path(listed).read_text(encoding="utf-8"))
    done = {"outcome": "unchanged"}

    async def list_tools(_context: Any, _params: Any) -> Any:
        return {"resultType": "complete", "tools": tools, "ttlMs": 0, "cacheScope": "private"}

    async def call_tool(_context: Any, _params: Any) -> Any:
        return {"resultType": "complete", "content": [{"type": "text", "text": json.dumps(done)}], "structuredContent": done}

    server: Server[Any] = Server(
        "floor", version="1", on_list_tools=list_tools, on_call_tool=call_tool, get_tool_input_schema=lambda _: None
    )
    return server.streamable_http_app(json_response=True, stateless_http=True)


def _serve(app: Any, tokens: Sequence[str]) -> None:
    """Serve `app` as `meridian serve` does, until standard input ends; tell where, and for whom."""
    import uvicorn

    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])
    with socket.socket(proto=socket.IPPROTO_TCP) as listener:
        listener.bind(("127.0.0.1", 0))
        server = uvicorn.Server(
            uvicorn.Config(app, lifespan="on", log_level="error", access_log=False, server_header=False, ws="none")
        )

        def tell() -> None:
            while not server.started:
                time.sleep(0.01)
            gc.collect()
            gc.freeze()
            sys.stdout.write(json.dumps({"port": listener.getsockname()[1], "tokens": list(tokens)}) + "\n")
            sys.stdout.flush()
            sys.stdin.read()
            server.should_exit = True

        threading.Thread(target=tell, daemon=True).start()
        server.run(sockets=[listener])


if __name__ == "__main__":
    if sys.argv[1] == "ours":
        deployed = _deployment(sys.argv[2])
        _serve(deployed.app, _lend(deployed, int(sys.argv[3])))
    else:
        _serve(_floor(sys.argv[2]), ["none"])
