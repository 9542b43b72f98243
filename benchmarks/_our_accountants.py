"""The time of every accountant of ours on every kind of event it supports, from one to 10,000."""

from __future__ import annotations

import time
from collections.abc import Callable

from rich.console import Console
from rich.table import Table

from dpaudit.accounting.composition import (
    approximate_parts,
    compose_advanced_heterogeneous,
    compose_basic,
    gaussian_guarantee,
)
from dpaudit.accounting.events import (
    ApproximateRelease,
    Event,
    ExponentialNormRelease,
    GaussianRelease,
    LaplaceRelease,
    ObjectivePerturbation,
    PoissonSubsampledGaussian,
    repeat_event,
)
from dpaudit.accounting.grid.numerical import numerical_epsilon
from dpaudit.accounting.optimal import optimal_heterogeneous
from dpaudit.accounting.renyi import RenyiCurveDP, compute_zcdp_guarantee
from dpaudit.accounting.series.contour import contour_epsilon
from dpaudit.accounting.series.inversion import bound_epsilon_by_inversion
from dpaudit.errors import ConvergenceError, UnsupportedEvent

COUNTS = (1, 10, 100, 1000, 10_000)

EVENTS: dict[str, Event] = {
    "Gaussian": GaussianRelease(sensitivity=1.0, noise_scale=20.0),
    "Laplace": LaplaceRelease(sensitivity=1.0, noise_scale=20.0),
    "exponential norm, d 105": ExponentialNormRelease(
        sensitivity=0.5, noise_rate=1.0, dimension=105
    ),
    "objective perturbation, d 104": ObjectivePerturbation(
        sensitivity=0.5, noise_rate=1.0, dimension=104, log_determinant=0.001
    ),
    "randomised response": ApproximateRelease(epsilon=0.1),
    "subsampled Gaussian, q .01": PoissonSubsampledGaussian(
        sampling_ratio=0.01, noise_multiplier=1.0
    ),
}

ACCOUNTANTS: dict[str, Callable[[Event, float], object]] = {
    "basic": lambda event, delta: compose_basic(event),
    "advanced": lambda event, delta: compose_advanced_heterogeneous(
        approximate_parts(event), delta
    ),
    "optimal": lambda event, delta: optimal_heterogeneous(approximate_parts(event)).epsilon(delta),
    "zcdp": lambda event, delta: compute_zcdp_guarantee(event).epsilon(delta),
    "renyi": lambda event, delta: RenyiCurveDP(event).epsilon(delta),
    "gaussian": lambda event, delta: gaussian_guarantee(event).epsilon(delta),
    "numerical": numerical_epsilon,
    "inversion": bound_epsilon_by_inversion,
    "contour": contour_epsilon,
}

Answer = dict[str, str | int | float]


def times(delta: float) -> list[Answer]:
    """Return the seconds of every first answer in this process, or why there is none."""
    return [
        {"accountant": name, "event": kind, "count": count, **first(run, event, count, delta)}
        for name, run in ACCOUNTANTS.items()
        for kind, event in EVENTS.items()
        for count in COUNTS
    ]


def first(run: Callable[[Event, float], object], event: Event, count: int, delta: float) -> Answer:
    start = time.perf_counter()
    try:
        answer = str(run(repeat_event(event, count), delta))
    except (UnsupportedEvent, ConvergenceError) as error:
        return {"refused": type(error).__name__}
    return {"seconds": time.perf_counter() - start, "answer": answer}


def show_times(answers: list[Answer], console: Console) -> None:
    """Print the slowest answer of each accountant for each kind of event."""
    table = Table(title=f"slowest first answer over T in {COUNTS}, ms; '-': no theorem, '*': some")
    table.add_column("accountant")
    for kind in EVENTS:
        table.add_column(kind, justify="right")
    for name in ACCOUNTANTS:
        mine = [answer for answer in answers if answer["accountant"] == name]
        table.add_row(name, *(slowest([a for a in mine if a["event"] == kind]) for kind in EVENTS))
    console.print(table)
    answered = [answer for answer in answers if "seconds" in answer]
    worst = max(answered, key=lambda answer: float(answer["seconds"]))
    console.print(f"the slowest of {len(answered)} answers: {worst}")


def slowest(answers: list[Answer]) -> str:
    seconds = [float(answer["seconds"]) for answer in answers if "seconds" in answer]
    if not seconds:
        return "-" if answers[0]["refused"] == "UnsupportedEvent" else "refused"
    return f"{1e3 * max(seconds):.3g}" + ("*" if len(seconds) < len(answers) else "")
