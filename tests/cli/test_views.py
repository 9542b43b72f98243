"""``dpaudit views``: shapes, observers, what is written, and lines that are not linear."""

import json
from pathlib import Path

import numpy as np
import pytest

TRAIN = """
import numpy as np


def average(x, rng):
    sent = x + rng.normal(scale=2.0, size=3)
    return {"server": sent, "public": x.mean() + rng.normal()}


def two(x, rng):
    return {"raw": x["a"], "noisy": x["a"] + x["b"].sum() + rng.normal(scale=2.0, size=2)}


def absolute(x, rng):
    y = x + rng.normal(size=3)
    return np.abs(y)
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text(TRAIN)
    return tmp_path


def views_of(ran):
    assert ran.status == 0, ran.err
    found = json.loads(ran.out)
    return {(one["about"], one["observer"]): one["mu"] for one in found["views"]}


def test_it_prints_the_worst_view_first_with_its_epsilon(place, dpaudit):
    ran = dpaudit("views", "train.py:average", "--private", "3", "--in-process")
    assert (ran.status, ran.err) == (0, "")
    rows = [line.split("│")[1:5] for line in ran.out.splitlines() if line.startswith("│")]
    cells = [[cell.strip() for cell in row] for row in rows]
    assert cells[0] == ["0", "everything", "0.6009252126", "2.4491658"]
    assert ["1", "server", "0.5", "1.9930915"] in cells
    assert cells[-1][:2] == ["2", "public"]
    assert "by at most 1 (l2)" in ran.out
    assert "200 on plain numbers confirm it" in ran.out


def test_observers_and_parts_are_named(place, dpaudit):
    words = ("--observers", "server", "--observers", "both=server,public", "--about", "1")
    ran = dpaudit("views", "train.py:average", "--private", "3", *words, "--json", "--in-process")
    found = views_of(ran)
    assert list(found) == [("1", "server"), ("1", "both")]
    assert found["1", "server"] == [0.5, 0.5]
    assert found["1", "both"] == pytest.approx([(1 / 4 + 1 / 9) ** 0.5] * 2, rel=1e-12)


def test_data_by_name_and_an_observer_from_whom_nothing_is_hidden(place, dpaudit):
    shapes = ("--private", "a=2", "--private", "b=3")
    ran = dpaudit("views", "train.py:two", *shapes, "--norm", "l1", "--in-process")
    assert ran.status == 0
    assert "From raw, everything noise hides nothing about a: mu is infinite." in ran.out
    found = views_of(dpaudit("views", "train.py:two", *shapes, "--json", "--in-process"))
    assert found["a", "raw"] == ["Infinity", "Infinity"]
    assert found["b", "raw"] == [0.0, 0.0]


def test_shapes_of_files_count_and_nothing_else(place, dpaudit):
    np.save("three.npy", np.array([7.0, 8.0, 9.0]))
    Path("three.csv").write_text("value\n1\n2\n3\n")
    plain = dpaudit("views", "train.py:average", "--private", "3", "--json", "--in-process")
    for name in ("three.npy", "three.csv"):
        ran = dpaudit("views", "train.py:average", "--private", name, "--json", "--in-process")
        assert ran.out == plain.out


def test_a_radius_scales_mu(place, dpaudit):
    words = ("--norm", "box", "--radius", "0.5", "--observers", "server", "--about", "0")
    ran = dpaudit("views", "train.py:average", "--private", "3", *words, "--json", "--in-process")
    assert views_of(ran) == {("0", "server"): [0.25, 0.25]}


def test_a_file_says_what_options_say(place, dpaudit):
    Path("views.toml").write_text(
        'function = "train.py:two"\nnorm = "l1"\nradius = 2.0\nabout = ["b"]\n'
        'private = {a = 2, b = [3]}\nobservers = {both = ["raw", "noisy"]}\n'
    )
    found = views_of(dpaudit("views", "views.toml", "--json", "--in-process"))
    assert found == {("b", "both"): pytest.approx([2**0.5, 2**0.5])}
    over = views_of(dpaudit("views", "views.toml", "--radius", "1", "--json", "--in-process"))
    assert over == {("b", "both"): pytest.approx([0.5**0.5, 0.5**0.5])}


def test_what_is_not_linear_is_one_line_and_has_no_verdict(place, dpaudit):
    ran = dpaudit("views", "train.py:absolute", "--private", "3")
    assert (ran.status, ran.out) == (2, "")
    said = "error: not linear: train.py:16 in absolute: numpy.absolute is not linear; "
    assert ran.err.strip() == f"{said}dpaudit audit train:absolute measures what it shows"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "--private: got None"),
        (("--private", "0"), "--private: got '0'"),
        (("--private", "3", "--about", "x"), "--about: got 'x'"),
        (("--private", "3", "--observers", "nobody"), "observers: got ['nobody']"),
        (("--private", "3", "--norm", "l3"), "norm: got 'l3'"),
        (("--private", "3", "--delta", "2"), "delta: got 2.0"),
        (("--private", "4"), "function: got one that raises ValueError"),
    ],
)
def test_what_is_wrong_is_named(place, dpaudit, words, said):
    ran = dpaudit("views", "train.py:average", *words, "--in-process")
    assert ran.status == 2
    assert said in ran.err


@pytest.mark.slow
def test_a_folder_has_report_picture_and_certificate(place, dpaudit):
    words = ("--private", "3", "--out", "out", "--in-process")
    ran = dpaudit("views", "train.py:average", *words)
    assert ran.status == 0
    names = ["views.md", "views.json", "certificate.json", "views.png", "views.pdf"]
    assert [line for line in ran.out.splitlines() if line.startswith("out/")] == [
        f"out/{name}" for name in names
    ]
    assert Path("out/views.png").read_bytes().startswith(b"\x89PNG")
    assert "| 0 | everything | 0.6009252126 | 2.4491658 |" in Path("out/views.md").read_text()
