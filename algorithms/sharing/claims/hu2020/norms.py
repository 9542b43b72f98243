r"""Norms of the variables of ADMM sharing over real runs, and noise against any bound on them.

| paper   | name          | meaning                                            | shape     |
|---------|---------------|----------------------------------------------------|-----------|
| x_m     | ``model``     | largest norm over the parties                      | (R, d_m)  |
| x~_m    | ``perturbed`` | with noise on the model; largest over the parties  | (R, d_m)  |
| y       | ``dual``      |                                                    | (R, N)    |
| z       | ``prediction``|                                                    | (R, N)    |
| b_1     | ``bound``     | which Assumption 1 puts on all of them             | scalar    |
| sigma_m | ``scales``    | of Theorem 1, with Lemma 1's sensitivity           | (M,)      |
| w       | ``weight``    | of a sample's loss: 1 or 1/N                       | scalar    |

**No bound survives Gaussian noise.** Given the history, what is sent is a fixed vector plus
Gaussian noise. A ball around 0 is symmetric and convex, so by Anderson's inequality the fixed
vector only makes it less likely that the sum stays inside: ``P(||a + g|| > b) >= P(||g|| > b)``.
At *every* iteration, whatever happened before, therefore

* noise on the models: ``P(||x~_m|| > b) >= P(chi^2_{d_m} > (b / sigma_m)^2)``;
* whitened: the covariance is at least ``sigma_m^2 / ||D_m||^2`` and ``||D_m|| <= sqrt(N)`` for unit
  rows, so ``P(||x~_m|| > b) >= P(chi^2_{d_m} > N (b / sigma_m)^2)``, for independent columns;
* noise on the messages, for a loss with slope at most 1: (9) and the optimality of (8) give
  ``y = l'(z)``, so ``||y|| <= Y = w sqrt(N)``, and ``z^{t+1} = S - (y^{t+1} - y^t) / rho``. With
  S^2 = sum_m sigma_m^2, ``P(||z|| > b) >= P(chi^2_N > ((b + 2 Y / rho) / S)^2)``.

All are above 0 for every b: over T iterations some norm exceeds b with probability at least
``1 - (1 - p)^T``, which tends to 1. (Where columns depend on each other, d_m is the rank.)

**A larger b_1 does not help.** Theorem 1's noise is made for b_1: ``sigma_m >= sqrt(2
ln(1.25/delta)) 3 (1 + M rho) b_1 / (d_m rho epsilon)``, in which b_1 is a factor. So with noise on
the models ``P(||x~_m|| > b_1)`` is at least a number that b_1 does not enter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import ROUND_FLOOR
from functools import partial
from typing import Any

import numpy as np
from numpy.random import Generator, default_rng
from numpy.typing import NDArray
from scipy.special import log_ndtr
from scipy.stats import chi2

from dpaudit._typing import Array
from dpaudit.algorithms.sharing.algorithm import Iterate, SharingADMM
from dpaudit.algorithms.sharing.claims.hu2020.update import CURVATURE, ROUNDING
from dpaudit.algorithms.sharing.noise import (
    MessageNoise,
    Noise,
    NoNoise,
    ParameterNoise,
    WhitenedNoise,
    compute_published_noise_scale,
    compute_published_sensitivity,
    party_scales,
)
from dpaudit.algorithms.sharing.vertical import Party, column_slices, split_into_parties
from dpaudit.datasets import Dataset, load, subset
from dpaudit.errors import InvalidArgument, MechanismError
from dpaudit.execution import stream
from dpaudit.extension.case import AssumptionOutcome
from dpaudit.extension.claim import Statement
from dpaudit.extension.settings import WORST_CASE, Settings
from dpaudit.neighbours import REPLACE_COLUMN
from dpaudit.refutation import Condition, Evidence, Inequality, exceeds
from dpaudit.report.formatting import format_significant

VARIABLES = ("model", "perturbed", "dual", "prediction")
_NUMBERS = 2**24  # in the messages of one block of runs
_BUNDLED = "breast-cancer"
_LARGEST_FILE = 50_000  # numbers of a design that a certificate holds


@dataclass
class Norms:
    """The largest norm of each variable by iteration, and the first that exceeded its bound.

    Parameters
    ----------
    bound
        ``b_1``, times the audited factor.
    runs
        How many there were.
    largest
        By variable and iteration, shape ``(4, T)``.
    exceeding
        How many runs had a norm above the bound, by variable and iteration, shape ``(4, T)``.
    first
        Perturbed models and messages of the first iteration, of the run with the largest norm then.
    """

    bound: float
    runs: int
    largest: Array
    exceeding: NDArray[np.int64]
    first: tuple[Array, Array] | None = None
    first_norm: float = field(default=-1.0)

    @property
    def value(self) -> float:
        """The largest norm of all."""
        return float(self.largest.max())

    def words(self) -> str:
        """Return the largest norm of each variable, in words."""
        return "; ".join(self._of(index, name) for index, name in enumerate(VARIABLES))

    def _of(self, index: int, name: str) -> str:
        reached = self.largest[index]
        over = np.flatnonzero(self.exceeding[index])
        found = f"{name} up to {reached.max():.4g} (iteration {int(reached.argmax()) + 1}"
        if not len(over):
            return f"{found}; never above the bound)"
        share = self.exceeding[index, over[0]] / self.runs
        return f"{found}; above the bound from iteration {over[0] + 1}, {share:.0%} of runs)"


def measure_variable_norms(
    algorithm: SharingADMM, data: Dataset, runs: int, bound: float, rng: Generator
) -> Norms:
    """Return the norms over ``runs`` runs, a block of them at a time.

    Raises
    ------
    MechanismError
        The iterations diverge: a norm is not a finite number.

    Examples
    --------
    >>> data = Dataset(np.ones((4, 2)), [1, 1, 1, -1])
    >>> algorithm = SharingADMM(block_sizes=(1, 1), iterations=3)
    >>> norms = measure_variable_norms(algorithm, data, 1, 1.0, np.random.default_rng(0))
    >>> float(norms.largest[0, 0]), norms.value > 0
    (0.0, True)
    """
    shape = (len(VARIABLES), algorithm.iterations)
    exceeding = np.zeros(shape, dtype=np.int64)
    found = Norms(bound=bound, runs=runs, largest=np.zeros(shape), exceeding=exceeding)
    # A block holds the messages of all its runs at once, which the number of them bounds.
    size = max(1, _NUMBERS // (len(data.labels) * len(algorithm.block_sizes)))
    for start in range(0, runs, size):
        iterates = algorithm.iterates(data, min(size, runs - start), rng)
        for t, iterate in enumerate(iterates):
            norms = _compute_variable_norms(algorithm, iterate)
            # NaN fails every comparison, so without this a diverging run would count as one that
            # keeps to the bound.
            if not np.isfinite(norms).all():
                raise MechanismError(f"the iterations diverge: a norm of iteration {t + 1} is inf")
            found.largest[:, t] = np.maximum(found.largest[:, t], norms.max(axis=1))
            found.exceeding[:, t] += (norms > bound).sum(axis=1)
            if t == 0:
                _update_largest_first_norm(found, iterate, norms.max(axis=0))
    return found


def log_exceeding(algorithm: SharingADMM, data: Dataset, bound: float) -> float | None:
    """Return a lower bound on the log-probability that a norm exceeds ``bound`` in an iteration.

    None without noise. Of several parties' models the likeliest counts.

    Examples
    --------
    >>> noisy = SharingADMM(block_sizes=(2,), iterations=1, noise=ParameterNoise(1.0))
    >>> round(log_exceeding(noisy, Dataset(np.eye(2), [1, -1]), 1.0), 6)
    -0.5
    """
    owners, samples = split_into_parties(data, algorithm.block_sizes), len(data.labels)
    scales = party_scales(algorithm.noise, len(owners))
    match algorithm.noise:
        case NoNoise():
            return None
        case MessageNoise():
            weight = algorithm.risk.sample_weight(samples)
            reach = bound + 2 * weight * math.sqrt(samples) / algorithm.penalty
            return _log_above(samples, reach / float(np.linalg.norm(scales)))
        case noise:
            # Rows of norm at most 1 make the norm of D at most sqrt(N). D times whitened noise is
            # white, so the noise is longer than b at least wherever D times it is longer than
            # sqrt(N) b.
            widest = 1 if isinstance(noise, ParameterNoise) else math.sqrt(samples)
            found = [
                _log_above(_count_noise_degrees(noise, party), widest * bound / float(scale))
                for party, scale in zip(owners, scales, strict=True)
            ]
            # One party's model beyond the bound is enough, so every party's probability is a lower
            # bound.
            return max(found)


def _count_noise_degrees(noise: Noise, party: Party) -> int:
    return party.dimension if isinstance(noise, ParameterNoise) else len(party.singular_values)


def _log_above(degrees: int, length: float) -> float:
    """Return the log-probability that so many standard normals are longer than ``length``.

    Where its tail underflows, that of one of them alone, which is less.
    """
    # A tail that has underflowed says nothing. log_ndtr keeps one normal's tail in logarithms, and
    # the norm of all is at least the size of one.
    tail = float(chi2.sf(length**2, degrees))
    return math.log(tail) if tail > 0 else math.log(2) + float(log_ndtr(-length))


def _compute_variable_norms(algorithm: SharingADMM, iterate: Iterate) -> Array:
    """Return the norm of every variable of every run, shape ``(4, R)``."""
    slices = list(column_slices(algorithm.block_sizes))

    def widest(models: Array) -> Array:
        each = [np.linalg.norm(models[:, columns], axis=1) for columns in slices]
        return np.asarray(np.max(each, axis=0))

    state = iterate.state
    return np.stack(
        [
            widest(iterate.models),
            widest(iterate.perturbed),
            np.linalg.norm(state.dual, axis=1),
            np.linalg.norm(state.prediction, axis=1),
        ]
    )


def _update_largest_first_norm(found: Norms, iterate: Iterate, norms: Array) -> None:
    run = int(norms.argmax())
    if norms[run] > found.first_norm:
        found.first_norm = float(norms[run])
        found.first = iterate.perturbed[run].copy(), iterate.state.messages[run].copy()


# The assumption as an inequality


def make_norm_inequality(
    claim: Statement, algorithm: SharingADMM, data: Dataset, stated: dict[str, Any]
) -> Inequality[Norms]:
    """Return the assumption as an inequality on measured norms.

    ``stated`` are the public parameters of a certificate, beside the shape of the data.
    """
    shape = {"features": data.dimension, "samples": len(data.labels)}
    return Inequality(
        name=claim.name,
        source=claim.source,
        sides=lambda norms: (norms.value, norms.bound),
        conditions=lambda norms: (),
        words=Norms.words,
        because=lambda norms: _GROWN if isinstance(algorithm.noise, NoNoise) else _NOISY,
        evidence=partial(_make_norm_evidence, algorithm, data, stated | shape),
    )


_GROWN = "Nothing in the algorithm projects: without noise, too, the iterates grow past it."
_NOISY = (
    "Unbounded Gaussian noise exceeds every bound with a probability above 0 at every iteration."
)


def _make_norm_evidence(
    algorithm: SharingADMM, data: Dataset, stated: dict[str, Any], norms: Norms
) -> Evidence | None:
    """Return the noise of a first iteration, if that one already exceeds the bound."""
    chance = log_exceeding(algorithm, data, norms.bound)
    if norms.first is None or chance is None or not exceeds(norms.first_norm / norms.bound):
        return None
    if not _small_and_clean(algorithm, data):
        return None
    perturbed, messages = norms.first
    on_message = isinstance(algorithm.noise, MessageNoise)
    sent = {"messages": messages} if on_message else {"perturbed": perturbed}
    return Evidence(
        parameters=stated,
        instance={"design": data.features, "labels": data.labels} | sent,
        quantities={
            "bound": norms.bound,
            "norm": norms.first_norm,
            "probability of exceeding": math.exp(chance),
            "ratio": norms.first_norm / norms.bound,
        },
        relation=REPLACE_COLUMN.name,
        conditions=(Condition(name="unit rows", value=off_unit(data, algorithm), limit=ROUNDING),),
    )


def _small_and_clean(algorithm: SharingADMM, data: Dataset) -> bool:
    """Return whether the file would be small, with unit rows and independent columns."""
    owners = split_into_parties(data, algorithm.block_sizes)
    independent = all(len(party.singular_values) == party.dimension for party in owners)
    clean = independent and off_unit(data, algorithm) <= ROUNDING
    return clean and data.features.size <= _LARGEST_FILE


# What is run


def unit_records(settings: Settings, parties: int, records: int | None) -> Dataset:
    """Return the settings' data, those of scikit-learn by default, with rows of norm 1 a party."""
    name = _BUNDLED if settings.data == WORST_CASE else settings.data
    data = load(name, path=settings.data_path, **settings.data_options)
    data.require_signed_labels()
    if records is not None:
        data = subset(data, records, default_rng(stream(settings.seed, "records")))
    features = data.features.copy()
    for columns in column_slices(even_blocks(data, parties)):
        lengths = np.linalg.norm(features[:, columns], axis=1, keepdims=True)
        features[:, columns] /= np.where(lengths > 0, lengths, 1.0)
    return Dataset(features, data.labels, name=data.name)


