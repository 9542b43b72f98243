"""Matrices of symbols, and the vectors of all nodes as rows of one."""

from __future__ import annotations

from typing import TypeAlias

from dpaudit.extension.identities import make_identity_finding
from dpaudit.extension.ledger import Finding
from dpaudit.polynomials import (
    Polynomial,
    Scalar,
    Vector,
    make_polynomial,
    make_unknown,
    make_vector,
    total,
    vectors,
)

Rows: TypeAlias = tuple[Vector, ...]
Matrix: TypeAlias = tuple[tuple[Polynomial, ...], ...]
NODES = range(3)
PROBE = make_vector("probe")


def check_same_vectors(left: Vector, right: Vector, instance: str) -> Finding:
    """Return that two vectors are the same: their products with any vector are."""
    return make_identity_finding(left @ PROBE, right @ PROBE, instance)


def make_unknown_rows(name: str) -> Rows:
    """Return one unknown vector a node, the rows of a stacked matrix."""
    return tuple(vectors(" ".join(f"{name}{i}" for i in NODES)))


def make_symmetric_matrix(name: str, diagonal: bool = True) -> Matrix:
    """Return a symmetric matrix of unknowns, with zeros on its diagonal if so asked."""

    def entry(i: int, j: int) -> Polynomial:
        # One unknown for a pair, named by its smaller node, makes the matrix symmetric.
        low, high = sorted((i, j))
        return make_unknown(f"{name}{low}{high}") if diagonal or i != j else make_polynomial(0)

    return tuple(tuple(entry(i, j) for j in NODES) for i in NODES)


def make_diagonal_matrix(name: str) -> Matrix:
    """Return a diagonal matrix of unknowns."""
    return tuple(
        tuple(make_unknown(f"{name}{i}") if i == j else make_polynomial(0) for j in NODES)
        for i in NODES
    )


def add_scaled_matrix(left: Matrix, right: Matrix, factor: Scalar = 1) -> Matrix:
    """Return ``left + factor right``."""
    return tuple(
        tuple(a + b * factor for a, b in zip(one, other, strict=True))
        for one, other in zip(left, right, strict=True)
    )


def multiply_symbol_matrices(left: Matrix, right: Matrix) -> Matrix:
    """Return the product of two matrices."""
    return tuple(
        tuple(sum((left[i][k] * right[k][j] for k in NODES), make_polynomial(0)) for j in NODES)
        for i in NODES
    )


def multiply_stacked_rows(matrix: Matrix, stacked: Rows) -> Rows:
    """Return a matrix times stacked vectors."""
    return tuple(total(stacked[j] * matrix[i][j] for j in NODES) for i in NODES)


def add_stacked_rows(*stacks: Rows) -> Rows:
    """Return the sum of stacked vectors."""
    return tuple(total(parts) for parts in zip(*stacks, strict=True))


def subtract_stacked_rows(left: Rows, right: Rows) -> Rows:
    """Return the difference of stacked vectors."""
    return tuple(a - b for a, b in zip(left, right, strict=True))


def compute_stacked_inner(left: Rows, right: Rows) -> Polynomial:
    """Return the Frobenius inner product."""
    return sum((a @ b for a, b in zip(left, right, strict=True)), make_polynomial(0))
