"""A `meridian serve` in a process of its own: bytes over a raw socket, what it takes of memory, and what it leaves behind."""

import json
import socket
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

from deployment.attacks.test_wire import send, status
from deployment.running.asking import Asking, answer, told

MIB = 1 << 20
JSON = b"Content-Type: application/json"
LIST = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}).encode()


def asked(running, *more: bytes) -> bytes:
    """What a client's request for its tools is answered, with these lines besides."""
    token = running.people["demo-writer"]["client_token"].encode()
    return send(
        running,
        b"POST /mcp HTTP/1.1",
        b"Host: " + urlsplit(running.url).netloc.encode(),
        b"Authorization: Bearer " + token,
        b"Accept: application/json",
        b"Connection: close",
        b"Content-Length: %d" % len(LIST),
        *more,
        body=LIST,
    )


@pytest.mark.parametrize(
    "more",
    [
        [b"Authorization: Bearer mrd_none"],
        [b"authorization: Basic eDp5"],
        [b"Host: evil.example"],
        [b"Content-Type: text/plain"],
        [b"Origin: http://HERE", b"Origin: https://evil.example"],
        [b"Cookie: a=b", b"Cookie: meridian=of-a-session"],
    ],
    ids=["another token", "another scheme", "another host", "another type", "another origin", "another cookie"],
)
def test_what_is_said_once_is_not_said_twice(served, more):
    here = urlsplit(served.url).netloc.encode()
    got = asked(served, JSON, *(line.replace(b"HERE", here) for line in more))
    assert (status(asked(served, JSON)), status(got), got.count(b"HTTP/1.1 ")) == (200, 400, 1)


def test_a_cookie_among_others_is_a_session_s_whatever_its_letters_and_spaces(served):
    said = [b"Cookie: a=b; meridian=x", b"COOKIE: meridian =x;a=b", b"cookie: a=b;__Host-meridian=x"]
    assert [status(asked(served, JSON, each)) for each in said] == [401] * 3


def highest(running) -> int:
    """The most memory that its process ever held, in bytes."""
    said = Path(f"/proc/{running.process.pid}/status").read_text()
    return int(said.partition("VmHWM:")[2].split()[0]) << 10


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell what a process holds")
@pytest.mark.parametrize("path", ["/mcp", "/oauth/register", "/oauth/token", "/sign-in", "/operations/open/"])
def test_a_body_without_end_is_not_kept(served, path):
    """In chunks, so that nothing says beforehand how long it is."""
    at = urlsplit(served.url)
    token = served.people["demo-writer"]["client_token"]
    kind = "application/json" if path in ("/mcp", "/oauth/register") else "application/x-www-form-urlencoded"
    lines = (
        f"POST {path} HTTP/1.1\r\nHost: {at.netloc}\r\nContent-Type: {kind}\r\n"
        f"Transfer-Encoding: chunked\r\nAuthorization: Bearer {token}\r\n\r\n"
    )
    before = highest(served)
    got = b""
    with socket.create_connection((at.hostname, at.port), timeout=10) as wire, suppress(ConnectionError):
        wire.sendall(lines.encode())
        for _ in range(100):
            wire.sendall(b"100000\r\n" + b" " * MIB + b"\r\n")
        wire.sendall(b"0\r\n\r\n")
        got = wire.recv(65536)
    assert (status(got) in (401, 413), highest(served) - before < 48 * MIB) == (True, True), (got, highest(served) - before)
    assert status(asked(served, JSON)) == 200


class _Client:
    """What `Asking` needs of a deployment, of one in another process."""

    def __init__(self, running, http: httpx2.Client) -> None:
        self.url, self.resource, self._http = running.url, running.mcp_url, http

    def browser(self) -> httpx2.Client:
        return self._http


def test_a_run_leaves_no_secret_in_its_log_its_store_or_its_pages(serve):
    """A client connects, renews its tokens and calls; a person signs in, rightly and wrongly; and then it ends."""
    running = serve("operations=opening_balance:pages")
    writer = running.people["demo-writer"]
    reaches = {"base_url": running.url, "timeout": 20}
    with httpx2.Client(**reaches) as browser, httpx2.Client(**reaches) as client:
        asking = Asking(_Client(running, client))
        asking.register()
        at = asking.ask(browser).headers["location"]
        browser.get(writer["sign_in_url"])
        page = browser.get(at)
        code = told(answer(browser, page, rows=["write operations operations"]))["code"]
        assert asking.exchange(code).status_code == 200
        spent = [asking.access_token, asking.refresh_token]
        assert asking.refresh().status_code == 200
        assert asking.rpc().status_code == 200
        assert asking.exchange(code).status_code == 400
        guess = "a password that is somebody's elsewhere"
        sign_in = browser.get("/sign-in?fresh=yes").text
        csrf = sign_in.partition('name="csrf" value="')[2].partition('"')[0]
        wrong = browser.post("/sign-in", data={"csrf": csrf, "sign_in_name": "demo-writer", "password": guess})
        assert wrong.status_code == 422
        httpx2.get(running.mcp_url, headers={"authorization": "Bearer mrd_one-that-never-was-any-good"})
        seen = [each.text for each in map(browser.get, ("/", "/dashboard/open/clients", "/operations/open/", "/nowhere"))]
        secrets = {
            "link": writer["sign_in_url"].rpartition("/")[2],
            "client token": writer["client_token"],
            "session": browser.cookies["meridian"],
            "browser": browser.cookies["meridian-form"],
            "code": code,
            "verifier": asking.verifier,
            "spent access token": spent[0],
            "spent refresh token": spent[1],
            "access token": asking.access_token,
            "refresh token": asking.refresh_token,
            "password": guess,
            "wrong token": "mrd_one-that-never-was-any-good",
        }
    files = {each.name: each.read_bytes() for each in running.data.rglob("*") if each.is_file()}
    running.end()
    files |= {f"{each.name} at the end": each.read_bytes() for each in running.data.rglob("*") if each.is_file()}
    places = {**files, "log": running.log.read_bytes(), "pages": "".join([page.text, wrong.text, *seen]).encode()}
    assert sum(map(len, files.values())) > 100_000
    assert len(set(secrets.values())) == len(secrets)
    assert [
        (name, where) for name, secret in secrets.items() for where, kept in places.items() if secret.encode() in kept
    ] == []
