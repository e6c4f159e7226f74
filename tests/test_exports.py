"""What `__all__` says is public is there, and nothing public is missing from it."""

import importlib
from types import FunctionType

import pytest

PUBLIC = [
    "meridian",
    "meridian.callers",
    "meridian.commands",
    "meridian.errors",
    "meridian.pages",
    "meridian.records",
    "meridian.testing",
]


@pytest.mark.parametrize("name", PUBLIC)
def test_every_name_in_all_can_be_imported(name: str):
    module = importlib.import_module(name)
    assert [public for public in module.__all__ if not hasattr(module, public)] == []
    assert len(set(module.__all__)) == len(module.__all__)


@pytest.mark.parametrize("name", PUBLIC)
def test_nothing_public_is_missing_from_all(name: str):
    module = importlib.import_module(name)
    ours = {
        public
        for public, value in vars(module).items()
        if not public.startswith("_") and isinstance(value, type | FunctionType) and value.__module__.startswith("meridian")
    }
    assert sorted(ours - set(module.__all__)) == []
