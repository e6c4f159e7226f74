"""A client that asks for access, as its bytes go over the wire, and the person who answers it in a browser."""

import base64
import hashlib
import re
import secrets
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

import httpx2

from meridian.deployment import identity

HOME = "http://127.0.0.1:51515/callback"


@dataclass
class Asking:
    """One client of a deployment, and what it was given."""

    running: object
    redirect_uri: str = HOME
    client_id: str = ""
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(48))
    refresh_token: str = ""
    access_token: str = ""

    @property
    def http(self):
        return self.running.browser()

    def register(self, **more):
        """Register, with the redirect address unless `more` names others."""
        told = {"client_name": "Notes", "redirect_uris": [self.redirect_uri], **more}
        answer = self.http.post("/oauth/register", json=told)
        if answer.status_code == 201:
            self.client_id = answer.json()["client_id"]
        return answer

    @property
    def challenge(self):
        return base64.urlsafe_b64encode(hashlib.sha256(self.verifier.encode()).digest()).rstrip(b"=").decode()

    def question(self, **more):
        """What the authorize address is asked; what `more` says is None is left out."""
        asked = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": self.redirect_uri,
            "state": "s 1&é",
            "code_challenge": self.challenge,
            "code_challenge_method": "S256",
            "resource": self.running.resource,
            "scope": "meridian",
            **more,
        }
        return {name: value for name, value in asked.items() if value is not None}

    def ask(self, browser, **more):
        return browser.get("/oauth/authorize", params=self.question(**more))

    def page(self, subject="demo-writer", browser=None, **more):
        """The consent page, in a browser in which the person signed in after the client had asked; and that browser."""
        browser = browser or self.running.browser()
        asked = self.ask(browser, **more)
        assert asked.status_code == 303, asked.text
        sign_in(self.running, browser, subject)
        return browser, browser.get(asked.headers["location"])

    def token(self, **asked):
        return self.http.post("/oauth/token", data=asked)

    def exchange(self, code, **more):
        """Exchange the code, and keep what came of it."""
        return self._kept(
            self.token(
                grant_type="authorization_code",
                code=code,
                client_id=self.client_id,
                redirect_uri=self.redirect_uri,
                code_verifier=self.verifier,
                resource=self.running.resource,
                **more,
            )
        )

    def refresh(self, token=None, **more):
        """Renew the tokens, and keep what came of it."""
        asked = {"grant_type": "refresh_token", "refresh_token": token or self.refresh_token, "client_id": self.client_id}
        return self._kept(self.token(**asked | more))

    def connect(self, subject="demo-writer", **said):
        """All of it: registered, asked, allowed, exchanged."""
        if not self.client_id:
            self.register()
        browser, page = self.page(subject)
        code = told(answer(browser, page, **said))["code"]
        assert self.exchange(code).status_code == 200
        return self

    def rpc(self, method="tools/list", token=None, **params):
        return httpx2.post(
            f"{self.running.url}/mcp",
            json={"jsonrpc": "2.0", "id": 1, "method": method, "params": params},
            headers={
                "Authorization": f"Bearer {token or self.access_token}",
                "Accept": "application/json, text/event-stream",
            },
            timeout=20,
        )

    def tools(self, token=None):
        return [tool["name"] for tool in self.rpc(token=token).json()["result"]["tools"]]

    def _kept(self, given):
        if given.status_code == 200:
            self.access_token, self.refresh_token = given.json()["access_token"], given.json()["refresh_token"]
        return given


def sign_in(running, browser, subject):
    """Sign the person in by a link made now."""
    link = identity.sign_in_link(running.deployment.store, subject, now=running.clock())
    assert browser.get(f"/sign-in/{link}").status_code == 303


def hidden(page):
    """The hidden fields of the consent form."""
    form = page.text.partition('action="/oauth/consent"')[2]
    return dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', form))


def answer(browser, page, decision="allow", rows=("write desk operations",), covers="rows", days="30", **more):
    """The form as the browser sends it."""
    said = {**hidden(page), "decision": decision, "rows": list(rows), "covers": covers, "days": days, **more}
    return browser.post("/oauth/consent", data=said)


def told(redirect):
    """What a redirect to the client tells it."""
    assert redirect.status_code == 303, redirect.text
    query = parse_qs(urlsplit(redirect.headers["location"]).query, keep_blank_values=True, strict_parsing=True)
    return {name: value for name, [value] in query.items()}


def by_hand(running, subject, rows, days, name="Notes"):
    """The page that answers the person who makes a client token, for a client without a browser; or, where they hold nothing
    that they could lend, the page that offers them nothing."""
    browser = running.browser()
    sign_in(running, browser, subject)
    page = browser.get("/dashboard/open/clients")
    csrf = re.search(r'name="csrf" value="([^"]+)"', page.text)
    if csrf is None:
        return page
    shown = re.search(r'name="shown" value="([^"]+)"', page.text)
    said = {"csrf": csrf[1], "meridian.page": "/clients", "client_name": name, "rows": list(rows), "days": days}
    if shown is not None:
        said["shown"] = shown[1]
    return browser.post("/dashboard/open/clients/make", data=said)


def told_token(page):
    """The token that such a page shows once."""
    assert page.status_code == 200, page.text
    return re.search(r"mrd_[\w-]+", page.text)[0]
