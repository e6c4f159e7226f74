"""A form that did not read, was refused, or had a row added is drawn again where it stands, with everything typed in it."""

import html
import re
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import pytest

import meridian
from meridian.testing import Answered, Form, PageClient


@dataclass(frozen=True)
class Lot:
    quantity: Decimal
    cost: Decimal | None = None


@dataclass(frozen=True)
class Opening:
    account: str
    reason: str = ""
    lots: list[Lot] = field(default_factory=list)


@dataclass(frozen=True)
class Where:
    account: str = ""


class Desk:
    """Pages with a form under a page that takes a query; `made` keeps what was confirmed."""

    def __init__(self) -> None:
        self.made: list[Opening] = []
        self.pages = meridian.Pages("Desk", templates="templates")
        pages = self.pages

        @pages.page("/opening", levels=["read", "write"], params=Where, tool=False, why="the form alone", title="Opening")
        async def opening(request: meridian.Request[Where]) -> meridian.Response:
            account = request.params.account
            return pages.render("opening.html", start=Opening(account) if account else None)

        @pages.route("/opening/confirm", levels="write", methods=["POST"], params=Opening, name="confirm")
        async def confirm(request: meridian.Request[Opening]) -> meridian.Response:
            if request.params.reason == "no":
                pages.refuse("Give a better reason.", ("reason", "say more than no"), ("lots[0].cost", "too dear"))
            self.made.append(request.params)
            return pages.answer(None, request.params, location="/opening")

        self.client = PageClient(pages, None)

    def form(self, query: str = "") -> Form[Answered]:
        [form] = self.client.forms(f"/opening{query}", "write")
        return form


@pytest.fixture
def desk() -> Desk:
    return Desk()


def problems(answered: Answered) -> dict[str, str]:
    """What the page says of each cell, read as a screen reader does: by what describes it."""
    said = {}
    for control in answered.forms[0].controls:
        for described in control.attributes.get("aria-describedby", "").split():
            found = re.search(rf'id="{re.escape(described)}"[^>]*>(.*?)</span>\s*(?:<|$)', answered.text, re.DOTALL)
            if described.endswith("-problem") and found:
                said[control.name] = html.unescape(re.sub(r"<[^>]+>|Problem: ", "", found[1])).strip()
    return said


def invalid(answered: Answered) -> list[str]:
    return [control.name for control in answered.forms[0].controls if control.attributes.get("aria-invalid") == "true"]


# ── The drawn form ─────────────────────────────────────────────────────────


def test_the_drawn_form_is_filled_and_submitted(desk: Desk):
    form = desk.form("?account=A-1")
    answered = form.fill({"lots[0].quantity": "2", "lots[1].quantity": "3.50"}).submit()
    assert (answered.status, answered.location, desk.made) == (
        303,
        "/opening",
        [Opening("A-1", "", [Lot(Decimal(2)), Lot(Decimal("3.50"))])],
    )


def test_the_form_is_sent_to_its_route_in_its_session(desk: Desk):
    form = desk.form()
    assert (form.action, form.method, form.multipart) == ("/plugin/open/opening/confirm", "post", True)
    assert [name for name in form if name.startswith(("csrf", "meridian.page"))] == ["csrf", "meridian.page"]


# ── What did not read ──────────────────────────────────────────────────────


def test_what_did_not_read_is_drawn_again_at_422_with_each_problem_on_its_cell(desk: Desk):
    answered = desk.form().fill({"lots[1].quantity": "many", "lots[1].cost": "1,500"}).submit()
    assert (answered.status, answered.outcome, answered.reason, desk.made) == (422, "refused", "not_read", [])
    assert invalid(answered) == ["account", "lots[1].quantity", "lots[1].cost"]
    assert problems(answered) == {
        "account": "nothing was given, and it is needed",
        "lots[1].quantity": '"many" is no number; write a number, like 1500.25',
        "lots[1].cost": '"1,500" has a comma; write a number, like 1500.25',
    }


def test_what_was_typed_is_still_in_its_cell_right_or_wrong(desk: Desk):
    answered = desk.form().fill({"account": " A-1 ", "lots[1].quantity": "many", "lots[1].cost": "<1>"}).submit()
    form = answered.forms[0]
    assert [form[name] for name in ("account", "lots[1].quantity", "lots[1].cost")] == [" A-1 ", "many", "<1>"]


