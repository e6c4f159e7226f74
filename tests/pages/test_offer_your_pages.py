"""What an author is told of offering their pages to agents, each sentence as a claim; the snippets are as they are written."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

import meridian
import meridian.pages
from meridian import commands
from meridian.commands import Instrument, ListPositions, Position, RecordOpeningBalance, dictionary
from meridian.plugins import surface_name
from meridian.testing import InMemoryBook, PageClient, book

pages = meridian.Pages("Operations", templates="templates", roles=["operations"])


@dataclass(frozen=True)
class Lot:
    quantity: Decimal
    cost: Decimal | None = None
    acquired: date | None = None


@dataclass(frozen=True)
class Confirmation:
    account: str
    reason: str = ""
    lots: list[Lot] = field(default_factory=list)


@dataclass(frozen=True)
class Recorded:
    account: str
    entry_id: str


@pages.route("/confirm", levels="write", methods=["POST"], params=Confirmation, name="confirm_lots")
async def confirm(request: meridian.Request) -> meridian.Response:
    """Record the account's lots, as read."""
    record = request.params
    if not record.reason:
        pages.refuse("Give a reason.", ("reason", "required to confirm"))
    entry = await request.plugin.record_opening_balance(balance_of(record), acting_for=request.caller.header)
    return pages.answer("done.html", Recorded(record.account, entry.entry_id))


def balance_of(record: Confirmation) -> RecordOpeningBalance:
    lots = [commands.Lot(lot.quantity, lot.cost, lot.acquired) for lot in record.lots]
    return RecordOpeningBalance(
        record.account, date(2026, 1, 31), [Position(Instrument("ACME", "TICKER"), lots)], record.reason
    )


@pytest.fixture
def kept() -> InMemoryBook:
    return book(accounts=["ACC-1", "ACC-2"])


@pytest.fixture
def client(kept: InMemoryBook) -> PageClient:
    return PageClient(pages, kept, write={"ACC-1"}, read={"ACC-2"})


class Declared:
    """Pages of one route, made in a test, which keeps the record each call reached its view with."""

    def __init__(
        self, view: Callable[..., Any] | None = None, *, roles: tuple[str, ...] = ("operations",), **options: Any
    ) -> None:
        self.pages = meridian.Pages("Operations", templates="templates", roles=roles)
        self.reached: list[Any] = []
        options = {"levels": "write", "methods": ["POST"], "params": Confirmation, "name": "confirm_lots"} | options

        async def keep(request: meridian.Request) -> meridian.Response:
            self.reached.append(request.reading.record)
            return self.pages.answer(None, Recorded(request.reading.record.account if request.reading.record else "", "E-1"))

        self.pages.route("/confirm", **options)(view or keep)
        self.client = PageClient(self.pages, None, write={"ACC-1"})


# ── An agent works the deployment as a person ──────────────────────────────


def test_an_agent_works_as_the_person_on_a_delegation_recorded_as_them_through_that_client(kept: InMemoryBook):
    client = PageClient(
        pages, kept, write={"ACC-1"}, subject="ada", display_name="Ada", delegation_id="D-7", client_name="An assistant"
    )
    client.call_tool("confirm_lots", {"account": "ACC-1", "reason": "Checked."})
    entry = kept.entries[0]
    assert (entry.recorded_by, entry.display_name, entry.delegation_id, entry.client_name) == (
        "ada", "Ada", "D-7", "An assistant",
    )  # fmt: skip


def test_what_a_person_records_in_a_browser_names_no_delegation_and_no_client(client: PageClient, kept: InMemoryBook):
    client.post("/confirm", "write", {"account": "ACC-1", "reason": "Checked."})
    assert (kept.entries[0].delegation_id, kept.entries[0].client_name) == (None, None)


def test_an_agent_reaches_only_what_the_person_holds(client: PageClient, kept: InMemoryBook):
    answered = client.call_tool("confirm_lots", {"account": "ACC-2", "reason": "Checked."})
    assert (answered.status, answered.reason, answered.paths, kept.entries) == (422, "not_admitted", ["account"], ())


def test_a_tool_is_derived_from_each_route_that_declares_its_inputs_as_one_record(client: PageClient):
    tool = client.tool("confirm_lots")
    assert [each.name for each in pages.tools] == ["confirm_lots"]
    assert (tool.reads, tool.levels, tool.roles, tool.method, tool.path) == (
        False, ("write",), ("operations",), "POST", "/confirm",
    )  # fmt: skip
    assert list(tool.input_schema["properties"]) == ["account", "reason", "lots"]


# ── Declare a route's inputs as one record ─────────────────────────────────


