"""A mechanism whose module tests change while they run."""

import numpy as np

SCALE = 1.0
WEIGHTS = np.array([1.0, 1.0])
LATER = None
AT_IMPORT = float(np.random.default_rng().normal())
UNUSED = 1.0
ANYTHING: dict[str, float] = {}


def noise(trials, rng):
    return WEIGHTS[0] * rng.laplace(scale=SCALE, size=trials)


def noisy_sum(dataset, trials, rng):
    return dataset.sum() + noise(trials, rng)


class Sum:
    factor = 1.0

    def sample(self, dataset, trials, rng):
        assert (LATER, AT_IMPORT, ANYTHING) != (None, None, None)
        return self.factor * noisy_sum(dataset, trials, rng)
