"""Thumbnails of the gallery: each is that of its numbers, and its words say them."""

import re

import pytest

from tests.examples import pages, pictures

NAMES = pictures.names()
SPOKEN = re.compile(r'aria-label="([^"]*)"')


def test_the_folder_holds_what_the_page_shows():
    assert sorted(NAMES) == sorted(path.stem for path in pictures.FOLDER.glob("*.svg"))
    assert len(NAMES) == len(set(NAMES)) >= 8


@pytest.mark.parametrize("name", [one for one in NAMES if one.startswith("example-")])
def test_an_example_has_the_numbers_of_its_page(name):
    spoken = SPOKEN.search((pictures.FOLDER / f"{name}.svg").read_text(encoding="utf-8"))[1]
    one = pages.kept()[name.removeprefix("example-")]["broken"]
    assert f"claimed {one['claimed']:g}" in spoken
    assert ("proved —" in spoken) == (one["proved"] is None)
    lower = float(re.search(r"at least ([\d.]+)", spoken)[1])
    assert lower <= one["measured"] < lower + 0.01
    assert spoken.endswith(f"{one['verdict']}.")


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_picture_is_drawn_again_as_it_is_kept(name):
    there = (pictures.FOLDER / f"{name}.svg").read_text(encoding="utf-8")
    assert pictures.drawn(name) == there
