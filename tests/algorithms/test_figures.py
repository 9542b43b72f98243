"""The figures on small stand-in data: statements judged, curves whole, one seed one result."""

from dataclasses import replace

import numpy as np
import pytest

from algorithms.figures import (
    huang2020,
    huang2020_baselines,
    huang2020_runs,
    zhang2018,
    zhang2018_noise,
    zhang2018_runs,
)
from algorithms.figures.zhang2018_runs import Losses
from dpaudit.datasets import Dataset, split_unevenly
from dpaudit.reproduction.result import Request

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


@pytest.fixture(autouse=True)
def small_records(monkeypatch):
    rng = np.random.default_rng(0)
    features = rng.standard_normal((10_000, 4))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    labels = np.where(features[:, 0] + 0.3 * rng.standard_normal(10_000) > 0, 1.0, -1.0)
    data = Dataset(features, labels, name="stand-in")
    for module in (huang2020_runs, zhang2018_runs):
        monkeypatch.setattr(module, "adult", lambda path: data)
    few = zhang2018_runs.subset
    monkeypatch.setattr(zhang2018_runs, "subset", lambda data, n, rng: few(data, n // 10, rng))
    monkeypatch.setattr(zhang2018_runs, "_LARGE_NODES", 6)
    monkeypatch.setattr(huang2020_runs, "_DIAMETERS", (5.0, 20.0))
    monkeypatch.setattr(huang2020_runs, "_ITERATIONS", (20, 50))
    monkeypatch.setattr(huang2020_baselines, "_INNER_STEPS", (5,))
    monkeypatch.setattr(huang2020_baselines, "_ITERATIONS", (20,))
    monkeypatch.setattr(zhang2018_runs, "WEIGHTS", (50.0, 1750.0))
    monkeypatch.setattr(zhang2018_runs, "REGULARISERS", (1.0, 10.0))
    monkeypatch.setattr(zhang2018_noise, "WEIGHTS", (50.0, 1750.0))
    monkeypatch.setattr(zhang2018_noise, "REGULARISERS", (1.0,))


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)
def test_every_statement_is_judged_and_every_curve_is_whole(card):
    drawn = card.load()(Request(runs=2))
    assert drawn.figure == card.name
    assert {j.statement for j in drawn.judgements} == set(card.statements.values())
    assert all(j.evidence and j.measure for j in drawn.judgements)
    judged_again = [j for j in drawn.judgements if j.statement != UNEVEN]
    assert all(j.tried for j in judged_again)
    assert all(each.setting for j in judged_again for each in j.tried)
    for panel in drawn.panels:
        assert panel.curves
        assert all(np.isfinite(curve.y).all() and len(curve.x) > 1 for curve in panel.curves)
    assert drawn.parameters["data"] == "stand-in"


def test_one_seed_gives_one_figure(monkeypatch):
    monkeypatch.setattr(zhang2018_noise, "_PP", ((1.06, 1.03), (1.06, 1.06)))
    monkeypatch.setattr(zhang2018_noise, "_LONG", 30)
    run = zhang2018.FIGURE_2.load()
    assert run(Request(runs=2)) == run(Request(runs=2))
    assert run(Request(runs=2, seed=1)) != run(Request(runs=2))


def test_the_bound_of_the_comparison_is_equation_26():
    setting = zhang2018_runs.Setting.of(Request(), nodes=5)
    bound = setting.algorithm(1.0, 3.0).published_bounds(setting.data)[-1]
    least = min(setting.data.node_sizes)
    assert bound == pytest.approx(30 * 1750 * (1.4 * 0.25 + 3.0) / (0.5 * 4 * least))


def test_one_run_shows_no_spread_and_so_decides_nothing():
    drawn = huang2020.FIGURE_1.load()(Request(runs=1))
    assert [judgement.held for judgement in drawn.judgements] == [None]
    assert all(judgement.number is None for judgement in drawn.judgements)


def test_a_setting_tried_is_judged_as_if_it_were_drawn(monkeypatch):
    """The sweep's row at D = 5 is the verdict of a figure drawn at D = 5."""
    (judgement,) = huang2020.FIGURE_1.load()(Request(runs=3)).judgements
    (row,) = (t for t in judgement.tried if t.setting == {"D": 5.0, "iterations": 50})
    of = huang2020_runs.Setting.of
    monkeypatch.setattr(huang2020_runs.Setting, "of", lambda request: of(request).at({"D": 5.0}))
    (drawn,) = huang2020.FIGURE_1.load()(Request(runs=3)).judgements
    assert (row.number, row.held) == (drawn.number, drawn.held)


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
    setting = zhang2018_runs.Setting.of(Request(), nodes=5).at({"runs": 1})
    losses = [
        zhang2018_runs.average_losses(setting.at({"iterations": t}).algorithm(1.1), setting, None)
        for t in (3, 7)
    ]
    np.testing.assert_array_equal(losses[0], losses[1][:, :3])


def test_the_minimum_is_where_the_gradient_of_the_sum_vanishes():
    records = zhang2018_runs.adult(None)
    few = Dataset(records.features[:300], records.labels[:300], name="few")
    base = zhang2018_runs.Setting.of(Request(), nodes=5)
    data = split_unevenly(few, 5, np.random.default_rng(0))
    setting = replace(base, data=data, loss_weight=20.0, iterations=600, runs=1)
    ends = zhang2018_runs.average_losses(setting.algorithm(1.0), setting, None)
    assert zhang2018_runs._least(setting) == pytest.approx(float(ends[0, -1]), abs=1e-7)


def test_progress_reports_all_it_announced():
    class Counter:
        announced = done = 0

        def start(self, stage, trials):
            self.announced += trials

        def advance(self, trials):
            self.done += trials

    for card in (huang2020.FIGURE_2, huang2020.FIGURE_3, zhang2018.FIGURE_1):
        counter = Counter()
        card.load()(Request(runs=2, progress=counter))
        assert counter.announced == counter.done > 0
