"""A view meets the record, or decides for itself once it has looked at what did not read."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest

import meridian
from meridian.testing import PageClient

JSON = {"accept": "application/json"}


@dataclass(frozen=True)
class Lot:
    quantity: int
    cost: str = ""


@dataclass(frozen=True)
class Balance:
    account: str
    sure: bool = False
    lots: list[Lot] = field(default_factory=list)


def asked(view: Any, *, method: str = "POST", **options: Any) -> PageClient:
    pages = meridian.Pages("Desk", templates="templates")
    pages.route("/x", **{"levels": "write", "methods": [method], "params": Balance, "name": "x", **options})(view)
    return PageClient(pages, None)


WRONG = {"lots[3].quantity": "many", "lots[3].cost": "1"}


def test_params_read_before_looking_refuses_with_every_field_by_its_path():
    reached: list[Any] = []

    async def view(request: meridian.Request[Balance]) -> meridian.Response:
        reached.append("in")
        reached.append(request.params)
        raise AssertionError

    client = asked(view)
    answered = client.request("POST", "/x", "write", form={**WRONG, "csrf": client.form_token("write")}, headers=JSON)
    assert (answered.status, [each["path"] for each in answered.json["fields"]], reached) == (
        422,
        ["account", "lots[3].quantity"],
        ["in"],
    )


@pytest.mark.parametrize("look", ["reading", "param_errors"])
def test_a_view_that_looked_first_decides_for_itself(look: str):
    seen: list[Any] = []

    async def view(request: meridian.Request[Balance]) -> meridian.Response:
        getattr(request, look)
        seen.extend([request.param_errors[0].path, request.params, request.typed("lots[3].quantity")])
        return client.pages.answer(None, {"looked": True})

    client = asked(view)
    assert client.post("/x", "write", {"account": "A", **WRONG}).status == 200
    assert seen == ["lots[3].quantity", Balance("A"), "many"]


def test_a_record_that_cannot_be_built_is_refused_even_after_looking():
    async def view(request: meridian.Request[Balance]) -> meridian.Response:
        assert request.reading.record is None
        return client.pages.answer(None, {"account": request.params.account})

    client = asked(view)
    answered = client.request("POST", "/x", "write", form={"csrf": client.form_token("write")}, headers=JSON)
    assert (answered.status, [each["path"] for each in answered.json["fields"]]) == (422, ["account"])


def test_printing_and_rendering_a_request_is_not_looking():
    async def view(request: meridian.Request[Balance]) -> meridian.Response:
        repr(request)
        return client.pages.answer(None, {"account": request.params.account})

    client = asked(view)
    assert client.post("/x", "write", WRONG).status == 422


def test_a_view_that_never_reads_its_params_is_not_refused():
    client = asked(lambda request: client.pages.answer(None, {"account": ""}))
    assert client.post("/x", "write", WRONG).status == 200


def test_a_route_without_a_record_has_no_params_and_says_so():
    said: list[str] = []

    def view(request: meridian.Request) -> meridian.Response:
        for name in ("params", "reading", "param_errors"):
            with pytest.raises(TypeError) as refused:
                getattr(request, name)
            said.append(str(refused.value))
        return client.pages.answer(None, {})

    client = asked(view, params=None, name="")
    client.post("/x", "write")
    assert said == ["/x declares no record; name one with params= to read its inputs"] * 3


def test_a_view_that_is_not_async_runs_in_a_thread():
    def view(request: meridian.Request[Balance]) -> meridian.Response:
        with pytest.raises(RuntimeError):
            asyncio.get_running_loop()
        return client.pages.answer(None, {})

    client = asked(view)
    assert client.post("/x", "write", {"account": "A"}).status == 200


def test_a_request_tells_who_asks_what_and_how():
    seen: list[Any] = []

    async def view(request: meridian.Request[Balance]) -> meridian.Response:
        seen.append((request.method, request.path, request.query["account"], request.headers["x-note"], request.caller.subject))
        seen.append((request.path_for("/x"), request.path_for("/x", account="A 1", sure=None)))
        with pytest.raises(ValueError, match=r"^nothing is served at '/y'; did you mean /x\?$"):
            request.path_for("/y")
        return client.pages.answer(None, {})

    client = asked(view, method="GET", levels="read")
    client.request("GET", "/x?account=A", "read", headers={"X-Note": "n"})
    assert seen == [
        ("GET", "/x", "A", "n", "person"),
        ("/plugin/view/x", "/plugin/view/x?account=A+1"),
    ]


# ── A GET's query ──────────────────────────────────────────────────────────


def echo(request: meridian.Request[Balance]) -> meridian.Response:
    return meridian.Pages("Desk").answer(None, request.params)


def test_a_query_reads_as_a_form_does():
    client = asked(echo, method="GET", levels="read")
    answered = client.request("GET", "/x?account=A&lots[0].quantity=2&sure=on", "read", headers=JSON)
    assert answered.json["data"] == {"account": "A", "sure": True, "lots": [{"quantity": 2, "cost": ""}]}


def test_a_page_that_needs_a_query_and_has_none_asks_for_it():
    pages = meridian.Pages("Desk")
    pages.page("/x", levels="read", params=Balance, answers=Balance, title="Balance")(echo)
    client = PageClient(pages, None)
    [form] = client.forms("/x", "read")
    assert (client.get("/x", "read").status, form.method, form["account"]) == (200, "get", "")
    answered = form.fill({"account": "A-1"}).submit()
    assert (answered.status, answered.path.partition("?")[0], answered.shows("A-1")) == (200, "/x", True)


def test_a_page_whose_query_did_not_read_asks_again_with_what_was_typed():
    pages = meridian.Pages("Desk")
    pages.page("/x", levels="read", params=Balance, answers=Balance, title="Balance")(echo)
    answered = PageClient(pages, None).get("/x?account=A-1&lots[0].quantity=many", "read")
    [form] = answered.forms
    assert (answered.status, form["account"], form["lots[0].quantity"]) == (422, "A-1", "many")


# ── A tool's arguments (R62, R65) ──────────────────────────────────────────


def test_no_arguments_at_all_are_an_empty_object():
    @dataclass(frozen=True)
    class Filter:
        note: str = "none"

    pages = meridian.Pages("Desk")
    pages.page("/x", levels="read", params=Filter, answers=Filter, name="list_open")(lambda r: pages.answer(None, r.params))
    client = PageClient(pages, None)
    assert client.call_tool("list_open").data == {"note": "none"}
    assert client.call_tool("list_open", body=b"").data == {"note": "none"}


def test_a_missing_argument_is_named_by_its_path():
    answered = asked(echo).call_tool("x")
    assert (answered.status, answered.outcome, answered.paths) == (422, "refused", ["account"])


def test_arguments_that_do_not_read_are_a_refusal_that_says_each_in_its_words():
    answered = asked(echo).call_tool("x", {"account": "A", "lots": [{"quantity": "2"}, {"quantity": 1.5}]})
    assert (answered.status, answered.reason, answered.paths) == (422, "not_read", ["lots[0].quantity", "lots[1].quantity"])
    assert answered.detail is not None
    assert answered.detail.startswith("2 arguments did not read. lots[0].quantity: ")


@pytest.mark.parametrize("body", [b"[]", b'"account"', b"{", b"\xff", b'{"account": NaN}', b'{"account": "A", "account": "B"}'])
def test_bytes_that_are_no_object_are_a_refusal(body: bytes):
    assert asked(echo).call_tool("x", body=body).reason == "not_read"


def test_a_record_may_be_given_as_the_arguments():
    answered = asked(echo).call_tool("x", Balance("A", lots=[Lot(2)]))
    assert answered.data == {"account": "A", "sure": False, "lots": [{"quantity": 2, "cost": ""}]}
