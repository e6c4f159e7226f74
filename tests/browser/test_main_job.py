"""The main job: a person in a browser and an agent over MCP record opening balances through one declared route.

One `meridian serve` runs for all of it. The person starts from the sample statement and corrects a cell that did not read; the
agent is the official client, over HTTP and over stdio, lent access by the same person. What each did is read back through the
pages and through the tools.
"""

import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from playwright.sync_api import Browser, Page

PERSON = "demo-writer"

TOOLS = [
    "operations__check_opening_draft",
    "operations__confirm_opening_balance",
    "operations__list_entries",
    "operations__list_positions_held",
    "operations__read_statement",
]

DRAFT = {
    "account": "A-2",
    "as_of": "2025-06-30",
    "reason": "Letter of the custodian, 1 July",
    "positions": [
        {
            "instrument": {"identifier": "999999AA1", "scheme": "CUSIP", "name": "Sample bond fund"},
            "lots": [{"quantity": "12.125", "cost": "1500.25", "acquired": "2019-03-31"}, {"quantity": "3"}],
        }
    ],
}

MONTH_LATER = {**DRAFT, "as_of": "2025-07-31"}

BY_HAND = {
    "account": "A-1",
    "as_of": "2025-06-30",
    "reason": "Another reason, which is no part of a balance",
    "positions": [
        {
            "instrument": {"identifier": "999999AA1", "scheme": "CUSIP", "name": "Sample bond fund"},
            "lots": [{"quantity": "120.5", "cost": "1500.25"}, {"quantity": "30.25"}],
        },
        {
            "instrument": {"identifier": "SMPL", "scheme": "TICKER", "name": "Sample Works & Co, common"},
            "lots": [{"quantity": "40"}],
        },
        {"instrument": {"identifier": "CASH-SWEEP", "name": "Sample cash sweep"}, "lots": [{"quantity": "812.07"}]},
    ],
}
"""What the person records of the sample statement, as JSON."""


@dataclass(frozen=True)
class Journey:
    """What the person saw: the title, the summary and the cell when a cell did not read, and the words once it was recorded."""

    page: Page
    title: str
    summary: list[str]
    focused: bool
    cell: dict[str, str | None]
    problem: str
    kept: str
    recorded: str


@pytest.fixture(scope="module")
def journey(served: Any, browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Journey]:
    """The person's journey, from the one-time link to the book."""
    context = browser.new_context()
    context.set_default_timeout(15_000)
    page = context.new_page()
    page.goto(served.people[PERSON]["sign_in_url"])
    page.get_by_role("link", name="Open Opening balance").click()
    with page.expect_download() as saving:
        page.get_by_role("link", name="sample statement").click()
    statement = tmp_path_factory.mktemp("saved") / saving.value.suggested_filename
    saving.value.save_as(statement)
    page.get_by_label("Statement file").set_input_files(statement)
    page.get_by_role("button", name="Read the statement").click()
    page.get_by_label("Reason").fill("Statement, as the broker sent it")
    cost = page.locator('[name="positions[0].lots[0].cost"]')
    cost.fill("1,500.25")
    page.get_by_role("button", name="Record the opening balance").click()
    page.wait_for_url("**/opening/confirm")
    saw = {
        "title": page.title(),
        "summary": page.locator(".problems a").all_inner_texts(),
        "focused": page.locator(".problems").evaluate("summary => summary === document.activeElement"),
        "cell": {name: cost.get_attribute(name) for name in ("value", "aria-invalid")},
        "problem": page.locator(f"[id='{cost.get_attribute('aria-describedby')}']").text_content(),
        "kept": page.get_by_label("Reason").input_value(),
    }
    page.locator(".problems a").first.click()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("1500.25")
    page.get_by_role("button", name="Record the opening balance").click()
    page.wait_for_url("**/positions?*")
    yield Journey(page, recorded=page.get_by_role("main").get_by_role("status").inner_text(), **saw)
    context.close()


@asynccontextmanager
async def over_http(served: Any, subject: str = PERSON):
    """The official client, connected over HTTP with the person's client token."""
    headers = {"Authorization": f"Bearer {served.people[subject]['client_token']}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=20) as http,
        Client(streamable_http_client(served.mcp_url, http_client=http)) as client,
    ):
        yield client


@asynccontextmanager
async def over_stdio(served: Any, subject: str = PERSON):
    """The official client, which starts `meridian mcp` itself."""
    command = str(Path(sys.executable).with_name("meridian"))
    arguments = ["mcp", "operations=opening_balance:pages", "--data", str(served.data)]
    environment = {"MERIDIAN_TOKEN": served.people[subject]["client_token"]}
    async with Client(StdioServerParameters(command=command, args=arguments, env=environment)) as client:
        yield client


