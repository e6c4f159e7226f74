"""What a plugin declares: its pages, its routes, and the tools that stand in for derived ones.

A decorator builds one frozen `Declaration`, checks what it can by itself, files it, and gives the author's function back.
What holds between routes is checked when the pages are first served, tested or checked (`Pages.settle`). Guard, form, tool
and documentation read declarations; none of them reads a decorator's options again.
"""

from __future__ import annotations

import inspect
import unicodedata
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, NoReturn, TypedDict, overload

from starlette.responses import Response
from typing_extensions import TypeVar, Unpack

from meridian.callers import LEVELS, Level, Role
from meridian.errors import DeclarationError, Problem
from meridian.pages.answering import Answer, Made, Page, refuse
from meridian.pages.asking import Request
from meridian.pages.tools import DESCRIPTION_LIMIT, Tool, input_schema, output_schema, refuse_name, title_from
from meridian.records import Choice, Shape, Text, Uuid, paths, refuse_reserved, shape_of

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Declaration", "Levels", "Pages", "View", "near"]

R = TypeVar("R", default=Any)
T = TypeVar("T", bound=Response | Awaitable[Response])

Levels = Level | Sequence[Level]
View = Callable[[Request[Any]], Response | Awaitable[Response]]
Lifespan = Callable[[Any], AbstractAsyncContextManager[None]]

_TURNING: Final = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""What turns the direction of whatever follows; the marks that tell a word's own direction are not among them."""
METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")


class ToolOptions(TypedDict, total=False):
    """What may be said of anything an agent may call; what is left out is derived."""

    answers: type[Any]
    """The record of the typed data it answers."""
    name: str
    """The tool's name; else the view's."""
    title: str
    """A few words for a person: the tab, the consent page, the client's list."""
    description: str
    """What an agent reads before calling; else the first paragraph of the view's docstring."""
    roles: Role | Sequence[Role]
    """The roles it serves; needed where the plugin holds two or more."""
    reads: bool
    """True where a POST changes nothing. A GET always reads."""
    checked_by: str
    """For an act: the read tool of the same record that checks it, by which it can be prepared."""
    accounts: Sequence[str]
    """For an act: the pattern paths in its record that name the accounts it touches, so that a prepared change is shown to
    those who may make it. IT SHOWS, AND DOES NOT GUARD: a view checks `request.caller.write` itself, but for what a command
    names that it sends, which the deployment admits."""
    made_on: str
    """For an act: the page a person makes it on; "" names the dashboard's Inbox."""
    destructive: bool
    """For an act: whether it may overwrite or remove; True where nothing is said."""
    idempotent: bool
    """For an act: whether a repeat is recognised and changes nothing."""
    open_world: bool
    """Whether it reaches beyond this deployment."""


class RouteOptions(ToolOptions, total=False):
    """What may be said of a page or a route besides."""

    tool: bool
    """False keeps it from agents, and then `why` says why."""
    why: str
    """Why agents cannot be offered it, in words for a colleague."""
    max_body_bytes: int
    """The largest body taken; else the plugin's."""


def _no_view(request: Request[Any]) -> Response:
    raise DeclarationError(f"{request.path}: no view was decorated")


