r"""Composition (Theorem 4): pairs of laws on a few outcomes, by search, and the loss of t draws.

| paper            | code               | meaning                                             |
|------------------|--------------------|-----------------------------------------------------|
| epsilon, delta   | ``epsilon, delta`` | of one algorithm                                    |
| t                | ``count``          | algorithms that are composed                        |
| c_0              | ``c0``             | constant of the theorem                             |
| epsilon'         | ``claimed_epsilon``| ``c_0 sqrt(t) epsilon``, claimed of the composition |
| P, Q             | ``one``, ``other`` | laws of an output on two neighbouring datasets      |

An algorithm with these two laws is (epsilon, delta)-DP if
``sum_k max(0, P_k - e^epsilon Q_k) <= delta``, and the same with P and Q exchanged. After t
independent runs (a composition that is not even adaptive) the same sum goes over counts of the
outcomes, with multinomial weights. Randomised response with four outcomes, of which two give the
dataset away with probability delta, dominates every (epsilon, delta)-DP pair (Kairouz, Oh &
Viswanath 2015): it is the worst case, and the search may find it.

No constant rescues the theorem. For 0 < delta < 1 and t >= 2 an output that gives the dataset
away occurs with probability ``1 - (1 - delta)^t > delta``, which no epsilon' accounts for;
epsilon = 0 is the simplest case. With delta = 0, randomised response loses ``t epsilon``, more than
``c_0 sqrt(t) epsilon`` for t > c_0^2. For Gaussian mechanisms whose noise is that of eq. (20) the
shifts add up to ``sqrt(t) epsilon / sqrt(2 ln(1.25/delta))``, and something like it holds as long
as ``sqrt(t) epsilon`` is not too large.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property, partial

import numpy as np
from hypothesis import strategies
from numpy.random import Generator
from numpy.typing import NDArray

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.extension.claim import Statement
from dpaudit.guarantees.kinds import GaussianDP
from dpaudit.refutation import (
    Condition,
    Evidence,
    Inequality,
    Space,
    WorstInstance,
    certified,
    exceeds,
    maximise,
    minimal,
    searched,
)
from dpaudit.refutation.search import Batch

OUTCOMES = 4
LONGEST = 20  # draws of four outcomes that are counted one by one
# Keep an algorithm within its limits whatever rounding does.
_INSIDE = 1 - 1e-9  # factor for its delta
_STRICT = 1 - 1e-12  # factor for its epsilon
_NO_CONSTANT = (
    "No constant rescues it: an output that gives the dataset away, with probability delta each "
    "time, does so at least once with probability 1 - (1 - delta)^t, whatever epsilon is allowed."
)
_PURE = (
    "With delta = 0 randomised response loses t epsilon, more than c_0 sqrt(t) epsilon as soon as "
    "t is above c_0^2."
)
_LARGE = "The noise is calibrated with a theorem for epsilon below 1."
_DOMINATES = (
    "exact composition of randomised response with four outcomes, which dominates every "
    "(epsilon, delta)-DP algorithm (Kairouz, Oh & Viswanath 2015)"
)

Laws = tuple[Array, Array]
Revealed = Callable[[Array, Array], Array]


# --- what t draws reveal --------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class CompositionSettings:
    """The public parameters of a composition.

    Examples
    --------
    >>> CompositionSettings(epsilon=0.5, delta=1e-5, count=4).claimed_epsilon
    1.0
    """

    epsilon: float
    delta: float
    count: int
    c0: float = 1.0

    def __post_init__(self) -> None:
        check.non_negative("epsilon", self.epsilon)
        check.require_delta("delta", self.delta)
        check.require_integer("count", self.count, least=1)
        check.require_positive("c0", self.c0)

    @property
    def claimed_epsilon(self) -> float:
        """``c_0 sqrt(t) epsilon``."""
        return self.c0 * math.sqrt(self.count) * self.epsilon

    @cached_property
    def types(self) -> tuple[Array, Array]:
        """Counts of the outcomes in t draws, shape ``(k, 4)``, and how many draws have them."""
        t = self.count
        counts = [
            (i, j, k, t - i - j - k)
            for i in range(t + 1)
            for j in range(t + 1 - i)
            for k in range(t + 1 - i - j)
        ]
        # The multinomial coefficient: how many sequences of draws have these counts.
        ways = [math.factorial(t) / math.prod(math.factorial(c) for c in one) for one in counts]
        return np.array(counts, dtype=np.float64), np.array(ways)


def hockey_stick(one: Array, other: Array, epsilon: float) -> Array:
    """Return ``sum_k max(0, P_k - e^epsilon Q_k)`` over the last axis.

    Examples
    --------
    >>> float(hockey_stick(np.array([0.5, 0.5]), np.array([0.25, 0.75]), 0.0))
    0.25
    """
    with np.errstate(over="ignore"):
        # exp is held below its overflow, and an impossible outcome stays so whatever it is
        # multiplied with.
        scaled = np.where(other > 0, np.exp(np.minimum(epsilon, 700.0)) * other, 0.0)
    return np.asarray(np.maximum(one - scaled, 0.0).sum(axis=-1))


def make_randomised_response_pair(epsilon: float, delta: float) -> tuple[Array, Array]:
    """Return the pair that dominates every (epsilon, delta)-DP pair, each of shape ``(4,)``.

    Examples
    --------
    >>> make_randomised_response_pair(0.0, 0.5)
    (array([0.5 , 0.25, 0.25, 0.  ]), array([0.  , 0.25, 0.25, 0.5 ]))
    """
    # Randomised response tells the truth with this probability when it does not give the dataset
    # away.
    high = (1 - delta) / (1 + math.exp(-epsilon))
    one = np.array([delta, high, 1 - delta - high, 0.0])
    return one, one[::-1].copy()


def compute_composed_delta(
    setting: CompositionSettings, one: Array, other: Array, epsilon: float
) -> Array:
    """Return the exact delta at ``epsilon`` after t draws of pairs of shape ``(..., 4)``.

    Examples
    --------
    >>> setting = CompositionSettings(epsilon=0.0, delta=0.5, count=2)
    >>> float(compute_composed_delta(setting, *make_randomised_response_pair(0.0, 0.5), 0.0))
    0.75
    """
    counts, ways = setting.types
    p, q = (np.prod(law[..., None, :] ** counts, axis=-1) * ways for law in (one, other))
    return hockey_stick(p, q, epsilon)


def gaussian_delta(setting: CompositionSettings, epsilon: float) -> float:
    """Return the exact delta of t Gaussian mechanisms with the noise of eq. (20) for one step.

    Examples
    --------
    >>> setting = CompositionSettings(epsilon=0.1, delta=1e-5, count=100)
    >>> gaussian_delta(setting, setting.claimed_epsilon) < 1e-5
    True
    """
    return GaussianDP(gaussian_mu(setting)).delta(epsilon)


def gaussian_mu(setting: CompositionSettings) -> float:
    """Return ``sqrt(t) epsilon / sqrt(2 ln(1.25 / delta))``."""
    check.require_probability("delta", setting.delta)
    unit = math.sqrt(2 * math.log(1.25 / setting.delta))
    return math.sqrt(setting.count) * setting.epsilon / unit


def compute_composition_conditions(
    setting: CompositionSettings, one: Array, other: Array
) -> tuple[Condition, ...]:
    """Return that one algorithm is (epsilon, delta)-DP, in both directions.

    Examples
    --------
    >>> setting = CompositionSettings(epsilon=0.0, delta=0.25, count=2)
    >>> [
    ...     c.holds
    ...     for c in compute_composition_conditions(
    ...         setting, *make_randomised_response_pair(0.0, 0.5)
    ...     )
    ... ]
    [False, False]
    """
    pairs = {"delta of one": (one, other), "delta of one, exchanged": (other, one)}
    return tuple(
        Condition(
            name=name,
            # A law that was searched sums to 1 up to rounding only.
            value=float(hockey_stick(p / p.sum(), q / q.sum(), setting.epsilon)),
            limit=setting.delta,
        )
        for name, (p, q) in pairs.items()
    )


# --- the claim ------------------------------------------------------------------------------------


def make_composed_laws_inequality(
    statement: Statement, setting: CompositionSettings, factor: float
) -> Inequality[Laws]:
    """Return Theorem 4 of pairs of laws on four outcomes."""
    claimed = setting.claimed_epsilon
    return Inequality(
        name=statement.name,
        source=statement.source,
        sides=lambda laws: (
            float(compute_composed_delta(setting, *laws, claimed)),
            factor * setting.delta,
        ),
        conditions=lambda laws: compute_composition_conditions(setting, *laws),
        # A bound of 0 has no ratio: the excess is then measured by itself.
        scale=None if factor * setting.delta > 0 else lambda laws: 1.0,
        words=lambda laws: f"laws {format_finite_law(laws[0])} and {format_finite_law(laws[1])}",
        because=lambda laws: _NO_CONSTANT if setting.delta > 0 else _PURE,
        evidence=lambda laws: _make_theorem4_evidence(
            statement,
            setting,
            "all",
            factor,
            float(compute_composed_delta(setting, *laws, claimed)),
            dict(zip(("one", "other"), laws, strict=True)),
        ),
    )


def make_composed_gaussian_inequality(
    statement: Statement, setting: CompositionSettings, factor: float
) -> Inequality[Laws]:
    """Return Theorem 4 of Gaussian mechanisms, which have one law: nothing is searched."""
    value = gaussian_delta(setting, setting.claimed_epsilon)
    return Inequality(
        name=statement.name,
        source=statement.source,
        sides=lambda laws: (value, factor * setting.delta),
        conditions=lambda laws: (gaussian_condition(setting),),
        words=lambda laws: f"N(0, 1) against N({gaussian_mu(setting):.6g}, 1) in all",
        because=lambda laws: _LARGE,
        evidence=lambda laws: _make_theorem4_evidence(
            statement, setting, "gaussian", factor, value, {}
        ),
    )


def compute_gaussian_attained(
    statement: Statement, setting: CompositionSettings, factor: float
) -> WorstInstance:
    """Return the delta of Gaussian mechanisms, also where one alone is not private enough."""
    # Gaussian mechanisms have one law, so an empty pair stands for the instance.
    claim, nothing = (
        make_composed_gaussian_inequality(statement, setting, factor),
        (np.zeros(0), np.zeros(0)),
    )
    value, bound = claim.sides(nothing)
    return WorstInstance(
        value=value,
        bound=bound,
        instance=claim.words(nothing),
        because=_LARGE if exceeds(claim.ratio(nothing)) else None,
        certificate=certified(claim, nothing, {}),
    )


def most_revealing(
    statement: Statement,
    setting: CompositionSettings,
    factor: float,
    budget: int,
    rng: Generator,
    *,
    seed: int,
) -> WorstInstance:
    """Return the delta of the pair of laws that a search finds, and the smallest one in words."""
    return searched(
        make_composed_laws_inequality(statement, setting, factor),
        partial(worst_laws, setting),
        budget,
        rng,
        seed=seed,
        smallest=lambda laws: _find_smallest_composition(statement, setting, factor, seed),
    )


def compute_proved_delta(setting: CompositionSettings, *, gaussian: bool) -> tuple[float, str]:
    """Return the exact delta of the worst pair at the claimed epsilon, and the proof of it."""
    if gaussian:
        exact = gaussian_delta(setting, setting.claimed_epsilon)
        return exact, "exact composition of Gaussian releases (Dong, Roth & Su 2022)"
    return _compute_worst_delta(setting), _DOMINATES


def gaussian_condition(setting: CompositionSettings) -> Condition:
    """Return that one Gaussian mechanism is (epsilon, delta)-DP."""
    mu = gaussian_mu(setting) / math.sqrt(setting.count)
    value = GaussianDP(mu).delta(setting.epsilon)
    return Condition(name="delta of one", value=value, limit=setting.delta)


def _make_theorem4_evidence(
    statement: Statement,
    setting: CompositionSettings,
    algorithms: str,
    factor: float,
    value: float,
    laws: dict[str, Array],
) -> Evidence:
    return Evidence(
        kind="approximate-dp",
        relation=statement.relation,
        parameters=asdict(setting) | {"algorithms": algorithms, "factor": factor},
        instance=laws,
        quantities={
            "claimed epsilon": setting.claimed_epsilon,
            "bound": factor * setting.delta,
            "delta": value,
        },
    )


def format_finite_law(law: Array) -> str:
    """Return a law to four digits.

    Examples
    --------
    >>> format_finite_law(np.array([0.5, 0.5]))
    '(0.5, 0.5)'
    """
    return "(" + ", ".join(f"{p:.4g}" for p in law) + ")"


def _compute_worst_delta(setting: CompositionSettings) -> float:
    pair = make_randomised_response_pair(setting.epsilon, setting.delta)
    return float(compute_composed_delta(setting, *pair, setting.claimed_epsilon))


def _find_smallest_composition(
    statement: Statement, setting: CompositionSettings, factor: float, seed: int
) -> str | None:
    """Return the smallest t, epsilon and delta = 1/n that break the claim, in words."""

    def make_composition(instance: tuple[int, int, int]) -> CompositionSettings:
        count, epsilon, share = instance
        return CompositionSettings(
            epsilon=float(epsilon), delta=1 / share, count=count, c0=setting.c0
        )

    claim: Inequality[tuple[int, int, int]] = Inequality(
        name=statement.name,
        source=statement.source,
        sides=lambda instance: (
            _compute_worst_delta(make_composition(instance)),
            factor / instance[2],
        ),
        conditions=lambda instance: (),
    )
    # Small whole numbers, the smallest first, for a counterexample that can be checked by hand.
    small = strategies.tuples(
        strategies.integers(1, 6), strategies.integers(0, 3), strategies.integers(2, 100)
    )
    found = minimal(small, claim, budget=200, seed=seed)
    if found is None:
        return None
    count, epsilon, share = found
    total, bound = claim.sides(found)
    return (
        f"t = {count}, c_0 = {setting.c0:.6g}, epsilon = {epsilon}, delta = 1/{share}: delta "
        f"is {total:.6g} at the claimed "
        f"epsilon, where {bound:.6g} is claimed"
    )


# --- the search -----------------------------------------------------------------------------------


def worst_laws(
    setting: CompositionSettings, budget: int, rng: Generator, revealed: Revealed | None = None
) -> Laws:
    """Return the best pair of laws of a search, in the direction that reveals more."""
    revealed = revealed or partial(compute_composed_delta, setting, epsilon=setting.claimed_epsilon)
    found = maximise(build_law_pair_space(setting, revealed), budget, rng).instance
    one, other = (found[name] / found[name].sum() for name in ("one", "other"))
    # Delta differs between the two directions; the certificate states the pair in the worse one.
    here, there = (float(revealed(p, q)) for p, q in ((one, other), (other, one)))
    return (one, other) if here >= there else (other, one)


def build_law_pair_space(setting: CompositionSettings, revealed: Revealed | None = None) -> Space:
    """Return pairs on four outcomes that are (epsilon, delta)-DP; ratios are deltas.

    Starts are random pairs, some with impossible outcomes. A pair that is not private enough is
    mixed with what its two laws share until it is. Another ``revealed`` takes pairs of laws, shape
    ``(B, 4)`` each, to ratios, shape ``(B,)``; of the two directions the larger one counts.

    Examples
    --------
    >>> from dpaudit.refutation import maximise
    >>> setting = CompositionSettings(epsilon=0.0, delta=0.5, count=2)
    >>> found = maximise(build_law_pair_space(setting), 3000, np.random.default_rng(0))
    >>> 0.74 < found.ratio < 0.75
    True
    """
    delta = partial(compute_composed_delta, setting, epsilon=setting.claimed_epsilon)
    return Space(
        start=_draw_law_pairs,
        move=_move_law_pairs,
        evaluate=partial(_evaluate_law_pairs, setting, revealed or delta),
    )


def _draw_law_pairs(count: int, rng: Generator) -> Batch:
    def weights() -> Array:
        # The third power makes some laws very uneven.
        raw = rng.exponential(size=(count, OUTCOMES)) ** rng.choice([1.0, 3.0], size=(count, 1))
        possible = rng.random(raw.shape) >= 0.25
        # One outcome at least stays possible, so that the weights can be normalised.
        possible[np.arange(count), rng.integers(OUTCOMES, size=count)] = True
        return np.asarray(np.where(possible, raw + 1e-12, 0.0))

    return {"one": _normalise_laws(weights()), "other": _normalise_laws(weights())}


def _move_law_pairs(batch: Batch, step: Array, rng: Generator) -> Batch:
    """Change both laws; or exchange probability between two outcomes; or make one impossible."""
    moved = {}
    for name in ("one", "other"):
        law = batch[name]
        noise = np.exp(3 * step[:, None] * rng.standard_normal(law.shape))
        gone = (rng.random(law.shape) < 0.1) & (rng.random((len(law), 1)) < 0.3)
        touched = rng.random(law.shape) < 0.5
        # A small amount is added, too, so that an impossible outcome may become possible again.
        new = np.where(touched, law * noise + 1e-3 * step[:, None] * rng.random(law.shape), law)
        # The likeliest outcome is never taken away.
        gone[np.arange(len(law)), np.argmax(new, axis=1)] = False
        moved[name] = _normalise_laws(np.where(gone, 0.0, new))
    # The worst case is its own mirror image.
    mirrored = rng.random((len(step), 1)) < 0.1
    moved["other"] = np.where(mirrored, moved["one"][:, ::-1], moved["other"])
    return moved


def _normalise_laws(weights: Array) -> Array:
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def _evaluate_law_pairs(
    setting: CompositionSettings, revealed: Revealed, batch: Batch
) -> tuple[Batch, Array]:
    one, other = _mix_to_private_pairs(setting, batch["one"], batch["other"])
    reached = np.maximum(revealed(one, other), revealed(other, one))
    return {"one": one, "other": other}, reached


def _mix_to_private_pairs(
    setting: CompositionSettings, one: Array, other: Array
) -> tuple[Array, Array]:
    """Return the pairs, mixed with the common part of both laws as far as privacy asks.

    Delta is convex along the way and 0 at its end; what one law cannot give stays impossible.
    """
    common = np.minimum(one, other)
    some = common.sum(axis=1, keepdims=True)
    # Laws that share no outcome have nothing in common; then they are mixed with their mean.
    shared = np.where(some > 1e-12, common / np.maximum(some, 1e-12), (one + other) / 2)

    def mix_pair(share: Array) -> tuple[Array, Array]:
        return shared + share * (one - shared), shared + share * (other - shared)

    def excess(share: Array) -> NDArray[np.bool_]:
        p, q = mix_pair(share)
        worst = np.maximum(
            hockey_stick(p, q, _STRICT * setting.epsilon),
            hockey_stick(q, p, _STRICT * setting.epsilon),
        )
        return np.asarray(worst[:, None] > _INSIDE * setting.delta, dtype=np.bool_)

    high = np.ones((len(one), 1))
    low = np.where(excess(high), 0.0, 1.0)
    # 50 halvings bring the share to within rounding; the private end of the bracket is returned.
    for _ in range(50):
        share = (low + high) / 2
        over = excess(share)
        low, high = np.where(over, low, share), np.where(over, share, high)
    return mix_pair(low)
