"""Figures and rows of a paper: what a result draws and says outside of its report."""

import re

import matplotlib
import pytest
from matplotlib.axes import Axes
from matplotlib.mathtext import MathTextParser

import dpaudit
from dpaudit.errors import DataError, InvalidArgument
from dpaudit.replaying.result import Replay, ReplayedCall
from dpaudit.replaying.spending import Spending
from dpaudit.report.display import as_text
from dpaudit.report.latex import escape_latex, format_number, format_row
from dpaudit.report.law import NoisyLine, ReadLaw
from dpaudit.report.pictures import show_result
from dpaudit.report.render import render_html, render_markdown
from dpaudit.report.schema import Environment, Report
from tests.report import samples

CELL = re.compile(r"(?<!\\)&")


def a_call(index, kind, spent):
    """A call of a primitive that moves; ``spent`` is None where nobody knows what it spends."""
    return ReplayedCall(
        index=index, place=f"a.py:{index} in f", name=kind, kind=kind, shape=(), scale=1.0,
        other_scale=1.0, moved=1.0, seen="argument", steady=True, declared=None, epsilon=None,
        spent=spent,
    )  # fmt: skip


def a_replay(*calls, **spending):
    return Replay(
        mechanism="two_values", epsilon=1.0, delta=0.0, relation="replace-record", edit=None,
        findings=(), calls=calls, spending=Spending(**spending), unread=(), runs=16, pairs=1,
        form="f(data, rng)", seed=0,
    )  # fmt: skip


@pytest.fixture(scope="module")
def audited():
    return samples.refuted(claim="noisy_sum", proved=None)


@pytest.fixture(scope="module")
def replayed():
    return a_replay(a_call(0, "laplace", 1.0), a_call(1, "normal", 0.25), epsilon=2.5)


@pytest.fixture(scope="module")
def accounted():
    return dpaudit.account("gaussian", delta=1e-5, noise_scale=5.0, count=25)


@pytest.fixture(params=["audited", "replayed", "accounted"])
def result(request):
    return request.getfixturevalue(request.param)


def test_every_kind_of_result_draws_itself_and_changes_no_setting(result, tmp_path):
    before = dict(matplotlib.rcParams)
    axes = result.figure(tmp_path / "one.pdf")
    assert all(isinstance(one, Axes) for one in axes)
    assert (tmp_path / "one.pdf").read_bytes().startswith(b"%PDF")
    assert dict(matplotlib.rcParams) == before


def test_a_figure_fits_one_column_of_two_and_stays_readable(audited, tmp_path):
    axes = audited.figure(tmp_path / "one.pdf", width=3.3)
    figure = axes[0].figure
    assert figure.get_size_inches()[0] == pytest.approx(3.3)
    figure.draw_without_rendering()
    words = [one for one in figure.findobj(matplotlib.text.Text) if one.get_text()]
    assert min(one.get_fontsize() for one in words) >= 6.3
    assert all(figure.bbox.x0 <= one.get_window_extent().x0 for one in axes[0].get_yticklabels())
    page = (tmp_path / "one.pdf").read_bytes()
    assert b"/FontFile2" in page  # letters of a TrueType font, inside the file
    assert b"/Subtype /Image" not in page
    with pytest.raises(InvalidArgument, match="width"):
        audited.figure(width=1.0)


@pytest.mark.parametrize(("ending", "starts"), [("svg", b"<?xml"), ("PNG", b"\x89PNG")])
def test_a_file_is_what_its_ending_says(audited, tmp_path, ending, starts):
    audited.figure(tmp_path / f"one.{ending}")
    assert (tmp_path / f"one.{ending}").read_bytes().startswith(starts)


@pytest.mark.parametrize("ending", ["pdf", "svg", "png"])
def test_the_same_result_gives_the_same_bytes(accounted, tmp_path, ending):
    files = [tmp_path / f"{name}.{ending}" for name in ("one", "other")]
    for file in files:
        accounted.figure(file)
    assert files[0].read_bytes() == files[1].read_bytes()


def test_another_ending_is_refused_before_anything_is_drawn(audited, tmp_path):
    with pytest.raises(InvalidArgument, match=r"path: .*\.pdf, \.svg or \.png"):
        audited.figure(tmp_path / "one.gif")


def test_a_folder_that_is_not_there_is_named(audited, tmp_path):
    with pytest.raises(DataError, match="nowhere"):
        audited.figure(tmp_path / "nowhere" / "one.pdf")


