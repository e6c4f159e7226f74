"""Known requests: answered as the SDK would answer them, under their own id, and never with what is another's."""

import json
import re
import time
from pathlib import Path

import anyio
import httpx2
import pytest

from deployment.running.serving import TO_LOOK
from meridian.deployment import calls, delegations, known, surface
from meridian.deployment.app import Deployment
from meridian.deployment.known import Known
from meridian.plugins import find

DESK = Path(__file__).parent / "desk"

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
}
MODERN = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list"}
ERAS = {"modern": (MODERN, {"_meta": META}), "legacy": ({}, {})}


@pytest.fixture(params=ERAS)
def ask(request, running):
    """`ask(request_id)`: the answer to a request for the list with that id, of one era or the other."""
    headers, params = ERAS[request.param]

    def ask(request_id, subject="demo-writer", **more):
        return httpx2.post(
            f"{running.url}/mcp",
            content=json.dumps({"jsonrpc": "2.0", "id": request_id, "method": "tools/list", "params": params, **more}),
            headers={
                "Authorization": f"Bearer {running.token(subject)}",
                "Accept": "application/json, text/event-stream",
                "Content-Type": "application/json",
                **headers,
            },
        )

    return ask


def kept(running):
    return running.deployment.surface._served._kept


def comes_to(look, expected, seconds=5):
    """Whether `look()` comes to what is expected: an answer is kept a moment after its client has it."""
    until = time.monotonic() + seconds
    while look() != expected and time.monotonic() < until:
        time.sleep(0.01)
    return look() == expected


@pytest.mark.parametrize("request_id", [0, 7, -3, 2**53, "", "a", 'a "quoted" \\ one', "1", "x" * 500, "\x00 \x1f \x7f /"])
def test_an_id_is_answered_as_it_was_sent_from_kept_bytes_too(running, ask, request_id):
    first, again, other = ask(1), ask(request_id), ask(request_id)
    assert comes_to(lambda: len(kept(running)), 1)
    assert (again.json()["id"], type(again.json()["id"])) == (request_id, type(request_id))
    assert again.json() == {**first.json(), "id": request_id}
    assert (again.headers["content-type"], again.content) == (first.headers["content-type"], other.content)


@pytest.mark.parametrize("request_id", [None, True, 1.0, 1.5, {"a": 1}, [1], 2**53 + 1, "é", "\ud800"])
def test_an_id_of_another_kind_is_the_sdk_s_to_answer(running, ask, request_id):
    before = ask(request_id)
    ask(1)
    after = ask(request_id)
    assert (before.status_code, before.content) == (after.status_code, after.content)


def test_a_client_is_never_given_another_s_list(running, ask):
    names = {}
    for subject in [*running.people, *running.people]:
        answer = [tool["name"] for tool in ask(1, subject).json()["result"]["tools"]]
        assert names.setdefault(subject, answer) == answer
    assert names["demo-reader"] == ["desk__list_open", *TO_LOOK]
    assert names["demo-custody"] == ["desk__settle", *TO_LOOK]
    assert (names["demo-newcomer"], names["demo-admin"]) == ([], TO_LOOK)


def test_a_request_that_differs_in_anything_else_is_not_answered_from_what_is_kept(running, ask):
    good = ask(1)
    for more in ({"jsonrpc": "1.0"}, {"params": {"cursor": 5}}, {"method": "tools/call"}, {"method": "tools/none"}):
        refused = ask(1, **more)
        assert (refused.status_code, "error" in refused.json()) != (good.status_code, "error" in good.json())
        assert ask(1).content == good.content


def test_headers_that_do_not_fit_are_refused_after_a_list_was_kept(running):
    def ask(**headers):
        return httpx2.post(
            f"{running.url}/mcp",
            json={"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": META}},
            headers={
                "Authorization": f"Bearer {running.token('demo-writer')}", "Accept": "application/json", **MODERN, **headers
            },
        ).status_code  # fmt: skip

    assert [ask(), ask(), ask(**{"Mcp-Method": "tools/call"}), ask(Accept="text/html"), ask()] == [200, 200, 400, 406, 200]


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [
        ("Accept", "application/json", "text/html"),
        ("Content-Type", "application/json", "text/plain"),
        ("MCP-Protocol-Version", "2025-06-18", "2026-07-28"),
    ],
)
def test_headers_of_one_name_are_alike_in_one_order_only(running, name, first, second):
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": META}}
    headers = {
        "Authorization": f"Bearer {running.token('demo-writer')}",
        "Accept": "application/json",
        "Mcp-Method": "tools/list",
    }
    rest = [*(each for each in headers.items() if each[0] != name), ("Content-Type", "application/json")]

    def ask(*values):
        sent = [*(each for each in rest if each[0] != name), *((name, value) for value in values)]
        return httpx2.post(f"{running.url}/mcp", content=json.dumps(body), headers=sent).status_code

    refused = ask(second, first)
    ask(first, second)
    assert (ask(second, first), refused) == (refused, 400 if name != "Accept" else 406)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
