"""The project's own files say the same thing."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXAMPLE = tomllib.loads((ROOT / "examples/opening_balance/pyproject.toml").read_text(encoding="utf-8"))["project"]

FOR_CHECKING_ALONE = {"mypy", "ruff", "types-jsonschema", "pytest", "pytest-xdist"}
"""What looks at the code and is no part of it needs no page of its own."""


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[\[<>=~! ]", requirement)[0] for requirement in requirements}


def test_the_core_stands_on_four_libraries():
    assert names(PROJECT["dependencies"]) == {"starlette", "jinja2", "python-multipart", "typing-extensions"}


def test_every_dependency_has_its_reason_written_down():
    extras = [requirement for extra in PROJECT["optional-dependencies"].values() for requirement in extra]
    needed = names([*PROJECT["dependencies"], *extras, *EXAMPLE["dependencies"]]) - {"meridian-plugins"} - FOR_CHECKING_ALONE
    reasons = "\n".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "decisions").glob("*.md")).lower()
    assert sorted(name for name in needed if name not in reasons) == []


def test_everyone_is_told_to_use_the_python_that_the_project_takes():
    taken = PROJECT["requires-python"]
    assert (taken, EXAMPLE["requires-python"]) == (">=3.11,<3.14", taken)
    said = [(ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "CONTRIBUTING.md")]
    assert ["Python 3.11, 3.12 or 3.13" in text for text in said] == [True, True]
