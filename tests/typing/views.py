"""What an editor knows in a view: the record its route declares, to the last cell."""

from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any, assert_type

import meridian

pages = meridian.Pages("Operations", roles=["operations"])


@dataclass(frozen=True)
class Lot:
    quantity: Decimal
    cost: Decimal | None = None
    acquired: date | None = None


@dataclass(frozen=True)
class Confirmation:
    account: str
    reason: str = ""
    lots: list[Lot] = field(default_factory=list)


@dataclass(frozen=True)
class Recorded:
    account: str


@pages.route("/confirm", levels="write", methods=["POST"], params=Confirmation, answers=Recorded)
async def confirm(request: meridian.Request[Confirmation]) -> meridian.Response:
    assert_type(request.params, Confirmation)
    assert_type(request.params.lots[0].cost, Decimal | None)
    assert_type(request.params.lots[0].acquired, date | None)
    assert_type(request.reading.record, Confirmation | None)
    assert_type(request.caller, meridian.Caller)
    assert_type(request.caller.header, str)
    return pages.answer("done.html", Recorded(request.params.account))


@pages.route("/confirm-in-a-thread", levels="write", methods=["POST"], params=Confirmation)
def confirm_in_a_thread(request: meridian.Request[Confirmation]) -> meridian.Response:
    return pages.answer(None, Recorded(request.params.account))


@pages.route("/confirm-loosely", levels="write", methods=["POST"], params=Confirmation)
async def confirm_loosely(request: meridian.Request) -> meridian.Response:
    """A bare Request is of Any."""
    assert_type(request.params, Any)
    return pages.answer(None, Recorded(request.params.account))


@pages.page("/positions", levels=["read", "write"], params=Confirmation, answers=Recorded)
async def positions(request: meridian.Request[Confirmation]) -> meridian.Response:
    return pages.answer("positions.html", Recorded(request.params.account))


@pages.route("/wrong", levels="write", methods=["POST"], params=Confirmation)  # type: ignore[arg-type]
async def wrong(request: meridian.Request[Recorded]) -> meridian.Response:
    return pages.answer(None, request.params)


@pages.route("/silent", levels="write", methods=["POST"], params=Confirmation)  # type: ignore[type-var]
async def silent(request: meridian.Request[Confirmation]) -> None:
    """A view answers; one that returns nothing is refused."""


@pages.tool(replaces="/confirm", method="POST", params=Recorded)
async def confirm_by_account(request: meridian.Request[Recorded]) -> meridian.Response:
    assert_type(request.params.account, str)
    return pages.answer(None, request.params)


def a_decorator_gives_back_the_function() -> None:
    assert_type(confirm_in_a_thread(meridian_request()), meridian.Response)


def meridian_request() -> meridian.Request[Confirmation]:
    raise NotImplementedError


def a_refusal_does_not_return() -> int:
    pages.refuse("Give a reason.", ("reason", "required to confirm"))
