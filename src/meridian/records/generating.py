"""Python written for one record: what reads it from JSON, and what reads it from a form's tree.

A Shape goes in; a function comes out, made at the first read and kept with the Shape. What is written is what one would
write by hand: a good cell is read in place, and whatever else came goes to `cells`, which has the rules. So the two ways in
differ only where a form and JSON do, and a list of records is one loop. A long list is read by `columns`, as far as it can be.

The code has a name, `meridian JSON reader of Lot`, and a traceback shows its lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from decimal import Decimal
from keyword import iskeyword
from typing import Any, Final, Literal

from meridian.records import cells, columns, tree
from meridian.records.cells import UNREAD
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

_HELPERS: Final = {
    "UNREAD": UNREAD,
    "Decimal": Decimal,
    "day": date.fromisoformat,
    "truths": cells.TRUTHS,
    "whole": re.compile(r"-?[0-9]{1,18}").fullmatch,
    "json_cell": cells.json_cell,
    "form_cell": cells.form_cell,
    "half_a_key": cells.half_a_key,
    "unknown": cells.unknown,
    "missing": cells.missing,
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
    "True": True,
    "ValueError": ValueError,
}
_LOCALS: Final = frozenset(
    [
        "absent",
        "all_read",
        "at",
        "before",
        "came",
        "found",
        "keep",
        "kept",
        "members",
        "n",
        "number",
        "read",
        "row",
        "rows",
        "size",
        "value",
        "wrong",
    ]
)
"""What the written functions call their own; the value of a field has the field's name and a `_`."""


def record_reader(shape: Shape[Any], source: Source) -> Reader:
    """What reads one `shape` from an object, or from a form's cells."""
    kept = shape.derived.get(source)
    if kept is None:
        kept = shape.derived[source] = _Writer(shape.name, source).record(shape)
    return kept


class _Source:
    """What was written, for the traceback that asks for its lines."""

    def __init__(self, text: str) -> None:
        self.text = text

    def get_source(self, _name: str) -> str:
        return self.text


