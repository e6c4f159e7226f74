"""What is sent, and what is found wanting in whoever reads it."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
from bench.corpus import input_of
from bench.peers import floor, ours
from bench.work import GROWING, WORK, left_undone

READING = [work for work in WORK if work.startswith(("json", "form"))]


@pytest.mark.parametrize("work", [*WORK, *(work for work in GROWING if not work.endswith(("10000", "2000")))])
def test_meridian_does_all_the_work(work: str):
    assert left_undone(ours, work) == ""


@pytest.mark.parametrize("work", READING)
def test_who_makes_no_record_and_names_nothing_is_found_out(work: str):
    assert left_undone(floor, work) != ""


def test_who_stops_at_the_first_wrong_cell_is_found_out():
    def first(name: str, body: bytes) -> tuple[Any, list[tuple[str, str]]]:
        record, problems = ours.from_json(name, body)
        return record, list(problems[:1])

    assert left_undone(SimpleNamespace(from_json=first), "json M invalid") == "it leaves out 2 of 3 wrong cells"


def test_who_refuses_what_is_right_is_found_out():
    def fussy(name: str, body: bytes) -> tuple[Any, list[tuple[str, str]]]:
        return None, [("lots[0].cost", "I do not like it")]

    assert left_undone(SimpleNamespace(from_json=fussy), "json M valid") == "it names 1 of the cells that are right"


def test_who_reads_an_amount_as_a_float_is_found_out():
    def inexact(name: str, body: bytes) -> tuple[Any, list[tuple[str, str]]]:
        record, problems = ours.from_json(name, body)
        return SimpleNamespace(**vars(record) | {"price": float(record.price)}), list(problems)

    assert left_undone(SimpleNamespace(from_json=inexact), "json S valid") == "it makes another record"


def test_one_exact_cell_in_ten_is_wrong_each_in_another_way():
    given = input_of("json", "M", "invalid")
    lots = json.loads(given.body)["lots"]
    assert given.wrong == {"lots[0].quantity", "lots[3].cost", "lots[6].acquired"}
    assert (lots[0]["quantity"], lots[3]["cost"], lots[6]["acquired"]) == ("1,000.00", "12.5.1", "20241105")
