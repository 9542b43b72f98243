"""The contract of a mechanism: independent outputs of one law on either dataset.

An event audit checks it on the outputs that certify. An audit that bets stops long before these
tests could see much: one that refutes draws further outputs, which certify nothing, for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

import numpy as np

import dpaudit.auditing.sampling.constant_parts as constant_parts
import dpaudit.auditing.sampling.separate_processes as separate_processes
import dpaudit.auditing.service.answer_checks as answer_checks
import dpaudit.estimation.independence as independence
import dpaudit.faults.codes as codes
from dpaudit.auditing.explain.output_parts import something_returned
from dpaudit.auditing.sampling.sampler import Certifying, Drawer
from dpaudit.auditing.sampling.separate_processes import Against, compute_hit_indicators
from dpaudit.errors import shorten_repr
from dpaudit.estimation.independence import Outputs
from dpaudit.estimation.score_events import ScoreEvent, Tally
from dpaudit.estimation.self_check import CheckOutcome
from dpaudit.extension.case import PrivacyCase
from dpaudit.mechanisms.foreign.isolation import Isolation, isolate_mechanism
from dpaudit.mechanisms.foreign.proxy import IsolatedMechanism
from dpaudit.mechanisms.mechanism import is_ours, layout_of
from dpaudit.mechanisms.outputs.layout import LayoutColumn

_CALLS = 64  # of further outputs, on either dataset
# Further outputs.
_LEAST = 512
_MOST = 4096


@dataclass(frozen=True)
class ContractChecks:
    """The checks of a contract, and how the outputs were drawn that were compared.

    ``remark`` belongs to the reason of the verdict.
    """

    checks: tuple[CheckOutcome, ...] = ()
    notes: tuple[str, ...] = ()
    remark: str = ""


@contextmanager
def make_separate_drawer(case: PrivacyCase, drawer: Drawer) -> Iterator[Drawer]:
    """Yield a drawer of the same mechanism in processes of its own, if it can have any.

    What one process draws refutes nothing: its imports and its instance may have noise of their
    own.
    """
    if is_ours(drawer.mechanism) or isinstance(drawer.mechanism, IsolatedMechanism):
        yield drawer
        return
    make = case.elsewhere or (lambda: isolate_mechanism(drawer.mechanism, Isolation()).mechanism)
    # The mechanism is made again where it runs, as it was before its first call.
    other = replace(drawer, mechanism=make())
    with ExitStack() as stack:
        if isinstance(other.mechanism, IsolatedMechanism):
            stack.callback(other.mechanism.crew.close)
        yield other


def of_event(
    drawer: Drawer,
    drawn: Certifying,
    tally: Tally,
    counted: ScoreEvent,
    against: Against,
    which: str = "Certifying",
) -> ContractChecks:
    """Return the checks of the outputs that certify an event; none of this package's own.

    Parameters
    ----------
    drawer, drawn
        Who drew the outputs, and those that are compared.
    tally, counted
        How often the event happened, and what it is.
    against
        The claim. What refutes it is looked at more closely.
    which
        Which outputs these are, for the report.
    """
    if is_ours(drawer.mechanism):
        return ContractChecks()
    # A time depends on the load of the machine: hits of times would look dependent.
    hits = None if drawer.timed else compute_hit_indicators(counted, drawn)
    timed = (_TIMED,) if drawer.timed else ()
    kept = ContractChecks(
        (
            *_no_files(drawer),
            *something_returned(layout_of(drawer.mechanism), drawn.outputs),
            *answer_checks.of_outputs(drawer, drawn.outputs),
            *_with_cure(drawer, independence.check_independence(*drawn.outputs, hits)),
        ),
        (_format_drawing_note(which, drawn), *_format_compared_outputs(drawn, tally), *timed),
    )
    # The closer look draws more outputs: a mechanism that already failed has no use for it.
    trusted = all(check.passed for check in kept.checks)
    return _check_refutation_closely(drawer, kept, counted, tally, against) if trusted else kept


def _check_refutation_closely(
    drawer: Drawer, kept: ContractChecks, counted: ScoreEvent, tally: Tally, against: Against
) -> ContractChecks:
    """Return further checks where the counts refute the claim."""
    if not separate_processes.is_claim_refuted(counted, tally, against):
        return kept
    if not isinstance(drawer.mechanism, IsolatedMechanism):
        return ContractChecks((*kept.checks, _ONE_PROCESS), kept.notes)
    found = separate_processes.check_lone_outputs(
        drawer, counted, tally, against, constant_parts.grid_of(drawer)
    )
    same = constant_parts.check_sameness(
        drawer, counted, found.answers, by_score=against.bet is not None
    )
    checks = _with_cure(drawer, found.checks)
    return ContractChecks(
        (*kept.checks, *same.checks, *checks), (*kept.notes, _alone_note(found.drawn)), same.remark
    )


def of_bets(
    drawer: Drawer, seen: Sequence[tuple[Outputs, Outputs]], counted: ScoreEvent, against: Against
) -> ContractChecks:
    """Return the checks of outputs that were bet on, and of others that are drawn for them.

    Parameters
    ----------
    drawer
        Who drew the outputs.
    seen
        The outputs that were bet on, as they were drawn.
    counted
        An event that was bet on to the end.
    against
        The claim that was refuted.
    """
    if is_ours(drawer.mechanism):
        return ContractChecks()
    on_p, on_q = (independence.join_draws(side) for side in zip(*seen, strict=True))
    pairs = len(on_p.scores)
    count = min(max(pairs, _LEAST), _MOST)
    # Units so small that there are several calls to compare.
    fine = replace(drawer, unit=max(1, min(drawer.unit, count // _CALLS)))
    tally, drawn = fine.certifying(counted, count, "contract")
    further = of_event(
        drawer, drawn, tally, counted, against, f"{pairs} bet on and {count} further"
    )
    repeated = answer_checks.of_outputs(drawer, (on_p, on_q))
    checks = (
        *repeated,
        *_with_cure(drawer, independence.check_independence(on_p, on_q)),
        *further.checks,
    )
    return ContractChecks(checks, further.notes, further.remark)


_TIMED = (
    "What a call takes depends on what else the machine does, and is not compared from call to "
    "call: the two datasets took turns, one call each after one that was not timed, so that a "
    "slower hour falls on both. A bound on run times is one for machines that treat both alike."
)
_ONE_PROCESS = CheckOutcome(
    name="outputs of several processes",
    statement="all outputs came from one process and one instance, which may have noise of "
    "their own, and the mechanism cannot be sent to others: name the mechanism as "
    "module:object",
    passed=False,
    statistic=1.0,
    threshold=2.0,
    evidence="outputs of 1 process",
)


def _no_files(drawer: Drawer) -> list[CheckOutcome]:
    """Return the check that no file carries a state from call to call, where files are seen."""
    if not isinstance(drawer.mechanism, IsolatedMechanism):
        return []
    found = drawer.mechanism.crew.kept_files
    named = ", ".join(shorten_repr(path) for path in found[:3])
    return [
        CheckOutcome(
            name="no file is written and read",
            statement=f"a file may carry noise from call to call ({named}): let the mechanism "
            "write no file that it reads again"
            if found
            else "no file carries anything from call to call",
            passed=not found,
            statistic=float(len(found)),
            threshold=0.0,
            evidence=f"files that the mechanism wrote and read: {named or 'none'}",
            fault=codes.FILE_KEPT if found else None,
        )
    ]


def _with_cure(drawer: Drawer, checks: Sequence[CheckOutcome]) -> list[CheckOutcome]:
    """Return checks that say which parts of an output may be left out, if it has several."""
    layout = getattr(drawer.mechanism, "layout", None)
    columns = [one for one in getattr(layout, "columns", ()) if _has_name(one)]
    named = list(dict.fromkeys(one.path for one in columns))
    if len(named) < 2:
        return list(checks)
    shown = ", ".join(named[:5])
    cure = (
        f"; of {shown}, parts that are no noise, such as time stamps, counters and process "
        "numbers, are left out by ignore="
    )
    return [
        one if one.passed else replace(one, statement=f"{one.statement}{cure}") for one in checks
    ]


def _has_name(column: LayoutColumn) -> bool:
    return column.everywhere and column.path not in constant_parts.REST


def _format_compared_outputs(drawn: Certifying, tally: Tally) -> list[str]:
    """Return how many outputs were compared with one another, if not all were."""
    count = len(drawn.outputs[0].scores)
    if count == tally.trials[0]:
        return []
    return [
        f"The audit compared {count} of these outputs on each dataset with one another: the same "
        "number from every call, from its beginning and from its middle."
    ]


def _alone_note(drawn: Certifying) -> str:
    count = len(drawn.outputs[0].scores)
    return (
        f"The audit counted the refuting event again on {count} outputs on each dataset, one for "
        f"each call, in {_count_drawing_processes(drawn)} fresh processes."
    )


def _count_drawing_processes(drawn: Certifying) -> int:
    return len(np.unique(drawn.outputs[0].processes))


def _format_drawing_note(which: str, drawn: Certifying) -> str:
    count = _count_drawing_processes(drawn)
    drawn_in = "this process" if count == 1 else f"{count} fresh processes, a call of each in turn"
    return f"{which} outputs of both datasets were drawn in {drawn_in}."
