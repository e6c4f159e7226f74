"""What a record says, drawn as facts and tables."""

import re
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Literal
from uuid import UUID

import pytest

from meridian import records
from meridian.pages import alike
from meridian.pages.rendering import environment
from meridian.pages.showing import (
    Facts,
    Heading,
    Line,
    Link,
    Section,
    Shown,
    Table,
    draw_record,
    draw_table,
    humanised,
    inline,
    shown,
)
from meridian.records import shape_of


@dataclass(frozen=True)
class Lot:
    cost: Decimal
    acquired: date | None = None


@dataclass(frozen=True)
class Person:
    name: str
    token: str = records.field(default="", secret=True)


@dataclass(frozen=True)
class Entry:
    entry_id: str
    recorded_at: datetime
    outcome: Literal["made", "in_doubt"]
    by: Person
    count: int = 2026
    sure: bool = False
    tags: tuple[str, ...] = ()
    extra: dict[str, Any] = field(default_factory=dict)
    lots: list[Lot] = field(default_factory=list)


ENTRY = Entry(
    "E-1", datetime(2026, 7, 1, 12, 0, 5, tzinfo=UTC), "in_doubt", Person("Wren", "hunter2"), lots=[Lot(Decimal("-1234567.50"))]
)
LOTS = Table(
    "Lots",
    (Heading("Cost", figure=True), Heading("Acquired")),
    (Line((Shown("figure", "-1234567.50", groups=("-1", "234", "567.50")), Shown("none", "—")), record=ENTRY.lots[0]),),
)


def test_a_record_is_told_as_facts_then_what_has_fields_or_rows_of_its_own():
    assert draw_record(ENTRY, zone="Europe/Amsterdam") == Facts(
        "Entry",
        (
            ("Entry ID", Shown("text", "E-1")),
            ("Recorded at", Shown("moment", "2026-07-01 14:00:05 CEST", "2026-07-01T12:00:05+00:00")),
            ("Outcome", Shown("text", "In doubt")),
            ("Count", Shown("count", "2026")),
            ("Sure", Shown("flag", "No")),
            ("Tags", Shown("none", "—")),
            ("Extra", Shown("json", "{}")),
        ),
        (Section("By", Facts("Person", (("Name", Shown("text", "Wren")),))), LOTS),
    )


