"""A statement that every call runs, spelled once for each database.

A Core statement enters; what leaves runs it by the driver, without SQLAlchemy's own work for each run, which for these few
costs several times what the database does. Values go in, and a row's columns come out, as SQLAlchemy would have them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, make_dataclass
from typing import Any

from sqlalchemy import ClauseElement, Connection, Dialect, Select
from sqlalchemy.sql.compiler import SQLCompiler

__all__ = ["Prepared"]

Convert = Callable[[Any], Any]


@dataclass(frozen=True)
class _Spelled:
    """The statement as a database takes it: its text, the values that it has already, the order of all of them where they have
    no names, and what is converted on the way in, by name, and on the way out, by place."""

    text: str
    given: Mapping[str, Any]
    order: Sequence[str] | None
    into: Mapping[str, Convert]
    out_of: Sequence[tuple[int, Convert]]


class Prepared:
    """`statement`, whose values are all `bindparam`s with a value to come."""

    def __init__(self, statement: ClauseElement) -> None:
        self._statement = statement
        self._spelled: dict[str, _Spelled] = {}
        self._columns = tuple(statement.selected_columns) if isinstance(statement, Select) else ()
        names = [str(each.key) for each in self._columns]
        self._row: Callable[..., Any] = make_dataclass("Row", names, frozen=True, slots=True)

    def run(self, connection: Connection, values: Mapping[str, Any]) -> int:
        """Run it with `values`, by the names of its parameters; how many rows it changed."""
        return int(self._execute(connection, values)[1].rowcount)

    def rows(self, connection: Connection, values: Mapping[str, Any]) -> list[Any]:
        """What it selects, with the names of its columns."""
        spelled, cursor = self._execute(connection, values)
        found = []
        for row in cursor.fetchall():
            cells = list(row)
            for place, convert in spelled.out_of:
                cells[place] = convert(cells[place])
            found.append(self._row(*cells))
        return found

    def _execute(self, connection: Connection, values: Mapping[str, Any]) -> tuple[_Spelled, Any]:
        spelled = self._spelled.get(connection.dialect.name)
        if spelled is None:
            spelled = self._spelled[connection.dialect.name] = self._spell(connection.dialect)
        kept: Any = {**spelled.given, **values}
        for name, convert in spelled.into.items():
            kept[name] = convert(kept[name])
        if spelled.order is not None:
            kept = tuple([kept[name] for name in spelled.order])
        cursor = connection.connection.cursor()
        cursor.execute(spelled.text, kept)
        return spelled, cursor

    def _spell(self, dialect: Dialect) -> _Spelled:
        compiled = self._statement.compile(dialect=dialect)
        assert isinstance(compiled, SQLCompiler)  # noqa: S101  what compiles a statement
        into = {name: each.type.dialect_impl(dialect).bind_processor(dialect) for name, each in compiled.binds.items()}
        out_of = [each.type.dialect_impl(dialect).result_processor(dialect, None) for each in self._columns]
        return _Spelled(
            str(compiled),
            {name: each.value for name, each in compiled.binds.items() if not each.required},
            compiled.positiontup if dialect.positional else None,
            {name: convert for name, convert in into.items() if convert is not None},
            [(place, convert) for place, convert in enumerate(out_of) if convert is not None],
        )
