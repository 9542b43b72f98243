"""``dpaudit attack prediction-inversion``: raw tuples from a server's view of joined tables.

Both theorems' noise is on: Theorem 1's on the labels, and on every step of the clients Theorem 2's
for the whole run, ``sigma = c_2 sqrt(T ln(1/delta)) / epsilon`` with full batches, so that epsilon
is that of the run as published. The theorem does not give c_2; it is that of the audits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.random import default_rng
from pydantic import BaseModel, ConfigDict, Field

from dpaudit._typing import Array
from dpaudit.algorithms.tables.algorithm import TablesADMM
from dpaudit.algorithms.tables.clients import LocalSGD
from dpaudit.algorithms.tables.guarantees import ROUNDED_UP, compute_published_multiplier
from dpaudit.algorithms.tables.joined_tables import JoinedTables
from dpaudit.algorithms.tables.joining import KeyedTable, join_tables
from dpaudit.attacks.prediction_inversion.inversion import (
    Report,
    SubspaceReport,
    attack_known_models,
    attack_unknown_models,
    attack_with_known_tuples,
    errors_by_round,
)
from dpaudit.datasets import load
from dpaudit.errors import InvalidArgument
from dpaudit.execution import Progress, stream
from dpaudit.extension.attack import Cell, Findings
from dpaudit.plots import Curve, Panel

_SECOND_CONSTANT = 4.0  # c_2, which the theorem does not give; that of the audits
_CLOSE = 1e-3  # an error below it is a tuple read, not guessed


class PredictionInversionParameters(BaseModel):
    """The join, the noise that is switched on, and the server's knowledge."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    data: Literal["breast-cancer", "adult", "a9a"] = Field("breast-cancer", description="records")
    tuples: int = Field(400, ge=20, description="records that are joined")
    columns: int | None = Field(None, ge=2, description="of the attacked table (by default half)")
    iterations: int | None = Field(None, ge=1, description="rounds (by default the columns)")
    epsilon: float = Field(
        1.0, ge=1e-6, le=1e6, description="of label noise and, over the whole run, of DP-SGD"
    )
    delta: float = Field(1e-5, ge=1e-300, lt=1, description="of DP-SGD")
    known: int = Field(60, ge=1, description="tuples the server knows, in the third case")


def run(parameters: PredictionInversionParameters, seed: int, progress: Progress) -> Findings:
    """Return the errors of the three inversions, each next to that of knowing nothing.

    Raises
    ------
    InvalidArgument, DataError
        The data is not at hand, or has too few records or columns.

    Examples
    --------
    >>> from dpaudit.execution import Silent
    >>> found = run(PredictionInversionParameters(tuples=80, columns=4, known=10), 0, Silent())
    >>> found.rows[0]["error"] < 1e-6 < found.rows[0]["without the knowledge"]
    True
    """
    data, columns = _load_joined_tables(parameters, seed)
    if parameters.known >= data.features[0].shape[0]:
        expected = f"fewer than the {data.features[0].shape[0]} tuples"
        raise InvalidArgument("known", parameters.known, expected)
    rounds = parameters.iterations or columns
    algorithm = _make_private_tables_admm(parameters, rounds)
    names = ("known", "unknown", "tuples", "rounds")
    streams = [default_rng(stream(seed, name)) for name in names]
    progress.start("attacking", 4)
    known = attack_known_models(algorithm, data, 0, streams[0])
    progress.advance(1)
    unknown = attack_unknown_models(algorithm, data, 0, streams[1])
    progress.advance(1)
    some = attack_with_known_tuples(algorithm, data, 0, parameters.known, streams[2])
    progress.advance(1)
    # Two rounds more show whether the error stays at rounding once the rank is full. The noise
    # stays that of the shorter run.
    longer = replace(algorithm, iterations=rounds + 2)
    errors, control = errors_by_round(longer, data, 0, streams[3])
    progress.advance(1)
    return Findings(
        rows=[
            _make_inversion_row("models", "relative error of the tuples", known),
            _angle_row(unknown),
            _make_inversion_row(f"{parameters.known} tuples", "relative error of the others", some),
        ],
        reading=_format_inversion_reading(
            parameters, algorithm, InversionFindings(known, unknown, some)
        ),
        chance=f"every column's mean is off by {known.chance:.3g}",
        panels=(_make_inversion_panel(errors, control, known.chance),),
    )


@dataclass(frozen=True)
class InversionFindings:
    """The findings of a server that knows the models, nothing more, or some tuples."""

    models: Report
    space: SubspaceReport
    tuples: Report


