"""The opening balance's plugin on a real socket, and two people who may make what the other prepared."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deployment.running.conftest import form_token, form_token_fixture
from deployment.running.serving import Clock, Running, serving
from meridian.deployment import access, demo, identity
from meridian.deployment.app import Deployment
from meridian.deployment.demo import DemoPerson
from meridian.deployment.settings import Settings
from meridian.plugins import find

__all__ = ["BALANCE", "COLLEAGUE", "form_token", "form_token_fixture", "inputs"]

COLLEAGUE = "demo-colleague"

BALANCE: dict[str, Any] = {
    "account": "A-1",
    "as_of": "2026-01-02",
    "reason": "Statement of January",
    "positions": [
        {
            "instrument": {"identifier": "037833100", "scheme": "CUSIP"},
            "lots": [{"quantity": "10", "cost": "1500.25", "acquired": None}],
        }
    ],
}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data=str(tmp_path / "data"), call_seconds=3)


@pytest.fixture
def running(settings: Settings) -> Iterator[Running]:
    """The demo's people, and a colleague of the demo's writer who holds what they hold."""
    clock = Clock()
    deployment = Deployment([find("operations=opening_balance")], settings, clock=clock)
    people = demo.seed(deployment.store, deployment.instances, now=clock())
    identity.add_person(deployment.store, COLLEAGUE, "Demo colleague", subject=COLLEAGUE, now=clock())
    access.join(deployment.store, "demo-writers", COLLEAGUE)
    link = identity.sign_in_link(deployment.store, COLLEAGUE, now=clock())
    colleague = DemoPerson(COLLEAGUE, "Demo colleague", "", link, "")
    with serving(deployment, clock, [*people, colleague]) as served:
        yield served


def inputs(html: str) -> dict[str, str]:
    """What a browser would send of a page's form, as drawn: its inputs' values by their names."""
    found = re.findall(r"<input\b[^>]*>", html)
    pairs = [(re.search(r'name="([^"]*)"', each), re.search(r'value="([^"]*)"', each)) for each in found]
    return {name[1]: value[1] if value else "" for name, value in pairs if name}
