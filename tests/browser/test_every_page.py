"""Every page, wide and narrow, in light and in dark: axe-core finds nothing, nothing runs off the side.

With `MERIDIAN_SCREENSHOTS` set, each page is also photographed, for a person to look at.
"""

from collections.abc import Callable
from importlib.resources import files
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page

SAMPLE = str(files("opening_balance") / "samples" / "statement.ofx")
WIDTHS = (1280, 390)
SCHEMES = ("light", "dark")
NARROWEST = 320

CALM = {"reduced_motion": "reduce"}


@pytest.fixture
def look(axe: Callable[[Page], list[str]], screenshot: Callable[[Page, str], None]) -> Callable[..., None]:
    """`look(page, name, title)` sees that a page is what its title says, photographs it, and finds nothing wrong with it."""

    def look(page: Page, name: str, title: str) -> None:
        assert page.title() == title
        screenshot(page, name)
        found: dict[str, list[str]] = {}
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            for scheme in SCHEMES:
                page.emulate_media(color_scheme=scheme)
                found[f"{width} {scheme}"] = axe(page)
        page.set_viewport_size({"width": NARROWEST, "height": 900})
        found["over the side"] = page.evaluate(
            "[...document.querySelectorAll('body *')].filter(each => !each.closest('.visually-hidden, .skip, .tabs, .scroll')"
            " && each.getBoundingClientRect().right > innerWidth + 1).slice(0, 3).map(each => each.outerHTML.slice(0, 120))"
        )
        found["headings"] = [] if page.locator("h1").count() == 1 else page.locator("h1").all_inner_texts()
        assert {where: what for where, what in found.items() if what} == {}

    return look


@pytest.fixture
def stranger(new_context: Callable[..., BrowserContext]) -> Page:
    """A tab that nobody signed in to."""
    return new_context(**CALM).new_page()


@pytest.fixture
def writer(signed_in: Callable[..., Page]) -> Page:
    return signed_in("demo-writer", **CALM)


@pytest.fixture
def admin(signed_in: Callable[..., Page]) -> Page:
    return signed_in("demo-admin", **CALM)


def record(page: Page) -> None:
    """Press the button that records what stands in the form."""
    page.get_by_role("button", name="Record the opening balance").click()


# ── Outside any plugin ────────────────────────────────────────────────────


def test_sign_in(served: Any, stranger: Page, look: Callable[..., None]):
    stranger.goto(served.url)
    look(stranger, "sign in", "Sign in – Meridian")


def test_sign_in_with_problems(served: Any, stranger: Page, look: Callable[..., None]):
    stranger.goto(served.url)
    stranger.get_by_role("button", name="Sign in").click()
    stranger.locator(".problems").wait_for()
    look(stranger, "sign in problems", "Error: Sign in – Meridian")


def test_a_link_of_no_more_use(served: Any, stranger: Page, look: Callable[..., None]):
    stranger.goto(f"{served.url}/sign-in/used-already")
    look(stranger, "link of no more use", "Error: This link is of no more use – Meridian")


def test_an_address_where_nothing_is(served: Any, stranger: Page, look: Callable[..., None]):
    assert stranger.goto(f"{served.url}/nowhere").status == 404
    look(stranger, "404", "Error: There is nothing here – Meridian")


def test_sign_out(served: Any, writer: Page, look: Callable[..., None]):
    writer.goto(f"{served.url}/operations/open/")
    writer.get_by_role("link", name="Sign out").click()
    writer.wait_for_url("**/sign-out")
    look(writer, "sign out", "Sign out – Meridian")


@pytest.mark.parametrize("subject", ["demo-writer", "demo-admin", "demo-newcomer"])
def test_home(signed_in: Callable[..., Page], look: Callable[..., None], subject: str):
    look(signed_in(subject, **CALM), f"home {subject}", "Plugins – Meridian")


def test_a_button_that_is_not_held(served: Any, writer: Page, look: Callable[..., None]):
    assert writer.goto(f"{served.url}/operations/manage/").status == 403
    look(writer, "403 button not held", "Error: That is not yours to open – Meridian")


# ── The plugin ────────────────────────────────────────────────────────────


def test_statements(served: Any, writer: Page, look: Callable[..., None]):
    writer.goto(f"{served.url}/operations/open/")
    look(writer, "statements", "Statements – Opening balance – Meridian")


def test_statements_with_no_file_chosen(served: Any, writer: Page, look: Callable[..., None]):
    writer.goto(f"{served.url}/operations/open/")
    writer.get_by_role("button", name="Read the statement").click()
    writer.locator(".problems").wait_for()
    look(writer, "statements problem", "Error: Statements – Opening balance – Meridian")


def test_an_opening_balance_started_from_a_statement(served: Any, writer: Page, look: Callable[..., None]):
    writer.goto(f"{served.url}/operations/open/")
    writer.get_by_label("Statement file").set_input_files(SAMPLE)
    writer.get_by_role("button", name="Read the statement").click()
    writer.wait_for_url("**/statements")
    look(writer, "started from a statement", "Opening balance – Meridian")
    writer.locator('[name="positions[0].lots[1].cost"]').fill("1,500")
    record(writer)
    writer.wait_for_url("**/opening/confirm")
    assert writer.get_by_role("heading", name="Before you rely on it").is_visible()
    look(writer, "a cell that did not read", "Error: Opening balance – Meridian")


def test_a_statement_that_is_only_read(served: Any, writer: Page, look: Callable[..., None]):
    writer.goto(f"{served.url}/operations/view/")
    writer.get_by_label("Statement file").set_input_files(SAMPLE)
    writer.get_by_role("button", name="Read the statement").click()
    writer.wait_for_url("**/statements")
    look(writer, "statement only read", "Statement – Opening balance – Meridian")


