"""A view answers once: a person gets a page, an agent typed JSON with what came of it."""

import json
import logging
import re
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any
from urllib.parse import quote

import pytest
from starlette.responses import PlainTextResponse

import meridian
from meridian.pages import Field, assertion
from meridian.testing import Answered, PageClient

JSON = {"accept": "application/json"}


@dataclass(frozen=True)
class Words:
    words: str = ""


@dataclass(frozen=True)
class Said:
    words: str
    note: str | None = None


def asked(view: Any, **options: Any) -> PageClient:
    """Pages whose act `/say` answers with `view(pages, request)`, beside a page."""
    pages = meridian.Pages("Desk", templates="templates")

    @pages.page("/", levels=["read", "write"], title="Desk")
    async def home(request: meridian.Request) -> meridian.Response:
        return pages.render("plain.html", data={"words": "home"})

    options = {"levels": "write", "methods": ["POST"], "params": Words, "name": "say", **options}
    pages.route("/say", **options)(lambda request: view(pages, request))
    return PageClient(pages, None)


def as_json(client: PageClient, form: dict[str, str] | None = None) -> Any:
    return client.request("POST", "/say", "write", form={**(form or {}), "csrf": client.form_token("write")}, headers=JSON)


# ── Outcomes ───────────────────────────────────────────────────────────────


def test_an_act_is_made_and_its_data_leaves_out_what_is_none():
    client = asked(lambda pages, request: pages.answer("plain.html", Said("hello")))
    assert client.call_tool("say").json == {"outcome": "made", "data": {"words": "hello"}}


def test_a_script_that_accepts_json_is_answered_as_an_agent_is():
    client = asked(lambda pages, request: pages.answer("plain.html", Said("hello"), status_code=201))
    answered = as_json(client)
    assert (answered.status, answered.json) == (201, {"outcome": "made", "data": {"words": "hello"}})


def test_the_outcome_is_vouched_for_behind_a_browsers_page():
    client = asked(lambda pages, request: pages.answer("plain.html", Said("hello"), outcome="unchanged"))
    answered = client.post("/say", "write")
    assert (answered.text, answered.outcome, "meridian-outcome" in answered.headers) == ("<p>hello</p>", "unchanged", False)


def test_any_other_outcome_is_the_authors_mistake():
    with pytest.raises(
        ValueError, match=r"^answer\(outcome='done'\): an answer is \"made\" or \"unchanged\"; to say no, call refuse"
    ):
        meridian.Pages("Desk").answer(None, {}, outcome="done")  # type: ignore[arg-type]


def test_without_a_template_the_kit_draws_the_data():
    client = asked(lambda pages, request: pages.answer(None, Said("hello & <goodbye>")))
    answered = client.post("/say", "write")
    assert (answered.status, answered.shows("hello & <goodbye>"), "<goodbye>" in answered.text) == (200, True, False)


def test_an_act_drawn_by_the_kit_says_what_came_of_it_and_a_read_does_not():
    made = asked(lambda pages, request: pages.answer(None, Said("hello")))
    again = asked(lambda pages, request: pages.answer(None, Said("hello"), outcome="unchanged"))
    read = asked(lambda pages, request: pages.answer(None, Said("hello")), reads=True)
    said = [client.post("/say", "write") for client in (made, again, read)]
    assert [("Done." in each.text, "Nothing was changed" in each.text) for each in said] == [
        (True, False),
        (False, True),
        (False, False),
    ]


def test_an_answer_may_set_headers_of_its_own():
    def view(pages: meridian.Pages, request: meridian.Request) -> meridian.Response:
        answer = pages.answer("plain.html", Said("hello"))
        answer.headers["x-note"] = "n"
        return answer

    client = asked(view)
    assert (client.post("/say", "write").headers["x-note"], as_json(client).headers["x-note"]) == ("n", "n")


def test_every_cookie_that_an_answer_sets_is_sent():
    def view(pages: meridian.Pages, request: meridian.Request) -> meridian.Response:
        answer = pages.answer("plain.html", Said("hello"))
        answer.set_cookie("one", "1")
        answer.set_cookie("two", "2")
        return answer

    client = asked(view)
    sent = [value.partition(";")[0] for name, value in client.post("/say", "write").headers.raw if name == "set-cookie"]
    assert sent == ["one=1", "two=2"]


def test_data_may_be_a_plain_mapping():
    assert asked(lambda pages, request: pages.answer(None, {"words": "hello"})).call_tool("say").data == {"words": "hello"}


# ── A place to go on from ──────────────────────────────────────────────────


def test_an_act_may_send_a_browser_to_a_page_so_that_a_reload_repeats_nothing():
    client = asked(lambda pages, request: pages.answer(None, Said("hello"), location="/?from=say"))
    answered = client.post("/say", "write")
    assert (answered.status, answered.location, answered.outcome) == (303, "/?from=say", "made")
    assert answered.headers["location"].startswith("/plugin/open/?from=say&meridian.outcome=")
    assert answered.follow().text == "<p>home</p>"


