"""A change's whole way: an agent prepares it from a statement, a person puts a cell right and makes it, the book names both."""

from collections.abc import Callable
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from playwright.sync_api import Page

PERSON = "demo-writer"


@asynccontextmanager
async def agent(served: Any):
    headers = {"Authorization": f"Bearer {served.people[PERSON]['client_token']}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=20) as http,
        Client(streamable_http_client(served.mcp_url, http_client=http)) as client,
    ):
        yield client


async def prepare(served: Any) -> dict[str, Any]:
    """What the agent is told once it prepared what it read of the sample statement."""
    text = files("opening_balance").joinpath("samples", "statement.ofx").read_text()
    async with agent(served) as client:
        read = (await client.call_tool("operations__read_statement", {"statement": text})).structured_content
        statement = read["data"]["statements"][0]
        arguments = {
            "account": "A-1",
            "as_of": statement["as_of"],
            "reason": "The statement of June",
            "positions": statement["positions"],
        }
        asked = {"tool": "operations__confirm_opening_balance", "arguments": arguments, "reason": "Two lots have no cost."}
        return (await client.call_tool("dashboard__prepare_change", asked)).structured_content


async def read(served: Any, change: str) -> dict[str, Any]:
    async with agent(served) as client:
        told = await client.call_tool("dashboard__read_prepared_change", {"change": change})
        return told.structured_content["data"]


def test_an_agent_prepares_a_person_corrects_a_cell_and_saves_and_the_agent_reads_changed(
    served: Any, signed_in: Callable[..., Page], within: Callable[..., Any], axe: Callable[[Page], list[str]]
):
    told = within(prepare, served)
    assert (told["outcome"], "for somebody who may make it" in told["detail"]) == ("prepared", True)
    page = signed_in(PERSON, reduced_motion="reduce")
    page.goto(served.url)
    page.get_by_role("link", name="Inbox").click()
    assert axe(page) == []
    page.get_by_role("table", name="For you to make").get_by_role("link", name="Record an opening balance").click()
    page.wait_for_url("**/prepared?*")
    assert page.locator("blockquote").inner_text() == "Two lots have no cost."
    assert axe(page) == []
    page.get_by_role("link", name="Look it over, and make it").click()
    page.wait_for_url("**/opening?*")
    page.get_by_text("Prepared by Demo writer, through Demo client").wait_for()
    assert axe(page) == []
    page.locator('[name="positions[0].lots[0].cost"]').fill("1500.75")
    page.get_by_role("button", name="Record the opening balance").click()
    page.wait_for_url("**/positions?*")
    rows = page.get_by_role("table", name="Who recorded what")
    heads = rows.locator("thead th").all_inner_texts()
    [row] = [each.locator("th, td").all_inner_texts() for each in rows.locator("tbody tr").all()]
    entry = dict(zip(heads, row, strict=True))
    assert (entry["Recorded by"], entry["Through"], entry["Prepared by"]) == ("Demo writer", "a browser", "Demo writer")
    change = within(read, served, told["prepared_call_id"])
    assert change["change"]["state"] == "changed"
    assert change["made_with"]["positions"][0]["lots"][0]["cost"] == "1500.75"


def test_two_pages_of_one_change_make_it_once_and_the_second_is_told(
    served: Any, signed_in: Callable[..., Page], within: Callable[..., Any]
):
    told = within(prepare, served)
    first, second = signed_in(PERSON), signed_in(PERSON)
    for page in (first, second):
        page.goto(f"{served.url}/operations/open/opening?meridian.prepared={told['prepared_call_id']}")
    first.get_by_role("button", name="Record the opening balance").click()
    first.wait_for_url("**/positions?*")
    second.get_by_role("button", name="Record the opening balance").click()
    second.get_by_role("heading", name="This change is not to be made from here").wait_for()
    assert "It was made by Demo writer" in second.get_by_role("main").inner_text()
