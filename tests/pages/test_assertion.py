"""What is signed between a deployment and a plugin: read, or taken for nothing."""

import json

import pytest

from meridian.pages import assertion
from meridian.pages.assertion import Outcome

KEY = b"k" * 32


def signed(said: object) -> str:
    """An outcome's header as a plugin that means ill would sign it: with its own key, and anything in it."""
    payload = assertion._encode(json.dumps(said).encode() if not isinstance(said, bytes) else said)
    return f"{payload}.{assertion._mac(KEY, 'outcome', payload)}"


def test_an_outcome_is_read_as_it_was_signed_for_its_own_call_alone():
    said = Outcome("refused", "C-1", "ab", "not_admitted")
    header = assertion.write_outcome(said, KEY)
    assert assertion.read_outcome(header, KEY, "C-1") == said
    assert assertion.read_outcome(header, KEY, "C-2") is None
    assert assertion.read_outcome(header, b"o" * 32, "C-1") is None


@pytest.mark.parametrize(
    "said",
    [
        b"no json",
        b"\xff",
        [],
        "made",
        None,
        {"outcome": "made"},
        {"outcome": "prepared", "call": "C-1", "record": None, "reason": None},
        {"outcome": ["made"], "call": "C-1", "record": None, "reason": None},
        {"outcome": "made", "call": "C-1", "record": 1, "reason": None},
        {"outcome": "made", "call": "C-1", "record": None, "reason": {"a": 1}},
    ],
)
def test_what_is_signed_and_is_no_outcome_is_taken_for_none(said):
    assert assertion.read_outcome(signed(said), KEY, "C-1") is None


@pytest.mark.parametrize("token", ["", ".", "\udcff", "é.é", "\udcff.\udcff", "a" * 100_000])
def test_a_form_s_token_that_nobody_made_is_none_whatever_it_holds(token):
    assert not assertion.check_form_token(token, KEY, "P-1", "desk", "write")


def test_no_two_sets_of_accounts_have_one_digest():
    sets = [{"a", "b"}, {"a\nb"}, {"a,b"}, {'a", "b'}, {"a"}, set(), {""}]
    assert len({assertion.digest_of_accounts(frozenset(each)) for each in sets}) == len(sets)


@pytest.mark.parametrize("header", ["", ".", "a.b", "é.é", "a" * 100_000])
def test_what_is_not_signed_is_taken_for_none(header):
    assert assertion.read_outcome(header, KEY, "C-1") is None
