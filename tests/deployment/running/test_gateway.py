"""The gateway, asked by a browser over a real socket: what reaches a plugin, what comes back, and who gets through."""

import httpx2
import pytest

from meridian.deployment.confining import Leaves, is_of_this_site, keep_confined, let_in, policies

OPEN = "/desk/open"


@pytest.fixture
def writer(running):
    return running.browser("demo-writer")


@pytest.fixture
def token(writer, form_token):
    """A form's token, as the page that the writer has open carries it."""
    return form_token(writer.get(f"{OPEN}/").text)


def entries(running):
    with running.deployment.store.read() as connection:
        return connection.exec_driver_sql("select account, subject, delegation from entries").all()


def test_a_person_signed_in_by_a_link_sees_a_plugin_s_page_and_its_form_makes_the_change(running, writer, form_token):
    page = writer.get(f"{OPEN}/")
    assert (page.status_code, 'action="/desk/open/confirm"' in page.text) == (200, True)
    made = writer.post(f"{OPEN}/confirm", data={"csrf": form_token(page.text), "account": "A-1", "reason": "by hand"})
    assert made.status_code == 200
    assert [tuple(row) for row in entries(running)] == [("A-1", "demo-writer", None)]


def test_who_is_signed_out_is_sent_to_sign_in_and_comes_back(running):
    answer = running.browser().get(f"{OPEN}/?a=1")
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in?next=%2Fdesk%2Fopen%2F%3Fa%3D1")
    assert running.browser().post(f"{OPEN}/confirm", data={"account": "A-1"}).status_code == 401


@pytest.mark.parametrize(
    ("subject", "served"),
    [
        ("demo-admin", (403, 403, 200)),
        ("demo-writer", (200, 200, 403)),
        ("demo-reader", (200, 403, 403)),
        ("demo-custody", (200, 200, 403)),
        ("demo-newcomer", (403, 403, 403)),
    ],
)
def test_a_button_opens_for_whoever_holds_its_level(running, subject, served):
    browser = running.browser(subject)
    paths = ("/desk/view/", "/desk/open/", "/desk/manage/manage")
    assert tuple(browser.get(path).status_code for path in paths) == served


def test_a_refused_button_says_what_is_held(running):
    page = running.browser("demo-reader").get(f"{OPEN}/")
    assert "You do not hold Open on Desk; there you hold View on operations." in page.text
    assert 'href="/desk/view/">Desk, by View</a>' in page.text


def test_a_button_begins_on_the_first_page_it_serves(running):
    answer = running.browser("demo-admin").get("/desk/manage/")
    assert (answer.status_code, answer.headers["location"]) == (303, "/desk/manage/manage")


@pytest.mark.parametrize("path", ["/nobody/open/", "/desk/shut/", "/desk/open/nothing", "/nothing"])
def test_what_is_nowhere_is_404_in_words(writer, path):
    answer = writer.get(path)
    assert (answer.status_code, "<main" in answer.text) == (404, True)


@pytest.mark.parametrize("path", ["/desk/open/", "/desk/open/nothing", "/desk/manage/", "/nobody/open/", "/nothing"])
def test_every_page_says_who_is_signed_in_and_how_to_sign_out(writer, path):
    page = writer.get(path).text
    assert ("Demo writer" in page, '<a href="/sign-out">Sign out</a>' in page) == (True, True)


def test_a_stranger_is_named_nowhere(running):
    page = running.browser().get("/nothing").text
    assert ("Sign out" in page, 'href="/sign-in"' in page) == (False, True)


def test_a_session_under_view_changes_nothing(running, form_token):
    browser = running.browser("demo-writer")
    token = form_token(browser.get(f"{OPEN}/").text)
    answer = browser.post("/desk/view/confirm", data={"csrf": token, "account": "A-1", "reason": "r"})
    assert (answer.status_code, entries(running)) == (403, [])


# What a browser sends: R73, and every change carries its token and comes from here.


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("text/plain", '{"account": "A-1", "reason": "r", "x": "="}'),
        ("application/json", '{"account": "A-1", "reason": "r"}'),
        ("application/x-www-form-urlencoded", "account=A-1&reason=r"),
        ("application/x-www-form-urlencoded", "account=A-1&reason=r&csrf=guessed"),
        ("multipart/form-data; boundary=x", '--x\r\nContent-Disposition: form-data; name="account"\r\n\r\nA-1\r\n--x--\r\n'),
    ],
)
def test_no_change_goes_through_without_the_form_s_token_whatever_its_type(running, writer, content_type, body):
    answer = writer.post(f"{OPEN}/confirm", content=body, headers={"Content-Type": content_type})
    assert (answer.status_code, entries(running)) == (403, [])


def test_a_browser_cannot_make_itself_a_tool_call(running, writer):
    headers = {"X-Tool-Name": "confirm", "Meridian-Caller": "forged", "Content-Type": "application/json"}
    answer = writer.post(f"{OPEN}/confirm", content='{"account": "A-1", "reason": "r"}', headers=headers)
    assert (answer.status_code, entries(running)) == (403, [])