@pytest.mark.parametrize("said", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_a_moment_that_a_zone_has_no_day_for_is_told_as_it_is(said):
    told = dict(draw_record(replace(ENTRY, recorded_at=datetime.fromisoformat(said)), zone="UTC").values)["Recorded at"]
    assert (told.exact, told.text.endswith(f"UTC{said[-6:]}")) == (said, True)


def test_a_secret_is_in_no_fact_and_no_table():
    assert "hunter2" not in repr(draw_record(ENTRY.by))
    assert [column.label for column in draw_table([ENTRY.by], caption="People").columns] == ["Name"]


def test_a_table_has_the_columns_asked_for_in_that_order():
    table = draw_table([ENTRY], caption="Entries", columns=["by.name", "entry_id"], link=lambda entry: f"/{entry.entry_id}")
    assert [column.label for column in table.columns] == ["Name", "Entry ID"]
    assert [(line.href, [cell.text for cell in line.cells], line.under) for line in table.lines] == [
        ("/E-1", ["Wren", "E-1"], ())
    ]


def test_rows_of_a_row_are_a_table_under_it():
    assert [line.under for line in draw_table([ENTRY], caption="Entries", zone="UTC").lines] == [(LOTS,)]


@dataclass(frozen=True)
class Held:
    name: str
    lots: list[Lot] = field(default_factory=list)


HELD = [Held("Fund", [Lot(Decimal("1.5")), Lot(Decimal(20))]), Held("Cash", [Lot(Decimal("3.25"))]), Held("Gone")]


def test_the_one_list_of_each_row_stands_beside_it_headed_once():
    table = draw_table(HELD, caption="Holdings")
    assert ([column.label for column in table.columns], table.heads, table.inner) == (
        ["Name", "Cost", "Acquired"],
        (("", 1), ("Lots", 2)),
        2,
    )
    assert [[line.cells[0].text, *([cell.text for cell in each] for each in line.beside)] for line in table.lines] == [
        ["Fund", ["1.5", "—"], ["20", "—"]],
        ["Cash", ["3.25", "—"]],
        ["Gone"],
    ]
    drawn = html("table", table)
    assert [drawn.count(each) for each in ('<th scope="col"', 'rowspan="2"', 'scope="rowgroup"')] == [3, 1, 1]


def test_a_long_list_stays_under_its_row_and_folded():
    table = draw_table([Held("Fund", [Lot(Decimal(n)) for n in range(40)]), HELD[1]], caption="Holdings")
    assert (table.inner, [len(line.under) for line in table.lines]) == (0, [1, 1])


def test_the_points_of_a_column_are_in_line_and_nothing_is_added_to_what_is_copied():
    table = draw_table(HELD, caption="Holdings")
    assert [each[0].pad for line in table.lines for each in line.beside] == ["0", ".00", ""]
    assert '<span class="fig">20</span><span class="pad" data-pad=".00"></span>' in html("table", table)


def test_what_the_absence_of_a_value_means_may_be_said():
    table = draw_table([Lot(Decimal(1))], caption="Lots", none={"acquired": "not known"})
    assert table.lines[0].cells[1] == Shown("none", "not known")
    assert '<span class="none">not known</span>' in html("table", table)


@dataclass(frozen=True)
class Varied:
    """A row with a value of every look."""

    name: str
    cost: Decimal | None = None
    count: int = 7
    sure: bool | None = None
    at: datetime | None = None
    id: UUID | None = None
    side: Literal["in_kind", "sell"] = "sell"
    tags: tuple[str, ...] = ()
    extra: dict[str, Any] = field(default_factory=dict)
    by: Person = Person("%s")
    lots: list[Lot] = field(default_factory=list)


VARIED = [
    Varied(
        "\ufdd00\ufdd1 %d",
        Decimal("-1234567.5"),
        tags=("<i>", "—"),
        extra={"<": "%"},
        lots=[Lot(Decimal(n)) for n in range(14)],
    ),
    Varied("<b>&", Decimal(12), sure=True, at=datetime(2026, 7, 1, tzinfo=UTC), side="in_kind", by=Person('"')),
    Varied("—", lots=[Lot(Decimal("0.125"), date(2026, 1, 1))]),
    Varied("", Decimal("1234.50"), id=UUID(int=7)),
]


def test_what_is_drawn_from_what_is_kept_is_what_the_macros_draw(monkeypatch: pytest.MonkeyPatch):
    def every() -> list[str]:
        words: list[dict[str, Any]] = [
            {},
            {"link": lambda row: f"/?of={row.name}&more", "actions": "Act"},
            {"columns": ["name", "cost", "by.name"], "none": {"cost": "not <known>"}},
            {"columns": ["lots", "cost"]},
        ]
        tables = [html("table", draw_table(VARIED, caption="Varied", **each)) for each in words]
        return [
            *tables,
            html("table", draw_table(HELD, caption="Held")),
            *[html("answer", draw_record(each)) for each in VARIED],
        ]

    kept = every()
    monkeypatch.setattr(alike, "KEPT", 0)
    assert kept == every()


def test_a_page_fills_the_column_of_actions_row_by_row():
    page = environment().from_string(
        '{% import "meridian/table.html" as tables %}'
        "{% call(line) tables.draw(table) %}<b>{{ line.record.name }}</b>{% endcall %}"
    )
    drawn = page.render(table=draw_table([Person("<A>"), Person("B")], caption="People", actions="Act"))
    assert re.findall(r'<td class="actions">(.*?)</td>', drawn) == ["<b>&lt;A&gt;</b>", "<b>B</b>"]


@dataclass(frozen=True)
class Inner:
    lots: list[Person]


@dataclass(frozen=True)
class Outer:
    inner: dict[str, Inner]
    lots: list[Lot]


def test_lists_of_one_name_in_two_records_are_told_each_by_its_own():
    [table] = draw_record(Outer({"a": Inner([Person("Wren")])}, [Lot(Decimal(1))])).parts
    assert isinstance(table, Table)
    assert [column.label for column in table.columns] == ["Cost", "Acquired"]


def test_an_empty_table_says_what_would_be_here():
    assert draw_table(
        [], caption="Lots", empty="Record a balance to begin.", shape=shape_of(Lot), pages=[("1", "?1", True)]
    ) == Table("Lots", LOTS.columns, (), empty="Record a balance to begin.", pages=(Link("1", "?1", True),))


def test_a_time_is_told_in_utc_where_the_zone_is_unknown():
    assert dict(draw_record(ENTRY, zone="Nowhere/Else").values)["Recorded at"].text == "2026-07-01 12:00:05 UTC"


def test_labels_read_as_people_write_them():
    assert [humanised(name) for name in ("as_of", "entry_id", "id", "ISIN")] == ["As of", "Entry ID", "ID", "ISIN"]
    assert [inline(label) for label in ("Cost", "ISIN", "A")] == ["cost", "ISIN", "a"]


def test_what_looks_like_nothing_is_shown():
    assert shown("a\u3164b\U000e0041c\u200d") == "a[U+3164]b[U+E0041]c[U+200D]"
    assert shown("naïve – “quoted” \u00a0…") == "naïve – “quoted” \u00a0…"


def html(name: str, model: object) -> str:
    module: Any = environment().get_template(f"meridian/{name}.html").module
    return str(module.draw(model))


def test_a_figure_is_copied_as_it_is_though_its_thousands_stand_apart():
    text = html("answer", draw_record(ENTRY))
    assert '<span class="fig">-1<span>234</span><span>567.50</span></span>' in text
    assert '<time datetime="2026-07-01T12:00:05+00:00">2026-07-01 12:00:05 UTC</time>' in text


def test_what_others_wrote_is_escaped():
    assert "&lt;script&gt;" in html("table", draw_table([Person("<script>")], caption="<b>"))


def test_others_words_are_quoted_with_who_said_them():
    module: Any = environment().get_template("meridian/words.html").module
    assert str(module.quoted("pay \u202e<b>now", "Claude")).strip() == (
        '<figure class="quoted"><blockquote dir="auto">pay [U+202E]&lt;b&gt;now</blockquote>'
        "<figcaption>Claude</figcaption></figure>"
    )
