"""The tutorials show what their stored outputs show, in a fresh kernel."""

import json
import re

import pytest

from tests.notebooks.executed import code, executed, notebooks, read, seen

NAMES = [path.stem for path in notebooks()]


def stored(name):
    (path,) = (path for path in notebooks() if path.stem == name)
    return read(path)


def test_there_are_three():
    assert NAMES == ["own-function", "tables-and-pairs", "training"]


@pytest.mark.slow  # `.ci/run` executes all of them
@pytest.mark.parametrize("name", NAMES)
def test_a_tutorial_runs_and_shows_what_is_stored(name, tmp_path):
    notebook = stored(name)
    assert seen(executed(notebook, tmp_path)) == seen(notebook)


@pytest.mark.parametrize("name", NAMES)
def test_a_tutorial_was_executed_in_order_and_raised_nothing(name):
    cells = code(stored(name))
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    kinds = {output.output_type for cell in cells for output in cell.outputs}
    assert kinds <= {"execute_result", "stream"}


@pytest.mark.parametrize("name", NAMES)
def test_a_tutorial_shows_refutation_and_none_and_no_path(name):
    shown = json.dumps(seen(stored(name)))
    assert re.search(r": (refuted|violated)<", shown)
    assert ": not refuted<" in shown
    assert not re.search(r"/(home|tmp|root|work|usr)/", shown)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_shown_is_small_and_has_no_script(name):
    for cell in code(stored(name)):
        for output in cell.outputs:
            html = output.get("data", {}).get("text/html", "")
            assert len(html) < 30_000
            assert "<script" not in html
            assert not re.search(r'(src|href)="(?!#)', html)


def test_pictures_of_one_page_share_no_id():
    for name in NAMES:
        found = re.findall(r'\bid="([^"]+)"', json.dumps(stored(name)).replace('\\"', '"'))
        pictures = [one for one in found if one.startswith("dpaudit-")]
        assert pictures
        assert len(set(pictures)) == len(pictures)


def test_other_outputs_are_seen_and_other_pictures_are_not():
    notebook, other = stored("own-function"), stored("own-function")
    data = code(other)[2].outputs[0].data
    data["text/html"] = data["text/html"].replace("<path ", "<path id='x' ")
    assert seen(other) == seen(notebook)
    data["text/html"] = data["text/html"].replace("not refuted", "refuted")
    assert seen(other) != seen(notebook)
