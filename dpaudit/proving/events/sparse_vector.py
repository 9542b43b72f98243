r"""Comparisons with one noisy threshold: sparse vector, adaptive and with gaps.

**Theorem.** On a path let comparisons decide the signs ``o_i`` of

    c_i + k_i w + y_i,   i = 1, ..., m,

where w is one variable whose log-density has slopes of at most ``1/b``, every k_i is 1 or -1, the
y_i are independent of it and of each other, and for x >= 0

    P(o_i y_i >= t) <= exp(x / b_i) P(o_i y_i >= t + x).

For some of them let ``c_i + k_i w + y_i`` itself be shown, y_i having a log-density of slopes of at
most ``1/b_i``. Let neighbours have centres that differ by ``d_i = c'_i - c_i``, ``|d_i| <= D_i``,
for the same history. Then the probability of this path (the density of what is shown) changes by a
factor of at most e to the power of

    |s| / b  +  sum over i of  max(0, D_i - o_i k_i s) / b_i          for every number s,

where one that is shown costs ``(D_i + |s|) / b_i``.

*Proof.* Given the history, which says what the c_i are, the probability is the integral over w of
its density times the product of ``P(o_i (c_i + k_i w + y_i) > 0)``. On the neighbour put w + s for
w. The density of w loses at most ``exp(|s| / b)``. Factor i is a tail of ``o_i y_i`` whose
threshold moves up by at most ``-o_i (d_i + k_i s) <= D_i - o_i k_i s``; where that is not above 0
it gains. []

With s = D, all comparisons that end below the threshold are free and one that ends above costs
``2 D / b_i``: this is the sparse vector of Lyu, Su & Li 2017, Theorem 2, of any number of
thresholds that are drawn afresh, of queries with noise of several sizes (Ding and others 2018), and
of gaps that are shown (Wang, Ding, Kifer & Zhang 2019). A comparison without noise of its own, or
with noise that is shown elsewhere, is free or has no bound.

**Theorem (queries that move together).** Where all k_i are -1, let s be ``max(0, max d_j)`` over
those below the threshold. One above costs ``max(0, s - d_i) / b_i``, which is at most the larger of
D_i and the largest ``|d_j - d_i|``: D where all queries of neighbours move in one direction.
Likewise for the others with ``s = min(0, min d_j)`` over those above, and where all k_i are 1.

The factor of a path is its own: other releases of the same path have theirs, given the history.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpaudit.guarantees import rounding
from dpaudit.proving.events.draft import size_of
from dpaudit.proving.events.forms import NoiseForm, form_of, is_same_scale
from dpaudit.proving.events.kinds import ReleaseReader
from dpaudit.proving.events.monotone import direction_of
from dpaudit.proving.events.noise_laws import IndependentNoise, noise_of, tails_of
from dpaudit.proving.events.release_forms import ReleaseMatch
from dpaudit.proving.events.releases import (
    Bounds,
    ReleaseCost,
    common_scale,
    make_pure_spending,
    make_unbounded_error,
)
from dpaudit.proving.program import Node
from dpaudit.proving.refusals import NotProved

_COMPARISONS = frozenset({"less", "less_equal"})
_MOST_TERMS = 4  # of a value that is followed
_MOST_TOGETHER = 8  # comparisons above whose differences from those below are asked for


@dataclass(frozen=True, eq=False)
class ThresholdComparison:
    """The sign of a centre plus threshold noise plus noise of its own.

    Parameters
    ----------
    head
        The comparison, which becomes public.
    centre
        A node.
    outcome
        1 where the difference is above 0 on this path, else -1.
    threshold
        1 or -1: the sign with which the noise of the threshold is part of it.
    rate
        1 over the scale of its own noise in the direction that counts, infinite without any.
    is_shown
        Whether the difference is public.
    """

    head: Node
    centre: int
    outcome: int
    threshold: int
    rate: float
    is_shown: bool

    def cost(self, distance: float, shift: float) -> float:
        """Return the cost when the threshold moves by ``shift``."""
        if self.is_shown:
            short = distance + abs(shift)
        else:
            short = distance - self.outcome * self.threshold * shift
        # Written so that an infinite rate times no distance is 0, not NaN.
        return 0.0 if short <= 0 else self.rate * short


@dataclass(frozen=True, eq=False)
class ThresholdComparisons:
    """All comparisons of a path with one noisy threshold.

    Parameters
    ----------
    parts
        In order.
    scale
        Of the threshold's noise.
    together
        By part that is not free, the nodes of the centres' differences from those that are:
        for comparisons above, and for those below. None where signs differ or they are many.
    """

    parts: tuple[ThresholdComparison, ...]
    scale: float
    together: tuple[dict[int, int] | None, dict[int, int] | None]

    def measure(self, bounds: Bounds) -> ReleaseCost:
        """Return the cost of this path's comparisons.

        Raises
        ------
        NotProved
            No shift of the threshold bounds them.
        """
        moved = [bounds.distance(one.centre).linf for one in self.parts]
        ways = [self._shifted(moved, shift) for shift in self._shifts(moved)]
        ways += [self._together(bounds, moved, outcome) for outcome in (1, -1)]
        if (epsilon := min(ways)) == math.inf:
            first = self.parts[int(np.argmax(moved))]
            raise make_unbounded_error(bounds, first.centre, first.head.place)
        # 64 roundings cover the products and the sum of a path's comparisons.
        spent = make_pure_spending(
            self.parts[0].head, "sparse vector", rounding.bound_above(epsilon, 0.0, 64.0)
        )
        return replace(spent, is_by_path=True)

    def _shifts(self, moved: Sequence[float]) -> list[float]:
        """Return where the cost may be least: it is linear between these."""
        # The cost is piecewise linear in the shift, with corners where a comparison becomes
        # free, at plus or minus its distance.
        ends = {one for one in moved if one < math.inf}
        return sorted({0.0, *ends, *(-one for one in ends)})

    def _shifted(self, moved: Sequence[float], shift: float) -> float:
        each = [one.cost(by, shift) for one, by in zip(self.parts, moved, strict=True)]
        return math.fsum([abs(shift) / self.scale, *each])

    def _together(self, bounds: Bounds, moved: Sequence[float], costly: int) -> float:
        """Return the bound for queries that move together; comparisons of one outcome cost."""
        apart = self.together[0 if costly == 1 else 1]
        if apart is None:
            return math.inf
        shift = max(by for n, by in enumerate(moved) if n not in apart)
        is_one_way = self._is_one_way(bounds)
        each = [
            self.parts[n].rate
            * (max(moved[n], shift) if is_one_way else max(moved[n], bounds.distance(node).linf))
            for n, node in apart.items()
        ]
        return math.fsum([shift / self.scale, *each])

    def _is_one_way(self, bounds: Bounds) -> bool:
        """Return whether no two centres move in opposite directions."""
        ways = [direction_of(bounds, one.centre) for one in self.parts]
        return not (any(one.rises for one in ways) and any(one.falls for one in ways))


def claim_comparisons(reader: ReleaseReader) -> bool:
    """Have comparisons with one noisy threshold be releases by the theorem, where it applies.

    Returns
    -------
    bool
        Whether it does anywhere. It may cost more than to release all that is compared.
    """
    finder = _ComparisonFinder(reader)
    claims = [one for one in map(finder.claim, finder.groups()) if one is not None]
    reader.claim(claims)
    return bool(claims)


@dataclass(frozen=True, eq=False)
class _Difference:
    """The number that a condition compares with 0, and its outcome.

    Parameters
    ----------
    node
        The comparison.
    form
        The larger side less the smaller one.
    outcome
        1 where that is above 0.
    """

    node: Node
    form: NoiseForm
    outcome: int

    def atoms(self) -> tuple[int, ...]:
        """Return the atoms of its terms, one each."""
        return tuple(int(one.atoms.reshape(-1)[0]) for one in self.form.terms)


class _ComparisonFinder:
    """Comparisons on noise of which an atom occurs in several."""

    def __init__(self, reader: ReleaseReader) -> None:
        self.reader = reader
        self.draft = reader.draft
        self.forms: dict[int, NoiseForm | None] = {}
        self.users = reader.draft.program.uses()
        self.outputs = set(reader.draft.program.outputs)
        self.differences = [one for one in self._differences() if self._is_simple(one)]

    def _differences(self) -> Iterator[_Difference]:
        for node in self.draft.program.nodes[: self.draft.own]:
            if node.operation != "decide":
                continue
            outcome, condition = bool(node.parameters["outcome"]), self.draft.node(node.operands[0])
            while condition.operation == "logical_not":
                outcome, condition = not outcome, self.draft.node(condition.operands[0])
            if condition.operation in _COMPARISONS:
                form = self._difference(condition)
                if form is not None:
                    yield _Difference(condition, form, 1 if outcome else -1)

    def _difference(self, node: Node) -> NoiseForm | None:
        """Return the form of the right side less the left one, for one number each."""
        if any(size_of(self.draft.shape(one)) != 1 for one in node.operands):
            return None
        left, right = node.operands
        forms = [self._form(one) for one in (right, left)]
        if all(one is None for one in forms):
            return None
        known = [f or NoiseForm(k) for f, k in zip(forms, (right, left), strict=True)]
        minus = Node(node.index, "subtract", (right, left), {}, node.shape, "float64", node.place)
        return form_of(self.draft, minus, known)

    def _form(self, index: int) -> NoiseForm | None:
        """Return a node's centre and noise; None where it has none that travels."""
        pending = [index]
        while pending:
            at = pending[-1]
            node = self.draft.node(at)
            missing = [one for one in node.operands if one not in self.forms]
            if at in self.forms or not missing or at in self.reader.noise:
                pending.pop()
                self.forms.setdefault(at, self._own_form(node))
            else:
                pending.extend(missing)
        return self.forms[index]

    def _own_form(self, node: Node) -> NoiseForm | None:
        if node.index in self.reader.noise:
            return self.reader.noise[node.index]
        known = [self.forms[one] for one in node.operands]
        if not any(one is not None for one in known):
            return None
        # The theorem takes two terms; longer sums are refused in the end and only cost time.
        if sum(len(one.terms) for one in known if one is not None) > _MOST_TERMS:
            return None
        return form_of(
            self.draft, node, [f or NoiseForm(k) for f, k in zip(known, node.operands, strict=True)]
        )

    def _is_simple(self, difference: _Difference) -> bool:
        """Return whether a difference has one or two atoms, each once."""
        atoms = difference.atoms()
        return 1 <= len(atoms) <= 2 and len(set(atoms)) == len(atoms) and -1 not in atoms

    def groups(self) -> Iterator[tuple[int, list[_Difference]]]:
        """Yield atoms of thresholds, each with the comparisons of which it is part."""
        counts = Counter(atom for one in self.differences for atom in one.atoms())
        # A threshold is known by its noise standing in several comparisons.
        shared = {atom for atom, count in counts.items() if count > 1}
        for atom in sorted(shared):
            yield atom, [one for one in self.differences if atom in one.atoms()]
        for one in self.differences:
            if len(one.atoms()) == 2 and not shared & set(one.atoms()):
                yield one.atoms()[0], [one]

    def claim(self, group: tuple[int, list[_Difference]]) -> ReleaseMatch | None:
        """Return the release of a group of comparisons, None where the theorem does not apply."""
        atom, differences = group
        own = Counter(a for one in differences for a in one.atoms() if a != atom)
        # The y_i have to be independent of each other.
        if any(count > 1 for count in own.values()):
            return None
        carriers = self._carriers({atom, *own})
        shown = self._shown(carriers, differences)
        if shown is None:
            return None
        parts = [self._part(one, atom, is_shown=one in shown.values()) for one in differences]
        scales = {self._scale_of(one, atom) for one in differences}
        known = [one for one in parts if one is not None]
        (scale,) = scales if len(scales) == 1 else (None,)
        if scale is None or len(known) < len(parts):
            return None
        release = ThresholdComparisons(tuple(known), scale, self._together(known))
        public = {one.head.index for one in known} | shown.keys()
        atoms = np.array(sorted({atom, *own}))
        return ReleaseMatch(tuple(sorted(public)), frozenset(carriers - public), atoms, release)

    def _carriers(self, atoms: set[int]) -> set[int]:
        """Return the nodes of which some entry has one of these atoms, and noise that travels."""
        wanted = np.array(sorted(atoms))
        found = {one for one, form in self.forms.items() if self._has(form, wanted)}
        pending = [user for one in found for user in self.users[one]]
        while pending:
            one = pending.pop()
            if one in self.reader.live and one not in self.forms:
                if self._has(self._form(one), wanted):
                    found.add(one)
                    pending.extend(self.users[one])
        return found & self.reader.live

    def _has(self, form: NoiseForm | None, atoms: NDArray[np.int64]) -> bool:
        return form is not None and bool(np.isin(form.atoms(), atoms).any())

    def _shown(
        self, carriers: set[int], differences: Sequence[_Difference]
    ) -> dict[int, _Difference] | None:
        """Return nodes that show the compared value; None where another is used elsewhere."""
        heads = {one.node.index for one in differences}
        found = {}
        for index in carriers:
            users = [one for one in self.users[index] if one in self.reader.live]
            if index not in self.outputs and all(u in carriers or u in heads for u in users):
                continue
            whole = next((one for one in differences if self._shows(index, one)), None)
            if whole is None:
                return None
            found[index] = whole
        return found

    def _shows(self, index: int, difference: _Difference) -> bool:
        """Return whether a node is a difference, or its negative, but for public numbers."""
        form = self.forms[index]
        if form is None or len(form.terms) != 2 or size_of(self.draft.shape(index)) != 1:
            return False
        signs = set()
        ours = {int(one.atoms.reshape(-1)[0]): one for one in form.terms}
        for atom, term in zip(difference.atoms(), difference.form.terms, strict=True):
            if atom not in ours or not is_same_scale(self.draft, ours[atom], term):
                return False
            signs.add(ours[atom].is_negative != term.is_negative)
        # Two terms with signs that turn differently are w - y where the comparison has w + y.
        if len(signs) != 1 or form.centre is None or difference.form.centre is None:
            return False
        sign = -1 if signs.pop() else 1
        theirs = self._linear(difference.form.centre)
        return self._linear(form.centre) == {k: sign * one for k, one in theirs.items()}

    def _linear(self, index: int) -> dict[int, int]:
        """Return a number as a sum of nodes, each so many times, but for public numbers."""
        found, pending = Counter[int](), [(index, 1)]
        while pending:
            at, times = pending.pop()
            node = self.draft.node(at)
            # Public numbers are known to whoever sees the difference.
            if self.draft.value(at) is not None:
                continue
            if node.operation in ("add", "subtract"):
                second = times if node.operation == "add" else -times
                pending += [(node.operands[0], times), (node.operands[1], second)]
            elif node.operation == "negative":
                pending.append((node.operands[0], -times))
            elif node.operation in ("reshape", "broadcast") and size_of(node.shape) == 1:
                pending.append((node.operands[0], times))
            else:
                found[at] += times
        return {one: times for one, times in found.items() if times}

    def _part(
        self, difference: _Difference, atom: int, *, is_shown: bool
    ) -> ThresholdComparison | None:
        signs = self._signs(difference)
        if signs is None or difference.form.centre is None:
            return None
        rate = math.inf
        for n, one in enumerate(difference.atoms()):
            if one != atom:
                rate = self._rate(difference, n, is_shown=is_shown)
        threshold = signs[difference.atoms().index(atom)]
        centre = difference.form.centre
        return ThresholdComparison(
            difference.node, centre, difference.outcome, threshold, rate, is_shown
        )

    def _signs(self, difference: _Difference) -> list[int] | None:
        noises = [self._noise(difference, n) for n in range(len(difference.form.terms))]
        if any(one is None or common_scale(self.draft, one) is None for one in noises):
            return None
        return [-1 if one is not None and one.is_negative else 1 for one in noises]

    def _noise(self, difference: _Difference, n: int) -> IndependentNoise | None:
        alone = NoiseForm(None, (difference.form.terms[n],))
        try:
            return noise_of(self.draft, self.reader.atlas, alone, difference.node)
        except NotProved:
            return None

    def _rate(self, difference: _Difference, n: int, *, is_shown: bool) -> float:
        """Return how fast the logarithm of the tail falls in which a comparison ends."""
        noise = self._noise(difference, n)
        scale = None if noise is None else common_scale(self.draft, noise)
        if noise is None or scale is None:
            return math.inf
        tails = tails_of(noise)
        # A comparison that ends above 0 needs its own noise to be large, one that ends below,
        # small.
        slope = tails.right if difference.outcome == 1 else tails.left
        return rounding.bound_above((tails.density if is_shown else slope) / scale, 0.0)

    def _scale_of(self, difference: _Difference, atom: int) -> float | None:
        """Return the scale of the threshold's noise where its law is one of the theorem's."""
        noise = self._noise(difference, difference.atoms().index(atom))
        # The shift of the threshold needs a density with a bounded slope; a tail is not enough.
        if noise is None or tails_of(noise).density != 1:
            return None
        return common_scale(self.draft, noise)

    def _together(
        self, parts: Sequence[ThresholdComparison]
    ) -> tuple[dict[int, int] | None, dict[int, int] | None]:
        # The theorem of queries that move together is of one sign of the threshold.
        if len({one.threshold for one in parts}) > 1:
            return None, None
        return self._apart(parts, 1), self._apart(parts, -1)

    def _apart(self, parts: Sequence[ThresholdComparison], costly: int) -> dict[int, int] | None:
        """Append the differences of each part that costs and all that are free."""
        costs = [n for n, one in enumerate(parts) if one.is_shown or one.outcome == costly]
        free = [n for n in range(len(parts)) if n not in costs]
        if len(costs) > _MOST_TOGETHER or not free:
            return None
        return {n: self._from_all(parts, n, free) for n in costs}

    def _from_all(
        self, parts: Sequence[ThresholdComparison], one: int, others: Sequence[int]
    ) -> int:
        row = self._row([parts[n].centre for n in others])
        own = self.draft.broadcast(self._row([parts[one].centre]), (len(others),))
        return self.draft.apply("subtract", [row, own], place=parts[one].head.place)

    def _row(self, centres: Sequence[int]) -> int:
        pieces = [
            self.draft.program.add("reshape", [one], shape=(1,), place=self.draft.node(one).place)
            for one in centres
        ]
        return self.draft.program.add("concatenate", pieces, shape=(len(pieces),), axis=0)
