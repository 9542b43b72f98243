"""Gradient descent with correlated noise: the square-root factorisation, whole and banded.

Sources: Fichtenberger, Henzinger and Upadhyay, Constant matters: fine-grained error bound on
differentially private continual observation (2023), for the coefficients c_k = binom(2k, k) / 4**k;
Choquette-Choo and others, (Amplified) banded matrix factorization (2023), for bands, here cut from
the square root. The noise is C**-1 z, row by row: a new normal minus c_1, c_2, ... times the
earlier noise. The gradient of each of 64 rounds is private; an observer sees all models, or only
the last.

All models together reveal C (gradients + noise). A record in one round has mu**2 = sum of c_k**2
over the band. A record in rounds 0, 16, 32 and 48 has four times that, if the band is below 16.
"""

import numpy as np

SOURCE = "Fichtenberger, Henzinger, Upadhyay 2023; Choquette-Choo and others 2023"
PRIVATE = np.zeros(64)
CHANGES = {
    "one round by 1": np.eye(64)[0],
    "four rounds by 1": np.eye(64)[[0, 16, 32, 48]].sum(axis=0),
}
MU = {
    "square_root": {
        "one round by 1": {
            "all models": 1.54558989007,
            "last model": 0.647002161714,
        },
        "four rounds by 1": {
            "all models": 3.96062026814,
            "last model": 2.58800864685,
        },
    },
    "band_mf": {
        "one round by 1": {
            "all models": 1.31086965756,
            "last model": 0.365263654106,
        },
        "four rounds by 1": {
            "all models": 2.62173931512,
            "last model": 1.46105461643,
        },
    },
}


def square_root(private, rng):
    return _correlated(private, rng, band=64)


def band_mf(private, rng):
    return _correlated(private, rng, band=8)


def _correlated(private, rng, band):
    coefficients = np.cumprod([1.0] + [(2 * k - 1) / (2 * k) for k in range(1, band)])
    noises, model, models = [], 0.0, []
    for gradient in private:
        before = noises[:-band:-1]  # the last first
        old = sum(c * noise for c, noise in zip(coefficients[1:], before, strict=False))
        noises.append(rng.standard_normal() - old)
        model = model - 0.1 * (gradient + noises[-1])
        models.append(model)
    return {"all models": models, "last model": models[-1]}
