"""The figures on small stand-in data: statements judged, curves whole, one seed one result."""

from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from dpaudit.algorithms.consensus.figures import cards as zhang2018
from dpaudit.algorithms.consensus.figures import noise as zhang2018_bound
from dpaudit.algorithms.consensus.figures import noise as zhang2018_noise
from dpaudit.algorithms.consensus.figures import runs as zhang2018_runs
from dpaudit.algorithms.consensus.figures.noise import OUTSIDE
from dpaudit.algorithms.consensus.figures.runs import Losses
from dpaudit.algorithms.consensus.guarantees import node_updates
from dpaudit.algorithms.multistep.figures import cards as huang2020
from dpaudit.algorithms.multistep.figures import runs as huang2020_runs
from dpaudit.datasets import Dataset, split_unevenly
from dpaudit.reproduction.result import FigureRequest

CARDS = [
    huang2020.FIGURE_1,
    huang2020.FIGURE_2,
    huang2020.FIGURE_3,
    zhang2018.FIGURE_1,
    zhang2018.FIGURE_2,
    zhang2018.FIGURE_3,
    zhang2018.FIGURE_4,
]


UNEVEN = zhang2018.FIGURE_4.statements["uneven costs"]


@pytest.fixture(scope="module", autouse=True)
def small_records():
    rng = np.random.default_rng(0)
    features = rng.standard_normal((10_000, 4))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    labels = np.where(features[:, 0] + 0.3 * rng.standard_normal(10_000) > 0, 1.0, -1.0)
    data = Dataset(features, labels, name="stand-in")
    with pytest.MonkeyPatch.context() as monkeypatch:
        for module in (huang2020_runs, zhang2018_runs):
            monkeypatch.setattr(module, "adult", lambda path: data)
        few = zhang2018_runs.subset
        monkeypatch.setattr(zhang2018_runs, "subset", lambda *x: few(x[0], x[1] // 10, x[2]))
        monkeypatch.setattr(zhang2018_runs, "_LARGE_NODES", 6)
        monkeypatch.setattr(huang2020_runs, "_DIAMETERS", (5.0, 20.0))
        monkeypatch.setattr(huang2020_runs, "_ITERATIONS", (20, 50))
        monkeypatch.setattr(huang2020_runs, "_OTHER_INNER_STEPS", (5,))
        monkeypatch.setattr(huang2020_runs, "_OTHER_ITERATIONS", (20,))
        monkeypatch.setattr(zhang2018_runs, "WEIGHTS", (50.0, 1750.0))
        monkeypatch.setattr(zhang2018_runs, "REGULARISERS", (1.0, 10.0))
        monkeypatch.setattr(zhang2018_noise, "WEIGHTS", (50.0, 1750.0))
        monkeypatch.setattr(zhang2018_noise, "REGULARISERS", (1.0,))
        yield


@contextmanager
def fewer_settings():
    """Replace every axis, what is tried beside it and the iterations by fewer."""
    few, at = zhang2018_runs.ConsensusFigureSetting.of, {"iterations": 3}
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(zhang2018_noise, "_PP", ((1.06, 1.03), (1.06, 1.06)))
        monkeypatch.setattr(zhang2018_noise, "_LONG", 5)
        monkeypatch.setattr(zhang2018_runs, "_ITERATIONS", (3, 5))
        monkeypatch.setattr(zhang2018_runs, "_RATIOS", (1.0, 1.2))
        monkeypatch.setattr(zhang2018_runs, "REGULARISERS", (1.0,))
        of = lambda *args, **kw: few(*args, **kw).at(at)  # noqa: E731
        monkeypatch.setattr(zhang2018_runs.ConsensusFigureSetting, "of", of)
        huang = huang2020_runs.MultiStepFigureSetting.of
        of = lambda request: huang(request).at({"iterations": 4})  # noqa: E731
        monkeypatch.setattr(huang2020_runs.MultiStepFigureSetting, "of", of)
        monkeypatch.setattr(huang2020_runs, "_EPSILONS", (0.1, 1.0, 10.0))
        monkeypatch.setattr(huang2020_runs, "_INNER_STEPS", (1, 5, 20))
        monkeypatch.setattr(huang2020_runs, "_DIAMETERS", (5.0, 20.0))
        monkeypatch.setattr(huang2020_runs, "_ITERATIONS", (4, 6))
        monkeypatch.setattr(huang2020_runs, "_OTHER_ITERATIONS", (2,))
        monkeypatch.setattr(huang2020_runs, "_PENALTIES", (0.1, 1.0))
        yield


@pytest.fixture
def quick():
    with fewer_settings():
        yield


class Counter:
    """The progress of a figure: the trials announced and done."""

    announced = done = 0

    def start(self, stage, trials):
        self.announced += trials

    def advance(self, trials):
        self.done += trials


@pytest.fixture(scope="module")
def drawn_with_progress():
    """Return a drawer of figures under `fewer_settings`, and of their progress; each once."""
    kept = {}

    def draw(card, runs=2):
        if (card.name, runs) not in kept:
            with fewer_settings():
                counter = Counter()
                drawn = card.load()(FigureRequest(runs=runs, progress=counter))
                kept[card.name, runs] = drawn, counter
        return kept[card.name, runs]

    return draw


@pytest.fixture(scope="module")
def drawn_quickly(drawn_with_progress):
    return lambda *asked, **named: drawn_with_progress(*asked, **named)[0]


SHORTENED = [card for card in CARDS if card != zhang2018.FIGURE_2]
DRAWN = [
    *(pytest.param(card, True, id=card.name) for card in CARDS),
    *(
        pytest.param(card, False, id=f"{card.name}-all", marks=pytest.mark.slow)
        for card in SHORTENED
    ),
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("card", "quickly"), DRAWN)
def test_every_statement_is_judged_and_every_curve_is_whole(card, quickly, drawn_quickly):
    drawn = drawn_quickly(card) if quickly else card.load()(FigureRequest(runs=2))
    assert drawn.figure == card.name
    assert {j.statement for j in drawn.judgements} == set(card.statements.values())
    assert all(j.evidence and j.measure for j in drawn.judgements)
    judged_again = [j for j in drawn.judgements if j.statement != UNEVEN or j.caveat]
    assert all(j.tried for j in judged_again)
    assert all(each.setting for j in judged_again for each in j.tried)
    for panel in drawn.panels:
        assert panel.curves
        assert all(np.isfinite(curve.y).all() and len(curve.x) > 1 for curve in panel.curves)
    assert drawn.parameters["data"] == "stand-in"


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_one_seed_gives_one_figure(drawn_quickly):
    drawn = drawn_quickly(zhang2018.FIGURE_3)
    run = zhang2018.FIGURE_3.load()
    assert run(FigureRequest(runs=2)) == drawn
    assert run(FigureRequest(runs=2, seed=1)) != drawn


def test_the_bound_of_the_comparison_is_equation_26():
    setting = zhang2018_runs.ConsensusFigureSetting.of(FigureRequest(), nodes=5)
    bound = setting.algorithm(1.0, 3.0).published_bounds(setting.data)[-1]
    least = min(setting.data.node_sizes)
    assert bound == pytest.approx(30 * 1750 * (1.4 * 0.25 + 3.0) / (0.5 * 4 * least))


def test_one_run_shows_no_spread_and_so_decides_nothing(drawn_quickly):
    drawn = drawn_quickly(huang2020.FIGURE_1, runs=1)
    assert [judgement.held for judgement in drawn.judgements] == [None]
    assert all(judgement.number is None for judgement in drawn.judgements)
    assert not any("nan" in judgement.evidence for judgement in drawn.judgements)


@pytest.mark.slow
def test_one_run_is_put_in_words(drawn_quickly):
    drawn = drawn_quickly(zhang2018.FIGURE_2, runs=1)
    assert not any("nan" in judgement.evidence for judgement in drawn.judgements)


def test_one_run_of_each_algorithm_has_neither_lead_nor_range():
    risks = {name: np.ones((1, 3)) for name in huang2020_runs._METHODS}
    for found in huang2020_runs._judge_comparison_findings(0.5, risks).values():
        assert (found.held, found.number) == (None, None)
        assert "nan" not in found.evidence
        assert "one run" in found.evidence


@pytest.mark.sampled(1)
@pytest.mark.parametrize("card", [zhang2018.FIGURE_3, zhang2018.FIGURE_4], ids=lambda c: c.name)
def test_where_theorem_41_does_not_apply_every_statement_says_so(card, drawn_quickly):
    """And each is judged at a C where it does, too."""
    drawn = drawn_quickly(card)
    assert drawn.parameters["meets_theorem41"] is False
    limit = drawn.parameters["theorem41_holds_for_C_below"]
    assert [note for note in drawn.notes if f"{OUTSIDE} at C = 1750" in note]
    assert all((OUTSIDE in panel.title) == (panel.y_label == "P(t)") for panel in drawn.panels)
    for judgement in drawn.judgements:
        assert judgement.caveat == OUTSIDE
        for tried in judgement.tried:
            assert (tried.caveat == OUTSIDE) == (tried.setting.get("C", 1750.0) >= limit)
        assert any(not tried.caveat for tried in judgement.tried)


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_where_theorem_41_applies_there_is_no_caveat(monkeypatch):
    of = zhang2018_runs.ConsensusFigureSetting.of
    at = {"C": 400.0}  # 100 records a node here, where the figure has 1,000
    monkeypatch.setattr(
        zhang2018_runs.ConsensusFigureSetting, "of", lambda *args, **kw: of(*args, **kw).at(at)
    )
    drawn = zhang2018.FIGURE_2.load()(FigureRequest(runs=2))
    assert drawn.parameters["meets_theorem41"] is True
    assert not any(OUTSIDE in panel.title for panel in drawn.panels)
    assert not any(OUTSIDE in note for note in drawn.notes)
    assert not any(judgement.caveat for judgement in drawn.judgements)
    assert {t.setting["C"] for j in drawn.judgements for t in j.tried if t.caveat} == {1750.0}


@pytest.mark.parametrize("nodes", [5, 6])
@pytest.mark.parametrize("even", [True, False])
def test_the_largest_weight_is_where_theorem_41_ends(nodes, even):
    setting = zhang2018_runs.ConsensusFigureSetting.of(FigureRequest(), nodes=nodes, even=even)
    limit = zhang2018_bound.largest_weight(setting)
    assert zhang2018_bound.is_theorem41_applicable(setting.at({"C": limit * (1 - 1e-9)}))
    assert not zhang2018_bound.is_theorem41_applicable(setting.at({"C": limit * (1 + 1e-9)}))
    assert 0.75 * limit < zhang2018_bound.fitting_weight(setting) < limit


def test_the_published_bound_is_above_one_that_asks_for_no_condition():
    """What the note on Theorem 4.1 says of eq. (26) where the theorem does not apply."""
    setting = zhang2018_runs.ConsensusFigureSetting.large(FigureRequest(), even=False)
    algorithm = setting.algorithm(1.02, 3.0, 1.04)
    assert not algorithm.meets_theorem41(setting.data)
    updates = node_updates(algorithm, setting.data.node_sizes)
    ours = max(sum(each.pure_bound() for each in node) for node in updates)
    assert 0 < ours <= algorithm.published_bounds(setting.data)[-1]


def assert_the_sweep_judges_as_a_drawing_does(monkeypatch):
    """The sweep's row at D = 5 is the verdict of a figure drawn at D = 5."""
    of = huang2020_runs.MultiStepFigureSetting.of
    at = {"D": 5.0, "iterations": of(FigureRequest()).iterations}
    (judgement,) = huang2020.FIGURE_1.load()(FigureRequest(runs=3)).judgements
    (row,) = (t for t in judgement.tried if t.setting == at)
    monkeypatch.setattr(
        huang2020_runs.MultiStepFigureSetting, "of", lambda request: of(request).at({"D": 5.0})
    )
    (drawn,) = huang2020.FIGURE_1.load()(FigureRequest(runs=3)).judgements
    assert (row.number, row.held) == (drawn.number, drawn.held)
    assert row.number != judgement.number


@pytest.mark.usefixtures("quick")
def test_a_setting_tried_is_judged_as_if_it_were_drawn(monkeypatch):
    assert_the_sweep_judges_as_a_drawing_does(monkeypatch)


@pytest.mark.slow
def test_a_setting_tried_is_judged_as_if_it_were_drawn_at_length(monkeypatch):
    assert_the_sweep_judges_as_a_drawing_does(monkeypatch)


def test_the_verdict_of_figure_1_is_that_of_the_setting_drawn():
    far, near = np.array([2.0, 1.5]), np.array([2.0, 1.002])
    losses = Losses({"fixed": far, "varies": near}, {1.0: near, 1.1: far}, 1.0)
    found = losses.findings(2)
    assert [found[name].held for name in ("converges", "other steps", "slows down")] == [
        False,
        True,
        True,
    ]
    assert found["converges"].number == pytest.approx(0.5)
    assert found["slows down"].number == pytest.approx(250)
    assert Losses({"fixed": far, "b": far}, {1.0: far, 1.1: near}, 1.0).findings(2)[
        "slows down"
    ].held is False  # fmt: skip


def test_a_shorter_run_is_the_start_of_a_longer_one():
    """Which is why one run without noise says what every number of iterations does."""
    setting = zhang2018_runs.ConsensusFigureSetting.of(FigureRequest(), nodes=5).at({"runs": 1})
    losses = [
        zhang2018_runs.average_losses(setting.at({"iterations": t}).algorithm(1.1), setting, None)
        for t in (3, 7)
    ]
    np.testing.assert_array_equal(losses[0], losses[1][:, :3])


@pytest.mark.slow
def test_the_minimum_is_where_the_gradient_of_the_sum_vanishes():
    records = zhang2018_runs.adult(None)
    few = Dataset(records.features[:300], records.labels[:300], name="few")
    base = zhang2018_runs.ConsensusFigureSetting.of(FigureRequest(), nodes=5)
    data = split_unevenly(few, 5, np.random.default_rng(0))
    setting = replace(base, data=data, loss_weight=20.0, iterations=600, runs=1)
    ends = zhang2018_runs.average_losses(setting.algorithm(1.0), setting, None)
    assert zhang2018_runs._compute_least_loss(setting) == pytest.approx(
        float(ends[0, -1]), abs=1e-7
    )


@pytest.mark.parametrize(
    "card", [huang2020.FIGURE_2, huang2020.FIGURE_3, zhang2018.FIGURE_1], ids=lambda c: c.name
)
def test_progress_reports_all_it_announced(card, drawn_with_progress):
    _, counter = drawn_with_progress(card)
    assert counter.announced == counter.done > 0
