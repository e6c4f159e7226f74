"""A whole request beside a bare Starlette route, and drawn pages beside the same bytes from a plain Jinja template.

A request goes in process through guard, reader, view and answer, with a header that is signed for it alone. A plain template is
cut from what Meridian drew: its words are letters, and only what differs between two records, or two rows, is an expression.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from functools import partial
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jinja2
from starlette.applications import Starlette
from starlette.datastructures import Headers, QueryParams
from starlette.requests import Request as BareRequest
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

import meridian
from bench.corpus import filled, plain
from bench.records import Lot, M
from bench.timing import Case, times
from meridian.callers import Holding
from meridian.pages.assertion import Claims, digest, write
from meridian.pages.rendering import Kit, Surroundings
from meridian.pages.serving import Served
from meridian.pages.showing import by_thousands

__all__ = ["cases"]

Scope = dict[str, Any]
App = Callable[[Scope, Any, Any], Awaitable[None]]

KEY, DOOR_KEY = b"k" * 32, b"d" * 32
HEADERS, AGENTS = 500, 25
"""How many requests are signed beforehand, each for itself, and of how many people's agents."""

ACCOUNTS = meridian.Accounts.of(f"A-{n}" for n in range(100, 110))
CALLER = meridian.Caller(
    "P-1", "Ada Lovelace", "write", {"": Holding(frozenset({"read", "write"}), ACCOUNTS, meridian.Accounts.of(["A-100"]))}
)


def cases(short: bool) -> Iterator[Case]:
    """A request with the JSON of M, a page with a form of 40 rows, and one with a table of 200."""
    with TemporaryDirectory() as folder:
        for name, source in TEMPLATES.items():
            Path(folder, name).write_text(source, encoding="utf-8")
        pages = _pages(folder)

        sent = json.dumps(_without_none(plain(filled("M"))), separators=(",", ":")).encode()
        asked, bare = partial(_ask, _plugin(pages, sent), sent), partial(_ask, _bare(sent), sent)
        assert json.loads(asked())["data"] == json.loads(bare())
        yield Case("request M", "bare Starlette route", partial(times, asked, bare, short=short))

        for name, drawn, below in (("form page, 40 rows", *_form(pages, 40)), ("table page, 200 rows", *_table(pages, 200))):
            assert drawn() == below(), f"{name}: the plain template writes other bytes"
            yield Case(name, "plain Jinja template", partial(times, drawn, below, short=short))


def _pages(folder: str) -> meridian.Pages:
    pages = meridian.Pages("Operations", templates=folder)

    @pages.page("/", levels="write")
    async def opening(request: meridian.Request) -> meridian.Response:
        return pages.render("form.html")

    @pages.route("/record", levels="write", methods=["POST"], params=M, answers=M)
    async def record(request: meridian.Request[M]) -> meridian.Response:
        """Record an opening balance."""
        return pages.answer(None, request.params)

    return pages


# ── A request ──────────────────────────────────────────────────────────────


def _plugin(pages: meridian.Pages, sent: bytes) -> Callable[[], tuple[App, Scope]]:
    """The plugin's application, and the next request: a call of its tool, as the gateway signs it."""
    until = int(time.time()) + 3600
    agent = replace(CALLER, client_name="Claude", tool_name="record")
    agents = [replace(agent, subject=f"P-{n}", delegation_id=f"D-{n}") for n in range(AGENTS)]
    claims = Claims(CALLER, "operations", "POST", "/record", "", digest(sent), "", until, acts=True)
    headers = cycle(
        [write(replace(claims, caller=agents[n % AGENTS], call_id=f"C-{n}"), KEY, DOOR_KEY).encode() for n in range(HEADERS)]
    )
    app = Served(pages, instance="operations", key=KEY, plugin=None)
    return lambda: (app, _scope(sent, (b"meridian-caller", next(headers))))


def _bare(sent: bytes) -> Callable[[], tuple[App, Scope]]:
    async def record(request: BareRequest) -> Response:
        return JSONResponse(await request.json())

    app = Starlette(routes=[Route("/record", record, methods=["POST"])])
    return lambda: (app, _scope(sent))


def _scope(sent: bytes, *headers: tuple[bytes, bytes]) -> Scope:
    known = [(b"host", b"meridian.test"), (b"content-type", b"application/json"), (b"content-length", b"%d" % len(sent))]
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/record",
        "raw_path": b"/record",
        "query_string": b"",
        "root_path": "",
        "headers": [*known, *headers],
        "client": ("127.0.0.1", 50_000),
        "server": ("meridian.test", 80),
    }


def _ask(request: Callable[[], tuple[App, Scope]], sent: bytes) -> bytes:
    """The body of the answer. Nothing waits for anything here, so that no event loop is timed."""
    heard: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": sent, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        heard.append(message)

    app, scope = request()
    try:
        next(app(scope, receive, send).__await__())
    except StopIteration:
        start, *rest = heard
        assert start["status"] == 200, rest
        return b"".join(each["body"] for each in rest)
    raise RuntimeError("the application waits for something")


