r"""The search for a violation of hu2020's Lemma 1, and small instances that break it.

An instance is a design with unit rows, a score a row that says which signs of the first column to
flip (those of highest positive score, as long as ``||D - D'||_F <= 1`` allows), and a state. That
the first column is the one that differs is no restriction. The movement is linear in the state, so
a state that makes a model too long is scaled down.

Starts are signs, Gaussian rows, or rows with few entries. Moves change entries, signs, scores or
the state; half of them also turn y and z along the last difference ``D x - D' x'``, one step of the
power method on the symmetric map from v to that difference.

Small instances, of signs and whole numbers, can be read. With unit rows of entries
``+-1/sqrt(d_m)``, k flipped signs move the design by ``2 sqrt(k / d_m)``: up to ``d_m / 4`` of them
leave it a neighbour, so that nothing with fewer than four features comes into question. The state
is ``y = -z``, a multiple of a vector of -1, 0 and 1: the largest for which
``||y||, ||z||, ||x_m|| <= b_1``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from hypothesis import strategies as st
from numpy.random import Generator
from numpy.typing import NDArray

from dpaudit._typing import Array
from dpaudit.algorithms.sharing.claims.hu2020.update import (
    CONVEX,
    SOURCE,
    UpdateInstance,
    UpdateSetting,
    compute_design_modulus,
    compute_published_lemma1_bound,
    compute_update_conditions,
    local_model,
    movement,
)
from dpaudit.errors import InvalidArgument
from dpaudit.refutation import Inequality, Sensitivity, Space, maximise, minimal
from dpaudit.refutation.search import Batch

Kind = NDArray[np.int64]
# What a move changes.
_ENTRIES = 0
_SIGNS = 1
_SCORES = 2
_STATE = 3
_INSIDE = 1 - 1e-9  # keeps norms strictly within their limits whatever rounding does
_FLAT = 1e-3  # of a ratio outside the assumptions, which is to lead back into them
_PENALTIES = (1.0, 10.0, 100.0)  # of small instances, as the two that follow
_WEIGHTS = (0.1, 0.01, 0.001)
_FEATURES = (4, 8)
_BUDGET = 500


def find_worst_update(
    setting: UpdateSetting,
    lemma: Sensitivity[UpdateInstance],
    budget: int,
    rng: Generator,
    *,
    convex: bool = False,
) -> UpdateInstance:
    """Return the best instance of a search for large movements.

    Raises
    ------
    InvalidArgument
        No design was found whose subproblem is convex enough.
    """
    found = maximise(build_update_space(setting, lemma.claimed, convex=convex), budget, rng)
    instance = instance_of(found.instance)
    if convex and not set(CONVEX).isdisjoint(lemma.broken(instance)):
        expected = "more of them, or a larger penalty: no design found is convex enough"
        raise InvalidArgument("parameters.samples", setting.samples, expected)
    return instance


def build_update_space(setting: UpdateSetting, claimed: float, *, convex: bool = False) -> Space:
    """Return the search space; ratios are to ``claimed``, and 0 where subproblems are too flat.

    Examples
    --------
    >>> from dpaudit.refutation import maximise
    >>> small = build_update_space(UpdateSetting(features=2, samples=3), 1.1)
    >>> 0 < maximise(small, 64, np.random.default_rng(0)).ratio <= 1
    True
    """
    return Space(
        start=partial(_draw_update_starts, setting),
        move=partial(_move_update_instances, setting),
        evaluate=partial(
            _convex_enough if convex else _evaluate_update_instances, setting, claimed
        ),
    )


def instance_of(batch: Batch) -> UpdateInstance:
    """Return the instance that one row of an evaluated batch describes."""
    return UpdateInstance(
        design=batch["design"],
        neighbour=flip_neighbour_signs(batch["design"][None], batch["score"][None])[0],
        dual=batch["dual"],
        prediction=batch["prediction"],
        others=batch["others"],
        models=batch["models"],
    )


def _draw_update_starts(setting: UpdateSetting, count: int, rng: Generator) -> Batch:
    n, d, k = setting.samples, setting.features, setting.parties - 1
    gauss = rng.standard_normal((count, n, d))
    signs = np.sign(gauss)
    sparse = gauss * (rng.random((count, n, d)) < rng.random((count, 1, 1)))
    # Without an entry in every place a row could be all zeros, which no scaling makes a unit row.
    sparse += 1e-3 * signs
    kind = rng.integers(3, size=(count, 1, 1))
    return {
        "design": _unit_rows(np.where(kind == 0, signs, np.where(kind == 1, gauss, sparse))),
        "score": rng.standard_normal((count, n)),
        "dual": rng.standard_normal((count, n)),
        "prediction": rng.standard_normal((count, n)),
        "others": rng.choice([-1.0, 1.0], size=(count, k, n)),
        "models": setting.bound * rng.choice([-1.0, 1.0], size=(count, k)),
        "difference": np.zeros((count, n)),
    }


def _move_update_instances(
    setting: UpdateSetting, batch: Batch, step: Array, rng: Generator
) -> Batch:
    """Change the entries, some signs, the scores or the state of every instance."""
    count, n, _ = batch["design"].shape
    what: Kind = rng.integers(4, size=(count,))
    size = np.where(what == _SCORES, 3 * step, 0.0)[:, None]
    moved = {
        "design": _move_update_designs(batch["design"], step, what, rng),
        "score": batch["score"] + size * rng.standard_normal((count, n)),
    }
    return {**batch, **moved, **_move_update_states(setting, batch, step * (what == _STATE), rng)}


def _move_update_states(setting: UpdateSetting, batch: Batch, step: Array, rng: Generator) -> Batch:
    """Move states by ``step`` and turn half of them along the last difference."""
    count, n = batch["dual"].shape
    difference = batch["difference"]
    # The first instances have no difference yet along which to turn.
    turn = (rng.random((count, 1)) < 0.5) & (np.abs(difference).max(axis=1, keepdims=True) > 0)
    along = setting.bound * _unit_rows(difference)
    size = setting.bound * step[:, None] / np.sqrt(n)
    # y along the difference and z against it make v longest for their norms, and so move the local
    # prediction most.
    moved = {
        name: np.where(turn, sign * along, batch[name]) + size * rng.standard_normal((count, n))
        for name, sign in (("dual", 1.0), ("prediction", -1.0))
    }
    flip = rng.random(batch["others"].shape) < step[:, None, None] / 4
    moved["others"] = np.where(flip, -batch["others"], batch["others"])
    # The other parties' predictions add to v as well: each model takes the sign that lengthens it
    # along the difference.
    reach = np.einsum("bkn,bn->bk", moved["others"], difference)
    moved["models"] = np.where(turn, setting.bound * np.sign(reach), batch["models"])
    return moved


def _move_update_designs(design: Array, step: Array, what: Kind, rng: Generator) -> Array:
    """Return designs with entries moved by ``step``, or with a few new signs."""
    count, n, d = design.shape
    size = np.where(what == _ENTRIES, step, 0.0)[:, None, None] / np.sqrt(d)
    touched = rng.random(design.shape) < rng.random((count, 1, 1))
    moved = design + size * touched * rng.standard_normal(design.shape)
    # About 1.5 flips an instance, few enough to keep what made it good.
    flip = (rng.random(design.shape) < 1.5 / (n * d)) & (what == _SIGNS)[:, None, None]
    return _unit_rows(np.where(flip, -moved, moved))


def _evaluate_update_instances(
    setting: UpdateSetting, claimed: float, batch: Batch
) -> tuple[Batch, Array]:
    """Return the instances inside the assumptions, and movement over claim."""
    design, inside = batch["design"], dict(batch)
    neighbour = flip_neighbour_signs(design, batch["score"])
    # The limit stays inside the assumptions by more than rounding, so that an instance that is
    # reported as inside is inside when it is checked again.
    limit = _INSIDE * setting.bound
    dual, prediction = (_clip_row_lengths(batch[name], limit) for name in ("dual", "prediction"))
    models = np.clip(batch["models"], -limit, limit)
    gap = np.einsum("bk,bkn->bn", models, batch["others"]) - prediction
    v = dual + setting.penalty * gap
    here, there = (_local_models(setting, one, v) for one in (design, neighbour))
    longest = np.maximum(np.linalg.norm(here, axis=1), np.linalg.norm(there, axis=1))
    # The model is linear in the state, so one factor for all parts of the state brings a long model
    # back to the bound and leaves the direction of the movement.
    factor = limit / np.maximum(longest, limit)
    moved = np.einsum("bnd,bd->bn", design, here) - np.einsum("bnd,bd->bn", neighbour, there)
    inside |= {"difference": factor[:, None] * moved, "models": factor[:, None] * models}
    inside |= {"dual": factor[:, None] * dual, "prediction": factor[:, None] * prediction}
    return inside, np.linalg.norm(inside["difference"], axis=1) / claimed


def _convex_enough(setting: UpdateSetting, claimed: float, batch: Batch) -> tuple[Batch, Array]:
    """Evaluate update instances, with ratios of 0 where hu2019's Assumption 1.2 (b) fails."""
    inside, ratio = _evaluate_update_instances(setting, claimed, batch)
    # The assumption is about either data set of a neighbouring pair.
    for design in (inside["design"], flip_neighbour_signs(inside["design"], inside["score"])):
        needed, found = compute_design_modulus(setting, design)
        ratio = np.where(needed <= _INSIDE * found, ratio, ratio * _FLAT * found / needed)
    return inside, ratio


