r"""M-ADMM on two nodes and quadratics, in rational numbers.

Two neighbours hold ``O_i(f) = m_i f^2 / 2 - b_i f`` of one number. ``D - A`` has the rows (1, -1)
and (-1, 1), and ``D + A`` has ones everywhere. As ``2 lambda_1 = -2 lambda_2``, one number p stands
for the duals: ``2 Lambda = (p, -p)``. Of ``2 Lambda = sqrt(D - A) Y`` with Y in the range of
``D - A`` follows ``||Y||^2 = p^2``, as the pseudo-inverse of ``D - A`` halves ``(p, -p)``.
So every number of Theorems 3.1 and 3.2 is rational.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

Two: TypeAlias = tuple[Fraction, Fraction]


@dataclass(frozen=True, kw_only=True)
class TwoNodes:
    """A state of M-ADMM (10), (11), with the penalties of the step that leads to it.

    Parameters
    ----------
    penalties
        ``eta_1, eta_2``, at least theta.
    dual_step
        ``theta``, above 0.
    curvatures, slopes
        ``m_i``, at least 0, and ``b_i``.
    models, dual
        ``f_1, f_2`` and ``p``.

    Raises
    ------
    ValueError
        A penalty is below theta, theta is not above 0, or a curvature is negative: these are the
        hypotheses of Theorem 3.1.

    Examples
    --------
    >>> half = Fraction(1, 2)
    >>> start = TwoNodes(
    ...     penalties=(half, half), dual_step=half, curvatures=(half, half), slopes=(half, half),
    ...     models=(Fraction(0), Fraction(0)), dual=Fraction(0),
    ... )
    >>> start.optimum, start.after().models
    (Fraction(1, 1), (Fraction(1, 3), Fraction(1, 3)))
    """

    penalties: Two
    dual_step: Fraction
    curvatures: Two
    slopes: Two
    models: Two
    dual: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if not 0 < self.dual_step <= min(self.penalties):
            raise ValueError(f"penalties {self.penalties} are not at least theta > 0")
        if min(self.curvatures) < 0:
            raise ValueError(f"curvatures {self.curvatures} are not those of convex functions")

    @property
    def optimum(self) -> Fraction:
        """``f*``, where the gradients of both sum to 0."""
        (m, n), (b, c) = self.curvatures, self.slopes
        return (b + c) / (m + n)

    @property
    def dual_gap(self) -> Fraction:
        """``p - p*``, where ``m_1 f* - b_1 + p* = 0``: eq. (17)."""
        return self.dual + self.curvatures[0] * self.optimum - self.slopes[0]

    @property
    def gaps(self) -> Two:
        """``f_i - f*``."""
        return self.models[0] - self.optimum, self.models[1] - self.optimum

    @property
    def distance(self) -> Fraction:
        """``||Z - Z*||^2_J`` in this state's own J."""
        return self.distance_in(self.penalties)

    def distance_in(self, penalties: Two) -> Fraction:
        """Return ``||Z - Z*||^2_J`` in the J of these penalties."""
        return self.dual_gap**2 / self.dual_step + compute_signless_product(
            penalties, self.gaps, self.gaps
        )

    def after(self, penalties: Two | None = None) -> TwoNodes:
        """Return the next state, by (10) and (11), with these penalties or the same ones."""
        etas = penalties or self.penalties
        # 2 lambda_1 is p and 2 lambda_2 is -p, and both enter (10) with a minus sign.
        common, pulls = sum(self.models), (-self.dual, self.dual)
        one, two = (
            (b + pull + eta * common) / (m + 2 * eta)
            for b, pull, eta, m in zip(self.slopes, pulls, etas, self.curvatures, strict=True)
        )
        # Twice (11), as p is twice the dual of the first node.
        dual = self.dual + self.dual_step * (one - two)
        return replace(self, penalties=etas, models=(one, two), dual=dual)


def compute_signless_product(penalties: Two, left: Two, right: Two) -> Fraction:
    """Return ``left' W (D + A) right``.

    Examples
    --------
    >>> one, two = (Fraction(1), Fraction(2)), (Fraction(1), Fraction(-2))
    >>> (
    ...     compute_signless_product(one, two, two),
    ...     compute_signless_product(one, (two[1], two[0]), two),
    ... )
    (Fraction(3, 1), Fraction(0, 1))
    """
    return (penalties[0] * left[0] + penalties[1] * left[1]) * sum(right)


def compute_excess_product(penalties: Two, dual_step: Fraction, left: Two, right: Two) -> Fraction:
    """Return ``left' (W - theta I)(D - A) right``."""
    # (D - A) times `right` is (r_1 - r_2) times (1, -1).
    over = [eta - dual_step for eta in penalties]
    return (over[0] * left[0] - over[1] * left[1]) * (right[0] - right[1])


@dataclass(frozen=True, kw_only=True)
class TwoNodeStep:
    """A state of M-ADMM and the next one, seen in the J of the next one.

    Parameters
    ----------
    before, after
        The two states.
    """

    before: TwoNodes
    after: TwoNodes

    @classmethod
    def of(cls, before: TwoNodes, penalties: Two | None = None) -> TwoNodeStep:
        """Return the step that M-ADMM takes from a state."""
        return cls(before=before, after=before.after(penalties))

    @property
    def change(self) -> Two:
        """``f(t+1) - f(t)``."""
        (a, b), (c, d) = self.after.models, self.before.models
        return a - c, b - d

    @property
    def inner(self) -> Fraction:
        """``<Z(t+1) - Z*, J(t+1)(Z(t+1) - Z(t))>``: the left side of (19)."""
        duals = self.after.dual_gap * (self.after.dual - self.before.dual) / self.after.dual_step
        return duals + compute_signless_product(self.after.penalties, self.after.gaps, self.change)

    @property
    def moved(self) -> Fraction:
        """``||Z(t+1) - Z(t)||^2_J``."""
        duals = (self.after.dual - self.before.dual) ** 2 / self.after.dual_step
        return duals + compute_signless_product(self.after.penalties, self.change, self.change)

    @property
    def distance_before(self) -> Fraction:
        """``||Z(t) - Z*||^2_J`` in the J of the next state."""
        return self.before.distance_in(self.after.penalties)

    @property
    def held(self) -> Fraction:
        """``<f(t+1) - f*, (W - theta I)(D - A)(f(t+1) - f*)>``: the last term of (38)."""
        after = self.after
        return compute_excess_product(after.penalties, after.dual_step, after.gaps, after.gaps)

    @property
    def curved(self) -> Fraction:
        """``<f(t+1) - f*, D_m (f(t+1) - f*)>``."""
        return sum(
            (m * gap**2 for m, gap in zip(self.after.curvatures, self.after.gaps, strict=True)),
            Fraction(0),
        )
