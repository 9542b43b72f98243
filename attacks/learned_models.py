"""Classifiers a learned distinguisher chooses from, behind one kind of decision value.

All come from scikit-learn and are imported when they are fitted; none is capped: a decision value
is a log-odds or a projection, and may be as large as the classifier makes it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.errors import InvalidArgument

Array = NDArray[np.float64]

_MARGIN = 1e-12


@dataclass(frozen=True)
class Model:
    """A kind of classifier: how to make it from a seed, and up to how many features it is tried."""

    name: str
    make: Callable[[int], Any]
    most: int = 10**9


def _logistic(strength: float) -> Callable[[int], Any]:
    def make(seed: int) -> Any:
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(C=strength, max_iter=300)

    return make


def _sparse(strength: float) -> Callable[[int], Any]:
    def make(seed: int) -> Any:
        from sklearn.linear_model import Lasso

        return Lasso(alpha=strength, precompute=True, max_iter=500, tol=1e-3)

    return make


def _trees(seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(
        max_iter=50, max_leaf_nodes=8, max_bins=127, early_stopping=False, random_state=seed
    )


def _network(seed: int) -> Any:
    from sklearn.neural_network import MLPClassifier

    return MLPClassifier((24, 12), alpha=1e-2, max_iter=15, random_state=seed)


STRONG = Model("logistic regression, C = 0.001", _logistic(1e-3))
MIDDLE = Model("logistic regression, C = 0.1", _logistic(0.1))
WEAK = Model("logistic regression, C = 1", _logistic(1.0), 1000)
SPARSE = Model("lasso on the labels, 0.02", _sparse(0.02), 2000)
SPARSER = Model("lasso on the labels, 0.1", _sparse(0.1), 2000)
TREES = Model("gradient-boosted trees", _trees, 100)
NETWORK = Model("a small neural network", _network, 100)


def model_of(estimator: Any) -> Model:
    """Return a scikit-learn classifier, or regressor on labels -1 and 1, as a model.

    Raises
    ------
    InvalidArgument
        It is neither.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> model_of(KNeighborsClassifier(5)).name
    'KNeighborsClassifier'
    """
    from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor

    known = isinstance(estimator, BaseEstimator)
    if not (known and (is_classifier(estimator) or is_regressor(estimator))):
        raise InvalidArgument("classifier", estimator, "a scikit-learn classifier or regressor")

    def make(seed: int) -> Any:
        fresh = clone(estimator)
        seeded = "random_state" in fresh.get_params(deep=False)
        return fresh.set_params(random_state=seed) if seeded else fresh

    return Model(type(estimator).__name__, make)


def fitted(model: Model, features: Array, labels: NDArray[np.int64], seed: int) -> Any:
    """Return the fitted estimator; that it stopped early is no news.

    Examples
    --------
    >>> features, labels = np.array([[-1.0], [-2.0], [1.0], [2.0]]), np.array([0, 0, 1, 1])
    >>> estimator = fitted(MIDDLE, features, labels, 0)
    >>> decision(estimator, np.array([[-1.5], [1.5]])) > 0
    array([False,  True])
    """
    from sklearn.base import is_regressor
    from sklearn.exceptions import ConvergenceWarning

    estimator = model.make(seed)
    targets: Any = 2.0 * labels - 1 if is_regressor(estimator) else labels
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return estimator.fit(features, targets)


def decision(estimator: Any, features: Array) -> Array:
    """Return log-odds or projections, shape ``(R,)``; higher means rather label 1.

    Examples
    --------
    >>> from sklearn.linear_model import Lasso
    >>> line = Lasso(alpha=1e-6).fit([[0.0], [1.0]], [-1, 1])
    >>> decision(line, np.array([[0.5]])).round(3)
    array([0.])
    """
    if hasattr(estimator, "decision_function"):
        return np.asarray(estimator.decision_function(features), dtype=np.float64)
    if not hasattr(estimator, "predict_proba"):
        return np.asarray(estimator.predict(features), dtype=np.float64)
    chance = np.clip(estimator.predict_proba(features), _MARGIN, None)
    return np.asarray(np.log(chance[:, 1]) - np.log(chance[:, 0]))
