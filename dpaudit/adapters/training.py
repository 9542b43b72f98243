"""Scores of canaries, and gradients of models that are trained by ``partial_fit``.

A score is higher for a canary that the training seems to have had. Whatever a score is, what one
run's guesses certify holds (`dpaudit.estimation.one_run`); a better one certifies more.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np

from dpaudit._typing import Array
from dpaudit.errors import InvalidArgument, VerbatimText


def likelihood_ratios(scores: Array, included: Array, excluded: Array) -> Array:
    """Return each canary's log-likelihood ratio by runs with it and without it, shape ``(m,)``.

    Normal laws are fitted to the reference scores of each canary. The references must not depend on
    the coins of the run whose scores these are.

    Source: Carlini et al. 2022 ("Membership inference attacks from first principles", LiRA).

    Parameters
    ----------
    scores
        One number a canary, such as its loss at the model of the run; shape ``(m,)``.
    included, excluded
        The same of other runs, with the canary and without it; shape ``(runs, m)``, NaN where a
        run is of the other kind; at least two of each kind for every canary.

    Raises
    ------
    InvalidArgument
        The shapes do not fit, or a canary has fewer than two references of a kind.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> found = likelihood_ratios(
    ...     np.array([1.0, 0.0]), rng.normal(1, 0.1, (50, 2)), rng.normal(0, 0.1, (50, 2))
    ... )
    >>> (found > 0).tolist()
    [True, False]
    """
    scores = np.asarray(scores, dtype=np.float64)
    return _log_density("included", scores, included) - _log_density("excluded", scores, excluded)


def _log_density(name: str, scores: Array, references: Array) -> Array:
    runs = np.asarray(references, dtype=np.float64)
    if scores.ndim != 1 or runs.ndim != 2 or runs.shape[1] != len(scores):
        given = VerbatimText(f"shape {runs.shape} for scores of shape {scores.shape}")
        raise InvalidArgument(name, given, "one column for each score, one row for each run")
    if (np.isfinite(runs).sum(axis=0) < 2).any():
        raise InvalidArgument(
            name, VerbatimText("fewer than two runs"), "two or more runs of each canary"
        )
    # References that are all equal have no spread to divide by.
    spread = np.maximum(np.nanstd(runs, axis=0, ddof=1), np.finfo(np.float64).tiny)
    moved = (scores - np.nanmean(runs, axis=0)) / spread
    return np.asarray(-(moved**2) / 2 - np.log(spread))


def partial_fit_gradients(model: Any, features: Array, labels: Array, **given: Any) -> Array:
    """Return each record's gradient: the change that ``partial_fit`` on it alone makes in a model.

    The model is not changed. With a learning rate of 1 and without regularisation the step is the
    negative gradient, intercept last.

    Parameters
    ----------
    model
        A linear model of scikit-learn with ``coef_``, ``intercept_`` and ``partial_fit``, such as
        ``SGDClassifier(penalty=None, learning_rate="constant", eta0=1.0)``, fitted before.
    features, labels
        Records, shapes ``(n, d)`` and ``(n,)``.
    given
        More for ``partial_fit``.

    Returns
    -------
    Array
        Shape ``(n, d + 1)``.

    Raises
    ------
    InvalidArgument
        The model has not been fitted.

    Examples
    --------
    >>> from sklearn.linear_model import SGDRegressor
    >>> model = SGDRegressor(penalty=None, learning_rate="constant", eta0=1.0)
    >>> model = model.partial_fit(np.zeros((1, 2)), np.zeros(1))
    >>> partial_fit_gradients(model, np.array([[1.0, 2.0]]), np.array([3.0]))
    array([[-3., -6., -3.]])
    """
    if not hasattr(model, "coef_"):
        raise InvalidArgument(
            "model", VerbatimText(type(model).__name__), "one that has been fitted"
        )
    rows = [
        _get_model_weights(model)
        # On a copy for each record, so that every gradient is at the same model.
        - _get_model_weights(deepcopy(model).partial_fit(x[None], y[None], **given))
        for x, y in zip(features, labels, strict=True)
    ]
    return np.array(rows).reshape(len(rows), -1)


def _get_model_weights(model: Any) -> Array:
    return np.concatenate([np.ravel(model.coef_), np.ravel(model.intercept_)])
