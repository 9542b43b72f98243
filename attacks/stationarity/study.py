"""``dpaudit attack stationarity``: how close the attack comes to a missing record.

The exact recovery of a missing record from one or two iterations without noise, as a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.random import SeedSequence
from pydantic import BaseModel, ConfigDict, Field

from dpaudit._typing import Array
from dpaudit.attacks.stationarity.figures import make_cosine_panels
from dpaudit.attacks.stationarity.inversion import Conditions, recover_missing_record
from dpaudit.attacks.stationarity.likelihood import INTEGRATED, KNOWN
from dpaudit.attacks.stationarity.measures import chance_quantile, label_of
from dpaudit.attacks.stationarity.runs import (
    AVERAGED,
    GUESSED_NORM,
    MEAN,
    UNIFORM,
    Row,
    Run,
    Setting,
    build_closeness_table,
    estimate_of,
    runs_of,
)
from dpaudit.datasets import load
from dpaudit.datasets.dataset import Dataset
from dpaudit.errors import InvalidArgument, MechanismError
from dpaudit.execution import Progress
from dpaudit.extension.attack import Cell, Findings

EXACT_TO = 1e-6  # relative error of what counts as recovered
_LEAST_PRIVATE = 3  # features: two planes of fewer share more than a line


@dataclass(frozen=True)
class _ObservationCase:
    """The number of iterations that are seen, and whether the penalties are."""

    iterations: int
    private: bool

    def seen(self, run: Run) -> Conditions:
        """Return the attacker's view of a run."""
        begun = run.conditions.first(self.iterations)
        return begun.private() if self.private else begun


_CASES = (_ObservationCase(1, False), _ObservationCase(2, False), _ObservationCase(2, True))


def measure_noiseless_rows(
    setting: Setting, runs: int, seed: int, people: Dataset | None
) -> list[dict[str, Cell]]:
    """Return a line for one iteration, for two, and for two without the penalties.

    A run counts as undecided where one iteration allows two norms, or no record explains what was
    seen.

    Raises
    ------
    InvalidArgument
        More than one record is missing.
    """
    if setting.missing > 1:
        raise InvalidArgument("missing", setting.missing, "1: without noise one record is found")
    # Two iterations are all that exact recovery looks at.
    quiet = replace(setting, noise_rate=None, iterations=2)
    drawn = list(runs_of(quiet, runs, seed, people))
    cases = [c for c in _CASES if not c.private or setting.dimension >= _LEAST_PRIVATE]
    return [_make_noiseless_row(case, drawn) for case in cases]


def _make_noiseless_row(
    case: _ObservationCase, drawn: Sequence[tuple[Run, SeedSequence]]
) -> dict[str, Cell]:
    found = [_find_missing_record(case.seen(run)) for run, _ in drawn]
    wanted = [run.record for run, _ in drawn]
    guesses = [estimate_of(run, MEAN, np.random.default_rng(own)) for run, own in drawn]
    errors = [_compute_relative_error(*pair) for pair in zip(found, wanted, strict=True)]
    told = [error for error in errors if np.isfinite(error)]
    guessed = [_compute_relative_error(*pair) for pair in zip(guesses, wanted, strict=True)]
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


def _find_missing_record(conditions: Conditions) -> Array | None:
    try:
        return recover_missing_record(conditions).record
    except MechanismError:
        return None


def _compute_relative_error(found: Array | None, wanted: Array) -> float:
    """Return the relative error, infinite where nothing was found."""
    if found is None:
        return float("inf")
    return float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted))


def _labels_right(found: Sequence[Array | None], wanted: Sequence[Array]) -> float:
    pairs = zip(found, wanted, strict=True)
    return float(np.mean([f is not None and label_of(f) == label_of(w) for f, w in pairs]))


def noiseless_reading(rows: Sequence[dict[str, Cell]], setting: Setting) -> list[str]:
    """Return the reading of the table.

    Examples
    --------
    >>> row = {"T": 1, "penalties": "known", "recovered": 1.0}
    >>> noiseless_reading([row], Setting())[0]
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
    if not setting.participates:
        words.append("The record takes no part: another one is found, and none of this is of it.")
    return words


_SHORT = {
    AVERAGED: "averaged",
    KNOWN: "likelihood",
    INTEGRATED: "private eta",
    MEAN: "known mean",
    UNIFORM: "guess",
}
_DRAWN = "drawn"
# Beyond, the noise, or the record, is lost to rounding.
_LEAST_RATE = 1e-6
_LARGEST_RATE = 1e12


class StationarityParameters(BaseModel):
    """Public parameters of the run that is attacked, and how often it is."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    algorithm: Literal["PP", "DVP", "M-ADMM"] = Field(
        "PP", description="DVP: eta = theta; M-ADMM: no noise, and one or two iterations are seen"
    )
    iterations: list[int] = Field(
        [25, 100, 200], min_length=1, description="T, several; of PP and DVP"
    )
    noise_rates: list[float] = Field(
        [0.3, 3.0, 30.0], min_length=1, description="alpha, several; of PP and DVP"
    )
    runs: int = Field(6, ge=1, le=1000, description="independent runs, each with its own record")
    nodes: int = Field(5, ge=2, description="N")
    records: int = Field(50, ge=2, description="B, of every node")
    dimension: int = Field(10, ge=2, description="d, of records that are drawn")
    loss_weight: float = Field(50.0, ge=1e-6, le=1e6, description="C")
    data: Literal["drawn", "breast-cancer", "adult", "a9a"] = Field(
        "drawn", description="records: drawn ones, whose features may be negative, or real ones"
    )
    missing: int = Field(1, ge=1, description="m, records of a node that are wanted")
    norm: float = Field(1.0, gt=0, le=1, description="of the missing records, of drawn ones")
    shorter: list[float] = Field(
        [0.3, 0.6],
        description="norms of drawn records that are tried too, at the largest alpha and T",
    )
    record: Literal["takes part", "does not"] = Field(
        "takes part", description="'does not' is a control that reveals nothing"
    )


