r"""Small instances that break Lemma 1 of hu2020: signs and small whole numbers that can be read.

With unit rows of entries ``+-1/sqrt(d_m)``, k flipped signs move the design by
``2 sqrt(k / d_m)``: up to ``d_m / 4`` of them leave it a neighbour, so that nothing with fewer than
four features comes into question. The state is ``y = -z``, a multiple of a vector of -1, 0 and 1:
the largest for which ``||y||, ||z||, ||x_m|| <= b_1``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from dpaudit._typing import Array
from dpaudit.algorithms.sharing.claims.hu2020.update import (
    SOURCE,
    Instance,
    Setting,
    conditions,
    local_model,
    movement,
    published_bound,
)
from dpaudit.refutation import Inequality, minimal

_INSIDE = 1 - 1e-9  # keeps norms within their limits whatever rounding does
_PENALTIES = (1.0, 10.0, 100.0)
_WEIGHTS = (0.1, 0.01, 0.001)
_FEATURES = (4, 8)
_BUDGET = 500


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
    found = minimal(smalls(bound), small_claim(factor), budget=_BUDGET, seed=seed)
    return None if found is None else found.words()


@dataclass(frozen=True, kw_only=True, eq=False)
class Small:
    """A setting, signs of a design, how many signs of its first column flip, and a direction."""

    setting: Setting
    signs: Array
    flipped: int
    direction: Array

    def instance(self) -> Instance:
        """Return the designs and the largest state along the direction.

        Examples
        --------
        >>> small = Small(
        ...     setting=Setting(features=4, samples=2),
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
        return Instance(
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
        v = (1 + self.setting.penalty) * state
        models = [local_model(self.setting, one, v) for one in designs]
        longest = max(float(np.linalg.norm(model)) for model in models)
        return np.asarray(state * min(1.0, limit / max(longest, 1e-300)))


def small_claim(factor: float) -> Inequality[Small]:
    """Return Lemma 1 times a factor, as a claim about small instances."""
    return Inequality(
        name="hu2020-lemma1",
        source=SOURCE,
        sides=lambda small: _sides(small, factor),
        conditions=lambda small: conditions(small.setting, small.instance()),
    )


def _sides(small: Small, factor: float) -> tuple[float, float]:
    return movement(small.setting, small.instance()), factor * published_bound(small.setting)


@st.composite
def smalls(draw: st.DrawFn, bound: float) -> Small:
    """Return a strategy that shrinks to few features, few samples and plus signs."""
    features = draw(st.sampled_from(_FEATURES))
    samples = draw(st.integers(1, 2 * features))
    setting = Setting(
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
        flipped=draw(st.integers(1, features // 4)),
        direction=np.array(direction, dtype=np.float64),
    )
