"""The panels that hu2020's figures share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from dpaudit._typing import Array
from dpaudit.drawing import Curve, Panel


def panel(
    title: str,
    y_label: str,
    runs: Iterable[tuple[str, Array]],
    baselines: Sequence[Array],
    *,
    log_y: bool = False,
) -> Panel:
    """Return the runs, and the baselines (all features, party 1 alone) as level lines."""
    curves = []
    for label, values in runs:
        epochs = list(range(1, values.shape[1] + 1))
        curves.append(Curve.over_runs(label, epochs, values))
    for label, value in zip(("all features, centrally", "party 1 alone"), baselines, strict=True):
        curves.append(Curve(label=label, x=epochs, y=np.repeat(value, len(epochs)).tolist()))
    return Panel(title=title, x_label="epoch", y_label=y_label, curves=tuple(curves), log_y=log_y)
