"""The exact-loss audit: check the law, choose the tilt on a pilot, certify on fresh trials."""

from __future__ import annotations

import math

import numpy as np

from dpaudit._typing import Array
from dpaudit.auditing.exact.aimed_draws import draw_aimed_direction, mild_check, mild_draws
from dpaudit.auditing.exact.largest_loss import largest_loss
from dpaudit.auditing.exact.law_checks import (
    CONSISTENCY,
    digits_checks,
    plain_losses,
    residual_trials,
    side_checks,
)
from dpaudit.auditing.outcome.evidence import Band, MeasurementEvidence
from dpaudit.auditing.sampling.sampler import Drawer
from dpaudit.estimation.event import error_rates
from dpaudit.estimation.exact_loss import (
    LossDirection,
    TiltedLosses,
    best_tilt,
    delta_lower,
    delta_upper,
    lower_end,
    upper_end,
)
from dpaudit.estimation.self_check import CheckOutcome, likelihood_ratio_checks, weight_check
from dpaudit.execution.executor import of_each
from dpaudit.extension.case import PrivacyCase
from dpaudit.mechanisms.mechanism import TailDraws
from dpaudit.neighbours import Side

# Shares of the error probability.
_LOWER = 0.4  # for the lower end, both directions together
_UPPER = 0.4  # for the upper end, each direction
_BAND = 0.2  # for the band of delta
_GRID = 41
# Pilots with ever larger tilts, where too few losses are beyond what the first two estimate.
_FURTHER = ("third pilot", "fourth pilot", "fifth pilot", "sixth pilot")
_ENOUGH = 10


