"""Signing in through the firm's provider: a real one, in a process of its own, and what it must not get away with."""

from dataclasses import replace
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from sqlalchemy import select, update

import openid
from meridian.deployment import access, identity, oidc, provider_groups
from meridian.deployment.app import Deployment
from meridian.deployment.settings import Settings
from meridian.deployment.store.tables import people
from meridian.errors import DeploymentError, Refusal

PEOPLE = {
    "24400320": {"name": "Ada Lovelace", "email": "demo-writer", "preferred_username": "demo-writer", "groups": ["desk", "x"]},
    "7": {"name": "Ada Lovelace", "email": "demo-writer", "groups": []},
}


@pytest.fixture(scope="module")
def providers(request):
    """Where this module's tests have their provider from."""
    with openid.providers(request.config.cache.mkdir("oidc-provider")) as made:
        yield made


@pytest.fixture
def process(providers):
    """A provider that answers, and knows nobody yet."""
    return providers.running()


@pytest.fixture
def settings(settings, process):
    """Those of a deployment whose people sign in through the provider."""
    return Settings(
        data=settings.data,
        oidc_issuer=process.issuer,
        oidc_client_id=openid.CLIENT_ID,
        oidc_client_secret=openid.CLIENT_SECRET,
        oidc_name="Example Bank",
    )


@pytest.fixture
def provider(process, running):
    """The provider, which knows the deployment and two people."""
    process.tell(
        redirect_uris=[f"{running.url}/sign-in/provider/answer"],
        people=PEOPLE,
        forged=None,
        document={},
        broken={},
        method="client_secret_basic",
    )
    return process


@pytest.fixture
def there():
    """The browser's side of the provider: its session there."""
    with httpx2.Client(timeout=20) as client:
        yield client


@pytest.fixture
def come(provider, running, there):
    """`come(name)` signs in through the provider: the browser, and what its way back was answered with."""

    def come(name="24400320", *, browser=None, back="/", to=None):
        browser = browser or running.browser()
        begun = browser.get("/sign-in/provider", params={"next": back})
        assert begun.status_code == 303, begun.text
        answered = provider.sign_in(there, begun.headers["location"], name)
        return browser, browser.get(to(answered) if to else answered)

    return come


def subject_of(running, browser):
    session = identity.read_session(running.deployment.store, browser.cookies["meridian"], now=running.clock())
    return session.person.subject if session else None


def groups_of(running, subject):
    return [each.id for each in access.every_user_group(running.deployment.store) if subject in each.members]


def test_the_sign_in_page_leads_to_the_provider(running):
    page = running.browser().get("/sign-in?next=/desk/open/").text
    assert 'href="/sign-in/provider?next=%2Fdesk%2Fopen%2F">Sign in with Example Bank</a>' in page


def test_the_provider_is_asked_for_a_code_by_s256_and_for_a_fresh_sign_in(running, provider):
    location = running.browser().get("/sign-in/provider").headers["location"]
    asked = {name: each for name, (each,) in parse_qs(urlsplit(location).query).items()}
    assert len({asked.pop(each) for each in ("state", "nonce", "code_challenge")}) == 3
    assert location.startswith(f"{provider.issuer}/auth?")
    assert asked == {
        "response_type": "code",
        "client_id": "meridian",
        "redirect_uri": f"{running.url}/sign-in/provider/answer",
        "scope": "openid profile",
        "code_challenge_method": "S256",
        "prompt": "login",
        "max_age": "0",
    }


def test_whoever_comes_first_is_a_new_person_who_holds_nothing(running, come):
    browser, answer = come(back="/desk/open/?a=1")
    assert (answer.status_code, answer.headers["location"]) == (303, "/desk/open/?a=1")
    person = identity.person(running.deployment.store, subject_of(running, browser))
    assert (person.display_name, person.signs_in_as) == ("Ada Lovelace", f"24400320 at {person.issuer}")
    assert groups_of(running, person.subject) == []
    home = browser.get("/").text
    assert ("Ada Lovelace" in home, "/desk/" in home) == (True, False)


def test_who_somebody_is_comes_from_the_issuer_and_its_sub_alone(running, come, provider):
    found = {subject_of(running, come(name)[0]) for name in ("24400320", "7", "24400320")}
    provider.tell(people={"24400320": {"name": "Ada King", "preferred_username": "countess"}})
    again = subject_of(running, come("24400320")[0])
    assert (len(found), again in found, "demo-writer" in found) == (2, True, False)
    assert identity.person(running.deployment.store, again).display_name == "Ada King"


