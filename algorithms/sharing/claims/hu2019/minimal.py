"""The smallest problem on which a lemma of hu2019 fails."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from dpaudit.algorithms.sharing.claims.hu2019.instance import Instance
from dpaudit.algorithms.sharing.claims.hu2019.iterations import Setting
from dpaudit.algorithms.sharing.claims.hu2019.search import Window
from dpaudit.errors import InvalidArgument
from dpaudit.refutation import Inequality, minimal

_BUDGET = 150  # problems drawn before giving up
_MOST_PARTIES = 4
_ENTRIES = (1.0, 2.0, -1.0)


def smallest(
    claim: Inequality[Instance], setting: Setting, window: Window, seed: int
) -> Instance | None:
    """Return the smallest problem of one column a party that breaks the claim, or None.

    It starts at zero and has the loss of ``setting``, no regulariser, and a penalty that is a whole
    number.
    """
    return minimal(_problems(setting, window), claim, budget=_BUDGET, seed=seed)


def _problems(setting: Setting, window: Window) -> st.SearchStrategy[Instance]:
    lone = replace(setting, features=1, samples=1, regulariser_weight=0.0, penalty=1e9)
    low = next(rho for rho in range(2, 10**6) if _allowed(lone, float(rho)))
    settings = st.builds(
        lambda parties, penalty, samples: replace(
            lone, parties=parties, penalty=float(penalty), samples=samples
        ),
        st.integers(1, _MOST_PARTIES),
        st.integers(low, low + 10),
        st.integers(1, 2),
    )
    return settings.flatmap(lambda one: _instances(one, window))


def _allowed(setting: Setting, penalty: float) -> bool:
    try:
        replace(setting, penalty=penalty)
    except InvalidArgument:
        return False
    return True


def _instances(setting: Setting, window: Window) -> st.SearchStrategy[Instance]:
    m, n = setting.parties, setting.samples
    entries = st.lists(st.sampled_from(_ENTRIES), min_size=m * n, max_size=m * n)
    labels = st.lists(st.sampled_from((1.0, -1.0)), min_size=n, max_size=n)
    return st.builds(
        lambda designs, signs, iteration: Instance(
            setting=setting,
            designs=np.reshape(designs, (m, n, 1)),
            labels=np.array(signs),
            models=np.zeros((m, 1)),
            prediction=np.zeros(n),
            dual=np.zeros(n),
            iteration=iteration,
        ),
        entries,
        labels,
        st.integers(window.earliest, min(window.latest, window.earliest + 1)),
    )
