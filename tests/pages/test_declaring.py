"""A mistake in what is declared stops early, with the route, the record, the field and the repair named."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import meridian


@dataclass(frozen=True)
class Row:
    account: str


@dataclass(frozen=True)
class Draft:
    account: str
    rows: list[Row] = field(default_factory=list)


@dataclass(frozen=True)
class Other:
    note: str = ""


@dataclass(frozen=True)
class Csrf:
    csrf: str


@dataclass
class Loose:
    account: str


@dataclass(frozen=True)
class Inexact:
    amount: float


def view(request: meridian.Request) -> meridian.Response: ...


def desk(*roles: str) -> meridian.Pages:
    return meridian.Pages("Desk", roles=roles or ["operations"])


ACT: dict[str, Any] = {"levels": "write", "methods": ["POST"]}
CHECK: dict[str, Any] = {**ACT, "reads": True, "name": "check"}


# ── At the decorator ───────────────────────────────────────────────────────

TOOL_NAME = "it takes small letters, digits and single underscores, begins with a letter and has at most 48 characters"
FIXED_PATH = (
    "a path is fixed, of letters, digits and -._~ between slashes; what varies is a field of the record (params=)"
)  # fmt: skip
LOST_TOOL = (
    "is said of a tool, and without a record none is derived; declare the inputs with params=, or say tool=False and why"
)  # fmt: skip
PATH = "a path begins with one slash and does not end with one, like /confirm"

OF_A_ROUTE: list[tuple[str, dict[str, Any], str]] = [
    ("confirm", {}, f"POST confirm: {PATH}"),
    ("/confirm/", {}, f"POST /confirm/: {PATH}"),
    ("/a//b", {}, f"POST /a//b: {PATH}"),
    ("/accounts/{id}", {}, f"POST /accounts/{{id}}: {FIXED_PATH}"),
    ("/../x", {}, f"POST /../x: {FIXED_PATH}"),
    ("/é", {}, f"POST /é: {FIXED_PATH}"),
    ("/x", {"parms": Draft}, "POST /x: parms= is no option of a route; did you mean params?"),
    ("/x", {"params": dict}, "POST /x: params: dict: it is no dataclass; write @dataclass(frozen=True) above it"),
    ("/x", {"params": Loose}, "POST /x: params: Loose: it can be changed after it was read; write @dataclass(frozen=True)"),
    (
        "/x",
        {"params": Inexact},
        "POST /x: params: Inexact.amount: float is not exact; write Decimal",
    ),
    ("/x", {"params": Csrf}, "POST /x: params: Csrf.csrf: a form keeps the name csrf for itself; write another name"),
    (
        "/x",
        {"params": Draft, "answers": list},
        "POST /x: answers: list: it is no dataclass; write @dataclass(frozen=True) above it",
    ),
    ("/x", {"methods": "POST"}, "POST /x: methods is the text 'POST'; write methods=['POST']"),
    ("/x", {"methods": []}, '/x: methods is empty; write methods=["POST"], or leave it out for GET'),
    ("/x", {"methods": ["post"]}, "post /x: 'post' is no method served here; write 'POST'"),
    ("/x", {"methods": ["HEAD"]}, "HEAD /x: 'HEAD' is no method served here; it is one of GET, POST, PUT, PATCH, DELETE"),
    (
        "/x",
        {"methods": ["GET"], "reads": False},
        'GET /x: reads=False, and a GET changes nothing; serve what changes something by methods=["POST"]',
    ),
    ("/x", {"levels": "wirte"}, "POST /x: 'wirte' is no level; a route serves read, write or admin; did you mean write?"),
    ("/x", {"levels": ["read", "owner"]}, "POST /x: 'owner' is no level; a route serves read, write or admin"),
    (
        "/x",
        {"levels": []},
        'POST /x: levels is empty, so that nobody could ask; write levels="write" or levels=["read", "write"]',
    ),
    (
        "/x",
        {"roles": ["operation"]},
        "POST /x: 'operation' is no role of this plugin, which holds operations; did you mean operations?",
    ),
    (
        "/x",
        {"params": Draft, "tool": False},
        'POST /x: tool=False keeps it from agents; say why to a colleague, why="a file the person chooses"',
    ),
    (
        "/x",
        {"params": Draft, "why": "no"},
        "POST /x: why= says why agents are not offered it, and they are; add tool=False or take why= out",
    ),
    ("/x", {"tool": True}, "POST /x: tool=True, and there is no record to ask for; declare its inputs with params="),
    ("/x", {"name": "confirm"}, f"POST /x: name= {LOST_TOOL}"),
    ("/x", {"answers": Other}, f"POST /x: answers= {LOST_TOOL}"),
    ("/x", {"checked_by": "check"}, f"POST /x: checked_by= {LOST_TOOL}"),
    ("/x", {"accounts": ["account"]}, f"POST /x: accounts= {LOST_TOOL}"),
    *(
        (
            "/x",
            {"params": Draft, "reads": True, option: value},
            f"POST /x: {option}= is for what changes something, and this reads; take it out",
        )
        for option, value in {"checked_by": "check", "accounts": ["account"], "destructive": True}.items()
    ),
    ("/x", {"params": Draft, "accounts": "account"}, "POST /x: accounts is the text 'account'; write accounts=['account']"),
    (
        "/x",
        {"params": Draft, "accounts": ["acount"]},
        "POST /x: accounts names 'acount', which Draft lacks; did you mean account?",
    ),
    (
        "/x",
        {"params": Draft, "accounts": ["rows[0].account"]},
        "POST /x: accounts names 'rows[0].account', which Draft lacks; did you mean rows[].account?",
    ),
    (
        "/x",
        {"params": Draft, "accounts": ["number"]},
        "POST /x: accounts names 'number', which Draft lacks; rows are written positions[].account",
    ),
    (
        "/x",
        {"params": Draft, "accounts": ["rows"]},
        "POST /x: accounts names 'rows', which is no text; name the cell that holds an account's ID, like positions[].account",
    ),
    (
        "/x",
        {"params": Draft, "name": "Confirm-Lots"},
        f"POST /x: the tool name 'Confirm-Lots' would be refused by clients: {TOOL_NAME}; write name='confirm_lots'",
    ),
    (
        "/x",
        {"params": Draft, "name": "c" * 49},
        f"POST /x: the tool name {'c' * 49!r} would be refused by clients: {TOOL_NAME}; write name={'c' * 48!r}",
    ),
    (
        "/x",
        {"params": Draft, "description": "d" * 2001},
        (
            "POST /x: the description has 2001 characters, and clients cut it at 2000 in silence; "
            "say the important part first, and less"
        ),
    ),
]


@pytest.mark.parametrize(("path", "options", "message"), OF_A_ROUTE, ids=[message[:70] for _, _, message in OF_A_ROUTE])
def test_a_routes_own_mistake_is_refused_at_its_decorator(path: str, options: dict[str, Any], message: str):
    with pytest.raises(meridian.DeclarationError) as refused:
        desk().route(path, **{**ACT, **options})(view)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda: meridian.Pages(" "), "Pages: a plugin needs a name that a person can read, like Pages('Operations')"),
        (
            lambda: meridian.Pages("Desk", roles="operations"),
            "Pages('Desk'): roles is the text 'operations'; write roles=['operations']",
        ),
        (
            lambda: meridian.Pages("Desk", roles=["a", "a"]),
            "Pages('Desk'): roles=['a', 'a']: each role has a name, and is named once",
        ),
        (
            lambda: meridian.Pages("Desk", settings=int),
            "Pages('Desk'): settings: int: it is no dataclass; write @dataclass(frozen=True) above it",
        ),
        (
            lambda: desk().page(view),
            '@pages.page stands above view without its parentheses; write @pages.page("/view", levels="read")',
        ),
        (
            lambda: desk().tool(view),
            '@pages.tool stands above view without its parentheses; write @pages.tool(replaces="/view", params=…)',
        ),
        (lambda: desk().page(), '@pages.page: its path is not said; write @pages.page("/", levels="read")'),
        (
            lambda: desk().route("/x", methods=["POST"]),
            '/x: who is served is not said; write levels="read" or levels=["read", "write"]',
        ),
        (lambda: desk().page("/", levels="read", methods=["GET"]), "GET /: methods= is no option of a page"),
        (lambda: desk().tool(replaces="/x", tool=False), "/x: tool= is no option of a tool"),
        (
            lambda: desk("operations", "custody").route("/x", **ACT),
            "POST /x: the plugin holds operations, custody; name those it serves, roles=['operations']",
        ),
        (
            lambda: meridian.Pages("Desk").route("/x", **ACT, roles=["operations"]),
            "POST /x: 'operations' is no role of this plugin, which holds none",
        ),
        (lambda: desk().route("/x", **ACT)(None), "POST /x: None is no view; decorate a function that takes the request"),
        (
            lambda: desk().route("/x", **ACT)(lambda request, account: view(request)),
            "POST /x: <lambda>() takes 2 arguments, and a view takes one, the request",
        ),
    ],
)
def test_any_other_mistake_is_refused_where_it_is_made(declare: Callable[[], Any], message: str):
    with pytest.raises(meridian.DeclarationError) as refused:
        declare()
    assert str(refused.value) == message


# ── Between routes, when they are first served, tested or checked ──────────

LINE = view.__code__.co_firstlineno
BETWEEN: list[tuple[Callable[[meridian.Pages], Any], str]] = [
    (
        lambda p: [p.route("/x", **ACT)(view), p.route("/x", **ACT)(view)],
        (
            f"POST /x is declared twice, by view (test_declaring.py:{LINE}) and view (test_declaring.py:{LINE}); "
            "give one of them another path"
        ),
    ),
    (
        lambda p: [p.route("/x", **ACT, params=Draft)(view), p.route("/y", **ACT, params=Draft)(view)],
        "POST /y: its tool would be named view, and POST /x has that name already; give one of them another with name=",
    ),
    (
        lambda p: [p.route("/x", **CHECK, params=Draft)(view), p.route("/y", **ACT, params=Draft, checked_by="chek")(view)],
        "POST /y: checked_by='chek' names no tool that reads Draft; did you mean check?",
    ),
    (
        lambda p: [p.route("/y", **ACT, params=Draft, checked_by="chek")(view)],
        (
            "POST /y: checked_by='chek' names no tool that reads Draft; "
            "declare one that checks it, with params=Draft, reads=True and name='chek'"
        ),
    ),
    (
        lambda p: [
            p.route("/x", **ACT, params=Draft, name="check")(view),
            p.route("/y", **ACT, params=Draft, checked_by="check")(view),
        ],
        "POST /y: checked_by='check' names an act; a check changes nothing: declare POST /x with reads=True",
    ),
    (
        lambda p: [p.route("/x", **CHECK, params=Other)(view), p.route("/y", **ACT, params=Draft, checked_by="check")(view)],
        "POST /y: checked_by='check' takes Other, and the act takes Draft; a check takes the same record",
    ),
    (
        lambda p: [
            p.route("/x", **{**CHECK, "levels": "read"}, params=Draft)(view),
            p.route("/y", **ACT, params=Draft, checked_by="check")(view),
        ],
        "POST /y: checked_by='check' does not serve the level write, and the act does; let POST /x serve it too",
    ),
    (
        lambda p: [p.page("/desk", levels="read")(view), p.route("/y", **ACT, params=Draft, made_on="/dsk")(view)],
        "POST /y: made_on='/dsk' names no page; did you mean /desk?",
    ),
    (
        lambda p: [p.page("/", levels="read")(view), p.route("/y", **ACT, params=Draft, made_on="/hmoe")(view)],
        "POST /y: made_on='/hmoe' names no page; there is /, and \"\" is the dashboard's Inbox",
    ),
    (
        lambda p: [p.route("/confirm", **ACT, params=Draft)(view), p.tool(replaces="/confrm", params=Other)(view)],
        "view: replaces='/confrm' names no route; did you mean /confirm?",
    ),
    (
        lambda p: [
            p.route("/x", **ACT, params=Draft)(view),
            p.tool(replaces="/x", params=Other, name="one")(view),
            p.tool(replaces="/x", params=Other, name="two")(view),
        ],
        "two: POST /x already has a tool that stands in, one",
    ),
    (
        lambda p: [
            p.route("/x", **ACT, params=Draft)(view),
            p.page("/x", levels="read")(view),
            p.tool(replaces="/x", params=Other, name="one")(view),
        ],
        "one: /x answers POST, GET; name the one it stands in for, method='GET'",
    ),
    (
        lambda p: [
            p.route("/x", **ACT, params=Draft)(view),
            p.tool(replaces="/x", params=Other, name="one", levels=["write", "admin"])(view),
        ],
        "one: levels=['write', 'admin'] adds admin to what POST /x serves; it may serve fewer",
    ),
]


@pytest.mark.parametrize(("declare", "message"), BETWEEN, ids=[message[:70] for _, message in BETWEEN])
def test_a_mistake_between_routes_is_refused_when_they_are_first_looked_at(
    declare: Callable[[meridian.Pages], Any], message: str
):
    pages = desk()
    declare(pages)
    for look in (lambda: pages.tools, lambda: pages.declared, lambda: pages.not_offered):
        with pytest.raises(meridian.DeclarationError) as refused:
            look()
        assert str(refused.value) == message


def test_a_folder_of_templates_is_there_when_the_pages_are_first_looked_at(tmp_path: Path):
    (tmp_path / "templates").mkdir()
    pages = meridian.Pages("Desk", templates=tmp_path / "templtes")
    with pytest.raises(meridian.DeclarationError) as refused:
        _ = pages.tools
    folder = tmp_path / "templtes"
    assert str(refused.value) == f"Pages('Desk'): templates: there is no folder {folder}; did you mean templates?"


def test_a_check_serves_every_role_of_its_act():
    pages = desk("operations", "custody")
    pages.route("/x", **CHECK, params=Draft, roles=["operations"])(view)
    pages.route("/y", **ACT, params=Draft, roles=["operations", "custody"], checked_by="check")(view)
    with pytest.raises(meridian.DeclarationError) as refused:
        _ = pages.tools
    assert str(refused.value) == (
        "POST /y: checked_by='check' does not serve the role custody, and the act does; let POST /x serve it too"
    )


def test_nothing_is_declared_once_the_pages_are_served():
    pages = desk()
    pages.route("/x", **ACT, params=Draft)(view)
    assert [tool.name for tool in pages.tools] == ["view"]
    with pytest.raises(
        meridian.DeclarationError, match=r"^/y: Desk is already served; declare everything when its module is imported$"
    ):
        pages.route("/y", levels="read")


# ── What was declared ──────────────────────────────────────────────────────


def test_a_decorator_gives_the_function_back_as_it_came():
    assert desk().route("/x", **ACT, params=Draft)(view) is view


def test_what_was_declared_is_told_in_order_and_what_is_not_offered_with_why():
    pages = desk()
    pages.page("/", levels=["read", "write"], title="Desk")(view)
    pages.route("/x", **ACT, params=Draft, name="confirm")(view)
    pages.route("/file", **ACT, tool=False, why="a file the person chooses")(view)
    assert [(each.kind, str(each)) for each in pages.declared] == [
        ("page", "GET /"),
        ("route", "POST /x"),
        ("route", "POST /file"),
    ]
    assert [tool.name for tool in pages.tools] == ["confirm"]
    assert [(str(each), why) for each, why in pages.not_offered] == [
        ("GET /", ""),
        ("POST /file", "a file the person chooses"),
    ]


@pytest.mark.parametrize(
    ("path", "page"),
    [("/a", "/a"), ("/a/b", "/a/b"), ("/a/b/c", "/a/b"), ("/a/x", "/a"), ("/ab", None), ("/x", None), ("/", "/")],
)
def test_a_forms_page_is_the_one_at_its_path_else_the_longest_it_is_under_never_the_first_alone(path: str, page: str | None):
    pages = desk()
    for each in ("/", "/a", "/a/b"):
        pages.page(each, levels="read")(view)
    pages.route(path, **ACT, params=Draft, name="act")(view)
    act = next(each for each in pages.declared if each.offered)
    found = pages.page_of(act)
    assert (act.made_on, found.path if found else None) == (page, page)


def test_made_on_names_another_page():
    pages = desk()
    pages.page("/", levels="write")(view)
    pages.page("/a", levels="write")(view)
    pages.route("/a/x", **ACT, params=Draft, made_on="/")(view)
    assert [each.made_on for each in pages.tools] == ["/"]


def test_an_acts_hints_are_the_authors_and_a_reads_follow():
    pages = desk()
    pages.route("/x", **ACT, params=Draft, name="plain")(view)
    pages.route("/y", **ACT, params=Draft, name="gentle", destructive=False, idempotent=True, open_world=True)(view)
    pages.route("/z", **ACT, params=Draft, name="look", reads=True)(view)
    assert {tool.name: (tool.reads, tool.destructive, tool.idempotent, tool.open_world) for tool in pages.tools} == {
        "plain": (False, True, False, False),
        "gentle": (False, False, True, True),
        "look": (True, False, True, False),
    }


def test_a_route_of_several_methods_is_called_by_the_one_that_changes_something():
    pages = desk()
    pages.route("/x", levels="write", methods=["GET", "POST"], params=Draft, name="both")(view)
    assert [(tool.method, tool.reads) for tool in pages.tools] == [("POST", False)]


def test_a_stand_in_takes_levels_and_roles_from_its_route_unless_it_serves_fewer():
    pages = desk("operations", "custody")
    for path in ("/x", "/y"):
        pages.route(path, levels=["read", "write"], methods=["POST"], params=Draft, roles=["operations", "custody"])(view)
    pages.tool(replaces="/x", params=Other, name="same")(view)
    pages.tool(replaces="/y", params=Other, name="fewer", levels="read", roles=["custody"])(view)
    assert {tool.name: (tool.levels, tool.roles, tool.method) for tool in pages.tools} == {
        "same": (("write", "read"), ("operations", "custody"), "POST"),
        "fewer": (("read",), ("custody",), "POST"),
    }
    assert [why for _, why in pages.not_offered] == ["same stands in for it", "fewer stands in for it"]


def test_a_description_is_the_docstrings_first_paragraph_on_one_line():
    pages = desk()

    @pages.route("/x", **ACT, params=Draft)
    def confirm(request: meridian.Request) -> meridian.Response:
        """Record the lots,
        as read.

        Not this.
        """

    pages.route("/y", **ACT, params=Draft, name="confirm_lots")(lambda request: view(request))
    assert [(tool.title, tool.description) for tool in pages.tools] == [
        ("Confirm", "Record the lots, as read."),
        ("Confirm lots", "Confirm lots."),
    ]


@pytest.mark.parametrize("character", ["\0", "\x07", "\x1b", "\x85", "\u202e", "\u2066", "\u2028", "\ud800"])
def test_no_word_of_a_plugin_holds_a_character_that_turns_what_follows(character):
    with pytest.raises(meridian.DeclarationError, match=rf"U\+{ord(character):04X}, which controls how what follows is read"):
        meridian.Pages(f"Desk{character}")
    with pytest.raises(meridian.DeclarationError, match="controls how what follows is read"):
        meridian.Pages("Desk", roles=[f"operations{character}"])
    for options in ({"title": f"Note{character}"}, {"description": f"Note it.{character}"}):
        with pytest.raises(meridian.DeclarationError, match="controls how what follows is read"):
            desk().route("/note", **ACT, params=Draft, name="note", **options)(lambda request: view(request))


def test_a_plugin_s_words_may_be_of_any_language():
    assert [meridian.Pages(name).name for name in ("مكتب\u200f", "デスク", "Δέσκ", "می\u200cخواهم")]
