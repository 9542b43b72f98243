"""``dpaudit replay``: statuses, files, and what is said of bad input."""

import json

import pytest

from dpaudit.replaying.page import render_replay_html
from dpaudit.replaying.result import Replay
from dpaudit.replaying.spending import Spending

MODULE = """
import sys

def unclipped(data, rng):
    return data.sum() + rng.laplace(scale=1.0)

def clipped(data, rng):
    return data.clip(0, 1).sum() + rng.laplace(scale=1.0)

def ends(data, rng):
    sys.exit(0)

def attribute(data):
    return data.nosuch

def named_by_data(data):
    raise type(f"Of{data[0]}", (Exception,), {})()

def no_data():
    return lambda data, rng: data.sum() + rng.laplace(scale=1.0)
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "replayed_module.py").write_text(MODULE)
    (tmp_path / "a.csv").write_text("0.25\n0.5\n")
    (tmp_path / "b.csv").write_text("0.25\n7.5\n")
    return tmp_path


PAIR = ("--dataset", "a.csv", "--neighbour", "b.csv", "--epsilon", "1")


def test_a_flaw_is_refuted_written_and_verified(dpaudit, place):
    ran = dpaudit("replay", "replayed_module:unclipped", *PAIR, "--out", "out")
    assert ran.status == 1
    assert "refuted" in ran.out
    for page in ("replay.md", "replay.html"):
        assert "replayed_module.py:5 in unclipped" in (place / "out" / page).read_text()
    document = json.loads((place / "out/replay.json").read_text())
    assert document["findings"][0]["epsilon"] == 6.999  # a lower end, in four digits
    assert document["calls"][0]["moved"] == 7.0
    files = ("--dataset", "a.csv", "--neighbour", "b.csv")
    mechanism = ("--mechanism", "replayed_module:unclipped")
    verified = dpaudit("verify", "out/certificate.json", *mechanism, *files)
    assert (verified.status, verified.err) == (0, "")
    other = ("--mechanism", "replayed_module:clipped")
    assert dpaudit("verify", "out/certificate.json", *other, *files).status == 1


def test_names_are_text_on_the_page():
    found = Replay(
        mechanism="<b>m", epsilon=1.0, delta=0.0, relation="<i>", edit=None, findings=(), calls=(),
        spending=Spending(), unread=("<u>",), runs=2, pairs=1, form="f(data)", seed=0,
    )  # fmt: skip
    page = render_replay_html(found)
    assert not any(tag in page for tag in ("<b>m", "<i>", "<u>"))
    assert "&lt;b&gt;m" in page
    assert "None was made, or none is intercepted." in page


def test_a_repaired_one_is_not_and_its_certificate_is_gone(dpaudit, place):
    (place / "out").mkdir()
    (place / "out/certificate.json").write_text("{}")
    ran = dpaudit("replay", "replayed_module:clipped", *PAIR, "--out", "out", "--in-process")
    assert ran.status == 0
    assert "not refuted" in ran.out
    assert not (place / "out/certificate.json").exists()


def test_neighbours_are_made_and_the_output_is_json(dpaudit, place):
    words = ("--dataset", "a.csv", "--relation", "replace-record", "--bounds", "0,4")
    target = "replayed_module:unclipped"
    ran = dpaudit("replay", target, *words, "--epsilon", "1", "--json", "--in-process")
    document = json.loads(ran.out)
    assert (ran.status, document["verdict"]) == (1, "refuted")
    assert "found by a search" in document["edit"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["unclipped", *PAIR], "expected module:function"),
        (["replayed_module:nothing", *PAIR], "nothing"),
        (["replayed_module:unclipped", "--dataset", "a.csv", "--epsilon", "1"], "relation"),
        (["replayed_module:unclipped", *PAIR, "--delta", "2"], "delta: got 2"),
        (["replayed_module:unclipped", *PAIR[:-1], "-1"], "epsilon: got -1"),
        (["replayed_module:unclipped", *PAIR[:3], "none.csv", *PAIR[4:]], "none.csv"),
        (["replayed_module:unclipped", *PAIR, "--memory", "0"], "memory"),
    ],
)
def test_bad_input_is_one_line(dpaudit, place, words, said):
    ran = dpaudit("replay", *words)
    assert ran.status == 2
    assert said in ran.err
    assert len(ran.err.strip().splitlines()) == 1


def test_of_code_that_always_ends_the_program_nothing_is_said(dpaudit, place):
    ran = dpaudit("replay", "replayed_module:ends", *PAIR, "--in-process")
    assert ran.status == 2
    assert ran.err.startswith("error: replayed_module:ends: withheld: nothing released: ")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("attribute", "raises AttributeError: "),
        ("named_by_data", "raises an exception"),
        ("ends", "ended the program with sys.exit("),
    ],
)
def test_what_always_raises_names_pythons_own_exception_alone(dpaudit, place, name, said):
    ran = dpaudit("replay", f"replayed_module:{name}", *PAIR, "--in-process")
    assert ran.status == 2
    assert f"every call on both datasets {said}" in ran.err
    assert "Of0.25" not in ran.out + ran.err
