"""What another site does with a person's browser, and what a person's own browser sends that is larger than any form."""

import re
import time

import pytest

from deployment.attacks.conftest import form_token
from meridian.deployment import delegations

CLIENTS = "/dashboard/open/clients"
FORM = "application/x-www-form-urlencoded"
ELSEWHERE = {"origin": "https://evil.example"}


# Frames.


@pytest.mark.parametrize("subject", [None, "demo-reader", "demo-writer"])
def test_no_page_of_whatever_status_may_be_framed(running, subject):
    browser = running.browser(subject)
    asked = [
        *(("GET", path) for path in ("/", "/sign-in", "/sign-in?fresh=yes", "/sign-in/none", "/sign-in/password", "/sign-out")),
        *(("GET", path) for path in ("/first-admin/none", "/nowhere", "/static/meridian/none", "/.well-known/none")),
        *(("GET", path) for path in ("/oauth/authorize", "/oauth/consent", CLIENTS, "/dashboard/manage/access")),
        *(("GET", path) for path in ("/desk/open/", "/desk/view/", "/desk/manage/", "/desk/open/none", "/thief/open/")),
        *(
            ("POST", path)
            for path in ("/", "/sign-in", "/sign-out", "/oauth/consent", "/desk/open/confirm", "/desk/open/broken")
        ),
    ]
    answers = [browser.request(method, path) for method, path in asked]
    pages = [each for each in answers if "html" in each.headers.get("content-type", "")]
    assert len(pages) > 12
    assert [
        str(each.url)
        for each in pages
        if each.headers["x-frame-options"] != "DENY" or "frame-ancestors 'none'" not in each.headers["content-security-policy"]
    ] == []


# Posts from elsewhere.


def test_another_site_revokes_nothing(running):
    writer, reader = running.browser("demo-writer"), running.browser("demo-reader")
    page = writer.get(CLIENTS).text
    client = re.search(r'name="client" value="([^"]+)"', page)[1]
    own, others = form_token(page), form_token(reader.get("/sign-out").text)
    tries = [
        ({"csrf": own}, ELSEWHERE),
        ({"csrf": own}, {"origin": "null"}),
        ({"csrf": own}, {"sec-fetch-site": "same-site"}),
        ({"csrf": others}, {}),
        ({"csrf": form_token(writer.get("/desk/open/").text)}, {}),
        ({}, {}),
    ]
    answers = [
        writer.post(f"{CLIENTS}/revoke", data={"client": client, **said}, headers=headers).status_code
        for said, headers in tries
    ]
    store = running.deployment.store
    stands = [each.revoked_at is None for each in delegations.held_by(store, "demo-writer") if each.id == client]
    assert (answers, stands) == ([403] * len(tries), [True])
    assert writer.post(f"{CLIENTS}/revoke", data={"client": client, "csrf": own}).status_code == 303


def test_another_site_signs_nobody_in_as_somebody_else_nor_out(running):
    """Whoever is signed in as an attacker types into the attacker's account. The attacker has a form of their own, which is
    good in their browser, and the victim has one of theirs."""
    attacker, victim = running.browser(), running.browser("demo-writer")
    planted = form_token(attacker.get("/sign-in").text)
    victim.get("/sign-in?fresh=yes")
    before = victim.cookies["meridian"]
    said = {"csrf": planted, "sign_in_name": "demo-reader", "password": "correct horse battery"}
    answers = [
        victim.post("/sign-in", data=said),
        victim.post("/sign-in", data=said, headers=ELSEWHERE),
        victim.post("/sign-out", data={"csrf": planted}),
        victim.post("/sign-out", data={"csrf": form_token(victim.get("/sign-out").text)}, headers=ELSEWHERE),
    ]
    assert [(each.status_code, "meridian=" in each.headers.get("set-cookie", "")) for each in answers] == [(403, False)] * 4
    assert (victim.cookies["meridian"], "Demo writer" in victim.get("/").text) == (before, True)


# Forms beyond any form.


@pytest.mark.parametrize(
    ("more", "statuses"),
    [
        ("&lines[999999999999].amount=1", {422}),
        ("&lines[" + "9" * 100_000 + "].amount=1", {422}),
        ("".join(f"&lines[{each}].amount=x" for each in range(40_000)), {422}),
        ("&" + "a" + "[0]" * 100_000 + "=1", {200, 422}),
        ("&" + "a." * 100_000 + "=1", {200, 422}),
        ("&account=A-1" * 40_000, {200, 422}),
        ("&a=1" * 60_000, {413}),
        ("&reason=" + "%" * 3_000_000, {422}),
        ("&lines[0].amount=" + "9" * 1_000_000, {422}),
        ("&lines[0].amount=1e999999999", {422}),
    ],
    ids=["row", "long row", "rows", "brackets", "dots", "one cell", "cells", "percent signs", "a long number", "a huge number"],
)
def test_a_form_beyond_any_form_is_answered_in_words_and_soon(running, more, statuses):
    browser = running.browser("demo-writer")
    token = form_token(browser.get("/desk/open/").text)
    begun = time.monotonic()
    answer = browser.post(
        "/desk/open/confirm", content=f"csrf={token}&account=A-1&reason=r{more}", headers={"content-type": FORM}
    )
    assert answer.status_code in statuses
    assert time.monotonic() - begun < 10
    assert browser.get("/").status_code == 200


def test_so_is_an_upload_of_many_parts(running):
    browser = running.browser("demo-writer")
    part = b'--b\r\nContent-Disposition: form-data; name="k"\r\n\r\nv\r\n'
    answer = browser.post(
        "/desk/open/file", content=part * 60_000 + b"--b--\r\n", headers={"content-type": "multipart/form-data; boundary=b"}
    )
    assert (answer.status_code, browser.get("/").status_code) == (413, 200)