def _without_none(said: Any) -> Any:
    """JSON without what is left out, as an answer says it."""
    if isinstance(said, list):
        return [_without_none(each) for each in said]
    return {name: _without_none(each) for name, each in said.items() if each is not None} if isinstance(said, dict) else said


# ── A page ─────────────────────────────────────────────────────────────────

PAGE = '{% extends "meridian/base.html" %}{% block main %}<h1>Opening</h1>BODY{% endblock %}'
TEMPLATES = {
    "form.html": PAGE.replace("BODY", '{{ form("/record", start=record) }}'),
    "table.html": PAGE.replace("BODY", '{{ table(record.lots, caption="Lots") }}'),
}
FIGURE = (
    '<span class="fig">{% for each in by_thousands(VALUE) %}{% if loop.first %}{{ each }}{% else %}<span>{{ each }}</span>'
    "{% endif %}{% endfor %}</span>"
)
"""A figure with its thousands set apart, as the kit sets them."""

PAIR = tuple[Callable[[], str], Callable[[], str]]
TOKEN = "token"  # noqa: S105  any will do
SEED = M("SEED-A", "SEED-R", [Lot(Decimal("1111.5"), Decimal("2222.5"), date(1999, 9, 9))])
"""A record whose every value is found again in what is drawn of it."""


@dataclass
class _Blank:
    """A row that is drawn and was not filled in."""

    quantity = cost = acquired = ""


def _form(pages: meridian.Pages, rows: int) -> PAIR:
    """A page with the form of an M, by Meridian and by a plain template."""
    draw = partial(_draw, Kit(pages, Surroundings()), "form.html")
    html = draw(SEED)
    every = list(re.finditer(r'<tbody class="row".*?</tbody>', html, re.DOTALL))
    filled_in, spare = every[0], every[-2]  # the last one is the blank row for the script
    row = filled_in[0]
    for was, now in {
        "lots[0]": "lots[{{ n }}]",
        "Row 1": "Row {{ n + 1 }}",
        "</span>1<": "</span>{{ n + 1 }}<",
        " row 1<": " row {{ n + 1 }}<",
        "1111.5": "{{ lot.quantity }}",
        "2222.5": "{% if lot.cost is not none %}{{ lot.cost }}{% endif %}",
        "1999-09-09": "{% if lot.acquired is not none %}{{ lot.acquired }}{% endif %}",
    }.items():
        row = row.replace(was, now)
    row = re.sub(r' toolparamdescription="[^"]*"', r"{% if not n %}\g<0>{% endif %}", row)
    loop = "{% for lot in record.lots + blank %}{% set n = loop.index0 %}" + row + "{% endfor %}"
    source = html[: filled_in.start()] + loop + html[spare.end() :]
    for was, now in {
        "SEED-A": "{{ record.account }}",
        "SEED-R": "{{ record.reason }}",
        'data-next="3"': 'data-next="{{ record.lots | length + 2 }}"',
        _figure("1", "111.5"): FIGURE.replace("VALUE", 'record.lots | sum(attribute="quantity") | string'),
        _figure("2", "222.5"): FIGURE.replace("VALUE", 'record.lots | map(attribute="cost") | select | sum | string'),
    }.items():
        source = source.replace(was, now)
    template = _plain(source)
    record = filled("M", rows)
    return partial(draw, record), partial(template.render, record=record, csrf=TOKEN, blank=[_Blank(), _Blank()])


def _table(pages: meridian.Pages, rows: int) -> PAIR:
    """A page with a table of the lots of an M, by Meridian and by a plain template."""
    draw = partial(_draw, Kit(pages, Surroundings()), "table.html")
    html = draw(SEED)
    found = re.search(r"  <tbody>.*?</tbody>\n", html, re.DOTALL)
    assert found is not None
    row = found[0]
    for was, now in {
        _figure("1", "111.5"): FIGURE.replace("VALUE", "lot.quantity | string"),
        _figure("2", "222.5"): FIGURE.replace("VALUE", "lot.cost | string"),
        "1999-09-09": "{{ lot.acquired }}",
    }.items():
        row = row.replace(was, now)
    source = html[: found.start()] + "{% for lot in record.lots %}" + row + "{% endfor %}" + html[found.end() :]
    template = _plain(source)
    many = filled("M", 2 * rows)
    assert isinstance(many, M)
    record = replace(many, lots=[lot for lot in many.lots if lot.cost and lot.acquired][:rows])
    return partial(draw, record), partial(template.render, record=record)


def _draw(kit: Kit, template: str, record: object) -> str:
    nobody: Any = None
    request: meridian.Request = meridian.Request(
        method="GET", path="/", caller=CALLER, plugin=nobody, query=QueryParams(), headers=Headers()
    )
    return kit.draw(template, request, kit.pages.declared[0], TOKEN, {"record": record})


def _figure(first: str, second: str) -> str:
    return f'<span class="fig">{first}<span>{second}</span></span>'


def _plain(source: str) -> jinja2.Template:
    """A template of its own that escapes, as any of Jinja's does."""
    environment = jinja2.Environment(autoescape=True, keep_trailing_newline=True)
    environment.globals["by_thousands"] = by_thousands
    return environment.from_string(source.replace(f'value="{TOKEN}"', 'value="{{ csrf }}"'))
