"""What an attacker tries on the authorization server, with bytes over a socket."""

import threading
from datetime import timedelta
from urllib.parse import urlencode

import httpx2
import pytest
from sqlalchemy import func, insert, select, update

from deployment.running.asking import HOME, Asking, answer, hidden, sign_in, told
from meridian.deployment import delegations
from meridian.deployment.store.tables import authorizations, clients

EVIL = "https://evil.example/cb"


@pytest.fixture
def asking(running):
    made = Asking(running)
    made.register()
    return made


def count(running, table):
    with running.deployment.store.read() as connection:
        return connection.scalar(select(func.count()).select_from(table))


def by_consent(running):
    """How many delegations were made at the consent page."""
    return sum(each.client is not None for each in delegations.every_delegation(running.deployment.store))


def led_nowhere(answered, status_code=400):
    assert (answered.status_code, "location" in answered.headers) == (status_code, False), answered.headers
    return answered


# ── Redirects ─────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "addresses", [["javascript:alert(1)//"], ["https://client.example/cb", "data:text/html,x"], ["file:///x"], [f"{HOME}#f"]]
)
def test_no_script_address_registers_not_even_beside_a_good_one(running, addresses):
    before = count(running, clients)
    answered = Asking(running).register(redirect_uris=addresses)
    assert (answered.status_code, answered.json()["error"]) == (400, "invalid_redirect_uri")
    assert count(running, clients) == before


def test_a_client_stored_before_the_check_is_led_nowhere(running):
    store, now = running.deployment.store, running.clock()
    address = "javascript:alert(1)"
    row = {"name": "Old", "described": False, "told_from": "", "told_at": now}
    with store.write() as connection:
        connection.execute(insert(clients).values(id="CL-old", redirect_uris=f'["{address}"]', **row))
        connection.execute(insert(clients).values(id="CL-now", redirect_uris=f'["{HOME}"]', **row))
    old = Asking(running, redirect_uri=address, client_id="CL-old")
    refused = led_nowhere(old.ask(running.browser()))
    assert "javascript:" not in refused.text
    waiting = Asking(running, client_id="CL-now")
    browser, page = waiting.page()
    with store.write() as connection:
        connection.exec_driver_sql("update clients set redirect_uris = ? where id = 'CL-now'", (f'["{address}"]',))
        connection.exec_driver_sql("update authorizations set redirect_uri = ?", (address,))
    for decision in ("allow", "deny"):
        assert "javascript:" not in led_nowhere(answer(browser, page, decision)).text
    assert by_consent(running) == 0


@pytest.mark.parametrize(
    "more",
    [
        {"redirect_uri": EVIL},
        {"redirect_uri": f"{HOME}/../x"},
        {"redirect_uri": f"{HOME}?x=1"},
        {"redirect_uri": f"{HOME}@evil.example"},
        {"redirect_uri": [HOME, EVIL]},
        {"redirect_uri": "x" * 3_000},
        {"client_id": "CL-none"},
        {"client_id": ""},
        {"client_id": None},
        {"client_id": ["CL-none", "CL-other"]},
    ],
)
def test_an_address_that_was_not_registered_is_never_led_to(asking, running, more):
    refused = led_nowhere(asking.ask(running.browser(), **more))
    assert "evil.example" not in refused.text
    assert count(running, authorizations) == 0


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"response_type": None}, "unsupported_response_type"),
        ({"code_challenge": None}, "invalid_request"),
        ({"code_challenge": "short"}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        ({"resource": "https://other.example/mcp"}, "invalid_target"),
        ({"state": ["a", "b"]}, "invalid_request"),
        ({"state": "x" * 2_001}, "invalid_request"),
    ],
)
def test_a_question_that_does_not_do_is_told_the_person_and_leads_nowhere_by_itself(running, more, error):
    """Anybody may register, so that leading there by itself would lead anybody's browser anywhere."""
    client = Asking(running, redirect_uri=EVIL)
    client.register()
    refused = led_nowhere(client.ask(running.browser(), **more))
    assert f"{EVIL}?error={error}&amp;" in refused.text
    assert count(running, authorizations) == 0