def test_a_row_keeps_its_number_however_few_rows_stand_before_it(desk: Desk):
    answered = desk.client.post("/opening/confirm", "write", {"account": "A-1", "lots[7].quantity": "many"})
    assert (invalid(answered), answered.forms[0]["lots[7].quantity"]) == (["lots[7].quantity"], "many")


def test_the_page_says_first_that_there_are_problems_and_in_its_title(desk: Desk):
    answered = desk.form().fill({"lots[1].quantity": "many"}).submit()
    assert (answered.shows("There are 2 problems"), "<title>Error: " in answered.text) == (True, True)


def test_a_form_put_right_is_made(desk: Desk):
    answered = desk.form().fill({"account": "A-1", "lots[1].quantity": "many"}).submit()
    again = answered.forms[0].fill({"lots[1].quantity": "2"}).submit()
    assert (again.status, desk.made) == (303, [Opening("A-1", "", [Lot(Decimal(2))])])


def test_the_page_is_asked_again_with_the_query_it_had(desk: Desk):
    """The page's own start is not lost on a reload: the form remembers what page it stands on."""
    answered = desk.form("?account=A-1").fill({"account": ""}).submit()
    assert (answered.status, answered.forms[0]["meridian.page"], answered.forms[0]["account"]) == (
        422,
        "/opening?account=A-1",
        "",
    )


def test_a_script_is_answered_with_the_fields_and_no_page(desk: Desk):
    form = {"csrf": desk.client.form_token("write"), "lots[0].quantity": "many"}
    answered = desk.client.request("POST", "/opening/confirm", "write", form=form, headers={"accept": "application/json"})
    assert (answered.status, [each["path"] for each in answered.json["fields"]]) == (422, ["account", "lots[0].quantity"])


# ── What was refused ───────────────────────────────────────────────────────


def test_what_the_plugin_refused_is_drawn_again_at_422_with_its_words_and_each_field(desk: Desk):
    answered = desk.form().fill({"account": "A-1", "reason": "no", "lots[0].quantity": "2"}).submit()
    assert (answered.status, answered.outcome, answered.reason, desk.made) == (422, "refused", "refused", [])
    assert problems(answered) == {"reason": "say more than no", "lots[0].cost": "too dear"}
    assert (answered.shows("Give a better reason."), answered.forms[0]["lots[0].quantity"]) == (True, "2")


def test_a_browsers_agent_is_told_the_refusal(desk: Desk):
    answered = desk.form().fill({"account": "A-1", "reason": "no"}).submit()
    assert '"outcome":"refused","reason":"refused","detail":"Give a better reason."' in answered.text


def refusing(*fields: tuple[str, str]) -> PageClient:
    pages = meridian.Pages("Desk", templates="templates")
    pages.page("/opening", levels="write", title="Opening")(lambda request: pages.render("opening.html", start=None))
    pages.route("/opening/confirm", levels="write", methods=["POST"], params=Opening, name="confirm", title="Confirm it")(
        lambda request: pages.refuse("No.", *fields)
    )
    return PageClient(pages, None)


TYPED = {"account": "A-1", "lots[0].quantity": "2"}


@pytest.mark.parametrize(
    ("path", "shown", "near"),
    [
        ("acount", "too dear", "; did you mean account?"),
        ("lots[0].costs", "<strong>Row 1</strong>: too dear", "; did you mean lots[].cost?"),
        ("lots[0.cost", "<strong>Lots</strong>: too dear", "; did you mean lots[].cost?"),
    ],
)
def test_a_refusal_at_a_path_the_record_lacks_is_a_sentence_to_the_person_and_a_warning_to_the_author(
    path: str, shown: str, near: str, caplog: pytest.LogCaptureFixture
):
    client = refusing((path, "too dear"))
    answered = client.post("/opening/confirm", "write", TYPED)
    assert (answered.status, f"{path}<" in answered.text) == (422, False)
    assert re.search(rf"<li>(<a [^>]*>)?{re.escape(shown)}", answered.text)
    assert f"POST /opening/confirm refused {path!r}, which Opening lacks{near}" in caplog.text


def test_a_refusal_at_a_path_the_record_lacks_keeps_its_path_for_an_agent(caplog: pytest.LogCaptureFixture):
    answered = refusing(("acount", "too dear")).call_tool("confirm", {"account": "A-1"})
    assert [dict(each) for each in answered.fields] == [{"path": "acount", "message": "too dear"}]
    assert "refused 'acount', which Opening lacks; did you mean account?" in caplog.text


