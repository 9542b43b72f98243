"""Plain numpy: one run of DP-SGD with a thousand Dirac canaries, every noisy gradient seen."""

import numpy as np
from canaries import CANARIES, inserted, said, scored
from numpy_steps import CLIP, train

from dpaudit.estimation.one_run import draw_coins


def run(rng):
    """Return the scores of one run's canaries, and their coins: +1 is in the records, -1 is not."""
    coins = draw_coins(CANARIES, rng)
    return scored(train(inserted(coins, CLIP), 1, rng)[0, :, -CANARIES:] / CLIP), coins


if __name__ == "__main__":
    print(said("numpy", *run(np.random.default_rng(0))))
