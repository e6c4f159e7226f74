"""Plugins asked as a deployment asks them: real requests, signed, through the same guard.

A plugin's pages, what stands for its deployment, and what a person of the test holds enter; what that person is answered
leaves, as a browser or as an agent. Nothing of the plugin is replaced: bytes go in at its ASGI application and come out of it.
"""

from __future__ import annotations

import difflib
import html
import json
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, is_dataclass, replace
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, Final, Literal, Self, TypeAlias
from urllib.parse import quote, unquote, urlencode, urljoin, urlsplit

from meridian.callers import LEVELS, Accounts, Caller, Holding, Holdings, Level, Role, cut
from meridian.pages import Declaration, Pages, Plugin, Prepared, Tool, assertion
from meridian.pages.answering import refused
from meridian.pages.assertion import Claims
from meridian.pages.guarding import not_reached, opening, serves
from meridian.pages.rendering import Surroundings
from meridian.pages.serving import Served
from meridian.records import DateTime, Rows, Shape, read_value, write_json
from meridian.testing.answers import Answered, AnsweredHeaders, ToolAnswered
from meridian.testing.asgi import ask, running
from meridian.testing.bodies import FormData, Uploads, multipart, pairs_of, urlencoded
from meridian.testing.book import DEPLOYMENT_KEY, InMemoryBook
from meridian.testing.forms import Control, Form, Sent

__all__ = ["Held", "PageClient"]

Held: TypeAlias = Accounts | Iterable[str] | Mapping[Role, Accounts | Iterable[str]]
"""The accounts something is held on: their ids, `Accounts(all=True)` for every account, or either by role."""

BUTTONS: Final[Mapping[Level, str]] = {"read": "view", "write": "open", "admin": "manage"}
SAFE_METHODS: Final = frozenset({"GET", "HEAD"})
CALL_SECONDS: Final = 120
JSON: Final = "application/json"
HTML: Final = "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"
EVERY_SET: Final = 10**9


