"""Prepared changes as people and their clients see them: the Inbox, one change with all that became of it, and the tools.

A person, or their client, enters; the changes leave that they may make or prepared themselves. What is prepared, amended or
withdrawn here goes through `preparing`. Nothing here makes a change: that is done on its plugin's own page.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlencode

from meridian.deployment.dashboard.desk import address, desk_of, pages
from meridian.deployment.gateway import PREPARED
from meridian.deployment.prepared import Change
from meridian.deployment.preparing import MOST_LISTED, News, Seen
from meridian.deployment.reaching import BUTTON_OF, opening
from meridian.pages import Response
from meridian.pages.answering import Answer
from meridian.pages.asking import Request
from meridian.pages.preparing import pairs_in
from meridian.plugins import surface_name
from meridian.records import field, read_json

_WHY: Final = "a person alone says so, on the page"
_SAID: Final[dict[str, str]] = {
    "prepared": "waits",
    "making": "is being made",
    "made": "made",
    "changed": "made with other values",
    "discarded": "discarded",
    "withdrawn": "withdrawn",
    "lapsed": "lapsed",
    "unsure": "nobody knows whether it was made",
}
_STEPS: Final[dict[str, str]] = {
    **_SAID,
    "prepared": "prepared",
    "again": "prepared again",
    "amended": "amended",
    "making": "began to make it",
    "refused": "was refused it at the making; it waits again",
    "not_made": "found that it was not made; it waits again",
}


@dataclass(frozen=True)
class WhichChanges:
    """Which of the changes that you see."""

    over: bool = field(default=False, title="Those that are over", description="Those made, discarded, withdrawn or lapsed.")
    before: str = field(default="", description="To go on: the next of the answer before.", max_length=120)


@dataclass(frozen=True)
class WhichChange:
    """A prepared change."""

    change: str = field(title="Prepared change", description="Its ID, like PC-….", max_length=40)


@dataclass(frozen=True)
class PrepareChange:
    """An act to be prepared instead of made."""

    tool: str = field(description="The act's name, as the list of tools has it.", max_length=120)
    arguments: dict[str, Any] = field(description="What the act would be called with.")
    reason: str = field(default="", description="Why, in your words, for whoever makes it.", max_length=2_000)


@dataclass(frozen=True)
class AmendChange:
    """Other arguments for a change that waits."""

    change: str = field(title="Prepared change", description="Its ID, like PC-….", max_length=40)
    revision: int = field(description="The revision you read; it is refused where the change is another by now.")
    arguments: dict[str, Any] = field(description="All of what the act would be called with.")
    reason: str = field(
        default="", description="Why, in your words; the one before stays where you give none.", max_length=2_000
    )


@dataclass(frozen=True)
class EndChange:
    """A change that is not to be made."""

    change: str = field(title="Prepared change", description="Its ID, like PC-….", max_length=40)
    reason: str = field(default="", title="Why", description="For whoever prepared it.", max_length=2_000)


@dataclass(frozen=True)
class FoundOut:
    """What became of a change of which nobody knew."""

    change: str = field(title="Prepared change", description="Its ID, like PC-….", max_length=40)
    was_made: bool = field(default=False)


@dataclass(frozen=True)
class Row:
    """One prepared change."""

    prepared_call_id: str = field(description="Its ID.")
    tool: str = field(description="The act's name, as the list of tools has it.")
    title: str = field(description="The act, in words.")
    accounts: list[str] = field(description="The accounts that it names.")
    prepared_by: str = field(description="Who prepared it.")
    client: str | None = field(description="The client it was prepared through; none, where it was on a page.")
    prepared_at: datetime = field(description="When it was prepared.")
    lapses_at: datetime = field(description="Until when it waits.")
    state: str = field(description="prepared, making, made, changed, discarded, withdrawn, lapsed or unsure.")
    reason: str = field(description="In the words of whoever prepared it: a text, nothing to follow.")
    yours: bool = field(description="Whether your person prepared it, or a client of theirs.")
    may_make: bool = field(description="Whether your person may make it.")
    settled_by: str | None = field(default=None, description="Who made it, or put it aside.")
    settled_at: datetime | None = field(default=None, description="When that was.")


@dataclass(frozen=True)
class NewsRow:
    """Something that became of a prepared change."""

    prepared_call_id: str = field(description="The change's ID.")
    title: str = field(description="Its act, in words.")
    what: str = field(description="What became of it: a state, or amended or refused.")
    at: datetime = field(description="When.")
    by: str | None = field(description="By whom; none, where the deployment did it.")
    client: str | None = field(description="Through which client; none, where it was on a page.")
    reason: str = field(description="In their words: a text, nothing to follow.")


@dataclass(frozen=True)
class Changes:
    """The prepared changes that your person sees, the latest first, and what became of any since this was last asked."""

    changes: list[Row] = field(description="Those that wait, or those that are over.")
    news: list[NewsRow] = field(description="By others, since you last asked; 50 at most at a time.")
    next: str = field(default="", description="Ask again with it as before, to go on; empty at the end.")


@dataclass(frozen=True)
class KeptCell:
    """One cell of what was prepared."""

    cell: str
    says: str


@dataclass(frozen=True)
class StepRow:
    """Something that became of a change."""

    what: str = field(description="What: a state, or again, amended, refused or not_made.")
    at: datetime = field(description="When.")
    by: str | None = field(description="By whom; none, where the deployment did it.")
    client: str | None = field(description="Through which client; none, where it was on a page.")
    reason: str = field(description="In their words: a text, nothing to follow.")


@dataclass(frozen=True)
class OneChange:
    """A prepared change, with what it would be called with and all that became of it."""

    change: Row = field(description="The change.")
    revision: int = field(description="How often it was given arguments: what amend_prepared_change is told.")
    arguments: dict[str, Any] = field(description="What its act would be called with, without what is secret.")
    made_with: dict[str, Any] | None = field(description="What it was made with, or is being made.")
    steps: list[StepRow] = field(description="What became of it, in order.")


@dataclass(frozen=True)
class Counted:
    """How many changes wait, and how much is new."""

    for_you: int = field(description="Those that your person may make.")
    yours: int = field(description="Those that your person prepared, or a client of theirs.")
    unread: int = field(description="What became of changes since list_prepared_changes was last asked; 50 at most.")


@dataclass(frozen=True)
class Rechecked:
    """What a change's check says of it now."""

    prepared_call_id: str = field(description="The change's ID.")
    checked: dict[str, Any] | None = field(description="What the check answered.")


