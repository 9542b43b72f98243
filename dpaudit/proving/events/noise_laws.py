"""Laws of noise: the known facts on the density of a draw, or of a sum of two."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpaudit.proving.events.draft import Draft
from dpaudit.proving.events.forms import Atlas, NoiseForm, NoiseTerm
from dpaudit.proving.program import Node
from dpaudit.proving.refusals import NotProved


@dataclass(frozen=True, eq=False)
class IndependentNoise:
    """The law of independent noise in each entry of a value.

    Parameters
    ----------
    law
        Of a draw of scale 1.
    scale
        The node of the numbers that it is multiplied by; None is 1.
    is_negative
        Whether it is subtracted.
    parameters
        Of a discrete law.
    """

    law: str
    scale: int | None = None
    is_negative: bool = False
    parameters: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Tails:
    """The slopes of the logarithms of a density and of its tails, in units of the scale.

    Parameters
    ----------
    density
        Largest slope of the logarithm of the density, infinite where it has none.
    right
        Largest slope of ``log P(noise >= t)``.
    left
        Largest slope of ``log P(noise <= t)``.
    """

    density: float
    right: float
    left: float

    def negate_tails(self) -> Tails:
        """Return the tails of the noise with the other sign."""
        return replace(self, right=self.left, left=self.right)


_NONE = Tails(math.inf, math.inf, math.inf)
_TAILS = {
    # All slopes of exp(-|t|) are at most 1, those of its integrals too.
    "laplace": Tails(1.0, 1.0, 1.0),
    # log density: t - 2 log(1 + e^t), of slope -tanh(t/2); tails: of slope 1 / (1 + e^(+-t)).
    "logistic": Tails(1.0, 1.0, 1.0),
    # P(noise >= t) = min(1, exp(-t)).
    "exponential": Tails(math.inf, 1.0, math.inf),
    # With y = exp(-t): P(noise >= t) = 1 - exp(-y), of log-slope y / (e^y - 1) <= 1.
    "gumbel": Tails(math.inf, 1.0, math.inf),
}


def tails_of(noise: IndependentNoise) -> Tails:
    """Return the slopes of a law at scale 1, infinite where no bound is known.

    Examples
    --------
    >>> tails_of(IndependentNoise("gumbel", is_negative=True))
    Tails(density=inf, right=inf, left=1.0)
    """
    found = _TAILS.get(noise.law, _NONE)
    return found.negate_tails() if noise.is_negative else found


def noise_of(draft: Draft, atlas: Atlas, form: NoiseForm, node: Node) -> IndependentNoise:
    """Return the law of the noise of a value.

    * A sum of independent normal noise is normal, and variances add up.
    * The difference of two exponential variables of scale b has the density
      ``integral of exp(-(t + s)/b) exp(-s/b) / b^2 ds = exp(-t/b) / (2b)`` at t >= 0, and that of
      -t: it is Laplace noise of scale b.
    * The difference of two geometric variables with success probability p has at k >= 0 the mass
      ``sum over j of p^2 (1-p)^(2j+k) = p (1-p)^k / (2-p)``: it is discrete Laplace noise of rate
      ``-log(1-p)``.

    Raises
    ------
    NotProved
        Entries have noise of several laws, or a sum of noise of which no rule knows the law.
    """
    parts = [_law_of(draft, atlas, term, node) for term in form.terms]
    if len(parts) == 1:
        return parts[0]
    laws = {one.law for one in parts}
    if laws == {"normal"}:
        return IndependentNoise("normal", _root_of_squares(draft, parts))
    if len(parts) == 2 and laws <= {"exponential", "geometric"} and _are_opposite(draft, *parts):
        return _make_difference_noise(parts[0])
    raise NotProved.at(node.place, "no rule covers the law of this sum of noise", "add noise once")


def _law_of(draft: Draft, atlas: Atlas, term: NoiseTerm, node: Node) -> IndependentNoise:
    found = [_get_law_parameters(draft.node(one)) for one in atlas.draws_of(term.atoms)]
    # One law for all entries lets a single distance bound the release.
    if any(one != found[0] for one in found[1:]):
        raise NotProved.at(node.place, "the entries have noise of different laws")
    given = dict(found[0])
    law = given.pop("law")
    # Its density is of the whole vector: entries of it are neither independent nor of a known
    # law.
    if law == "exponential-norm" and (len(found) > 1 or term.atoms.size != given["dimension"]):
        raise NotProved.at(node.place, "the code takes the noise of a vector apart")
    return _with_positive_scale(draft, IndependentNoise(law, term.scale, term.is_negative, given))


def _get_law_parameters(node: Node) -> dict[str, Any]:
    return {name: one for name, one in node.parameters.items() if name != "number"}


def _with_positive_scale(draft: Draft, noise: IndependentNoise) -> IndependentNoise:
    """Move the sign of a public scale to the noise."""
    if noise.scale is None or (value := draft.value(noise.scale)) is None:
        return noise
    # Scales of mixed signs stay as they are; a rule that needs a positive scale refuses them.
    if not np.all(value < 0):
        return noise
    positive = draft.apply("negative", [noise.scale])
    return replace(noise, scale=positive, is_negative=not noise.is_negative)


def _root_of_squares(draft: Draft, parts: list[IndependentNoise]) -> int:
    scales = [draft.constant(1.0) if one.scale is None else one.scale for one in parts]
    total = draft.apply("multiply", [scales[0], scales[0]])
    for one in scales[1:]:
        total = draft.apply("add", [total, draft.apply("multiply", [one, one])])
    return draft.apply("sqrt", [total])


def _are_opposite(draft: Draft, one: IndependentNoise, other: IndependentNoise) -> bool:
    """Return whether noise of one law is subtracted from its like of the same scale."""
    # Exponential variables of two scales differ by an asymmetric law, which no rule knows.
    if (one.law, one.parameters) != (other.law, other.parameters):
        return False
    return one.is_negative != other.is_negative and _have_one_scale(draft, one, other)


def _have_one_scale(draft: Draft, one: IndependentNoise, other: IndependentNoise) -> bool:
    if one.scale == other.scale:
        return True
    first, second = (
        np.asarray(1.0) if noise.scale is None else draft.value(noise.scale)
        for noise in (one, other)
    )
    return first is not None and second is not None and bool(np.array_equal(first, second))


def _make_difference_noise(noise: IndependentNoise) -> IndependentNoise:
    if noise.law == "exponential":
        return IndependentNoise("laplace", noise.scale)
    assert noise.parameters is not None
    # Upwards: a larger rate is less noise and costs more.
    rate = math.nextafter(-math.log1p(-noise.parameters["p"]) * (1 + 1e-15), math.inf)
    return IndependentNoise("discrete-laplace", noise.scale, parameters={"rate": rate})
