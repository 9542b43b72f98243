"""Each persona is short, is found from the site's home in two clicks, and gets there."""

import re
import sys

import pytest

from tests.personas import page, run


@pytest.mark.parametrize("persona", page.PERSONAS)
def test_a_persona_types_fifteen_lines_at_most(persona):
    typed = page.steps(persona)
    assert 3 < len(typed) <= page.MOST_LINES
    assert typed[0].file or typed[0].text.startswith("pip install")
    assert any(step.text.startswith("pip install") for step in typed)


@pytest.mark.parametrize("persona", page.PERSONAS)
def test_a_persona_is_one_click_from_home(persona):
    home = (page.ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    found = re.search(rf"\(first-hour\.md#an?-{persona}[\w-]*\)", home)
    assert found, persona


def here(folder):
    """Return a place whose programs are those of this Python, with nothing to install."""
    (folder / "own").symlink_to(sys.prefix)
    return run.Place(folder, page.ROOT)


def test_a_line_that_does_not_come_is_seen(tmp_path):
    place = here(tmp_path)
    step = page.Step("echo good", ("...", "good"))
    assert run.done(step, place) == []
    assert run.done(page.Step("echo bad", ("good",)), place) != []
    assert run.done(page.Step("python -c 'raise SystemExit(3)'"), place) != []
    assert run.judged("engineer", page.MOST_SECONDS + 1, [])[1] is False


@pytest.mark.slow
@pytest.mark.parametrize("persona", ["engineer", "researcher", "reviewer"])
def test_a_persona_gets_there_with_what_is_installed(persona, tmp_path):
    place, wrong = here(tmp_path), []
    for step in page.steps(persona):
        if not step.text.startswith("pip install"):
            wrong += run.done(step, place)
    assert wrong == []
