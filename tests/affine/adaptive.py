"""Training loops with adaptive inputs in plain numpy, and what is known of them apart."""

from itertools import combinations, pairwise, product
from math import comb, sqrt

import numpy as np


def train(rows, scale=1.0, rate=0.1):
    """Return a loop whose noise is ``C^-1 z``, C given by its rows from the diagonal to the left.

    Everybody sees the noisy inputs, or the models, or the last model alone.
    """

    def correlated(inputs, rng):
        model, noises, seen, models = np.zeros(inputs.dimension), [], [], []
        for t in range(inputs.steps):
            noise = rng.normal(scale=scale, size=inputs.dimension)
            for lag in range(1, min(len(rows[t]), t + 1)):
                noise = noise - rows[t][lag] * noises[t - lag]
            noise = noise / rows[t][0]
            noises.append(noise)
            noisy = inputs.at(t, model) + noise
            model = model - rate * noisy
            seen.append(noisy)
            models.append(model)
        return {"inputs": np.array(seen), "models": models, "last": model}

    return correlated


def toeplitz(coefficients):
    """Return rows for `train` of a strategy that treats every round alike."""
    return [coefficients] * len(coefficients)


def matrix_of(rows):
    """Return C of rows for `train`."""
    size = len(rows)
    table = np.zeros((size, size))
    for t, row in enumerate(rows):
        for lag in range(min(len(row), t + 1)):
            table[t, t - lag] = row[lag]
    return table


def square_root(size):
    """Return coefficients of ``(1 - x)^(-1/2)``."""
    return [comb(2 * k, k) / 4**k for k in range(size)]


def take_back(size, share):
    """Return a loop of DP-lambda-CGD, and the coefficients of its C."""

    def cancelling(inputs, rng):
        model, before, seen = np.zeros(inputs.dimension), np.zeros(inputs.dimension), []
        for t in range(inputs.steps):
            noise = rng.normal(size=inputs.dimension)
            noisy = inputs.at(t, model) + noise - share * before
            before = noise
            model = model - 0.5 * noisy
            seen.append(noisy)
        return np.array(seen)

    return cancelling, [share**k for k in range(size)]


def grow_tree(inputs, rng):
    """DP-FTRL: noise on every node of a binary tree; a model is minus a prefix sum of nodes."""
    model, stack, seen = np.zeros(inputs.dimension), [], []
    for t in range(inputs.steps):
        size, total = 1, inputs.at(t, model)
        noisy = total + rng.normal(size=inputs.dimension)
        seen.append(noisy)
        while stack and stack[-1][0] == size:
            _, other, _ = stack.pop()
            size, total = 2 * size, other + total
            noisy = total + rng.normal(size=inputs.dimension)
            seen.append(noisy)
        stack.append((size, total, noisy))
        model = -0.1 * sum(one for _, _, one in stack)
    return np.array(seen)


# --- sensitivity, by going through everything ------------------------------------------------


def patterns(size, apart, most):
    """Yield all sets of at most so many rounds that are so far apart."""
    for count in range(1, most + 1):
        for one in combinations(range(size), count):
            if all(b - a >= apart for a, b in pairwise(one)):
                yield one


def largest(gram, sets):
    """Return the largest ``sum s_i s_j G_ij`` over sets and signs, and that of ``|G_ij|``."""
    low, high = 0.0, 0.0
    for one in sets:
        part = gram[np.ix_(one, one)]
        signs = np.array(list(product((-1, 1), repeat=len(one))))
        low = max(low, np.einsum("ki,ij,kj->k", signs, part, signs).max())
        high = max(high, np.abs(part).sum())
    return sqrt(low), sqrt(high)


class Fixed:
    """Inputs that depend on nothing: rows of an array."""

    def __init__(self, rows):
        self.rows, (self.steps, self.dimension) = rows, rows.shape

    def at(self, step, *arguments):
        return self.rows[step]


def fixed(recursion):
    """Return a recursion as a function of an array of inputs, as the oracle needs it."""
    return lambda rows, rng: recursion(Fixed(rows), rng)


# --- random recursions -------------------------------------------------------------------------


def random_recursion(seed, steps=4):
    """Return a loop over three states that are mixed, hidden and shown at random.

    Inputs are of two people, "mine" and "other", one of them at a time. It returns what is seen,
    and what each input was given.
    """
    rng = np.random.default_rng(seed)
    count, noisy = 3, rng.choice([0.0, 0.2, 0.7])

    def draw_weights():
        return rng.normal(size=count) * (rng.random(count) < 0.5)

    whose = [str(rng.choice(["mine", "mine", "other"])) for _ in range(steps)]
    plan = [
        {
            "given": rng.random(count) < 0.4,
            "into": draw_weights(),
            "mixed": [draw_weights() for _ in range(count)],
            "noise": (rng.random(count) < noisy) * rng.uniform(0.5, 2.0, count),
            "is_input_noisy": rng.random() < (0.9 if mine else 0.1),
            "is_input_shown": rng.random() < (0.7 if mine else 0.2),
            "shown": rng.random(count) < 0.4,
        }
        for mine in [one == "mine" for one in whose]
    ]

    def recursion(private, generator):
        size = private["mine"].dimension

        def noise(scale):
            return generator.normal(scale=scale, size=size) if scale else 0.0

        states, seen, arguments = [np.zeros(size) for _ in range(count)], [np.zeros(size)], []
        for step, now in enumerate(plan):
            given = [one for one, used in zip(states, now["given"], strict=True) if used]
            arguments.append(given)
            added = private[whose[step]].at(step, *given) + noise(float(now["is_input_noisy"]))
            if now["is_input_shown"]:
                seen.append(added)
            mixed = [
                sum((w * one for w, one in zip(row, states, strict=True) if w), into * added)
                for row, into in zip(now["mixed"], now["into"], strict=True)
            ]
            states = [one + noise(scale) for one, scale in zip(mixed, now["noise"], strict=True)]
            seen += [one for one, is_shown in zip(states, now["shown"], strict=True) if is_shown]
        return {"seen": seen, "arguments": arguments}

    return recursion, whose
