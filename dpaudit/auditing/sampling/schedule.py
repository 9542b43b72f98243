"""An audit whose budget is a time: its first outputs, the looks that fit, and its end.

The moment of the end is fixed before the first output is drawn, so that all that is drawn counts.
What is under way then is given up: a look that is cut off certifies nothing, and the looks before
it have spent their own shares of the error probability.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from time import monotonic

import dpaudit.auditing.estimators.group_sequential as group_sequential
import dpaudit.auditing.service.answer_checks as answer_checks
from dpaudit.auditing.outcome.evidence import MeasurementEvidence, nothing_certified
from dpaudit.auditing.outcome.result import convert_to_claim_number
from dpaudit.auditing.sampling.probe import find_pace
from dpaudit.auditing.sampling.sampler import Drawer
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.estimation.self_check import CheckOutcome
from dpaudit.execution import Executor, unit_size
from dpaudit.execution.executor import ShareDrawn
from dpaudit.execution.ledger import RunLedger, get_current_ledger
from dpaudit.extension.case import PrivacyCase
from dpaudit.extension.settings import Settings
from dpaudit.mechanisms.foreign.proxy import IsolatedMechanism
from dpaudit.mechanisms.mechanism import is_ours

_RUNS = 400  # outputs that say what leaked, at least


@dataclass(frozen=True)
class Schedule:
    """The time of an audit, or the looks that were taken before, or neither.

    Parameters
    ----------
    case, settings, trials
        Of the audit.
    executor
        Who computes.
    clock
        Of the time that is given, if one is.
    """

    case: PrivacyCase
    settings: Settings
    trials: int
    executor: Executor
    clock: group_sequential.LookClock | None

    @classmethod
    def of(cls, case: PrivacyCase, settings: Settings, executor: Executor, trials: int) -> Schedule:
        """Return the schedule of an audit that begins now."""
        if settings.time is None:
            return cls(case, settings, trials, executor, None)
        # The audit may have begun before this moment, such as with a search for its pair.
        began = monotonic() if executor.since is None else executor.since
        clock = group_sequential.LookClock(settings.time, trials, 0.0, began)
        return cls(case, settings, trials, replace(executor, until=clock.until), clock)

    @property
    def by_looks(self) -> bool:
        """Whether the audit is one of looks."""
        return self.settings.time is not None or self.settings.looks is not None

    @contextmanager
    def ending(self) -> Iterator[None]:
        """End the block in time.

        Raises
        ------
        DrawTimeout
            The time was over before the first look had ended.
        """
        with ExitStack() as stack:
            if self.clock is not None and isinstance(self.case.mechanism, IsolatedMechanism):
                stack.enter_context(self.case.mechanism.crew.by(self.clock.until))
            yield

    def out_of_time(self) -> MeasurementEvidence:
        """Return the evidence of an audit whose time was over before the first look had ended."""
        seconds = 0.0 if self.clock is None else self.clock.seconds
        check = CheckOutcome(
            name="time",
            statement=f"the time of {seconds:g} s ended before the first look: give more time; a "
            "store, if there is one, keeps the outputs so far",
            passed=False,
            statistic=seconds,
            threshold=seconds,
            evidence="no look ended",
        )
        return nothing_certified(check, str(self.settings.estimator))

    def first_trials(self, pace: float) -> int:
        """Return the trials that come first, by the seconds that an output takes.

        Raises
        ------
        InvalidArgument
            The time cannot do: whatever was drawn in it could not refute the claim.
        """
        if self.settings.looks is not None:
            return self.settings.looks[0][0]
        if self.clock is None:
            return self.trials
        self.clock.probed(pace, self._slowly(pace))
        if self.case.currency is None:
            claimed = self.case.claimed.epsilon(self.case.at_delta), self.case.at_delta
            self.clock.require(1 - self.settings.confidence, claimed)
        return self.clock.first.trials

    def _slowly(self, pace: float) -> group_sequential.Slowly | None:
        mechanism = self.case.mechanism
        start = mechanism.start if isinstance(mechanism, IsolatedMechanism) else 0.0
        workers = self.executor.workers if isinstance(mechanism, IsolatedMechanism) else 1
        return group_sequential.Slowly(workers, start) if pace >= group_sequential.SLOW else None

    def evidence(
        self, drawer: Drawer, measure: Callable[[Drawer, Settings, int], MeasurementEvidence]
    ) -> tuple[MeasurementEvidence, list[group_sequential.Look], int]:
        """Return the evidence of several looks, these, and the most trials a call.

        Parameters
        ----------
        drawer
            Who draws.
        measure
            Returns the evidence of a look: of its drawer, its settings and its trials.
        """
        most = self._most(drawer)
        units = [1]

        def measure_look(number: int, look: group_sequential.Look) -> MeasurementEvidence:
            own = drawer.for_look(
                look.trials, group_sequential.make_look_seed(self.settings.seed, number), most
            )
            units.append(own.unit)
            # Each look spends only its share of the error probability.
            alpha = look.share * (1 - self.settings.confidence)
            asked = replace(self.settings, confidence=1 - alpha)
            return replace(measure(own, asked, look.trials), unit=own.unit)

        evidence, looks = group_sequential.run_looks(
            self._plan_looks(drawer), measure_look, self._beyond
        )
        return evidence, looks, max(units) if most is None else most

    def _plan_looks(self, drawer: Drawer) -> Iterator[group_sequential.Look]:
        if self.clock is None:
            return iter([group_sequential.Look(*one) for one in self.settings.looks or ()])
        if not self.clock.pace:
            self.first_trials(find_pace(drawer))
        return self.clock.plan_looks()

    def _most(self, drawer: Drawer) -> int | None:
        """Return the most trials a call, None if neither somebody nor the pace says it."""
        if self.settings.unit is not None:
            return self.settings.unit
        if drawer.unit == 1 and drawer.chosen_by_pace:
            return 1
        if self.clock is None or is_ours(self.case.mechanism):
            return None
        # So many trials that the pace alone decides.
        most = unit_size(2**60, drawer.size, find_pace(drawer))
        return None if most == unit_size(2**60, drawer.size) else most

    def _beyond(self, evidence: MeasurementEvidence) -> float:
        case = self.case
        at = case if evidence.at_delta is None else replace(case, at_delta=evidence.at_delta)
        return evidence.lower - convert_to_claim_number(at, case.claimed)

    def has_time_to_explain(self, drawer: Drawer) -> bool:
        """Return whether there is time to look for a witness."""
        if self.clock is None:
            return True
        left = self.clock.until - monotonic()
        return _RUNS * drawer.seconds_per_output / self.executor.workers < left


def require_shares_alike(drawer: Drawer, settings: Settings) -> None:
    """Refuse shares of outputs that are not cut beforehand, or are cut by this machine's pace."""
    if drawer.executor.shard is None:
        return
    given = VerbatimText("{}/{}".format(*drawer.executor.shard))
    if settings.until_refuted or settings.time is not None or settings.looks is not None:
        raise InvalidArgument("shard", given, "a number of trials that is set beforehand")
    if drawer.chosen_by_pace and settings.unit is None:
        expected = f"--unit {drawer.unit} as well: the pace of a machine must not cut the shares"
        raise InvalidArgument("shard", given, expected)
    if drawer.has_own_randomness:
        require_what_decides(drawer.executor)