def test_a_json_body_with_the_token_in_its_header_is_a_person_s(running, writer, token):
    headers = {"Meridian-Form-Token": token}
    answer = writer.post(f"{OPEN}/confirm", json={"account": "A-1", "reason": "r"}, headers=headers)
    assert (answer.status_code, answer.json()["outcome"]) == (200, "made")
    assert [tuple(row) for row in entries(running)] == [("A-1", "demo-writer", None)]


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://elsewhere.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_a_change_from_another_site_is_refused_even_with_a_token(running, writer, token, headers):
    answer = writer.post(f"{OPEN}/confirm", data={"csrf": token, "account": "A-1", "reason": "r"}, headers=headers)
    assert (answer.status_code, entries(running)) == (403, [])


def test_a_token_is_one_person_s_at_one_level(running, form_token, token):
    other = running.browser("demo-custody")
    assert other.post(f"{OPEN}/settle", data={"csrf": token}).status_code == 403
    viewed = form_token(running.browser("demo-reader").get("/dashboard/open/clients").text)
    assert other.post(f"{OPEN}/settle", data={"csrf": viewed}).status_code == 403
    own = form_token(other.get("/dashboard/open/clients").text)
    assert other.post(f"{OPEN}/settle", data={"csrf": own}).status_code == 403


def test_an_upload_reaches_the_view(writer, token):
    answer = writer.post(f"{OPEN}/file", data={"csrf": token}, files={"statement": ("s.ofx", b"x" * 3_000_000)})
    assert answer.text == "s.ofx: 3000000 bytes"


@pytest.mark.parametrize(("body", "status_code"), [("csrf=%ff", 403), ("csrf={}&account=%ff", 422), ("csrf={}&%ff=%ff", 422)])
def test_a_form_that_is_no_text_is_refused_in_words(writer, token, body, status_code):
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = writer.post(f"{OPEN}/confirm", content=body.replace("{}", token), headers=headers)
    assert (answer.status_code, "<h1" in answer.text) == (status_code, True)


def test_a_body_beyond_the_bound_is_413_in_words(running, writer, token):
    large = b"x" * (running.deployment.settings.max_body_bytes + 1)
    answer = writer.post(f"{OPEN}/file", data={"csrf": token}, files={"statement": ("s.ofx", large)})
    assert (answer.status_code, "10 MiB" in answer.text) == (413, True)


def test_head_is_get_without_the_body(writer):
    answer = writer.head(f"{OPEN}/")
    assert (answer.status_code, answer.content) == (200, b"")


# What passes, both ways.


def test_no_cookie_and_no_credential_reaches_a_plugin(writer):
    sent = {"Authorization": "Bearer x", "Meridian-Anything": "x", "X-Forwarded-Host": "elsewhere.example", "X-Mine": "x"}
    told = writer.get(f"{OPEN}/told", headers=sent).text.split("\n")
    assert {"cookie", "authorization", "meridian-anything", "x-forwarded-host"} & set(told) == set()
    assert {"meridian-caller", "x-mine", "host"} <= set(told)


def test_no_answer_speaks_for_the_whole_origin(running, writer):
    headers = writer.get(f"{OPEN}/greedy").headers
    taken_off = {"set-cookie", "clear-site-data", "service-worker-allowed", "access-control-allow-origin", "meridian-outcome"}
    assert taken_off & set(headers) == set()
    assert headers["x-of-its-own"] == "kept"
    assert headers["content-security-policy"] == (
        f"default-src 'none'; script-src {running.url}/static/meridian/; style-src {running.url}/static/meridian/; "
        f"font-src {running.url}/static/meridian/; img-src {running.url}/desk/open/ {running.url}/static/meridian/ data:; "
        f"form-action {running.url}/desk/open/; connect-src {running.url}/desk/open/; "
        "frame-ancestors 'none'; base-uri 'none'; object-src 'none'"
    )
    assert {name: headers[name] for name in ("x-content-type-options", "referrer-policy", "cache-control")} == {
        "x-content-type-options": "nosniff",
        "referrer-policy": "same-origin",
        "cache-control": "private, no-store",
    }


