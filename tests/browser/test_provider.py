"""Signing in through the firm's provider as a person does: the button, the provider's own pages, and the way back."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page

import openid


@pytest.fixture(scope="module")
def providers(request: pytest.FixtureRequest) -> Iterator[openid.Providers]:
    """Where this module's tests have their provider from."""
    with openid.providers(request.config.cache.mkdir("oidc-provider")) as made:
        yield made


@pytest.fixture
def provider(providers: openid.Providers) -> openid.TestProvider:
    """A provider that answers."""
    return providers.running()


@pytest.fixture
def with_provider(serve: Any, provider: openid.TestProvider, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A deployment whose people sign in through the provider, as its operator starts it."""
    monkeypatch.setenv("MERIDIAN_OIDC_ISSUER", provider.issuer)
    monkeypatch.setenv("MERIDIAN_OIDC_CLIENT_ID", openid.CLIENT_ID)
    monkeypatch.setenv("MERIDIAN_OIDC_CLIENT_SECRET", openid.CLIENT_SECRET)
    monkeypatch.setenv("MERIDIAN_OIDC_NAME", "Example Bank")
    served = serve("operations=opening_balance:pages")
    provider.tell(redirect_uris=[f"{served.url}/sign-in/provider/answer"], people={"ada": {"name": "Ada Lovelace"}})
    return served


def through_the_provider(page: Page) -> None:
    """From the sign-in page through those of the provider, which asks for a password each time."""
    page.get_by_role("link", name="Sign in with Example Bank").click()
    page.get_by_placeholder("Enter any login").fill("ada")
    page.get_by_placeholder("and password").fill("of no matter here")
    page.get_by_role("button", name="Sign-in").click()


def test_a_person_signs_in_through_the_provider_and_again_where_that_is_asked(
    with_provider: Any, page: Page, axe: Callable[[Page], list[str]], screenshot: Callable[[Page, str], None]
):
    page.goto(f"{with_provider.url}/dashboard/open/password")
    assert page.title() == "Sign in – Meridian"
    assert axe(page) == []
    screenshot(page, "sign in with a provider")
    through_the_provider(page)
    page.get_by_role("button", name="Continue").click()
    page.wait_for_url("**/dashboard/open/password")
    assert f"ada at {with_provider.told['url'].split(':')[0]}" in page.locator("main").inner_text()
    screenshot(page, "password of a provider")
    page.goto(f"{with_provider.url}/sign-in?fresh=yes&next=/dashboard/open/clients")
    assert (page.title(), axe(page)) == ("Sign in again – Meridian", [])
    screenshot(page, "sign in again")
    through_the_provider(page)
    page.wait_for_url("**/dashboard/open/clients")


def test_an_admin_names_groups_of_the_provider(
    with_provider: Any, page: Page, axe: Callable[[Page], list[str]], screenshot: Callable[[Page, str], None]
):
    page.goto(with_provider.people["demo-admin"]["sign_in_url"])
    page.goto(f"{with_provider.url}/dashboard/manage/groups?kind=user&group=demo-writers")
    page.get_by_label("Another group at the provider").fill("bank-operations")
    page.get_by_role("button", name="Name it").click()
    page.get_by_text("It is named for that group").wait_for()
    assert axe(page) == []
    screenshot(page, "group named for a provider's")
    page.get_by_role("button", name="Take out bank-operations").click()
    page.get_by_text("gives nothing here any more").wait_for()
    page.get_by_role("button", name="Name it").click()
    page.locator(".field.wrong").wait_for()
    assert axe(page) == []
    screenshot(page, "group named for none")


def test_a_password_is_chosen(
    with_provider: Any, page: Page, axe: Callable[[Page], list[str]], screenshot: Callable[[Page, str], None]
):
    page.goto(with_provider.people["demo-writer"]["sign_in_url"])
    page.goto(f"{with_provider.url}/dashboard/open/password")
    screenshot(page, "your password")
    page.get_by_role("link", name="Choose a password").click()
    assert (page.title(), axe(page)) == ("Choose a password – Meridian", [])
    screenshot(page, "choose a password")
    page.get_by_label("New password").fill("correct horse battery")
    page.get_by_label("The same once more").fill("correct horse")
    page.get_by_role("button", name="Choose this password").click()
    page.get_by_text("type the new password once more").first.wait_for()
    assert axe(page) == []
    screenshot(page, "choose a password problem")
    page.get_by_label("New password").fill("correct horse battery")
    page.get_by_label("The same once more").fill("correct horse battery")
    page.get_by_role("button", name="Choose this password").click()
    page.get_by_role("heading", name="Your password is chosen").wait_for()
    screenshot(page, "password chosen")
