"""WTForms: a FieldList of FormFields for each list, and the records made of what they hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, urlencode

from wtforms import BooleanField, DateField, DecimalField, FieldList, Form, FormField, IntegerField, StringField
from wtforms.validators import InputRequired, Length, NumberRange, Optional

from bench.corpus import Answer
from bench.peers.dashes import dashed
from bench.peers.tree import path
from bench.records import L, Lot, M, Position, S


def _trimmed(text: str | None) -> str | None:
    return text and text.strip()


class SForm(Form):
    account = StringField(validators=[InputRequired(), Length(max=40)], filters=[_trimmed])
    count = IntegerField(validators=[InputRequired(), NumberRange(0, 1_000_000)])
    active = BooleanField()
    price = DecimalField(places=4, validators=[InputRequired(), NumberRange(min=0)])
    day = DateField(validators=[InputRequired()])


class LotForm(Form):
    quantity = DecimalField(validators=[InputRequired()])
    cost = DecimalField(validators=[Optional()])
    acquired = DateField(validators=[Optional()])


class MForm(Form):
    account = StringField(validators=[InputRequired(), Length(max=40)], filters=[_trimmed])
    reason = StringField(validators=[Length(max=400)], filters=[_trimmed])
    lots = FieldList(FormField(LotForm))


class PositionForm(Form):
    settled = DecimalField(validators=[Optional()])
    lots = FieldList(FormField(LotForm))


class LForm(Form):
    account = StringField(validators=[InputRequired(), Length(max=40)], filters=[_trimmed])
    reason = StringField(validators=[Length(max=400)], filters=[_trimmed])
    positions = FieldList(FormField(PositionForm))


_FORMS: dict[str, type[Form]] = {"S": SForm, "M": MForm, "L": LForm}


class Sent(dict[str, list[str]]):
    """A form's values, as WTForms asks for them."""

    def getlist(self, name: str) -> list[str]:
        return self.get(name, [])


def renamed(body: bytes) -> bytes:
    return urlencode(dashed(body)).encode()


def from_form(name: str, body: bytes) -> Answer:
    sent = Sent()
    for cell, text in parse_qsl(body.decode(), keep_blank_values=True):
        sent.setdefault(cell, []).append(text)
    form = _FORMS[name](sent)
    if form.validate():
        return _made(name, form.data), ()
    return None, list(_leaves(form.errors, ()))


def _made(name: str, data: dict[str, Any]) -> S | M | L:
    if name == "S":
        return S(**data)
    if name == "M":
        return M(data["account"], data["reason"], _lots(data["lots"]))
    positions = [Position(each["settled"], _lots(each["lots"])) for each in data["positions"]]
    return L(data["account"], data["reason"], positions)


def _lots(rows: list[dict[str, Any]]) -> list[Lot]:
    return [Lot(**row) for row in rows]


def _leaves(errors: Any, at: tuple[Any, ...]) -> Iterator[tuple[str, str]]:
    """WTForms has a row without errors as an empty dict, and the errors of a cell as a list of texts."""
    if isinstance(errors, dict):
        for step, each in errors.items():
            yield from _leaves(each, (*at, step))
    elif errors and isinstance(errors[0], dict | list):
        for n, each in enumerate(errors):
            yield from _leaves(each, (*at, n))
    elif errors:
        yield path(at), str(errors[0])
