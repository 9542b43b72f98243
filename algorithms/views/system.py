r"""Networks whose messages are linear in the data and in Gaussian noise, kept as exact rationals.

Where neighbours share the linear map (they differ in a label, a target, a private vector, or in a
record of a linear loss) everything a network sends is ``messages = offset + L data + W noise``. The
rounds are written down symbolically: a quantity is a matrix of coefficients (a *form*), one row a
coordinate, one column each for the last state, the noise of the round and the change of the data.
Offsets cancel between neighbours, so forms have none.

| symbol | code                     | meaning                                         | shape    |
|--------|--------------------------|-------------------------------------------------|----------|
| s_t    | ``Round.state``          | state after round t, its first rows are sent    | (n, n)   |
| n_t    | ``Round.noise``          | independent standard normals of round t, scaled | (n, k_t) |
| c      | ``Round.data``           | change of the data between the neighbours       | (n, P)   |
| W, L   | ``Network.coefficients`` | all that is sent, one row a sent coordinate     | (T m, .) |

    s_t = state_t s_(t-1) + noise_t n_t + data_t c,        s_0 = 0

Doubles are rationals and enter without error; a weight such as 1/3 is given as a `Fraction`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias, TypeVar

import numpy as np
from flint import fmpq, fmpq_mat
from numpy.typing import NDArray

import dpaudit._validate as check
from dpaudit.algorithms.problems.graphs import Graph
from dpaudit.errors import InvalidArgument, Shown

Form: TypeAlias = NDArray[Any]  # of fmpq, shape (rows, columns)
Exact: TypeAlias = int | float | Fraction | fmpq
Matrix = TypeVar("Matrix", bound=Any)


def exact(name: str, value: object, *, least: float = -math.inf) -> fmpq:
    """Return a number as the rational it is, or raise `InvalidArgument`.

    Examples
    --------
    >>> exact("penalty", 0.5), exact("weight", Fraction(1, 3)), exact("scale", 2**62 + 1)
    (1/2, 1/3, 4611686018427387905)
    """
    if isinstance(value, fmpq):
        found = Fraction(int(value.p), int(value.q))
    elif isinstance(value, Fraction):
        found = value
    else:
        near = check.real(name, value)
        found = Fraction(value) if isinstance(value, int) else Fraction(near)  # of any size
    if found < least:
        raise InvalidArgument(name, float(found), f"a finite number, at least {least:g}")
    return fmpq(found.numerator, found.denominator)


def exact_table(name: str, values: Any, shape: tuple[int, ...], least: float = -math.inf) -> Form:
    """Return an array of rationals, a single number standing for all of them."""
    given = np.asarray(values, dtype=object)
    if given.ndim and given.shape != shape:
        raise InvalidArgument(name, Shown(f"shape {given.shape}"), f"a number, or shape {shape}")
    made = [exact(name, value, least=least) for value in given.ravel()]
    return np.broadcast_to(np.array(made, dtype=object).reshape(given.shape), shape)


def eye(size: int) -> Form:
    """Return the identity as a form."""
    form = np.full((size, size), fmpq(0), dtype=object)
    np.fill_diagonal(form, fmpq(1))
    return form


def on_coordinates(graph: Graph, dimension: int) -> tuple[Form, Form]:
    """Return degrees (diagonal) and adjacency, acting on every coordinate of a vector a node."""
    degrees = np.kron(np.diag(graph.degrees), np.eye(dimension))
    adjacency = np.kron(graph.adjacency, np.eye(dimension))
    shape = adjacency.shape
    return exact_table("degrees", degrees, shape), exact_table("adjacency", adjacency, shape)


def packed(form: Form) -> fmpq_mat:
    """Return a form as a matrix of FLINT."""
    return fmpq_mat(form.shape[0], form.shape[1], form.ravel().tolist())


def unpacked(matrix: Any) -> Form:
    """Return a matrix of FLINT as an array of its entries."""
    out = np.empty(matrix.nrows() * matrix.ncols(), dtype=object)
    out[:] = matrix.entries()
    return np.asarray(out.reshape(matrix.nrows(), matrix.ncols()))


def inverse(form: Form) -> Form:
    """Return the exact inverse of a regular matrix."""
    return unpacked(packed(form).inv())


@dataclass(frozen=True)
class Basis:
    """The columns of the forms of one round: last state, noise, change of the data.

    Examples
    --------
    >>> basis = Basis(states=1, noises=1, data=1)
    >>> (basis.state() + 2 * basis.noise() - basis.change()).tolist()
    [[1, 2, -1]]
    """

    states: int
    noises: int
    data: int

    def state(self) -> Form:
        """Return the last state, shape ``(n, n + k + P)``."""
        return self._columns(0, self.states)

    def noise(self) -> Form:
        """Return the standard normals of the round, shape ``(k, n + k + P)``."""
        return self._columns(self.states, self.noises)

    def change(self) -> Form:
        """Return the change of the data, shape ``(P, n + k + P)``."""
        return self._columns(self.states + self.noises, self.data)

    def _columns(self, first: int, count: int) -> Form:
        return eye(self.states + self.noises + self.data)[first : first + count]

    def round(self, parts: Iterable[Form], noise_owners: Sequence[int]) -> Round:
        """Return the round after which these forms, one below the other, are the state."""
        stacked = np.concatenate(list(parts))
        cuts = np.split(stacked, [self.states, self.states + self.noises], axis=1)
        state, noise, data = map(packed, cuts)
        return Round(state, noise, data, tuple(noise_owners))


@dataclass(frozen=True, eq=False)
class Round:
    """What one round makes of the state; see the module. ``noise_owners`` draw its noise."""

    state: fmpq_mat
    noise: fmpq_mat
    data: fmpq_mat
    noise_owners: tuple[int, ...]


@dataclass(frozen=True)
class Observer:
    """Somebody who sees messages, and knows all that some participants know.

    Parameters
    ----------
    hears
        The participants whose messages it sees, as numbers.
    knows
        The participants it is, or that collude with it: their noise and their data are its own.
        What they send is a function of that and of what they hear, so that ``hears`` need not
        name them.
    """

    hears: frozenset[int] = frozenset()
    knows: frozenset[int] = frozenset()


@dataclass(frozen=True, eq=False)
class Network:
    """All rounds of a linear-Gaussian algorithm, and who sends, draws and holds what.

    Parameters
    ----------
    rounds
        At least one.
    senders
        Who sends each of the first coordinates of the state, shape ``(m,)``.
    data_owners
        Who holds each coordinate of the change of the data, shape ``(P,)``.
    hears
        Of every participant, those whose messages it receives.
    names
        Of the participants, for pictures.
    """

    rounds: tuple[Round, ...]
    senders: tuple[int, ...]
    data_owners: tuple[int, ...]
    hears: tuple[frozenset[int], ...]
    names: tuple[str, ...] = field(default=())

    # --- observers -------------------------------------------------------------------------

    def eavesdropper(self, edges: Iterable[tuple[int, int]] | None = None) -> Observer:
        """Return who reads every message, or those from ``a`` to ``b`` for every ``(a, b)``."""
        if edges is None:
            return Observer(hears=frozenset(self.senders))
        heard = []
        for sender, receiver in edges:
            if not (self._is(receiver) and sender in self.hears[receiver]):
                raise InvalidArgument("edges", (sender, receiver), "an edge, sender first")
            heard.append(sender)
        return Observer(hears=frozenset(heard))

    def coalition(self, *participants: int) -> Observer:
        """Return the view of participants who share all that they know and hear; one, or more."""
        for one in participants:
            if not self._is(one):
                expected = f"numbers from 0 to {len(self.hears) - 1}"
                raise InvalidArgument("participants", one, expected)
        heard = frozenset[int]().union(*(self.hears[one] for one in participants))
        return Observer(hears=heard - set(participants), knows=frozenset(participants))

    def _is(self, participant: int) -> bool:
        return 0 <= participant < len(self.hears)

    # --- coefficients ----------------------------------------------------------------------

    @cached_property
    def noise_owners(self) -> tuple[int, ...]:
        """Who draws each noise coordinate of all rounds, shape ``(K,)``."""
        return tuple(owner for one in self.rounds for owner in one.noise_owners)

    def first(self, rounds: int) -> Network:
        """Return the network stopped after so many rounds."""
        return Network(self.rounds[:rounds], self.senders, self.data_owners, self.hears, self.names)

    def coefficients(self, convert: Callable[[fmpq_mat], Matrix]) -> NDArray[Any]:
        """Return ``[W, L]`` of all messages, round by round, shape ``(T m, K + P)``.

        ``convert`` takes a rational matrix to the matrices that are calculated with: exact ones,
        balls, or residues of a prime.
        """
        known: dict[int, Any] = {}

        def converted(matrix: fmpq_mat) -> Any:
            if id(matrix) not in known:
                known[id(matrix)] = convert(matrix)
            return known[id(matrix)]

        sent, width, drawn = [], len(self.noise_owners) + len(self.data_owners), 0
        states = self.rounds[0].state.nrows()
        zero = fmpq_mat(states, width)
        state, nothing = convert(zero), unpacked(convert(zero))
        for one in self.rounds:
            fresh = nothing.copy()
            fresh[:, drawn : drawn + len(one.noise_owners)] = unpacked(converted(one.noise))
            fresh[:, len(self.noise_owners) :] = unpacked(converted(one.data))
            drawn += len(one.noise_owners)
            state = converted(one.state) * state + _like(state, fresh)
            sent.append(unpacked(state)[: len(self.senders)])
        return np.concatenate(sent)


def _like(matrix: Any, entries: NDArray[Any]) -> Any:
    """Return entries as a matrix of the same kind."""
    shape = entries.shape
    if hasattr(matrix, "modulus"):
        return type(matrix)(*shape, [int(entry) for entry in entries.ravel()], matrix.modulus())
    return type(matrix)(*shape, entries.ravel().tolist())