def test_a_refusal_may_blame_the_input_of_a_file_that_was_not_chosen(caplog: pytest.LogCaptureFixture):
    [form] = refusing(("statement", "choose one")).forms("/opening", "write")
    answered = form.fill(TYPED).submit()
    assert (problems(answered), caplog.text) == ({"statement": "choose one"}, "")


# ── Rows, by plain submits ─────────────────────────────────────────────────


def rows(form: Form[Answered]) -> list[str]:
    return [name for name in form if name.endswith(".quantity")]


def test_a_row_is_added_by_a_plain_submit_with_everything_typed_kept(desk: Desk):
    form = desk.form().fill({"account": "A-1", "lots[0].quantity": "many", "lots[1].quantity": "2"})
    answered = form.submit("meridian.add")
    again = answered.forms[0]
    assert (answered.status, answered.outcome, invalid(answered), desk.made) == (200, None, [], [])
    assert [again[name] for name in ("account", "lots[0].quantity", "lots[1].quantity")] == ["A-1", "many", "2"]
    assert rows(again) == ["lots[0].quantity", "lots[1].quantity", "lots[2].quantity"]


def test_a_row_is_removed_by_a_plain_submit_and_no_other_is_renumbered(desk: Desk):
    form = desk.form().fill({"lots[0].quantity": "1", "lots[1].quantity": "2"})
    again = form.submit("lots[0]").forms[0]
    assert (rows(again), again["lots[1].quantity"]) == (["lots[1].quantity"], "2")


def test_rows_added_one_after_another_read_as_they_stand(desk: Desk):
    form = desk.form().fill({"account": "A-1", "lots[1].quantity": "1"})
    for number in (2, 3):
        form = form.submit("meridian.add").forms[0].fill({f"lots[{number}].quantity": str(number)})
    form.submit()
    assert desk.made == [Opening("A-1", "", [Lot(Decimal(number)) for number in (1, 2, 3)])]


def test_enter_in_an_input_sends_the_form_and_adds_or_removes_no_row(desk: Desk):
    form = desk.form()
    assert form.sends().pairs[-1][0] not in ("meridian.add", "meridian.remove")


def test_a_row_added_needs_the_token_too(desk: Desk):
    answered = desk.client.request("POST", "/opening/confirm", "write", form={"meridian.add": "lots"})
    assert answered.status == 403


@pytest.mark.parametrize(
    "pressed",
    [
        {"meridian.add": "nowhere"},
        {"meridian.add": "account"},
        {"meridian.add": "lots[0].quantity"},
        {"meridian.add": "lots[999999999999].x["},
        {"meridian.remove": "account"},
        {"meridian.remove": "lots"},
        {"meridian.remove": "["},
    ],
)
def test_a_button_of_no_list_leaves_everything_as_it_was(desk: Desk, pressed: dict[str, str]):
    answered = desk.client.post("/opening/confirm", "write", {"account": "A-1", "lots[0].quantity": "2", **pressed})
    assert (answered.status, answered.forms[0]["account"], answered.forms[0]["lots[0].quantity"], desk.made) == (
        200,
        "A-1",
        "2",
        [],
    )


def test_prepare_is_refused_in_words_where_nobody_keeps_it(desk: Desk):
    answered = desk.client.post("/opening/confirm", "write", {"account": "A-1", "prepare": "1"})
    assert (answered.status, answered.shows("This is not kept as a prepared change here."), desk.made) == (422, True, [])


# ── Odd forms, by every way that leads back to them ────────────────────────


@dataclass(frozen=True)
class Leg:
    at: datetime
    sure: bool | None = None
    side: Literal["buy", "sell"] = "buy"
    country: str = meridian.field(default="C03", choices=[f"C{n:02}" for n in range(30)])
    fees: list[Decimal] = field(default_factory=list)
    note: str = ""


@dataclass(frozen=True)
class Odd:
    password: str = meridian.field(default="", secret=True)
    at: datetime | None = None
    sure: bool | None = None
    agreed: bool = True
    levels: list[Literal["read", "write"]] = field(default_factory=list)
    limits: dict[str, Decimal] = field(default_factory=dict)
    legs: dict[str, Leg] = field(default_factory=dict)
    ways: list[Leg] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)
    reason: str = ""