class PageClient:
    """A person who asks a plugin's pages, in a browser and through an agent.

    `plugin` is what views meet as `request.plugin`: a `book(accounts=…)`, or anything with the methods they call. `write` and
    `read` name the accounts the person may write and read, on each of `roles` (all of the plugin's where none are named), or
    by role: `write={"operations": {"ACC-1"}}`. Where neither names one, the person holds both levels and reaches no account.
    They hold `admin` too, which reaches none, unless it is False, or on the roles alone that it names. As a context manager it
    runs the plugin's lifespan around the block. `prepared` is a change that every page is opened from; `second_pair_of_eyes`
    name the acts that need one from this person. `clock` tells the time, aware and in UTC.

    >>> from meridian import Pages
    >>> from meridian.testing import PageClient
    >>> pages = Pages("Desk")
    >>> @pages.route("/", levels="read")
    ... async def hello(request):
    ...     return pages.answer(None, {"hello": request.caller.display_name})
    >>> client = PageClient(pages, plugin=None, display_name="Ada")
    >>> client.request("GET", "/", "read", headers={"accept": "application/json"}).json["data"]
    {'hello': 'Ada'}
    """

    def __init__(
        self,
        pages: Pages,
        plugin: object,
        *,
        read: Held | None = None,
        write: Held | None = None,
        roles: Role | Iterable[Role] | None = None,
        admin: bool | Iterable[Role] = True,
        deployment_admin: bool = False,
        subject: str = "person",
        display_name: str = "A Person",
        delegation_id: str = "D-1",
        client_name: str = "An agent",
        settings: object = None,
        instance: str = "plugin",
        prepared: Prepared | None = None,
        second_pair_of_eyes: Iterable[str] = (),
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.pages = pages
        self.instance = instance
        self.subject = subject
        self.display_name = display_name
        self.deployment_admin = deployment_admin
        self.delegation_id = delegation_id
        self.client_name = client_name
        self.holdings: Holdings = _holdings(pages, read, write, roles, admin)
        self.instance_key = f"the key of {instance}, that only tests know".encode()
        self.deployment_key = plugin.deployment_key if isinstance(plugin, InMemoryBook) else DEPLOYMENT_KEY
        self._book = plugin if isinstance(plugin, InMemoryBook) else None
        self.prepared_changes: list[Prepared] = []
        self._prepared = prepared
        self._second_pair = tuple(second_pair_of_eyes)
        if prepared is not None:
            if self._book is None:
                raise TypeError("a page is opened from a prepared change through the door of a book: give book() as the plugin")
            self._book.keep_prepared(prepared)
        self._clock = clock
        self.plugin: Any = _standing_in(plugin, pages, instance, settings)
        self.served = Served(
            pages,
            instance=instance,
            key=self.instance_key,
            plugin=self.plugin,
            surroundings=Surroundings(),
            clock=lambda: clock().timestamp(),
        )
        self._running = ExitStack()

    def __enter__(self) -> Self:
        self._running.enter_context(running(self.served))
        return self

    def __exit__(self, *raised: object) -> None:
        self._running.close()

    # ── As a browser ───────────────────────────────────────────────────────

    def get(self, path: str, level: Level | None = None, *, query: FormData = None) -> Answered:
        """Ask for `path`, with `query` behind it, in a session at `level`: the highest that is served there and held where none
        is named."""
        said = urlencode(pairs_of(query))
        asked = path + (f"{'&' if '?' in path else '?'}{said}" if said else "")
        return self.request("GET", asked, level, headers={"accept": HTML})

    def post(
        self,
        path: str,
        level: Level | None = None,
        form: FormData = None,
        *,
        files: Uploads | None = None,
        method: str = "POST",
    ) -> Answered:
        """Post `form` as the page's own form would be: with its token, and as multipart where there are `files`."""
        level = level or self._level(path, method)
        pairs = [*pairs_of(form), ("csrf", self.form_token(level))]
        headers = {"accept": HTML, "sec-fetch-site": "same-origin"}
        return self.request(method, path, level, form=pairs, files=files, headers=headers)

    def request(
        self,
        method: str,
        path: str,
        level: Level | None = None,
        *,
        form: FormData = None,
        files: Uploads | None = None,
        body: bytes | None = None,
        content_type: str | None = None,
        headers: Mapping[str, str | None] | None = None,
    ) -> Answered:
        """Ask with exactly this: a form without a token, or a `body` as it is. Nothing is added but the signed header that the
        gateway writes; one named in `headers` is sent in its place, or left out where it is None."""
        level = level or self._level(path, method)
        if body is None:
            body, kind = self._body(form, files)
        elif form is not None or files is not None:
            raise TypeError("a request has a form or a body as it is, not both")
        else:
            kind = None
        own, query = self._split(path)
        sent: dict[str, str | None] = {}
        if content_type or kind:
            sent["content-type"] = content_type or kind
        sent |= {name.lower(): value for name, value in (headers or {}).items()}
        caller = self.caller(level, method=method, path=own, query=query, body=body)
        sent.setdefault(assertion.HEADER.lower(), caller.header)
        prefix = self._prefix(level)
        with self._open(caller) as call_id:
            heard = ask(
                self.served,
                method=method,
                path=own,
                query=query,
                headers=[(name, value) for name, value in sent.items() if value is not None],
                body=body,
                root_path=prefix,
            )
        vouched = next((value for name, value in heard.headers if name == assertion.OUTCOME_HEADER.lower()), "")
        outcome = assertion.read_outcome(vouched, self.instance_key, call_id)
        kept = tuple((name, value) for name, value in heard.headers if name != assertion.OUTCOME_HEADER.lower())
        return Answered(
            replace(heard, headers=kept),
            level,
            path,
            outcome=outcome.outcome if outcome else None,
            reason=outcome.reason if outcome else None,
            prefix=prefix,
            get=self.get,
            send=self._send,
        )

    def forms(self, path: str, level: Level | None = None) -> list[Form[Answered]]:
        """The forms that the page at `path` draws, to be filled in and submitted as a person would without scripts. Raises
        LookupError where no page is drawn there, with what was answered."""
        drawn = self.get(path, level)
        if drawn.status >= HTTPStatus.BAD_REQUEST and drawn.status != HTTPStatus.UNPROCESSABLE_ENTITY:
            raise LookupError(f"GET {path} at {drawn.level} answered {drawn.status} and no page with forms: {_why(drawn)}")
        if drawn.location is not None:
            raise LookupError(f"GET {path} at {drawn.level} leads on to {drawn.location}; ask for the forms of that page")
        return drawn.forms

    def form_token(self, level: Level) -> str:
        """The token of this person's forms at `level`."""
        return assertion.form_token(self.instance_key, self.subject, self.instance, level, prepared=self._shows)

    @property
    def _shows(self) -> tuple[str, int] | None:
        return None if self._prepared is None else (self._prepared.prepared_call_id, 1)

    # ── As an agent ────────────────────────────────────────────────────────

    def tool(self, name: str) -> Tool:
        """The tool `name`, as it was derived. Raises LookupError with the near name, or why it is not offered."""
        for tool in self.pages.tools:
            if tool.name == name:
                return tool
        for declaration, why in self.pages.not_offered:
            if name == declaration.name:
                raise LookupError(f"{declaration} offers agents no tool{f': {why}' if why else '; it declares no record'}")
        names = [tool.name for tool in self.pages.tools]
        near = difflib.get_close_matches(name, names, 1)
        raise LookupError(
            f"no tool is named {name!r}; "
            + (f"did you mean {near[0]}?" if near else f"there is {', '.join(names)}" if names else "these pages offer none")
        )

    def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | object = None,
        *,
        level: Level | None = None,
        roles: Role | Iterable[Role] | None = None,
        body: bytes | None = None,
    ) -> ToolAnswered:
        """Call the tool `name` as the surface does, and see its outcome.

        The call opens at the highest level the tool serves that the person holds (write, then read, then admin) unless `level`
        names one; `roles` narrows the session to some of theirs. `arguments` are JSON values, or a record; `body` sends bytes
        as they are. A tool the person does not reach is refused as the surface refuses it, with the status 403.
        """
        tool = self.tool(name)
        held = self._narrowed(roles)
        opened = level or opening(tool, held)
        if opened is None:
            return ToolAnswered(403, refused("not_served", not_reached(name, tool, held)), None, AnsweredHeaders(()))
        if body is None:
            body = _json_of(arguments)
        elif arguments is not None:
            raise TypeError("a call has arguments or a body as it is, not both")
        caller = self.caller(opened, roles=roles, method=tool.method, path=tool.path, body=body, tool=name)
        headers = [("content-type", JSON), ("accept", JSON), (assertion.HEADER, caller.header)]
        with self._open(caller):
            heard = ask(self.served, method=tool.method, path=tool.path, headers=headers, body=body)
        answered = heard.body.decode("utf-8", "replace")
        is_json = any(name == "content-type" and value.startswith(JSON) for name, value in heard.headers)
        said = json.loads(answered) if is_json else answered
        return ToolAnswered(heard.status, said, opened, AnsweredHeaders(heard.headers))

    def prepare_tool(
        self, name: str, arguments: Mapping[str, Any] | object = None, *, reason: str = "", level: Level | None = None
    ) -> ToolAnswered:
        """Prepare the act `name` instead of making it, as the surface does: its check runs with this person's claims.

        Answers `prepared`, and the change is the last of `prepared_changes`, for another client's `prepared=`; or what the
        check refuses.
        """
        tool, body = self.tool(name), _json_of(arguments)
        opened = level or opening(tool, self.holdings)
        if opened is None:
            return ToolAnswered(403, refused("not_served", not_reached(name, tool, self.holdings)), None, AnsweredHeaders(()))
        caller = self.caller(opened, method=tool.method, path=tool.path, body=body, tool=name, acts=False, only="check")
        headers = [("content-type", JSON), ("accept", JSON), (assertion.HEADER, caller.header)]
        with self._open(caller):
            heard = ask(self.served, method=tool.method, path=tool.path, headers=headers, body=body)
        said = json.loads(heard.body)
        if "record" in said:
            change = Prepared(
                prepared_call_id=f"PC-{len(self.prepared_changes) + 1}",
                arguments_json=json.dumps(said["record"]),
                prepared_by_display_name=self.display_name,
                reason=reason,
                tool_name=name,
                prepared_by=self.subject,
                client_name=self.client_name,
                prepared_at=self._clock(),
            )
            self.prepared_changes.append(change)
            said = {"outcome": "prepared", "prepared_call_id": change.prepared_call_id, "detail": "It waits to be made."}
        return ToolAnswered(heard.status, said, opened, AnsweredHeaders(heard.headers))

    # ── Who asks ───────────────────────────────────────────────────────────

    @property
    def caller(self) -> _Person:
        """The person in a session at the highest level they hold; called, in another: `caller("read", roles=["custody"])`."""
        held = {level for holding in self.holdings.values() for level in holding.levels}
        return self._caller(next((level for level in LEVELS if level in held), "read"))

    def _caller(
        self,
        level: Level,
        *,
        roles: Role | Iterable[Role] | None = None,
        method: str = "POST",
        path: str = "/",
        query: str = "",
        body: bytes = b"",
        tool: str | None = None,
        acts: bool | None = None,
        only: assertion.Only | None = None,
        seconds: int = CALL_SECONDS,
    ) -> _Person:
        if level not in LEVELS:
            raise ValueError(f"{level!r} is no level; a session is at read, write or admin")
        declaration = self._at(path, method) if tool is None else next(
            each for each in self.pages.declared if each.offered and each.name == tool
        )  # fmt: skip
        if acts is None:
            acts = method not in SAFE_METHODS and not (declaration is not None and declaration.reads)
        carried = cut(self._narrowed(roles), level)
        if not any(level in held.levels for held in carried.values()):
            carried = {}  # no session opens at a level that is not held: it carries nothing, and the guard says so
        caller = _Person(
            subject=self.subject,
            display_name=self.display_name,
            level=level,
            holdings=carried,
            deployment_admin=self.deployment_admin,
            delegation_id=None if tool is None else self.delegation_id,
            client_name=None if tool is None else self.client_name,
            tool_name=tool,
            prepared_call_id=self._made_by(declaration, acts) if tool is None else None,
            session=self._caller,
        )
        claims = Claims(
            caller=caller,
            instance=self.instance,
            method=method,
            path=path,
            query=query,
            body_sha256=assertion.digest(body),
            call_id=f"C-{secrets.token_hex(8)}",
            expires_at=int(self._clock().timestamp()) + seconds,
            acts=acts,
            only=only,
            shows=self._shows if tool is None else None,
            second_pair=self._second_pair if tool is None else (),
        )
        return replace(caller, header=self._sign(claims), call_id=claims.call_id)

    def _made_by(self, declaration: Declaration | None, acts: bool) -> str | None:
        """The prepared change that an act makes, where the page was opened from one of it."""
        prepared = self._prepared
        makes = acts and prepared is not None and declaration is not None and declaration.name == prepared.tool_name
        return prepared.prepared_call_id if makes and prepared is not None else None

    def _sign(self, claims: Claims) -> str:
        listed = assertion.LISTED_ACCOUNTS if self._book is not None else EVERY_SET
        if self._book is not None:
            for holding in claims.caller.holdings.values():
                self._book.keep_accounts(holding.read.ids)
                self._book.keep_accounts(holding.write.ids)
        return assertion.write(claims, self.instance_key, self.deployment_key, listed_accounts=listed)

    def _narrowed(self, roles: Role | Iterable[Role] | None) -> Holdings:
        if roles is None:
            return self.holdings
        named = _roles(self.pages, roles)
        return {role: held for role, held in self.holdings.items() if role in named}

    @contextmanager
    def _open(self, caller: _Person) -> Iterator[str]:
        """The id of the caller's call, which a book takes commands for while the block lasts."""
        try:
            yield caller.call_id
        finally:
            if self._book is not None:
                self._book.close_call(caller.call_id)

    # ── Every page ─────────────────────────────────────────────────────────

    def every_page(self) -> tuple[Answered, ...]:
        """Every page, asked without a query, once at each level that it serves and the person holds."""
        return tuple(self.get(each.path, level) for each, level in self._each("page"))

    def assert_no_account_data(self, *held: str) -> None:
        """Hold every page and route that is served at admin, and every read tool that is, to showing none of `held`: ids, names
        or figures of accounts. Without any, the ids this person reaches are meant. Asked as this person would be if they held
        admin on every role. Raises AssertionError that says where it stands."""
        wanted = held or tuple(sorted({each for holding in self.holdings.values() for each in holding.read.ids}))
        if not wanted:
            raise ValueError(
                "name what must not be shown, like assert_no_account_data('ACC-1'); this person reaches no account"
            )
        whole = [(each, re.compile(rf"(?<![\w-]){re.escape(each)}(?![\w-])")) for each in wanted]
        asker = self._at_admin()
        for declaration in self.pages.declared:
            if "admin" not in declaration.levels:
                continue
            shown: list[tuple[str, str]] = []
            if declaration.kind != "tool" and "GET" in declaration.methods:
                shown.append((f"GET {declaration.path}", html.unescape(asker.get(declaration.path, "admin").text)))
            if declaration.offered and declaration.reads:
                said = asker.call_tool(declaration.name, level="admin").json
                shown.append((f"the tool {declaration.name}", json.dumps(said, ensure_ascii=False)))
            for where, text in shown:
                for each, pattern in whole:
                    found = pattern.search(text)
                    if found:
                        around = " ".join(text[max(found.start() - 60, 0) : found.end() + 60].split())
                        raise AssertionError(f"{where} shows {each} at admin, which reaches no account: …{around}…")

    def assert_inputs_are_paths(self, *paths: str, besides: Iterable[str] = ()) -> None:
        """Hold the forms of every page, or of those at `paths`, to inputs that are paths of the record their route takes.
        The kit's own names, files and buttons are no fields; `besides` names what is none either. Raises AssertionError that
        names every input that nobody would read."""
        allowed = frozenset(besides)
        pages = [self.get(path) for path in paths] if paths else self.every_page()
        strays = list(
            dict.fromkeys(stray for page in pages for form in page.forms for stray in self._strays(page, form, allowed))
        )
        if strays:
            raise AssertionError("\n".join(strays))

    def _strays(self, page: Answered, form: Form[Answered], allowed: frozenset[str]) -> Iterator[str]:
        own, _ = self._split(self._own_path(page.path, page.level, form.action))
        route = self._at(own, form.method.upper())
        if route is None:
            yield f"{page.path}: a form is sent to {form.method.upper()} {own}, where nothing is declared"
            return
        for control in form.controls:
            if control.name not in allowed and not _is_path(route.shape, control):
                record = route.shape.name if route.shape else "no record"
                yield f"{page.path}: the input {control.name!r} is no path of what {route} takes, {record}"

    def _each(self, kind: Literal["page"]) -> Iterator[tuple[Declaration, Level]]:
        for declaration in self.pages.declared:
            if declaration.kind == kind:
                for level in declaration.levels:
                    if serves(declaration, self.caller(level)):
                        yield declaration, level

    def _at_admin(self) -> PageClient:
        """The same person, holding admin on every role as well."""
        other = PageClient.__new__(PageClient)
        other.__dict__ |= self.__dict__
        roles = self.pages.roles or ("",)
        admin = Holding(frozenset({"admin"}))
        other.holdings = {role: self.holdings.get(role, Holding()) | admin for role in roles}
        return other

    # ── The way there ──────────────────────────────────────────────────────

    def _send(self, page: str, level: Level, sent: Sent) -> Answered:
        """What a browser does with a form of `page`."""
        target = self._own_path(page, level, sent.action)
        if sent.method == "GET":
            query = urlencode(sent.pairs)
            return self.get(target.partition("?")[0] + (f"?{query}" if query else ""), level)
        headers = {"accept": HTML, "sec-fetch-site": "same-origin"}
        files = sent.files if sent.multipart else None
        pairs = sent.pairs if sent.multipart else [*sent.pairs, *((name, "") for name in sent.files)]
        return self.request(sent.method, target, level, form=pairs, files=files, headers=headers)

    def _own_path(self, page: str, level: Level, address: str) -> str:
        """The plugin's own path of an `address` written in `page`."""
        prefix = self._prefix(level)
        whole = urlsplit(urljoin(f"http://meridian.test{prefix}{page}", address))
        if whole.netloc != "meridian.test" or not whole.path.startswith(f"{prefix}/"):
            raise ValueError(
                f"{page} leads to {address!r}, which is no address of this plugin; write it with path({address!r})"
            )
        own = whole.path[len(prefix) :]
        return own + (f"?{whole.query}" if whole.query else "")

    def _prefix(self, level: Level) -> str:
        return f"/{self.instance}/{BUTTONS[level]}"

    def _level(self, path: str, method: str) -> Level:
        """The level of a session that is not named: the highest that is served there and held, else the highest served."""
        declaration = self._at(self._split(path)[0], method)
        if declaration is None:
            return self.caller.level
        return next((each for each in declaration.levels if serves(declaration, self.caller(each))), declaration.levels[0])

    def _at(self, path: str, method: str) -> Declaration | None:
        wanted = "GET" if method == "HEAD" else method
        for each in self.pages.declared:
            if each.kind != "tool" and each.path == path and wanted in each.methods:
                return each
        return None

    @staticmethod
    def _split(path: str) -> tuple[str, str]:
        own, _, query = path.partition("?")
        return unquote(own), "".join(each if each.isascii() else quote(each) for each in query)

    @staticmethod
    def _body(form: FormData, files: Uploads | None) -> tuple[bytes, str | None]:
        if files is not None:
            return multipart(pairs_of(form), files)
        return (b"", None) if form is None else urlencoded(pairs_of(form))


