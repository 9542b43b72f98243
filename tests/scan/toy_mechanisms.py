"""Correct mechanisms, and broken twins of them: plain functions, as a package's own module has."""

import hashlib
import math
import os
import socket
import sys
import time
import warnings
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent


def _clipped_sum(data):
    return sum(min(max(one, 0.0), 1.0) for one in data if one == one)


def laplace_sum(data, epsilon, trials, rng):
    """Correct under add-remove: a record moves a sum in [0, 1] by at most 1."""
    return _clipped_sum(data) + rng.laplace(scale=1 / epsilon, size=trials)


def geometric_count(data, epsilon, trials, rng):
    alpha = math.exp(-epsilon)
    noise = rng.geometric(1 - alpha, trials) - rng.geometric(1 - alpha, trials)
    return [len(data) + int(one) for one in noise]


def gaussian_sum(data, rho, trials, rng):
    return _clipped_sum(data) + rng.normal(scale=math.sqrt(1 / (2 * rho)), size=trials)


def histogram(data, epsilon, trials, rng):
    """Correct: the keys are public."""
    counts = [sum(one == name for one in data) for name in "abc"]
    noise = rng.laplace(scale=1 / epsilon, size=(trials, 3))
    return [dict(zip("abc", counts + one, strict=True)) for one in noise]


def randomised_response(data, epsilon, trials, rng):
    """Correct and tight: one bit of the first record, or of none."""
    truth = bool(data) and data[0] > 0.5
    keep = rng.random(trials) < math.exp(epsilon) / (1 + math.exp(epsilon))
    return [bool(one == truth) for one in keep]


def warns_by_call(data, epsilon, trials, rng):
    """Correct: a coin that has nothing to do with the data warns of all outputs of a call."""
    if rng.random() < 0.5:
        warnings.warn("by chance", stacklevel=1)
    return laplace_sum(data, epsilon, trials, rng)


def fails_by_call(data, epsilon, trials, rng):
    """Correct: a coin that has nothing to do with the data fails all outputs of a call."""
    if rng.random() < 0.5:
        raise RuntimeError("by chance")
    return laplace_sum(data, epsilon, trials, rng)


_CALLS = []


def tires(data, epsilon, rng):
    """Correct: what it raises depends on how often its process called it, and on nothing else."""
    _CALLS.append(1)
    if len(_CALLS) // 100 % 2:
        raise RuntimeError("the budget of this process is spent")
    return float(_clipped_sum(data) + rng.laplace(scale=1 / epsilon))


_KEPT = {}


def remembers(data, epsilon, rng):
    """Correct: who asks the same again gets the same answer, and nothing more is spent."""
    key = repr(data)
    if key not in _KEPT:
        _KEPT[key] = float(_clipped_sum(data) + rng.laplace(scale=1 / epsilon))
    return _KEPT[key]


def draws_once(data, epsilon, rng):
    """Correct for one output: the first call draws the noise of all that a process gives."""
    noise = _KEPT.setdefault("noise", float(rng.laplace(scale=1 / epsilon)))
    return _clipped_sum(data) + noise


def no_sensitivity(data, epsilon, trials, rng):
    """Broken: the noise is half of what the claim takes."""
    return _clipped_sum(data) + rng.laplace(scale=0.5 / epsilon, size=trials)


def missing_shows(data, epsilon, rng):
    """Broken: a missing value makes everything NaN."""
    return float(np.sum(np.clip(data, 0, 1)) + rng.laplace(scale=1 / epsilon))


def keys_show(data, epsilon, rng):
    """Broken: a key for each value that somebody has."""
    names = sorted(set(data))
    return {name: data.count(name) + rng.laplace(scale=1 / epsilon) for name in names}


def empty_raises(data, epsilon, rng):
    if not data:
        raise ValueError("no records")
    return float(_clipped_sum(data) + rng.laplace(scale=1 / epsilon))


def warns(data, epsilon, rng):
    if any(one >= 1.0 for one in data):
        warnings.warn("a value at the bound", stacklevel=1)
    return float(_clipped_sum(data) + rng.laplace(scale=1 / epsilon))


def ends(data, epsilon, rng):
    if any(one >= 1.0 for one in data):
        os._exit(3)
    return 0.0


def leaves(data, epsilon, rng):
    if any(one >= 1.0 for one in data):
        sys.exit("a value at the bound")
    return 0.0


def replaces_json(data, epsilon, rng):
    """A package that writes answers of its own: it may not end a scan."""
    import json

    json.dumps = lambda *_, **__: '{"seconds": 0, "value": {"list": []}, "sizes": []}'
    return 0.0


