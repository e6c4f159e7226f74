"""What an operator types, read: `meridian serve` and `meridian mcp`.

A command line enters; an exit code leaves: 0 where it ran and ended as asked, 1 where it could not, with the reason on standard
error in words, 2 where the command line did not read.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from meridian.errors import DeclarationError, DeploymentError

__all__ = ["main"]

EXTRA = "it needs what runs plugins: pip install 'meridian-plugins[deployment]'"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; its exit code."""
    given = _parser().parse_args(arguments)
    try:
        from meridian.cli import mcp, serve
        from meridian.plugins import look_in
    except ModuleNotFoundError as missing:
        return _fail(f"{missing.name} is not installed; {EXTRA}")
    try:
        if given.targets:
            # So that a plugin beside where the command is typed is found. A client starts `meridian mcp` in whatever folder it
            # works on, which may hold anybody's modules under any name.
            look_in(Path.cwd(), last=True)
        if given.command == "serve":
            return serve.run(given)
        return mcp.run(given)
    except (DeploymentError, DeclarationError) as reason:
        return _fail(str(reason))
    except KeyboardInterrupt:
        return 0


def _fail(said: str) -> int:
    sys.stderr.write(f"meridian: {said}\n")
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="meridian", description="Serve plugins to people in a browser, and to agents over MCP."
    )
    parser.add_argument("--version", action="version", version=f"meridian {version('meridian-plugins')}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    serve = commands.add_parser(
        "serve",
        help="serve plugins to people and to agents",
        description="Serve plugins to people in a browser and, at /mcp, to agents. Ctrl-C ends it.",
    )
    _add_targets(
        serve,
        "a plugin, as [NAME=]package.module:pages, or a package or folder that has one `pages`; none for those that the "
        "deployment knows",
    )
    serve.add_argument("--host", metavar="ADDRESS", help="the address to listen on (127.0.0.1)")
    serve.add_argument("--port", metavar="N", help="the port to listen on; 0 for any that is free (8000)")
    serve.add_argument("--public-url", metavar="URL", help="where people and clients reach it, where that is another address")
    serve.add_argument("--demo", action="store_true", help="seed five people of different grants, to try things out")
    serve.add_argument("--json", action="store_true", help="tell addresses and people as one line of JSON")
    mcp = commands.add_parser(
        "mcp",
        help="serve one person's tools over standard input and output",
        description="Serve the same tools as /mcp over standard input and output, to the client that starts this. "
        "The person's client token is in MERIDIAN_TOKEN.",
    )
    _add_targets(mcp, "a plugin, as for serve; none for those that the deployment knows")
    return parser


def _add_targets(command: argparse.ArgumentParser, words: str) -> None:
    command.add_argument("targets", nargs="*", metavar="TARGET", help=words)
    command.add_argument("--data", metavar="DIR", help="the folder of everything that must survive (meridian-data)")
    command.add_argument(
        "--database", metavar="URL", help="a database to use instead of a file in that folder: postgresql+psycopg://…"
    )