class _Writer:
    """One function while it is written: its lines, and the names they use."""

    def __init__(self, name: str, source: Source) -> None:
        self.name = name
        self.source: Source = source
        self.form = source == "form"
        self.lines: list[str] = []
        self.depth = 0
        self.names: dict[str, Any] = dict(_HELPERS)

    # the text

    def __call__(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    @contextmanager
    def block(self, line: str) -> Iterator[None]:
        self(line)
        self.depth += 1
        yield
        self.depth -= 1

    def called(self, wish: str, value: Any) -> str:
        """A name for `value` in the code: the one wished for, where it is an identifier that nothing else there has."""
        wish = re.sub(r"[^A-Za-z0-9_]", "", wish)
        if wish in _LOCALS or wish.endswith("_") or not wish.isidentifier() or iskeyword(wish):
            wish = f"the_{wish}1"
        name, n = wish, 2
        while name in self.names and self.names[name] is not value:
            name, n = f"{wish}{n}", n + 1
        self.names[name] = value
        return name

    def function(self) -> Reader:
        text = "\n".join(self.lines) + "\n"
        file = f"meridian {self.source} reader of {self.name}"
        self.names.update(__name__=file, __loader__=_Source(text))
        exec(compile(text, file, "exec", dont_inherit=True), self.names)  # noqa: S102  (made above, of names that are identifiers)
        return self.names["read"]  # type: ignore[no-any-return]

    # the functions

    def record(self, shape: Shape[Any]) -> Reader:
        with self.block("def read(row, at, found):"):
            self("before = found.count")
            made = self.fields(shape, "at", root=True)
            with self.block("if found.count != before:"):
                self(f"return mended({self.called(f'{shape.name}_shape', shape)}, ({made}))")
            self.build(shape, made, "return {}", "at")
        return self.function()

    def rows(self, cell: Cell) -> Reader:
        """What reads a list or a dict."""
        kind = cell.kind
        assert isinstance(kind, Rows | Mapping)  # noqa: S101  (the caller looked)
        item = kind.item
        as_dict = isinstance(kind, Mapping)
        with self.block("def read(rows, at, found):"):
            if not self.form and isinstance(kind, Rows):
                self.length_check(cell, "rows")
                if columns.reads(item.kind):
                    with self.block(f"if len(rows) >= {columns.LONG} and found.by_column:"):
                        self(f"return {self.long(kind)}(rows, at, found)")
            if as_dict and not self.form:
                self("found.members += len(rows)")
            self("kept = {}" if as_dict else "kept = []")
            if not as_dict:
                self("keep = kept.append")
            self("all_read = True")
            if isinstance(item.kind, RecordKind) and not self.form:
                self("members = 0")
            self("before = found.count")
            if as_dict:
                header = "for n, row in rows.items():"
            else:
                header = "for n in sorted(rows):" if self.form else "for n, row in enumerate(rows):"
            with self.block(header):
                if self.form and not as_dict:
                    self("row = rows[n]")
                self.item(item, "kept[n] = {}" if as_dict else "keep({})")
            if isinstance(item.kind, RecordKind) and not self.form:
                self("found.members += members")
            with self.block("if not all_read:"):
                self("return UNREAD")
            if self.form and not as_dict:
                self.length_check(cell, "kept")
            self("return tuple(kept)" if isinstance(kind, Rows) and kind.as_tuple else "return kept")
        return self.function()

    def length_check(self, cell: Cell, name: str) -> None:
        low = f"{cell.min_length} <= " if cell.min_length else ""
        high = MAX_ROWS if cell.max_length is None else min(cell.max_length, MAX_ROWS)
        with self.block(f"if not {low}len({name}) <= {high}:"):
            self(f"return wrong_length({self.called('this', cell)}, len({name}), at, found)")

    def item(self, item: Cell, keep: str) -> None:
        """One row, or one entry, of a list or dict."""
        if not self.form and keep.startswith("kept"):
            with self.block("if half_a_key(n):"):
                self("""found.add(at, 'a name in it has half a character; write whole ones')""")
                self("continue")
        if self.form and isinstance(item.kind, Rows | Mapping):
            with self.block(f"if nothing_in({self.called('item_kind', item.kind)}, row, (at, n), found):"):
                self("continue")
        if not isinstance(item.kind, RecordKind):
            self.value(item, "item", "row", "value", "(at, n)")
            with self.block("if value is UNREAD:"):
                self("all_read = False")
            with self.block("else:"):
                self(keep.format("value"))
            return
        shape = item.kind.shape
        if item.nullable and not self.form:
            with self.block("if row is None:"):
                self(keep.format("None"))
                self("continue")
        with self.block("if type(row) is not dict:"):
            self(f"{self.source.lower()}_cell({self.called('item', item)}, row, (at, n), found)")
            self("before = found.count")
            self("all_read = False")
            self("continue")
        if self.form:
            first = next((each for each in shape.fields if _tells(each)), None)
            test = f"'{first.name}' not in row and " if first else ""
            with self.block(f"if {test}nothing_in({self.called('item_kind', item.kind)}, row, (at, n), found):"):
                self("continue")
        made = self.fields(shape, "(at, n)", root=False)
        with self.block("if found.count != before:"):
            self("before = found.count")
            self(f"value = mended({self.called(f'{shape.name}_shape', shape)}, ({made}))")
            with self.block("if value is UNREAD:"):
                self("all_read = False")
            with self.block("else:"):
                self(keep.format("value"))
            self("continue")
        self.build(shape, made, keep, "(at, n)", in_loop=True)

    # the parts of a record

    def fields(self, shape: Shape[Any], at: str, *, root: bool) -> str:
        """Read every field of `row` into a name of its own, and give these names, in order."""
        count = len(shape.fields)
        if not self.form:
            self("size = len(row)")
            self("found.members += size" if root else "members += size")
        counted = not (self.form and root)
        if counted:
            self("absent = 0")
        for field in shape.fields:
            self.field(field, f"({at}, '{field.name}')", counted)
        if not self.form:
            with self.block(f"if size + absent != {count}:"):
                self(f"unknown({self.called(f'{shape.name}_shape', shape)}, row, {at}, found)")
        else:
            with self.block(f"if len(row) + absent != {count}:" if counted else f"if {at}:"):
                self(f"astray({self.called(f'{shape.name}_shape', shape)}, row, {at}, found)")
        return "".join(f"{_local(field)}, " for field in shape.fields)

    def field(self, field: FieldShape, at: str, counted: bool) -> None:
        local = _local(field)
        with self.block(f"if '{field.name}' in row:"):
            self(f"came = row['{field.name}']")
            self.value(field, field.name, "came", local, at)
        with self.block("else:"):
            if counted:
                self("absent += 1")
            self.absent(field, local, at)

    def absent(self, field: FieldShape, local: str, at: str) -> None:
        """What a field is that nothing was given for."""
        kind = field.kind
        if self.form:
            if isinstance(kind, Boolean) and not field.nullable:
                if field.required or field.make_default() is False:
                    self(f"{local} = False")
                else:
                    self(f"{local} = found.query")
                return
            if isinstance(kind, Rows | Mapping) and not (
                field.nullable and not field.required and field.make_default() is None
            ):
                if isinstance(kind, Rows) and field.min_length:
                    self(f"{local} = wrong_length({self.called(f'{field.name}_cell', field)}, 0, {at}, found)")
                elif isinstance(kind, Mapping):
                    self(f"{local} = {{}}")
                else:
                    self(f"{local} = {'()' if kind.as_tuple else '[]'}")
                return
            if isinstance(kind, RecordKind) and field.required and not field.nullable:
                self(f"{local} = {self.lazily(field.name, kind)}({{}}, {at}, found)")
                return
        if field.required:
            self(f"{local} = missing({self.called(f'{field.name}_cell', field)}, {at}, found)")
        else:
            self(f"{local} = {self.default(field)}")

    def default(self, field: FieldShape) -> str:
        if field.default_factory is not None:
            if field.default_factory is list:
                return "[]"
            return f"{self.called(f'make_{field.name}', field.default_factory)}()"
        value = field.default
        if value is None or isinstance(value, bool) or (value == "" and type(value) is str):
            return repr(value)
        return self.called(f"{field.name}_default", value)

    def build(self, shape: Shape[Any], made: str, keep: str, at: str, *, in_loop: bool = False) -> None:
        """Make the record, and let what its own `__post_init__` refuses be a problem."""
        cls = shape.record
        record = self.called(shape.name, cls)
        if in_order(shape):
            arguments = made.rstrip(", ")
        else:
            arguments = ", ".join(f"{field.name}={_local(field)}" for field in shape.fields)
        if not can_refuse(cls):
            self(keep.format(f"{record}({arguments})"))
            return
        if not in_loop:
            with self.block("try:"):
                self(f"return {record}({arguments})")
            with self.block("except ValueError as wrong:"):
                self(self.refusal(shape, at, "return "))
            return
        with self.block("try:"):
            self(f"value = {record}({arguments})")
        with self.block("except ValueError as wrong:"):
            self(self.refusal(shape, at, ""))
            self("before = found.count")
            self("all_read = False")
        with self.block("else:"):
            self(keep.format("value"))

    def refusal(self, shape: Shape[Any], at: str, returns: str) -> str:
        if self.form:
            return f"{returns}refused_in_form(wrong, {self.called(f'{shape.name}_shape', shape)}, row, {at}, found)"
        return f"{returns}refused(wrong, {at}, found)"

    def lazily(self, name: str, kind: RecordKind | Rows | Mapping, cell: Cell | None = None) -> str:
        """The name of another reader, which is made when it is first called."""
        names, source = self.names, self.source

        def first(came: Any, at: Any, found: cells.Found) -> Any:
            if isinstance(kind, RecordKind):
                reader = record_reader(kind.shape, source)
            else:
                assert cell is not None  # noqa: S101
                reader = _Writer(f"{self.name}.{name}", source).rows(cell)
            names[called] = reader
            return reader(came, at, found)

        called = self.called(f"read_{name}", first)
        return called

    def long(self, kind: Rows) -> str:
        """The name of what reads a long list by column, which is made when it is first called."""
        names = self.names

        def first(rows: Any, at: Any, found: cells.Found) -> Any:
            names[called] = columns.list_reader(kind, names["read"])
            return names[called](rows, at, found)

        called = self.called("by_column", first)
        return called

    # one value

    def value(self, cell: Cell, name: str, came: str, into: str, at: str) -> None:
        """Read the name `came` into the name `into`: the good case here, any other by `cells`."""
        kind = cell.kind
        this = self.called(f"{name}_cell", cell)
        zone = ""
        if self.form and isinstance(kind, DateTime):
            place = "id(rows), n" if came == "row" else f"id(row), '{name}'"
            zone = f", found.zones and found.zones.get(({place}))"
        other = f"{into} = {self.source.lower()}_cell({this}, {came}, {at}, found{zone})"
        if cell.nullable and not self.form:
            with self.block(f"if {came} is None:"):
                self(f"{into} = None")
            otherwise = "el"
        else:
            otherwise = ""
        match kind:
            case Rows() | Mapping():
                container = "list" if isinstance(kind, Rows) and not self.form else "dict"
                if self.form and isinstance(cell, FieldShape) and cell.nullable:
                    with self.block(f"if nothing_in({self.called(f'{name}_kind', kind)}, {came}, {at}, found):"):
                        self.absent(cell, into, at)
                    otherwise = "el"
                with self.block(f"{otherwise}if type({came}) is {container}:"):
                    self(f"{into} = {self.lazily(name, kind, cell)}({came}, {at}, found)")
                if self.form and isinstance(kind, Rows) and tree.is_plain(kind.item):
                    other = f"{into} = own_rows({this}, {came}, {at}, found)"
            case RecordKind():
                with self.block(f"{otherwise}if type({came}) is dict:"):
                    read = self.lazily(name, kind)
                    if self.form and isinstance(cell, FieldShape) and (not cell.required or cell.nullable):
                        with self.block(f"if nothing_in({self.called(f'{name}_kind', kind)}, {came}, {at}, found):"):
                            self.absent(cell, into, at)
                        with self.block("else:"):
                            self(f"{into} = {read}({came}, {at}, found)")
                    else:
                        self(f"{into} = {read}({came}, {at}, found)")
            case _:
                test, good = self.test(cell, name, came)
                if not test:
                    if otherwise:
                        with self.block("else:"):
                            self(other)
                    else:
                        self(other)
                    return
                with self.block(f"{otherwise}if {test}:"):
                    if isinstance(kind, Date):
                        with self.block("try:"):
                            self(f"{into} = {good}")
                        with self.block("except ValueError:"):
                            self(other)
                    elif good != into:
                        self(f"{into} = {good}")
                    else:
                        self("pass")
        with self.block("else:"):
            self(other)

    def test(self, cell: Cell, name: str, came: str) -> tuple[str, str]:
        """What is true of a good `came`, and the value it then is. Narrower than the rule where the rule is rarely needed."""
        match cell.kind:
            case Text():
                tests = [f"type({came}) is str", f"{came}.isprintable()"]
                if cell.min_length is not None or cell.max_length is not None:
                    low = f"{cell.min_length} <= " if cell.min_length else ""
                    high = f" <= {cell.max_length}" if cell.max_length is not None else ""
                    tests.insert(1, f"{low}len({came}){high}" if low or high else "True")
                if cell.pattern is not None:
                    tests.append(f"{self.called(f'{name}_pattern', re.compile(cell.pattern, re.ASCII).fullmatch)}({came})")
                if cell.choices:
                    tests.append(f"{came} in {self.called(f'{name}_choices', frozenset(cell.choices))}")
                return " and ".join(tests), came
            case Integer():
                lowest = self.called("lowest", -(10**MAX_DIGITS) + 1) if cell.min is None else cell.min
                highest = self.called("highest", 10**MAX_DIGITS - 1) if cell.max is None else cell.max
                if not self.form:
                    tests, number = [f"type({came}) is int", f"{lowest} <= {came} <= {highest}"], came
                elif cell.min is None and cell.max is None:
                    tests, number = [f"type({came}) is str", f"whole({came})"], f"int({came})"
                else:
                    tests = [f"type({came}) is str", f"whole({came})", f"{lowest} <= (number := int({came})) <= {highest}"]
                    number = "number"
                if cell.choices:
                    tests.append(f"{number} in {self.called(f'{name}_choices', frozenset(cell.choices))}")
                return " and ".join(tests), number
            case Boolean():
                if self.form:
                    return f"type({came}) is str and {came} in truths", f"truths[{came}]"
                return f"{came} is True or {came} is False", came
            case DecimalKind():
                fits = self.called(f"{name}_fits", re.compile(cells.plain_number(cell.places)).fullmatch)
                tests = [f"type({came}) is str", f"{fits}({came})"]
                if cell.min is None and cell.max is None:
                    return " and ".join(tests), f"Decimal({came})"
                low = f"{self.called(f'{name}_min', cell.min)} <= " if cell.min is not None else ""
                high = f" <= {self.called(f'{name}_max', cell.max)}" if cell.max is not None else ""
                return " and ".join([*tests, f"{low}(number := Decimal({came})){high}"]), "number"
            case Date():
                return f"type({came}) is str and len({came}) == 10 and {came}[5] != 'W'", f"day({came})"
            case Choice(values, enum):
                known = {value: value if enum is None else enum(value) for value in values}
                choices = self.called(f"{name}_choices", known)
                return f"type({came}) is str and {came} in {choices}", f"{choices}[{came}]"
        return "", ""


def _local(field: FieldShape) -> str:
    return f"{field.name}_"


def _tells(field: FieldShape) -> bool:
    """Whether a form's cell of `field`, where there is one, makes its row a row."""
    return not isinstance(field.kind, Boolean | RecordKind | Rows | Mapping)
