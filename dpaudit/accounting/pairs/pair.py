r"""Dominating pairs: two laws P and Q that no two neighbours' outputs are further apart than.

Further apart is meant for every hockey-stick divergence at once; then the products of such pairs
dominate the adaptive composition (Zhu, Dong & Wang 2022, Theorem 10). Of a pair only the law of the
loss ``L = log dP/dQ`` under P matters. It is handed over as *atoms*: for a continuous law the nodes
of Gauss-Legendre rules on panels so small that the rule is exact to rounding. Weights stay as
logarithms, so that a later tilt by ``exp(order L)`` brings out tails below 1e-300.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from dpaudit._typing import Array
from dpaudit.accounting.pairs.waves import ERROR, fourier_sums
from dpaudit.errors import ConvergenceError

Complex = NDArray[np.complex128]

# Panels are at most this share of the scale on which a density bends.
_PANEL = 0.125
_MOST_PANELS = 10**6  # of some hundred bytes each
_PHASE = 1.6  # radians of a wave within a cell
_MOST_CELLS = 4e5  # cells that are worth the work
_MOST_WORK = 2e7  # cells times frequencies that are, without a fast transform
# Frequencies whose waves are computed once and then turned: 64 exponentials a loss serve all
# blocks.
_BLOCK = 64
# Of a characteristic function by quadrature, which is 1 at most: the error of rule and sums; the
# relative error of a loss, which turns its wave. At so many first frequencies, a square, what
# differs from 1 is summed up: its relative error, and the absolute one that rounding leaves.
CHARACTERISTIC = 2e-14 + ERROR
_TURNED = 4e-15
_FIRST = 16**2
_RELATIVE = 5e-14
NEAR_ONE = 4e-16
_CHUNK = 64
_QUADRATURE_RULE = np.polynomial.legendre.leggauss(6)
_NODES = _QUADRATURE_RULE[0]
_WEIGHTS = _QUADRATURE_RULE[1]
# Share of a tilted law on either side that no frequency is worth.
_ASIDE = 1e-17
_GROWTH = 1.0  # by how much the log of a tilt may grow within a cell
_MOST_TILTED = 20_000  # such cells that a moment is worth


@dataclass(frozen=True)
class Atoms:
    """Values of the loss and the logarithms of their probabilities under P, shape ``(n,)``."""

    losses: Array
    log_masses: Array

    def within(self, low: float, high: float) -> Atoms:
        """Return the atoms from ``low`` to ``high``."""
        keep = (self.losses >= low) & (self.losses <= high)
        return Atoms(self.losses[keep], self.log_masses[keep])


class DominatingPair(ABC):
    """P and Q, seen through the law of their privacy loss under P."""

    @property
    def infinite_mass(self) -> float:
        """P-probability of outputs that are impossible under Q."""
        return 0.0

    @property
    def truncation_mass(self) -> float:
        """P-probability of outputs that `atoms` leaves out for being too rare to matter."""
        return 0.0

    def trimmed(self, tail: float) -> DominatingPair:
        """Return the pair without outputs in tails of this P-probability, if that is simpler."""
        return self

    def up_to(self, most: float) -> DominatingPair:
        """Return the pair without outputs of a larger loss, if that is simpler."""
        return self

    @property
    def beyond(self) -> tuple[float, float]:
        """Probability under P and under Q of the outputs that `up_to` left out."""
        return 0.0, 0.0

    @property
    @abstractmethod
    def largest(self) -> float:
        """Upper end of the finite losses; infinity where there is none."""

    @property
    def lattice(self) -> float | None:
        """A spacing whose multiples hold every atom the law itself has."""
        return None

    @property
    def symmetric(self) -> bool:
        """Whether exchanging P and Q gives the same law of the loss."""
        return True

    def reversed(self) -> DominatingPair:
        """Return the pair of Q and P."""
        return self

    @abstractmethod
    def atoms(self, edges: Array) -> Atoms:
        """Return the law between the first and the last edge; no panel lies astride an edge."""

    @abstractmethod
    def log_mgf(self, orders: Array) -> Array:
        """Return ``log E_P[exp(order L)]`` over finite losses, same shape; +inf where infinite."""

    def atomic_share(self, order: float) -> float:
        """Return the share of atoms in the finite part of P tilted by ``exp(order L)``."""
        return 0.0

    @property
    def quadrature(self) -> bool:
        """Whether `characteristic` has no closed form and takes a quadrature."""
        return True

    def moment_error(self, order: float) -> float:
        """Return a bound on the relative error of a moment, whichever way it is worked out."""
        return 2e-14

    @property
    def farthest_order(self) -> float:
        """Largest order in size up to which `log_mgf` is a moment; beyond, it is a bound of it."""
        return math.inf

    @property
    def distance(self) -> float:
        """Return a bound on the total variation distance of P and Q, which is delta(0)."""
        return 1.0

    def variation(self, order: float) -> float:
        """Return a bound on the total variation of the tilted density of the rest of P."""
        return np.inf

    def envelope(self, order: float, frequency: float) -> float:
        """Return a bound on the size of `characteristic` from this frequency on."""
        return min(1.0, self.atomic_share(order) + self.variation(order) / frequency)

    @abstractmethod
    def characteristic(self, order: float, frequencies: Array) -> Complex:
        """Return ``E_P[exp((order + i u) L)] / E_P[exp(order L)]`` at frequencies u."""

    def characteristic_error(self, order: float, frequencies: Array) -> Array:
        """Return how far `characteristic` may be off at each frequency."""
        return np.full(len(frequencies), CHARACTERISTIC if self.quadrature else 0.0)


class Continuous(DominatingPair):
    """A loss that is an increasing function of a real output with a smooth density."""

    @property
    @abstractmethod
    def scale(self) -> float:
        """Length on which the density bends."""

    @property
    @abstractmethod
    def interval(self) -> tuple[float, float]:
        """The ends of the output's range, `truncation_mass` aside."""

    @abstractmethod
    def loss(self, output: Array) -> Array:
        """Return the loss of outputs, same shape."""

    @abstractmethod
    def position(self, loss: Array) -> Array:
        """Return the output with a given loss; infinite beyond the range of losses."""

    @abstractmethod
    def log_density(self, output: Array) -> Array:
        """Return the log-density of outputs under P, same shape."""

    def atoms(self, edges: Array) -> Atoms:
        """Return the law between the first and the last edge; no panel lies astride an edge."""
        return self._on(np.clip(self.position(edges), *self.interval))

    def _on(self, outputs: Array) -> Atoms:
        nodes, log_weights = self.panels(outputs)
        return Atoms(self.loss(nodes).ravel(), (self.log_density(nodes) + log_weights).ravel())

    def panels(self, outputs: Array) -> tuple[Array, Array]:
        """Return nodes of Gauss-Legendre rules between the outputs, and their log-weights."""
        widths = np.diff(outputs)
        whole = np.ceil(widths / (_PANEL * self.scale))
        # Written so that a sum that is infinite or no number is refused, before an array of that
        # length is asked for.
        if not whole.sum() <= _MOST_PANELS:
            raise ConvergenceError(
                f"quadrature: outputs bend on {self.scale:.1e} of a range of {widths.sum():.1e}, "
                "which is too much work; for so little noise nothing is worked out"
            )
        parts = whole.astype(np.intp)
        panel = np.repeat(widths / np.maximum(parts, 1), parts)
        first = np.repeat(outputs[:-1], parts)
        number = np.arange(len(panel)) - np.repeat(np.cumsum(parts) - parts, parts)
        middle = first + (number + 0.5) * panel
        nodes = middle[:, None] + panel[:, None] / 2 * _NODES
        return nodes, np.log(panel / 2)[:, None] + np.log(_WEIGHTS)

    @cached_property
    def _ends(self) -> tuple[float, float]:
        low, high = self.loss(np.array(self.interval)).tolist()
        return low, high

    @property
    def farthest_order(self) -> float:
        """Largest order in size up to which `log_mgf` is a moment; beyond, it is a bound of it."""
        return farthest_moment(*self._ends) if self.quadrature else math.inf

    def log_mgf(self, orders: Array) -> Array:
        """Return ``log E_P[exp(order L)]`` by quadrature, same shape."""
        return compute_tilted_log_moments(self, *self._ends, orders)

    def characteristic(self, order: float, frequencies: Array) -> Complex:
        """Return ``E_P[exp((order + i u) L)] / E_P[exp(order L)]`` by quadrature.

        Near frequency 0 it is close to 1, and all that many steps make of it is in the difference:
        there that is summed up.
        """
        edges = make_resolving_edges(*self._where(order), order, frequencies)
        values = characteristic_of(self.atoms(edges), order, frequencies)
        if _from_zero(frequencies):
            first = _less_one(*_near_zero(self, order, float(frequencies[1])), frequencies[1])
            values[:_FIRST] = 1 + first[: len(values)]
        return values

    def characteristic_error(self, order: float, frequencies: Array) -> Array:
        """Return how far `characteristic` may be off at each frequency."""
        errors = super().characteristic_error(order, frequencies)
        if not self.quadrature or not _from_zero(frequencies):
            return errors
        losses, tilted = _near_zero(self, order, float(frequencies[1]))
        away = frequencies * float(np.abs(losses) @ tilted)
        errors[:_FIRST] = NEAR_ONE + _RELATIVE * np.minimum(away[:_FIRST], 2.0)
        return errors + _TURNED * away

    def _where(self, order: float) -> tuple[float, float]:
        """Return where the tilted law lies, but for a share of 1e-17 on either side."""
        low, high = self._ends
        if abs(order) > self.farthest_order:
            return low, high
        atoms = _build_resolved_atoms(self, low, high, _round_order_to_power(order))
        tilted = np.exp(atoms.log_masses + order * atoms.losses - log_sum(atoms, order))
        first = int(np.searchsorted(np.cumsum(tilted), _ASIDE))
        last = len(tilted) - int(np.searchsorted(np.cumsum(tilted[::-1]), _ASIDE))
        low, high = max(low, atoms.losses[first]), atoms.losses[min(last, len(tilted) - 1)]
        return float(low), float(high)


