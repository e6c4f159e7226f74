"""The kit's script in a real browser: what it adds to a form that works without it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from importlib.resources import files
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Page, Route

from meridian import records
from meridian.errors import Problem
from meridian.pages import Pages
from meridian.pages.drawing import draw_form
from meridian.pages.rendering import Kit, Surroundings
from meridian.records import shape_of

KIT = files("meridian.pages") / "static"
ADDRESS = "http://kit.test"


@dataclass(frozen=True)
class Lot:
    quantity: Decimal
    cost: Decimal | None = None
    acquired: date | None = None


@dataclass(frozen=True)
class Position:
    name: str
    scheme: Literal["CUSIP", "ISIN"] = "ISIN"
    lots: list[Lot] = field(default_factory=list)


@dataclass(frozen=True)
class Balance:
    account: str = records.field(max_length=20)
    positions: list[Position] = field(default_factory=list)


def drawn(pairs: Any = None, **words: Any) -> str:
    environment = Kit(Pages("Kit"), Surroundings()).environment
    form: Any = environment.get_template("meridian/form.html").module
    model = draw_form(
        shape_of(Balance), action="/sent", submit="Record it", pairs=pairs, totals=["positions[].lots[].cost"], **words
    )
    return environment.from_string('{% extends "meridian/base.html" %}{% block main %}{{ form }}{% endblock %}').render(
        form=form.draw(model),
        page="Balance",
        plugin=None,
        tabs=(),
        brand=("Meridian", "/"),
        person=None,
        level_name=None,
        kit_url="/kit",
        sign_out=None,
        ld_json=None,
        error_prefix=False,
        redraw=None,
    )


@pytest.fixture
def shown_page(browser: Browser) -> Iterator[Any]:
    """Shows a form; what is sent is in the page's `sent`."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))

    def show(pairs: Any = None, **words: Any) -> Page:
        html = drawn(pairs, **words)

        def answer(route: Route) -> None:
            path = route.request.url.removeprefix(ADDRESS)
            if path.startswith("/kit/"):
                kind = "text/css" if path.endswith("css") else "text/javascript"
                route.fulfill(body=(KIT / path.removeprefix("/kit/")).read_text(), content_type=kind)
            elif path == "/":
                route.fulfill(body=html, content_type="text/html")
            else:
                route.fulfill(status=204)

        page.route("**/*", answer)
        page.goto(ADDRESS)
        return page

    yield show
    context.close()
    assert wrong == []


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.name || document.activeElement.className"))


def cell(page: Page, name: str) -> Any:
    return page.locator(f'[name="{name}"]')


def paste(page: Page, text: str) -> None:
    page.evaluate(
        """text => {
            const data = new DataTransfer();
            data.setData("text/plain", text);
            const event = new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true});
            document.activeElement.dispatchEvent(event);
        }""",
        text,
    )


def test_a_row_is_added_in_place_with_the_next_number_and_the_focus(shown_page: Any):
    page = shown_page()
    page.click('button[name="meridian.add"][value="positions"]')
    assert focused(page) == "positions[2].name"
    page.click('button[name="meridian.add"][value="positions[2].lots"]')
    assert focused(page) == "positions[2].lots[1].quantity"
    assert cell(page, "positions[2].lots[1].quantity").get_attribute("aria-label") == "Row 3, lots row 2, quantity"
    page.wait_for_function("document.getElementById('live').textContent === 'Row 2 added'")


def test_a_row_is_removed_in_place_and_the_others_keep_their_numbers(shown_page: Any):
    page = shown_page()
    page.click('button[name="meridian.remove"][value="positions[0]"]')
    assert focused(page) == "positions[1].name"
    assert page.locator("[data-row]").evaluate_all("rows => rows.map(row => row.dataset.row)") == [
        "positions[1]",
        "positions[1].lots[0]",
    ]
    page.click('button[name="meridian.remove"][value="positions[1]"]')
    assert focused(page) == "meridian.add"


def test_enter_goes_down_and_adds_a_row_after_one_that_is_filled(shown_page: Any):
    page = shown_page()
    cell(page, "positions[0].name").press("Enter")
    assert focused(page) == "positions[1].name"
    cell(page, "positions[1].name").press("Enter")
    assert focused(page) == "positions[1].name"
    cell(page, "positions[1].name").fill("Apple")
    cell(page, "positions[1].name").press("Enter")
    assert focused(page) == "positions[2].name"
    cell(page, "positions[2].name").press("Shift+Enter")
    assert focused(page) == "positions[1].name"


def test_a_block_from_a_spreadsheet_fills_cells_and_adds_rows(shown_page: Any):
    page = shown_page()
    cell(page, "positions[1].name").focus()
    paste(page, 'Apple\tcusip\r\n"Two ""b"""\tISIN\r\n')
    values = page.locator("input[name$=name], select[name$=scheme]").evaluate_all(
        "all => all.map(each => [each.name, each.value])"
    )
    assert values[2:] == [
        ["positions[1].name", "Apple"],
        ["positions[1].scheme", "CUSIP"],
        ["positions[2].name", 'Two "b"'],
        ["positions[2].scheme", "ISIN"],
    ]


def test_totals_are_exact_as_one_types(shown_page: Any):
    page = shown_page()
    cell(page, "positions[0].lots[0].cost").fill("9007199254740993.1")
    cell(page, "positions[1].lots[0].cost").fill("0.2")
    page.wait_for_function("document.querySelector('.sums output').textContent === '9007199254740993.3'")
    cell(page, "positions[1].lots[0].cost").fill("1,5")
    page.wait_for_function("document.querySelector('.sums output').textContent === '—'")


def test_one_press_is_one_act(shown_page: Any):
    page = shown_page()
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.method))
    page.evaluate("for (let n = 0; n < 3; n += 1) document.querySelector('.buttons .primary').click()")
    page.wait_for_timeout(300)
    assert sent == ["POST"]


def test_the_summary_takes_the_focus_and_leads_to_a_cell_that_is_folded_away(shown_page: Any):
    pairs = [(f"positions[0].lots[{n}].cost", "1") for n in range(9)]
    page = shown_page(pairs, problems=[Problem("positions[0].lots[7].cost", "too much")], spare_rows=0)
    assert focused(page) == "problems"
    page.evaluate("document.querySelector('details.nested').open = false")
    page.click(".problems a")
    assert focused(page) == "positions[0].lots[7].cost"


def test_what_is_sent_is_what_was_typed_and_nothing_of_the_blank_rows(shown_page: Any):
    page = shown_page([("account", "A-1")], spare_rows=0)
    page.click('button[name="meridian.add"]')
    page.keyboard.type("Apple")
    with page.expect_request("**/sent") as sent:
        page.click(".buttons .primary")
    assert json.dumps(sent.value.post_data) == json.dumps(
        "account=A-1&positions%5B0%5D.name=Apple&positions%5B0%5D.scheme=&positions%5B0%5D.lots%5B0%5D.quantity="
        "&positions%5B0%5D.lots%5B0%5D.cost=&positions%5B0%5D.lots%5B0%5D.acquired="
    )


def test_a_problem_of_a_whole_row_leads_to_the_row(shown_page: Any):
    problem = Problem("positions[0].lots[1]", "this lot was sold")
    page = shown_page([("positions[0].name", "A"), ("positions[0].lots[1].cost", "1")], problems=[problem])
    page.locator(".problems a").click()
    assert page.evaluate("document.activeElement.name") == "positions[0].lots[1].quantity"
