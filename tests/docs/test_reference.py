"""Every public name has its entry in the reference, and every entry is a public name."""

import importlib
import re
from pathlib import Path

import pytest

REFERENCE = (Path(__file__).parents[2] / "docs" / "reference.md").read_text(encoding="utf-8")

MODULES = ["meridian", "meridian.commands", "meridian.pages", "meridian.records", "meridian.testing"]


def entries() -> dict[str, list[str]]:
    """The names that the reference has entries for, by the module whose heading they stand under.

    An entry is a heading, or a row of a table, that begins with the name in backquotes; a call's parentheses are no part of it.
    """
    found: dict[str, list[str]] = {}
    module = ""
    for line in REFERENCE.splitlines():
        heading = re.fullmatch(r"## `(meridian[\w.]*)`.*", line)
        if heading:
            module = heading[1]
        elif line.startswith(("### ", "| `")):
            first_cell = line.removeprefix("### ").removeprefix("| ").split(" | ")[0]
            found.setdefault(module, []).extend(re.findall(r"`(\w+)[^`]*`", first_cell))
    return found


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_has_an_entry(module: str):
    public = importlib.import_module(module).__all__
    assert sorted(set(public) - set(entries().get(module, []))) == []


@pytest.mark.parametrize("module", MODULES)
def test_every_entry_is_a_public_name(module: str):
    public = importlib.import_module(module).__all__
    assert sorted(set(entries().get(module, [])) - set(public)) == []
