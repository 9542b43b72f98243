"""Releases of ADMM over joined tables to account for by name; defaults are the appendix's setting.

Derivations and sources are in `dpaudit.algorithms.tables.guarantees`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from dpaudit.extension.parameters import Parameters
from dpaudit.extension.release import FormulaGuarantee, ReleaseCard

if TYPE_CHECKING:
    from dpaudit.accounting.events import Event


class LabelReleaseParameters(Parameters):
    """Noisy labels over joined tables."""

    deviation: float = Field(
        2 * math.sqrt(2), gt=0, description="lambda, standard deviation of a coordinate's noise"
    )
    encoding: Literal["one-hot", "sign"] = Field("one-hot", description="of the labels")


class Features(Parameters):
    """Private steps over joined tables, all models seen."""

    iterations: int = Field(10, ge=1, description="T, rounds of server and clients")
    local_steps: int = Field(2, ge=1, description="tau', steps of a client in a round")
    noise_multiplier: float = Field(50.0, gt=0, description="sigma, in clipping norms")
    sampling_ratio: float = Field(1.0, gt=0, le=1, description="r; nothing is proved below 1")
    joined: tuple[int, ...] = Field(
        (1,), description="tuples of each other client joined with one tuple, at most"
    )
    c1: float = Field(1.0, gt=0, description="a constant of Theorem 2, which does not give it")
    c2: float = Field(1.0, gt=0, description="a constant of Theorem 2, which does not give it")


def labels(given: LabelReleaseParameters) -> Event:
    """Return the release of the noisy labels."""
    from dpaudit.algorithms.tables.guarantees import label_event

    return label_event(deviation=given.deviation, encoding=given.encoding)


def labels_theorem1(given: LabelReleaseParameters, delta: float) -> FormulaGuarantee:
    """Return Theorem 1 of the appendix on joined tables."""
    from dpaudit.algorithms.tables.guarantees import theorem1_epsilon

    return FormulaGuarantee(
        epsilon=theorem1_epsilon(given.deviation),
        delta=0.0,
        source="appendix on joined tables, Theorem 1",
        note="exact at delta = 0",
    )


def features(given: Features) -> Event:
    """Return the release of all clients' models about one tuple."""
    from dpaudit.algorithms.tables.guarantees import model_event

    return model_event(
        iterations=given.iterations,
        local_steps=given.local_steps,
        noise_multiplier=given.noise_multiplier,
        joined=given.joined,
        sampling_ratio=given.sampling_ratio,
    )


def features_theorem2(given: Features, delta: float) -> FormulaGuarantee:
    """Return Theorem 2 of the appendix on joined tables, for the constants given."""
    from dpaudit.algorithms.tables.guarantees import theorem2_epsilon

    epsilon = theorem2_epsilon(
        noise_multiplier=given.noise_multiplier,
        steps=given.iterations * given.local_steps,
        sampling_ratio=given.sampling_ratio,
        delta=delta,
        first_constant=given.c1,
        second_constant=given.c2,
    )
    return FormulaGuarantee(
        epsilon=epsilon,
        delta=delta,
        source="appendix on joined tables, Theorem 2",
        note=f"with c_1 = {given.c1:g} and c_2 = {given.c2:g}, which the theorem does not give; "
        "it leaves out other clients' models, and is false for what the server sees",
    )


TABLES_LABELS = ReleaseCard(
    name="tables-labels",
    title="ADMM over joined tables: noisy labels, in every view",
    source="appendix on joined tables, Theorem 1; algorithms/tables/guarantees.py",
    relation="replace-label",
    parameters=LabelReleaseParameters,
    event=labels,
    count=None,
    noise="deviation",
    published=labels_theorem1,
)


TABLES_FEATURES = ReleaseCard(
    name="tables-features",
    title="ADMM over joined tables: one tuple in all clients' models, full batches; not the server",
    source="derived in algorithms/tables/guarantees.py",
    relation="replace-tuple",
    parameters=Features,
    event=features,
    count="iterations",
    noise="noise_multiplier",
    published=features_theorem2,
)
