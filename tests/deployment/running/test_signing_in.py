"""What a lockout must withstand, and how little a refusal tells."""

import statistics
import time

import pytest

from meridian.deployment import identity
from meridian.errors import Refusal

PASSWORD = "correct horse battery"


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
