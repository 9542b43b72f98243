"""Numbers that each hold many draws, so that a plain recursion runs many times at once."""

import numpy as np


class Draws:
    """A number in many runs: what a recursion adds and multiplies."""

    def __init__(self, values):
        self.values = values

    def __add__(self, other):
        return Draws(self.values + getattr(other, "values", other))

    def __sub__(self, other):
        return Draws(self.values - getattr(other, "values", other))

    def __rsub__(self, other):
        return Draws(other - self.values)

    def __mul__(self, number):
        return Draws(self.values * number)

    def __truediv__(self, number):
        return Draws(self.values / number)

    def __neg__(self):
        return Draws(-self.values)

    __radd__, __rmul__ = __add__, __mul__


class ManyDraws:
    """A generator whose every normal is one a run."""

    def __init__(self, runs, rng):
        self.runs, self.rng = runs, rng

    def standard_normal(self, size=None):
        if size is None:
            return Draws(self.rng.standard_normal(self.runs))
        normals = np.empty(size, dtype=object)
        for place in np.ndindex(normals.shape):
            normals[place] = Draws(self.rng.standard_normal(self.runs))
        return normals

    def normal(self, loc=0.0, scale=1.0, size=None):
        return loc + scale * self.standard_normal(size)


def flat(seen, runs):
    """Return all numbers of an output, a row each and a run a column."""
    if isinstance(seen, dict):
        return flat(list(seen.values()), runs)
    if isinstance(seen, list | tuple):
        return np.concatenate([flat(one, runs) for one in seen])
    numbers = np.asarray(seen, dtype=object).ravel()
    return np.stack([np.broadcast_to(getattr(one, "values", one), runs) for one in numbers])
