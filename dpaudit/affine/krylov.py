r"""The mu of a view too large for dense matrices, between two ends that hold.

For one direction c of a change, with ``A = diag(1/s) G`` and ``d = diag(1/s) R c`` of
`dpaudit.affine.noise_equations`,

    mu^2 = min over u of ||u||^2 + ||d + A u||^2 = d' (1 + A A')^-1 d.

Conjugate gradients for ``(1 + A A') z = d`` need two passes over the program a step, and vectors of
as many entries as there are equations. Their z, with residual r, gives two ends, ``||r||^2`` apart:

    2 z'd - ||z||^2 - ||A'z||^2  <=  mu^2  <=  ||A'z||^2 + ||z + r||^2.

Both hold for every z. So conjugate gradients are worked out in doubles, and two more passes with
bounds on all errors (`dpaudit.affine.substitution`) evaluate the ends: the lower one as the dual
vector ``diag(1/s) z``, the upper one with the normals ``u = -A'z`` as they stand, in doubles.

For several directions z, u and d are columns, and both inequalities are between symmetric matrices:
``L <= M <= H``. So ``||M - (L + H) / 2|| <= trace(H - L) / 2``, which no entry exceeds.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from flint import arb, arb_mat

from dpaudit._typing import Array
from dpaudit.accounting.pairs.composition import Bracket
from dpaudit.affine.changes import Change
from dpaudit.affine.graph import Withheld, require_plain
from dpaudit.affine.noise_equations import NoiseEquations, clamp_view
from dpaudit.affine.program import AffineProgram, Ids
from dpaudit.affine.substitution import MidpointEnclosure
from dpaudit.reals import precision

WIDTH = 1e-6  # of a bracket, relative to its upper end
_GAP = 1e-12  # of the two ends of mu^2 where conjugate gradients stop
# Conjugate gradients end after as many steps as there are equations; a view that takes more is
# too ill-conditioned for an answer in doubles.
_STEPS = 2000
_DIGITS = 40
_CHUNK = 256
_UNIT = 2.0**-53  # relative error of a rounding
_SPARE = 1 + 1e-9  # factor for what the bounds themselves lose to rounding
_TINY = 1e-290  # above the underflow of a sum
_NOTHING = 1e-140  # width of a mu that is narrow enough whatever mu is


def enclose_mu(program: AffineProgram, seen: Ids, change: Change) -> Bracket:
    """Return a bracket of mu.

    Parameters
    ----------
    program
        The recursion.
    seen
        The coordinates that are seen.
    change
        By how much private data change.

    Raises
    ------
    Withheld
        Some equation has neither normals of its own nor a pivot, numbers are too small or too large
        for doubles, or the ends are more than 1e-6 of mu apart.
    """
    changed = program.leaves("data")[change.locate_changes()]
    with np.errstate(over="ignore", invalid="ignore"):  # which no bound survives
        clamped = clamp_view(program, seen, changed)
        if clamped is None:
            return Bracket.exactly(math.inf)
        return _Problem(clamped, _build_input_directions(clamped, changed, change)).bracket(change)


def _build_input_directions(clamped: NoiseEquations, changed: Ids, change: Change) -> Array:
    """Return the directions of a change on the inputs, shape ``(inputs, size)``."""
    table = change.directions()
    require_plain(np.abs(table).max(axis=1))  # each of these places changes
    found = np.zeros((len(clamped.inputs), change.size))
    if len(clamped.inputs):
        at = np.minimum(np.searchsorted(clamped.inputs, changed), len(clamped.inputs) - 1)
        matters = clamped.inputs[at] == changed
        np.add.at(found, at[matters], table[matters])
    return found


class _Problem:
    """``min ||u||^2 + || diag(1/s) (R c + G u) ||^2`` for some directions c.

    Parameters
    ----------
    clamped
        The equations.
    moved
        The directions, shape ``(inputs, size)``.
    """

    def __init__(self, clamped: NoiseEquations, moved: Array) -> None:
        self.clamped, self.moved = clamped, moved
        self.forwards = clamped.recursion.forwards
        self.backwards = clamped.recursion.backwards

    def bracket(self, change: Change) -> Bracket:
        """Return the two ends of the largest mu of a change."""
        if not self.moved.any():
            return Bracket.exactly(0.0)
        if self._is_seen():
            return Bracket.exactly(math.inf)
        if not (self.clamped.scales.middle > self.clamped.scales.error).all():
            raise Withheld("some of the seen numbers have no noise of their own")
        duals = np.stack([self._solve(one) for one in self.moved.T], axis=1)
        normals = np.stack([self._normals(one) for one in duals.T], axis=1)
        found = _bound_mu_between(self._lower(duals), self._upper(normals), change)
        # Over a large box two ends are all that there is, however exactly M is known.
        meets = not change.is_exact or found.width <= max(WIDTH * found.upper, _NOTHING)
        if not (meets and math.isfinite(found.upper)):
            ends = f"{found.lower:.9g} and {found.upper:.9g}"
            raise Withheld(f"the ends that were found, {ends}, do not meet to {WIDTH:g} of mu")
        return found

    def _is_seen(self) -> bool:
        """Return whether some equation has no noise, and the change moves it."""
        bare = self.clamped.is_bare
        sums = (
            (self.forwards.enclose(_enclose_rounded_values(one)) for one in self.moved.T)
            if bare.any()
            else ()
        )
        return any(bool((np.abs(one.middle) > one.error)[bare].any()) for one in sums)

    # --- conjugate gradients -----------------------------------------------------------------

    def _normals(self, dual: Array) -> Array:
        """Return ``-A'z`` on all inputs."""
        found = self.backwards.apply(dual / self.clamped.scales.middle)
        return np.where(self.clamped.is_free, -found, 0.0)

    def _solve(self, direction: Array) -> Array:
        """Return z with ``(1 + A A') z = d``, nearly."""
        scales = self.clamped.scales.middle
        rest = self.forwards.apply(direction) / scales
        found, step, size = np.zeros_like(rest), rest.copy(), float(rest @ rest)
        gained = 0.0  # z'd
        for _ in range(_STEPS):
            if not size > max(_GAP * gained, _TINY):
                break
            moved = step - self.forwards.apply(self._normals(step)) / scales
            length = size / float(step @ moved)
            found, rest = found + length * step, rest - length * moved
            gained += length * size
            size, before = float(rest @ rest), size
            step = rest + size / before * step
        return found

    # --- ends that hold ----------------------------------------------------------------------

    def _lower(self, duals: Array) -> MidpointEnclosure:
        """Return ``Z'D + D'Z - ||Z||^2 - ||A'Z||^2``.

        What normals that belong to equations count is their part of ``||Z||^2``, pivots the rest.
        """
        scaled = duals / self.clamped.scales.middle[:, None]
        found = [self.backwards.enclose(_enclose_exact_values(one)) for one in scaled.T]
        noise = _join_enclosure_columns(
            [_select_enclosure_part(one, ~self.clamped.is_data) for one in found]
        )
        data = _join_enclosure_columns(
            [_select_enclosure_part(one, self.clamped.is_data) for one in found]
        )
        pivots = _enclose_exact_values(scaled[self.clamped.is_pivot])
        moved = _enclose_rounded_values(self.moved[self.clamped.is_data])
        along, size = (
            multiply_enclosures(moved, data),
            _add_large_enclosures(
                multiply_enclosures(noise, noise), multiply_enclosures(pivots, pivots)
            ),
        )
        return _add_large_enclosures(
            _add_large_enclosures(along, MidpointEnclosure(*(one.T for one in along))),
            _negate_enclosure(size),
        )

    def _upper(self, normals: Array) -> MidpointEnclosure:
        """Return ``||U||^2 + ||diag(1/s) (R C + G U)||^2``."""
        scales = self.clamped.scales
        # An upper end divides by the smallest scale that the enclosure allows.
        least = (scales.middle - scales.error) * (1 - 4 * _UNIT)
        parts = [_select_enclosure_part(_enclose_exact_values(normals), self.clamped.is_free)]
        columns = zip(normals.T, self.moved.T, strict=True)
        sums = [self.forwards.enclose(_enclose_moved_normals(one, moved)) for one, moved in columns]
        made = _join_enclosure_columns(sums)
        rest = made.middle / least[:, None]
        error = (made.error / least[:, None] + 2 * _UNIT * np.abs(rest)) * _SPARE
        parts.append(MidpointEnclosure(rest, error))
        return _add_large_enclosures(*(multiply_enclosures(one, one) for one in parts))


