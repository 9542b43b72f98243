"""Laws whose privacy loss can be drawn directly, under the tilt, with the weights."""

from __future__ import annotations

import numpy as np
import pytest

from dpaudit.estimation.exact_loss import LossDirection, TiltedLosses


def gaussian_losses(mu, tilt, trials, rng):
    """Return tilted losses of N(0, 1) against N(mu, 1): N((1/2 + theta) mu^2, mu^2)."""
    loss = rng.normal((0.5 + tilt) * mu**2, mu, trials)
    log_mgf = tilt * (1 + tilt) / 2 * mu**2
    return TiltedLosses(loss, np.full(trials, log_mgf), tilt, log_mgf)


def gaussian_direction(mu, tilt, trials, rng):
    pilot = gaussian_losses(mu, tilt, max(200, trials // 5), rng)
    return LossDirection(gaussian_losses(mu, tilt, trials, rng), pilot)


@pytest.fixture
def losses():
    return gaussian_losses


@pytest.fixture
def direction():
    return gaussian_direction
