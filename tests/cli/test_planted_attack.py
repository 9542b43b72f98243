"""A record that is planted is looked for in all that an attack writes, its picture's chunks too."""

import json
import re
import struct
from types import SimpleNamespace

import numpy as np
import pytest

import dpaudit.auditing.run as auditing
from dpaudit.auditing.api import own_case
from dpaudit.guarantees.kinds import PureDP
from dpaudit.mechanisms.foreign.isolation import Isolation
from dpaudit.neighbours import Pair, relation
from tests.cli.test_planted_markers import NUMBER, holds

SIDES = [NUMBER, 1.0], [2.5, 1.0]
PLAIN = {b"IHDR", b"PLTE", b"IDAT", b"IEND", b"pHYs"}


def noisy_sum(data, rng):
    return float(np.sum(data)) + rng.laplace(scale=7.0)


def bare(data, rng):
    return float(np.sum(data))


def chunks(png):
    """Yield the kind and the content of every chunk of a picture."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    place = 8
    while place < len(png):
        size, kind = struct.unpack(">I4s", png[place : place + 8])
        yield kind, png[place + 8 : place + 8 + size]
        place += 12 + size


def planted(mechanism):
    """Return what audits a mechanism that holds the record, in the place of a claim's."""
    pair = Pair(*SIDES, relation("replace-record"))

    def run_claim(claim, settings, executor):
        here = Isolation(in_process=True)
        case, statement = own_case(mechanism, pair, claimed=PureDP(1.0), isolation=here)
        found = auditing.audit_case(case, settings, statement=statement, executor=executor)
        return SimpleNamespace(result=found)

    return run_claim


@pytest.mark.parametrize(
    ("attack", "mechanism"),
    [
        ("histogram", noisy_sum),
        pytest.param("histogram", bare, marks=pytest.mark.slow),
        pytest.param("linear-classifier", noisy_sum, marks=pytest.mark.slow),
        pytest.param("linear-classifier", bare, marks=pytest.mark.slow),
    ],
)
def test_an_attack_shows_no_output(dpaudit, tmp_path, monkeypatch, attack, mechanism):
    monkeypatch.setattr(auditing, "run_claim", planted(mechanism))
    asked = ("--set", "claim=huang2020-theorem6", "--set", "trials=200")
    texts = attacked(dpaudit, tmp_path, attack, *asked)
    assert {name for name, text in texts.items() if holds(text)} == set()
    assert json.loads(texts[f"{attack}.json"])["rows"][0]["certified"] > 1


def attacked(dpaudit, folder, attack, *asked):
    """Return what an attack prints and writes, as text; of pictures the chunks are looked at."""
    ran = dpaudit("attack", attack, *asked, "--out", str(folder / "out"), "--no-store")
    assert ran.status == 0, ran.err
    made = {path.name: path.read_bytes() for path in (folder / "out").iterdir()}
    assert {f"{attack}.json", f"{attack}.csv"} <= made.keys()
    for name in [one for one in made if one.endswith(".png")]:
        assert {kind for kind, _ in chunks(made.pop(name))} <= PLAIN, name
    texts = {name: content.decode() for name, content in made.items()}
    return texts | {"out": ran.out, "err": ran.err}


def test_the_picture_of_an_attack_holds_no_words(dpaudit, tmp_path):
    asked = ("--set", "claim=huang2020-theorem6", "--set", "trials=200", "--set", "epsilon=8")
    texts = attacked(dpaudit, tmp_path, "likelihood-ratio", *asked)
    assert "likelihood-ratio.png" in texts["out"]


def test_a_picture_with_words_is_seen(tmp_path):
    """The negative control: what is written into a picture's chunks is found there."""
    pyplot = pytest.importorskip("matplotlib.figure")
    figure = pyplot.Figure()
    figure.savefig(tmp_path / "a.png", metadata={"Title": str(NUMBER)})
    kinds = dict(chunks((tmp_path / "a.png").read_bytes()))
    assert b"tEXt" in kinds
    assert any(holds(content.decode("latin-1")) for content in kinds.values())


def test_published_pictures_hold_no_words():
    from pathlib import Path

    pictures = sorted((Path(__file__).parents[2] / "reports").rglob("*.png"))
    assert pictures
    for path in pictures:
        assert {kind for kind, _ in chunks(path.read_bytes())} <= PLAIN, path


def test_pictures_of_pages_hold_no_metadata():
    """Those that are drawn as text: no date, no author, no record beside what is seen."""
    from dpaudit.plots import Curve, Panel, render_picture

    panel = Panel(
        title="rates", x_label="x", y_label="y",
        curves=(Curve(label="measured", x=(0.0, 1.0), y=(1.0, 0.0)),),
    )  # fmt: skip
    drawn = render_picture("rates", (panel,), "svg").decode()
    said = re.sub(r"\s+", " ", drawn.partition("<metadata>")[2].partition("</metadata>")[0])
    assert re.findall(r"<dc:(\w+)>", said) == ["format", "creator", "title"]
    assert "Matplotlib" in said
    assert {kind for kind, _ in chunks(render_picture("rates", (panel,), "png"))} <= PLAIN
