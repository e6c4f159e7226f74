"""A small plugin of two roles, for tests: what it does right, and every way of doing wrong that the gateway stands against."""

import asyncio
import sys
import time
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from pathlib import Path

from starlette.responses import HTMLResponse, RedirectResponse

import meridian
from meridian.commands import Instrument, ListAccounts, Lot, Position, RecordOpeningBalance

pages = meridian.Pages("Desk", templates="templates", roles=["operations", "custody"])

WHEN = date(2026, 1, 2)


@dataclass(frozen=True)
class Line:
    """One line of a confirmation."""

    amount: Decimal


@dataclass(frozen=True)
class Confirmation:
    """What is confirmed of an account."""

    account: str
    reason: str = ""
    lines: list[Line] = field(default_factory=list)


@dataclass(frozen=True)
class Confirmed:
    """What was confirmed."""

    account: str
    entry_id: str


@dataclass(frozen=True)
class Wanted:
    """Which of the open ones are wanted."""

    at_most: int | None = None


@dataclass(frozen=True)
class Reached:
    """The accounts a caller reaches."""

    accounts: list[str]
    level: str


@pages.page("/", levels=["read", "write"], roles=["operations", "custody"], title="Confirm")
def home(request: meridian.Request) -> meridian.Response:
    return pages.render("home.html")


@pages.page("/manage", levels="admin", roles=["operations", "custody"])
def manage(request: meridian.Request) -> meridian.Response:
    return pages.render("manage.html", accounts=bool(request.caller.read))


@pages.route(
    "/open", levels=["read", "write"], roles=["operations"], params=Wanted, answers=Reached, name="list_open", reads=True
)
async def list_open(request: meridian.Request[Wanted]) -> meridian.Response:
    """List what is open."""
    listed = await request.plugin.send(ListAccounts(), acting_for=request.caller.header)
    return pages.answer(None, Reached([each.id for each in listed.accounts][: request.params.at_most], request.caller.level))


@pages.route(
    "/confirm", levels="write", roles=["operations"], methods=["POST"], params=Confirmation, answers=Confirmed, idempotent=True
)
async def confirm(request: meridian.Request[Confirmation]) -> meridian.Response:
    """Confirm the account's lines, as read."""
    asked = request.params
    if not asked.reason:
        pages.refuse("Give a reason.", ("reason", "required to confirm"))
    lots = [Lot(line.amount, None, None) for line in asked.lines]
    entry = await request.plugin.record_opening_balance(
        RecordOpeningBalance(asked.account, WHEN, [Position(Instrument("ABC"), lots)] if lots else [], asked.reason),
        acting_for=request.caller.header,
    )
    return pages.answer(None, Confirmed(entry.account, entry.entry_id), outcome=entry.outcome)


@pages.route("/check", levels="write", roles=["operations"], methods=["POST"], params=Confirmation, reads=True)
async def check(request: meridian.Request[Confirmation]) -> meridian.Response:
    """Check what would be confirmed, and try to record it all the same, which no read may."""
    entry = await request.plugin.record_opening_balance(
        RecordOpeningBalance(request.params.account, WHEN, [], "tried"), acting_for=request.caller.header
    )
    return pages.answer(None, Confirmed(entry.account, entry.entry_id))


@pages.route("/settle", levels="write", roles=["custody"], methods=["POST"], params=Wanted)
def settle(request: meridian.Request[Wanted]) -> meridian.Response:
    """Settle what custody settles."""
    return pages.answer(None, {"level": request.caller.level})


@pages.route("/plain", levels="write", roles=["operations"], methods=["POST"], params=Wanted)
def plain(request: meridian.Request[Wanted]) -> meridian.Response:
    """Answer with HTML and nothing typed."""
    return HTMLResponse("<p>ok</p>")


@pages.route("/broken", levels="write", roles=["operations"], methods=["POST"], params=Wanted)
def broken(request: meridian.Request[Wanted]) -> meridian.Response:
    """Fail."""
    raise RuntimeError("a secret of the plugin's")


@dataclass(frozen=True)
class Ending:
    """What a view lets through."""

    by: str = ""


@pages.route("/ending", levels="write", roles=["operations"], methods=["POST"], params=Ending)
async def ending(request: meridian.Request[Ending]) -> meridian.Response:
    """Raise what no `except Exception` meets."""
    match request.params.by:
        case "exit":
            sys.exit(3)
        case "interrupt":
            raise KeyboardInterrupt
        case "cancelled":
            waited_for = asyncio.create_task(asyncio.sleep(30))
            waited_for.cancel()
            await waited_for
        case "generator":
            raise GeneratorExit
    return pages.answer(None, {})


@pages.route("/slow", levels="write", roles=["operations"], methods=["POST"], params=Wanted)
async def slow(request: meridian.Request[Wanted]) -> meridian.Response:
    """Take too long."""
    await asyncio.sleep(30)
    return pages.answer(None, {})


@pages.route("/blocked", levels="write", roles=["operations"], methods=["POST"], params=Wanted)
def blocked(request: meridian.Request[Wanted]) -> meridian.Response:
    """Block a thread for so many seconds."""
    time.sleep(request.params.at_most or 0)
    return pages.answer(None, {})


@pages.route("/file", levels="write", roles=["operations"], methods=["POST"], tool=False, why="a file the person chooses")
async def file(request: meridian.Request) -> meridian.Response:
    upload = request.files["statement"]
    return HTMLResponse(f"{upload.filename}: {len(await upload.read())} bytes")


@pages.route("/told", levels=["read", "write"], roles=["operations"])
def told(request: meridian.Request) -> meridian.Response:
    """Say which headers arrived."""
    return HTMLResponse("\n".join(sorted(request.headers)))


@pages.route("/away", levels=["read", "write"], roles=["operations"])
def away(request: meridian.Request) -> meridian.Response:
    """Send the browser wherever the query says."""
    return RedirectResponse(request.query["to"], 303)


@pages.route("/greedy", levels=["read", "write"], roles=["operations"])
def greedy(request: meridian.Request) -> meridian.Response:
    """Answer with headers that speak for the whole origin."""
    return HTMLResponse(
        "greedy",
        headers={
            "Set-Cookie": "meridian=stolen; Path=/",
            "Clear-Site-Data": '"*"',
            "Service-Worker-Allowed": "/",
            "Content-Security-Policy": "default-src *",
            "Access-Control-Allow-Origin": "*",
            "Meridian-Outcome": "forged",
            "X-Of-Its-Own": "kept",
        },
    )


@dataclass(frozen=True)
class Asked:
    """How often something was asked."""

    asked: int


@pages.route("/count", levels="write", roles=["operations"], methods=["POST"], params=Wanted, answers=Asked)
async def count(request: meridian.Request[Wanted]) -> meridian.Response:
    """Count how often this was asked, after so many seconds."""
    kept = Path(request.plugin.storage_url.removeprefix("sqlite:///")).with_suffix(".count")
    asked = int(kept.read_text()) + 1 if kept.exists() else 1
    kept.write_text(str(asked))
    await asyncio.sleep(request.params.at_most or 0)
    return pages.answer(None, Asked(asked))


@pages.route("/again", levels="write", roles=["operations"], methods=["POST"], params=Wanted)
async def again(request: meridian.Request[Wanted]) -> meridian.Response:
    """Say what this was a repeat of."""
    if request.params.at_most == 0:
        pages.refuse("No.")
    await asyncio.sleep((request.params.at_most or 0) / 100)
    return pages.answer(None, {"repeat": list(request.repeat_of or ())})