def _local_models(setting: UpdateSetting, design: Array, v: Array) -> Array:
    """Return the minimisers of eq. (6) from the normal equations, shape ``(B, d_m)``."""
    transposed = np.swapaxes(design, 1, 2)
    ridge = setting.regulariser_weight * np.eye(setting.features)
    curvature = ridge + setting.penalty * (transposed @ design)
    return np.asarray(-np.linalg.solve(curvature, transposed @ v[..., None])[..., 0])


def flip_neighbour_signs(design: Array, score: Array, *, entrywise: bool = False) -> Array:
    """Return the designs with signs of the first column flipped, ``||D - D'||_F`` below 1.

    Parameters
    ----------
    design
        Shape ``(B, N, d_m)``.
    score
        Shape ``(B, N)``: signs of positive score flip, the highest first, as long as they may.
    entrywise
        Whether the entries' distances sum to less than 1, too.

    Examples
    --------
    >>> design = np.array([[[0.6, 0.8], [0.4, 0.9]]])
    >>> flip_neighbour_signs(design, np.array([[2.0, 1.0]]))[0]
    array([[0.6, 0.8],
           [0.4, 0.9]])
    >>> flip_neighbour_signs(design, np.array([[-1.0, 1.0]]))[0]
    array([[ 0.6,  0.8],
           [-0.4,  0.9]])
    """
    order = np.argsort(-score, axis=1, kind="stable")
    first = np.take_along_axis(design[:, :, 0], order, axis=1)
    wanted = np.take_along_axis(score, order, axis=1) > 0
    # A flipped entry moves by twice its size; a Frobenius norm adds up the squares.
    moved = 2 * np.abs(first) if entrywise else 4 * first**2
    # Rows of positive score come first in this order, so the running sum counts only rows that are
    # to flip.
    flipped = wanted & (np.cumsum(moved, axis=1) <= _INSIDE)
    column = np.empty_like(first)
    np.put_along_axis(column, order, np.where(flipped, -first, first), axis=1)
    changed = design.copy()
    changed[:, :, 0] = column
    return changed


