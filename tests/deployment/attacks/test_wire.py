"""Bytes that no client of ours would send, over a raw socket: none speaks for anybody, and the deployment goes on."""

import socket
from contextlib import suppress
from urllib.parse import urlsplit

import httpx2
import pytest

from deployment.attacks.conftest import form_token
from meridian.pages import assertion


def send(running, *lines: bytes, body: bytes = b"") -> bytes:
    """All that comes back for these lines, as they are, and this body, within a second of the last of it."""
    at = urlsplit(running.url)
    got = b""
    with socket.create_connection((at.hostname, at.port), timeout=10) as wire:
        wire.sendall(b"\r\n".join(lines) + b"\r\n\r\n" + body)
        wire.settimeout(1)
        with suppress(TimeoutError, ConnectionError):
            while chunk := wire.recv(65536):
                got += chunk
    return got


def status(got: bytes) -> int:
    return int(got.split(b" ", 2)[1]) if got.startswith(b"HTTP/1.1 ") else 0


@pytest.fixture
def header(running, heard):
    """A true header, as a plugin was asked with it."""
    browser = running.browser("demo-writer")
    return browser.get("/thief/open/").text


@pytest.mark.parametrize("name", ["Meridian-Caller", "MERIDIAN-CALLER", "meridian_caller", "X-Meridian-Caller"])
def test_a_header_of_the_deployment_s_own_from_outside_is_nobody_s_word(running, header, heard, name):
    host = urlsplit(running.url).netloc.encode()
    got = send(running, b"GET /desk/open/ HTTP/1.1", b"Host: " + host, name.encode() + b": " + header.encode())
    assert status(got) == 303
    assert b"location: /sign-in" in got.lower()


@pytest.mark.parametrize("name", ["Meridian-Caller", "meridian-caller", "Meridian-Form-Token-Of", "Meridian-Outcome"])
def test_and_never_reaches_a_plugin_beside_the_true_one(running, heard, name):
    browser = running.browser("demo-writer")
    own = running.deployment.gateway.hosted["thief"]
    token = assertion.form_token(own.key, "demo-writer", "thief", "write")
    answer = browser.post("/thief/open/take", data={"csrf": token}, headers={name: "forged"})
    assert (answer.status_code, "forged" in heard["headers"].getlist(name)) == (200, False)


@pytest.mark.parametrize(
    "lines",
    [
        [b"Content-Length: 2", b"Transfer-Encoding: chunked"],
        [b"Content-Length: 2", b"Content-Length: 3"],
        [b"Transfer-Encoding: chunked, identity"],
        [b"Transfer-Encoding : chunked"],
        [b"Content-Length: -1"],
        [b"Content-Length: 1_0"],
        [b"X-Null: a\x00b"],
    ],
    ids=["both lengths", "two lengths", "two codings", "a space", "negative", "underscore", "null"],
)
def test_a_request_that_two_could_read_otherwise_is_read_by_nobody(running, lines):
    host = urlsplit(running.url).netloc.encode()
    smuggled = b"0\r\n\r\nGET /dashboard/manage/access HTTP/1.1\r\nHost: " + host + b"\r\n\r\n"
    got = send(running, b"POST /mcp HTTP/1.1", b"Host: " + host, *lines, body=smuggled)
    assert (status(got), got.count(b"HTTP/1.1 ")) == (400, 1)
    assert httpx2.get(f"{running.url}/sign-in").status_code == 200


def test_a_token_in_the_query_is_no_token(running):
    token = running.token("demo-writer")
    asked = [httpx2.post(f"{running.url}/mcp?{name}={token}", json={}) for name in ("access_token", "token", "authorization")]
    assert [each.status_code for each in asked] == [401, 401, 401]


def deep(levels: int) -> bytes:
    return b'{"a":' * levels + b"1" + b"}" * levels


CALL = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"desk__confirm","arguments":%s}}'


