"""``dpaudit attack membership-inference``: was a record in the data, told by final models alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from numpy.random import Generator, SeedSequence, default_rng
from pydantic import BaseModel, ConfigDict, Field

from dpaudit.algorithms.problems.losses import loss_called
from dpaudit.algorithms.sharing.fdml import FDML
from dpaudit.attacks.canaries.audit import calibrate_multistep
from dpaudit.attacks.membership.inference import MembershipInference, infer_membership
from dpaudit.attacks.membership.targets import (
    Chosen,
    Target,
    calibrate_tables_admm,
    fdml_target,
    multistep_target,
    split_columns,
    split_columns_evenly,
    tables_target,
)
from dpaudit.datasets import load, split_evenly
from dpaudit.errors import InvalidArgument
from dpaudit.execution import Progress, stream
from dpaudit.execution.ledger import get_current_ledger
from dpaudit.extension.attack import Cell, Findings, get_column_numbers
from dpaudit.plots import Curve, Panel

Algorithm = Literal["multi-step", "fdml", "tables"]

_SCALE = "start scale"
_PROVED = "proved epsilon"
# Of what is proved: beyond, a run's noise is nothing, or all.
_SMALLEST = 1e-6
_LARGEST = 1e6
_LONGEST = 1e100  # of first models
_STEP = 1.0  # of FDML


class MembershipParameters(BaseModel):
    """The algorithm, the record, and how often it is run."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    algorithm: Algorithm = Field(
        "multi-step", description="what is run: multi-step DP-ADMM, FDML, or joined tables"
    )
    epsilons: list[float] = Field(
        [1.0, 4.0, 10.0], min_length=1, description="proved, several; FDML has none"
    )
    start_scales: list[float] = Field(
        [0.0, 0.1, 1.0], min_length=1, description="of FDML's first models, several: its only noise"
    )
    delta: float = Field(1e-5, gt=0, lt=1, description="of the guarantee")
    data: Literal["breast-cancer", "adult", "a9a"] = Field("breast-cancer", description="records")
    record: Chosen = Field(
        "crafted", description="a unit record where the data has least variance, or one of the data"
    )
    nodes: int = Field(3, ge=2, description="N of multi-step DP-ADMM")
    parties: int = Field(2, ge=1, description="of FDML, and tables, the columns dealt out in order")
    iterations: int = Field(10, ge=1, description="t; epochs of FDML, rounds of tables")
    inner_steps: int = Field(5, ge=1, description="l; a client's steps in a round of tables")
    batch_size: int | None = Field(50, ge=1, description="of FDML; none for all records")
    loss: Literal["hinge", "logistic"] = Field("hinge", description="of multi-step DP-ADMM")
    shadow_runs: int = Field(400, ge=10, description="on each dataset, that set the thresholds")
    runs: int = Field(1000, ge=10, description="on each dataset, that are counted")
    target_rate: float = Field(0.05, gt=0, lt=1, description="false-positive rate of TPR")
    confidence: float = Field(0.95, gt=0, lt=1, description="of all intervals of a line together")


def run(parameters: MembershipParameters, seed: int, progress: Progress) -> Findings:
    """Return a line for each amount of noise: advantage and TPR, next to their limits.

    Raises
    ------
    InvalidArgument, DataError
        An epsilon is not above 0, a scale is below 0, there are too few columns, or the data is not
        at hand.

    Examples
    --------
    >>> from dpaudit.execution import Silent
    >>> small = MembershipParameters(
    ...     epsilons=[8.0], iterations=2, inner_steps=1, shadow_runs=50, runs=100
    ... )
    >>> row = run(small, 0, Silent()).rows[0]
    >>> row["lower"] <= row["advantage"] <= row["upper"], row["lower"] < row["at most"]
    (True, True)
    """
    noise = _list_noise_amounts(parameters)
    rng = default_rng(stream(seed, "data"))
    progress.start("attacking", len(noise))
    rows = []
    for amount, target in zip(
        noise, _build_membership_targets(parameters, noise, rng), strict=True
    ):
        given = parameters, target, stream(seed, f"runs at {amount!r}")
        rows.append(
            get_current_ledger().fact("row", lambda: _make_membership_line(amount, *given), given)  # noqa: B023
        )
        progress.advance(1)
    return Findings(
        rows=rows,
        reading=_format_membership_reading(parameters),
        chance=f"advantage 0, and a TPR of {parameters.target_rate:g}, as the FPR",
        panels=(_make_membership_panel(_choose_noise_axis(parameters), rows),),
    )


def _make_membership_line(
    amount: float, parameters: MembershipParameters, target: Target[Any], seed: SeedSequence
) -> dict[str, Cell]:
    return _make_membership_row(
        _choose_noise_axis(parameters),
        amount,
        _run_membership_attack(parameters, target, default_rng(seed)),
    )


def _choose_noise_axis(parameters: MembershipParameters) -> str:
    return _SCALE if parameters.algorithm == "fdml" else _PROVED


