"""The proxy before the conformance suite adds a token and the instance to a tool's name, and leaves all else as it came."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx2
import pytest
from conformance.proxy import listening

LIST = {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "suite__add"}, {"name": "suite__suite__add"}]}}


class Behind(BaseHTTPRequestHandler):
    """Keeps what it is asked, and answers with a list of tools."""

    asked: list[tuple[dict[str, str], bytes]]

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.asked.append(({name.lower(): value for name, value in self.headers.items()}, body))
        told = json.dumps(LIST).encode()
        self.send_response(418)
        self.send_header("Content-Length", str(len(told)))
        self.send_header("X-Kept", "yes")
        self.end_headers()
        self.wfile.write(told)

    def log_message(self, *args):
        """Say nothing."""


@pytest.fixture
def proxied():
    """The proxy's URL, and what arrives behind it."""
    handler = type("Asked", (Behind,), {"asked": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as behind, listening() as proxy:
        thread = threading.Thread(target=behind.serve_forever, daemon=True)
        thread.start()
        proxy.stand_before(f"http://127.0.0.1:{behind.server_address[1]}", token="mrd_t", instance="suite")
        yield f"{proxy.url}/mcp", handler.asked
        behind.shutdown()


def test_a_call_is_given_the_token_and_the_instance_of_its_tool(proxied):
    url, asked = proxied
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "add", "arguments": {"name": "add"}}}
    httpx2.post(url, json=body, headers={"Mcp-Method": "tools/call", "Mcp-Name": "add"})
    ((headers, arrived),) = asked
    assert (headers["authorization"], headers["mcp-name"]) == ("Bearer mrd_t", "suite__add")
    assert json.loads(arrived) == {**body, "params": {"name": "suite__add", "arguments": {"name": "add"}}}


def test_a_header_that_names_another_tool_than_the_body_still_does(proxied):
    url, asked = proxied
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "add"}}
    httpx2.post(url, json=body, headers={"Mcp-Method": "tools/call", "Mcp-Name": "other"})
    ((headers, arrived),) = asked
    assert (headers["mcp-name"], json.loads(arrived)["params"]["name"]) == ("suite__other", "suite__add")


@pytest.mark.parametrize("body", [b'{"method": "tools/list",  "id": 1}', b"{", b"", b'[{"method": "tools/call"}]'])
def test_what_calls_no_tool_passes_byte_for_byte(proxied, body):
    url, asked = proxied
    headers = {"Host": "evil.example", "Origin": "http://evil.example", "Authorization": "Bearer of-its-own"}
    httpx2.post(url, content=body, headers=headers)
    ((arrived, passed),) = asked
    assert (passed, {name: arrived[name.lower()] for name in headers}) == (body, headers)


def test_an_answer_passes_with_the_instance_taken_off_the_tools_it_lists(proxied):
    url, _ = proxied
    answered = httpx2.post(url, json={"method": "tools/list"})
    assert (answered.status_code, answered.headers["x-kept"]) == (418, "yes")
    assert answered.json()["result"] == {"tools": [{"name": "add"}, {"name": "suite__add"}]}
