"""Strange scores and outputs: a result with its numbers in order, or an error of dpaudit."""

import math
import warnings
from collections import Counter

import numpy as np
import pytest

import dpaudit
from dpaudit.errors import DpauditError

STRANGE = (
    math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, 2**70, -(10**400), None, "1", "é", b"\0",
    [], {}, [1.0], 1j, True, np.float16(1), np.datetime64("2026-01-01"), object(), "\ud800",
)  # fmt: skip


def changed(rng, values):
    """Return scores of which some are strange, or which are not of the right kind or shape."""
    how = rng.integers(9)
    strange = STRANGE[rng.integers(len(STRANGE))]
    if how < 3:
        values = values.astype(object)
        for place in rng.integers(len(values), size=1 + how):
            values[place] = strange
        return list(values) if how else values
    shapes = (
        lambda: np.repeat(values[:1], len(values)),
        lambda: values[: rng.integers(45)],
        lambda: values.reshape(-1, 2),
        lambda: values.astype(rng.choice(["int8", "float16", "complex64", "str", "bool"])),
        lambda: values * 10.0 ** rng.integers(-320, 308),
        lambda: strange,
    )
    return shapes[how - 3]()


def outcome(rng):
    """Return how an audit of strange scores ends: its verdict, or the type of its error."""
    given = {"epsilon": 1.0, "delta": 1e-5, "confidence": 0.95, "seed": 0}
    scores = [changed(rng, rng.normal(rng.choice([0.0, 9.0]), size=120)), rng.normal(size=120)]
    if rng.random() < 0.3:
        given[rng.choice(list(given))] = STRANGE[rng.integers(len(STRANGE))]
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = dpaudit.audit_outputs(*scores[:: rng.choice([1, -1])], **given)
    except DpauditError:
        return "refused"
    lower = found.measured.lower
    return found.verdict if lower >= 0 and not math.isnan(lower) else f"lower {lower}"


@pytest.mark.parametrize("count", [30, pytest.param(3000, marks=pytest.mark.slow)])
def test_strange_scores_are_judged_or_refused(count):
    rng = np.random.default_rng(count)
    ends = Counter(outcome(rng) for _ in range(count))
    assert set(ends) == {"refused", "refuted", "not refuted"}
    assert ends["refused"] > ends["not refuted"] > 0


@pytest.mark.parametrize("strange", [10**400, 1j])
def test_scores_that_are_no_doubles_are_refused(strange):
    scores = [*np.zeros(99), strange]
    with pytest.raises(DpauditError, match=r"on_neighbour: got .*, expected .*numbers"):
        dpaudit.audit_outputs(np.zeros(100), np.array(scores), epsilon=1.0)
