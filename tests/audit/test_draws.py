"""What an audit draws: counted where it is drawn, and kept in part."""

from __future__ import annotations

import numpy as np
import pytest

import dpaudit.auditing.sampling.sampler as sampler
from dpaudit.auditing.sampling.probe import make_drawer
from dpaudit.estimation.score_events import ScoreEvent, ThresholdEvent
from dpaudit.execution import Executor
from dpaudit.mechanisms.foreign.code_mechanism import as_mechanism
from dpaudit.neighbours import REPLACE_RECORD, Pair

TRIALS = 3000


def noisy(dataset, trials, rng):
    return dataset.sum() + rng.laplace(size=trials)


@pytest.mark.parametrize("above", [True, False])
def test_all_outputs_are_counted_whatever_part_is_kept(above, monkeypatch):
    pair = Pair(np.array([0.0]), np.array([1.0]), REPLACE_RECORD)
    drawer = make_drawer(as_mechanism(noisy), pair, Executor(), 0, trials=TRIALS)
    counted = ScoreEvent(np.ravel, ThresholdEvent(above, 0.5, 0.0))
    tally, every = drawer.certifying(counted, TRIALS, "certifying")
    monkeypatch.setattr(sampler, "COMPARED", 500)
    again, some = drawer.certifying(counted, TRIALS, "certifying")
    hits = tuple(int(counted.happened(scores).sum()) for scores in every.scores)
    assert again == tally == (hits, (TRIALS, TRIALS))
    calls = len(np.unique(every.outputs[0].units))
    for all_of, part in zip(every.outputs, some.outputs, strict=True):
        assert np.bincount(part.units).tolist() == [500 // calls] * calls
        assert np.isin(part.scores, all_of.scores).all()
        assert np.isin(part.scores[part.units == 1], all_of.scores[all_of.units == 1]).all()
