"""What an observer learns from a recursion, by impulses and a dense factorisation.

An oracle for everything that reads recursions: it shares no line with the engine. A recursion runs
with a generator whose normals are all 0, then with one of them 1 at a time, then with one private
number 1 at a time. Differences to the first run are the columns of W and L in ``seen = L data + W
noise + constant``, and ``mu = min ||u||`` over ``W u = L change``, infinite if there is no such u.
"""

import numpy as np

RANK = 1e-9  # relative to the largest: singular values may be far above or far below, never near
GAP = 100.0


class Impulse:
    """A generator whose standard normals are 0, but for one of them, which is 1."""

    def __init__(self, coordinate=None):
        self.coordinate, self.count = coordinate, 0

    def standard_normal(self, size=None):
        normals = np.zeros(1 if size is None else size)
        place = -1 if self.coordinate is None else self.coordinate - self.count
        if 0 <= place < normals.size:
            normals.flat[place] = 1.0
        self.count += normals.size
        return normals.item() if size is None else normals

    def normal(self, loc=0.0, scale=1.0, size=None):
        if size is None:
            size = np.broadcast(loc, scale).shape or None
        return loc + scale * self.standard_normal(size)

    def multivariate_normal(self, mean, cov, size=()):
        values, vectors = np.linalg.eigh(cov)
        normals = self.standard_normal((*np.atleast_1d(size).astype(int), len(mean)))
        return mean + normals @ (vectors * np.sqrt(values)).T


def flat(seen):
    """Return all numbers of an output, in one fixed order."""
    if isinstance(seen, dict):
        return flat(list(seen.values()))
    if isinstance(seen, list | tuple):
        return np.concatenate([flat(one) for one in seen]) if seen else np.zeros(0)
    return np.asarray(seen, dtype=float).ravel()


def coefficients(function, private, observer):
    """Return W and L of what an observer sees: a column a normal, and one a private number."""
    still = Impulse()
    base = flat(observer(function(private.copy(), still)))

    def column(moved, coordinate):
        return flat(observer(function(moved.copy(), Impulse(coordinate)))) - base

    units = np.eye(private.size).reshape(private.size, *private.shape)
    noise = [column(private, k) for k in range(still.count)]
    data = [column(private + unit, None) for unit in units]
    return np.array(noise).T.reshape(len(base), -1), np.array(data).T


def least_noise(noise, shift):
    """Return the shortest u with ``noise @ u = shift``, or None where there is none."""
    left, values, right = np.linalg.svd(noise, full_matrices=False)
    top = values.max(initial=0.0)
    known = values > RANK * top
    assert not np.any((values > RANK * top / GAP) & (values < RANK * top * GAP)), "rank undecided"
    found = left[:, known].T @ shift
    residual = np.abs(shift - left[:, known] @ found).max(initial=0.0)
    assert not 1e-11 < residual / max(1.0, np.abs(shift).max()) < 1e-6, "range undecided"
    if residual > 1e-6 * np.abs(shift).max(initial=0.0):
        return None
    return right[known].T @ (found / values[known])


def mu(function, private, observer, change):
    """Return the mu of an observer for a change of the private numbers."""
    noise, data = coefficients(function, private, observer)
    shortest = least_noise(noise, data @ np.ravel(change))
    return np.inf if shortest is None else float(np.linalg.norm(shortest))


def gram(function, private, observer):
    """Return M with ``mu**2 = z' M z`` for any change z of private numbers, all of them finite."""
    noise, data = coefficients(function, private, observer)
    shortest = [least_noise(noise, column) for column in data.T]
    assert all(one is not None for one in shortest)
    return np.array([[one @ other for other in shortest] for one in shortest])
