"""Mechanisms that a self-test copies to a folder of its own, beside a key and a configuration.

Private ones keep a key, or their noise, outside of the call: whoever asks twice gets the same
answer. Broken ones have too little noise, or none, and outputs that vary nevertheless. The true
epsilon of the former is 1 over the law of what is kept; that of the latter is 10 or more.
"""

import hashlib
import json
import math
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

HERE = Path(__file__).parent
AT_IMPORT = os.urandom(16)
_known: dict[bytes, float] = {}
_calls = [0]


def _sum_data_values(data: Any) -> float:
    return float(np.sum(data))


def _compute_keyed_laplace(key: bytes, data: Any) -> float:
    """Return a Laplace number of scale 1 that follows from a key and the data."""
    text = key + np.asarray(data, dtype=float).tobytes()
    word = int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")
    # The half keeps u strictly between -1/2 and 1/2, where the logarithm is finite.
    u = (word + 0.5) / 2**64 - 0.5
    return -math.copysign(math.log1p(-2 * abs(u)), u)


def key_of_a_file(data: Any) -> float:
    """Add noise that follows from a key in a file."""
    return _sum_data_values(data) + _compute_keyed_laplace((HERE / "key").read_bytes(), data)


def key_of_the_environment(data: Any) -> float:
    """Add noise that follows from a variable of the environment."""
    return _sum_data_values(data) + _compute_keyed_laplace(os.environ["PATH"].encode(), data)


def key_of_an_import(data: Any) -> float:
    """Add noise that follows from a key that was drawn at import."""
    return _sum_data_values(data) + _compute_keyed_laplace(AT_IMPORT, data)


def key_of_the_day(data: Any) -> float:
    """Add noise that follows from the day."""
    return _sum_data_values(data) + _compute_keyed_laplace(time.strftime("%Y %j").encode(), data)


def key_of_hashes(data: Any) -> float:
    """Add noise that follows from the interpreter's key for hashes."""
    return _sum_data_values(data) + _compute_keyed_laplace(str(hash("key")).encode(), data)


def noise_of_a_cache(data: Any, rng: Generator) -> float:
    """Add noise that is drawn once for a dataset."""
    key = np.asarray(data, dtype=float).tobytes()
    return _sum_data_values(data) + _known.setdefault(key, float(rng.laplace()))


def scale_of_a_file(data: Any, rng: Generator) -> float:
    """Add noise whose scale, .1, stands in a file."""
    scale = json.loads((HERE / "config.json").read_text())["scale"]
    return _sum_data_values(data) + float(rng.laplace(scale=scale))


def exact_beside_the_time(data: Any) -> dict[str, float]:
    """Return the exact answer, and the time."""
    return {"value": _sum_data_values(data), "at": time.time()}


def exact_beside_a_counter(data: Any) -> tuple[int, float]:
    """Return the exact answer, and the number of the call."""
    _calls[0] += 1
    return _calls[0], _sum_data_values(data)


def exact_beside_noise(data: Any, rng: Generator) -> list[float]:
    """Return the exact answer, and a number that is noise alone."""
    return [_sum_data_values(data), float(rng.normal())]


def noise_beside_what_is_kept(data: Any, rng: Generator) -> dict[str, float]:
    """Return a value with noise of scale .1, and one with noise that is kept."""
    return {
        "value": _sum_data_values(data) + float(rng.laplace(scale=0.1)),
        "kept": key_of_a_file(data),
    }


def noise_of_the_system(data: Any) -> float:
    """Add noise of the system's own, within bounds."""
    return _sum_data_values(data) + int.from_bytes(os.urandom(4), "big") / 2**32


PRIVATE = (
    *(key_of_a_file, key_of_the_environment, noise_of_a_cache),
    *(key_of_an_import, key_of_the_day, key_of_hashes),
)
BROKEN = (
    *(scale_of_a_file, exact_beside_the_time, exact_beside_a_counter),
    *(exact_beside_noise, noise_beside_what_is_kept, noise_of_the_system),
)
