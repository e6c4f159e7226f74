"""The deployment's own pages, in a browser: signing in and out, one-time links, the first admin, home, and the kit."""

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import httpx2
import pytest
from argon2 import PasswordHasher

from meridian.deployment import identity, signing_in
from meridian.deployment.app import Deployment
from meridian.deployment.confining import policies
from meridian.deployment.settings import Settings
from meridian.errors import DeploymentError

pytestmark = pytest.mark.anyio

PASSWORD = "correct horse battery"


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
def named(running):
    """Somebody with a name and a password."""
    return identity.add_person(running.deployment.store, "ada", "Ada", password=PASSWORD, now=running.clock())


def sign_in(browser, form_token, *, name="ada", password=PASSWORD, **more):
    page = browser.get("/sign-in")
    return browser.post("/sign-in", data={"csrf": form_token(page.text), "sign_in_name": name, "password": password, **more})


def cookie_of(answer):
    return {part.strip().partition("=")[0].lower(): part for part in answer.headers["set-cookie"].split(";")}


@pytest.mark.usefixtures("named")
def test_a_person_signs_in_and_a_session_s_cookie_says_nothing_and_is_no_script_s(running, form_token):
    browser = running.browser()
    answer = sign_in(browser, form_token)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = cookie_of(answer)
    assert {"httponly", "samesite", "path"} <= set(cookie)
    assert (cookie["samesite"].strip(), cookie["path"].strip()) == ("SameSite=lax", "Path=/")
    assert "ada" not in answer.headers["set-cookie"]
    assert "Ada" in browser.get("/").text


@pytest.mark.usefixtures("named")
def test_behind_https_the_cookies_are_bound_to_it(running, form_token):
    browser = running.browser()
    browser.headers["X-Forwarded-Proto"] = "https"
    page = browser.get("/sign-in")
    form = page.headers["set-cookie"].partition(";")[0]
    answer = browser.post(
        "/sign-in",
        data={"csrf": form_token(page.text), "sign_in_name": "ada", "password": PASSWORD},
        headers={"Cookie": form},
    )
    assert (answer.status_code, answer.headers["set-cookie"].partition("=")[0]) == (303, "__Host-meridian")
    assert "secure" in cookie_of(answer)


@pytest.mark.usefixtures("named")
@pytest.mark.parametrize(("name", "password"), [("ada", "wrong"), ("nobody", PASSWORD)])
def test_a_wrong_name_and_a_wrong_password_are_answered_alike(running, form_token, name, password):
    answer = sign_in(running.browser(), form_token, name=name, password=password)
    assert answer.status_code == 422
    assert "That name and password do not go together." in answer.text
    assert password not in answer.text


@pytest.mark.usefixtures("named")
def test_after_five_wrong_passwords_the_name_is_locked(running, form_token):
    browser = running.browser()
    statuses = [sign_in(browser, form_token, password="wrong").status_code for _ in range(6)]
    assert statuses == [422] * 5 + [429]
    assert sign_in(browser, form_token).status_code == 429


@pytest.mark.parametrize(
    ("body", "status_code"),
    [
        (b"csrf=%ff&sign_in_name=a&password=b", 403),
        (b"csrf={}&sign_in_name=%ff&password=b", 422),
        (b"csrf={}&sign_in_name=a&password=%ff", 422),
    ],
)
def test_a_sign_in_that_is_no_text_is_refused_in_words(running, form_token, body, status_code):
    browser = running.browser()
    said = body.replace(b"{}", form_token(browser.get("/sign-in").text).encode())
    answer = browser.post("/sign-in", content=said, headers={"Content-Type": "application/x-www-form-urlencoded"})
    assert answer.status_code == status_code


class Slow(PasswordHasher):
    """Passwords kept as they are, at more cost."""

    def verify(self, *given: str | bytes) -> bool:
        time.sleep(0.4)
        return super().verify(*given)


