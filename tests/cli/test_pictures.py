"""``--picture``: the figure that Python draws, whole or not at all; a bad name runs nothing."""

from pathlib import Path

import numpy as np
import pytest

import dpaudit as package
from dpaudit.cli.pictures import FigureFile
from dpaudit.errors import DataError
from dpaudit.report import figures
from tests.report import samples

FUNCTION = """
def noisy_mean(x, rng):
    return x.mean() + rng.laplace(scale=0.1)


def average(x, rng):
    return {"server": x + rng.normal(scale=2.0, size=3)}
"""
OUTPUTS = ("audit", "--outputs", "a.csv", "b.csv", "--epsilon", "1", "--quiet")
TABLE = ("table", "--hits", "471", "--of", "500", "--false-hits", "23", "--of", "500")
ACCOUNT = ("account", "gaussian", "--set", "noise_scale=5.0", "--quiet")
VIEWS = ("views", "mine.py:average", "--private", "3", "--in-process")
REPLAY = (
    *("replay", "mine.py:noisy_mean", "--dataset", "d.csv", "--neighbour", "e.csv"),
    *("--epsilon", "1", "--in-process"),
)
STARTS = {"pdf": b"%PDF", "svg": b"<?xml", "png": b"\x89PNG"}


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name, centre in (("a", 0.0), ("b", 1.0)):
        np.savetxt(f"{name}.csv", centre + rng.laplace(scale=0.25, size=500))
    for name, last in (("d", 1.0), ("e", 0.0)):
        Path(f"{name}.csv").write_text(f"value\n0\n1\n{last}\n")
    Path("mine.py").write_text(FUNCTION)
    return tmp_path


@pytest.mark.parametrize(
    ("command", "file", "status"),
    [
        pytest.param(OUTPUTS, "new/one.pdf", 1, marks=pytest.mark.slow),
        (TABLE, "new/one.svg", 0),
        (ACCOUNT, "one.PNG", 0),
        pytest.param(VIEWS, "one.pdf", 0, marks=pytest.mark.slow),
        pytest.param(REPLAY, "one.svg", 1, marks=pytest.mark.slow),
    ],
    ids=lambda one: one[0] if isinstance(one, tuple) else str(one),
)
def test_a_command_draws_what_it_found(place, dpaudit, command, file, status):
    ran = dpaudit(*command, "--picture", file, "--picture-width", "3.3")
    assert ran.status == status, ran.err
    ending = file.rpartition(".")[2].lower()
    assert (place / file).read_bytes().startswith(STARTS[ending])
    assert [one.name for one in (place / file).parent.glob(".*")] == []


def test_it_is_the_figure_of_python_byte_for_byte(place, dpaudit):
    dpaudit(*ACCOUNT, "--picture", "one.pdf", "--picture-width", "3.3")
    package.account("gaussian", noise_scale=5.0).figure("other.pdf", width=3.3)
    assert Path("one.pdf").read_bytes() == Path("other.pdf").read_bytes()


def test_a_stream_is_drawn_when_it_ends(place, dpaudit):
    lines = [f"{side},{n % 7}" for n in range(80) for side in ("dataset", "neighbour")]
    Path("outputs.csv").write_text("\n".join(lines))
    given = ("audit", "--watch", "outputs.csv", "--epsilon", "1", "--delta", "0")
    ran = dpaudit(*given, "--picture", "one.png")
    assert (ran.status, ran.err) == (0, "")
    assert Path("one.png").read_bytes().startswith(STARTS["png"])


@pytest.mark.parametrize(
    "command", [OUTPUTS, TABLE, ACCOUNT, VIEWS, REPLAY], ids=lambda one: one[0]
)
@pytest.mark.parametrize("file", ["one.gif", "one", "pdf"])
def test_another_ending_is_refused_with_the_endings(place, dpaudit, command, file):
    ran = dpaudit(*command, "--picture", file)
    expected = f"error: --picture: got '{file}', expected a file that ends in .pdf, .svg or .png"
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.strip() == expected
    assert not Path(file).exists()


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--picture-width", "3.3"), "--picture-width: got 3.3, expected a --picture"),
        (("--picture", "a.pdf", "--picture-width", "1"), "--picture-width: got 1.0, expected at"),
        (("--picture", "a.csv/one.pdf"), "the report cannot be written here"),
    ],
)
def test_what_could_not_be_drawn_is_refused_first(place, dpaudit, words, named):
    ran = dpaudit(*TABLE, *words)
    assert (ran.status, ran.out) == (2, "")
    assert named in ran.err


def test_with_all_it_is_refused(place, dpaudit):
    ran = dpaudit("audit", "--all", "--picture", "one.pdf")
    assert ran.status == 2
    assert "--picture: got 'one.pdf', expected nothing with --all" in ran.err


def test_of_several_results_it_is_their_overview(tmp_path, monkeypatch):
    drawn = []
    kept = figures.show_overview
    monkeypatch.setattr(figures, "show_overview", lambda found: drawn.append(found) or kept(found))
    results = [samples.refuted(), samples.result()]
    FigureFile(tmp_path / "one.pdf").draw_results(results[:1])
    assert drawn == []
    FigureFile(tmp_path / "two.pdf", 3.3).draw_results(results)
    assert drawn == [results]
    assert (tmp_path / "two.pdf").read_bytes().startswith(STARTS["pdf"])
    FigureFile(tmp_path / "none.pdf").draw_results([])
    assert not (tmp_path / "none.pdf").exists()


def test_a_picture_that_cannot_be_written_leaves_the_one_before(tmp_path, monkeypatch):
    file = tmp_path / "one.svg"
    file.write_text("before")

    def full(descriptor, content, mode):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("dpaudit.files._write_through", full)
    with pytest.raises(DataError, match="No space left"):
        FigureFile(file).draw(samples.refuted())
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("one.svg", "before")]


def test_only_the_user_reads_a_picture_of_records(tmp_path, monkeypatch):
    held = samples.refuted().keep(None, holds_records=True)
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", lambda *_, **__: None)
    FigureFile(tmp_path / "one.pdf").draw(held)
    FigureFile(tmp_path / "two.pdf").draw_results([samples.result(), held])
    FigureFile(tmp_path / "three.pdf").draw(samples.refuted())
    modes = [(tmp_path / f"{one}.pdf").stat().st_mode & 0o077 for one in ("one", "two", "three")]
    assert modes[:2] == [0, 0]
    assert modes[2] != 0