TRANSPORTS = {"http": over_http, "stdio": over_stdio}


def outcome(result: Any) -> dict[str, Any]:
    """The outcome object of a tool's result, which its text says too."""
    assert json.loads(result.content[0].text) == result.structured_content
    assert result.is_error == (result.structured_content["outcome"] == "refused")
    return result.structured_content


async def recording(served: Any, transport: str, draft: dict[str, Any]) -> dict[str, Any]:
    """What an agent meets that lists the tools, checks a draft, confirms it, and confirms it again."""
    async with TRANSPORTS[transport](served) as client:
        return {
            "tools": sorted(tool.name for tool in (await client.list_tools()).tools),
            "checked": outcome(await client.call_tool("operations__check_opening_draft", draft)),
            "first": outcome(await client.call_tool("operations__confirm_opening_balance", draft)),
            "again": outcome(await client.call_tool("operations__confirm_opening_balance", draft)),
            "held": outcome(await client.call_tool("operations__list_positions_held", {"account": draft["account"]})),
        }


@pytest.fixture(scope="module")
def recorded(served: Any, within: Callable[..., Any]) -> dict[str, dict[str, Any]]:
    """What the agent met, over HTTP and then over stdio, on two days of an account."""
    return {
        "http": within(recording, served, "http", DRAFT),
        "stdio": within(recording, served, "stdio", MONTH_LATER),
    }


def calling(served: Any, transport: str, name: str, arguments: dict[str, Any]):
    async def call() -> dict[str, Any]:
        async with TRANSPORTS[transport](served) as client:
            return outcome(await client.call_tool(name, arguments))

    return call


# ── The person ────────────────────────────────────────────────────────────


def test_a_cell_that_did_not_read_says_why_beside_what_was_typed(journey: Journey):
    assert (journey.cell, journey.problem) == (
        {"value": "1,500.25", "aria-invalid": "true"},
        'Problem: "1,500.25" has a comma; write a number, like 1500.25',
    )


def test_the_summary_names_the_cell_and_has_the_focus_and_the_title_begins_with_error(journey: Journey):
    assert (journey.summary, journey.focused, journey.title.partition(" ")[0]) == (
        ['Row 1, lots row 1, cost: "1,500.25" has a comma; write a number, like 1500.25'],
        True,
        "Error:",
    )
    assert journey.kept == "Statement, as the broker sent it"


def test_a_person_s_corrected_balance_is_recorded_and_a_reload_repeats_nothing(journey: Journey):
    entry = re.fullmatch(r"The opening balance is recorded as entry (E-\d+)\.", journey.recorded.strip())
    assert entry
    journey.page.reload()
    shown = journey.page.get_by_role("table", name="Who recorded what").locator("tbody tr")
    assert [cells.split("\t")[0] for cells in shown.all_inner_texts()] == [entry[1]]


# ── The agent ─────────────────────────────────────────────────────────────


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_an_agent_lists_the_tools_of_the_routes(recorded: dict[str, Any], transport: str):
    assert [name for name in recorded[transport]["tools"] if not name.startswith("dashboard__")] == TOOLS


@pytest.mark.parametrize(("transport", "day"), [("http", "2025-06-30"), ("stdio", "2025-07-31")])
def test_an_agent_checks_then_confirms_through_the_person_s_route(recorded: dict[str, Any], transport: str, day: str):
    met = recorded[transport]
    assert met["checked"] == {
        "outcome": "unchanged",
        "data": {"account": "A-2", "as_of": day, "would": "record", "positions": 1, "lots": 2},
    }
    assert (met["first"]["outcome"], met["first"]["data"]["as_of"]) == ("made", day)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_same_act_again_changes_nothing_and_answers_the_same_data(recorded: dict[str, Any], transport: str):
    first, again = recorded[transport]["first"], recorded[transport]["again"]
    assert again == {"outcome": "unchanged", "data": {**first["data"], "outcome": "unchanged"}}


def test_amounts_are_kept_as_they_were_said(recorded: dict[str, Any]):
    [position] = recorded["http"]["held"]["data"]["positions"]
    assert position["lots"] == DRAFT["positions"][0]["lots"]


# ── What the book says of both ────────────────────────────────────────────


