"""The browser that the tests of this folder drive is there, and what judges its pages judges."""

from collections.abc import Callable

from playwright.sync_api import Page


def test_axe_finds_what_is_wrong_with_a_page(page: Page, axe: Callable[[Page], list[str]]):
    page.set_content("<!doctype html><html lang=en><title>A page</title><main><h1>A page</h1><img src='data:,'></main></html>")
    assert axe(page) == ["image-alt: Images must have alternative text at img"]
