"""A template has at hand what a page needs, and what is drawn stays within the plugin and within the policy."""

import re
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import meridian
from meridian.pages.rendering import Surroundings
from meridian.pages.serving import Served
from meridian.testing import Answered, PageClient
from meridian.testing.asgi import ask


@dataclass(frozen=True)
class Lot:
    account: str = meridian.field(description="The account's ID.")
    cost: Decimal | None = None


@pytest.fixture
def pages() -> meridian.Pages:
    pages = meridian.Pages("Desk", templates="templates", roles=["operations", "custody"])

    @pages.page("/", levels=["read", "write"], roles=["operations"], title="Lots & more")
    async def home(request: meridian.Request) -> meridian.Response:
        rows = [Lot("A-1", Decimal("1.50")), Lot("<b>", None)]
        return pages.render("helpers.html", rows=rows, start=Lot("A-7"), extra="more")

    @pages.page("/limits", levels="admin", roles=["custody"], title="Limits")
    async def limits(request: meridian.Request) -> meridian.Response:
        return pages.answer(None, Lot("none"))

    @pages.page("/other", levels=["read", "write"], roles=["custody"], title="Other")
    async def other(request: meridian.Request) -> meridian.Response:
        return pages.render("nowhere.html")

    @pages.route(
        "/confirm", levels="write", roles=["operations"], methods=["POST"], params=Lot, name="confirm", title="Confirm"
    )
    async def confirm(request: meridian.Request[Lot]) -> meridian.Response:
        """Confirm a lot."""
        return pages.answer(None, request.params)

    return pages


@pytest.fixture
def client(pages: meridian.Pages) -> PageClient:
    return PageClient(pages, None, write={"operations": {"A"}}, read={"custody": {"B"}}, display_name="Ada")


def links(answered: Answered) -> dict[str, str]:
    return {words: address for address, words in re.findall(r'<a href="([^"]*)"[^>]*>([^<]*)</a>', answered.text)}


def test_links_lead_into_the_session(client: PageClient):
    found = links(client.get("/", "read"))
    assert (found["plain"], found["asked"]) == ("/plugin/view/confirm", "/plugin/view/?account=A+%26+B")


def test_a_template_has_the_request_the_caller_the_pages_and_the_authors_context(client: PageClient):
    assert client.get("/", "write").shows("Ada at write in Desk, /, more")


def test_a_form_starts_from_a_record_and_says_what_it_does(client: PageClient):
    [form] = client.forms("/", "write")
    assert (form.action, form["account"], form["cost"], form.buttons[-1].words) == (
        "/plugin/open/confirm",
        "A-7",
        "",
        "Confirm it",
    )


def test_tables_and_records_are_drawn_and_escaped(client: PageClient):
    answered = client.get("/", "read")
    assert ("<b>" in answered.text, answered.shows("What is held"), answered.shows("1.50")) == (False, True, True)


def test_an_aside_stands_beside(client: PageClient):
    assert "<aside><p>Beside it.</p></aside>" in re.sub(r"\s*\n\s*", "", client.get("/", "read").text)


def test_the_tabs_are_the_pages_that_the_session_reaches(client: PageClient):
    def tabs(level: Any, path: str) -> dict[str, str]:
        return {
            words: address
            for words, address in links(client.get(path, level)).items()
            if words in ("Lots &amp; more", "Limits", "Other")
        }

    assert tabs("write", "/") == {"Lots &amp; more": "/plugin/open/", "Other": "/plugin/open/other"}
    assert tabs("admin", "/limits") == {"Limits": "/plugin/manage/limits"}