def test_the_tools_tell_the_person_s_entry_from_the_agent_s(
    served: Any, journey: Journey, recorded: dict[str, Any], within: Callable[..., Any]
):
    person = within(calling(served, "http", "operations__confirm_opening_balance", BY_HAND))
    agent = recorded["http"]["first"]
    provenance = ("recorded_by", "display_name", "client_name")
    assert {name: person["data"].get(name) for name in provenance} == {
        "recorded_by": PERSON,
        "display_name": "Demo writer",
        "client_name": None,
    }
    assert {name: agent["data"].get(name) for name in provenance} == {
        "recorded_by": PERSON,
        "display_name": "Demo writer",
        "client_name": "Demo client",
    }
    assert (person["outcome"], "delegation_id" in person["data"], bool(agent["data"]["delegation_id"])) == (
        "unchanged",
        False,
        True,
    )


def test_the_pages_tell_the_person_s_entry_from_the_agent_s(served: Any, journey: Journey, recorded: dict[str, Any]):
    def entries(account: str) -> list[dict[str, str]]:
        journey.page.goto(f"{served.url}/operations/open/positions?account={account}")
        table = journey.page.get_by_role("table", name="Who recorded what")
        heads = table.locator("thead th").all_inner_texts()
        rows = [row.locator("th, td").all_inner_texts() for row in table.locator("tbody tr").all()]
        return [dict(zip(heads, row, strict=True)) for row in rows]

    def shown(account: str) -> list[tuple[str, ...]]:
        names = ("As of", "Recorded by", "Through", "Delegation", "Reason")
        return [tuple(entry[name] for name in names) for entry in entries(account)]

    delegation = recorded["http"]["first"]["data"]["delegation_id"]
    none = "—\nnone"
    assert shown("A-1") == [("2025-06-30", "Demo writer", "a browser", none, "Statement, as the broker sent it")]
    assert shown("A-2") == [
        ("2025-07-31", "Demo writer", "Demo client", delegation, DRAFT["reason"]),
        ("2025-06-30", "Demo writer", "Demo client", delegation, DRAFT["reason"]),
    ]


def test_an_agent_reads_the_positions_a_person_recorded(served: Any, journey: Journey, within: Callable[..., Any]):
    held = within(calling(served, "stdio", "operations__list_positions_held", {"account": "A-1"}))
    assert held["outcome"] == "unchanged"
    assert [position["instrument"]["identifier"] for position in held["data"]["positions"]] == [
        "999999AA1",
        "SMPL",
        "CASH-SWEEP",
    ]


def test_what_the_agent_over_http_recorded_the_one_over_stdio_recognises(
    served: Any, recorded: dict[str, Any], within: Callable[..., Any]
):
    again = within(calling(served, "stdio", "operations__confirm_opening_balance", DRAFT))
    assert again == recorded["http"]["again"]


# ── What an agent is told when a call goes wrong ──────────────────────────


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_call_without_arguments_names_what_is_missing_by_path(served: Any, within: Callable[..., Any], transport: str):
    refused = within(calling(served, transport, "operations__confirm_opening_balance", None))
    assert (refused["outcome"], [field["path"] for field in refused["fields"]]) == (
        "refused",
        ["account", "as_of", "reason", "positions"],
    )


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_decimal_sent_as_a_number_is_refused_at_its_path(served: Any, within: Callable[..., Any], transport: str):
    draft = {**DRAFT, "positions": [{**DRAFT["positions"][0], "lots": [{"quantity": 5}]}]}
    refused = within(calling(served, transport, "operations__confirm_opening_balance", draft))
    [field] = refused["fields"]
    assert (refused["outcome"], field["path"]) == ("refused", "positions[0].lots[0].quantity")
    assert "text" in field["message"]


def test_an_account_that_is_not_lent_is_refused_in_words_and_nothing_is_recorded(served: Any, within: Callable[..., Any]):
    refused = within(calling(served, "http", "operations__confirm_opening_balance", {**DRAFT, "account": "A-3"}))
    [field] = refused["fields"]
    assert (refused["outcome"], field["path"]) == ("refused", "account")
    assert "A-3" in field["message"]


def test_a_reader_s_agent_is_offered_the_reads_alone(served: Any, within: Callable[..., Any]):
    async def listed() -> tuple[list[str], dict[str, Any]]:
        async with over_http(served, "demo-reader") as client:
            tools = [tool.name for tool in (await client.list_tools()).tools if not tool.name.startswith("dashboard__")]
            return sorted(tools), outcome(await client.call_tool("operations__confirm_opening_balance", DRAFT))

    tools, refused = within(listed)
    assert tools == ["operations__list_entries", "operations__list_positions_held", "operations__read_statement"]
    assert (refused["outcome"], refused["reason"]) == ("refused", "not_served")
