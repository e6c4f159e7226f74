"""Access, as a deployment admin changes it on the dashboard over a real socket, and what that changes for whom."""

import re
from dataclasses import dataclass
from html import unescape
from typing import Any

import httpx2
import pytest

from deployment.running.serving import TO_LOOK
from meridian.callers import Accounts, Holding
from meridian.deployment import access, dashboard, delegations, identity
from meridian.deployment.access import AccessRow
from meridian.errors import Refusal

pytestmark = pytest.mark.anyio

MANAGE = "/dashboard/manage"


@pytest.fixture
def anyio_backend():
    return "asyncio"


@dataclass
class Admin:
    """A deployment admin's browser, on the pages of access."""

    browser: httpx2.Client
    token: str

    def page(self, path: str, **query: str) -> str:
        answer = self.browser.get(f"{MANAGE}{path}", params=query)
        assert answer.status_code == 200, answer.text
        return unescape(answer.text)

    def post(self, path: str, page: str = "/access", **form: Any) -> httpx2.Response:
        return self.browser.post(f"{MANAGE}{path}", data={"csrf": self.token, "meridian.page": page, **form})

    def done(self, path: str, **form: Any) -> str:
        """The page that a form leads to when it is taken."""
        answer = self.post(path, **form)
        assert answer.status_code == 303, answer.text
        return unescape(self.browser.get(answer.headers["location"]).text)


@pytest.fixture
def admin(running, form_token):
    browser = running.browser("demo-admin")
    return Admin(browser, form_token(browser.get(f"{MANAGE}/access").text))


def holds(running, subject):
    return access.holdings(running.deployment.store, subject, "desk", ["operations", "custody"])


def members(running, group):
    return next(each.members for each in access.every_user_group(running.deployment.store) if each.id == group)


def rows_of(page: str) -> list[list[str]]:
    """The text of each cell of a page's tables, row by row."""
    found = []
    for row in re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL):
        cells = re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.DOTALL)
        found.append([" ".join(re.sub(r"<[^>]+>", " ", cell).split()) for cell in cells])
    return found


# Who may.


@pytest.mark.parametrize("path", ["/access", "/people", "/groups", "/accounts"])
def test_who_is_no_deployment_admin_is_refused_in_words(running, path):
    answer = running.browser("demo-writer").get(f"{MANAGE}{path}")
    assert answer.status_code == 403
    assert "You do not hold Manage on Dashboard; there you hold Open." in unescape(answer.text)


@pytest.mark.parametrize("button", ["manage", "open", "view"])
def test_a_change_posted_by_who_is_no_deployment_admin_changes_nothing(running, form_token, button):
    browser = running.browser("demo-writer")
    token = form_token(browser.get("/dashboard/open/clients").text)
    form = {"csrf": token, "group": "deployment-admins", "subject": "demo-writer"}
    assert browser.post(f"/dashboard/{button}/groups/join", data=form).status_code == 403
    assert members(running, "deployment-admins") == ("demo-admin",)


def test_a_change_without_the_page_s_own_token_changes_nothing(running, admin):
    form = {"group": "deployment-admins", "subject": "demo-writer"}
    other = running.browser("demo-reader").get("/dashboard/open/clients").text
    stolen = re.search(r'name="csrf" value="([^"]+)"', other[other.index('action="/dashboard') :])
    answers = [
        admin.browser.post(f"{MANAGE}/groups/join", data=form | {"csrf": each}) for each in ("", stolen[1] if stolen else "")
    ]
    assert ([each.status_code for each in answers], members(running, "deployment-admins")) == ([403, 403], ("demo-admin",))


def test_an_agent_is_offered_no_act_of_the_dashboard_but_to_prepare_and_is_told_why():
    assert [f"dashboard__{each.name}" for each in dashboard.pages.tools] == TO_LOOK
    assert [each.name for each in dashboard.pages.tools if not each.reads] == [
        "prepare_change",
        "amend_prepared_change",
        "withdraw_prepared_change",
    ]
    assert [str(each) for each, why in dashboard.pages.not_offered if each.shape is not None and not why] == []