@dataclass(frozen=True)
class Declaration:
    """One page, route or stand-in tool, as declared: all that guard, form, tool and documentation need to know of it.

    `shape` is of the record it takes and `answers` of the record it answers, None where there is none. `offered` says that a
    tool is derived from it; `why` is why not, in the author's words.
    """

    kind: Literal["page", "route", "tool"]
    path: str
    methods: tuple[str, ...] = ()
    levels: tuple[Level, ...] = ()
    roles: tuple[Role, ...] = ()
    shape: Shape[Any] | None = None
    answers: Shape[Any] | None = None
    name: str = ""
    title: str = ""
    description: str = ""
    reads: bool = True
    offered: bool = False
    why: str = ""
    checked_by: str | None = None
    accounts: tuple[str, ...] = ()
    made_on: str | None = None
    destructive: bool = False
    idempotent: bool = True
    open_world: bool = False
    max_body_bytes: int | None = None
    view: View = _no_view

    def __str__(self) -> str:
        return f"{'/'.join(self.methods)} {self.path}"

    @property
    def source(self) -> str:
        """The view and where it stands, for its author: `confirm (lots.py:25)`."""
        from pathlib import Path

        view = inspect.unwrap(self.view)
        code = getattr(view, "__code__", None)
        own = getattr(view, "__name__", type(view).__name__)
        return own if code is None else f"{own} ({Path(code.co_filename).name}:{code.co_firstlineno})"

    @property
    def method(self) -> str:
        """The method a tool's call is made by: the one that changes something, where there is one."""
        return next((method for method in self.methods if method != "GET"), "GET")

    @cached_property
    def is_async(self) -> bool:
        """Whether the view is awaited; any other runs in a thread."""
        call = getattr(self.view, "__call__", None)  # noqa: B004  an object's own, which may be async
        return inspect.iscoroutinefunction(self.view) or inspect.iscoroutinefunction(call)

    @cached_property
    def tool(self) -> Tool:
        """The tool derived from it."""
        return Tool(
            name=self.name,
            title=self.title,
            description=self.description,
            reads=self.reads,
            levels=self.levels,
            roles=self.roles,
            checked_by=self.checked_by,
            accounts=self.accounts,
            made_on=self.made_on,
            shape=self.shape,
            input_schema=input_schema(self.shape),
            output_schema=output_schema(self.answers),
            destructive=self.destructive,
            idempotent=self.idempotent,
            open_world=self.open_world,
            path=self.path,
            method=self.method,
        )


class Register(Generic[R]):
    """A decorator that files one declaration for a view of `Request[R]`, and gives the view back as it came."""

    def __init__(self, file: Callable[[View], None]) -> None:
        self._file = file

    def __call__(self, view: Callable[[Request[R]], T]) -> Callable[[Request[R]], T]:
        self._file(view)
        return view


