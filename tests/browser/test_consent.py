"""A client asks for access, and its person answers in a browser: from the sign-in to the address where the client waits.

The client is a program on this computer, which waits on a port of its own as clients do. What it is told there, and what it can
then call, is asked over HTTP.
"""

import base64
import hashlib
import re
import secrets
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
import pytest
from playwright.sync_api import Page

from meridian.deployment import identity
from meridian.deployment.store import Store

PASSWORD = "correct horse battery"
READS = ["operations__list_entries", "operations__list_positions_held", "operations__read_statement"]
WIDTHS = (1280, 390)
SCHEMES = ("light", "dark")


@dataclass
class Waiting:
    """A client that asks, and waits at an address of its own for what it is told."""

    url: str
    name: str = "Desktop notes"
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(48))
    client_id: str = ""
    address: str = ""
    heard: list[dict[str, str]] = field(default_factory=list)
    arrived: threading.Event = field(default_factory=threading.Event)

    def register(self) -> None:
        told = {"client_name": self.name, "redirect_uris": ["http://127.0.0.1/callback"]}
        self.client_id = httpx2.post(f"{self.url}/oauth/register", json=told).json()["client_id"]

    @property
    def question(self) -> str:
        """The address to which it sends its person's browser."""
        challenge = base64.urlsafe_b64encode(hashlib.sha256(self.verifier.encode()).digest()).rstrip(b"=").decode()
        asked = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": self.address,
            "state": "s-1",
            "code_challenge": challenge,
            "code_challenge_method": "S256",
            "resource": f"{self.url}/mcp",
        }
        return f"{self.url}/oauth/authorize?{urlencode(asked)}"

    def told(self) -> dict[str, str]:
        assert self.arrived.wait(15)
        self.arrived.clear()
        return self.heard[-1]

    def tools(self, code: str) -> list[str]:
        """What it is listed with what it gets for the code."""
        asked = {"grant_type": "authorization_code", "code": code, "client_id": self.client_id, "code_verifier": self.verifier}
        token = httpx2.post(f"{self.url}/oauth/token", data=asked).json()["access_token"]
        listed = httpx2.post(
            f"{self.url}/mcp",
            json={"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}},
            headers={"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"},
        )
        return [tool["name"] for tool in listed.json()["result"]["tools"]]


@pytest.fixture
def page(new_context: Callable[..., Any]) -> Page:
    """An empty tab, in which nothing moves while it is photographed."""
    return new_context(reduced_motion="reduce").new_page()


@pytest.fixture
def waiting(served: Any) -> Iterator[Waiting]:
    """A registered client that waits."""
    client = Waiting(served.url)

    class Callback(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.startswith("/callback"):
                client.heard.append({name: value for name, [value] in parse_qs(urlsplit(self.path).query).items()})
                client.arrived.set()
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><html lang=en><title>Done</title><h1>You can close this tab</h1>")

        def log_message(self, *_: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Callback)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    client.address = f"http://127.0.0.1:{server.server_port}/callback"
    client.register()
    yield client
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module", autouse=True)
def passwords(served: Any) -> None:
    """The demo's people, who sign in by links alone, each with a password."""
    store = Store(f"sqlite:///{served.data / 'meridian.db'}")
    for subject in served.people:
        identity.set_password(store, subject, PASSWORD)
    store.close()


def arrive(page: Page, waiting: Waiting, subject: str = "demo-writer") -> Page:
    """Follow the client's question, and sign in."""
    page.goto(waiting.question)
    assert page.title() in ("Sign in – Meridian", "Sign in again – Meridian")
    page.get_by_label("Name").fill(subject)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/oauth/consent?*")
    return page


def look(page: Page, axe: Callable[[Page], list[str]], screenshot: Callable[[Page, str], None], name: str) -> None:
    """Photograph the page, and find nothing wrong with it at any width or in any light."""
    screenshot(page, name)
    found: dict[str, list[str]] = {}
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            found[f"{width} {scheme}"] = axe(page)
    page.set_viewport_size({"width": 320, "height": 900})
    found["over the side"] = page.evaluate(
        "[...document.querySelectorAll('body *')].filter(each => !each.closest('.visually-hidden, .skip, .scroll')"
        " && each.getBoundingClientRect().right > innerWidth + 1).slice(0, 3).map(each => each.outerHTML.slice(0, 120))"
    )
    assert {where: what for where, what in found.items() if what} == {}


def test_a_person_ticks_a_row_and_the_client_lists_what_it_reaches(page: Page, waiting: Waiting):
    arrive(page, waiting)
    page.get_by_label("read on Opening balance, operations").check()
    page.get_by_label("7 days").check()
    page.get_by_role("button", name="Allow").click()
    told = waiting.told()
    assert (told["state"], told["iss"]) == ("s-1", waiting.url)
    assert page.get_by_role("heading").inner_text() == "You can close this tab"
    assert sorted(name for name in waiting.tools(told["code"]) if not name.startswith("dashboard__")) == READS


def test_a_person_s_no_is_told_to_the_client_and_nothing_is_lent(page: Page, waiting: Waiting):
    arrive(page, waiting)
    page.get_by_role("button", name="Deny").click()
    told = waiting.told()
    assert {name: told[name] for name in ("error", "state", "iss")} == {
        "error": "access_denied", "state": "s-1", "iss": waiting.url,
    }  # fmt: skip


def test_nothing_ticked_is_a_problem_that_is_said_at_its_place(page: Page, waiting: Waiting, axe: Any, screenshot: Any):
    arrive(page, waiting)
    page.get_by_role("button", name="Allow").click()
    page.locator(".problems").wait_for()
    assert page.title() == "Error: Allow a client to act as you – Meridian"
    assert page.locator(".problems a").all_inner_texts() == ["What it may reach: tick at least one row, and at most 500"]
    look(page, axe, screenshot, "consent with problems")


def test_the_page_names_the_client_and_where_the_answer_goes_and_warns(page: Page, waiting: Waiting, axe: Any, screenshot: Any):
    waiting.name = "Desktop \u202enotes"
    waiting.register()
    arrive(page, waiting)
    said = page.get_by_role("main").inner_text()
    assert "Desktop [U+202E]notes" in said
    assert urlsplit(waiting.address).netloc in said
    assert page.get_by_role("note").inner_text().splitlines()[0] == "Allow it only if you have just connected it yourself."
    look(page, axe, screenshot, "consent")


def test_coming_back_finds_what_was_lent_ticked(page: Page, waiting: Waiting, axe: Any, screenshot: Any):
    arrive(page, waiting)
    page.get_by_label("read on Opening balance, operations").check()
    page.get_by_role("button", name="Allow").click()
    waiting.told()
    arrive(page, waiting)
    assert page.get_by_label("read on Opening balance, operations").is_checked()
    assert "No tool that acts is new since." in page.get_by_role("main").get_by_role("status").inner_text()
    look(page, axe, screenshot, "consent again")


def test_somebody_who_holds_nothing_is_told_so(page: Page, waiting: Waiting, axe: Any, screenshot: Any):
    arrive(page, waiting, "demo-newcomer")
    assert "You hold nothing on any plugin yet" in page.get_by_role("main").inner_text()
    look(page, axe, screenshot, "consent of nothing")


def test_it_is_answered_by_keyboard_and_without_scripts(new_context: Callable[..., Any], waiting: Waiting):
    page = new_context(java_script_enabled=False).new_page()
    arrive(page, waiting)
    page.get_by_label("write on Opening balance, operations").focus()
    page.keyboard.press("Space")
    page.get_by_role("button", name="Allow").focus()
    page.keyboard.press("Enter")
    assert "operations__confirm_opening_balance" in waiting.tools(waiting.told()["code"])


def test_a_page_of_another_site_cannot_frame_it(page: Page, waiting: Waiting):
    arrive(page, waiting)
    address = page.url
    other = urlsplit(waiting.address)
    page.goto(f"http://{other.netloc}/")
    page.evaluate("address => { document.body.innerHTML = `<iframe src='${address}'></iframe>`; }", address)
    page.wait_for_timeout(1_000)
    assert not any("Allow a client" in frame.content() for frame in page.frames)


def test_the_policy_lets_the_form_lead_to_the_client_and_nowhere_else(page: Page, waiting: Waiting):
    arrive(page, waiting)
    policy = httpx2.get(page.url, cookies={each["name"]: each["value"] for each in page.context.cookies()}).headers[
        "content-security-policy"
    ]
    [to] = re.findall(r"form-action ([^;]+)", policy)
    assert to.split() == [f"{waiting.url}/", waiting.address.removesuffix("/callback")]