def test_a_record_is_a_frozen_dataclass():
    @dataclass
    class Loose:
        account: str

    with pytest.raises(meridian.DeclarationError, match=r"^POST /confirm: params: .*Loose.*frozen=True"):
        Declared(params=Loose)


def test_a_persons_cell_and_an_agents_argument_are_the_same_field():
    declared = Declared()
    declared.client.post("/confirm", "write", {"account": "ACC-1", "lots[0].quantity": "2", "lots[0].cost": "10.50"})
    declared.client.call_tool("confirm_lots", {"account": "ACC-1", "lots": [{"quantity": "2", "cost": "10.50"}]})
    assert declared.reached == [Confirmation("ACC-1", "", [Lot(Decimal(2), Decimal("10.50"))])] * 2


def test_a_decimal_is_a_string_in_json_never_a_number():
    declared = Declared()
    answered = declared.client.call_tool("confirm_lots", {"account": "ACC-1", "lots": [{"quantity": 5}]})
    assert (answered.status, answered.paths, declared.reached) == (422, ["lots[0].quantity"], [])


def test_a_date_is_written_year_month_day():
    declared = Declared()
    lots = [{"quantity": "5", "acquired": said} for said in ("2026-01-31", "31.01.2026")]
    assert declared.client.call_tool("confirm_lots", {"account": "ACC-1", "lots": lots}).paths == ["lots[1].acquired"]


def test_an_argument_the_record_does_not_have_is_refused_by_its_path_before_the_view_runs():
    declared = Declared()
    answered = declared.client.call_tool("confirm_lots", {"account": "ACC-1", "raeson": "Checked."})
    assert (answered.outcome, answered.reason, answered.paths, declared.reached) == ("refused", "not_read", ["raeson"], [])


def test_a_field_that_does_not_read_is_refused_by_its_path_before_the_view_runs():
    declared = Declared()
    answered = declared.client.call_tool("confirm_lots", {"lots": [{"quantity": "many"}, {"quantity": "1", "cost": "1,5"}]})
    assert (answered.outcome, answered.reason, answered.paths, declared.reached) == (
        "refused", "not_read", ["account", "lots[0].quantity", "lots[1].cost"], [],
    )  # fmt: skip


def test_a_browsers_form_still_reaches_the_view_with_each_field_that_did_not_read_in_param_errors():
    seen: list[list[str]] = []

    async def look(request: meridian.Request) -> meridian.Response:
        seen.append([problem.path for problem in request.param_errors])
        return declared.pages.answer(None, Recorded(request.params.account, "E-1"))

    declared = Declared(look)
    answered = declared.client.post("/confirm", "write", {"account": "ACC-1", "lots[3].quantity": "many"})
    assert (answered.status, seen) == (200, [["lots[3].quantity"]])


def test_an_answer_renders_the_page_for_a_browser(client: PageClient):
    answered = client.post("/confirm", "write", {"account": "ACC-1", "reason": "Checked."})
    assert (answered.status, answered.headers["content-type"], answered.outcome) == (200, "text/html; charset=utf-8", "made")
    assert "<p>Account ACC-1, entry E-1.</p>" in answered.text


def test_an_answer_is_data_as_json_for_an_agent_with_its_outcome(client: PageClient):
    answered = client.call_tool("confirm_lots", {"account": "ACC-1", "reason": "Checked."})
    assert (answered.status, answered.json) == (200, {"outcome": "made", "data": {"account": "ACC-1", "entry_id": "E-1"}})


def test_the_outcome_is_unchanged_for_a_read_and_for_a_repeat_you_recognised():
    async def again(request: meridian.Request) -> meridian.Response:
        return declared.pages.answer(None, Recorded("ACC-1", "E-1"), outcome="unchanged")

    declared = Declared(again)
    assert declared.client.call_tool("confirm_lots", {"account": "ACC-1"}).outcome == "unchanged"
    assert Declared(reads=True).client.call_tool("confirm_lots", {"account": "ACC-1"}).outcome == "unchanged"


def test_a_refusal_by_path_gives_an_agent_each_field_and_why(client: PageClient):
    answered = client.call_tool("confirm_lots", {"account": "ACC-1"})
    assert (answered.status, answered.json) == (
        422,
        {
            "outcome": "refused",
            "reason": "refused",
            "detail": "Give a reason.",
            "fields": [{"path": "reason", "message": "required to confirm"}],
        },
    )


def test_a_refusal_gives_a_browser_the_words(client: PageClient):
    answered = client.post("/confirm", "write", {"account": "ACC-1"})
    assert (answered.status, answered.outcome, answered.reason) == (422, "refused", "refused")
    assert [answered.shows(words) for words in ("Give a reason.", "required to confirm")] == [True, True]