def test_another_issuer_s_sub_is_another_person(running, come):
    one = subject_of(running, come()[0])
    with running.deployment.store.write() as connection:
        connection.execute(update(people).where(people.c.subject == one).values(issuer="https://another.example"))
    assert subject_of(running, come()[0]) != one


def test_groups_are_what_an_admin_named_for_the_provider_s_and_follow_it_at_each_sign_in(running, come, provider):
    store = running.deployment.store
    access.add_group(store, "user", "x")
    provider_groups.name(store, "demo-writers", provider.issuer, "desk")
    provider_groups.name(store, "demo-readers", provider.issuer, "others")
    browser, _ = come()
    subject = subject_of(running, browser)
    assert (groups_of(running, subject), browser.get("/desk/open/").status_code) == (["demo-writers"], 200)
    provider.tell(people={"24400320": {"name": "Ada Lovelace", "groups": "others"}})
    come()
    assert groups_of(running, subject) == ["demo-readers"]
    provider.tell(people={"24400320": {"name": "Ada Lovelace", "groups": {"desk": True}}})
    come()
    assert (groups_of(running, subject), browser.get("/desk/open/").status_code) == ([], 403)


@pytest.mark.parametrize(
    ("named", "claims", "found"),
    [
        ("realm_access.roles", {"realm_access": {"roles": ["desk"]}}, "desk"),
        ("https://bank.example/groups", {"https://bank.example/groups": ["desk"]}, "desk"),
        ("a.b", {"a.b": ["desk"], "a": {"b": ["others"]}}, "desk"),
        ("a.b.c", {"a": {"b": ["desk"]}}, None),
        ("groups.desk", {"groups": ["desk"]}, None),
    ],
)
def test_groups_are_found_where_the_settings_say_that_the_token_has_them(settings, named, claims, found, running):
    provider = oidc.Provider(replace(settings, oidc_groups_claim=named), key=b"k" * 32, clock=running.clock)
    vouched = provider._vouched({"sub": "24400320", **claims})
    assert vouched.groups == ({found} if found else frozenset())


def test_a_membership_that_a_person_gave_is_not_the_provider_s_to_take(running, come, provider):
    store = running.deployment.store
    provider_groups.name(store, "demo-writers", provider.issuer, "desk")
    subject = subject_of(running, come()[0])
    access.join(store, "demo-writers", subject)
    provider.tell(people={"24400320": {"name": "Ada Lovelace"}})
    come()
    assert groups_of(running, subject) == ["demo-writers"]


def test_a_group_that_gives_nothing_any_more_takes_what_it_gave_at_once(running, come, provider):
    store = running.deployment.store
    for group in ("desk", "x"):
        provider_groups.name(store, "demo-writers", provider.issuer, group)
    browser, _ = come()
    provider_groups.unname(store, "demo-writers", provider.issuer, "x")
    assert browser.get("/desk/open/").status_code == 200
    provider_groups.unname(store, "demo-writers", provider.issuer, "desk")
    assert browser.get("/desk/open/").status_code == 403
    assert groups_of(running, "demo-writer") == ["demo-writers"]


def test_no_provider_says_who_is_a_deployment_admin(running, provider):
    with pytest.raises(Refusal, match="Deployment admins are named here"):
        provider_groups.name(running.deployment.store, "deployment-admins", provider.issuer, "desk")


def test_an_admin_names_a_group_on_its_page_and_takes_the_name_away(running, form_token, provider):
    browser = running.browser("demo-admin")
    at = "/dashboard/manage/groups"
    page = browser.get(at, params={"kind": "user", "group": "demo-writers"}).text
    form = {"csrf": form_token(page), "group": "demo-writers", "meridian.page": "/groups"}
    assert browser.post(f"{at}/name", data=form | {"name": " desk "}).status_code == 303
    assert provider_groups.named(running.deployment.store, "demo-writers", provider.issuer) == ("desk",)
    page = browser.get(at, params={"kind": "user", "group": "demo-writers"}).text
    assert "<bdi>desk</bdi>" in page[page.index("<h2>Groups at the provider") :]
    assert browser.post(f"{at}/name", data=form | {"name": ""}).status_code == 422
    assert browser.post(f"{at}/unname", data=form | {"name": "desk"}).status_code == 303
    assert provider_groups.named(running.deployment.store, "demo-writers", provider.issuer) == ()