@dataclass(frozen=True)
class _Person(Caller):
    """The caller of a client's sessions; called, the same one in a session at another level, or narrowed to some roles."""

    call_id: str = field(default="", repr=False, compare=False)
    session: Callable[..., _Person] | None = field(default=None, repr=False, compare=False)

    def __call__(self, level: Level | None = None, **session: Any) -> _Person:
        """The person in a session at `level`, `roles=` narrowing it. `header` is signed for a POST to "/" unless `method=`,
        `path=`, `query=` and `body=` say otherwise."""
        if self.session is None:
            raise TypeError("this caller was not made by a client")
        return self.session(level or self.level, **session)


class _Settled:
    """A stand-in for the deployment, with the settings it lacks."""

    def __init__(self, plugin: object, instance: str, settings: object) -> None:
        self._plugin = plugin
        self.instance = instance
        self.settings = settings

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plugin, name)


def _standing_in(plugin: object, pages: Pages, instance: str, settings: object) -> object:
    """What views meet as `request.plugin`: before a book, the same handle as in a deployment."""
    if settings is None and pages.settings is not None:
        settings = read_value(pages.settings, {}).record
    if isinstance(plugin, InMemoryBook):
        return Plugin(instance, plugin, settings)
    return plugin if settings is None or hasattr(plugin, "settings") else _Settled(plugin, instance, settings)


