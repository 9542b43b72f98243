"""One iteration of one node, and both sides of equations of the proof of Theorem 7.

The node's loss is ``curvature ||w||^2 / 2 - <pull, w>``; its steps are eq. (13a) in closed form and
noise, its dual eq. (15): all rational, so that fractions are exact. Of an equality the difference
of both sides is compared to 0; all differences are relative to 1 plus the sum of the absolute
values of all terms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

from dpaudit.verification import Document, Outcome

_MOST = 20  # inner steps, neighbours, features
_SIZES = ("inner_steps", "neighbours", "dimension")
_Vector = list[Fraction]
_Terms = tuple[list[Fraction], list[Fraction]]


@dataclass(frozen=True)
class _State:
    """The arrays of the instance."""

    penalty: Fraction
    curvature: Fraction
    eta: _Vector
    pull: _Vector
    start: _Vector
    own: _Vector
    next: _Vector
    target: _Vector
    others: list[_Vector]
    dual: list[_Vector]
    later: list[_Vector]
    noise: list[_Vector]


class _Run:
    """The iteration: where its steps lead."""

    def __init__(self, state: _State) -> None:
        self.state, self.penalty, self.target = state, state.penalty, state.target
        self.eta, self.noise, self.dual, self.next = state.eta, state.noise, state.dual, state.next
        self.degree, self.steps = len(state.others), len(state.eta)
        fixed = _plus(state.pull, _times(2, _plus(*state.dual)))
        for other in state.others:
            fixed = _plus(fixed, _times(state.penalty, _plus(state.own, other)))
        self.models = [state.start]
        for r in range(self.steps):
            kept = _times(self.eta[r] - state.curvature, self.models[-1])
            step = _times(1 / self.unit(r), _plus(fixed, kept))
            self.models.append(_plus(step, self.noise[r]))
        self.sent = _times(Fraction(1, self.steps), _plus(*self.models[1:]))
        self.new_dual = [
            _less(dual, _times(self.penalty / 2, _less(self.sent, later)))
            for dual, later in zip(state.dual, state.later, strict=True)
        ]

    def unit(self, r: int) -> Fraction:
        return 2 * self.penalty * self.degree + self.eta[r]

    def gradient(self, r: int) -> _Vector:
        return _less(_times(self.state.curvature, self.models[r]), self.state.pull)

    def added(self, r: int, corrected: bool) -> _Vector:
        unit = self.unit(r)
        return _times(-unit if corrected else 1 / unit, self.noise[r])

    @property
    def before(self) -> list[_Vector]:
        return _halfway(self.state.own, self.state.others)

    @property
    def after(self) -> list[_Vector]:
        return _halfway(self.sent, self.state.later)

    def held(self, r: int) -> _Vector:
        """Return ``gamma_i^{k-1} - rho sum_j (w~^r - (w~_i^{k-1} + w~_j^{k-1}) / 2)``."""
        result = _plus(*self.dual)
        for middle in self.before:
            result = _less(result, _times(self.penalty, _less(self.models[r], middle)))
        return result


def outcome(document: Document, number: int) -> Outcome:
    """Return both sides of the equation of this number, and by how much they break it."""
    document.require_kind("property")
    version = document.choice("version", "published", "corrected")
    factor = document.positive("factor")
    left, right = _SIDES[number](_run(document), version == "corrected")
    sides = _sum(left), factor * _sum(right)
    size = 1 + _size(left) + factor * _size(right)
    over = sides[0] - sides[1]
    if number in _EQUALITIES:
        over = abs(over)
    reservations = [] if version == "published" else ["a corrected equation"]
    if factor > 1:
        reservations.append(f"a right side times {float(factor):g}")
    return Outcome(
        assumptions={},
        quantities={"left side": sides[0], "right side": sides[1], "ratio": 1 + over / size},
        summary=f"eq. ({number}) has {float(sides[0]):.6g} on its left side and "
        f"{float(sides[1]):.6g} on its right",
        reservations=tuple(reservations),
    )


def _size(terms: list[Fraction]) -> Fraction:
    return _sum(abs(term) for term in terms)


def _sum(terms: Iterable[Fraction]) -> Fraction:
    return sum(terms, Fraction(0))


def _run(document: Document) -> _Run:
    steps, degree, d = (_size_of(document, name) for name in _SIZES)
    penalty, curvature = (Fraction(document.array(name, ())) for name in ("penalty", "curvature"))
    eta = _vector(document.array("eta", (steps,)))
    if min(eta) <= 0 or penalty <= 0 or curvature < 0:
        given = {name: document.instance[name] for name in ("eta", "penalty", "curvature")}
        raise document.refused("instance", given, "weights above 0, and a curvature of at least 0")

    def rows(name: str, count: int) -> list[_Vector]:
        return [_vector(row) for row in document.array(name, (count, d))]

    def vector(name: str) -> _Vector:
        return _vector(document.array(name, (d,)))

    state = _State(
        penalty=penalty,
        curvature=curvature,
        eta=eta,
        pull=vector("pull"),
        start=vector("start"),
        own=vector("own"),
        next=vector("next"),
        target=vector("target"),
        others=rows("others", degree),
        dual=rows("dual", degree),
        later=rows("later", degree),
        noise=rows("noise", steps),
    )
    return _Run(state)


def _size_of(document: Document, name: str) -> int:
    value = document.count(name)
    if value > _MOST:
        raise document.refused(f"parameters.{name}", value, f"at most {_MOST}")
    return value


def _vector(numbers: Iterable[float]) -> _Vector:
    return [Fraction(x) for x in numbers]


# --- both sides, term by term -----------------------------------------------------------------


def _eq29(run: _Run, corrected: bool) -> _Terms:
    old, new, *_ = run.models
    slope, x = run.gradient(0), run.added(0, False)
    pushed = _plus(slope, x)
    rest = old if corrected else _less(new, run.noise[0])
    return (
        [_dot(slope, _less(old, run.target))],
        [
            _dot(pushed, _less(new, run.target)),
            _dot(x, _less(run.target, rest)),
            _dot(pushed, _less(old, new)),
        ],
    )


def _eq30(run: _Run, corrected: bool) -> _Terms:
    old, new, *_ = run.models
    away = _less(new, run.target)
    return (
        [_dot(_plus(run.gradient(0), run.added(0, corrected)), away)],
        [run.unit(0) * _dot(_less(old, new), away), 2 * _dot(run.held(0), away)],
    )


def _eq32(run: _Run, corrected: bool) -> _Terms:
    steps, degree, rho = run.steps, run.degree, run.penalty
    aways = [_less(model, run.target) for model in run.models[1:]]
    scattered, moved = Fraction(0), Fraction(0)
    for r, away in enumerate(aways):
        scattered += _dot(_less(run.models[r + 1], run.sent), away)
        moved += _dot(_less(run.models[r], run.models[r + 1]), away)
    last = _less(run.sent, run.target)
    apart = _less(_plus(*run.after), _plus(*run.before))
    return (
        [2 * _sum(_dot(run.held(r), away) for r, away in enumerate(aways)) / steps],
        [
            -2 * rho * degree * scattered / steps,
            2 * _dot(_plus(*run.new_dual), last),
            -2 * rho * degree * moved / steps,
            -2 * rho * _dot(apart, last),
        ],
    )


def _eq33(run: _Run, corrected: bool) -> _Terms:
    found = _sum(_dot(_less(model, run.sent), _less(run.target, model)) for model in run.models[1:])
    return ([found if corrected else Fraction(int(found >= 0))], [Fraction(0)])


def _eq34(run: _Run, corrected: bool) -> _Terms:
    before, after = run.before[0], run.after[0]
    moved = _square(_less(run.new_dual[0], run.dual[0]))
    return (
        [_dot(_less(after, before), _less(run.target, run.sent))],
        [
            _square(_less(before, run.target)) / 2,
            -_square(_less(after, run.target)) / 2,
            moved / (2 * run.penalty**2),
        ],
    )


def _eq36(run: _Run, corrected: bool) -> _Terms:
    steps, target = run.steps, run.target
    sums = [Fraction(0) for _ in range(5)]
    for r in range(steps):
        old, new = run.models[r : r + 2]
        slope, x = run.gradient(r), run.added(r, corrected)
        rest = old if corrected else _less(new, run.noise[r])
        for place, value in enumerate(
            (
                _dot(slope, _less(old, target)),
                run.eta[r] / 2 * _square(_less(old, target)),
                run.eta[r] / 2 * _square(_less(new, target)),
                _square(_plus(slope, x)) / (2 * run.eta[r]),
                _dot(x, _less(target, rest)),
            )
        ):
            sums[place] += value / steps
    moved = _sum(_square(_less(n, o)) for n, o in zip(run.new_dual, run.dual, strict=True))
    last = _less(run.sent if corrected else run.next, target)
    return (
        [sums[0]],
        [
            sums[1],
            -sums[2] if corrected else sums[2],
            sums[3],
            sums[4],
            run.penalty * _sum(_square(_less(one, target)) for one in run.before),
            -run.penalty * _sum(_square(_less(one, target)) for one in run.after),
            moved / run.penalty,
            2 * _dot(_plus(*run.new_dual), last),
        ],
    )


_SIDES: dict[int, Callable[[_Run, bool], _Terms]] = {
    29: _eq29,
    30: _eq30,
    32: _eq32,
    33: _eq33,
    34: _eq34,
    36: _eq36,
}
_EQUALITIES = (29, 30, 32)


def _halfway(own: _Vector, others: list[_Vector]) -> list[_Vector]:
    return [_times(Fraction(1, 2), _plus(own, other)) for other in others]


def _plus(*vectors: _Vector) -> _Vector:
    return [_sum(column) for column in zip(*vectors, strict=True)]


def _less(one: _Vector, other: _Vector) -> _Vector:
    return [a - b for a, b in zip(one, other, strict=True)]


def _times(factor: Fraction | int, vector: _Vector) -> _Vector:
    return [factor * entry for entry in vector]


def _dot(one: _Vector, other: _Vector) -> Fraction:
    return _sum(a * b for a, b in zip(one, other, strict=True))


def _square(vector: _Vector) -> Fraction:
    return _dot(vector, vector)
