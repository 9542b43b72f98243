"""The truth about a question: a certified bracket, and a second opinion on answers below it.

A record is added or removed, or one is replaced. The pair that dominates an event is one that data
attain, so that the lower end of a bracket is a lower bound on what any valid accountant may
answer. Where a replaced record of a *sampled* release is asked about, only a lower end is known:
replacing a record by the zero vector is one of the replacements.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import mpmath
import numpy as np

from dpaudit.accounting.events import (
    ApproximateRelease,
    Event,
    GaussianRelease,
    LaplaceRelease,
    PoissonSubsampledGaussian,
    Sequence,
    ZeroConcentratedRelease,
)
from dpaudit.accounting.grid.numerical import numerical_delta
from dpaudit.accounting.loss_table import LossTable
from dpaudit.accounting.pairs.composition import Bracket
from dpaudit.accounting.renyi import RenyiCurveDP, renyi_divergence
from dpaudit.accounting.series.inversion import bound_delta_by_inversion
from dpaudit.accounting.strongest_guarantee import (
    NumericalDP,
    bound_proved_epsilon,
    proved_guarantee,
)
from dpaudit.errors import ConvergenceError, DpauditError, InvalidArgument, UnsupportedEvent
from dpaudit.guarantees.kinds import GaussianDP
from dpaudit.scan.accountants import exact
from dpaudit.scan.accountants.cases import AccountantQuestion, Part

ADD = "add-remove-record"
REPLACE = "replace-record"
# Relative errors in doubles.
_CLOSED = 1e-11  # of a closed form
_CURVE = 1e-9  # of the Renyi divergence at a real order


@dataclass(frozen=True)
class Truth:
    """The truth about a release of plain parts, under one neighbour relation."""

    release: tuple[tuple[tuple[str, float | int | str], ...], ...]
    relation: str = ADD

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts as dictionaries."""
        return tuple(dict(part) for part in self.release)

    @property
    def factor(self) -> int:
        """The factor of the sensitivity."""
        return 2 if self.relation == REPLACE else 1

    @property
    def betrayed(self) -> bool:
        """Whether some part has no noise at all."""
        return any(_is_revealing_part(part) and part.get("noise") == 0 for part in self.parts)

    @cached_property
    def event(self) -> Event:
        """The dominating event; that of a discrete Gaussian release has none."""
        events = [event_of(part, self.factor) for part in self.parts if _is_revealing_part(part)]
        return events[0] if len(events) == 1 else Sequence(tuple(events))

    @property
    def lower_only(self) -> bool:
        """Whether the bracket's upper end is unknown."""
        sampled = any(part["kind"] == "sampled" and part["ratio"] < 1 for part in self.parts)
        return sampled and self.relation == REPLACE

    def epsilon(self, delta: float) -> Bracket:
        """Return a bracket of epsilon at ``delta`` in [0, 1]."""
        if delta >= 1 or not any(map(_is_revealing_part, self.parts)):
            return Bracket.exactly(0.0)
        if self.betrayed:
            return Bracket.exactly(math.inf)
        return self._open_upper_end(self._epsilon(delta))

    def delta(self, epsilon: float) -> Bracket:
        """Return a bracket of delta at ``epsilon >= 0``."""
        if not any(map(_is_revealing_part, self.parts)):
            return Bracket.exactly(0.0)
        if self.betrayed:
            return Bracket.exactly(1.0)
        bracket = self._delta(epsilon)
        return Bracket(bracket.lower, 1.0) if self.lower_only else bracket

    def renyi(self, order: float) -> Bracket:
        """Return a bracket of the Renyi divergence at an order above 1."""
        value = self._renyi_exactly(order)
        if value is not None:
            return self._open_upper_end(_make_rounded_bracket(value))
        # At some orders our own curve is an upper bound. Divergences grow with their order.
        upper = float(renyi_divergence(self.event, np.array([order]))[0])
        below = self._renyi_exactly(math.floor(order)) if order >= 2 else None
        return self._open_upper_end(Bracket((below or 0.0) * (1 - _CLOSED), upper * (1 + _CURVE)))

    def _renyi_exactly(self, order: float) -> float | None:
        found = [exact.compute_closed_form_renyi(part, order, self.factor) for part in self.parts]
        known = [one for one in found if one is not None]
        return float(mpmath.fsum(known)) if len(known) == len(found) else None

    def second_delta(self, epsilon: float) -> tuple[mpmath.mpf, str] | None:
        """Return a lower bound of delta at ``epsilon`` by other means, and by which.

        The closed form in 60 digits where there is one; for compositions the smaller of two lower
        ends, by FFT and by Poisson summation, which share only the pairs.
        """
        if self.betrayed:
            return mpmath.mpf(1), "no noise: the output is the query"
        parts = [part for part in self.parts if _is_revealing_part(part)]
        if len(parts) == 1:
            found = exact.compute_closed_form_delta(parts[0], epsilon, self.factor)
            if found is not None:
                return found, f"closed form, {exact.DIGITS} digits"
        if math.isinf(epsilon) or any(part["kind"] == "discrete-gaussian" for part in parts):
            return None
        return self._two_lower_ends(epsilon)

    def _two_lower_ends(self, epsilon: float) -> tuple[mpmath.mpf, str]:
        lower = mpmath.mpf(numerical_delta(self.event, epsilon).lower)
        try:
            other = bound_delta_by_inversion(self.event, epsilon).lower
        except ConvergenceError:
            return lower, "certified lower end, by FFT"
        # Both ends are certified, so that the smaller one is, too; it stays true if one of the
        # two programs errs upwards.
        return min(
            lower, mpmath.mpf(other)
        ), "smaller of two certified lower ends, by FFT and by summation"

    def _open_upper_end(self, bracket: Bracket) -> Bracket:
        return Bracket(bracket.lower, math.inf) if self.lower_only else bracket

    def _epsilon(self, delta: float) -> Bracket:
        table = self._table
        if table is not None:
            if delta == 0:
                return Bracket.exactly(math.inf)
            return _make_rounded_bracket(max(0.0, table.epsilon(math.log(delta))))
        concentrated = self._zcdp_mu
        if concentrated is not None:
            curve = RenyiCurveDP(self.event)
            return Bracket(GaussianDP(concentrated).epsilon(delta), curve.epsilon(delta))
        return bound_proved_epsilon(self.event, delta)

    def _delta(self, epsilon: float) -> Bracket:
        table = self._table
        if table is not None:
            return _make_rounded_bracket(math.exp(float(table.log_delta(np.array([epsilon]))[0])))
        concentrated = self._zcdp_mu
        if concentrated is not None:
            lower = GaussianDP(concentrated).delta(epsilon)
            return Bracket(lower, max(lower, RenyiCurveDP(self.event).delta(epsilon)))
        guarantee = proved_guarantee(self.event)
        if not isinstance(guarantee, NumericalDP):
            return _make_rounded_bracket(guarantee.delta(epsilon))
        try:
            return bound_delta_by_inversion(self.event, epsilon)
        except ConvergenceError:
            return numerical_delta(self.event, epsilon)

    @cached_property
    def _table(self) -> LossTable | None:
        """The losses of discrete Gaussian releases; None for other events."""
        parts = [part for part in self.parts if _is_revealing_part(part)]
        if not parts or any(part["kind"] != "discrete-gaussian" for part in parts):
            return None
        if len(parts) > 1 or self.factor > 1:
            raise UnsupportedEvent("release: got several discrete Gaussians, expected one kind")
        noise, count = float(parts[0]["noise"]), int(parts[0]["count"])
        first, masses = exact.discrete_gaussian(mpmath.mpf(noise), count)
        kept = [(k, float(mpmath.log(mass))) for k, mass in enumerate(masses) if mass > 0]
        losses = np.array([(2 * (first + k) + count) / (2 * noise**2) for k, _ in kept])
        # The losses lie on a lattice of this step. Differences of rounded losses would not be
        # equal.
        gaps = np.full(len(kept) - 1, 1 / noise**2)
        return LossTable.of(losses, np.array([log_mass for _, log_mass in kept]), gaps)

    @property
    def _zcdp_mu(self) -> float | None:
        """The mu of the Gaussian release of the same zCDP, which attains it; else None."""
        parts = [part for part in self.parts if _is_revealing_part(part)]
        if not any(part["kind"] == "concentrated" for part in parts):
            return None
        if any(part["kind"] != "concentrated" for part in parts):
            raise UnsupportedEvent("release: got zCDP mixed with others, expected zCDP alone")
        # A Gaussian release with mu^2 = 2 rho has exactly this zCDP, so that no accountant that
        # knows rho alone may answer less.
        return math.sqrt(2 * math.fsum(float(p["rho"]) * int(p["count"]) for p in parts))


