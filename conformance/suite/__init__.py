"""A plugin whose tools have the names that the MCP conformance suite calls, as far as a server of tools alone can have them."""

from dataclasses import dataclass

import meridian

__all__ = ["pages"]

pages = meridian.Pages("Conformance suite")


@dataclass(frozen=True)
class Nothing:
    """A call that is told nothing."""


@dataclass(frozen=True)
class Text:
    """A text to show."""

    text: str


@dataclass(frozen=True)
class Address:
    """Where somebody lives."""

    street: str = ""
    city: str = ""


@dataclass(frozen=True)
class Somebody:
    """Somebody, and where they live."""

    name: str = ""
    address: Address | None = None


@pages.route("/simple-text", levels=["read", "write"], params=Nothing, answers=Text, name="test_simple_text")
def simple_text(request: meridian.Request[Nothing]) -> meridian.Response:
    """Answer with a text."""
    return pages.answer(None, Text("This is a simple text response for testing."))


@pages.route("/error", levels=["read", "write"], params=Nothing, name="test_error_handling")
def error(request: meridian.Request[Nothing]) -> meridian.Response:
    """Refuse the call, whoever asks."""
    pages.refuse("This tool intentionally returns an error for testing.")


@pages.route("/schema", levels=["read", "write"], params=Somebody, answers=Somebody, name="json_schema_2020_12_tool")
def schema(request: meridian.Request[Somebody]) -> meridian.Response:
    """Answer with the arguments, as they were read."""
    return pages.answer(None, request.params)


@pages.route("/note", levels="write", methods=["POST"], params=Text, answers=Text, name="write_note", destructive=False)
def note(request: meridian.Request[Text]) -> meridian.Response:
    """Make a note, which only those at write may do. Nothing is kept."""
    return pages.answer(None, request.params)
