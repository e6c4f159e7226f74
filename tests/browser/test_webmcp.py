"""What an agent in the person's own browser is offered: a drawn form says what tool it is, and every answer what came of it.

Chromium has this behind a flag. Where the one that is here lacks it, what needs it is skipped, and says so.
"""

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

SECONDS_TO_RESPOND = 15

ASKED = {
    "account": "A-2",
    "as_of": "2025-06-30",
    "reason": "Filled in by the browser's agent",
    "positions[0].instrument.identifier": "SMPL",
    "positions[0].lots[0].quantity": "40",
}


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    """A browser with WebMCP switched on."""
    flags = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--enable-features=WebMCPTesting"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=flags)
        yield browser
        browser.close()


@pytest.fixture
def opening(served: Any, signed_in: Callable[..., Page]) -> Page:
    page = signed_in("demo-writer")
    page.goto(f"{served.url}/operations/open/opening")
    return page


def data_of(page: Page) -> list[dict[str, Any]]:
    """What the page says of itself to the browser's agent."""
    return [json.loads(text) for text in page.locator('script[type="application/ld+json"]').all_text_contents()]


def needs_webmcp(page: Page) -> None:
    if not page.evaluate("'modelContext' in document"):
        pytest.skip("this Chromium has no WebMCP, not even behind --enable-features=WebMCPTesting")


def test_a_form_that_acts_is_a_tool_that_a_person_submits(opening: Page):
    form = opening.locator("form[toolname]")
    assert {name: form.get_attribute(name) for name in ("toolname", "toolautosubmit")} == {
        "toolname": "confirm_opening_balance",
        "toolautosubmit": None,
    }
    assert form.get_attribute("tooldescription").startswith("Record what an account held on a day.")
    described = opening.locator("[toolparamdescription]").evaluate_all("inputs => inputs.map(input => input.name)")
    assert described[:4] == ["account", "as_of", "reason", "positions[0].instrument.identifier"]


def test_an_upload_is_no_tool(served: Any, opening: Page):
    opening.goto(f"{served.url}/operations/open/")
    assert opening.locator("form[action*='/statements']").get_attribute("toolname") is None


def test_chromium_makes_a_tool_of_the_form(opening: Page):
    needs_webmcp(opening)
    [tool] = opening.evaluate(
        "async () => (await document.modelContext.getTools()).map(({name, inputSchema}) => ({name, inputSchema}))"
    )
    schema = tool["inputSchema"] if isinstance(tool["inputSchema"], dict) else json.loads(tool["inputSchema"])
    assert (tool["name"], schema["required"]) == ("confirm_opening_balance", ["account", "as_of", "reason"])
    assert ASKED.keys() <= schema["properties"].keys()
    assert "csrf" not in schema["properties"]


def test_a_page_that_answers_says_so_as_data(served: Any, opening: Page):
    opening.goto(f"{served.url}/operations/open/positions?account=A-1")
    assert data_of(opening) == [{"outcome": "unchanged", "data": {"account": "A-1", "positions": []}}]


def test_a_form_drawn_again_says_its_problems_as_data(opening: Page):
    opening.get_by_label("Account").fill("A-2")
    opening.get_by_role("button", name="Record the opening balance").click()
    opening.wait_for_url("**/opening/confirm")
    [told] = data_of(opening)
    assert (told["outcome"], told["reason"], [field["path"] for field in told["fields"]]) == (
        "refused",
        "not_read",
        ["as_of", "reason", "positions"],
    )


def test_a_page_that_refuses_says_so_as_data(served: Any, opening: Page):
    opening.goto(f"{served.url}/operations/open/positions?account=A-3")
    [told] = data_of(opening)
    assert (told["outcome"], told["reason"]) == ("refused", "not_admitted")
    opening.goto(f"{served.url}/operations/open/about")
    [told] = data_of(opening)
    assert (told["outcome"], told["reason"]) == ("refused", "not_served")


def test_the_browser_s_agent_fills_the_form_and_the_person_sends_it(opening: Page):
    needs_webmcp(opening)
    session = opening.context.new_cdp_session(opening)
    told: dict[str, list[dict[str, Any]]] = {"toolsAdded": [], "toolResponded": []}
    session.on("WebMCP.toolsAdded", lambda event: told["toolsAdded"].append(event))
    session.on("WebMCP.toolResponded", lambda event: told["toolResponded"].append(event))
    session.send("WebMCP.enable")

    def first(event: str) -> dict[str, Any]:
        until = time.monotonic() + SECONDS_TO_RESPOND
        while not told[event]:
            assert time.monotonic() < until, f"no {event} came"
            opening.evaluate("0")  # lets the browser's events in
        return told[event][0]

    [tool] = first("toolsAdded")["tools"]
    session.send("WebMCP.invokeTool", {"frameId": tool["frameId"], "toolName": tool["name"], "input": ASKED})
    opening.wait_for_function("document.querySelector('[name=account]').value")
    assert {path: opening.locator(f'[name="{path}"]').input_value() for path in ASKED} == ASKED
    assert told["toolResponded"] == []
    opening.get_by_role("button", name="Record the opening balance").click()
    opening.wait_for_url("**/positions?*")
    responded = first("toolResponded")
    [told] = responded["output"]
    assert (responded["status"], told["outcome"], told["tool"]) == ("Completed", "made", "confirm_opening_balance")
    assert (told["page"]["outcome"], told["page"]["data"]["entry_id"]) == ("unchanged", "E-1")
    assert "meridian." not in opening.url
