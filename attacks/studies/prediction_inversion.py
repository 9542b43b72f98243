"""``dpaudit attack prediction-inversion``: raw tuples from a server's view of joined tables."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.random import default_rng
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from algorithms.joined_tables import JoinedTables
from algorithms.joining import KeyedTable, join
from algorithms.tables import TablesADMM
from algorithms.tables_clients import LocalSGD
from attacks.prediction_inversion import (
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
from dpaudit.panels import Curve, Panel
from dpaudit.study import Findings

Array = NDArray[np.float64]


class Parameters(BaseModel):
    """The join, the noise that is switched on, and what the server knows."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    data: Literal["breast-cancer", "adult", "a9a"] = Field("breast-cancer", description="records")
    tuples: int = Field(400, ge=20, description="records that are joined")
    columns: int | None = Field(None, ge=2, description="of the attacked table (by default half)")
    iterations: int | None = Field(None, ge=1, description="rounds (by default the columns)")
    epsilon: float = Field(1.0, gt=0, description="of label noise and of DP-SGD, both switched on")
    delta: float = Field(1e-5, gt=0, lt=1, description="of DP-SGD")
    known: int = Field(60, ge=1, description="tuples the server knows, in the third case")


def run(parameters: Parameters, seed: int, progress: Progress) -> Findings:
    """Return the errors of the three inversions, each next to what knowing nothing gives.

    Raises
    ------
    InvalidArgument, DataError
        The data is not at hand, or has too few records or columns.

    Examples
    --------
    >>> from dpaudit.execution import Silent
    >>> found = run(Parameters(tuples=80, columns=4, known=10), 0, Silent())
    >>> found.rows[0]["error"] < 1e-6 < found.rows[0]["without the knowledge"]
    True
    """
    data, columns = _joined(parameters, seed)
    rounds = parameters.iterations or columns
    algorithm = TablesADMM(
        iterations=rounds, solver=_private(parameters), label_epsilon=parameters.epsilon
    )
    if parameters.known >= data.features[0].shape[0]:
        expected = f"fewer than the {data.features[0].shape[0]} tuples"
        raise InvalidArgument("known", parameters.known, expected)
    names = ("known", "unknown", "tuples", "rounds")
    streams = [default_rng(stream(seed, name)) for name in names]
    progress.start("attacking", 4)
    known = attack_known_models(algorithm, data, 0, streams[0])
    progress.advance(1)
    unknown = attack_unknown_models(algorithm, data, 0, streams[1])
    progress.advance(1)
    some = attack_with_known_tuples(algorithm, data, 0, parameters.known, streams[2])
    progress.advance(1)
    longer = replace(algorithm, iterations=rounds + 2)
    errors, control = errors_by_round(longer, data, 0, streams[3])
    progress.advance(1)
    rows = [
        _row("models", "relative error of the tuples", known),
        _angle_row(unknown),
        _row(f"{parameters.known} tuples", "relative error of the others", some),
    ]
    return Findings(
        rows=rows,
        reading=[
            f"{rounds} rounds, {columns} columns, label and feature noise at epsilon = "
            f"{parameters.epsilon:g}: the noise randomises the models and hides nothing of the "
            "tuples."
        ],
        chance=f"every column's mean is off by {known.chance:.3g}",
        panels=(_panel(errors, control, known.chance),),
    )


def _panel(errors: Array, control: Array, chance: float) -> Panel:
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


def _private(parameters: Parameters) -> LocalSGD:
    """Return DP-SGD with the classical Gaussian noise of one release, per step."""
    noise = math.sqrt(2 * math.log(1.25 / parameters.delta)) / parameters.epsilon
    return LocalSGD(steps=1, learning_rate=1.0, clip_norm=1.0, noise_multiplier=noise)


def _joined(parameters: Parameters, seed: int) -> tuple[JoinedTables, int]:
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
    return join(halves, given.labels[rows]), columns


def _row(knows: str, what: str, report: Report) -> dict[str, float | int | str | None]:
    return {
        "server knows": knows,
        "measured": what,
        "error": report.relative_error,
        "without the knowledge": report.control,
        "rank": report.rank,
        "condition": report.condition,
    }


def _angle_row(report: SubspaceReport) -> dict[str, float | int | str | None]:
    return {
        "server knows": "nothing more",
        "measured": "largest angle to the column space",
        "error": report.angle,
        "without the knowledge": report.chance,
        "rank": report.rank,
        "condition": None,
    }
