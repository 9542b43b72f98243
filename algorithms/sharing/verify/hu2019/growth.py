r"""Re-checks from a certificate alone that a run of hu2019 grows for ever, and a number of it.

For the squared loss a step ``e`` of ``(x_1, ..., x_M, z)`` is followed by ``A e``. Checked is

1. ``det(mu I - A)`` changes its sign within 1e-9 of the stated mu: an eigenvalue mu is there;
2. an entry of ``adj(mu I - A) e`` that belongs to z is not 0 at any number that near: it is, up to
   its sign, the determinant of ``mu I - A`` bordered by e and the unit vector of the entry.

So a generating function of the steps of z has a pole at 1/mu, and they grow like ``|mu|^t``: where
``|mu|`` is above 1 what the claims say of a run for ever is false. The number is one that a claim
is about, of the states after iterations ``iteration - 1`` to ``last``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dpaudit.algorithms.sharing.verify.hu2019.iterations import (
    CertificateProblem,
    CertificateState,
    problem_of,
    run_sharing_iteration,
    run_to_audited_step,
)
from dpaudit.errors import VerbatimText
from dpaudit.verification import Document, Outcome
from dpaudit.verification.reals import Matrix, Real, identity, smallest

GROWING = "growing steps"
_NEAR = 1e-9  # relative, of the eigenvalue and the number that is stated
_MOST = 60  # entries of a step
_LONGEST = 400  # iterations

Measure = Callable[[CertificateProblem, Sequence[CertificateState]], Real]


def verify_growing_run(
    document: Document, quantity: str, measure: Measure, conclusion: str
) -> Outcome:
    """Return every assumption, by how much steps grow, and a number of the run.

    Parameters
    ----------
    document
        The certificate, of a problem with the squared loss.
    quantity, measure
        What the number is, and the number: the claim is that it is at most 1.
    conclusion
        What follows from a growth above 1, to end the summary's sentence.

    Raises
    ------
    DataError
        A parameter is outside its domain, an array does not have the shape they say, or the stated
        number is no eigenvalue that the step has.

    Examples
    --------
    >>> zero = [0.0]
    >>> document = Document(
    ...     path="c.json",
    ...     claim="hu2019-lemma5",
    ...     kind="property",
    ...     parameters={
    ...         "parties": 1, "features": 1, "samples": 1, "penalty": 3.0, "factor": 0.5,
    ...         "regulariser_weight": 0.0, "loss": "squared", "loss_weight": 1.0, "iteration": 2,
    ...         "eigenvalue": 0.75, "last": 3,
    ...     },
    ...     quantities={},
    ...     assumptions={},
    ...     instance={
    ...         "designs": [[[1.0]]], "labels": [1.0], "models": [zero], "prediction": zero,
    ...         "dual": zero,
    ...     },
    ... )
    >>> def count(_, states):
    ...     return Real(len(states))
    >>> found = verify_growing_run(document, "states", count, "they grow")
    >>> round(float(found.quantities["growth"]), 6), float(found.quantities["ratio"])
    (0.75, 6.0)
    """
    document.require_kind("property")
    document.choice("loss", "squared")
    m, n, d = (document.count(name) for name in ("parties", "samples", "features"))
    if m * d + n > _MOST:
        raise document.refused("parameters.parties", m, f"at most {_MOST} entries of a step")
    problem, factor = problem_of(document), document.positive("factor")
    low, high = _enclose_eigenvalue(document)
    before, after = run_to_audited_step(document, problem)
    moves, step = linear_map(problem), _flatten_state_step(before, after)
    _require_eigenvalue(document, moves, low, high)
    _require_part(document, moves, step, Real(low.ball.union(high.ball)))
    rate = smallest((abs(low), abs(high)))
    value = measure(problem, _run_growing_states(document, problem, (before, after)))
    return Outcome(
        assumptions=problem.assumptions()
        | {"reached by an iteration": (2, document.count("iteration")), GROWING: (1, rate)},
        quantities={quantity: value, "growth": rate, "ratio": value / factor},
        summary=f"steps of z are multiplied by {float(low):.6g} in every iteration, and the "
        f"{quantity} is {float(value):.6g}{': ' + conclusion if rate > 1 else ''}",
        reservations=() if factor == 1 else (f"{float(factor):g} times what is claimed allowed",),
    )


def _run_growing_states(
    document: Document, problem: CertificateProblem, step: tuple[CertificateState, CertificateState]
) -> list[CertificateState]:
    """Return the states from the one before the audited iteration to the last one."""
    first, last = document.count("iteration"), document.count("last")
    if not first <= last <= _LONGEST:
        raise document.refused("parameters.last", last, f"from iteration {first} to {_LONGEST}")
    states = list(step)
    for _ in range(first, last):
        states.append(run_sharing_iteration(problem, states[-1]))
    return states


def _enclose_eigenvalue(document: Document) -> tuple[Real, Real]:
    stated = document.number("parameters", "eigenvalue")
    if stated == 0:
        raise document.refused("parameters.eigenvalue", stated, "another number than 0")
    return Real(stated) * (1 - Real(_NEAR)), Real(stated) * (1 + Real(_NEAR))


def linear_map(problem: CertificateProblem) -> Matrix:
    """Return A: by (6), (7) and (8), with ``y = c (z - b)``."""
    rho, c = problem.rho, problem.weight
    n, d, m = problem.designs[0].rows, problem.designs[0].cols, len(problem.designs)
    joined = [[design[i, j] for design in problem.designs for j in range(d)] for i in range(n)]
    rows: list[list[Real]] = []
    for place, design in enumerate(problem.designs):
        others = [
            [Real(0) if j // d == place else rho * joined[i][j] for j in range(m * d)]
            + [c - rho if i == j else Real(0) for j in range(n)]
            for i in range(n)
        ]
        curvature = problem.ridge * identity(d) + rho * (design.T * design)
        moved = curvature.solve(-(design.T * Matrix(others)))
        rows += [moved.row(j) for j in range(d)]
    centre = rho * (Matrix(joined) * Matrix(rows))
    for i in range(n):
        row = centre.row(i)
        row[m * d + i] = row[m * d + i] + c
        rows.append([entry / (c + rho) for entry in row])
    return Matrix(rows)


def _flatten_state_step(before: CertificateState, after: CertificateState) -> list[Real]:
    models = zip(after.models, before.models, strict=True)
    pairs = [*models, (after.prediction, before.prediction)]
    return [entry for new, old in pairs for entry in (new - old).entries()]


def _require_eigenvalue(document: Document, moves: Matrix, low: Real, high: Real) -> None:
    def side(mu: Real) -> bool:
        return (mu * identity(moves.rows) - moves).det() > 0

    if side(low) == side(high):
        stated = document.number("parameters", "eigenvalue")
        raise document.refused("parameters.eigenvalue", stated, "an eigenvalue of the iterations")


def _require_part(document: Document, moves: Matrix, step: list[Real], mu: Real) -> None:
    """Refuse a step of which no entry of z has the eigenvalue."""
    size, n = moves.rows, document.count("samples")
    shifted = mu * identity(size) - moves
    for place in range(size - n, size):
        unit = [Real(int(j == place)) for j in range(size)]
        bordered = [[*shifted.row(i), step[i]] for i in range(size)] + [[*unit, Real(0)]]
        if not Matrix(bordered).det().ball.contains(0):
            return
    raise document.refused(
        "instance", VerbatimText("a start whose steps do not grow"), "one that grows"
    )
