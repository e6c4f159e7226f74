"""Django: a form, a formset for each list, and a formset a row for the lists in a list's rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import django
from django.conf import settings

settings.configure(USE_I18N=False, DATA_UPLOAD_MAX_NUMBER_FIELDS=None)
django.setup()

from django import forms  # noqa: E402  (a form is declared in a Django that is set up)
from django.http import QueryDict  # noqa: E402

from bench.corpus import Answer  # noqa: E402
from bench.peers.dashes import counted as renamed  # noqa: E402
from bench.records import L, Lot, M, Position, S  # noqa: E402

__all__ = ["from_form", "renamed"]

Problems = list[tuple[str, str]]


class SForm(forms.Form):
    account = forms.CharField(max_length=40)
    count = forms.IntegerField(min_value=0, max_value=1_000_000)
    active = forms.BooleanField(required=False)
    price = forms.DecimalField(min_value=0, decimal_places=4)
    day = forms.DateField(input_formats=["%Y-%m-%d"])


class HeadForm(forms.Form):
    account = forms.CharField(max_length=40)
    reason = forms.CharField(max_length=400, required=False)


class LotForm(forms.Form):
    quantity = forms.DecimalField(decimal_places=6)
    cost = forms.DecimalField(required=False)
    acquired = forms.DateField(input_formats=["%Y-%m-%d"], required=False)


class PositionForm(forms.Form):
    settled = forms.DecimalField(required=False)


MOST = 10_000
LotSet = forms.formset_factory(LotForm, extra=0, max_num=MOST, absolute_max=MOST)
PositionSet = forms.formset_factory(PositionForm, extra=0, max_num=MOST, absolute_max=MOST)


def from_form(name: str, body: bytes) -> Answer:
    sent = QueryDict(body)
    problems: Problems = []
    head = (SForm if name == "S" else HeadForm)(sent)
    problems += _problems(head, "")
    if name == "S":
        return (None, problems) if problems else (S(**head.cleaned_data), ())

    def lots(prefix: str, at: str) -> list[Lot]:
        return _rows(LotSet(sent, prefix=prefix), at, problems, lambda _, data: Lot(**data))

    def position(n: int, data: dict[str, Any]) -> Position:
        return Position(data["settled"], lots(f"positions-{n}-lots", f"positions[{n}].lots"))

    if name == "M":
        of_m = lots("lots", "lots")
        return (None, problems) if problems else (M(**head.cleaned_data, lots=of_m), ())
    positions = _rows(PositionSet(sent, prefix="positions"), "positions", problems, position)
    return (None, problems) if problems else (L(**head.cleaned_data, positions=positions), ())


def _rows(rows: Any, at: str, problems: Problems, make: Callable[[int, dict[str, Any]], Any]) -> list[Any]:
    rows.is_valid()
    made = []
    for n, form in enumerate(rows.forms):
        problems += _problems(form, f"{at}[{n}].")
        made.append(make(n, dict.fromkeys(form.fields) | form.cleaned_data))
    return made


def _problems(form: Any, at: str) -> Problems:
    return [(f"{at}{name}", messages[0]) for name, messages in form.errors.items()]