def exact_loss(case: PrivacyCase, drawer: Drawer, trials: int, alpha: float) -> MeasurementEvidence:
    """Return certified ends for epsilon at ``case.at_delta``, from exact privacy losses.

    At delta = 0 that is the largest loss of an output: `dpaudit.auditing.exact.largest_loss`.

    Parameters
    ----------
    case
        Its mechanism must have a law that can be drawn tilted.
    drawer
        Draws from it.
    trials
        Certifying outputs per dataset; half as many again go to pilots and checks.
    alpha
        Error probability of everything certified, ends and band together.
    """
    if case.at_delta == 0:
        return largest_loss(case, drawer, trials)
    log_delta = math.log(case.at_delta)
    # Fewer than 200 say little of a tail, and more than 2,000 only cost time.
    pilot = min(max(trials // 5, 200), 2000)
    plain = plain_losses(drawer, pilot)
    directions = of_each(
        Side, lambda side: _draw_loss_direction(drawer, plain, side, log_delta, pilot, trials)
    )
    enough = residual_trials(drawer, trials)
    lower = lower_end(directions, log_delta, _LOWER * alpha)
    upper = upper_end(directions, log_delta, _UPPER * alpha)
    epsilons = _choose_band_epsilons(case, directions, log_delta)
    return MeasurementEvidence(
        lower=lower,
        # Both ends may err, and an interval must not be empty.
        upper=None if upper is None else max(upper, lower),
        upper_note=None if upper is not None else _why_no_upper_end(directions),
        estimate=_estimate_larger_epsilon(directions, log_delta),
        estimator=f"exact privacy loss, {_get_sampling_name(directions)} sampling, betting",
        trials=trials,
        budget={
            "lower end (both directions)": _LOWER * alpha,
            "upper end (each direction)": _UPPER * alpha,
            f"band of delta at {_GRID} epsilons": _BAND * alpha,
        },
        counts={
            "certifying, per dataset": trials,
            "pilots, at most, per dataset": (2 + len(_FURTHER)) * pilot,
            "checking the law, per dataset": _count_checking_trials(
                directions, pilot + enough, trials
            ),
        },
        self_checks=_self_checks(drawer, plain, directions, enough),
        epsilons=epsilons,
        band=_bound_delta_band(directions, epsilons, _BAND * alpha),
        roc=error_rates(*plain.values()),
        notes=(_format_tilts(directions),),
    )


def _count_checking_trials(directions: list[LossDirection], plain: int, trials: int) -> int:
    aimed = any(d.losses.aimed is not None for d in directions)
    return plain + CONSISTENCY + _mild_trials(trials) + (trials if aimed else 0)


def _self_checks(
    drawer: Drawer, plain: dict[Side, Array], directions: list[LossDirection], enough: int
) -> tuple[CheckOutcome, ...]:
    """Return the checks of the losses, the noise, the weights and both ways to sum a loss."""
    checks = [*likelihood_ratio_checks(*plain.values()), *digits_checks(drawer)]
    trials = len(directions[0].losses.privacy_loss)
    count = _mild_trials(trials)
    for side, direction in zip(Side, directions, strict=True):
        drawn = _get_draw_method(direction.losses)
        mild = _choose_mild_draws(drawer, side, drawn, plain[side])
        mildly = drawer.tilted(side, mild, count, "checking the weights")
        checks += [
            *side_checks(drawer, side, drawn, enough),
            *_weight_checks(side.value, direction.pilot),
            *_weight_checks(side.value, mildly),
        ]
        if isinstance(mild, TailDraws):
            checks.append(mild_check(drawer, side, mild, mildly, trials))
    return tuple(checks)


def _get_draw_method(losses: TiltedLosses) -> float | TailDraws:
    """Return how losses were drawn."""
    return losses.aimed if isinstance(losses.aimed, TailDraws) else losses.tilt


def _choose_mild_draws(
    drawer: Drawer, side: Side, drawn: float | TailDraws, losses: Array
) -> float | TailDraws:
    """Return a milder tilt, or milder draws: strong ones hide wrong weights in rare trials."""
    if isinstance(drawn, TailDraws):
        return mild_draws(drawer, side) or drawn
    return _mild_tilt(drawn, losses)


def _weight_checks(name: str, trials: TiltedLosses) -> tuple[CheckOutcome, CheckOutcome]:
    """Return the checks that both densities over the tilted one average to at most 1."""
    of_p = trials.log_mgf - trials.tilt * trials.privacy_loss
    where = f"{name}, {_format_draw_method(trials)}"
    return weight_check(where, of_p), weight_check(
        f"{where}, other side", of_p - trials.privacy_loss
    )


def _format_draw_method(trials: TiltedLosses) -> str:
    drawn = _get_draw_method(trials)
    return f"aimed at {drawn.epsilon:.4g}" if isinstance(drawn, TailDraws) else f"tilt {drawn:.4g}"


def _mild_tilt(tilt: float, losses: Array) -> float:
    """Return a tilt at which wrong weights show: a strong one hides them in rare trials."""
    spread = float(losses.std())
    return min(tilt, 1.2 / spread) if spread > 0 else tilt


def _mild_trials(trials: int) -> int:
    return min(max(trials // 2, 1000), 5000)


def _draw_loss_direction(
    drawer: Drawer,
    plain: dict[Side, Array],
    side: Side,
    log_delta: float,
    pilot: int,
    trials: int,
) -> LossDirection:
    aimed = draw_aimed_direction(drawer, side, log_delta, pilot, trials)
    if aimed is not None:
        return aimed
    losses = plain[side] if side is Side.DATASET else -plain[side]
    # A Gaussian loss N(s/2, s) has second moment s + s^2/4: solve for s.
    square = 2 * (math.sqrt(1 + float(np.mean(losses**2))) - 1)
    tilt = best_tilt(math.sqrt(square), log_delta)
    pilots = [drawer.tilted(side, tilt, pilot, "pilot")]
    refined = _compute_refined_tilt(pilots[0], log_delta)
    if abs(refined - tilt) > 0.05 * tilt:
        pilots.append(drawer.tilted(side, refined, pilot, "second pilot"))
    for name in _FURTHER:
        if _has_enough_large_losses(pilots[-1], log_delta):
            break
        pilots.append(drawer.tilted(side, 2 * pilots[-1].tilt, pilot, name))
    if not _has_enough_large_losses(pilots[-1], log_delta) or pilots[-1].tilt > refined:
        pilots.sort(key=lambda one: _estimate_pilot_bound(one, log_delta))
    best = pilots[-1]
    return LossDirection(drawer.tilted(side, best.tilt, trials, "certifying", certifies=True), best)


def _estimate_pilot_bound(pilot: TiltedLosses, log_delta: float) -> float:
    """Return the bound that a pilot would certify: only a guide to its own tilt."""
    return lower_end([LossDirection(pilot, pilot)], log_delta, 0.1)


def _has_enough_large_losses(losses: TiltedLosses, log_delta: float) -> bool:
    """Return whether the point estimate is more than the few largest losses that were drawn."""
    estimate = losses.estimate(log_delta)
    return estimate == 0 or int((losses.privacy_loss > estimate).sum()) >= _ENOUGH


def _estimate_larger_epsilon(directions: list[LossDirection], log_delta: float) -> float | None:
    """Return the larger point estimate of both directions; None if too few losses are beyond it."""
    losses = max((d.losses for d in directions), key=lambda one: one.estimate(log_delta))
    return losses.estimate(log_delta) if _has_enough_large_losses(losses, log_delta) else None


def _compute_refined_tilt(pilot: TiltedLosses, log_delta: float) -> float:
    """Return the tilt for the spread seen where losses are large: there iterates may differ."""
    square = max(float(pilot.privacy_loss.mean()) / (pilot.tilt + 0.5), 0.0)
    return best_tilt(math.sqrt(square), log_delta)


def _choose_band_epsilons(
    case: PrivacyCase, directions: list[LossDirection], log_delta: float
) -> tuple[float, ...]:
    """Return the epsilons at which delta is bounded, fixed by the claim and the pilot alone."""
    candidates = [d.pilot.estimate(log_delta) for d in directions]
    candidates.append(case.claimed.epsilon(case.at_delta))
    if case.proved is not None:
        candidates.append(case.proved.guarantee.epsilon(case.at_delta))
    top = max(e for e in candidates if math.isfinite(e))
    return tuple(np.linspace(0.0, 1.4 * max(top, 1e-6), _GRID).tolist())


def _bound_delta_band(
    directions: list[LossDirection], epsilons: tuple[float, ...], alpha: float
) -> Band:
    # A union bound over all points and both sides of the band, as any of them may be read off.
    each = alpha / (2 * len(epsilons))
    lower = [delta_lower(directions, epsilon, each) for epsilon in epsilons]
    upper = [delta_upper(directions, epsilon, each) for epsilon in epsilons]
    # delta falls with epsilon: what holds at one point holds to its left, or to its right.
    raised = np.maximum.accumulate(lower[::-1])[::-1]
    lowered = np.minimum.accumulate([math.inf if u is None else u for u in upper])
    return Band(
        lower=tuple(raised.tolist()),
        upper=tuple(u if math.isfinite(u) else None for u in lowered.tolist()),
        confidence=1 - alpha,
    )


def _why_no_upper_end(directions: list[LossDirection]) -> str:
    if all(d.losses.aimed is not None for d in directions):
        return "too few trials to certify an upper end at this confidence"
    bounds = [d.losses.log_mgf_bound for d in directions]
    if not all(math.isfinite(bound) for bound in bounds):
        return "the law gives no bound on the weights, so the trials certify no upper end"
    slack = max(float(d.losses.log_mgf_bound - np.median(d.losses.log_mgf)) for d in directions)
    if slack < 0.5:
        return "too few trials to certify an upper end at this confidence"
    return (
        "the shift depends on the iterate: the only rigorous bound on the weights is "
        f"e^{slack:.1f} times the typical weight, too loose for the trials to certify an upper end"
    )


def _get_sampling_name(directions: list[LossDirection]) -> str:
    return "tilted" if all(d.losses.aimed is None for d in directions) else "importance"


def _format_tilts(directions: list[LossDirection]) -> str:
    how = " and ".join(_format_draw_method(d.losses) for d in directions)
    if any(d.losses.aimed is not None for d in directions):
        return f"Draws of the two directions, chosen on the pilot: {how}."
    return f"Tilts of the two directions, chosen on the pilot: {how.replace('tilt ', '')}."