def _make_rounded_bracket(value: float) -> Bracket:
    return Bracket(value * (1 - _CLOSED), value * (1 + _CLOSED))


def _is_revealing_part(part: Part) -> bool:
    nothing = part.get("ratio") == 0 or part.get("rho") == 0
    return int(part["count"]) > 0 and not nothing


def event_of(part: Part, factor: int = 1) -> Event:
    """Return a plain part as an event, the sensitivity multiplied by ``factor``.

    Raises
    ------
    UnsupportedEvent
        It is of another kind.

    Examples
    --------
    >>> event_of({"kind": "gaussian", "noise": 4.0, "count": 3}, factor=2)
    GaussianRelease(sensitivity=2.0, noise_scale=4.0, count=3)
    """
    count, noise, shift = int(part["count"]), float(part.get("noise", 0.0)), float(factor)
    match part["kind"]:
        case "gaussian":
            return GaussianRelease(sensitivity=shift, noise_scale=noise, count=count)
        # A sample of everything is no sample: the Gaussian's own formulas hold.
        case "sampled" if part["ratio"] == 1:
            return GaussianRelease(sensitivity=shift, noise_scale=noise, count=count)
        case "sampled":
            ratio = float(part["ratio"])
            return PoissonSubsampledGaussian(
                sampling_ratio=ratio, noise_multiplier=noise, count=count
            )
        case "laplace":
            return LaplaceRelease(sensitivity=shift, noise_scale=noise, count=count)
        case "discrete-laplace" if factor == 1:  # its losses are +-1 / noise: randomised response
            return ApproximateRelease(epsilon=1 / noise, count=count)
        case "response" | "pure":
            return ApproximateRelease(epsilon=float(part["epsilon"]), count=count)
        case "approximate":
            own, delta = float(part["epsilon"]), float(part["delta"])
            return ApproximateRelease(epsilon=own, delta=delta, count=count)
        case "concentrated":
            return ZeroConcentratedRelease(rho=float(part["rho"]), count=count)
    raise UnsupportedEvent(f"release: got {part['kind']}, expected a kind with a known event")


@lru_cache(maxsize=4096)
def bracket_of(question: AccountantQuestion, relation: str) -> Bracket | str:
    """Return the certified bracket of the answer, or why there is none."""
    truth = Truth(question.release, relation)
    try:
        match question.asks:
            case "epsilon":
                return truth.epsilon(question.at)
            case "delta":
                return truth.delta(question.at)
            case "renyi":
                return truth.renyi(question.at)
            case "advantage":
                return truth.delta(0.0)
            case "noise" | "spent" | "errors":
                return "judged by the delta at the answer"
    except (DpauditError, InvalidArgument) as error:
        return str(error)
    raise InvalidArgument("asks", question.asks, "a known question")


def with_noise(question: AccountantQuestion, noise: float, relation: str = ADD) -> Truth | None:
    """Return the truth about the question's release at another noise, None at one that is none."""
    if not (math.isfinite(noise) and noise >= 0):
        return None
    changed = tuple(
        tuple((name, noise if name == "noise" else value) for name, value in part)
        for part in question.release
    )
    return Truth(changed, relation)
