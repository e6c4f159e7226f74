"""The form a shape draws: first as a model, then as the HTML a browser is given."""

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from datetime import date, datetime, time
from decimal import Decimal
from html.parser import HTMLParser
from typing import Any, Literal
from uuid import UUID

import jinja2
import pytest

from meridian import records
from meridian.errors import Problem
from meridian.pages import alike
from meridian.pages.alike import draw_rows
from meridian.pages.drawing import draw_form
from meridian.pages.editing import edit_rows
from meridian.pages.form import Dictionary, Form, FormTool, Grid, Group, Input, Look, Mention, Option, Total
from meridian.pages.layout import _kept as layout_of
from meridian.pages.places import has_cell
from meridian.pages.rendering import environment
from meridian.pages.showing import shown
from meridian.records import read_form, shape_of, write_form


@dataclass(frozen=True)
class Lot:
    quantity: Decimal = records.field(description="How many units.", places=8)
    cost: Decimal | None = None
    acquired: date | None = None


@dataclass(frozen=True)
class Instrument:
    identifier: str
    scheme: Literal["CUSIP", "ISIN", "OTHER"] = "OTHER"


@dataclass(frozen=True)
class Position:
    instrument: Instrument
    lots: list[Lot] = field(default_factory=list)


@dataclass(frozen=True)
class Balance:
    account: str
    reason: str = records.field(default="", max_length=2000)
    positions: list[Position] = field(default_factory=list)


@dataclass(frozen=True)
class Holding:
    account: str
    lots: list[Lot] = field(default_factory=list)


@dataclass(frozen=True)
class Address:
    street: str
    city: str = "Delft"


@dataclass(frozen=True)
class Kinds:
    text: str
    count: int
    day: date
    at: datetime
    clock: time
    id: UUID
    agreed: bool = True
    sure: bool | None = None
    side: Literal["buy", "sell", "in_kind"] = "buy"
    letter: Literal["A", "B", "C", "D", "E", "F"] | None = None
    country: str | None = records.field(default=None, choices=[f"C{n:02}" for n in range(30)])
    levels: list[Literal["read", "write"]] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    limits: dict[str, Decimal] = field(default_factory=dict)
    address: Address | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    note: str = records.field(default="", max_length=500)


@dataclass(frozen=True)
class Secret:
    name: str
    password: str = records.field(default="", secret=True, description="Kept.")


HOLDING, BALANCE, KINDS, SECRET = map(shape_of, (Holding, Balance, Kinds, Secret))


def drawn(shape: records.Shape[Any], pairs: Any = None, **words: Any) -> Form:
    return draw_form(shape, action="/open/confirm", submit="Record it", pairs=pairs, **words)


def inputs(form: Form) -> dict[str, Input]:
    def within(part: Any) -> Iterator[Input]:
        match part:
            case Input():
                yield part
            case Grid(rows=rows):
                for row in rows:
                    yield from row.cells
                    for under in row.under:
                        yield from within(under)
            case Group(parts=parts):
                for each in parts:
                    yield from within(each)
            case Dictionary(items=items):
                for item in items:
                    yield from within(item.part)

    return {each.path: each for part in form.parts for each in within(part)}


def control(name: str, pairs: Any = None) -> tuple[str, str]:
    found = inputs(drawn(KINDS, pairs))[name]
    return found.control, found.value


# ── The model ──────────────────────────────────────────────────────────────


def test_an_input_says_everything_of_its_cell():
    assert drawn(HOLDING, [("account", "A-1")], problems=[Problem("account", "there is no A-1")]).part("account") == Input(
        path="account",
        id="confirm-account",
        look=Look("text", "Account"),
        control="text",
        where="Account",
        value="A-1",
        problem="there is no A-1",
        required=True,
    )


def test_a_cell_of_a_row_is_named_by_row_and_column():
    form = drawn(HOLDING, [("lots[7].cost", "1,500")], problems=[Problem("lots[7].cost", "write 1500")], spare_rows=0)
    cell = inputs(form)["lots[7].cost"]
    assert (cell.id, cell.where, cell.value, cell.problem) == ("confirm-lots[7].cost", "Row 8, cost", "1,500", "write 1500")
    assert form.problems == (Mention("confirm-lots[7].cost", "Row 8, cost", "write 1500"),)


