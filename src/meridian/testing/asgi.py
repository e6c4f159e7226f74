"""An ASGI application asked from synchronous code, by real messages.

The parts of a request enter; status, headers and body leave. The application runs in an event loop of its own, in a thread
that every client of the process shares, so that a test may be `async` itself and whatever a plugin keeps stays on one loop.
"""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, MutableMapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, TypeAlias, TypeVar
from urllib.parse import quote

__all__ = ["Application", "Heard", "ask", "running"]

T = TypeVar("T")

Message: TypeAlias = MutableMapping[str, Any]
Application: TypeAlias = Callable[
    [Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]
]

CHUNK_BYTES: Final = 1 << 16
"""A longer body is sent in several messages, as a server would."""


@dataclass(frozen=True)
class Heard:
    """What an application answered: names of headers in small letters, the whole body."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


def ask(
    app: Application,
    *,
    method: str,
    path: str,
    query: str = "",
    headers: Iterable[tuple[str, str]] = (),
    body: bytes = b"",
    root_path: str = "",
) -> Heard:
    """Ask `app` one request and wait for its whole answer. `path` is decoded, `query` is as sent. What the application raises
    is raised here."""
    scope: Message = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": quote(path).encode("ascii"),
        "query_string": query.encode("latin-1"),
        "root_path": root_path,
        "headers": [
            (b"host", b"meridian.test"),
            *((name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers),
            (b"content-length", str(len(body)).encode("ascii")),
        ],
        "client": ("127.0.0.1", 50_000),
        "server": ("meridian.test", 80),
        "state": {},
        "extensions": {},
    }
    return _loop().run(_exchange(app, scope, body))


@contextmanager
def running(app: Application) -> Iterator[None]:
    """Run the lifespan of `app` around the block. What it raises at its start or its end is raised here."""
    loop = _loop()
    started: Future[None] = Future()
    leave = asyncio.Event()
    life = loop.begin(_live(app, started, leave))
    wait([started, life], return_when=FIRST_COMPLETED)
    if life.done():
        life.result()
        raise RuntimeError("the application ended its lifespan before it said that it had started")
    try:
        yield
    finally:
        loop.call(leave.set)
        life.result()


async def _exchange(app: Application, scope: Message, body: bytes) -> Heard:
    chunks = [body[at : at + CHUNK_BYTES] for at in range(0, len(body), CHUNK_BYTES)] or [b""]
    left = iter(enumerate(chunks, start=1))
    status = 0
    headers: list[tuple[str, str]] = []
    held = bytearray()
    ended = asyncio.Event()

    async def receive() -> Message:
        number, chunk = next(left, (0, b""))
        if number:
            return {"type": "http.request", "body": chunk, "more_body": number < len(chunks)}
        await ended.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = int(message["status"])
            headers.extend((name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in message["headers"])
        elif message["type"] == "http.response.body":
            held.extend(message.get("body", b""))
            if not message.get("more_body"):
                ended.set()

    await app(scope, receive, send)
    if not ended.is_set():
        raise RuntimeError(f"{scope['method']} {scope['path']}: the application returned before its answer was whole")
    return Heard(status, tuple(headers), bytes(held))


async def _live(app: Application, started: Future[None], leave: asyncio.Event) -> None:
    asked = False

    async def receive() -> Message:
        nonlocal asked
        if asked:
            await leave.wait()
            return {"type": "lifespan.shutdown"}
        asked = True
        return {"type": "lifespan.startup"}

    async def send(message: Message) -> None:
        if message["type"] == "lifespan.startup.complete":
            started.set_result(None)
        elif message["type"].endswith(".failed"):
            raise RuntimeError(message.get("message") or message["type"])

    await app({"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}, "state": {}}, receive, send)


class _Loop:
    """An event loop in a thread of its own, until the process ends."""

    def __init__(self) -> None:
        self._started: Future[asyncio.AbstractEventLoop] = Future()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._stay()), name="meridian.testing", daemon=True)
        self._thread.start()
        self._loop = self._started.result()
        atexit.register(self._end)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """What `coroutine` comes to, waited for."""
        if threading.current_thread() is self._thread:
            coroutine.close()
            raise RuntimeError("a view that is async cannot ask a client of meridian.testing: it would wait for itself")
        return self.begin(coroutine).result()

    def begin(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """`coroutine`, begun."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def call(self, function: Callable[[], object]) -> None:
        """Have the loop call `function`."""
        self._loop.call_soon_threadsafe(function)

    async def _stay(self) -> None:
        self._leave = asyncio.Event()
        self._started.set_result(asyncio.get_running_loop())
        await self._leave.wait()

    def _end(self) -> None:
        self.call(self._leave.set)
        self._thread.join()


@cache
def _loop() -> _Loop:
    return _Loop()
