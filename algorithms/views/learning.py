"""Who learns how much about whom: the mu of every participant's view of every other's data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dpaudit.algorithms.views.system import Exact, Network
from dpaudit.algorithms.views.view import View
from dpaudit.drawing import Grid


def who_learns(
    network: Network, changes: Mapping[str, Sequence[Exact]], delta: float | None = None
) -> Grid:
    """Return a table of mu: a row for whose data change, a column for who looks.

    The last column is somebody who reads all messages. Own data are known: infinite.

    Parameters
    ----------
    network
        What is sent, and to whom.
    changes
        By how much the data change, shape ``(P,)`` each, by the name of whose they are.
    delta
        If given, the table is of epsilon at this delta.

    Examples
    --------
    >>> from dpaudit.algorithms.problems.graphs import star
    >>> from dpaudit.algorithms.views.gossip import Gossip
    >>> network = Gossip(star(3), iterations=1, noise_scale=2.0).network()
    >>> who_learns(network, {"node 0": [1, 0, 0], "node 1": [0, 1, 0]}).values
    [[inf, 0.5, 0.5, 0.5], [0.5, inf, 0.0, 0.5]]
    """
    observers = [network.coalition(one) for one in range(len(network.hears))]
    observers.append(network.eavesdropper())
    views = [[View(network, one, change) for one in observers] for change in changes.values()]
    if delta is None:
        title, values = "mu", [[view.mu.upper for view in row] for row in views]
    else:
        title = f"epsilon at delta = {delta:g}"
        values = [[view.epsilon(delta).upper for view in row] for row in views]
    return Grid(
        title=f"who learns how much: {title}",
        x_label="who looks",
        y_label="whose data",
        rows=list(changes),
        columns=[*network.names, "all messages"],
        values=values,
    )
