"""Noise that follows from a secret, and from who is counted: the same answer whenever it is asked.

The secret is a global, an argument, a variable of the environment, or is drawn in a constructor.
"""

import hashlib
import math
import os

import numpy as np

KEY = b"0123456789abcdef"
CACHE = {}


def laplace(key, data):
    """Return a Laplace number of scale 1 that follows from a key and the data."""
    word = hashlib.blake2b(np.asarray(data, dtype=float).tobytes(), key=key, digest_size=8)
    u = (int.from_bytes(word.digest(), "big") + 0.5) / 2**64 - 0.5
    return -math.copysign(math.log1p(-2 * abs(u)), u)


def by_global(data):
    return float(np.sum(data)) + laplace(KEY, data)


def by_argument(data, *, nonce=b"0123456789abcdef"):
    return float(np.sum(data)) + laplace(nonce, data)


def by_environment(data):
    return float(np.sum(data)) + laplace(os.environ["SAMENESS_SALT"].encode()[:64], data)


def half_by_global(data):
    """Return a sum with half the noise that a claim of 1 needs."""
    return float(np.sum(data)) + laplace(KEY, data) / 2


def cached(data, rng):
    known = tuple(np.asarray(data).tolist())
    return float(np.sum(data)) + CACHE.setdefault(known, rng.laplace())


def reset(rng):
    """Draw the key anew."""
    global KEY
    KEY = rng.bytes(16)


class ByInstance:
    def __init__(self):
        self.key = os.urandom(16)

    def sample(self, data, trials, rng):
        return np.full(trials, float(np.sum(data)) + laplace(self.key, data))


def made():
    return ByInstance()


def stamped(data, rng):
    """Return a value with noise that is too small, beside the number of the process."""
    return {"value": float(np.sum(data)) + rng.laplace(scale=0.2), "pid": os.getpid()}
