"""The documentation names the clients at the versions that are asked with."""

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
VERSIONS = json.loads((ROOT / "conformance/package.json").read_text(encoding="utf-8"))["dependencies"]


@pytest.mark.parametrize(("package", "version"), VERSIONS.items())
def test_the_page_names_the_version_that_is_pinned(package, version):
    lock = json.loads((ROOT / "conformance/package-lock.json").read_text(encoding="utf-8"))["packages"]
    said = (
        (ROOT / "docs/deployment.md")
        .read_text(encoding="utf-8")
        .partition("### Which clients are tested")[2]
        .partition("\n#")[0]
    )
    assert (lock[f"node_modules/{package}"]["version"], f" {version}" in said) == (version, True)
