"""``dpaudit attack record-reconstruction``: how often a record is guessed right, and at the most.

Two guesses: the likeliest of K known candidates, the best there is where all are alike before, and
the inversion of `dpaudit.attacks.stationarity.likelihood`, right when its direction is near enough.
What is proved bounds any guess: `dpaudit.attacks.reconstruction.bound`.

Threat model of the first. The attacker knows the mechanism's law and all records but one, sees one
output, and wants to know which of K candidates the missing record is; all are alike to it
before. No guess is right more often than the one that takes the candidate under which the
output is likeliest (`dpaudit.attacks.reconstruction.bound.candidates_success` bounds it by a
guarantee).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.random import Generator, SeedSequence, default_rng
from pydantic import BaseModel, ConfigDict, Field, PositiveFloat

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.accounting.strongest_guarantee import proved_guarantee
from dpaudit.algorithms.consensus.algorithm import ConsensusADMM
from dpaudit.algorithms.consensus.guarantees import node_events
from dpaudit.algorithms.consensus.views import PenaltyPerturbation
from dpaudit.algorithms.problems.graphs import complete
from dpaudit.attacks.canaries.audit import calibrate_multistep, claim_of
from dpaudit.attacks.reconstruction.bound import candidates_success, reconstruction_success
from dpaudit.attacks.stationarity.likelihood import KNOWN
from dpaudit.attacks.stationarity.measures import chance_above
from dpaudit.attacks.stationarity.runs import Setting, measure_estimator_closeness
from dpaudit.datasets import Dataset, load, split_evenly, subset
from dpaudit.errors import InvalidArgument
from dpaudit.estimation.clopper_pearson import clopper_pearson
from dpaudit.execution import Progress, stream
from dpaudit.execution.ledger import get_current_ledger
from dpaudit.extension.attack import Cell, Findings, get_column_numbers
from dpaudit.guarantees.kinds import ApproximateDP, Guarantee, PureDP
from dpaudit.laws.steps import GaussianSteps
from dpaudit.mechanisms.mechanism import HasLaw
from dpaudit.neighbours import REPLACE_RECORD, Pair
from dpaudit.plots import Curve, Panel

_ROW = 0  # whose place the candidates take, at the first node


def make_candidate_datasets(data: Dataset, count: int, rng: Generator) -> list[Dataset]:
    """Return the data with each candidate in one place: random directions and their opposites.

    Opposites are as far apart as records can be; other directions are orthogonal.

    Raises
    ------
    InvalidArgument
        There are more candidates than ``2 d``.

    Examples
    --------
    >>> data = Dataset(np.eye(3), np.ones(3))
    >>> found = make_candidate_datasets(data, 2, np.random.default_rng(0))
    >>> bool(np.allclose(found[0].signed_records[0], -found[1].signed_records[0]))
    True
    """
    most = 2 * data.dimension
    if not 2 <= check.require_integer("candidates", count, least=2) <= most:
        raise InvalidArgument("candidates", count, f"at most {most}, two a feature")
    # Rows of an orthogonal matrix: any two candidates are opposite or at right angles.
    directions = np.linalg.qr(rng.standard_normal((data.dimension, data.dimension)))[0]
    return [data.with_record(_ROW, directions[k // 2], 1.0 - 2 * (k % 2)) for k in range(count)]


def right_guesses(
    mechanism: HasLaw[Dataset], candidates: Sequence[Dataset], trials: int, rng: Generator
) -> int:
    """Return in how many runs the candidate that was in the data is the likeliest one.

    It is drawn anew for each run, so the count is binomial. Ties are broken at random.
    """
    # One candidate drawn for each run: only how many runs each one gets matters.
    drawn = rng.multinomial(trials, np.full(len(candidates), 1 / len(candidates)))
    right = 0
    for truth, runs in enumerate(drawn):
        outputs = mechanism.sample(candidates[truth], int(runs), rng)
        likelihoods = _log_likelihoods(mechanism, candidates, outputs)
        ties = likelihoods == likelihoods.max(axis=0)
        right += int((np.argmax(ties * rng.random(ties.shape), axis=0) == truth).sum())
    return right


def _log_likelihoods(
    mechanism: HasLaw[Dataset], candidates: Sequence[Dataset], outputs: Array
) -> Array:
    """Return log densities of outputs, less that of the first candidate, shape ``(K, R)``."""
    first, *others = candidates
    pairs = (Pair(other, first, REPLACE_RECORD) for other in others)
    losses = [mechanism.privacy_loss(outputs, pair) for pair in pairs]
    return np.stack([np.zeros(len(outputs)), *losses])


_DELTAS = np.geomspace(0.3, 1e-9, 10)  # where a numerical guarantee is asked


class ReconstructionParameters(BaseModel):
    """The algorithms, the guesses, and the priors of the table of bounds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    epsilons: list[PositiveFloat] = Field(
        [1.0, 4.0, 8.0], description="of multi-step DP-ADMM, proved at delta; may be none"
    )
    noise_rates: list[PositiveFloat] = Field(
        [0.3, 3.0, 30.0], description="alpha of penalty perturbation, several; may be none"
    )
    delta: float = Field(1e-5, gt=0, lt=1, description="at which epsilon is proved")
    priors: list[float] = Field(
        [1e-2, 1e-4, 1e-6], description="kappa: how often a guess is right without the output"
    )
    candidates: int = Field(10, ge=2, description="K records, all alike before")
    trials: int = Field(300, ge=10, description="runs with a candidate drawn for each")
    inversions: int = Field(20, ge=0, description="runs whose record is drawn anew and inverted")
    cosine: float = Field(0.9, gt=0, lt=1, description="above which an inversion is right")
    dimension: int = Field(10, ge=2, description="d, of the records that are inverted")
    confidence: float = Field(0.95, gt=0, lt=1, description="of all intervals together")
    data: Literal["breast-cancer", "adult", "a9a"] = Field("breast-cancer", description="records")
    records: int = Field(50, ge=2, description="B, of every node; a random part of the data")
    nodes: int = Field(3, ge=2, description="N")
    iterations: int = Field(20, ge=1, description="T")
    loss_weight: float = Field(50.0, gt=0, description="C, of penalty perturbation")


