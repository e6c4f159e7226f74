"""Requests that are known: the SDK has let one just like them through, and its answer shows how the next is written.

A request as its bytes came enters, with who may be asked for what a client is listed and for what a call comes to; an answer
leaves, in the form of the SDK's own, with the request's id in it; a letter or a number may be spelled another way that JSON has
for it. Two requests are alike where every header is the same but those that say who and where, and the body is but for its id
and, in a call, the arguments, which the protocol says nothing of. A list is then the one that was answered to the same names; a
call's result takes the places of the one before. Whatever is not exactly such a request is the SDK's to answer.
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from operator import itemgetter
from typing import Any, Final, Protocol

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from meridian.deployment import repeats

__all__ = ["RESULT", "Client", "Known"]

LONGEST_REQUEST_BYTES: Final = 1 << 16
MOST_KEPT_BYTES: Final = 16 << 20
LARGEST_ID: Final = 2**53
DEEPEST: Final = 100
"""So many lists and objects within each other are read by every parser of the SDK, which differ in how many more they read."""

RESULT: Final = "meridian.result"
"""Where a scope has a list that takes the result which the SDK is given for a call."""

_FOR_EACH_BYTES: Final = 100

_SAYS_NOTHING: Final = frozenset({b"authorization", b"content-length", b"host", b"user-agent"})
"""Headers by which no answer differs: who asks the client tells, and the body is looked at itself."""
_HALF: Final = re.compile(rb"\\u[dD][89a-fA-F]")
"""Half a character, or a pair of halves, which the SDK may take or not."""

_Headers = tuple[tuple[bytes, bytes], ...]
_Key = tuple[tuple[str, ...], _Headers, str]
"""The names that are listed, the headers in which those of one name keep their order, and what of the body is alike."""


class Client(Protocol):
    """Whoever a request speaks for. Each answers None where that is nobody."""

    async def listed(self) -> tuple[str, ...] | None:
        """The names of the tools it is listed."""
        ...

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The result of a call, as the SDK is given one."""
        ...


@dataclass(frozen=True)
class _Request:
    """A request that may be like one before: `alike` is all of it that has to be the same, `opening` how its answer begins."""

    alike: str
    opening: bytes
    call: tuple[str, Mapping[str, Any]] | None
    """The name and the arguments of a call; None for the list."""


@dataclass(frozen=True)
class _Answer:
    """The SDK's answer after the request's id, cut where a call's result has its places; whole for a list."""

    headers: _Headers
    parts: Sequence[bytes]
    places: Sequence[int] = ()
    size: int = 0
    """How much memory it takes, about, together with all that has to be the same."""


