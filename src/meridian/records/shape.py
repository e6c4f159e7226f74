"""A frozen dataclass, read once into a Shape.

A class comes in; out comes its fields, each with its kind, its bounds and its words, or a `DeclarationError` that names the
record, the field and what to write instead. Nothing else in Meridian inspects a dataclass: the reader, the schema, the writer
and the drawn form all work from here.
"""

from __future__ import annotations

import builtins
import collections.abc as abc
import dataclasses
import datetime as dt
import re
import sys
import types
import typing
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, dataclass
from decimal import Decimal
from enum import Enum
from typing import Any, Final, Generic, NamedTuple, NoReturn, TypeAlias, TypeVar, cast, overload

import typing_extensions

from meridian.errors import DeclarationError
from meridian.records.path import NAME, Every, Path, parse_path
from meridian.records.pattern import pythons_own

__all__ = [
    "Boolean",
    "Cell",
    "Choice",
    "Date",
    "DateTime",
    "DecimalKind",
    "FieldShape",
    "Integer",
    "JsonObject",
    "Kind",
    "Mapping",
    "RecordKind",
    "Rows",
    "Shape",
    "Text",
    "Time",
    "Uuid",
    "field",
    "refuse_reserved",
    "shape_of",
]

R = TypeVar("R")
T = TypeVar("T")

MAX_DIGITS: Final = 100
"""How many digits a number may have, before and after the point together."""
MAX_ROWS: Final = 10_000
"""How many rows a list keeps; a row number is below it."""
MAX_DEPTH: Final = 64
"""How deep JSON may nest, the arguments themselves being the first level; and so how deep a field's kind may."""
MAX_NAME: Final = 64
"""How long a field's name may be; MCP clients refuse longer ones."""
RESERVED: Final = ("prepare", "csrf", "meridian")
"""The kit's own names in a form, which a route's record cannot use for a field."""


# ── Kinds ──────────────────────────────────────────────────────────────────


class _Plain:
    """A kind of which nothing is to be said. It is no dataclass: nine of those took half of this module's import."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class Text(_Plain):
    """`str`."""

    __slots__ = ()


class Integer(_Plain):
    """`int`."""

    __slots__ = ()


class Boolean(_Plain):
    """`bool`."""

    __slots__ = ()


class DecimalKind(_Plain):
    """`Decimal`, exact and finite."""

    __slots__ = ()


class Date(_Plain):
    """`date`."""

    __slots__ = ()


class DateTime(_Plain):
    """`datetime`, always aware."""

    __slots__ = ()


class Time(_Plain):
    """`time`, without a zone."""

    __slots__ = ()


class Uuid(_Plain):
    """`UUID`."""

    __slots__ = ()


class Choice(NamedTuple):
    """One of some texts: an `Enum`, read by value, or a `Literal` (`enum` is None)."""

    values: tuple[str, ...]
    enum: type[Enum] | None = None


class RecordKind(NamedTuple):
    """Another frozen dataclass."""

    shape: Shape[Any]


class Rows(NamedTuple):
    """`list[X]`, or `tuple[X, ...]` where `as_tuple`. `item` has the bounds of each row, its field those of their number."""

    item: Cell
    as_tuple: bool = False


class Mapping(NamedTuple):
    """`dict[str, X]`: any keys, each with a value like `item`."""

    item: Cell


class JsonObject(_Plain):
    """`dict[str, Any]`: any JSON object."""

    __slots__ = ()


Kind: TypeAlias = (
    Text | Integer | Boolean | DecimalKind | Date | DateTime | Time | Uuid | Choice | RecordKind | Rows | Mapping | JsonObject
)

_PLAIN: Final[dict[object, Kind]] = {
    str: Text(),
    int: Integer(),
    bool: Boolean(),
    Decimal: DecimalKind(),
    dt.date: Date(),
    dt.datetime: DateTime(),
    dt.time: Time(),
    uuid.UUID: Uuid(),
}

_WRITE_INSTEAD: Final[dict[object, str]] = {
    float: "float is not exact; write Decimal",
    complex: "complex has no text; write two Decimal fields",
    bytes: "bytes have no text; write str",
    list: "the list says nothing of its rows; write list[X]",
    tuple: "the tuple says nothing of its rows; write tuple[X, ...]",
    dict: "the dict says nothing of its values; write dict[str, X], or dict[str, Any] for any JSON object",
    set: "a set has no order; write list[X] or tuple[X, ...]",
    frozenset: "a set has no order; write list[X] or tuple[X, ...]",
    type(None): "None alone is no kind; write X | None",
    None: "None alone is no kind; write X | None",
    Any: "Any is no kind; write dict[str, Any] for any JSON object",
    object: "object is no kind; write dict[str, Any] for any JSON object",
}


_COUNTS: Final[dict[object, int]] = {list: 1, dict: 2}

# ── Cells, fields and shapes ───────────────────────────────────────────────


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What may stand in one place: a kind, its bounds and its words.

    `min` and `max` are values of the kind (`int` or `Decimal`); lengths are characters of a text and rows of a list. A
    `pattern` is matched against the whole text, as a browser does, and with ASCII `\\d` and `\\w`, as JSON Schema does. A
    `secret` is never redrawn or quoted.
    """

    kind: Kind
    nullable: bool = False
    title: str = ""
    description: str = ""
    min: int | Decimal | None = None
    max: int | Decimal | None = None
    places: int | None = None
    min_length: int | None = None
    max_length: int | None = None
    pattern: str | None = None
    choices: tuple[str, ...] | tuple[int, ...] = ()
    secret: bool = False


