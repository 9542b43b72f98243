"""hu2020's figures on tiny records: every statement is judged, and the seed decides everything."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from dpaudit.algorithms.sharing.figures import cards, convergence, noise, runs
from dpaudit.algorithms.sharing.figures import data as problems
from dpaudit.datasets import Dataset
from dpaudit.errors import DataError, InvalidArgument
from dpaudit.reproduction.result import FigureRequest

CARDS = (cards.FIGURE_1, cards.FIGURE_2, cards.FIGURE_3)
EPOCHS = 10


def tiny_problem(title="a9a", blocks=(6, 4), samples=60, tests=30):
    rng = np.random.default_rng(1)
    train, test = problems.stand_in(samples, tests, sum(blocks), rng)
    return problems.FigureProblem(
        title=title, train=train, test=test, blocks=blocks, batch_sizes=(8,)
    )


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    def wide(request):
        return tiny_problem(f"stand-in {request.seed}", (9, 8, 7)), ("a stand-in",)

    for module in (convergence, noise):
        monkeypatch.setattr(module, "census", lambda request: tiny_problem())
        monkeypatch.setattr(module, "wide", wide)
    monkeypatch.setattr(convergence, "epochs_of", lambda request: EPOCHS)
    monkeypatch.setattr(noise, "epochs_of", lambda request: EPOCHS)
    monkeypatch.setattr(runs, "epochs_of", lambda request: EPOCHS)
    monkeypatch.delenv("DPAUDIT_DATA", raising=False)


class Counter:
    """The progress of a figure: the trials announced and done."""

    announced = done = 0

    def start(self, stage, trials):
        self.announced += trials

    def advance(self, trials):
        self.done += trials


@cache
def of_one_run(name):
    """Return the figure of a single run, drawn once, and its progress."""
    (card,), counter = (card for card in CARDS if card.name == name), Counter()
    return card.load()(FigureRequest(runs=1, progress=counter)), counter


@pytest.mark.sampled(1)
@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)
def test_a_figure_judges_all_it_states(card):
    drawn = card.load()(FigureRequest(runs=2))
    assert [each.statement for each in drawn.judgements] == list(card.statements.values())
    assert all(each.held is not None and each.evidence for each in drawn.judgements)
    assert len(drawn.panels) == 2
    for panel in drawn.panels:
        assert [curve.label for curve in panel.curves][-2:] == [
            "all features, centrally",
            "party 1 alone",
        ]
        for curve in panel.curves:
            assert list(curve.x) == list(range(1, EPOCHS + 1))
            assert np.isfinite(curve.y).all()
    assert drawn.notes
    assert drawn.parameters["epochs"] == EPOCHS


@pytest.mark.slow
@pytest.mark.sampled(1)
@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)
def test_the_seed_decides(card):
    first, again = (card.load()(FigureRequest(runs=1, seed=3)) for _ in range(2))
    assert first == again
    drawn, _ = of_one_run(card.name)
    assert first.panels != drawn.panels


@pytest.mark.slow
def test_every_parameter_tried_is_reported_best_first():
    drawn, _ = of_one_run(cards.FIGURE_1.name)
    for kind in ("ADMM", "FDML"):
        tried = [each for each in drawn.parameters["tried"] if each["run"].startswith(kind)]
        scores = [each["objective, last fifth"] for each in tried]
        assert scores == sorted(scores)
        assert any(curve.label == tried[0]["run"] for curve in drawn.panels[0].curves)


@pytest.mark.slow
def test_the_centralised_model_is_the_minimum():
    drawn, _ = of_one_run(cards.FIGURE_1.name)
    *others, central, _ = drawn.panels[0].curves
    assert all(min(curve.y) >= central.y[0] - 1e-9 for curve in others)


@pytest.mark.slow
def test_progress_reports_all_it_announced():
    for card in CARDS:
        _, counter = of_one_run(card.name)
        assert counter.announced == counter.done > 0


def test_the_stand_in_says_what_it_is(monkeypatch):
    monkeypatch.setattr(problems, "_FEW", 20)
    problem, (note,) = problems.wide(FigureRequest())
    assert "synthetic stand-in" in problem.title
    assert "synthetic" in note
    assert problem.train.dimension == sum(problem.blocks) == 1000
    assert np.mean(problem.train.features == -1) == pytest.approx(0.87, abs=0.01)
    assert np.abs(problem.train.features).max() <= 1


def test_gisette_is_read_where_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr(problems, "_FEW", 5)
    lines = [f"{'+1' if row % 2 else '-1'} 1:0.5 {row + 2}:-1\n" for row in range(14)]
    (tmp_path / "gisette_scale").write_text("".join(lines))
    problem, (note,) = problems.wide(FigureRequest(data_path=str(tmp_path)))
    assert problem.blocks == (2000, 2000, 1000)
    assert problem.train.features.shape == (5, 5000)
    assert len(problem.test.labels) == 2
    assert "held out" in note
    (tmp_path / "gisette_scale.t").write_text("".join(lines[:4]))
    whole, (note,) = problems.wide(FigureRequest(data_path=str(tmp_path), full=True))
    assert (len(whole.train.labels), len(whole.test.labels)) == (14, 4)
    assert "gisette_scale.t" in note


def test_a_gisette_too_short_to_split_is_refused(tmp_path):
    (tmp_path / "gisette").write_text("+1 1:1\n-1 2:1\n")
    with pytest.raises(DataError, match="found 2 records"):
        problems.wide(FigureRequest(data_path=str(tmp_path)))


GISETTE = "".join(f"{'+1' if row % 2 else '-1'} 1:0.5 {row + 2}:-1\n" for row in range(14))


def with_a9a(directory):
    directory.mkdir()
    for name in ("a9a", "a9a.t"):
        (directory / name).write_text("+1 1:1 123:1\n-1 2:1\n")
    return directory


def test_a_file_of_any_name_is_read_as_gisette(tmp_path):
    file = tmp_path / "my own.txt"
    file.write_text(GISETTE)
    problem, (note,) = problems.wide(FigureRequest(data_path=str(file)))
    assert problem.title == "gisette"
    assert problem.train.features.shape == (12, 5000)
    assert "stand-in" not in note


def test_a_place_that_does_not_exist_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a long path would be shortened
    gone = "gone"
    with pytest.raises(InvalidArgument, match=r"^data_path: got 'gone', expected gisette's file"):
        problems.wide(FigureRequest(data_path=gone))
    monkeypatch.setenv("DPAUDIT_DATA", gone)
    with pytest.raises(InvalidArgument, match=r"^DPAUDIT_DATA: got 'gone', expected gisette's"):
        problems.wide(FigureRequest())


def test_a_file_of_the_other_data_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(with_a9a(tmp_path / "both"))  # a long path would be shortened
    with pytest.raises(InvalidArgument, match=r"^data_path: got 'a9a', expected gisette's file"):
        problems.wide(FigureRequest(data_path="a9a"))
    Path("gisette_scale").write_text(GISETTE)
    with pytest.raises(InvalidArgument, match=r"^data_path: got .*, expected a directory with a9a"):
        problems.census(FigureRequest(data_path="gisette_scale"))


@pytest.mark.parametrize("name", ["a9a", "a9a.t"])
def test_one_of_the_files_of_a9a_stands_for_both(name, tmp_path, monkeypatch):
    asked, folder = [], with_a9a(tmp_path / "both")

    def a9a(path, split):
        asked.append((path, split))
        return Dataset(np.eye(123), np.resize([1.0, -1.0], 123), name=split)

    monkeypatch.setattr(problems, "a9a", a9a)
    problems.census(FigureRequest(data_path=str(folder / name)))
    assert asked == [(str(folder), "train"), (str(folder), "test")]


def test_where_a_figure_of_both_looks_for_them(tmp_path):
    folder, apart = with_a9a(tmp_path / "both"), tmp_path / "apart"
    apart.mkdir()
    beside, alone = folder / "mine", apart / "mine"
    for file in (beside, alone):
        file.write_text(GISETTE)
    for given, expected in (
        (None, (None, None)),
        (str(folder), (str(folder), str(folder))),
        (str(folder / "a9a.t"), (str(folder), str(folder))),
        (str(beside), (str(folder), str(beside))),
        (str(alone), (None, str(alone))),
    ):
        assert problems.find_data_places(given) == expected


def test_figure_3_asks_for_each_where_it_is(tmp_path, monkeypatch):
    file = with_a9a(tmp_path / "both") / "mine"
    file.write_text(GISETTE)
    asked = {}
    for name in ("census", "wide"):
        drawn = getattr(noise, name)
        monkeypatch.setattr(
            noise,
            name,
            lambda request, name=name, drawn=drawn: (
                asked.__setitem__(name, request.data_path) or drawn(request)
            ),
        )
    noise.figure3(FigureRequest(runs=1, data_path=str(file)))
    assert asked == {"census": str(file.parent), "wide": str(file)}


@pytest.mark.parametrize(
    ("admm", "fdml", "held", "number"),
    [(10, 1, False, 10.0), (32, 11, False, 32 / 11), (6, 4, True, 1.5), (None, 4, False, None)],
)
def test_ten_times_as_slow_is_not_slightly(admm, fdml, held, number):
    found = convergence.judge_slightly_slower_finding(admm, fdml)
    assert (found.held, found.number) == (held, number)


@pytest.mark.slow
def test_the_adverb_is_judged_apart():
    slower, slightly, _ = convergence.figure1(FigureRequest(runs=1)).judgements
    assert "slightly" not in slower.statement
    assert "slightly" in slightly.statement


def test_a9a_is_split_as_in_the_paper(monkeypatch):
    def a9a(path, split):
        assert path == "somewhere"
        return Dataset(np.eye(123), np.resize([1.0, -1.0], 123), name=split)

    monkeypatch.setattr(problems, "a9a", a9a)
    problem = problems.census(FigureRequest(data_path="somewhere"))
    assert (problem.train.name, problem.test.name) == ("train", "test")
    assert problem.blocks == (66, 57)
    assert problem.mean_squared_norm == 1.0


@pytest.mark.slow
def test_more_is_tried_where_a_statement_does_not_hold(monkeypatch):
    weights = {"lambda, times 1/N": 0.1}, {"lambda, times 1/N": 10.0}
    judged = convergence._judge_wide_findings
    for held in (True, False):
        monkeypatch.setattr(
            convergence,
            "_judge_wide_findings",
            lambda outcome, held=held: {
                name: replace(found, held=held) for name, found in judged(outcome).items()
            },
        )
        drawn = convergence.figure2(FigureRequest(runs=1))
        settings = [each.setting for each in drawn.judgements[-1].tried]
        assert {"rho": 0.1} in settings
        assert {"FDML step": 300.0} in settings
        assert {"epochs": 5} in settings
        assert all((weight in settings) is not held for weight in weights)


@pytest.mark.slow
def test_the_ends_are_judged_alike_at_the_setting_drawn_and_at_others():
    drawn = convergence.figure2(FigureRequest(runs=1))
    labels = [curve.label for curve in drawn.panels[0].curves]
    tried = [each for each in drawn.judgements[1].tried if "rho" in each.setting]
    (row,) = (each for each in tried if f"ADMM, rho {each.setting['rho']:g}" in labels)
    assert (row.number, row.held) == (drawn.judgements[1].number, drawn.judgements[1].held)


def test_every_noise_level_is_a_setting_tried():
    drawn = noise.figure3(FigureRequest(runs=2))
    judged = dict(zip(cards.FIGURE_3.statements, drawn.judgements, strict=True))
    for data, title in (("a9a", "a9a"), ("wide data", "stand-in 0")):
        moderate, ruined = (
            judged[f"{name} on {data}"] for name in ("moderate noise", "too much noise")
        )
        for judgement in (moderate, ruined):
            levels = [t.setting["noise"] for t in judgement.tried]
            assert levels == list(noise.NOISE_LEVELS)
            assert {t.setting["data"] for t in judgement.tried} == {title}
        assert any(t.held for t in moderate.tried) is moderate.held
        assert ruined.held is ruined.tried[-1].held
        assert judged[f"more features on {data}"].tried == ()


def trace(*losses):
    return runs.Trace("run", np.array([losses]), np.array([losses]))


def test_fewer_epochs_choose_again():
    """What is best after two epochs need not be what is best after four."""
    early, late = trace(1.0, 0.5, 0.5, 0.5), trace(1.0, 0.9, 0.1, 0.1)
    assert convergence._select_best_short_trace((late, early), 2).last_test_loss == 0.5
    assert convergence._select_best_short_trace((late, early), 4).last_test_loss == 0.1


def test_ends_without_noise_are_judged_against_party_1_and_the_central_model():
    problem = tiny_problem()
    alone, central = (
        float(problem.test_loss(model)[0]) for model in (problem.first_party_model, problem.central)
    )
    for loss in (0.94 * alone, 0.96 * alone, 0.99 * central, 1.01 * central):
        noisy = noise.NoiseTraces(problem, 1.0, trace(0.9, loss), ((1.0, trace(*[0.5] * 10)),))
        more = noisy.findings()["more features"]
        assert more.held is (loss < 0.95 * alone)
        assert more.number == pytest.approx(loss / alone)
        assert noisy.against_central().held is (loss < central)


@pytest.mark.parametrize(
    ("admm", "fdml", "better", "same"), [(0.3, 0.31, True, False), (0.304, 0.3, False, True)]
)
def test_ends_are_judged_by_their_difference(admm, fdml, better, same):
    pair = trace(0.9, admm), trace(0.9, fdml)
    assert convergence.better_end(*pair).held is better
    assert convergence.same_end(*pair).held is same
    assert convergence.same_end(*pair).number == pytest.approx(admm - fdml)
