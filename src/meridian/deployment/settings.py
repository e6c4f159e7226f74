"""How a deployment runs, as one record: its documentation and its command's help are derived from the fields.

Texts by name enter (an environment's, a command's); `Settings` leaves, or a DeploymentError that names every one that did
not read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Literal

from meridian.errors import DeploymentError
from meridian.records import field, read_form, shape_of

__all__ = ["Settings", "read_settings"]


@dataclass(frozen=True)
class Settings:
    """What an operator may choose of a deployment."""

    data: str = field(
        default="meridian-data",
        description="The folder that keeps the deployment's files; its name has no question mark.",
        pattern=r"[^?]+",
    )
    database: str = field(
        default="", description="The database's SQLAlchemy URL; left empty, an SQLite file in the data folder.", secret=True
    )
    host: str = field(default="127.0.0.1", description="The address that is listened on.", min_length=1)
    port: int = field(default=8000, description="The port that is listened on; 0 for any that is free.", min=0, max=65535)
    public_url: str = field(
        default="", description="Where people and clients reach the deployment; left empty, the host and the port."
    )
    session_idle_minutes: int = field(default=30, description="How long a session lasts unused.", min=1, max=1440)
    session_hours: int = field(default=12, description="How long a session lasts at most.", min=1, max=168)
    lockout_minutes: int = field(
        default=15, description="How long a sign-in name stays locked after five wrong passwords.", min=1, max=1440
    )
    oidc_issuer: str = field(
        default="",
        description="The issuer of the firm's OpenID Connect provider, https://…, as it spells it; left empty, there is none.",
    )
    oidc_client_id: str = field(default="", description="What the provider calls this deployment.")
    oidc_client_secret: str = field(
        default="", description="The secret it was given there; left empty for a public client.", secret=True
    )
    oidc_name: str = field(
        default="the firm's account", description="What people sign in with there, as the button says it.", max_length=60
    )
    oidc_scope: str = field(default="openid profile", description="What the provider is asked for; openid is part of it.")
    oidc_groups_claim: str = field(
        default="groups",
        description="The ID token's claim that lists a person's groups; within another claim, a dot leads to it.",
        min_length=1,
    )
    sign_in_link_hours: int = field(default=24, description="How long a one-time link may wait to be used.", min=1, max=168)
    client_documents: Literal["fetched", "refused"] = field(
        default="fetched",
        description="What is done with a document that describes a client, at an https address; refused where the deployment "
        "reaches no internet, so that every client registers.",
    )
    call_seconds: int = field(default=60, description="How long a call to a plugin may take.", min=1, max=3600)
    calls_at_once: int = field(default=32, description="How many calls a client may have under way at once.", min=1, max=10_000)
    calls_per_minute: int = field(
        default=600, description="How many calls a client may make in a minute of the clock.", min=1, max=1_000_000
    )
    max_body_bytes: int = field(
        default=10 * 1024 * 1024, description="How large a request's body may be.", min=1024, max=1024 * 1024 * 1024
    )

    @property
    def database_url(self) -> str:
        """The database's URL, the file in the data folder included."""
        return self.database or f"sqlite:///{Path(self.data).absolute() / 'meridian.db'}"

    @property
    def fetches_documents(self) -> bool:
        """Whether a document that describes a client is fetched."""
        return self.client_documents == "fetched"

    @property
    def session_idle(self) -> timedelta:
        """How long a session lasts unused."""
        return timedelta(minutes=self.session_idle_minutes)

    @property
    def session_lasts(self) -> timedelta:
        """How long a session lasts at most."""
        return timedelta(hours=self.session_hours)

    @property
    def lockout(self) -> timedelta:
        """How long a sign-in name stays locked."""
        return timedelta(minutes=self.lockout_minutes)

    @property
    def link_lasts(self) -> timedelta:
        """How long a one-time link may wait to be used."""
        return timedelta(hours=self.sign_in_link_hours)

    @property
    def call_lasts(self) -> timedelta:
        """How long a call to a plugin may take."""
        return timedelta(seconds=self.call_seconds)

    def storage_url(self, instance: str) -> str:
        """The URL of a database of the instance's own: a file beside the deployment's. Its folder is made."""
        folder = Path(self.data).absolute() / "plugins"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return f"sqlite:///{folder / f'{instance}.db'}"


def read_settings(given: Mapping[str, str]) -> Settings:
    """The settings given by these texts, the others at their defaults. Raises DeploymentError naming each that did not read."""
    shape = shape_of(Settings)
    unknown = [name for name in given if shape.field(name) is None]
    reading = read_form(shape, list(given.items()))
    if unknown or reading.problems or reading.record is None:
        said = [*(f"{name} is no setting" for name in unknown), *map(str, reading.problems)]
        raise DeploymentError(f"settings: {'; '.join(said)}")
    return reading.record
