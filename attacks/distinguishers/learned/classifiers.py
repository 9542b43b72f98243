"""A learned distinguisher for black boxes: the best of several classifiers on several features.

Which features and which classifier is decided by cross-fitting on the training outputs alone:
every output is scored by a fit that did not see it, and the candidate whose scores promise
most is fitted again on all of them. Fresh outputs certify, so the choice costs no error
probability.

Classifiers a learned distinguisher chooses from, behind one kind of decision value.

All come from scikit-learn and are imported when they are fitted; none is capped: a decision value
is a log-odds or a projection, and may be as large as the classifier makes it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dpaudit._typing import Array
from dpaudit.attacks.distinguishers.learned.features import (
    FeatureMap,
    FitMap,
    Scaling,
    fit_clipped,
    fit_drift,
    fit_entries,
    fit_radial,
    fit_series,
    fit_summaries,
)
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.execution import one_thread
from dpaudit.extension.distinguisher import Distinguisher, Fit
from dpaudit.mechanisms.mechanism import Mechanism
from dpaudit.neighbours import Pair

# Probabilities are held from here on, so that log-odds stay finite.
_MARGIN = 1e-12


@dataclass(frozen=True)
class Model:
    """A kind of classifier: how to make it from a seed, and up to how many features it is tried."""

    name: str
    make: Callable[[int], Any]
    most: int = 10**9


def _make_logistic_factory(strength: float) -> Callable[[int], Any]:
    def make(seed: int) -> Any:
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(C=strength, max_iter=300)

    return make


def _make_lasso_factory(strength: float) -> Callable[[int], Any]:
    def make(seed: int) -> Any:
        from sklearn.linear_model import Lasso

        # A score has only to rank outputs, so a loose tolerance is enough.
        return Lasso(alpha=strength, precompute=True, max_iter=500, tol=1e-3)

    return make


def _make_tree_classifier(seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    # Early stopping is "auto" by default: from 10,000 outputs on it would hold some out, and the
    # final fit would be of another kind than those that were compared.
    return HistGradientBoostingClassifier(
        max_iter=50, max_leaf_nodes=8, max_bins=127, early_stopping=False, random_state=seed
    )


def _make_network_classifier(seed: int) -> Any:
    from sklearn.neural_network import MLPClassifier

    return MLPClassifier((24, 12), alpha=1e-2, max_iter=15, random_state=seed)


STRONG = Model("logistic regression, C = 0.001", _make_logistic_factory(1e-3))
MIDDLE = Model("logistic regression, C = 0.1", _make_logistic_factory(0.1))
WEAK = Model("logistic regression, C = 1", _make_logistic_factory(1.0), 1000)
SPARSE = Model("lasso on the labels, 0.02", _make_lasso_factory(0.02), 2000)
SPARSER = Model("lasso on the labels, 0.1", _make_lasso_factory(0.1), 2000)
TREES = Model("gradient-boosted trees", _make_tree_classifier, 100)
NETWORK = Model("a small neural network", _make_network_classifier, 100)


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


def fit_quietly(model: Model, features: Array, labels: NDArray[np.int64], seed: int) -> Any:
    """Return the fitted estimator; that it stopped early is no news.

    Examples
    --------
    >>> features, labels = np.array([[-1.0], [-2.0], [1.0], [2.0]]), np.array([0, 0, 1, 1])
    >>> estimator = fit_quietly(MIDDLE, features, labels, 0)
    >>> compute_decision_scores(estimator, np.array([[-1.5], [1.5]])) > 0
    array([False,  True])
    """
    from sklearn.base import is_regressor
    from sklearn.exceptions import ConvergenceWarning

    estimator = model.make(seed)
    # Labels of -1 and 1 put the middle of a regression's scores at 0.
    targets: Any = 2.0 * labels - 1 if is_regressor(estimator) else labels
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return estimator.fit(features, targets)


def compute_decision_scores(estimator: Any, features: Array) -> Array:
    """Return log-odds or projections, shape ``(R,)``; higher means rather label 1.

    Examples
    --------
    >>> from sklearn.linear_model import Lasso
    >>> line = Lasso(alpha=1e-6).fit([[0.0], [1.0]], [-1, 1])
    >>> compute_decision_scores(line, np.array([[0.5]])).round(3)
    array([0.])
    """
    # A decision function is preferred to probabilities, which round to 0 and 1 where the two sides
    # are far apart.
    if hasattr(estimator, "decision_function"):
        return np.asarray(estimator.decision_function(features), dtype=np.float64)
    if not hasattr(estimator, "predict_proba"):
        return np.asarray(estimator.predict(features), dtype=np.float64)
    chance = np.clip(estimator.predict_proba(features), _MARGIN, None)
    return np.asarray(np.log(chance[:, 1]) - np.log(chance[:, 0]))


Labels = NDArray[np.int64]

LEARNED = Distinguisher(
    name="learned",
    statement=(
        "the best of several classifiers (linear, sparse, trees, network) on several features of "
        "the output, chosen by cross-fitting"
    ),
    threat_model=(
        "can run the mechanism on both datasets but knows nothing about it; sees one output; "
        "wants to know which dataset produced it"
    ),
    needs_law=False,
    fit="dpaudit.attacks.distinguishers.learned.classifiers:fit",
    default=False,
)

Candidates = Mapping[str, tuple[FitMap, tuple[Model, ...]]]

CANDIDATES: Candidates = {
    "entries": (fit_entries, (STRONG, MIDDLE, SPARSE, SPARSER, TREES, NETWORK)),
    "summaries": (fit_summaries, (MIDDLE, SPARSE)),
    "series": (fit_series, (STRONG, MIDDLE, SPARSE, SPARSER)),
    "clipped": (fit_clipped, (STRONG, MIDDLE, SPARSE)),
    "radial": (fit_radial, (MIDDLE, WEAK, TREES)),
    "drift": (fit_drift, (MIDDLE, SPARSE, SPARSER)),
}

_FOLDS = 3  # parts of the cross-validation
_LARGEST = 1e307  # up to where differences are numbers
_CHOOSING = 4_000  # outputs per dataset that the choice is made on
_LEARNED = 100_000  # that the chosen one is fitted on: more change it little, and take minutes
_NEAR = 0.95  # of the best promise: by chance alone, one of many is a little better
_ERRORS = 3.7  # standard errors a promise allows for: it is the best of many


@dataclass(frozen=True)
class LearnedScore:
    """A fitted score: features, brought to one scale, and a classifier's decision value."""

    features: FeatureMap
    scaling: Scaling
    estimator: Any
    chosen: str
    shape: tuple[int, ...]

    def __call__(self, outputs: Array) -> Array:
        """Return decision values, shape ``(R,)``; higher means rather from the dataset."""
        if outputs.shape[1:] != self.shape:
            given = VerbatimText(f"shape {outputs.shape}")
            raise InvalidArgument("outputs", given, f"shape (R, *{self.shape})")
        return compute_decision_scores(self.estimator, self.scaling(self.features(outputs)))


