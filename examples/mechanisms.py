"""Mechanisms as people write them, each broken and repaired; data, and what leaks where.

None knows this package: they take data and return what people return. All that an audit takes
beside them is a line of `AUDITS`.

    python examples/mechanisms.py                     what there is
    python examples/mechanisms.py words clamping      audits these, broken and repaired
    python examples/mechanisms.py all
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter

import numpy as np
import pandas as pd
from numpy.random import laplace as global_laplace
from sklearn.base import BaseEstimator

import dpaudit

TABLE = pd.DataFrame({"g": ["a", "a", "b"], "x": [0.2, 0.7, 0.9]})
WITHOUT_B = TABLE.iloc[:2]
VALUES, MOVED = np.array([0.0, 0.4, 0.6, 1.0]), np.array([1.0, 0.4, 0.6, 1.0])
TEXTS, OTHER_TEXTS = ["a cat", "a dog", "cat"], ["a cat", "a dog"]
X = np.array([[0.1, 0.2], [0.3, 0.1], [0.9, 0.8], [0.7, 0.9]])
LABELS, ODD_LABELS = np.array([0, 0, 1, 1]), np.array([0, 0, 1, 7])
BINS = np.array([0.0, 0.25, 0.5, 0.75, 1.0])


def laplace(rng, scale, size=None):
    return rng.laplace(scale=scale, size=size)


# Groups


def group_means(data, rng):
    return (data.groupby("g")["x"].mean() + laplace(rng, 50)).to_dict()


def group_sums_of_all_towns(data, rng):
    sums = data.groupby("g")["x"].sum()
    return {g: sums.get(g, 0.0) + laplace(rng, 1) for g in ("a", "b")}


def mean_of_a_group(data, rng):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(data.loc[data["g"] == "b", "x"].mean()) + laplace(rng, 50)


def sum_of_a_group(data, rng):
    return float(data.loc[data["g"] == "b", "x"].sum()) + laplace(rng, 1)


# Histograms


def histogram_with_a_forgotten_bin(data, rng):
    counts = np.histogram(data, BINS)[0].astype(float)
    counts[:-1] += laplace(rng, 2, len(counts) - 1)
    return counts


def histogram(data, rng):
    return np.histogram(data, BINS)[0] + laplace(rng, 2, len(BINS) - 1)


def bins_of_the_data(data, rng):
    counts, edges = np.histogram(data, 2)
    return {"counts": counts + laplace(rng, 2, 2), "edges": edges}


def bins_of_the_domain(data, rng):
    counts, edges = np.histogram(data, 2, range=(0.0, 1.0))
    return {"counts": counts + laplace(rng, 2, 2), "edges": edges}


# Sums, means, quantiles


def noise_divided_twice(data, trials, rng):
    return data.sum() + laplace(rng, 1.0 / 2, trials)


def noisy_sum(data, trials, rng):
    return data.sum() + laplace(rng, 1.0, trials)


def noise_of_a_mean_for_a_sum(data):
    return data.sum() + global_laplace(scale=1.0 / len(data))  # noqa: NPY002


def global_noise(data):
    return data.sum() + global_laplace(scale=1.0)  # noqa: NPY002


def clamped_to_its_range(data, rng):
    return np.clip(data.mean() + laplace(rng, 0.25), data.min(), data.max())


def clamped_to_the_domain(data, rng):
    return np.clip(data.mean() + laplace(rng, 0.25), 0.0, 1.0)


def exact_median(data, rng):
    return float(np.median(data)) if rng.random() < 0.9 else rng.random()


def median_by_exponential_mechanism(data, rng):
    scores = [-abs((data < one).sum() - len(data) / 2) for one in BINS]
    weights = np.exp(np.array(scores) / 2)
    return float(rng.choice(BINS, p=weights / weights.sum()))


# Text, counts, categories


def words_that_occur(texts, rng):
    counts = Counter(word for text in texts for word in set(text.split()))
    return {word: n + laplace(rng, 3) for word, n in counts.items()}


def words_of_a_list(texts, rng):
    counts = Counter(word for text in texts for word in set(text.split()))
    return {word: counts[word] + laplace(rng, 3) for word in ("cat", "dog", "bird")}


def most_common_word(texts, rng):
    counts = Counter(word for text in texts for word in text.split())
    return counts["cat"] + round(laplace(rng, 0.3)) > 1


def enough_cats(texts, rng):
    return bool(sum("cat" in text for text in texts) + laplace(rng, 1) > 1.5)


# Variable lengths, sets, dates


def those_above_a_threshold(data, rng):
    return [float(one) for one in data + laplace(rng, 5, len(data)) if abs(one) < 100]


def padded_to_ten(data, rng):
    kept = [float(one) for one in data[:10]] + [0.0] * (10 - len(data[:10]))
    return list(np.array(kept) + laplace(rng, 1, 10))


def sample_without_noise(data, rng):
    return {int(one) for one in rng.choice(len(data), 2, replace=False)}


def sample_of_a_fixed_size(data, rng):
    return {int(one) for one in rng.choice(4, 2, replace=False)}


# Models


class MeanClassifier(BaseEstimator):
    """Noisy class means; its classes are those of the data."""

    classes = None

    def fit(self, features, labels):
        self.classes_ = np.unique(labels) if self.classes is None else np.array(self.classes)
        means = [features[labels == one].sum(axis=0) for one in self.classes_]
        self.theta_ = np.array(means) + global_laplace(scale=8.0, size=np.shape(means))  # noqa: NPY002
        return self


class MeanClassifierOfKnownClasses(MeanClassifier):
    """The same with the classes of the domain."""

    classes = (0, 1, 7)


def gradient_noise_divided_twice(data, rng):
    """One step of DP-SGD: clipped to 1, averaged, noise of multiplier 2 divided by n twice."""
    norms = np.maximum(1.0, np.linalg.norm(data, axis=1, keepdims=True))
    return {"step": ((data / norms).sum(axis=0) + rng.normal(0, 2.0 / len(data), 2)) / len(data)}


def gradient(data, rng):
    norms = np.maximum(1.0, np.linalg.norm(data, axis=1, keepdims=True))
    return {"step": ((data / norms).sum(axis=0) + rng.normal(0, 10.0, 2)) / 4}


# Synthetic tables


def synthetic_rows(data, rng):
    rows = data.sample(n=2, replace=True, random_state=int(rng.integers(2**32)))
    return rows.reset_index(drop=True)


def synthetic_from_noisy_counts(data, rng):
    counts = np.maximum(0, [(data["g"] == g).sum() + laplace(rng, 1) for g in "ab"]) + 1e-9
    drawn = rng.choice(["a", "b"], 2, p=counts / counts.sum())
    return pd.DataFrame({"g": drawn})


# Exceptions, warnings, budgets


def fails_on_what_is_rare(data, rng):
    if (data == 0).any():
        raise ValueError("cannot take the logarithm of zero")
    return laplace(rng, 1)


def fails_by_chance(data, rng):
    if rng.random() < 0.2:
        raise ValueError("no luck")
    return laplace(rng, 1)


def warns_of_outliers(data, rng):
    if data.max() > data.mean() + 0.45:
        warnings.warn("an outlier", stacklevel=1)
    return data.sum() + laplace(rng, 1)


def warns_always(data, rng):
    warnings.warn("noisy", stacklevel=1)
    return data.sum() + laplace(rng, 1)


class SpendsTwice:
    def sample(self, data, trials, rng):
        return data.sum() + np.stack([laplace(rng, 1, trials) for _ in range(2)], axis=1)


class SpendsOnce:
    def sample(self, data, trials, rng):
        return data.sum() + np.stack([laplace(rng, 2, trials) for _ in range(2)], axis=1)


def threshold_of_the_data(data, rng):
    return next((k for k, one in enumerate(data) if one + laplace(rng, 0.1) > 0.8), None)


def threshold_of_a_query(data, rng):
    limit = 2.0 + laplace(rng, 2)
    return next((k for k in range(4) if data[: k + 1].sum() + laplace(rng, 4) > limit), None)


AUDITS = {
    "group means": (group_means, group_sums_of_all_towns, (TABLE, WITHOUT_B), {}),
    "an empty group": (mean_of_a_group, sum_of_a_group, (TABLE, WITHOUT_B), {}),
    "a forgotten bin": (histogram_with_a_forgotten_bin, histogram, (VALUES, MOVED), {}),
    "edges of the data": (bins_of_the_data, bins_of_the_domain, (VALUES[1:], VALUES), {}),
    "noise divided twice": (noise_divided_twice, noisy_sum, (VALUES, MOVED), {}),
    "noise of a mean": (noise_of_a_mean_for_a_sum, global_noise, (VALUES, MOVED), {}),
    "clamping": (clamped_to_its_range, clamped_to_the_domain, (VALUES, MOVED), {}),
    "a median": (exact_median, median_by_exponential_mechanism, (VALUES[:3], VALUES), {}),
    "words": (words_that_occur, words_of_a_list, (TEXTS, [*OTHER_TEXTS, "a bird"]), {}),
    "a question": (most_common_word, enough_cats, (TEXTS, OTHER_TEXTS), {}),
    "lengths": (those_above_a_threshold, padded_to_ten, (VALUES, VALUES[:3]), {}),
    "a sample": (sample_without_noise, sample_of_a_fixed_size, (VALUES, VALUES[:3]), {}),
    "class lists": (
        MeanClassifier(),
        MeanClassifierOfKnownClasses(),
        ((X, LABELS), (X, ODD_LABELS)),
        {},
    ),
    "one model": (
        MeanClassifier,
        MeanClassifierOfKnownClasses,
        ((X, LABELS), (X, ODD_LABELS)),
        {"read": "classes_"},
    ),
    "a gradient": (gradient_noise_divided_twice, gradient, (X, X[:3]), {}),
    "synthetic tables": (synthetic_rows, synthetic_from_noisy_counts, (TABLE, WITHOUT_B), {}),
    "exceptions": (
        fails_on_what_is_rare,
        fails_by_chance,
        (VALUES, MOVED),
        {"observe": "exceptions"},
    ),
    "warnings": (warns_of_outliers, warns_always, (VALUES, MOVED), {"observe": "warnings"}),
    "a budget": (SpendsTwice(), SpendsOnce(), (VALUES, MOVED), {}),
    "a threshold": (threshold_of_the_data, threshold_of_a_query, (VALUES[::-1], MOVED[::-1]), {}),
}
# Where it leaks: the part that the refutation names.
PARTS = {
    "group means": "output[#",
    "an empty group": "output",
    "a forgotten bin": "output[3]",
    "edges of the data": "edges[0]",
    "noise divided twice": "output",
    "noise of a mean": "output",
    "clamping": "output",
    "a median": "output",
    "words": "output[#",
    "a question": "output",
    "lengths": "len",
    "a sample": "output[",
    "class lists": "classes_",
    "one model": "classes_",
    "a gradient": "step",
    "synthetic tables": "g[",
    "exceptions": "output",
    "warnings": "warnings",
    "a budget": "output",
    "a threshold": "output",
}


def audited(name, trials=2000):
    """Return the results of a mechanism that is broken and of the repaired one."""
    *both, (dataset, neighbour), given = AUDITS[name]
    return [
        dpaudit.audit(one, dataset, neighbour, epsilon=1.0, trials=trials, **given) for one in both
    ]


def main(names):
    if unknown := [name for name in names if name not in AUDITS and name != "all"]:
        sys.exit(f"there is no {unknown[0]!r}; there are: {', '.join(AUDITS)}")
    if not names:
        print(*AUDITS, sep="\n")
    for name in AUDITS if "all" in names else names:
        for kind, result in zip(("broken", "repaired"), audited(name), strict=True):
            print(f"{name}, {kind}: {result.verdict}")
            if result.witness is not None:
                print(f"  {result.witness.sentence}")


if __name__ == "__main__":
    main(sys.argv[1:])
