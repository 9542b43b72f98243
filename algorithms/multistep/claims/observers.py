"""The knowledge of observers who do not see the inner models, next to the leakage of all models.

Where the loss is linear the law of what is seen, and so its epsilon, is known exactly
(`dpaudit.algorithms.multistep.averages`, `dpaudit.algorithms.multistep.final`); for any other loss
an event bound is what can be certified. What is proved is that of
`dpaudit.algorithms.multistep.hidden_state`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from dpaudit.algorithms.multistep.algorithm import FinalView, MultiStepADMM
from dpaudit.algorithms.multistep.averages import Averages, ExactBroadcast, broadcast_mu
from dpaudit.algorithms.multistep.final import (
    ExactFinal,
    FinalModels,
    final_mu,
    final_pair_mu,
)
from dpaudit.algorithms.multistep.hidden_state import ROUNDING, InnerLoops, averages_mu, last_mu
from dpaudit.datasets import Dataset
from dpaudit.errors import InvalidArgument
from dpaudit.extension.case import PrivacyCase, Proof
from dpaudit.guarantees.kinds import ApproximateDP, GaussianDP
from dpaudit.neighbours import Pair

_HIDDEN = "dpaudit.algorithms.multistep.hidden_state"
_ALL = "exact composition of all inner models, of which what is seen is a function"


@dataclass(frozen=True)
class Observer:
    """An observer who does not see every inner model.

    Parameters
    ----------
    seen
        What that is, in words.
    mechanism
        What draws it, from the algorithm's own code.
    law
        What draws it with its law, where the loss is linear.
    pair_mu
        Its exact mu on a pair, where the loss is linear.
    proved
        The mu that is proved for every pair of these sizes at a node, and by what; None where
        nothing below composition is.
    """

    seen: str
    mechanism: Callable[[MultiStepADMM], Any]
    law: Callable[[MultiStepADMM], Any]
    pair_mu: Callable[[MultiStepADMM, Pair[Dataset]], float]
    proved: Callable[[MultiStepADMM, Dataset, int], tuple[float, str] | None]


def of_averages(algorithm: MultiStepADMM, data: Dataset, node: int) -> tuple[float, str] | None:
    """Return the leakage of averages for linear losses, exactly.

    Examples
    --------
    >>> from dpaudit.algorithms.multistep.claims.broadcast import Broadcast
    >>> from dpaudit.extension.settings import Settings
    >>> (one,) = Broadcast().instances(Settings())
    >>> round(of_averages(one.algorithm, one.pair.dataset, 0)[0], 4)
    0.1971
    """
    if algorithm.loss.name != "linear":
        return None
    mu = averages_mu(InnerLoops.of(algorithm, data, node), _get_node_convexity(algorithm))
    return mu, f"exact law of the averages of linear losses ({_HIDDEN})"


def of_last_models(algorithm: MultiStepADMM, data: Dataset, node: int) -> tuple[float, str] | None:
    """Return the leakage of last models for smooth losses, by shifted interpolation.

    Examples
    --------
    >>> from dpaudit.algorithms.multistep.claims.broadcast import Broadcast
    >>> from dpaudit.extension.settings import Settings
    >>> (one,) = Broadcast(view="last", loss="hinge").instances(Settings())
    >>> of_last_models(one.algorithm, one.pair.dataset, 0) is None  # it has a kink
    True
    """
    least = _get_node_convexity(algorithm)
    # The theorem needs a gradient that is Lipschitz.
    if not math.isfinite(algorithm.loss.curvature):
        return None
    loops = InnerLoops.of(algorithm, data, node)
    mu = last_mu(loops, least, least + algorithm.loss.curvature)
    return mu, f"shifted interpolation of inner loops from a public start ({_HIDDEN})"


def of_final_models(algorithm: MultiStepADMM, data: Dataset, node: int) -> tuple[float, str] | None:
    """Return the leakage of final models for linear losses, exactly.

    Examples
    --------
    >>> from dpaudit.algorithms.multistep.claims.broadcast import Broadcast
    >>> from dpaudit.extension.settings import Settings
    >>> (one,) = Broadcast(view="final").instances(Settings())
    >>> of_final_models(one.algorithm, one.pair.dataset, 0)[1][:9]
    'exact law'
    """
    if algorithm.loss.name != "linear":
        return None
    mu = final_mu(algorithm, data, node, _get_node_convexity(algorithm))
    return mu, "exact law of the final models of linear losses (dpaudit.algorithms.multistep.final)"


def _get_node_convexity(algorithm: MultiStepADMM) -> float:
    """Return ``lambda / n``: the convexity of every node's mean loss."""
    return algorithm.regulariser_weight / algorithm.graph.nodes


