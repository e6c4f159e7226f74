"""Every Python block of the README and of `docs/` runs, page by page from top to bottom, and shown output is compared."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from sybil.document import Document
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.fixture
def module(request: pytest.FixtureRequest) -> Iterator[ModuleType]:
    """A module for the page's blocks to be written in, as its reader would write them in a file."""
    module = ModuleType(f"page_{request.node.callspec.id.replace('-', '_').replace('/', '_')}")
    sys.modules[module.__name__] = module
    yield module
    del sys.modules[module.__name__]


@pytest.mark.parametrize("page", PAGES, ids=[page.relative_to(ROOT).with_suffix("").as_posix() for page in PAGES])
def test_a_page_runs_from_top_to_bottom(page: Path, module: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    document = Document.parse(str(page), PythonCodeBlockParser(), SkipParser())
    document.namespace = vars(module)
    for example in document:
        example.evaluate()


@pytest.mark.parametrize("page", PAGES, ids=[page.relative_to(ROOT).with_suffix("").as_posix() for page in PAGES])
def test_a_page_links_only_to_what_is_there(page: Path):
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8"))
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert missing == []