def _enclose_exact_values(values: Array) -> MidpointEnclosure:
    return MidpointEnclosure(values, np.zeros_like(values))


def _enclose_rounded_values(values: Array) -> MidpointEnclosure:
    """Return doubles that are nearest to rationals."""
    return MidpointEnclosure(values, 2 * _UNIT * np.abs(values))


def _enclose_moved_normals(normals: Array, moved: Array) -> MidpointEnclosure:
    """Return inputs of which each is a normal, exactly, or data that change."""
    return MidpointEnclosure(normals + moved, 2 * _UNIT * np.abs(moved))


def _add_large_enclosures(one: MidpointEnclosure, other: MidpointEnclosure) -> MidpointEnclosure:
    middle = one.middle + other.middle
    return MidpointEnclosure(
        middle, (one.error + other.error + 2 * _UNIT * np.abs(middle)) * _SPARE
    )


def _negate_enclosure(one: MidpointEnclosure) -> MidpointEnclosure:
    return MidpointEnclosure(-one.middle, one.error)


def _select_enclosure_part(found: MidpointEnclosure, chosen: Any) -> MidpointEnclosure:
    return MidpointEnclosure(found.middle[chosen], found.error[chosen])


def _join_enclosure_columns(columns: list[MidpointEnclosure]) -> MidpointEnclosure:
    return MidpointEnclosure(*(np.stack([one[side] for one in columns], axis=1) for side in (0, 1)))


