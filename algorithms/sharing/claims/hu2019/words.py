"""How instances of hu2019's lemmas are told: in words, and as a certificate's quantities."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from dpaudit.algorithms.sharing.claims.hu2019.dual_step import identity
from dpaudit.algorithms.sharing.claims.hu2019.instance import Instance, step
from dpaudit.algorithms.sharing.claims.hu2019.iterations import conditions
from dpaudit.algorithms.sharing.claims.hu2019.lagrangian import Version, allowance, terms_at

_CAUSES: Mapping[Version, str] = {
    "published": (
        "The proof drops a factor rho/2 in (18), and Lemma 3 has the sign of its cross terms "
        "reversed: sigma_max needs the factor (M - 1) rho / 2 = {corrected:g}."
    ),
    "with-penalty": (
        "With the dropped rho/2 the proof still rests on Lemma 3, whose cross terms have the wrong "
        "sign: sigma_max needs the factor (M - 1) rho / 2 = {corrected:g}."
    ),
    "corrected": "This contradicts a proof: the code is wrong, or the proof is.",
}


@dataclass(frozen=True, kw_only=True)
class Words:
    """What is said of an instance: at length, why the claim fails there, briefly, in numbers."""

    instance: Callable[[Instance], str]
    because: Callable[[Instance], str | None]
    short: Callable[[Instance], str]
    quantities: Callable[[Instance], dict[str, float]]


def lemma2_words(factor: float, *, identity: bool) -> Words:
    """Return the words for Lemma 2."""
    return Words(
        instance=partial(_instance2, factor, identity),
        because=_because2,
        short=lambda instance: f"{_problem(instance)}; {_steps(factor, instance)}",
        quantities=partial(_quantities2, factor),
    )


def lemma4_words(version: Version, factor: float) -> Words:
    """Return the words for Lemma 4."""
    return Words(
        instance=partial(_instance4, version, factor),
        because=partial(_because4, version, factor),
        short=lambda instance: f"{_problem(instance)}; {_change(version, factor, instance)}",
        quantities=partial(_quantities4, version, factor),
    )


def _quantities2(factor: float, instance: Instance) -> dict[str, float]:
    _, before, after = step(instance)
    moved = float(((after.dual - before.dual) ** 2).sum())
    centre = float(((after.prediction - before.prediction) ** 2).sum())
    bound = factor * instance.setting.smoothness**2 * centre
    return {"movement": moved, "bound": bound, "ratio": moved / bound}


def _instance2(factor: float, identity_only: bool, instance: Instance) -> str:
    residual = identity(*step(instance))
    told = (
        f"||grad l(z) - y|| is {residual.value[0]:.2g} after it, where rounding allows "
        f"{residual.bound[0]:.2g}"
    )
    steps = "" if identity_only else f"{_steps(factor, instance)}; "
    return f"{_about(instance)}; {steps}{told}"


def _steps(factor: float, instance: Instance) -> str:
    found = _quantities2(factor, instance)
    return (
        f"||dy||^2 is {found['movement']:.6g} where {found['bound']:.6g} is claimed "
        f"({found['ratio']:.6g} times)"
    )


def _because2(instance: Instance) -> str | None:
    if instance.iteration > 1:
        return None
    return (
        "Before the first iteration y is not the slope of the loss at z: from zero y moves rho "
        "times as far as z, and rho is at least L."
    )


def _quantities4(version: Version, factor: float, instance: Instance) -> dict[str, float]:
    terms = terms_at(instance)
    c = allowance(instance.setting, version)
    slack = factor * float(c * terms.parallel[0] + terms.dual[0])
    rise, bound = float(terms.rise[0]), slack - float(terms.convexity[0])
    return {"rise": rise, "bound": bound, "ratio": 1 + (rise - bound) / slack}


def _instance4(version: Version, factor: float, instance: Instance) -> str:
    return f"{_about(instance)}; {_change(version, factor, instance)}"


def _change(version: Version, factor: float, instance: Instance) -> str:
    found = _quantities4(version, factor, instance)
    return (
        f"the augmented Lagrangian changes by {found['rise']:.6g} where at most "
        f"{found['bound']:.6g} is claimed, an excess of {found['rise'] - found['bound']:.6g}: its "
        f"positive terms are {found['ratio']:.6g} times too small"
        if found["ratio"] > 1
        else f"the augmented Lagrangian changes by {found['rise']:.6g} where at most "
        f"{found['bound']:.6g} is claimed: {found['ratio']:.1%} of the claim's positive terms"
    )


def _because4(version: Version, factor: float, instance: Instance) -> str | None:
    if factor != 1:
        return None
    return _CAUSES[version].format(corrected=allowance(instance.setting, "corrected"))


def _about(instance: Instance) -> str:
    setting = instance.setting
    numbers = "; ".join(
        f"{c.name} {c.value:.4g} (at most {c.limit:.4g})" for c in conditions(instance.problem)
    )
    return (
        f"{setting.loss} loss, M = {setting.parties}, rho = {setting.penalty:g}, iteration "
        f"{instance.iteration}; {numbers}"
    )


def _problem(instance: Instance) -> str:
    setting = instance.setting
    columns = "; ".join(str(np.ravel(design).tolist()) for design in instance.designs)
    return (
        f"M = {setting.parties}, rho = {setting.penalty:g}, lambda = "
        f"{setting.regulariser_weight:g}, {setting.loss} loss of weight {setting.loss_weight:g}, "
        f"columns {columns}, labels {instance.labels.tolist()}, iteration {instance.iteration} "
        "from zero"
    )