@dataclass(frozen=True, kw_only=True)
class FieldShape(Cell):
    """One field of a record. `default` is MISSING where there is none and where a factory makes it (`default_factory`)."""

    name: str
    required: bool = True
    default: Any = MISSING
    default_factory: Callable[[], Any] | None = None
    kw_only: bool = False

    def make_default(self) -> Any:
        """The value of a field left out: a factory's is made anew. Raises ValueError for a required field."""
        if self.default_factory is not None:
            return self.default_factory()
        if self.default is MISSING:
            raise ValueError(f"{self.name} is required and has no default")
        return self.default


@dataclass(frozen=True, eq=False)
class Shape(Generic[R]):
    """A record class as Meridian sees it. Made by `shape_of`, once a class; two shapes are equal where they are the same one.

    `description` is the first paragraph of the class's docstring. `derived` holds what the other modules of this room made
    from the shape and keep, each under its own name.
    """

    record: type[R]
    name: str
    description: str
    fields: tuple[FieldShape, ...]
    derived: dict[str, Any] = dataclasses.field(default_factory=dict, repr=False)

    def field(self, name: str) -> FieldShape | None:
        """The field called `name`, or None."""
        return next((f for f in self.fields if f.name == name), None)

    def at(self, path: str | Path) -> Cell | None:
        """What `path`, a path or a pattern path, leads to: a field, or the item of a list or dict; None where nothing is.

        >>> from meridian.records import shape_of
        >>> @dataclass(frozen=True)
        ... class Lot:
        ...     cost: Decimal
        >>> shape_of(Lot).at("cost").kind
        DecimalKind()
        """
        if isinstance(path, str):
            try:
                path = parse_path(path)
            except ValueError:
                return None
        cell: Cell | None = None
        kind: Kind = RecordKind(self)
        for step in path:
            match kind, step:
                case RecordKind(shape), str():
                    cell = shape.field(step)
                case Rows(item), int() | Every():
                    cell = item
                case Mapping(item), str() | Every():
                    cell = item
                case _:
                    return None
            if cell is None:
                return None
            kind = cell.kind
        return cell


def in_order(shape: Shape[Any]) -> bool:
    """Whether the class takes its fields by position, in their order."""
    return _made_by_dataclass(shape.record) and not any(field.kw_only for field in shape.fields)


def can_refuse(cls: type) -> bool:
    """Whether making `cls` runs code of its author, which may raise ValueError."""
    return (
        hasattr(cls, "__post_init__")
        or not _made_by_dataclass(cls)
        or any("__new__" in each.__dict__ for each in cls.__mro__[:-1])
    )


