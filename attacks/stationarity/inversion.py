"""The stationarity conditions of consensus ADMM, inverted for a record: zhang2018, Appendix E.

Threat model. The attacker knows every record of one node but one (or but a few), the number of its
records, the graph, the loss, C, rho, theta and the rate of the noise; sees every broadcast
``f_j(t)`` of every node; knows the penalties ``eta_i(t)`` of the node or, in section 6.2's setting,
does not. It wants the missing record. Only the signed record ``u = y x`` can be found, as nothing
else enters the algorithm; where features cannot be negative its sign is the label.

| paper          | code         | meaning                                              | shape    |
|----------------|--------------|------------------------------------------------------|----------|
| f_i(t)         | ``models``   | what the node broadcast                              | (T, d)   |
| m_i(t) - f_i(t)| ``moves``    | m: mean of f_i and f_j over neighbours j, before     | (T, d)   |
| see below      | ``known``    | all known summands of the gradient                   | (T, d)   |
| u_n            | ``others``   | the known records of the node, signed                | (B-m, d) |
| C/B_i          | ``weight``   | weight of a record's loss                            | scalar   |
| rho/N          | ``ridge``    | curvature of the regulariser                         | scalar   |
| 1/(2 eta V)    | ``shares``   | None where the penalty is private                    | (T,)     |
| 1/(2 theta V)  | ``largest``  | what a share is at most, as eta is at least theta    | (T,)     |
| alpha_i(t)     | ``rates``    | noise density ~ exp(-alpha norm(e)); None: no noise  | (T,)     |
| u_k            | ``records``  | the m missing records, signed                        | (m, d)   |

The dual variable is ``lambda_i(t-1) = sum_{r<t} theta/2 sum_j (f_i(r) - f_j(r))``: a function of
broadcasts. With ``g = 2 lambda_i(t-1) + (C/B) sum_{known n} l'(u_n'f) u_n + (rho/N) f``, eq. (58)
is, in every iteration,

    e = (m - f) - [ g + (C/B) sum_k l'(u_k'f) u_k ] / (2 eta V).                          (67)

The right side is known but for the missing records and, where it is private, the one number eta
that divides the bracket: private penalties hide one direction of d, which differs between
iterations.

PP, DVP (``penalty = dual_step``) and M-ADMM (``without_noise``) all obey it.

**Without noise** recovery is exact: the conditions hold with ``e = 0``. With the penalties known,
one iteration gives ``(C/B) l'(u'f) u = (m - f)/k - g``, k the share: its direction is -u's, as ``l'
< 0``. Its size is an equation for ``r = ||u||``, with s the direction's product with f,

    r |l'(r s)| = size / (C/B)            on (0, 1], records having norm at most 1.

For ``s <= 0`` the left side grows with r. Otherwise it falls after a peak, at ``r s = 1 + W(1/e)``
= 1.278... for the logistic loss, and there may be two roots: a second iteration tells which.

With private penalties, u lies in the plane of ``m - f`` and ``g`` of every iteration, as
``(C/B) l' u = (m - f)/k - g``. Two planes in R^d, d at least 3, share a line in general: two
iterations give the direction, then each gives its k and its size.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq
from scipy.special import lambertw

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.algorithms.consensus.algorithm import ConsensusADMM
from dpaudit.algorithms.problems.smooth_losses import LOGISTIC, SmoothLoss
from dpaudit.errors import InvalidArgument, MechanismError, VerbatimText


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """One run's stationarity conditions at a node, as the attacker can write them down.

    Shapes are in the module's table.

    Examples
    --------
    >>> from dpaudit.algorithms.problems.smooth_losses import LOGISTIC
    >>> conditions = Conditions(
    ...     models=np.zeros((1, 2)),
    ...     moves=np.array([[-0.3, 0.0]]),
    ...     known=np.zeros((1, 2)),
    ...     others=np.zeros((0, 2)),
    ...     weight=0.5,
    ...     ridge=0.0,
    ...     loss=LOGISTIC,
    ...     rates=None,
    ...     shares=np.array([1.0]),
    ...     largest=np.array([1.0]),
    ... )
    >>> conditions.gradient(np.array([[1.0, 0.0]]))
    array([[-0.25,  0.  ]])
    >>> float(estimate_averaged_direction(conditions)[0])
    1.0
    """

    models: Array
    moves: Array
    known: Array
    others: Array
    weight: float
    ridge: float
    loss: SmoothLoss
    rates: Array | None
    shares: Array | None
    largest: Array

    @property
    def dimension(self) -> int:
        """``d``."""
        return int(self.models.shape[1])

    def private(self) -> Conditions:
        """Return the same without the penalties."""
        return replace(self, shares=None)

    def first(self, iterations: int) -> Conditions:
        """Return the first iterations alone.

        Raises
        ------
        InvalidArgument
            There are not so many.
        """
        most = len(self.models)
        if check.require_integer("iterations", iterations, least=1) > most:
            raise InvalidArgument("iterations", iterations, f"at most the {most} that were seen")
        part = slice(iterations)
        return replace(
            self,
            models=self.models[part],
            moves=self.moves[part],
            known=self.known[part],
            rates=None if self.rates is None else self.rates[part],
            shares=None if self.shares is None else self.shares[part],
            largest=self.largest[part],
        )

    def gradient(self, records: Array) -> Array:
        """Return the bracket of (67) if these are the missing records, shape ``(T, d)``."""
        slopes = self.loss.margin.slope(self.models @ records.T)
        return np.asarray(self.known + self.weight * slopes @ records)

    def compute_pullback(self, records: Array, towards: Array) -> Array:
        """Return the derivative of ``sum_t towards_t'gradient_t`` by the records, ``(m, d)``."""
        margins = self.models @ records.T
        along = self.loss.curvature(margins) * (towards @ records.T)
        slopes = self.loss.margin.slope(margins)
        return np.asarray(self.weight * (slopes.T @ towards + along.T @ self.models))


