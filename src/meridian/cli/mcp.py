"""`meridian mcp`: one person's tools over standard input and output, for the client that starts this process.

The read command line and the token enter; standard output is the protocol's alone, and words go to standard error.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys

import anyio

from meridian.cli.serve import given_settings
from meridian.deployment import delegations, instances
from meridian.deployment.app import Deployment, utc_now
from meridian.deployment.connecting import TOKEN_VARIABLE
from meridian.deployment.settings import Settings
from meridian.deployment.store import Store
from meridian.deployment.surface import STANDS_NO_LONGER
from meridian.errors import DeploymentError
from meridian.plugins import Loaded, find, load

__all__ = ["run"]


def run(given: argparse.Namespace) -> int:
    """Serve until the client closes its end; the exit code."""
    token = os.environ.get(TOKEN_VARIABLE, "")
    if not token:
        raise DeploymentError(f"{TOKEN_VARIABLE} is not set; put a client token there, made under Connected clients")
    settings = given_settings(given)
    loaded = load(given.targets) if given.targets else _served_last(settings)
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    deployment = Deployment(loaded, settings)
    if delegations.by_token(deployment.store, token, now=utc_now()) is None:
        raise DeploymentError(f"{TOKEN_VARIABLE}: {STANDS_NO_LONGER}")

    async def serve() -> None:
        async with deployment.running(over_http=False):
            await deployment.surface.serve_stdio(token)

    signal.signal(signal.SIGINT, signal.SIG_DFL)  # standard input is waited for on a thread, which nothing else interrupts
    anyio.run(serve)
    return 0


def _served_last(settings: Settings) -> tuple[Loaded, ...]:
    """The plugins that the deployment knows. One that cannot be loaded here is told of and left out."""
    store = Store(settings.database_url)
    found: list[Loaded] = []
    for instance in instances.configured(store):
        try:
            found.append(find(f"{instance.name}={instance.target}"))
        except DeploymentError as reason:
            sys.stderr.write(f"meridian: {instance.name} is left out: {reason}\n")
    store.close()
    if not found:
        raise DeploymentError(f"{settings.data} has served no plugin that can be loaded here; name one: meridian mcp TARGET")
    return tuple(found)