def _made_by_dataclass(cls: type) -> bool:
    """Whether `cls` has the `__init__` that `dataclass` writes, which it does not where the class has its own."""
    code = getattr(cls.__init__, "__code__", None)  # type: ignore[misc]
    return code is not None and code.co_qualname.startswith("__create_fn__.")  # which is the name of what dataclass executes


# ── Declaring a field ──────────────────────────────────────────────────────

_WORDS: Final = ("title", "description")
_BOUNDS: Final = ("min", "max", "places", "min_length", "max_length", "pattern", "choices", "secret")
_KNOWN: Final = (*_WORDS, *_BOUNDS)


@overload
def field(
    *,
    default: T,
    kw_only: bool = ...,
    title: str | None = ...,
    description: str | None = ...,
    min: int | str | Decimal | None = ...,
    max: int | str | Decimal | None = ...,
    places: int | None = ...,
    min_length: int | None = ...,
    max_length: int | None = ...,
    pattern: str | None = ...,
    choices: Sequence[str] | Sequence[int] | None = ...,
    secret: bool = ...,
) -> T: ...
@overload
def field(
    *,
    default_factory: Callable[[], T],
    kw_only: bool = ...,
    title: str | None = ...,
    description: str | None = ...,
    min: int | str | Decimal | None = ...,
    max: int | str | Decimal | None = ...,
    places: int | None = ...,
    min_length: int | None = ...,
    max_length: int | None = ...,
    pattern: str | None = ...,
    choices: Sequence[str] | Sequence[int] | None = ...,
    secret: bool = ...,
) -> T: ...
@overload
def field(
    *,
    kw_only: bool = ...,
    title: str | None = ...,
    description: str | None = ...,
    min: int | str | Decimal | None = ...,
    max: int | str | Decimal | None = ...,
    places: int | None = ...,
    min_length: int | None = ...,
    max_length: int | None = ...,
    pattern: str | None = ...,
    choices: Sequence[str] | Sequence[int] | None = ...,
    secret: bool = ...,
) -> Any: ...
def field(
    *,
    default: Any = MISSING,
    default_factory: Any = MISSING,
    kw_only: Any = MISSING,
    title: str | None = None,
    description: str | None = None,
    min: int | str | Decimal | None = None,  # noqa: A002
    max: int | str | Decimal | None = None,  # noqa: A002
    places: int | None = None,
    min_length: int | None = None,
    max_length: int | None = None,
    pattern: str | None = None,
    choices: Sequence[str] | Sequence[int] | None = None,
    secret: bool = False,
) -> Any:
    """`dataclasses.field` with a field's words and bounds; the same names work in its `metadata=`.

    `title` and `description` are what a person and an agent read; `places` counts decimal places, trailing zeros aside;
    `min_length` and `max_length` count a text's characters or a list's rows; a `pattern` is matched against the whole text.
    A `secret` is never redrawn, quoted or listed. It may also stand in an annotation, which is where the rows of a list are
    bounded and where a type checker follows best: `list[Annotated[str, field(max_length=10)]]`.
    """
    given = {
        "title": title,
        "description": description,
        "min": min,
        "max": max,
        "places": places,
        "min_length": min_length,
        "max_length": max_length,
        "pattern": pattern,
        "choices": choices,
        "secret": secret or None,
    }
    metadata = {name: value for name, value in given.items() if value is not None}
    if default_factory is not MISSING:
        return dataclasses.field(default_factory=default_factory, kw_only=kw_only, metadata=metadata)
    return dataclasses.field(default=default, kw_only=kw_only, metadata=metadata)


# ── Reading the class ──────────────────────────────────────────────────────

_ATTRIBUTE: Final = "__meridian_shape__"


def shape_of(cls: type[R]) -> Shape[R]:
    """What the frozen dataclass `cls` is made of; read at the first asking and kept with the class.

    Raises DeclarationError, naming record, field and what to write instead, for what a record cannot say.
    """
    return _shape(cls, ())