def _holdings(
    pages: Pages,
    read: Held | None,
    write: Held | None,
    roles: Role | Iterable[Role] | None,
    admin: bool | Iterable[Role],
) -> Holdings:
    named = _roles(pages, roles)
    may_read, may_write = _by_role(pages, named, "read", read), _by_role(pages, named, "write", write)
    if not may_read and not may_write:
        may_read, may_write = dict.fromkeys(named, Accounts()), dict.fromkeys(named, Accounts())
    admins = (named if admin else ()) if isinstance(admin, bool) else _roles(pages, admin)
    held: dict[Role, Holding] = {}
    for role in pages.roles or ("",):
        holding = Holding()
        if role in may_read:
            holding |= Holding(frozenset({"read"}), may_read[role])
        if role in may_write:
            holding |= Holding(frozenset({"write", "read"}), may_write[role], may_write[role])
        if role in admins:
            holding |= Holding(frozenset({"admin"}))
        if holding.levels:
            held[role] = holding
    return held


def _by_role(pages: Pages, named: Sequence[Role], word: str, held: Held | None) -> dict[Role, Accounts]:
    if isinstance(held, str):
        raise TypeError(f"{word} is the text {held!r}; write {word}={{{held!r}}}")
    if held is None:
        return {}
    if isinstance(held, Mapping):
        _roles(pages, held)
        return {role: Accounts.of(accounts) for role, accounts in held.items()}
    accounts = Accounts.of(held)
    return dict.fromkeys(named, accounts) if accounts else {}