def _list_noise_amounts(parameters: MembershipParameters) -> list[float]:
    """Return the differences of the lines: scales of FDML's start, or proved epsilons."""
    if parameters.algorithm == "fdml":
        scales = parameters.start_scales
        if not all(0 <= scale <= _LONGEST for scale in scales):
            raise InvalidArgument("start_scales", scales, f"numbers from 0 to {_LONGEST:g}")
        return scales
    if not all(_SMALLEST <= epsilon <= _LARGEST for epsilon in parameters.epsilons):
        expected = f"numbers above 0, from {_SMALLEST:g} to {_LARGEST:g}"
        raise InvalidArgument("epsilons", parameters.epsilons, expected)
    return parameters.epsilons


def _build_membership_targets(
    parameters: MembershipParameters, noise: list[float], rng: Generator
) -> Iterator[Target[Any]]:
    """Yield the targets at every amount of noise, on the same data."""
    data, record = load(parameters.data), parameters.record
    match parameters.algorithm:
        case "multi-step":
            split = split_evenly(data, parameters.nodes, rng)
            for epsilon in noise:
                algorithm = calibrate_multistep(
                    epsilon,
                    parameters.delta,
                    parameters.nodes,
                    iterations=parameters.iterations,
                    inner_steps=parameters.inner_steps,
                    loss=loss_called(parameters.loss),
                )
                yield multistep_target(algorithm, split, record)
        case "fdml":
            blocks = split_columns_evenly(data.dimension, parameters.parties)
            for scale in noise:
                yield fdml_target(_make_fdml_target(parameters, blocks, scale), data, record)
        case "tables":
            tables = split_columns(data, parameters.parties)
            for epsilon in noise:
                private = calibrate_tables_admm(
                    epsilon,
                    parameters.delta,
                    tables.tables,
                    iterations=parameters.iterations,
                    local_steps=parameters.inner_steps,
                )
                yield tables_target(private, tables, record)


def _make_fdml_target(
    parameters: MembershipParameters, blocks: tuple[int, ...], scale: float
) -> FDML:
    return FDML(
        block_sizes=blocks,
        epochs=parameters.iterations,
        batch_size=parameters.batch_size,
        step_size=_STEP,
        start_scale=scale,
    )


def _run_membership_attack(
    parameters: MembershipParameters, target: Target[Any], rng: Generator
) -> MembershipInference:
    return infer_membership(
        target.train,
        target.pair,
        target.claim,
        shadow_trials=parameters.shadow_runs,
        trials=parameters.runs,
        target_rate=parameters.target_rate,
        confidence=parameters.confidence,
        record=target.record,
        record_loss=target.loss,
        rng=rng,
    )


def _make_membership_row(axis: str, amount: float, found: MembershipInference) -> dict[str, Cell]:
    lower, advantage, upper = found.best.advantage
    hit = found.rare.true_positive
    return {
        axis: amount,
        "advantage": advantage,
        "lower": lower,
        "upper": upper,
        "at most": found.advantage_bound,
        "FPR": found.rare.false_positive.estimate,
        "TPR": hit.estimate,
        "TPR lower": hit.lower,
        "TPR upper": hit.upper,
        "TPR at most": found.rare.power_bound,
    }


_SEEN: dict[Algorithm, str] = {
    "multi-step": "The attacker sees the nodes' final models; out is the record with its other "
    "label. What is allowed is for an attacker that sees every step; the final models show less.",
    "fdml": "The attacker sees all parties' final models; out is the record with its other label. "
    "FDML adds no noise and nothing is proved: every rate is allowed, and all that may hide a "
    "record are the first models and the order of the samples.",
    "tables": "The attacker sees all clients' final models; out is the tuple turned round. What is "
    "allowed is for one that sees all models after every local step, not for the server, which "
    "sees the predictions and for which nothing is proved.",
}


def _format_membership_reading(parameters: MembershipParameters) -> list[str]:
    model = {"multi-step": "its node's final model", "tables": "its owner's final model"}
    under = model.get(parameters.algorithm, "the final model")
    return [
        f"In is said where the record's loss under {under} is small: advantage "
        "is TPR - FPR at the best threshold of shadow runs, TPR that at the threshold with FPR "
        f"{parameters.target_rate:g}; lower to upper hold at {parameters.confidence:.6g} "
        "confidence.",
        _SEEN[parameters.algorithm],
    ]


def _make_membership_panel(axis: str, rows: list[dict[str, Cell]]) -> Panel:
    amounts = get_column_numbers(rows, axis)
    low, high = get_column_numbers(rows, "lower"), get_column_numbers(rows, "upper")
    found = Curve(
        label="found", x=amounts, y=get_column_numbers(rows, "advantage"), low=low, high=high
    )
    allowed = Curve(label="at most", x=amounts, y=get_column_numbers(rows, "at most"))
    chance = Curve(label="chance", x=amounts, y=[0.0] * len(rows))
    return Panel(
        title="membership in the final models",
        x_label=axis,
        y_label="advantage",
        curves=(found, allowed, chance),
    )
