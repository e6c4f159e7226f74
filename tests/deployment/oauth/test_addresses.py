"""Redirect addresses: which may ever be led to, and which is the one that was registered."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meridian.deployment.oauth.addresses import answered_at, form_action_of, host_of, is_allowed, is_one_of, kind_of

WEB = "https://client.example/cb"


@pytest.mark.parametrize(
    "address",
    [
        WEB,
        "https://client.example:8443/cb?kept=1",
        "https://client.example",
        "http://127.0.0.1/callback",
        "http://localhost:51515/callback",
        "http://[::1]:51515/callback",
        "com.example.notes:/callback",
        "cursor://anysphere.cursor-mcp/oauth/callback",
    ],
)
def test_an_answer_goes_by_https_to_this_computer_or_to_an_app(address):
    assert is_allowed(address)
    assert is_one_of(address, [address])


@pytest.mark.parametrize(
    "address",
    [
        "",
        "javascript:alert(1)//",
        "JavaScript://client.example/%0aalert(1)",
        "java\tscript:alert(1)",
        " https://client.example/cb",
        "data:text/html,x",
        "vbscript:msgbox(1)",
        "blob:https://client.example/1",
        "file:///etc/passwd",
        "filesystem:https://client.example/x",
        "view-source:https://client.example/",
        "ms-msdt:/id",
        "search-ms:/query",
        "mailto:/someone",
        "ws://client.example/cb",
        "http://client.example/cb",
        "http://127.0.0.1.client.example/cb",
        "http://0.0.0.0/cb",
        "http://[::ffff:127.0.0.1]/cb",
        "https://client.example/cb#fragment",
        "https://client.example/cb#",
        "https://user@client.example/cb",
        "https://client.example\\@other.example/cb",
        "https:///cb",
        "https://client.example:port/cb",
        "https://client.example:99999/cb",
        "https://[::1/cb",
        "https://clïent.example/cb",
        "https://client.example/cb\r\nSet-Cookie: a=b",
        "//client.example/cb",
        "/cb",
        "app:cb",
        "https://client.example/" + "a" * 2_000,
    ],
)
def test_nothing_else_is_ever_led_to_whoever_registered_it(address):
    assert not is_allowed(address)
    assert not is_one_of(address, [address])


@pytest.mark.parametrize(
    ("asked", "registered", "same"),
    [
        (WEB, WEB, True),
        ("https://client.example/cb/", WEB, False),
        ("https://client.example/cb?a=1", WEB, False),
        ("https://CLIENT.example/cb", WEB, False),
        ("https://client.example:444/cb", WEB, False),
        ("https://client.example.other.example/cb", WEB, False),
        ("http://127.0.0.1:1/cb", "http://127.0.0.1/cb", True),
        ("http://127.0.0.1:1/cb", "http://127.0.0.1:2/cb", True),
        ("http://[::1]:1/cb", "http://[::1]/cb", True),
        ("http://localhost:1/cb", "http://127.0.0.1/cb", False),
        ("http://127.0.0.1:1/other", "http://127.0.0.1/cb", False),
        ("http://127.0.0.1:1/cb?a=1", "http://127.0.0.1/cb", False),
        ("https://127.0.0.1:1/cb", "https://127.0.0.1/cb", False),
        ("http://127.0.0.1:1@client.example/cb", "http://127.0.0.1/cb", False),
    ],
)
def test_an_address_is_the_registered_one_letter_by_letter_but_for_a_port_on_loopback(asked, registered, same):
    assert is_one_of(asked, [registered]) == same


@given(st.text(max_size=60))
def test_no_text_at_all_is_more_than_a_yes_or_a_no(text):
    allowed = is_allowed(text)
    assert not allowed or (kind_of(text) in ("web", "loopback", "app") and host_of(text))


def test_an_answer_stands_behind_what_the_address_says_already():
    assert answered_at(f"{WEB}?kept=1&blank=", {"code": "a&b", "state": None, "iss": "https://desk.example"}) == (
        f"{WEB}?kept=1&blank=&code=a%26b&iss=https%3A%2F%2Fdesk.example"
    )


@pytest.mark.parametrize(
    ("address", "policy"),
    [
        (WEB, "https://client.example"),
        ("http://127.0.0.1:51515/callback", "http://127.0.0.1:51515"),
        ("http://[::1]:51515/callback", "http:"),
        ("com.example.notes:/callback", "com.example.notes:"),
    ],
)
def test_a_page_s_policy_names_where_the_answer_goes(address, policy):
    assert form_action_of(address) == policy