def test_a_cell_of_a_nested_row_is_named_by_both_rows():
    assert [each.where for each in inputs(drawn(BALANCE, [("positions[3].lots[0].cost", "1")], spare_rows=0)).values()] == [
        "Account",
        "Reason",
        "Row 4, instrument, identifier",
        "Row 4, instrument, scheme",
        "Row 4, lots row 1, quantity",
        "Row 4, lots row 1, cost",
        "Row 4, lots row 1, acquired",
    ]


@pytest.mark.parametrize(
    ("name", "control_and_value"),
    [
        ("text", ("text", "")),
        ("count", ("text", "")),
        ("day", ("date", "")),
        ("at", ("moment", "")),
        ("clock", ("time", "")),
        ("id", ("text", "")),
        ("agreed", ("checkbox", "")),
        ("sure", ("radios", "")),
        ("side", ("radios", "buy")),
        ("letter", ("select", "")),
        ("country", ("list", "")),
        ("levels", ("checks", "")),
        ("extra", ("json", "{}")),
        ("note", ("textarea", "")),
        ("address.street", ("text", "")),
        ("tags[0]", ("text", "")),
    ],
)
def test_each_kind_has_its_control(name: str, control_and_value: tuple[str, str]):
    assert control(name) == control_and_value


def test_a_nullable_boolean_is_a_choice_of_three():
    assert inputs(drawn(KINDS))["sure"].look.options == (Option("", "Not given"), Option("true", "Yes"), Option("false", "No"))


@pytest.mark.parametrize(
    ("name", "typed"),
    [
        ("day", "tomorrow"),
        ("clock", "noon"),
        ("at", "2026-13-01T00:00"),
        ("at", "soon"),
        ("text", "two\nlines"),
        ("side", "bought"),
    ],
)
def test_what_was_typed_stays_though_the_control_could_not_hold_it(name: str, typed: str):
    form = drawn(KINDS, [(name, typed)])
    cell = inputs(form)[name]
    assert cell.value == typed
    assert cell.control not in {"date", "time"}
    assert cell.control != "radios" or Option(typed, typed) in cell.look.options


@pytest.mark.parametrize(
    ("typed", "home", "local"),
    [
        ("2026-03-01T12:30:00+00:00", "", ("2026-03-01T12:30", "UTC")),
        ("2026-03-01T12:30:15+05:30", "", ("2026-03-01T07:00:15", "UTC")),
        ("2026-03-01T12:30:00Z", "Europe/Amsterdam", ("2026-03-01T13:30", "Europe/Amsterdam")),
        ("2026-10-25T01:30:00+01:00", "Europe/Amsterdam", ("2026-10-25T00:30", "UTC")),  # there twice in Amsterdam
        ("2026-03-01T12:30:00Z", "Nowhere/Else", ("2026-03-01T12:30:00Z", "")),
    ],
)
def test_a_moment_is_drawn_as_a_local_time_that_is_the_same_moment(typed: str, home: str, local: tuple[str, str]):
    cell = inputs(drawn(KINDS, [("at", typed)], zone=home))["at"]
    assert (cell.value, cell.zone) == local


def test_a_spare_row_is_blank_though_its_fields_have_defaults():
    form = drawn(BALANCE)
    scheme = inputs(form)["positions[1].instrument.scheme"]
    assert (scheme.value, scheme.look.options[0]) == ("", Option("", "OTHER (default)"))
    assert read_form(
        BALANCE, [("account", "A-1"), *((name, each.value) for name, each in inputs(form).items() if name[0] == "p")]
    ) == (read_form(BALANCE, [("account", "A-1")]))


def test_two_spare_rows_follow_what_is_there_and_none_when_drawn_again():
    typed = [("lots[0].cost", "1"), ("lots[4].cost", "2")]
    numbers = [[row.number for row in drawn(HOLDING, typed, **words).part("lots").rows] for words in ({}, {"spare_rows": 0})]
    assert numbers == [["1", "5", "6", "7"], ["1", "5"]]


def test_no_row_is_drawn_past_the_last():
    assert [row.path for row in drawn(HOLDING, [("lots[9999].cost", "1"), ("lots[10000].cost", "2")]).part("lots").rows] == [
        "lots[9999]"
    ]


def test_a_start_record_is_drawn_as_it_is_and_reads_back():
    start = Balance("A-1", "Checked.", [Position(Instrument("X", "ISIN"), [Lot(Decimal("1E+3"), None, date(2026, 1, 31))])])
    form = drawn(BALANCE, write_form(start))
    assert read_form(BALANCE, [(name, each.value) for name, each in inputs(form).items()]).record == start


