"""What stands between the conformance suite and the deployment, on loopback, for the two things that the suite cannot do.

It sends no token, so each request is given one. It calls a tool by a bare name, where one on Meridian's surface begins with its
instance; so that is put before the name called and taken off the names listed. All else passes as it came, both ways.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import urlsplit

__all__ = ["Proxy", "listening"]

HOP: Final = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length"})
"""What each connection says for itself."""
SECONDS: Final = 30


class Proxy(ThreadingHTTPServer):
    """A proxy that listens, at `url`; where it passes requests on to is told it with `stand_before`."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Passing)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def stand_before(self, url: str, *, token: str, instance: str) -> None:
        """Pass on to `url`, with `token`, naming the tools of `instance`."""
        self.behind = urlsplit(url).netloc
        self.token = token
        self.prefix = f"{instance}__"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Let be what the suite itself broke off, as it does at a stream's end."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def listening() -> Iterator[Proxy]:
    """A proxy that listens for as long as this is entered."""
    with Proxy() as proxy:
        thread = threading.Thread(target=proxy.serve_forever, daemon=True)
        thread.start()
        try:
            yield proxy
        finally:
            proxy.shutdown()


class _Passing(BaseHTTPRequestHandler):
    server: Proxy
    protocol_version = "HTTP/1.1"

    def _pass(self) -> None:
        asked = self.rfile.read(int(self.headers.get("content-length", 0)))
        there = HTTPConnection(self.server.behind, timeout=SECONDS)
        there.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        calls = self.headers.get("mcp-method", "").strip() == "tools/call"
        for name, value in self.headers.items():
            if name.lower() not in HOP:
                there.putheader(name, self._whole(value) if calls and name.lower() == "mcp-name" else value)
        if "authorization" not in self.headers:
            there.putheader("Authorization", f"Bearer {self.server.token}")
        asked = self._named(asked)
        there.putheader("Content-Length", str(len(asked)))
        there.endheaders(asked)
        answered = there.getresponse()
        told = self._bare(answered.read())
        there.close()
        self.send_response_only(answered.status, answered.reason)
        for name, value in answered.getheaders():
            if name.lower() not in HOP:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)

    do_GET = do_POST = do_DELETE = do_OPTIONS = _pass  # noqa: N815  http.server looks them up by these names

    def _whole(self, name: str) -> str:
        return name if name.startswith(self.server.prefix) else self.server.prefix + name

    def _named(self, asked: bytes) -> bytes:
        """The request, with the instance before the name of the tool it calls."""
        message = _read(asked)
        if not isinstance(message, dict) or message.get("method") != "tools/call":
            return asked
        params = message.get("params")
        if not isinstance(params, dict) or not isinstance(params.get("name"), str):
            return asked
        return json.dumps({**message, "params": {**params, "name": self._whole(params["name"])}}).encode()

    def _bare(self, told: bytes) -> bytes:
        """The answer, with the instance taken off the names of the tools it lists."""
        message = _read(told)
        result = message.get("result") if isinstance(message, dict) else None
        if not isinstance(result, dict) or not isinstance(result.get("tools"), list):
            return told
        tools = [{**tool, "name": tool["name"].removeprefix(self.server.prefix)} for tool in result["tools"]]
        return json.dumps({**message, "result": {**result, "tools": tools}}).encode()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name that http.server gives it
        """Say nothing: the suite tells what was asked and answered."""


def _read(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None
