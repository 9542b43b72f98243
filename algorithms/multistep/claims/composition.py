"""The audit of Huang & Gong's Theorem 4: pairs of distributions, found by search and composed."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from hypothesis import strategies
from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.algorithms.multistep.claims.composed import (
    Composed,
    composed_delta,
    conditions,
    gaussian_delta,
    gaussian_mu,
    randomised_response,
    space,
)
from dpaudit.algorithms.multistep.claims.limits import constant
from dpaudit.algorithms.multistep.claims.parameters import Composition
from dpaudit.errors import InvalidArgument, MechanismError
from dpaudit.extension.case import AssumptionOutcome, SearchCase
from dpaudit.extension.settings import WORST_CASE, Settings
from dpaudit.guarantees.kinds import GaussianDP
from dpaudit.neighbours import REPLACE_RECORD
from dpaudit.refutation import (
    Attained,
    Certificate,
    Condition,
    Inequality,
    exceeds,
    maximise,
    minimal,
)

NAME = "huang2020-theorem4"
SOURCE = "Huang & Gong, multi-step DP-ADMM, Theorem 4"
_LONGEST = 20  # draws of four outcomes that are counted one by one
_NO_CONSTANT = (
    "No constant rescues it: an output that gives the dataset away, with probability delta each "
    "time, does so at least once with probability 1 - (1 - delta)^t, whatever epsilon is allowed."
)
_PURE = (
    "With delta = 0 randomised response loses t epsilon, more than c_0 sqrt(t) epsilon as soon as "
    "t is above c_0^2."
)
_LARGE = "The noise is calibrated with a theorem for epsilon below 1."


def theorem4(settings: Settings, parameters: Composition) -> SearchCase:
    """Return the audit of Theorem 4 at one epsilon and delta, t and c_0.

    Raises
    ------
    InvalidArgument
        Data was asked for, nothing is leaked (epsilon and delta are 0), or t is too large.

    Examples
    --------
    >>> case = theorem4(Settings(epsilon=0.0, delta=0.1), Composition(count=2))
    >>> case.bound, round(case.proved[0], 6)
    (0.1, 0.19)
    """
    setting, gaussian = _setting(settings, parameters), parameters.algorithms == "gaussian"
    exact = gaussian_delta(setting, setting.claimed_epsilon) if gaussian else _worst(setting)
    attain = (
        _Gaussian(setting, parameters.factor)
        if gaussian
        else _Search(setting, parameters.factor, settings.seed)
    )
    return SearchCase(
        bound=parameters.factor * setting.delta,
        attain=attain,
        view=f"the outputs of {setting.count} algorithms, run independently",
        data="two neighbouring datasets, on which every algorithm has the same pair of laws",
        relation=REPLACE_RECORD.name,
        pair="Gaussian laws, shifted" if gaussian else "laws on four outcomes, found by search",
        default_trials=100 if gaussian else 5_000,
        parameters=parameters.model_dump(mode="json")
        | asdict(setting)
        | {"claimed_epsilon": setting.claimed_epsilon},
        at_delta=setting.delta,
        quantity="delta at the claimed epsilon",
        effort="evaluated pairs of laws",
        assumptions=(
            AssumptionOutcome(
                name="private algorithms",
                holds=not gaussian or _gaussian_condition(setting).holds,
                evidence="checked on the pair found, in both directions",
            ),
        ),
        proved=(exact, _PROOF[parameters.algorithms]),
        notes=(
            f"The claimed epsilon of the composition is {setting.claimed_epsilon:.6g}.",
            "Basic composition, (t epsilon, t delta), and optimal composition hold.",
        ),
    )


_PROOF = {
    "all": "exact composition of randomised response with four outcomes, which dominates every "
    "(epsilon, delta)-DP algorithm (Kairouz, Oh & Viswanath 2015)",
    "gaussian": "exact composition of Gaussian releases (Dong, Roth & Su 2022)",
}


def _setting(settings: Settings, parameters: Composition) -> Composed:
    if settings.data != WORST_CASE or settings.data_path is not None or settings.data_options:
        raise InvalidArgument("data", settings.data, f"{WORST_CASE}, without files or options")
    if settings.epsilon == 0 and settings.delta == 0:
        raise InvalidArgument("delta", 0.0, "above 0 where epsilon is 0: nothing leaks otherwise")
    gaussian = parameters.algorithms == "gaussian"
    if gaussian and not (settings.epsilon > 0 and 0 < settings.delta < 1):
        raise InvalidArgument("algorithms", "gaussian", "all where epsilon or delta is 0")
    if settings.delta >= 1:
        raise InvalidArgument("delta", settings.delta, "below 1")
    if not gaussian and parameters.count > _LONGEST:
        expected = f"at most {_LONGEST}, unless the algorithms are Gaussian"
        raise InvalidArgument("count", parameters.count, expected)
    if parameters.c0_of_proof and settings.delta == 0:
        raise InvalidArgument("c0_of_proof", True, "false where delta is 0")
    return Composed(
        epsilon=settings.epsilon,
        delta=settings.delta,
        count=parameters.count,
        c0=constant(settings.delta, parameters),
    )


def _worst(setting: Composed) -> float:
    pair = randomised_response(setting.epsilon, setting.delta)
    return float(composed_delta(setting, *pair, setting.claimed_epsilon))


class _Search:
    """Looks for the pair of laws whose composition has the largest delta."""

    def __init__(self, setting: Composed, factor: float, seed: int) -> None:
        self.setting, self.factor, self.seed = setting, factor, seed

    def __call__(self, trials: int, rng: Generator) -> Attained:
        setting = self.setting
        one, other = self._oriented(maximise(space(setting), trials, rng).instance)
        broken = [c.name for c in conditions(setting, one, other) if not c.holds]
        if broken:
            raise MechanismError(f"{NAME}: the pair found breaks: {', '.join(broken)}")
        value = float(composed_delta(setting, one, other, setting.claimed_epsilon))
        bound = self.factor * setting.delta
        refuted = exceeds(_ratio(value, bound))
        leak = _NO_CONSTANT if setting.delta > 0 else _PURE
        return Attained(
            value=value,
            bound=bound,
            scale=None if bound > 0 else 1.0,
            instance=f"laws {_shown(one)} and {_shown(other)}",
            because=leak if refuted else None,
            minimal=_smallest(setting, self.factor, self.seed) if refuted else None,
            certificate=_certificate(
                setting,
                "all",
                self.factor,
                {"one": one, "other": other},
                value,
                conditions(setting, one, other),
                {"seed": self.seed, "budget": trials},
            ),
        )

    def _oriented(self, found: Any) -> tuple[Array, Array]:
        one, other = found["one"] / found["one"].sum(), found["other"] / found["other"].sum()
        epsilon = self.setting.claimed_epsilon
        here, there = (
            float(composed_delta(self.setting, p, q, epsilon))
            for p, q in ((one, other), (other, one))
        )
        return (one, other) if here >= there else (other, one)


class _Gaussian:
    """Gaussian mechanisms have one law: nothing is to be searched."""

    def __init__(self, setting: Composed, factor: float) -> None:
        self.setting, self.factor = setting, factor

    def __call__(self, trials: int, rng: Generator) -> Attained:
        setting = self.setting
        value, bound = gaussian_delta(setting, setting.claimed_epsilon), self.factor * setting.delta
        return Attained(
            value=value,
            bound=bound,
            instance=f"N(0, 1) against N({gaussian_mu(setting):.6g}, 1) in all",
            because=_LARGE if exceeds(_ratio(value, bound)) else None,
            certificate=_certificate(
                setting, "gaussian", self.factor, {}, value, (_gaussian_condition(setting),), {}
            ),
        )


def _ratio(value: float, bound: float) -> float:
    return value / bound if bound > 0 else 1 + value


def _gaussian_condition(setting: Composed) -> Condition:
    mu = gaussian_mu(setting) / math.sqrt(setting.count)
    value = GaussianDP(mu).delta(setting.epsilon)
    return Condition(name="delta of one", value=value, limit=setting.delta)


def _certificate(
    setting: Composed,
    algorithms: str,
    factor: float,
    instance: dict[str, Array],
    value: float,
    found: tuple[Condition, ...],
    search: dict[str, int],
) -> Certificate:
    bound = factor * setting.delta
    return Certificate(
        claim=NAME,
        source=SOURCE,
        relation=REPLACE_RECORD.name,
        parameters=asdict(setting) | {"algorithms": algorithms, "factor": factor},
        instance=instance,
        quantities={
            "claimed epsilon": setting.claimed_epsilon,
            "bound": bound,
            "delta": value,
            "ratio": _ratio(value, bound),
        },
        conditions=found,
        search=search,
        kind="approximate-dp",
    )


def _smallest(setting: Composed, factor: float, seed: int) -> str | None:
    """Return the smallest t, epsilon and delta = 1/n that break the claim, in words."""

    def composed(instance: tuple[int, int, int]) -> Composed:
        count, epsilon, share = instance
        return Composed(epsilon=float(epsilon), delta=1 / share, count=count, c0=setting.c0)

    claim: Inequality[tuple[int, int, int]] = Inequality(
        name=NAME,
        source=SOURCE,
        sides=lambda instance: (_worst(composed(instance)), factor / instance[2]),
        conditions=lambda instance: (),
    )
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


def _shown(law: Array) -> str:
    return "(" + ", ".join(f"{p:.4g}" for p in law) + ")"
