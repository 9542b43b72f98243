"""Equation (36): the gain of one iteration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpaudit.algorithms.multistep.claims.proof.common import (
    CORRECTED,
    LARGER,
    SOURCE,
    IterationSizes,
    make_equation_case,
)
from dpaudit.extension.claim import Claim

if TYPE_CHECKING:
    from dpaudit.extension.case import SearchCase
    from dpaudit.extension.settings import Settings


def prepare_equation36_search(settings: Settings, parameters: IterationSizes) -> SearchCase:
    """Return the audit: a search over iterations of small whole numbers.

    Examples
    --------
    >>> from numpy.random import default_rng
    >>> from dpaudit.extension.settings import Settings
    >>> found = prepare_equation36_search(Settings(), IterationSizes()).attain(200, default_rng(0))
    >>> found.ratio > 1 + 1e-9
    True
    """
    return make_equation_case(CLAIM, 36, settings, parameters)


CLAIM = Claim(
    name="huang2020-equation36",
    title="What one iteration gains",
    statement=(
        "1/l sum_r <grad L_i(w~_i^{k,r}), w~_i^{k,r} - w*> <= 1/l sum_r (eta_i^{k,r+1} / 2 "
        "(||w~_i^{k,r} - w*||^2 + ||w~_i^{k,r+1} - w*||^2) + ||grad L_i(w~_i^{k,r}) + xi_i||^2 / "
        "(2 eta_i^{k,r+1})) + 1/l sum_r <xi_i, w* - w_i^{k,r+1}> + rho sum_j (||(w~_i^{k-1} + "
        "w~_j^{k-1}) / 2 - w*||^2 - ||(w~_i^k + w~_j^k) / 2 - w*||^2) + sum_j ||gamma_ij^{k-1} - "
        "gamma_ij^k||^2 / rho + 1/l sum_r sum_j 2 <gamma_ij^k, w~_i^{k+1} - w*>, with the xi_i of "
        "eq. (30)."
    ),
    source=SOURCE.format(number=36),
    kind="property",
    relation="none",
    assumptions={},
    prepare=prepare_equation36_search,
    parameters=IterationSizes,
    scope="It would stand with w~_i^k in its last term and the xi_i that eq. (30) needs, "
    "then also with the minus before ||w~_i^{k,r+1} - w*||^2 that the sum over r "
    "needs.",
    published={
        "more of everything": LARGER,
        "corrected": CORRECTED,
    },
)