class Pages:
    """The pages, routes and tools of one plugin.

    `name` is what a person sees. `templates` is a folder, beside the module that makes the pages unless absolute. `roles` are
    those the plugin holds: with two or more, every route names its own. `settings` is a record that a deployment's admin
    fills in, `lifespan(plugin)` an async context manager around the plugin's whole run. Bodies are taken up to
    `max_body_bytes`. Raises DeclarationError for what cannot be declared so.
    """

    def __init__(
        self,
        name: str,
        *,
        templates: str | Path | None = None,
        roles: Sequence[Role] = (),
        settings: type[Any] | None = None,
        lifespan: Lifespan | None = None,
        max_body_bytes: int = 10 << 20,
    ) -> None:
        if not name.strip():
            raise DeclarationError("Pages: a plugin needs a name that a person can read, like Pages('Operations')")
        if isinstance(roles, str):
            raise DeclarationError(f"Pages({name!r}): roles is the text {roles!r}; write roles=[{roles!r}]")
        for role in roles:
            if not role.strip() or list(roles).count(role) > 1:
                raise DeclarationError(f"Pages({name!r}): roles={list(roles)}: each role has a name, and is named once")
        for each in (name, *roles):
            _check_legible(f"Pages({name!r})", each)
        self.name = name
        self.roles: tuple[Role, ...] = tuple(roles)
        self.settings = None if settings is None else _shape(f"Pages({name!r})", "settings", settings)
        self.lifespan = lifespan
        self.max_body_bytes = max_body_bytes
        self.templates = None if templates is None else _beside(templates, inspect.currentframe())
        self._declared: list[Declaration] = []
        self._settled: tuple[Declaration, ...] | None = None

    @overload
    def page(self, path: str, *, levels: Levels, params: type[R], **options: Unpack[RouteOptions]) -> Register[R]: ...
    @overload
    def page(self, path: str, *, levels: Levels, params: None = None, **options: Unpack[RouteOptions]) -> Register[Any]: ...
    def page(
        self, path: str = "", *, levels: Levels | None = None, params: type[Any] | None = None, **options: Unpack[RouteOptions]
    ) -> Register[Any]:
        """Declare a page: a tab of the plugin, served by GET. `params` is the record its query is read as."""
        return self._declare("page", path, levels, params, ("GET",), options)

    @overload
    def route(
        self, path: str, *, levels: Levels, params: type[R], methods: Sequence[str] = ..., **options: Unpack[RouteOptions]
    ) -> Register[R]: ...
    @overload
    def route(
        self, path: str, *, levels: Levels, params: None = None, methods: Sequence[str] = ..., **options: Unpack[RouteOptions]
    ) -> Register[Any]: ...
    def route(
        self,
        path: str = "",
        *,
        levels: Levels | None = None,
        params: type[Any] | None = None,
        methods: Sequence[str] = ("GET",),
        **options: Unpack[RouteOptions],
    ) -> Register[Any]:
        """Declare a route: an endpoint that is not a page, such as the one a form posts to. `params` is its record."""
        return self._declare("route", path, levels, params, methods, options)

    @overload
    def tool(
        self,
        *,
        replaces: str,
        params: type[R],
        method: str = ...,
        levels: Levels | None = ...,
        **options: Unpack[ToolOptions],
    ) -> Register[R]: ...
    @overload
    def tool(
        self,
        *,
        replaces: str,
        params: None = None,
        method: str = ...,
        levels: Levels | None = ...,
        **options: Unpack[ToolOptions],
    ) -> Register[Any]: ...
    def tool(
        self,
        *bare: Any,
        replaces: str = "",
        params: type[Any] | None = None,
        method: str = "",
        levels: Levels | None = None,
        **options: Unpack[ToolOptions],
    ) -> Register[Any]:
        """Declare a tool that stands in for the one a route would give: its own record, answers and words, at the route's
        path and method. Levels and roles are the route's unless fewer are given; `method` is needed where it has several."""
        path = bare[0] if bare else replaces
        return self._declare("tool", path, levels or (), params, (method,) if method else (), options)

    def answer(
        self,
        template: str | None,
        data: object,
        *,
        outcome: Made | None = None,
        location: str | None = None,
        status_code: int = 200,
        **context: Any,
    ) -> Answer:
        """Answer a call with typed `data`: JSON for an agent; for a browser `template` with `data` and `context`, or a
        redirect to `location` (a path of the plugin's own), so that a reload repeats nothing. Without a template the data is
        drawn as it is. The outcome is `made` for an act and `unchanged` for a read; `outcome="unchanged"` tells of a repeat."""
        if outcome not in (None, "made", "unchanged"):
            raise ValueError(f'answer(outcome={outcome!r}): an answer is "made" or "unchanged"; to say no, call refuse()')
        return Answer(template, data, context, outcome=outcome, location=location, status_code=status_code)

    def render(self, template: str, *, status_code: int = 200, **context: Any) -> Page:
        """Draw a page for a browser. An agent is answered by `answer` alone."""
        return Page(template, context, status_code=status_code)

    def refuse(self, detail: str, *fields: Problem | tuple[str, str], reason: str = "refused") -> NoReturn:
        """Refuse the call in words, blaming `fields` by path: an agent gets each, a browser the form again. Raises Refusal."""
        refuse(detail, *fields, reason=reason)

    @property
    def declared(self) -> tuple[Declaration, ...]:
        """Everything declared, in order, once what holds between routes was checked."""
        return self.settle()

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that agents are offered, in the order declared."""
        return tuple(each.tool for each in self.settle() if each.offered)

    @property
    def not_offered(self) -> tuple[tuple[Declaration, str], ...]:
        """What agents are not offered, and why in the author's words; empty words where none were given."""
        return tuple((each, each.why) for each in self.settle() if not each.offered)

    def page_of(self, declaration: Declaration) -> Declaration | None:
        """The page that a route's form stands on: the one named by `made_on`, else the one at its path, else the longest page
        path it is under; None where there is none."""
        pages = {each.path: each for each in self.settle() if each.kind == "page"}
        path = declaration.made_on or _page_over(declaration.path, pages)
        return None if path is None else pages[path]

    def settle(self) -> tuple[Declaration, ...]:
        """Check what holds between routes, once; after that nothing more can be declared. Raises DeclarationError."""
        if self._settled is None:
            self._settled = _settle(self, self._declared)
        return self._settled

    def __repr__(self) -> str:
        return f"Pages({self.name!r}, roles={list(self.roles)}, declared={[str(each) for each in self._declared]})"

    def _declare(
        self,
        kind: Literal["page", "route", "tool"],
        path: str,
        levels: Levels | None,
        params: type[Any] | None,
        methods: Sequence[str],
        options: Mapping[str, Any],
    ) -> Register[Any]:
        _refuse_unsaid(kind, path, levels)
        if self._settled is not None:
            raise DeclarationError(f"{path}: {self.name} is already served; declare everything when its module is imported")
        declaration = _declaration(self, kind, path, levels, params, methods, dict(options))

        def file(view: View) -> None:
            self._declared.append(_with_view(declaration, view, options))

        return Register(file)


