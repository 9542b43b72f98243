"""scikit-learn: DP-SGD made of ``partial_fit``, one run, every noisy gradient seen."""

import numpy as np
from canaries import CANARIES, inserted, said, scored
from numpy_steps import CLIP, NOISE, RATE, STEPS
from sklearn.linear_model import SGDClassifier

from dpaudit.adapters.training import partial_fit_gradients
from dpaudit.estimation.one_run import draw_coins


def run(rng, canaries=CANARIES, steps=STEPS):
    """Return the scores of one run's canaries, and their coins; the loss is the hinge's."""
    coins = draw_coins(canaries, rng)
    rows = inserted(coins, CLIP)
    step = {"penalty": None, "learning_rate": "constant", "eta0": 1.0, "fit_intercept": False}
    model, labels, seen = SGDClassifier(**step), np.ones(len(rows), dtype=int), []
    model.partial_fit(np.zeros_like(rows[:1]), labels[:1], classes=[-1, 1])
    model.coef_ = np.zeros_like(rows[:1])
    for _ in range(steps):
        batch = rng.random(len(rows)) < RATE
        found = partial_fit_gradients(model, rows[batch], labels[batch])[:, :-1]
        norms = np.linalg.norm(found, axis=1, keepdims=True)
        clipped = found * np.minimum(1, CLIP / np.maximum(norms, 1e-12))
        seen.append(clipped.sum(axis=0) + NOISE * CLIP * rng.standard_normal(rows.shape[1]))
        model.coef_ = model.coef_ - 1e-3 * seen[-1]
    return scored(-np.array(seen)[:, -canaries:] / CLIP), coins  # the hinge's slope is -1


if __name__ == "__main__":
    print(said("scikit-learn", *run(np.random.default_rng(0))))
