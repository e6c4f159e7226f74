"""The dashboard's Pages, and what its views reach of the deployment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from meridian.deployment.reaching import Hosted
from meridian.deployment.settings import Settings
from meridian.deployment.store import Store
from meridian.pages import Pages

__all__ = ["Desk", "pages"]

pages = Pages("Dashboard", templates="templates")


@dataclass(frozen=True)
class Desk:
    """The deployment, as its own pages reach it: `request.plugin` of the dashboard.

    `hosted` are the plugins it runs, the dashboard not among them.
    """

    store: Store
    hosted: Mapping[str, Hosted]
    clock: Callable[[], datetime]
    settings: Settings
