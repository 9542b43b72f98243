"""Random programs of numpy's operations: forms have the coefficients that impulses find."""

import warnings
from contextlib import contextmanager

import numpy as np
import pytest

from dpaudit.affine.changes import Direction
from dpaudit.affine.constructors import own_constructors
from dpaudit.affine.form import AffineForm, FormTracing, NotAffine
from dpaudit.affine.functions import LINEAR
from dpaudit.affine.kinds import DOUBLES
from dpaudit.affine.program import AffineProgram
from dpaudit.affine.view import View
from tests.affine import oracle, random_programs

PRIVATE = np.array([[0.3, -1.2], [2.0, 0.7]])
MOVE = np.array([1.0, -0.5, 0.0, 2.0])


class FormNormals:
    """A generator whose normals are coordinates."""

    def __init__(self, tracing):
        self.tracing = tracing

    def normal(self, loc=0.0, scale=1.0, size=None):
        size = np.broadcast_shapes(np.shape(loc), np.shape(scale)) if size is None else size
        ids = self.tracing.program.add_leaf("noise", int(np.prod(size, dtype=int))).reshape(size)
        return AffineForm(self.tracing, ids, 0.0 * ids) * scale + loc


@contextmanager
def traced():
    """Let code that makes arrays make forms, of one program after the other."""
    tracing = FormTracing(LINEAR)
    with own_constructors(tracing, random_programs.Program.__call__):
        yield tracing


def read(tracing, function):
    """Return the program of a function of the private array, and the ids and shapes it returns."""
    tracing.program, tracing.refusal = AffineProgram(), None
    ids = tracing.program.add_leaf("data", PRIVATE.size).reshape(PRIVATE.shape)
    output = function(AffineForm(tracing, ids, PRIVATE.copy()), FormNormals(tracing))
    if tracing.refusal is not None:
        raise NotAffine(*tracing.refusal)
    forms = [tracing.form_of(one) for one in output]
    return tracing.program, np.concatenate([one.ids.ravel() for one in forms])


def impulses(function):
    """Return ``[W, L]`` by the oracle; None where numpy itself fails, as on arrays to be read."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return oracle.coefficients(function, PRIVATE, lambda output: output)
        except ValueError:
            return None


def check(numbers, each_mu):
    """Compare programs; return how many were the same, refused, or failed on plain arrays."""
    programs = {number: random_programs.Program(number) for number in numbers}
    expected = {number: impulses(function) for number, function in programs.items()}
    counts = dict.fromkeys(("same", "refused", "failed", "mu", "infinite"), 0)
    with traced() as tracing:
        for number, columns in expected.items():
            if columns is None:
                counts["failed"] += 1
                continue
            try:
                program, ids = read(tracing, programs[number])
            except (NotAffine, ValueError):  # numpy adds in place even to arrays to be read
                counts["refused"] += 1
                continue
            whole = np.concatenate(columns, axis=1)
            found = program.coefficients(DOUBLES, ids)
            assert found.shape == whole.shape, number
            most = np.abs(whole).max(initial=1.0)
            assert np.allclose(found, whole, rtol=1e-9, atol=1e-9 * most), number
            counts["same"] += 1
            if number % each_mu == 0:
                compare_mu(counts, number, View(program, ids, Direction(MOVE)), *columns)
    return counts


def compare_mu(counts, number, view, noise, data):
    """Compare a mu with that of dense linear algebra, where its ranks are not in doubt.

    What the oracle's runs leave where everything cancels is the rounding of their sums.
    """
    noise, data = (np.where(np.abs(one) < 1e-12, 0.0, one) for one in (noise, data))
    try:
        shortest = oracle.least_noise(noise, data @ MOVE)
    except AssertionError:
        return
    expected = np.inf if shortest is None else float(np.linalg.norm(shortest))
    ends = [view.mu.lower, view.mu.upper]
    assert ends == pytest.approx([expected] * 2, rel=1e-9, abs=1e-12), number
    counts["mu"] += 1
    counts["infinite"] += shortest is None


@pytest.mark.parametrize("programs", [100, pytest.param(300, marks=pytest.mark.slow)])
def test_programs_are_read_as_they_run(programs):
    counts = check(range(programs), each_mu=6)
    assert counts["same"] > programs * 5 / 6, counts
    assert counts["refused"] < programs / 20, counts
    assert counts["mu"] > programs / 10, counts
    assert counts["infinite"] > programs / 60, counts


@pytest.mark.slow
def test_ten_thousand_programs_are_read_as_they_run():
    counts = check(range(1000, 11_000), each_mu=10)
    print(counts)
    assert counts["same"] > 9000, counts
    assert counts["refused"] < 300, counts
    assert counts["mu"] > 700, counts


def test_a_program_that_is_misread_is_caught():
    def program(private, rng):
        return [
            private + rng.normal(size=(2, 2)) * (1.0 if isinstance(private, AffineForm) else 2.0)
        ]

    noise, data = oracle.coefficients(program, PRIVATE, lambda output: output)
    with traced() as tracing:
        found, ids = read(tracing, program)
    assert not np.allclose(found.coefficients(DOUBLES, ids), np.concatenate([noise, data], axis=1))