def test_a_box_that_is_left_out_of_what_was_typed_is_unticked():
    ticked = [inputs(drawn(KINDS, pairs))["agreed"].ticked for pairs in (None, [], [("agreed", "0"), ("agreed", "1")])]
    assert ticked == [True, False, True]


def test_only_a_query_needs_to_say_that_a_box_is_unticked():
    assert [inputs(drawn(KINDS, method=method))["agreed"].look.companion for method in ("get", "post")] == [True, False]


def test_a_list_of_choices_is_boxes_until_order_or_repeats_would_be_lost():
    boxes = drawn(KINDS, [("levels[0]", "read"), ("levels[1]", "write")]).part("levels")
    rows = drawn(KINDS, [("levels[0]", "write"), ("levels[1]", "read")]).part("levels")
    assert isinstance(boxes, Input)
    assert boxes.chosen == ("read", "write")
    assert isinstance(rows, Grid)


def test_a_list_sent_by_its_own_name_repeated_becomes_rows():
    assert [
        each.value
        for name, each in inputs(drawn(KINDS, [("tags", "a"), ("tags", "b")], spare_rows=0)).items()
        if "tags" in name
    ] == [
        "a",
        "b",
    ]


def test_a_dict_has_an_input_for_each_key_and_one_for_a_new_key():
    part = drawn(KINDS, [("limits.daily", "1"), ('limits["any key"]', "2")]).part("limits")
    assert isinstance(part, Dictionary)
    assert [(item.key, item.part.path, item.part.value) for item in part.items] == [
        ("daily", "limits.daily", "1"),
        ("any key", 'limits["any key"]', "2"),
    ]
    assert part.key_name == "meridian.key.limits"


def test_required_is_said_where_nothing_around_is_optional():
    required = [name for name, each in inputs(drawn(KINDS)).items() if each.required]
    assert required == ["text", "count", "day", "at", "clock", "id"]


def test_a_secret_is_never_drawn_and_its_form_is_no_tool():
    form = drawn(SECRET, [("name", "n"), ("password", "hunter2")], tool=FormTool("save", "Save."))
    assert inputs(form)["password"].value == ""
    assert form.tool is None
    assert "hunter2" not in html(form)


def test_a_problem_that_nothing_is_drawn_for_stands_in_the_summary_alone():
    form = drawn(HOLDING, [], problems=[Problem("lots[0.cost", "this is no path"), Problem("", "they do not add up")])
    assert form.problems == (
        Mention("confirm-lots", "Lots (lots[0.cost)", "this is no path"),
        Mention("", "", "they do not add up"),
    )


def test_every_link_of_the_summary_leads_to_something_drawn():
    typed = [("account", "A"), ("positions[0].lots[2].cost", "1"), ("lots[1].cost", "1"), ("at", "x"), ("tags[3]", "x")]
    paths = ["positions", "positions[0]", "positions[0].lots[2]", "lots", "lots[1]", "lots[1].cost", "address", "at.zone"]
    paths += ["levels[0]", "side", "limits", "tags[3]", "extra", "agreed"]
    for shape in (BALANCE, HOLDING, KINDS):
        form = drawn(shape, typed, problems=[Problem(path, "no") for path in paths])
        ids = {attrs["id"] for _, attrs in Elements(html(form)).all if "id" in attrs}
        assert {each.id for each in form.problems} - {""} <= ids
        assert any(each.id for each in form.problems)


def test_a_nested_list_is_folded_when_long_unless_a_problem_is_inside():
    typed = [("account", "A"), *((f"positions[0].lots[{n}].cost", "1") for n in range(9))]

    def opened(*problems: Problem) -> bool:
        part = drawn(BALANCE, typed, problems=problems, spare_rows=0).part("positions[0].lots")
        assert isinstance(part, Grid)
        return part.opened

    assert (opened(), opened(Problem("account", "x")), opened(Problem("positions[0].lots[5].cost", "x"))) == (
        False,
        False,
        True,
    )


