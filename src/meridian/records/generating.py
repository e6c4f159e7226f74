"""Python written for one record: what reads it from JSON, and what reads it from a form's tree.

A Shape goes in; a function comes out, made once and kept with the Shape. What is written is what one would write by hand: a
good cell is read in place, and whatever else came, nothing at all included, goes to `cells`, which has the rules. `_Writer`
writes what both ways in have in common, and a subclass what JSON or a form has of its own. A list of records is one loop; a
long one is read by `columns`, as far as it can be.

The code has a name, `meridian JSON reader of Lot`, and a traceback shows its lines.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from keyword import iskeyword
from typing import Any, ClassVar, Final, Literal, TypeAlias

from meridian.records import cells, columns, tree
from meridian.records.cells import ABSENT, UNREAD
from meridian.records.shape import (
    MAX_DIGITS,
    MAX_ROWS,
    Boolean,
    Cell,
    Choice,
    Date,
    DateTime,
    DecimalKind,
    FieldShape,
    Integer,
    Mapping,
    RecordKind,
    Rows,
    Shape,
    Text,
    can_refuse,
    in_order,
)

__all__: list[str] = []

Reader = Callable[[Any, Any, cells.Found], Any]
"""Reads `(what came, where it is, found)` to a value, or to UNREAD with problems found."""
Source = Literal["JSON", "form"]
Code: TypeAlias = "list[str | Code]"
"""Lines of Python; those in a list of their own are one step further in."""

_HELPERS: Final = {
    "ABSENT": ABSENT,
    "UNREAD": UNREAD,
    "Decimal": Decimal,
    "day": date.fromisoformat,
    "truths": cells.TRUTHS,
    "whole": re.compile(r"-?[0-9]{1,18}").fullmatch,
    "json_cell": cells.json_cell,
    "json_field": cells.json_field,
    "form_cell": cells.form_cell,
    "form_field": cells.form_field,
    "half_a_key": cells.half_a_key,
    "unknown": cells.unknown,
    "mended": cells.mended,
    "refused": cells.refused,
    "refused_in_form": tree.refused,
    "wrong_length": cells.wrong_length,
    "nothing_in": tree.nothing_in,
    "astray": tree.astray,
    "own_rows": tree.own_rows,
    "dict": dict,
    "list": list,
    "str": str,
    "int": int,
    "type": type,
    "len": len,
    "sorted": sorted,
    "enumerate": enumerate,
    "tuple": tuple,
    "id": id,
    "ValueError": ValueError,
}
_LOCALS: Final = frozenset(
    "absent all_read at before came found keep kept made members n read row rows value wrong".split()  # noqa: SIM905
)
"""What the written functions call their own; the value of a field has the field's name and a `_`."""


def record_reader(shape: Shape[Any], source: Source) -> Reader:
    """What reads one `shape` from an object, or from a form's cells."""
    kept: Reader | None = shape.derived.get(source)
    if kept is None:
        writer = _WRITERS[source](shape.name)
        kept = shape.derived[source] = writer.function(writer.record(shape))
    return kept


def holder_reader(cell: Cell, name: str, source: Source) -> Reader:
    """What reads the list or dict in `cell`, which is called `name`, a field after its record; kept with the cell."""
    kept: Reader | None = cell.__dict__.get(f"_{source}")
    if kept is None:
        writer = _WRITERS[source](name)
        kept = cell.__dict__[f"_{source}"] = writer.function(writer.holder(cell))
    return kept


def source_of(reader: Reader) -> str:
    """The lines that were written for `reader`."""
    return str(reader.__globals__["__loader__"].get_source(""))


class _Loader:
    """Keeps what was written for the traceback that asks for its lines."""

    def __init__(self, text: str) -> None:
        self.text = text

    def get_source(self, _name: str) -> str:
        return self.text


def _indented(code: Code, margin: str = "") -> str:
    return "".join(f"{margin}{each}\n" if isinstance(each, str) else _indented(each, f"{margin}    ") for each in code)


Branch: TypeAlias = "tuple[str, Code]"


def _first_true(branches: list[Branch]) -> Code:
    """The code of the first of `branches` whose condition holds; an empty one always does."""
    code: Code = []
    for condition, then in branches:
        if condition:
            code += [f"{'elif' if code else 'if'} {condition}:", then]
        else:
            code += ["else:", then] if code else then
    return code