def _make_broadcast_mechanism(algorithm: MultiStepADMM) -> Any:
    return algorithm.broadcast()


def _make_broadcast_law(algorithm: MultiStepADMM) -> Any:
    return ExactBroadcast(Averages(algorithm))


OBSERVERS = {
    "broadcast": Observer(
        "the averages", _make_broadcast_mechanism, _make_broadcast_law, broadcast_mu, of_averages
    ),
    "last": Observer(
        "the last models",
        _make_broadcast_mechanism,
        _make_broadcast_law,
        broadcast_mu,
        of_last_models,
    ),
    "final": Observer(
        "the final models",
        lambda algorithm: FinalView(algorithm.inner()),
        lambda algorithm: ExactFinal(FinalModels(algorithm)),
        final_pair_mu,
        of_final_models,
    ),
}


def make_observer_case(
    run: PrivacyCase, algorithm: MultiStepADMM, factor: float, view: str
) -> PrivacyCase:
    """Return the audit of an observer's view; claimed is a factor times the loss of all models.

    Parameters
    ----------
    run
        The audit of the whole run.
    algorithm
        What runs.
    factor
        Of what is proved of all inner models.
    view
        The observer: a key of `OBSERVERS`.

    Raises
    ------
    InvalidArgument
        The variant is stochastic: nothing is proved for its inner models.
    """
    # Nothing is proved of inner models, so there is no epsilon that hiding them could lower.
    if run.proved is None:
        raise InvalidArgument("batch_size", algorithm.batch_size, "full gradients")
    observer, delta = OBSERVERS[view], run.at_delta
    inner = run.proved.guarantee.epsilon(delta)
    question = replace(
        run,
        mechanism=observer.mechanism(algorithm),
        view=f"{view}: {observer.seen} of every node, and no inner model",
        claimed=ApproximateDP(factor * inner, delta),
        proved=_prove_observer_guarantee(observer, algorithm, run),
        certify=None,
        default_trials=2_000,
        notes=(f"What is proved of all inner models is epsilon = {inner:.6g}.",),
        candidates=tuple(
            make_observer_case(one, algorithm, factor, view) for one in run.candidates
        ),
    )
    return (
        _add_exact_observer_law(question, algorithm, observer)
        if algorithm.loss.name == "linear"
        else question
    )


def _prove_observer_guarantee(
    observer: Observer, algorithm: MultiStepADMM, run: PrivacyCase
) -> Proof:
    """Return the proof at the node that leaks most."""
    assert run.proved is not None
    nodes = range(algorithm.graph.nodes)
    found = [observer.proved(algorithm, run.pair.dataset, node) for node in nodes]
    known = [one for one in found if one is not None]
    # A node for which nothing better is known may leak all that composition allows.
    if len(known) < len(found):
        return replace(run.proved, source=_ALL)
    mu, source = max(known)
    # The margin keeps what is proved above the double that computed it.
    return Proof(guarantee=GaussianDP(mu * (1 + ROUNDING)), source=source)


def _add_exact_observer_law(
    case: PrivacyCase, algorithm: MultiStepADMM, observer: Observer
) -> PrivacyCase:
    """Return the case with the law of the view, and its exact epsilon on this pair."""
    law = GaussianDP(observer.pair_mu(algorithm, case.pair))
    exact, inner = law.epsilon(case.at_delta), case.claimed.epsilon(case.at_delta)
    source = f"exact law of {observer.seen}: Gaussian, as gradients are constant"
    return replace(
        case,
        mechanism=observer.law(algorithm),
        pair_ceiling=Proof(guarantee=law, source=source),
        notes=(
            *case.notes,
            f"On this pair {observer.seen} are exactly {law.mu:.6g}-Gaussian DP: epsilon = "
            f"{exact:.6g}, {exact / inner:.1%} of what is claimed.",
        ),
    )
