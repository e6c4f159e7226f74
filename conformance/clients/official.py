"""The official Python client, over HTTP and over standard input and output.

    python -m conformance.clients.official MODE URL
    python -m conformance.clients.official MODE -- COMMAND…

MODE is legacy, auto, or the revision to hold it to. The tokens are in CONFORMANCE_TOKENS, parted by spaces, the calls in
CONFORMANCE_CALLS; a command finds its own token in MERIDIAN_TOKEN. Where there are no tokens, the client asks for its own, by
`official_asking`; a command sees to that itself. The last line printed is what each person's client saw.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import httpx2
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from conformance.clients.official_asking import asking

SECONDS: Final = 30


@asynccontextmanager
async def connected(mode: str, to: Sequence[str], token: str | None) -> AsyncIterator[Client]:
    """A client with that token, or one that asks for its own, of what is at a URL or what a command starts."""
    if to[0] == "--":
        command, *arguments = to[1:]
        given = {"MERIDIAN_TOKEN": token} if token else {}
        server = StdioServerParameters(command=command, args=arguments, env={**os.environ, **given})
        async with Client(stdio_client(server), mode=mode) as client:
            yield client
    else:
        auth = None if token else await asking(to[0])
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        async with (
            httpx2.AsyncClient(headers=headers, auth=auth, timeout=SECONDS) as http,
            Client(streamable_http_client(to[0], http_client=http), mode=mode) as client,
        ):
            yield client


async def seen(client: Client) -> dict[str, Any]:
    """What the client sees of the surface."""
    listed = await client.list_tools()
    called = [await client.call_tool(name, given) for name, given in json.loads(os.environ["CONFORMANCE_CALLS"])]
    return {
        "protocol": client.protocol_version,
        "listed": [tool.name for tool in listed.tools],
        "calls": [[result.structured_content, result.is_error] for result in called],
    }


async def main(mode: str, *to: str) -> None:
    """Print what each person's client saw."""
    found = []
    tokens: list[str | None] = [*os.environ.get("CONFORMANCE_TOKENS", "").split()]
    for token in tokens or [None]:
        async with connected(mode, to, token) as client:
            found.append(await seen(client))
    print(json.dumps(found))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
