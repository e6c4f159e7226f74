"""Whether a caller may send a command: the rule that every operations door stands on.

A command and a caller enter; nothing leaves, or a Refusal that names the role or the account. Whether the call is still
open, and whether the caller is who they say, a door has settled before it asks here.
"""

from __future__ import annotations

from meridian.callers import Accounts, Caller, Role
from meridian.commands.declaring import CommandInfo, accounts_named, command_of
from meridian.errors import Problem, Refusal

__all__ = ["admit", "reach"]


def admit(command: object, caller: Caller, *, changes_allowed: bool) -> Accounts:
    """Let `command` through for `caller`, and answer with the accounts that it reaches; or raise Refusal with the reason
    `not_admitted`.

    A command that changes something asks for write on a role that holds it, on every account it names, and for a call that
    may change something (`changes_allowed`: an act, and no GET). A command that reads asks for read, or write, in the same way.
    """
    info = command_of(command)
    if info.changes and not changes_allowed:
        raise Refusal(f"{info.name} changes something, and this call is a read.", reason="not_admitted")
    level = "write" if info.changes else "read"
    if not any(level in caller.holdings[role].levels for role in _roles(info, caller)):
        raise Refusal(
            f"{info.name} is admitted by {level} on {' or '.join(info.roles)}; {_held(info, caller)}.", reason="not_admitted"
        )
    reached = reach(command, caller)
    beyond = [(path, account) for path, account in accounts_named(command) if account not in reached]
    if beyond:
        word = "account" if len(beyond) == 1 else "accounts"
        names = ", ".join(account[:60] for _, account in beyond[:10]) + (" and others" if len(beyond) > 10 else "")
        raise Refusal(
            f"{info.name} is admitted by {level} on {' or '.join(info.roles)} on every account it names; "
            f"not held on {word} {names}.",
            [Problem(path, f"{level} is not held on account {account[:60]}") for path, account in beyond[:100]],
            reason="not_admitted",
        )
    return reached


def reach(command: object, caller: Caller) -> Accounts:
    """The accounts that `caller` reaches by the roles that hold `command`: to write them where it changes something."""
    info = command_of(command)
    reached = Accounts()
    for role in _roles(info, caller):
        reached |= caller.write_for(role) if info.changes else caller.read_for(role) | caller.write_for(role)
    return reached


def _roles(info: CommandInfo, caller: Caller) -> list[Role]:
    return [role for role in info.roles if role in caller.holdings]


def _held(info: CommandInfo, caller: Caller) -> str:
    if set(caller.holdings) == {""}:
        return f'the plugin asked as holds no role, and would name it in roles=["{info.roles[0]}"]'
    held = [f"{caller.level_for(role)} on {role}" for role in sorted(caller.holdings)]
    return f"this call carries {', '.join(held)}" if held else "this call carries no role of the plugin"
