"""Noisy votes of teachers, whose noise has the inverse of the scale that was meant."""

from __future__ import annotations

import numpy as np
import pytest

import dpaudit

INVERSE_SCALE = 0.2


def winner(votes, rng, scale):
    """Return the label with more votes after noise: twice the inverse scale is claimed of it."""
    counts = np.bincount(np.asarray(votes), minlength=2) + rng.laplace(scale=scale, size=2)
    return int(np.argmax(counts))


@pytest.mark.parametrize(
    ("scale", "verdict"), [(INVERSE_SCALE, "refuted"), (1 / INVERSE_SCALE, "not refuted")]
)
def test_a_scale_that_was_inverted_is_refuted_and_the_right_one_is_not(scale, verdict):
    even, moved = [0] * 5 + [1] * 5, [0] * 6 + [1] * 4
    found = dpaudit.audit(
        lambda votes, rng: winner(votes, rng, scale),
        even,
        moved,
        epsilon=2 * INVERSE_SCALE,
        trials=20_000,
        seed=1,
    )
    assert found.verdict == verdict
    if verdict == "refuted":
        assert found.measured.lower > 5