def _declaration(
    pages: Pages,
    kind: Literal["page", "route", "tool"],
    path: str,
    levels: Levels | None,
    params: type[Any] | None,
    methods: Sequence[str],
    options: dict[str, Any],
) -> Declaration:
    where = f"{'/'.join(methods) if not isinstance(methods, str) else methods} {path}".strip()
    known = (ToolOptions if kind == "tool" else RouteOptions).__annotations__
    for option in options:
        if option not in known:
            taken = [*known, "levels", "params", *{"page": (), "route": ("methods",), "tool": ("replaces", "method")}[kind]]
            raise DeclarationError(f"{where}: {option}= is no option of a {kind}{near(option, taken)}")
    _check_path(where, path)
    shape = None if params is None else _shape(where, "params", params, of_a_route=True)
    verbs = _methods(where, methods, kind)
    reads = _reads(where, verbs, options.get("reads"))
    offered = options.get("tool", shape is not None or ("answers" in options and verbs == ("GET",)) or kind == "tool")
    why = options.get("why", "")
    if "tool" in options and not options["tool"] and not why.strip():
        raise DeclarationError(
            f'{where}: tool=False keeps it from agents; say why to a colleague, why="a file the person chooses"'
        )
    if why and offered:
        raise DeclarationError(
            f"{where}: why= says why agents are not offered it, and they are; add tool=False or take why= out"
        )
    if options.get("tool") and shape is None and "answers" not in options:
        raise DeclarationError(f"{where}: tool=True, and there is no record to ask for; declare its inputs with params=")
    if "tool" not in options and not offered:
        _refuse_a_lost_tool(where, options)
    if reads:
        _act_only(where, options)
    as_said = ("name", "title", "description", "checked_by", "made_on", "open_world", "max_body_bytes")
    return Declaration(
        kind=kind,
        path=path,
        methods=verbs,
        levels=_levels(where, levels or (), kind),
        roles=_roles(where, pages.roles, options.get("roles"), kind),
        shape=shape,
        answers=_shape(where, "answers", options["answers"]) if options.get("answers") is not None else None,
        reads=reads,
        offered=bool(offered),
        why=why,
        accounts=_paths(where, shape, options.get("accounts", ())),
        destructive=not reads and options.get("destructive", True),
        idempotent=reads or options.get("idempotent", False),
        **{option: options[option] for option in as_said if option in options},
    )


def _with_view(declaration: Declaration, view: View, options: Mapping[str, Any]) -> Declaration:
    """The declaration with what the view itself tells: its name and its words."""
    if not callable(view) or inspect.isclass(view):
        raise DeclarationError(f"{declaration}: {view!r} is no view; decorate a function that takes the request")
    own = getattr(view, "__name__", type(view).__name__)
    name = declaration.name or own
    described = declaration.description or _first_paragraph(view)
    title = declaration.title or title_from(name)
    if declaration.offered:
        refused = refuse_name(name)
        if refused:
            raise DeclarationError(f"{declaration}: {refused}")
        if len(described) > DESCRIPTION_LIMIT:
            raise DeclarationError(
                f"{declaration}: the description has {len(described)} characters, and clients cut it at {DESCRIPTION_LIMIT} "
                "in silence; say the important part first, and less"
            )
    for each in (title, described):
        _check_legible(str(declaration), each)
    where = inspect.unwrap(view)
    count = len(inspect.signature(where).parameters) if inspect.isroutine(where) else 1
    if count != 1:
        raise DeclarationError(f"{declaration}: {own}() takes {count} arguments, and a view takes one, the request")
    return replace(declaration, name=name, title=title, description=described or f"{title}.", view=view)