def test_a_location_may_be_what_path_for_wrote():
    client = asked(lambda pages, request: pages.answer(None, Said("hello"), location=request.path_for("/", note="a & b")))
    assert client.post("/say", "write").location == "/?note=a+%26+b"


def led(*, offered: bool = True, **options: Any) -> tuple[PageClient, Answered]:
    """A client, and what it was answered by an act that leads on to a page which says of itself that it changed nothing."""
    pages = meridian.Pages("Desk")

    @pages.page("/log", levels=["read", "write"], answers=Said, name="list_log")
    def log(request: meridian.Request) -> meridian.Response:
        return pages.answer(None, Said(f"of {request.query.get('day')}"))

    words: Any = {"answers": Said} if offered else {"tool": False, "why": "people alone"}

    @pages.route("/say", levels="write", methods=["POST"], params=Said, **words)
    def say(request: meridian.Request[Said]) -> meridian.Response:
        return pages.answer(None, request.params, location="/log?day=1", **options)

    client = PageClient(pages, None)
    return client, client.post("/say", "write", {"words": "hello"})


def told(answered: Answered) -> Any:
    found = re.search(r'<script type="application/ld\+json">(.*?)</script>', answered.text)
    return json.loads(found[1]) if found else None


ASKING = [("ann", 1120), ("ann", 1121), ("bob", 1000)]
READ = {"outcome": "unchanged", "data": {"words": "of 1"}}


def test_the_page_that_an_act_leads_to_tells_a_browsers_agent_what_came_of_the_act():
    _, made = led()
    assert told(made.follow()) == {"outcome": "made", "tool": "say", "page": READ}
    _, again = led(outcome="unchanged")
    assert told(again.follow()) == {"outcome": "unchanged", "tool": "say", "page": READ}


def test_what_came_of_an_act_is_believed_of_no_address_that_was_changed():
    client, made = led()
    address = made.headers["location"].removeprefix("/plugin/open")
    for other in (address.replace("day=1", "day=2"), address.replace(".made.", ".unchanged."), f"{address}x"):
        assert told(client.get(other, "write"))["outcome"] == "unchanged"
        assert "tool" not in told(client.get(other, "write"))
    assert told(client.get(address, "read")) == READ


def test_what_came_of_an_act_is_told_for_two_minutes_and_to_whoever_made_it():
    said = assertion.note(b"k", "ann", "write", "/log", outcome="made", tool="say", now=1000.5)
    heard = [assertion.read_note(said, b"k", who, "write", "/log", now=now) for who, now in ASKING]
    assert heard == [{"outcome": "made", "tool": "say"}, None, None]


def test_an_act_that_is_no_tool_leaves_no_note():
    _, made = led(offered=False)
    assert made.headers["location"] == "/plugin/open/log?day=1"


def test_an_agent_gets_the_data_and_no_redirect():
    client = asked(lambda pages, request: pages.answer(None, Said("hello"), location="/"))
    assert (client.call_tool("say").status, client.call_tool("say").data) == (200, {"words": "hello"})


def test_a_location_that_is_not_the_plugins_is_the_authors_mistake(caplog: pytest.LogCaptureFixture):
    client = asked(lambda pages, request: pages.answer(None, Said("hello"), location="https://example.com/"))
    assert (client.post("/say", "write").status, "nothing is served at 'https://example.com/'" in caplog.text) == (500, True)


# ── What is no answer (R67) ────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("given", "what"),
    [
        (lambda pages: pages.render("plain.html", data={"words": "x"}), "a page of HTML"),
        (lambda pages: PlainTextResponse("<p>ok</p>"), "a page of HTML"),
        (lambda pages: "<p>ok</p>", "a str"),
        (lambda pages: None, "None"),
        (lambda pages: {"words": "x"}, "a dict"),
    ],
)
def test_a_tool_call_that_is_not_answered_with_typed_data_fails_and_passes_nothing_on(given: Any, what: str):
    answered = asked(lambda pages, request: given(pages)).call_tool("say")
    assert (answered.status, answered.json) == (
        500,
        {
            "outcome": "refused",
            "reason": "untyped",
            "detail": f"The plugin answered with {what} and no typed data, which is not passed on.",
            "fields": [],
        },
    )


def test_a_browser_gets_a_response_of_the_authors_own_as_it_is():
    answered = asked(lambda pages, request: PlainTextResponse("sample", headers={"x-note": "n"})).post("/say", "write")
    assert (answered.status, answered.text, answered.headers["x-note"], answered.outcome) == (200, "sample", "n", None)


def test_a_view_that_gives_back_a_text_failed_and_the_log_says_what_to_give_back(caplog: pytest.LogCaptureFixture):
    answered = asked(lambda pages, request: "<p>ok</p>").post("/say", "write")
    assert (answered.status, answered.shows("<p>ok</p>")) == (500, False)
    assert "gave back a str; give back pages.answer(template, data), pages.render(template) or a Response" in caplog.text


def test_data_that_is_not_the_record_declared_is_a_failure(caplog: pytest.LogCaptureFixture):
    answered = asked(lambda pages, request: pages.answer(None, Words("hello")), answers=Said).call_tool("say")
    assert (answered.status, answered.reason) == (500, "failed")
    assert "answers Said, and its data is a Words" in caplog.text


