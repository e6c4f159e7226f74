"""What a plugin's own tests use: a client that asks as the deployment does, a book in memory, and strategies for records."""

from meridian.testing.answers import Answered, ToolAnswered
from meridian.testing.book import InMemoryBook, book
from meridian.testing.client import PageClient
from meridian.testing.forms import Button, Control, Form
from meridian.testing.strategies import as_form, as_json, records

__all__ = [
    "Answered",
    "Button",
    "Control",
    "Form",
    "InMemoryBook",
    "PageClient",
    "ToolAnswered",
    "as_form",
    "as_json",
    "book",
    "records",
]