def run(parameters: StationarityParameters, seed: int, progress: Progress) -> Findings:
    """Return cosine, norm error and label of every estimator, or the noise-free recovery.

    Cosines and norm errors are medians, labels the share of right ones.

    Raises
    ------
    InvalidArgument, DataError
        A number of iterations is below 1, a rate or a norm outside its domain, there are too few
        records, or the data is not at hand.

    Examples
    --------
    >>> from dpaudit.execution import Silent
    >>> small = StationarityParameters(
    ...     iterations=[8], noise_rates=[100.0], runs=1, records=10, dimension=3, shorter=[]
    ... )
    >>> list(run(small, 0, Silent()).rows[0])[:5]
    ['alpha', 'T', 'norm', 'averaged', 'likelihood']
    """
    _require(parameters)
    people = None if parameters.data == _DRAWN else load(parameters.data)
    if parameters.algorithm == "M-ADMM":
        return _without_noise(parameters, people, seed, progress)
    return _with_noise(parameters, people, seed, progress)


def _require(parameters: StationarityParameters) -> None:
    if min(parameters.iterations) < 1:
        raise InvalidArgument("iterations", parameters.iterations, "integers, at least 1")
    if not all(_LEAST_RATE <= rate <= _LARGEST_RATE for rate in parameters.noise_rates):
        expected = f"numbers above 0, from {_LEAST_RATE:g} to {_LARGEST_RATE:g}"
        raise InvalidArgument("noise_rates", parameters.noise_rates, expected)
    if not all(0 < norm <= 1 for norm in parameters.shorter):
        raise InvalidArgument("shorter", parameters.shorter, "numbers in (0, 1]")
    if parameters.data != _DRAWN and parameters.norm != 1:
        raise InvalidArgument("norm", parameters.norm, "1 unless records are drawn")


def _make_attack_setting(
    parameters: StationarityParameters, people: Dataset | None, norm: float
) -> Setting:
    setting = Setting(
        nodes=parameters.nodes,
        records=parameters.records,
        dimension=parameters.dimension if people is None else people.dimension,
        loss_weight=parameters.loss_weight,
        missing=parameters.missing,
        norm=norm,
        participates=parameters.record == "takes part",
    )
    return replace(setting, spread=1.0, growth=1.0) if parameters.algorithm == "DVP" else setting


def _without_noise(
    parameters: StationarityParameters, people: Dataset | None, seed: int, progress: Progress
) -> Findings:
    progress.start("attacking", 1)
    setting = _make_attack_setting(parameters, people, parameters.norm)
    rows = measure_noiseless_rows(setting, parameters.runs, seed, people)
    progress.advance(1)
    return Findings(
        rows=rows,
        reading=noiseless_reading(rows, setting),
        chance="who has seen nothing guesses the mean of the known records: the columns known mean",
    )


def _with_noise(
    parameters: StationarityParameters, people: Dataset | None, seed: int, progress: Progress
) -> Findings:
    setting, rates = (
        _make_attack_setting(parameters, people, parameters.norm),
        parameters.noise_rates,
    )
    settings = [(parameters.norm, rate, parameters.iterations) for rate in rates]
    if people is None:
        longest = [max(parameters.iterations)]
        settings += [(norm, max(rates), longest) for norm in parameters.shorter]
    progress.start("attacking", len(settings))
    by_norm: list[tuple[float, list[Row]]] = []
    for norm, rate, iterations in settings:
        rows = build_closeness_table(
            _make_attack_setting(parameters, people, norm),
            iterations=iterations,
            rates=[rate],
            runs=parameters.runs,
            seed=seed,
            estimators=_choose_estimators(parameters),
            people=people,
        )
        by_norm.append((norm, rows))
        progress.advance(1)
    main = [row for _, rows in by_norm[: len(rates)] for row in rows]
    lines = [
        line
        for norm, rows in by_norm
        for line in _build_stationarity_rows(rows, None if people else norm)
    ]
    seeing = [row for row in main if row.estimator in (AVERAGED, KNOWN, INTEGRATED)]
    return Findings(
        rows=lines,
        reading=_format_stationarity_reading(parameters, main, lines),
        chance=_format_chance_level(parameters, setting.dimension),
        panels=make_cosine_panels(seeing, setting.dimension),
    )