def test_a_form_of_nowhere_is_the_authors_mistake_told_in_the_log(client: PageClient, caplog: pytest.LogCaptureFixture):
    assert client.get("/other", "write").status == 500
    assert "form('/confrm'): nothing is declared there; did you mean /confirm?" in caplog.text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ('labels={"cots": "Cost"}', 'labels= names "cots", which Lot lacks; did you mean cost?'),
        ('choices={"cost.cents": ["1"]}', 'choices= names "cost.cents", which Lot lacks'),
        ('multiline=["acount"]', 'multiline= names "acount", which Lot lacks; did you mean account?'),
        ('totals=["lots[].cost"]', 'totals= names "lots[].cost", which Lot lacks'),
        ('without=["cost[]"]', 'without= names "cost[]", which is no field of Lot; did you mean cost?'),
    ],
)
def test_words_for_a_cell_that_the_record_lacks_are_the_authors_mistake(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, words: str, said: str
):
    (tmp_path / "home.html").write_text(f'{{{{ form("/confirm", {words}) }}}}')
    pages = meridian.Pages("Desk", templates=tmp_path)
    pages.page("/", levels="write")(lambda request: pages.render("home.html"))
    pages.route("/confirm", levels="write", methods=["POST"], params=Lot, name="confirm")(
        lambda request: pages.answer(None, request.params)
    )
    assert PageClient(pages, None).get("/", "write").status == 500
    assert f"form('/confirm'): {said}" in caplog.text


@pytest.mark.parametrize(
    ("drawn", "texts", "said"),
    [
        ("hom.html", {"home.html": ""}, "draws hom.html, and {} has no such template; did you mean home.html?"),
        (
            "home.html",
            {"home.html": '\n{% extends "meridian/bse.html" %}'},
            (
                "draws home.html, line 2, which names meridian/bse.html, and {} has no such template; "
                "did you mean meridian/base.html?"
            ),
        ),
        ("home.html", {"home.html": "\n\n{{ helo }}"}, "draws home.html, line 3: 'helo' is undefined"),
        (
            "home.html",
            {"home.html": "\n{% include 'part.html' %}", "part.html": "\n\n{% endif %}"},
            "draws part.html, line 3: Encountered unknown tag 'endif'.",
        ),
    ],
)
def test_a_mistake_in_a_template_is_told_to_its_author_with_view_template_and_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, drawn: str, texts: dict[str, str], said: str
):
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    pages = meridian.Pages("Desk", templates=tmp_path)

    @pages.page("/", levels="read")
    def home(request: meridian.Request) -> meridian.Response:
        return pages.render(drawn)

    assert PageClient(pages, None).get("/", "read").status == 500
    line = home.__code__.co_firstlineno
    assert f"DeclarationError: GET /: home (test_rendering.py:{line}) {said.format(tmp_path)}" in caplog.text


@pytest.mark.parametrize(
    ("method", "path", "level"),
    [("GET", "/", "write"), ("GET", "/limits", "admin"), ("GET", "/x", "read"), ("POST", "/confirm", "write")],
)
def test_no_page_of_the_kits_holds_a_script_or_a_style_of_its_own(client: PageClient, method: str, path: str, level: Any):
    answered = client.get(path, level) if method == "GET" else client.post(path, level, {"account": "", "cost": "many"})
    scripts = re.findall(r"<script([^>]*)>", answered.text)
    assert sorted({each.strip() for each in scripts} - {'type="application/ld+json"'}) == [
        'src="/static/meridian/meridian.js" defer'
    ]
    assert re.findall(r"<style|\sstyle=|\son[a-z]+=|javascript:", answered.text) == []


def test_what_is_around_a_page_is_the_deployments(pages: meridian.Pages, client: PageClient):
    around = Surroundings("/kit", ("Our & place", "/home"), ("/sign-out", "a token"), prepares=True)
    served = Served(pages, instance="plugin", key=client.instance_key, plugin=None, surroundings=around)
    header = client.caller("write", method="GET", path="/").header
    text = ask(served, method="GET", path="/", headers=[("Meridian-Caller", header)], root_path="/plugin/open").body.decode()
    assert [each in text for each in ('href="/kit/meridian.css"', 'href="/home"', "Our &amp; place", 'action="/sign-out"')] == [
        True
    ] * 4
    assert '<input type="hidden" name="csrf" value="a token">' in text
