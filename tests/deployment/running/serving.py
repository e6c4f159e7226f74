"""A deployment that runs, on a real socket or within this process, and who asks it: browsers and MCP clients."""

import socket
import threading
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import httpx2
import uvicorn
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client
from mcp.client.caching import CacheConfig
from mcp.client.streamable_http import streamable_http_client
from starlette.types import ASGIApp

from meridian.deployment.app import Deployment, utc_now
from meridian.deployment.demo import DemoPerson

TO_LOOK = [
    "dashboard__list_prepared_changes",
    "dashboard__read_prepared_change",
    "dashboard__count_prepared_changes",
    "dashboard__prepare_change",
    "dashboard__amend_prepared_change",
    "dashboard__recheck_prepared_change",
    "dashboard__withdraw_prepared_change",
    "dashboard__list_plugins",
    "dashboard__read_plugin_summary",
    "dashboard__read_plugin_access",
    "dashboard__list_my_delegations",
]
"""What every client that reaches a plugin is listed of the dashboard."""


@dataclass
class Clock:
    """The time it is, moved on by a test."""

    moved: timedelta = timedelta()

    def __call__(self) -> datetime:
        return utc_now() + self.moved


@dataclass
class Running:
    """A deployment that is served at `url`, with its people by subject."""

    deployment: Deployment
    url: str
    clock: Clock
    people: dict[str, DemoPerson]
    opened: list[httpx2.Client] = field(default_factory=list)
    transport: httpx2.BaseTransport | None = None
    """How requests get there; None for a socket."""

    @property
    def resource(self) -> str:
        """The surface's address, as the clients of this deployment know it."""
        return f"{self.deployment.settings.public_url or self.url}/mcp"

    def browser(self, subject: str | None = None) -> httpx2.Client:
        """A browser, signed in by the person's link; it follows no redirect by itself."""
        client = httpx2.Client(base_url=self.url, timeout=20, transport=self.transport)
        self.opened.append(client)
        if subject is not None:
            signed_in = client.get(f"/sign-in/{self.people[subject].sign_in_token}")
            assert (signed_in.status_code, signed_in.headers["location"]) == (303, "/")
        return client

    def token(self, subject: str) -> str:
        return self.people[subject].client_token

    @asynccontextmanager
    async def client(
        self, subject: str, mode: str = "auto", token: str | None = None, cache: CacheConfig | None = None
    ) -> AsyncIterator[Client]:
        """The official client, connected over HTTP with the person's token."""
        headers = {"Authorization": f"Bearer {token or self.token(subject)}"}
        async with httpx2.AsyncClient(headers=headers, timeout=20) as http:
            transport = streamable_http_client(f"{self.url}/mcp", http_client=http)
            async with Client(transport, mode=mode, cache=cache or CacheConfig()) as client:
                yield client

    def rpc(self, subject: str, method: str, headers: dict[str, str] | None = None, **params: Any) -> httpx2.Response:
        """One request as its bytes go over the wire; of the handshake era, unless the headers say another."""
        return httpx2.post(
            f"{self.url}/mcp",
            json={"jsonrpc": "2.0", "id": 1, "method": method, "params": params},
            headers={
                "Authorization": f"Bearer {self.token(subject)}",
                "Accept": "application/json, text/event-stream",
                **(headers or {}),
            },
            timeout=20,
        )


@contextmanager
def serving(deployment: Deployment, clock: Clock, people: Iterable[DemoPerson] = ()) -> Iterator[Running]:
    """The deployment, served on a port of its own from a thread of this process."""
    with socket.socket(proto=socket.IPPROTO_TCP) as listener:  # said, or asyncio lets packets be held back
        listener.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(deployment.app, lifespan="on", log_level="error", access_log=False, ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        while not server.started:
            assert thread.is_alive()
            thread.join(0.01)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        served = Running(deployment, url, clock, {each.subject: each for each in people})
        try:
            yield served
        finally:
            for client in served.opened:
                client.close()
            server.should_exit = True
            thread.join(10)
        assert not thread.is_alive()


@contextmanager
def running_within(deployment: Deployment, clock: Clock) -> Iterator[Running]:
    """The deployment, run on a thread of this process and asked without a socket: many times as soon started and stopped."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(deployment.running()):
        yield Running(deployment, "http://desk.example", clock, {}, transport=_Within(deployment.app, portal))


class _Within(httpx2.BaseTransport):
    """Hands each request to an application that runs in the portal's loop."""

    def __init__(self, app: ASGIApp, portal: BlockingPortal) -> None:
        self._transport = httpx2.ASGITransport(app)
        self._portal = portal

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        return self._portal.call(self._asked, request)

    async def _asked(self, request: httpx2.Request) -> httpx2.Response:
        answer = await self._transport.handle_async_request(request)
        return httpx2.Response(answer.status_code, headers=answer.headers, content=await answer.aread())