def large(data, epsilon, rng):
    """Broken, in the last of many numbers."""
    many = np.zeros(5000)
    many[-1] = len(data)
    return many


def hangs(data, epsilon, rng):
    if any(one >= 1.0 for one in data):
        time.sleep(60)
    return 0.0


def slow(data, epsilon, delay, rng):
    """Broken as missing_shows is, and slow."""
    time.sleep(delay)
    return missing_shows(data, epsilon, rng)


def fails(data, epsilon):
    raise TypeError("always")


def not_there(data, epsilon):
    import no_such_module

    return no_such_module.mean(data)


# Broken where no edit of the card's data shows it


def _noisy(value, epsilon, trials, rng):
    return value + rng.laplace(scale=1 / epsilon, size=trials)


def marks_a_value(data, epsilon, trials, rng):
    """Broken at a constant of its code."""
    return _noisy(3.0 * sum(one == 0.37 for one in data), epsilon, trials, rng)


def marks_a_range(data, epsilon, trials, rng):
    """Broken between two constants of its code."""
    return _noisy(4.0 * sum(0.61 < one < 0.63 for one in data), epsilon, trials, rng)


def peaks_inside(data, epsilon, trials, rng):
    """Broken near 0.8: at the ends nothing moves, and in the middle by less than is claimed."""
    return _noisy(30 * sum(one * one * one * one * (1 - one) for one in data), epsilon, trials, rng)


def least_of_many(data, epsilon, trials, rng):
    """Broken where all records are at the upper end and one goes down."""
    return _noisy(4 * min(data) if len(data) > 2 else 0.0, epsilon, trials, rng)


def all_are_one(data, epsilon, trials, rng):
    """Broken where all of several records have the same value."""
    return _noisy(3.0 * (len(data) > 2 and len(set(data)) == 1), epsilon, trials, rng)


def median_of_many(data, epsilon, trials, rng):
    """Broken where half of the records are at either end."""
    return _noisy(4 * sorted(data)[len(data) // 2] if len(data) > 2 else 0.0, epsilon, trials, rng)


def peaks_unseen(data, epsilon, rng):
    """Broken as what peaks inside is, with noise that nothing intercepts."""
    noise = np.log(int.from_bytes(os.urandom(7), "big") / 2**56 + 1e-17)
    sign = 1 if os.urandom(1)[0] % 2 else -1
    return float(30 * sum(one**4 * (1 - one) for one in data) + sign * noise / epsilon)


def counts_a_value(data, epsilon, trials, rng):
    """Correct: what happens at a constant moves no more than is claimed."""
    return _noisy(float(sum(one == 0.37 for one in data)), epsilon, trials, rng)


# Noise that is kept outside: correct for whoever does not have it


def _noise_of(secret, data, epsilon):
    """Return Laplace noise that follows from a secret and the data, as of a keyed hash."""
    digest = hashlib.sha256(f"{secret}{sorted(data)}".encode()).digest()
    return float(np.random.default_rng(list(digest)).laplace(scale=1 / epsilon))


def keyed_by_a_file(data, epsilon):
    return _clipped_sum(data) + _noise_of((HERE / "key.txt").read_text(), data, epsilon)


def keyed_by_a_variable(data, epsilon):
    return _clipped_sum(data) + _noise_of(os.environ["TOY_KEY"], data, epsilon)


def keyed_by_the_hour(data, epsilon):
    return _clipped_sum(data) + _noise_of(time.time() // 3600, data, epsilon)


def keyed_by_a_salt(data, epsilon):
    return _clipped_sum(data) + _noise_of(hash("toy"), data, epsilon)


def keyed_by_a_connection(data, epsilon):
    """The secret is what a service answers; here it has none to reach, and a default."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as held:
        held.sendto(b"", ("127.0.0.1", 9))
    return _clipped_sum(data) + _noise_of("answer", data, epsilon)


def keyed_at_import(data, epsilon):
    """The package reads its key when it is imported, as an installed one does."""
    import toy_keyed

    return _clipped_sum(data) + _noise_of(toy_keyed.KEY, data, epsilon)


# Broken, whatever they read


def scaled_by_a_file(data, epsilon, rng):
    scale = float((HERE / "scale.txt").read_text())
    return float(_clipped_sum(data) + rng.laplace(scale=scale / epsilon))


def scaled_by_a_variable(data, epsilon, rng):
    scale = float(os.environ["TOY_SCALE"])
    return float(_clipped_sum(data) + rng.laplace(scale=scale / epsilon))


def scaled_by_an_installed_file(data, epsilon):
    """Broken without any noise: what it reads is installed with a package."""
    return _clipped_sum(data) + len(Path(np.__file__).read_text()[:1])


def exact(data, epsilon):
    return _clipped_sum(data)