def _clip_row_lengths(rows: Array, limit: float) -> Array:
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.asarray(rows * (limit / np.maximum(lengths, limit)))


def _unit_rows(rows: Array) -> Array:
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1.0))


# Small instances


@cache
def smallest_instance(bound: float, factor: float, seed: int) -> str | None:
    """Return the smallest instance that breaks Lemma 1 times a factor, in words, or None.

    Parameters
    ----------
    bound
        ``b_1``; the other public parameters are part of the instance.
    factor
        Of the claimed bound.
    seed
        The only source of randomness.

    Examples
    --------
    >>> smallest_instance(1.0, 0.8, 0).split(";")[0]
    'd_m = 4, N = 2, rho = 100, lambda = 0.1, b_1 = 1'
    >>> smallest_instance(1.0, 100.0, 0) is None
    True
    """
    found = minimal(draw_small_update(bound), small_claim(factor), budget=_BUDGET, seed=seed)
    return None if found is None else found.words()


@dataclass(frozen=True, kw_only=True, eq=False)
class Small:
    """A setting, signs of a design, how many signs of its first column flip, and a direction."""

    setting: UpdateSetting
    signs: Array
    flipped: int
    direction: Array

    def instance(self) -> UpdateInstance:
        """Return the designs and the largest state along the direction.

        Examples
        --------
        >>> small = Small(
        ...     setting=UpdateSetting(features=4, samples=2),
        ...     signs=np.ones((2, 4)),
        ...     flipped=1,
        ...     direction=np.array([0.0, 2.0]),
        ... )
        >>> small.instance().neighbour[0], small.instance().dual.round(6)
        (array([-0.5,  0.5,  0.5,  0.5]), array([0.      , 0.787427]))
        """
        design = self.signs / np.sqrt(self.setting.features)
        neighbour = design.copy()
        neighbour[: self.flipped, 0] *= -1
        state = self._state((design, neighbour))
        return UpdateInstance(
            design=design,
            neighbour=neighbour,
            dual=state,
            prediction=-state,
            others=np.zeros((0, self.setting.samples)),
            models=np.zeros(0),
        )

    def words(self) -> str:
        """Return the instance in words."""
        setting = self.setting
        rows = " ".join("".join("+" if s > 0 else "-" for s in row) for row in self.signs)
        along = ", ".join(f"{value:g}" for value in self.direction)
        return (
            f"d_m = {setting.features}, N = {setting.samples}, rho = {setting.penalty:g}, "
            f"lambda = {setting.regulariser_weight:g}, b_1 = {setting.bound:g}; rows of signs "
            f"{rows} over sqrt(d_m), of which the first {self.flipped} flip their first sign; "
            f"y = -z along ({along})"
        )

    def _state(self, designs: tuple[Array, Array]) -> Array:
        limit = _INSIDE * self.setting.bound
        length = float(np.linalg.norm(self.direction))
        state = limit / length * self.direction if length else self.direction
        # With y = state and z = -state, y - rho z is (1 + rho) times the state.
        v = (1 + self.setting.penalty) * state
        models = [local_model(self.setting, one, v) for one in designs]
        longest = max(float(np.linalg.norm(model)) for model in models)
        # A state of 0 has models of 0, whose length must not divide.
        return np.asarray(state * min(1.0, limit / max(longest, 1e-300)))


