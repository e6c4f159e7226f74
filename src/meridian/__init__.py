"""Meridian: declare a web route once, with one frozen dataclass as its inputs, and serve it to people and to agents."""

from meridian.callers import Accounts, Caller, Level, Role
from meridian.errors import DeclarationError, DeploymentError, MeridianError, Problem, Refusal, Unread
from meridian.pages import Field, Pages, Plugin, Prepared, Request, Response, Tool
from meridian.records import Reading, field

__all__ = [
    "Accounts",
    "Caller",
    "DeclarationError",
    "DeploymentError",
    "Field",
    "Level",
    "MeridianError",
    "Pages",
    "Plugin",
    "Prepared",
    "Problem",
    "Reading",
    "Refusal",
    "Request",
    "Response",
    "Role",
    "Tool",
    "Unread",
    "field",
]
