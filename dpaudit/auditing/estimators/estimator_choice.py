"""The estimator that measures a case: by the statements of its mechanism, and by request."""

from __future__ import annotations

import dpaudit.auditing.estimators.deterministic as deterministic
import dpaudit.auditing.estimators.divergence as divergence
import dpaudit.auditing.estimators.event as event
import dpaudit.auditing.estimators.sequential as sequential
import dpaudit.auditing.exact.exact_loss as exact_loss
import dpaudit.auditing.exact.traced_laws as traced_laws
import dpaudit.auditing.service.answer_checks as answer_checks
from dpaudit.auditing.outcome.evidence import MeasurementEvidence
from dpaudit.auditing.sampling.sampler import Drawer
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.extension.case import PrivacyCase
from dpaudit.extension.settings import Settings
from dpaudit.mechanisms.mechanism import HasLossBounds, HasLossInDigits, Tiltable, is_observed


def measure_case(
    case: PrivacyCase, drawer: Drawer, settings: Settings, trials: int
) -> MeasurementEvidence:
    """Return the measurement of a case: none for a service whose answers never vary.

    Parameters
    ----------
    case, drawer, settings
        Of the audit.
    trials
        On each side.
    """
    alpha, tried = 1 - settings.confidence, (settings.distinguisher, settings.are_bits_tried)
    # Answers that never vary say nothing of a law, whatever else was asked for.
    if (unvarying := answer_checks.find_unvarying_service(drawer)) is not None:
        return unvarying
    if case.currency is not None:
        _refuse_of_a_curve(settings)
    if drawer.repeats:
        return deterministic.bound_repeating_event(case, drawer, trials, alpha)
    if settings.until_refuted:
        return sequential.until_refuted(case, drawer, trials, alpha, *tried)
    if case.currency is not None and case.currency.orders:
        return divergence.bound_renyi_by_bet(case, drawer, trials, alpha, *tried)
    if settings.estimator == "exact-loss" and is_observed(case.mechanism):
        return traced_laws.losses_of_code(case, drawer, settings, trials)
    if not is_from_losses(case, settings):
        return event.bound_epsilon_by_event(case, drawer, trials, alpha, *tried)
    if settings.distinguisher is not None:
        raise InvalidArgument(
            "distinguisher", settings.distinguisher, "none, or the estimator event"
        )
    return exact_loss.exact_loss(case, drawer, trials, alpha)


def _refuse_of_a_curve(settings: Settings) -> None:
    """Refuse settings that need a claim which names its point."""
    if settings.until_refuted:
        expected = "an (epsilon, delta) claim to bet against; this one names no point"
        raise InvalidArgument("until_refuted", VerbatimText("--until-refuted"), expected)
    if settings.estimator == "exact-loss":
        expected = "event, or an (epsilon, delta) claim: this one names no point"
        raise InvalidArgument("estimator", VerbatimText("exact-loss"), expected)


def is_from_losses(case: PrivacyCase, settings: Settings) -> bool:
    """Return whether exact losses are used; refuse them where the law is not known."""
    tiltable = isinstance(case.mechanism, Tiltable)
    if is_observed(case.mechanism):
        return False
    if settings.estimator == "exact-loss" and not tiltable:
        given = VerbatimText("exact-loss")
        expected = "event: the law of these outputs is not known, or cannot be drawn tilted"
        raise InvalidArgument("estimator", given, expected)
    if settings.until_refuted or settings.estimator == "event" or case.currency is not None:
        return False
    if settings.are_bits_tried:  # a law is about real numbers
        return False
    # At delta = 0 a loss counts only if it can be computed again beyond doubles.
    computed = case.at_delta > 0 or isinstance(case.mechanism, HasLossBounds | HasLossInDigits)
    return settings.estimator == "exact-loss" or (tiltable and computed)
