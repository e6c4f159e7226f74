"""`meridian serve`, as an operator runs it."""

import re
import signal
import socket

import httpx2
import pytest

from meridian.cli.serve import _listen
from meridian.deployment.settings import Settings

SERVE = ("serve", "desk=front_desk:pages", "--data", "data", "--port", "0")


def test_the_first_line_of_json_tells_where_it_is_and_who_there_is(meridian):
    told = meridian(*SERVE, "--demo", "--json").told()
    assert set(told) == {"url", "mcp_url", "people"}
    assert (re.fullmatch(r"http://127\.0\.0\.1:\d+", told["url"]) is not None, told["mcp_url"]) == (True, f"{told['url']}/mcp")
    assert [set(person) for person in told["people"]] == [
        {"subject", "display_name", "holds", "sign_in_url", "client_token"}
    ] * 5
    with httpx2.Client(follow_redirects=True) as browser:
        home = browser.get(next(each["sign_in_url"] for each in told["people"] if each["subject"] == "demo-writer"))
        assert (home.status_code, "/desk/open/" in home.text) == (200, True)


def test_the_socket_is_one_of_which_asyncio_knows_that_it_need_not_hold_packets_back():
    with _listen(Settings(port=0)) as listener:
        assert listener.proto == socket.IPPROTO_TCP


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_cleanly_when_told_to(meridian, by):
    served = meridian(*SERVE, "--json")
    served.told()
    assert served.end(by) == 0


def test_a_second_run_goes_on_where_the_first_stopped(meridian):
    first = meridian(*SERVE, "--demo", "--json")
    was = first.told()
    with httpx2.Client() as browser:
        browser.get(was["people"][1]["sign_in_url"])
        cookies = dict(browser.cookies)
    first.end()
    told = meridian(*SERVE, "--demo", "--json").told()
    assert [each["client_token"] for each in told["people"]] == [each["client_token"] for each in was["people"]]
    assert httpx2.get(f"{told['url']}/", cookies=cookies).status_code == 200


def test_a_second_run_from_another_folder_finds_what_the_first_was_given(meridian, folder):
    first = meridian(*SERVE, "--json")
    first.told()
    first.end()
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    again = meridian("serve", "--data", str(folder / "data"), "--port", "0", "--json", cwd=elsewhere)
    assert httpx2.get(f"{again.told()['url']}/desk/open/", follow_redirects=False).status_code == 303


def test_the_first_run_without_a_demo_prints_the_first_admin_s_link_until_there_is_one(meridian):
    first = meridian(*SERVE, "--json")
    told = first.told()
    assert told["people"] == []
    page = httpx2.get(told["first_admin_url"])
    assert (page.status_code, "first deployment admin" in page.text) == (200, True)
    first.end()
    again = meridian(*SERVE, "--json").told()
    assert again["first_admin_url"].rpartition("/")[2] != told["first_admin_url"].rpartition("/")[2]


def test_a_demo_in_words_gives_everyone_a_link_a_token_and_what_to_paste(meridian, folder):
    served = meridian(*SERVE, "--demo")
    lines = []
    while not lines or not lines[-1].startswith("Ctrl-C"):
        lines.append(served.line())
    words = "".join(lines)
    assert [words.count(each) for each in ("sign in, once", "client token ", '"Authorization": "Bearer mrd_')] == [5, 5, 5]
    assert f'"args": ["mcp", "desk={folder}/front_desk:pages", "--data"' in words


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("serve", "front_dusk:pages"), "meridian: front_dusk: no module is called front_dusk; did you mean front_desk?\n"),
        (("serve", "front_desk:page"), "meridian: front_desk:page: front_desk has no page; it has front_desk:pages\n"),
        (
            ("serve",),
            "meridian: meridian-data knows no plugin that can be loaded; name one: meridian serve package.module:pages\n",
        ),
        (
            ("serve", "mcp=front_desk"),
            "meridian: an instance cannot be called mcp: that is an address of the deployment's own; name it my-mcp=…\n",
        ),
        (
            ("serve", "front_desk", "--port", "eighty"),
            'meridian: settings: port: "eighty" is no number; write a whole number from 0 to 65535, like 12\n',
        ),
    ],
)
def test_what_cannot_run_is_said_in_a_sentence(meridian, arguments, said):
    command = meridian(*arguments)
    assert (command.end(signal.SIGCONT), command.log.read_text()) == (1, said)


def test_a_port_that_is_taken_is_said_so(meridian):
    port = meridian(*SERVE, "--json").told()["url"].rpartition(":")[2]
    second = meridian("serve", "front_desk", "--data", "other", "--port", port)
    assert second.end(signal.SIGCONT) == 1
    assert f"nothing can listen on 127.0.0.1 port {port}" in second.log.read_text()


def test_a_setting_may_be_given_in_the_environment_and_the_command_line_comes_before_it(meridian, folder, monkeypatch):
    monkeypatch.setenv("MERIDIAN_DATA", "elsewhere")
    monkeypatch.setenv("MERIDIAN_PORT", "1")
    told = meridian("serve", "front_desk", "--port", "0", "--json").told()
    assert (told["url"].startswith("http://127.0.0.1:"), told["url"].endswith(":1")) == (True, False)
    assert (folder / "elsewhere" / "meridian.db").exists()


def test_an_environment_that_does_not_read_is_said_in_a_sentence(meridian, monkeypatch):
    monkeypatch.setenv("MERIDIAN_OIDC_ISSUER", "login.example")
    command = meridian("serve", "front_desk")
    assert command.end(signal.SIGCONT) == 1
    assert "settings: oidc_issuer: 'login.example' is no issuer; write https://login.example" in command.log.read_text()
