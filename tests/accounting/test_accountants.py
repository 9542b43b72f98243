"""All accountants on the same events: consistent with each other, refused where no theorem is."""

from __future__ import annotations

import math

import pytest

from dpaudit.accounting.accountants import (
    ACCOUNTANTS,
    ask_all,
    get_accountant_answer,
    select_strongest_answer,
)
from dpaudit.accounting.events import (
    ApproximateRelease,
    ExponentialNormRelease,
    GaussianRelease,
    LaplaceRelease,
    ObjectivePerturbation,
    PoissonSubsampledGaussian,
    Sequence,
    ZeroConcentratedRelease,
    repeat_event,
)
from dpaudit.accounting.renyi import RenyiCurveDP
from dpaudit.accounting.strongest_guarantee import NumericalDP, proved_guarantee
from dpaudit.errors import InvalidArgument, UnsupportedEvent

ONE = {
    "gaussian": GaussianRelease(sensitivity=1.0, noise_scale=20.0),
    "laplace": LaplaceRelease(sensitivity=1.0, noise_scale=20.0),
    "norm": ExponentialNormRelease(sensitivity=0.2, noise_rate=1.0, dimension=105),
    "objective": ObjectivePerturbation(
        sensitivity=0.2, noise_rate=1.0, dimension=104, log_determinant=1e-4
    ),
    "approximate": ApproximateRelease(epsilon=0.05),
    "zero-concentrated": ZeroConcentratedRelease(rho=1e-3),
    "subsampled": PoissonSubsampledGaussian(sampling_ratio=0.01, noise_multiplier=1.0),
}
MIXED = Sequence(tuple(ONE[name] for name in ("gaussian", "laplace", "norm", "approximate")))


# Who has a theorem for which kind; the inversion also needs a law that is smooth enough.
PURE = {"basic", "advanced", "Kairouz", "optimal", "zCDP", "Renyi", "numerical"}
ANSWERING = {
    "gaussian": {"Gaussian DP", "zCDP", "Renyi", "numerical", "inversion"},
    "laplace": PURE,
    "norm": PURE | {"inversion"},
    "objective": PURE | {"inversion"},
    "approximate": PURE,
    "zero-concentrated": {"zCDP", "Renyi"},
    "subsampled": {"Renyi", "numerical", "inversion"},
}


NUMERICAL = ("subsampled", "objective")  # a single one of them is the slowest


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("count", "kind"),
    [
        pytest.param(n, kind, marks=pytest.mark.slow)
        if n < 1000 and kind in NUMERICAL
        else (n, kind)
        for n in (1, 10, 1000)
        for kind in ONE
    ],
)
def test_every_upper_end_is_above_every_lower_end(kind, count):
    answers = ask_all(repeat_event(ONE[kind], count), 1e-5)
    uppers = [a.upper for a in answers if a.upper is not None]
    lowers = [a.lower for a in answers if a.lower is not None and a.kind == "bracket"]
    assert uppers
    assert min(uppers) >= max(lowers, default=0.0) * (1 - 1e-12)
    for answer in answers:
        if answer.estimate is not None:
            assert max(lowers) <= answer.estimate <= min(uppers)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "counts"),
    [
        *((kind, (10, 100) if kind in NUMERICAL else (1, 10)) for kind in ONE),
        *(pytest.param(kind, (1, 10, 100), marks=pytest.mark.slow) for kind in ONE),
    ],
)
def test_upper_ends_grow_with_the_count_and_fall_with_delta(kind, counts):
    found, proving = {}, [one for one in ACCOUNTANTS if one.kind != "estimate"]
    for count in counts:
        for delta in (1e-3, 1e-6):
            for answer in (
                get_accountant_answer(one, repeat_event(ONE[kind], count), delta) for one in proving
            ):
                if answer.upper is not None:
                    found[answer.accountant, count, delta] = answer.upper
    assert {name for name, _, _ in found} == ANSWERING[kind]
    for (name, count, delta), upper in found.items():
        assert upper <= found.get((name, 10 * count, delta), math.inf) * (1 + 1e-12)
        assert upper <= found.get((name, count, delta / 1e3), math.inf) * (1 + 1e-12)


def test_the_strongest_answer_is_certified():
    event = repeat_event(ONE["norm"], 50)
    best = select_strongest_answer(ask_all(event, 1e-5))
    assert best.accountant == "inversion"
    assert best.upper == proved_guarantee(event).epsilon(1e-5)
    assert select_strongest_answer(()) is None


def test_refusals_say_why():
    refused = {a.accountant: a.refusal for a in ask_all(ONE["zero-concentrated"], 1e-5)}
    assert "got ZeroConcentratedRelease" in refused["numerical"]
    assert "expected Gaussian releases" in refused["Gaussian DP"]
    assert refused["zCDP"] is None


def test_delta_at_or_below_the_parts_leaves_no_slack():
    event = ApproximateRelease(epsilon=0.1, delta=2e-6, count=10)
    refused = {a.accountant: a.refusal for a in ask_all(event, 1e-5)}
    assert "expected above the sum of the parts'" in (refused["advanced"] or "")
    assert refused["optimal"] is None  # its answer is infinite


def test_the_kind_of_guarantee_follows_the_event():
    assert proved_guarantee(repeat_event(ONE["gaussian"], 9)).mu == pytest.approx(0.15)
    assert isinstance(proved_guarantee(MIXED), NumericalDP)
    assert isinstance(proved_guarantee(ONE["zero-concentrated"]), RenyiCurveDP)
    mixed = Sequence((ONE["zero-concentrated"], ApproximateRelease(epsilon=0.1, delta=1e-9)))
    with pytest.raises(UnsupportedEvent):
        proved_guarantee(mixed)


@pytest.mark.slow
def test_numerical_guarantees_answer_like_all_others():
    numerical, exact = NumericalDP(ONE["gaussian"]), proved_guarantee(ONE["gaussian"])
    assert numerical.advantage() == pytest.approx(exact.advantage(), rel=1e-6)
    assert numerical.success(0.3) == pytest.approx(exact.success(0.3), rel=1e-6)
    assert numerical.success(0.3) >= exact.success(0.3)
    assert numerical.bracket(1e-5).contains(exact.epsilon(1e-5))
    pair = numerical.replace_one().epsilon(1e-3), exact.replace_one().epsilon(1e-3)
    assert pair[1] <= pair[0] == pytest.approx(pair[1], rel=1e-4)


def test_bad_cells_and_deltas_are_refused():
    with pytest.raises(InvalidArgument, match=r"^cells: got 2"):
        NumericalDP(ONE["gaussian"], cells=2)
    with pytest.raises(InvalidArgument, match=r"^delta: got 1.5"):
        ask_all(ONE["gaussian"], 1.5)
