"""The kinds of arithmetic say the same of one program, each as exactly as it promises."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from dpaudit.affine.kinds import (
    DOUBLES,
    SIZES,
    Balls,
    Rationals,
    Residues,
    SparseMatrix,
    compute_residue_kernel,
    compute_view_ranks,
    draw_primes,
    independent_rows,
)
from dpaudit.affine.program import NOWHERE, AffineProgram, BlockTerm
from dpaudit.reals import precision

DIGITS = 40
NUMBERS = [0.1, -3.0, 1e-9, 7.0, 2.0**-40, 1e12, Fraction(1, 3), Fraction(-22, 7), 1, 0.3]


def random_program(seed, blocks=8):
    """Return a program of sums, products with doubles and fractions, quotients and matrices."""
    rng = np.random.default_rng(seed)
    program = AffineProgram()
    known = [program.add_leaf("data", 2), program.add_leaf("noise", 3)]
    for _ in range(blocks):
        size = int(rng.integers(1, 4))
        known.append(program.add_sum(*(random_term(rng, known, size) for _ in range(2))))
    return program, np.concatenate(known[2:])


def random_term(rng, known, size):
    ids = rng.choice([*np.concatenate(known), NOWHERE], size if size else 1)
    numbers = np.array([NUMBERS[n] for n in rng.integers(len(NUMBERS), size=size)], dtype=object)
    kind = rng.integers(4)
    if kind == 0:
        return BlockTerm(ids)
    if kind == 3:
        columns = rng.choice(np.concatenate(known), 3)
        places = np.sort(rng.integers(size, size=5)), rng.integers(3, size=5)
        numbers = np.array([NUMBERS[n] for n in rng.integers(len(NUMBERS), size=5)], dtype=object)
        return BlockTerm(columns, matrix=SparseMatrix(size, 3, *places, numbers))
    return BlockTerm(ids, numbers, divides=bool(kind == 2))


PROGRAMS = range(40)


@pytest.fixture(scope="module")
def tables():
    """Return programs, ids and their rational coefficients."""
    programs = [random_program(seed) for seed in PROGRAMS]
    return [(one, ids, one.coefficients(Rationals(), ids)) for one, ids in programs]


def fraction(number):
    return Fraction(int(number.p), int(number.q))


def test_rationals_are_those_of_python(tables):
    """Against sums of Fractions, term by term, on a program as it is written down."""
    for program, ids, exact in tables:
        rows = python_rows(program)
        for row, one in zip(exact, ids.tolist(), strict=True):
            assert [fraction(entry) for entry in row] == rows[one]


def python_rows(program):
    """Return the coefficients of all coordinates, normals first, in Fractions."""
    leaves = [*program.leaves("noise").tolist(), *program.leaves("data").tolist()]
    rows = {NOWHERE: [Fraction(0)] * len(leaves)}
    for block in program.blocks:
        for n in range(block.size):
            at = block.start + n
            rows[at] = [Fraction(int(leaf == at)) for leaf in leaves]
            for term in block.terms:
                for factor, part in parts_of(term, n):
                    rows[at] = [x + factor * y for x, y in zip(rows[at], rows[part], strict=True)]
    return rows


def parts_of(term, n):
    if term.matrix is not None:
        entries = zip(term.matrix.at_row, term.matrix.at_column, term.matrix.numbers, strict=True)
        return [(Fraction(number), int(term.ids[j])) for i, j, number in entries if i == n]
    number = Fraction(1) if term.numbers is None else Fraction(term.numbers[n])
    return [(1 / number if term.divides else number, int(term.ids[n]))]


def test_residues_are_rationals_modulo_a_prime(tables):
    for prime in draw_primes(3, entropy=1):
        kind = Residues(prime)
        for program, ids, exact in tables:
            found = program.coefficients(kind, ids)
            assert found.tolist() == [[kind.residue(fraction(x)) for x in row] for row in exact]


def test_balls_hold_rationals(tables):
    for program, ids, exact in tables:
        with precision(DIGITS):
            found = program.coefficients(Balls(DIGITS), ids)
        with precision(10 * DIGITS):
            for ball, number in zip(found.ravel(), exact.ravel(), strict=True):
                assert ball.contains(arb(number))
        sizes = program.coefficients(SIZES, ids)
        radii = np.array([[float(one.rad()) for one in row] for row in found])
        assert np.all(radii <= 1e-35 * sizes)


def test_doubles_are_as_near_as_the_sizes_of_their_summands_say(tables):
    for program, ids, exact in tables:
        nearest = np.array([[float(fraction(x)) for x in row] for row in exact])
        sizes = program.coefficients(SIZES, ids)
        assert np.all(np.abs(nearest) <= sizes * (1 + 1e-12))
        apart = np.abs(program.coefficients(DOUBLES, ids) - nearest)
        assert np.all(apart <= 1e-14 * sizes)


def test_values_are_coefficients_times_runs(tables):
    rng = np.random.default_rng(0)
    for program, ids, _ in tables:
        noise, data = rng.standard_normal((3, 5)), rng.standard_normal((2, 5))
        found = program.values(DOUBLES, ids, data, noise)
        runs = np.concatenate([noise, data])
        sizes = program.coefficients(SIZES, ids) @ np.abs(runs)
        assert np.all(np.abs(found - program.coefficients(DOUBLES, ids) @ runs) <= 1e-13 * sizes)


def test_ranks_modulo_primes_are_those_of_rationals(tables):
    kinds = [Residues(prime) for prime in draw_primes(2, entropy=2)]
    dependent = 0
    for program, ids, exact in tables:
        expected = compute_view_ranks(Rationals(), exact, changes=2)
        dependent += expected[0] < len(ids)
        for kind in kinds:
            table = program.coefficients(kind, ids)
            assert compute_view_ranks(kind, table, changes=2) == expected
            noise = np.ascontiguousarray(table[:, :3])
            basis, kernel = independent_rows(kind, noise), compute_residue_kernel(kind, noise)
            assert len(basis) == expected[0] == len(ids) - len(kernel)
            assert not kind.multiply(kernel, noise).any()
            assert kind.flint(np.ascontiguousarray(noise[basis])).rank() == len(basis)
    assert dependent > 20


def test_a_table_that_is_moved_is_noticed(tables):
    program, ids, exact = tables[0]
    kind = Residues(draw_primes(1, entropy=3)[0])
    found = program.coefficients(kind, ids)
    found[np.nonzero(found)[0][0]] += 1
    assert found.tolist() != [[kind.residue(fraction(x)) for x in row] for row in exact]
