"""Arrays of messages between participants: those of one run, and who knows which of them.

A run is plain numpy, from private numbers and standard normals to all that is sent. Traced
(`dpaudit.affine.reading`), every message is a coordinate of a program, exactly as that code forms
it, in doubles or in fractions. An observer is the coordinates that it sees: the messages that it
hears, and the normals and private numbers that are its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpaudit._typing import Array
from dpaudit.affine.api import Views
from dpaudit.affine.changes import Direction
from dpaudit.affine.features import ViewLaw, ViewPair
from dpaudit.affine.program import AffineProgram, Ids
from dpaudit.affine.reading import Recursion, read_noise, read_recursion
from dpaudit.affine.view import View
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.plots import Grid

Run = Callable[[Any, Any], Any]
_RUNS = 3  # on plain numbers: a run is known code, that tests hold to what it is read as


@dataclass(frozen=True)
class Roles:
    """The senders, draws, holders and receivers of a network.

    Parameters
    ----------
    senders
        Who sends each coordinate of a round, shape ``(m,)``.
    drawers
        Who draws each normal of a run, in the order of the run's array.
    holders
        Who holds each private number, shape ``(P,)``.
    hears
        Of every participant, those whose messages it receives.
    names
        Of the participants, for pictures.
    """

    senders: tuple[int, ...]
    drawers: tuple[int, ...]
    holders: tuple[int, ...]
    hears: tuple[frozenset[int], ...]
    names: tuple[str, ...]

    @classmethod
    def of_nodes(cls, adjacency: ArrayLike, dimension: int = 1, *, drawn: int = 1) -> Roles:
        """Return those of nodes of a graph, who hear their neighbours and hold a vector each.

        They send a vector a round, and draw so many in all.

        Examples
        --------
        >>> Roles.of_nodes([[0, 1], [1, 0]], 2).senders
        (0, 0, 1, 1)
        """
        table = np.asarray(adjacency)
        one = np.repeat(range(len(table)), dimension).tolist()
        hears = tuple(frozenset(np.flatnonzero(row).tolist()) for row in table)
        names = tuple(f"node {i}" for i in range(len(table)))
        return cls(tuple(one), tuple(one * drawn), tuple(one), hears, names)


@dataclass(frozen=True, eq=False)
class Network:
    """All that a run sends, as coordinates of a program.

    Parameters
    ----------
    recursion
        The traced run.
    sent
        What is sent, a row a round, shape ``(T, m)``.
    held
        The private numbers, shape ``(P,)``.
    roles
        Of the participants.

    Examples
    --------
    >>> roles = Roles.of_nodes(np.ones((3, 3)) - np.eye(3))
    >>> network = trace_network(lambda x, normals: x + 2 * normals, np.zeros(3), (1, 3), roles)
    >>> network.view(network.coalition(1), [1, 0, 0]).mu
    Bracket(lower=0.5, upper=0.5)
    >>> network.view(network.coalition(0), [1, 0, 0]).mu.upper
    inf
    """

    recursion: Recursion
    sent: Ids
    held: Ids
    roles: Roles

    @property
    def program(self) -> AffineProgram:
        """The formation of messages."""
        return self.recursion.program

    def first(self, rounds: int) -> Network:
        """Return the network stopped after so many rounds."""
        return replace(self, sent=self.sent[:rounds])

    # --- observers -------------------------------------------------------------------------

    def eavesdropper(self, edges: Iterable[tuple[int, int]] | None = None) -> Ids:
        """Return who reads every message, or those from ``a`` to ``b`` for every ``(a, b)``."""
        if edges is None:
            return self.sent.ravel()
        heard = set[int]()
        for sender, receiver in edges:
            if not (self._is(receiver) and sender in self.roles.hears[receiver]):
                raise InvalidArgument("edges", (sender, receiver), "an edge, sender first")
            heard.add(sender)
        return self._messages_of(heard)

    def coalition(self, *participants: int) -> Ids:
        """Return the view of participants who share all that they know and hear; one, or more.

        What they send is a function of that.
        """
        for one in participants:
            if not self._is(one):
                expected = f"numbers from 0 to {len(self.roles.hears) - 1}"
                raise InvalidArgument("participants", one, expected)
        heard = set[int]().union(*(self.roles.hears[one] for one in participants))
        drawn = self.program.leaves("noise")[np.isin(self.roles.drawers, participants)]
        held = self.held[np.isin(self.roles.holders, participants)]
        return np.concatenate([self._messages_of(heard - set(participants)), drawn, held])

    def _messages_of(self, senders: set[int]) -> Ids:
        return self.sent[:, np.isin(self.roles.senders, sorted(senders))].ravel()

    def _is(self, participant: int) -> bool:
        return 0 <= participant < len(self.roles.hears)

    # --- views -----------------------------------------------------------------------------

    def view(self, observer: Ids, change: Sequence[Any]) -> View:
        """Return an observer's view while the private numbers change by a vector ``(P,)``."""
        if not len(observer):
            raise InvalidArgument(
                "observer", VerbatimText("nobody"), "an observer who sees something"
            )
        if not np.isin(observer, self._all).all():
            raise InvalidArgument("observer", VerbatimText("coordinates"), "those of this network")
        if len(change) != len(self.roles.holders):
            expected = f"shape ({len(self.roles.holders)},)"
            raise InvalidArgument("change", VerbatimText(f"shape ({len(change)},)"), expected)
        return View(self.program, observer, Direction(change))

    @cached_property
    def _all(self) -> Ids:
        """The coordinates that can be seen."""
        return np.concatenate([self.sent.ravel(), self.program.leaves("noise"), self.held])

    def against(self, other: Network, *participants: int) -> ViewPair:
        """Return the participants' views of two runs whose data are numbers (`trace_noise`).

        Participants share what they know; none: who reads all messages. There is no mu of two
        datasets that differ in more than what a run is linear in, but a bracket of delta.
        """
        here, there = (
            ViewLaw(one.program, one.coalition(*participants) if participants else one.sent.ravel())
            for one in (self, other)
        )
        return ViewPair(here, there)

    def locate_view(self, view: View) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return which of the sent numbers a view has as rows, and which normals as columns."""
        sent = self.sent.ravel()
        order = np.argsort(sent, kind="stable")
        rows = order[np.searchsorted(sent, view.rows, sorter=order)]
        return rows, np.searchsorted(self.program.leaves("noise"), view.columns)

    def who_learns(self, changes: Mapping[str, Sequence[Any]], delta: float | None = None) -> Grid:
        """Return a table of mu: a row for whose data change, a column for who looks.

        The last column is somebody who reads all messages. Own data are known: infinite.

        Parameters
        ----------
        changes
            By how much the data change, shape ``(P,)`` each, by the name of whose they are.
        delta
            If given, the table is of epsilon at this delta.

        Examples
        --------
        >>> roles = Roles.of_nodes([[0, 1], [1, 0]])
        >>> network = trace_network(lambda x, normals: x + 2 * normals, np.zeros(2), (1, 2), roles)
        >>> network.who_learns({"node 0": [1, 0]}).values
        [[inf, 0.5, 0.5]]
        """
        everybody = {name: self.coalition(one) for one, name in enumerate(self.roles.names)}
        observers = everybody | {"all messages": self.eavesdropper()}
        directions = {name: Direction(change) for name, change in changes.items()}
        return Views(self.recursion, observers, directions).grid(delta)


def trace_network(run: Run, private: Any, shape: tuple[int, ...], roles: Roles) -> Network:
    """Return the network of a run of private numbers and normals ``(1, *shape)``.

    What it sends has the shape ``(1, T, ...)``, and private numbers are in the order of holders.
    """

    def once(given: Any, rng: Any) -> Any:
        return run(given, rng.standard_normal((1, *shape)))[0]

    found = read_recursion(once, private, runs=_RUNS)
    return Network(found, _by_round(found.output), found.program.leaves("data"), roles)


def trace_noise(run: Run, data: Any, held: Array, shape: tuple[int, ...], roles: Roles) -> Network:
    """Return the same of a run whose data are numbers, to be held against a neighbour's.

    ``held`` are the numbers that holders hold.
    """

    def once(given: Any, rng: Any) -> Any:
        return [run(given, rng.standard_normal((1, *shape)))[0], held]

    found = read_noise(once, data, runs=_RUNS)
    return Network(found, _by_round(found.output[0]), found.output[1].ids, roles)


def _by_round(sent: Any) -> Ids:
    return np.asarray(sent.ids.reshape(len(sent.ids), -1))
