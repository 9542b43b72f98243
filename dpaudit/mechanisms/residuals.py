r"""The exactness of the solvers: every residual reached, beside the tolerance it was held to.

Solvers deep inside an algorithm return minimisers, not diagnostics. They hand what they reached to
`report_residuals`, and whoever wants to know opens a `record_residuals` block around a run. Outside
such a block nothing is kept. A solver stops where it has measured that its tolerance is met, or
where its stopping rule proves it, and raises `ConvergenceError` otherwise, inside such a block and
outside. Inside, `report_residuals` holds what was measured to the tolerance once more.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace

import numpy as np

from dpaudit._typing import Array
from dpaudit.errors import ConvergenceError


@dataclass(frozen=True, kw_only=True)
class SolverResidual:
    """The residual that one solver reached over a run.

    Parameters
    ----------
    solver, measure
        Which solver, and what its residual measures.
    problems
        How many problems it solved; each trial and each sample counts.
    worst
        The largest residual of them.
    tolerance
        What it was held to.
    """

    solver: str
    measure: str
    problems: int
    worst: float
    tolerance: float

    def __str__(self) -> str:
        limit = f"at most {self.worst:.1e}, allowed {self.tolerance:.1e}"
        return f"{self.solver}: {self.measure} {limit}, {self.problems:,} problems"


@dataclass
class Residuals:
    """The residuals of all solvers within a `record_residuals` block."""

    _reached: dict[tuple[str, float], SolverResidual] = field(default_factory=dict)

    def add(self, new: SolverResidual) -> None:
        """Merge with the residual that the same solver reached before at the same tolerance."""
        key = new.solver, new.tolerance
        old = self._reached.get(key)
        if old is not None:
            worst = max(old.worst, new.worst)
            new = replace(new, problems=old.problems + new.problems, worst=worst)
        self._reached[key] = new

    @property
    def reached(self) -> tuple[SolverResidual, ...]:
        """One entry for each solver and tolerance."""
        return tuple(self._reached.values())

    def lines(self) -> tuple[str, ...]:
        """Return one sentence for each entry."""
        return tuple(str(reached) for reached in self.reached)


_recording: ContextVar[Residuals | None] = ContextVar("residuals", default=None)


@contextmanager
def record_residuals() -> Iterator[Residuals]:
    """Collect the residuals of every solver of this process and thread inside the block.

    Examples
    --------
    >>> with record_residuals() as residuals:
    ...     report_residuals(
    ...         "argmin", np.array([1e-13, 4e-13]), tolerance=1e-12, measure="gradient"
    ...     )
    >>> residuals.lines()
    ('argmin: gradient at most 4.0e-13, allowed 1.0e-12, 2 problems',)
    """
    residuals = Residuals()
    token = _recording.set(residuals)
    try:
        yield residuals
    finally:
        _recording.reset(token)


def is_recording_residuals() -> bool:
    """Return whether anybody listens: a residual that costs extra need not be computed if not."""
    return _recording.get() is not None


def report_residuals(solver: str, residuals: Array, *, tolerance: float, measure: str) -> None:
    """Say which residuals a solver reached; any shape, one entry a problem, trials first.

    Raises
    ------
    ConvergenceError
        Within a `record_residuals` block: a residual is above the tolerance, or not a number.
    """
    residuals_so_far = _recording.get()
    if residuals_so_far is None or not residuals.size:
        return
    # NaN is not at most the tolerance, so that it fails.
    met = residuals <= tolerance
    if not met.all():
        first = np.unravel_index(int(np.argmin(met)), residuals.shape)
        raise ConvergenceError(
            f"{solver}: trial {first[0]} has a {measure} of {residuals[first]:.1e}, "
            f"expected at most {tolerance:.1e}"
        )
    residuals_so_far.add(
        SolverResidual(
            solver=solver,
            measure=measure,
            problems=residuals.size,
            worst=float(residuals.max()),
            tolerance=tolerance,
        )
    )


@contextmanager
def add_error_place(where: str) -> Iterator[None]:
    """Name the place in the message of a `ConvergenceError` that leaves the block.

    Examples
    --------
    >>> with add_error_place("node 2, iteration 7"):
    ...     raise ConvergenceError("argmin: trial 0 has not converged")
    Traceback (most recent call last):
    dpaudit.errors.ConvergenceError: node 2, iteration 7: argmin: trial 0 has not converged
    """
    try:
        yield
    except ConvergenceError as error:
        raise ConvergenceError(f"{where}: {error}") from error
