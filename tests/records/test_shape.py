"""What a record may be, and what is said where it may not."""

from __future__ import annotations

import dataclasses
import re
import typing
from collections.abc import Callable
from dataclasses import InitVar, dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from typing import Annotated, Any, Final, Generic, Literal, NewType, TypeVar
from uuid import UUID

import pytest

from meridian import records
from meridian.errors import DeclarationError
from meridian.records import (
    Boolean,
    Cell,
    Choice,
    Date,
    DateTime,
    DecimalKind,
    Integer,
    JsonObject,
    Mapping,
    RecordKind,
    Rows,
    Text,
    Time,
    Uuid,
    field,
    refuse_reserved,
    shape_of,
)

T = TypeVar("T")
Account = NewType("Account", str)


class Side(Enum):
    BUY = "buy"
    SELL = "sell"


class Scheme(StrEnum):
    ISIN = "ISIN"


class Count(IntEnum):
    ONE = 1


class Mixed(Enum):
    A = "a"
    B = 2


@dataclass(frozen=True)
class Lot:
    """What was bought together.

    And at what cost.
    """

    quantity: Decimal
    cost: Decimal | None = None


def kinds(*hints: object) -> list[object]:
    made = dataclasses.make_dataclass("Made", [(f"f{n}", hint) for n, hint in enumerate(hints)], frozen=True)
    return [each.kind for each in shape_of(made).fields]


def test_every_kind_of_field():
    assert kinds(
        str, int, bool, Decimal, date, datetime, time, UUID, Side, Scheme, Literal["a", "b"], dict[str, int], dict[str, Any]
    ) == [
        Text(),
        Integer(),
        Boolean(),
        DecimalKind(),
        Date(),
        DateTime(),
        Time(),
        Uuid(),
        Choice(("buy", "sell"), Side),
        Choice(("ISIN",), Scheme),
        Choice(("a", "b")),
        Mapping(Cell(kind=Integer())),
        JsonObject(),
    ]
    assert kinds(Lot, list[Lot], tuple[int, ...], Account, Final[str]) == [
        RecordKind(shape_of(Lot)),
        Rows(Cell(kind=RecordKind(shape_of(Lot)))),
        Rows(Cell(kind=Integer()), as_tuple=True),
        Text(),
        Text(),
    ]


@pytest.mark.parametrize(
    "hint",
    [
        Decimal | None,
        typing.Optional[Decimal],  # noqa: UP045
        typing.Union[None, Decimal],  # noqa: UP007
        Annotated[Decimal | None, "ours"],
    ],
)
def test_x_or_none_is_x_that_may_be_none(hint):
    made = dataclasses.make_dataclass("Made", [("cost", hint)], frozen=True)
    cost = shape_of(made).fields[0]
    assert (cost.kind, cost.nullable, cost.required) == (DecimalKind(), True, True)


def test_bounds_and_words_by_metadata_by_field_and_by_annotated_are_the_same():
    @dataclass(frozen=True)
    class ByMetadata:
        cost: Decimal = dataclasses.field(metadata={"places": 2, "min": "0", "description": "What was paid"})

    @dataclass(frozen=True)
    class ByField:
        cost: Decimal = field(places=2, min=0, description="What was paid")

    @dataclass(frozen=True)
    class ByAnnotated:
        cost: Annotated[Decimal, field(places=2, min=Decimal(0), description="What was paid")]

    said = [shape_of(cls).fields[0] for cls in (ByMetadata, ByField, ByAnnotated)]
    assert said[0] == said[1] == said[2]
    assert (said[0].places, said[0].min, said[0].description) == (2, Decimal(0), "What was paid")


def test_the_rows_of_a_list_are_bounded_in_their_annotation():
    @dataclass(frozen=True)
    class Ask:
        tags: list[Annotated[str, field(max_length=3)]] = field(default_factory=list, max_length=2)

    tags = shape_of(Ask).fields[0]
    assert (tags.max_length, tags.kind) == (2, Rows(Cell(kind=Text(), max_length=3)))


