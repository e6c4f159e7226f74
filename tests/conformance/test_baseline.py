"""A baseline says of each check it lets fail why, and names none that does not fail."""

from pathlib import Path

import pytest

from conformance import baseline

REVISIONS = sorted(path.stem for path in Path(baseline.__file__).parent.glob("*.yml"))
PRINTED = "Expected failures (in baseline):\n  ~ prompts-list:prompts-list\n"


@pytest.fixture
def written(tmp_path, monkeypatch):
    """A function that writes a baseline of these entries, and answers what is wrong with it by what the suite printed."""
    monkeypatch.setattr(baseline, "path_of", lambda revision: tmp_path / f"{revision}.yml")

    def wrong(*entries: str) -> str:
        baseline.path_of("2026-07-28").write_text("server:\n" + "".join(f"  {entry}\n" for entry in entries))
        return baseline.wrong_with("2026-07-28", PRINTED)

    return wrong


def test_an_entry_that_the_suite_saw_fail_and_that_says_why_is_right(written):
    assert written("- prompts-list:prompts-list  # no prompts are offered") == ""


def test_an_entry_that_the_suite_never_came_to_is_stale(written):
    assert written("- prompts-list:prompts-list  # no prompts are offered", "- tools-list:misspelt  # it is not there") == (
        "stale in the baseline, as the suite did not see it fail: tools-list:misspelt"
    )


@pytest.mark.parametrize(
    "entry", ["- prompts-list:prompts-list", "- prompts-list  # all of it", "- prompts-list:prompts-list  #"]
)
def test_an_entry_is_one_check_and_says_why(written, entry):
    assert written(entry) == f"an entry is one check and why, like '- scenario:check  # no prompts are offered': {entry}"


@pytest.mark.parametrize("revision", REVISIONS)
def test_each_entry_of_ours_says_why(revision):
    assert "an entry is one check and why" not in baseline.wrong_with(revision, "")
    assert baseline.wrong_with(revision, "").startswith("stale in the baseline")