@dataclass(frozen=True, kw_only=True)
class _GuessCase:
    """A guess and the proved bounds on its view; ``candidates`` is None for an inversion."""

    names: dict[str, Cell]
    claims: tuple[Guarantee, ...]
    chance: float
    candidates: int | None
    runs: int
    count: Callable[[Generator], int]

    def at_most(self) -> float:
        """Return a proved bound on the probability of a right guess."""
        if self.candidates is None:
            return self.bound(self.chance)
        return min(candidates_success(claim, self.candidates) for claim in self.claims)

    def bound(self, prior: float) -> float:
        """Return the proved bound at a prior."""
        return min(reconstruction_success(claim, prior) for claim in self.claims)


def run(parameters: ReconstructionParameters, seed: int, progress: Progress) -> Findings:
    """Return a line for each guess and amount of noise: how often it is right, and its bounds.

    Raises
    ------
    InvalidArgument, DataError
        A number is outside its domain, or the data is not at hand.

    Examples
    --------
    >>> from dpaudit.execution import Silent
    >>> small = ReconstructionParameters(
    ...     epsilons=[2.0], noise_rates=[], candidates=3, trials=60, iterations=2
    ... )
    >>> [row["lower"] <= row["at most"] for row in run(small, 0, Silent()).rows]
    [True]
    """
    _require(parameters)
    rng = default_rng(stream(seed, "data"))
    data = subset(load(parameters.data), parameters.nodes * parameters.records, rng)
    split = split_evenly(data, parameters.nodes, rng)
    candidates = make_candidate_datasets(split, parameters.candidates, rng)
    cases = _build_gaussian_cases(parameters, candidates) + _build_penalty_cases(
        parameters, candidates
    )
    progress.start("guessing", len(cases))
    # All intervals hold together, by the union bound over the cases.
    rows, error = [], (1 - parameters.confidence) / len(cases)
    for case in cases:
        own = stream(seed, " ".join(map(str, case.names.values())))
        given = parameters, case, own, error
        rows.append(
            get_current_ledger().fact("row", lambda: _make_reconstruction_line(*given), given)  # noqa: B023
        )
        progress.advance(1)
    return Findings(
        rows=rows,
        reading=_format_reconstruction_reading(parameters),
        chance="without the output a guess is right as often as the column by chance says",
        panels=_make_reconstruction_panels(rows),
    )


