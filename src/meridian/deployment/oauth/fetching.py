"""A small JSON document fetched from an address that a stranger gave, in such a way that only the public internet is asked.

An https address enters; a JSON object leaves, or `Unfetched` with why not. The name is resolved once, every address that it has
must be a public one, and the connection goes to one of those, so that a name which answers otherwise a moment later reaches
nothing else. No redirect is followed, no proxy asked, no cookie kept; size and time are bounded, and so is how many are
fetched at once.
"""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Awaitable, Callable
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Any, Final

import anyio
import httpx2

__all__ = ["Fetching", "Unfetched", "is_public", "resolve"]

Address = IPv4Address | IPv6Address

_SECONDS: Final = 5.0
_MOST_BYTES: Final = 10 << 10
_AT_ONCE: Final = 8

_IN_USE: Final = IPv6Network("2000::/3")
_NOT_ITS_OWN: Final = (IPv6Network("2002::/16"), IPv6Network("2001::/23"), IPv6Network("3fff::/20"))
"""Parts of it by which another network is reached, or none."""


class Unfetched(Exception):
    """A document that was not read; `said` is why, for whoever gave its address."""

    def __init__(self, said: str) -> None:
        self.said = said
        super().__init__(said)


def is_public(address: Address) -> bool:
    """Whether the address is one of the public internet, and not a way to this machine, its network or its neighbours.

    >>> [is_public(ip_address(each)) for each in ("93.184.215.14", "169.254.169.254", "::ffff:10.0.0.1", "64:ff9b::a00:1")]
    [True, False, False, False]
    """
    if address.is_multicast or not address.is_global:
        return False
    if isinstance(address, IPv6Address):
        return address in _IN_USE and not any(address in each for each in _NOT_ITS_OWN)
    return True


async def resolve(host: str, port: int) -> list[Address]:
    """Every address that the host has."""
    found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(ip_address(each[4][0]) for each in found))


class Fetching:
    """Fetches documents. Its parts may be others in a network of one's own: how names are resolved, which addresses pass, and
    which certificates are trusted (None for those the system trusts)."""

    def __init__(
        self,
        *,
        resolve: Callable[[str, int], Awaitable[list[Address]]] = resolve,
        passes: Callable[[Address], bool] = is_public,
        trust: ssl.SSLContext | None = None,
        seconds: float = _SECONDS,
        most_bytes: int = _MOST_BYTES,
    ) -> None:
        self._resolve = resolve
        self._passes = passes
        self._trust = trust
        self._seconds = seconds
        self._most_bytes = most_bytes
        self._at_once = anyio.CapacityLimiter(_AT_ONCE)

    async def __call__(self, address: str) -> dict[str, Any]:
        """The JSON object at the address. Raises Unfetched."""
        if self._at_once.available_tokens < 1:
            raise Unfetched("too many documents are being read; try again in a moment")
        try:
            with anyio.fail_after(self._seconds):
                async with self._at_once:
                    body = await self._body(httpx2.URL(address))
        except (TimeoutError, httpx2.TimeoutException) as late:
            raise Unfetched(f"it did not answer within {self._seconds:g} seconds") from late
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError, UnicodeError) as failed:
            raise Unfetched("it cannot be reached by https") from failed
        try:
            document = json.loads(body)
        except (ValueError, RecursionError) as unread:
            raise Unfetched("it is no JSON") from unread
        if not isinstance(document, dict):
            raise Unfetched("it is no JSON object")
        return document

    async def _body(self, url: httpx2.URL) -> bytes:
        if url.scheme != "https" or not url.host:
            raise Unfetched("it is not at an https address")
        addresses = await self._resolve(url.host, url.port or 443)
        if not addresses or not all(map(self._passes, addresses)):
            raise Unfetched("its host has no public address, or one that is not")
        trust = self._trust or ssl.create_default_context()
        each = self._seconds / 2  # a handshake that is ended from without, by the time of it all, leaves its socket open
        async with (
            httpx2.AsyncClient(verify=trust, trust_env=False, timeout=each) as http,
            http.stream(
                "GET",
                url.copy_with(host=str(addresses[0])),
                headers={"host": url.netloc.decode("ascii"), "accept": "application/json", "accept-encoding": "identity"},
                extensions={"sni_hostname": url.host},
                follow_redirects=False,
            ) as answer,
        ):
            if answer.status_code != 200:
                raise Unfetched(f"it answered {answer.status_code} where 200 is needed; redirects are not followed")
            media_type = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
            if not (
                media_type == "application/json" or (media_type.startswith("application/") and media_type.endswith("+json"))
            ):
                raise Unfetched("it does not say that it is JSON")
            body = b""
            async for chunk in answer.aiter_raw():
                body += chunk
                if len(body) > self._most_bytes:
                    raise Unfetched(f"it is larger than {self._most_bytes:,} bytes")
            return body