def test_a_body_that_is_not_utf_8_is_the_sdk_s_to_refuse_after_a_list_was_kept(running, encoding):
    def ask(encoding):
        return httpx2.post(
            f"{running.url}/mcp",
            content='{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}'.encode(encoding),
            headers={
                "Authorization": f"Bearer {running.token('demo-writer')}",
                "Accept": "application/json, text/event-stream",
                "Content-Type": "application/json",
            },
        ).status_code

    assert [ask("utf-8"), ask("utf-8"), ask(encoding)] == [200, 200, 400]


def test_what_is_kept_is_bounded(running, ask, monkeypatch):
    monkeypatch.setattr(known, "MOST_KEPT_BYTES", 2 * len(ask(1).content))
    for number in range(10):
        assert ask(1, extra=number).status_code == ask(1, extra=number).status_code
    assert running.deployment.surface._served._bytes <= known.MOST_KEPT_BYTES
    assert sum(each.size for each in kept(running).values()) == running.deployment.surface._served._bytes


IN_TURN = [[True, False, False], [False, True, False], [False, False, True]]


def test_what_a_request_has_to_be_like_counts_as_kept_too(running, call, monkeypatch):
    call(1, "desk__list_open", {}, **{"X-Long": "x" * 5_000})
    comes_to(lambda: len(kept(running)), 1)  # it is kept once the client has its answer
    assert comes_to(lambda: len(kept(running)), 1)
    (key,), size = kept(running), running.deployment.surface._served._bytes
    assert size > len(repr(key))
    monkeypatch.setattr(known, "MOST_KEPT_BYTES", 3 * size)
    for number in range(10):
        call(1, "desk__list_open", {}, **{"X-Long": f"{number}" * 5_000})
    assert comes_to(lambda: [[f"{number}" * 5_000 in repr(key) for key in kept(running)] for number in (7, 8, 9)], IN_TURN)


# Calls

CALLS = [
    ("desk__list_open", {}),
    ("desk__list_open", {"at_most": 1}),
    ("desk__list_open", {"at_most": "1"}),
    ("desk__list_open", {'a "quoted" \\ name': [None, {"é": 1.5}]}),
    ("desk__confirm", {"account": '"isError":false,"text":"'}),
    ("desk__confirm", {"account": "A-1", "reason": "r", "lines": [{"amount": "five"}] * 3}),
    ("desk__check", {"account": "A-1 \u2028 \U0001f600"}),
    ("desk__settle", {}),
    ("desk__plain", {}),
    ("desk__broken", {}),
    ("desk__nothing", {}),
]


@pytest.fixture(params=ERAS)
def call(request, running):
    """`call(id, name, arguments)`, of one era or the other; `headers` are sent along, and known are only those sent before."""
    headers, params = ERAS[request.param]

    def call(request_id, name, arguments, subject="demo-writer", **more):
        named = {"Mcp-Method": "tools/call", "Mcp-Name": name} if headers else {}
        asked = {"method": "tools/call", "params": {**params, "name": name, "arguments": arguments}}
        return httpx2.post(
            f"{running.url}/mcp",
            content=json.dumps({"jsonrpc": "2.0", "id": request_id, **asked}, ensure_ascii=False),
            headers={
                "Authorization": f"Bearer {running.token(subject)}",
                "Accept": "application/json, text/event-stream",
                "Content-Type": "application/json",
                **headers,
                **named,
                **more,
            },
        )

    return call


def of_no_id(answer):
    """An answer's bytes, without what names a call that failed."""
    return answer.status_code, re.sub(rb"C-[A-Za-z0-9_-]{20}", b"C-", answer.content)


