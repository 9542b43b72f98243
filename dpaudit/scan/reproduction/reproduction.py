"""The smallest script that shows a finding again, with the package alone.

The pair and the setting of a finding are made smaller and rounder as long as an event that one line
of Python can ask for still refutes the claim; the claim follows the setting. What is shipped was
run: in the package's own environment, without dpaudit, and the counts that it printed refute the
claim by themselves, at `CONFIDENCE` of all the scripts that may be tried. A script that does not
show the finding again is not shipped.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit.errors import DpauditError, InvalidArgument
from dpaudit.extension.package import PackageClaim, Subject
from dpaudit.guarantees.guarantee import Guarantee
from dpaudit.neighbours import RELATIONS, Pair
from dpaudit.neighbours.smaller import find_shared_records
from dpaudit.scan.certification.events import (
    ExpressionEvent,
    best_event,
    deltas_of,
    is_guarantee_refuted,
)
from dpaudit.scan.finding import ScanFinding, make_claimed_guarantee
from dpaudit.scan.remote.bench import Bench, InstalledPackage
from dpaudit.scan.reproduction.scripts import (
    ReproductionContent,
    counts_of,
    lines_of,
    render_reproduction_script,
)
from dpaudit.scan.reproduction.values import format_expression, value_of

# The claim was refuted by the scan before. The script repeats that for a person, who would wait
# long for the scan's own confidence.
CONFIDENCE = 0.999
# Round numbers, about twice the one before: the script shows its number of runs.
_LADDER = (20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000)
_FEW = 200  # runs that a smaller case may always take
_LOOKS = (40, 400, 4000, 20_000)  # outputs that choose an event, until one is clear
_EACH = 4.0  # seconds for the outputs of one side of a look
_EACH_SHARE = 0.1  # of the time that is left, where that is less
_LONGEST = 120.0  # seconds that a script may run
_TRIES = 2  # numbers of runs for each of the smaller case and the first
_TESTS = 2 * _TRIES  # of the counts of scripts, which share the error probability


@dataclass(frozen=True, kw_only=True)
class ScriptRun:
    """A script that was run, and its printed counts.

    ``hits`` and ``runs`` are what it printed, of the dataset and of its neighbour.
    """

    script: str
    printed: str
    event: str
    parameters: str
    dataset: str
    neighbour: str
    claimed: str
    hits: tuple[int, int]
    runs: tuple[int, int]

    @property
    def lines(self) -> int:
        """The number of lines of the script that hold anything."""
        return lines_of(self.script)


@dataclass(frozen=True)
class _Case:
    """A setting, a pair, an event that refutes the claim, and on how many runs it does."""

    parameters: Mapping[str, Any]
    pair: tuple[Any, Any]
    event: ExpressionEvent
    runs: int
    guarantee: Guarantee


def find_smallest_reproduction(
    finding: ScanFinding,
    subject: Subject,
    installed: InstalledPackage,
    *,
    seconds: float = 120.0,
) -> ScriptRun | None:
    """Return the smallest reproduction of a finding, None if no script shows it again.

    Parameters
    ----------
    finding, subject
        What was found, and of what: its claims follow the setting.
    installed
        The environment, and the plain module.
    seconds
        For all of it; half of what the first look leaves is for smaller cases.
    """
    parameters, dataset, neighbour = finding.values()
    claim = claim_of(finding, subject)
    until = time.monotonic() + seconds
    with Bench(installed, finding.code, until) as bench:
        bits = finding.kind == "floating point"
        study = _Study(bench, claim, bits, finding.event.part, subject.allows)
        case = study.tried(parameters, (dataset, neighbour))
        if case is None:
            return None
        makers = (
            _fewer_records(finding.relation),
            _rounder_records(finding.relation, subject.bounds_of),
            _rounder_setting(claim),
        )
        # Half of the time is kept for the script, which has to be run whatever else succeeds.
        smaller = study.shrunk(case, makers, until - bench.left / 2)
    shown = _find_refuting_script(smaller, finding, claim, installed, until)
    if shown is None and smaller is not case:
        shown = _find_refuting_script(case, finding, claim, installed, until)
    return shown


# From a case to settings and pairs that are simpler, the simplest first.
_Smaller = Callable[[_Case], Iterator[tuple[Mapping[str, Any], tuple[Any, Any]]]]


def claim_of(finding: ScanFinding, subject: Subject) -> PackageClaim:
    """Return the claim that a finding refutes, among those of its subject.

    Raises
    ------
    InvalidArgument
        The subject makes no such claim.
    """
    parameters = value_of(finding.parameters)
    for claim in subject.claims:
        if make_claimed_guarantee(claim, parameters) == finding.claimed:
            return claim
    expected = f"a claim of {subject.name}, with the place where it is documented"
    raise InvalidArgument("claimed", f"{finding.claimed.words}, {finding.claimed.where}", expected)


@dataclass
class _Study:
    """Draws outputs of cases and judges whether they still show the finding."""

    bench: Bench
    claim: PackageClaim
    bits: bool
    part: str
    allows: Callable[[Any, Mapping[str, Any]], bool]

    def tried(self, parameters: Mapping[str, Any], pair: tuple[Any, Any]) -> _Case | None:
        """Return a setting and a pair with an event that refutes, None if there is none.

        Of data that the documentation does not allow there is none.
        """
        if not all(self.allows(one, parameters) for one in pair):
            return None
        try:
            guarantee = self.claim.guarantee(parameters)
            texts = (
                format_expression(dict(parameters)),
                (format_expression(pair[0]), format_expression(pair[1])),
            )
        except DpauditError:
            return None
        delta = min(deltas_of(guarantee), default=0.0)
        for runs in _LOOKS:
            sides = self.bench.parts(*texts, runs, min(_EACH, _EACH_SHARE * self.bench.left))
            event = (
                None if sides is None else best_event(sides, delta, bits=self.bits, part=self.part)
            )
            if sides is None or event is None:
                return None
            last = runs == _LOOKS[-1] or min(map(len, sides)) < runs
            # Of many events the best looks better than it is: it has to be clear, or all there is.
            if last or event.promised > guarantee.epsilon(delta):
                needed = find_needed_outputs(event, guarantee)
                if needed is not None:
                    return _Case(parameters, pair, event, needed, guarantee)
            if last:
                return None
        return None

    def shrunk(self, case: _Case, makers: Sequence[_Smaller], until: float) -> _Case:
        """Return a case of fewer records and rounder numbers that still refutes."""
        for smaller in makers:
            while time.monotonic() < until:
                found = self._first(case, smaller, until)
                if found is None:
                    break
                case = found
        return case

    def _first(self, case: _Case, smaller: _Smaller, until: float) -> _Case | None:
        for parameters, pair in smaller(case):
            if time.monotonic() > until:
                return None
            found = self.tried(parameters, pair)
            if found is None or found.event.topic != case.event.topic:
                continue  # what a smaller case shows is another finding
            # A case of fewer records that needs far more runs is simpler to read and slower to
            # believe.
            if found.runs <= max(case.runs, _FEW):
                return found
        return None


def find_needed_outputs(event: ExpressionEvent, guarantee: Guarantee) -> int | None:
    """Return on how many outputs an event refutes even if it is somewhat less clear than seen.

    Examples
    --------
    >>> from dpaudit.guarantees.kinds import PureDP
    >>> find_needed_outputs(
    ...     ExpressionEvent("out != out", (40, 0), (40, 40), 2.0, 1, "NaN"), PureDP(1.0)
    ... )
    20
    >>> find_needed_outputs(
    ...     ExpressionEvent("out > 0", (22, 20), (40, 40), 0, 1, ""), PureDP(1.0)
    ... ) is None
    True
    """
    rates = [hits / runs for hits, runs in zip(event.hits, event.runs, strict=True)]
    spread = [
        # A rate of exactly 0 or 1 comes mostly of structure, such as a key that is always
        # there; for it no spread is assumed.
        math.sqrt(max(rate * (1 - rate), 1 / runs if 0 < rate < 1 else 0) / runs)
        for rate, runs in zip(rates, event.runs, strict=True)
    ]
    sign = 1 if rates[0] > rates[1] else -1
    worse = (rates[0] - sign * spread[0], rates[1] + sign * spread[1])
    for runs in _LADDER:
        # The script draws anew: its own counts may be a standard error worse than the worse
        # rates.
        slack = [sign * math.sqrt(max(one * (1 - one), 0) * runs) for one in worse]
        hits = (
            int(np.clip(round(worse[0] * runs - slack[0]), 0, runs)),
            int(np.clip(round(worse[1] * runs + slack[1]), 0, runs)),
        )
        if sign * (hits[0] - hits[1]) > 0 and is_guarantee_refuted(
            hits, (runs, runs), guarantee, 1e-4
        ):
            return runs
    return None


def _fewer_records(relation: str) -> _Smaller:
    def smaller(case: _Case) -> Iterator[tuple[Mapping[str, Any], tuple[Any, Any]]]:
        try:
            shared = find_shared_records(Pair(*case.pair, RELATIONS[relation]))
        except (DpauditError, KeyError):
            return
        size = 0 if shared is None else len(shared.places)
        for kept in _generate_record_subsets(size):
            pair = shared.keeping(kept) if shared is not None else None
            if pair is not None:
                yield case.parameters, (pair.dataset, pair.neighbour)

    return smaller


def _generate_record_subsets(size: int) -> Iterator[list[int]]:
    """Yield which of so many records to keep: none, then halves, then all but a part."""
    if not size:
        return
    yield []
    part = size // 2
    while part:
        for start in range(0, size, part):
            kept = [one for one in range(size) if not start <= one < start + part]
            if kept:
                yield kept
        part //= 2


def _rounder_records(relation: str, bounds: Callable[[Mapping[str, Any]], Any]) -> _Smaller:
    def smaller(case: _Case) -> Iterator[tuple[Mapping[str, Any], tuple[Any, Any]]]:
        numbers = [one for side in case.pair for one in _generate_finite_numbers(side)]
        if not numbers:
            return
        numbers += _generate_finite_numbers(bounds(case.parameters))
        # Rounding must not leave the range of what was there, or 0.96 would become 1 beside a
        # bound of 0.98.
        low, high = min(numbers), max(numbers)
        written = format_expression(list(case.pair))
        for digits in range(4):
            rounder = tuple(_round_dataset(side, digits, low, high) for side in case.pair)
            if len(format_expression(list(rounder))) >= len(written):
                continue
            try:
                Pair(rounder[0], rounder[1], RELATIONS[relation])
            except (DpauditError, KeyError):
                continue
            yield case.parameters, rounder

    return smaller


def _generate_finite_numbers(value: Any) -> Iterator[float]:
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "f":
            yield from value[np.isfinite(value)].tolist()
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _generate_finite_numbers(one)
    elif isinstance(value, dict):
        for one in value.values():
            yield from _generate_finite_numbers(one)
    elif isinstance(value, float) and math.isfinite(value):
        yield value


def _round_dataset(value: Any, digits: int, low: float, high: float) -> Any:
    """Return a dataset with rounder numbers, none of them outside the range of the old ones."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        finite = np.isfinite(value)
        return np.where(finite, np.clip(np.round(value, digits), low, high), value)
    if isinstance(value, list):
        return [_round_dataset(one, digits, low, high) for one in value]
    if isinstance(value, tuple):
        return tuple(_round_dataset(one, digits, low, high) for one in value)
    if isinstance(value, dict):
        return {key: _round_dataset(one, digits, low, high) for key, one in value.items()}
    if isinstance(value, float) and math.isfinite(value):
        return min(max(round(value, digits), low), high)
    return value