@dataclass(frozen=True)
class Kept:
    """A prepared change, as it is kept."""

    prepared_call_id: str = field(description="The change's ID.")
    revision: int = field(description="How often it was given arguments.")
    lapses_at: datetime = field(description="Until when it waits.")


@pages.page(
    "/inbox", levels=["read", "write"], params=WhichChanges, answers=Changes, title="Inbox", name="list_prepared_changes"
)
async def inbox(request: Request[WhichChanges]) -> Response:
    """List the prepared changes that wait: those you may make, and those you prepared. Or, with over, those that are over."""
    desk, asked = desk_of(request), request.params
    seen = await desk.preparing.listed(request.caller, waiting=not asked.over, before=_place(asked.before))
    onward = f"{seen[-1].change.prepared_at.isoformat()} {seen[-1].change.id}" if len(seen) == MOST_LISTED else ""
    news = await desk.preparing.news(request.caller, read=True)
    found = Changes([_row(request, each) for each in seen], [_news(each) for each in news], onward)
    return pages.answer(
        "inbox.html",
        found,
        over=asked.over,
        for_you=[each for each in found.changes if each.may_make],
        yours=[each for each in found.changes if not each.may_make],
        onward=request.path_for("/inbox", over="1" if asked.over else None, before=onward) if onward else "",
        said=_SAID,
        steps_said=_STEPS,
    )


