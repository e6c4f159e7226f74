"""Every check there is: which program asks the deployment, and how it is told."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

from conformance import baseline
from conformance.checking import Check
from conformance.person import Person
from conformance.seeing import CALLS, LISTED, MADE, NOTE, REFUSED, REFUSING, TEXT, connects, differs, sees
from conformance.serving import READER, WRITER, Deployment

__all__ = ["authorization", "clients", "connections", "inspector", "suite"]

HERE: Final = Path(__file__).parent
PACKAGES: Final = HERE / "node_modules"
VERSIONS: Final = json.loads((HERE / "package.json").read_text(encoding="utf-8"))["dependencies"]

SUITE: Final = str(PACKAGES / "@modelcontextprotocol/conformance/dist/index.js")
SUITE_NAMED: Final = f"conformance suite {VERSIONS['@modelcontextprotocol/conformance']}"
AUTHORIZATION: Final = (
    "authorization-server-metadata-endpoint: 2 passed, 0 failed",
    "authorization-code-grant: 1 passed, 0 failed",
)
"""What the suite says of an authorization server that is asked everything: a scenario that it skips is no failure to it."""
INSPECTOR: Final = str(PACKAGES / "@modelcontextprotocol/inspector/clients/launcher/build/index.js")
INSPECTOR_NAMED: Final = f"Inspector {VERSIONS['@modelcontextprotocol/inspector']}"
ERAS: Final = ("modern", "legacy")
"""What the Inspector calls the revision without a handshake and those with one."""
REMOTE: Final = str(PACKAGES / "mcp-remote/dist/proxy.js")

REVISIONS: Final = ("2026-07-28", "2025-11-25")
MODES: Final = {"legacy": REVISIONS[1], "auto": REVISIONS[0], REVISIONS[0]: REVISIONS[0]}
"""How a client may be told to open, and the revision that it then speaks."""
TOOL_REFUSED: Final = 5
"""What the Inspector exits with for a result that `isError`."""


def suite(node: str, url: str, results: Path) -> Iterator[Check]:
    """The conformance suite: all that it has for a server of each revision, also what it does not score yet."""
    for revision in REVISIONS:
        asked = (node, SUITE, "server", "--url", f"{url}/mcp", "--suite", "all", "--spec-version", revision)
        judged = ("--expected-failures", str(baseline.path_of(revision)), "-o", str(results / f"suite-{revision}"))
        yield Check(f"{SUITE_NAMED}, server at {revision}", (*asked, *judged), wrong=partial(baseline.wrong_with, revision))


def authorization(node: str, deployment: Deployment, person: Person) -> Iterator[Check]:
    """The conformance suite for an authorization server."""
    program = (sys.executable, "-m", "conformance.authorizing", node, SUITE, deployment.url, person.name, person.password)
    yield Check(f"{SUITE_NAMED}, authorization server", program, wrong=_lacks(*AUTHORIZATION))


def inspector(node: str, deployment: Deployment) -> Iterator[Check]:
    """The Inspector's command line, which says of a tool's schema where some client would not take it."""

    def asking(era: str, what: str, *asked: str, code: int = 0, wrong: Callable[[dict[str, Any]], str]) -> Check:
        told = [node, INSPECTOR, "--cli", f"{deployment.url}/mcp", "--transport", "http", "--protocol-era", era]
        told += ["--header", f"Authorization: Bearer {deployment.tokens[WRITER]}", "--format", "json", *asked]
        return Check(
            f"{INSPECTOR_NAMED}, {era}: {what}",
            tuple(told),
            {"HOME": str(deployment.data)},  # it keeps a folder there
            code,
            lambda printed: wrong(json.loads(printed.splitlines()[0])["result"]),
        )

    def listed(result: dict[str, Any]) -> str:
        return differs([tool["name"] for tool in result["tools"]], LISTED)

    def called(wanted: object, result: dict[str, Any]) -> str:
        return differs(result["structuredContent"], wanted)

    call = ("--method", "tools/call", "--tool-name")
    text = f"text={TEXT}"
    for era in ERAS:
        yield asking(era, "list, strictly", "--method", "tools/list", "--strict", wrong=listed)
        yield asking(era, "call", *call, NOTE, "--tool-arg", text, wrong=partial(called, MADE))
        yield asking(era, "refused call", *call, REFUSING, code=TOOL_REFUSED, wrong=partial(called, REFUSED))


def clients(node: str, deployment: Deployment) -> Iterator[Check]:
    """The libraries that clients are made with; and mcp-remote, which a client starts to reach a server over HTTP."""
    url = f"{deployment.url}/mcp"
    env = {
        "CONFORMANCE_TOKENS": f"{deployment.tokens[WRITER]} {deployment.tokens[READER]}",
        "CONFORMANCE_CALLS": json.dumps(CALLS),
        "MCP_REMOTE_CONFIG_DIR": str(deployment.data),
    }

    def typescript(package: str, script: str, mode: str) -> Check:
        told = (node, str(HERE / "clients" / script), url, mode)
        return Check(f"{package} {VERSIONS[package]}, {mode}", told, env, wrong=sees(MODES[mode]))

    def python(named: str, mode: str, *to: str) -> Check:
        told = (sys.executable, "-m", "conformance.clients.official", mode, *to)
        return Check(f"{named}, {mode}", told, env, wrong=sees(MODES[mode]))

    yield typescript("@modelcontextprotocol/sdk", "sdk.mjs", "legacy")
    for mode in MODES:
        yield typescript("@modelcontextprotocol/client", "client.mjs", mode)
    for mode in MODES:
        yield python("Python client over HTTP", mode, url)
        yield python("Python client over stdio", mode, "--", *deployment.over_stdio())
    remote = (*_remote(node, url), "--header", "Authorization: Bearer ${MERIDIAN_TOKEN}")
    for mode in ("legacy", "auto"):
        yield python(f"mcp-remote {VERSIONS['mcp-remote']}", mode, "--", *remote)


def connections(node: str, deployment: Deployment, person: Person, document: str = "") -> Iterator[Check]:
    """The same programs, given the surface's address and nothing else; `person` consents in the browser that they open.

    Each registers; or says that the document at that address describes it, where there is one.
    """
    url = f"{deployment.url}/mcp"
    own = (sys.executable, "-m")
    described = ("--client-metadata-url", document) if document else ()

    def connecting(named: str, mode: str, *command: str, **more: str) -> Check:
        name = f"{named}, {mode}: by the address alone{', described by a document' if document else ''}"
        folder = deployment.data / "clients" / f"{named} {mode}".replace("/", " ")
        told = (*own, "conformance.connecting", deployment.url, person.name, person.password, str(folder), *command)
        env = {"CONFORMANCE_CALLS": json.dumps(CALLS), "CONFORMANCE_DOCUMENT": document, "MCP_REMOTE_CONFIG_DIR": str(folder)}
        return Check(name, told, env, wrong=connects(described=bool(document), **more))

    for package, script, mode in (
        ("@modelcontextprotocol/sdk", "sdk.mjs", "legacy"),
        ("@modelcontextprotocol/client", "client.mjs", "legacy"),
        ("@modelcontextprotocol/client", "client.mjs", "auto"),
    ):
        program = (node, str(HERE / "clients" / script), url, mode)
        yield connecting(f"{package} {VERSIONS[package]}", mode, *program, protocol=MODES[mode])
    official = (*own, "conformance.clients.official")
    for mode in ("legacy", "auto"):
        yield connecting("Python client", mode, *official, mode, url, protocol=MODES[mode])
        remote = (*official, mode, "--", *_remote(node, url), *described)
        yield connecting(f"mcp-remote {VERSIONS['mcp-remote']}", mode, *remote, protocol=MODES[mode])
    for era in ERAS:
        program = (*own, "conformance.clients.inspector", node, INSPECTOR, url, era, *described)
        yield connecting(INSPECTOR_NAMED, era, *program)


def _remote(node: str, url: str) -> tuple[str, ...]:
    """The command of mcp-remote, which gives over stdio what is at the URL."""
    return (node, REMOTE, url, "--allow-http", "--transport", "http-only")


def _lacks(*lines: str) -> Callable[[str], str]:
    """What is wrong with what was printed: the lines that are not in it."""

    def wrong(printed: str) -> str:
        lacking = [line for line in lines if line not in printed]
        return f"it did not say: {'; '.join(lacking)}" if lacking else ""

    return wrong