# People.


def test_a_person_is_added_holding_nothing_and_signs_in_by_a_link_that_is_shown_once(running, admin):
    page = admin.done("/people/add", display_name="Ada", sign_in_name="ada")
    subject = next(each.subject for each in identity.every_person(running.deployment.store) if each.sign_in_name == "ada")
    assert "They are added, and hold nothing yet" in page
    answer = admin.post("/people/link", subject=subject)
    link = re.search(r"<code>(http\S+)</code>", answer.text)
    assert link
    assert link[1].startswith(f"{running.url}/sign-in/")
    token = link[1].rpartition("/")[2]
    assert [token in admin.page("/people", person=subject), token in admin.page("/people")] == [False, False]
    entered = [running.browser().get(f"/sign-in/{token}") for _ in range(2)]
    assert [each.status_code for each in entered] == [303, 410]


def test_a_sign_in_name_that_is_taken_is_said_on_the_form(admin):
    answer = admin.post("/people/add", page="/people", display_name="Another", sign_in_name="demo-writer")
    assert (answer.status_code, "that name is taken; choose another" in answer.text) == (422, True)
    assert 'value="Another"' in answer.text


def test_what_somebody_holds_is_on_their_page(running, admin):
    store = running.deployment.store
    access.name_rows(store, "demo-reader-access", [AccessRow("desk", "operations", "read")])
    access.join(store, "demo-readers", "demo-writer")
    assert rows_of(admin.page("/people", person="demo-writer"))[:3] == [
        ["Level", "Accounts"],
        ["write on Desk, operations", "A-1, A-2"],
        ["read on Desk, operations", "A-1, A-2, A-3, A-4"],
    ]
    assert "deployment admin" in admin.page("/people", person="demo-admin")
    assert "Nothing on any plugin." in admin.page("/people", person="demo-newcomer")


def test_somebody_who_is_signed_out_everywhere_is_sent_to_sign_in(running, admin):
    browser = running.browser("demo-writer")
    admin.done("/people/sign-out", subject="demo-writer")
    assert browser.get("/").headers["location"].partition("?")[0] == "/sign-in"


def test_a_name_that_is_locked_is_unlocked_on_its_page(running, admin):
    store, now = running.deployment.store, running.clock()
    clerk = identity.add_person(store, "clerk", "Clerk", password="a long enough password", now=now)
    assert ">Unlock<" not in admin.page("/people", person=clerk.subject)
    for _ in range(identity.TRIES):
        with pytest.raises(Refusal):
            identity.sign_in(store, "clerk", "not the password", now=now)
    assert "Their name is <strong>locked</strong>" in admin.page("/people", person=clerk.subject)
    assert "Their name is locked no more" in admin.done("/people/unlock", subject=clerk.subject)
    assert identity.sign_in(store, "clerk", "a long enough password", now=now)


def test_somebody_who_is_let_go_is_out_of_every_group_and_their_clients_are_revoked(running, admin):
    browser = running.browser("demo-writer")
    page = admin.done("/people/let-go", subject="demo-writer")
    assert "They are let go" in page
    assert identity.person(running.deployment.store, "demo-writer") is None
    assert [each.revoked_at is None for each in delegations.held_by(running.deployment.store, "demo-writer")] == [False]
    assert (members(running, "demo-writers"), browser.get("/").status_code) == ((), 303)


@pytest.mark.parametrize(
    ("path", "page", "form"),
    [
        ("/people/leave", "/people?person=demo-admin", {"group": "deployment-admins", "subject": "demo-admin"}),
        ("/groups/leave", "/groups?kind=user&group=deployment-admins", {"group": "deployment-admins", "subject": "demo-admin"}),
        ("/people/let-go", "/people?person=demo-admin", {"subject": "demo-admin"}),
    ],
)
def test_the_last_deployment_admin_stays_and_the_page_says_why(running, admin, path, page, form):
    answer = admin.post(path, page=page, **form)
    assert answer.status_code == 422
    assert "This is the last deployment admin; make somebody else one first." in answer.text
    assert ("Take out" in answer.text, members(running, "deployment-admins")) == (True, ("demo-admin",))