def test_a_field_without_a_default_is_required():
    assert [each.required for each in shape_of(Lot).fields] == [True, False]


def test_inheritance_kw_only_and_slots_work():
    @dataclass(frozen=True, slots=True)
    class Base:
        account: str

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Whole(Base):
        reason: str = ""
        day: date

    assert [(each.name, each.required) for each in shape_of(Whole).fields] == [
        ("account", True),
        ("reason", False),
        ("day", True),
    ]


def test_a_field_that_is_no_argument_is_left_out():
    @dataclass(frozen=True)
    class Ask:
        account: str
        seen: bool = dataclasses.field(init=False, default=False)

    assert [each.name for each in shape_of(Ask).fields] == ["account"]


def test_records_declared_in_a_function_find_each_other_by_name():
    @dataclass(frozen=True)
    class Inner:
        name: str

    @dataclass(frozen=True)
    class Outer:
        inners: list[Inner]

    def elsewhere() -> object:
        return shape_of(Outer).at("inners[].name")

    assert elsewhere() == shape_of(Inner).fields[0]


def test_an_annotation_means_the_nearest_of_its_name():
    int = Decimal  # noqa: A001, F841  (the annotation below names it)

    @dataclass(frozen=True)
    class Ask:
        cost: int

    assert shape_of(Ask).fields[0].kind == DecimalKind()


def test_records_of_a_page_that_is_run_find_each_other_by_name():
    page = """
from __future__ import annotations
from dataclasses import dataclass
from meridian.records import shape_of

@dataclass(frozen=True)
class Inner:
    name: str

@dataclass(frozen=True)
class Outer:
    inners: list[Inner]

found = shape_of(Outer).at("inners[].name")
"""
    for names in ({}, {"__name__": "meridian.records.path"}):
        exec(page, names)  # noqa: S102
        assert names["found"] == shape_of(names["Inner"]).fields[0]


def test_a_shape_is_read_once_a_class():
    assert shape_of(Lot) is shape_of(Lot)


def test_the_description_is_the_first_paragraph_and_not_what_dataclass_writes_itself():
    @dataclass(frozen=True)
    class Bare:
        x: int = 0

    assert (shape_of(Lot).description, shape_of(Bare).description) == ("What was bought together.", "")


@pytest.mark.parametrize(
    ("path", "kind"), [("lots[3].cost", DecimalKind()), ("lots[].cost", DecimalKind()), ("by.any.cost", DecimalKind())]
)
def test_a_path_or_a_pattern_leads_to_a_cell(path, kind):
    @dataclass(frozen=True)
    class Ask:
        lots: list[Lot]
        by: dict[str, Lot]

    assert shape_of(Ask).at(path).kind == kind
    assert [shape_of(Ask).at(wrong) for wrong in ("lots.cost", "lots[0].price", "cost", "lots[", "")] == [None] * 5


def declaring(hint: object, **metadata: object) -> Callable[[], object]:
    default = metadata.pop("default", dataclasses.MISSING)
    made = dataclasses.field(default=default, metadata=metadata)
    return lambda: shape_of(dataclasses.make_dataclass("Ask", [("x", hint, made)], frozen=True))


@dataclass(frozen=True)
class Taken(Generic[T]):
    it: T


@dataclass
class Loose:
    x: int = 0


