"""What a person pastes into a client so that it finds the deployment: one configuration over HTTP, one over stdio.

Addresses and a token enter; a configuration of the form that most clients take leaves.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from meridian.deployment.settings import Settings

__all__ = ["TOKEN_VARIABLE", "http_configuration", "stdio_configuration"]

TOKEN_VARIABLE = "MERIDIAN_TOKEN"  # noqa: S105  the variable's name, not a token


def http_configuration(mcp_url: str, token: str) -> dict[str, Any]:
    """For a client that asks over HTTP."""
    server = {"type": "http", "url": mcp_url, "headers": {"Authorization": f"Bearer {token}"}}
    return {"mcpServers": {"meridian": server}}


def stdio_configuration(settings: Settings, token: str, targets: Sequence[str] = ()) -> dict[str, Any]:
    """For a client that starts its servers itself, on the machine that has the data folder. A database's address, which may
    hold a password, is left for the operator to put in."""
    beside = Path(sys.executable).with_name("meridian")
    command = str(beside) if beside.exists() else shutil.which("meridian") or "meridian"
    arguments = ["mcp", *targets, "--data", str(Path(settings.data).absolute())]
    if settings.database:
        arguments += ["--database", "THE-DATABASE-URL"]
    return {"mcpServers": {"meridian": {"command": command, "args": arguments, "env": {TOKEN_VARIABLE: token}}}}