def test_with_a_second_one_a_deployment_admin_may_leave_and_manages_no_more(running, admin):
    admin.done("/groups/join", group="deployment-admins", subject="demo-reader")
    left = admin.post("/people/leave", group="deployment-admins", subject="demo-admin")
    assert (left.status_code, admin.browser.get(f"{MANAGE}/access").status_code) == (303, 403)
    assert running.browser("demo-reader").get(f"{MANAGE}/access").status_code == 200


def test_a_person_there_is_not_is_refused_in_words(admin):
    answers = [admin.browser.get(f"{MANAGE}/people", params={"person": "P-none"}), admin.post("/people/link", subject="P-none")]
    assert [(each.status_code, "Nobody here is known by that." in each.text) for each in answers] == [(422, True)] * 2


def test_many_people_are_paged_and_found(running, admin):
    for number in range(130):
        identity.add_person(running.deployment.store, f"clerk-{number:03}", f"Clerk {number:03}", now=running.clock())
    first = admin.page("/people")
    assert (first.count("<tbody>"), '<a href="/dashboard/manage/people?page=2">2</a>' in first) == (100, True)
    assert admin.page("/people", page="2").count("<tbody>") == 35
    assert [row[0] for row in rows_of(admin.page("/people", find="CLERK 12"))[1:]] == [f"Clerk 12{each}" for each in range(10)]


# Groups, and what joins them.


async def test_a_change_of_groups_holds_at_the_next_request_and_at_the_client_s_next_list(running, admin):
    browser = running.browser("demo-writer")
    async with running.client("demo-writer") as client:
        before = browser.get("/desk/open/").status_code, len((await client.list_tools()).tools)
        admin.done("/groups/leave", group="demo-writers", subject="demo-writer")
        between = browser.get("/desk/open/").status_code
    async with running.client("demo-writer") as client:
        listed = (await client.list_tools()).tools
        admin.done("/people/join", group="demo-writers", subject="demo-writer")
    async with running.client("demo-writer") as client:
        after = browser.get("/desk/open/").status_code, len((await client.list_tools()).tools)
    assert (before, between, listed, after) == ((200, 21), 403, [], (200, 21))


def test_somebody_is_given_access_from_nothing_by_the_forms_alone(running, admin):
    assert "with nothing in it yet" in admin.done("/groups/add", kind="user", name="Night desk")
    admin.done("/groups/add", kind="account", name="Night accounts")
    admin.done("/groups/add", kind="access", name="Night levels")
    admin.done("/accounts/add", id="N-1", name="Night")
    admin.done("/groups/join", group="night-desk", subject="demo-newcomer")
    admin.done("/groups/put-account", group="night-accounts", account="N-1")
    admin.done("/groups/put-level", group="night-levels", row="write desk custody")
    assert holds(running, "demo-newcomer") == {}
    page = admin.done("/access/grant", user_group="night-desk", access_group="night-levels", account_group="night-accounts")
    assert [
        "Night desk",
        "Night levels write on Desk, custody",
        "Night accounts",
        "Withdraw Night desk hold Night levels on Night accounts",
    ] in rows_of(page)
    reached = Accounts(frozenset({"N-1"}))
    assert holds(running, "demo-newcomer") == {"custody": Holding(frozenset({"read", "write"}), reached, reached)}
    assert running.browser("demo-newcomer").get("/desk/open/").status_code == 200


@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("/groups/take-account", {"group": "demo-families", "account": "A-2"}),
        ("/groups/take-level", {"group": "demo-writer-access", "row": "write desk operations"}),
        ("/groups/remove", {"kind": "account", "group": "demo-families"}),
        ("/groups/remove", {"kind": "access", "group": "demo-writer-access"}),
        ("/groups/remove", {"kind": "user", "group": "demo-writers"}),
        ("/access/withdraw", {"permission": "the writers'"}),
    ],
)
def test_what_is_taken_away_is_held_no_more(running, admin, path, form):
    store = running.deployment.store
    if "permission" in form:
        form = {"permission": next(each.id for each in access.every_permission(store) if each.user_group == "demo-writers")}
    admin.done(path, **form)
    left = Accounts(frozenset({"A-1"}))
    some = {"operations": Holding(frozenset({"read", "write"}), left, left)}
    assert holds(running, "demo-writer") == (some if "account" in form else {})