@dataclass(frozen=True)
class _Candidate:
    name: str
    fit_map: FitMap
    model: Model


def fit(
    mechanism: Mechanism[Any],
    pair: Pair[Any],
    on_dataset: Array,
    on_neighbour: Array,
    rng: Generator,
) -> LearnedScore:
    """Fit on outputs of both datasets, shape ``(R, ...)`` each; uses outputs alone.

    Raises
    ------
    InvalidArgument
        An output holds NaN or infinity, or there are fewer than 20 of either dataset.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p, q = rng.normal(1, 1, (200, 3)), rng.normal(0, 1, (200, 3))
    >>> score = fit(None, None, p, q, rng)
    >>> bool(score(p).mean() > score(q).mean())
    True
    """
    return _fit_best_candidate(CANDIDATES, on_dataset, on_neighbour, rng)


def with_classifier(classifier: Any, features: Sequence[str] = ("entries",)) -> Fit:
    """Return a fit of a scikit-learn classifier of your own, in place of the built-in ones.

    Parameters
    ----------
    classifier
        Anything with ``fit`` and one of ``decision_function``, ``predict_proba``, ``predict``; it
        is cloned, never fitted itself, and gets its ``random_state`` from the audit's seed.
    features
        What it is tried on, the best by cross-fitting: of ``entries`` (the raw numbers),
        ``summaries``, ``series`` (what changes over time), ``clipped``, ``radial``, ``drift``.

    Raises
    ------
    InvalidArgument
        It is no classifier, or there are no such features.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> fit_neighbours = with_classifier(KNeighborsClassifier(15))
    >>> rng = np.random.default_rng(0)
    >>> p, q = rng.normal(1, 1, (200, 3)), rng.normal(0, 1, (200, 3))
    >>> fit_neighbours(None, None, p, q, rng).chosen
    'KNeighborsClassifier on entries'
    """
    unknown = [name for name in features if name not in CANDIDATES]
    if unknown or not features:
        raise InvalidArgument("features", tuple(features), f"some of {', '.join(CANDIDATES)}")
    model = model_of(classifier)
    candidates = {name: (CANDIDATES[name][0], (model,)) for name in features}

    def fit_own(
        mechanism: Mechanism[Any],
        pair: Pair[Any],
        on_dataset: Array,
        on_neighbour: Array,
        rng: Generator,
    ) -> LearnedScore:
        return _fit_best_candidate(candidates, on_dataset, on_neighbour, rng)

    return fit_own


