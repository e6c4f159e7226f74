"""Who may ask is read from the signed header alone, and a browser's change carries its form's token."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import meridian
from meridian.callers import Accounts
from meridian.pages import assertion
from meridian.pages.assertion import Claims
from meridian.testing import Answered, PageClient, book
from meridian.testing.asgi import ask

JSON = {"accept": "application/json"}


@dataclass(frozen=True)
class Note:
    account: str = ""


@pytest.fixture
def reached() -> list[meridian.Caller]:
    return []


@pytest.fixture
def pages(reached: list[meridian.Caller]) -> meridian.Pages:
    pages = meridian.Pages("Desk", roles=["operations", "custody"])

    def view(request: meridian.Request) -> meridian.Response:
        reached.append(request.caller)
        return pages.answer(None, {"path": request.path})

    pages.page("/", levels=["read", "write"], roles=["operations"], title="Desk")(view)
    pages.route("/note", levels="write", roles=["operations"], methods=["POST"], params=Note, name="note")(view)
    pages.route("/check", levels="write", roles=["operations"], methods=["POST"], params=Note, name="check", reads=True)(view)
    pages.route("/limits", levels="admin", roles=["custody"])(view)
    return pages


@pytest.fixture
def client(pages: meridian.Pages) -> PageClient:
    return PageClient(pages, None, write={"operations": {"ACC-1"}}, read={"custody": {"ACC-2"}}, admin=["custody"])


def said(answered: Answered) -> tuple[int, Any]:
    return answered.status, answered.json


def refused(reason: str, detail: str) -> dict[str, Any]:
    return {"outcome": "refused", "reason": reason, "detail": detail, "fields": []}


# ── What serves the path, and what the caller holds ────────────────────────


def test_a_level_that_is_not_served_is_a_403_naming_both_sides(client: PageClient, reached: list[Any]):
    answered = client.request("POST", "/note", "read", headers=JSON)
    detail = (
        "POST /note serves write on operations; "
        "you are in a session at read, which carries read on custody, read on operations."
    )  # fmt: skip
    assert (said(answered), reached) == ((403, refused("not_served", detail)), [])


def test_a_role_that_is_not_served_is_a_403_naming_both_sides(pages: meridian.Pages):
    answered = PageClient(pages, None, write={"custody": {"ACC-1"}}).request("POST", "/note", "write", headers=JSON)
    assert said(answered) == (
        403,
        refused(
            "not_served",
            "POST /note serves write on operations; you are in a session at write, which carries write on custody.",
        ),
    )


def test_who_holds_nothing_at_the_level_is_told_so(pages: meridian.Pages):
    answered = PageClient(pages, None, read={"ACC-1"}, admin=False).request("GET", "/limits", "admin", headers=JSON)
    assert said(answered) == (
        403,
        refused(
            "not_served", "GET /limits serves admin on custody; you are in a session at admin, which carries nothing here."
        ),
    )


def test_write_does_not_serve_admin_and_admin_serves_neither(client: PageClient):
    asked = {"GET /limits": ["read", "write", "admin"], "GET /": ["read", "write", "admin"]}
    assert {
        each: [client.get(each.split()[1], level).status for level in levels]  # type: ignore[arg-type]
        for each, levels in asked.items()
    } == {"GET /limits": [403, 403, 200], "GET /": [200, 200, 403]}


def test_a_browser_reads_the_words_on_a_page(client: PageClient):
    answered = client.get("/limits", "read")
    assert answered.headers["content-type"] == "text/html; charset=utf-8"
    assert answered.shows("GET /limits serves admin on custody; you are in a session at read, which carries")


def test_what_a_session_tells_of_accounts_is_cut_to_its_level(client: PageClient, reached: list[meridian.Caller]):
    client.get("/", "read")
    client.get("/", "write")
    client.get("/limits", "admin")
    assert [(set(each.read), set(each.write)) for each in reached] == [
        ({"ACC-1"}, set()),
        ({"ACC-1"}, {"ACC-1"}),
        (set(), set()),
    ]
    assert [set(each.read_for("custody")) for each in reached] == [{"ACC-2"}, {"ACC-2"}, set()]


# ── Nowhere, and by no method ──────────────────────────────────────────────


def test_nothing_at_a_path_is_a_404_with_the_near_path(client: PageClient):
    answered = client.request("GET", "/notes", "write", headers=JSON)
    assert said(answered) == (404, refused("not_found", "There is nothing at /notes. Did you mean /note?"))


def test_a_method_that_is_not_served_is_a_405_with_allow(client: PageClient):
    answered = client.request("GET", "/note", "write", headers=JSON)
    assert (answered.headers["allow"], said(answered)) == (
        "POST",
        (405, refused("method_not_allowed", "/note is asked by POST, not by GET.")),
    )
    assert client.request("DELETE", "/", "read").headers["allow"] == "GET, HEAD"


def test_head_is_answered_as_get_without_the_body(client: PageClient, reached: list[Any]):
    head, get = client.request("HEAD", "/", "read"), client.request("GET", "/", "read")
    assert (head.status, head.content, len(reached)) == (200, b"", 2)
    assert head.headers["content-type"] == get.headers["content-type"]


def test_head_of_what_is_not_there_has_no_body_either(client: PageClient):
    assert (client.request("HEAD", "/nowhere", "read").status, client.request("HEAD", "/nowhere", "read").content) == (404, b"")


# ── The signed header ──────────────────────────────────────────────────────


def claims(client: PageClient, **changes: Any) -> Claims:
    """Claims for GET / at read, changed."""
    caller = client.caller("read", method="GET", path="/")
    return replace(
        Claims(
            caller, "plugin", "GET", "/", "", assertion.digest(b""), "C-1", int(datetime.now(UTC).timestamp()) + 60, acts=False
        ),
        **changes,
    )


def signed(client: PageClient, made: Claims, *, key: bytes | None = None) -> str:
    return assertion.write(made, client.instance_key if key is None else key, client.deployment_key)


def asked_with(client: PageClient, header: str | None, path: str = "/", **request: Any) -> Answered:
    return client.request("GET", path, "read", headers={"Meridian-Caller": header}, **request)


def test_the_header_as_it_is_signed_is_let_in(client: PageClient, reached: list[Any]):
    assert asked_with(client, signed(client, claims(client))).status == 200
    assert len(reached) == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"method": "POST"},
        {"path": "/limits"},
        {"query": "account=ACC-1"},
        {"body_sha256": assertion.digest(b"another")},
        {"instance": "another"},
        {"expires_at": 1_700_000_000},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_a_header_for_anything_else_is_a_401_and_the_view_does_not_run(
    client: PageClient, reached: list[Any], changes: dict[str, Any]
):
    answered = asked_with(client, signed(client, claims(client, **changes)))
    assert (answered.status, answered.headers["content-type"], reached) == (401, "text/plain; charset=utf-8", [])


def test_a_header_signed_with_another_instances_key_is_a_401(client: PageClient, pages: meridian.Pages, reached: list[Any]):
    other = PageClient(pages, None, instance="another")
    assert (asked_with(client, signed(client, claims(client), key=other.instance_key)).status, reached) == (401, [])


def test_a_plugin_cannot_make_a_caller_up_with_its_own_key(client: PageClient):
    """The plugin has the instance's key, and the door checks with the deployment's."""
    made = assertion.write(claims(client), client.instance_key, client.instance_key)
    with pytest.raises(assertion.NotAsserted):
        assertion.read(made, deployment_key=client.deployment_key, now=0)


@pytest.mark.parametrize("header", [None, "", "x", "x.y.z", "é", "." * 50])
def test_no_header_and_one_that_is_none_are_a_401(client: PageClient, reached: list[Any], header: str | None):
    assert (asked_with(client, header).status, reached) == (401, [])


def test_a_changed_letter_is_a_401(client: PageClient, reached: list[Any]):
    header = signed(client, claims(client))
    for_plugin, for_door, _ = header.split(".", 2)
    signed_here = [*range(0, len(for_plugin), 7), *range(len(f"{for_plugin}.{for_door}."), len(header), 7)]
    changed = [header[:at] + ("A" if header[at] != "A" else "B") + header[at + 1 :] for at in signed_here]
    assert ({asked_with(client, each).status for each in changed}, reached) == ({401}, [])


def test_two_headers_are_a_401(client: PageClient, reached: list[Any]):
    """Whoever adds one of their own beside the gateway's is not believed either way."""
    header = signed(client, claims(client))
    heard = ask(client.served, method="GET", path="/", headers=[("Meridian-Caller", header), ("meridian-caller", header)])
    assert (heard.status, reached) == (401, [])


