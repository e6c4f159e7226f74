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


def press(page: Page, name: str, role: Any = "button", **which: Any) -> None:
    """Press a button or follow a link, and wait for the page that answers it."""
    with page.expect_navigation(wait_until="load"):
        page.get_by_role(role, name=name, **which).first.click()


def test_the_whole_journey_without_scripts(page: Page):
    press(page, "Open Opening balance", "link")
    page.get_by_label("Statement file").set_input_files(SAMPLE)
    press(page, "Read the statement")
    page.get_by_label("Reason").fill("Without scripts")
    cell(page, "positions[0].lots[0].cost").fill("1,500")
    press(page, "Record the opening balance")

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
    press(page, "Record the opening balance")

    assert "is recorded as entry" in page.get_by_role("main").get_by_role("status").inner_text()


def test_a_row_is_added_and_removed_by_a_plain_submit_with_everything_typed_kept(served: Any, page: Page):
    page.goto(f"{served.url}/operations/open/opening")
    cell(page, "account").fill("A-2")
    cell(page, "positions[0].instrument.identifier").fill("SMPL")
    cell(page, "positions[0].lots[0].cost").fill("1,500")
    cell(page, "positions[1].instrument.identifier").fill("GONE")
    press(page, "Add a row to Positions")
    added = typed(page, ".identifier")
    assert list(added.values())[:3] == ["SMPL", "GONE", ""]
    assert page.title().startswith("Opening balance")
    assert page.locator("[autofocus]").get_attribute("name") == "positions[2].instrument.identifier"

    press(page, "Remove row 2", exact=True)
    left = [value for value in typed(page, ".identifier").values() if value]
    assert (left, cell(page, "account").input_value()) == (["SMPL"], "A-2")
    assert [value for value in typed(page, ".cost").values() if value] == ["1,500"]

    press(page, "Add a row to Lots")
    assert list(typed(page, ".quantity"))[:2] == ["positions[0].lots[0].quantity", "positions[0].lots[1].quantity"]


def test_what_takes_a_script_is_not_promised(served: Any, page: Page):
    page.goto(f"{served.url}/operations/open/opening")
    assert "Ctrl+Enter" not in page.content()


def test_a_session_is_ended_from_within_a_plugin(served: Any, signed_in: Callable[..., Page]):
    page = signed_in("demo-reader", java_script_enabled=False)
    page.goto(f"{served.url}/operations/view/")
    page.get_by_role("link", name="Sign out").click()
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/sign-in")


def test_a_session_is_ended_without_scripts(signed_in: Callable[..., Page]):
    page = signed_in("demo-newcomer", java_script_enabled=False)
    press(page, "Sign out")
    page.wait_for_url("**/sign-in")