def test_a_figure_has_the_pictures_of_the_report(audited):
    names = [one.name for one in show_result(audited)]
    assert names == ["numbers", "delta", "trade_off"]
    assert len(audited.figure()) == len(names)


def read_law(*shares):
    lines = [
        NoisyLine(
            place=f"train.py:{n} in <step>", noise="normal", values=2, scale=0.5,
            moved=None if n else 0.3, share=share,
        )
        for n, share in enumerate(shares)
    ]  # fmt: skip
    return samples.result(law=ReadLaw(lines=lines))


def test_a_law_is_drawn_and_listed_by_line():
    result = read_law(0.75, 0.25)
    _, axes = result.figure()[:2]
    assert [bar.get_width() for bar in axes.patches] == [75.0, 25.0]
    report = Report(results=[result], environment=Environment.of_this_machine(1, 1.0))
    page, text = render_html(report), render_markdown(report)
    for place in ("train.py:0", "train.py:1"):
        assert place in page
        assert place in text
    assert "&lt;step&gt;" in page
    assert "75%" in page
    assert "| 0.3 | 75% |" in text
    assert "Where it leaks" not in render_html(
        Report(results=[samples.result()], environment=report.environment)
    )


def test_the_calls_of_a_replay_are_bars_by_unit(replayed):
    first, second = replayed.figure()
    assert [bar.get_width() for bar in first.patches] == [1.0]
    assert [bar.get_width() for bar in second.patches] == [0.25]
    assert [first.get_xlabel(), second.get_xlabel()] == ["epsilon on this pair", "mu on this pair"]
    claimed = next(line for line in first.lines if line.get_label() == "claimed")
    assert claimed.get_xdata()[0] == 1.0


def test_a_replay_without_a_known_call_says_so():
    (axes,) = a_replay(a_call(0, "normal", None)).figure()
    assert "unknown" in axes.texts[0].get_text()


def test_answers_are_drawn_where_they_are(accounted):
    (axes,) = accounted.figure()
    answered = [one for one in accounted.answers if one.refusal is None]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == [
        one.accountant for one in answered
    ]
    marks = [line.get_xdata()[0] for line in axes.lines if line.get_marker() == "s"]
    assert marks == [one.upper for one in answered if one.upper is not None]


def test_a_row_is_five_cells_and_states_both_ends():
    row = samples.result().to_latex()
    assert row.endswith(r" \\")
    assert len(CELL.split(row)) == 5


def test_a_row_says_the_numbers_of_the_result(audited, replayed, accounted):
    name, claimed, proved, measured, verdict = CELL.split(audited.to_latex().removesuffix(r" \\"))
    assert name.strip() == r"noisy\_sum"
    assert claimed.strip() == r"$\varepsilon$ = 20 at $\delta = 10^{-5}$"
    assert proved.strip() == "---"
    assert measured.strip() == r"[25.31, 25.55] (at 95\% confidence)"
    assert verdict.strip() == "refuted"
    assert replayed.to_latex() == r"two\_values & $\varepsilon$ = 1 & 2.5 & not refuted \\"
    cells = CELL.split(accounted.to_latex())
    assert cells[1].strip() == r"4.37718 at $\delta = 10^{-5}$"


@pytest.mark.parametrize("text", ["50% a_b & c", "x^2 ~ {y}", "\\input{x}", "[1] $#", "* <a>"])
def test_nothing_in_a_name_is_a_command(text):
    shown = escape_latex(text)
    plain = re.sub(
        r"\\(textbackslash|textasciitilde|textasciicircum|textless|textgreater)\{\}", "", shown
    )
    assert re.search(r"(?<!\\)[&%#_$^~]", plain) is None
    assert re.search(r"\\[a-z]", plain) is None
    assert not shown.startswith(("[", "*"))


@pytest.mark.parametrize("shown", ["1e-5", "-2.5e-7", "1.25e9", "3.51", "∞", "—"])
def test_numbers_are_mathematics_that_can_be_set(shown):
    text = format_number(shown)
    for inner in re.findall(r"\$[^$]*\$", text):
        MathTextParser("path").parse(inner)
    assert "e" not in re.sub(r"\\[a-z]+", "", text)


def test_a_row_ends_where_the_next_begins():
    assert format_row(["a", "b"]) + format_row(["c"]) == r"a & b \\c \\"


def test_no_name_of_a_result_is_broken_at_its_hyphen():
    shown = as_text(samples.result(reason=f"{'x' * 84} such-record."))
    assert "  such-record." in shown.splitlines()