def test_a_known_call_is_answered_in_the_bytes_that_the_sdk_writes(running, call):
    for name, _ in CALLS:
        call(0, name, {"at_most": 2})
    for number, (name, arguments) in enumerate(CALLS):
        by_the_sdk = call("a", name, arguments, **{"X-Once": str(number)})
        assert of_no_id(call("a", name, arguments)) == of_no_id(by_the_sdk)
        assert call(number, name, arguments).json()["id"] == number


def test_what_is_learnt_of_a_call_is_learnt_once_and_says_nothing_of_it(running, call):
    secret = "only-in-the-first"
    call(1, "desk__confirm", {"account": "A-1", "lines": [{"amount": secret}]})
    call(2, "desk__confirm", {"account": "A-2"})
    (answer,) = kept(running).values()
    assert secret.encode() not in b"".join(answer.parts)
    assert secret not in call(3, "desk__confirm", {"account": "A-1"}, subject="demo-custody").text


def test_a_known_call_of_a_client_that_stands_no_longer_asks_nothing(running, call):
    assert call(1, "desk__list_open", {}).status_code == 200
    (delegation,) = delegations.held_by(running.deployment.store, "demo-writer")
    delegations.revoke(running.deployment.store, delegation.id, by="demo-writer", now=running.clock())
    before = calls.listed(running.deployment.store, delegation.id)
    assert call(1, "desk__list_open", {}).status_code == 401
    assert calls.listed(running.deployment.store, delegation.id) == before


@pytest.mark.parametrize("arguments", [None, [], "x", 5])
def test_arguments_that_are_none_are_the_sdk_s_to_refuse_after_a_call_was_known(running, call, arguments):
    before = call(1, "desk__list_open", arguments)
    call(1, "desk__list_open", {})
    assert call(1, "desk__list_open", arguments).content == before.content


@pytest.mark.parametrize("text", [b'{"a": "\xed\xa0\x80"}', b'{"a": "\xff"}', b'{"a": ' + b"[" * 250 + b"]" * 250 + b"}"])
def test_arguments_that_the_sdk_does_not_read_are_its_to_refuse_after_a_call_was_known(running, text):
    def ask(arguments):
        asked = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "desk__list_open", "arguments": %b}}'
        return httpx2.post(
            f"{running.url}/mcp",
            content=asked % arguments,
            headers={
                "Authorization": f"Bearer {running.token('demo-writer')}",
                "Accept": "application/json, text/event-stream",
                "Content-Type": "application/json",
            },
        )

    before = ask(text)
    assert [ask(b"{}").status_code, ask(b"{}").status_code] == [200, 200]
    after = ask(text)
    assert (after.status_code, after.content) == (before.status_code, before.content)
    assert after.status_code == 400


def test_many_rows_are_not_deep(running, call):
    rows = {"lines": [{"amount": "1"}] * 300}
    assert call(1, "desk__confirm", rows).status_code == call(1, "desk__confirm", rows).status_code == 200
    assert not known._is_deep(rows)


def test_what_json_has_no_number_for_is_null_in_a_known_answer_too(running, call, monkeypatch):
    async def odd(*_):
        return {"outcome": "made", "data": [float("nan"), float("-inf"), 1.5]}

    call(1, "desk__list_open", {})
    monkeypatch.setattr(running.deployment.surface, "_call", odd)
    by_the_sdk, known_one = call(1, "desk__list_open", {}, **{"X-Once": "1"}), call(1, "desk__list_open", {})
    assert known_one.content == by_the_sdk.content
    result = known_one.json()["result"]
    assert (
        result["structuredContent"]
        == json.loads(result["content"][0]["text"])
        == {"outcome": "made", "data": [None, None, 1.5]}
    )


def test_a_known_call_that_is_too_long_is_refused_as_an_unknown_one_is(running, call):
    call(1, "desk__list_open", {})
    assert call(1, "desk__list_open", {"note": "x" * running.deployment.settings.max_body_bytes}).status_code == 413


def test_every_request_is_traced_where_whoever_runs_it_set_tracing_up(settings, monkeypatch):
    monkeypatch.setattr(surface, "_is_traced", lambda: True)
    deployment = Deployment([find(f"desk={DESK}")], settings)

    async def served():
        async with deployment.running():
            return deployment.surface._served

    assert not isinstance(anyio.run(served), Known)