def test_an_opening_balance_with_nothing_in_it(served: Any, writer: Page, look: Callable[..., None]):
    writer.goto(f"{served.url}/operations/open/opening")
    look(writer, "opening balance", "Opening balance – Meridian")
    record(writer)
    writer.wait_for_url("**/opening/confirm")
    look(writer, "opening balance problems", "Error: Opening balance – Meridian")


def test_positions(served: Any, writer: Page, look: Callable[..., None]):
    writer.goto(f"{served.url}/operations/open/positions")
    look(writer, "positions accounts", "Positions – Opening balance – Meridian")
    writer.get_by_role("link", name="A-1").click()
    writer.wait_for_url("**/positions?*")
    look(writer, "positions empty", "Positions of A-1 – Opening balance – Meridian")
    writer.goto(f"{served.url}/operations/open/")
    writer.get_by_label("Statement file").set_input_files(SAMPLE)
    writer.get_by_role("button", name="Read the statement").click()
    record(writer)
    writer.wait_for_url("**/positions?*")
    look(writer, "positions recorded", "Positions of A-1 – Opening balance – Meridian")


def test_entries(served: Any, writer: Page, look: Callable[..., None]):
    writer.goto(f"{served.url}/operations/open/entries?account=A-2")
    look(writer, "entries empty", "Entries – Opening balance – Meridian")
    writer.goto(f"{served.url}/operations/open/entries")
    look(writer, "entries", "Entries – Opening balance – Meridian")


def test_an_account_that_is_not_reached(served: Any, writer: Page, look: Callable[..., None]):
    assert writer.goto(f"{served.url}/operations/open/positions?account=A-3").status == 422
    look(writer, "422 account not reached", "Error: That cannot be shown – Opening balance – Meridian")


def test_a_page_that_the_session_does_not_serve(served: Any, writer: Page, look: Callable[..., None]):
    assert writer.goto(f"{served.url}/operations/open/about").status == 403
    look(writer, "403 page of another level", "Error: That is not yours to open – Opening balance – Meridian")


def test_a_page_that_the_plugin_has_not(served: Any, writer: Page, look: Callable[..., None]):
    assert writer.goto(f"{served.url}/operations/open/nowhere").status == 404
    look(writer, "404 in a plugin", "Error: There is nothing here – Opening balance – Meridian")


def test_about(served: Any, admin: Page, look: Callable[..., None]):
    admin.goto(f"{served.url}/operations/manage/about")
    look(admin, "about", "About – Opening balance – Meridian")


# ── The deployment's own pages ────────────────────────────────────────────


def test_connected_clients(served: Any, writer: Page, look: Callable[..., None]):
    writer.goto(f"{served.url}/dashboard/open/clients")
    look(writer, "connected clients", "Connected clients – Dashboard – Meridian")
    writer.get_by_role("button", name="Make a client token").click()
    writer.locator(".problems").wait_for()
    look(writer, "connected clients problems", "Error: Connected clients – Dashboard – Meridian")
    writer.goto(f"{served.url}/dashboard/open/clients")
    writer.get_by_role("link", name="Demo client").click()
    writer.wait_for_url("**/clients?*")
    look(writer, "one connected client", writer.title())


def test_a_client_token_is_shown_once(served: Any, signed_in: Callable[..., Page], look: Callable[..., None]):
    reader = signed_in("demo-reader", **CALM)
    reader.goto(f"{served.url}/dashboard/open/clients")
    reader.get_by_label("Client", exact=True).fill("Notes on my laptop")
    reader.get_by_role("checkbox").first.check()
    reader.get_by_role("button", name="Make a client token").click()
    reader.get_by_text("mrd_").first.wait_for()
    look(reader, "client token", reader.title())


@pytest.mark.parametrize("path", ["plugins", "plugins/summary?instance=operations", "plugins/access?instance=operations"])
def test_the_plugins_that_one_reaches(served: Any, writer: Page, look: Callable[..., None], path: str):
    assert writer.goto(f"{served.url}/dashboard/view/{path}").status == 200
    look(writer, path, writer.title())


def test_everybody_s_clients(served: Any, admin: Page, look: Callable[..., None]):
    admin.goto(f"{served.url}/dashboard/manage/everybody-s-clients")
    look(admin, "everybody's clients", "Clients – Dashboard – Meridian")
    admin.get_by_role("link", name="Demo client").first.click()
    admin.wait_for_url("**/everybody-s-clients?*")
    look(admin, "one of everybody's clients", "Demo client – Dashboard – Meridian")


def test_your_password(served: Any, writer: Page, look: Callable[..., None]):
    writer.goto(f"{served.url}/dashboard/open/password")
    look(writer, "your password", "Your password – Dashboard – Meridian")


@pytest.mark.parametrize("path", ["access", "people", "groups", "accounts"])
def test_what_a_deployment_admin_looks_after(served: Any, admin: Page, look: Callable[..., None], path: str):
    assert admin.goto(f"{served.url}/dashboard/manage/{path}").status == 200
    look(admin, path, f"{path.capitalize()} – Dashboard – Meridian")


@pytest.mark.parametrize("path", ["people", "groups"])
def test_one_of_what_a_deployment_admin_looks_after(served: Any, admin: Page, look: Callable[..., None], path: str):
    admin.goto(f"{served.url}/dashboard/manage/{path}")
    admin.get_by_role("main").locator("tbody a").first.click()
    admin.wait_for_url(f"**/{path}?*")
    look(admin, f"one of {path}", admin.title())