def test_a_field_of_the_books_adds_the_data_dictionarys_entry():
    async def refuse(request: meridian.Request) -> meridian.Response:
        path = "positions[0].lots[0].cost"
        declared.pages.refuse("No.", meridian.pages.Field.of(path, "not with that cost", operation="RecordOpeningBalance"))

    declared = Declared(refuse)
    entry = dictionary("RecordOpeningBalance")["positions[].lots[].cost"]
    assert declared.client.call_tool("confirm_lots", {"account": "ACC-1"}).fields == [
        {
            "path": "positions[0].lots[0].cost",
            "message": "not with that cost",
            "entry": {"path": "positions[].lots[].cost", "title": entry.title, "meaning": entry.meaning},
        }
    ]


def test_the_tools_name_is_name_else_the_views_and_on_the_surface_the_instances_and_that():
    assert Declared().pages.tools[0].name == "confirm_lots"
    assert Declared(name="").pages.tools[0].name == "keep"
    assert surface_name("operations", "confirm_lots") == "operations__confirm_lots"


def test_the_description_is_description_else_the_docstrings_first_paragraph(client: PageClient):
    assert client.tool("confirm_lots").description == "Record the account's lots, as read."
    assert Declared(description="Record them.").pages.tools[0].description == "Record them."


# ── Reads, and routes that change nothing ──────────────────────────────────


def test_a_get_route_with_params_is_a_read():
    tool = Declared(methods=["GET"], levels="read").pages.tools[0]
    assert (tool.reads, tool.method) == (True, "GET")


def test_a_page_that_declares_the_typed_data_it_renders_is_a_read():
    declared = meridian.Pages("Operations", roles=["operations"])

    @declared.page("/latest", levels="read", answers=Recorded)
    async def latest(request: meridian.Request) -> meridian.Response:
        """The latest entry."""
        return declared.answer(None, Recorded("ACC-1", "E-9"))

    client = PageClient(declared, None, read={"ACC-1"})
    assert client.tool("latest").reads
    assert client.call_tool("latest").json == {"outcome": "unchanged", "data": {"account": "ACC-1", "entry_id": "E-9"}}


def test_a_post_route_that_changes_nothing_is_a_read():
    assert Declared(reads=True).pages.tools[0].reads


def test_a_read_answers_typed_data_never_html():
    async def html(request: meridian.Request) -> meridian.Response:
        return declared.pages.render("lots.html")

    declared = Declared(html, reads=True)
    answered = declared.client.call_tool("confirm_lots", {"account": "ACC-1"})
    assert (answered.status, answered.json) == (
        500,
        {
            "outcome": "refused",
            "reason": "untyped",
            "detail": "The plugin answered with a page of HTML and no typed data, which is not passed on.",
            "fields": [],
        },
    )


# ── Let an act be prepared: declared and checked, before it is served ──────


def prepared(**options: Any) -> meridian.Pages:
    declared = meridian.Pages("Operations", roles=["operations"])

    @declared.page("/opening", levels="write", title="Opening")
    async def opening(request: meridian.Request) -> meridian.Response:
        return declared.answer(None, Recorded("ACC-1", "E-1"))

    @declared.route(
        "/opening/check", levels="write", methods=["POST"], params=Confirmation, reads=True, name="check_opening_draft"
    )
    async def check(request: meridian.Request) -> meridian.Response: ...

    @declared.route(
        "/opening/confirm", levels="write", methods=["POST"], params=Confirmation, name="confirm_opening_balance", **options
    )
    async def confirm(request: meridian.Request) -> meridian.Response: ...

    return declared


def test_an_act_names_the_read_tool_that_checks_it_and_the_accounts_it_touches():
    declared = prepared(checked_by="check_opening_draft", accounts=["account"])
    tool = next(tool for tool in declared.tools if not tool.reads)
    assert (tool.name, tool.checked_by, tool.accounts) == ("confirm_opening_balance", "check_opening_draft", ("account",))


def test_made_on_is_filled_with_the_page_the_route_is_the_form_of():
    assert [tool.made_on for tool in prepared().tools if not tool.reads] == ["/opening"]


def test_an_empty_made_on_names_the_dashboards_inbox():
    assert [tool.made_on for tool in prepared(made_on="").tools if not tool.reads] == [""]


def test_a_routes_record_may_not_name_a_field_prepare():
    @dataclass(frozen=True)
    class Draft:
        prepare: str

    with pytest.raises(meridian.DeclarationError, match="prepare"):
        Declared(params=Draft)


