"""Questions for accountants: releases, deltas, epsilons and orders, ordinary ones and corners.

A release is plain data, as another package's environment gets it; `event` is what it means here.

    kind               parameters       the release, of sensitivity 1, ``count`` times
    gaussian           noise            standard deviation of Gaussian noise
    laplace            noise            scale of Laplace noise
    discrete-laplace   noise            scale of discrete Laplace noise on integers
    discrete-gaussian  noise            parameter sigma of discrete Gaussian noise on integers
    response           epsilon          the truth of two answers with odds exp(epsilon)
    pure               epsilon          all that is known is epsilon-DP
    approximate        epsilon, delta   all that is known is (epsilon, delta)-DP
    concentrated       rho              all that is known is rho-zCDP
    sampled            ratio, noise     Gaussian noise on a Poisson sample's sum
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

Asks = Literal["epsilon", "delta", "renyi", "noise", "advantage", "spent", "errors"]
Part = Mapping[str, Any]

PARAMETERS = {
    "gaussian": ("noise",),
    "laplace": ("noise",),
    "discrete-laplace": ("noise",),
    "discrete-gaussian": ("noise",),
    "response": ("epsilon",),
    "pure": ("epsilon",),
    "approximate": ("epsilon", "delta"),
    "concentrated": ("rho",),
    "sampled": ("ratio", "noise"),
}
DELTA = 1e-5  # where no other is asked for


@dataclass(frozen=True)
class AccountantQuestion:
    """A question for an accountant.

    Parameters
    ----------
    release
        The parts, one after the other, as `make_release_part` makes them.
    asks
        ``epsilon`` at a delta, ``delta`` at an epsilon, the ``renyi`` divergence at an order, the
        ``advantage`` of the best attack, the least ``noise`` for epsilon and delta, what has
        been ``spent``: an epsilon and a delta of the accountant's own choice; or, of what bounds
        epsilon from below by an attack's scores, in how many audits of how many it is in error.
    at
        The delta, epsilon or order; of a noise the delta, of what was spent the slack, of errors
        the confidence.
    epsilon
        Of a noise.
    """

    release: tuple[tuple[tuple[str, float | int | str], ...], ...]
    asks: Asks = "epsilon"
    at: float = DELTA
    epsilon: float = 0.0

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts as dictionaries."""
        return tuple(dict(part) for part in self.release)

    @property
    def kind(self) -> str:
        """The kind of the parts, ``mixed`` where they differ."""
        kinds = {str(part["kind"]) for part in self.parts}
        return kinds.pop() if len(kinds) == 1 else "mixed"

    def plain(self) -> dict[str, object]:
        """Return the question as another environment gets it."""
        return {
            "release": [dict(part) for part in self.release],
            "asks": self.asks,
            "at": self.at,
            "epsilon": self.epsilon,
        }

    def __str__(self) -> str:
        asked = {
            "epsilon": f"epsilon at delta {self.at:g}",
            "delta": f"delta at epsilon {self.at:g}",
            "renyi": f"Renyi divergence of order {self.at:g}",
            "noise": f"noise for epsilon {self.epsilon:g} at delta {self.at:g}",
            "advantage": "advantage",
            "spent": f"spent with a slack of {self.at:g}",
            "errors": f"errors of a lower bound at a confidence of {self.at:g}",
        }
        return (
            f"{asked[self.asks]} of "
            f"{' and '.join(_format_release_part(part) for part in self.parts)}"
        )


def make_release_part(
    kind: str, *values: float, count: int = 1
) -> tuple[tuple[str, float | int | str], ...]:
    """Return a release of this kind, its parameters in the order of `PARAMETERS`.

    Examples
    --------
    >>> dict(make_release_part("sampled", 0.01, 1.0, count=10))
    {'kind': 'sampled', 'ratio': 0.01, 'noise': 1.0, 'count': 10}
    """
    return (("kind", kind), *zip(PARAMETERS[kind], values, strict=True), ("count", count))


def _format_release_part(given: Part) -> str:
    kind = str(given["kind"])
    values = ", ".join(f"{name} {given[name]:g}" for name in PARAMETERS[kind])
    return f"{given['count']} x {kind} ({values})"


# The grids hold ordinary values, and the corners at which accountants of doubles fail: 0 and 1,
# deltas below the rounding of a double, orders next to 1, and epsilons whose exponential
# overflows at 709.
DELTAS = (0.0, 1e-300, 1e-100, 1e-20, 1e-15, 1e-12, 1e-9, 1e-7, 1e-3, 0.1, 0.5, 0.9, 1.0)
EPSILONS = (0.0, 1e-6, 0.1, 1.0, 5.0, 20.0, 100.0, 800.0)
ORDERS = (1.0001, 1.1, 1.5, 2.0, 2.5, 3.0, 8.0, 32.0, 33.3, 256.0, 1024.0, 1e5)
COUNTS = (0, 1, 10, 100, 1000, 10_000, 1_000_000)
NOISES = (0.1, 0.5, 1.0, 2.0, 5.0, 20.0, 100.0)
EXTREMES = (0.0, 1e-3, 1e6)
OWN = (0.0, 1e-6, 0.1, 1.0, 2.0, 10.0, 100.0, 800.0)
RATIOS = (0.0, 1e-9, 0.01, 0.1, 1.0)

Release = tuple[tuple[tuple[str, float | int | str], ...], ...]


def make_question_grid() -> tuple[AccountantQuestion, ...]:
    """Return all questions: each release at `DELTA`, typical ones at every delta, epsilon, order.

    Examples
    --------
    >>> questions = make_question_grid()
    >>> len(questions) == len(set(questions)) > 500
    True
    """
    # A dictionary removes questions that several grids share and keeps their order, so that two
    # scans list their answers alike.
    return tuple(dict.fromkeys((*_of_epsilon(), *_of_others(), *_of_errors())))


