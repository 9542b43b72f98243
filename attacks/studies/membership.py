"""``dpaudit attack membership-inference``: was a record in the data, told by final models alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.random import Generator, default_rng
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from algorithms.losses import loss_called
from algorithms.multistep import MultiStepADMM, final_model
from attacks.canaries import calibrated, claim_of
from attacks.membership import MeanMarginLoss, MembershipInference, infer_membership
from dpaudit.datasets import Dataset, load, split_evenly
from dpaudit.errors import InvalidArgument
from dpaudit.execution import Progress, stream
from dpaudit.neighbours import REPLACE_LABEL, Pair
from dpaudit.panels import Curve, Panel
from dpaudit.study import Cell, Findings, numbers

Array = NDArray[np.float64]

_BLOCK = 100  # runs in memory at once
_ROW = 0


class Parameters(BaseModel):
    """The algorithm, the record, and how often it is run."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    epsilons: list[float] = Field([1.0, 4.0, 10.0], min_length=1, description="proved, several")
    delta: float = Field(1e-5, gt=0, lt=1, description="of the guarantee")
    data: Literal["breast-cancer", "adult", "a9a"] = Field("breast-cancer", description="records")
    record: Literal["crafted", "real"] = Field(
        "crafted", description="a unit record where the data has least variance, or one of the data"
    )
    nodes: int = Field(3, ge=2, description="N")
    iterations: int = Field(10, ge=1, description="t")
    inner_steps: int = Field(5, ge=1, description="l")
    loss: Literal["hinge", "logistic"] = Field("hinge", description="of the run")
    shadow_runs: int = Field(400, ge=10, description="on each dataset, that set the thresholds")
    runs: int = Field(1000, ge=10, description="on each dataset, that are counted")
    target_rate: float = Field(0.05, gt=0, lt=1, description="false-positive rate of TPR")
    confidence: float = Field(0.95, gt=0, lt=1, description="of all intervals of a line together")


@dataclass(frozen=True)
class NodeLoss:
    """The logistic loss of a record under the final model of the node that may hold it.

    Examples
    --------
    >>> models = np.array([[[1.0, 0.0], [3.0, 0.0]]])
    >>> NodeLoss(1)(models, np.array([1.0, 0.0]), 1.0).round(4)
    array([0.0486])
    """

    node: int

    def __call__(self, models: Array, features: Array, label: float) -> Array:
        """Return the loss of ``(features, label)`` in every run, shape ``(R,)``."""
        return MeanMarginLoss()(models[:, self.node], features, label)


def run(parameters: Parameters, seed: int, progress: Progress) -> Findings:
    """Return a line for each epsilon: advantage and TPR, next to what the guarantee allows.

    Raises
    ------
    InvalidArgument, DataError
        An epsilon is not above 0, or the data is not at hand.

    Examples
    --------
    >>> from dpaudit.execution import Silent
    >>> small = Parameters(epsilons=[8.0], iterations=2, inner_steps=1, shadow_runs=50, runs=100)
    >>> row = run(small, 0, Silent()).rows[0]
    >>> row["lower"] <= row["advantage"] <= row["upper"], row["lower"] < row["at most"]
    (True, True)
    """
    if not min(parameters.epsilons) > 0:
        raise InvalidArgument("epsilons", parameters.epsilons, "numbers above 0")
    rng = default_rng(stream(seed, "data"))
    pair = mislabelled(
        split_evenly(load(parameters.data), parameters.nodes, rng), parameters.record
    )
    progress.start("attacking", len(parameters.epsilons))
    rows = []
    for epsilon in parameters.epsilons:
        rows.append(_row(epsilon, _attacked(parameters, epsilon, pair, seed)))
        progress.advance(1)
    return Findings(
        rows=rows,
        reading=[
            "In is said where the record's loss under its node's final model is small: advantage "
            "is TPR - FPR at the best threshold of shadow runs, TPR that at the threshold with FPR "
            f"{parameters.target_rate:g}; lower to upper hold at {parameters.confidence:.6g} "
            "confidence.",
            "What is allowed is for an attacker that sees every step; the final models show less.",
        ],
        chance=f"advantage 0, and a TPR of {parameters.target_rate:g}, as the FPR",
        panels=(_panel(parameters.epsilons, rows),),
    )


def _panel(epsilons: list[float], rows: list[dict[str, Cell]]) -> Panel:
    low, high = numbers(rows, "lower"), numbers(rows, "upper")
    found = Curve(label="found", x=epsilons, y=numbers(rows, "advantage"), low=low, high=high)
    allowed = Curve(label="at most", x=epsilons, y=numbers(rows, "at most"))
    chance = Curve(label="chance", x=epsilons, y=[0.0] * len(epsilons))
    return Panel(
        title="membership in the final models",
        x_label="proved epsilon",
        y_label="advantage",
        curves=(found, allowed, chance),
    )


def mislabelled(data: Dataset, record: str) -> Pair[Dataset]:
    """Return data with a record of the other label at the first node, and with the right one.

    Examples
    --------
    >>> data = Dataset([[1.0, 0.0], [0.8, 0.1]], [1, 1])
    >>> mislabelled(data, "real").dataset.labels.tolist()
    [-1.0, 1.0]
    >>> abs(mislabelled(data, "crafted").dataset.features[0]).round(1).tolist()
    [0.0, 1.0]
    """
    features, label = data.features[_ROW], float(data.labels[_ROW])
    if record == "crafted":
        features = np.linalg.svd(data.features, full_matrices=False)[2][-1]
    inside, outside = (data.with_record(_ROW, features, sign * label) for sign in (-1, 1))
    return Pair(inside, outside, REPLACE_LABEL)


def _attacked(
    parameters: Parameters, epsilon: float, pair: Pair[Dataset], seed: int
) -> MembershipInference:
    algorithm = calibrated(
        epsilon,
        parameters.delta,
        parameters.nodes,
        iterations=parameters.iterations,
        inner_steps=parameters.inner_steps,
        loss=loss_called(parameters.loss),
    )
    return infer_membership(
        _Train(algorithm),
        pair,
        claim_of(algorithm, "flipped"),
        shadow_trials=parameters.shadow_runs,
        trials=parameters.runs,
        target_rate=parameters.target_rate,
        confidence=parameters.confidence,
        record_loss=NodeLoss(pair.dataset.node_of(_ROW)),
        rng=default_rng(stream(seed, f"runs at {epsilon!r}")),
    )


@dataclass(frozen=True)
class _Train:
    """The final models of runs; of the steps before, no more than a block's are kept."""

    algorithm: MultiStepADMM

    def __call__(self, dataset: Dataset, trials: int, rng: Generator) -> Array:
        """Return the final models, shape ``(trials, n, d)``."""
        seen = self.algorithm.inner()
        sizes = [min(_BLOCK, trials - done) for done in range(0, trials, _BLOCK)]
        return np.concatenate([final_model(seen.sample(dataset, size, rng)) for size in sizes])


def _row(epsilon: float, found: MembershipInference) -> dict[str, Cell]:
    lower, advantage, upper = found.best.advantage
    hit = found.rare.true_positive
    return {
        "proved epsilon": epsilon,
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