def test_prepared_is_none_when_the_page_was_not_opened_from_one():
    seen: list[object] = []

    async def look(request: meridian.Request) -> meridian.Response:
        seen.extend([await request.prepared(), request.second_pair_of_eyes, request.repeat_of])
        return declared.pages.answer(None, Recorded("ACC-1", "E-1"))

    declared = Declared(look)
    declared.client.post("/confirm", "write", {"account": "ACC-1"})
    assert seen == [None, (), None]


# ── Routes you cannot offer ────────────────────────────────────────────────


def test_a_route_that_cannot_be_offered_declares_why():
    declared = Declared(tool=False, why="a file the person chooses", name="")
    assert declared.pages.tools == ()
    assert [(str(each), why) for each, why in declared.pages.not_offered] == [("POST /confirm", "a file the person chooses")]


def standing_in(**options: Any) -> meridian.Pages:
    declared = meridian.Pages("Operations", roles=["operations", "custody"])

    @declared.route(
        "/confirm", levels=["read", "write"], roles=["operations", "custody"], methods=["POST"], params=Confirmation
    )
    async def confirm(request: meridian.Request) -> meridian.Response:
        return declared.answer(None, Recorded(request.params.account, "by the form"))

    @declared.tool(replaces="/confirm", params=Recorded, **options)
    async def confirm_entry(request: meridian.Request) -> meridian.Response:
        """Confirm an entry by its ID."""
        return declared.answer(None, request.params)

    return declared


def test_a_tool_stands_in_for_a_derived_one():
    client = PageClient(standing_in(), None, write={"ACC-1"})
    assert [tool.name for tool in client.pages.tools] == ["confirm_entry"]
    said = {"account": "ACC-1", "entry_id": "by the tool"}
    assert client.call_tool("confirm_entry", said).json == {"outcome": "made", "data": said}
    form = {"account": "ACC-1", "csrf": client.form_token("write")}
    answered = client.request("POST", "/confirm", "write", form=form, headers={"accept": "application/json"})
    assert answered.json == {"outcome": "made", "data": {"account": "ACC-1", "entry_id": "by the form"}}


# ── Tools by role ──────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Nothing:
    note: str = ""


def by_role(**options: Any) -> meridian.Pages:
    """Pages of two roles: a tool for each, and one for both."""
    declared = meridian.Pages("Operations", roles=["operations", "custody"])

    def route(name: str, *roles: str, levels: Any = "write") -> None:
        @declared.route(f"/{name}", levels=levels, roles=roles, methods=["POST"], params=Nothing, name=name)
        async def view(request: meridian.Request) -> meridian.Response:
            caller = request.caller
            said = {role: caller.level_for(role) for role in ("operations", "custody")}
            return declared.answer(None, {**said, "write": sorted(caller.write), "read": sorted(caller.read)})

    route("for_operations", "operations")
    route("for_custody", "custody")
    route("for_both", "operations", "custody", levels=["write", "read", "admin"])
    return declared


def test_a_tool_serves_its_routes_roles():
    assert {tool.name: tool.roles for tool in by_role().tools} == {
        "for_operations": ("operations",),
        "for_custody": ("custody",),
        "for_both": ("operations", "custody"),
    }


def test_on_a_plugin_holding_one_role_or_none_no_role_need_be_named():
    assert Declared().pages.tools[0].roles == ("operations",)
    assert Declared(roles=()).pages.tools[0].roles == ("",)
    assert Declared(roles=()).client.call_tool("confirm_lots", {"account": "ACC-1"}).outcome == "made"


def test_a_tool_that_stands_in_may_name_other_roles():
    assert standing_in(roles=["custody"]).tools[0].roles == ("custody",)


@pytest.mark.parametrize(
    ("holds", "level"),
    [
        ({"write": {"A"}}, "write"),
        ({"read": {"A"}}, "read"),
        ({"write": {"custody": {"A"}}, "read": {"operations": {"B"}}}, "write"),
    ],
)
def test_a_call_opens_at_the_highest_of_the_levels_write_before_read(holds: dict[str, Any], level: str):
    answered = PageClient(by_role(), None, **holds).call_tool("for_both")
    assert (answered.level, answered.outcome) == (level, "made")


def test_a_call_opens_at_admin_where_nothing_else_is_served():
    declared = Declared(levels=["admin"])
    assert (declared.client.call_tool("confirm_lots", {"account": "A"}).level) == "admin"


def test_every_role_the_person_holds_within_that_level_is_carried_as_a_pages_session_carries_them():
    client = PageClient(by_role(), None, write={"operations": {"ACC-1"}}, read={"custody": {"ACC-2"}})
    assert client.call_tool("for_both").data == {
        "operations": "write",
        "custody": "read",
        "write": ["ACC-1"],
        "read": ["ACC-1", "ACC-2"],
    }


