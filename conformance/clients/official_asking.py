"""The official Python client's own way to tokens, which is told where to keep them, how to open a browser, and what came back.

It opens BROWSER, keeps what it is given in the file CONFORMANCE_KEPT, and waits for the browser on a port of loopback. The
document that describes it is at CONFORMANCE_DOCUMENT; where that is empty, it registers.
"""

from __future__ import annotations

import asyncio
import json
import os
from asyncio import StreamReader, StreamWriter
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

__all__ = ["asking"]

SECONDS: Final = 30


async def asking(url: str) -> OAuthClientProvider:
    """What asks for tokens of the surface at `url`, and renews them."""
    came: asyncio.Queue[AuthorizationCodeResult] = asyncio.Queue()

    async def listen(reader: StreamReader, writer: StreamWriter) -> None:
        target = (await reader.readuntil(b"\r\n")).split()[1].decode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nOK")
        await writer.drain()
        writer.close()
        said = dict(parse_qsl(urlsplit(target).query))
        await came.put(AuthorizationCodeResult(code=said.get("code", ""), state=said.get("state"), iss=said.get("iss")))

    async def redirect(address: str) -> None:
        await asyncio.create_subprocess_exec(os.environ["BROWSER"], address)

    async def callback() -> AuthorizationCodeResult:
        return await asyncio.wait_for(came.get(), SECONDS)

    listener = await asyncio.start_server(listen, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    metadata = OAuthClientMetadata(
        client_name="Python client",
        redirect_uris=[AnyUrl(f"http://127.0.0.1:{port}/callback")],
        token_endpoint_auth_method="none",  # noqa: S106  it has no secret
    )
    kept, document = _Kept(Path(os.environ["CONFORMANCE_KEPT"])), os.environ["CONFORMANCE_DOCUMENT"]
    return OAuthClientProvider(url, metadata, kept, redirect, callback, document or None)


class _Kept:
    """What the client was given, in a file.

    This client renews what it knows to be over, and asks its person anew after a 401 whatever it kept. It keeps no time with
    its tokens; so what is kept leaves one out that is over, as it is where CONFORMANCE_LATER is said.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    async def get_tokens(self) -> OAuthToken | None:
        kept = self._read().get("tokens")
        tokens = None if kept is None else OAuthToken(**kept)
        if tokens is not None and "CONFORMANCE_LATER" in os.environ:
            tokens.access_token = ""
        return tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._write(tokens=tokens.model_dump(mode="json"))

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        kept = self._read().get("client")
        return None if kept is None else OAuthClientInformationFull(**kept)

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._write(client=client_info.model_dump(mode="json"))

    def _read(self) -> dict[str, Any]:
        read: dict[str, Any] = json.loads(self._path.read_text(encoding="utf-8")) if self._path.exists() else {}
        return read

    def _write(self, **kept: Any) -> None:
        self._path.write_text(json.dumps({**self._read(), **kept}), encoding="utf-8")