def build_stationarity_conditions(
    algorithm: ConsensusADMM, broadcasts: Array, node: int, known_records: Array, missing: int = 1
) -> Conditions:
    """Return the attacker's conditions from a run of PP, DVP or M-ADMM.

    Nothing but ``shares`` depends on the penalties, which `Conditions.private` takes away.

    Parameters
    ----------
    algorithm
        Its public parameters, with ``penalty = dual_step`` for DVP.
    broadcasts
        ``f_i(t)`` of every node, shape ``(T, N, d)``: one output.
    node
        Whose record is missing.
    known_records
        The other records of the node, signed, shape ``(B - m, d)``.
    missing
        ``m``.

    Raises
    ------
    InvalidArgument
        A shape or a number does not fit.
    """
    nodes = algorithm.graph.nodes
    _require_observed_run(algorithm, broadcasts, node, known_records, missing)
    degree, adjacent = algorithm.graph.degrees[node], algorithm.graph.adjacency[node]
    models = broadcasts[:, node]
    around = degree * models + adjacent @ broadcasts
    # m_i(t) is made of the broadcasts of t - 1, and f(0) is 0.
    before = np.concatenate([np.zeros((1, models.shape[1])), around[:-1] / (2 * degree)])
    weight = algorithm.loss_weight / (len(known_records) + missing)
    slopes = algorithm.loss.margin.slope(models @ known_records.T)
    ridge = algorithm.regulariser_weight / nodes
    known = weight * slopes @ known_records + ridge * models
    return Conditions(
        models=models,
        moves=before - models,
        known=known + 2 * _compute_observed_duals(algorithm, broadcasts, node),
        others=known_records,
        weight=weight,
        ridge=ridge,
        loss=algorithm.loss,
        rates=None if algorithm.rates is None else algorithm.rates[:, node],
        shares=1 / algorithm.stretch[:, node],
        largest=1 / (2 * algorithm.dual_steps[:, node] * degree),
    )


def _compute_observed_duals(algorithm: ConsensusADMM, broadcasts: Array, node: int) -> Array:
    """Return ``lambda_i(t - 1)`` for t = 1..T, shape ``(T, d)``: eq. (11)."""
    degree, adjacent = algorithm.graph.degrees[node], algorithm.graph.adjacency[node]
    gaps = degree * broadcasts[:, node] - adjacent @ broadcasts
    steps = algorithm.dual_steps[:, node, None] / 2 * gaps
    # The sum up to t less its own term: lambda_i(t - 1) must not contain the broadcast of t.
    return np.asarray(np.cumsum(steps, axis=0) - steps)