@pytest.mark.parametrize(
    ("hint", "metadata", "says"),
    [
        (float, {}, "float is not exact; write Decimal"),
        (bytes, {}, "bytes have no text; write str"),
        (list, {}, "write list[X]"),
        (tuple, {}, "write tuple[X, ...]"),
        (dict, {}, "write dict[str, X]"),
        (set[str], {}, "write str, int, bool, Decimal"),
        (Any, {}, "write dict[str, Any]"),
        (object, {}, "write dict[str, Any]"),
        (None, {}, "write X | None"),
        (complex, {}, "write two Decimal fields"),
        (int | str, {}, "int | str is two kinds, and what came could be either; write one of them, or two fields"),
        (tuple[int, str], {}, "write tuple[X, ...], or a record with a field for each"),
        (dict[int, str], {}, "write dict[str, X]"),
        (Literal[1], {}, "write its values as texts"),
        (Count, {}, "Count is read by its values; write each of them as a text"),
        (Mixed, {}, "Mixed is read by its values; write each of them as a text"),
        (Loose, {}, "Loose: it can be changed after it was read; write @dataclass(frozen=True)"),
        (Taken[int], {}, "is generic"),
        (Taken, {}, "Taken.it: ~T may be any kind; write the one it is"),
        ("Nowhere", {}, "it names Nowhere, which neither"),
        (str, {"min": 1}, "min fits an int or a Decimal"),
        (date, {"min": "2026-01-01"}, "min fits an int or a Decimal"),
        (int, {"places": 2}, "places fits a Decimal"),
        (int, {"max_length": 2}, "max_length fits a text, in characters, or a list, in rows"),
        (Decimal, {"pattern": "1"}, "pattern fits a text"),
        (list[str], {"choices": ["a"]}, "for each row write list[Annotated[X, field(choices=…)]]"),
        (Lot, {"secret": True}, "write it on the fields of Lot"),
        (str, {"pattern": "("}, "is no regular expression"),
        (str, {"pattern": b"a"}, "write a regular expression, as a text"),
        (str, {"pattern": "(?i)ab"}, "has (?i, which JSON Schema has not"),
        (str, {"pattern": "(?P<a>x)(?P=a)"}, "has (?P=a, which JSON Schema has not"),
        (str, {"pattern": "a{2}+"}, "has {2}+, which JSON Schema has not"),
        (str, {"pattern": r"[a\U0001f600]"}, r"has \U, which JSON Schema has not"),
        (typing.List, {}, "write list[X]"),  # noqa: UP006
        (typing.Dict, {}, "write dict[str, X]"),  # noqa: UP006
        (dict[str], {}, "write dict[str, X]"),  # type: ignore[type-arg,misc]
        (list[int, str], {}, "write list[X]"),  # type: ignore[type-arg,misc]
        ("1 / 0", {}, "its annotation '1 / 0' cannot be read"),
        ("{}[0]", {}, "cannot be read"),
        (int, {"min": 1.5}, "write a whole number"),
        (Decimal, {"max": 0.1}, "write a Decimal, or its text"),
        (int, {"min": 3, "max": 2}, "its min 3 is over its max 2"),
        (str, {"max_length": -1}, "write a whole number that is not negative"),
        (str, {"max_lenght": 3}, "its metadata has 'max_lenght', which means nothing; did you mean max_length?"),
        (int, {"min": 1, "default": 0}, "its default 0 is under its min 1"),
        (str, {"max_length": 1, "default": "ab"}, "its default 'ab' is longer than its max_length 1"),
        (Decimal, {"places": 1, "default": Decimal("0.25")}, "has more than its 1 decimal places"),
        (str, {"default": None}, "its default is None; write X | None"),
        (Decimal, {"default": 0}, "its default 0 is no finite Decimal"),
        (datetime, {"default": datetime(2026, 1, 1)}, "is no datetime with a zone"),  # noqa: DTZ001
        (str, {"choices": ["a"], "default": "b"}, "its default 'b' is none of its choices"),
    ],
)
def test_what_cannot_be_declared_names_record_field_and_what_to_write(hint, metadata, says):
    with pytest.raises(DeclarationError, match=re.escape(says)) as refused:
        declaring(hint, **metadata)()
    assert "Ask.x" in str(refused.value) or "Taken.it" in str(refused.value)


Endless = list["Endless"]
Optionally = typing.Optional["Optionally"]
Filed = NewType("Filed", dict[str, "Filed"])  # type: ignore[valid-newtype]


