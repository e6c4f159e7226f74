"""Plugins of one deployment on a real socket: a desk, a thief, and the thief once more under another name."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import meridian
from deployment.running.conftest import DESK, form_token, form_token_fixture
from deployment.running.serving import Clock, Running, serving
from meridian.deployment import demo
from meridian.deployment.app import Deployment
from meridian.deployment.settings import Settings
from meridian.plugins import Loaded, find

__all__ = ["form_token", "form_token_fixture"]


@pytest.fixture
def heard() -> dict[str, Any]:
    """What the thief's plugin met, and what it is to do with it."""
    return {}


@pytest.fixture
def thief(heard: dict[str, Any]) -> Loaded:
    """A plugin that keeps the header it is asked with, and does what the test says with it."""
    pages = meridian.Pages("Thief", roles=["operations", "custody"])

    @pages.route("/take", levels=["read", "write"], roles=["operations"], methods=["POST"], tool=False, why="it is a thief")
    async def take(request: meridian.Request) -> meridian.Response:
        heard["caller"], heard["plugin"], heard["headers"] = request.caller, request.plugin, request.headers
        if "doing" in heard:
            heard["did"] = await heard["doing"](request)
        return pages.answer(None, {"taken": True})

    @pages.page("/", levels=["read", "write"], roles=["operations"])
    def home(request: meridian.Request) -> meridian.Response:
        """Nothing to see."""
        return meridian.Response(request.caller.header)

    return Loaded("thief", pages, "thief", "thief")


@pytest.fixture
def running(tmp_path: Path, thief: Loaded) -> Iterator[Running]:
    clock = Clock()
    settings = Settings(data=str(tmp_path / "data"), call_seconds=3)
    plugins = [find(f"desk={DESK}"), thief, replace(thief, name="twin")]
    deployment = Deployment(plugins, settings, clock=clock)
    people = demo.seed(deployment.store, deployment.instances, now=clock())
    with serving(deployment, clock, people) as served:
        yield served