@pytest.mark.parametrize(
    ("path", "form", "said"),
    [
        ("/groups/remove", {"kind": "user", "group": "deployment-admins"}, "This group is built in and stays as it is."),
        ("/groups/put-account", {"group": "all-accounts", "account": "A-1"}, "This group is built in and stays as it is."),
        ("/groups/put-level", {"group": "all-plugins-admin", "row": "write desk custody"}, "This group is built in"),
        (
            "/groups/put-level",
            {"group": "demo-writer-access", "row": "write desk treasury"},
            "choose a plugin's role at a level",
        ),
        ("/groups/put-level", {"group": "demo-writer-access", "row": "write dashboard"}, "choose a plugin's role at a level"),
        ("/groups/put-account", {"group": "demo-families", "account": "Z-9"}, 'there is no account "Z-9"'),
        ("/groups/join", {"group": "demo-writers", "subject": "nobody"}, "There is nobody of that name."),
        ("/groups/add", {"kind": "user", "name": "Demo writers"}, "Demo writers is taken; choose another name"),
        (
            "/access/grant",
            {"user_group": "none", "access_group": "none", "account_group": "none"},
            "There is no user group none.",
        ),
        ("/accounts/add", {"id": "A 1"}, '"A 1" is no ID'),
    ],
)
def test_what_cannot_be_is_refused_on_the_page_it_was_asked_on(admin, path, form, said):
    page = f"/groups?kind={form.get('kind', 'account' if 'account' in form else 'access' if 'row' in form else 'user')}"
    at = f"/{path.split('/')[1]}" if "group" not in form else f"{page}&group={form['group']}"
    answer = admin.post(path, page=at, **form)
    assert (answer.status_code, said in unescape(answer.text), "There is a problem" in answer.text) == (422, True, True)


def test_what_is_built_in_is_marked_and_has_no_button_that_removes_it(admin):
    rows = rows_of(admin.page("/access"))
    assert ["Deployment admins", "All plugins (admin)", "All accounts", "built in"] in rows
    for kind, group in (("user", "deployment-admins"), ("account", "all-accounts"), ("access", "all-plugins-admin")):
        page = admin.page("/groups", kind=kind, group=group)
        assert ("built in" in page, "Remove the group" in page) == (True, False)


def test_a_group_says_what_goes_with_it(admin):
    page = admin.page("/groups", kind="account", group="demo-families")
    assert "The 2 permissions above go with it" in page
    assert "Demo writers hold Demo writer access on Demo families" in re.sub(r"<[^>]+>", "", page)


def test_what_others_named_is_shown_with_what_it_hides(running, admin):
    access.add_account(running.deployment.store, "X-1", "Pay\u202eroll <b>")
    identity.add_person(running.deployment.store, "x", "Pay\u202eroll <b>", now=running.clock())
    for path in ("/accounts", "/people"):
        page = admin.browser.get(f"{MANAGE}{path}").text
        assert ("Pay[U+202E]roll &lt;b&gt;" in page, "\u202e" in page) == (True, False)


def test_an_account_gets_another_name_by_its_id(admin):
    admin.done("/accounts/add", id="A-1", name="Household of two")
    assert ["A-1", "Household of two", "Demo families"] in rows_of(admin.page("/accounts"))


def test_home_leads_a_deployment_admin_to_access_and_everyone_to_their_clients(running, admin):
    seen = {
        who: browser.get("/").text for who, browser in (("admin", admin.browser), ("writer", running.browser("demo-writer")))
    }
    assert {
        who: [f'href="{at}"' in page for at in ("/dashboard/open/clients", f"{MANAGE}/access")] for who, page in seen.items()
    } == {
        "admin": [True, True],
        "writer": [True, False],
    }
