"""Functions of what is noisy already, which are operations of a program as they are."""

import numpy as np
import pytest

from dpaudit.domains.domain import Domain
from dpaudit.proving.events.bound import bound_trace
from dpaudit.proving.refusals import NotProved
from dpaudit.proving.runs.reading import read_trace

DOMAIN = Domain(bounds=(0, 1), records=6)


def regress(x, rng):
    design = np.column_stack([x, np.ones(6)])
    gram = design.T @ design + rng.normal(size=(2, 2))
    gram = (gram + gram.T) / 2 + 9 * np.eye(2)
    return np.linalg.solve(gram, design.T @ x + rng.normal(size=2))


def spectrum(x, rng):
    noisy = np.outer(x, x) + rng.normal(size=(6, 6))
    values, vectors = np.linalg.eigh(noisy)
    _, sizes, _ = np.linalg.svd(noisy, full_matrices=False)
    least, _, rank, _ = np.linalg.lstsq(noisy, np.ones(6), rcond=None)
    return (
        values,
        abs(vectors),
        sizes,
        np.arcsin(np.tanh(sizes)),
        least,
        np.linalg.pinv(noisy),
        rank,
    )


def order(x, rng):
    noisy = x + rng.laplace(size=6)
    best = np.argsort(noisy)[::-1][:2]
    return best, noisy[best], np.interp(noisy, [0.0, 1.0], [2.0, 3.0]), np.cumprod(noisy)


@pytest.mark.parametrize("function", [regress, spectrum, order])
def test_what_noise_decides_is_called_as_it_is(function):
    found = read_trace(function, DOMAIN, runs=50)
    assert "call" in {node.operation for node in found.paths[0].program.nodes}
    assert found.compared == 50


def test_events_are_those_of_the_releases_before():
    events = bound_trace(read_trace(regress, DOMAIN, runs=20)).events[0]
    assert [type(one).__name__ for one in events] == ["GaussianRelease"] * 2


def test_records_without_noise_are_not_called_with():
    with pytest.raises(NotProved, match="inv of a value that depends on records"):
        read_trace(lambda x, rng: np.linalg.inv(np.outer(x, x)), DOMAIN)


def test_records_beside_noise_are_refused_by_the_rules():
    def release(x, rng):
        noisy = x.sum() + rng.laplace()
        return np.linalg.inv(np.eye(2) * noisy + np.outer(x[:2], x[:2]))

    with pytest.raises(NotProved, match="without noise"):
        bound_trace(read_trace(release, DOMAIN, runs=20))