def test_who_is_signed_in_already_is_led_nowhere_either(running):
    client = Asking(running, redirect_uri=EVIL)
    client.register()
    browser = running.browser("demo-writer")
    to = client.ask(browser)
    assert to.headers["location"].startswith("/oauth/consent?")
    assert browser.get(to.headers["location"]).headers["location"].startswith("/sign-in?")


@pytest.mark.parametrize("to", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)"])
def test_the_fresh_sign_in_leads_back_into_the_deployment_alone(running, to):
    page = running.browser().get("/sign-in", params={"fresh": "true", "next": to})
    assert 'name="next" value="/"' in page.text


def test_an_answer_says_who_gives_it_so_that_no_two_servers_are_taken_for_one_another(asking, running):
    for decision in ("allow", "deny"):
        browser, page = asking.page()
        assert told(answer(browser, page, decision))["iss"] == running.url


def test_a_code_is_bound_to_the_client_and_the_address_that_asked(asking, running):
    browser, page = asking.page()
    code = told(answer(browser, page))["code"]
    other = Asking(running, verifier=asking.verifier)
    other.register()
    assert other.exchange(code).json()["error"] == "invalid_grant"
    moved = Asking(running, client_id=asking.client_id, verifier=asking.verifier, redirect_uri=EVIL)
    assert moved.exchange(code).json()["error"] == "invalid_grant"
    stolen = Asking(running, client_id=asking.client_id)
    assert stolen.exchange(code).json()["error"] == "invalid_grant"
    assert asking.exchange(code).status_code == 200


# ── Replays ───────────────────────────────────────────────────────────────


def test_a_code_replayed_takes_back_what_it_gave(asking):
    browser, page = asking.page()
    code = told(answer(browser, page))["code"]
    assert asking.exchange(code).status_code == 200
    assert asking.exchange(code).json()["error"] == "invalid_grant"
    assert asking.rpc().status_code == 401
    assert asking.refresh().json()["error"] == "invalid_grant"


def test_a_refresh_token_replayed_within_the_minute_is_answered_the_same_and_after_it_ends_all(asking, running):
    asking.connect()
    spent = asking.refresh_token
    first = asking.refresh().json()
    assert {**asking.refresh(spent).json(), "expires_in": 0} == {**first, "expires_in": 0}
    running.clock.moved = timedelta(seconds=61)
    assert asking.refresh(spent).json()["error"] == "invalid_grant"
    assert asking.rpc().status_code == 401
    assert asking.refresh().json()["error"] == "invalid_grant"


def test_codes_and_refresh_tokens_are_no_bearer_tokens(asking):
    browser, page = asking.page()
    code = told(answer(browser, page))["code"]
    assert asking.rpc(token=code).status_code == 401
    asking.exchange(code)
    assert asking.rpc(token=asking.refresh_token).status_code == 401


