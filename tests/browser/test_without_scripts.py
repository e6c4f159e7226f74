"""The same pages where scripts are switched off: what a script makes nicer, a plain submit does."""

from collections.abc import Callable
from importlib.resources import files
from typing import Any

import pytest
from playwright.sync_api import Locator, Page

SAMPLE = str(files("opening_balance") / "samples" / "statement.ofx")


@pytest.fixture
def page(signed_in: Callable[..., Page]) -> Page:
    return signed_in("demo-writer", java_script_enabled=False)


def cell(page: Page, path: str) -> Locator:
    return page.locator(f'[name="{path}"]')


def typed(page: Page, ending: str) -> dict[str | None, str]:
    """What stands in the cells of one column, by name."""
    return {each.get_attribute("name"): each.input_value() for each in page.locator(f'table.grid [name$="{ending}"]').all()}


def test_the_whole_journey_without_scripts(page: Page):
    page.get_by_role("link", name="Open Opening balance").click()
    page.get_by_label("Statement file").set_input_files(SAMPLE)
    page.get_by_role("button", name="Read the statement").click()
    page.get_by_label("Reason").fill("Without scripts")
    cell(page, "positions[0].lots[0].cost").fill("1,500")
    page.get_by_role("button", name="Record the opening balance").click()

    cost = cell(page, "positions[0].lots[0].cost")
    assert (page.title().partition(" ")[0], cost.input_value(), cost.get_attribute("aria-invalid")) == (
        "Error:",
        "1,500",
        "true",
    )
    assert cell(page, "reason").input_value() == "Without scripts"
    assert page.locator("[autofocus]").get_attribute("class") == "problems"
    link = page.locator(".problems a")
    assert link.get_attribute("href") == f"#{cost.get_attribute('id')}"
    cost.fill("1500")
    page.get_by_role("button", name="Record the opening balance").click()

    assert "is recorded as entry" in page.get_by_role("main").get_by_role("status").inner_text()


def test_a_row_is_added_and_removed_by_a_plain_submit_with_everything_typed_kept(served: Any, page: Page):
    page.goto(f"{served.url}/operations/open/opening")
    cell(page, "account").fill("A-2")
    cell(page, "positions[0].instrument.identifier").fill("SMPL")
    cell(page, "positions[0].lots[0].cost").fill("1,500")
    cell(page, "positions[1].instrument.identifier").fill("GONE")
    page.get_by_role("button", name="Add a row to Positions").click()
    added = typed(page, ".identifier")
    assert list(added.values())[:3] == ["SMPL", "GONE", ""]
    assert page.title().startswith("Opening balance")
    assert page.locator("[autofocus]").get_attribute("name") == "positions[2].instrument.identifier"

    page.get_by_role("button", name="Remove row 2", exact=True).click()
    left = [value for value in typed(page, ".identifier").values() if value]
    assert (left, cell(page, "account").input_value()) == (["SMPL"], "A-2")
    assert [value for value in typed(page, ".cost").values() if value] == ["1,500"]

    page.get_by_role("button", name="Add a row to Lots").first.click()
    assert list(typed(page, ".quantity"))[:2] == ["positions[0].lots[0].quantity", "positions[0].lots[1].quantity"]


def test_a_session_is_ended_without_scripts(signed_in: Callable[..., Page]):
    page = signed_in("demo-newcomer", java_script_enabled=False)
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/sign-in")