def require_what_decides(executor: Executor) -> None:
    """Refuse a share of code whose outputs no seed decides, unless share 0 was drawn before.

    Layouts, thresholds and scores would be others in every share, and what certifies by them could
    not be put together.
    """
    # What decides was drawn by share 0, so that all shares hold the same layout and event.
    if executor.shard is None or not executor.shard[0] or get_current_ledger().knows(_DECIDES):
        return
    number, count = executor.shard
    expected = (
        "a --store that holds the outputs of share 0, because no seed decides the outputs: calls "
        "change what they use, or randomness is the code's own. Let one program draw the outputs "
        "that decide, with "
        f"--shard 0/{count} --store FILE, and give every share a copy of FILE"
    )
    raise InvalidArgument("shard", VerbatimText(f"{number}/{count}"), expected)


@contextmanager
def noting_what_decides(ledger: RunLedger) -> Iterator[None]:
    """Record that share 0 was drawn, once it was."""
    try:
        yield
    except ShareDrawn as drawn:
        if not drawn.shard[0]:
            ledger.fact(_DECIDES, lambda: True)
        raise


_DECIDES = "share 0 has drawn what decides"


def tell_plan(schedule: Schedule, drawer: Drawer, began: float) -> None:
    """Tell somebody who watches how much a run of some seconds can find, and how long it takes."""
    tell, case = getattr(drawer.executor.progress, "tell", None), schedule.case
    settings, trials = schedule.settings, schedule.trials
    if tell is None or settings.until_refuted or case.currency is not None:
        return
    pace, given = find_pace(drawer), settings.time
    if given is not None or 8 * trials * pace + monotonic() - began > _SOON:
        claimed = case.claimed.epsilon(case.at_delta), case.at_delta
        workers = drawer.executor.workers if drawer.unit == 1 else 1
        said = group_sequential.format_look_plan(
            trials, 1 - settings.confidence, claimed, pace, given, workers
        )
        tell(said + answer_checks.cost(drawer.mechanism, None if given else trials))


_SOON = 2.0  # seconds that nobody needs to be told of
