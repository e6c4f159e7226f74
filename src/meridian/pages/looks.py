"""What the input of a field is like: its control, its label, what may be chosen in it, and what the browser is told.

A cell enters, with the pattern path it stands at and the author's words for that; a `Look` leaves, one for every row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from meridian.pages.form import Control, Look, Option, Width
from meridian.pages.places import id_of
from meridian.pages.showing import choice_words, humanised
from meridian.pages.typed import text_of
from meridian.records import (
    Boolean,
    Cell,
    Choice,
    Date,
    DateTime,
    DecimalKind,
    FieldShape,
    Integer,
    JsonObject,
    RecordKind,
    Rows,
    Time,
    Uuid,
)
from meridian.records import Mapping as Entries

__all__ = ["SELECT", "Looks", "choices_of", "is_optional"]

RADIOS: Final = 5
"""Choices up to here are radios, more are a select."""
SELECT: Final = 25
"""Choices up to here are a select; more are a text input that suggests them, which filters without a script."""
LONG_TEXT: Final = 200
"""A text that may be longer than this is drawn as a textarea."""

_OFF: Final = (("autocomplete", "off"), ("spellcheck", "false"))


@dataclass
class Looks:
    """The looks of one form's fields, in the author's words; `lists` are the suggestions met so far, by the id of each.

    `form` is the form's id, `reads` whether it asks a GET, `tool` whether a browser's agent is told of it.
    """

    form: str
    reads: bool = False
    tool: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    choices: Mapping[str, tuple[Option, ...]] = field(default_factory=dict)
    autocomplete: Mapping[str, str] = field(default_factory=dict)
    multiline: frozenset[str] = frozenset()
    lists: dict[str, tuple[Option, ...]] = field(default_factory=dict)
    _kept: dict[tuple[str, bool], Look] = field(default_factory=dict)

    def label(self, cell: Cell, pattern: str, name: str) -> str:
        """What the field `name` is called: by the author here, by its own title, else by its name."""
        return self.labels.get(pattern) or cell.title or humanised(name)

    def of(self, cell: Cell, pattern: str, label: str, *, in_grid: bool) -> Look:
        """What the input of a field is like; kept for each pattern path, unless it is labelled by a key that a person wrote."""
        if pattern.endswith("[]"):
            return self._new(cell, pattern, label, in_grid)
        known = self._kept.get((pattern, in_grid))
        if known is None:
            known = self._kept[pattern, in_grid] = replace(self._new(cell, pattern, label, in_grid), kept={})
        return known

    def _new(self, cell: Cell, pattern: str, label: str, in_grid: bool) -> Look:
        optional, default = is_optional(cell), _default_of(cell)
        offered = self._offered(cell, pattern)
        options: tuple[Option, ...] = ()
        attributes: tuple[tuple[str, str], ...] = ()
        control: Control
        width: Width = "medium"
        if cell.secret:
            control, attributes = "secret", (("autocomplete", "new-password"),)
        elif isinstance(cell.kind, Rows):
            control, options = "checks", self._offered(cell.kind.item, f"{pattern}[]")
        elif isinstance(cell.kind, Boolean) and not cell.nullable and not pattern.endswith("[]"):
            control = "checkbox"
        elif len(offered) > SELECT:
            suggested = f"{self.form}-{id_of(pattern)}-choices"
            control, attributes = "list", (("list", suggested), *_OFF)
            self.lists[suggested] = offered
        elif offered and not in_grid and len(offered) <= RADIOS:
            control = "radios"
            options = (_blank(offered, optional, default), *offered) if optional and not default else offered
        elif offered:
            control = "select"
            options = (_blank(offered, optional, default), *offered) if in_grid or not default else offered
        else:
            control, width, attributes = _plain(cell, in_grid, long=pattern in self.multiline)
            if default and control in {"text", "textarea"}:
                attributes = (*attributes, ("placeholder", default))
        if pattern in self.autocomplete:
            told = [each for each in attributes if each[0] != "autocomplete"]
            attributes = (*told, ("autocomplete", self.autocomplete[pattern]))
        return Look(
            control=control,
            label=label,
            hint=cell.description,
            optional=optional and control not in {"checkbox", "checks"} and not (control in {"radios", "select"} and default),
            figure=isinstance(cell.kind, Integer | DecimalKind) and control in {"text", "list"},
            width=width,
            attributes=attributes,
            options=options,
            default=default,
            companion=self.reads and control == "checkbox",
            tool=" ".join(filter(None, (cell.description, _bounds(cell)))) if self.tool else "",
        )

    def _offered(self, cell: Cell, pattern: str) -> tuple[Option, ...]:
        """What may be chosen: the author's choices, else the field's own; empty where it is no choice."""
        if pattern in self.choices:
            return self.choices[pattern]
        if isinstance(cell.kind, Boolean):
            return (Option("true", "Yes"), Option("false", "No"))
        return tuple(Option(each, choice_words(each)) for each in choices_of(cell))


def is_optional(cell: Cell) -> bool:
    """Whether `cell` is a field that may be left out."""
    return isinstance(cell, FieldShape) and not cell.required


def choices_of(cell: Cell) -> tuple[str, ...]:
    """What may stand in `cell`; empty where it is no choice."""
    return cell.kind.values if isinstance(cell.kind, Choice) else tuple(str(each) for each in cell.choices)


def _default_of(cell: Cell) -> str:
    """What blank means in one cell, as it would be typed; empty where it means nothing, or nobody may see it."""
    if (
        not isinstance(cell, FieldShape)
        or cell.required
        or cell.secret
        or isinstance(cell.kind, RecordKind | Rows | Entries | JsonObject)
    ):
        return ""
    return text_of(cell.make_default())


def _blank(offered: tuple[Option, ...], optional: bool, default: str) -> Option:
    if default:
        return Option("", f"{next((each.label for each in offered if each.value == default), default)} (default)")
    return Option("", "Not given" if optional else "Choose")


def _plain(cell: Cell, in_grid: bool, *, long: bool) -> tuple[Control, Width, tuple[tuple[str, str], ...]]:
    """The control of a cell that is no choice, how wide, and what the browser is told."""
    match cell.kind:
        case DecimalKind():
            point = "" if cell.places == 0 else r"(\.[0-9]+)?"
            return "text", "short", (("inputmode", "decimal"), *_OFF, ("pattern", f"-?[0-9]+{point}"))
        case Integer():
            return "text", "short", (("inputmode", "numeric"), *_OFF, ("pattern", "-?[0-9]+"))
        case Date():
            return "date", "short", ()
        case Time():
            return "time", "short", ()
        case DateTime():
            return "moment", "short", ()
        case Uuid():
            return "text", "long", (*_OFF, ("maxlength", "36"))
        case JsonObject():
            return "json", "long", _OFF
        case _:
            pass
    most = cell.max_length or 0
    told = [(name, str(at)) for name, at in (("minlength", cell.min_length), ("maxlength", cell.max_length)) if at]
    if in_grid:
        told.append(("autocomplete", "off"))
    if long or (most > LONG_TEXT and not in_grid):
        return "textarea", "long", tuple(told)
    if cell.pattern:
        told.append(("pattern", cell.pattern))
    return "text", "long" if most > 80 else "short" if 0 < most <= 12 else "medium", tuple(told)


def _bounds(cell: Cell) -> str:
    """What a browser's agent must know of a cell and no attribute says."""
    words: list[str] = []
    match cell.kind:
        case DecimalKind():
            words.append("A number such as 1500.25, without grouping.")
        case DateTime():
            words.append("A local time; its zone stands beside it.")
        case _:
            pass
    if cell.min is not None:
        words.append(f"At least {text_of(cell.min)}.")
    if cell.max is not None:
        words.append(f"At most {text_of(cell.max)}.")
    if cell.places is not None:
        words.append(f"At most {cell.places} decimal places.")
    return " ".join(words)
