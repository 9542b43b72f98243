"""Checks of outputs in files: signs that they are not independent draws of one law a dataset.

Nobody who drew is asked, so that the order of the rows and their values have to say it. A failure
withholds the verdict: a clock, a counter, noise that was kept, or rows that stand there twice, tell
two files apart where no mechanism did.

Each check errs with a probability of about 1e-4 on independent draws, all of them together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

import dpaudit.estimation.inclusion as inclusion
import dpaudit.estimation.independence as independence
from dpaudit._typing import Array
from dpaudit.auditing.samples.output_pairs import OutputPair
from dpaudit.estimation.self_check import CheckOutcome

FALSE_ALARM = 1e-4
_COLUMNS = 32  # that are looked at one by one
_MEETING = 200  # pairs of rarer outputs that meet by chance, at least
_SHARED = 0.5  # share of values that two files have in common, where nearly none repeats in one
_SPREAD = 0.9  # share of values that differ, of a law without atoms
_SIDES = ("dataset", "neighbour")

_SORTED = (
    "they only rise or fall from row to row, as a clock, a counter or sorted outputs do: give "
    "outputs in the order in which they were drawn, and leave out what is none with --ignore"
)
_ONE = (
    "all of them are one value, which the other file never has: a function without noise, or one "
    "draw that was kept and given again; outputs alone do not say which"
)
_LABELS = (
    "a column has values that repeat, and none that both files have: a label, or a part "
    "without noise, and outputs do not say which: leave it out with --ignore, or give it alone"
)
_FEW = 20  # values of a label; of more each stands there twice, on average
_COPIED = 20  # values whose counts hardly ever have a divisor in common, by chance
_REPEATED = (
    "values repeat that no grid explains: rows stand there several times, which would count "
    "several times"
)
_SERIAL = (
    "outputs depend on those that stand before them: a block that is repeated, a chain, a seed"
)
_MOVING = "the law changes along the rows: a counter, a clock or another state"
_SAME = "both files hold the same outputs: one was given twice"
_TOGETHER = "outputs of the two files go together, row by row: they share their noise"


def checks_of(pair: OutputPair) -> list[CheckOutcome]:
    """Return the checks of a pair of files.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> def of(on_p, on_q):
    ...     pair = OutputPair(on_p[:, None], on_q[:, None], ("output",), (), (), ())
    ...     return [one.name for one in checks_of(pair) if not one.passed]
    >>> of(rng.normal(size=500), rng.normal(1, 1, 700))
    []
    >>> of(np.sort(rng.normal(size=500)), rng.normal(size=500))
    ['order, dataset']
    """
    sides = (pair.on_dataset, pair.on_neighbour)
    found = [*_of_both(*sides), _check_label_columns(*sides, pair.names)]
    columns = range(min(_COLUMNS, sides[0].shape[1]))
    for name, side, other in zip(_SIDES, sides, sides[::-1], strict=True):
        found.append(_one_value(name, side, other))
        found.append(_check_duplicate_rows(name, side, other))
        # Of guesses only how many are 1 counts, so that somebody may have sorted them.
        if pair.is_of_guesses and _is_sorted(side[:, 0]):
            continue  # sorted guesses are counts: `reservations` says so
        found.append(_check_row_order(name, side, pair.names))
        # Sorted rows would fail every test along the rows, for the reason that was already given.
        if found[-1].passed:
            found += _along_rows(name, side, columns)
    return found


def format_output_reservations(pair: OutputPair) -> list[str]:
    """Return reservations about outputs that no check can settle."""
    said = []
    for name, side in zip(_SIDES, (pair.on_dataset, pair.on_neighbour), strict=True):
        if pair.is_of_guesses and _is_sorted(side[:, 0]):
            said.append(
                f"Guesses of the {name} are sorted, so that their order says nothing of whether "
                "outputs were independent: it is taken as given."
            )
    return said


def _make_p_value_check(
    name: str, why: str, p: float, evidence: str, threshold: float
) -> CheckOutcome:
    return CheckOutcome(
        name=name,
        statement=why,
        passed=bool(p >= threshold),
        statistic=float(p),
        threshold=threshold,
        evidence=evidence,
    )


def _make_certain_check(name: str, why: str, failed: bool, evidence: str) -> CheckOutcome:
    """Return a check that does not go by chance: independent draws cannot fail it."""
    return _make_p_value_check(
        name, f"{_format_outputs_of(name)}: {why}", float(not failed), evidence, 0.5
    )


def _format_outputs_of(name: str) -> str:
    return f"outputs of the {name.rpartition(', ')[2]}" if ", " in name else "outputs"


# Each file


def _is_sorted(values: Array) -> bool:
    falls, rises = (values[1:] < values[:-1]).any(), (values[1:] > values[:-1]).any()
    return bool(falls != rises)


def _check_row_order(side: str, rows: Array, names: Sequence[str]) -> CheckOutcome:
    # A short column, or one of few values, is sorted now and then by chance.
    rising = [n for n in range(rows.shape[1]) if _is_sorted(rows[:, n]) and _says_order(rows[:, n])]
    which = f": {', '.join(names[n] for n in rising[:3])}" if rising else ""
    return _make_certain_check(
        f"order, {side}", _SORTED, bool(rising), f"{len(rising)} columns only go one way{which}"
    )


def _says_order(values: Array) -> bool:
    """Return whether so many values would hardly ever be sorted by chance."""
    _, counts = np.unique(values, return_counts=True)
    from scipy.special import gammaln

    ways = gammaln(counts.sum() + 1) - gammaln(counts + 1).sum()
    return bool(ways > np.log(2 / FALSE_ALARM))


def _one_value(side: str, rows: Array, other: Array) -> CheckOutcome:
    same = bool((rows == rows[0]).all())
    elsewhere = bool((other == rows[0]).all(axis=1).any())
    said = "one value" if same else "several values"
    return _make_certain_check(f"one value, {side}", _ONE, same and not elsewhere, said)


def _check_duplicate_rows(side: str, rows: Array, other: Array) -> CheckOutcome:
    """Test that rows repeat no more than a grid explains, or are values that both files have."""
    _, which, times = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    _, first = np.unique(which.ravel(), return_index=True)
    tied = rows[first[times > 1]]
    common = _count_common_rows(tied, other)
    suspect = len(tied) - common
    # Values that both files have are atoms of a law; only others may be copies of a row.
    p = _by_grid(rows) if suspect > common else 1.0
    said = f"{len(tied)} values repeat, {common} of them in the other file as well; p-value {p:.2g}"
    # Counts of independent rows hardly ever have a divisor in common; those of copied rows do.
    if len(times) >= _COPIED and (copies := int(np.gcd.reduce(times))) > 1:
        p, said = 0.0, f"each value stands there {copies} times, or a multiple of it"
    name = f"duplicates, {side}"
    return _make_p_value_check(
        name, f"{_format_outputs_of(name)}: {_REPEATED}", p, said, FALSE_ALARM
    )


def _by_grid(rows: Array) -> float:
    """Return the probability of so many values that repeat, of the column where it is largest."""
    return max(inclusion.ties_by_chance(rows[:, n]) for n in range(rows.shape[1]))


def _count_common_rows(rows: Array, other: Array) -> int:
    """Return how many rows occur among others."""
    if not len(rows):
        return 0
    known = {one.tobytes() for one in np.ascontiguousarray(other)}
    return sum(one.tobytes() in known for one in np.ascontiguousarray(rows))


def _along_rows(side: str, rows: Array, columns: range) -> Iterator[CheckOutcome]:
    # Four tests along the rows of the two files share the probability of a false alarm.
    each = FALSE_ALARM / (4 * len(columns))
    serial, trend = 1.0, 1.0
    for n in columns:
        z = independence.compute_normal_ranks(rows[:, n])
        serial = min(serial, _at_all_lags(z))
        trend = min(trend, independence.compute_trend_p_value(z, np.zeros(len(z), dtype=np.int64)))
    words = ((f"rows, {side}", _SERIAL, serial), (f"drift, {side}", _MOVING, trend))
    for name, why, p in words:
        said = f"p-value {p:.2g}; below {each:.1g} it fails"
        yield _make_p_value_check(name, f"{_format_outputs_of(name)}: {why}", p, said, each)


def _at_all_lags(z: Array) -> float:
    """Return the p-value of the largest correlation of outputs so far apart, times the lags."""
    n = len(z)
    share = independence.compute_variety(z) ** 2
    lags = n - int(np.ceil(_MEETING / share)) if share else 0
    if lags < 1:
        return 1.0
    # With as many zeros behind, a circular correlation is that of the rows, without wrapping round.
    power = np.abs(np.fft.rfft(z, 2 * n)) ** 2
    sums = np.fft.irfft(power, 2 * n)[1 : lags + 1]
    largest = float(np.abs(sums / np.sqrt(n - np.arange(1.0, lags + 1))).max())
    return min(1.0, float(2 * lags * ndtr(-largest)))


# Both files


def _of_both(on_p: Array, on_q: Array) -> list[CheckOutcome]:
    size = min(len(on_p), len(on_q))
    again = len(on_p) == len(on_q) and _is_again(on_p, on_q)
    found = _make_certain_check("files", _SAME, again, f"{len(on_p)} and {len(on_q)} outputs")
    each = FALSE_ALARM / min(_COLUMNS, on_p.shape[1])
    p = 1.0
    if not again:
        for n in range(min(_COLUMNS, on_p.shape[1])):
            # Two sorted columns go together whatever was drawn.
            if _is_sorted(on_p[:, n]) or _is_sorted(on_q[:, n]):
                continue
            p = min(
                p, independence.compute_side_correlation_p_value(on_p[:size, n], on_q[:size, n])
            )
    said = f"p-value {p:.2g}; below {each:.1g} it fails"
    return [found, _make_p_value_check("noise of both files", _TOGETHER, p, said, each)]


def _check_label_columns(on_p: Array, on_q: Array, names: Sequence[str]) -> CheckOutcome:
    """Test that no column beside others has values that repeat, each in one of the files alone."""
    found = list[str]()
    if len(names) > 1:
        for n, name in enumerate(names):
            one, other = np.unique(on_p[:, n]), np.unique(on_q[:, n])
            few = max(len(one), len(other)) <= _FEW
            repeated = 2 * len(one) <= len(on_p) and 2 * len(other) <= len(on_q)
            if (few or repeated) and not np.intersect1d(one, other).size:
                found.append(name)
    which = f": {', '.join(found[:3])}" if found else ""
    return _make_certain_check("labels", _LABELS, bool(found), f"{len(found)} columns{which}")


def _is_again(on_p: Array, on_q: Array) -> bool:
    """Return whether two files hold the same rows: in order, or values without atoms in any."""
    if np.array_equal(on_p, on_q):
        # A law of one value may give the same rows on both datasets.
        return bool((on_p != on_p[0]).any())  # one value in both is a law
    rows: NDArray[np.float64] = np.unique(on_p, axis=0)
    if len(rows) < _SPREAD * len(on_p):
        return False
    return _count_common_rows(rows, on_q) > _SHARED * len(rows) and not _on_a_grid(on_p)


def _on_a_grid(rows: Array) -> bool:
    """Return whether chance explains values that two files have in common: a coarse grid."""
    values = np.unique(rows[:, 0])
    steps = np.diff(values)
    return len(values) < 2 or float(np.median(steps)) < 3 * float(steps.min())