def _make_reconstruction_line(
    parameters: ReconstructionParameters, case: _GuessCase, seed: SeedSequence, error: float
) -> dict[str, Cell]:
    return _make_reconstruction_row(parameters, case, case.count(default_rng(seed)), error)


def _make_reconstruction_panels(rows: list[dict[str, Cell]]) -> tuple[Panel, ...]:
    """Return a panel for each algorithm and kind of guess, against the proved bound."""
    by_kind: dict[str, list[dict[str, Cell]]] = {}
    for row in rows:
        by_kind.setdefault(f"{row['algorithm']}, {row['guess']}", []).append(row)
    return tuple(_make_reconstruction_panel(kind, own) for kind, own in by_kind.items())


def _make_reconstruction_panel(title: str, rows: list[dict[str, Cell]]) -> Panel:
    proved, low, high = (
        get_column_numbers(rows, name) for name in ("proved epsilon", "lower", "upper")
    )
    found = Curve(label="right", x=proved, y=get_column_numbers(rows, "right"), low=low, high=high)
    others = [
        Curve(label=n, x=proved, y=get_column_numbers(rows, n)) for n in ("at most", "by chance")
    ]
    return Panel(
        title=title,
        x_label="proved epsilon",
        y_label="share of right guesses",
        curves=(found, *others),
        log_x=True,
    )


def _require(parameters: ReconstructionParameters) -> None:
    if not parameters.epsilons and not parameters.noise_rates:
        raise InvalidArgument("epsilons", parameters.epsilons, "one, or one of noise_rates")
    if not all(0 <= prior <= 1 for prior in parameters.priors):
        raise InvalidArgument("priors", parameters.priors, "numbers in [0, 1]")


def _build_gaussian_cases(
    parameters: ReconstructionParameters, candidates: list[Dataset]
) -> list[_GuessCase]:
    """Return a guess among candidates for each epsilon of multi-step DP-ADMM."""
    cases = []
    for epsilon in parameters.epsilons:
        steps, nodes = parameters.iterations, parameters.nodes
        algorithm = calibrate_multistep(
            epsilon, parameters.delta, nodes, iterations=steps, inner_steps=1
        )
        claim = claim_of(algorithm, "flipped")
        seen: HasLaw[Dataset] = GaussianSteps(algorithm)
        names: dict[str, Cell] = {"algorithm": "multi-step DP-ADMM", "noise": f"mu {claim.mu:.3g}"}
        cases.append(_make_guess_case(parameters, names, (claim,), seen, candidates))
    return cases


def _build_penalty_cases(
    parameters: ReconstructionParameters, candidates: list[Dataset]
) -> list[_GuessCase]:
    """Return a guess among candidates, and an inversion, for each rate of penalty perturbation."""
    cases = []
    for rate in parameters.noise_rates:
        seen = ConsensusADMM(
            graph=complete(parameters.nodes),
            iterations=parameters.iterations,
            noise_rate=rate,
            loss_weight=parameters.loss_weight,
        ).penalty_perturbation()
        names: dict[str, Cell] = {"algorithm": "penalty perturbation", "noise": f"alpha {rate:g}"}
        claims = _build_penalty_claims(seen, candidates[0].dimension, parameters)
        cases.append(_make_guess_case(parameters, names, claims, seen, candidates))
        if parameters.inversions:
            claims = _build_penalty_claims(seen, parameters.dimension, parameters)
            cases.append(_make_inversion_case(parameters, names, claims, rate))
    return cases


