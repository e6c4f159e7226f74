"""The command `meridian`: words in, words out. It decides nothing that a deployment does not decide for it."""

from meridian.cli.command import main

__all__ = ["main"]