def _format_inversion_reading(
    parameters: PredictionInversionParameters, algorithm: TablesADMM, found: InversionFindings
) -> list[str]:
    return [
        f"{algorithm.iterations} rounds, labels with Theorem 1's noise at epsilon = "
        f"{parameters.epsilon:g}, and in every step Theorem 2's for the whole run at epsilon = "
        f"{parameters.epsilon:g}, with c_2 = {_SECOND_CONSTANT:g}, which the "
        "theorem does not give.",
        *(
            _format_inversion_verdict(*one)
            for one in (("models", found.models), ("some tuples", found.tuples))
        ),
        _space_verdict(found.space),
    ]


def _format_inversion_verdict(knows: str, report: Report) -> str:
    """Return a report's verdict on the tuples.

    Examples
    --------
    >>> report = Report(relative_error=0.7, rank=3, needed=15, condition=9, control=1, chance=0.5)
    >>> _format_inversion_verdict("models", report)
    'Who knows models has rank 3 of the 15 needed: the tuples are not determined (error 0.7).'
    """
    start = f"Who knows {knows} has rank {report.rank} of the {report.needed} needed: "
    if not report.determined:
        return f"{start}the tuples are not determined (error {report.relative_error:.3g})."
    if report.relative_error > _CLOSE:
        worse = "rounding leaves an error of"
        return f"{start}the tuples are determined, but {worse} {report.relative_error:.3g}."
    return f"{start}the noise randomises the models and hides nothing of the tuples."


def _space_verdict(report: SubspaceReport) -> str:
    start = f"Who knows nothing more sees rank {report.rank} of the table's {report.true_rank}: "
    if report.angle > _CLOSE:
        return f"{start}its column space is off by up to {report.angle:.3g} radians."
    if report.rank < report.true_rank:
        return f"{start}a part of its column space, no more."
    return f"{start}its column space, all linear relations between tuples."


def _make_inversion_panel(errors: Array, control: Array, chance: float) -> Panel:
    rounds = list(range(1, len(errors) + 1))
    return Panel(
        title="the server knows the models",
        x_label="rounds",
        y_label="relative error of the tuples",
        curves=(
            Curve(label="inverted", x=rounds, y=errors.tolist()),
            Curve(label="with other models", x=rounds, y=control.tolist()),
            Curve(label="every column's mean", x=rounds, y=[chance] * len(rounds)),
        ),
        log_y=True,
    )


def _make_private_tables_admm(parameters: PredictionInversionParameters, rounds: int) -> TablesADMM:
    """Return the algorithm with both theorems' noise, Theorem 2's for so many rounds."""
    noise = compute_published_multiplier(
        epsilon=parameters.epsilon,
        delta=parameters.delta,
        steps=rounds,
        sampling_ratio=1.0,
        second_constant=_SECOND_CONSTANT,
    )
    sigma = ROUNDED_UP * noise
    solver = LocalSGD(steps=1, learning_rate=1.0, clip_norm=1.0, noise_multiplier=sigma)
    return TablesADMM(iterations=rounds, solver=solver, label_epsilon=parameters.epsilon)


def _load_joined_tables(
    parameters: PredictionInversionParameters, seed: int
) -> tuple[JoinedTables, int]:
    given = load(parameters.data)
    if parameters.tuples > len(given.labels):
        expected = f"at most the {len(given.labels)} records"
        raise InvalidArgument("tuples", parameters.tuples, expected)
    width = given.features.shape[1]
    columns = width // 2 if parameters.columns is None else parameters.columns
    if columns >= width:
        raise InvalidArgument("columns", columns, f"fewer than the {width} there are")
    rows = default_rng(stream(seed, "rows")).permutation(len(given.labels))[: parameters.tuples]
    features, key = given.features[rows], {"person": np.arange(len(rows))}
    halves = [
        KeyedTable("attacked", features[:, :columns], key),
        KeyedTable("other", features[:, columns:], key),
    ]
    return join_tables(halves, given.labels[rows]), columns


def _make_inversion_row(knows: str, what: str, report: Report) -> dict[str, Cell]:
    return {
        "server knows": knows,
        "measured": what,
        "error": report.relative_error,
        "without the knowledge": report.control,
        "rank": report.rank,
        "rank needed": report.needed,
        "condition": report.condition,
    }


def _angle_row(report: SubspaceReport) -> dict[str, Cell]:
    return {
        "server knows": "nothing more",
        "measured": "largest angle to the column space",
        "error": report.angle,
        "without the knowledge": report.chance,
        "rank": report.rank,
        "rank needed": report.true_rank,
        "condition": None,
    }