def test_two_who_answer_at_once_make_one_delegation_and_one_code(asking, running):
    browser, page = asking.page()
    answers, start = [], threading.Barrier(4)

    def allow():
        own = httpx2.Client(base_url=running.url, cookies=browser.cookies, timeout=20)
        start.wait()
        answers.append(answer(own, page).status_code)
        own.close()

    threads = [threading.Thread(target=allow) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [303, 400, 400, 400]
    with running.deployment.store.read() as connection:
        assert connection.exec_driver_sql("select count(*) from codes").scalar() == 1


# ── Forged posts and frames ───────────────────────────────────────────────


@pytest.mark.parametrize("headers", [{"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}])
def test_an_answer_from_another_site_is_not_taken(asking, running, headers):
    browser, page = asking.page()
    browser.headers.update(headers)
    assert answer(browser, page).status_code == 403
    assert by_consent(running) == 0


@pytest.mark.parametrize("csrf", ["", "x", "0" * 64])
def test_an_answer_without_its_form_s_token_is_not_taken(asking, running, csrf):
    browser, page = asking.page()
    assert answer(browser, page, csrf=csrf).status_code == 403
    assert by_consent(running) == 0


def test_a_token_of_another_browser_s_form_is_not_taken(asking, running):
    browser, page = asking.page()
    other, others_page = asking.page("demo-reader")
    assert answer(browser, page, csrf=hidden(others_page)["csrf"]).status_code == 403
    assert answer(other, page).status_code == 403


def test_what_one_browser_asked_no_other_answers(asking, running):
    """An attacker who asks, and has the person follow the way to the page, gets nothing."""
    attacker = running.browser()
    at = asking.ask(attacker).headers["location"]
    person = running.browser("demo-writer")
    sign_in(running, person, "demo-writer")
    led_nowhere(person.get(at))
    own = Asking(running)
    own.register()
    browser, page = own.page(browser=person)
    led_nowhere(answer(browser, page, request=at.partition("=")[2]))
    assert by_consent(running) == 0


def test_a_get_answers_nothing(asking, running):
    browser, page = asking.page()
    said = {**hidden(page), "decision": "allow", "rows": "write desk operations", "covers": "rows", "days": "7"}
    assert browser.get("/oauth/consent", params=said).status_code == 200
    assert by_consent(running) == 0


def test_no_page_may_frame_it_and_no_script_but_the_kit_s_runs_on_it(asking, running):
    _, page = asking.page()
    policy = dict(part.strip().split(" ", 1) for part in page.headers["content-security-policy"].split(";"))
    assert (page.headers["x-frame-options"], policy["frame-ancestors"]) == ("DENY", "'none'")
    assert policy["script-src"] == f"{running.url}/static/meridian/"
    assert policy["form-action"] == f"{running.url}/ http://127.0.0.1:51515"
    assert (page.headers["cache-control"], page.headers["referrer-policy"]) == ("private, no-store", "same-origin")


# ── Cookies and tokens ────────────────────────────────────────────────────


def test_a_token_beside_a_browser_s_session_is_not_taken_nor_a_session_alone(asking, running):
    asking.connect()
    browser = running.browser("demo-writer")
    both = browser.post("/mcp", json={}, headers={"Authorization": f"Bearer {asking.access_token}"})
    assert (both.status_code, browser.post("/mcp", json={}).status_code) == (401, 401)


def test_a_client_s_token_opens_no_page(asking, running):
    asking.connect()
    browser = running.browser()
    browser.headers["Authorization"] = f"Bearer {asking.access_token}"
    browser.cookies.set("meridian", asking.access_token)
    assert browser.get("/dashboard/open/clients").status_code != 200
    led_nowhere(browser.get("/oauth/consent", params={"request": "A-x"}))


def test_a_session_at_the_token_s_address_means_nothing(asking, running):
    browser, page = asking.page()
    code = told(answer(browser, page))["code"]
    said = {"grant_type": "authorization_code", "code": code, "client_id": asking.client_id, "code_verifier": "w" * 43}
    assert browser.post("/oauth/token", data=said).json()["error"] == "invalid_grant"


# ── Oversized and misshapen ───────────────────────────────────────────────


@pytest.mark.parametrize("path", ["register", "token", "revoke"])
def test_a_body_that_is_too_large_is_not_read(running, path):
    kind = "application/json" if path == "register" else "application/x-www-form-urlencoded"
    answered = httpx2.post(f"{running.url}/oauth/{path}", content=b"x" * (17 << 10), headers={"content-type": kind})
    assert (answered.status_code, set(answered.json())) == (413, {"error", "error_description"})


@pytest.mark.parametrize("body", [b"", b"[", b"[" * 10_000, b'"x"', b"null", b"\xff", b'{"redirect_uris": {"a": 1}}'])
def test_a_registration_that_is_none_is_refused_in_the_standard_s_words(running, body):
    answered = httpx2.post(f"{running.url}/oauth/register", content=body, headers={"content-type": "application/json"})
    assert answered.status_code == 400
    assert answered.json()["error"] in ("invalid_client_metadata", "invalid_redirect_uri")


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ({}, "invalid_request"),
        ({"grant_type": "password", "client_id": "x"}, "unsupported_grant_type"),
        ({"grant_type": "client_credentials", "client_id": "x"}, "unsupported_grant_type"),
        ({"grant_type": "authorization_code"}, "invalid_request"),
        ({"grant_type": "authorization_code", "client_id": "x"}, "invalid_client"),
        ({"grant_type": "refresh_token", "client_id": "x"}, "invalid_client"),
        ({"grant_type": "refresh_token", "client_id": ["x", "y"]}, "invalid_request"),
        ({"grant_type": "refresh_token", "client_id": "x", "refresh_token": "x" * 500}, "invalid_request"),
    ],
)
def test_a_token_request_that_does_not_do_is_refused_in_the_standard_s_words(running, said, error):
    answered = httpx2.post(
        f"{running.url}/oauth/token",
        content=urlencode(said, doseq=True),
        headers={"content-type": "application/x-www-form-urlencoded"},
    )
    assert (answered.status_code, answered.json()["error"]) == (401 if error == "invalid_client" else 400, error)


def test_json_is_no_token_request_and_a_form_is_no_registration(running):
    assert httpx2.post(f"{running.url}/oauth/token", json={"grant_type": "refresh_token"}).status_code == 400
    assert httpx2.post(f"{running.url}/oauth/register", data={"redirect_uris": HOME}).status_code == 400


def test_a_question_that_is_too_long_is_not_read(asking, running):
    led_nowhere(asking.ask(running.browser(), more="x" * 9_000))


def test_only_so_much_waits_for_an_answer_from_one_place(asking, running):
    now = running.clock()
    with running.deployment.store.write() as connection:
        for number in range(300):
            connection.execute(
                insert(authorizations).values(
                    id=f"A-{number}", browser="", client="", redirect_uri="", code_challenge="", resource="",
                    asked_from="127.0.0.1", asked_at=now, expires_at=now + timedelta(minutes=30),
                )
            )  # fmt: skip
    led_nowhere(asking.ask(running.browser()), 429)
    with running.deployment.store.write() as connection:  # one of them was answered, and waits no more
        connection.execute(update(authorizations).where(authorizations.c.id == "A-0").values(settled_at=now))
    assert asking.ask(running.browser()).status_code == 303
    running.clock.moved = timedelta(minutes=31)
    assert asking.ask(running.browser()).status_code == 303
    assert count(running, authorizations) == 1


def test_only_so_many_register_from_one_place(running):
    client = Asking(running)
    with httpx2.Client(base_url=running.url) as http:
        said = [http.post("/oauth/register", json={"redirect_uris": [HOME]}).status_code for _ in range(61)]
    assert said == [201] * 60 + [429]
    running.clock.moved = timedelta(minutes=61)
    assert client.register().status_code == 201


@pytest.mark.parametrize(
    "client_id",
    [
        "https://127.0.0.1/client.json",
        "https://localhost/client.json",
        "https://[::1]/client.json",
        "https://169.254.169.254/latest/meta-data",
        "https://10.0.0.1:8443/client.json",
        "https://[::ffff:127.0.0.1]/client.json",
        "https://[64:ff9b::7f00:1]/client.json",
    ],
)
def test_no_document_is_fetched_from_this_machine_or_its_network(asking, running, client_id):
    refused = led_nowhere(asking.ask(running.browser(), client_id=client_id))
    assert "its host has no public address" in refused.text or "cannot be reached" in refused.text
