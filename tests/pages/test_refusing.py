"""A no as a person reads it: headed by its kind, in their words, by what rule, and where to go on; programs get it exactly."""

import re
from html import unescape
from typing import Any

import pytest

import meridian
from meridian.testing import Answered, PageClient

BOTH = ["operations", "custody"]


@pytest.fixture
def pages() -> meridian.Pages:
    pages = meridian.Pages("Desk", roles=BOTH)

    def shown(request: meridian.Request) -> meridian.Response:
        return pages.answer(None, {})

    def refused(request: meridian.Request) -> meridian.Response:
        pages.refuse("The book has no account A-9.", ("account", "no account A-9"), reason="unknown_account")

    pages.page("/", title="Tasks", levels=["read", "write"], roles=BOTH)(shown)
    pages.page("/record", title="Record", levels="write", roles=["operations"])(shown)
    pages.page("/missing", title="Missing", levels="write", roles=BOTH)(refused)
    pages.page("/limits", title="Limits", levels="admin", roles=BOTH)(shown)
    pages.route("/done", levels="write", roles=["operations"], methods=["POST"])(refused)
    return pages


@pytest.fixture
def client(pages: meridian.Pages) -> PageClient:
    return PageClient(pages, None, write={"operations": {"A-1"}}, read={"A-1"}, admin=True)


def told(answered: Answered) -> dict[str, Any]:
    """What the page of a no says: its heading, why, and where it leads on."""
    text = answered.text
    heading, lead = re.search("<h1>(.*?)</h1>", text), re.search('<p class="lead">(.*?)</p>', text)
    following = text.partition("What to do next")[2].partition("</ul>")[0]
    assert heading is not None
    assert lead is not None
    return {
        "status": answered.status,
        "heading": unescape(heading[1]),
        "why": unescape(lead[1]),
        "next": re.findall('href="(.*?)">(.*?)</a>', following)[:-1],
        "rule": "By what rule" in text,
    }


def test_a_page_of_another_button_is_named_by_its_button_and_leads_there(client: PageClient):
    answered = client.get("/limits", "write")
    assert told(answered) == {
        "status": 403,
        "heading": "That is not yours to open",
        "why": "This page is for Manage on operations or custody; you are in Open.",
        "next": [("/plugin/manage/limits", "Limits, by Manage, if you hold it"), ("/plugin/open/", "Tasks, in Open")],
        "rule": True,
    }


def test_a_program_reads_levels_and_roles_of_the_same_no(client: PageClient):
    exact = "GET /limits serves admin on operations or custody; you are in a session at write, which carries"
    assert f'"detail":"{exact}' in client.get("/limits", "write").text
    assert exact in client.request("GET", "/limits", "write", headers={"accept": "application/json"}).json["detail"]


def test_a_role_that_is_not_held_is_named_beside_the_one_that_is(pages: meridian.Pages):
    custody = PageClient(pages, None, write={"custody": {"A-1"}})
    assert told(custody.get("/record", "write"))["why"] == "This page is for Open on operations; you are in Open on custody."


def test_what_open_lacks_and_view_serves_is_held_for_certain():
    pages = meridian.Pages("Desk")
    pages.page("/log", title="Log", levels="read")(lambda request: pages.answer(None, {}))
    assert told(PageClient(pages, None, write={"A-1"}).get("/log", "write"))["next"] == [("/plugin/view/log", "Log, by View")]


@pytest.mark.parametrize(
    ("method", "path", "status", "heading", "leads"),
    [
        ("GET", "/nowhere", 404, "There is nothing here", ["Tasks, in Open"]),
        ("GET", "/done", 405, "Nothing is shown here", ["Tasks, in Open"]),
        ("GET", "/missing", 422, "That cannot be shown", ["Missing, in Open", "Tasks, in Open"]),
        ("POST", "/done", 422, "Nothing was changed", ["Tasks, in Open"]),
    ],
)
def test_each_kind_of_no_has_a_heading_of_its_own(
    client: PageClient, method: str, path: str, status: int, heading: str, leads: list[str]
):
    said = told(client.get(path, "write") if method == "GET" else client.post(path, "write", {}))
    assert (said["status"], said["heading"], [text for _, text in said["next"]]) == (status, heading, leads)


def test_a_form_without_its_token_was_not_taken(client: PageClient):
    assert told(client.request("POST", "/done", "write", form={}))["heading"] == "That form was not taken"


def test_a_plugin_that_fails_is_named():
    pages = meridian.Pages("Desk")
    pages.page("/", levels="read")(lambda request: 1 / 0)
    assert told(PageClient(pages, None, read={"A-1"}).get("/", "read"))["heading"] == "Desk failed"