def _check_legible(where: str, text: str) -> None:
    """Raise DeclarationError where `text` has a character that nobody sees at work: words stand in others' sentences, on the
    deployment's own pages and before a model."""
    for each in text:
        if each not in "\n\t" and (unicodedata.category(each) in ("Cc", "Cs", "Zl", "Zp") or each in _TURNING):
            raise DeclarationError(
                f"{where}: {text[:60]!r} holds U+{ord(each):04X}, which controls how what follows is read; leave it out"
            )


def _settle(pages: Pages, declared: Sequence[Declaration]) -> tuple[Declaration, ...]:
    _check_templates(pages)
    taken: dict[tuple[str, str], Declaration] = {}
    for each in declared:
        if each.kind != "tool":
            for method in each.methods:
                if (each.path, method) in taken:
                    raise DeclarationError(
                        f"{method} {each.path} is declared twice, by {taken[each.path, method].source} and {each.source}; "
                        "give one of them another path"
                    )
                taken[each.path, method] = each
    settled: list[Declaration] = []
    replaced: dict[int, Declaration] = {}
    for each in declared:
        if each.kind == "tool":
            route = _route_of(each, taken)
            if id(route) in replaced:
                raise DeclarationError(f"{each.name}: {route} already has a tool that stands in, {replaced[id(route)].name}")
            replaced[id(route)] = each
            each = _standing_in(each, route)
        settled.append(each)
    settled = [
        replace(each, offered=False, why=each.why or f"{replaced[id(was)].name} stands in for it")
        if id(was) in replaced
        else each
        for each, was in zip(settled, declared, strict=True)
    ]
    _check_names(settled)
    tabs = [each.path for each in settled if each.kind == "page"]
    for each in settled:
        _check_checked_by(each, settled)
        if each.made_on and each.made_on not in tabs:
            like = near(each.made_on, tabs) or f'; there is {_listed(tabs) or "none"}, and "" is the dashboard\'s Inbox'
            raise DeclarationError(f"{each}: made_on={each.made_on!r} names no page{like}")
    held = tuple(pages.roles) or ("",)
    return tuple(
        replace(
            each,
            roles=each.roles or held,
            made_on=_page_over(each.path, tabs) if each.made_on is None and not each.reads else each.made_on,
        )
        for each in settled
    )


def _page_over(path: str, pages: Iterable[str]) -> str | None:
    """The page at `path`, else the longest page path it is under, never "/" alone; None where there is none."""
    over = [page for page in pages if page == path or (page != "/" and path.startswith(f"{page}/"))]
    return max(over, key=len, default=None)


def _route_of(tool: Declaration, taken: Mapping[tuple[str, str], Declaration]) -> Declaration:
    at = {method: each for (path, method), each in taken.items() if path == tool.path}
    if not at:
        known = sorted({path for path, _ in taken})
        raise DeclarationError(f"{tool.name}: replaces={tool.path!r} names no route{near(tool.path, known)}")
    wanted = tool.methods[0] if tool.methods else next(iter(at)) if len(at) == 1 else ""
    if wanted not in at:
        raise DeclarationError(
            f"{tool.name}: {tool.path} answers {', '.join(at)}; name the one it stands in for, method={list(at)[-1]!r}"
        )
    return at[wanted]


def _standing_in(tool: Declaration, route: Declaration) -> Declaration:
    """The stand-in with what it takes from its route; it may serve fewer levels and roles, never more."""
    for said, mine, theirs in (("levels", tool.levels, route.levels), ("roles", tool.roles, route.roles)):
        more = [each for each in mine if theirs and each not in theirs]
        if more:
            raise DeclarationError(
                f"{tool.name}: {said}={list(mine)} adds {more[0]} to what {route} serves; it may serve fewer"
            )
    method = tool.methods[0] if tool.methods else route.method
    return replace(
        tool,
        methods=(method,),
        levels=tool.levels or route.levels,
        roles=tool.roles or route.roles,
        reads=tool.reads or method == "GET",
        destructive=tool.destructive and method != "GET",
        idempotent=tool.idempotent or method == "GET",
    )


