"""`docs/performance.md` shows the figures that were kept, and `docs/how-a-record-is-read.md` the code that is written.

Where one of these fails, `python -m bench.showing` writes the page anew.
"""

from bench import listing, showing


def test_the_page_shows_the_figures_that_were_kept():
    shown = showing.PAGE.read_text(encoding="utf-8")
    assert showing.page(shown) == shown


def test_the_picture_draws_the_figures_that_were_kept():
    assert showing.picture() == showing.PICTURE.read_text(encoding="utf-8")


def test_the_page_shows_the_code_that_is_written():
    shown = showing.LISTINGS.read_text(encoding="utf-8")
    assert listing.page(shown) == shown