def _shape(cls: type[R], inside: tuple[tuple[type, str], ...]) -> Shape[R]:
    kept = cls.__dict__.get(_ATTRIBUTE) if isinstance(cls, type) else None
    if kept is not None:
        return cast("Shape[R]", kept)
    _refuse_other_classes(cls)
    pseudo = getattr(cls, "__dataclass_fields__", {})
    for each in pseudo.values():
        if each._field_type.name == "_FIELD_INITVAR":  # noqa: SLF001  (dataclasses says it nowhere else)
            _no(cls, each.name, "InitVar is no field and could not be written back; write a field")
    shape = Shape(
        cls,
        cls.__name__,
        _description(cls),
        tuple(_Declared(cls, each, inside).read() for each in dataclasses.fields(cls) if each.init),  # type: ignore[arg-type]
    )
    setattr(cls, _ATTRIBUTE, shape)
    return shape


def _refuse_other_classes(cls: object) -> None:
    if not isinstance(cls, type):
        said = getattr(cls, "__name__", repr(cls))
        raise DeclarationError(f"{said}: a record is a class; write a @dataclass(frozen=True)")
    if not dataclasses.is_dataclass(cls) or "__dataclass_fields__" not in cls.__dict__:
        raise DeclarationError(f"{cls.__name__}: it is no dataclass; write @dataclass(frozen=True) above it")
    if not cls.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        raise DeclarationError(f"{cls.__name__}: it can be changed after it was read; write @dataclass(frozen=True)")


def _description(cls: type) -> str:
    words = cls.__dict__.get("__doc__") or ""
    if not isinstance(words, str) or words.startswith(f"{cls.__name__}("):
        return ""
    return " ".join(words.strip().split("\n\n")[0].split())


def refuse_reserved(shape: Shape[Any]) -> None:
    """Raise DeclarationError where a route's record uses one of the kit's own names in a form for a field."""
    for each in shape.fields:
        if each.name in RESERVED:
            _no(shape.record, each.name, f"a form keeps the name {each.name} for itself; write another name")


def _no(cls: type, name: str, words: str) -> NoReturn:
    raise DeclarationError(f"{cls.__name__}.{name}: {words}")


def _near(name: str, known: Sequence[str]) -> str:
    from difflib import get_close_matches

    found = get_close_matches(name, known, 1)
    return f"did you mean {found[0]}?" if found else f"known are {', '.join(known)}"


