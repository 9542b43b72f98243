"""``dpaudit attack canary-audit``: a bound on multi-step DP-ADMM from one run with canaries."""

from __future__ import annotations

import itertools
from typing import Literal

from numpy.random import default_rng
from pydantic import BaseModel, ConfigDict, Field

from dpaudit.algorithms.multistep.algorithm import MultiStepADMM
from dpaudit.algorithms.problems.losses import loss_called
from dpaudit.attacks.canaries.audit import (
    CanaryAudit,
    Score,
    calibrate_multistep,
    claim_of,
    one_run_audit,
)
from dpaudit.attacks.canaries.records import Canaries, orthogonal_canaries
from dpaudit.attacks.canaries.scores import BroadcastLikelihood, Likelihood, Margin
from dpaudit.datasets import Dataset, load, split_evenly
from dpaudit.errors import InvalidArgument
from dpaudit.execution import Progress, stream
from dpaudit.execution.ledger import get_current_ledger
from dpaudit.extension.attack import Cell, Findings, get_column_numbers
from dpaudit.plots import Curve, Panel

# Of what is proved: beyond, a run's noise is all, or nothing.
_LEAST = 1e-6
_MOST = 1e6


class CanaryParameters(BaseModel):
    """The runs, the canaries, and the attacker's view."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    epsilons: list[float] = Field(
        [1.0, 4.0, 10.0], min_length=1, description="proved, one run each"
    )
    delta: float = Field(1e-5, gt=0, lt=1, description="of the guarantee")
    canaries: int = Field(
        300,
        ge=20,
        description="records that a coin decides on, at most as many as there are others",
    )
    data: Literal["breast-cancer", "adult", "a9a"] = Field("breast-cancer", description="records")
    nodes: int = Field(10, ge=2, description="N")
    iterations: int = Field(10, ge=1, description="t")
    inner_steps: int = Field(5, ge=1, description="l")
    loss: Literal["hinge", "logistic"] = Field("hinge", description="of the run")
    partner: Literal["flipped", "empty"] = Field(
        "flipped", description="what stands in for a canary: its label flipped, or nothing"
    )
    view: Literal["inner", "broadcast", "final"] = Field(
        "inner", description="what the attacker sees; only inner uses all the guarantee is about"
    )
    confidence: float = Field(0.95, gt=0, lt=1, description="of each lower bound")


def run(parameters: CanaryParameters, seed: int, progress: Progress) -> Findings:
    """Return a line for each epsilon: the certified lower bound of one run.

    Raises
    ------
    InvalidArgument, DataError
        An epsilon is not above 0, there are more canaries than records, or the data is not at hand.

    Examples
    --------
    >>> from dpaudit.execution import Silent
    >>> found = run(CanaryParameters(epsilons=[10.0], canaries=200), 0, Silent())
    >>> 1 < found.rows[0]["certified"] < found.rows[0]["proved"]
    True
    """
    rng = default_rng(stream(seed, "canaries"))
    records = load(parameters.data)
    _require(parameters, len(records.labels))
    data = split_evenly(records, parameters.nodes, rng)
    canaries = orthogonal_canaries(data, parameters.canaries, rng, partner=parameters.partner)
    progress.start("one run each", len(parameters.epsilons))
    rows = []
    for epsilon in parameters.epsilons:
        given = parameters, epsilon, data, canaries, seed
        # The ledger calls the function before the loop goes on, so binding `given` late does no
        # harm.
        rows.append(
            get_current_ledger().fact(
                "row",
                lambda: _make_canary_row(_audit_at_epsilon(*given)),  # noqa: B023
                given,
            )
        )
        progress.advance(1)
    return Findings(
        rows=rows,
        reading=[
            f"One run each, {len(canaries)} canaries; certified at {parameters.confidence:.6g} "
            "confidence, whatever the scores are; if Gaussian assumes the shape of the curve.",
            *_format_canary_remarks(parameters, rows),
        ],
        chance="guesses that know nothing certify 0, but for the error probability",
        panels=(_make_canary_panel(rows),),
    )


def _require(parameters: CanaryParameters, records: int) -> None:
    """Refuse settings that would take long to fail later, or that leave no number."""
    if parameters.canaries > records:
        expected = f"at most as many as the {records} records they are put among"
        raise InvalidArgument("canaries", parameters.canaries, expected)
    if not all(_LEAST <= epsilon <= _MOST for epsilon in parameters.epsilons):
        expected = f"numbers above 0, from {_LEAST:g} to {_MOST:g}"
        raise InvalidArgument("epsilons", parameters.epsilons, expected)


def _format_canary_remarks(parameters: CanaryParameters, rows: list[dict[str, Cell]]) -> list[str]:
    """Return remarks on a view that tells little, or less as the claim allows more.

    Examples
    --------
    >>> rows = [{"proved": 1.0, "certified": 0.0}, {"proved": 4.0, "certified": 0.0}]
    >>> _format_canary_remarks(CanaryParameters(view="final"), rows)
    ['The final view certifies nothing at a proved epsilon of 1, 4.']
    """
    empty = [f"{row['proved']:.4g}" for row in rows if row["certified"] == 0]
    ordered = sorted(
        zip(get_column_numbers(rows, "proved"), get_column_numbers(rows, "certified"), strict=True)
    )
    values = [certified for _, certified in ordered]
    words = []
    if empty:
        where = ", ".join(empty)
        words.append(
            f"The {parameters.view} view certifies nothing at a proved epsilon of {where}."
        )
    if any(later < earlier for earlier, later in itertools.pairwise(values)):
        words.append(
            "A larger proved epsilon certifies less somewhere: each line is one run, whose luck "
            "it shows."
        )
    return words


def _make_canary_panel(rows: list[dict[str, Cell]]) -> Panel:
    names = ("proved", "certified", "if Gaussian")
    proved = get_column_numbers(rows, "proved")
    curves = tuple(Curve(label=name, x=proved, y=get_column_numbers(rows, name)) for name in names)
    return Panel(title="one run each", x_label="proved", y_label="epsilon", curves=curves)


def _audit_at_epsilon(
    parameters: CanaryParameters, epsilon: float, data: Dataset, canaries: Canaries, seed: int
) -> CanaryAudit:
    algorithm = calibrate_multistep(
        epsilon,
        parameters.delta,
        parameters.nodes,
        iterations=parameters.iterations,
        inner_steps=parameters.inner_steps,
        loss=loss_called(parameters.loss),
    )
    mechanism = algorithm.broadcast() if parameters.view == "broadcast" else algorithm.inner()
    return one_run_audit(
        mechanism,
        _choose_canary_score(parameters, algorithm, data),
        data,
        canaries,
        claim_of(algorithm, parameters.partner),
        delta=parameters.delta,
        confidence=parameters.confidence,
        # A stream of its own keeps every line the same whichever other epsilons are asked for.
        rng=default_rng(stream(seed, f"run at {epsilon!r}")),
    )


def _choose_canary_score(
    parameters: CanaryParameters, algorithm: MultiStepADMM, data: Dataset
) -> Score:
    match parameters.view:
        case "inner":
            return Likelihood(algorithm, data)
        case "broadcast":
            return BroadcastLikelihood(algorithm, data)
        case "final":
            return Margin()


def _make_canary_row(found: CanaryAudit) -> dict[str, Cell]:
    return {
        "proved": found.claimed,
        "certified": found.lower,
        "if Gaussian": found.if_gaussian,
        "guesses": found.guesses,
        "right": found.correct,
        "p-value of the claim": found.p_value,
    }
