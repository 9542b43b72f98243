"""The figures on small stand-in data: statements judged, curves whole, one seed one result."""

import numpy as np
import pytest

from algorithms.figures import huang2020, huang2020_runs, zhang2018, zhang2018_runs
from dpaudit.datasets import Dataset
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


@pytest.fixture(autouse=True)
def small_records(monkeypatch):
    rng = np.random.default_rng(0)
    features = rng.standard_normal((10_000, 4))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    labels = np.where(features[:, 0] + 0.3 * rng.standard_normal(10_000) > 0, 1.0, -1.0)
    data = Dataset(features, labels, name="stand-in")
    for module in (huang2020_runs, zhang2018_runs):
        monkeypatch.setattr(module, "adult", lambda path: data)
    monkeypatch.setattr(zhang2018_runs, "_LARGE_NODES", 6)
    monkeypatch.setattr(huang2020_runs.Setting, "iterations", 3, raising=False)


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)
def test_every_statement_is_judged_and_every_curve_is_whole(card):
    drawn = card.load()(Request(runs=2))
    assert drawn.figure == card.name
    assert {j.statement for j in drawn.judgements} == set(card.statements.values())
    assert all(j.evidence and j.held is not None for j in drawn.judgements)
    for panel in drawn.panels:
        assert panel.curves
        assert all(np.isfinite(curve.y).all() and len(curve.x) > 1 for curve in panel.curves)
    assert drawn.parameters["data"] == "stand-in"


def test_one_seed_gives_one_figure():
    run = zhang2018.FIGURE_2.load()
    assert run(Request(runs=2)) == run(Request(runs=2))
    assert run(Request(runs=2, seed=1)) != run(Request(runs=2))


def test_the_bound_of_the_comparison_is_equation_26():
    setting = zhang2018_runs.Setting.of(Request(), nodes=5)
    bound = setting.algorithm(1.0, 3.0).published_bounds(setting.data)[-1]
    least = min(setting.data.node_sizes)
    assert bound == pytest.approx(30 * 1750 * (1.4 * 0.25 + 3.0) / (0.5 * 4 * least))
