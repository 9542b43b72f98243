"""Results as an audit would give them, and some that nobody should give."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from dpaudit.report.schema import (
    AssumptionCheck,
    BudgetEntry,
    Claimed,
    DeltaCurves,
    Environment,
    Measured,
    Proved,
    Report,
    Result,
    SelfCheck,
    TradeOffCurves,
)

EXACT = "exact composition of Gaussian steps (Balle & Wang 2018; Dong, Roth & Su 2022)"
HOSTILE = (
    "<script>alert(1)</script> </pre> | pipe `tick` ``` [bold]x[/bold] [/] é漢😀 \n# line\n]]> "
    '{{ 7*7 }} $x^$ &amp; "q" \'a\' --> \x1b[31m\u202e\x00 onload="x" id="y" url(#z)'
)


def gaussian_delta(epsilon: NDArray[np.float64], mu: float) -> NDArray[np.float64]:
    tail = np.exp(epsilon + norm.logcdf(-epsilon / mu - mu / 2))
    return np.asarray(norm.cdf(-epsilon / mu + mu / 2) - tail)


def delta_curves(epsilon: float, delta: float, mu: float, upper: bool = True) -> DeltaCurves:
    grid = np.linspace(0, 1.6 * epsilon, 81)
    proved = np.clip(gaussian_delta(grid, mu), 0, 1)
    implied = (np.exp(epsilon) - np.exp(grid)) / (1 + np.exp(epsilon))
    width = 1 + 0.02 * grid / epsilon
    return DeltaCurves(
        epsilon=grid.tolist(),
        claimed=np.where(grid < epsilon, delta + (1 - delta) * implied, delta).tolist(),
        proved=proved.tolist(),
        band_lower=(proved * 0.93 / width**3).tolist(),
        band_upper=np.minimum(1, proved * 1.02 * width**3).tolist() if upper else None,
        band_confidence=0.95,
    )


def trade_off(epsilon: float, delta: float, mu: float) -> TradeOffCurves:
    rate = np.concatenate([np.logspace(-5, -2, 40), np.linspace(0.011, 1, 100)])
    line = 1 - delta - np.exp(epsilon) * rate
    claimed = np.maximum(0, np.maximum(line, np.exp(-epsilon) * (1 - delta - rate)))
    proved = norm.cdf(norm.isf(rate) - mu)
    return TradeOffCurves(
        false_positive_rate=rate.tolist(),
        claimed=claimed.tolist(),
        proved=proved.tolist(),
        measured=np.minimum(1 - rate, proved * 1.01).tolist(),
    )


def result(**changes: Any) -> Result:
    """A claim that is not refuted."""
    fields: dict[str, Any] = {
        "claim": "huang2020-theorem6",
        "kind": "privacy",
        "statement": "With noise scaled by Lemma 5, Algorithm 2 is (1, 1e-5)-private.",
        "source": "Huang, Hu, Guo, Chan-Tin & Gong (2020), DP-ADMM, Theorem 6",
        "verdict": "not refuted",
        "reason": (
            "The claim allows ε = 1 at δ = 1e-5. The trials certify that this pair loses at most "
            "ε = 0.755, so they do not contradict it."
        ),
        "claimed": Claimed(epsilon=1.0, delta=1e-5),
        "proved": Proved(epsilon=0.7510, delta=1e-5, source=EXACT),
        "measured": Measured(
            lower=0.747,
            upper=0.755,
            confidence=0.95,
            estimate=0.7512,
            estimator="privacy loss of every output under the exact law, Clopper-Pearson",
            pair_ceiling=0.7510,
        ),
        "trials": 200_000,
        "seed": 7,
        "view": "every released primal variable of every iteration",
        "relation": "replace one record",
        "pair": "the record with the largest norm, against the same record with its label flipped",
        "data": "breast-cancer records of scikit-learn: 569 rows scaled to norm 1",
        "parameters": {
            "agents": 5,
            "iterations": 30,
            "penalty": 0.1,
            "noise_scale": 0.0212345678,
            "schedule": [1.0, 0.5],
            "regularised": True,
        },
        "assumptions": [
            AssumptionCheck(
                name="bounded gradient",
                statement="The gradient of every loss has norm at most 1.",
                holds=True,
                evidence="largest norm on the data: 0.9987",
            ),
        ],
        "self_checks": [
            SelfCheck(
                name="law matches code",
                statement="Outputs follow the stated law.",
                passed=True,
                statistic=0.0021,
                threshold=0.0061,
                evidence="Kolmogorov distance of the privacy loss, 50,000 outputs",
            ),
        ],
        "budget": [
            BudgetEntry(purpose="certified interval", alpha=0.045),
            BudgetEntry(purpose="self-checks", alpha=0.005),
        ],
        "delta_curves": delta_curves(1.0, 1e-5, 0.2064),
        "trade_off": trade_off(1.0, 1e-5, 0.2064),
        "counts": {"calibration": 50_000, "certification": 200_000},
        "rerun": "dpaudit run huang2020-theorem6 --epsilon 1 --delta 1e-5 --trials 200000 --seed 7",
    }
    return Result(**(fields | changes))


def refuted(**changes: Any) -> Result:
    fields: dict[str, Any] = {
        "verdict": "refuted",
        "statement": "With noise scaled by Lemma 5, Algorithm 2 is (20, 1e-5)-private.",
        "reason": (
            "The claim allows ε = 20 at δ = 1e-5. The trials certify that this pair of datasets "
            "loses at least ε = 25.31, so the claim is false for this configuration."
        ),
        "claimed": Claimed(epsilon=20.0, delta=1e-5),
        "proved": Proved(epsilon=25.44, delta=1e-5, source=EXACT),
        "measured": Measured(
            lower=25.31,
            upper=25.55,
            confidence=0.95,
            estimator="tilted sampling of the exact privacy loss",
        ),
        "assumptions": [
            AssumptionCheck(
                name="large ε excluded",
                statement="The Gaussian mechanism's classical calibration needs ε below 1.",
                holds=False,
                evidence="claimed ε = 20",
            ),
        ],
        "delta_curves": delta_curves(20.0, 1e-5, 4.128),
        "trade_off": trade_off(20.0, 1e-5, 4.128),
        "notes": ["The classical calibration of the Gaussian mechanism is not valid for ε ≥ 1."],
        "rerun": "dpaudit run huang2020-theorem6 --epsilon 20 --delta 1e-5 --seed 7",
    }
    return result(**(fields | changes))


def open_ended(**changes: Any) -> Result:
    """A black-box audit: an attack certifies a lower end only."""
    fields: dict[str, Any] = {
        "claim": "third-party-black-box",
        "proved": None,
        "measured": Measured(
            lower=0.412,
            upper=None,
            confidence=0.95,
            estimator="linear classifier, Clopper-Pearson",
            upper_note="An attack shows what leaks; it cannot show that nothing more does.",
        ),
        "delta_curves": delta_curves(1.0, 1e-5, 0.2064, upper=False),
        "reason": "The attack certifies at least ε = 0.412, which is below the claimed ε = 1.",
    }
    return result(**(fields | changes))


def sensitivity(**changes: Any) -> Result:
    fields: dict[str, Any] = {
        "claim": "huang2020-lemma5",
        "kind": "sensitivity",
        "verdict": "refuted",
        "statement": "The L2 sensitivity of the update is at most 2 c / (penalty + curvature).",
        "reason": "Two neighbours move the update by 0.0571, more than the claimed 0.04.",
        "claimed": Claimed(sensitivity=0.04),
        "proved": Proved(sensitivity=0.0574, source="strong convexity of the augmented Lagrangian"),
        "measured": Measured(
            lower=0.0571, upper=0.0574, confidence=1.0, estimator="search over replaced records"
        ),
        "budget": [],
        "delta_curves": None,
        "trade_off": None,
    }
    return result(**(fields | changes))


def searched(**changes: Any) -> Result:
    """A property that a search refuted: its bound is below 0."""
    fields: dict[str, Any] = {
        "claim": "hu2019-lemma4",
        "kind": "property",
        "quantity": "change of the augmented Lagrangian",
        "verdict": "refuted",
        "statement": "An iteration changes the augmented Lagrangian by at most its two terms.",
        "reason": "Found by search: 0.0467 exceeds the claimed change -0.7533.",
        "claimed": Claimed(value=-0.7533),
        "proved": None,
        "measured": Measured(
            lower=0.0467, upper=None, confidence=1.0, estimator="search", upper_note="no upper end"
        ),
        "budget": [],
        "self_checks": [],
        "delta_curves": None,
        "trade_off": None,
        "counts": {"evaluated runs": 16_000},
    }
    return result(**(fields | changes))


def no_finite_epsilon(**changes: Any) -> Result:
    """A privacy claim that a search refuted at every epsilon."""
    fields: dict[str, Any] = {
        "verdict": "refuted",
        "proved": None,
        "measured": Measured(
            lower=float("inf"), upper=None, confidence=1.0, estimator="search", upper_note="no end"
        ),
        "delta_curves": None,
        "trade_off": None,
    }
    return result(**(fields | changes))


def infinite(**changes: Any) -> Result:
    infinity = float("inf")
    fields: dict[str, Any] = {
        "claimed": Claimed(epsilon=1.0, delta=0.0),
        "proved": Proved(epsilon=infinity, delta=0.0, source="no noise is added"),
        "measured": Measured(lower=0.0, upper=infinity, confidence=0.95, estimator="none"),
        "delta_curves": None,
        "trade_off": None,
    }
    return result(**(fields | changes))


def hostile() -> Result:
    """Every text that a user can reach, at its worst."""
    texts = ("claim", "statement", "source", "reason", "view", "relation", "pair", "data", "rerun")
    check = {"name": HOSTILE, "statement": HOSTILE, "evidence": HOSTILE}
    return result(
        **dict.fromkeys(texts, HOSTILE),
        proved=Proved(epsilon=1, delta=0.1, source=HOSTILE),
        measured=Measured(
            lower=0, upper=None, confidence=0.95, estimator=HOSTILE, upper_note=HOSTILE
        ),
        parameters={HOSTILE: HOSTILE, "list": [HOSTILE], "nested": {HOSTILE: 1}},
        assumptions=[AssumptionCheck(**check, holds=False)],
        self_checks=[SelfCheck(**check, passed=False, statistic=float("inf"), threshold=0)],
        budget=[BudgetEntry(purpose=HOSTILE, alpha=0.05)],
        notes=[HOSTILE],
        counts={HOSTILE: 3},
    )


def report(*results: Result) -> Report:
    return Report(
        results=list(results),
        environment=Environment(
            dpaudit="0.1.0",
            python="3.12.4",
            packages={"numpy": "2.1.0", "scipy": "1.14.0"},
            cores=8,
            workers=4,
            created="2025-01-31T12:00:00+00:00",
            seconds=41.3,
        ),
    )


def usual() -> Report:
    """Return a report of every kind of result."""
    return report(refuted(), result(), open_ended(), sensitivity())
