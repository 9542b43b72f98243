"""Equation (33): inner models scatter about their average."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from dpaudit.algorithms.multistep.claims.proof.common import (
    SOURCE,
    IterationSizes,
    make_equation_case,
)
from dpaudit.extension.claim import Claim, Variant

if TYPE_CHECKING:
    from dpaudit.extension.case import SearchCase
    from dpaudit.extension.settings import Settings


class Scatter(IterationSizes):
    """The same, of one inner step by default."""

    inner_steps: int = Field(1, ge=1, le=20, description="l")


def prepare_equation33_search(settings: Settings, parameters: Scatter) -> SearchCase:
    """Return the audit: a search over iterations of small whole numbers.

    Examples
    --------
    >>> from numpy.random import default_rng
    >>> from dpaudit.extension.settings import Settings
    >>> found = prepare_equation33_search(Settings(), Scatter()).attain(200, default_rng(0))
    >>> found.refutes, found.value  # the sum is 0, and is claimed to be below it
    (True, 0.0)
    """
    return make_equation_case(CLAIM, 33, settings, parameters)


CLAIM = Claim(
    name="huang2020-equation33",
    title="Inner models scatter about their average",
    statement=("sum_r <w~_i^{k,r+1} - w~_i^k, w* - w~_i^{k,r+1}> < 0."),
    source=SOURCE.format(number=33),
    kind="property",
    relation="none",
    assumptions={},
    prepare=prepare_equation33_search,
    parameters=Scatter,
    scope="With one inner step the sum is 0 in every run. It would stand with at most in "
    "place of less, which is all that the proof needs, and as it is where not all "
    "inner models are equal.",
    published={
        "corrected": Variant(
            settings={"parameters": {"inner_steps": 3, "version": "corrected"}},
            scope="Of a sum that is at most 0, which has a proof; tried with three inner steps.",
        ),
    },
)
