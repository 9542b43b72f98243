"""hu2020's Theorem 1 with noise on the model, judged by messages that are sent.

`dpaudit.algorithms.sharing.claims.hu2020.message_case` refutes these variants without a message:
supports differ. Here the event bound counts messages of one run of ADMM sharing, so that any attack
can be tried.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.random import default_rng

from dpaudit.algorithms.sharing.algorithm import SharingADMM
from dpaudit.algorithms.sharing.claims.hu2020.parameters import Theorem1Parameters
from dpaudit.algorithms.sharing.claims.hu2020.update_case import setting_of
from dpaudit.algorithms.sharing.claims.hu2020.update_support import (
    distance,
    message_of,
    support_space,
)
from dpaudit.algorithms.sharing.noise import Noise, ParameterNoise, WhitenedNoise
from dpaudit.algorithms.sharing.vertical import Risk
from dpaudit.datasets import Dataset
from dpaudit.execution import stream
from dpaudit.extension.case import PrivacyCase
from dpaudit.extension.settings import Settings
from dpaudit.guarantees.kinds import ApproximateDP
from dpaudit.neighbours import REPLACE_COLUMN, Pair
from dpaudit.refutation import maximise

_BUDGET = 200
_TRIALS = 2000


def sent_case(
    settings: Settings, parameters: Theorem1Parameters, scale: float, public: Mapping[str, Any]
) -> PrivacyCase:
    """Return the audit of the first message on a pair whose column spaces are far apart.

    Examples
    --------
    >>> small = Theorem1Parameters(features=4, variant="whitened")
    >>> case = sent_case(Settings(), small, 1.0, {})
    >>> case.mechanism.sample(case.pair.dataset, 3, np.random.default_rng(0)).shape
    (3, 1, 1, 8)
    """
    setting = setting_of(parameters)
    found = maximise(support_space(setting), _BUDGET, default_rng(stream(settings.seed, "pair")))
    message = message_of(found.instance, setting.bound)
    labels = np.resize([1.0, -1.0], setting.samples)
    here, there = (Dataset(design, labels) for design in (message.design, message.neighbour))
    noise: Noise = WhitenedNoise(scale)
    if parameters.variant == "parameter":
        noise = ParameterNoise(scale)
    algorithm = SharingADMM(
        block_sizes=(setting.features,),
        iterations=1,
        penalty=setting.penalty,
        risk=Risk(scaling="sum", regulariser_weight=setting.regulariser_weight),
        noise=noise,
    )
    return PrivacyCase(
        mechanism=algorithm.messages(),
        pair=Pair(here, there, REPLACE_COLUMN),
        claimed=ApproximateDP(parameters.factor * settings.epsilon, settings.delta),
        at_delta=settings.delta,
        view=f"{parameters.variant}: the first D_m x~_m of one party, with noise on x_m",
        data="designs with unit rows, improved by the search for supports that differ",
        default_trials=_TRIALS,
        parameters={**public, "noise_scale": scale},
        notes=(
            f"The best of {_BUDGET} pairs: a message lies {distance(message):.3g} of its length "
            "outside the other column space.",
        ),
    )
