"""Every statement of Hu et al., NeurIPS 2020, in the order of its text."""

from __future__ import annotations

from dataclasses import replace

from dpaudit.algorithms.sharing.statements import causes
from dpaudit.algorithms.sharing.statements.hu2019 import causes as earlier
from dpaudit.algorithms.sharing.statements.hu2020 import analysis, body, experiments, supplement
from dpaudit.extension.ledger import Paper

PAPER = Paper(
    name="hu2020",
    title="ADMM sharing over vertically split features",
    citation="Hu et al., NeurIPS 2020",
    causes=(
        causes.SUPPORT,
        causes.ANY_NOISE,
        causes.INVERSE,
        causes.SPECTRAL,
        causes.SLOPE,
        causes.ONE_NUMBER,
        causes.EXPONENT,
        causes.NO_GAIN,
        causes.SINGLE_VALUE,
        causes.SAME_LIMIT,
        causes.BOUNDED,
        causes.STATIONARY,
        causes.DENSITY,
        causes.REDUNDANT,
        replace(
            earlier.AMBIGUOUS_LABELS,
            text="Y_i is one label; the printed set has N entries.",
        ),
        earlier.FREE_INDEX,
        earlier.SCALING,
        earlier.ONE_VALUE,
        earlier.SQUARED,
        earlier.MEANS,
        earlier.SIGMA,
        causes.ABSOLUTE_VALUE,
        causes.A2_THRESHOLD,
    ),
    rows=(*body.ROWS, *analysis.ROWS, *experiments.ROWS, *supplement.ROWS),
)
