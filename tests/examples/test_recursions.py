"""Sixteen recursions: the page is that of their modules."""

from tests.examples import recursions


def test_there_are_sixteen_and_the_page_shows_them():
    assert {path.stem for path in recursions.MODULES.glob("*.py")} == set(recursions.ORDER)
    assert len(recursions.ORDER) == 16
    assert recursions.PAGE.read_text(encoding="utf-8") == recursions.page()