def even_blocks(data: Dataset, parties: int) -> tuple[int, ...]:
    """Return how many features each party has, dealt out evenly and in order."""
    if parties > data.dimension:
        raise InvalidArgument("parties", parties, f"at most {data.dimension}, one a feature")
    return tuple(len(part) for part in np.array_split(np.arange(data.dimension), parties))


def off_unit(data: Dataset, algorithm: SharingADMM) -> float:
    """Return how far the norm of the worst row of a party is from 1."""
    blocks = (data.features[:, columns] for columns in column_slices(algorithm.block_sizes))
    return max(float(np.abs(np.linalg.norm(b, axis=1) - 1).max()) for b in blocks)


def unit_rows(data: Dataset, algorithm: SharingADMM) -> AssumptionOutcome:
    """Return whether every row of a party has norm 1."""
    off = off_unit(data, algorithm)
    return AssumptionOutcome(
        name="unit rows",
        holds=off <= ROUNDING,
        evidence=f"the norm of the worst row of a party is {off:.3g} from 1",
    )


def make_published_noise(
    kind: str,
    settings: Settings,
    *,
    blocks: tuple[int, ...],
    penalty: float,
    regulariser_weight: float,
    bound: float,
) -> Noise:
    """Return Theorem 1's noise, each party's scale from Lemma 1 with ``b_1``."""
    sensitivities = (
        compute_published_sensitivity(
            features=size,
            parties=len(blocks),
            penalty=penalty,
            regulariser_weight=regulariser_weight,
            regulariser_curvature=CURVATURE,
            bound=bound,
        )
        for size in blocks
    )
    scales = tuple(
        compute_published_noise_scale(settings.epsilon, settings.delta, each)
        for each in sensitivities
    )
    match kind:
        case "none":
            return NoNoise()
        case "parameter":
            return ParameterNoise(scales)
        case "whitened":
            return WhitenedNoise(scales)
        case _:
            return MessageNoise(scales)


def noise_note(algorithm: SharingADMM, data: Dataset, bound: float) -> str:
    """Return the effect of the noise on any bound, in words."""
    chance = log_exceeding(algorithm, data, bound)
    if chance is None:
        return "Without noise all runs are the same."
    return (
        "Unbounded Gaussian noise keeps no bound: whatever happened before, some norm exceeds "
        f"{bound:g} with a probability of at least {_format_rounded_down_chance(chance)} in "
        "every iteration, and that "
        "is above 0 for every bound. A larger b_1 brings noise that is larger by as much."
    )


def _format_rounded_down_chance(log_probability: float) -> str:
    """Return a probability in words, rounded down."""
    # This goes to a sentence with "at least". At -600 the probability is still a normal double.
    if log_probability < -600:
        return f"10^{math.floor(log_probability / math.log(10))}"
    if log_probability > math.log1p(-1e-6):
        return "0.999999"
    least = format_significant((1 - 1e-5) * math.exp(log_probability), 4, ROUND_FLOOR)
    return f"{float(least):.4g}"
