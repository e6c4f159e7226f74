"""A client asks a plugin as its deployment does, for a person whom the test describes."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any

import pytest

import meridian
from meridian.callers import Accounts
from meridian.commands import ListAccounts, RecordOpeningBalance
from meridian.testing import PageClient, book
from meridian.testing.answers import AnsweredHeaders


@dataclass(frozen=True)
class Note:
    account: str = ""
    at: datetime | None = None
    tags: list[str] = field(default_factory=list)


def echoing(*roles: str, levels: Any = ("write", "read", "admin")) -> meridian.Pages:
    """Pages of one tool, which tells who asks."""
    pages = meridian.Pages("Desk", roles=roles)

    @pages.route("/who", levels=levels, roles=list(roles), methods=["POST"], params=Note, name="who")
    async def who(request: meridian.Request[Note]) -> meridian.Response:
        caller = request.caller
        reach = ["every account"] if caller.read.all else sorted(caller.read)
        return pages.answer(None, {"level": caller.level, "read": reach, "write": sorted(caller.write), "as": caller.subject})

    return pages


# ── What a person holds ────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("holds", "told"),
    [
        ({"write": {"A"}, "read": {"B"}}, {"level": "write", "read": ["A", "B"], "write": ["A"]}),
        ({"write": ["A"]}, {"level": "write", "read": ["A"], "write": ["A"]}),
        ({"read": ("B",)}, {"level": "read", "read": ["B"], "write": []}),
        ({"read": Accounts(all=True)}, {"level": "read", "read": ["every account"], "write": []}),
        ({"read": set(), "write": ()}, {"level": "write", "read": [], "write": []}),
        ({}, {"level": "write", "read": [], "write": []}),
        ({"deployment_admin": True, "subject": "ada"}, {"level": "write", "read": [], "write": [], "as": "ada"}),
    ],
)
def test_a_person_holds_the_accounts_named_and_without_any_both_levels_on_none(holds: dict[str, Any], told: dict[str, Any]):
    assert PageClient(echoing(), None, **holds).call_tool("who").data == {"as": "person", **told}


def test_a_person_holds_by_role_what_is_named_by_role():
    client = PageClient(
        echoing("operations", "custody"), None, write={"operations": {"A"}, "custody": ()}, read={"custody": {"B"}}
    )
    assert {role: (sorted(held.levels), sorted(held.read), sorted(held.write)) for role, held in client.holdings.items()} == {
        "operations": (["admin", "read", "write"], ["A"], ["A"]),
        "custody": (["admin", "read", "write"], ["B"], []),
    }


def test_a_person_holds_what_is_named_on_each_of_the_roles():
    client = PageClient(echoing("operations", "custody"), None, write={"A"}, roles=["custody"], admin=["operations"])
    assert {role: sorted(held.levels) for role, held in client.holdings.items()} == {
        "operations": ["admin"],
        "custody": ["read", "write"],
    }


@pytest.mark.parametrize(
    ("holds", "error", "message"),
    [
        ({"write": "ACC-1"}, TypeError, "write is the text 'ACC-1'; write write={'ACC-1'}"),
        ({"roles": ["operation"]}, ValueError, "'operation' is no role of Desk; did you mean operations?"),
        ({"write": {"ops": {"A"}}}, ValueError, "'ops' is no role of Desk; it holds operations"),
    ],
)
def test_a_slip_in_what_is_held_is_told(holds: dict[str, Any], error: type[Exception], message: str):
    with pytest.raises(error) as refused:
        PageClient(echoing("operations"), None, **holds)
    assert str(refused.value) == message


def test_a_person_holds_admin_unless_told_otherwise():
    pages = echoing(levels="admin")
    assert PageClient(pages, None, read={"A"}).call_tool("who").data["level"] == "admin"
    answered = PageClient(pages, None, read={"A"}, admin=False).call_tool("who")
    assert (answered.status, answered.level, answered.detail) == (403, None, "who serves admin; you hold read.")


def test_a_call_opens_at_the_level_that_is_named():
    client = PageClient(echoing(), None, write={"A"})
    assert client.call_tool("who", level="read").data == {"level": "read", "read": ["A"], "write": [], "as": "person"}


@pytest.mark.parametrize("level", ["write", "admin"])
def test_a_session_at_a_level_not_held_is_refused_by_the_guard(level: Any):
    answered = PageClient(echoing(), None, read={"A"}, admin=False).post("/who", level)
    assert (answered.status, answered.shows(f"you are in a session at {level}, which carries nothing here")) == (403, True)


# ── Tools by name ──────────────────────────────────────────────────────────


def test_a_tools_name_that_is_none_is_told_with_the_near_one():
    pages = echoing()
    pages.route("/file", levels="write", methods=["POST"], tool=False, why="a file the person chooses")(lambda request: None)  # type: ignore[arg-type, return-value]
    client = PageClient(pages, None)
    said = {}
    for name in ("whom", "<lambda>", "confirm_lots"):
        with pytest.raises(LookupError) as refused:
            client.call_tool(name)
        said[name] = str(refused.value)
    assert said == {
        "whom": "no tool is named 'whom'; did you mean who?",
        "<lambda>": "POST /file offers agents no tool: a file the person chooses",
        "confirm_lots": "no tool is named 'confirm_lots'; there is who",
    }


def test_a_tool_is_told_as_it_was_derived():
    tool = PageClient(echoing(), None).tool("who")
    assert (tool.name, tool.title, tool.description, tool.reads, tool.levels, tool.roles) == (
        "who", "Who", "Who.", False, ("write", "read", "admin"), ("",),
    )  # fmt: skip
    assert (tool.checked_by, tool.accounts, tool.made_on, tool.method, tool.path) == (None, (), None, "POST", "/who")
    assert (tool.input_schema["type"], tool.output_schema["required"]) == ("object", ["outcome"])


# ── Before a book ──────────────────────────────────────────────────────────


def recording(kept: list[str]) -> meridian.Pages:
    pages = meridian.Pages("Desk", roles=["operations"])

    @pages.route("/record", levels="write", methods=["POST"], params=Note, name="record")
    async def record(request: meridian.Request[Note]) -> meridian.Response:
        kept.append(request.caller.header)
        balance = RecordOpeningBalance(request.params.account, date(2026, 1, 31), [])
        entry = await request.plugin.record_opening_balance(balance, acting_for=request.caller.header)
        return pages.answer(None, entry, outcome=entry.outcome)

    @pages.route("/list", levels=["read", "write"], methods=["GET"], params=Note, name="list")
    async def list_accounts(request: meridian.Request[Note]) -> meridian.Response:
        kept.append(request.caller.header)
        return pages.answer(None, await request.plugin.list_accounts(acting_for=request.caller.header))

    return pages


def test_a_view_meets_a_books_handle_as_it_meets_a_deployments():
    seen: list[Any] = []
    pages = meridian.Pages("Desk")
    pages.page("/", levels="read")(lambda request: seen.append(request.plugin) or pages.answer(None, {}))
    PageClient(pages, book(), instance="desk").get("/", "read")
    assert [(type(each), each.instance) for each in seen] == [(meridian.Plugin, "desk")]


def test_what_was_recorded_again_is_recognised():
    client = PageClient(recording([]), book(accounts=["A"]), write={"A"})
    assert [client.call_tool("record", {"account": "A"}).outcome for _ in range(2)] == ["made", "unchanged"]


def test_a_call_is_closed_when_its_request_ends():
    kept: list[str] = []
    plugin = book(accounts=["A"])
    PageClient(recording(kept), plugin, write={"A"}).call_tool("record", {"account": "A"})
    with pytest.raises(meridian.Refusal) as refused:
        asyncio.run(plugin.list_accounts(acting_for=kept[0]))
    assert refused.value.reason == "call_closed"


def test_the_person_may_ask_the_book_themselves():
    plugin = book(accounts={"A": "Alpha", "B": "Beta"})
    client = PageClient(recording([]), plugin, write={"A"})
    listed = asyncio.run(plugin.list_accounts(ListAccounts(), acting_for=client.caller.header))
    assert [(each.id, each.name) for each in listed.accounts] == [("A", "Alpha")]


def test_a_read_may_change_nothing():
    client = PageClient(recording([]), book(accounts=["A"]), write={"A"})
    header = client.caller("write", method="GET", path="/list").header
    with pytest.raises(meridian.Refusal) as refused:
        asyncio.run(client.plugin.record_opening_balance(RecordOpeningBalance("A", date(2026, 1, 31), []), acting_for=header))
    assert (refused.value.reason, refused.value.detail) == (
        "not_admitted",
        "RecordOpeningBalance changes something, and this call is a read.",
    )


def test_a_book_with_a_clock_and_a_key_of_its_own_is_asked_by_them():
    now = datetime(2020, 2, 29, 12, tzinfo=UTC)
    plugin = book(accounts=["A"], deployment_key=b"another key", clock=lambda: now)
    client = PageClient(recording([]), plugin, write={"A"}, clock=lambda: now)
    assert client.call_tool("record", {"account": "A"}).data["recorded_at"] == "2020-02-29T12:00:00+00:00"


def test_anything_with_the_methods_the_views_call_stands_for_the_deployment():
    class Standing:
        async def list_accounts(self, *, acting_for: str) -> dict[str, Any]:
            return {"accounts": [{"id": "X", "name": ""}]}

    assert PageClient(recording([]), Standing()).call_tool("list").data == {"accounts": [{"id": "X", "name": ""}]}


# ── The person, as a caller ────────────────────────────────────────────────


def test_the_caller_is_the_person_in_a_session_and_called_in_another():
    client = PageClient(echoing("operations", "custody"), None, write={"operations": {"A"}}, read={"custody": {"B"}})
    assert (client.caller.subject, client.caller.level, sorted(client.caller.read)) == ("person", "write", ["A", "B"])
    narrowed = client.caller("read", roles=["custody"])
    assert (narrowed.level, sorted(narrowed.read), sorted(narrowed.write), narrowed.delegation_id) == ("read", ["B"], [], None)
    assert isinstance(narrowed, meridian.Caller)


def test_a_level_that_is_none_is_told():
    with pytest.raises(ValueError, match=r"^'writ' is no level; a session is at read, write or admin$"):
        PageClient(echoing(), None).post("/who", "writ")  # type: ignore[arg-type]


# ── As a browser ───────────────────────────────────────────────────────────


def test_a_session_that_is_not_named_is_at_the_highest_level_served_and_held():
    pages = echoing(levels=["read", "admin"])
    assert PageClient(pages, None, write={"A"}).post("/who").level == "read"


def test_a_request_adds_nothing_but_the_signed_header():
    seen: list[dict[str, str]] = []
    pages = meridian.Pages("Desk")
    pages.page("/", levels="read")(lambda request: seen.append(dict(request.headers)) or pages.answer(None, {}))
    PageClient(pages, None).request("GET", "/", "read", headers={"X-Note": "n"})
    assert [sorted(each) for each in seen] == [["content-length", "host", "meridian-caller", "x-note"]]


def test_a_query_may_be_in_the_path_and_beside_it():
    pages = meridian.Pages("Desk")
    pages.page("/", levels="read", params=Note, answers=Note, name="note")(lambda request: pages.answer(None, request.params))
    answered = PageClient(pages, None).get("/?account=A%20%26%20Ł-ł", "read", query={"tags": ["x", "y"]})
    assert (answered.status, answered.path) == (200, "/?account=A%20%26%20Ł-ł&tags=x&tags=y")
    assert all(answered.shows(each) for each in ("A & Ł-ł", "x", "y"))


def test_a_form_may_be_a_record_pairs_or_texts_by_name():
    reached: list[Note] = []
    pages = meridian.Pages("Desk")

    @pages.route("/note", levels="write", methods=["POST"], params=Note)
    async def note(request: meridian.Request[Note]) -> meridian.Response:
        reached.append(request.params)
        return pages.answer(None, request.params)

    client = PageClient(pages, None)
    for form in (
        Note("A", tags=["x", "y"]),
        [("account", "A"), ("tags", "x"), ("tags", "y")],
        {"account": "A", "tags": ["x", "y"]},
    ):
        assert client.post("/note", "write", form).status == 200
    assert reached == [Note("A", tags=["x", "y"])] * 3
    with pytest.raises(
        TypeError, match=r"^a form is texts by name, pairs, or a record, not 'account=A'; send bytes as they are"
    ):
        client.post("/note", "write", "account=A")


def test_an_address_that_leaves_the_plugin_is_followed_nowhere():
    pages = meridian.Pages("Desk", templates="templates")

    @pages.page("/", levels="read")
    async def home(request: meridian.Request) -> meridian.Response:
        return pages.render("holder.html", shown=[], raw='<form method="post" action="/elsewhere"></form>')

    client = PageClient(pages, None)
    with pytest.raises(ValueError, match=r"^/ leads to '/elsewhere', which is no address of this plugin; write it with path"):
        client.forms("/", "read")[0].submit()
    with pytest.raises(ValueError, match="is no redirect to a page of the plugin"):
        client.get("/", "read").follow()


def test_headers_are_found_in_whatever_letters_and_several_of_one_name_apart():
    headers = AnsweredHeaders((("x-a", "1"), ("x-b", "2"), ("x-a", "3")))
    assert (headers["X-A"], headers.all("x-A"), list(headers), len(headers), headers.get("x-c")) == (
        "1, 3",
        ["1", "3"],
        ["x-a", "x-b"],
        2,
        None,
    )


# ── Every page ─────────────────────────────────────────────────────────────


def showing(*shown: str, raw: str = "", levels: Any = ("read", "write", "admin")) -> meridian.Pages:
    pages = meridian.Pages("Desk", templates="templates", roles=["operations"])

    @pages.page("/", levels=levels, title="Desk")
    async def home(request: meridian.Request) -> meridian.Response:
        return pages.render("holder.html", shown=shown or sorted(request.caller.read), raw=raw)

    @pages.page("/limits", levels="admin", answers=Note, name="limits")
    async def limits(request: meridian.Request) -> meridian.Response:
        return pages.answer(None, Note())

    @pages.route("/note", levels="write", methods=["POST"], params=Note, name="note")
    async def note(request: meridian.Request[Note]) -> meridian.Response:
        return pages.answer(None, request.params)

    return pages


def test_every_page_is_answered_at_each_level_it_serves_and_the_person_holds():
    def asked(**holds: Any) -> list[tuple[str, str, int]]:
        return [(page.path, page.level, page.status) for page in PageClient(showing(), None, **holds).every_page()]

    assert asked(write={"A"}) == [("/", "write", 200), ("/", "read", 200), ("/", "admin", 200), ("/limits", "admin", 200)]
    assert asked(read={"A"}, admin=False) == [("/", "read", 200)]


def test_pages_served_at_admin_show_no_account_data():
    client = PageClient(showing(), None, write={"ACC-1"}, read={"ACC-2"}, admin=False)
    assert client.get("/", "write").shows("ACC-1")
    client.assert_no_account_data()
    client.assert_no_account_data("ACC-1", "12.50")


def test_account_data_served_at_admin_is_told_where():
    client = PageClient(showing("Alpha & Sons"), None)
    with pytest.raises(AssertionError, match=r"^GET / shows Alpha & Sons at admin, which reaches no account: …"):
        client.assert_no_account_data("Alpha & Sons")
    client.assert_no_account_data("Alpha & So")


def test_account_data_that_a_tool_answers_at_admin_is_told():
    pages = meridian.Pages("Desk")
    pages.page("/limits", levels="admin", answers=Note, name="limits")(lambda request: pages.answer(None, Note("ACC-1")))
    with pytest.raises(AssertionError, match=r"^(GET /limits|the tool limits) shows ACC-1 at admin"):
        PageClient(pages, None).assert_no_account_data("ACC-1")


def test_without_an_account_something_must_be_named():
    with pytest.raises(ValueError, match="name what must not be shown"):
        PageClient(showing(), None).assert_no_account_data()


@pytest.mark.parametrize(
    ("raw", "strays"),
    [
        ('<input name="account"><input name="at"><input name="at.zone"><input name="tags"><input name="tags[]">', []),
        ('<input name="csrf"><input name="meridian.page"><input name="prepare.reason"><button name="go">', []),
        ('<input type="file" name="statement">', []),
        ('<input name="acount">', ["/: the input 'acount' is no path of what POST /note takes, Note"]),
        ('<input name="account.zone">', ["/: the input 'account.zone' is no path of what POST /note takes, Note"]),
        ('<input name="tags[0"><input name="account[]">', [
            "/: the input 'tags[0' is no path of what POST /note takes, Note",
            "/: the input 'account[]' is no path of what POST /note takes, Note",
        ]),
        ('<input type="file" name="account">', ["/: the input 'account' is no path of what POST /note takes, Note"]),
    ],
)  # fmt: skip
def test_every_input_a_page_draws_is_a_path_of_its_routes_record(raw: str, strays: list[str]):
    form = f'<form method="post" action="/plugin/open/note">{raw}</form>'
    client = PageClient(showing(raw=form, levels="write"), None)
    if not strays:
        client.assert_inputs_are_paths()
        client.assert_inputs_are_paths("/")
        return
    with pytest.raises(AssertionError) as told:
        client.assert_inputs_are_paths()
    assert str(told.value) == "\n".join(strays)


def test_inputs_that_the_author_names_besides_are_let_be():
    form = '<form method="post" action="/plugin/open/note"><input name="marker"></form>'
    PageClient(showing(raw=form, levels="write"), None).assert_inputs_are_paths(besides=["marker"])


def test_a_form_sent_to_nowhere_is_told():
    client = PageClient(showing(raw='<form method="post" action="/plugin/open/nte"></form>', levels="write"), None)
    with pytest.raises(AssertionError, match=r"^/: a form is sent to POST /nte, where nothing is declared$"):
        client.assert_inputs_are_paths()


@pytest.mark.parametrize(
    ("path", "level", "said"),
    [
        ("/nte", "write", "GET /nte at write answered 404 and no page with forms: There is nothing at /nte."),
        ("/", "read", "GET / at read answered 403 and no page with forms: GET / serves write on operations; "),
    ],
)
def test_forms_are_looked_for_where_a_page_is_drawn(path: str, level: Any, said: str):
    client = PageClient(showing(raw="<form></form>", levels="write"), None)
    assert len(client.forms("/", "write")) == 1
    with pytest.raises(LookupError) as refused:
        client.forms(path, level)
    assert str(refused.value).startswith(said)


# ── Settings, lifespan, and tests that are async ───────────────────────────


@dataclass(frozen=True)
class Settings:
    limit: int = 3


def settled(**options: Any) -> Any:
    pages = meridian.Pages("Desk", settings=Settings)
    pages.page("/", levels="read", answers=Settings, name="limit")(lambda request: pages.answer(None, request.plugin.settings))
    return lambda plugin, **given: PageClient(pages, plugin, **given).call_tool("limit").data["limit"]


def test_settings_are_the_records_defaults_or_those_given():
    limit = settled()
    assert [limit(book()), limit(None), limit(book(), settings=Settings(7)), limit(object(), settings=Settings(8))] == [
        3,
        3,
        7,
        8,
    ]


def test_a_stand_ins_own_settings_stay():
    class Standing:
        settings = Settings(9)

    assert settled()(Standing()) == 9


def test_as_a_context_manager_a_client_runs_the_plugins_lifespan():
    told: list[Any] = []

    @contextlib.asynccontextmanager
    async def lifespan(plugin: Any) -> AsyncIterator[None]:
        told.append(("started", plugin.instance, asyncio.get_running_loop()))
        yield
        told.append(("ended", plugin.instance, asyncio.get_running_loop()))

    pages = meridian.Pages("Desk", lifespan=lifespan)

    @pages.page("/", levels="read")
    async def home(request: meridian.Request) -> meridian.Response:
        told.append(("asked", request.plugin.instance, asyncio.get_running_loop()))
        return pages.answer(None, {})

    with PageClient(pages, book(), instance="desk") as client:
        client.get("/", "read")
    assert [each[:2] for each in told] == [("started", "desk"), ("asked", "desk"), ("ended", "desk")]
    assert len({loop for _, _, loop in told}) == 1


def test_a_client_may_be_used_in_an_async_test():
    async def main() -> str | None:
        await asyncio.sleep(0)
        return PageClient(echoing(), None).call_tool("who").outcome

    assert asyncio.run(main()) == "made"


def test_an_async_view_that_asks_a_client_is_told_and_does_not_hang(caplog: pytest.LogCaptureFixture):
    pages = meridian.Pages("Desk")

    @pages.page("/", levels="read")
    async def home(request: meridian.Request) -> meridian.Response:
        client.get("/", "read")
        return pages.answer(None, {})

    client = PageClient(pages, None)
    assert client.get("/", "read").status == 500
    assert "an async view cannot ask" in caplog.text or "it would wait for itself" in caplog.text
