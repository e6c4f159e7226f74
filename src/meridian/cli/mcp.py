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

from meridian.cli.serve import given_plugins, given_settings
from meridian.deployment import delegations
from meridian.deployment.app import Deployment, utc_now
from meridian.deployment.connecting import TOKEN_VARIABLE
from meridian.deployment.surface import STANDS_NO_LONGER
from meridian.errors import DeploymentError

__all__ = ["run"]


def run(given: argparse.Namespace) -> int:
    """Serve until the client closes its end; the exit code."""
    token = os.environ.get(TOKEN_VARIABLE, "")
    if not token:
        raise DeploymentError(f"{TOKEN_VARIABLE} is not set; put a client token there, made under Connected clients")
    settings = given_settings(given)
    loaded = given_plugins(given, settings)
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
