"""An observer of a network as an audited mechanism: its outputs are views of runs of the code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.accounting.events import GaussianRelease
from dpaudit.affine.kinds import DOUBLES
from dpaudit.affine.network import Network
from dpaudit.affine.view import View
from dpaudit.errors import InvalidArgument, VerbatimText


@dataclass(frozen=True, eq=False)
class Watching:
    """The view of an observer of runs: messages less the effect of its own noise.

    Parameters
    ----------
    network, view
        Who sees what of which network.
    run
        Data and standard normals, shape ``(R, *shape)``, to all messages: the algorithm.
    shape
        Of the normals of a run.

    Notes
    -----
    Formal guarantee: that of the view. `release` is what is proved of it.

    Examples
    --------
    >>> from dpaudit.affine.network import Roles, trace_network
    >>> def send(x, normals):
    ...     return x + 2 * normals
    >>> roles = Roles.of_nodes(np.ones((3, 3)) - np.eye(3), drawn=2)
    >>> network = trace_network(send, np.zeros(3), (2, 3), roles)
    >>> view = network.view(network.coalition(1), [1, 0, 0])
    >>> seen = Watching(network, view, send, (2, 3))
    >>> seen.sample(np.zeros(3), 5, np.random.default_rng(0)).shape  # of two nodes, twice
    (5, 4)
    """

    network: Network
    view: View
    run: Callable[[Array, Array], Array]
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        known = len(self.network.roles.drawers)
        if int(np.prod(self.shape)) != known:
            raise InvalidArgument("shape", self.shape, f"{known} normals in all")

    @property
    def release(self) -> GaussianRelease:
        """The view as a Gaussian release.

        Raises
        ------
        InvalidArgument
            Nothing hides the change: mu is infinite.
        """
        if self.view.infinite:
            raise InvalidArgument(
                "view", VerbatimText("an infinite mu"), "one with noise on the change"
            )
        mu = self.view.mu.upper
        return GaussianRelease(sensitivity=mu, noise_scale=1.0, count=1 if mu else 0)

    def sample(self, dataset: Array, trials: int, rng: Generator) -> Array:
        """Return the views of ``trials`` runs, one row each."""
        normals = rng.standard_normal((trials, *self.shape))
        sent = self.run(dataset, normals).reshape(trials, -1)
        rows, columns = self.network.locate_view(self.view)
        drawn = self.network.program.leaves("noise")
        known = np.setdiff1d(np.arange(len(drawn)), columns)
        slopes = self.network.program.coefficients(DOUBLES, self.view.rows, drawn[known])
        own = normals.reshape(trials, -1)[:, known] @ slopes[:, : len(known)].T
        return np.asarray(sent[:, rows] - own)