def _check_names(settled: Sequence[Declaration]) -> None:
    named: dict[str, Declaration] = {}
    for each in settled:
        if each.offered:
            if each.name in named:
                raise DeclarationError(
                    f"{each}: its tool would be named {each.name}, and {named[each.name]} has that name already; "
                    "give one of them another with name="
                )
            named[each.name] = each


def _check_checked_by(act: Declaration, settled: Sequence[Declaration]) -> None:
    if act.checked_by is None:
        return
    check = next((each for each in settled if each.offered and each.name == act.checked_by), None)
    said = f"{act}: checked_by={act.checked_by!r}"
    if check is None:
        alike = [each.name for each in settled if each.offered and each.reads and _same_record(each, act)]
        like = f"; did you mean {alike[0]}?" if len(alike) == 1 else near(act.checked_by, alike)
        record = act.shape.name if act.shape else "record"
        remedy = f"; declare one that checks it, with params={record}, reads=True and name={act.checked_by!r}"
        raise DeclarationError(f"{said} names no tool that reads {record}{like or remedy}")
    if not check.reads:
        raise DeclarationError(f"{said} names an act; a check changes nothing: declare {check} with reads=True")
    if not _same_record(check, act):
        theirs = check.shape.name if check.shape else "nothing"
        mine = act.shape.name if act.shape else "nothing"
        raise DeclarationError(f"{said} takes {theirs}, and the act takes {mine}; a check takes the same record")
    for what, acts, checks in (("level", act.levels, check.levels), ("role", act.roles, check.roles)):
        lacking = [each for each in acts if checks and each not in checks]
        if lacking:
            raise DeclarationError(f"{said} does not serve the {what} {lacking[0]}, and the act does; let {check} serve it too")


def _same_record(one: Declaration, other: Declaration) -> bool:
    return one.shape is not None and other.shape is not None and one.shape.record is other.shape.record


def _check_templates(pages: Pages) -> None:
    folder = pages.templates
    if folder is not None and not folder.is_dir():
        beside = [each.name for each in folder.parent.iterdir() if each.is_dir()] if folder.parent.is_dir() else []
        like = near(folder.name, beside) or "; make it, or leave templates= out"
        raise DeclarationError(f"Pages({pages.name!r}): templates: there is no folder {folder}{like}")


def _refuse_unsaid(kind: str, path: object, levels: Levels | None) -> None:
    """A decorator written without its parentheses, its path or its levels."""
    begun = f"@pages.{kind}({'replaces=' if kind == 'tool' else ''}"
    rest = ", params=…)" if kind == "tool" else ', levels="read")'
    if callable(path):
        own = getattr(path, "__name__", "a view")
        raise DeclarationError(f'@pages.{kind} stands above {own} without its parentheses; write {begun}"/{own}"{rest}')
    if not path:
        raise DeclarationError(f'@pages.{kind}: its path is not said; write {begun}"/"{rest}')
    if levels is None:
        raise DeclarationError(f'{path}: who is served is not said; write levels="read" or levels=["read", "write"]')


def _check_path(where: str, path: str) -> None:
    if not isinstance(path, str) or not path.startswith("/") or "//" in path or (path != "/" and path.endswith("/")):
        raise DeclarationError(f"{where}: a path begins with one slash and does not end with one, like /confirm")
    if any(character in path for character in "{}?#%\\ ") or not path.isascii() or "/." in path:
        raise DeclarationError(
            f"{where}: a path is fixed, of letters, digits and -._~ between slashes; "
            "what varies is a field of the record (params=)"
        )


def _shape(where: str, option: str, record: type[Any], *, of_a_route: bool = False) -> Shape[Any]:
    try:
        shape = shape_of(record)
        if of_a_route:
            refuse_reserved(shape)
    except DeclarationError as refused:
        raise DeclarationError(f"{where}: {option}: {refused}") from None
    return shape


def _methods(where: str, methods: Sequence[str], kind: str) -> tuple[str, ...]:
    if isinstance(methods, str):
        raise DeclarationError(f"{where}: methods is the text {methods!r}; write methods=[{methods!r}]")
    if not methods and kind != "tool":
        raise DeclarationError(f'{where}: methods is empty; write methods=["POST"], or leave it out for GET')
    for method in methods:
        if method not in METHODS:
            like = f"; write {method.upper()!r}" if method.upper() in METHODS else f"; it is one of {', '.join(METHODS)}"
            raise DeclarationError(f"{where}: {method!r} is no method served here{like}")
    return tuple(dict.fromkeys(methods))


