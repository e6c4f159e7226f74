"""An act whose form stands on no page, that asks for a secret, and whose record is declared otherwise in between."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

import meridian
from deployment.preparing.conftest import inputs
from deployment.running.serving import Clock, Running, serving
from meridian.deployment import demo
from meridian.deployment.app import Deployment
from meridian.plugins import Loaded

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend():
    return "asyncio"


@dataclass(frozen=True)
class Payment:
    """What is paid."""

    account: str
    pin: str = meridian.field(secret=True)
    amount: int = 1


@dataclass(frozen=True)
class ReasonedPayment:
    """The same, once a reason is asked for."""

    account: str
    reason: str
    pin: str = meridian.field(secret=True)
    amount: int = 1


def plugin(record: type[Any]) -> tuple[Loaded, list[Any]]:
    """A plugin that pays, and what it paid."""
    paid: list[Any] = []
    pages = meridian.Pages("Pay", roles=["operations"])

    @pages.route("/check", levels="write", methods=["POST"], params=record, reads=True, name="check_pay")
    async def check(request: meridian.Request[Any]) -> meridian.Response:
        """Check it."""
        return pages.answer(None, {"pin": len(request.params.pin)})

    @pages.route(
        "/pay", levels="write", methods=["POST"], params=record, name="pay", checked_by="check_pay", accounts=["account"],
        made_on="",
    )  # fmt: skip
    async def pay(request: meridian.Request[Any]) -> meridian.Response:
        """Pay it."""
        paid.append((request.params, request.caller.prepared_call_id))
        return pages.answer(None, {"paid": True})

    return Loaded("pay", pages, "pay", "pay"), paid


@contextmanager
def served(settings: Any, loaded: Loaded) -> Iterator[Running]:
    clock = Clock()
    deployment = Deployment([loaded], settings, clock=clock)
    people = demo.seed(deployment.store, deployment.instances, now=clock())
    with serving(deployment, clock, people) as running:
        yield running


async def prepare(running: Running) -> str:
    async with running.client("demo-writer") as client:
        arguments = {"account": "A-1", "pin": "s3cret-pin", "amount": 5}
        said = await client.call_tool("dashboard__prepare_change", {"tool": "pay__pay", "arguments": arguments})
    return said.structured_content["prepared_call_id"]


async def test_it_is_made_by_its_form_alone_and_the_secret_is_kept_nowhere_and_asked_for_again(settings, tmp_path):
    loaded, paid = plugin(Payment)
    with served(settings, loaded) as running:
        change = await prepare(running)
        browser = running.browser("demo-writer")
        shown = browser.get("/dashboard/view/prepared", params={"change": change}).text
        page = browser.get(re.search(r'href="(/pay/open/pay[^"]*)"', shown)[1])
        drawn = inputs(page.text)
        assert (page.status_code, drawn["account"], drawn["pin"], drawn["amount"]) == (200, "A-1", "", "5")
        sent = {"csrf": drawn["csrf"], "account": "A-1", "pin": "1234", "amount": "5"}
        assert browser.post("/pay/open/pay", data=sent).status_code == 200
        over = browser.get("/dashboard/view/prepared", params={"change": change}).text
    assert paid == [(Payment("A-1", "1234", 5), change)]
    assert ('"state":"made"' in over, "s3cret-pin" in shown + page.text + over) == (True, False)
    kept = b"".join(each.read_bytes() for each in (tmp_path / "data").rglob("*") if each.is_file())
    assert (b"PC-" in kept, b"s3cret-pin" in kept) == (True, False)


async def test_what_the_record_asks_for_since_is_a_problem_at_its_cell_and_nothing_is_made_without(settings):
    """R78."""
    loaded, _ = plugin(Payment)
    with served(settings, loaded) as running:
        change = await prepare(running)
    loaded, paid = plugin(ReasonedPayment)
    with served(settings, loaded) as running:
        browser = running.browser("demo-writer")
        shown = browser.get("/dashboard/view/prepared", params={"change": change})
        page = browser.get("/pay/open/pay", params={"meridian.prepared": change})
        assert (shown.status_code, page.status_code) == (200, 200)
        assert re.search(r'name="reason"[^>]*aria-invalid="true"', page.text)
        assert inputs(page.text)["amount"] == "5"
        sent = {"csrf": inputs(page.text)["csrf"], "account": "A-1", "pin": "1234", "amount": "5"}
        assert (browser.post("/pay/open/pay", data=sent).status_code, paid) == (422, [])
        assert browser.post("/pay/open/pay", data={**sent, "reason": "the invoice"}).status_code == 200
    assert paid == [(ReasonedPayment("A-1", "the invoice", "1234", 5), change)]