class Known:
    """What is known, before `app`, which answers all that is not. A body of more than `most_body_bytes` is its to refuse."""

    def __init__(self, app: ASGIApp, *, most_body_bytes: int) -> None:
        self._app = app
        self._most_body_bytes = min(most_body_bytes, LONGEST_REQUEST_BYTES)
        self._kept: OrderedDict[_Key, _Answer] = OrderedDict()
        self._bytes = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send, client: Client) -> None:
        """Answer one request of `client`."""
        first = await receive()
        receive = _again(first, receive)
        request = self._request(first)
        names = () if request is None or request.call else await client.listed()
        if request is None or names is None:
            await self._app(scope, receive, send)
            return
        headers = tuple(sorted((each for each in scope["headers"] if each[0] not in _SAYS_NOTHING), key=itemgetter(0)))
        key: _Key = (names, headers, request.alike)
        answer = self._kept.get(key)
        pieces = None if answer is None else await self._pieces(request, client)
        if answer is None or pieces is None:
            heard = _Heard(send)
            results: list[Mapping[str, Any]] = []
            await self._app({**scope, RESULT: results}, receive, heard)
            self._learn(key, request, heard, results)
            return
        self._kept.move_to_end(key)
        body = b"".join([request.opening, *_filled(answer, pieces)])
        length = (b"content-length", str(len(body)).encode())
        await send({"type": "http.response.start", "status": 200, "headers": [*answer.headers, length]})
        await send({"type": "http.response.body", "body": body})

    async def _pieces(self, request: _Request, client: Client) -> list[bytes] | None:
        if request.call is None:
            return []
        result = await client.call(*request.call)
        return None if result is None else _pieces(result)

    def _learn(self, key: _Key, request: _Request, heard: _Heard, results: Sequence[Mapping[str, Any]]) -> None:
        """Keep what the SDK answered, where it is an answer that the next can be written by."""
        opening = request.opening + b'"result":'
        if key in self._kept or heard.status != 200 or not heard.body.startswith(opening):
            return
        headers = tuple(each for each in heard.headers if each[0] != b"content-length")
        rest = bytes(heard.body[len(request.opening) :])
        if request.call is None:
            answer: _Answer | None = _Answer(headers, [rest])
        else:
            answer = _cut(headers, rest, _pieces(results[0])) if len(results) == 1 else None
        if answer is None:
            return
        answer = replace(answer, size=_size(key, answer))
        self._kept[key] = answer
        self._bytes += answer.size
        while self._bytes > MOST_KEPT_BYTES:
            _, oldest = self._kept.popitem(last=False)
            self._bytes -= oldest.size

    def _request(self, first: Message) -> _Request | None:
        """The request that the message is the whole of; None where it is anything else than the list or a call."""
        body: bytes = first.get("body", b"")
        if first.get("more_body", False) or len(body) > self._most_body_bytes or _HALF.search(body):
            return None
        try:
            said: Any = json.loads(body.decode())  # of bytes, it would guess at other encodings, and take halves of characters
        except (ValueError, RecursionError):
            return None
        if not isinstance(said, dict) or (body.count(b"[") + body.count(b"{") > DEEPEST and _is_deep(said)):
            return None
        match said.pop("id", None):
            case bool():
                return None
            case int() as number if abs(number) <= LARGEST_ID:
                request_id = str(number)
            case str() as text if text.isascii() and "\x7f" not in text:
                request_id = json.dumps(text)
            case _:
                return None
        call = None
        match said:
            case {"method": "tools/list"}:
                pass
            case {"params": {"_meta": {repeats.KEY: _}}}:  # it asks of the one act, not of the next that is like it
                return None
            case {"method": "tools/call", "params": {"name": str() as name, "arguments": dict() as arguments}}:
                call = name, arguments
                said["params"]["arguments"] = {}
            case _:
                return None
        return _Request(json.dumps(said), f'{{"jsonrpc":"2.0","id":{request_id},'.encode(), call)


def _pieces(result: Mapping[str, Any]) -> list[bytes]:
    """What of an answer is a call's own: the text, the object, of which the text is the JSON, and whether it is a refusal."""
    text = result["content"][0]["text"]
    said = (
        f'"text":{_PRINTER.encode(text)}',
        f'"structuredContent":{text}',
        f'"isError":{"true" if result["isError"] else "false"}',
    )
    return [each.encode() for each in said]


_PRINTER: Final = json.JSONEncoder(ensure_ascii=False)


def _cut(headers: _Headers, rest: bytes, pieces: Sequence[bytes]) -> _Answer | None:
    """The answer without the pieces; None where one of them is not in it, or may be in more than one place."""
    if any(rest.count(piece) != 1 for piece in pieces):
        return None
    places = sorted(range(len(pieces)), key=lambda place: rest.index(pieces[place]))
    parts = []
    for place in places:
        part, _, rest = rest.partition(pieces[place])
        parts.append(part)
    return _Answer(headers, [*parts, rest], places)


def _filled(answer: _Answer, pieces: Sequence[bytes]) -> list[bytes]:
    """The parts of an answer, with the pieces in their places between them."""
    filled = [answer.parts[0]]
    for part, place in zip(answer.parts[1:], answer.places, strict=True):
        filled += pieces[place], part
    return filled


def _size(key: _Key, answer: _Answer) -> int:
    """How many bytes it takes to keep the answer under its key, with some for each object."""
    names, headers, alike = key
    pairs = [*headers, *answer.headers]
    lengths = [len(alike), *map(len, names), *map(len, answer.parts), *(len(name) + len(value) for name, value in pairs)]
    return sum(lengths) + _FOR_EACH_BYTES * (len(lengths) + len(pairs))


def _is_deep(said: Any) -> bool:
    """Whether more than `DEEPEST` lists and objects are within each other."""
    level = [said]
    for _ in range(DEEPEST):
        within = chain.from_iterable(each.values() if isinstance(each, dict) else each for each in level)
        level = [each for each in within if isinstance(each, dict | list)]
        if not level:
            return False
    return True


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
