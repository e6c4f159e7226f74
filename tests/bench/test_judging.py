"""What the benchmark says of a figure, and that its goals are goals of something."""

from types import ModuleType

import pytest
from bench.__main__ import concluded
from bench.judging import GOALS, Goal, Result, goal_of, judged
from bench.timing import Case, times

from bench import growth, hostile, importing, pages, reading


def measured(figures: list[float]) -> tuple[Result, int]:
    """What comes of these figures, measured in turn, and how many were asked for. The goal is at most 4.8, the aim 3.6."""
    left = iter(figures)
    result = judged(Case("json M valid", "json.loads", lambda: next(left)))
    return result, len(figures) - len(list(left))


@pytest.mark.parametrize(
    ("figures", "verdict", "figure", "asked"),
    [
        ([4.7, 9, 9], "met", 4.7, 1),
        ([3.5, 9, 9], "met, and its aim", 3.5, 1),
        ([4.9, 4.8, 9], "met", 4.8, 2),
        ([5.9, 4.9, 5.8], "MISSED", 4.9, 3),
    ],
)
def test_a_goal_is_missed_when_it_is_missed_three_times(figures: list[float], verdict: str, figure: float, asked: int):
    result, count = measured(figures)
    assert (result.verdict, result.figure, count) == (verdict, figure, asked)


def test_a_case_without_a_goal_is_shown_and_holds_nothing():
    assert judged(Case("json S valid", "nothing", lambda: 99.0)) == Result("json S valid", "nothing", 99.0, "×", None)


def test_what_takes_twice_as_long_is_said_to():
    def work(turns: int) -> object:
        return sum(range(turns))

    assert times(lambda: work(20_000), lambda: work(10_000), short=True) == pytest.approx(2, rel=0.25)


@pytest.mark.parametrize("benchmark", [reading, growth, hostile, importing, pages], ids=lambda module: module.__name__)
def test_every_goal_is_of_a_case_that_is_measured(benchmark: ModuleType):
    """So does each piece of work come to what it should, since that is checked before it is timed."""
    cases = list(benchmark.cases(short=True))
    goals = GOALS[benchmark.__name__.removeprefix("bench.")]
    assert [goal for goal in goals if goal not in map(goal_of, cases)] == []


def test_the_first_goal_that_fits_is_the_one():
    of_memory = goal_of(Case("hostile form, names unknown, memory", "a megabyte", lambda: 9.0))
    of_time = goal_of(Case("hostile form, names unknown", "a megabyte", lambda: 9.0))
    assert (of_memory, of_time) == (Goal("hostile *, memory", "a megabyte", 64), Goal("hostile *", "a megabyte", 60))


def test_a_missed_goal_is_said_and_fails_the_build(capsys: pytest.CaptureFixture[str]):
    goal = Goal("json S valid", "json.loads", 1.6)
    met, missed = (Result("json S valid", "json.loads", figure, "×", goal) for figure in (1.6, 1.7))
    assert [concluded([met]), concluded([met, missed])] == [0, 1]
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["1", "of", "1", "goals", "met"],
        ["1", "of", "2", "goals", "met"],
        ["json", "S", "valid", "1.7", "×", "json.loads", "at", "most", "1.6", "MISSED"],
    ]


def test_what_a_goal_has_come_to_holds_the_build_while_it_is_missed(capsys: pytest.CaptureFixture[str]):
    goal = Goal("declare S", "dataclasses", 2.2, 1.6, meanwhile=3.0)
    as_known, worse = (Result("declare S", "dataclasses", figure, "×", goal) for figure in (2.7, 3.1))
    assert [concluded([as_known]), concluded([worse])] == [0, 1]
    assert (as_known.verdict, worse.verdict) == ("MISSED, held to 3 meanwhile", "MISSED")
    assert "MISSED, held to 3 meanwhile" in capsys.readouterr().out
