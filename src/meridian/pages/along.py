"""The author's own words for a form, sent along with it.

A page gives its form labels and choices. Where that page cannot draw the form again, the form stands alone, and nothing but
what was sent says what those words were. So a form that has them carries them in a hidden input. What comes back may be
anybody's writing: it is read as a record, and decides what a person sees and not what is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from meridian.pages.form import Option
from meridian.pages.places import has_cell
from meridian.pages.typed import Pairs
from meridian.records import Shape, read_json, shape_of, write_json

__all__ = ["read_words", "write_words"]

NAME: Final = "meridian.words"


@dataclass(frozen=True)
class _Along:
    labels: dict[str, str] = field(default_factory=dict)
    choices: dict[str, list[Option]] = field(default_factory=dict)


def write_words(labels: Mapping[str, str], choices: Mapping[str, tuple[Option, ...]]) -> list[tuple[str, str]]:
    """The hidden input that carries them; none where there are no words."""
    along = _Along(dict(labels), {path: list(offered) for path, offered in choices.items()})
    return [(NAME, write_json(along).decode())] if labels or choices else []


def read_words(shape: Shape[Any], pairs: Pairs) -> dict[str, Any]:
    """The words that came along, as `drawing.draw_form` takes them: those that read, for cells that the record still has."""
    sent = next((value for name, value in pairs if name == NAME), "{}")
    along = read_json(shape_of(_Along), sent).record
    if along is None:
        return {}
    return {
        "labels": {path: label for path, label in along.labels.items() if has_cell(shape, path)},
        "choices": {
            path: [(each.value, each.label) for each in offered]
            for path, offered in along.choices.items()
            if has_cell(shape, path)
        },
    }