class _Writer(ABC):
    """Writes one function; keeps the names that it uses."""

    source: ClassVar[Source]
    strange: ClassVar[str]
    """What tells the names that are no field's."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.names: dict[str, Any] = _HELPERS.copy()

    def function(self, code: Code) -> Reader:
        text = _indented(code)
        file = f"meridian {self.source} reader of {self.name}"
        self.names.update(__name__=file, __loader__=_Loader(text))
        exec(compile(text, file, "exec", dont_inherit=True), self.names)  # noqa: S102  (made here, of names that are identifiers)
        return self.names["read"]  # type: ignore[no-any-return]

    def called(self, wish: str, value: Any) -> str:
        """A name for `value` in the code: the one wished for, where it is an identifier that nothing else there has."""
        if wish in _LOCALS or wish.endswith("_") or not (wish.isascii() and wish.isidentifier()) or iskeyword(wish):
            wish = f"the_{re.sub('[^A-Za-z0-9_]', '', wish)}1"
        name, n = wish, 2
        while self.names.setdefault(name, value) is not value:
            name, n = f"{wish}{n}", n + 1
        return name

    def lazily(self, wish: str, make: Callable[[], Reader]) -> str:
        """A name for a reader that is made when it is first called."""

        def first(came: Any, at: Any, found: cells.Found) -> Any:
            reader = self.names[called] = make()
            return reader(came, at, found)

        called = self.called(wish, first)
        return called

    def reader(self, name: str, cell: Cell) -> str:
        """The name of what reads `cell`, which holds others."""
        if isinstance(cell.kind, RecordKind):
            shape = cell.kind.shape
            return self.lazily(f"read_{name}", lambda: record_reader(shape, self.source))
        return self.lazily(f"read_{name}", lambda: holder_reader(cell, f"{self.name}.{name}", self.source))

    # records

    def record(self, shape: Shape[Any]) -> Code:
        """A function that reads one record."""
        made = self.made(shape)
        if can_refuse(shape.record):
            wrong: Code = [f"return {self.mended(shape)}"]
            make: Code = ["try:", [f"return {made}"], "except ValueError as wrong:", [f"return {self.refused(shape, 'at')}"]]
        else:
            wrong, make = self.with_defaults(shape, "return UNREAD"), [f"return {made}"]
        return [
            "def read(row, at, found):",
            ["before = found.count", *self.fields(shape, "at", root=True), "if found.count != before:", wrong, *make],
        ]

    def row(self, item: Cell, shape: Shape[Any], keep: str) -> Code:
        """Reads `row`, a record among others, in a loop. Once one did not read, no more are made."""
        made = self.made(shape)
        if can_refuse(shape.record):
            value = f"value = {self.mended(shape)} if all_read else UNREAD"
            unless_unread: Code = ["if value is UNREAD:", ["all_read = False"], "else:", [keep.format("value")]]
            wrong: Code = ["before = found.count", value, *unless_unread, "continue"]
            refused: Code = [self.refused(shape, "(at, n)"), "before = found.count", "all_read = False"]
            make: Code = ["try:", [f"value = {made}"], "except ValueError as wrong:", refused, "else:", [keep.format("value")]]
        else:
            wrong = ["before = found.count", *self.with_defaults(shape, "all_read = False")]
            make = ["if all_read:", [keep.format(made)]]
        return [
            "if type(row) is not dict:",
            [
                *(self.null(keep) if item.nullable else []),
                f"{self.source.lower()}_cell({self.called('item', item)}, row, (at, n), found)",
                "before = found.count",
                "all_read = False",
                "continue",
            ],
            *self.unless_blank(item),
            *self.fields(shape, "(at, n)", root=False),
            "if found.count != before:",
            wrong,
            *make,
        ]

    def fields(self, shape: Shape[Any], at: str, *, root: bool) -> Code:
        """Reads every field of `row`, whose place is `at`, into a name of its own; and tells what is no field's. None is where
        the row has as many names as there are fields, but those that are `absent`, and none was `lacking`."""
        count = any(self.may_be_absent(each) for each in shape.fields)
        code: Code = ["absent = 0"] if count else []
        for each in shape.fields:
            code += self.field(each, at)
        names = self.called(f"{shape.name}_names", frozenset(each.name for each in shape.fields))
        number = f"{'absent + ' if count else ''}len(row)"
        test = f"{number} != {len(shape.fields)} or (found.lacking and not {names}.issuperset(row))"
        if root and self.source == "form":
            test = f"at and ({test})"  # at the top, other names may be another's
        return [
            *code,
            f"if {test}:",
            [f"{self.strange}({self.called(f'{shape.name}_shape', shape)}, row, {at}, found)"],
        ]

    @abstractmethod
    def field(self, field: FieldShape, at: str) -> Code:
        """Reads one field; one that is absent, and may be, is counted."""

    def may_be_absent(self, field: FieldShape) -> bool:
        return not field.required

    def with_defaults(self, shape: Shape[Any], unread: str) -> Code:
        """Puts a field that did not read at its default, and does `unread` where it has none."""
        code: Code = []
        required = [f"{_local(each)} is UNREAD" for each in shape.fields if each.required]
        if required:
            code += [f"if {' or '.join(required)}:", [unread]]
        for each in shape.fields:
            if not each.required:
                code += [f"if {_local(each)} is UNREAD:", [f"{_local(each)} = {self.default(each)}"]]
        return code or ["pass"]

    def mended(self, shape: Shape[Any]) -> str:
        """An expression for the same where making the record runs its author's code, which may stumble over a default."""
        names = "".join(f"{_local(each)}, " for each in shape.fields)
        return f"mended({self.called(f'{shape.name}_shape', shape)}, ({names}))"

    def made(self, shape: Shape[Any]) -> str:
        by_position = in_order(shape)
        names = [_local(each) if by_position else f"{each.name}={_local(each)}" for each in shape.fields]
        return f"{self.called(shape.name, shape.record)}({', '.join(names)})"

    def null(self, keep: str) -> Code:
        return ["if row is None:", [keep.format("None"), "continue"]]

    def unless_blank(self, _item: Cell) -> Code:
        """Goes on to the next row where `row` is as if it had not been sent."""
        return []

    @abstractmethod
    def refused(self, shape: Shape[Any], at: str) -> str:
        """An expression for what `wrong`, a ValueError of the record's own, makes of it."""

    def default(self, field: FieldShape) -> str:
        """An expression for the value of an optional field that nothing was given for."""
        if field.default_factory is not None:
            return "[]" if field.default_factory is list else f"{self.called(f'make_{field.name}', field.default_factory)}()"
        value = field.default
        return repr(value) if value is None or value is True or value is False else self.called(f"{field.name}_default", value)

    # lists and dicts

    def holder(self, cell: Cell) -> Code:
        """A function that reads a list or a dict."""
        kind = cell.kind
        assert isinstance(kind, Rows | Mapping)  # noqa: S101  (the caller looked)
        as_dict, item = isinstance(kind, Mapping), kind.item
        keep = "kept[n] = {}" if as_dict else "keep({})"
        if isinstance(item.kind, RecordKind):
            one = self.row(item, item.kind.shape, keep)
        else:
            one = [*self.item(item), "if value is UNREAD:", ["all_read = False"], "else:", [keep.format("value")]]
        return [
            "def read(rows, at, found):",
            [
                *self.before_rows(cell),
                *(["kept = {}"] if as_dict else ["kept = []", "keep = kept.append"]),
                "all_read = True",
                "before = found.count",
                *self.each_row(cell, one),
                *self.after_rows(cell),
                "return tuple(kept)" if isinstance(kind, Rows) and kind.as_tuple else "return kept",
            ],
        ]

    @abstractmethod
    def before_rows(self, cell: Cell) -> Code:
        """Looks at the `rows` as a whole, before any is read."""

    @abstractmethod
    def each_row(self, cell: Cell, one: Code) -> Code:
        """Does `one` for each `row` of the `rows`, whose number or key is `n`."""

    @abstractmethod
    def item(self, item: Cell) -> Code:
        """Reads `row`, which is no record, into `value`."""

    @abstractmethod
    def after_rows(self, cell: Cell) -> Code:
        """Looks at what was kept of them, once all are read."""

    def if_long(self, cell: Cell) -> Code:
        """Reads many rows by column, where there are columns of them."""
        if not isinstance(cell.kind, Rows) or not columns.reads(cell.kind.item.kind):
            return []
        by_column = self.lazily("by_column", lambda: columns.list_reader(cell, self.names["read"], form=self.source == "form"))
        return [f"if len(rows) >= {columns.LONG} and found.by_column:", [f"return {by_column}(rows, at, found)"]]

    def length_check(self, cell: Cell, name: str) -> Code:
        low = f"{cell.min_length} <= " if cell.min_length else ""
        high = MAX_ROWS if cell.max_length is None else min(cell.max_length, MAX_ROWS)
        return [
            f"if not {low}len({name}) <= {high}:",
            [f"return wrong_length({self.called('this', cell)}, len({name}), at, found)"],
        ]

    # single cells

    def plainly(self, cell: Cell, name: str, came: str) -> tuple[str, str]:
        """What is true of a `came` that is plainly good, and the value it then is. Narrower than the rule where the rule is
        rarely needed; empty where the rule alone will do."""
        match cell.kind:
            case Text():
                tests = [f"type({came}) is str"]
                if cell.min_length or cell.max_length is not None:
                    low = f"{cell.min_length} <= " if cell.min_length else ""
                    high = f" <= {cell.max_length}" if cell.max_length is not None else ""
                    tests.append(f"{low}len({came}){high}")
                tests.append(f"{came}.isprintable()")
                if cell.pattern is not None:
                    tests.append(f"{self.called(f'{name}_pattern', re.compile(cell.pattern, re.ASCII).fullmatch)}({came})")
                return " and ".join([*tests, *self.chosen(cell, name, came)]), came
            case DecimalKind():
                fits = self.called(f"{name}_fits", re.compile(cells.plain_number(cell)).fullmatch)
                test = f"type({came}) is str and {fits}({came})"
                low = f"{self.called(f'{name}_min', cell.min)} <= " if cell.min else ""  # at least 0 is what has no minus
                if not low and cell.max is None:
                    return test, f"Decimal({came})"
                high = f" <= {self.called(f'{name}_max', cell.max)}" if cell.max is not None else ""
                return f"{test} and {low}(made := Decimal({came})){high}", "made"
            case Date():
                return f"type({came}) is str and len({came}) == 10 and {came}[5] != 'W'", f"day({came})"
            case Choice(values, enum):
                known = {value: value if enum is None else enum(value) for value in values}
                choices = self.called(f"{name}_choices", known)
                return f"type({came}) is str and {came} in {choices}", f"{choices}[{came}]"
        return "", ""

    def good(self, cell: Cell, name: str, came: str, into: str, other: str) -> list[Branch]:
        """When `came` is plainly good, and what reads it then; `other` reads what only looked so."""
        test, value = self.plainly(cell, name, came)
        if isinstance(cell.kind, Date):
            return [(test, ["try:", [f"{into} = {value}"], "except ValueError:", [other]])]
        return [(test, [f"{into} = {value}"])] if test else []

    def chosen(self, cell: Cell, name: str, value: str) -> list[str]:
        return [f"{value} in {self.called(f'{name}_choices', frozenset(cell.choices))}"] if cell.choices else []