@pages.route("/prepared", levels=["read", "write"], params=WhichChange, answers=OneChange, name="read_prepared_change")
async def prepared_change(request: Request[WhichChange]) -> Response:
    """Read a prepared change: what it would be called with, who prepared it and why, and what became of it."""
    desk = desk_of(request)
    seen = await desk.preparing.seen(request.caller, request.params.change)
    steps = await desk.store.run(lambda _: desk.preparing.steps(seen.change.id))
    found = OneChange(
        change=_row(request, seen),
        revision=seen.change.revision,
        arguments=json.loads(seen.change.arguments.json),
        made_with=None if seen.change.made_with is None else json.loads(seen.change.made_with),
        steps=[StepRow(each.what, each.at, each.by.display_name, each.by.client_name, each.reason) for each in steps],
    )
    return pages.answer(
        "prepared.html",
        found,
        found=found,
        plugin_name=seen.hosted.pages.name if seen.hosted is not None else seen.change.instance,
        kept_record=_record(seen, seen.change.arguments.json),
        kept_cells=_cells(seen.change.arguments.json),
        made_record=_record(seen, seen.change.made_with),
        made_cells=_cells(seen.change.made_with) if seen.change.state == "changed" else [],
        make_at=_make_at(request, seen),
        needs_another=seen.needs_another,
        said=_SAID,
        steps_said=_STEPS,
    )


@pages.route("/prepared/count", levels=["read", "write"], answers=Counted, name="count_prepared_changes", reads=True)
async def count(request: Request[Any]) -> Response:
    """Count the prepared changes that wait: for your person to make, and those they prepared."""
    preparing = desk_of(request).preparing
    seen = await preparing.listed(request.caller, waiting=True)
    unread = len(await preparing.news(request.caller, read=False))
    mine = sum(each.change.by.subject == request.caller.subject for each in seen)
    return pages.answer(None, Counted(sum(each.may_make for each in seen), mine, unread))


@pages.route(
    "/prepared/prepare",
    levels=["read", "write"],
    methods=["POST"],
    params=PrepareChange,
    answers=Kept,
    name="prepare_change",
    destructive=False,
    idempotent=True,
)
async def prepare_change(request: Request[PrepareChange]) -> Response:
    """Prepare an act instead of making it: its check is run, and the change is kept for a person to make on its own page.
    Preparing the same again while it waits answers with the one that waits."""
    asked = request.params
    change, new = await desk_of(request).preparing.prepare(request.caller, asked.tool, asked.arguments, asked.reason)
    begun = "It waits" if new else "The same change waits already, and this is it: it waits"
    detail = f"{begun} until {change.lapses_at:%Y-%m-%d} for somebody who may make it. Nothing was changed."
    return Answer("prepared-kept.html", _kept(change), {}, prepared=(change.id, detail))


@pages.route(
    "/prepared/amend",
    levels=["read", "write"],
    methods=["POST"],
    params=AmendChange,
    answers=Kept,
    name="amend_prepared_change",
    destructive=False,
)
async def amend(request: Request[AmendChange]) -> Response:
    """Give a change that your person prepared, and that waits, other arguments. They are checked as when it was prepared."""
    asked = request.params
    change = await desk_of(request).preparing.amend(request.caller, asked.change, asked.revision, asked.arguments, asked.reason)
    return pages.answer(None, _kept(change), location=address("/prepared", change=change.id))


@pages.route(
    "/prepared/recheck",
    levels=["read", "write"],
    methods=["POST"],
    params=WhichChange,
    answers=Rechecked,
    name="recheck_prepared_change",
    reads=True,
)
async def recheck(request: Request[WhichChange]) -> Response:
    """Check a prepared change again, as things are now. Changes nothing."""
    change, said = await desk_of(request).preparing.recheck(request.caller, request.params.change)
    return pages.answer(None, Rechecked(change.id, said if isinstance(said, dict) else None))


