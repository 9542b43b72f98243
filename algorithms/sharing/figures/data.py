"""The vertically split problems of hu2020's figures: a9a, and gisette or a stand-in for it.

Which files hu2020's figures read: what ``--data``, else the directory ``DPAUDIT_DATA``, holds.

| figure | what is given               | a9a                           | gisette                |
|--------|-----------------------------|-------------------------------|------------------------|
| 1      | a directory                 | ``a9a`` and ``a9a.t`` in it   | not needed             |
| 1      | ``a9a`` or ``a9a.t``        | both of the file's directory  | not needed             |
| 2      | a directory                 | not needed                    | in it, else a stand-in |
| 2      | another file                | not needed                    | that file              |
| 3      | a directory                 | ``a9a`` and ``a9a.t`` in it   | in it, else a stand-in |
| 3      | ``a9a`` or ``a9a.t``        | both of the file's directory  | there, else a stand-in |
| 3      | another file                | beside it if both are there,  | that file              |
|        |                             | else as if nothing were given |                        |

In a directory gisette is called ``gisette_scale`` or ``gisette``. Its test records are read from a
file of the same name with ``.t`` at its end, if that is there. A path that does not exist is
refused.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.random import Generator, default_rng

from dpaudit._typing import Array
from dpaudit.algorithms.sharing.fdml import fit_centralised_logistic
from dpaudit.algorithms.sharing.vertical import Risk
from dpaudit.datasets import Dataset, a9a, libsvm, subset
from dpaudit.datasets.sources import DATA_VARIABLE, as_path
from dpaudit.errors import DataError, InvalidArgument
from dpaudit.execution import stream
from dpaudit.reproduction.result import FigureRequest

_A9A = ("a9a", "a9a.t")
_GISETTE = ("gisette_scale", "gisette")
_EXPECTED = f"gisette's file, or a directory, with {' or '.join(_GISETTE)} in it if it is there"


def gisette_file(data_path: str | None) -> Path | None:
    """Return gisette's file, None where a directory, or nothing at all, is given without it.

    Raises
    ------
    InvalidArgument
        The path does not exist, or it is one of a9a's files.
    """
    # A variable that is set to the empty string counts as unset, as shells cannot always unset one.
    given = os.environ.get(DATA_VARIABLE) or None if data_path is None else data_path
    if given is None:
        return None
    name, place = "data_path" if data_path is not None else DATA_VARIABLE, as_path(given)
    if place.is_file() and place.name not in _A9A:
        return place
    if not place.is_dir():
        raise InvalidArgument(name, str(place), _EXPECTED)
    return next((place / each for each in _GISETTE if (place / each).is_file()), None)


def census_place(data_path: str | None) -> str | None:
    """Return where a9a is looked for: one of its files stands for its directory.

    Raises
    ------
    InvalidArgument
        It is another file.
    """
    place = None if data_path is None else as_path(data_path)
    if place is None or not place.is_file():
        return data_path
    if place.name not in _A9A:
        expected = f"a directory with {' and '.join(_A9A)}, or one of these"
        raise InvalidArgument("data_path", str(place), expected)
    return str(place.parent)


def find_data_places(data_path: str | None) -> tuple[str | None, str | None]:
    """Return where a9a, and where gisette, is looked for by a figure that needs both."""
    place = None if data_path is None else as_path(data_path)
    if place is None or not place.is_file():
        return data_path, data_path
    beside = str(place.parent)
    if place.name in _A9A:
        return beside, beside
    return (beside if _has_a9a(place.parent) else None), str(place)


def _has_a9a(directory: Path) -> bool:
    return all((directory / name).is_file() for name in _A9A)


A9A_BLOCKS = (66, 57)
GISETTE_BLOCKS = (2000, 2000, 1000)
_FEW = 1000  # training records unless the full size is asked for
_PATTERNS = 10
_PRESENT = 0.13


@dataclass(frozen=True, kw_only=True, eq=False)
class FigureProblem:
    """Training and test records, split over parties, and the risk that is minimised.

    Parameters
    ----------
    title
        What panels call it.
    train, test
        Records with the same features.
    blocks
        How many columns each party owns.
    batch_sizes
        What is tried for FDML; fewer samples need smaller batches for as many steps an epoch.
    regulariser
        ``lambda`` in units of 1/N; 1 is scikit-learn's default, C = 1.
    """

    title: str
    train: Dataset
    test: Dataset
    blocks: tuple[int, ...]
    batch_sizes: tuple[int, ...] = (1, 4, 16)
    regulariser: float = 1.0

    @property
    def samples(self) -> int:
        """``N``."""
        return len(self.train.labels)

    @property
    def risk(self) -> Risk:
        """The mean logistic loss with an L2 regulariser."""
        return Risk(regulariser_weight=self.regulariser / self.samples)

    @cached_property
    def mean_squared_norm(self) -> float:
        """Mean squared norm of a training record, the unit of step sizes and of noise."""
        return float(np.mean(np.sum(self.train.features**2, axis=1)))

    @cached_property
    def central(self) -> Array:
        """The model trained centrally on all features, shape ``(1, d)``."""
        return fit_centralised_logistic(self.train, self.risk)

    @cached_property
    def first_party_model(self) -> Array:
        """The model trained on the first party's features, shape ``(1, d)``."""
        return fit_centralised_logistic(self.train, self.risk, slice(0, self.blocks[0]))

    def objective(self, models: Array) -> Array:
        """Return the training objective of models ``(R, d)``."""
        return self.risk.value(models, self.train)

    def test_loss(self, models: Array) -> Array:
        """Return the test log loss of models ``(R, d)``."""
        return self.risk.mean_loss(models, self.test)

    def parameters(self) -> dict[str, object]:
        """Return the parameters of the data."""
        return {
            "data": self.title,
            "training samples": self.samples,
            "test samples": len(self.test.labels),
            "features": self.train.dimension,
            "block_sizes": list(self.blocks),
            "batch sizes tried": list(self.batch_sizes),
            "regulariser_weight": self.risk.regulariser_weight,
        }