def _reads(where: str, methods: tuple[str, ...], said: bool | None) -> bool:
    only_get = methods == ("GET",)
    if only_get and said is False:
        raise DeclarationError(
            f'{where}: reads=False, and a GET changes nothing; serve what changes something by methods=["POST"]'
        )
    return bool(said) or only_get


def _levels(where: str, levels: Levels, kind: str) -> tuple[Level, ...]:
    named: tuple[Level, ...] = (levels,) if isinstance(levels, str) else tuple(levels)
    for level in named:
        if level not in LEVELS:
            raise DeclarationError(
                f"{where}: {level!r} is no level; a route serves read, write or admin{near(str(level), LEVELS)}"
            )
    if not named and kind != "tool":
        raise DeclarationError(
            f'{where}: levels is empty, so that nobody could ask; write levels="write" or levels=["read", "write"]'
        )
    return tuple(level for level in LEVELS if level in named)


def _roles(where: str, held: tuple[Role, ...], said: Role | Sequence[Role] | None, kind: str) -> tuple[Role, ...]:
    named = () if said is None else (said,) if isinstance(said, str) else tuple(said)
    for role in named:
        if role not in held:
            raise DeclarationError(
                f"{where}: {role!r} is no role of this plugin, which holds {', '.join(held) or 'none'}{near(role, held)}"
            )
    if not named and len(held) > 1 and kind != "tool":
        raise DeclarationError(f"{where}: the plugin holds {', '.join(held)}; name those it serves, roles=[{held[0]!r}]")
    return named


def _paths(where: str, shape: Shape[Any] | None, accounts: Sequence[str]) -> tuple[str, ...]:
    if isinstance(accounts, str):
        raise DeclarationError(f"{where}: accounts is the text {accounts!r}; write accounts=[{accounts!r}]")
    known = {} if shape is None else paths(shape)
    for path in accounts:
        cell = shape.at(path) if shape is not None and path in known else None
        if cell is None:
            name = shape.name if shape else "a route without a record"
            like = near(path, known) or "; rows are written positions[].account"
            raise DeclarationError(f"{where}: accounts names {path!r}, which {name} lacks{like}")
        if not isinstance(cell.kind, Text | Choice | Uuid):
            raise DeclarationError(
                f"{where}: accounts names {path!r}, which is no text; name the cell that holds an account's ID, "
                "like positions[].account"
            )
    return tuple(accounts)


def _refuse_a_lost_tool(where: str, options: Mapping[str, Any]) -> None:
    """What is said of a tool, where none is derived, was meant for one."""
    for option in ("name", "answers", "checked_by", "accounts"):
        if options.get(option):
            raise DeclarationError(
                f"{where}: {option}= is said of a tool, and without a record none is derived; declare the inputs with params=, "
                "or say tool=False and why"
            )


def _act_only(where: str, options: Mapping[str, Any]) -> None:
    for option in ("checked_by", "accounts", "destructive"):
        if options.get(option):
            raise DeclarationError(f"{where}: {option}= is for what changes something, and this reads; take it out")


def near(said: str, known: Iterable[str]) -> str:
    """`; did you mean …?`, where something known is near what was said; else nothing."""
    import difflib  # for a mistake alone

    like = difflib.get_close_matches(said, list(known), 1)
    return f"; did you mean {like[0]}?" if like else ""


def _listed(words: Sequence[str]) -> str:
    return " and ".join(words) if len(words) < 3 else f"{', '.join(words[:-1])} and {words[-1]}"


def _first_paragraph(view: object) -> str:
    return " ".join((inspect.getdoc(view) or "").split("\n\n")[0].split())


def _beside(templates: str | Path, frame: Any) -> Path:
    """The folder of templates, beside the module that makes the pages."""
    from pathlib import Path  # an import of the library does without it

    folder = Path(templates)
    caller = frame.f_back if frame else None
    if not folder.is_absolute() and caller is not None:
        folder = Path(caller.f_globals.get("__file__", "")).parent / folder
    return folder
