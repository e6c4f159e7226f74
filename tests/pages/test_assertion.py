"""What is signed between a deployment and a plugin: read, or taken for nothing."""

import json
from typing import Any

import pytest

from meridian.callers import Accounts, Caller, Holding
from meridian.pages import assertion
from meridian.pages.assertion import AccountsWanted, Claims, NotAsserted, Outcome

KEY = b"k" * 32


def signed(said: object) -> str:
    """An outcome's header as a plugin that means ill would sign it: with its own key, and anything in it."""
    text = said.decode("latin-1") if isinstance(said, bytes) else json.dumps(said)
    return f"{assertion._mac(KEY, 'outcome', text)}.{text}"


def caller(**said: Any) -> Caller:
    """Someone with every kind of set of accounts."""
    held = {
        "operations": Holding(frozenset({"read", "write"}), Accounts.of(["A-1", "A-2"]), Accounts.of(["A-1"])),
        "custody": Holding(frozenset({"read"}), Accounts(all=True)),
        "": Holding(frozenset({"admin"})),
    }
    return Caller("P-1", "Ada", "write", held, **said)


def header(caller: Caller, *, listed_accounts: int = 200) -> str:
    claims = Claims(caller, "desk", "POST", "/lots", "a=1", "ab", "C-1", 60, acts=True)
    return assertion.write(claims, KEY, b"d" * 32, listed_accounts=listed_accounts)


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"delegation_id": "D-1", "client_name": "Claude", "tool_name": "confirm_lots", "prepared_call_id": "C-0"},
        {"subject_kind": "service_account", "owner_subject": "P-2", "deployment_admin": True},
    ],
)
def test_a_caller_is_read_as_it_was_written(said):
    written = header(caller(**said))
    assert assertion.read(written, now=60, instance_key=KEY) == Claims(
        caller(**said, header=written), "desk", "POST", "/lots", "a=1", "ab", "C-1", 60, acts=True
    )


def test_what_one_call_is_said_to_be_is_not_said_of_the_next():
    one = header(caller(tool_name="confirm_lots", prepared_call_id="C-0"))
    other = header(caller())
    read = [assertion.read(each, now=60, instance_key=KEY).caller for each in (one, other, one)]
    assert read == [
        caller(tool_name="confirm_lots", prepared_call_id="C-0", header=one),
        caller(header=other),
        caller(tool_name="confirm_lots", prepared_call_id="C-0", header=one),
    ]


def test_nobody_adds_to_what_a_caller_holds():
    read = assertion.read(header(caller()), now=60, instance_key=KEY).caller
    with pytest.raises(TypeError):
        read.holdings["custody"] = Holding(frozenset({"write"}))  # type: ignore[index]


def test_sets_of_accounts_that_are_not_at_hand_are_asked_for_all_at_once():
    written = header(caller(), listed_accounts=0)
    sets = {assertion.digest_of_accounts(ids): ids for ids in (frozenset({"A-1", "A-2"}), frozenset({"A-1"}), frozenset())}
    with pytest.raises(AccountsWanted) as wanted:
        assertion.read(written, now=60, instance_key=KEY, sets={})
    assert wanted.value.digests == {digest for digest, ids in sets.items() if ids}
    assert assertion.read(written, now=60, instance_key=KEY, sets=sets).caller == caller(header=written)


@pytest.mark.parametrize("name", ["Zoë", "a\r\nMeridian-Caller: b", "\x7f\x00", "\ud800", "\N{PILE OF POO}", "a.b"])
def test_whatever_a_name_holds_its_header_is_plain_ascii(name):
    written = header(caller(client_name=name))
    assert (written.isascii(), written.isprintable()) == (True, True)
    assert assertion.read(written, now=60, instance_key=KEY).caller.client_name == name


def test_no_text_stands_in_for_another_that_was_signed():
    written = header(caller(client_name="a?"))
    for other in ("\udcff", "\ufffd", "\xff"):
        with pytest.raises(NotAsserted):
            assertion.read(written.replace("a?", f"a{other}"), now=60, instance_key=KEY)


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
        b"[" * 100_000,
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
