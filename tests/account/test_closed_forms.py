"""What files of releases answer, beside closed forms to 50 digits, and what they share."""

from __future__ import annotations

import math
from fractions import Fraction
from types import SimpleNamespace

import pytest
from mpmath import mp
from scipy.special import ndtr, ndtri

import dpaudit
from dpaudit.accounting.events import (
    GaussianRelease,
    PoissonSubsampledGaussian,
    ShuffledGaussian,
    get_releases,
)
from dpaudit.accounts.curves import _trade_off
from dpaudit.accounts.releases import _parse_fraction_share
from dpaudit.accounts.training import Training, format_training_remarks, training_event
from dpaudit.errors import InvalidArgument


def answer(folder, text, delta):
    path = folder / "releases.toml"
    path.write_text(text)
    return dpaudit.account(str(path), delta)


def release(kind, head="[[release]]", **values):
    lines = [f'kind = "{kind}"', *(f"{name} = {value}" for name, value in values.items())]
    return "\n".join([head, *lines, ""])


def geometric_epsilon(scale, delta):
    """Of discrete Laplace noise and a shift of 1, where the ratio has two values."""
    odds = mp.exp(-1 / mp.mpf(scale))
    return mp.log((1 / (1 + odds) - mp.mpf(delta)) / (odds / (1 + odds)))


def laplace_epsilon(shift, delta):
    return mp.mpf(shift) + 2 * mp.log(1 - mp.mpf(delta))


def gaussian_epsilon(mu, delta):
    def excess(e):
        half = mp.mpf(mu) / 2
        return mp.ncdf(half - e / mu) - mp.exp(e) * mp.ncdf(-half - e / mu) - delta

    low, high = mp.mpf(0), mp.mpf(100)
    for _ in range(170):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return high