def _roles(pages: Pages, roles: Role | Iterable[Role] | None) -> tuple[Role, ...]:
    """The roles named, all of the plugin's where none are; raises ValueError for one it does not hold."""
    known = pages.roles or ("",)
    if roles is None:
        return known
    named = (roles,) if isinstance(roles, str) else tuple(roles)
    for role in named:
        if role not in known:
            near = difflib.get_close_matches(role, known, 1)
            hint = f"did you mean {near[0]}?" if near and near[0] else f"it holds {', '.join(pages.roles) or 'none'}"
            raise ValueError(f"{role!r} is no role of {pages.name}; {hint}")
    return named


def _why(answered: Answered) -> str:
    """The no that a page tells a browser's agent; else what came of it as text."""
    told = re.search(r'<script type="application/ld\+json">(.*?)</script>', answered.text, re.DOTALL)
    return str(json.loads(told[1])["detail"]) if told else answered.text[:200].strip()


def _json_of(arguments: object) -> bytes:
    if arguments is None:
        return b"{}"
    if is_dataclass(arguments) and not isinstance(arguments, type):
        return write_json(arguments)
    return json.dumps(arguments, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _is_path(shape: Shape[Any] | None, control: Control) -> bool:
    """Whether what is sent of the control reaches the record, or is the kit's own or a file."""
    name = control.name
    if name in ("csrf", "prepare", "prepare.reason") or name.startswith("meridian."):
        return True
    if control.kind == "file":
        return shape is None or shape.field(name) is None
    if shape is None:
        return False
    listed = name.removesuffix("[]")
    zoned = name.removesuffix(".zone")
    found, beside = shape.at(listed), shape.at(zoned)
    if name != zoned and beside is not None:
        return isinstance(beside.kind, DateTime)
    return found is not None and (name == listed or isinstance(found.kind, Rows))
