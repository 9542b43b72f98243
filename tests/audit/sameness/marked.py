"""Mechanisms that return numbers and names of processes beside what they release."""

import os
import uuid

import numpy as np

BORN = uuid.uuid4().hex
KEPT = float(np.random.default_rng().laplace())


def total(data):
    return float(np.sum(data))


def little_noise(data, rng):
    return {"id": os.getpid(), "value": total(data) + rng.laplace(scale=0.1)}


def exact(data):
    return {"id": os.getpid(), "value": total(data)}


def enough_noise(data, rng):
    return {"id": f"worker {os.getpid()} of {BORN}", "value": total(data) + rng.laplace()}


def kept_noise(data):
    return {"id": os.getpid(), "value": total(data) + KEPT}


def kept_noise_twice(data):
    return {"id": os.getpid(), "sum": total(data) + KEPT, "twice": 2 * total(data) + KEPT}


def coins(data, rng):
    return {"coin": int(rng.integers(2)), "version": 3, "id": [BORN, os.getpid()], "other": KEPT}
