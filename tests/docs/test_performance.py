"""`docs/performance.md` shows the figures that were kept. Where it does not, `python -m bench.showing` writes it anew."""

from bench import showing


def test_the_page_shows_the_figures_that_were_kept():
    shown = showing.PAGE.read_text(encoding="utf-8")
    assert showing.page(shown) == shown


def test_the_picture_draws_the_figures_that_were_kept():
    assert showing.picture() == showing.PICTURE.read_text(encoding="utf-8")