@pytest.mark.parametrize(("may_wait", "answers"), [(50, {422}), (1, {422, 503})])
def test_those_who_sign_in_all_at_once_leave_the_store_to_those_who_are_signed_in(
    running, form_token, monkeypatch, may_wait, answers
):
    monkeypatch.setattr(identity, "_HASHER", Slow(time_cost=1, memory_cost=8, parallelism=1))
    monkeypatch.setattr(signing_in, "_MOST_WAITING", may_wait)
    stranger = running.browser()
    token = form_token(stranger.get("/sign-in").text)
    at_once: list[int] = []

    def guess(number):
        said = {"csrf": token, "sign_in_name": f"nobody-{number}", "password": "a long wrong password"}
        return client.post(f"{running.url}/sign-in", data=said).status_code

    with httpx2.Client(cookies=dict(stranger.cookies), timeout=60) as client, ThreadPoolExecutor(8) as crowd:
        guesses = [crowd.submit(guess, number) for number in range(8)]
        while not all(each.done() for each in guesses):
            at_once.append(running.deployment.store._limiter.borrowed_tokens)
            time.sleep(0.02)
    assert {each.result() for each in guesses} == answers
    assert max(at_once) <= 2


@pytest.mark.usefixtures("named")
@pytest.mark.parametrize(
    ("wanted", "reached"),
    [
        ("/desk/open/?a=1", "/desk/open/?a=1"),
        ("https://elsewhere.example/", "/"),
        ("//elsewhere.example/", "/"),
        ("/\\elsewhere.example", "/"),
        ("/\tx", "/"),
    ],
)
def test_signing_in_leads_back_to_a_page_of_this_deployment_alone(running, form_token, wanted, reached):
    assert sign_in(running.browser(), form_token, next=wanted).headers["location"] == reached


@pytest.mark.usefixtures("named")
def test_a_sign_in_form_without_its_token_or_from_elsewhere_is_refused(running, form_token):
    browser = running.browser()
    given = {"sign_in_name": "ada", "password": PASSWORD}
    token = form_token(browser.get("/sign-in").text)
    statuses = [
        browser.post("/sign-in", data=given).status_code,
        browser.post("/sign-in", data={**given, "csrf": "guessed"}).status_code,
        browser.post("/sign-in", data={**given, "csrf": token}, headers={"Origin": "https://elsewhere.example"}).status_code,
        running.browser().post("/sign-in", data={**given, "csrf": token}).status_code,
        browser.post("/sign-in", data={**given, "csrf": token}).status_code,
    ]
    assert statuses == [403, 403, 403, 403, 303]


@pytest.mark.usefixtures("named")
def test_signing_in_ends_the_session_there_was_before(running, form_token):
    browser = running.browser("demo-writer")
    before = dict(browser.cookies)
    sign_in_page = browser.get("/sign-in")
    assert (sign_in_page.status_code, sign_in_page.headers["location"]) == (303, "/")
    token = identity.sign_in_link(running.deployment.store, "demo-reader", now=running.clock())
    browser.get(f"/sign-in/{token}")
    assert "Demo reader" in browser.get("/").text
    assert httpx2.get(f"{running.url}/", cookies=before).status_code == 303


def test_a_link_signs_in_once(running):
    link = f"/sign-in/{running.people['demo-writer'].sign_in_token}"
    assert running.browser().get(link).status_code == 303
    again = running.browser().get(link)
    assert (again.status_code, "used already, or has lapsed" in again.text) == (410, True)


def test_a_link_that_is_only_looked_at_is_not_spent(running):
    link = f"/sign-in/{running.people['demo-writer'].sign_in_token}"
    assert running.browser().head(link).status_code == 200
    assert running.browser().get(link, headers={"Sec-Purpose": "prefetch"}).status_code == 200
    assert running.browser().get(link).status_code == 303


def test_a_link_followed_from_another_site_asks_before_it_signs_in(running, form_token):
    link = f"/sign-in/{running.people['demo-writer'].sign_in_token}"
    browser = running.browser()
    page = browser.get(link, headers={"Sec-Fetch-Site": "cross-site"})
    assert (page.status_code, browser.get("/").status_code) == (200, 303)
    assert browser.post(link, data={"csrf": form_token(page.text)}).status_code == 303
    assert browser.get("/").status_code == 200


def test_signing_out_ends_the_session(running, form_token):
    browser = running.browser("demo-writer")
    before = dict(browser.cookies)
    assert browser.post("/sign-out").status_code == 403
    answer = browser.post("/sign-out", data={"csrf": form_token(browser.get("/").text)})
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")
    assert httpx2.get(f"{running.url}/", cookies=before).status_code == 303