def test_a_redirect_within_the_plugin_is_followed(writer):
    answer = writer.get(f"{OPEN}/away", params={"to": "/desk/open/told"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/desk/open/told")


def test_a_redirect_out_of_the_plugin_is_a_page_of_words(writer):
    answer = writer.get(f"{OPEN}/away", params={"to": "https://elsewhere.example/"})
    assert (answer.status_code, "location" in answer.headers) == (502, False)
    assert "is not followed" in answer.text


@pytest.mark.parametrize(
    ("location", "meant"),
    [
        ("told", "/desk/open/told"),
        ("?page=2", "/desk/open/away?page=2"),
        ("/desk/open/told?a=1#b", "/desk/open/told?a=1#b"),
        ("http://here.example/desk/open/told", "/desk/open/told"),
        ("/desk/open", "/desk/open"),
    ],
)
def test_a_redirect_is_spelled_from_the_root(location, meant):
    kept = keep_confined([(b"Location", location.encode())], url="http://here.example/desk/open/away", prefix="/desk/open/")
    assert kept == [(b"location", meant.encode())]


@pytest.mark.parametrize(
    "location",
    [
        "//elsewhere.example/desk/open/",
        "https://here.example/desk/open/told",
        "http://here.example:81/desk/open/",
        "http://user@here.example/desk/open/",
        "/\\elsewhere.example",
        "\\\\elsewhere.example",
        "/desk/manage/",
        "/desk/openly",
        "/desk/open/../manage/",
        "/desk/open/%2e%2e/manage/",
        "/desk/open/%2E./manage/",
        "/desk/open/..%2fmanage",
        "../view/",
        "/",
        "javascript:alert(1)",
        "http://[",
        "/desk/open/\thttps://elsewhere.example",
        " https://elsewhere.example",
    ],
)
def test_a_redirect_to_anywhere_else_leaves(location):
    with pytest.raises(Leaves):
        keep_confined([(b"Location", location.encode())], url="http://here.example/desk/open/away", prefix="/desk/open/")


def test_headers_are_known_whatever_their_case():
    assert let_in([(b"COOKIE", b"a"), (b"Meridian-Caller", b"a"), (b"Accept", b"a")]) == [(b"accept", b"a")]
    assert keep_confined([(b"SET-COOKIE", b"a"), (b"ETag", b"a")], url="http://h/a/b/", prefix="/a/b/") == [(b"etag", b"a")]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Sec-Session-Registration", '(ES256);path="/"'),
        ("Use-As-Dictionary", 'match="/*"'),
        ("Origin-Trial", "x"),
        ("Set-Login", "logged-out"),
        ("A-Header-Of-Next-Year", "x"),
        ("X-Accel-Redirect", "/etc/passwd"),
        ("X-Sendfile", "/etc/passwd"),
        ("X-Frame-Options", "ALLOWALL"),
        ("Set-Cookie ", "meridian=stolen"),
        ("X-Mine: x\r\nSet-Cookie", "meridian=stolen"),
        ("X-Mine", "x\r\nSet-Cookie: meridian=stolen"),
        ("ETag", "x\0"),
    ],
)
def test_an_answer_s_headers_that_are_not_known_to_be_harmless_are_taken_off(name, value):
    assert keep_confined([(name.encode(), value.encode())], url="http://h/a/b/", prefix="/a/b/") == []


def test_a_plugin_is_not_told_of_another_plugin_s_page(writer):
    said = writer.get(f"{OPEN}/told", headers={"Referer": "http://here.example/other/open/?account=A-9"}).text
    assert "referer" not in said.split("\n")


def test_a_browser_that_says_nothing_of_where_it_comes_from_is_taken_at_its_token():
    assert is_of_this_site({}, "http://here.example")
    assert is_of_this_site({"origin": "http://here.example", "sec-fetch-site": "same-origin"}, "http://here.example")
    assert not is_of_this_site({"origin": "http://here.example.elsewhere.example"}, "http://here.example")


def test_a_page_may_be_framed_by_nobody():
    assert (b"x-frame-options", b"DENY") in policies(
        origin="http://here.example", prefix="/desk/open/", kit_url="/static/meridian"
    )


# The call, open before and closed after.


def test_a_call_is_closed_once_it_is_answered_and_a_browser_s_leaves_no_row(running, writer, token):
    writer.post(f"{OPEN}/confirm", data={"csrf": token, "account": "A-1", "reason": "r"})
    with running.deployment.store.read() as connection:
        assert connection.exec_driver_sql("select count(*) from calls").scalar() == 0


def test_a_plugin_that_hangs_is_cut_off(writer, token):
    answer = writer.post(f"{OPEN}/slow", data={"csrf": token})
    assert (answer.status_code, "Look whether it was done" in answer.text) == (504, True)


def test_a_plugin_that_fails_tells_nobody_why(writer, token):
    answer = writer.post(f"{OPEN}/broken", data={"csrf": token})
    assert (answer.status_code, "secret" in answer.text) == (500, False)


@pytest.mark.parametrize("by", ["exit", "interrupt", "cancelled", "generator"])
def test_a_plugin_that_would_end_the_process_ends_its_own_call(running, writer, token, by):
    answer = writer.post(f"{OPEN}/ending", data={"csrf": token, "by": by})
    assert (answer.status_code, "Desk failed" in answer.text) == (500, True)
    assert writer.get(f"{OPEN}/").status_code == 200


@pytest.mark.parametrize(
    "path", ["//desk/open/", "/%2fdesk/open/", "/desk/open%2f/", "/desk/open//told", "/desk/open/..%2fmanage/manage"]
)
def test_a_page_has_one_address(running, writer, path):
    assert httpx2.get(f"{running.url}{path}", cookies=dict(writer.cookies)).status_code == 404