def test_a_view_that_fails_tells_nothing_of_why_and_logs_it(caplog: pytest.LogCaptureFixture):
    def view(pages: meridian.Pages, request: meridian.Request) -> meridian.Response:
        raise KeyError("the password is tiger")

    client = asked(view)
    with caplog.at_level(logging.ERROR):
        tool, page = client.call_tool("say"), client.post("/say", "write")
    assert (tool.status, tool.reason, page.status) == (500, "failed", 500)
    assert [("tiger" in said) for said in (str(tool.json), page.text, caplog.text)] == [False, False, True]


def test_a_template_that_fails_is_a_500_in_words(caplog: pytest.LogCaptureFixture):
    answered = asked(lambda pages, request: pages.answer("broken.html", Said("x"))).post("/say", "write")
    assert (answered.status, answered.shows("nobody can say here whether anything was changed")) == (500, True)
    assert "UndefinedError" in caplog.text


# ── Refusals ───────────────────────────────────────────────────────────────


def refusing(*fields: Any, **options: Any) -> PageClient:
    return asked(lambda pages, request: pages.refuse("Not today.", *fields, **options))


def test_a_refusal_is_a_422_with_its_reason_and_each_field():
    answered = refusing(("words", "too loud"), Field("words[0]", "worse", said="HELLO"), reason="loud").call_tool("say")
    assert (answered.status, answered.json) == (
        422,
        {
            "outcome": "refused",
            "reason": "loud",
            "detail": "Not today.",
            "fields": [
                {"path": "words", "message": "too loud"},
                {"path": "words[0]", "message": "worse", "said": "HELLO"},
            ],
        },
    )


def test_a_refusal_where_no_page_draws_the_form_is_words_at_422():
    answered = refusing(("words", "too loud")).post("/say", "write", {"words": "HELLO"})
    assert (answered.status, answered.outcome, answered.reason) == (422, "refused", "refused")
    assert [answered.shows(words) for words in ("Not today.", "too loud")] == [True, True]


def test_a_page_refuses_in_words_too():
    pages = meridian.Pages("Desk", templates="templates")
    pages.page("/", levels="read", title="Desk")(lambda request: pages.refuse("Not today."))
    answered = PageClient(pages, None).get("/", "read")
    assert (answered.status, answered.shows("Not today.")) == (422, True)


def test_a_field_of_no_such_path_of_the_books_is_the_authors_mistake():
    with pytest.raises(meridian.DeclarationError, match=r"^RecordOpeningBalance has no field acount; it has account, "):
        Field.of("acount", operation="RecordOpeningBalance")


def test_a_field_of_the_books_says_what_it_means_where_no_message_is_given():
    assert Field.of("account", operation="RecordOpeningBalance").message == (
        "The ID of the account whose opening balance this is."
    )


# ── Escaping (R83) ─────────────────────────────────────────────────────────

MARKUP = "<img src=x onerror=alert(1)>"
SCRIPT = "</script><script>alert(1)</script>"


class Elements(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)


@pytest.mark.parametrize("template", ["plain.html", "plain.html.j2", "plain.jinja", "plain.txt", None])
@pytest.mark.parametrize("words", [MARKUP, SCRIPT, "\" onfocus=alert(1) autofocus='"])
def test_markup_is_escaped_in_a_template_of_any_ending(template: str | None, words: str):
    answered = asked(lambda pages, request: pages.answer(template, Said(words))).post("/say", "write")
    tags = Elements(answered.text).tags
    assert (answered.status, "img" in tags, "alert(1)" in answered.text, answered.shows(words)) == (200, False, True, True)
    assert [tag for tag in tags if tag == "script"] == ([] if template else ["script"] * 2)


def test_what_a_browsers_agent_is_told_leaves_no_way_out_of_its_script():
    answered = asked(lambda pages, request: pages.answer(None, Said(f"{SCRIPT}\u2028&"))).post("/say", "write")
    [told] = re.findall(r'<script type="application/ld\+json">(.*?)</script>', answered.text, re.DOTALL)
    assert json.loads(told) == {"outcome": "made", "data": {"words": f"{SCRIPT}\u2028&"}}
    assert [character for character in "<>&\u2028" if character in told] == []


@pytest.mark.parametrize("path", ["/" + MARKUP, "/x?a=" + MARKUP])
def test_what_was_asked_is_escaped_where_it_is_said(path: str):
    answered = asked(lambda pages, request: pages.answer(None, {})).get(quote(path, "/?="), "write")
    assert (answered.status, "img" in Elements(answered.text).tags) == (404, False)


def test_what_a_refusal_quotes_is_escaped():
    answered = refusing(("words", MARKUP)).post("/say", "write", {"words": MARKUP})
    assert ("img" in Elements(answered.text).tags, answered.shows(MARKUP)) == (False, True)


def test_a_name_of_a_person_is_escaped():
    client = asked(lambda pages, request: pages.answer(None, {}))
    client.display_name = MARKUP
    assert "img" not in Elements(client.post("/say", "write").text).tags
