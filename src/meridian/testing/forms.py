"""The forms that a page draws, as a person without scripts meets them: filled in, and sent by a button.

HTML enters; `Form`s leave, each with its controls as they were drawn. What a browser would send of them is decided here as
HTML says it; how it is sent is handed in.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any, Final, Generic, TypeAlias, TypeVar

from meridian.testing.bodies import Uploads

__all__ = ["Button", "Control", "Form", "Sent", "read_forms"]

A = TypeVar("A")

BUTTONS: Final = ("submit", "image", "button", "reset")
INERT: Final = ("script", "style", "template")

Attributes: TypeAlias = Mapping[str, str]


@dataclass
class Control:
    """One control of a form: what it is (`text`, `checkbox`, `select`, …), what is in it, and whether that is sent.

    `value` is what was typed, or what a box or a radio stands for; `ticked` is of those two alone. `options` are a select's,
    and `chosen` those of them that are chosen.
    """

    name: str
    kind: str
    value: str = ""
    ticked: bool = False
    options: tuple[str, ...] = ()
    chosen: tuple[str, ...] = ()
    attributes: Attributes = field(default_factory=dict, repr=False)

    def sent(self) -> tuple[str, ...]:
        """The values that are sent of it."""
        if self.kind in ("checkbox", "radio"):
            return (self.value,) if self.ticked else ()
        if self.kind in ("select", "select-multiple"):
            return self.chosen
        return () if self.kind == "file" else (self.value,)


@dataclass(frozen=True)
class Button:
    """A button that submits its form: what it says, and the pair it sends."""

    words: str
    name: str = ""
    value: str = ""
    action: str | None = None
    method: str | None = None


@dataclass(frozen=True)
class Sent:
    """What a browser sends of a form."""

    method: str
    action: str
    pairs: tuple[tuple[str, str], ...]
    files: Uploads
    multipart: bool


@dataclass
class Form(Generic[A]):
    """A form as it was drawn. `form["lots[0].cost"]` is what is in a control, and setting it types there; `submit` presses a
    button. Names, choices and buttons that were not drawn raise LookupError: a person could not use them."""

    action: str
    method: str
    multipart: bool
    id: str
    attributes: Attributes = field(repr=False)
    controls: list[Control] = field(default_factory=list, repr=False)
    buttons: list[Button] = field(default_factory=list)
    send: Callable[[Sent], A] | None = field(default=None, repr=False)
    files: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The name of every control, in the order drawn, each once."""
        return tuple(dict.fromkeys(control.name for control in self.controls))

    def __getitem__(self, name: str) -> Any:
        """What is in the control: a text; whether a box is ticked; of several boxes, or a select of several, a list."""
        controls = self._named(name)
        kind = controls[0].kind
        if kind == "file":
            return self.files.get(name)
        if kind == "checkbox" and len(controls) == 1:
            return controls[0].ticked
        values = [value for control in controls for value in control.sent()]
        return values if kind in ("checkbox", "select-multiple") else next(iter(values), "")

    def __setitem__(self, name: str, value: Any) -> None:
        """Type `value`, choose it, tick or untick a box by True or False, or choose a file as `("x.ofx", b"…")`."""
        controls = self._named(name)
        kind = controls[0].kind
        if kind == "file":
            self.files[name] = value
        elif kind == "checkbox" and len(controls) == 1:
            controls[0].ticked = bool(value)
        elif kind in ("checkbox", "radio"):
            chosen = self._choose(name, value, [control.value for control in controls])
            for control in controls:
                control.ticked = control.value in chosen
        elif kind in ("select", "select-multiple"):
            controls[0].chosen = self._choose(name, value, controls[0].options)
        else:
            controls[0].value = str(value)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def fill(self, values: Mapping[str, Any]) -> Form[A]:
        """Type each of `values` in the control of its name; the form itself."""
        for name, value in values.items():
            self[name] = value
        return self

    def sends(self, button: str | Button | None = None) -> Sent:
        """What pressing `button` sends: a Button, its words, its name or its value; None for the first, as Enter presses."""
        pressed = self._button(button)
        pairs = [(control.name, value) for control in self.controls for value in control.sent()]
        if pressed.name:
            pairs.append((pressed.name, pressed.value))
        files = {
            name: self.files.get(name) or ("", b"", "application/octet-stream")
            for name in self.names
            if any(control.kind == "file" for control in self.controls if control.name == name)
        }
        method = (pressed.method or self.method).upper()
        return Sent(method, self.action if pressed.action is None else pressed.action, tuple(pairs), files, self.multipart)

    def submit(self, button: str | Button | None = None) -> A:
        """Press `button` (its words, its name or its value; None for the first, as Enter does), and see what is answered."""
        if self.send is None:
            raise TypeError("this form was read from a text alone and has nowhere to be sent; take it from client.forms(path)")
        return self.send(self.sends(button))

    def _named(self, name: str) -> list[Control]:
        found = [control for control in self.controls if control.name == name]
        if not found:
            raise LookupError(f"the form of {self.action} draws no input {name!r}{_near(name, self.names)}")
        return [control for control in found if control.kind != "hidden"] or found

    def _choose(self, name: str, value: Any, options: Sequence[str]) -> tuple[str, ...]:
        chosen = tuple(str(each) for each in value) if isinstance(value, (list, tuple, set, frozenset)) else (str(value),)
        for each in chosen:
            if each not in options:
                raise LookupError(f"{name} offers {', '.join(map(repr, options))}, and not {each!r}")
        return chosen

    def _button(self, wanted: str | Button | None) -> Button:
        if isinstance(wanted, Button):
            return wanted
        if wanted is None:
            return next(iter(self.buttons), Button(""))
        for said in ("words", "name", "value"):
            for button in self.buttons:
                if getattr(button, said) == wanted:
                    return button
        drawn = [button.words or button.name for button in self.buttons]
        raise LookupError(
            f"the form of {self.action} draws no button {wanted!r}; it draws {', '.join(map(repr, drawn)) or 'none'}"
        )


