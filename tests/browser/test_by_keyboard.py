"""The whole journey by keyboard alone, and what the kit's script adds: rows in place, a pasted block, one press one act."""

from collections.abc import Callable
from importlib.resources import files
from typing import Any

import pytest
from playwright.sync_api import Locator, Page

SAMPLE = str(files("opening_balance") / "samples" / "statement.ofx")

FOCUSED_NAME = "document.activeElement.name"


def has_focus(locator: Locator) -> bool:
    return locator.evaluate("element => element === document.activeElement")


def focus_is_drawn(page: Page) -> bool:
    """Whether a person can see where the focus is: an outline that is 2 pixels wide at least."""
    style, width = page.evaluate(
        "() => (style => [style.outlineStyle, style.outlineWidth])(getComputedStyle(document.activeElement))"
    )
    return style != "none" and float(width.removesuffix("px")) >= 2


def tab_to(page: Page, wanted: Locator, *, most: int = 150) -> None:
    """Press Tab until `wanted` has the focus, and see that each stop on the way can be seen."""
    wanted.wait_for()
    for _ in range(most):
        page.keyboard.press("Tab")
        assert focus_is_drawn(page), page.evaluate("document.activeElement.outerHTML")
        if has_focus(wanted):
            return
    pytest.fail(f"Tab did not come to {wanted} in {most} presses")


def cell(page: Page, path: str) -> Locator:
    return page.locator(f'[name="{path}"]')


def names(page: Page, ending: str) -> list[str]:
    """The names of the cells of one column, from top to bottom."""
    return page.locator(f'table.grid [name$="{ending}"]').evaluate_all("cells => cells.map(each => each.name)")


def values(page: Page, ending: str) -> list[str]:
    return page.locator(f'table.grid [name$="{ending}"]').evaluate_all("cells => cells.map(each => each.value)")


@pytest.fixture
def blank(served: Any, signed_in: Callable[..., Page]) -> Page:
    """The form of an opening balance with nothing in it yet; a mark on the window tells whether the page was left."""
    page = signed_in("demo-writer")
    page.goto(f"{served.url}/operations/open/opening")
    page.evaluate("window.same = true")
    return page


def test_the_whole_journey_by_keyboard_alone(signed_in: Callable[..., Page]):
    page = signed_in("demo-writer")
    press = page.keyboard.press

    press("Tab")
    assert has_focus(page.get_by_role("link", name="Skip to the content"))
    tab_to(page, page.get_by_role("link", name="Open Opening balance"))
    press("Enter")

    chosen = page.get_by_label("Statement file")
    tab_to(page, chosen)
    with page.expect_file_chooser() as choosing:
        press("Space")
    choosing.value.set_files(SAMPLE)
    tab_to(page, page.get_by_role("button", name="Read the statement"))
    press("Enter")

    tab_to(page, page.get_by_label("Reason"))
    page.keyboard.type("By keyboard alone")
    tab_to(page, cell(page, "positions[0].lots[0].cost"))
    page.keyboard.type("1,500")
    press("Enter")
    assert page.evaluate(FOCUSED_NAME) == "positions[0].lots[1].cost"
    page.keyboard.type("310")
    tab_to(page, page.get_by_role("button", name="Record the opening balance"))
    press("Space")

    page.wait_for_url("**/opening/confirm")
    assert has_focus(page.locator(".problems"))
    press("Tab")
    assert has_focus(page.locator(".problems a"))
    press("Enter")
    assert page.evaluate(FOCUSED_NAME) == "positions[0].lots[0].cost"
    press("ControlOrMeta+a")
    page.keyboard.type("1500")
    tab_to(page, page.get_by_role("button", name="Record the opening balance"))
    press("Enter")

    page.wait_for_url("**/positions?*")
    assert "is recorded as entry" in page.get_by_role("main").get_by_role("status").inner_text()
    tab_to(page, page.get_by_role("link", name="Home", exact=True))


def test_a_session_is_ended_by_keyboard(signed_in: Callable[..., Page]):
    page = signed_in("demo-newcomer")
    tab_to(page, page.get_by_role("button", name="Sign out"))
    page.keyboard.press("Enter")
    page.wait_for_url("**/sign-in")


def test_the_skip_link_leads_past_the_tabs(blank: Page):
    blank.keyboard.press("Tab")
    blank.keyboard.press("Enter")
    blank.keyboard.press("Tab")
    assert has_focus(blank.get_by_role("main").get_by_role("link").first)