def _build_penalty_claims(
    seen: PenaltyPerturbation, dimension: int, given: ReconstructionParameters
) -> tuple[Guarantee, ...]:
    """Return the proved guarantees of the first node's records: true points of one curve."""
    sizes = (given.records,) * given.nodes
    exact = proved_guarantee(node_events(seen, node_sizes=sizes, dimension=dimension)[0])
    pure = PureDP(exact.epsilon(0.0))
    if pure.at_epsilon > 1000:  # nothing is promised, and the accountants give up far above
        return (pure,)
    deltas = (given.delta, *_DELTAS.tolist())
    points = [ApproximateDP(exact.epsilon(delta), delta) for delta in deltas]
    least = exact.delta(0.0)
    return (pure, *points, *((ApproximateDP(0.0, least),) if least < 1 else ()))


def _make_guess_case(
    parameters: ReconstructionParameters,
    names: dict[str, Cell],
    claims: tuple[Guarantee, ...],
    seen: HasLaw[Dataset],
    candidates: list[Dataset],
) -> _GuessCase:
    count, trials = len(candidates), parameters.trials
    return _GuessCase(
        names=names | {"guess": f"likeliest of {count}"},
        claims=claims,
        chance=1 / count,
        candidates=count,
        runs=trials,
        count=lambda rng: right_guesses(seen, candidates, trials, rng),
    )


def _make_inversion_case(
    parameters: ReconstructionParameters,
    names: dict[str, Cell],
    claims: tuple[Guarantee, ...],
    rate: float,
) -> _GuessCase:
    """Return the inversion; its penalties are at least theta, so that the claims hold of it too."""
    setting = Setting(
        nodes=parameters.nodes,
        records=parameters.records,
        dimension=parameters.dimension,
        iterations=parameters.iterations,
        noise_rate=rate,
        loss_weight=parameters.loss_weight,
    )

    def count(rng: Generator) -> int:
        runs = measure_estimator_closeness(
            setting, (KNOWN,), parameters.inversions, int(rng.integers(2**31))
        )[KNOWN]
        return sum(one.cosine > parameters.cosine for one in runs)

    return _GuessCase(
        names=names | {"guess": f"inversion, cosine > {parameters.cosine:g}"},
        claims=claims,
        chance=chance_above(parameters.cosine, parameters.dimension),
        candidates=None,
        runs=parameters.inversions,
        count=count,
    )


def _make_reconstruction_row(
    parameters: ReconstructionParameters, case: _GuessCase, right: int, error: float
) -> dict[str, Cell]:
    lower, upper = clopper_pearson(right, case.runs, error)
    return {
        **case.names,
        "proved epsilon": min(claim.epsilon(parameters.delta) for claim in case.claims),
        "right": right / case.runs,
        "lower": lower,
        "upper": upper,
        "by chance": case.chance,
        "at most": case.at_most(),
        **{f"prior {prior:g}": case.bound(prior) for prior in parameters.priors},
    }


def _format_reconstruction_reading(parameters: ReconstructionParameters) -> list[str]:
    return [
        "The attacker sees every step and knows all records but one; lower to upper hold together "
        f"at {parameters.confidence:.6g} confidence, and what is proved allows any attacker the "
        "column at most.",
        "Under prior kappa: how often anybody can guess a record right after seeing the output "
        "who would without it with probability kappa. Small: no record is reconstructed, though "
        "membership may show; 1: nothing is promised.",
    ]
