r"""General theorems that bound how far a query moves, each an inequality to try on instances.

| symbol | name                  | meaning                                                         |
|--------|-----------------------|-----------------------------------------------------------------|
| N      | ``records``           | how many records there are                                      |
| B, C   | ``bound``, ``clip``   | a bound on the norm of a record, or the norm it is clipped to   |
| c      | ``lipschitz``         | a bound on the norm of one record's gradient                    |
| mu     | ``strong_convexity``  | of the whole objective, an average over records                 |
| eta    | ``step_size``         |                                                                 |

An instance is a `dpaudit.Pair` of arrays of records, shape ``(N, ...)``; ``movement`` runs the
query on both datasets, and ``conditions`` are numbers of the same pair.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.errors import InvalidArgument
from dpaudit.neighbours import ADD_REMOVE_RECORD, REPLACE_RECORD, Pair, Relation
from dpaudit.refutation.inequality import Condition, Sensitivity

Records = Pair[Any]


def bounded_mean(*, bound: float, records: int) -> Sensitivity[Records]:
    """Return the lemma that the mean of bounded records moves by at most ``2 B / N``.

    Proof: only one summand changes, by at most ``2 B``. Attained by opposite records of norm B.

    Source: the definition of sensitivity (Dwork, McSherry, Nissim & Smith 2006).

    Parameters
    ----------
    bound
        B, of the Euclidean norm of every record.
    records
        N.

    Raises
    ------
    InvalidArgument
        B is not a finite number above 0, or N not an integer of at least 1.

    Examples
    --------
    >>> lemma = bounded_mean(bound=1.0, records=2)
    >>> pair = Pair(np.array([[1.0], [0.5]]), np.array([[-1.0], [0.5]]), REPLACE_RECORD)
    >>> lemma.claimed, lemma.movement(pair), lemma.broken(pair)
    (1.0, 1.0, ())
    """
    check.require_positive("bound", bound)
    check.require_integer("records", records, least=1)
    return _make_sensitivity_lemma(
        "bounded-mean",
        REPLACE_RECORD,
        2 * bound / records,
        "Dwork, McSherry, Nissim & Smith 2006, Definition 2",
        "one of N summands changes, by at most 2 B",
        lambda data: np.mean(data, axis=0),
        lambda pair: (
            _at_most("bounded records", _compute_longest_norm(pair, _compute_row_norms), bound),
            _make_count_condition(pair, records),
        ),
    )


def clipped_sum(*, clip: float, relation: Relation) -> Sensitivity[Records]:
    """Return the lemma that a sum of clipped records moves by ``C``; ``2 C`` if one is replaced.

    Nothing is asked of the records: clipping is part of the query.

    Source: Abadi et al. 2016, Algorithm 1 (adding a record); the triangle inequality (replacing).

    Parameters
    ----------
    clip
        C: a longer record is divided by its norm over C.
    relation
        ``add-remove-record`` or ``replace-record``.

    Raises
    ------
    InvalidArgument
        C is not a finite number above 0, or the relation another one.

    Examples
    --------
    >>> clipped_sum(clip=1.0, relation=ADD_REMOVE_RECORD).claimed
    1.0
    >>> clipped_sum(clip=1.0, relation=REPLACE_RECORD).claimed
    2.0
    """
    check.require_positive("clip", clip)
    factors = {ADD_REMOVE_RECORD.name: 1.0, REPLACE_RECORD.name: 2.0}
    if relation.name not in factors:
        raise InvalidArgument("relation", relation.name, f"one of: {', '.join(factors)}")

    def query(data: Array) -> Array:
        # The larger of norm and clip, so that short records stay as they are and no norm of 0
        # divides.
        shares = clip / np.maximum(_compute_row_norms(data), clip)
        return np.asarray(np.tensordot(shares, data, axes=1))

    return _make_sensitivity_lemma(
        "clipped-sum",
        relation,
        factors[relation.name] * clip,
        "Abadi et al. 2016, Algorithm 1",
        "a clipped record has norm at most C; two of them are at most 2 C apart",
        query,
        lambda pair: (),
    )


def gradient_step(
    *, lipschitz: float, step_size: float, records: int, gradients: Callable[[Array], Array]
) -> Sensitivity[Records]:
    """Return the lemma that a gradient step on an average moves by at most ``2 c eta / N``.

    Proof: from one state, both steps differ by eta / N times a difference of two gradients. This is
    Lemma 5 of Huang & Gong, whose eta is ``1 / (2 rho |V| + eta)``.

    Parameters
    ----------
    lipschitz
        c, of every record's gradient in the state.
    step_size
        eta.
    records
        N.
    gradients
        Each record's gradient in the state, shape ``(N, ...)`` to ``(N, p)``.

    Raises
    ------
    InvalidArgument
        A number is not finite or not above 0.

    Examples
    --------
    >>> lemma = gradient_step(
    ...     lipschitz=1.0, step_size=0.5, records=2, gradients=lambda data: np.sign(data)
    ... )
    >>> lemma.ratio(Pair(np.array([[3.0], [1.0]]), np.array([[-3.0], [1.0]]), REPLACE_RECORD))
    1.0
    """
    for name, value in (("lipschitz", lipschitz), ("step_size", step_size)):
        check.require_positive(name, value)
    check.require_integer("records", records, least=1)
    return _make_sensitivity_lemma(
        "gradient-step",
        REPLACE_RECORD,
        2 * lipschitz * step_size / records,
        "Huang & Gong, multi-step DP-ADMM, Lemma 5",
        "two gradients of norm at most c are at most 2 c apart",
        lambda data: -step_size * np.mean(gradients(data), axis=0),
        lambda pair: (
            _at_most(
                "bounded gradients",
                _compute_longest_norm(pair, lambda d: _compute_row_norms(gradients(d))),
                lipschitz,
            ),
            _make_count_condition(pair, records),
        ),
    )


def strongly_convex_minimiser(
    *,
    lipschitz: float,
    strong_convexity: float,
    records: int,
    fit: Callable[[Array], Array],
    gradients: Callable[[Array, Array], Array],
) -> Sensitivity[Records]:
    """Return the lemma that a strongly convex average's minimiser moves by ``2 c / (mu N)``.

    The objective is ``J(w) = (1/N) sum_i l(w; x_i) + r(w)``, mu-strongly convex.

    Proof: let w minimise J and w' the neighbour's J'. J' - J is ``(l(.; x') - l(.; x)) / N``, whose
    gradient is at most ``2 c / N`` at w'. As ``J'`` has gradient 0 at w', J has there a gradient of
    norm at most ``2 c / N``; strong convexity says that it is at least ``mu ||w' - w||``.

    Source: Chaudhuri, Monteleoni & Sarwate 2011, Lemma 7 and Corollary 8.

    Parameters
    ----------
    lipschitz
        c, of the differing record's gradient at both minimisers.
    strong_convexity
        mu.
    records
        N.
    fit
        Returns the minimiser, shape ``(p,)``; its error adds to the movement.
    gradients
        Each record's loss gradient at a model: ``(records, model)`` to shape ``(N, p)``.

    Raises
    ------
    InvalidArgument
        A number is not finite or not above 0.

    Examples
    --------
    Ridge means: the loss is the distance of w to the record, squared and halved, and mu is 1.

    >>> lemma = strongly_convex_minimiser(
    ...     lipschitz=2.0,
    ...     strong_convexity=1.0,
    ...     records=2,
    ...     fit=lambda data: data.mean(axis=0),
    ...     gradients=lambda data, model: model - data,
    ... )
    >>> pair = Pair(np.array([[1.0], [1.0]]), np.array([[-1.0], [1.0]]), REPLACE_RECORD)
    >>> lemma.claimed, lemma.movement(pair), lemma.broken(pair)
    (2.0, 1.0, ())
    """
    for name, value in (("lipschitz", lipschitz), ("strong_convexity", strong_convexity)):
        check.require_positive(name, value)
    check.require_integer("records", records, least=1)

    def steepest(pair: Records) -> float:
        both = (np.asarray(pair.dataset), np.asarray(pair.neighbour))
        # The proof takes the gradient of the differing record at the neighbour's minimiser, and by
        # symmetry at the other one.
        models = [fit(data) for data in both]
        return max(
            float(_compute_row_norms(gradients(d, w))[pair.index]) for d in both for w in models
        )

    return _make_sensitivity_lemma(
        "strongly-convex-minimiser",
        REPLACE_RECORD,
        2 * lipschitz / (strong_convexity * records),
        "Chaudhuri, Monteleoni & Sarwate 2011, Corollary 8",
        "the neighbour's minimiser has gradient at most 2 c / N, and strong convexity bounds it",
        fit,
        lambda pair: (
            _at_most("bounded gradients", steepest(pair), lipschitz),
            _make_count_condition(pair, records),
        ),
    )


def _make_sensitivity_lemma(
    name: str,
    relation: Relation,
    bound: float,
    source: str,
    proof: str,
    query: Callable[[Array], Array],
    conditions: Callable[[Records], tuple[Condition, ...]],
) -> Sensitivity[Records]:
    def movement(pair: Records) -> float:
        here, there = (query(np.asarray(one)) for one in (pair.dataset, pair.neighbour))
        return float(np.linalg.norm(np.ravel(here - there)))

    return Sensitivity(
        name=name,
        source=source,
        norm="L2",
        relation=relation.name,
        claimed=bound,
        proved=bound,
        proof=proof,
        movement=movement,
        conditions=conditions,
    )


def _compute_row_norms(rows: Array) -> Array:
    flat = np.reshape(rows, (len(rows), -1))
    return np.asarray(np.linalg.norm(flat, axis=1))


def _compute_longest_norm(pair: Records, norms: Callable[[Array], Array]) -> float:
    return max(float(norms(np.asarray(d)).max()) for d in (pair.dataset, pair.neighbour))


def _at_most(name: str, value: float, limit: float) -> Condition:
    return Condition(name=name, value=value, limit=limit)


def _make_count_condition(pair: Records, records: int) -> Condition:
    """Return the condition that there are at least as many records as the bound was divided by."""
    return Condition(name="enough records", value=records, limit=len(np.asarray(pair.dataset)))
