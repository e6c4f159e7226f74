"""What makes a record a command: its roles, whether it changes something, the accounts it names, and what answers it.

A class decorated with `command` enters; a `CommandInfo`, found again by class or by name, leaves. Who may send a command is
left to `admitting`, and what each field means to `dictionary`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, is_dataclass
from functools import cache
from typing import Any, Final, TypeVar

from meridian.callers import Role
from meridian.errors import DeclarationError
from meridian.records import Shape, shape_of

__all__ = ["CommandInfo", "accounts_named", "command", "command_of", "commands"]

C = TypeVar("C")

_COMMANDS: Final[dict[str, CommandInfo]] = {}


@dataclass(frozen=True)
class CommandInfo:
    """One command as the door knows it.

    `name` is its class's name (`RecordOpeningBalance`), `verb` the same as a method is called (`record_opening_balance`).
    `accounts` are the pattern paths at which it names accounts. `roles` are those that hold it.
    """

    name: str
    verb: str
    record: type[Any]
    roles: tuple[Role, ...]
    changes: bool
    accounts: tuple[str, ...]
    answers: type[Any]

    @property
    def shape(self) -> Shape[Any]:
        """The command's record as the library reads it."""
        return shape_of(self.record)


def command(
    *, roles: Iterable[Role], changes: bool, answers: type[Any], accounts: Iterable[str] = ()
) -> Callable[[type[C]], type[C]]:
    """Declare a frozen dataclass as a command, by its class's name.

    Raises DeclarationError for a class that is not a frozen dataclass, for no role, for an accounts path it lacks, and for a
    name that another class already has.
    """

    def register(record: type[C]) -> type[C]:
        info = CommandInfo(record.__name__, _verb(record.__name__), record, tuple(roles), changes, tuple(accounts), answers)
        _check(info)
        _COMMANDS[info.name] = info
        return record

    return register


def command_of(record: object) -> CommandInfo:
    """What is known of a command: by its name, by its class, or by a command itself.

    Raises DeclarationError where nothing of that name is a command, with the near name.
    """
    cls = record if isinstance(record, type) else type(record)
    name = record if isinstance(record, str) else cls.__name__
    info = _COMMANDS.get(name)
    if info is None or not (isinstance(record, str) or info.record is cls):
        near = difflib.get_close_matches(name, _COMMANDS, 1)
        hint = f"; did you mean {near[0]}?" if near and near[0] != name else f"; the commands are {', '.join(_COMMANDS)}"
        raise DeclarationError(f"{name[:60]} is no command{hint}")
    return info


def commands() -> tuple[CommandInfo, ...]:
    """Every command there is, in the order declared."""
    return tuple(_COMMANDS.values())


def accounts_named(record: object) -> tuple[tuple[str, str], ...]:
    """Every account a command names, each with the path at which it does, in order; one left out (None) names none."""
    return tuple(found for pattern in command_of(record).accounts for found in _walk(record, _steps(pattern), ""))


@cache
def _steps(pattern: str) -> list[str]:
    return re.findall(r"[^.\[\]]+|\[\]", pattern)


def _walk(value: object, steps: list[str], path: str) -> Iterator[tuple[str, str]]:
    if value is None:
        return
    if not steps:
        yield path, str(value)
    elif steps[0] == "[]":
        if isinstance(value, (list, tuple)):
            for number, row in enumerate(value):
                yield from _walk(row, steps[1:], f"{path}[{number}]")
    else:
        yield from _walk(getattr(value, steps[0]), steps[1:], f"{path}.{steps[0]}" if path else steps[0])


def _check(info: CommandInfo) -> None:
    if not (is_dataclass(info.record) and info.record.__dataclass_params__.frozen):  # type: ignore[attr-defined]
        raise DeclarationError(f"{info.name} is not a frozen dataclass; write @dataclass(frozen=True) under @command")
    if not info.roles:
        raise DeclarationError(f"{info.name} belongs to no role; name those that hold it, roles=('operations',)")
    other = _COMMANDS.get(info.name)
    if other and (other.record.__module__, other.record.__qualname__) != (info.record.__module__, info.record.__qualname__):
        raise DeclarationError(f"{info.name} is already a command, of {other.record.__module__}; give this one another name")
    for pattern in info.accounts:
        if info.shape.at(pattern) is None:
            raise DeclarationError(f"{info.name}: accounts names {pattern}, which the record lacks")


def _verb(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