def _of_errors() -> Iterator[AccountantQuestion]:
    for confidence in (0.8, 0.95, 0.99):
        yield AccountantQuestion((make_release_part("pure", 0.0),), "errors", confidence)


def _of_epsilon() -> Iterator[AccountantQuestion]:
    for release in (*_grid_of_releases(), *_list_mixed_releases()):
        yield AccountantQuestion(release)
    for release, delta in product(_list_typical_releases(), DELTAS):
        yield AccountantQuestion(release, at=delta)


def _of_others() -> Iterator[AccountantQuestion]:
    for release in _list_typical_releases():
        sampled = dict(release[0])["kind"] == "sampled"
        for epsilon in EPSILONS[:5] if sampled else EPSILONS:
            yield AccountantQuestion(release, "delta", epsilon)
        for order in ORDERS:
            yield AccountantQuestion(release, "renyi", order)
        yield AccountantQuestion(release, "advantage", 0.0)
    for release in (*_generate_spending_releases(), *_list_mixed_releases()):
        for slack in (0.0, 1e-9, 1e-5, 0.01):
            yield AccountantQuestion(release, "spent", slack)
    # At such ratios the divergence is near or below the rounding of a sum near 1, where a
    # logarithm of that sum returns 0 or less.
    for q, order in product((1e-9, 1e-6), (1.5, 2.0, 8.0)):
        yield AccountantQuestion((make_release_part("sampled", q, 1.0),), "renyi", order)
    for kind, count in product(("gaussian", "laplace"), (1, 100)):
        for epsilon, delta in product((0.01, 1.0, 10.0, 100.0), (1e-20, 1e-12, 1e-5, 0.1)):
            yield AccountantQuestion(
                (make_release_part(kind, 1.0, count=count),), "noise", delta, epsilon
            )
    for ratio, count in ((0.01, 1000), (0.1, 10)):
        for epsilon, delta in product((0.5, 2.0, 8.0), (1e-8, 1e-5)):
            yield AccountantQuestion(
                (make_release_part("sampled", ratio, 1.0, count=count),), "noise", delta, epsilon
            )


def _grid_of_releases() -> Iterator[Release]:
    for kind, noise, count in product(("gaussian", "laplace"), NOISES, COUNTS):
        yield (make_release_part(kind, noise, count=count),)
    for kind, noise, count in product(("gaussian", "laplace"), EXTREMES, (1, 1000)):
        yield (make_release_part(kind, noise, count=count),)
    for kind, noise, count in product(
        ("discrete-laplace", "discrete-gaussian"), (0.5, 1.0, 3.0), (1, 10, 30)
    ):
        yield (make_release_part(kind, noise, count=count),)
    for kind, own, count in product(("response", "pure"), OWN, COUNTS[:-2]):
        yield (make_release_part(kind, own, count=count),)
    for own, count in product(((0.1, 1e-8), (1.0, 1e-7), (5.0, 0.0), (0.0, 1e-6)), (0, 1, 10, 100)):
        yield (make_release_part("approximate", *own, count=count),)
    for rho, count in product((0.0, 1e-6, 0.005, 0.5, 50.0), (0, 1, 10, 100)):
        yield (make_release_part("concentrated", rho, count=count),)
    for ratio, noise, count in product(RATIOS, (0.0, 0.6, 1.0, 4.0), (1, 1000)):
        yield (make_release_part("sampled", ratio, noise, count=count),)


def _generate_spending_releases() -> Iterator[Release]:
    for own, delta, count in product(
        (0.0, 1e-3, 0.1, 1.0, 10.0), (0.0, 1e-9, 1e-5, 0.01, 0.2), (0, 1, 10, 100, 1000)
    ):
        yield (make_release_part("approximate", own, delta, count=count),)


def _list_mixed_releases() -> tuple[Release, ...]:
    return (
        (make_release_part("gaussian", 5.0, count=10), make_release_part("laplace", 5.0, count=10)),
        (make_release_part("gaussian", 5.0, count=10), make_release_part("pure", 0.5, count=10)),
        (make_release_part("laplace", 2.0, count=3), make_release_part("laplace", 4.0, count=20)),
        (make_release_part("gaussian", 2.0), make_release_part("sampled", 0.01, 1.0, count=1000)),
        (make_release_part("pure", 0.1, count=10), make_release_part("pure", 1.0, count=2)),
        (
            make_release_part("approximate", 0.1, 1e-8, count=10),
            make_release_part("approximate", 0.5, 1e-7, count=3),
        ),
    )


def _list_typical_releases() -> tuple[Release, ...]:
    return (
        (make_release_part("gaussian", 1.0),),
        (make_release_part("gaussian", 10.0, count=100),),
        (make_release_part("gaussian", 1e4),),
        (make_release_part("laplace", 1.0),),
        (make_release_part("laplace", 10.0, count=100),),
        (make_release_part("discrete-laplace", 2.0, count=10),),
        (make_release_part("discrete-gaussian", 2.0),),
        (make_release_part("discrete-gaussian", 2.0, count=10),),
        (make_release_part("response", 1.0),),
        (make_release_part("response", 0.1, count=100),),
        (make_release_part("pure", 1.0),),
        (make_release_part("pure", 0.1, count=100),),
        (make_release_part("pure", 0.1, count=1000),),
        (make_release_part("approximate", 0.1, 1e-8, count=100),),
        (make_release_part("concentrated", 0.5),),
        (make_release_part("sampled", 0.01, 1.0),),
        (make_release_part("sampled", 0.01, 1.0, count=1000),),
        (make_release_part("sampled", 1e-9, 1.0),),
        (make_release_part("sampled", 1e-6, 0.5, count=100),),
    )
