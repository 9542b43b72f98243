"""Who learns how much about a node in gossip averaging: claimed, proved and measured.

    python examples/views.py

Five nodes of a star average a private number each; Gaussian noise is on every message. The claim is
that of one message: mu = 1, as if a node sent its number once. What is proved is the exact mu of
all that an observer sees, what is measured a certified lower bound from runs.
"""

from __future__ import annotations

import numpy as np

import dpaudit
from dpaudit.affine.watching import Watching
from dpaudit.algorithms.problems.graphs import star
from dpaudit.algorithms.views.gossip import Gossip
from dpaudit.guarantees.kinds import GaussianDP
from dpaudit.report.schema import Result

NODES, ROUNDS = 5, 20
CHANGE = [0, 1, 0, 0, 0]  # of the number of node 1, a leaf; node 0 is the centre


def watched(observer: int | None) -> Watching:
    """Return what a node sees, or somebody who reads all messages (None)."""
    gossip = Gossip(star(NODES), iterations=ROUNDS, noise_scale=1.0)
    network = gossip.network()
    who = network.eavesdropper() if observer is None else network.coalition(observer)
    return Watching(network, network.view(who, CHANGE), gossip.messages, gossip.shape)


def audited(observer: int | None, trials: int = 20_000) -> Result:
    """Return the audit of an observer, against the claim of one message."""
    seen = watched(observer)
    dataset, neighbour = np.zeros((NODES, 1)), np.array(CHANGE, dtype=float)[:, None]
    return dpaudit.audit(
        seen, dataset, neighbour, claim=GaussianDP(1.0), release=seen.release, trials=trials
    )


def main() -> None:
    """Print a line for every observer."""
    for observer in (0, 2, None):
        name = "all messages" if observer is None else f"node {observer}"
        result, proved = audited(observer), watched(observer).view.mu.upper
        print(
            f"{name}: mu claimed 1, proved {proved:.4f}, measured at least {result.lower:.4f}: "
            f"{result.verdict}"
        )


if __name__ == "__main__":
    main()
