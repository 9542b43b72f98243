"""The law of every number of an output, read off runs with other frozen noise.

A number that is ``centre + factor * z`` in every run, with one standard draw ``z`` that a primitive
handed out, has the law of that primitive at that place and scale. It may be rounded, and clipped:
draws that are far out show where. Noise reaches no number that is the same in every run.
Everything else has no law here, and nothing is concluded from it.

=============  =============================================================
symbol         meaning
=============  =============================================================
R              runs on one dataset: with other noise, and with far draws
m, K           numbers of an output, standard draws of a run
=============  =============================================================
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtr

from dpaudit._typing import Array
from dpaudit.freezing.observing import SideRuns
from dpaudit.freezing.tracked_noise import Call

_MOST_DRAWS = 20_000
_MOST_CELLS = 4_000_000
_TRIED = 3  # draws that are tried for a number, best first
_LEAST_RUNS = 6  # that a law has to explain without clipping
_EXACT = 1e-9  # of the scale of the noise, by which a law may miss a number
ROUNDED = ("round", "floor", "ceil", "trunc")
# Their density is at most 1, and the log of a tail next to the edge has no bounded slope.
LAWS_WITH_EDGE = ("uniform", "exponential")
LEAST_DOUBLE = math.ulp(0.0)


def _compute_laplace_tail(z: float) -> float:
    return 0.5 * math.exp(-z) if z > 0 else 1.0 - 0.5 * math.exp(z)


def _compute_cauchy_tail(z: float) -> float:
    return math.atan2(1.0, z) / math.pi


def _compute_gumbel_tail(z: float) -> float:
    return -math.expm1(-math.exp(min(-z, 700.0)))


# Probabilities of more than z, and of at most z, of the standard law.
KINDS: Mapping[str, tuple[Callable[[float], float], Callable[[float], float]]] = {
    "laplace": (_compute_laplace_tail, lambda z: _compute_laplace_tail(-z)),
    "normal": (lambda z: float(ndtr(-z)), lambda z: float(ndtr(z))),
    "uniform": (lambda z: min(1.0, max(0.0, 1.0 - z)), lambda z: min(1.0, max(0.0, z))),
    "exponential": (lambda z: math.exp(-max(0.0, z)), lambda z: -math.expm1(-max(0.0, z))),
    "gumbel": (_compute_gumbel_tail, lambda z: math.exp(-math.exp(min(-z, 700.0)))),
    "logistic": (lambda z: float(expit(-z)), lambda z: float(expit(z))),
    "cauchy": (_compute_cauchy_tail, lambda z: _compute_cauchy_tail(-z)),
}


@dataclass(frozen=True)
class StandardDraw:
    """One standard draw: which frozen one, which entry of it, and its first transformation."""

    key: str
    entry: int
    made: str = ""

    @property
    def entries(self) -> frozenset[tuple[str, int]]:
        """The entries of frozen draws of which it is made."""
        own = {(self.key, self.entry)}
        if self.made.startswith("less "):
            entry, _, key = self.made.removeprefix("less ").partition(" of ")
            own.add((key, int(entry)))
        return frozenset(own)


@dataclass(frozen=True)
class NumberLaw:
    """The law of a number: that of ``clip(post(centre + factor * z), low, high)``.

    Parameters
    ----------
    kind
        Of ``z``; ``"constant"`` where no noise reaches the number.
    centre, factor
        Place and scale, the latter with its sign.
    draw
        Which draw ``z`` is.
    post
        How it is rounded; empty if it is not.
    low, high
        Between which it is clipped.
    declared
        Whether the law is what a mechanism of a package says of itself.
    error
        By how much the centre may be off, as doubles are rounded.

    Examples
    --------
    >>> (
    ...     round(NumberLaw("laplace", 0.0, 1.0).at_least(0.0), 3),
    ...     NumberLaw("constant", 2.0).at_least(3.0),
    ... )
    (0.5, 0.0)
    """

    kind: str
    centre: float
    factor: float = 0.0
    draw: StandardDraw | None = None
    post: str = ""
    low: float = -math.inf
    high: float = math.inf
    declared: bool = False
    error: float = field(default=0.0, compare=False)

    @property
    def constant(self) -> bool:
        """Whether it is a single number."""
        return self.kind == "constant"

    def at_least(self, threshold: float) -> float:
        """Return the probability of ``threshold`` and above."""
        if self.constant:
            return float(self.centre >= threshold)
        if threshold > self.high or threshold <= self.low:
            return float(threshold <= self.low)
        return self._tail(_before_rounding(self.post, threshold), above=True)

    def at_most(self, threshold: float) -> float:
        """Return the probability of ``threshold`` and below."""
        if self.constant:
            return float(self.centre <= threshold)
        if threshold >= self.high or threshold < self.low:
            return float(threshold >= self.high)
        if self.post:
            threshold = _before_rounding(self.post, math.floor(threshold) + 1.0)
        return self._tail(threshold, above=False)

    def _tail(self, threshold: float, *, above: bool) -> float:
        z = (threshold - self.centre) / self.factor
        more, less = KINDS[self.kind]
        found = more(z) if above == (self.factor > 0) else less(z)
        # Without an edge, noise goes everywhere: a 0 is a probability that no double is small
        # enough for.
        return found if self.kind in LAWS_WITH_EDGE else max(found, LEAST_DOUBLE)

    def predicted(self, z: Array) -> Array:
        """Return the numbers that draws give."""
        value = self.centre + self.factor * z
        if self.post:
            value = getattr(np, self.post)(value)
        return np.clip(value, self.low, self.high)


def _before_rounding(post: str, threshold: float) -> float:
    """Return from where on a number is rounded to a threshold or above."""
    whole = math.ceil(threshold)
    match post:
        case "round":
            return whole - 0.5
        case "floor":
            return float(whole)
        case "ceil":
            return whole - 1.0
        case "trunc":
            return float(whole if whole > 0 else whole - 1)
    return threshold


# Draws


@dataclass
class StandardDraws:
    """All standard draws of the runs on one dataset, (R, K), with the kind of each."""

    names: list[StandardDraw] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    scales: list[float] = field(default_factory=list)
    declared: list[bool] = field(default_factory=list)
    hints: list[tuple[float, float] | None] = field(default_factory=list)
    columns: list[Array] = field(default_factory=list)
    cut: bool = False

    def add(
        self,
        name: StandardDraw,
        kind: str,
        column: Array,
        scale: float = 1.0,
        declared: bool = False,
        hint: tuple[float, float] | None = None,
    ) -> None:
        """Add one draw."""
        if len(self.names) >= _MOST_DRAWS:
            self.cut = True
        elif np.isfinite(column).all():
            self.names.append(name)
            self.kinds.append(kind)
            self.scales.append(scale)
            self.declared.append(declared)
            self.hints.append(hint)
            self.columns.append(column)

    @property
    def matrix(self) -> Array:
        """The draws, (R, K)."""
        return np.array(self.columns).T if self.columns else np.zeros((0, 0))


def draws_of(side: SideRuns) -> StandardDraws:
    """Return the draws that every run on a dataset made, once each."""
    runs = [*side.runs, *side.far]
    by_key = [{call.key: call for call in run.calls} for run in runs]
    found = StandardDraws()
    waits: tuple[StandardDraw, Array] | None = None
    for key, first in by_key[0].items():
        calls = [one.get(key) for one in by_key]
        if not _is_drawn_in_all_runs(calls, first):
            continue
        columns = np.array([np.ravel(call.draw) for call in calls if call is not None])
        hints = _find_entry_hints([call for call in calls if call is not None])
        for entry in range(columns.shape[1]):
            waits = _add_call_draws(
                found, StandardDraw(key, entry), first, columns[:, entry], waits, hints[entry:]
            )
    return found


def _is_drawn_in_all_runs(calls: Sequence[Call | None], first: Call) -> bool:
    if first.draw is None or np.size(first.draw) == 0:
        return False
    return all(call is not None and np.shape(call.draw) == np.shape(first.draw) for call in calls)


def _find_entry_hints(calls: Sequence[Call]) -> list[tuple[float, float] | None]:
    """Return centre and factor of each entry, where the sum with it was seen and never moves."""
    size = int(np.size(calls[0].draw))
    seen = [_get_seen_centre(call, size) for call in calls]
    first = seen[0]
    if first is None or not all(
        one is not None and np.array_equal(one[0], first[0]) and np.array_equal(one[1], first[1])
        for one in seen
    ):
        return [None] * size
    return [(float(c), float(f)) for c, f in zip(*first, strict=True)]


def _get_seen_centre(call: Call, size: int) -> tuple[Array, Array] | None:
    if call.meetings:
        last = call.meetings[-1]
        centre, factor = last.centre, last.factor
    elif call.location is not None:
        centre, factor = call.location, 1.0
    else:
        return None
    scale = 1.0 if call.scale is None else call.scale
    try:
        both = np.broadcast_arrays(np.ravel(centre), np.ravel(factor * np.asarray(scale)))
        centres, factors = (np.broadcast_to(one, (size,)) for one in both)
    except ValueError:
        return None
    return np.asarray(centres, float), np.asarray(factors, float)


_Waits = tuple[StandardDraw, Array] | None


def _add_call_draws(
    found: StandardDraws,
    name: StandardDraw,
    call: Call,
    column: Array,
    waits: _Waits,
    hints: Sequence[Any],
) -> _Waits:
    """Add a draw, and usual transformations of it: Laplace noise of uniform draws, and so on."""
    hint = hints[0]
    if call.kind in KINDS:
        found.add(name, call.kind, column, hint=hint)
    elif (own := _of_mechanism(call)) is not None:
        found.add(name, own[0], column / own[1], own[1], declared=True, hint=hint)
    waiting: _Waits = None
    if call.kind == "uniform":
        with np.errstate(divide="ignore"):
            # The inverse of Laplace's distribution function, as people write it out by hand.
            signed = -np.sign(column - 0.5) * np.log1p(-2 * np.abs(column - 0.5))
            found.add(StandardDraw(name.key, name.entry, "inverted"), "laplace", signed)
            falling = -np.log(column)
            found.add(
                StandardDraw(name.key, name.entry, "-log(1-u)"), "exponential", -np.log1p(-column)
            )
        found.add(StandardDraw(name.key, name.entry, "-log(u)"), "exponential", falling)
        waiting = (name, falling)
    elif call.kind == "exponential":
        waiting = (name, column)
    if waits is not None and waiting is not None:
        made = f"less {waiting[0].entry} of {waiting[0].key}"
        found.add(
            StandardDraw(waits[0].key, waits[0].entry, made), "laplace", waits[1] - waiting[1]
        )
    return waiting


def _of_mechanism(call: Call) -> tuple[str, float] | None:
    """Return the law that a mechanism of a package documents, and its scale."""
    said = call.declared
    sensitivity, epsilon, delta = (said.get(n, 0.0) for n in ("sensitivity", "epsilon", "delta"))
    if epsilon <= 0 or sensitivity <= 0 or not 0 <= delta < 1:
        return None
    if call.kind == "diffprivlib.Laplace":
        return "laplace", sensitivity / (epsilon - math.log1p(-delta))
    if call.kind == "diffprivlib.Gaussian" and delta > 0:
        return "normal", math.sqrt(2 * math.log(1.25 / delta)) * sensitivity / epsilon
    return None


# Laws


@dataclass
class Laws:
    """The laws of the numbers of an output on one dataset, None where none was read."""

    structure: str | None
    texts: tuple[str, ...] | None
    paths: list[str]
    numbers: list[NumberLaw | None]
    cut: bool = False


def laws_of(side: SideRuns) -> Laws:
    """Return the law of every number of the output on one dataset.

    The structure is None where runs differ in it, and there are then no numbers to compare.
    """
    outputs = [*side.outputs, *side.far_outputs]
    first = outputs[0]
    if any(one.structure != first.structure for one in outputs):
        return Laws(None, None, [], [])
    texts = tuple(first.texts) if all(one.texts == first.texts for one in outputs) else None
    numbers = np.array([one.numbers for one in outputs], dtype=float)
    draws = draws_of(side)
    found = _fit_number_laws(numbers, len(side.outputs), draws)
    return Laws(first.structure, texts, first.paths, found, draws.cut)


def _fit_number_laws(numbers: Array, random: int, draws: StandardDraws) -> list[NumberLaw | None]:
    constant = _find_constant_columns(numbers)
    z = draws.matrix
    found: list[NumberLaw | None] = [
        NumberLaw("constant", float(numbers[0, n])) if constant[n] else None
        for n in range(len(constant))
    ]
    free = [n for n in range(len(constant)) if not constant[n]]
    if not z.size or not free:
        return found
    for n, tried in zip(
        free, _choose_likely_draws(numbers[:random, free], z[:random]), strict=True
    ):
        for k in tried:
            if (law := _fit_law(numbers[:, n], random, z[:, k], draws, int(k))) is not None:
                found[n] = law
                break
    return found


def _find_constant_columns(numbers: Array) -> list[bool]:
    first = numbers[0]
    same = (numbers == first) | (np.isnan(numbers) & np.isnan(first))
    return [bool(one) for one in same.all(axis=0)]


def _choose_likely_draws(numbers: Array, z: Array) -> Iterator[NDArray[np.intp]]:
    """Yield of each number the draws that it follows best."""
    with np.errstate(invalid="ignore", divide="ignore"):
        centred = z - z.mean(axis=0)
        centred = np.nan_to_num(centred / np.sqrt((centred**2).sum(axis=0)))
    # Blocks keep the table of numbers by draws to 32 MB.
    size = max(1, _MOST_CELLS // max(1, z.shape[1]))
    for start in range(0, numbers.shape[1], size):
        part = numbers[:, start : start + size]
        usable = np.isfinite(part).all(axis=0)
        part = np.where(usable, part, 0.0)
        # Correlations, but for a factor of each number: they rank the draws, and a fit decides.
        followed = np.abs((part - part.mean(axis=0)).T @ centred)
        most = min(_TRIED, z.shape[1])
        for row in followed:
            best = np.argpartition(-row, most - 1)[:most]
            yield best[np.argsort(-row[best])]


def _fit_law(o: Array, random: int, z: Array, draws: StandardDraws, k: int) -> NumberLaw | None:
    """Return the law that gives every number of the runs, if there is one."""
    if not np.isfinite(o).all():
        return None
    scale = draws.scales[k]
    own: dict[str, Any] = {"kind": draws.kinds[k], "draw": draws.names[k]}
    own["declared"] = draws.declared[k]
    hint = draws.hints[k]
    seen = None if hint is None else (hint[0], hint[1] * scale)
    for centre, factor in _find_candidate_lines(o, random, z, seen):
        # Rounded numbers leave the centre open: it has to have been seen.
        rounded = (o == np.round(o)).all() and (centre, factor) == seen
        for post in ("", *(ROUNDED if rounded else ())):
            law = NumberLaw(centre=centre, factor=factor, post=post, **own)
            law = replace(law, error=_estimate_law_error(law, o[:random], z[:random]))
            if _is_law_explaining(law, o, z):
                return law
            low, high = float(o.min()), float(o.max())
            for ends in ((low, math.inf), (-math.inf, high), (low, high)):
                if _is_law_explaining(clipped := replace(law, low=ends[0], high=ends[1]), o, z):
                    return clipped
    return None


def _find_candidate_lines(
    o: Array, random: int, z: Array, seen: tuple[float, float] | None
) -> Iterator[tuple[float, float]]:
    """Yield centre and factor: through the runs that are not clipped, and as it was seen."""
    # A number that is clipped is exactly its end in several runs. Noise without clipping hardly
    # ever has a value twice.
    ends = {end for end in (o.min(), o.max()) if (o == end).sum() > 1}
    inside = np.array([one not in ends for one in o])
    near = inside & (np.arange(len(o)) < random)
    if near.sum() >= _LEAST_RUNS:
        for chosen in (inside, near):
            places = np.flatnonzero(chosen)
            # Through the two outermost draws, between which the slope has the most digits.
            p, q = places[np.argmin(z[places])], places[np.argmax(z[places])]
            if z[p] != z[q] and (factor := float((o[q] - o[p]) / (z[q] - z[p]))) != 0:
                yield float(np.median(o[near] - factor * z[near])), factor
    if seen is not None and seen[1] != 0:
        yield seen


def _estimate_precision(o: Array) -> float:
    """Return how far numbers of a run may be off, relative: some are in single precision."""
    single = bool((o == o.astype(np.float32)).all()) and not (o == np.round(o)).all()
    return 3e-7 if single else 1e-13


def _estimate_law_error(law: NumberLaw, o: Array, z: Array) -> float:
    precision = _estimate_precision(o)
    size = (precision if precision > 1e-10 else 1e-15) * float(
        np.abs(o).max() + np.abs(law.factor * z).max()
    )
    return size if law.post else size + float(np.median(np.abs(law.predicted(z) - o)))


def _is_law_explaining(law: NumberLaw, o: Array, z: Array) -> bool:
    if law.factor == 0 or not math.isfinite(law.factor):
        return False
    # Runs at an end fit any line: the law has to explain enough of the others.
    inside = (o > law.low) & (o < law.high)
    if inside.sum() < _LEAST_RUNS:
        return False
    return is_law_held(law, o, z)


def is_law_held(law: NumberLaw, o: Array, z: Array) -> bool:
    """Return whether draws give the numbers of the runs by a law."""
    if not np.isfinite(o).all():
        return False
    missed = np.abs(law.predicted(z) - o)
    allowed = _EXACT * abs(law.factor) * (1 + np.abs(z))
    allowed += _estimate_precision(o) * np.maximum(np.abs(o), abs(law.centre))
    if not law.post:
        return bool((missed <= allowed).all())
    # Rounding of a number in the middle between two may go either way.
    return bool((missed == 0).all())
