"""Every Python block of the README and of `docs/` runs, page by page from top to bottom, and shown output is compared.

A block under `<!-- file: NAME -->` is a file that the page's reader writes; blocks of one name are parts of one file, in order.
"""

import re
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from sybil.document import Document
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser

ROOT = Path(__file__).parents[2]
FOUND = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = {page.relative_to(ROOT).with_suffix("").as_posix(): page for page in FOUND}
FILE = re.compile(r"<!-- file: (?P<name>\S+) -->\n```\w+\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)

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


def test_the_first_page_ends_in_a_working_plugin(tmp_path: Path, serve: Any):
    write_files(PAGES["docs/index"], tmp_path)
    running = serve("lots:pages")
    with urllib.request.urlopen(f"{running.url}/sign-in") as answered:
        assert answered.status == 200
    running.end()
