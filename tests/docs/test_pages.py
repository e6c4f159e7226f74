"""Every Python block of the README and of `docs/` runs, page by page from top to bottom, and shown output is compared.

A block under `<!-- file: NAME -->` is a file that the page's reader writes; blocks of one name are parts of one file, in order.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from sybil.document import Document
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser

ROOT = Path(__file__).parents[2]
FOUND = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = {page.relative_to(ROOT).with_suffix("").as_posix(): page for page in FOUND}
FILE = re.compile(r"<!-- file: (?P<name>\S+) -->\n```\w+\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
SECONDS_TO_INSTALL = 300

BALANCE = {"account": "A-1", "ticker": "ACME", "as_of": "2026-01-31", "reason": "Checked.", "lots": [{"quantity": "12.50"}]}

every_page = pytest.mark.parametrize("page", PAGES.values(), ids=list(PAGES))


def write_files(page: Path, folder: Path) -> None:
    """Write what the page has its reader write."""
    texts: dict[str, list[str]] = {}
    for found in FILE.finditer(page.read_text(encoding="utf-8")):
        texts.setdefault(found["name"], []).append(found["text"])
    for name, parts in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("\n\n".join(parts), encoding="utf-8")


@pytest.fixture
def module(tmp_path: Path) -> Iterator[ModuleType]:
    """A module for the page's blocks to run in, since a record finds the names of its annotations in its module."""
    module = ModuleType("a_page_of_the_documentation")
    module.__file__ = str(tmp_path / "page.py")
    sys.modules[module.__name__] = module
    yield module
    del sys.modules[module.__name__]


@every_page
def test_a_page_runs_from_top_to_bottom(page: Path, module: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write_files(page, tmp_path)
    monkeypatch.chdir(tmp_path)
    document = Document.parse(str(page), PythonCodeBlockParser(), SkipParser())
    document.namespace = vars(module)
    for example in document:
        example.evaluate()


@every_page
def test_a_page_links_only_to_what_is_there(page: Path):
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if "://" not in link and not (page.parent / link).exists()] == []


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """This repository as a clone has it: what a newcomer installs, and nothing that was made since."""
    clone = tmp_path / "clone"
    shutil.copytree(ROOT / "src", clone / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, clone)
    return clone


def test_the_first_page_s_commands_install_and_serve_as_they_are_written(clone: Path, tmp_path: Path):
    """In one shell, from the clone on; only the port is another, since the written one may be taken here."""
    page = PAGES["docs/index"]
    commands = re.findall(r"^ {4}(\S.*)$", CODE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    assert (commands[0], commands[-1]) == ("python3 -m venv .venv", "meridian serve lots:pages --demo")
    write_files(page, tmp_path / "lots")
    log = tmp_path / "log"
    environment = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    *before, last = commands
    with log.open("w") as out:
        script = "\n".join(["set -e", *before, f"exec {last} --port 0"])
        shell = subprocess.Popen(
            ["/bin/sh", "-c", script],
            cwd=clone,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        until = time.monotonic() + SECONDS_TO_INSTALL
        while "Ctrl-C ends it." not in log.read_text() and shell.poll() is None and time.monotonic() < until:
            time.sleep(0.2)
        assert "Meridian serves lots=lots:pages" in log.read_text(), log.read_text()
        shell.send_signal(signal.SIGINT)
        assert shell.wait(60) == 0, log.read_text()
    finally:
        shell.kill()


def test_the_first_page_ends_in_a_working_plugin(tmp_path: Path, serve: Any, within: Any):
    write_files(PAGES["docs/index"], tmp_path)
    running = serve("lots:pages")
    writer = running.people["demo-writer"]

    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    browser.open(writer["sign_in_url"]).close()
    with browser.open(f"{running.url}/lots/open/") as page:
        drawn = re.findall(r'name="([a-z][^"]*)"', page.read().decode())
    assert {"account", "ticker", "as_of", "reason", "lots[0].quantity", "lots[0].cost", "lots[0].acquired"} <= set(drawn)

    async def record_as_an_agent() -> tuple[set[str], Any]:
        headers = {"Authorization": f"Bearer {writer['client_token']}"}
        async with (
            httpx2.AsyncClient(headers=headers) as http,
            Client(streamable_http_client(running.mcp_url, http_client=http)) as client,
        ):
            offered = await client.list_tools()
            answered = await client.call_tool("lots__confirm_lots", BALANCE)
            return {tool.name for tool in offered.tools}, answered.structured_content

    offered, answered = within(record_as_an_agent)
    assert {name for name in offered if name.startswith("lots__")} == {"lots__confirm_lots", "lots__list_positions"}
    assert (answered["outcome"], answered["data"]["account"], answered["data"]["client_name"]) == ("made", "A-1", "Demo client")