def _fit_best_candidate(
    candidates: Candidates, on_dataset: Array, on_neighbour: Array, rng: Generator
) -> LearnedScore:
    import sklearn.ensemble  # noqa: F401  its threads can be limited once they are there

    _require(on_dataset, on_neighbour)
    outputs = np.concatenate([on_dataset, on_neighbour])
    labels = np.repeat([1, 0], [len(on_dataset), len(on_neighbour)])
    # Seeds of scikit-learn have at most 32 bits.
    seed = int(rng.integers(2**31))
    with one_thread():
        best = _choose_candidate(candidates, outputs, labels, seed, rng)
        if len(labels) > 2 * _LEARNED:
            kept = _sample_balanced_rows(labels, _LEARNED, rng)
            outputs, labels = outputs[kept], labels[kept]
        return _fit_candidate_score(best, outputs, labels, seed)


def _require(on_dataset: Array, on_neighbour: Array) -> None:
    for name, sample in (("on_dataset", on_dataset), ("on_neighbour", on_neighbour)):
        if len(sample) < 20:
            raise InvalidArgument(name, VerbatimText(f"{len(sample)} outputs"), "at least 20")
        if not np.isfinite(sample).all() or np.abs(sample).max(initial=0.0) > _LARGEST:
            raise InvalidArgument(name, VerbatimText("NaN, or beyond 1e307"), "finite outputs")


def _fit_candidate_score(
    candidate: _Candidate, outputs: Array, labels: Labels, seed: int
) -> LearnedScore:
    features = candidate.fit_map(outputs, labels)
    if features is None:
        raise InvalidArgument("features", candidate.name, "features that these outputs have")
    table = features(outputs)
    scaling = _fit_standard_scaling(table)
    estimator = fit_quietly(candidate.model, scaling(table), labels, seed)
    chosen = f"{candidate.model.name} on {candidate.name}"
    return LearnedScore(features, scaling, estimator, chosen, outputs.shape[1:])


def _fit_standard_scaling(table: Array) -> Scaling:
    spread = table.std(axis=0)
    return Scaling(table.mean(axis=0), np.where(spread > 0, spread, 1.0))


