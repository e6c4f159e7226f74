"""What a plugin declares, how it is asked, and what it answers."""

from meridian.pages.answering import Field, Refusal, Response
from meridian.pages.asking import Prepared, Repeat, Request
from meridian.pages.declaring import Declaration, Pages
from meridian.pages.plugin import Plugin
from meridian.pages.tools import Tool

__all__ = ["Declaration", "Field", "Pages", "Plugin", "Prepared", "Refusal", "Repeat", "Request", "Response", "Tool"]
