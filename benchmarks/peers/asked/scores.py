"""Scores of canaries that every auditor gets, drawn in its own environment from the same seed."""

import numpy as np


def drawn(question):
    """Return the scores of runs with and without a canary: Gaussian, a shift apart."""
    rng = np.random.default_rng(question["seed"])
    inside, outside = rng.normal(size=(2, question["runs"]))
    return inside + question["shift"], outside