ROUND = "[[round]]\ncount = 3\n"
BUDGET = '[[budget]]\nnorm = "{norm}"\nsensitivity = 1.0\n'
HELD = "[[budget.release]]"
GROUP = "[[group]]\n"
TEXTS = {
    "an answer that is true three times of four": (
        release("randomised-response", truth=0.75), 0.0, lambda: mp.log(3),
    ),
    "the same at a delta": (
        release("randomised-response", truth=0.75), 0.125, lambda: mp.log(mp.mpf("2.5")),
    ),
    "three answers among four": (
        release("randomised-response", truth=0.7, categories=4, count=3), 0.0,
        lambda: 3 * mp.log(7),
    ),
    "geometric noise": (
        release("discrete-laplace", sensitivity=3, noise_scale=2.0), 0.0, lambda: mp.mpf(1.5),
    ),
    "geometric noise at a delta": (
        release("discrete-laplace", noise_scale=2.0), 0.0078125,
        lambda: geometric_epsilon(2, 0.0078125),
    ),
    "Laplace noise on a sample of 2 of 3000": (
        release("subsampled-laplace", sampling_ratio='"2/3000"', noise_scale=1.0), 0.0,
        lambda: mp.log(1 + mp.mpf(2) / 3000 * mp.expm1(1)),
    ),
    "a tree of Gaussian nodes": (
        release("binary-tree", leaves=1000, noise_scale=11.0), 1e-5,
        lambda: gaussian_epsilon(mp.sqrt(11) / 11, 1e-5),
    ),
    "a tree of Laplace nodes": (
        release("binary-tree", leaves=1024, noise='"laplace"', noise_scale=22.0), 0.0,
        lambda: mp.mpf(1) / 2,
    ),
    "one L2 budget goes where the least noise is": (
        BUDGET.format(norm="l2") + release("gaussian", HELD, sensitivity=0.6, noise_scale=2.0)
        + release("gaussian", HELD, noise_scale=5.0), 1e-5,
        lambda: gaussian_epsilon(mp.sqrt(mp.mpf("0.09") + mp.mpf("0.0256")), 1e-5),
    ),
    "one L1 budget goes where the least noise is": (
        BUDGET.format(norm="l1") + release("laplace", HELD, sensitivity=0.25, noise_scale=0.5)
        + release("laplace", HELD, noise_scale=1.0), 0.0, lambda: mp.mpf("1.25"),
    ),
    "the worst of two groups": (
        GROUP + release("laplace", "[[group.release]]", noise_scale=2.0)
        + GROUP + release("laplace", "[[group.release]]", noise_scale=4.0), 0.125,
        lambda: laplace_epsilon(0.5, 0.125),
    ),
    "three rounds of the whole data": (
        ROUND + 2 * release("subsampled-gaussian", "[[round.release]]", sampling_ratio=1.0), 1e-5,
        lambda: gaussian_epsilon(mp.sqrt(6), 1e-5),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_a_file_answers_what_the_closed_form_says(name, tmp_path):
    text, delta, truth = TEXTS[name]
    found = answer(tmp_path, text, delta)
    with mp.workdps(50):
        exact = truth()
        assert exact <= mp.mpf(found.proved.upper) * (1 + mp.mpf(10) ** -16)
        assert found.proved.upper <= exact * (1 + mp.mpf("2e-5"))
        if found.proved.lower is not None:
            assert mp.mpf(found.proved.lower) <= exact * (1 + mp.mpf(10) ** -16)


@pytest.mark.parametrize("name", ["a tree of Laplace nodes", "one L1 budget goes where"])
def test_half_of_a_closed_form_is_no_answer(name, tmp_path):
    """A negative control: a factor of two in an answer would be seen."""
    text, delta, truth = next(one for key, one in TEXTS.items() if key.startswith(name))
    assert answer(tmp_path, text, delta).proved.upper > 1.9 * float(truth() / 2)


def test_rho_and_mu_are_totalled_where_they_exist(tmp_path):
    gaussian, pure = release("gaussian", noise_scale=2.0), release("laplace", noise_scale=2.0)
    rho = release("zero-concentrated", rho=0.125, count=3)
    assert answer(tmp_path, 4 * gaussian, 1e-5).total == {"mu": 1.0, "rho": 0.5}
    both = answer(tmp_path, gaussian + rho, 1e-5).total
    assert both == {"mu": None, "rho": 0.5}
    assert answer(tmp_path, 2 * pure, 1e-5).total == {"mu": None, "rho": 0.25}


# Steps, rounds and epochs of every sampler

LOADED = {"records": 60_000, "batch_size": 256, "noise_multiplier": 1.1}


def one_release(**given):
    (found,) = get_releases(training_event(Training(**LOADED | given)))
    return found


@pytest.mark.parametrize("sampling", ["poisson", "fixed", "fixed-replacement", "none", "shuffle"])
@pytest.mark.parametrize("word", ["steps", "rounds"])
def test_14100_steps_are_sixty_epochs_of_235_batches(sampling, word):
    said = one_release(sampling=sampling, **{word: 14_100})
    assert said.count == (60 if sampling == "shuffle" else 14_100)
    if sampling == "shuffle":  # whose epochs are counted, with as many batches as a loader has
        assert said == one_release(sampling=sampling, epochs=60)
        assert isinstance(said, ShuffledGaussian)
        assert said.batches == math.ceil(60_000 / 256)


def test_a_cycle_is_gone_through_sixty_times():
    said = one_release(sampling="cyclic", steps=14_100)
    assert said == GaussianRelease(sensitivity=1.0, noise_scale=1.1, count=60)
    with pytest.raises(InvalidArgument, match="14100 or 14335"):
        one_release(sampling="cyclic", steps=14_101)


def test_5000_rounds_of_two_in_three_thousand():
    said = one_release(records=3000, batch_size=2, noise_multiplier=1.2, rounds=5000)
    assert isinstance(said, PoissonSubsampledGaussian)
    assert (said.count, said.noise_multiplier) == (5000, 1.2)
    exact = Fraction(2, 3000)
    assert exact <= Fraction(said.sampling_ratio) <= exact * (1 + Fraction(1, 2**52))


@pytest.mark.parametrize("mu", [0.4, 1.0, 2.5])
def test_the_curve_that_no_attack_goes_below_is_that_of_both_kinds_of_error(mu):
    """That of Gaussian noise is its own mirror: steep where alarms are rare, flat at the end."""
    target = SimpleNamespace(event=GaussianRelease(sensitivity=mu, noise_scale=1.0))
    curve = _trade_off(target).curves[0]
    exact = [float(ndtr(-ndtri(rate) - mu)) for rate in curve.x]
    assert all(low <= high + 1e-9 for low, high in zip(curve.y, exact, strict=True))
    assert curve.y == pytest.approx(exact, abs=0.02)


@pytest.mark.parametrize("one", [1, 2, 7, 199])
@pytest.mark.parametrize("all_", [3, 7, 3000, 60_001, 10**15 + 37])
def test_a_share_that_is_a_fraction_is_never_rounded_down(one, all_):
    found = _parse_fraction_share(f"{one} / {all_}")
    assert Fraction(math.nextafter(found, 0.0)) < Fraction(one, all_) <= Fraction(found)


@pytest.mark.parametrize("sampling", ["shuffle", "balls-and-bins", "cyclic"])
@pytest.mark.parametrize("relation", [None, "zero-out-record"])
def test_remarks_compare_with_poisson_samples_under_the_same_relation(sampling, relation):
    training = Training(
        sampling=sampling, relation=relation, records=40, batch_size=10, noise_multiplier=1.0
    )
    assert any("one training run" in said for said in format_training_remarks(training, 1e-5))