def test_what_a_browser_says_of_itself_in_other_headers_is_not_heard(client: PageClient, reached: list[Any]):
    answered = client.request(
        "POST",
        "/note",
        "write",
        body=b"{}",
        headers={"X-Tool-Name": "note", "Meridian-Tool": "note", "X-Forwarded-User": "admin"},
    )
    assert (answered.status, reached) == (403, [])


def test_a_large_set_of_accounts_goes_by_digest_and_is_fetched_through_the_door(pages: meridian.Pages, reached: list[Any]):
    many = {f"ACC-{number}" for number in range(1000)}
    client = PageClient(pages, book(accounts=many), write={"operations": many})
    assert client.get("/", "write").status == 200
    assert (reached[0].write, len(reached[0].header) < 2000) == (Accounts.of(many), True)


def test_every_account_is_a_mark_and_not_a_list(pages: meridian.Pages, reached: list[Any]):
    PageClient(pages, None, read={"operations": Accounts(all=True)}).get("/", "read")
    assert (reached[0].read.all, "ACC-77" in reached[0].read, "ACC-77" in reached[0].write) == (True, True, False)


# ── A claim of a tool ──────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("tool", "method", "path", "level"),
    [
        ("note", "POST", "/check", "write"),
        ("check", "POST", "/note", "write"),
        ("note", "GET", "/", "write"),
    ],
)
def test_a_tools_claim_elsewhere_is_a_403(
    client: PageClient, reached: list[Any], tool: str, method: str, path: str, level: Any
):  # fmt: skip
    claimed = client.caller(level, tool=tool, method=method, path=path, body=b"{}")
    answered = client.request(
        method, path, level, body=b"{}", content_type="application/json", headers={"Meridian-Caller": claimed.header}
    )
    detail = f"The call is claimed for the tool {tool}, which is not served here."
    assert (said(answered), reached) == ((403, refused("not_served", detail)), [])


