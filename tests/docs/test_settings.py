"""The page of settings says of each what the record says."""

from dataclasses import MISSING, fields
from pathlib import Path

from meridian.deployment.settings import Settings
from meridian.records import shape_of

PAGE = Path(__file__).parents[2] / "docs" / "deployment.md"


def table() -> str:
    """The settings, a row each."""
    rows = ["| setting | if left out | |", "|---|---|---|"]
    for each in fields(Settings):
        described = shape_of(Settings).field(each.name)
        default = each.default if each.default is not MISSING else ""
        rows.append(f"| `{each.name}` | {f'`{default}`' if default != '' else ''} | {described.description} |")
    return "\n".join(rows)


def test_every_setting_has_its_row():
    assert table() in PAGE.read_text(encoding="utf-8")
