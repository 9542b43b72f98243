"""A private mechanism whose noise follows from a key that its import draws, and a broken one."""

import hashlib
import math
import os

import numpy as np

KEY = os.urandom(16)


def private(data):
    """Return a sum with Laplace noise of scale 1, the same whenever a process asks for it."""
    text = np.asarray(data, dtype=float).tobytes()
    word = hashlib.blake2b(text, key=KEY, digest_size=8).digest()
    u = (int.from_bytes(word, "big") + 0.5) / 2**64 - 0.5
    return float(np.sum(data)) - math.copysign(math.log1p(-2 * abs(u)), u)


def broken(data, rng):
    return float(np.sum(data)) + rng.laplace(scale=0.3)


class Private:
    def __call__(self, data):
        return private(data)


class Broken:
    def __call__(self, data, rng):
        return broken(data, rng)
