"""What the benchmark says of a figure, and that its goals are goals of something."""

from types import ModuleType

import pytest
from bench.__main__ import concluded
from bench.judging import GOALS, Goal, Result, goal_of, judged
from bench.timing import Case, times

from bench import growth, hostile, importing, pages, reading


def measured(figures: list[float]) -> tuple[Result, int]:
    """What comes of these figures, measured in turn, and how many were asked for. The goal is at most 1.6, the aim 1.3."""
    left = iter(figures)
    result = judged(Case("json S valid", "json.loads", lambda: next(left)))
    return result, len(figures) - len(list(left))


@pytest.mark.parametrize(
    ("figures", "verdict", "figure", "asked"),
    [
        ([1.5, 9, 9], "met", 1.5, 1),
        ([1.2, 9, 9], "met, and its aim", 1.2, 1),
        ([1.7, 1.6, 9], "met", 1.6, 2),
        ([1.9, 1.7, 1.8], "MISSED", 1.7, 3),
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
    percent_signs = goal_of(Case("hostile form, percent signs", "a megabyte", lambda: 9.0))
    wrong_cells = goal_of(Case("hostile form, cells wrong", "a megabyte", lambda: 9.0))
    assert (percent_signs, wrong_cells) == (
        Goal("hostile form, percent signs", "a megabyte", 10),
        Goal("hostile *", "a megabyte", 60),
    )


def test_a_missed_goal_is_said_and_fails_the_build(capsys: pytest.CaptureFixture[str]):
    goal = Goal("json S valid", "json.loads", 1.6)
    met, missed = (Result("json S valid", "json.loads", figure, "×", goal) for figure in (1.6, 1.7))
    assert [concluded([met]), concluded([met, missed])] == [0, 1]
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["1", "of", "1", "goals", "met"],
        ["1", "of", "2", "goals", "met"],
        ["json", "S", "valid", "1.7", "×", "json.loads", "at", "most", "1.6", "MISSED"],
    ]