def test_a_row_is_added_and_removed_in_place_and_said(blank: Page):
    assert names(blank, ".identifier") == [f"positions[{n}].instrument.identifier" for n in (0, 1)]
    cell(blank, "positions[0].instrument.identifier").fill("SMPL")
    add = blank.get_by_role("button", name="Add a row to Positions")
    add.focus()
    blank.keyboard.press("Enter")
    assert blank.evaluate(FOCUSED_NAME) == "positions[2].instrument.identifier"
    blank.locator("#live", has_text="Row 3 added").wait_for(state="attached")
    blank.keyboard.type("LAST")
    blank.get_by_role("button", name="Remove row 2", exact=True).focus()
    blank.keyboard.press("Space")
    assert blank.evaluate(FOCUSED_NAME) == "positions[2].instrument.identifier"
    blank.locator("#live", has_text="Row 2 removed").wait_for(state="attached")
    assert dict(zip(names(blank, ".identifier"), values(blank, ".identifier"), strict=True)) == {
        "positions[0].instrument.identifier": "SMPL",
        "positions[2].instrument.identifier": "LAST",
    }
    assert blank.evaluate("window.same")


def test_a_lot_is_added_to_the_position_it_stands_under(blank: Page):
    blank.get_by_role("button", name="Add a row to Lots").nth(1).click()
    assert names(blank, ".quantity") == [f"positions[{p}].lots[{n}].quantity" for p, n in ((0, 0), (1, 0), (1, 1))]
    assert blank.evaluate(FOCUSED_NAME) == "positions[1].lots[1].quantity"
    assert blank.evaluate("window.same")


def test_enter_goes_down_and_begins_a_row_below_the_last_one_with_something_in_it(blank: Page):
    cell(blank, "positions[0].instrument.identifier").focus()
    blank.keyboard.type("A")
    blank.keyboard.press("Enter")
    assert blank.evaluate(FOCUSED_NAME) == "positions[1].instrument.identifier"
    blank.keyboard.press("Enter")
    assert blank.evaluate(FOCUSED_NAME) == "positions[1].instrument.identifier"
    blank.keyboard.type("B")
    blank.keyboard.press("Enter")
    assert blank.evaluate(FOCUSED_NAME) == "positions[2].instrument.identifier"
    blank.keyboard.press("Shift+Enter")
    assert blank.evaluate(FOCUSED_NAME) == "positions[1].instrument.identifier"
    assert blank.evaluate("window.same")


def test_a_block_from_a_spreadsheet_fills_cells_and_adds_rows(blank: Page):
    blank.context.grant_permissions(["clipboard-read", "clipboard-write"])
    block = "120.5\t1500.25\t2019-03-31\r\n30.25\t1,000\t\r\n7\t\t2020-02-29\r\n"
    blank.evaluate("block => navigator.clipboard.writeText(block)", block)
    cell(blank, "positions[0].lots[0].quantity").focus()
    blank.keyboard.press("ControlOrMeta+v")
    blank.locator("#live", has_text="9 cells filled in 3 rows").wait_for(state="attached")
    assert [
        [cell(blank, f"positions[0].lots[{n}].{column}").input_value() for column in ("quantity", "cost", "acquired")]
        for n in range(3)
    ] == [["120.5", "1500.25", "2019-03-31"], ["30.25", "1,000", ""], ["7", "", "2020-02-29"]]
    total = blank.locator('output[data-total="positions[0].lots[].quantity"]')
    total.filter(has_text="157.75").first.wait_for()


def test_ctrl_and_enter_sends_the_form_from_any_cell_and_the_page_says_so(blank: Page):
    assert "Ctrl+Enter in any cell presses “Record the opening balance”" in blank.locator(".buttons").inner_text()
    blank.get_by_label("Reason").focus()
    blank.keyboard.press("Control+Enter")
    blank.wait_for_url("**/opening/confirm")
    assert has_focus(blank.locator(".problems"))


def test_a_link_before_the_grid_leads_past_it_to_the_buttons(blank: Page):
    link = blank.get_by_role("link", name="Skip to the buttons")
    blank.get_by_label("Reason").focus()
    tab_to(blank, link, most=3)
    blank.keyboard.press("Enter")
    tab_to(blank, blank.get_by_role("button", name="Record the opening balance"), most=1)


def test_one_press_is_one_act(served: Any, blank: Page):
    cell(blank, "account").fill("A-2")
    cell(blank, "as_of").fill("2025-06-30")
    cell(blank, "reason").fill("Pressed twice")
    cell(blank, "positions[0].instrument.identifier").fill("SMPL")
    cell(blank, "positions[0].lots[0].quantity").fill("40")
    sent: list[str] = []
    blank.on("request", lambda request: sent.append(request.method) if request.method == "POST" else None)
    blank.get_by_role("button", name="Record the opening balance").dblclick()
    blank.wait_for_url("**/positions?*")
    assert sent == ["POST"]
    assert "is recorded as entry" in blank.get_by_role("main").get_by_role("status").inner_text()