class _JsonWriter(_Writer):
    source = "JSON"
    strange = "unknown"

    def fields(self, shape: Shape[Any], at: str, *, root: bool) -> Code:
        return [f"{'found.' if root else ''}members += len(row)", *super().fields(shape, at, root=root)]

    def field(self, field: FieldShape, at: str) -> Code:
        name, into = field.name, _local(field)
        this = self.called(f"{name}_cell", field)
        if isinstance(field.kind, Text | Integer | Boolean):  # whose value is what came
            test, _ = self.plainly(field, name, into)
            unless_null = f"{into} is not None and " if field.nullable else ""
            wrong: Branch = (f"{unless_null}not ({test})", [f"{into} = json_field({this}, {into}, {at}, found)"])
            return [f"{into} = row.get('{name}', ABSENT)", *_first_true([*self.absent(field, into), wrong])]
        other = f"{into} = json_field({this}, came, {at}, found)"
        branches = [*self.branches(field, name, "came", into, f"({at}, '{name}')", other), *self.absent(field, "came")]
        return [f"came = row.get('{name}', ABSENT)", *_first_true([*branches, ("", [other])])]

    def absent(self, field: FieldShape, came: str) -> list[Branch]:
        if field.required:
            return []
        return [(f"{came} is ABSENT", ["absent += 1", f"{_local(field)} = {self.default(field)}"])]

    def item(self, item: Cell) -> Code:
        other = f"value = json_cell({self.called('item_cell', item)}, row, (at, n), found)"
        return _first_true([*self.branches(item, "item", "row", "value", "(at, n)", other), ("", [other])])

    def branches(self, cell: Cell, name: str, came: str, into: str, at: str, other: str) -> list[Branch]:
        """When `came` is plainly good, and what reads it then into the name `into`."""
        null: list[Branch] = [(f"{came} is None", [f"{into} = None"])] if cell.nullable else []
        if isinstance(cell.kind, RecordKind | Rows | Mapping):
            type_ = "list" if isinstance(cell.kind, Rows) else "dict"
            return [(f"type({came}) is {type_}", [f"{into} = {self.reader(name, cell)}({came}, {at}, found)"]), *null]
        return [*self.good(cell, name, came, into, other), *null]

    def plainly(self, cell: Cell, name: str, came: str) -> tuple[str, str]:
        if isinstance(cell.kind, Boolean):
            return f"{came} is True or {came} is False", came
        if isinstance(cell.kind, Integer):
            lowest = self.called("lowest", 1 - 10**MAX_DIGITS) if cell.min is None else cell.min
            highest = self.called("highest", 10**MAX_DIGITS - 1) if cell.max is None else cell.max
            tests = [f"type({came}) is int", f"{lowest} <= {came} <= {highest}"]
            return " and ".join([*tests, *self.chosen(cell, name, came)]), came
        return super().plainly(cell, name, came)

    def refused(self, shape: Shape[Any], at: str) -> str:
        return f"refused(wrong, {at}, found)"

    def before_rows(self, cell: Cell) -> Code:
        members: Code = ["members = 0"]
        if not isinstance(cell.kind, Rows):
            return ["found.members += len(rows)", *members]
        return [*self.length_check(cell, "rows"), *self.if_long(cell), *members]

    def each_row(self, cell: Cell, one: Code) -> Code:
        if isinstance(cell.kind, Rows):
            return ["for n, row in enumerate(rows):", one]
        half: Code = ["if half_a_key(n):", ["found.add(at, 'a name in it has half a character; write whole ones')", "continue"]]
        return ["for n, row in rows.items():", [*half, *one]]

    def after_rows(self, cell: Cell) -> Code:
        return ["found.members += members", "if not all_read:", ["return UNREAD"]]