class _Declared:
    """One field while it is read: whose it is, and the records that its own is inside of."""

    def __init__(self, cls: type, declared: dataclasses.Field[Any], inside: tuple[tuple[type, str], ...]) -> None:
        self.cls = cls
        self.declared = declared
        self.name = declared.name
        self.inside = (*inside, (cls, declared.name))
        self.depth = 1

    def no(self, words: str) -> NoReturn:
        _no(self.cls, self.name, words)

    def read(self) -> FieldShape:
        name, declared = self.name, self.declared
        if not NAME.fullmatch(name) or len(name) > MAX_NAME:
            self.no(f"clients refuse this name; write letters a to z, digits and _ only, at most {MAX_NAME}, no digit first")
        hint, nullable, metadata = self.peel(declared.type, {}, ())
        metadata.update(declared.metadata)
        made = self.cell(hint, nullable, metadata)
        factory = None if declared.default_factory is MISSING else declared.default_factory
        required = declared.default is MISSING and factory is None
        found = FieldShape(
            **made,
            name=name,
            required=required,
            default=declared.default,
            default_factory=factory,
            kw_only=bool(declared.kw_only),
        )
        if not required:
            try:
                default = found.make_default()
            except Exception as raised:  # noqa: BLE001  (it is the author's code)
                self.no(f"its default_factory raised {type(raised).__name__}: {raised}; write one that makes a value")
            wrong = misfit(found, default)
            if wrong:
                self.no(f"its default {wrong}")
        return found

    # what an annotation says

    def peel(self, hint: Any, metadata: dict[str, Any], passed: tuple[object, ...]) -> tuple[Any, bool, dict[str, Any]]:
        """`hint` without what surrounds its kind, whether it may be None, and the metadata of its Annotated, outermost last."""
        if isinstance(hint, typing.ForwardRef):
            hint = hint.__forward_arg__
        if any(hint is each or (isinstance(each, str) and hint == each) for each in passed):
            self.no(f"the name {hint!r} stands for itself; write what it means")
        if isinstance(hint, str):
            return self.peel(self.look_up(hint), metadata, (*passed, hint))
        origin = typing.get_origin(hint)
        if origin in (typing.Annotated, typing_extensions.Annotated):
            inner, *notes = typing.get_args(hint)
            hint, nullable, metadata = self.peel(inner, metadata, passed)
            for note in notes:
                metadata.update(self.note(note))
            return hint, nullable, metadata
        if origin in (typing.Union, types.UnionType):
            arms = typing.get_args(hint)
            kinds = [arm for arm in arms if arm is not type(None)]
            if len(kinds) != 1:
                said = " | ".join(_name_of(arm) for arm in kinds)
                self.no(f"{said} is two kinds, and what came could be either; write one of them, or two fields")
            hint, nullable, metadata = self.peel(kinds[0], metadata, passed)
            return hint, nullable or len(arms) > len(kinds), metadata
        if origin is typing.Final:
            return self.peel(typing.get_args(hint)[0], metadata, passed)
        if isinstance(hint, typing.NewType):
            return self.peel(hint.__supertype__, metadata, (*passed, hint))
        if isinstance(hint, typing_extensions.TypeAliasType):
            return self.peel(hint.__value__, metadata, (*passed, hint))
        if origin is typing.Literal and None in typing.get_args(hint):
            values = tuple(value for value in typing.get_args(hint) if value is not None)
            return typing.Literal[values], True, metadata
        return hint, False, metadata

    def note(self, note: object) -> abc.Mapping[str, Any]:
        """The metadata in one note of an Annotated; notes that are others' are left alone."""
        if isinstance(note, dataclasses.Field):
            if note.default is not MISSING or note.default_factory is not MISSING:
                self.no("a default inside Annotated gives none; write it after =")
            return note.metadata
        if isinstance(note, typing_extensions.Doc):
            return {"description": note.documentation}
        return cast("abc.Mapping[str, Any]", note) if isinstance(note, abc.Mapping) else {}

    def look_up(self, text: str) -> Any:
        try:
            return _evaluate(text, self.cls, self.name)
        except NameError as lost:
            self.no(
                f"it names {lost.name or text}, which neither {self.cls.__module__} nor a function that is running has; "
                f"import it there, or ask for the record's shape where that name is"
            )
        except Exception as wrong:  # noqa: BLE001  (an annotation is any expression)
            self.no(f"its annotation {text!r} cannot be read ({wrong}); write one kind")

    def kind(self, hint: Any, secret: bool) -> Kind:  # noqa: RET503
        try:
            if hint in _PLAIN:
                return _PLAIN[hint]
            instead = _WRITE_INSTEAD.get(hint)
        except TypeError:
            self.no(f"{hint!r} is no kind of field; write a type")
        if instead:
            self.no(instead)
        origin, args = typing.get_origin(hint), typing.get_args(hint)
        if origin is typing.Literal:
            if not args or not all(type(value) is str for value in args):
                self.no("a Literal is of texts; write its values as texts, or int with choices=")
            return Choice(tuple(dict.fromkeys(args)))
        if origin in _COUNTS and len(args) != _COUNTS[origin]:
            self.no(_WRITE_INSTEAD[origin])
        if origin is list:
            return Rows(self.item(args[0], secret))
        if origin is tuple:
            if len(args) != 2 or args[1] is not Ellipsis:
                self.no("a tuple of different places is no list; write tuple[X, ...], or a record with a field for each")
            return Rows(self.item(args[0], secret), as_tuple=True)
        if origin is dict:
            if args[0] is not str:
                self.no("a JSON object's keys are texts; write dict[str, X]")
            return JsonObject() if args[1] is Any else Mapping(self.item(args[1], secret))
        if isinstance(hint, type) and origin is None:
            if issubclass(hint, Enum):
                return self.enum(hint)
            if dataclasses.is_dataclass(hint):
                return self.record(hint, secret)
        if isinstance(origin, type) and dataclasses.is_dataclass(origin):
            self.no(f"{_name_of(hint)} is generic, and its fields' kinds cannot be known; write the record out")
        if isinstance(hint, typing.TypeVar):
            self.no(f"{hint} may be any kind; write the one it is")
        self.no(
            f"{_name_of(hint)} is no kind of field; write str, int, bool, Decimal, date, datetime, time, UUID, an Enum or a "
            "Literal of texts, a frozen dataclass, or a list, tuple or dict of these"
        )

    def enum(self, hint: type[Enum]) -> Choice:
        values = tuple(member.value for member in hint)
        if not values or not all(isinstance(value, str) for value in values):
            self.no(f"{hint.__name__} is read by its values; write each of them as a text")
        return Choice(values, hint)

    def record(self, hint: type, secret: bool) -> RecordKind:
        if any(hint is outer for outer, _ in self.inside):
            way = " and ".join(f"{outer.__name__}.{name}" for outer, name in self.inside)
            self.no(
                f"{hint.__name__} contains itself, by {way}, and its form would have no end; write rows that name each other"
            )
        if secret:
            self.no(f"secret is for one value; write it on the fields of {hint.__name__}")
        try:
            return RecordKind(_shape(hint, self.inside))
        except DeclarationError as inner:
            said = str(inner)
            if said.startswith(f"{hint.__name__}:"):  # the class itself will not do: say where it is used too
                raise DeclarationError(f"{self.cls.__name__}.{self.name}: {said}") from None
            raise

    def item(self, hint: Any, secret: bool) -> Cell:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.no(f"it nests deeper than {MAX_DEPTH} levels, or a name in it stands for itself; write it flatter")
        inner, nullable, metadata = self.peel(hint, {}, ())
        if secret:
            metadata["secret"] = True
        made = Cell(**self.cell(inner, nullable, metadata))
        self.depth -= 1
        return made

    # what its metadata says

    def cell(self, hint: Any, nullable: bool, metadata: abc.Mapping[str, Any]) -> dict[str, Any]:
        for name in metadata:
            if name not in _KNOWN:
                self.no(f"its metadata has {name!r}, which means nothing; {_near(str(name), _KNOWN)}")
        made: dict[str, Any] = {name: value for name, value in metadata.items() if value is not None}
        if not isinstance(made.get("secret", False), bool):
            self.no("secret is true or false; write secret=True")
        kind = self.kind(hint, made.get("secret", False))
        for name in _WORDS:
            if not isinstance(made.get(name, ""), str):
                self.no(f"its {name} is {made[name]!r}; write a text")
        for name in ("min", "max"):
            if name in made:
                made[name] = self.number(kind, name, made[name])
        for name in ("places", "min_length", "max_length"):
            if name in made:
                self.size(kind, name, made[name])
        if "pattern" in made:
            self.pattern(kind, made["pattern"])
        if "choices" in made:
            made["choices"] = self.choices(kind, made["choices"])
        for low, high in (("min", "max"), ("min_length", "max_length")):
            if low in made and high in made and made[low] > made[high]:
                self.no(f"its {low} {made[low]} is over its {high} {made[high]}; write them the other way round")
        return {"kind": kind, "nullable": nullable, **made}

    def number(self, kind: Kind, name: str, value: object) -> int | Decimal:  # noqa: RET503
        if isinstance(kind, Integer):
            if type(value) is int:
                return value
            if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,100}", value):
                return int(value)
            self.no(f"its {name} is {value!r}; write a whole number")
        if not isinstance(kind, DecimalKind):
            self.no(f"{name} fits an int or a Decimal; {_bound_elsewhere(kind, name)}")
        if type(value) is int:
            return Decimal(value)
        if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,100}(\.[0-9]{1,100})?", value):
            return Decimal(value)
        if isinstance(value, Decimal) and value.is_finite():
            return value
        self.no(f"its {name} is {value!r}; write a Decimal, or its text")

    def size(self, kind: Kind, name: str, value: object) -> None:
        if name == "places" and not isinstance(kind, DecimalKind):
            self.no(f"places fits a Decimal; {_bound_elsewhere(kind, name)}")
        if name != "places" and not isinstance(kind, Text | Rows):
            self.no(f"{name} fits a text, in characters, or a list, in rows; {_bound_elsewhere(kind, name)}")
        if type(value) is not int or value < 0:
            self.no(f"its {name} is {value!r}; write a whole number that is not negative")
        if name == "min_length" and isinstance(kind, Rows) and value > MAX_ROWS:
            self.no(f"its min_length is {value}, and a list keeps at most {MAX_ROWS} rows; write fewer")

    def pattern(self, kind: Kind, value: object) -> None:
        if not isinstance(kind, Text):
            self.no(f"pattern fits a text; {_bound_elsewhere(kind, 'pattern')}")
        if not isinstance(value, str):
            self.no(f"its pattern is {value!r}; write a regular expression, as a text")
        try:
            re.compile(value, re.ASCII)
        except (re.error, OverflowError, RecursionError) as wrong:
            self.no(f"its pattern {value!r} is no regular expression ({wrong}); write one")
        if lost := pythons_own(value):
            self.no(f"its pattern {value!r} has {lost}, which JSON Schema has not; write it without")

    def choices(self, kind: Kind, value: object) -> tuple[str, ...] | tuple[int, ...]:
        of = str if isinstance(kind, Text) else int
        if not isinstance(kind, Text | Integer):
            self.no(f"choices fits a text or an int; {_bound_elsewhere(kind, 'choices')}")
        if isinstance(value, str) or not isinstance(value, Sequence | abc.Set):
            self.no(f"its choices are {value!r}; write a list of them")
        values = tuple(value)
        if not values or not all(type(each) is of for each in values):
            self.no(f"its choices are {value!r}; write a list of {'texts' if of is str else 'whole numbers'}")
        return tuple(dict.fromkeys(values))


