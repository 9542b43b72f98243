"""Torch: one run of DP-SGD of a small CNN, a thousand canaries, every noisy gradient seen."""

import numpy as np
from canaries import CANARIES, said, scored
from numpy_steps import STEPS
from torch_cnn import COUNT, train

from dpaudit.estimation.one_run import draw_coins


def run(rng):
    """Return the scores of one run's canaries, and their coins; each has a weight of its own."""
    coins = draw_coins(CANARIES, rng)
    records = np.append(np.arange(COUNT), COUNT + np.flatnonzero(coins == 1))
    return scored(train(records, 1, rng, STEPS, CANARIES)[0]), coins


if __name__ == "__main__":
    print(said("CNN", *run(np.random.default_rng(0))))
