"""`meridian serve`: a deployment run in this process until Ctrl-C.

The read command line enters. The addresses, and with `--demo` the people, leave on standard output once they can be asked:
in words, or with `--json` as one line.
"""

from __future__ import annotations

import argparse
import dataclasses
import gc
import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn

from meridian.deployment import demo, identity, instances
from meridian.deployment.app import Deployment, utc_now
from meridian.deployment.connecting import http_configuration, stdio_configuration
from meridian.deployment.demo import DemoPerson
from meridian.deployment.instances import Instance
from meridian.deployment.settings import Settings, read_settings
from meridian.deployment.store import Store
from meridian.errors import DeploymentError
from meridian.plugins import Loaded, find, load, warnings_of

__all__ = ["given_plugins", "given_settings", "run"]

SECONDS_TO_FINISH = 10
"""How long calls under way may take to finish once the deployment is to end."""


def run(given: argparse.Namespace) -> int:
    """Serve until told to end; the exit code."""
    settings = given_settings(given)
    loaded = given_plugins(given, settings)
    for instance in loaded:
        for warning in warnings_of(instance):
            sys.stderr.write(f"meridian: {instance.target}: {warning}\n")
    listener = _listen(settings)
    url = settings.public_url.rstrip("/") or _url(listener, settings.host)
    deployment = Deployment(loaded, settings)
    people = demo.seed(deployment.store, deployment.instances, now=utc_now()) if given.demo else ()
    first_admin = identity.first_admin_link(deployment.store, now=utc_now(), lasts=settings.link_lasts)
    config = uvicorn.Config(
        deployment.app,
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=SECONDS_TO_FINISH,
    )

    def tell() -> None:
        told = _as_json if given.json else _as_words
        sys.stdout.write(told(url, people, first_admin, loaded, settings) + "\n")
        sys.stdout.flush()
        gc.collect()
        gc.freeze()

    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, _end)
    with listener:
        server = _Server(config, tell)
        try:
            server.run(sockets=[listener])
        except KeyboardInterrupt:
            return 0
    return 0 if server.told else 1


def given_settings(given: argparse.Namespace) -> Settings:
    """The settings that a command line gave, or else the environment: `MERIDIAN_PORT`, …; the others at their defaults.
    Raises DeploymentError."""
    names = [field.name for field in dataclasses.fields(Settings)]
    around = {name: value for name in names if (value := os.environ.get(f"MERIDIAN_{name.upper()}")) is not None}
    return read_settings(around | {name: value for name in names if (value := getattr(given, name, None)) is not None})


def given_plugins(given: argparse.Namespace, settings: Settings) -> tuple[Loaded, ...]:
    """The plugins that a command line named; where it named none, those that the deployment knows. One of these that cannot be
    loaded is told of and left out. Raises DeploymentError."""
    if given.targets:
        return load(given.targets)
    found: list[Loaded] = []
    for instance in _known(settings):
        try:
            found.append(find(f"{instance.name}={instance.target}"))
        except DeploymentError as reason:
            sys.stderr.write(f"meridian: {instance.name} is left out: {reason}\n")
    if not found:
        raise DeploymentError(
            f"{settings.data} knows no plugin that can be loaded; name one: meridian {given.command} package.module:pages"
        )
    return tuple(found)


def _known(settings: Settings) -> tuple[Instance, ...]:
    """The plugins that the deployment was ever given; nothing is made where there is none yet."""
    if not settings.database and not Path(settings.data).exists():
        return ()
    store = Store(settings.database_url)
    try:
        return instances.configured(store)
    finally:
        store.close()


class _Server(uvicorn.Server):
    """A server that tells where it is once it can be asked."""

    def __init__(self, config: uvicorn.Config, tell: Callable[[], None]) -> None:
        super().__init__(config)
        self.told = False
        self._tell = tell

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and tell."""
        await super().startup(sockets)
        if self.started:
            self._tell()
            self.told = True


def _listen(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # said, or asyncio lets packets be held back
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
    except OSError as reason:
        listener.close()
        raise DeploymentError(
            f"nothing can listen on {settings.host} port {settings.port} ({reason.strerror}); choose another with --port"
        ) from reason
    return listener


def _url(listener: socket.socket, host: str) -> str:
    port = listener.getsockname()[1]
    named = "127.0.0.1" if host in ("", "0.0.0.0") else "[::1]" if host == "::" else f"[{host}]" if ":" in host else host  # noqa: S104
    return f"http://{named}:{port}"


def _end(_: int, __: FrameType | None) -> None:
    raise KeyboardInterrupt


def _person(url: str, person: DemoPerson) -> dict[str, str]:
    return {
        "subject": person.subject,
        "display_name": person.display_name,
        "holds": person.holds,
        "sign_in_url": f"{url}/sign-in/{person.sign_in_token}",
        "client_token": person.client_token,
    }


def _as_json(
    url: str, people: Sequence[DemoPerson], first_admin: str | None, loaded: Sequence[Loaded], settings: Settings
) -> str:
    told: dict[str, Any] = {"url": url, "mcp_url": f"{url}/mcp", "people": [_person(url, person) for person in people]}
    if first_admin is not None:
        told["first_admin_url"] = f"{url}/first-admin/{first_admin}"
    return json.dumps(told)


def _as_words(
    url: str, people: Sequence[DemoPerson], first_admin: str | None, loaded: Sequence[Loaded], settings: Settings
) -> str:
    served = [f"{instance.name}={instance.target}" for instance in loaded]
    lines = [f"Meridian serves {', '.join(served)}", f"  for people  {url}/", f"  for agents  {url}/mcp", ""]
    if first_admin is not None:
        lines += [
            "There is no deployment admin yet. Become the first by this link, which works once:",
            f"  {url}/first-admin/{first_admin}",
            "",
        ]
    for person in people:
        said = _person(url, person)
        lines += [
            f"{person.display_name}: {person.holds}",
            f"  sign in, once   {said['sign_in_url']}",
            f"  client token    {person.client_token}",
            f"  configuration   {json.dumps(http_configuration(f'{url}/mcp', person.client_token))}",
            "",
        ]
    if people:
        lasting = [f"{instance.name}={instance.lasting}" for instance in loaded]
        example = stdio_configuration(settings, "A-CLIENT-TOKEN-OF-THE-ABOVE", lasting)
        lines += ["For a client that starts its servers itself:", f"  {json.dumps(example)}", ""]
    lines.append("Ctrl-C ends it.")
    return "\n".join(lines)
