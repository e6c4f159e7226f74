"""A fresh sign-in, whatever session there is; one's own password; and what sessions and lockouts must withstand."""

import statistics
import time
from datetime import timedelta

import httpx2
import pytest
from starlette.requests import Request

from meridian.deployment import identity
from meridian.errors import Refusal

pytestmark = pytest.mark.anyio

PASSWORD = "correct horse battery"
NEW = "another horse battery"


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
def named(running):
    """Somebody with a name and a password."""
    return identity.add_person(running.deployment.store, "ada", "Ada", password=PASSWORD, now=running.clock())


def sign_in(browser, form_token, *, at="/sign-in", name="ada", password=PASSWORD):
    """Sign in on the page `at`, with all that its form says."""
    page = browser.get(at).text
    onward = page.partition('name="next" value="')[2].partition('"')[0].replace("&amp;", "&")
    given = {"csrf": form_token(page), "next": onward, "sign_in_name": name, "password": password}
    return browser.post("/sign-in", data=given)


def choose(browser, form_token, password, again=None):
    given = {"csrf": form_token(browser.get("/sign-in/password").text), "password": password, "again": again or password}
    return browser.post("/sign-in/password", data=given)


def asked_by(browser):
    """A request as the browser would send it now."""
    cookies = "; ".join(f"{cookie.name}={cookie.value}" for cookie in browser.cookies.jar)
    return Request({"type": "http", "scheme": "http", "path": "/", "headers": [(b"cookie", cookies.encode())]})


# A fresh sign-in.


@pytest.mark.usefixtures("named")
async def test_a_session_is_fresh_where_it_was_begun_after_the_moment(running, form_token):
    browser, signing_in = running.browser(), running.deployment._signing_in
    before = running.clock()
    assert await signing_in.fresh(asked_by(browser), since=before) is None
    sign_in(browser, form_token)
    since = running.clock()
    assert (await signing_in.fresh(asked_by(browser), since=before)).person.display_name == "Ada"
    assert await signing_in.fresh(asked_by(browser), since=since) is None
    browser.get("/")
    assert await signing_in.fresh(asked_by(browser), since=since) is None


@pytest.mark.usefixtures("named")
async def test_whoever_is_signed_in_is_asked_once_more_and_led_on(running, form_token):
    browser, signing_in = running.browser(), running.deployment._signing_in
    sign_in(browser, form_token)
    since = running.clock()
    way = signing_in.anew("/desk/open/?a=1&b=%2F").headers["location"]
    page = browser.get(way)
    assert (page.status_code, "asks who you are once more" in page.text) == (200, True)
    wrong = sign_in(browser, form_token, at=way, password="not the password")
    assert (wrong.status_code, await signing_in.fresh(asked_by(browser), since=since)) == (422, None)
    right = sign_in(browser, form_token, at=way)
    assert (right.status_code, right.headers["location"]) == (303, "/desk/open/?a=1&b=%2F")
    assert await signing_in.fresh(asked_by(browser), since=since)


async def test_a_link_is_a_fresh_sign_in_and_leads_on_too(running):
    browser, signing_in = running.browser("demo-writer"), running.deployment._signing_in
    since = running.clock()
    browser.get(signing_in.anew("/desk/open/?a=1;b,c").headers["location"])
    link = identity.sign_in_link(running.deployment.store, "demo-writer", now=running.clock())
    answer = browser.get(f"/sign-in/{link}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/desk/open/?a=1;b,c")
    assert (await signing_in.fresh(asked_by(browser), since=since)).signed_in_by == "link"
    later = identity.sign_in_link(running.deployment.store, "demo-writer", now=running.clock())
    assert browser.get(f"/sign-in/{later}").headers["location"] == "/"


@pytest.mark.parametrize("onward", ["https://evil.example/", "//evil.example", "/\\evil.example"])
def test_a_link_leads_to_no_other_site_whatever_the_browser_was_given(running, onward):
    link = f"/sign-in/{running.people['demo-writer'].sign_in_token}"
    answer = running.browser().get(link, headers={"Cookie": f"meridian-onward={onward}"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")


# One's own password.


@pytest.mark.usefixtures("named")
def test_a_password_is_chosen_after_a_fresh_sign_in_and_ends_every_session(running, form_token):
    browser, elsewhere = running.browser(), running.browser()
    for each in (browser, elsewhere):
        sign_in(each, form_token)
    assert 'href="/sign-in/password"' in browser.get("/dashboard/open/password").text
    chosen = choose(browser, form_token, NEW)
    assert (chosen.status_code, "Your password is chosen" in chosen.text) == (200, True)
    assert [each.get("/").status_code for each in (browser, elsewhere)] == [303, 303]
    assert [sign_in(running.browser(), form_token, password=each).status_code for each in (PASSWORD, NEW)] == [422, 303]


@pytest.mark.usefixtures("named")
def test_a_browser_left_open_is_not_enough_to_choose_a_password(running, form_token):
    browser = running.browser()
    sign_in(browser, form_token)
    token = form_token(browser.get("/sign-in/password").text)
    running.clock.moved = timedelta(minutes=11)
    page = browser.get("/sign-in/password")
    posted = browser.post("/sign-in/password", data={"csrf": token, "password": NEW, "again": NEW})
    asked = "/sign-in?fresh=yes&next=%2Fsign-in%2Fpassword"
    assert [(each.status_code, each.headers["location"]) for each in (page, posted)] == [(303, asked)] * 2
    again = sign_in(browser, form_token, at=asked)
    assert (again.headers["location"], choose(browser, form_token, NEW).status_code) == ("/sign-in/password", 200)


def test_somebody_who_forgot_theirs_chooses_one_after_a_link(running, form_token):
    browser = running.browser("demo-writer")
    assert choose(browser, form_token, NEW).status_code == 200
    assert sign_in(browser, form_token, name="demo-writer", password=NEW).status_code == 303


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"password": NEW, "again": f"{NEW}x"}, "type the new password once more"),
        ({"password": "short", "again": "short"}, "it needs 10 to 256 characters"),
        ({"password": NEW}, "again"),
    ],
)
def test_a_password_that_does_not_do_is_not_taken_and_not_shown_again(running, form_token, given, words):
    browser = running.browser("demo-writer")
    token = form_token(browser.get("/sign-in/password").text)
    answer = browser.post("/sign-in/password", data={"csrf": token, **given})
    shown = answer.text.split("<main")[1]
    assert (answer.status_code, words in shown, given["password"] in shown) == (422, True, False)
    assert browser.get("/").status_code == 200