def _require_observed_run(
    algorithm: ConsensusADMM, broadcasts: Array, node: int, known_records: Array, missing: int
) -> None:
    check.require_integer("missing", missing, least=1)
    nodes = algorithm.graph.nodes
    if check.require_integer("node", node, least=0) >= nodes:
        raise InvalidArgument("node", node, f"one of the {nodes} nodes, counted from 0")
    seen = check.finite_array("broadcasts", broadcasts, ndim=3).shape
    if seen[:2] != (algorithm.iterations, nodes):
        expected = f"shape ({algorithm.iterations}, {nodes}, d)"
        raise InvalidArgument("broadcasts", VerbatimText(f"shape {seen}"), expected)
    given = check.finite_array("known_records", known_records, ndim=2).shape
    if given[1] != seen[2]:
        expected = f"records of {seen[2]} features, as the models have"
        raise InvalidArgument("known_records", VerbatimText(f"shape {given}"), expected)


def estimate_averaged_direction(conditions: Conditions) -> Array:
    """Return Appendix E's estimate of the record's direction, shape ``(d,)``, of norm 1.

    With the penalties known (67) gives ``e + (C/B) l'(u'f) u / (2 eta V)`` in every iteration. The
    noise averages out; the rest is u times a number below 0.

    Raises
    ------
    InvalidArgument
        The penalties are private.
    """
    if conditions.shares is None:
        raise InvalidArgument("penalties", VerbatimText("private ones"), "known ones, to average")
    seen = conditions.moves - conditions.shares[:, None] * conditions.known
    total = -seen.sum(axis=0)
    return np.asarray(total / np.linalg.norm(total))


_PEAK = 1 + float(lambertw(np.exp(-1)).real)  # of x sig(-x)
# A pull that is smaller than this, relative to what is known, is rounding.
_ROUNDING = 1e-12
# Each step doubles the right digits, and the root is known to a few before.
_NEWTON_STEPS = 4
_SLACK = 1e-6  # beyond norm 1


@dataclass(frozen=True, kw_only=True)
class RecoveredRecord:
    """The missing record, signed, shape ``(d,)``, and the effort for it.

    ``roots`` are the norms that the first iteration allows; ``iterations`` were looked at.
    """

    record: Array
    roots: tuple[float, ...]
    iterations: int


def recover_missing_record(conditions: Conditions) -> RecoveredRecord:
    """Return the one missing record of a run without noise.

    Raises
    ------
    InvalidArgument
        There is noise, the loss is not the logistic one, or the penalties are private and there
        are fewer than two iterations or three features.
    MechanismError
        No record of norm at most 1 explains what was seen, or it does not say which one.
    """
    if conditions.rates is not None:
        raise InvalidArgument("noise_rate", conditions.rates.tolist(), "none: nothing is exact")
    if conditions.loss is not LOGISTIC:
        raise InvalidArgument("loss", conditions.loss.name, f"{LOGISTIC.name}: its slope is not 0")
    pulls = (
        _compute_private_pulls(conditions)
        if conditions.shares is None
        else _compute_public_pulls(conditions)
    )
    at_once = 2 if conditions.shares is None else 1
    direction = -pulls[0] / np.linalg.norm(pulls[0])
    sizes = np.linalg.norm(pulls, axis=1) / conditions.weight
    margins = conditions.models @ direction
    roots = _find_record_norms(conditions, float(margins[0]), float(sizes[0]))
    if len(roots) == 1:
        return RecoveredRecord(record=roots[0] * direction, roots=roots, iterations=at_once)
    best = _select_norm_root(conditions, roots, margins, sizes)
    return RecoveredRecord(record=best * direction, roots=roots, iterations=2)


