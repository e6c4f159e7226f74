"""The plugins, what is held there and who else asks: told to a person on pages, and to their client by tools, alike."""

import json
import re

import pytest

from deployment.running.serving import TO_LOOK
from meridian.deployment import delegations
from meridian.deployment.access import AccessRow
from meridian.deployment.delegations import Covers

pytestmark = pytest.mark.anyio


def told(page: str) -> dict:
    """What a page says of itself to whoever reads it as data."""
    return json.loads(re.search(r'<script type="application/ld\+json">(.*?)</script>', page, re.DOTALL)[1])


def lent(running, subject, *rows, everything=False, name="Notes"):
    """A token for a client that may reach these rows."""
    store, clock = running.deployment.store, running.clock
    if not everything:
        return delegations.make_by_hand(store, subject, name, rows, 7, now=clock())
    with store.write() as connection:
        made = delegations.make(
            connection,
            subject=subject,
            client="https://notes.example",
            client_name=name,
            covers=Covers(everything=True),
            days=7,
            now=clock(),
        )
        token = "mrd_" + "x" * 40
        delegations._write_token(connection, made, token)
    return made, token


async def ask(running, subject, tool, arguments=None, token=None):
    async with running.client(subject, token=token) as client:
        return (await client.call_tool(f"dashboard__{tool}", arguments or {})).structured_content


async def test_a_person_and_their_client_are_told_the_same(running):
    writer = running.browser("demo-writer")
    for path, tool, arguments in (
        ("/plugins", "list_plugins", {}),
        ("/plugins/access", "read_plugin_access", {"instance": "desk"}),
        ("/plugins/summary", "read_plugin_summary", {"instance": "desk"}),
    ):
        page = writer.get(f"/dashboard/view{path}", params=arguments)
        assert (page.status_code, told(page.text)) == (200, await ask(running, "demo-writer", tool, arguments))


async def test_what_is_held_and_what_is_lent_are_told_apart(running):
    _, token = lent(running, "demo-writer", AccessRow("desk", "operations", "read"))
    access = (await ask(running, "demo-writer", "read_plugin_access", {"instance": "desk"}, token))["data"]
    assert access == {
        "instance": "desk",
        "held": [
            {"role": "operations", "level": "write", "accounts": "A-1, A-2", "lent": False},
            {"role": "operations", "level": "read", "accounts": "A-1, A-2", "lent": True},
        ],
    }
    summary = (await ask(running, "demo-writer", "read_plugin_summary", {"instance": "desk"}, token))["data"]
    assert [(each["name"], each["acts"], each["level"]) for each in summary["tools"]] == [("desk__list_open", False, "read")]


async def test_a_client_is_told_of_no_plugin_that_it_does_not_reach(running):
    said = [
        await ask(running, "demo-custody", "read_plugin_summary", {"instance": instance}) for instance in ("dashboard", "none")
    ]
    assert [each["reason"] for each in said] == ["unknown", "unknown"]
    assert [each["fields"][0]["path"] for each in said] == ["instance", "instance"]


async def test_a_client_that_reaches_nothing_is_listed_nothing_of_the_dashboard(running):
    refused = await ask(running, "demo-newcomer", "list_plugins")
    assert (refused["outcome"], refused["reason"]) == ("refused", "not_served")


async def test_a_client_sees_its_person_s_clients_and_nobody_else_s(running):
    made, token = lent(running, "demo-writer", everything=True)
    found = (await ask(running, "demo-writer", "list_my_delegations", token=token))["data"]["delegations"]
    assert [(each["client"], each["lent"], each["this_client"]) for each in found] == [
        ("Notes", ["everything, as that changes"], True),
        ("Demo client", ["write on Desk, operations"], False),
    ]
    assert {each["delegation_id"] for each in found} == {
        each.id for each in delegations.held_by(running.deployment.store, "demo-writer")
    }
    delegations.revoke(running.deployment.store, found[1]["delegation_id"], by="demo-writer", now=running.clock())
    found = (await ask(running, "demo-writer", "list_my_delegations", token=token))["data"]["delegations"]
    assert [each["delegation_id"] for each in found] == [made.id]


async def test_a_client_hears_what_its_person_does_so_that_it_may_ask_for_longer(running):
    _, token = lent(running, "demo-writer", everything=True)
    found = (await ask(running, "demo-writer", "list_my_delegations", token=token))["data"]["delegations"]
    assert {each["client"]: each["to_go_on"].split(",")[0] for each in found} == {
        "Notes": "Connect it anew",
        "Demo client": "Make it another token under Connected clients",
    }


def fields_of(schema, at=""):
    """Each field of the records that a schema describes, by its path, with what is said of it."""
    for name, each in schema.get("properties", {}).items():
        yield f"{at}{name}", each.get("description")
        yield from fields_of(each, f"{at}{name}.")
    for each in (schema.get("items"), *schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("$defs", {}).values()):
        if each:
            yield from fields_of(each, at)


async def test_every_tool_of_the_dashboard_describes_each_field_of_what_it_takes_and_answers(running):
    async with running.client("demo-admin") as client:
        tools = (await client.list_tools()).tools
    assert [each.name for each in tools] == TO_LOOK
    said = [
        (each.name, path, words)
        for each in tools
        for schema in (each.input_schema, each.output_schema["properties"]["data"])
        for path, words in fields_of(schema)
    ]
    assert {path.rpartition(".")[2] for _, path, _ in said} >= {"instance", "roles", "accounts", "delegation_id", "to_go_on"}
    assert [(name, path) for name, path, words in said if not words] == []
