"""The exact recovery of a missing record from one or two iterations without noise, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from attacks.stationarity import Conditions
from attacks.stationarity_exact import recovered
from attacks.stationarity_measures import label_of
from attacks.stationarity_study import MEAN, Run, Study, estimate_of, runs_of
from dpaudit.datasets.dataset import Dataset
from dpaudit.errors import InvalidArgument, MechanismError
from dpaudit.study import Cell

Array = NDArray[np.float64]

EXACT_TO = 1e-6  # relative error of what counts as recovered
_LEAST_PRIVATE = 3  # features: two planes of fewer share more than a line


@dataclass(frozen=True)
class _Case:
    """How many iterations are seen, and whether the penalties are."""

    iterations: int
    private: bool

    def seen(self, run: Run) -> Conditions:
        """Return what the attacker has of a run."""
        begun = run.conditions.first(self.iterations)
        return begun.private() if self.private else begun


_CASES = (_Case(1, False), _Case(2, False), _Case(2, True))


def noiseless(study: Study, runs: int, seed: int, people: Dataset | None) -> list[dict[str, Cell]]:
    """Return a line for one iteration, for two, and for two without the penalties.

    A run counts as undecided where one iteration allows two norms, or no record explains what was
    seen.

    Raises
    ------
    InvalidArgument
        More than one record is missing.
    """
    if study.missing > 1:
        raise InvalidArgument("missing", study.missing, "1: without noise one record is found")
    quiet = replace(study, noise_rate=None, iterations=2)
    drawn = list(runs_of(quiet, runs, seed, people))
    cases = [c for c in _CASES if not c.private or study.dimension >= _LEAST_PRIVATE]
    return [_line(case, drawn) for case in cases]


def _line(case: _Case, drawn: Sequence[tuple[Run, SeedSequence]]) -> dict[str, Cell]:
    found = [_found(case.seen(run)) for run, _ in drawn]
    wanted = [run.record for run, _ in drawn]
    guesses = [estimate_of(run, MEAN, np.random.default_rng(own)) for run, own in drawn]
    errors = [_error(*pair) for pair in zip(found, wanted, strict=True)]
    told = [error for error in errors if np.isfinite(error)]
    guessed = [_error(*pair) for pair in zip(guesses, wanted, strict=True)]
    line: dict[str, Cell] = {
        "T": case.iterations,
        "penalties": "private" if case.private else "known",
        "recovered": float(np.mean([error <= EXACT_TO for error in errors])),
        "undecided": 1 - len(told) / len(errors),
        "largest error": max(told, default=None),
        "error of known mean": float(np.median(guessed)),
    }
    if drawn[0][0].non_negative:
        line["label"] = _labels_right(found, wanted)
        line["label of known mean"] = _labels_right(guesses, wanted)
    return line


def _found(conditions: Conditions) -> Array | None:
    try:
        return recovered(conditions).record
    except MechanismError:
        return None


def _error(found: Array | None, wanted: Array) -> float:
    """Return the relative error, infinite where nothing was found."""
    if found is None:
        return float("inf")
    return float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted))


def _labels_right(found: Sequence[Array | None], wanted: Sequence[Array]) -> float:
    pairs = zip(found, wanted, strict=True)
    return float(np.mean([f is not None and label_of(f) == label_of(w) for f, w in pairs]))


def noiseless_reading(rows: Sequence[dict[str, Cell]], study: Study) -> list[str]:
    """Return what the table says.

    Examples
    --------
    >>> row = {"T": 1, "penalties": "known", "recovered": 1.0}
    >>> noiseless_reading([row], Study())[0]
    'Without noise: recovered to 1e-06 relative error from T = 1 with known penalties.'
    """
    whole = [
        f"T = {row['T']} with {row['penalties']} penalties"
        for row in rows
        if row["recovered"] == 1.0
    ]
    all_of = "; ".join(whole) if whole else "no number of iterations here in every run"
    words = [f"Without noise: recovered to {EXACT_TO:g} relative error from {all_of}."]
    if any(row.get("undecided") for row in rows):
        words.append(
            "Undecided: one iteration allows two norms, which the second tells apart, or no record "
            "explains what was seen; labels count as wrong there."
        )
    if not study.participates:
        words.append("The record takes no part: another one is found, and none of this is of it.")
    return words
