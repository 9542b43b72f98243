"""Curves and panels: what a figure is made of, before anything is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dpaudit._typing import Array
from dpaudit.errors import InvalidArgument, Shown


@dataclass(frozen=True, kw_only=True)
class Curve:
    """One line of a panel: the mean over runs, and their range where there is one.

    Parameters
    ----------
    label
        As in the legend.
    x, y
        Same length.
    low, high
        Least and greatest over the runs, or None.
    """

    label: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None

    def __post_init__(self) -> None:
        for part in (self.y, self.low, self.high):
            if part is not None and len(part) != len(self.x):
                given = Shown(f"{len(part)} values")
                raise InvalidArgument(f"curve {self.label}", given, f"{len(self.x)} of them")

    @classmethod
    def over_runs(cls, label: str, x: Sequence[float], runs: Array) -> Curve:
        """Return mean and range of ``runs``, shape ``(R, len(x))``.

        Examples
        --------
        >>> curve = Curve.over_runs("loss", [1, 2], np.array([[1.0, 2.0], [3.0, 2.0]]))
        >>> curve.y, curve.low, curve.high
        ([2.0, 2.0], [1.0, 2.0], [3.0, 2.0])
        """
        mean, low, high = runs.mean(axis=0), runs.min(axis=0), runs.max(axis=0)
        return cls(label=label, x=list(x), y=mean.tolist(), low=low.tolist(), high=high.tolist())


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One set of axes."""

    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    log_y: bool = False
    log_x: bool = False