@pytest.mark.parametrize(
    "body",
    [
        deep(200_000),
        b"[" * 300_000,
        CALL % deep(50_000),
        CALL % (b'{"account":' + b"9" * 1_000_000 + b"}"),
        CALL % (b'{"account":1e999999999}'),
        CALL % (b'{"account":"' + b"\\u0000" * 100_000 + b'"}'),
        CALL % (b'{"lines":[' + b'{"amount":"1"},' * 100_000 + b'{"amount":"1"}]}'),
        CALL % (b"{" + b",".join(b'"k%d":1' % each for each in range(100_000)) + b"}"),
        b"[" + CALL % b"{}" + (b"," + CALL % b"{}") * 5_000 + b"]",
        b'{"jsonrpc":"2.0","id":"' + b"i" * 1_000_000 + b'","method":"tools/list"}',
        b'{"jsonrpc":"2.0","id":1,"method":"' + b"m" * 1_000_000 + b'"}',
        b"\xff\xfe" * 100_000,
    ],
    ids=[
        "deep",
        "brackets",
        "deep arguments",
        "a long number",
        "a huge number",
        "nulls",
        "rows",
        "keys",
        "batch",
        "id",
        "method",
        "no text",
    ],
)
def test_whatever_size_an_agent_s_request_has_it_is_answered_and_the_next_one_is_too(running, body):
    json_alone = {"Content-Type": "application/json", "Accept": "application/json"}
    auth = {"Authorization": f"Bearer {running.token('demo-writer')}", **json_alone}
    said = httpx2.post(f"{running.url}/mcp", content=body, headers=auth, timeout=20)
    assert said.status_code < 500
    after = running.rpc("demo-writer", "tools/call", name="desk__list_open")
    assert after.json()["result"]["structuredContent"]["outcome"] == "unchanged"


@pytest.mark.parametrize(
    ("method", "path", "sent"),
    [
        ("POST", "/oauth/register", {"content": deep(100_000), "headers": {"content-type": "application/json"}}),
        ("POST", "/oauth/register", {"json": {"client_name": "n" * 500_000, "redirect_uris": ["http://127.0.0.1/"]}}),
        ("POST", "/oauth/register", {"json": {"client_name": "n", "redirect_uris": ["http://127.0.0.1/" + "p" * 100_000]}}),
        ("POST", "/oauth/register", {"json": {"client_name": "n", "redirect_uris": ["http://127.0.0.1/"] * 20_000}}),
        ("GET", "/oauth/authorize", {"params": {"state": "s" * 50_000, "client_id": "c" * 5_000}}),
        ("POST", "/oauth/token", {"data": {"grant_type": "refresh_token", "refresh_token": "r" * 500_000}}),
        ("POST", "/oauth/token", {"data": {f"f{each}": "1" for each in range(20_000)}}),
        ("POST", "/oauth/revoke", {"data": {"token": "t" * 500_000}}),
        ("POST", "/sign-in", {"data": {"sign_in_name": "n" * 500_000, "password": "p" * 500_000}}),
        ("GET", "/sign-in", {"headers": {"cookie": "; ".join(f"c{each}=v" for each in range(3_000))}}),
        ("GET", "/sign-in", {"headers": {f"x-{each}": "v" * 100 for each in range(400)}}),
        ("GET", "/" + "p" * 30_000, {}),
        ("GET", "/desk/open/", {"params": {"q": "v" * 30_000}}),
    ],
)  # fmt: skip
def test_whatever_size_a_stranger_s_request_has_it_is_answered_in_words(running, method, path, sent):
    said = httpx2.request(method, f"{running.url}{path}", timeout=20, **sent)
    assert said.status_code < 500
    assert httpx2.get(f"{running.url}/sign-in").status_code == 200


def test_a_whole_day_s_work_leaves_no_secret_in_the_store_the_log_or_the_pages(running, caplog, tmp_path):
    browser = running.browser("demo-writer")
    page = browser.get("/dashboard/open/clients").text
    running.rpc("demo-writer", "tools/call", name="desk__confirm", arguments={"account": "A-1", "reason": "r"})
    running.rpc("demo-writer", "tools/call", name="desk__broken", arguments={})
    cookies = [value for value in browser.cookies.values() if len(value) > 20]
    secrets = [running.token("demo-writer"), running.people["demo-writer"].sign_in_token, *cookies]
    assert len(secrets) > 2
    pages = page + browser.get("/").text
    kept = b"".join(each.read_bytes() for each in (tmp_path / "data").rglob("*") if each.is_file())
    assert len(kept) > 10_000
    assert [each[:12] for each in secrets if each.encode() in kept or each in caplog.text or each in pages] == []


def test_form_tokens_of_the_sign_in_page_are_of_that_page_alone(running):
    stranger = running.browser()
    token = form_token(stranger.get("/sign-in").text)
    browser = running.browser("demo-writer")
    sent = browser.post("/desk/open/confirm", data={"csrf": token, "account": "A-1", "reason": "r"})
    assert (sent.status_code, "not yours to send" in sent.text) == (403, True)