def test_whoever_was_let_go_is_let_in_no_more(running, come):
    browser, _ = come()
    access.let_go(running.deployment.store, subject_of(running, browser), now=running.clock())
    _, answer = come()
    assert (answer.status_code, "You were let go" in answer.text, "meridian" in answer.cookies) == (403, True, False)


def test_whoever_signs_in_there_has_no_password_here(running, come):
    browser, _ = come()
    subject = subject_of(running, browser)
    with pytest.raises(Refusal, match="You sign in through a provider"):
        identity.set_password(running.deployment.store, subject, "a long enough password")
    assert browser.get("/sign-in/password").status_code == 403
    with running.deployment.store.read() as connection:
        name = connection.scalar(select(people.c.sign_in_name).where(people.c.subject == subject))
    for typed in (name, "24400320", "demo-writer"):
        with pytest.raises(Refusal, match="do not go together"):
            identity.sign_in(running.deployment.store, typed, "a long enough password", now=running.clock())


def test_a_session_at_the_provider_is_not_enough(come, provider):
    come()
    asked = len([each for each in provider.asked() if "/interaction/" in each])
    come()
    assert len([each for each in provider.asked() if "/interaction/" in each]) > asked > 0


# What does not sign in.


@pytest.mark.parametrize(
    "wrong",
    [
        lambda answer: answer.replace("state=", "state=x"),
        lambda answer: answer.replace("state=", "stat="),
        lambda answer: answer.replace("iss=", "iss=https%3A%2F%2Fevil.example&was="),
        lambda answer: answer.replace("iss=", "was="),
        lambda answer: answer.replace("code=", "code=x"),
        lambda answer: answer.replace("code=", "error=access_denied&was="),
    ],
    ids=["another state", "no state", "another issuer", "no issuer", "another code", "denied"],
)
def test_an_answer_that_was_tampered_with_signs_nobody_in(come, wrong):
    browser, answer = come(to=wrong)
    assert answer.status_code in (400, 403)
    assert "You were not signed in" in answer.text
    assert "meridian" not in browser.cookies


def test_an_answer_in_another_browser_signs_nobody_in(running, come, provider, there):
    """Neither a browser that began nothing, nor one that began something else, takes up what an attacker began."""
    begun = running.browser().get("/sign-in/provider").headers["location"]
    answered = provider.sign_in(there, begun, "24400320")
    other = running.browser()
    assert other.get(answered).status_code == 400
    other.get("/sign-in/provider")
    assert (other.get(answered).status_code, "meridian" in other.cookies) == (400, False)


def test_a_code_that_another_browser_was_given_signs_nobody_in(running, provider, there):
    """An attacker's own state and cookie, with a code that was stolen: the verifier is another's."""
    begun = running.browser().get("/sign-in/provider").headers["location"]
    stolen = parse_qs(urlsplit(provider.sign_in(there, begun, "24400320")).query)["code"][0]
    attacker = running.browser()
    own = parse_qs(urlsplit(attacker.get("/sign-in/provider").headers["location"]).query)["state"][0]
    answer = attacker.get("/sign-in/provider/answer", params={"code": stolen, "state": own, "iss": provider.issuer})
    assert (answer.status_code, "meridian" in attacker.cookies) == (403, False)


def test_a_cookie_that_was_changed_fits_no_answer(running, provider, there):
    browser = running.browser()
    begun = browser.get("/sign-in/provider").headers["location"]
    answered = provider.sign_in(there, begun, "24400320")
    cookie = browser.cookies["meridian-provider"]
    for changed in (f"{cookie[:-4]}AAAA", cookie[1:], "x", ""):
        assert httpx2.get(answered, cookies={"meridian-provider": changed}).status_code == 400


def test_an_answer_is_good_for_once_and_for_ten_minutes(running, come, provider, there):
    browser = running.browser()
    begun = browser.get("/sign-in/provider").headers["location"]
    cookie = browser.cookies["meridian-provider"]
    answered = provider.sign_in(there, begun, "24400320")
    assert browser.get(answered).status_code == 303
    assert browser.get(answered).status_code == 400
    assert httpx2.get(answered, cookies={"meridian-provider": cookie}).status_code == 403
    late = running.browser()
    begun = late.get("/sign-in/provider").headers["location"]
    answered = provider.sign_in(there, begun, "24400320")
    running.clock.moved = timedelta(minutes=10)
    assert (late.get(answered).status_code, "meridian" in late.cookies) == (400, False)


