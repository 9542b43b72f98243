"""Algorithms whose messages are linear in some terms of the data and in Gaussian noise."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dpaudit._typing import Array
from dpaudit.affine.changes import exact_number
from dpaudit.affine.network import Network, Roles, trace_network, trace_noise
from dpaudit.algorithms.views.records import list_node_entries
from dpaudit.datasets.dataset import Dataset
from dpaudit.errors import InvalidArgument, VerbatimText


class LinearRuns(ABC):
    """Runs, and the networks that are read from them."""

    algorithm: Any

    @abstractmethod
    def shape(self, dataset: Dataset) -> tuple[int, int, int]:
        """Return the shape of the standard normals of a run."""

    @abstractmethod
    def terms(self, dataset: Dataset) -> Array:
        """Return the terms in which messages are linear, one row for each participant."""

    @abstractmethod
    def run(self, dataset: Dataset, terms: Any, normals: Any) -> Any:
        """Return all messages for these terms and normals ``(R, ...)``: shape (R, rounds, ...)."""

    @abstractmethod
    def roles(self, dataset: Dataset) -> Roles:
        """Return who sends and draws which part, and who holds each of the terms."""

    def held(self, dataset: Dataset) -> tuple[Array, tuple[int, ...]]:
        """Return all numbers of a dataset in a row, and who holds each: nodes their records."""
        return list_node_entries(dataset)

    def sample(self, dataset: Dataset, trials: int, rng: Generator) -> Array:
        """Return the messages of ``trials`` runs; shape as in `messages`."""
        return self.messages(dataset, rng.standard_normal((trials, *self.shape(dataset))))

    def messages(self, dataset: Dataset, normals: Array) -> Array:
        """Return the messages of these standard normals, ``(R, ...)``."""
        self.algorithm.check(dataset)
        return np.asarray(self.run(dataset, self.terms(dataset), normals))

    def data(self, dataset: Dataset) -> Array:
        """Return the numbers in which messages are linear, in a row."""
        return self.terms(dataset).ravel()

    def network(self, dataset: Dataset) -> Network:
        """Return the messages, as terms and noise form them; of the data only features count."""
        self.algorithm.check(dataset)
        terms = np.zeros_like(self.terms(dataset))
        return trace_network(
            partial(self.run, dataset), terms, self.shape(dataset), self.roles(dataset)
        )

    def fixed_network(self, dataset: Dataset) -> Network:
        """Return the same of these data as numbers, to be held against a neighbour's."""
        self.algorithm.check(dataset)
        held, holders = self.held(dataset)
        roles = replace(self.roles(dataset), holders=holders)
        run, terms = partial(self.run, dataset), self.terms(dataset)
        return trace_noise(run, terms, held, self.shape(dataset), roles)


def number_table(
    name: str, values: Any, shape: tuple[int, ...], least: float = -math.inf
) -> NDArray[Any]:
    """Return an array of doubles, or of fractions where these are none; one number is for all.

    Examples
    --------
    >>> number_table("scale", 0.5, (2,)), number_table("scale", Fraction(1, 3), (1,))
    (array([0.5, 0.5]), array([Fraction(1, 3)], dtype=object))
    """
    given = np.asarray(values, dtype=object)
    if given.ndim and given.shape != shape:
        raise InvalidArgument(
            name, VerbatimText(f"shape {given.shape}"), f"a number, or shape {shape}"
        )
    exact = [exact_number(name, one) for one in given.ravel().tolist()]
    if exact and min(exact) < least:
        raise InvalidArgument(name, float(min(exact)), f"finite numbers, at least {least:g}")
    numbers = np.array(exact, dtype=object)
    # An exact double stays a double: arithmetic on fractions is far slower.
    if all(one == Fraction(float(one)) for one in exact):
        numbers = numbers.astype(float)
    return np.broadcast_to(numbers.reshape(given.shape), shape)
