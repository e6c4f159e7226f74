"""A deployment of one small plugin and the demo's people, on a real socket."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from deployment.running.serving import Clock, Running, serving
from meridian.deployment import demo
from meridian.deployment.app import Deployment
from meridian.deployment.settings import Settings
from meridian.plugins import find

DESK = Path(__file__).parent / "desk"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data=str(tmp_path / "data"), call_seconds=3, calls_at_once=64)


@pytest.fixture
def fetch() -> None:
    """How documents that describe clients are read; a test file may have it another way."""


@pytest.fixture
def running(settings: Settings, fetch: Any) -> Iterator[Running]:
    clock = Clock()
    deployment = Deployment([find(f"desk={DESK}")], settings, clock=clock, fetch=fetch)
    people = demo.seed(deployment.store, deployment.instances, now=clock())
    with serving(deployment, clock, people) as served:
        yield served


def form_token(html: str) -> str:
    """The form token that a page carries."""
    found = re.search(r'name="csrf" value="([^"]+)"', html) or re.search(r'value="([^"]+)"[^>]*name="csrf"', html)
    assert found, html
    return found[1]


@pytest.fixture(name="form_token")
def form_token_fixture() -> Callable[[str], str]:
    return form_token
