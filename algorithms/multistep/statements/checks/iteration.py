"""One iteration of one node, in unknowns.

The models ``w0 .. wl`` (``w~_i^{k,0} .. w~_i^{k,l}``) are free. The gradients at them are what the
update (18) then says, ``g_r = u_r (n_r - w_{r+1}) + 2 sum gamma_j + rho sum (own + other_j) + eta_r
w_r`` with ``u_r = 2 rho |N_i| + eta_r`` and noise ``n_r``. So nothing is lost, and nothing divided.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias

from dpaudit.polynomials import (
    Polynomial,
    Vector,
    make_polynomial,
    make_unknown,
    make_vector,
    on_line,
    total,
    vectors,
)

Numbers: TypeAlias = Mapping[str, int | Fraction]
RHO = make_unknown("rho")
TARGET = make_vector("target")
OWN = make_vector("own")
NEXT = make_vector("next")
ZERO = make_polynomial(0)


@dataclass(frozen=True)
class SymbolicIteration:
    """One iteration of one node, in unknowns: ``steps`` inner steps and so many neighbours.

    Where ``corrected`` is false, ``x`` is as the text above (30) defines it.
    """

    steps: int
    neighbours: int
    corrected: bool = True
    models: tuple[Vector, ...] = field(init=False)

    def __post_init__(self) -> None:
        names = " ".join(f"w{r}" for r in range(self.steps + 1))
        # The dataclass is frozen; the models follow from the number of steps.
        object.__setattr__(self, "models", vectors(names))

    @property
    def rounds(self) -> range:
        """The inner steps, from 0."""
        return range(self.steps)

    @property
    def others(self) -> range:
        """The neighbours, from 0."""
        return range(self.neighbours)

    @property
    def sent(self) -> Vector:
        """``w~_i^k``, the mean of the models after the first."""
        return total(self.models[1:]) / self.steps

    def eta(self, step: int) -> Polynomial:
        """Return ``eta_i^{k,r+1}``."""
        return make_unknown(f"eta{step}")

    def before(self, j: int) -> Vector:
        """Return ``(w~_i^{k-1} + w~_j^{k-1}) / 2``."""
        return (OWN + make_named_vector(f"other{j}")) / 2

    def after(self, j: int) -> Vector:
        """Return ``(w~_i^k + w~_j^k) / 2``."""
        return (self.sent + make_named_vector(f"later{j}")) / 2

    def dual(self, j: int) -> Vector:
        """Return ``gamma_ij^{k-1}``."""
        return make_named_vector(f"gamma{j}")

    def new_dual(self, j: int) -> Vector:
        """Return ``gamma_ij^k``, of which (15) is the sum over j."""
        return self.dual(j) - RHO / 2 * (self.sent - make_named_vector(f"later{j}"))

    def weight(self, step: int) -> Polynomial:
        """Return ``2 rho |N_i| + eta_i^{k,r+1}``."""
        return 2 * self.neighbours * RHO + self.eta(step)

    def noise(self, step: int) -> Vector:
        """Return ``xi_i^{k,r+1}``."""
        return make_named_vector(f"noise{step}")

    def gradient(self, step: int) -> Vector:
        """Return the gradient of ``L_i`` at a model, from the update that follows it."""
        pull = total(2 * self.dual(j) + 2 * RHO * self.before(j) for j in self.others)
        # Update (18), solved for the gradient: so the models may be any vectors, and nothing is
        # divided.
        moved = self.weight(step) * (self.noise(step) - self.models[step + 1])
        return moved + pull + self.eta(step) * self.models[step]

    def added(self, step: int) -> Vector:
        """Return the term ``xi_i`` of the proof: as (30) and (39) need it, or as it is defined.

        As it is defined, the noise is divided by the weight, for which ``1 / u`` stands.
        """
        if self.corrected:
            return -self.weight(step) * self.noise(step)
        # Polynomials have no division, so an unknown stands for 1 / u and gets its value with the
        # others.
        return make_unknown(f"inverse{step}") * self.noise(step)

    def held(self, step: int) -> Vector:
        """Return ``gamma_i^{k-1} - rho sum_j (w~_i^{k,r} - (w~_i^{k-1} + w~_j^{k-1}) / 2)``."""
        parts = (self.dual(j) - RHO * (self.models[step] - self.before(j)) for j in self.others)
        return total(parts)

    def words(self) -> str:
        """Return the sizes."""
        return f"l = {self.steps}, |N_i| = {self.neighbours}"


def make_named_vector(name: str) -> Vector:
    """Return the vector of this name."""
    return Vector({name: make_polynomial(1)})


def sum_of(parts: Iterable[Polynomial]) -> Polynomial:
    """Return the sum of polynomials."""
    return sum(parts, ZERO)


def values_of(numbers: Numbers, it: SymbolicIteration) -> dict[str, Fraction]:
    """Return values of all that occurs in dimension one: 0 where no number is given."""
    names = [f"w{r}" for r in range(it.steps + 1)] + [f"noise{r}" for r in it.rounds]
    names += [f"{what}{j}" for j in it.others for what in ("gamma", "other", "later")]
    # Whatever the instance does not name is 0, so that it states only what matters.
    every = {**dict.fromkeys((*names, "target", "own", "next"), Fraction(0)), **numbers}
    values = on_line({name: Fraction(value) for name, value in every.items()})
    weights = {f"inverse{r}": 1 / it.weight(r).value(values) for r in it.rounds}
    return {**values, **weights}