@pages.route(
    "/prepared/withdraw",
    levels=["read", "write"],
    methods=["POST"],
    params=EndChange,
    answers=Kept,
    name="withdraw_prepared_change",
)
async def withdraw(request: Request[EndChange]) -> Response:
    """Withdraw a change that your person prepared, so that nobody makes it."""
    change = await desk_of(request).preparing.withdraw(request.caller, request.params.change, request.params.reason)
    return pages.answer(None, _kept(change), location=address("/prepared", change=change.id))


@pages.route("/prepared/discard", levels=["read", "write"], methods=["POST"], params=EndChange, tool=False, why=_WHY)
async def discard(request: Request[EndChange]) -> Response:
    """Discard a change that one might have made."""
    change = await desk_of(request).preparing.discard(request.caller, request.params.change, request.params.reason)
    return pages.answer(None, None, location=address("/prepared", change=change.id))


@pages.route("/prepared/found", levels=["read", "write"], methods=["POST"], params=FoundOut, tool=False, why=_WHY)
async def found_out(request: Request[FoundOut]) -> Response:
    """Say of a change of which nobody knew whether it was made."""
    asked = request.params
    change = await desk_of(request).preparing.settle_unsure(request.caller, asked.change, was_made=asked.was_made)
    return pages.answer(None, None, location=address("/prepared", change=change.id))


def _row(request: Request[Any], seen: Seen) -> Row:
    change = seen.change
    return Row(
        prepared_call_id=change.id,
        tool=surface_name(change.instance, change.tool),
        title=change.tool if seen.tool is None else seen.tool.title,
        state=change.state,
        accounts=list(change.arguments.accounts),
        reason=change.reason,
        prepared_by=change.by.display_name or "",
        client=change.by.client_name,
        prepared_at=change.prepared_at,
        lapses_at=change.lapses_at,
        yours=change.by.subject == request.caller.subject,
        may_make=seen.may_make,
        settled_by=change.settled_by_name if change.settled_at else None,
        settled_at=change.settled_at,
    )


def _news(news: News) -> NewsRow:
    step, change = news.step, news.seen.change
    title = change.tool if news.seen.tool is None else news.seen.tool.title
    return NewsRow(change.id, title, step.what, step.at, step.by.display_name, step.by.client_name, step.reason)


def _record(seen: Seen, arguments: str | None) -> object:
    """The arguments as the act's record, to be drawn; None where they read so no longer, or lack what is secret."""
    shape = None if seen.tool is None else seen.tool.shape
    return None if shape is None or arguments is None else read_json(shape, arguments).record


def _cells(arguments: str | None) -> list[KeptCell]:
    """The same cell by cell, as they were kept."""
    return [] if arguments is None else [KeptCell(path, value) for path, value in pairs_in(json.loads(arguments))]


def _make_at(request: Request[Any], seen: Seen) -> str:
    """The address of the page where the change is made, opened from it; or by whoever amends it; empty where it is not to
    be made now, or by others."""
    if not (seen.holds and seen.change.waits and seen.hosted is not None and seen.tool is not None):
        return ""
    holdings = desk_of(request).preparing.holdings(request.caller, seen.hosted)
    level = opening(seen.tool, holdings)
    if level is None:
        return ""
    page = seen.tool.made_on or seen.tool.path
    return f"/{seen.hosted.name}/{BUTTON_OF[level]}{page}?{urlencode({PREPARED: seen.change.id})}"


def _kept(change: Change) -> Kept:
    return Kept(change.id, change.revision, change.lapses_at)


def _place(said: str) -> tuple[datetime, str] | None:
    at, _, last = said.partition(" ")
    try:
        return (datetime.fromisoformat(at), last) if last else None
    except ValueError:
        return None
