"""Prepared changes in whatever order: prepared, amended, opened, made, ended, with crashes and clocks, beside a plain model.

One act for one prepared change, with the values that a page showed or its maker wrote there, by whoever began to make it; the
states and what the book took agree at every step. A crash is a call that nobody settles, before its command or after it.
"""

from __future__ import annotations

import atexit
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from tempfile import TemporaryDirectory

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from meridian.deployment import prepared
from meridian.deployment.app import utc_now
from meridian.deployment.prepared import Arguments, By, Making
from meridian.deployment.store import Store
from meridian.errors import Refusal

PEOPLE = ("first", "second")
VALUES = st.sampled_from([0, 1, 2])
WHO = st.sampled_from(PEOPLE)
LASTS = timedelta(minutes=1)
AFTER = st.sampled_from([timedelta(0)] * 4 + [timedelta(minutes=2), timedelta(days=15)])
"""How long it is until a page that is open is saved; nobody looked at the changes meanwhile."""
OVER = ("made", "changed", "discarded", "withdrawn", "lapsed")


@dataclass
class Kept:
    """A change, as it is expected to be."""

    values: int
    lapses: datetime
    state: str = "prepared"
    revision: int = 1
    calls: list[str] = field(default_factory=list)
    """Every call that began to make it; the last one is the one that may."""
    maker: str = ""
    makes: int = -1
    until: datetime | None = None
    commanded: bool = False
    pages: list[tuple[str, int, int]] = field(default_factory=list)
    """Who opened its page, at which revision, showing what."""


@cache
def a_store() -> Store:
    """One store for all runs, each of which has an act of its own."""
    folder = TemporaryDirectory()
    store = Store(f"sqlite:///{folder.name}/kept.db")
    atexit.register(folder.cleanup)
    atexit.register(store.close)
    return store


