"""Plain numpy: one run, mislabelled records as canaries, and only the final model is seen."""

import numpy as np
from canaries import said
from numpy_steps import DATA, train
from scipy.special import log_expit

from dpaudit.adapters.training import likelihood_ratios
from dpaudit.estimation.one_run import draw_coins

CANARIES, REFERENCES = 400, 40
NATURAL, OTHERS = -DATA[:CANARIES], DATA[CANARIES:]  # a wrong label turns a signed record round


def losses(coins, rng):
    """Return each canary's loss at the final model of a run that has those of coin +1."""
    records = np.append(OTHERS, NATURAL[coins == 1], axis=0)
    model = -0.02 * train(records, 1, rng)[0].sum(axis=0)
    return -log_expit(NATURAL @ model)


def run(rng):
    """Return two scores of one run's canaries, by their loss and by LiRA, and the coins."""
    others = [draw_coins(CANARIES, rng) for _ in range(REFERENCES)]
    references, were_in = np.array([losses(one, rng) for one in others]), np.array(others) == 1
    coins = draw_coins(CANARIES, rng)
    found = losses(coins, rng)
    included, excluded = np.where([were_in, ~were_in], references, np.nan)
    return -found, likelihood_ratios(found, included, excluded), coins


if __name__ == "__main__":
    by_loss, by_ratio, coins = run(np.random.default_rng(0))
    print(said("final model, loss", by_loss, coins))
    print(said("final model, LiRA", by_ratio, coins))