def test_a_session_lapses(running):
    browser = running.browser("demo-writer")
    assert browser.get("/").status_code == 200
    running.clock.moved = timedelta(minutes=31)
    assert browser.get("/").status_code == 303


def test_the_first_admin_makes_themselves_one_by_a_link_once(running, form_token, tmp_path, settings):
    store = running.deployment.store
    assert identity.first_admin_link(store, now=running.clock()) is None
    with store.write() as connection:
        connection.exec_driver_sql("delete from user_group_members where user_group = 'deployment-admins'")
    link = f"/first-admin/{identity.first_admin_link(store, now=running.clock())}"
    browser = running.browser()
    given = {"csrf": form_token(browser.get(link).text), "sign_in_name": "grace", "display_name": "Grace"}
    short = browser.post(link, data={**given, "password": "short"})
    assert (short.status_code, "short" in short.text.split("<main")[1].split("csrf")[0]) == (422, False)
    made = browser.post(link, data={**given, "password": PASSWORD})
    assert (made.status_code, "Access" in browser.get("/").text) == (303, True)
    assert browser.get(link).status_code == 410


@pytest.mark.parametrize(
    ("subject", "buttons"),
    [
        ("demo-admin", ["/desk/manage/manage"]),
        ("demo-writer", ["/desk/view/", "/desk/open/"]),
        ("demo-reader", ["/desk/view/"]),
        ("demo-newcomer", []),
    ],
)
def test_home_has_a_button_for_each_level_that_is_held(running, subject, buttons):
    page = running.browser(subject).get("/").text
    found = [path for path in ("/desk/view/", "/desk/open/", "/desk/manage/manage") if f'href="{path}"' in page]
    assert found == buttons
    assert ("You hold Manage alone" in page) == (subject == "demo-admin")


def test_the_deployment_s_own_pages_are_as_confined_as_a_plugin_s(running):
    headers = running.browser("demo-writer").get("/").headers
    wanted = {
        name.decode(): value.decode() for name, value in policies(origin=running.url, prefix="/", kit_url="/static/meridian")
    }
    assert {name: headers[name] for name in wanted} == wanted


def test_the_kit_is_kept_by_browsers_and_asked_for_again_only_where_it_changed(running):
    first = httpx2.get(f"{running.url}/static/meridian/meridian.css")
    assert (first.status_code, first.headers["cache-control"]) == (200, "public, max-age=300, must-revalidate")
    again = httpx2.get(f"{running.url}/static/meridian/meridian.css", headers={"If-None-Match": first.headers["etag"]})
    assert again.status_code == 304
    assert httpx2.get(f"{running.url}/static/meridian/../../errors.py").status_code == 404


def test_a_sibling_process_knows_the_sessions_and_keys_of_the_first(running, form_token, settings):
    browser = running.browser("demo-writer")
    token = form_token(browser.get("/desk/open/").text)
    sibling = Deployment([], settings, clock=running.clock)
    session = identity.read_session(sibling.store, browser.cookies["meridian"], now=running.clock())
    assert session is not None
    assert session.person.subject == "demo-writer"
    assert browser.post("/desk/open/confirm", data={"csrf": token, "account": "A-1", "reason": "r"}).status_code == 200
    sibling.store.close()


async def test_where_people_reach_it_by_another_address_that_is_its_origin(running, tmp_path):
    settings = Settings(data=str(tmp_path / "public"), public_url="https://desk.example")
    deployment = Deployment([], settings, clock=running.clock)
    async with (
        deployment.running(),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(deployment.app), base_url="http://127.0.0.1:8000") as browser,
    ):
        page = await browser.get("/sign-in")
    assert "form-action https://desk.example/;" in page.headers["content-security-policy"]
    assert page.headers["set-cookie"].startswith("__Host-meridian-form=")


@pytest.mark.parametrize(
    "url", ["desk.example", "ftp://desk.example", "https://desk.example/meridian", "https://", "https://a@desk.example"]
)
def test_a_public_address_is_a_scheme_and_a_host(tmp_path, url):
    with pytest.raises(DeploymentError, match=r"is no address; write https://desk\.example"):
        Deployment([], Settings(data=str(tmp_path), public_url=url))