def test_totals_are_exact_and_silent_about_what_is_no_number():
    pairs = [("lots[0].quantity", "0.1"), ("lots[1].quantity", "0.2"), ("lots[0].cost", "1,500"), ("lots[1].cost", "1")]
    part = drawn(HOLDING, pairs).part("lots")
    assert isinstance(part, Grid)
    assert part.totals == (
        Total("lots[].quantity", "Total quantity", "0.3"),
        Total("lots[].cost", "Total cost", "—"),
        None,
    )


def test_an_author_may_ask_for_the_total_of_nested_rows():
    pairs = [(f"positions[{n}].lots[{m}].cost", "1000000.01") for n in range(2) for m in range(2)]
    part = drawn(BALANCE, pairs, totals=["positions[].lots[].cost"]).part("positions")
    assert isinstance(part, Grid)
    assert part.sums == (Total("positions[].lots[].cost", "Total cost of lots", "4000000.04"),)


def test_the_focus_goes_to_the_row_added_or_beside_the_row_removed():
    typed = [(f"lots[{n}].cost", "1") for n in (0, 2, 3)]
    focused = [
        [name for name, each in inputs(drawn(HOLDING, typed, focus=focus, spare_rows=0)).items() if each.focus]
        for focus in ("lots", "lots[1]", "lots[9]", "")
    ]
    assert focused == [["lots[3].quantity"], ["lots[2].quantity"], ["lots[3].quantity"], []]


def test_the_author_may_label_choose_and_leave_out():
    form = drawn(
        HOLDING,
        choices={"account": [("A-1", "Growth"), ("A-2", "Reserve")]},
        labels={"account": "Which account"},
        without=["lots"],
    )
    assert [(part.path, part.look.label, part.look.options) for part in form.parts if isinstance(part, Input)] == [
        ("account", "Which account", (Option("A-1", "Growth"), Option("A-2", "Reserve")))
    ]
    assert len(form.parts) == 1


def test_nothing_a_browser_can_send_stops_the_drawing():
    rude = [
        ("lots" + "[0]" * 3000, "x"),
        ("lots" + ".a" * 3000, "x"),
        (f"lots[{'9' * 5000}].cost", "x"),
        ("lots[0.cost", "x"),
        ("", "x"),
    ]
    assert inputs(drawn(HOLDING, rude)) == inputs(drawn(HOLDING, []))


# ── Rows by a plain submit ─────────────────────────────────────────────────

TYPED = [("account", "A-1"), ("lots[2].quantity", "5"), ("lots[7].quantity", "6"), ("csrf", "t")]


def test_a_row_added_takes_the_next_number_and_everything_typed_is_kept():
    assert edit_rows(HOLDING, TYPED, add="lots") == [
        *TYPED,
        ("lots[8].quantity", ""),
        ("lots[8].cost", ""),
        ("lots[8].acquired", ""),
    ]


def test_a_row_removed_leaves_the_others_their_numbers():
    assert edit_rows(HOLDING, TYPED, remove="lots[2]") == [TYPED[0], *TYPED[2:]]


def test_a_nested_row_is_added_under_its_own_row():
    edited = edit_rows(BALANCE, [("positions[1].lots[0].cost", "1")], add="positions[1].lots")
    assert [name for name, _ in edited][1:] == [f"positions[1].lots[1].{each.name}" for each in fields(Lot)]


def test_a_key_is_added_to_a_dict_by_what_was_typed_beside_it():
    typed = [("limits.daily", "1"), ("meridian.key.limits", " per week ")]
    assert edit_rows(KINDS, typed, add="limits") == [typed[0], ('limits["per week"]', "")]
    assert edit_rows(KINDS, typed, remove="limits.daily") == typed[1:]


@pytest.mark.parametrize("path", ["", "account", "lots[0.cost", "lots[].cost", "nothing[3]", "a" + "[0]" * 3000])
def test_a_button_for_nothing_changes_nothing(path: str):
    assert edit_rows(HOLDING, TYPED, add=path, remove=path) == TYPED


def test_no_row_is_added_after_the_last_number():
    assert edit_rows(HOLDING, [("lots[9999].cost", "1")], add="lots") == [("lots[9999].cost", "1")]


# ── Names ──────────────────────────────────────────────────────────────────


def test_every_name_that_is_drawn_is_a_path_of_the_record():
    assert [name for name in inputs(drawn(KINDS)) if KINDS.at(name) is None] == []
    assert list(inputs(drawn(HOLDING, []))) == [
        "account",
        *(f"lots[{n}].{each.name}" for n in range(2) for each in fields(Lot)),
    ]