def test_a_call_by_name_to_a_tool_not_listed_is_refused_naming_the_roles_it_serves_and_what_is_held_on_each():
    client = PageClient(by_role(), None, write={"operations": {"ACC-1"}}, read={"custody": {"ACC-2"}}, admin=False)
    answered = client.call_tool("for_custody")
    assert (answered.status, answered.json) == (
        403,
        {
            "outcome": "refused",
            "reason": "not_served",
            "detail": "for_custody serves write on custody; you hold read on custody, write on operations.",
            "fields": [],
        },
    )


def test_a_command_the_tools_view_sends_is_admitted_only_by_write_on_a_role_holding_it():
    declared = meridian.Pages("Operations", roles=["operations", "custody"])

    @declared.route("/confirm", levels="write", roles=["custody"], methods=["POST"], params=Confirmation, name="confirm_lots")
    async def confirm(request: meridian.Request) -> meridian.Response:
        await request.plugin.record_opening_balance(balance_of(request.params), acting_for=request.caller.header)
        return declared.answer(None, Recorded("ACC-1", "E-1"))

    answered = PageClient(declared, book(accounts=["ACC-1"]), write={"custody": {"ACC-1"}}).call_tool(
        "confirm_lots", {"account": "ACC-1"}
    )
    assert (answered.status, answered.reason, answered.detail) == (
        422,
        "not_admitted",
        "RecordOpeningBalance is admitted by write on operations; this call carries write on custody.",
    )


# ── Test it as the surface calls it ────────────────────────────────────────


def test_the_snippet_calls_a_tool():
    plugin = book(accounts=["ACC-1"])

    answered = PageClient(pages, plugin, write={"ACC-1"}).call_tool(
        "confirm_lots", {"account": "ACC-1", "reason": "Checked."}
    )  # fmt: skip
    assert answered.outcome == "made"


def test_a_call_carries_claims_naming_a_delegation_its_client_and_the_tool():
    seen: list[meridian.Caller] = []

    async def look(request: meridian.Request) -> meridian.Response:
        seen.append(request.caller)
        return declared.pages.answer(None, Recorded("ACC-1", "E-1"))

    declared = Declared(look)
    declared.client.call_tool("confirm_lots", {"account": "ACC-1"})
    declared.client.post("/confirm", "write", {"account": "ACC-1"})
    assert [(each.delegation_id, each.client_name, each.tool_name) for each in seen] == [
        ("D-1", "An agent", "confirm_lots"),
        (None, None, None),
    ]


def test_a_tool_call_needs_no_form_token_and_a_browsers_post_does():
    declared = Declared()
    assert declared.client.call_tool("confirm_lots", {"account": "ACC-1"}).status == 200
    assert declared.client.request("POST", "/confirm", "write", form={"account": "ACC-1"}).status == 403


def test_a_claim_of_a_tool_is_admitted_at_its_own_route_alone():
    client = PageClient(by_role(), None, write={"ACC-1"})
    claimed = client.caller("write", tool="for_operations", path="/for_custody", body=b"{}")
    answered = client.request(
        "POST",
        "/for_custody",
        "write",
        body=b"{}",
        content_type="application/json",
        headers={"Meridian-Caller": claimed.header},
    )
    assert (answered.status, answered.json["reason"]) == (403, "not_served")


def test_roles_narrow_the_session_a_tool_is_called_in():
    client = PageClient(by_role(), None, write={"operations": {"ACC-1"}, "custody": {"ACC-2"}})
    assert client.call_tool("for_both", roles=["custody"]).data == {
        "operations": None,
        "custody": "write",
        "write": ["ACC-2"],
        "read": ["ACC-2"],
    }
    assert client.caller("write", roles="custody").level_for("operations") is None
    assert client.call_tool("for_operations", roles=["custody"]).reason == "not_served"


def test_a_read_tool_reads_the_book_for_who_asks():
    declared = meridian.Pages("Operations", roles=["operations"])

    @declared.page(
        "/positions", levels=["read", "write"], params=ListPositions, answers=commands.Positions, name="list_positions"
    )
    async def positions(request: meridian.Request) -> meridian.Response:
        return declared.answer(None, await request.plugin.list_positions(request.params, acting_for=request.caller.header))

    client = PageClient(declared, book(accounts=["ACC-1"]), read={"ACC-1"})
    assert client.call_tool("list_positions", {"account": "ACC-1"}).data == {"account": "ACC-1", "positions": []}