FORGED = [
    ({"claims": {"aud": "another"}}, "Invalid claim: 'aud'"),
    ({"claims": {"aud": ["meridian", "another"]}}, "issued to another client"),
    ({"claims": {"azp": "another"}}, "issued to another client"),
    ({"claims": {"nonce": "another"}}, "Invalid claim: 'nonce'"),
    ({"claims": {"iss": "https://evil.example"}}, "Invalid claim: 'iss'"),
    ({"claims": {"exp": 1_000_000_000}}, "expired"),
    ({"claims": {"exp": "never"}}, "'exp' must be a NumericDate"),
    ({"claims": {"iat": 9_000_000_000}}, "issued in the future"),
    ({"claims": {"nbf": 9_000_000_000}}, "not yet valid"),
    ({"claims": {"auth_time": 1_000_000_000}}, "a sign-in at another time"),
    ({"claims": {"auth_time": 9_000_000_000}}, "a sign-in at another time"),
    ({"claims": {"auth_time": "now"}}, "a sign-in at another time"),
    ({"claims": {"auth_time": True}}, "a sign-in at another time"),
    ({"claims": {"sub": ""}}, "Invalid claim: 'sub'"),
    ({"claims": {"sub": 7}}, "'sub' must be"),
    ({"claims": {"sub": "x" * 256}}, "sub is no word"),
    ({"claims": {"sub": "a\nb"}}, "sub is no word"),
    *(
        ({"without": [claim]}, f"Missing claim: '{claim}'")
        for claim in ("iss", "aud", "sub", "exp", "iat", "nonce", "auth_time")
    ),
    ({"key": "unpublished"}, "bad_signature"),
    ({"key": "unknown"}, "No key for kid"),
    ({"key": "secret"}, "'HS256' is not allowed"),
    ({"key": "public"}, "'HS256' is not allowed"),
    ({"key": "none"}, "'none' is not allowed"),
    ({"token": "no token"}, "its ID token does not do"),
    ({"token": "e30.e30.e30"}, "its ID token does not do"),
    ({"token": "eyJhbGciOiJSUzI1NiIsImNyaXQiOjd9.e30.e30"}, "its ID token does not do"),
    ({"token": 7}, "no ID token"),
    ({"token": None}, "no ID token"),
]


def test_a_token_that_is_not_the_provider_s_word_for_this_browser_signs_nobody_in(running, come, provider, caplog):
    """Each is refused for what is wrong with it; the same browser is signed in by one with which nothing is."""
    browser = running.browser()
    for forged, reason in FORGED:
        caplog.clear()
        provider.tell(forged=forged)
        answer = come(browser=browser)[1]
        told = caplog.text.partition("through the provider refused: ")[2]
        assert (answer.status_code, reason in told, "meridian" in browser.cookies) == (403, True, False), (forged, told)
    provider.tell(forged={"claims": {"name": "Ada"}})
    assert (come(browser=browser)[1].status_code, "meridian" in browser.cookies) == (303, True)


def test_a_sign_in_there_before_this_one_was_begun_is_too_old(come, provider, running):
    """A provider that did not ask anew: its session is of two minutes ago."""
    then = int(running.clock().timestamp()) - 120
    provider.tell(forged={"claims": {"auth_time": then}})
    assert come()[1].status_code == 403
    provider.tell(forged={"claims": {"auth_time": then + 120}})
    assert come()[1].status_code == 303


def test_a_key_that_the_provider_takes_up_is_found_at_once(come, provider):
    assert come()[1].status_code == 303
    provider.tell(rotate=True)
    assert come()[1].status_code == 303


def test_keys_are_read_once_and_anew_after_an_hour(come, provider, running):
    come()
    provider.tell()
    come()
    read = [each for each in provider.asked() if each in ("GET /jwks", "GET /.well-known/openid-configuration")]
    running.clock.moved = timedelta(hours=1)
    running.browser().get("/sign-in/provider")
    assert (read, "GET /.well-known/openid-configuration" in provider.asked()) == ([], True)


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
def test_the_client_says_who_it_is_as_the_provider_takes_it(come, provider, method):
    provider.tell(method=method)
    assert come()[1].status_code == 303