def _bound_elsewhere(kind: Kind, name: str) -> str:
    if isinstance(kind, Rows):
        return f"for each row write list[Annotated[X, field({name}=…)]]"
    if isinstance(kind, Mapping):
        return f"for each value write dict[str, Annotated[X, field({name}=…)]]"
    if isinstance(kind, RecordKind):
        return f"write it on a field of {kind.shape.name}"
    return "leave it out, or check it in __post_init__"


def _name_of(hint: object) -> str:
    return hint.__qualname__ if isinstance(hint, type) and typing.get_origin(hint) is None else str(hint)


# ── Names of string annotations ────────────────────────────────────────────


def _evaluate(text: str, cls: type, name: str) -> Any:
    """The annotation `text` of the field `name` of `cls`. Its names are looked up in the functions that `cls` was declared in,
    those that are still running; in its module; and last in whatever is running of that module. Raises NameError."""
    owner = next((each for each in cls.__mro__ if name in vars(each).get("__annotations__", ())), cls)
    module = sys.modules.get(owner.__module__)
    seen = vars(module) if module is not None else {}
    near: dict[str, Any] = {owner.__name__: owner}
    if "<locals>" in owner.__qualname__:
        declaring = {owner.__qualname__[: found.start()] for found in re.finditer(r"\.<locals>\.", owner.__qualname__)}
        for frame in _frames(owner.__module__):
            if frame.f_code.co_qualname in declaring:
                near = {**frame.f_locals, **near}
    for names in (near, seen, vars(builtins)):
        if text in names:  # one name, as most are: to look it up takes a tenth of what it takes to compile it
            return names[text]
    try:
        return eval(text, seen, near)  # noqa: S307  (the author's own annotation, as typing.get_type_hints does)
    except NameError:
        for frame in _frames(owner.__module__):
            near = {**frame.f_globals, **frame.f_locals, **near}
        return eval(text, seen, near)  # noqa: S307


