"""Our accountants against dp-accounting and prv-accountant: accuracy and time on the same work.

Everything runs in this process on one thread. Ours is `bound_proved_epsilon`, which chooses by
itself. Truth is a closed form, or the contour's estimate, which our bracket on sixteen times the
cells has to hold, or that bracket. dp-accounting is measured as it stands and at
the widest spacing (.1 halved again and again) whose error is at most ours, once for the upper end
alone and once for both ends; a run that would pass --limit seconds ends the search. A library that
is not installed is shown as such. Then: the time of every accountant of ours on every kind of event
at T up to 10,000 (`_our_accountants.py`).
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TypeVar

import _one_thread
from _accountant_cases import DELTA, Case, by_name, cases, truth
from _other_accountants import LIBRARIES, distribution_epsilon, installed, prv_epsilon, version
from _our_accountants import show_times, times
from rich.console import Console
from rich.table import Table

from dpaudit.accounting.strongest_guarantee import bound_proved_epsilon
from dpaudit.errors import DpauditError

ResultT = TypeVar("ResultT")

DEFAULT_INTERVAL, WIDEST_INTERVAL = 1e-4, 0.1
PRV_ERROR = 0.01
WIDTH = 200


@dataclass
class Row:
    """What was measured; errors are upper less truth and truth less lower, seconds are medians."""

    group: str
    name: str
    truth: float
    truth_error: float
    ours: tuple[float, float] = (math.nan, math.nan)
    seconds: dict[str, float] = field(default_factory=dict)
    lowest: dict[str, float] = field(default_factory=dict)
    errors: dict[str, tuple[float, float]] = field(default_factory=dict)
    reached: dict[str, bool] = field(default_factory=dict)
    intervals: dict[str, float] = field(default_factory=dict)

    def note(self, who: str, turns: list[float], below: float, above: float) -> None:
        """Record times and how far below and above the truth the ends are."""
        self.seconds[who], self.lowest[who] = statistics.median(turns), min(turns)
        self.errors[who] = below, above

    def ratio(self, who: str, base: str = "ours") -> float:
        """Return how many times longer than our bracket it took."""
        return self.seconds.get(who, math.nan) / self.seconds[base]


def main() -> None:
    options = arguments()
    if options.cold:
        print(json.dumps(first_answers(by_name(options.cold))))
        return
    console = Console(width=WIDTH)
    console.print(", ".join(f"{name} {version(name)}" for name in LIBRARIES))
    console.print("one thread: " + ", ".join(_one_thread.VARIABLES))
    rows = [measure(case, options) for case in cases() if options.group in ("", case.group)]
    if rows:
        show(rows, console)
    ours = times(DELTA) if options.group in ("", "times") else []
    if ours:
        show_times(ours, console)
    if options.out:
        report = {"rows": [asdict(row) for row in rows], "times": ours}
        options.out.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5, help="turns; fewer where one is slow")
    parser.add_argument("--limit", type=float, default=2.0, help="seconds of the longest turn")
    parser.add_argument("--group", default="", help="only these cases, or only 'times'")
    parser.add_argument("--out", type=Path, help="also write the numbers to this JSON file")
    parser.add_argument("--cold", help=argparse.SUPPRESS)
    return parser.parse_args()


def first_answers(case: Case) -> dict[str, float]:
    """Return the seconds of the first answers in a fresh process, imports left out."""
    seconds = {"ours, cold": timed(lambda: bound_proved_epsilon(case.event, DELTA))[1]}
    if case.exact:
        seconds["closed form, cold"] = timed(case.exact)[1]
    return seconds


def measure(case: Case, options: argparse.Namespace) -> Row:
    exact, off = truth(case)
    row = Row(case.group, case.name, exact, off)
    command = [sys.executable, __file__, "--cold", f"{case.group}: {case.name}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    row.seconds |= json.loads(done.stdout)
    bracket, turns = repeated(lambda: bound_proved_epsilon(case.event, DELTA), options)
    row.ours = bracket.lower, bracket.upper
    row.note("ours", turns, exact - bracket.lower, bracket.upper - exact)
    if case.exact:
        answer, turns = repeated(case.exact, options)
        row.note("closed form", turns, 0.0, answer - exact)
    if installed("dp-accounting"):
        measure_distributions(case, row, options)
    if installed("prv-accountant"):
        ends, turns = repeated(lambda: prv_epsilon(case.event, DELTA, PRV_ERROR), options)
        row.note("prv-accountant", turns, exact - ends[0], ends[2] - exact)
    return row


def measure_distributions(case: Case, row: Row, options: argparse.Namespace) -> None:
    """Measure dp-accounting: its default, and what it takes to be as accurate as we are."""
    below, above = (max(error, row.truth_error) for error in row.errors["ours"])
    upper, both = (True,), (False, True)
    distribution(case, row, "default", DEFAULT_INTERVAL, upper, options)
    for who, sides, enough in (("equal upper", upper, math.inf), ("equal both", both, below)):
        interval = WIDEST_INTERVAL
        while True:
            spent = distribution(case, row, who, interval, sides, options)
            low, high = row.errors.get(who, (math.inf, math.inf))
            row.reached[who] = (
                row.intervals.get(who) == interval
                and high <= above
                and (who == "equal upper" or low <= enough)
            )
            if row.reached[who] or not spent < options.limit / 2:
                break
            interval /= 2


def distribution(
    case: Case,
    row: Row,
    who: str,
    interval: float,
    sides: tuple[bool, ...],
    options: argparse.Namespace,
) -> float:
    """Measure one spacing and return its seconds, infinite where the grid is too large."""

    def ends() -> list[float]:
        return [distribution_epsilon(case.event, DELTA, interval, up) for up in sides]

    try:
        answers, turns = repeated(ends, options)
    except (DpauditError, OverflowError):  # too fine, or too coarse for its exponentials
        return math.inf if interval < DEFAULT_INTERVAL else 0.0
    low = row.truth - answers[0] if len(sides) == 2 else math.nan
    row.note(who, turns, low, answers[-1] - row.truth)
    row.intervals[who] = interval
    return row.seconds[who]


def repeated(
    run: Callable[[], ResultT], options: argparse.Namespace
) -> tuple[ResultT, list[float]]:
    """Return the result and the seconds of each turn; one turn is enough where it is slow."""
    result, seconds = timed(run)
    turns = [seconds]
    while len(turns) <= options.repeats and seconds < options.limit / options.repeats:
        result, seconds = timed(run)
        turns.append(seconds)
    return result, turns[1:] or turns


def timed(run: Callable[[], ResultT]) -> tuple[ResultT, float]:
    start = time.perf_counter()
    result = run()
    return result, time.perf_counter() - start


def show(rows: list[Row], console: Console) -> None:
    table = Table(title=f"epsilon at delta = {DELTA:g}; errors: truth - lower, upper - truth")
    for heading in ("case", "truth"):
        table.add_column(heading, no_wrap=True)
    for heading in ("ours", "ms", "cold", "exact", "dp default", "x", "dp = upper x"):
        table.add_column(heading, justify="right")
    for heading in ("dp = both x", "prv", "x"):
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(*cells(row))
    console.print(table)
    summary(rows, console)


def cells(row: Row) -> list[str]:
    def error(who: str) -> str:
        low, high = row.errors.get(who, (math.nan, math.nan))
        wrong = " WRONG" if low < -row.truth_error or high < -row.truth_error else ""
        return f"{'' if math.isnan(low) else f'{low:.0e} '}{high:.0e}{wrong}"

    def ratio(who: str) -> str:
        short = "" if row.reached.get(who, True) else ">"
        return f"{short}{row.ratio(who):.3g}"

    def milliseconds(who: str) -> str:
        return f"{1e3 * row.seconds[who]:.3g}" if who in row.seconds else "-"

    own = [error("ours"), *map(milliseconds, ("ours", "ours, cold", "closed form, cold"))]
    library = [error("default"), *map(ratio, ("default", "equal upper", "equal both"))]
    name = f"{row.group}: {row.name}"
    return [
        name,
        f"{row.truth:.7g}",
        *own,
        *library,
        error("prv-accountant"),
        ratio("prv-accountant"),
    ]


def summary(rows: list[Row], console: Console) -> None:
    """Print the median and the lowest ratio of each group and way of comparing."""
    for group in dict.fromkeys(row.group for row in rows):
        mine = [row for row in rows if row.group == group]
        for who in ("default", "equal upper", "equal both", "prv-accountant"):
            for base in ("ours", "closed form, cold"):
                ratios = [row.ratio(who, base) for row in mine if {who, base} <= row.seconds.keys()]
                if ratios:
                    middle, least = statistics.median(ratios), min(ratios)
                    console.print(
                        f"{group}, {who} / {base}: median {middle:.3g}, lowest {least:.3g}"
                    )


if __name__ == "__main__":
    main()