@pytest.mark.parametrize("listed", [["desk"] * 2_000, ["x" * 300, 7, None, "\ud800", "desk"], "desk"])
def test_groups_of_any_kind_are_read_or_let_be(running, come, provider, listed):
    provider_groups.name(running.deployment.store, "demo-writers", provider.issuer, "desk")
    provider.tell(forged={"claims": {"groups": listed, "name": "A\x00da\ud800 \u202e" + "x" * 500}})
    browser, answer = come()
    subject = subject_of(running, browser)
    assert (answer.status_code, groups_of(running, subject)) == (303, ["demo-writers"])
    assert identity.person(running.deployment.store, subject).display_name.startswith("Ada ")
    assert browser.get("/").status_code == 200


# A session from the provider.


def test_signing_in_there_ends_the_session_there_was_and_starts_one_of_its_own(running, come):
    browser = running.browser("demo-reader")
    before = browser.cookies["meridian"]
    come(browser=browser)
    assert browser.cookies["meridian"] != before
    assert httpx2.get(f"{running.url}/", cookies={"meridian": before}).status_code == 303
    assert "Ada Lovelace" in browser.get("/").text


def test_a_session_counts_from_when_its_sign_in_was_begun(running, provider, there):
    browser = running.browser()
    before = running.clock()
    begun = browser.get("/sign-in/provider").headers["location"]
    asked = running.clock()
    browser.get(provider.sign_in(there, begun, "24400320"))
    session = identity.read_session(running.deployment.store, browser.cookies["meridian"], now=running.clock())
    assert session.signed_in_by == "provider"
    assert before <= session.started_at <= asked


# Where the provider, or what is said of it, does not do.


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"oidc_issuer": "http://login.example"}, "oidc_issuer: 'http://login.example' is no issuer"),
        ({"oidc_issuer": "https://login.example?x"}, "is no issuer"),
        ({"oidc_issuer": "https://a@login.example"}, "is no issuer"),
        ({"oidc_issuer": "login.example"}, "is no issuer"),
        ({"oidc_client_id": ""}, "oidc_client_id: nothing was given"),
        ({"oidc_scope": "profile"}, "oidc_scope: 'profile' lacks openid"),
    ],
)
def test_settings_that_name_no_provider_are_refused_at_the_start(tmp_path, given, words):
    named = {"data": str(tmp_path), "oidc_issuer": "https://login.example", "oidc_client_id": "meridian"}
    with pytest.raises(DeploymentError, match=words):
        Deployment([], Settings(**named | given))


@pytest.mark.parametrize(
    "document",
    [
        {"issuer": "https://evil.example"},
        {"jwks_uri": "http://evil.example/keys"},
        {"token_endpoint": None},
        {"authorization_endpoint": "javascript:alert(1)"},
    ],
    ids=str,
)
def test_a_provider_that_says_of_itself_what_does_not_do_is_not_asked(running, provider, document):
    provider.tell(document=document)
    answer = running.browser().get("/sign-in/provider")
    provider.tell(document={})
    assert (answer.status_code, "The provider could not be asked" in answer.text) == (502, True)


@pytest.mark.parametrize("path", ["/.well-known/openid-configuration", "/token", "/jwks"])
@pytest.mark.parametrize("broken", ["large", "no JSON", "elsewhere", "500"])
def test_a_provider_that_answers_wrongly_signs_nobody_in_and_does_again_once_it_is_well(
    running, come, provider, there, path, broken
):
    provider.tell(broken={path: broken})
    browser = running.browser()
    begun = browser.get("/sign-in/provider")
    if begun.status_code == 303:
        begun = browser.get(provider.sign_in(there, begun.headers["location"], "24400320"))
    provider.tell(broken={})
    assert (begun.status_code, "meridian" in browser.cookies) == (502, False)
    assert come()[1].status_code == 303


def test_a_provider_that_does_not_answer_is_not_waited_for(running, provider, monkeypatch):
    monkeypatch.setattr(oidc, "_ANSWER_SECONDS", 0.3)
    provider.tell(broken={"/.well-known/openid-configuration": "drips"})
    answer = running.browser().get("/sign-in/provider")
    provider.tell(broken={})
    assert (answer.status_code, answer.elapsed < timedelta(seconds=5)) == (502, True)
