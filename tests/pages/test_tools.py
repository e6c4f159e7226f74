"""A tool is what an agent sees of a route, and every part of it follows from the declaration."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import meridian
from meridian.pages.tools import refuse_name
from meridian.testing import PageClient


@dataclass(frozen=True)
class Ask:
    account: str
    limit: int = 10


@dataclass(frozen=True)
class Held:
    account: str
    quantity: Decimal
    note: str | None = None


def desk() -> PageClient:
    pages = meridian.Pages("Desk")

    @pages.route("/held", levels=["read", "write"], params=Ask, answers=Held, name="held")
    async def held(request: meridian.Request[Ask]) -> meridian.Response:
        if request.params.account == "none":
            pages.refuse("There is no such account.", ("account", "none of that name"), reason="unknown_account")
        return pages.answer(None, Held(request.params.account, Decimal("1.50")))

    @pages.route("/act", levels="write", methods=["POST"], params=Ask, name="act")
    async def act(request: meridian.Request[Ask]) -> meridian.Response:
        return pages.answer(None, {"anything": [request.params.limit, "two"]})

    return PageClient(pages, None)


def test_the_input_schema_is_the_records_portable_one():
    schema = desk().tool("held").input_schema
    assert (schema["type"], schema["required"], schema["additionalProperties"]) == ("object", ["account"], False)
    assert {name: node["type"] for name, node in schema["properties"].items()} == {"account": "string", "limit": "integer"}


def test_a_tool_without_a_record_takes_no_arguments():
    pages = meridian.Pages("Desk")
    pages.page("/", levels="read", answers=Held, name="held")(lambda request: pages.answer(None, Held("A", Decimal(1))))
    client = PageClient(pages, None)
    assert client.tool("held").input_schema == {"type": "object", "properties": {}, "additionalProperties": False}
    assert client.call_tool("held").data == {"account": "A", "quantity": "1"}


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("held", {"account": "A"}),
        ("held", {"account": "none"}),
        ("held", {}),
        ("held", {"account": 1, "limt": 2}),
        ("act", {"account": "A"}),
        ("act", {"limit": "many"}),
    ],
)
def test_every_answer_fits_the_output_schema_a_refusal_too(name: str, arguments: dict[str, Any]):
    client = desk()
    schema = client.tool(name).output_schema
    Draft202012Validator.check_schema(dict(schema))
    said = client.call_tool(name, arguments).json
    assert [error.message for error in Draft202012Validator(dict(schema)).iter_errors(said)] == []


def test_an_answer_whose_data_is_of_no_declared_record_is_a_free_object():
    tool = desk().tool("act")
    assert (tool.output_schema["required"], tool.output_schema["properties"]["data"]["type"]) == (["outcome"], "object")
    assert "properties" not in tool.output_schema["properties"]["data"]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [({"account": "none"}, "unknown_account"), ({}, "not_read"), ({"account": "A", "limit": "2"}, "not_read")],
)
def test_programs_branch_on_a_refusals_reason(arguments: dict[str, Any], reason: str):
    answered = desk().call_tool("held", arguments)
    assert (answered.status, answered.outcome, answered.reason, answered.data) == (422, "refused", reason, None)


@pytest.mark.parametrize("arguments", [{"account": "A", "limit": ""}, {"account": "A", "limit": "null"}])
def test_an_optional_argument_that_is_no_text_may_come_as_an_empty_one_as_some_clients_send_it(arguments: dict[str, Any]):
    assert desk().call_tool("held", arguments).status == 200


def test_a_script_is_held_to_what_it_sends():
    client = desk()
    answered = client.request(
        "POST",
        "/act",
        "write",
        body=b'{"account": "A", "limit": ""}',
        content_type="application/json",
        headers={"Meridian-Form-Token": client.form_token("write")},
    )
    assert (answered.status, [each["path"] for each in answered.json["fields"]]) == (422, ["limit"])


@pytest.mark.parametrize("name", ["a", "confirm_lots", "list2", "c" * 48])
def test_a_name_that_every_client_takes(name: str):
    assert refuse_name(name) is None


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("Confirm", "confirm"),
        ("confirm-lots", "confirm_lots"),
        ("confirm__lots", "confirm_lots"),
        ("_confirm", "confirm"),
        ("confirm.lots", "confirm_lots"),
        ("2nd", "t_2nd"),
        ("", "confirm_lots"),
        ("é", "confirm_lots"),
    ],
)
def test_a_name_that_a_client_would_refuse_is_told_with_one_that_would_do(name: str, instead: str):
    refused = refuse_name(name)
    assert refused is not None
    assert (refused.endswith(f"; write name={instead!r}"), refuse_name(instead)) == (True, None)


# ── Standing in ────────────────────────────────────────────────────────────


def standing_in() -> PageClient:
    pages = meridian.Pages("Desk")

    @pages.route("/file", levels=["read", "write"], methods=["POST"], tool=False, why="a file the person chooses")
    async def upload(request: meridian.Request) -> meridian.Response:
        return pages.answer(None, {"file": (await request.files["statement"].read()).decode()})

    @pages.tool(replaces="/file", params=Ask, answers=Held, reads=True, levels="read", description="Read it.", title="Reading")
    async def read_text(request: meridian.Request[Ask]) -> meridian.Response:
        return pages.answer(None, Held(request.params.account, Decimal(2)))

    return PageClient(pages, None)


def test_a_stand_in_has_its_own_record_answers_words_and_options():
    tool = standing_in().tool("read_text")
    assert (tool.name, tool.title, tool.description, tool.reads, tool.levels, tool.path, tool.method) == (
        "read_text", "Reading", "Read it.", True, ("read",), "/file", "POST",
    )  # fmt: skip


def test_a_stand_in_serves_the_calls_that_name_it_and_the_route_everyone_else():
    client = standing_in()
    assert client.call_tool("read_text", {"account": "A"}).json == {
        "outcome": "unchanged", "data": {"account": "A", "quantity": "2"},
    }  # fmt: skip
    assert client.post("/file", "write", files={"statement": ("s.ofx", b"OFX")}).shows("OFX")


def test_what_a_stand_in_replaces_is_not_offered_and_says_why():
    assert [(str(each), why) for each, why in standing_in().pages.not_offered] == [("POST /file", "a file the person chooses")]


def test_a_claim_of_the_stand_in_is_answered_by_it_whatever_the_body_says_it_is():
    client = standing_in()
    claimed = client.caller("read", tool="read_text", path="/file", body=b"account=A")
    answered = client.request(
        "POST",
        "/file",
        "read",
        body=b"account=A",
        content_type="application/x-www-form-urlencoded",
        headers={"Meridian-Caller": claimed.header},
    )
    assert (answered.status, answered.json["reason"]) == (415, "bad_body")