def test_hidden_and_direction_changing_characters_are_shown():
    assert shown("a\u202eb\u200bc\u00ad\u2066d\n\té\ufe0f") == "a[U+202E]b[U+200B]c[U+00AD][U+2066]d\n\té[U+FE0F]"


# ── The HTML ───────────────────────────────────────────────────────────────

ENVIRONMENT = environment()


def html(form: Form) -> str:
    module: Any = ENVIRONMENT.get_template("meridian/form.html").module
    return str(module.draw(form))


class Elements(HTMLParser):
    """Every element in order, with its attributes; what stands in a template apart."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.all: list[tuple[str, dict[str, str]]] = []
        self.blank: list[tuple[str, dict[str, str]]] = []
        self._depth = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "template":
            self._depth += 1
        (self.blank if self._depth else self.all).append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        self._depth -= tag == "template"

    def of(self, *tags: str) -> list[dict[str, str]]:
        return [attrs for tag, attrs in self.all if tag in tags]


def typed(text: str) -> list[tuple[str, str]]:
    """The names and values that a browser would send, textareas and selects aside."""
    return [
        (each["name"], each.get("value", ""))
        for each in Elements(text).of("input")
        if each.get("type") not in {"checkbox", "radio"} or "checked" in each
    ]


def test_the_html_sends_what_the_model_says():
    start = Holding("A <b>&", [Lot(Decimal("1.50"), None, date(2026, 1, 31))])
    form = draw_form(HOLDING, action="/c", submit="Go", pairs=write_form(start), hidden=[("csrf", '"t"')], spare_rows=0)
    assert typed(html(form)) == [
        ("csrf", '"t"'),
        ("account", "A <b>&"),
        ("lots[0].quantity", "1.50"),
        ("lots[0].cost", ""),
        ("lots[0].acquired", "2026-01-31"),
    ]


def test_every_input_is_labelled_and_every_id_is_there_once():
    for form in (
        drawn(KINDS, zone="UTC"),
        drawn(BALANCE),
        drawn(KINDS, [], problems=[Problem("text", "x"), Problem("tags[1]", "y")]),
    ):
        page = Elements(html(form))
        ids = [attrs["id"] for _, attrs in page.all if "id" in attrs]
        assert len(ids) == len(set(ids))
        labelled = {each.get("for") for each in page.of("label")}
        bare = [
            each["name"]
            for each in page.of("input", "select", "textarea")
            if each.get("type") not in {"hidden", "radio"} and "aria-label" not in each and each.get("id") not in labelled
        ]
        assert [name for name in bare if name != "levels"] == []  # boxes stand inside their labels
        pointed = [one for _, attrs in page.all for one in attrs.get("aria-describedby", "").split()]
        assert [one for one in pointed if one not in ids] == []


def test_a_problem_is_on_its_cell_and_in_a_summary_that_takes_the_focus():
    form = drawn(HOLDING, [("lots[7].cost", "1,500")], problems=[Problem("lots[7].cost", "write <1500>")], spare_rows=0)
    page = Elements(text := html(form))
    cell = next(each for each in page.of("input") if each["name"] == "lots[7].cost")
    assert {name: cell[name] for name in ("value", "aria-invalid", "aria-describedby", "aria-label")} == {
        "value": "1,500",
        "aria-invalid": "true",
        "aria-describedby": "confirm-lots[7].cost-problem",
        "aria-label": "Row 8, cost",
    }
    assert [each["href"] for each in page.of("a")] == ["#confirm-lots[7].cost", "#confirm-buttons"]
    assert [("autofocus" in attrs, attrs["tabindex"]) for tag, attrs in page.all if attrs.get("class") == "problems"] == [
        (True, "-1")
    ]
    assert "write &lt;1500&gt;" in text
    assert "There is a problem" in text


def test_a_grid_is_a_table_with_a_caption_and_scoped_headers():
    page = Elements(html(drawn(HOLDING)))
    assert [tag for tag, _ in page.all if tag in {"table", "caption", "thead", "tfoot"}] == [
        "table",
        "caption",
        "thead",
        "tfoot",
    ]
    assert [each["scope"] for each in page.of("th")] == [*["col"] * 4, "row", "row", "row"]
    assert [each["value"] for each in page.of("button") if each.get("name") == "meridian.remove"] == ["lots[0]", "lots[1]"]
    assert [each["value"] for each in page.of("button") if each.get("name") == "meridian.add"] == ["lots"]


def test_enter_presses_the_submit_and_not_the_first_remove():
    first = Elements(html(drawn(HOLDING))).of("button")[0]
    assert first == {"class": "visually-hidden", "tabindex": "-1", "aria-hidden": "true"}


def test_the_blank_row_that_the_script_copies_is_in_a_template_by_its_pattern():
    page = Elements(html(drawn(BALANCE)))
    assert [attrs["data-blank"] for tag, attrs in page.blank if tag == "template"] == ["positions[].lots", "positions"]
    assert "positions[@row0@].lots[@row1@].cost" in [attrs.get("name") for _, attrs in page.blank]


def test_the_browser_s_agent_is_told_the_tool_and_what_its_fields_mean():
    form = drawn(HOLDING, tool=FormTool("confirm_lots", "Record the lots.", auto_submit=False))
    page = Elements(html(form))
    assert {name: value for name, value in page.of("form")[0].items() if name.startswith("tool")} == {
        "toolname": "confirm_lots",
        "tooldescription": "Record the lots.",
    }
    told = {each["name"]: each["toolparamdescription"] for each in page.of("input") if "toolparamdescription" in each}
    assert told["lots[0].quantity"] == "How many units. A number such as 1500.25, without grouping. At most 8 decimal places."
    assert "lots[1].quantity" not in told
    assert "toolautosubmit" in html(replace(form, tool=replace(form.tool, auto_submit=True)))


def test_prepare_stands_beside_the_submit_and_alone_where_saving_is_another_s():
    def buttons(**words: Any) -> list[str]:
        page = Elements(html(draw_form(shape_of(Address), action="/a", submit="Save", **words)))
        return [each.get("name", "submit") for each in page.of("button")]

    assert [buttons(), buttons(prepare=True), buttons(prepare=True, save=False)] == [
        ["submit"],
        ["submit", "prepare"],
        ["prepare"],
    ]


def test_a_file_is_asked_for_where_the_route_says():
    form = draw_form(None, action="/s", submit="Read it", files=[("statement", "Statement file", ".ofx,.qfx")])
    page = Elements(html(form))
    assert page.of("form")[0]["enctype"] == "multipart/form-data"
    assert page.of("input") == [{"type": "file", "id": "s-statement", "name": "statement", "accept": ".ofx,.qfx"}]


def test_a_page_says_error_in_its_title_and_shows_problems_no_form_has_shown():
    class Redraw:
        problems = (Problem("account", "there is no A-9"),)
        detail = "Not that account."
        drawn = False

    context = {
        "page": "Balance",
        "plugin": "Operations",
        "tabs": [("Balance", "/b", True)],
        "brand": ("Meridian", "/"),
        "person": "Wren \u202eWriter",
        "level_name": "Open",
        "kit_url": "/static/meridian",
        "sign_out": ("/sign-out", "token"),
        "ld_json": jinja2.utils.markupsafe.Markup(json.dumps({"outcome": "refused"})),
        "error_prefix": True,
        "redraw": Redraw(),
    }
    text = ENVIRONMENT.from_string('{% extends "meridian/base.html" %}{% block main %}<p>Words.</p>{% endblock %}').render(
        context
    )
    assert "<title>Error: Balance – Operations – Meridian</title>" in text
    assert text.count("<h1>") == 1
    assert "there is no A-9" in text
    assert "Wren [U+202E]Writer" in text
    assert '<script type="application/ld+json">{"outcome": "refused"}</script>' in text
    page = Elements(text)
    assert [tag for tag, _ in page.all if tag in {"header", "nav", "main", "aside"}] == ["header", "nav", "main"]
    assert page.of("a")[0]["href"] == "#main"
    assert [attrs for _, attrs in page.all if "style" in attrs or any(name.startswith("on") for name in attrs)] == []


# ── Rows that are alike ────────────────────────────────────────────────────


@dataclass(frozen=True)
class Leg:
    quantity: Decimal
    side: Literal["buy", "sell"] = "buy"
    sure: bool | None = None
    agreed: bool = False
    at: datetime | None = None
    clock: time | None = None
    country: str | None = records.field(default=None, choices=[f"C{n:02}" for n in range(30)])
    note: str = ""
    fees: list[Decimal] = field(default_factory=list)


@dataclass(frozen=True)
class Trip:
    legs: list[Leg] = field(default_factory=list)


VARIED = [
    ("legs[0].quantity", "1"),
    ("legs[1].quantity", "<b>&\"'"),
    ("legs[2].side", "sell"),
    ("legs[3].side", "lend"),
    ("legs[4].sure", "false"),
    ("legs[4].agreed", "1"),
    ("legs[5].at", "2026-03-01T12:30"),
    ("legs[5].at.zone", "%(path)s"),
    ("legs[6].clock", "12:30:15"),
    ("legs[7].country", "100 %"),
    ("legs[8].note", "\ufdd0path\ufdd1"),
    ("legs[9].note", "two\nlines \ufdd0no\ufdd1"),
    ("legs[10].fees[0]", "1"),
    ("legs[10].fees[4]", "2"),
    ("legs[11].quantity", "@row0@"),
    ("legs[11].fees[0]", "many"),
    ("legs[12].quantity", "many"),
]


@pytest.mark.parametrize("tool", [None, FormTool("trip", "A trip.")])
def test_a_row_drawn_from_one_like_it_is_what_the_macro_draws(tool: FormTool | None):
    wrong = [Problem("legs[12].quantity", "no number"), Problem("legs[11].fees[0]", "no number")]
    form = drawn(shape_of(Trip), VARIED, problems=wrong, tool=tool, focus="legs")
    module: Any = ENVIRONMENT.get_template("meridian/form.html").module

    def each_by_itself(grid: Grid) -> list[str]:
        first = grid.rows[0] if tool and not grid.depth else None
        return [str(module.row(form, grid, row, row is first, module.under(form, grid, row))) for row in grid.rows]

    legs = form.part("legs")
    assert isinstance(legs, Grid)
    for grid in (legs, legs.rows[10].under[0], legs.rows[11].under[0]):
        assert isinstance(grid, Grid)
        one_by_one = [str(draw_rows(form, grid, [row], module.row, module.under)) for row in grid.rows]
        assert one_by_one == each_by_itself(grid)


@pytest.mark.parametrize("tool", [None, FormTool("trip", "A trip.")])
@pytest.mark.parametrize("shape", [Trip, Balance, Kinds, Secret], ids=lambda shape: shape.__name__)
def test_what_is_drawn_from_what_is_kept_is_what_the_macros_draw(shape: type[Any], tool: FormTool | None, monkeypatch):
    typed: list[Any] = [
        None,
        VARIED,
        [("account", "<A>"), ("positions[0].lots[0].cost", "1500"), *((f"positions[1].lots[{n}].cost", "x") for n in range(5))],
        [("text", "a & b"), ("side", "sell"), ("agreed", "1"), ("levels", "read"), ("at", "2026-03-01T12:30"), ("count", '"')],
        [("text", "\ufdd01\ufdd1 %s"), ("side", "\ufdd09\ufdd1"), ("letter", "\ufdd00\ufdd1"), ("country", "\ufdd09\ufdd1")],
        [("text", "two\nlines"), ("side", "gift"), ("sure", "true"), ("day", "tomorrow"), ("tags", "a"), ("tags", "b%")],
    ]
    wrong = [Problem("account", "no"), Problem("legs[2].side", "no"), Problem("count", "no"), Problem("positions", "too few")]
    totals = ["positions[].lots[].cost", "legs[].quantity"]
    told = {"tool": tool, "totals": [each for each in totals if has_cell(shape_of(shape), each)]}

    def every() -> list[str]:
        return [html(drawn(shape_of(shape), each, problems=said, **told)) for each in typed for said in ((), wrong)]

    first, again = every(), every()
    monkeypatch.setattr(alike, "KEPT", 0)
    layout_of.cache_clear()
    assert first == again == every()


def test_nothing_that_a_person_wrote_is_kept_for_the_next():
    before = html(drawn(shape_of(Trip)))
    html(drawn(shape_of(Trip), VARIED, problems=[Problem("legs[2].side", "no")], focus="legs[@row0@].fees"))
    assert html(drawn(shape_of(Trip))) == before


def test_a_default_that_is_made_anew_is_drawn_anew():
    numbers = itertools.count()

    @dataclass(frozen=True)
    class Numbered:
        name: str = field(default_factory=lambda: f"n{next(numbers)}")

    first, second = (inputs(drawn(shape_of(Numbered), [("name", "")]))["name"].look.default for _ in range(2))
    assert first != second