def census(request: FigureRequest) -> FigureProblem:
    """Return a9a: the first 66 features and the other 57."""
    place = census_place(request.data_path)
    train, test = (a9a(place, split=split) for split in ("train", "test"))
    return FigureProblem(
        title="a9a", train=train, test=test, blocks=A9A_BLOCKS, batch_sizes=(16, 128)
    )


def wide(request: FigureRequest) -> tuple[FigureProblem, tuple[str, ...]]:
    """Return gisette where its file is, else a stand-in, and the remarks for its reader."""
    file = gisette_file(request.data_path)
    if file is not None:
        return _load_gisette_problem(file, request)
    samples, blocks = (6000, GISETTE_BLOCKS) if request.full else (_FEW, (400, 400, 200))
    rng = default_rng(stream(request.seed, "stand-in"))
    train, test = stand_in(samples, 1000, sum(blocks), rng)
    title = f"synthetic stand-in for gisette, {samples:,} x {sum(blocks):,}"
    note = (
        "gisette was not given (--data: its file, or a directory with gisette_scale): the wide "
        "data are synthetic, "
        f"{samples:,} training and 1,000 test records of {sum(blocks):,} features. As in gisette "
        "scaled to [-1, 1], 87 % of the values are -1 and half of the columns say nothing about "
        f"the label; the other half follow {_PATTERNS} random patterns. The judgements on wide "
        "data are about these records."
    )
    return FigureProblem(title=title, train=train, test=test, blocks=blocks), (note,)


def stand_in(samples: int, tests: int, features: int, rng: Generator) -> tuple[Dataset, Dataset]:
    """Return training and test records made to look like gisette's scaled to [-1, 1].

    The label is the sign of the sum of normal patterns plus noise. A feature of the first kind is a
    random mixture of the patterns plus noise, one of the second kind only noise; both are cut off
    below, so that 13 % of the values are above the least, and the least becomes -1.

    Examples
    --------
    >>> train, test = stand_in(6, 4, 10, default_rng(0))
    >>> train.features.shape, test.features.shape, float(train.features.min())
    ((6, 10), (4, 10), -1.0)
    """
    count = samples + tests
    patterns = rng.standard_normal((count, _PATTERNS))
    mixtures = rng.standard_normal((_PATTERNS, features)) / np.sqrt(_PATTERNS)
    mixtures[:, rng.permutation(features)[: features // 2]] = 0.0
    values = patterns @ mixtures + 0.5 * rng.standard_normal((count, features))
    values /= values.std(axis=0)
    np.maximum(values - np.quantile(values, 1 - _PRESENT, axis=0), 0.0, out=values)
    values = 2 * values / values.max(axis=0) - 1
    score = patterns.sum(axis=1) + 0.5 * rng.standard_normal(count)
    labels = np.where(score > 0, 1.0, -1.0)
    return (
        Dataset(values[:samples], labels[:samples], name="gisette stand-in"),
        Dataset(values[samples:], labels[samples:], name="gisette stand-in, test"),
    )


def _load_gisette_problem(
    file: Path, request: FigureRequest
) -> tuple[FigureProblem, tuple[str, ...]]:
    features = sum(GISETTE_BLOCKS)
    train = libsvm(file, features, scaled=False)
    test_file = file.with_name(f"{file.name}.t")
    if test_file.is_file():
        test, note = libsvm(test_file, features, scaled=False), f"Test records: {test_file.name}."
    elif len(train.labels) < 7:
        raise DataError(f"{file}: found {len(train.labels)} records, expected gisette's 6,000")
    else:
        # Gisette has 6,000 training and 1,000 test records, so a seventh keeps its proportion.
        kept = len(train.labels) * 6 // 7
        note = f"No {test_file.name}: the last seventh of {file.name} is held out as the test set."
        test = Dataset(train.features[kept:], train.labels[kept:], name="gisette, held out")
        train = Dataset(train.features[:kept], train.labels[:kept], name="gisette")
    title = "gisette"
    if not request.full and len(train.labels) > _FEW:
        train = subset(train, _FEW, default_rng(stream(request.seed, "gisette")))
        title = f"gisette, {_FEW:,} training records"
    return FigureProblem(title=title, train=train, test=test, blocks=GISETTE_BLOCKS), (note,)
