"""The list of tools from kept bytes: what the SDK would answer, under the request's own id, and nobody else's tools."""

import json

import httpx2
import pytest

from meridian.deployment import listing

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
    return running.deployment.surface._listing._kept


@pytest.mark.parametrize("request_id", [0, 7, -3, 2**53, "", "a", 'a "quoted" \\ one', "1", "x" * 500])
def test_an_id_is_answered_as_it_was_sent_from_kept_bytes_too(running, ask, request_id):
    first, again, other = ask(1), ask(request_id), ask(request_id)
    assert len(kept(running)) == 1
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
    assert names["demo-reader"] == ["desk__list_open"]
    assert names["demo-custody"] == ["desk__settle"]
    assert names["demo-newcomer"] == names["demo-admin"] == []


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


def test_what_is_kept_is_bounded(running, ask, monkeypatch):
    monkeypatch.setattr(listing, "MOST_KEPT_BYTES", 2 * len(ask(1).content))
    for number in range(10):
        assert ask(1, extra=number).status_code == ask(1, extra=number).status_code
    assert running.deployment.surface._listing._bytes <= listing.MOST_KEPT_BYTES
    assert sum(len(each.rest) for each in kept(running).values()) == running.deployment.surface._listing._bytes
