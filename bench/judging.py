"""A case measured and held to its goal."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path

from bench.timing import Case

__all__ = ["GOALS", "Goal", "Result", "goal_of", "judged"]

TRIES = 3


@dataclass(frozen=True)
class Goal:
    case: str
    against: str
    at_most: float
    aim: float | None = None
    meanwhile: float | None = None
    """What the build is held to while `at_most` is missed."""


@dataclass(frozen=True)
class Result:
    case: str
    against: str
    figure: float
    unit: str
    goal: Goal | None

    @property
    def missed(self) -> bool:
        return self.goal is not None and self.figure > self.goal.at_most

    @property
    def fails(self) -> bool:
        """Whether the build is to fail: the goal is missed, and so is what holds meanwhile."""
        return self.missed and self.goal is not None and self.figure > (self.goal.meanwhile or self.goal.at_most)

    @property
    def verdict(self) -> str:
        if self.goal is None:
            return ""
        if self.missed:
            return "MISSED" if self.fails else f"MISSED, held to {self.goal.meanwhile:g} meanwhile"
        return "met, and its aim" if self.goal.aim is not None and self.figure <= self.goal.aim else "met"


GOALS: dict[str, list[Goal]] = {
    benchmark: [Goal(**each) for each in goals]
    for benchmark, goals in tomllib.loads(Path(__file__).with_name("goals.toml").read_text(encoding="utf-8")).items()
}
"""The goals of `goals.toml`, each benchmark's in order."""


def goal_of(case: Case) -> Goal | None:
    """The first goal that fits, if the case has one."""
    every = chain.from_iterable(GOALS.values())
    return next((goal for goal in every if goal.against == case.against and fnmatchcase(case.name, goal.case)), None)


def judged(case: Case) -> Result:
    """Measure a case. A goal is missed when it is missed three times running: other work on the machine is no fault of ours,
    and no luck makes three readings of a slow reader fast."""
    goal, figure = goal_of(case), case.measure()
    for _ in range(TRIES - 1):
        if goal is None or figure <= (goal.meanwhile or goal.at_most):
            break
        figure = min(figure, case.measure())
    return Result(case.name, case.against, figure, case.unit, goal)