def test_a_tools_claim_at_a_level_it_does_not_serve_is_a_403(client: PageClient, reached: list[Any]):
    answered = client.call_tool("note", level="read")
    assert (answered.status, answered.reason, answered.level, reached) == (403, "not_served", "read", [])


# ── The form's token ───────────────────────────────────────────────────────


@pytest.mark.parametrize("path", ["/note", "/check"])
def test_a_browsers_post_without_its_token_is_a_403_reads_included(client: PageClient, reached: list[Any], path: str):
    answered = client.request("POST", path, "write", form={"account": "ACC-1"}, headers=JSON)
    detail = "The form's token is missing or is not yours. Open the page again and send the form from there."
    assert (said(answered), reached) == ((403, refused("not_served", detail)), [])


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_whatever_method_may_change_something_asks_for_the_token(method: str):
    pages = meridian.Pages("Desk")
    pages.route("/x", levels="write", methods=[method], params=Note, name="x")(lambda request: pages.answer(None, {}))
    client = PageClient(pages, None)
    assert [client.request(method, "/x", "write", form={}).status, client.post("/x", "write", method=method).status] == [
        403,
        200,
    ]
    assert client.call_tool("x").outcome == "made"


@pytest.mark.parametrize(
    "other",
    [{"subject": "someone else"}, {"instance": "another"}],
    ids=["person", "plugin"],
)
def test_the_token_is_bound_to_person_and_plugin(client: PageClient, pages: meridian.Pages, other: dict[str, Any]):
    token = PageClient(pages, None, **other).form_token("write")
    assert client.request("POST", "/note", "write", form={"csrf": token}).status == 403


def test_the_token_is_bound_to_the_level(client: PageClient):
    assert [
        client.request("POST", "/note", "write", form={"csrf": client.form_token(level)}).status
        for level in ("read", "write", "admin")
    ] == [403, 200, 403]


def test_the_token_survives_a_restart(pages: meridian.Pages, client: PageClient):
    restarted = PageClient(pages, None, write={"operations": {"ACC-1"}})
    assert restarted.served is not client.served
    assert restarted.request("POST", "/note", "write", form={"csrf": client.form_token("write")}).status == 200


def test_each_token_is_spelled_otherwise(client: PageClient):
    assert client.form_token("write") != client.form_token("write")


@pytest.mark.parametrize(
    ("site", "status"), [("same-origin", 200), ("none", 200), ("same-site", 403), ("cross-site", 403), ("nonsense", 403)]
)
def test_a_form_sent_from_another_site_is_a_403(client: PageClient, site: str, status: int):
    form = {"csrf": client.form_token("write")}
    assert client.request("POST", "/note", "write", form=form, headers={"sec-fetch-site": site}).status == status


@pytest.mark.parametrize("content_type", ["text/plain", "application/json", None])
def test_json_in_a_session_without_a_token_is_a_403_whatever_it_says_it_is(
    client: PageClient, reached: list[Any], content_type: str | None
):
    """R73: a form of another site can post what reads as JSON."""
    answered = client.request("POST", "/note", "write", body=b'{"account": "ACC-1", "x": "="}', content_type=content_type)
    assert (answered.status, reached) == (403, [])


def test_json_in_a_session_with_the_token_in_its_header_is_let_in(client: PageClient):
    answered = client.request(
        "POST",
        "/note",
        "write",
        body=b'{"account": "ACC-1"}',
        content_type="application/json",
        headers={"Meridian-Form-Token": client.form_token("write")},
    )
    assert said(answered) == (200, {"outcome": "made", "data": {"path": "/note"}})


def test_the_calls_moment_is_told_by_the_clock_that_is_passed_in(pages: meridian.Pages):
    now = datetime(2026, 1, 31, 12, tzinfo=UTC)
    client = PageClient(pages, None, clock=lambda: now)
    early = signed(client, claims(client, expires_at=int((now - timedelta(seconds=1)).timestamp())))
    late = signed(client, claims(client, expires_at=int((now + timedelta(seconds=1)).timestamp())))
    assert [asked_with(client, header).status for header in (early, late)] == [401, 200]
