"""What a plugin can do with the header it is asked with: be asked, and send commands for that call while it is open."""

from dataclasses import replace
from datetime import date, timedelta

import anyio
import httpx2
import pytest

from meridian.callers import Accounts, Holding
from meridian.commands import ListAccounts, RecordOpeningBalance
from meridian.errors import Refusal
from meridian.pages import assertion

OPEN = "/thief/open"
HEADER = assertion.HEADER
FORM = "application/x-www-form-urlencoded"


@pytest.fixture
def taken(running, heard):
    """The thief's page was asked by the demo's writer; what it met."""
    browser = running.browser("demo-writer")

    def take(doing=None):
        if doing is not None:
            heard["doing"] = doing
        hosted = running.deployment.gateway.hosted["thief"]
        heard["body"] = f"csrf={assertion.form_token(hosted.key, 'demo-writer', 'thief', 'write')}".encode()
        answer = browser.post(f"{OPEN}/take", content=heard["body"], headers={"content-type": FORM})
        assert answer.status_code == 200
        return heard

    return take


def ask(
    app, path: str, header: str, *, method: str = "POST", body: bytes = b"{}", query: str = "", kind: str = "application/json"
) -> httpx2.Response:
    """A plugin's application, asked without the gateway."""

    async def asking() -> httpx2.Response:
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://meridian") as client:
            return await client.request(method, f"{path}{query}", content=body, headers={HEADER: header, "content-type": kind})

    return anyio.run(asking)


def test_a_plugin_cannot_ask_another_plugin_s_route_with_the_header_it_was_asked_with(running, taken):
    header = taken()["caller"].header
    for path in ("/confirm", "/open", "/take"):
        assert ask(running.deployment.gateway.hosted["desk"].app, path, header).status_code == 401


def test_nor_with_a_header_that_it_makes_itself_for_the_other(running, taken):
    caller, hosted = taken()["caller"], running.deployment.gateway.hosted
    body = b'{"account": "A-1", "reason": "stolen"}'
    claims = assertion.Claims(
        replace(caller, tool_name="confirm"), "desk", "POST", "/confirm", "", assertion.digest(body), "C-1", 4_000_000_000, True
    )
    for key in (hosted["thief"].key, b"\0" * 32):
        assert ask(hosted["desk"].app, "/confirm", assertion.write(claims, key, key), body=body).status_code == 401


@pytest.mark.parametrize(
    "more",
    [
        {"path": "/"},
        {"method": "PUT"},
        {"body": b'{"other": 1}'},
        {"query": "?more=1"},
    ],
    ids=["another path", "another method", "another body", "another query"],
)
def test_a_header_that_is_used_again_for_another_request_is_no_use(running, taken, more):
    heard = taken()
    thief = running.deployment.gateway.hosted["thief"].app
    true = {"path": "/take", "header": heard["caller"].header, "body": heard["body"], "kind": FORM}
    assert [ask(thief, **each).status_code for each in (true, true | more)] == [200, 401]


def test_nor_after_its_moment_nor_at_the_same_plugin_under_another_name(running, taken):
    heard, hosted = taken(), running.deployment.gateway.hosted
    true = {"path": "/take", "header": heard["caller"].header, "body": heard["body"], "kind": FORM}
    assert ask(hosted["twin"].app, **true).status_code == 401
    running.clock.moved = timedelta(hours=1)
    assert ask(hosted["thief"].app, **true).status_code == 401


@pytest.mark.parametrize("tool", ["thief__confirm", "desk__take", "dashboard__confirm", "desk__thief__take", "desk/confirm"])
def test_a_tool_is_its_own_instance_s_alone(running, tool):
    result = running.rpc("demo-writer", "tools/call", name=tool, arguments={"account": "A-1", "reason": "r"}).json()["result"]
    assert (result["isError"], result["structuredContent"]["reason"]) == (True, "unknown_tool")


async def _send(request, command):
    try:
        return await request.plugin.send(command, acting_for=request.caller.header)
    except Refusal as no:
        return no.reason


def test_a_header_is_no_use_at_the_door_once_its_call_is_answered(running, taken):
    kept = taken()
    plugin, header = kept["plugin"], kept["caller"].header

    async def later():
        await plugin.send(ListAccounts(), acting_for=header)

    with pytest.raises(Refusal) as refused:
        anyio.run(later)
    assert refused.value.reason == "call_closed"


def test_while_it_is_open_the_door_takes_no_caller_that_the_plugin_made(running, taken, heard):
    key = running.deployment.gateway.hosted["thief"].key
    everything = {"operations": Holding(frozenset({"write", "read"}), Accounts(all=True), Accounts(all=True))}

    async def forge(request):
        claims = assertion.read(request.caller.header, now=0, instance_key=key)
        forged = assertion.Claims(
            replace(claims.caller, holdings=everything, header=""),
            "thief", "POST", "/take", "", claims.body_sha256, claims.call_id, claims.expires_at, True,
        )  # fmt: skip
        header = assertion.write(forged, key, key)
        balance = RecordOpeningBalance("A-3", date(2026, 1, 2), [], "stolen")
        came = []
        for acting_for in (header, header.replace(header.split(".")[1], request.caller.header.split(".")[1])):
            try:
                came.append(await request.plugin.send(balance, acting_for=acting_for))
            except Refusal as no:
                came.append(no.reason)
        return came

    assert taken(forge)["did"] == ["not_asserted", "not_asserted"]


def test_a_plugin_sends_nothing_in_another_s_name(running, taken, heard):
    """With its own true header, through the handle of another instance."""
    desk = running.deployment.gateway.hosted["desk"].app.plugin

    async def as_the_other(request):
        try:
            return await desk.send(ListAccounts(), acting_for=request.caller.header)
        except Refusal as no:
            return no.reason

    assert taken(as_the_other)["did"] == "not_asserted"
