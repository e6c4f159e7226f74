"""`kill -9` during consents and token exchanges: nothing is half made, nothing is good twice, nobody is locked out."""

import base64
import hashlib
import re
import signal
import sqlite3
import threading
from contextlib import closing, suppress
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

SERVE = ("serve", "desk=front_desk:pages", "--data", "data", "--demo", "--json")
HOME = "http://127.0.0.1:1/callback"
VERIFIER = "v" * 43
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
CLIENTS = 16
AFTER = (1, 4)
"""After how many answers the process is killed."""


@pytest.fixture
def kept(folder):
    """What the store keeps, asked while nothing runs on it."""

    def kept(question):
        with closing(sqlite3.connect(folder / "data" / "meridian.db")) as connection:
            return [row[0] if len(row) == 1 else row for row in connection.execute(question)]

    return kept


@pytest.fixture
def asking_all(meridian):
    """`asking_all(posts, after)` starts the deployment, sends them all at once, and kills it after so many were answered."""

    def asking_all(prepare, after):
        served = meridian(*SERVE, "--port", "0")
        told = served.told()
        posts = prepare(told)
        answers, killed = [], threading.Event()

        def send(post):
            with suppress(httpx2.HTTPError):
                answers.append((post, httpx2.post(f"{told['url']}{post['path']}", timeout=20, **post["said"])))
                if len(answers) >= after and not killed.is_set():
                    killed.set()
                    served.process.send_signal(signal.SIGKILL)

        threads = [threading.Thread(target=send, args=(post,)) for post in posts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        served.process.wait(20)
        return answers

    return asking_all


def consents(told):
    """As many clients that ask in one browser, in which their person then signed in; and the answers to be sent."""
    with httpx2.Client(base_url=told["url"], timeout=20) as browser:
        pages = []
        for number in range(CLIENTS):
            registered = browser.post("/oauth/register", json={"client_name": f"N{number}", "redirect_uris": [HOME]}).json()
            asked = {
                "response_type": "code", "client_id": registered["client_id"], "redirect_uri": HOME,
                "code_challenge": CHALLENGE, "code_challenge_method": "S256",
            }  # fmt: skip
            pages.append((registered["client_id"], browser.get("/oauth/authorize", params=asked).headers["location"]))
        browser.get(next(each["sign_in_url"] for each in told["people"] if each["subject"] == "demo-writer"))
        posts = []
        for client, page in pages:
            form = browser.get(page).text.split("<form")[-1]
            hidden = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', form))
            said = {**hidden, "decision": "allow", "covers": "rows", "rows": "read desk operations", "days": "7"}
            asked = {"data": said, "cookies": dict(browser.cookies)}
            posts.append({"path": "/oauth/consent", "client": client, "said": asked})
    return posts


def asked_for_tokens(client, **said):
    return {"path": "/oauth/token", "client": client, "said": {"data": {"client_id": client, **said}}}


def exchanges(told):
    """As many codes, allowed and given; and the requests that exchange them."""
    posts = []
    for post in consents(told):
        to = httpx2.post(f"{told['url']}{post['path']}", timeout=20, **post["said"]).headers["location"]
        [code] = parse_qs(urlsplit(to).query)["code"]
        posts.append(asked_for_tokens(post["client"], grant_type="authorization_code", code=code, code_verifier=VERIFIER))
    return posts


@pytest.mark.parametrize("after", AFTER)
def test_a_consent_is_whole_or_was_never_given(asking_all, kept, after):
    answers = asking_all(consents, after)
    assert len([answer for _, answer in answers if answer.status_code == 303]) >= after
    settled = kept("select count(*) from authorizations where settled_at is not null")
    made = kept("select count(*) from delegations where client is not null")
    codes = kept("select count(*) from codes join delegations on delegations.id = codes.delegation")
    rows = kept("select count(*) from delegation_rows join delegations d on d.id = delegation where d.client is not null")
    assert settled == made == codes == rows


def test_no_token_is_half_given_none_is_good_twice_and_nobody_is_locked_out(asking_all, kept, meridian):
    exchanged = [(post, answer) for post, answer in asking_all(exchanges, 4) if answer.status_code == 200]
    spent = kept("select fingerprint from codes where spent_at is not null")
    given = kept("select family, count(*), count(distinct kind) from tokens where family is not null group by family")
    assert (sorted(given), len(exchanged) >= 4) == (sorted((code, 2, 2) for code in spent), True)

    renewals = [
        asked_for_tokens(post["client"], grant_type="refresh_token", refresh_token=answer.json()["refresh_token"])
        for post, answer in exchanged
    ]
    assert len(asking_all(lambda _: renewals, 2)) >= 2
    renewed = kept("select family from tokens where kind = 'refresh' and spent_at is not null")
    followed = kept("select family from tokens where kind = 'refresh' group by family having count(*) = 2")
    assert sorted(renewed) == sorted(followed)

    url = meridian(*SERVE, "--port", "0").told()["url"]
    again = [httpx2.post(f"{url}/oauth/token", timeout=20, **post["said"]) for post in renewals]
    assert [answer.status_code for answer in again] == [200] * len(renewals)
    replayed = [httpx2.post(f"{url}/oauth/token", timeout=20, **post["said"]) for post, _ in exchanged]
    assert {answer.json()["error"] for answer in replayed} == {"invalid_grant"}