ODD = [
    ("at", "2026-03-01T12:30"),
    ("at.zone", "Europe/Nowhere"),
    ("sure", "false"),
    ("levels", "write"),
    ('limits["per week"]', "1,5"),
    ("limits.daily", "2"),
    ("meridian.key.limits", "monthly"),
    ("legs.first.at", "noon"),
    ("legs.first.at.zone", "UTC"),
    ("legs.first.country", "Elsewhere"),
    ("legs.first.fees[0]", "x"),
    ("legs.first.fees[1]", ""),
    ("legs.first.note", "one"),
    ("ways[3].at", "2026-03-01T12:30:15"),
    ("ways[3].at.zone", "UTC"),
    ("ways[3].sure", "true"),
    ("ways[3].side", "sell"),
    ("ways[3].country", "C29"),
    ("ways[3].fees[7]", "7"),
    ("ways[3].note", "two & <three>"),
    ("extra", "{not json"),
    ("reason", "\ufdd0path\ufdd1 %(path)s @row0@ {{ x }}"),
]


def odd_page(page: str = "odd.html") -> PageClient:
    pages = meridian.Pages("Desk", templates="templates")

    @pages.page("/odd", levels="write", title="Odd", params=Where, tool=False, why="the form alone")
    async def odd(request: meridian.Request[Where]) -> meridian.Response:
        if request.query.get("account") == "fails":
            raise RuntimeError("the page fails")
        return pages.render(page, account=request.params.account)

    @pages.route("/odd/send", levels="write", methods=["POST"], params=Odd, name="send", title="Send it")
    async def send(request: meridian.Request[Odd]) -> meridian.Response:
        pages.refuse("No.", ("reason", "say more"))

    return PageClient(pages, None)


def kept(answered: Answered) -> list[tuple[str, str]]:
    """What the form that came back would send of what was typed."""
    names = {name for name, _ in ODD}
    return [(name, value) for name, value in answered.forms[0].sends().pairs if name in names]


@pytest.mark.parametrize(
    "how",
    [{}, {"meridian.add": "ways"}, {"meridian.remove": "ways[9]"}, {"meridian.add": "legs.first.fees"}, {"prepare": "1"}],
    ids=["sent", "row added", "row removed", "nested row added", "prepared"],
)
@pytest.mark.parametrize("where", ["/odd", "/odd?account=A-1", "/odd?account=fails", "/elsewhere"])
def test_what_was_typed_in_an_odd_form_comes_back_whole(how: dict[str, str], where: str):
    answered = odd_page().post("/odd/send", "write", [*ODD, *how.items(), ("meridian.page", where)])
    assert sorted(kept(answered)) == sorted(ODD)


@pytest.mark.parametrize("page", ["broken.html", "plain.jinja"], ids=["is broken", "draws no form"])
def test_a_form_that_its_page_does_not_draw_stands_alone(page: str):
    answered = odd_page(page).post("/odd/send", "write", ODD)
    assert (answered.status, answered.shows("Send it"), sorted(kept(answered))) == (422, True, sorted(ODD))


WORDED = """{% extends "meridian/base.html" %}{% block main %}
{{ form("/opening/confirm", labels={"reason": "Why & what for", "lots[].cost": "Paid"},
        choices={"reason": ["no", ("b", "<Because>")]}) }}
{% endblock %}"""


@pytest.fixture
def worded(tmp_path: Path) -> PageClient:
    """A page that gives its form words, and fails when it is to draw it again."""
    (tmp_path / "worded.html").write_text(WORDED)
    pages = meridian.Pages("Desk", templates=tmp_path)

    @pages.page("/opening", levels="write", title="Opening")
    def opening(request: meridian.Request) -> meridian.Response:
        assert request.redraw is None
        return pages.render("worded.html")

    pages.route("/opening/confirm", levels="write", methods=["POST"], params=Opening, name="confirm", title="Confirm it")(
        lambda request: pages.refuse("No.")
    )
    return PageClient(pages, None)


def test_a_form_that_stands_alone_keeps_the_labels_and_choices_of_its_page(worded: PageClient):
    [form] = worded.forms("/opening", "write")
    for _ in range(2):  # it carries them on
        answered = form.fill({"reason": "b", "lots[0].quantity": "many"}).submit()
        [form] = answered.forms
        assert (answered.status, form["reason"], form["lots[0].quantity"]) == (422, "b", "many")
        assert "Why &amp; what for" in answered.text
        assert '<th scope="col" class="text figure short">Paid' in answered.text
        assert re.search(r'value="b" checked[^>]*><span>&lt;Because&gt;<', answered.text)