def _compute_public_pulls(conditions: Conditions) -> Array:
    """Return ``(C/B) l'(u'f) u`` of the first two iterations, shape ``(T, d)``."""
    assert conditions.shares is not None
    pulls: Array = conditions.moves / conditions.shares[:, None] - conditions.known
    size = np.linalg.norm(pulls[0])
    if size <= _ROUNDING * np.linalg.norm(conditions.known[0]):
        raise MechanismError("the first iteration leaves nothing for a missing record to explain")
    return pulls[:2]


def _compute_private_pulls(conditions: Conditions) -> Array:
    """Return the same where every iteration gives a plane that it lies in."""
    if len(conditions.models) < 2 or conditions.dimension < 3:
        given = conditions.models.shape
        raise InvalidArgument("broadcasts", given, "two iterations or more, three features or more")
    planes = [_build_move_plane(move, known) for move, known in _get_first_moves(conditions)]
    # A vector in both planes is annihilated by both complements: the record's line is the null
    # space of their sum, unless a second eigenvalue vanishes too.
    outside = sum((np.eye(conditions.dimension) - basis @ basis.T for basis in planes), start=0.0)
    values, vectors = np.linalg.eigh(outside)
    if values[1] < _SLACK:
        raise MechanismError("the planes of two iterations share more than a line")
    return np.array(
        [
            _project_on_line(vectors[:, 0], move, known)
            for move, known in _get_first_moves(conditions)
        ]
    )


def _get_first_moves(conditions: Conditions) -> list[tuple[Array, Array]]:
    return list(zip(conditions.moves[:2], conditions.known[:2], strict=True))


def _build_move_plane(move: Array, known: Array) -> Array:
    basis = np.stack([move / np.linalg.norm(move), known / np.linalg.norm(known)], axis=1)
    return np.asarray(np.linalg.qr(basis)[0])


def _project_on_line(line: Array, move: Array, known: Array) -> Array:
    """Return the multiple of ``line`` that is ``s move - known`` for some s."""
    solution = np.linalg.lstsq(np.stack([move, -line], axis=1), known, rcond=None)[0]
    return np.asarray(solution[1] * line)


def _find_record_norms(conditions: Conditions, margin: float, size: float) -> tuple[float, ...]:
    """Return every norm r in (0, 1] with ``r |l'(r s)| = size``: one on either side of the peak."""

    def excess(norm: float) -> float:
        slope = conditions.loss.margin.slope(np.array(norm * margin))
        return float(-norm * slope) - size

    longest = 1.0 + _SLACK
    peak = min(_PEAK / margin, longest) if margin > 0 else longest
    if 0 < -excess(peak) <= _SLACK * size:  # both roots are at the peak, up to rounding
        return (peak, peak)
    if excess(peak) < 0:
        raise MechanismError("no record of norm at most 1 explains the first iteration")
    # The excess is below 0 at 0 and rises up to the peak: one root is between the two.
    found = [brentq(excess, 0.0, peak, xtol=1e-15, rtol=1e-14)]
    if peak < longest and excess(longest) <= 0:
        found.append(brentq(excess, peak, longest, xtol=1e-15, rtol=1e-14))
    return tuple(found)


def _select_norm_root(
    conditions: Conditions, roots: tuple[float, ...], margins: Array, sizes: Array
) -> float:
    if len(sizes) < 2:
        listed = " or ".join(f"{root:.6g}" for root in roots)
        raise MechanismError(f"one iteration allows norms {listed}: a second one is needed")
    seen = -np.array(roots) * conditions.loss.margin.slope(np.array(roots) * margins[1])
    return _refine_norm_root(
        conditions, roots[int(np.argmin(np.abs(seen - sizes[1])))], margins, sizes
    )


def _refine_norm_root(conditions: Conditions, norm: float, margins: Array, sizes: Array) -> float:
    """Return the root near ``norm`` of the iteration that says it best: not the one at its peak."""
    for _ in range(_NEWTON_STEPS):
        slopes = conditions.loss.margin.slope(norm * margins[:2])
        rises = -slopes - norm * margins[:2] * conditions.loss.curvature(norm * margins[:2])
        # At the peak of one iteration its size hardly changes with the norm, so the steeper
        # iteration is followed.
        best = int(np.argmax(np.abs(rises)))
        norm += (sizes[best] + norm * slopes[best]) / rises[best]
    return float(norm)
