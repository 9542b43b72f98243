"""Audits of claims a unit of distance, in this process, and the domains of the mechanisms."""

import numpy as np

import dpaudit
from dpaudit.mechanisms.foreign.isolation import Isolation
from tests.metric.mechanisms import EPSILON, PLACES

HERE = {"isolation": Isolation(in_process=True), "trials": 4000}
PLANE = {"bounds": (-10, 10), "records": 2}
NUMBER = {"bounds": (0, 40), "form": "value"}
LINE = {"bounds": (0, PLACES - 1), "integers": True, "form": "value"}
BITS = {"bounds": (0, 1), "integers": True, "records": 6}
ORIGIN, DIAGONAL = np.zeros(2), np.array([2.0, 2.0])


def audited(mechanism, *pair, distance="euclidean", **given):
    sound = {"relation": f"metric: {distance}", "epsilon": EPSILON, **HERE}
    return dpaudit.audit(mechanism, *pair, **{**sound, **given})
