"""Paths: the one name of a cell in a form, in JSON, in a problem and in a refusal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meridian.records import EVERY, parse_path, pattern_of, print_path

names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)
keys = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
steps = st.lists(st.one_of(names, keys, st.integers(0, 10**18 - 1), st.just(EVERY)), max_size=6).map(tuple)


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("", ()),
        ("account", ("account",)),
        ("lots[0].cost", ("lots", 0, "cost")),
        ("positions[3].lots[0].cost", ("positions", 3, "lots", 0, "cost")),
        ("payload.key", ("payload", "key")),
        ('payload["any key"]', ("payload", "any key")),
        ('payload["a \\"quoted\\" ]key"][2]', ("payload", 'a "quoted" ]key', 2)),
        ("positions[].account", ("positions", EVERY, "account")),
    ],
)
def test_a_path_is_names_rows_and_keys(text, steps):
    assert (parse_path(text), print_path(steps)) == (steps, text)


@given(steps)
def test_what_is_printed_parses_back(path):
    assert parse_path(print_path(path)) == path


@pytest.mark.parametrize(
    "text",
    [
        "lots[00]",
        "lots[01]",
        "lots[٣]",
        "lots[-1]",
        "lots[0",
        "lots[0]cost",
        ".lots",
        "lots.",
        "a..b",
        "a b",
        'a["b]',
        'a["b"',
        "é",
    ],
)
def test_digits_are_ascii_without_leading_zeros_and_nothing_else_is_a_path(text):
    with pytest.raises(ValueError, match="is no path"):
        parse_path(text)


def test_a_row_number_of_any_length_ends_at_once():
    with pytest.raises(ValueError, match="is no path"):
        parse_path(f"lots[{'9' * 100_000}]")


def test_a_pattern_has_brackets_for_every_row():
    assert pattern_of("positions[3].lots[0].cost") == "positions[].lots[].cost"


def test_a_key_that_is_a_name_has_one_spelling():
    assert print_path(parse_path('payload["key"]')) == "payload.key"