def _choose_candidate(
    candidates: Candidates, outputs: Array, labels: Labels, seed: int, rng: Generator
) -> _Candidate:
    """Return the simplest candidate whose out-of-fold scores promise about most.

    Candidates come in the order of the table: what is nearly as good and comes first is chosen.
    """
    kept, folds = _split_choice_folds(labels, rng)
    outputs, labels = outputs[kept], labels[kept]
    scores: dict[_Candidate, Array] = {}
    for fold in range(_FOLDS):
        train, test = folds != fold, folds == fold
        for candidate, values in _score_candidates_on_fold(
            candidates, outputs, labels, (train, test), seed
        ):
            scores.setdefault(candidate, np.zeros(len(labels)))[test] = values
    merits = {
        candidate: _measure_score_merit(values, labels) for candidate, values in scores.items()
    }
    if not merits:
        raise InvalidArgument("features", VerbatimText("none"), "features that these outputs have")
    promised = max(merit[0] for merit in merits.values())
    near = [candidate for candidate, merit in merits.items() if merit[0] >= _NEAR * promised]
    return near[0] if promised > 0 else max(merits, key=lambda candidate: merits[candidate])


def _split_choice_folds(labels: Labels, rng: Generator) -> tuple[Labels, Labels]:
    """Return which outputs the choice is made on, and their folds."""
    kept = _sample_balanced_rows(labels, _CHOOSING, rng)
    # The labels take their turns separately, so that every fold holds as much of either.
    sides = [np.arange((labels[kept] == side).sum()) % _FOLDS for side in (1, 0)]
    return kept, np.concatenate(sides)


def _sample_balanced_rows(labels: Labels, most: int, rng: Generator) -> Labels:
    """Return which outputs are taken: of either label so many at random, 1 first."""
    sides = [rng.permutation(np.flatnonzero(labels == side))[:most] for side in (1, 0)]
    return np.concatenate(sides)


def _score_candidates_on_fold(
    candidates: Candidates,
    outputs: Array,
    labels: Labels,
    split: tuple[Array, Array],
    seed: int,
) -> Iterator[tuple[_Candidate, Array]]:
    """Yield every applicable candidate with its scores of the outputs it did not see."""
    train, test = split
    for name, (fit_map, models) in candidates.items():
        # Maps and scalings see the training folds alone: fitted on all outputs, a map that learns
        # too much would look good on the fold that judges it.
        features = fit_map(outputs[train], labels[train])
        if features is None:
            continue
        seen = features(outputs[train])
        scaling = _fit_standard_scaling(seen)
        seen, unseen = scaling(seen), scaling(features(outputs[test]))
        for model in models:
            if seen.shape[1] <= model.most:
                estimator = fit_quietly(model, seen, labels[train], seed)
                yield _Candidate(name, fit_map, model), compute_decision_scores(estimator, unseen)


def _measure_score_merit(scores: Array, labels: Labels) -> tuple[float, float]:
    """Return the promise of scores and, to decide a tie, how often one of label 1 is higher."""
    p, q = (np.sort(scores[labels == side]) for side in (1, 0))
    above = float(np.searchsorted(q, p).mean() + np.searchsorted(q, p, side="right").mean())
    # An event may favour either dataset; negated scores give the events of small ones.
    return max(
        _estimate_log_ratio_promise(p, q), _estimate_log_ratio_promise(-q[::-1], -p[::-1])
    ), above


def _estimate_log_ratio_promise(favoured: Array, other: Array) -> float:
    """Return the largest log-ratio of rates above a threshold, both a few errors worse than seen.

    The intervals are Wilson's (1927): an approximation is enough to compare candidates.
    """
    thresholds = np.unique(np.concatenate([favoured, other]))
    rates = [1 - np.searchsorted(side, thresholds) / len(side) for side in (favoured, other)]
    low = _wilson(rates[0], len(favoured), -_ERRORS)
    high = _wilson(rates[1], len(other), _ERRORS)
    # The lower end may be 0; the upper one never is.
    return max(0.0, float(np.log(np.maximum(low, 1e-300) / high).max()))


def _wilson(rate: Array, trials: int, errors: float) -> Array:
    square = errors**2 / trials
    root = np.sqrt(rate * (1 - rate) / trials * errors**2 + square**2 / 4)
    return np.asarray((rate + square / 2 + np.sign(errors) * root) / (1 + square))