def test_a_password_is_chosen_on_its_own_page_alone(running, form_token):
    browser = running.browser("demo-writer")
    given = {"password": NEW, "again": NEW}
    token = form_token(browser.get("/sign-in/password").text)
    its = form_token(browser.get("/dashboard/open/clients").text)
    statuses = [
        browser.post("/sign-in/password", data=given).status_code,
        browser.post("/sign-in/password", data=given | {"csrf": token}, headers={"Origin": "https://evil.example"}).status_code,
        browser.post("/sign-in/password", data=given | {"csrf": token}, headers={"Sec-Fetch-Site": "cross-site"}).status_code,
        browser.post("/dashboard/open/password/set", data=given | {"csrf": its}).status_code,
    ]
    assert (statuses, browser.get("/").status_code) == ([403, 403, 403, 404], 200)


# What somebody with patience tries.


@pytest.mark.usefixtures("named")
def test_a_session_s_name_is_never_one_that_the_browser_brought(running, form_token):
    """An attacker who sets a victim's cookies knows no session of theirs afterwards, be it one made up or one of their own."""
    attacker = running.browser("demo-reader")
    for planted in ("made-up-by-somebody", attacker.cookies["meridian"]):
        victim = running.browser()
        victim.cookies.set("meridian", planted, domain="127.0.0.1", path="/")
        page = victim.get("/sign-in?fresh=yes")
        answer = victim.post("/sign-in", data={"csrf": form_token(page.text), "sign_in_name": "ada", "password": PASSWORD})
        assert (answer.status_code, planted in answer.headers["set-cookie"]) == (303, False)
        assert httpx2.get(f"{running.url}/", cookies={"meridian": planted}).status_code == 303


@pytest.mark.usefixtures("named")
def test_a_lock_is_not_got_round_by_spelling_a_name_otherwise(running):
    store, now = running.deployment.store, running.clock()
    spelled = ["ada", "ADA", " ada ", "\uff41da", "Ada\n", "ada"]
    answers = []
    for name in spelled:
        with pytest.raises(Refusal) as refusal:
            identity.sign_in(store, name, "not the password", now=now)
        answers.append(refusal.value.reason)
    assert answers == ["wrong"] * 5 + ["locked"]


@pytest.mark.usefixtures("named")
def test_a_lock_is_not_got_round_by_signing_in_as_oneself_or_by_a_new_browser(running, form_token):
    identity.add_person(running.deployment.store, "eve", "Eve", password=PASSWORD, now=running.clock())
    statuses = []
    for _ in range(6):
        browser = running.browser()
        browser.headers["X-Forwarded-For"] = f"10.0.0.{len(statuses)}"
        statuses.append(sign_in(browser, form_token, password="not the password").status_code)
        assert sign_in(running.browser(), form_token, name="eve").status_code == 303
    assert statuses == [422] * 5 + [429]


@pytest.mark.usefixtures("named")
def test_a_lock_locks_guesses_out_and_nobody_who_was_let_in_otherwise(running, form_token):
    browser = running.browser()
    sign_in(browser, form_token)
    for _ in range(6):
        sign_in(running.browser(), form_token, password="not the password")
    assert (sign_in(running.browser(), form_token).status_code, browser.get("/").status_code) == (429, 200)


@pytest.mark.usefixtures("named")
def test_a_name_that_is_nobody_s_takes_as_long_as_one_that_is(running):
    """Nobody's, somebody's, and that of somebody without a password: each hashes once. The bound leaves room for a busy machine
    and none for a hash more or less, the first time included."""
    store, now = running.deployment.store, running.clock()
    identity.add_person(store, "link-only", "Link", now=now)
    names = {"known": "ada", "unknown": "nobody", "no password": "link-only"}
    took: dict[str, list[float]] = {kind: [] for kind in names}
    for _ in range(4):
        for kind, name in names.items():
            begun = time.process_time()
            with pytest.raises(Refusal, match="do not go together"):
                identity.sign_in(store, name, "not the password", now=now)
            took[kind].append(time.process_time() - begun)
    middle = {kind: statistics.median(each) for kind, each in took.items()}
    assert max(middle.values()) < 1.5 * min(middle.values()), middle
    assert took["unknown"][0] < 1.8 * middle["known"], took