def _rounder_setting(claim: PackageClaim) -> _Smaller:
    """Return the rounder of a setting's numbers on which its claim depends, and of no others.

    Another sensitivity, scale or bound may be none for which the claim is made.
    """

    def smaller(case: _Case) -> Iterator[tuple[Mapping[str, Any], tuple[Any, Any]]]:
        for name, value in case.parameters.items():
            if not isinstance(value, float) or not math.isfinite(value) or not value:
                continue
            whole = [1.0] if name.endswith("epsilon") else []
            for rounder in (*whole, float(f"{value:.1g}")):
                given = {**case.parameters, name: rounder}
                # A parameter that the claim does not follow, such as a bound, could make the
                # claim false for a reason that is not the finding's.
                if len(repr(rounder)) < len(repr(value)) and _is_other_claim(claim, given, case):
                    yield given, case.pair

    return smaller


def _is_other_claim(claim: PackageClaim, parameters: Mapping[str, Any], case: _Case) -> bool:
    """Return whether a claim is another one at another setting."""
    try:
        return claim.guarantee(parameters) != case.guarantee
    except DpauditError:
        return False


def _find_refuting_script(
    case: _Case,
    finding: ScanFinding,
    claim: PackageClaim,
    installed: InstalledPackage,
    until: float,
) -> ScriptRun | None:
    """Return a script that was run and whose counts refute, None if none does."""
    at = _LADDER.index(case.runs)
    for runs in _LADDER[at : at + _TRIES]:
        shown = ReproductionContent(
            source=installed.code.read_text(encoding="utf-8"),
            function=finding.code,
            parameters=case.parameters,
            datasets=case.pair,
            event=case.event.expression,
            runs=runs,
            claimed=in_words(case.guarantee),
        )
        text = render_reproduction_script(shown)
        printed = installed.run(text, max(0.0, min(_LONGEST, until - time.monotonic())))
        counts = None if printed is None else counts_of(printed)
        if printed is None or counts is None:
            return None
        if is_guarantee_refuted(*counts, case.guarantee, (1 - CONFIDENCE) / _TESTS):
            return ScriptRun(
                script=text,
                printed=printed,
                event=case.event.expression,
                parameters=format_expression(dict(case.parameters)),
                dataset=format_expression(case.pair[0]),
                neighbour=format_expression(case.pair[1]),
                claimed=in_words(case.guarantee),
                hits=counts[0],
                runs=counts[1],
            )
    return None


def in_words(guarantee: Guarantee) -> str:
    """Return a guarantee as a claim says it.

    Examples
    --------
    >>> from dpaudit.guarantees.kinds import ApproximateDP, PureDP, ZeroConcentratedDP
    >>> in_words(PureDP(1.0)), in_words(ApproximateDP(0.5, 1e-6))
    ('epsilon = 1', 'epsilon = 0.5, delta = 1e-06')
    >>> in_words(ZeroConcentratedDP(0.5))
    'rho = 0.5'
    """
    fields = {
        name.removeprefix("at_"): value
        for name, value in vars(guarantee).items()
        if isinstance(value, int | float)
    }
    return ", ".join(f"{name} = {value:.6g}" for name, value in fields.items())
