"""The learned distinguisher on multi-step DP-ADMM, next to the likelihood ratio."""

import pytest

from dpaudit.auditing import audit_claim
from dpaudit.extension.settings import Settings


def certified(claim, attack, epsilon, trials, seed):
    settings = Settings(
        epsilon=epsilon, trials=trials, seed=seed, estimator="event", distinguisher=attack
    )
    result = audit_claim(claim, settings)
    assert result.measured.lower <= result.proved.epsilon
    print(f"{claim} {attack} at {trials}, seed {seed}: {result.measured.lower:.4f}")
    return result.measured.lower


@pytest.mark.slow
@pytest.mark.parametrize(
    ("epsilon", "trials", "seeds"),
    [(4.0, 1500, (0,)), pytest.param(1.0, 100_000, (0, 1, 2), marks=pytest.mark.slow)],
)
def test_inner_models_are_told_apart_almost_as_well_as_by_their_law(epsilon, trials, seeds):
    for seed in seeds:
        best = certified("huang2020-theorem6", "likelihood-ratio", epsilon, trials, seed)
        learned = certified("huang2020-theorem6", "learned", epsilon, trials, seed)
        assert learned > 0.8 * best


@pytest.mark.slow
def test_a_linear_score_does_not_reach_it_and_averages_tell_less():
    best = certified("huang2020-theorem6", "likelihood-ratio", 1.0, 100_000, 0)
    assert certified("huang2020-theorem6", "linear-classifier", 1.0, 100_000, 0) < 0.8 * best
    assert 0 < certified("huang2020-broadcast", "learned", 1.0, 100_000, 0)