def _choose_estimators(parameters: StationarityParameters) -> tuple[str, ...]:
    """Return who guesses: the averaged estimate finds one record, DVP has no private penalty."""
    one = () if parameters.missing > 1 else (AVERAGED,)
    private = () if parameters.algorithm == "DVP" else (INTEGRATED,)
    return (*one, KNOWN, *private, MEAN, UNIFORM)


def _build_stationarity_rows(rows: Iterable[Row], norm: float | None) -> list[dict[str, Cell]]:
    """Return a line for each alpha and T; norm errors of those who say a norm.

    The known records' norm is no guess where all but the missing ones are drawn with norm 1.
    """
    silent = {AVERAGED, MEAN} if norm is not None else {AVERAGED}
    by_setting: dict[tuple[float, int], list[Row]] = {}
    for row in rows:
        by_setting.setdefault((row.noise_rate, row.iterations), []).append(row)
    lines = []
    for (rate, length), own in by_setting.items():
        line: dict[str, Cell] = {"alpha": rate, "T": length}
        line |= {} if norm is None else {"norm": norm}
        line |= {_SHORT[row.estimator]: row.median for row in own}
        sized = [row for row in own if row.estimator not in silent]
        line |= {f"norm error, {_SHORT[row.estimator]}": row.norm_error for row in sized}
        told = [row for row in own if row.right_labels is not None]
        line |= {f"label, {_SHORT[row.estimator]}": row.right_labels for row in told}
        lines.append(line)
    return lines


def _format_chance_level(parameters: StationarityParameters, dimension: int) -> str:
    if parameters.data != _DRAWN or parameters.missing > 1:
        return "what the columns known mean and guess say, of who has seen no broadcast"
    reach = chance_quantile(0.05, dimension)
    return f"a guess has a cosine above {reach:.3f} once in twenty"


def _format_stationarity_reading(
    parameters: StationarityParameters, main: Sequence[Row], lines: Sequence[dict[str, Cell]]
) -> list[str]:
    private = "" if parameters.algorithm == "DVP" else "private eta integrates them out, "
    words = [
        "Median cosines with the missing record: averaged and likelihood know the penalties, "
        f"{private}known mean and guess have seen no broadcast.",
        _format_best_estimator(main),
        *_format_median_reliability(main),
    ]
    if parameters.data == _DRAWN:
        words += _format_norm_findings(parameters, lines)
        words.append("Features may be negative: y x is all that can be found, without the label.")
    else:
        words.append(
            "Norm errors are medians, relative; labels are the shares of right ones. Who has seen "
            "no broadcast says the mean of the known records, or 2/3 and a label at random."
        )
    return words


def _format_best_estimator(rows: Sequence[Row]) -> str:
    top = max(rows, key=lambda row: row.median)
    return (
        f"Best: {_SHORT[top.estimator]}, median cosine {top.median:.3f} at alpha = "
        f"{top.noise_rate:g} after {top.iterations} iterations."
    )


def _format_median_reliability(rows: Sequence[Row]) -> list[str]:
    """Return how far medians of so few runs are to be trusted, where averaging seems ahead."""
    by_name = {(r.estimator, r.noise_rate, r.iterations): r for r in rows}
    ahead = []
    for (name, *setting), row in by_name.items():
        other = by_name.get((KNOWN, *setting))  # type: ignore[arg-type]
        if name == AVERAGED and other is not None and row.median > other.median:
            ahead.append(np.subtract(other.cosines, row.cosines))
    if not ahead or len(ahead[0]) < 2:
        return []
    errors = [d.std(ddof=1) / np.sqrt(len(d)) for d in ahead]
    most = max((-d.mean() / e for d, e in zip(ahead, errors, strict=True) if e > 0), default=0.0)
    lines = f"{len(ahead)} of {len(by_name) // len({r.estimator for r in rows})} lines"
    apart = "" if most >= 2 else "; so few runs do not tell the two apart"
    return [
        f"Averaged has the larger median than likelihood in {lines}: over the {len(ahead[0])} runs "
        f"its cosine is ahead by {max(0.0, most):.1f} standard errors of the mean difference at "
        f"most{apart}."
    ]


def _format_norm_findings(
    parameters: StationarityParameters, lines: Sequence[dict[str, Cell]]
) -> list[str]:
    """Return the findings on the norm, at the largest alpha and T."""
    alpha, longest = max(parameters.noise_rates), max(parameters.iterations)
    own = [line for line in lines if (line["alpha"], line["T"]) == (alpha, longest)]
    found = "; ".join(
        f"{line['norm']:g}: {line['norm error, likelihood']:.2f}, "
        f"{line['norm error, guess']:.2f} by a guess"
        for line in own
    )
    return [
        "Median relative error of the norm, by likelihood, at "
        f"alpha = {alpha:g} and T = {longest}, for a norm of {found}.",
        "At norm 1, the edge of the search and the norm of the known records, a small error says "
        f"nothing. A guess says {GUESSED_NORM:.2f}: if every norm in (0, 1] is as likely, it is "
        "off by 1/3 half of the time.",
    ]