def _frames(module: str) -> Iterator[types.FrameType]:
    """What is running of `module`, innermost first; a shell or a page of documentation may run under its name."""
    frame: types.FrameType | None = sys._getframe(2)  # noqa: SLF001
    while frame is not None:
        if frame.f_globals.get("__name__", "builtins") == module:
            yield frame
        frame = frame.f_back


# ── Whether a value fits its cell ──────────────────────────────────────────


def misfit(cell: Cell, value: object) -> str:
    """Why `value`, of Python's and not of JSON's, cannot stand in `cell`, as the end of a sentence; empty where it can."""
    if value is None:
        return "" if cell.nullable else "is None; write X | None, or another default"
    return _misfit_kind(cell, value) or _misfit_bounds(cell, value)


def _misfit_kind(cell: Cell, value: object) -> str:
    match cell.kind:
        case Text():
            if type(value) is not str:
                return f"{value!r} is no text"
            if not is_clean(value) or "\r" in value:
                return f"{value!r} has a control character, which does not read"
        case Integer():
            if type(value) is not int or abs(value) >= 10**MAX_DIGITS:
                return f"{value!r} is no whole number of at most {MAX_DIGITS} digits"
        case Boolean():
            if type(value) is not bool:
                return f"{value!r} is neither True nor False"
        case DecimalKind():
            if not isinstance(value, Decimal) or not value.is_finite() or _digits(value) > MAX_DIGITS:
                return f'{value!r} is no finite Decimal of at most {MAX_DIGITS} digits; write Decimal("…")'
        case Date():
            if type(value) is not dt.date:
                return f"{value!r} is no date"
        case DateTime():
            if not isinstance(value, dt.datetime) or value.utcoffset() is None:
                return f"{value!r} is no datetime with a zone; write tzinfo=UTC"
        case Time():
            if type(value) is not dt.time or value.tzinfo is not None:
                return f"{value!r} is no time without a zone"
        case Uuid():
            if not isinstance(value, uuid.UUID):
                return f"{value!r} is no UUID"
        case Choice(values, enum):
            if enum is not None and not isinstance(value, enum):
                return f"{value!r} is no {enum.__name__}"
            if enum is None and value not in values:
                return f"{value!r} is none of {', '.join(values)}"
        case RecordKind(shape):
            if not isinstance(value, shape.record):
                return f"{value!r} is no {shape.name}"
            for each in shape.fields:
                if wrong := misfit(each, getattr(value, each.name, MISSING)):
                    return f"has {each.name}, which {wrong}"
        case Rows(item, as_tuple):
            if type(value) is not (tuple if as_tuple else list):
                return f"{value!r} is no {'tuple' if as_tuple else 'list'}"
            return next((f"has a row that {wrong}" for each in cast("list[Any]", value) if (wrong := misfit(item, each))), "")
        case Mapping(item):
            if type(value) is not dict:
                return f"{value!r} is no dict"
            return next((f"has a value that {wrong}" for each in value.values() if (wrong := misfit(item, each))), "")
        case JsonObject():
            if type(value) is not dict:
                return f"{value!r} is no dict"
    return ""