@pytest.mark.parametrize("words", ["", "{", "[1]", '{"labels":{"reason":1}}', '{"labels":{"gone":"Gone"},"choices":{"[":[]}}'])
def test_words_that_came_along_and_do_not_read_or_are_of_another_record_are_left(worded: PageClient, words: str):
    answered = worded.post("/opening/confirm", "write", {**WRONG, "meridian.words": words})
    assert (answered.status, answered.forms[0]["lots[0].quantity"], "Gone</" in answered.text) == (422, "many", False)


def test_a_secret_and_a_file_must_be_given_again_and_the_page_says_so():
    typed = {"password": "hunter2", "reason": "r"}
    files = {"statement": ("march.ofx", b"x", "text/plain")}
    answered = odd_page().post("/odd/send", "write", typed, files=files)
    assert ("hunter2" in answered.text, answered.shows("Choose march.ofx again: a page cannot keep a file.")) == (False, True)
    assert answered.shows("Write it again: a secret is not sent back.")


def test_of_two_forms_of_one_route_the_one_that_was_sent_is_drawn_again():
    client = odd_page("twice.html")
    _, second = client.forms("/odd", "write")
    answered = second.fill({"reason": "mine"}).submit()
    assert [form["reason"] for form in answered.forms] == ["", "mine"]


# ── Where there is no page, or the page cannot be drawn ────────────────────


def on_a_page(page: Any, *, levels: Any = "write") -> PageClient:
    pages = meridian.Pages("Desk", templates="templates")
    pages.page("/byhand", levels=levels, title="By hand")(lambda request: page(pages, request))
    pages.route("/byhand/send", levels="write", methods=["POST"], params=Opening, name="send")(
        lambda request: pages.answer(None, request.params)
    )
    return PageClient(pages, None)


WRONG = {"account": "", "lots[0].quantity": "many"}


def test_a_form_drawn_by_hand_says_what_was_typed_and_each_problem():
    client = on_a_page(lambda pages, request: pages.render("byhand.html"))
    [form] = client.forms("/byhand", "write")
    answered = form.fill(WRONG).submit()
    assert (answered.status, answered.forms[0]["lots[0].quantity"], answered.text.count("<b></b>")) == (422, "many", 0)


@pytest.mark.parametrize(
    "page",
    [
        lambda pages, request: pages.refuse("Not today."),
        lambda pages, request: pages.render("broken.html"),
        lambda pages, request: 1 / 0,
        lambda pages, request: meridian.Response("no page of the kit's"),
        lambda pages, request: pages.answer(None, {}, location="/byhand"),
    ],
    ids=["refuses", "is broken", "fails", "is a response", "redirects"],
)
def test_a_page_that_cannot_draw_the_form_leaves_the_words_at_422(page: Any):
    answered = on_a_page(page).post("/byhand/send", "write", WRONG)
    assert (answered.status, answered.outcome, answered.reason) == (422, "refused", "not_read")
    assert answered.shows("lots[0].quantity")


def test_a_page_that_does_not_serve_the_session_is_not_shown_in_it():
    client = on_a_page(lambda pages, request: pages.render("byhand.html"), levels="read")
    answered = client.post("/byhand/send", "write", WRONG)
    assert (answered.status, answered.forms, answered.shows("lots[0].quantity")) == (422, [], True)


def test_a_page_of_a_form_that_another_form_was_sent_from_shows_the_problems_all_the_same():
    """The page draws no form for what was sent; the words stand at its top."""
    client = on_a_page(lambda pages, request: pages.answer(None, {"note": "a page without the form"}))
    answered = client.post("/byhand/send", "write", WRONG)
    assert (answered.status, answered.shows("many")) == (422, True)


def test_a_refusal_blames_the_row_as_it_was_sent(desk: Desk) -> None:
    """A view counts the rows of its record; the first kept was sent as the eighth."""
    answered = desk.client.post(
        "/opening/confirm",
        "write",
        [("account", "A-1"), ("reason", "no"), ("lots[2].quantity", " "), ("lots[7].quantity", "1"), ("lots[7].cost", "9")],
    )
    assert answered.status == 422
    assert 'href="#' in answered.text
    [blamed] = re.findall(r'<input[^>]*name="lots\[7\]\.cost"[^>]*>', answered.text)
    assert 'aria-invalid="true"' in blamed


def test_a_refused_cell_is_blamed_where_it_stands_for_an_agent_too(desk: Desk) -> None:
    answered = desk.client.call_tool("confirm", {"account": "A-1", "reason": "no", "lots": [{"quantity": "1"}]})
    assert [each["path"] for each in answered.fields] == ["reason", "lots[0].cost"]
