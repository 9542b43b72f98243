"""``dpaudit attack stationarity``: the cosine with the missing record against T and alpha."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from attacks.stationarity_likelihood import INTEGRATED, KNOWN
from attacks.stationarity_measures import chance_quantile
from attacks.stationarity_study import AVERAGED, MEAN, UNIFORM, Study
from attacks.stationarity_tables import Row, panels, table
from dpaudit.errors import InvalidArgument
from dpaudit.execution import Progress
from dpaudit.study import Findings

_SHORT = {
    AVERAGED: "averaged",
    KNOWN: "likelihood",
    INTEGRATED: "private eta",
    MEAN: "known mean",
    UNIFORM: "guess",
}


_READING = (
    "Median cosines with the missing record: averaged and likelihood know the penalties, private "
    "eta integrates them out, known mean and guess have seen no broadcast."
)


class Parameters(BaseModel):
    """Public parameters of the run that is attacked, and how often it is."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    iterations: list[int] = Field([25, 100, 200], min_length=1, description="T, several")
    noise_rates: list[float] = Field([0.3, 3.0, 30.0], min_length=1, description="alpha, several")
    runs: int = Field(6, ge=1, le=1000, description="independent runs, each with its own record")
    nodes: int = Field(5, ge=2, description="N")
    records: int = Field(50, ge=2, description="B, of every node")
    dimension: int = Field(10, ge=2, description="d")
    loss_weight: float = Field(50.0, gt=0, description="C")
    record: Literal["takes part", "does not"] = Field(
        "takes part", description="'does not' is a control that reveals nothing"
    )


def run(parameters: Parameters, seed: int, progress: Progress) -> Findings:
    """Return median cosines and norm errors for every T, alpha and estimator.

    Raises
    ------
    InvalidArgument
        A number of iterations is below 1, or a rate not above 0.

    Examples
    --------
    >>> from dpaudit.execution import Silent
    >>> small = Parameters(iterations=[8], noise_rates=[100.0], runs=1, records=10, dimension=3)
    >>> list(run(small, 0, Silent()).rows[0])[:4]
    ['alpha', 'T', 'averaged', 'likelihood']
    """
    if min(parameters.iterations) < 1:
        raise InvalidArgument("iterations", parameters.iterations, "integers, at least 1")
    if not min(parameters.noise_rates) > 0:
        raise InvalidArgument("noise_rates", parameters.noise_rates, "numbers above 0")
    rows: list[Row] = []
    progress.start("attacking", len(parameters.noise_rates))
    for rate in parameters.noise_rates:
        rows += table(
            _study(parameters),
            iterations=parameters.iterations,
            rates=[rate],
            runs=parameters.runs,
            seed=seed,
            estimators=(AVERAGED, KNOWN, INTEGRATED, MEAN, UNIFORM),
        )
        progress.advance(1)
    reach = chance_quantile(0.05, parameters.dimension)
    drawn = [row for row in rows if row.estimator in (AVERAGED, KNOWN, INTEGRATED)]
    return Findings(
        rows=_pivoted(rows),
        reading=[_READING, _best(rows)],
        chance=f"a guess has a cosine above {reach:.3f} once in twenty",
        panels=panels(drawn, parameters.dimension),
    )


def _study(parameters: Parameters) -> Study:
    return Study(
        nodes=parameters.nodes,
        records=parameters.records,
        dimension=parameters.dimension,
        loss_weight=parameters.loss_weight,
        participates=parameters.record == "takes part",
    )


def _pivoted(rows: list[Row]) -> list[dict[str, float | int | str | None]]:
    """Return a line for each alpha and T: the median cosine of every estimator."""
    lines: dict[tuple[float, int], dict[str, float | int | str | None]] = {}
    for row in rows:
        start = {"alpha": row.noise_rate, "T": row.iterations}
        line = lines.setdefault((row.noise_rate, row.iterations), dict(start))
        line[_SHORT[row.estimator]] = row.median
    return list(lines.values())


def _best(rows: list[Row]) -> str:
    top = max(rows, key=lambda row: row.median)
    return (
        f"Best: {_SHORT[top.estimator]}, median cosine {top.median:.3f} at alpha = "
        f"{top.noise_rate:g} after {top.iterations} iterations."
    )
