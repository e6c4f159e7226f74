"""The list of tools, answered from the bytes of its last answer.

A request as its bytes came enters, with the names that its client is listed; the SDK's own answer to the same request leaves,
under this request's id. The same is: the same names, the same headers but those that say who and where, and the same body
but for its id. Whatever is not exactly such a request is the SDK's to answer, and what it answers well is kept.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["Listing"]

METHOD: Final = "tools/list"
LONGEST_REQUEST_BYTES: Final = 8_192
MOST_KEPT_BYTES: Final = 16 << 20
LARGEST_ID: Final = 2**53

_SAYS_NOTHING: Final = frozenset({b"authorization", b"content-length", b"host", b"user-agent"})
"""Headers by which no answer differs: who asks is in the names listed, and the body is looked at itself."""

_Key = tuple[tuple[str, ...], tuple[tuple[bytes, bytes], ...], str]


@dataclass(frozen=True)
class _Kept:
    """An answer, after its request's id."""

    headers: tuple[tuple[bytes, bytes], ...]
    rest: bytes


class Listing:
    """Lists of tools, before `app`, which answers all that is none or is new."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._kept: OrderedDict[_Key, _Kept] = OrderedDict()
        self._bytes = 0

    async def __call__(
        self, scope: Scope, receive: Receive, send: Send, listed: Callable[[], Awaitable[tuple[str, ...] | None]]
    ) -> None:
        """Answer one request of a client; `listed` tells the names it is listed, or None where it is nobody's."""
        first = await receive()
        receive = _again(first, receive)
        asked = _asked(first)
        names = None if asked is None else await listed()
        if asked is None or names is None:
            await self._app(scope, receive, send)
            return
        request_id, question = asked
        headers = tuple(sorted(each for each in scope["headers"] if each[0] not in _SAYS_NOTHING))
        key = (names, headers, question)
        opening = f'{{"jsonrpc":"2.0","id":{json.dumps(request_id)},'.encode()
        kept = self._kept.get(key)
        if kept is None:
            heard = _Heard(send)
            await self._app(scope, receive, heard)
            self._keep(key, heard, opening)
            return
        self._kept.move_to_end(key)
        length = str(len(opening) + len(kept.rest)).encode()
        await send({"type": "http.response.start", "status": 200, "headers": [*kept.headers, (b"content-length", length)]})
        await send({"type": "http.response.body", "body": opening + kept.rest})

    def _keep(self, key: _Key, heard: _Heard, opening: bytes) -> None:
        if heard.status != 200 or not heard.body.startswith(opening + b'"result":') or key in self._kept:
            return
        headers = tuple(each for each in heard.headers if each[0] != b"content-length")
        kept = self._kept[key] = _Kept(headers, bytes(heard.body[len(opening) :]))
        self._bytes += len(kept.rest)
        while self._bytes > MOST_KEPT_BYTES:
            _, oldest = self._kept.popitem(last=False)
            self._bytes -= len(oldest.rest)


class _Heard:
    """What was sent, sent on."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self.body = bytearray()

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], list(message["headers"])
        elif message["type"] == "http.response.body":
            self.body += message.get("body", b"")
        await self._send(message)


def _asked(first: Message) -> tuple[int | str, str] | None:
    """The id of a request for the list, and the rest of what it says; None where the message is anything else."""
    body: bytes = first.get("body", b"")
    if first.get("more_body", False) or len(body) > LONGEST_REQUEST_BYTES or METHOD.encode() not in body:
        return None
    try:
        said: Any = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict) or said.get("method") != METHOD:
        return None
    match said.pop("id", None):
        case bool():
            return None
        case int() as number if abs(number) <= LARGEST_ID:
            return number, json.dumps(said)
        case str() as text if text.isascii():
            return text, json.dumps(said)
    return None


def _again(first: Message, receive: Receive) -> Receive:
    """`receive`, as it was before `first` was taken from it."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return first

    return again
