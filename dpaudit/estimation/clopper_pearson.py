"""The exact confidence interval of a rate, from hits among trials."""

from __future__ import annotations

from scipy.special import betainccinv, betaincinv


def clopper_pearson(hits: int, trials: int, alpha: float) -> tuple[float, float]:
    """Return both ends of Clopper and Pearson's interval (1934); each errs with ``alpha / 2``.

    Parameters
    ----------
    hits, trials
        Counts: ``0 <= hits <= trials``, of at least one trial.
    alpha
        Probability, at most, that the rate lies outside; in (0, 1).

    Examples
    --------
    >>> clopper_pearson(0, 10, 0.05)  # the upper end: 1 - 0.025 ** (1 / 10)
    (0.0, 0.30849710781876083)
    """
    # The inverse of the incomplete beta function has no value where a shape is 0.
    low = float(betaincinv(hits, trials - hits + 1, alpha / 2)) if hits else 0.0
    high = float(betainccinv(hits + 1, trials - hits, alpha / 2)) if hits < trials else 1.0
    return low, high