def _misfit_bounds(cell: Cell, value: Any) -> str:
    if cell.min is not None and value < cell.min:
        return f"{value} is under its min {cell.min}"
    if cell.max is not None and value > cell.max:
        return f"{value} is over its max {cell.max}"
    if cell.places is not None and _places(value) > cell.places:
        return f"{value} has more than its {cell.places} decimal places"
    if cell.min_length is not None and len(value) < cell.min_length:
        return f"{value!r} is shorter than its min_length {cell.min_length}"
    if cell.max_length is not None and len(value) > cell.max_length:
        return f"{value!r} is longer than its max_length {cell.max_length}"
    if isinstance(cell.kind, Rows) and len(value) > MAX_ROWS:
        return f"has {len(value)} rows, more than the {MAX_ROWS} that a list keeps"
    if cell.pattern is not None and not re.compile(cell.pattern, re.ASCII).fullmatch(value):
        return f"{value!r} does not match its pattern {cell.pattern}"
    if cell.choices and value not in cell.choices:
        return f"{value!r} is none of its choices"
    return ""


_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def is_clean(text: str) -> bool:
    """Whether `text` has no control character but tab, LF and CR, and no half of a surrogate pair."""
    return text.isprintable() or _CONTROL.search(text.replace("\r", "")) is None


def _digits(value: Decimal) -> int:
    _, digits, exponent = value.as_tuple()
    scale = cast("int", exponent)
    return len(digits) + scale if scale >= 0 else max(len(digits), 1 - scale)


def _places(value: Decimal) -> int:
    _, digits, exponent = value.as_tuple()
    places = -cast("int", exponent)
    for digit in reversed(digits):
        if digit or places <= 0:
            break
        places -= 1
    return max(places, 0) if any(digits) else 0
