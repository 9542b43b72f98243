r"""One iteration of one node of multi-step DP-ADMM, and the equations that its proof claims of it.

| paper               | code        | meaning                                           | shape  |
|---------------------|-------------|---------------------------------------------------|--------|
| l, V, d             |             | inner steps, neighbours of the node, features     |        |
| rho                 | ``penalty`` | ADMM penalty                                      | scalar |
| eta^{k,r+1}         | ``eta``     | proximal weights                                  | (l,)   |
| L_i                 |             | ``curvature ||w||^2 / 2 - <pull, w>``             |        |
| w~_i^{k,0}          | ``start``   | the model before the first step                   | (d,)   |
| w~_i^{k-1}          | ``own``     | what the node sent last                           | (d,)   |
| w~_j^{k-1}          | ``others``  | what its neighbours sent last                     | (V, d) |
| gamma_ij^{k-1}      | ``dual``    | duals                                             | (V, d) |
| xi^{k,r+1}          | ``noise``   | noise of every step                               | (l, d) |
| w~_j^k              | ``later``   | what the neighbours send now                      | (V, d) |
| w~_i^{k+1}          | ``next``    | what the node sends after the next iteration      | (d,)   |
| w*                  | ``target``  | any point                                         | (d,)   |

The steps solve (13a) and add noise: with ``u_r = 2 rho V + eta^{k,r+1}``,

    u_r w^{r+1} = - grad L_i(w~^r) + 2 sum_j gamma_ij + rho sum_j (w~_i^{k-1} + w~_j^{k-1})
                  + eta^{k,r+1} w~^r,        w~^{r+1} = w^{r+1} + xi^{r+1}.

So ``grad L_i(w~^r) - 2 gamma_i + 2 rho sum_j (w~^r - (w~_i^{k-1} + w~_j^{k-1}) / 2) + x`` is
``u_r (w~^r - w~^{r+1})``, as (30) has it, for ``x = -u_r xi^{r+1}``. The proof defines x to be
``xi^{k,r} / u_r``, which has the wrong sign and divides where it has to multiply; (39) then goes on
with the norm of ``u_r xi``. The other equations, from the same algebra:

* (29) splits ``<grad L_i, w~^r - w*>``; what is left over is ``<x, w* - w~^r>``, not
  ``<x, w* - w^{r+1}>``.
* (32) is true: telescope ``w~^r - (w~_i^{k-1} + w~_j^{k-1})/2`` over ``w~^{r+1}``, ``w~_i^k`` and
  ``(w~_i^k + w~_j^k)/2``, and use (15).
* (33) is minus the sum of ``||w~^{r+1} - w~^k||^2``: never above 0, and 0 for l = 1.
* (34) is true: ``2 <a - b, c - e> = ||b - c||^2 - ||a - c||^2 + ||a - e||^2 - ||b - e||^2``.
* (36) adds them up. It has a plus before ``||w~^{r+1} - w*||^2``, where (31) gives a minus, without
  which nothing telescopes; and ``w~^{k+1}`` in its last term, where (32) gives ``w~^k``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.algorithms.multistep.statements.checks import appendix
from dpaudit.extension.claim import Statement
from dpaudit.extension.ledger import Check
from dpaudit.refutation import Evidence, Inequality, WorstInstance, searched

# Whole numbers this small make an instance that can be checked by hand.
_LARGEST = 3  # of an entry

Number = Any  # a float, or a fraction of an exact iteration


@dataclass(frozen=True, kw_only=True, eq=False)
class Iteration:
    """The state, the data and the noise of one iteration, and where it leads."""

    penalty: float
    curvature: float
    eta: Array
    pull: Array
    start: Array
    own: Array
    others: Array
    dual: Array
    noise: Array
    later: Array
    next: Array
    target: Array

    @cached_property
    def exact(self) -> Iteration:
        """The same with fractions in place of floats, whose arithmetic has no rounding."""
        held = {name: getattr(self, name) for name in type(self).__dataclass_fields__}
        return Iteration(
            **{name: _convert_array_to_fractions(value) for name, value in held.items()}
        )

    @property
    def unit(self) -> Array:
        """``2 rho V + eta^{k,r+1}``, shape ``(l, 1)``."""
        return (2 * self.penalty * len(self.others) + self.eta)[:, None]

    @cached_property
    def models(self) -> Array:
        """``w~^{k,0} .. w~^{k,l}``, shape ``(l + 1, d)``."""
        fixed = 2 * self.dual.sum(axis=0) + self.penalty * (self.own + self.others).sum(axis=0)
        models = [self.start]
        for unit, eta, noise in zip(self.unit, self.eta, self.noise, strict=True):
            # Eq. (13a), with everything that does not change within the iteration in `fixed`.
            step = fixed + eta * models[-1] - self.gradient(models[-1])
            models.append(step / unit + noise)
        return np.array(models)

    def gradient(self, model: Array) -> Array:
        """Return the gradient of L_i."""
        return np.asarray(self.curvature * model - self.pull)

    @property
    def sent(self) -> Array:
        """``w~_i^k``, shape ``(d,)``."""
        return np.asarray(self.models[1:].mean(axis=0))

    @property
    def before(self) -> Array:
        """``(w~_i^{k-1} + w~_j^{k-1}) / 2``, shape ``(V, d)``."""
        return np.asarray((self.own + self.others) / 2)

    @property
    def after(self) -> Array:
        """``(w~_i^k + w~_j^k) / 2``, shape ``(V, d)``."""
        return np.asarray((self.sent + self.later) / 2)

    @property
    def new_dual(self) -> Array:
        """``gamma_ij^k``, eq. (15), shape ``(V, d)``."""
        return np.asarray(self.dual - self.penalty / 2 * (self.sent - self.later))

    def added(self, corrected: bool) -> Array:
        """Return the term xi_i of every step: as the proof defines it, or as (30) needs it."""
        return np.asarray(-self.unit * self.noise if corrected else self.noise / self.unit)


def _convert_array_to_fractions(value: Any) -> Any:
    if np.ndim(value) == 0:
        return Fraction(float(value))
    return np.vectorize(Fraction, otypes=[object])(np.asarray(value, dtype=float))


@dataclass(frozen=True)
class EquationSides:
    """Lists of the terms that an equation has on its left and on its right."""

    left: tuple[Number, ...]
    right: tuple[Number, ...]

    def values(self, factor: float | Fraction = 1) -> tuple[Number, Number]:
        """Return both sums; the right one is multiplied by the factor.

        Examples
        --------
        >>> EquationSides((1.0, 2.0), (4.0,)).values(0.5)
        (3.0, 2.0)
        >>> EquationSides((Fraction(1, 3),), (Fraction(1, 3),)).values()
        (Fraction(1, 3), Fraction(1, 3))
        """
        return sum(self.left), factor * sum(self.right)

    def size(self, factor: float | Fraction = 1) -> Number:
        """Return 1 plus the sum of all absolute values."""
        return 1 + sum(map(abs, self.left)) + factor * sum(map(abs, self.right))


def _compute_squared_sum(vectors: Array) -> Number:
    return np.sum(vectors * vectors)


def compute_equation29_sides(it: Iteration, corrected: bool) -> EquationSides:
    """Return both sides of (29) at r = 0."""
    w, x = it.models, it.added(False)[0]
    slope = it.gradient(w[0])
    # As printed, the noise-free model w^{k,r+1}; as derived, the noisy one before.
    rest = w[0] if corrected else w[1] - it.noise[0]
    return EquationSides(
        ((slope @ (w[0] - it.target)),),
        (
            ((slope + x) @ (w[1] - it.target)),
            (x @ (it.target - rest)),
            ((slope + x) @ (w[0] - w[1])),
        ),
    )


def compute_equation30_sides(it: Iteration, corrected: bool) -> EquationSides:
    """Return the first and the last line of (30) at r = 0."""
    w, x = it.models, it.added(corrected)[0]
    away = w[1] - it.target
    held = it.dual.sum(axis=0) - it.penalty * (w[0] - it.before).sum(axis=0)
    return EquationSides(
        (((it.gradient(w[0]) + x) @ away),),
        ((it.unit[0, 0] * ((w[0] - w[1]) @ away)), (2 * held @ away)),
    )


def compute_equation32_sides(it: Iteration, corrected: bool) -> EquationSides:
    """Return both sides of (32), without the sums over r and j in their averages."""
    w, rho, steps = it.models, it.penalty, len(it.eta)
    degree, away = len(it.others), w[1:] - it.target
    held = it.dual.sum(axis=0) - rho * (w[:-1, None] - it.before).sum(axis=1)
    return EquationSides(
        ((2 * np.sum(held * away)) / steps,),
        (
            (-2 * rho * degree * np.sum((w[1:] - it.sent) * away)) / steps,
            (2 * it.new_dual.sum(axis=0) @ (it.sent - it.target)),
            (-2 * rho * degree * np.sum((w[:-1] - w[1:]) * away)) / steps,
            (-2 * rho * (it.after - it.before).sum(axis=0) @ (it.sent - it.target)),
        ),
    )


def compute_equation33_sides(it: Iteration, corrected: bool) -> EquationSides:
    """Return the sum of (33), or 1 where it is not below 0 and else 0; and 0."""
    # The strict inequality is encoded as a yes or no, since 0 < 0 has no excess to measure.
    total = scatter(it)
    return EquationSides((total if corrected else int(total >= 0),), (0,))


def scatter(it: Iteration) -> Number:
    """Return the sum of (33)."""
    return np.sum((it.models[1:] - it.sent) * (it.target - it.models[1:]))


def compute_equation34_sides(it: Iteration, corrected: bool) -> EquationSides:
    """Return the first and the last line of (34), for the first neighbour."""
    before, after, moved = it.before[0], it.after[0], it.new_dual[0] - it.dual[0]
    return EquationSides(
        (((after - before) @ (it.target - it.sent)),),
        (
            _compute_squared_sum(before - it.target) / 2,
            -_compute_squared_sum(after - it.target) / 2,
            _compute_squared_sum(moved) / (2 * it.penalty**2),
        ),
    )


def compute_equation36_sides(it: Iteration, corrected: bool) -> EquationSides:
    """Return both sides of (36)."""
    w, x, steps = it.models, it.added(corrected), len(it.eta)
    slopes, eta, target = it.gradient(w[:-1]), it.eta[:, None], it.target
    # As printed, the noise-free models and the next iteration's; as derived, the noisy ones and
    # this one's.
    rest, last = (w[:-1], it.sent) if corrected else (w[1:] - it.noise, it.next)
    return EquationSides(
        ((np.sum(slopes * (w[:-1] - target))) / steps,),
        (
            (np.sum(eta / 2 * (w[:-1] - target) ** 2)) / steps,
            # The printed plus keeps squares from telescoping; eq. (31) gives a minus.
            (-1 if corrected else 1) * (np.sum(eta / 2 * (w[1:] - target) ** 2)) / steps,
            (np.sum((slopes + x) ** 2 / (2 * eta))) / steps,
            (np.sum(x * (target - rest))) / steps,
            it.penalty * _compute_squared_sum(it.before - target),
            -it.penalty * _compute_squared_sum(it.after - target),
            _compute_squared_sum(it.new_dual - it.dual) / it.penalty,
            (2 * it.new_dual.sum(axis=0) @ (last - target)),
        ),
    )


@dataclass(frozen=True)
class Equation:
    """An equation of the proof: its two sides, whether it claims equality, and why it fails."""

    sides: Callable[[Iteration, bool], EquationSides]
    equality: bool
    because: str


EQUATIONS = {
    29: Equation(
        compute_equation29_sides,
        True,
        "What is left over is <xi_i, w* - w~^{k,r}>, of the model before.",
    ),
    30: Equation(
        compute_equation30_sides,
        True,
        "The update divides the gradient by 2 rho |N_i| + eta and adds xi^{k,r} after that: to act "
        "as a gradient the noise has to be multiplied by minus that number, not divided by it.",
    ),
    32: Equation(
        compute_equation32_sides, True, "The right side was multiplied by a number other than 1."
    ),
    33: Equation(
        compute_equation33_sides, False, "It is 0 where all inner models are equal, as for l = 1."
    ),
    34: Equation(
        compute_equation34_sides, False, "The right side was multiplied by a number other than 1."
    ),
    36: Equation(
        compute_equation36_sides,
        False,
        "Its last term is of the next iteration's model, where (32) has this one's, and its xi_i "
        "has the wrong sign and size, as in (30): either is enough.",
    ),
}


# By number and version, with a factor of 1.
PROOFS: Mapping[tuple[int, str], Check] = {
    (29, "corrected"): appendix.noise_joins_repaired,
    (30, "corrected"): appendix.noise_as_gradient_repaired,
    (32, "published"): appendix.pull_of_neighbours,
    (32, "corrected"): appendix.pull_of_neighbours,
    (33, "corrected"): appendix.scatter_repaired,
    (34, "published"): appendix.common_ground,
    (34, "corrected"): appendix.common_ground,
    (36, "corrected"): appendix.gain_repaired,
}


@dataclass(frozen=True, kw_only=True)
class EquationAudit:
    """One equation, in one version, with the sizes of the instances tried."""

    number: int
    version: str
    factor: float
    inner_steps: int
    neighbours: int
    dimension: int

    @property
    def equation(self) -> Equation:
        """The equation of this number."""
        return EQUATIONS[self.number]

    @property
    def proof(self) -> str | None:
        """The name of the check that proves this version, if there is one and it finds so."""
        check = PROOFS.get((self.number, self.version)) if self.factor == 1 else None
        if check is None:
            return None
        found = check()
        findings = found if isinstance(found, tuple) else (found,)
        return check.__name__ if all(finding.holds for finding in findings) else None

    @property
    def strict(self) -> bool:
        """Whether it claims less, and not at most: (33) as it is printed."""
        return self.number == 33 and self.version == "published"

    def sides(self, it: Iteration) -> EquationSides:
        """Return both sides of the version, in fractions: floats would add their rounding."""
        # The sides are compared without rounding, so an equation fails by a rational number or not
        # at all.
        return self.equation.sides(it.exact, self.version == "corrected")

    def values(self, it: Iteration) -> tuple[Fraction, Fraction]:
        """Return both sides, the right one multiplied by the factor."""
        left, right = self.sides(it).values(Fraction(self.factor))
        return Fraction(left), Fraction(right)

    def compared(self, it: Iteration) -> tuple[float, float]:
        """Return how far the sides are apart, or the left one above the right one; and 0."""
        left, right = self.values(it)
        return float(abs(left - right) if self.equation.equality else left - right), 0.0

    def inequality(self, statement: Statement) -> Inequality[Iteration]:
        """Return the equation as an inequality of one iteration."""
        return Inequality(
            name=statement.name,
            source=statement.source,
            sides=self.compared,
            conditions=lambda it: (),
            scale=lambda it: float(self.sides(it).size(Fraction(self.factor))),
            words=self._words,
            because=lambda it: self.equation.because,
            evidence=partial(self._evidence, statement),
        )

    def attained(
        self, statement: Statement, budget: int, rng: Generator, *, seed: int
    ) -> WorstInstance:
        """Return the largest value that many random iterations reach."""

        def climb(budget: int, rng: Generator) -> Iteration:
            tried = (draw_integer_iteration(self, rng) for _ in range(budget))
            return max(tried, key=self.inequality(statement).ratio)

        worst = climb(budget, rng)
        # The climb runs once: `searched` asks for it again and has to get the same instance.
        found = searched(self.inequality(statement), lambda *_: worst, budget, rng, seed=seed)
        if not self.strict:
            return found
        # What a certificate says of (33) is whether it fails; what is shown is by how much.
        return replace(found, value=float(scatter(worst.exact)), strict=True)

    def _words(self, it: Iteration) -> str:
        left, right = map(float, self.values(it))
        if self.strict:
            left = float(scatter(it.exact))
        shown = ", ".join(
            f"{name} = {_format_integer_array(value)}"
            for name, value in _get_iteration_fields(it).items()
        )
        return f"{shown}: left side {left:.6g}, right side {right:.6g}"

    def _evidence(self, statement: Statement, it: Iteration) -> Evidence:
        left, right = map(float, self.values(it))
        return Evidence(
            kind="property",
            relation=statement.relation,
            parameters={
                "version": self.version,
                "factor": self.factor,
                "inner_steps": self.inner_steps,
                "neighbours": self.neighbours,
                "dimension": self.dimension,
            },
            instance=_get_iteration_fields(it),
            quantities={"left side": left, "right side": right},
        )


def _get_iteration_fields(it: Iteration) -> dict[str, Array]:
    return {name: np.asarray(getattr(it, name)) for name in Iteration.__dataclass_fields__}


def _format_integer_array(value: Array) -> str:
    return str(np.asarray(value, dtype=int).tolist())


def draw_integer_iteration(sizes: EquationAudit, rng: Generator) -> Iteration:
    """Return an iteration of small whole numbers.

    Examples
    --------
    >>> sizes = EquationAudit(
    ...     number=32, version="published", factor=1.0, inner_steps=2, neighbours=3, dimension=1,
    ... )
    >>> draw_integer_iteration(sizes, np.random.default_rng(0)).models.shape
    (3, 1)
    """
    steps, degree, d = sizes.inner_steps, sizes.neighbours, sizes.dimension

    def whole(*shape: int) -> Array:
        return rng.integers(-_LARGEST, _LARGEST + 1, size=shape).astype(np.float64)

    return Iteration(
        # Penalties and proximal weights stand below the line, so they begin at 1.
        penalty=float(rng.integers(1, _LARGEST + 1)),
        curvature=float(rng.integers(0, _LARGEST + 1)),
        eta=rng.integers(1, _LARGEST + 1, size=steps).astype(np.float64),
        pull=whole(d),
        start=whole(d),
        own=whole(d),
        others=whole(degree, d),
        dual=whole(degree, d),
        noise=whole(steps, d),
        later=whole(degree, d),
        next=whole(d),
        target=whole(d),
    )