def make_equal_cell_edges(low: float, high: float, cells: int) -> Array:
    """Return the edges of equal cells between two ends; the outermost cells include the tails.

    A loss that bends too little for floating-point numbers has the same value at many outputs: the
    output found from the value at an end need not be the one at the end.
    """
    edges = np.linspace(low, high, cells + 1)
    edges[0], edges[-1] = -np.inf, np.inf
    return edges


def make_resolving_edges(low: float, high: float, order: float, frequencies: Array) -> Array:
    """Return edges so close that a rule between them resolves tilt and waves, or raise."""
    top = float(np.max(np.abs(frequencies), initial=0.0))
    cells = (high - low) * max(top / _PHASE, abs(order) / _GROWTH) + 1
    if not cells <= (_MOST_CELLS if _from_zero(frequencies) else _MOST_WORK / len(frequencies)):
        raise ConvergenceError(
            f"characteristic function: {len(frequencies)} frequencies up to {top:.1e} take "
            f"{cells:.1e} cells, which is too much work; use the numerical accountant"
        )
    return make_equal_cell_edges(low, high, math.ceil(cells))


def characteristic_of(atoms: Atoms, order: float, frequencies: Array) -> Complex:
    """Return ``sum mass exp((order + i u) loss)`` over its value at ``u = 0``."""
    losses, tilted = tilt_atoms(atoms, order)
    if _from_zero(frequencies):
        return fourier_sums(losses, tilted, float(frequencies[1]), len(frequencies))
    count, steps = len(frequencies), np.diff(frequencies)
    # Evenly spaced frequencies to rounding: the differences of a product with integers are not
    # equal in all digits.
    even = count > _BLOCK and np.ptp(steps) <= 1e-12 * np.abs(frequencies).max()
    inner = steps[0] * np.arange(_BLOCK) if even else np.zeros(1)
    outer = frequencies[:: len(inner)]
    turns = np.exp(1j * np.multiply.outer(losses, inner))  # a wave of a block is one of these,
    # A million complex numbers, 16 MB, are held at once.
    rows = max(1, 2**20 // max(len(losses), 1))
    parts = [  # turned by the block's first
        (np.exp(1j * np.multiply.outer(outer[k : k + rows], losses)) * tilted) @ turns
        for k in range(0, len(outer), rows)
    ]
    return np.concatenate([part.ravel() for part in parts])[:count]


@lru_cache(maxsize=16)
def _near_zero(pair: Continuous, order: float, step: float) -> tuple[Array, Array]:
    """Return losses and probabilities of a tilted law, close enough for the first frequencies."""
    frequencies = step * np.arange(_FIRST, dtype=np.float64)
    return tilt_atoms(
        pair.atoms(make_resolving_edges(*pair._where(order), order, frequencies)), order
    )


def _less_one(losses: Array, masses: Array, step: float) -> Complex:
    """Return ``sum mass (exp(i k step loss) - 1)`` for the first k, without loss of digits.

    With ``k = 16 a + b`` the difference is ``x + y + x y``, x and y those of 16 a and of b; sums
    are of few terms each, so that no more than a few roundings meet in one.
    """
    side = math.isqrt(_FIRST)
    padded = -(-len(losses) // _CHUNK) * _CHUNK - len(losses)
    losses, masses = (np.pad(one, (0, padded)).reshape(-1, _CHUNK) for one in (losses, masses))

    def differences(frequencies: Array) -> Complex:
        half = np.multiply.outer(frequencies, losses).swapaxes(0, 1) / 2
        return np.asarray(2j * np.sin(half) * np.exp(1j * half))

    first = step * np.arange(side, dtype=np.float64)
    fine, coarse = differences(first), differences(side * first) * masses[:, None]
    both = coarse @ fine.swapaxes(1, 2)
    alone = coarse.sum(axis=2)[:, :, None] + (fine * masses[:, None]).sum(axis=2)[:, None]
    return np.asarray((both + alone).sum(axis=0)).ravel()


def tilt_atoms(atoms: Atoms, order: float) -> tuple[Array, Array]:
    """Return losses and their probabilities, tilted by ``exp(order L)``, but for the faintest."""
    tilted = np.exp(atoms.log_masses + order * atoms.losses - log_sum(atoms, order))
    # Up to a million atoms below this share add less than a rounding error.
    keep = tilted > 1e-22 * tilted.max()
    return atoms.losses[keep], tilted[keep]


def _from_zero(frequencies: Array) -> bool:
    """Return whether frequencies are many multiples of one step: 0, h, 2 h, ..."""
    count = len(frequencies)
    if count <= _BLOCK or frequencies[0] != 0:
        return False
    return bool(np.ptp(np.diff(frequencies)) <= 1e-12 * frequencies[-1])


def log_mgf_of(atoms: Atoms, orders: Array) -> Array:
    """Return ``log sum mass exp(order loss)``, same shape as the orders."""
    sums = [log_sum(atoms, order) for order in np.ravel(orders)]
    return np.array(sums).reshape(np.shape(orders))


def compute_tilted_log_moments(
    pair: DominatingPair, low: float, high: float, orders: Array
) -> Array:
    """Return ``log E_P[exp(order L)]`` of a loss between two ends, at any orders, same shape.

    The tilt must not grow by much within a panel, or the rule would miss it. Beyond the order of
    `farthest_moment` that takes too many cells and the answer is an upper bound, the tilt at the
    end.
    """
    farthest = farthest_moment(low, high)

    def moment(order: float) -> float:
        if abs(order) > farthest:
            # The loss is between the two ends, and so is the logarithm of its moment at any order
            # of either sign.
            return max(order * high, order * low, 0.0)
        return log_sum(_build_resolved_atoms(pair, low, high, _round_order_to_power(order)), order)

    sums = [moment(order) for order in np.asarray(orders, dtype=float).ravel().tolist()]
    return np.array(sums).reshape(np.shape(orders))


def farthest_moment(low: float, high: float) -> float:
    """Return the largest order that a rule resolves: a power of 2, or 0 if not even 1 is."""
    most = _MOST_TILTED * _GROWTH / max(high - low, 1e-300)
    # A power of 2, as laws are kept for powers of 2: an order below the limit must not be rounded
    # up beyond it.
    return 2.0 ** math.floor(math.log2(most)) if most >= 1 else 0.0


def _round_order_to_power(order: float) -> float:
    """Return a power of 2 that is no smaller than the order, for which laws are kept."""
    return 2.0 ** math.ceil(math.log2(max(abs(order), 1.0)))


@lru_cache(maxsize=4096)
def _build_resolved_atoms(pair: DominatingPair, low: float, high: float, order: float) -> Atoms:
    return pair.atoms(
        make_equal_cell_edges(low, high, math.ceil((high - low) * order / _GROWTH) + 1)
    )


def log_sum(atoms: Atoms, order: float) -> float:
    """Return ``log sum mass exp(order loss)``, minus infinity for no atoms."""
    exponents = order * atoms.losses + atoms.log_masses
    top = float(exponents.max(initial=-np.inf))
    if not np.isfinite(top):
        return float(top)
    # The largest exponent becomes 0: moments of large orders are far beyond the doubles.
    exponents -= top
    return float(top + np.log(np.exp(exponents, out=exponents).sum()))


def join_atoms(*parts: Atoms) -> Atoms:
    """Return the atoms of all parts."""
    losses = np.concatenate([part.losses for part in parts])
    return Atoms(losses, np.concatenate([part.log_masses for part in parts]))