def small_claim(factor: float) -> Inequality[Small]:
    """Return Lemma 1 times a factor, as a claim about small instances."""
    return Inequality(
        name="hu2020-lemma1",
        source=SOURCE,
        sides=lambda small: _compute_small_sides(small, factor),
        conditions=lambda small: compute_update_conditions(small.setting, small.instance()),
    )


def _compute_small_sides(small: Small, factor: float) -> tuple[float, float]:
    return movement(small.setting, small.instance()), factor * compute_published_lemma1_bound(
        small.setting
    )


@st.composite
def draw_small_update(draw: st.DrawFn, bound: float) -> Small:
    """Return a strategy that shrinks to few features, few samples and plus signs."""
    features = draw(st.sampled_from(_FEATURES))
    samples = draw(st.integers(1, 2 * features))
    setting = UpdateSetting(
        features=features,
        samples=samples,
        penalty=draw(st.sampled_from(_PENALTIES)),
        regulariser_weight=draw(st.sampled_from(_WEIGHTS)),
        bound=bound,
    )
    bits = draw(st.integers(0, 2 ** (features * samples) - 1))
    size = features * samples
    minus = np.array([bits >> place & 1 for place in range(size)], dtype=np.float64)
    direction = draw(st.lists(st.sampled_from((0, 1, -1)), min_size=samples, max_size=samples))
    return Small(
        setting=setting,
        signs=(1 - 2 * minus).reshape(samples, features),
        # A flip moves an entry of size 1 / sqrt(d_m) by twice that: d_m / 4 of them reach a
        # Frobenius distance of 1.
        flipped=draw(st.integers(1, features // 4)),
        direction=np.array(direction, dtype=np.float64),
    )