def read_forms(html: str, send: Callable[[Sent], A] | None = None) -> list[Form[A]]:
    """The forms that `html` draws, in order; `send` is asked when one is submitted."""
    reader: _Reader[A] = _Reader(send)
    reader.feed(html)
    reader.close()
    return reader.forms()


class _Reader(HTMLParser, Generic[A]):
    def __init__(self, send: Callable[[Sent], A] | None) -> None:
        super().__init__(convert_charrefs=True)
        self._send = send
        self._drawn: list[Form[A]] = []
        self._open: Form[A] | None = None
        self._waiting: list[tuple[str, Control | Button]] = []  # by the id of a form that may stand further down
        self._inert = 0
        self._disabled: list[bool] = []
        self._text: list[str] | None = None
        self._select: tuple[Attributes, list[tuple[str, bool]]] | None = None
        self._option: Attributes | None = None
        self._element: Attributes = {}

    def forms(self) -> list[Form[A]]:
        """What was drawn, every control with its form."""
        by_id = {form.id: form for form in self._drawn if form.id}
        for owner, what in self._waiting:
            if owner in by_id:
                self._keep(by_id[owner], what)
        self._waiting.clear()
        return self._drawn

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = {name: value or "" for name, value in attrs}
        if tag in INERT:
            self._inert += 1
        if self._inert:
            return
        match tag:
            case "form" if self._open is None:
                method = "post" if said.get("method", "get").lower() == "post" else "get"
                multipart = said.get("enctype", "").lower() == "multipart/form-data"
                self._open = Form(said.get("action", ""), method, multipart, said.get("id", ""), said, send=self._send)
                self._drawn.append(self._open)
            case "fieldset":
                self._disabled.append("disabled" in said)
            case "input":
                self._input(said)
            case "button" | "textarea":
                self._element, self._text = said, []
            case "select":
                self._select = (said, [])
            case "option" if self._select is not None:
                self._end_option()
                self._option, self._text = said, []

    def handle_endtag(self, tag: str) -> None:
        if tag in INERT:
            self._inert = max(self._inert - 1, 0)
            return
        if self._inert:
            return
        match tag:
            case "form":
                self._open = None
            case "fieldset" if self._disabled:
                self._disabled.pop()
            case "textarea" if self._text is not None:
                value = "".join(self._text)
                self._add(self._element, Control(self._element.get("name", ""), "textarea", value.removeprefix("\n")))
                self._text = None
            case "button" if self._text is not None:
                self._button(self._element, " ".join("".join(self._text).split()))
                self._text = None
            case "option":
                self._end_option()
            case "select" if self._select is not None:
                self._end_option()
                self._end_select(*self._select)
                self._select = None

    def handle_data(self, data: str) -> None:
        if self._text is not None and not self._inert:
            self._text.append(data)

    def _input(self, said: Attributes) -> None:
        kind = said.get("type", "text").lower()
        if kind in BUTTONS:
            self._button(said, said.get("value", ""))
        else:
            box = kind in ("checkbox", "radio")
            value = said.get("value", "on" if box else "")
            self._add(said, Control(said.get("name", ""), kind, value, ticked=box and "checked" in said))

    def _button(self, said: Attributes, words: str) -> None:
        if said.get("type", "submit").lower() in ("submit", "image"):
            words = words or said.get("aria-label", "")
            pressed = Button(words, said.get("name", ""), said.get("value", ""), said.get("formaction"), said.get("formmethod"))
            self._add(said, pressed)

    def _end_option(self) -> None:
        if self._option is not None and self._select is not None:
            words = " ".join("".join(self._text or ()).split())
            self._select[1].append((self._option.get("value", words), "selected" in self._option))
        if self._option is not None:
            self._option, self._text = None, None

    def _end_select(self, said: Attributes, options: Sequence[tuple[str, bool]]) -> None:
        several = "multiple" in said
        chosen = tuple(value for value, selected in options if selected)
        if not several:
            chosen = chosen[-1:] or tuple(value for value, _ in options[:1])
        kind = "select-multiple" if several else "select"
        self._add(said, Control(said.get("name", ""), kind, options=tuple(value for value, _ in options), chosen=chosen))

    def _add(self, said: Attributes, what: Control | Button) -> None:
        if "disabled" in said or any(self._disabled) or (isinstance(what, Control) and not what.name):
            return
        if isinstance(what, Control):
            what.attributes = said
        if "form" in said:
            self._waiting.append((said["form"], what))
        elif self._open is not None:
            self._keep(self._open, what)

    @staticmethod
    def _keep(form: Form[A], what: Control | Button) -> None:
        if isinstance(what, Control):
            form.controls.append(what)
        else:
            form.buttons.append(what)


def _near(said: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(said, known, 1)
    return f"; did you mean {near[0]!r}?" if near else f"; it draws {', '.join(known) or 'none'}"