class _FormWriter(_Writer):
    source = "form"
    strange = "astray"

    def field(self, field: FieldShape, at: str) -> Code:
        into, here = _local(field), f"({at}, '{field.name}')"
        this = self.called(f"{field.name}_cell", field)
        other = self.other(field, this, "came", into, at, f"id(row), '{field.name}'")
        branches = self.branches(field, field.name, "came", into, here, other)
        holds_others = isinstance(field.kind, RecordKind | Rows | Mapping)
        if holds_others and (field.nullable or (isinstance(field.kind, RecordKind) and not field.required)):
            nothing = f"type(came) is dict and nothing_in({self.called(f'{field.name}_kind', field.kind)}, came, {here}, found)"
            absent = self.absent(field, here) or f"form_field({this}, None, {at}, found)"
            branches.insert(0, (nothing, [f"{into} = {absent}"]))
        if absent := self.absent(field, here):
            branches.append(("came is None", ["absent += 1", f"{into} = {absent}"]))
        return [f"came = row.get('{field.name}')", *_first_true([*branches, ("", [other])])]

    def may_be_absent(self, field: FieldShape) -> bool:
        return self.absent(field, "()") != ""

    def absent(self, field: FieldShape, here: str) -> str:
        """An expression for what a field is that nothing was given for; empty where that is a problem."""
        kind, optional = field.kind, not field.required
        if isinstance(kind, Boolean) and not field.nullable:
            return "found.query" if optional and field.make_default() is True else "False"
        if isinstance(kind, Rows | Mapping) and not (field.nullable and optional and field.make_default() is None):
            if isinstance(kind, Rows) and field.min_length:
                return f"wrong_length({self.called(f'{field.name}_cell', field)}, 0, {here}, found)"
            return "{}" if isinstance(kind, Mapping) else "()" if kind.as_tuple else "[]"
        if isinstance(kind, RecordKind) and field.required and not field.nullable:
            return f"{self.reader(field.name, field)}({{}}, {here}, found)"
        return self.default(field) if optional else ""

    def item(self, item: Cell) -> Code:
        other = self.other(item, self.called("item_cell", item), "row", "value", "(at, n)", "id(rows), n")
        branches = self.branches(item, "item", "row", "value", "(at, n)", other)
        return [*self.unless_blank(item), *_first_true([*branches, ("", [other])])]

    def unless_blank(self, item: Cell) -> Code:
        """Goes on to the next row where nothing is in `row`, which a first field that always tells is quick to say."""
        if not isinstance(item.kind, RecordKind | Rows | Mapping):
            return []
        fields = item.kind.shape.fields if isinstance(item.kind, RecordKind) else ()
        telling = [each for each in fields if not isinstance(each.kind, Boolean | RecordKind | Rows | Mapping)]
        test = f"'{telling[0].name}' not in row and " if telling else ""
        return [f"if {test}nothing_in({self.called('item_kind', item.kind)}, row, (at, n), found):", ["continue"]]

    def other(self, cell: Cell, this: str, came: str, into: str, at: str, place: str) -> str:
        """What reads what is not plainly good, a local time by the zone that was sent beside it."""
        if isinstance(cell.kind, Rows) and tree.is_plain(cell.kind.item):
            here = f"({at}, '{cell.name}')" if isinstance(cell, FieldShape) else at
            return f"{into} = own_rows({this}, {came}, {here}, found)"
        zone = f", found.zones and found.zones.get(({place}))" if isinstance(cell.kind, DateTime) else ""
        return f"{into} = {'form_field' if isinstance(cell, FieldShape) else 'form_cell'}({this}, {came}, {at}, found{zone})"

    def branches(self, cell: Cell, name: str, came: str, into: str, at: str, other: str) -> list[Branch]:
        if isinstance(cell.kind, RecordKind | Rows | Mapping):
            return [(f"type({came}) is dict", [f"{into} = {self.reader(name, cell)}({came}, {at}, found)"])]
        return self.good(cell, name, came, into, other)

    def plainly(self, cell: Cell, name: str, came: str) -> tuple[str, str]:
        if isinstance(cell.kind, Boolean):
            return f"type({came}) is str and {came} in truths", f"truths[{came}]"
        if isinstance(cell.kind, Integer):
            digits = f"{came}.isdecimal() and {came}.isascii() and len({came}) < 19"
            test, number = f"type({came}) is str and ({digits} or whole({came}))", f"(made := int({came}))"
            low = f"{cell.min} <= " if cell.min is not None else ""
            high = f" <= {cell.max}" if cell.max is not None else ""
            if low or high:
                return " and ".join([test, f"{low}{number}{high}", *self.chosen(cell, name, "made")]), "made"
            return " and ".join([test, *self.chosen(cell, name, number)]), "made" if cell.choices else f"int({came})"
        return super().plainly(cell, name, came)

    def refused(self, shape: Shape[Any], at: str) -> str:
        return f"refused_in_form(wrong, {self.called(f'{shape.name}_shape', shape)}, row, {at}, found)"

    def before_rows(self, cell: Cell) -> Code:
        return self.if_long(cell)

    def each_row(self, cell: Cell, one: Code) -> Code:
        if isinstance(cell.kind, Rows):
            return ["for n in sorted(rows):", ["row = rows[n]", *one]]
        return ["for n, row in rows.items():", one]

    def after_rows(self, cell: Cell) -> Code:
        unread: Code = ["if not all_read:", ["return UNREAD"]]
        return [*unread, *self.length_check(cell, "kept")] if isinstance(cell.kind, Rows) else unread


_WRITERS: Final[dict[Source, type[_Writer]]] = {"JSON": _JsonWriter, "form": _FormWriter}


def _local(field: FieldShape) -> str:
    return f"{field.name}_"