def multiply_enclosures(one: MidpointEnclosure, other: MidpointEnclosure) -> MidpointEnclosure:
    """Return ``X'Y`` with bounds on the errors, of two tables of as many rows.

    Examples
    --------
    >>> found = multiply_enclosures(
    ...     *[MidpointEnclosure(np.full((3, 1), 0.1), np.zeros((3, 1)))] * 2
    ... )
    >>> bool(abs(found.middle[0, 0] - 0.03) <= found.error[0, 0] < 1e-15)
    True
    """
    middle = _multiply_in_chunks(one.middle, other.middle)
    sizes = np.abs(one.middle), np.abs(other.middle)
    rounding = (_CHUNK + 8) * _UNIT * _multiply_in_chunks(*sizes) + _TINY
    first = _multiply_in_chunks(sizes[0] + one.error, other.error)
    return MidpointEnclosure(
        middle, (rounding + first + _multiply_in_chunks(one.error, sizes[1])) * _SPARE
    )


def _multiply_in_chunks(one: Array, other: Array) -> Array:
    """Return ``X'Y``: sums of a chunk in doubles, sums of chunks exactly; infinite if too large."""
    ends = range(0, len(one), _CHUNK)
    parts = [(one[a : a + _CHUNK].T @ other[a : a + _CHUNK]).ravel() for a in ends]
    table = np.array(parts or [np.zeros(one.shape[1] * other.shape[1])])
    # fsum raises for infinite terms of both signs.
    if not np.abs(table).sum() < math.inf:
        return np.full((one.shape[1], other.shape[1]), math.inf)
    return np.array([math.fsum(column) for column in table.T]).reshape(one.shape[1], -1)


def _bound_mu_between(
    lower: MidpointEnclosure, upper: MidpointEnclosure, change: Change
) -> Bracket:
    """Return the largest mu, of M between two matrices."""
    middle = (lower.middle + upper.middle) / 2
    middle = (middle + middle.T) / 2
    apart = np.trace(upper.middle - lower.middle) + np.trace(upper.error + lower.error)
    rounded = 8 * _UNIT * (np.abs(lower.middle) + np.abs(upper.middle))
    loose = np.linalg.norm(lower.error + upper.error + rounded)
    slack = float((max(apart, 0.0) / 2 + loose) * _SPARE)
    if not (np.isfinite(middle).all() and math.isfinite(slack)):
        raise Withheld("numbers leave the range of doubles")
    with precision(_DIGITS):
        return change.largest(
            arb_mat([[arb(one, slack) for one in row] for row in middle.tolist()])
        )
