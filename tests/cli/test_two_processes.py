"""Two processes on one store, and people at both: one prepared change is made once, whoever else would make or end it."""

import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import date, timedelta
from sqlite3 import connect

import httpx2

SERVE = ("serve", "operations=opening_balance:pages", "--data", "data", "--demo", "--json", "--port", "0")
ROUNDS = 200
DAY = date(2010, 1, 1)
WINS = {
    "make": {(303, 409), (409, 303)},
    "discard": {(303, 422), (409, 303)},
    "amend": {(303, "refused"), (409, "made")},
}
"""What the two come to that ask at once: one of them has it, and the other is told so."""
TOKEN = re.compile(r'name="csrf" value="([^"]+)"')


def balance(number: int, reason: str = "prepared") -> dict:
    lot = {"quantity": "10", "cost": None, "acquired": None}
    return {
        "account": "A-1",
        "as_of": f"{DAY + timedelta(days=number)}",
        "reason": reason,
        "positions": [{"instrument": {"identifier": "X", "scheme": "OTHER", "name": ""}, "lots": [lot]}],
    }


def form(number: int, csrf: str, reason: str = "prepared") -> dict:
    return {
        "csrf": csrf, "meridian.page": "/opening", "account": "A-1", "reason": reason,
        "as_of": f"{DAY + timedelta(days=number)}",
        "positions[0].instrument.identifier": "X", "positions[0].instrument.scheme": "OTHER",
        "positions[0].lots[0].quantity": "10",
    }  # fmt: skip


class Side:
    """One of the two processes, with the writer's browser and client at it."""

    def __init__(self, url: str, token: str, cookies: httpx2.Cookies | None = None) -> None:
        self.browser = httpx2.Client(base_url=url, timeout=30, cookies=cookies)
        self.token = token

    def call(self, name: str, /, **arguments: object) -> dict:
        said = self.browser.build_request(
            "POST",
            "/mcp",
            json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}},
            headers={"Authorization": f"Bearer {self.token}", "Accept": "application/json", "Cookie": ""},
        )
        return self.browser.send(said).json()["result"]["structuredContent"]

    def prepare(self, number: int) -> str:
        said = self.call("dashboard__prepare_change", tool="operations__confirm_opening_balance", arguments=balance(number))
        return said["prepared_call_id"]

    def open(self, change: str) -> str:
        page = self.browser.get("/operations/open/opening", params={"meridian.prepared": change})
        assert page.status_code == 200, page.text
        return TOKEN.search(page.text)[1]

    def make(self, number: int, csrf: str, reason: str = "prepared") -> int:
        return self.browser.post("/operations/open/opening/confirm", data=form(number, csrf, reason)).status_code

    def discard(self, change: str, csrf: str) -> int:
        return self.browser.post("/dashboard/open/prepared/discard", data={"csrf": csrf, "change": change}).status_code

    def amend(self, number: int, change: str) -> str:
        said = self.call(
            "dashboard__amend_prepared_change", change=change, revision=1, arguments=balance(number, "amended"), reason=""
        )
        return said["outcome"]


def test_of_two_who_would_make_discard_or_amend_one_change_at_once_one_does(meridian, folder):
    here, there = (meridian(*SERVE).told() for _ in range(2))
    writer = next(each for each in here["people"] if each["subject"] == "demo-writer")
    one = Side(here["url"], writer["client_token"])
    one.browser.get(writer["sign_in_url"])
    two = Side(there["url"], writer["client_token"], one.browser.cookies)
    dashboard = TOKEN.search(two.browser.get("/dashboard/open/clients").text)[1]
    won: dict[str, set] = {}
    with ThreadPoolExecutor(2) as both:
        for number in range(ROUNDS):
            change = one.prepare(number)
            first, second = one.open(change), two.open(change)
            kind = ("make", "discard", "amend")[number % 3]
            asked = {
                "make": (two.make, number, second, "altered"),
                "discard": (two.discard, change, dashboard),
                "amend": (two.amend, number, change),
            }[kind]
            made, other = both.submit(one.make, number, first), both.submit(*asked)
            outcome = made.result(), other.result()
            assert outcome in WINS[kind], (number, kind, outcome)
            won.setdefault(kind, set()).add(outcome)
    for side in (one, two):
        side.browser.close()
    with closing(connect(folder / "data" / "meridian.db")) as store:
        states = dict(store.execute("select id, state from prepared_changes"))
        entries = [row[0] for row in store.execute("select prepared_call from entries")]
    made_of = {change for change, state in states.items() if state in ("made", "changed")}
    assert (len(states), sorted(entries), set(states.values()) <= {"made", "changed", "discarded", "prepared"}) == (
        ROUNDS,
        sorted(made_of),
        True,
    )
    assert set(won) == set(WINS)
