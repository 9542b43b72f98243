"""The point of a claim that names none, and the bound there in the claim's own number.

A curve is claimed at every delta. Which one is audited is decided on the outputs that set
thresholds and certify nothing, so that the one exact test spends the whole error probability.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import ROUND_FLOOR

import numpy as np

from dpaudit._typing import Array
from dpaudit.auditing.outcome.evidence import MeasurementEvidence
from dpaudit.estimation.event import estimate_promised_epsilons, fresh_errors
from dpaudit.extension.case import PrivacyCase
from dpaudit.guarantees.currency import Currency
from dpaudit.report.formatting import format_significant

_SEEN = 3.0  # standard errors by which what was seen may say too much
_SOME = 6  # deltas that the scores are compared at, before all are tried with the best of them


def choose_claim_delta(
    on_p: Array, on_q: Array, currency: Currency, sure: tuple[int, float] = (0, 1.0)
) -> float:
    """Return the delta at which scores promise most of the claim.

    At a delta next to the total variation distance a bound on epsilon is much or nothing: what is
    promised has to hold where the scores say too much by three standard errors, and fresh ones too
    little by as much as the bound allows for.

    Parameters
    ----------
    on_p, on_q
        Scores of outputs that certify nothing, shape ``(J, n)`` each.
    currency
        Of the claim.
    sure
        How many outputs will certify, of each dataset, and with which error probability.
    """
    errors = _SEEN + fresh_errors(on_p.shape[1], *sure)
    deltas = currency.deltas()
    some = deltas[:: max(1, len(deltas) // _SOME)]
    pairs = list(zip(on_p, on_q, strict=True))
    if len(pairs) > 1:
        pairs.sort(
            key=lambda pair: float(_compute_promised_shares(pair, some, currency, errors).max())
        )
    return deltas[int(np.argmax(_compute_promised_shares(pairs[-1], deltas, currency, errors)))]


def _compute_promised_shares(
    scores: tuple[Array, Array], deltas: tuple[float, ...], currency: Currency, errors: float
) -> Array:
    """Return the promise at each delta, as a share of the claim there."""
    promised = estimate_promised_epsilons(*scores, deltas, errors)
    return np.array([currency.share(e, d) for e, d in zip(promised.tolist(), deltas, strict=True)])


def in_currency(evidence: MeasurementEvidence, case: PrivacyCase) -> MeasurementEvidence:
    """Return evidence on epsilon at ``case.at_delta`` as evidence on the claim's own number."""
    if (currency := case.currency) is None:
        return evidence
    delta, estimate = case.at_delta, evidence.estimate
    at = f"delta = {format_significant(delta)}, chosen on outputs that certify nothing"
    note = f"Where the claim was audited: {at}; the certified lower end of epsilon is {{}} there."
    return replace(
        evidence,
        lower=currency.value(evidence.lower, delta),
        estimate=None if estimate is None else currency.value(estimate, delta),
        cap=None if evidence.cap is None else currency.value(evidence.cap, delta),
        model_based=() if currency.name != "epsilon" else evidence.model_based,
        at_delta=delta,
        notes=(
            note.format(format_significant(evidence.lower, rounding=ROUND_FLOOR)),
            *evidence.notes,
        ),
    )
