"""What everybody is asked: releases to account for, and scores to audit."""

from dataclasses import dataclass

from dpaudit import GaussianDP
from dpaudit.scan.accountants.cases import AccountantQuestion, make_release_part

DELTA, ALPHA = 1e-5, 0.05
RELEASES = {
    "Gaussian, sigma 20, 1000 times": make_release_part("gaussian", 20.0, count=1000),
    "Laplace, b 10, 100 times": make_release_part("laplace", 10.0, count=100),
    "Laplace, b 100, 10,000 times": make_release_part("laplace", 100.0, count=10_000),
    "DP-SGD, q .01, sigma 1, 1000 steps": make_release_part("sampled", 0.01, 1.0, count=1000),
    "DP-SGD, q .1, sigma 2, 100 steps": make_release_part("sampled", 0.1, 2.0, count=100),
    "DP-SGD, q .001, sigma .6, 10,000 steps": make_release_part(
        "sampled", 0.001, 0.6, count=10_000
    ),
}


def questions() -> dict[str, AccountantQuestion]:
    """Return the epsilons that are asked for."""
    return {name: AccountantQuestion(release=(one,), at=DELTA) for name, one in RELEASES.items()}


@dataclass(frozen=True)
class Scores:
    """Scores of runs with and without a canary, a shift apart, and what is asked about them."""

    shift: float
    runs: int
    delta: float
    seed: int

    @property
    def true(self) -> float:
        """The epsilon at delta of two Gaussians that far apart."""
        return GaussianDP(mu=self.shift).epsilon(self.delta)

    def plain(self) -> dict[str, object]:
        """Return the question as another environment gets it."""
        return {**vars(self), "true": self.true, "alpha": ALPHA}


AUDITS = {
    "mu 1, delta 1e-5, 1000 runs": (1.0, 1000, 1e-5),
    "mu 1, delta 1e-5, 100,000 runs": (1.0, 100_000, 1e-5),
    "mu 3, delta 1e-5, 1000 runs": (3.0, 1000, 1e-5),
    "mu 3, delta 1e-2, 10,000 runs": (3.0, 10_000, 1e-2),
}
CANARIES = {
    "mu 1, delta 1e-5, 500 in and 500 out": (1.0, 500, 1e-5),
    "mu 3, delta 1e-5, 500 in and 500 out": (3.0, 500, 1e-5),
    "mu 3, delta 1e-5, 5000 in and 5000 out": (3.0, 5000, 1e-5),
}


def scores(name: str, repeats: int) -> list[Scores]:
    """Return as many draws of scores."""
    given = (AUDITS | CANARIES)[name]
    return [Scores(*given, seed=seed) for seed in range(repeats)]
