"""Re-checks violations of equations of Huang & Gong's proof: both sides, from the iteration alone.

The claim that a certificate names says which equation is recomputed.

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

# As many as the claims' own parameters allow.
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
        fixed = _add_fraction_vectors(
            state.pull, _multiply_fraction_vector(2, _add_fraction_vectors(*state.dual))
        )
        for other in state.others:
            fixed = _add_fraction_vectors(
                fixed,
                _multiply_fraction_vector(state.penalty, _add_fraction_vectors(state.own, other)),
            )
        self.models = [state.start]
        for r in range(self.steps):
            # Eq. (13a): the gradient's curvature comes off the proximal weight.
            kept = _multiply_fraction_vector(self.eta[r] - state.curvature, self.models[-1])
            step = _multiply_fraction_vector(1 / self.unit(r), _add_fraction_vectors(fixed, kept))
            self.models.append(_add_fraction_vectors(step, self.noise[r]))
        self.sent = _multiply_fraction_vector(
            Fraction(1, self.steps), _add_fraction_vectors(*self.models[1:])
        )
        self.new_dual = [
            _subtract_fraction_vectors(
                dual,
                _multiply_fraction_vector(
                    self.penalty / 2, _subtract_fraction_vectors(self.sent, later)
                ),
            )
            for dual, later in zip(state.dual, state.later, strict=True)
        ]

    def unit(self, r: int) -> Fraction:
        return 2 * self.penalty * self.degree + self.eta[r]

    def gradient(self, r: int) -> _Vector:
        return _subtract_fraction_vectors(
            _multiply_fraction_vector(self.state.curvature, self.models[r]), self.state.pull
        )

    def added(self, r: int, corrected: bool) -> _Vector:
        unit = self.unit(r)
        return _multiply_fraction_vector(-unit if corrected else 1 / unit, self.noise[r])

    @property
    def before(self) -> list[_Vector]:
        return _compute_edge_midpoints(self.state.own, self.state.others)

    @property
    def after(self) -> list[_Vector]:
        return _compute_edge_midpoints(self.sent, self.state.later)

    def held(self, r: int) -> _Vector:
        """Return ``gamma_i^{k-1} - rho sum_j (w~^r - (w~_i^{k-1} + w~_j^{k-1}) / 2)``."""
        result = _add_fraction_vectors(*self.dual)
        for middle in self.before:
            result = _subtract_fraction_vectors(
                result,
                _multiply_fraction_vector(
                    self.penalty, _subtract_fraction_vectors(self.models[r], middle)
                ),
            )
        return result


def recompute(document: Document) -> Outcome:
    """Return both sides of the equation that the certificate names, and by how much they break it.

    Raises
    ------
    DataError
        The claim is none of the equations, a parameter is outside its domain, or an array does not
        have the shape they say.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from dpaudit.verification import Document
    >>> document = Document(
    ...     path="c.json",
    ...     claim="huang2020-equation29",
    ...     kind="property",
    ...     parameters={
    ...         "inner_steps": 1, "neighbours": 1, "dimension": 1, "version": "published",
    ...         "factor": 1.0,
    ...     },
    ...     quantities={},
    ...     assumptions={},
    ...     instance={
    ...         "penalty": 1.0, "curvature": 1.0, "eta": [2.0], "pull": [0.0], "start": [1.0],
    ...         "own": [1.0], "others": [[1.0]], "dual": [[2.0]], "noise": [[1.0]],
    ...         "later": [[1.0]], "next": [-3.0], "target": [0.0],
    ...     },
    ... )
    >>> for number in (29, 30, 32, 33, 34, 36):
    ...     found = recompute(replace(document, claim=f"huang2020-equation{number}")).quantities
    ...     print(number, float(found["left side"]), float(found["right side"]))
    29 1.0 0.8125
    30 3.4375 -8.25
    32 11.0 11.0
    33 1.0 0.0
    34 -2.40625 -0.875
    36 1.0 0.015625
    """
    document.require_kind("property")
    number = _find_equation_number(document)
    version = document.choice("version", "published", "corrected")
    factor = document.positive("factor")
    left, right = _SIDES[number](_read_iteration_run(document), version == "corrected")
    sides = _sum_fraction_terms(left), factor * _sum_fraction_terms(right)
    # All differences are relative to the sizes of what is compared, 1 at least.
    size = 1 + _sum_absolute_terms(left) + factor * _sum_absolute_terms(right)
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


def _find_equation_number(document: Document) -> int:
    for number in _SIDES:
        if document.claim == f"huang2020-equation{number}":
            return number
    raise document.refused("claim", document.claim, "an equation of the proof")


def _sum_absolute_terms(terms: list[Fraction]) -> Fraction:
    return _sum_fraction_terms(abs(term) for term in terms)


def _sum_fraction_terms(terms: Iterable[Fraction]) -> Fraction:
    return sum(terms, Fraction(0))


def _read_iteration_run(document: Document) -> _Run:
    steps, degree, d = (_size_of(document, name) for name in _SIZES)
    penalty, curvature = (Fraction(document.array(name, ())) for name in ("penalty", "curvature"))
    eta = _convert_to_fraction_vector(document.array("eta", (steps,)))
    # Weights stand below the line.
    if min(eta) <= 0 or penalty <= 0 or curvature < 0:
        given = {name: document.instance[name] for name in ("eta", "penalty", "curvature")}
        raise document.refused("instance", given, "weights above 0, and a curvature of at least 0")

    def rows(name: str, count: int) -> list[_Vector]:
        return [_convert_to_fraction_vector(row) for row in document.array(name, (count, d))]

    def vector(name: str) -> _Vector:
        return _convert_to_fraction_vector(document.array(name, (d,)))

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


def _convert_to_fraction_vector(numbers: Iterable[float]) -> _Vector:
    return [Fraction(x) for x in numbers]


# --- both sides, term by term -----------------------------------------------------------------


def _compute_equation29_terms(run: _Run, corrected: bool) -> _Terms:
    old, new, *_ = run.models
    slope, x = run.gradient(0), run.added(0, False)
    pushed = _add_fraction_vectors(slope, x)
    rest = old if corrected else _subtract_fraction_vectors(new, run.noise[0])
    return (
        [_compute_vector_dot(slope, _subtract_fraction_vectors(old, run.target))],
        [
            _compute_vector_dot(pushed, _subtract_fraction_vectors(new, run.target)),
            _compute_vector_dot(x, _subtract_fraction_vectors(run.target, rest)),
            _compute_vector_dot(pushed, _subtract_fraction_vectors(old, new)),
        ],
    )


def _compute_equation30_terms(run: _Run, corrected: bool) -> _Terms:
    old, new, *_ = run.models
    away = _subtract_fraction_vectors(new, run.target)
    return (
        [
            _compute_vector_dot(
                _add_fraction_vectors(run.gradient(0), run.added(0, corrected)), away
            )
        ],
        [
            run.unit(0) * _compute_vector_dot(_subtract_fraction_vectors(old, new), away),
            2 * _compute_vector_dot(run.held(0), away),
        ],
    )


def _compute_equation32_terms(run: _Run, corrected: bool) -> _Terms:
    steps, degree, rho = run.steps, run.degree, run.penalty
    aways = [_subtract_fraction_vectors(model, run.target) for model in run.models[1:]]
    scattered, moved = Fraction(0), Fraction(0)
    for r, away in enumerate(aways):
        scattered += _compute_vector_dot(
            _subtract_fraction_vectors(run.models[r + 1], run.sent), away
        )
        moved += _compute_vector_dot(
            _subtract_fraction_vectors(run.models[r], run.models[r + 1]), away
        )
    last = _subtract_fraction_vectors(run.sent, run.target)
    apart = _subtract_fraction_vectors(
        _add_fraction_vectors(*run.after), _add_fraction_vectors(*run.before)
    )
    return (
        [
            2
            * _sum_fraction_terms(
                _compute_vector_dot(run.held(r), away) for r, away in enumerate(aways)
            )
            / steps
        ],
        [
            -2 * rho * degree * scattered / steps,
            2 * _compute_vector_dot(_add_fraction_vectors(*run.new_dual), last),
            -2 * rho * degree * moved / steps,
            -2 * rho * _compute_vector_dot(apart, last),
        ],
    )


def _compute_equation33_terms(run: _Run, corrected: bool) -> _Terms:
    found = _sum_fraction_terms(
        _compute_vector_dot(
            _subtract_fraction_vectors(model, run.sent),
            _subtract_fraction_vectors(run.target, model),
        )
        for model in run.models[1:]
    )
    # The strict inequality is encoded as a yes or no, since 0 < 0 has no excess to measure.
    return ([found if corrected else Fraction(int(found >= 0))], [Fraction(0)])


def _compute_equation34_terms(run: _Run, corrected: bool) -> _Terms:
    before, after = run.before[0], run.after[0]
    moved = _compute_vector_square(_subtract_fraction_vectors(run.new_dual[0], run.dual[0]))
    return (
        [
            _compute_vector_dot(
                _subtract_fraction_vectors(after, before),
                _subtract_fraction_vectors(run.target, run.sent),
            )
        ],
        [
            _compute_vector_square(_subtract_fraction_vectors(before, run.target)) / 2,
            -_compute_vector_square(_subtract_fraction_vectors(after, run.target)) / 2,
            moved / (2 * run.penalty**2),
        ],
    )


def _compute_equation36_terms(run: _Run, corrected: bool) -> _Terms:
    steps, target = run.steps, run.target
    sums = [Fraction(0) for _ in range(5)]
    for r in range(steps):
        old, new = run.models[r : r + 2]
        slope, x = run.gradient(r), run.added(r, corrected)
        # As printed, the noise-free model of the step; as derived, the noisy one before it.
        rest = old if corrected else _subtract_fraction_vectors(new, run.noise[r])
        for place, value in enumerate(
            (
                _compute_vector_dot(slope, _subtract_fraction_vectors(old, target)),
                run.eta[r] / 2 * _compute_vector_square(_subtract_fraction_vectors(old, target)),
                run.eta[r] / 2 * _compute_vector_square(_subtract_fraction_vectors(new, target)),
                _compute_vector_square(_add_fraction_vectors(slope, x)) / (2 * run.eta[r]),
                _compute_vector_dot(x, _subtract_fraction_vectors(target, rest)),
            )
        ):
            sums[place] += value / steps
    moved = _sum_fraction_terms(
        _compute_vector_square(_subtract_fraction_vectors(n, o))
        for n, o in zip(run.new_dual, run.dual, strict=True)
    )
    last = _subtract_fraction_vectors(run.sent if corrected else run.next, target)
    return (
        [sums[0]],
        [
            sums[1],
            # Printed is a plus; eq. (31) gives a minus.
            -sums[2] if corrected else sums[2],
            sums[3],
            sums[4],
            run.penalty
            * _sum_fraction_terms(
                _compute_vector_square(_subtract_fraction_vectors(one, target))
                for one in run.before
            ),
            -run.penalty
            * _sum_fraction_terms(
                _compute_vector_square(_subtract_fraction_vectors(one, target)) for one in run.after
            ),
            moved / run.penalty,
            2 * _compute_vector_dot(_add_fraction_vectors(*run.new_dual), last),
        ],
    )


_SIDES: dict[int, Callable[[_Run, bool], _Terms]] = {
    29: _compute_equation29_terms,
    30: _compute_equation30_terms,
    32: _compute_equation32_terms,
    33: _compute_equation33_terms,
    34: _compute_equation34_terms,
    36: _compute_equation36_terms,
}
_EQUALITIES = (29, 30, 32)


def _compute_edge_midpoints(own: _Vector, others: list[_Vector]) -> list[_Vector]:
    return [
        _multiply_fraction_vector(Fraction(1, 2), _add_fraction_vectors(own, other))
        for other in others
    ]


def _add_fraction_vectors(*vectors: _Vector) -> _Vector:
    return [_sum_fraction_terms(column) for column in zip(*vectors, strict=True)]


def _subtract_fraction_vectors(one: _Vector, other: _Vector) -> _Vector:
    return [a - b for a, b in zip(one, other, strict=True)]


def _multiply_fraction_vector(factor: Fraction | int, vector: _Vector) -> _Vector:
    return [factor * entry for entry in vector]


def _compute_vector_dot(one: _Vector, other: _Vector) -> Fraction:
    return _sum_fraction_terms(a * b for a, b in zip(one, other, strict=True))


def _compute_vector_square(vector: _Vector) -> Fraction:
    return _compute_vector_dot(vector, vector)