@pytest.mark.parametrize("hint", [Endless, "Endless", Filed, Optionally, "Optionally"])
def test_a_kind_that_stands_for_itself_is_refused(hint):
    made = dataclasses.make_dataclass("Ask", [("x", hint)], frozen=True)
    made.__module__ = __name__
    with pytest.raises(DeclarationError, match=r"Ask\.x: .*stands for itself; write"):
        shape_of(made)


def test_an_annotation_in_quotes_twice_is_read_twice():
    assert shape_of(dataclasses.make_dataclass("Ask", [("x", "'int | None'")], frozen=True)).fields[0].kind == Integer()


def test_a_factory_that_raises_is_refused_when_the_record_is_declared():
    def missing() -> str:
        raise KeyError("moon")

    made = dataclasses.make_dataclass("Ask", [("x", str, dataclasses.field(default_factory=missing))], frozen=True)
    with pytest.raises(DeclarationError, match=r"Ask\.x: its default_factory raised KeyError: 'moon'"):
        shape_of(made)


@pytest.mark.parametrize("name", ["größe", "x" * 65, "_" * 65])
def test_a_name_that_clients_refuse_is_refused(name):
    with pytest.raises(DeclarationError, match="clients refuse this name"):
        shape_of(dataclasses.make_dataclass("Ask", [(name, str)], frozen=True))


def test_a_name_of_64_letters_is_one():
    assert shape_of(dataclasses.make_dataclass("Ask", [("x" * 64, str)], frozen=True)).fields[0].name == "x" * 64


@dataclass(frozen=True)
class Node:
    children: list[Node]


@dataclass(frozen=True)
class Left:
    right: Right | None = None


@dataclass(frozen=True)
class Right:
    left: Left | None = None


@pytest.mark.parametrize(
    ("cls", "says"),
    [(Node, "Node.children: Node contains itself"), (Left, "Left contains itself, by Left.right and Right.left")],
)
def test_a_record_that_contains_itself_is_refused(cls, says):
    with pytest.raises(DeclarationError, match=re.escape(says)):
        shape_of(cls)


def test_a_record_used_twice_does_not_contain_itself():
    @dataclass(frozen=True)
    class Ask:
        bought: Lot
        sold: Lot

    assert [each.kind for each in shape_of(Ask).fields] == [RecordKind(shape_of(Lot))] * 2


def test_an_initvar_is_refused():
    @dataclass(frozen=True)
    class Ask:
        x: InitVar[int]

    with pytest.raises(DeclarationError, match=re.escape("Ask.x: InitVar is no field")):
        shape_of(Ask)


@pytest.mark.parametrize("thing", [int, 5, "Lot", list[int]])
def test_only_a_dataclass_is_a_record(thing):
    with pytest.raises(DeclarationError, match=re.escape("@dataclass(frozen=True)")):
        shape_of(thing)


@pytest.mark.parametrize("name", ["prepare", "csrf", "meridian"])
def test_the_kits_own_names_are_refused_on_a_routes_record_alone(name):
    shape = shape_of(dataclasses.make_dataclass("Ask", [(name, str)], frozen=True))
    with pytest.raises(DeclarationError, match=f"Ask.{name}: a form keeps the name {name} for itself"):
        refuse_reserved(shape)


def test_a_factory_makes_each_default_anew():
    @dataclass(frozen=True)
    class Ask:
        tags: list[str] = dataclasses.field(default_factory=list)
        at: datetime = datetime(2026, 1, 1, tzinfo=UTC)

    tags, at = shape_of(Ask).fields
    assert (tags.make_default(), at.make_default()) == ([], datetime(2026, 1, 1, tzinfo=UTC))
    assert tags.make_default() is not tags.make_default()


def test_the_public_names_are_there():
    assert [name for name in records.__all__ if not hasattr(records, name)] == []
