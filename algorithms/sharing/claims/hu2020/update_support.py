r"""How far a message of ADMM sharing lies outside the column space of a neighbour's design.

| paper | name                  | meaning                                   | shape    |
|-------|-----------------------|-------------------------------------------|----------|
| D, D' | ``design, neighbour`` | differ in one column; unit rows           | (N, d_m) |
| x~    | ``model``             | a perturbed model; any is possible        | (d_m,)   |
| D x~  |                       | the message                               | (N,)     |
| P'    |                       | projector on col(D')                      | (N, N)   |

With noise on the model, ``x~ = x + N(0, sigma^2 I)`` (hu2020, eq. 7) or ``x + N(0, sigma^2
(D'D)^-1)`` (hu2019, eq. 10), the message ``D x~`` lies in col(D) with probability 1. It has a
density on col(D'), under D'. Where D and D' have independent columns and col(D) is not col(D'),
the two spaces meet in a proper subspace of col(D'), which has probability 0 there. So the event
"the message lies in col(D)" has probability 1 under D and 0 under D': delta is 1 at every epsilon,
whatever sigma is.

Of designs with independent columns this separates all neighbours with ``N > d_m`` but special ones.
For ``N = d_m`` both spaces are R^N: nothing is separated this way, and with whitened noise the
message is ``N(D x, sigma^2 I)``. Designs with dependent columns are left out, as ``(D'D)^-1`` does
not exist for them (with noise on the model they are separated all the same, also where N is d_m:
a design of rank 1 and a neighbour of rank 2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from dpaudit._typing import Array
from dpaudit.algorithms.sharing.claims.hu2020.update import ROUNDING, Setting
from dpaudit.algorithms.sharing.claims.hu2020.update_search import neighbours, space
from dpaudit.refutation import Condition, Inequality, Space, minimal
from dpaudit.refutation.search import Batch

SEPARATED = 1e-6  # least relative distance from col(D') that is told from rounding
_INDEPENDENT = 1e-3  # least pivot of a design, relative to its largest
_BUDGET = 500


@dataclass(frozen=True, kw_only=True, eq=False)
class Message:
    """Two designs and a model; shapes in the module docstring."""

    design: Array
    neighbour: Array
    model: Array


def support_space(setting: Setting) -> Space:
    """Return the designs and neighbours of Lemma 1's search; the ratio is the largest distance.

    That is the sine of the largest angle between the column spaces, 0 where columns are dependent.

    Examples
    --------
    >>> from dpaudit.refutation import maximise
    >>> found = maximise(
    ...     support_space(Setting(features=2, samples=4)), 200, np.random.default_rng(0)
    ... )
    >>> found.ratio > 0.9
    True
    """
    lemma = space(setting, 1.0)
    return Space(start=lemma.start, move=lemma.move, evaluate=_evaluate)


def message_of(batch: Batch, bound: float) -> Message:
    """Return the instance of one row of an evaluated batch; its model has norm ``bound``."""
    neighbour = neighbours(batch["design"][None], batch["score"][None])[0]
    left, upper = np.linalg.qr(batch["design"])
    overlap = np.linalg.qr(neighbour)[0].T @ left
    farthest = np.linalg.svd(overlap)[2][-1]  # of col(D), in the coordinates of ``left``
    model = np.linalg.solve(upper, farthest)
    length = float(np.linalg.norm(model))
    return Message(design=batch["design"], neighbour=neighbour, model=bound / length * model)


def distance(message: Message) -> float:
    """Return the distance of ``D x~`` from col(D'), relative to its length.

    Examples
    --------
    >>> here, there = np.array([[1.0], [0.0]]), np.array([[0.6], [0.8]])
    >>> round(distance(Message(design=here, neighbour=there, model=np.ones(1))), 12)
    0.8
    """
    sent = message.design @ message.model
    basis = np.linalg.qr(message.neighbour)[0]
    rest = sent - basis @ (basis.T @ sent)
    rest -= basis @ (basis.T @ rest)  # once more: rounding leaves the space the first time
    return float(np.linalg.norm(rest) / np.linalg.norm(sent))


def support_conditions(message: Message) -> tuple[Condition, ...]:
    """Return the assumptions on the pair, and that the message separates it, as numbers."""
    design, neighbour = message.design, message.neighbour
    differs = (design != neighbour).any(axis=0)
    found: dict[str, tuple[Any, Any]] = {
        "unit rows": (_off_unit(design), ROUNDING),
        "unit rows of the neighbour": (_off_unit(neighbour), ROUNDING),
        "one column differs": (int(differs.sum()), 1),
        "close neighbours": (np.linalg.norm(design - neighbour), 1.0),
        "independent columns": (_dependent(design), 0),
        "independent columns of the neighbour": (_dependent(neighbour), 0),
        "output on the dataset's columns": (0.0, 1e-30),
        "output off the neighbour's columns": (SEPARATED, distance(message)),
    }
    return tuple(
        Condition(name=name, value=float(value), limit=float(limit))
        for name, (value, limit) in found.items()
    )


def smallest_support(seed: int) -> str | None:
    """Return the smallest pair with other column spaces, in words, or None if none is found.

    Examples
    --------
    >>> smallest_support(0)
    'd_m = 2, N = 3; rows along (1, 2) (0, 1) (1, 0), of which the first has its first sign flipped'
    """
    separates = Inequality(
        name="one column space", source=__name__, sides=_separates, conditions=_small_conditions
    )
    found = minimal(_small_rows(), separates, budget=_BUDGET, seed=seed)
    if found is None:
        return None
    rows = " ".join(f"({', '.join(map(str, row))})" for row in found)
    return (
        f"d_m = {len(found[0])}, N = {len(found)}; rows along {rows}, of which the first has its "
        "first sign flipped"
    )


def _separates(rows: list[list[int]]) -> tuple[float, float]:
    """Return how far the flip of one sign turns the column space, and the least that counts."""
    design, neighbour = _small_pair(rows)
    return float(_sines(design[None], neighbour[None])[0]), SEPARATED


def _small_conditions(rows: list[list[int]]) -> tuple[Condition, ...]:
    design, neighbour = _small_pair(rows)
    zero = sum(not any(row) for row in rows)
    moved = float(np.linalg.norm(design - neighbour))
    return (
        Condition(name="rows of zeros", value=zero, limit=0.0),
        Condition(name="close neighbours", value=moved, limit=1.0),
    )


def _small_pair(rows: list[list[int]]) -> tuple[Array, Array]:
    """Return the rows made unit rows, and the same with the first entry's sign flipped."""
    design = np.array(rows, dtype=np.float64)
    lengths = np.linalg.norm(design, axis=1, keepdims=True)
    design /= np.where(lengths > 0, lengths, 1.0)
    neighbour = design.copy()
    neighbour[0, 0] *= -1
    return design, neighbour


@st.composite
def _small_rows(draw: st.DrawFn) -> list[list[int]]:
    features = draw(st.integers(2, 3))
    samples = draw(st.integers(3, 4))
    row = st.lists(st.integers(0, 3), min_size=features, max_size=features)
    return draw(st.lists(row, min_size=samples, max_size=samples))


def _evaluate(batch: Batch) -> tuple[Batch, Array]:
    neighbour = neighbours(batch["design"], batch["score"])
    return batch, _sines(batch["design"], neighbour)


def _sines(design: Array, neighbour: Array) -> Array:
    """Return the sine of the largest angle from col(D) to col(D'), shape ``(B,)``.

    It is the norm of ``(I - P') Q`` for an orthonormal basis Q of col(D): not a root of 1 less the
    square of a cosine, which has no digits left where the angle is small.
    """
    (basis, upper), (other, other_upper) = np.linalg.qr(design), np.linalg.qr(neighbour)
    if design.shape[1] <= design.shape[2]:  # both spaces are all of R^N, or columns depend
        return np.zeros(len(design))
    outside = basis - other @ (np.swapaxes(other, 1, 2) @ basis)
    sines = np.linalg.norm(outside, ord=2, axis=(1, 2))
    independent = (_pivots(upper) >= _INDEPENDENT) & (_pivots(other_upper) >= _INDEPENDENT)
    return np.where(independent & (sines > SEPARATED), np.minimum(sines, 1.0), 0.0)


def _pivots(upper: Array) -> Array:
    """Return the smallest pivot over the largest, shape ``(B,)``."""
    sizes = np.abs(np.diagonal(upper, axis1=1, axis2=2))
    return np.asarray(sizes.min(axis=1) / np.maximum(sizes.max(axis=1), 1e-300))


def _dependent(design: Array) -> int:
    """Return how many columns nearly depend on those before them."""
    if design.shape[0] < design.shape[1]:
        return int(design.shape[1] - design.shape[0])
    sizes = np.abs(np.diagonal(np.linalg.qr(design)[1]))
    dependent = sizes <= SEPARATED * np.linalg.norm(design, axis=0)
    return int(dependent.sum())


def _off_unit(rows: Array) -> float:
    return float(np.abs(np.linalg.norm(rows, axis=-1) - 1).max())