class Changes(RuleBasedStateMachine):
    """The changes of one act."""

    now = utc_now()
    acts = 0

    def __init__(self) -> None:
        super().__init__()
        self.store = a_store()
        Changes.acts += 1
        self.act = f"act-{Changes.acts}"
        self.kept: dict[str, Kept] = {}
        self.book: list[tuple[str, str, int]] = []
        self.calls = 0

    def teardown(self) -> None:
        Changes.now = self.now

    def waiting(self, values: int) -> str | None:
        self.sweep()
        found = [id_ for id_, each in self.kept.items() if each.values == values and each.state in ("prepared", "making")]
        return found[0] if found else None

    def sweep(self) -> None:
        """What the clock alone does."""
        for each in self.kept.values():
            if each.state == "prepared" and each.lapses <= self.now:
                each.state = "lapsed"
            elif each.state == "making" and each.until is not None and each.until <= self.now:
                each.state = self.made(each) if each.commanded else "unsure"

    def made(self, each: Kept) -> str:
        return "made" if each.makes == each.values else "changed"

    def some(self, data: st.DataObject, *states: str) -> tuple[str, Kept]:
        return data.draw(
            st.sampled_from([(id_, each) for id_, each in self.kept.items() if not states or each.state in states])
        )

    def tries(self, work) -> str | None:
        """The reason that it is refused for; None where it is done."""
        try:
            self.store.rewrite(work, lasting=False)
        except Refusal as no:
            return no.reason
        return None

    # Preparing

    @rule(who=WHO, values=VALUES)
    def prepare(self, who: str, values: int) -> None:
        change, new = self.store.rewrite(
            lambda to: prepared.keep(to, "desk", self.act, said(values), by=By(who, who), reason="", now=self.now),
            lasting=False,
        )
        there = self.waiting(values)
        assert (new, change.id == there) == (there is None, there is not None)
        if new:
            self.kept[change.id] = Kept(values, change.lapses_at)

    @precondition(lambda self: self.kept)
    @rule(who=WHO, values=VALUES, data=st.data(), behind=st.booleans())
    def amend(self, who: str, values: int, data: st.DataObject, behind: bool) -> None:
        id_, each = self.some(data)
        revision = each.revision - behind
        taken = self.waiting(values)
        came = self.tries(lambda to: prepared.amend(to, id_, revision, said(values), by=By(who, who), now=self.now))
        if each.state != "prepared":
            assert came == each.state
        elif behind:
            assert came == "changed_since"
        elif values == each.values:
            assert came is None
        elif taken is not None:
            assert came == "prepared_already"
        else:
            assert came is None
            each.values, each.revision = values, each.revision + 1

    # Making

    @precondition(lambda self: any(each.state == "prepared" for each in self.kept.values()))
    @rule(who=WHO, data=st.data())
    def open_its_page(self, who: str, data: st.DataObject) -> None:
        self.sweep()
        _, each = self.some(data)
        if each.state == "prepared":
            each.pages.append((who, each.revision, each.values))

    @precondition(lambda self: any(each.pages for each in self.kept.values()))
    @rule(who=WHO, values=VALUES, data=st.data())
    def amend_what_is_open(self, who: str, values: int, data: st.DataObject) -> None:
        """So that pages of before are there to be saved."""
        opened = [(id_, each) for id_, each in self.kept.items() if each.pages]
        id_, each = data.draw(st.sampled_from(opened))
        taken = self.waiting(values)
        if each.state == "prepared" and taken is None:
            self.store.rewrite(lambda to: prepared.amend(to, id_, each.revision, said(values), by=By(who, who), now=self.now))
            each.values, each.revision = values, each.revision + 1

    @precondition(lambda self: any(each.pages for each in self.kept.values()))
    @rule(data=st.data(), alters=st.none() | VALUES, after=AFTER)
    def save_it(self, data: st.DataObject, alters: int | None, after: timedelta) -> None:
        """A page that was left open: of a change that waits, and showing what was prepared before, where there is one."""
        opened = [(id_, each) for id_, each in self.kept.items() if each.pages]
        id_, each = data.draw(st.sampled_from([two for two in opened if two[1].state == "prepared"] or opened))
        behind = [page for page in each.pages if page[1] != each.revision]
        page = data.draw(st.sampled_from(behind or each.pages))
        self.now += after
        self.saves(id_, each, page, alters)

    @precondition(lambda self: any(each.state == "prepared" for each in self.kept.values()))
    @rule(who=WHO, data=st.data(), alters=st.none() | VALUES, after=AFTER)
    def open_its_page_and_save_it(self, who: str, data: st.DataObject, alters: int | None, after: timedelta) -> None:
        id_, each = self.some(data, "prepared")
        self.now += after
        self.saves(id_, each, (who, each.revision, each.values), alters)

    def saves(self, id_: str, each: Kept, page: tuple[str, int, int], alters: int | None) -> None:
        who, revision, shown = page
        makes = shown if alters is None else alters
        self.calls += 1
        call, until = f"C-{self.act}-{self.calls}", self.now + LASTS
        making = Making(id_, revision, said(makes))
        came = self.tries(lambda to: prepared.begin(to, making, call=call, until=until, by=By(who, who), now=self.now))
        self.sweep()
        if each.state != "prepared":
            assert came == each.state
        elif revision != each.revision:
            assert came == "changed_since"
        else:
            assert came is None
            each.state, each.maker, each.makes, each.until, each.commanded = "making", who, makes, until, False
            each.calls.append(call)

    @precondition(lambda self: any(each.calls for each in self.kept.values()))
    @rule(data=st.data())
    def send_a_command(self, data: st.DataObject) -> None:
        """By the call that makes it, or by one of before that goes on."""
        id_, each, call = self.called(data)
        came = self.tries(lambda to: prepared.command(to, id_, call=call, now=self.now))
        if each.state == "making" and call == each.calls[-1] and not each.commanded:
            assert came is None
            each.commanded = True
            self.book.append((id_, each.maker, each.makes))
        else:
            assert came == "made_already"

    @precondition(lambda self: any(each.calls for each in self.kept.values()))
    @rule(data=st.data(), outcome=st.sampled_from(["made", "unchanged", "refused", None]))
    def its_plugin_answers(self, data: st.DataObject, outcome: str | None) -> None:
        """To the call that makes it; what is answered to one of before settles nothing."""
        id_, each, call = self.called(data)
        self.tries(
            lambda to: prepared.settle(to, id_, call=call, outcome=outcome, sure=outcome is not None, reason=None, now=self.now)
        )
        if each.state != "making" or call != each.calls[-1]:
            return
        if each.commanded or outcome in ("made", "unchanged"):
            each.state = self.made(each)
        else:
            each.state = "unsure" if outcome is None else "prepared"

    def called(self, data: st.DataObject) -> tuple[str, Kept, str]:
        """A change that was begun to be made, one of those that are being made where there are, and a call of it."""
        begun = [(id_, each) for id_, each in self.kept.items() if each.calls]
        id_, each = data.draw(st.sampled_from([two for two in begun if two[1].state == "making"] or begun))
        return id_, each, data.draw(st.sampled_from(each.calls))

    @precondition(lambda self: any(each.state == "unsure" for each in self.kept.values()))
    @rule(who=WHO, data=st.data(), was_made=st.booleans())
    def somebody_finds_out(self, who: str, data: st.DataObject, was_made: bool) -> None:
        id_, each = self.some(data, "unsure")
        taken = self.waiting(each.values)
        came = self.tries(lambda to: prepared.settle_unsure(to, id_, was_made=was_made, by=By(who, who), now=self.now))
        if was_made:
            assert came is None
            each.state = self.made(each)
        elif taken is not None:
            assert came == "prepared_already"
        else:
            assert came is None
            each.state, each.lapses = "prepared", max(each.lapses, self.now + timedelta(days=1))

    # Ending

    @precondition(lambda self: self.kept)
    @rule(who=WHO, data=st.data(), ends=st.sampled_from(["discarded", "withdrawn"]))
    def end_it(self, who: str, data: st.DataObject, ends: str) -> None:
        id_, each = self.some(data)
        end = prepared.discard if ends == "discarded" else prepared.withdraw
        came = self.tries(lambda to: end(to, id_, by=By(who, who), now=self.now))
        self.sweep()
        if each.state == "prepared" or (each.state == "unsure" and ends == "discarded"):
            assert came is None
            each.state = ends
        else:
            assert came == each.state

    @rule(later=st.sampled_from([timedelta(seconds=20), timedelta(minutes=2), timedelta(days=8)]))
    def time_passes(self, later: timedelta) -> None:
        self.now += later
        prepared.tidy(self.store, self.now)
        self.sweep()

    # At every step

    @invariant()
    def the_states_and_the_book_agree(self) -> None:
        self.sweep()
        prepared.tidy(self.store, self.now)
        for id_, each in self.kept.items():
            with self.store.read() as connection:
                change = prepared.find(connection, id_)
            assert (change.state, change.revision, change.arguments.alike) == (
                each.state,
                each.revision,
                said(each.values).alike,
            )
            took = [(maker, values) for of, maker, values in self.book if of == id_]
            assert len(took) <= 1, "one act for one prepared change"
            if took and each.state in OVER:
                assert each.state in ("made", "changed"), "what the book took is never said to be ended otherwise"
                assert (change.settled_by, change.made_with) == (took[0][0], said(took[0][1]).json), "by whom, and with what"


def said(values: int) -> Arguments:
    return Arguments(f'{{"amount": {values}}}', f"{values}" * 64, ("A-1",))


TestChanges = Changes.TestCase
TestChanges.settings = settings(stateful_step_count=50, max_examples=max(200, settings().max_examples))
