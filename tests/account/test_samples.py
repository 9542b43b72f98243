"""Where nobody says whether releases are of one sample, the number is the worse of both."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy.special import expit, ndtr

import dpaudit
from dpaudit.accounting.calibrate import calibrate
from dpaudit.accounting.events import (
    BatchedGaussian,
    GaussianRelease,
    Parallel,
    PoissonSubsampledGaussian,
    PoissonSubsampledLaplace,
    Sequence,
    repeat_event,
)
from dpaudit.accounting.samples import if_shared, ways_of, worse_reading
from dpaudit.accounting.sharing import one_sample
from dpaudit.accounting.strongest_guarantee import proved_guarantee
from dpaudit.accounts.display import as_html
from dpaudit.cli.main import main
from dpaudit.errors import InvalidArgument

DELTA = 1e-6
ROOT = math.sqrt(2)
TABLE = """
[[{kind}]]
kind = "{release}"
sampling_ratio = 0.01
{noise} = {value}
count = {count}
"""


def gaussian(noise=ROOT, count=1000, ratio=0.01):
    return PoissonSubsampledGaussian(sampling_ratio=ratio, noise_multiplier=noise, count=count)


def laplace(scale=4.0, count=20, ratio=0.01):
    return PoissonSubsampledLaplace(sampling_ratio=ratio, noise_scale=scale, count=count)


def table(kind="release", noise=ROOT, count=1000):
    return TABLE.format(
        kind=kind, release="subsampled-gaussian", noise="noise_multiplier", value=noise, count=count
    )


def file_of(folder, text):
    (folder / "rounds.toml").write_text(text)
    return str(folder / "rounds.toml")


def proved(event, delta=DELTA):
    return proved_guarantee(event).epsilon(delta)


JOINT = gaussian(1.0)


def test_a_sum_and_a_count_that_say_nothing_have_the_larger_number(tmp_path, capsys):
    path = file_of(tmp_path, 2 * table())
    found = dpaudit.account(path, DELTA)
    assert found.proved.upper == pytest.approx(2.1245152, abs=2e-7)
    assert found.own_samples == pytest.approx(1.6483332, abs=2e-7)
    assert {one["shared"] for one in found.shared} == {"unknown"}
    assert found.document()["own_samples"] == found.own_samples
    with pytest.raises(SystemExit, match="0"):
        main(["account", path, "--delta", "1e-6"])
    said = " ".join(capsys.readouterr().out.split())
    assert "Proved: epsilon = 2.1245152 at delta = 1e-06." in said
    assert "If each release draws a sample of its own: epsilon = 1.6483332." in said
    assert "not below" not in said  # that is about one of the two readings
    assert "a sample of its own: epsilon = 1.64834" in as_html(found)


@pytest.mark.parametrize("twice", [(gaussian(), gaussian()), (gaussian(), gaussian(1.41421356))])
def test_events_say_it_as_files_do(twice):
    event = Sequence(twice)
    found = dpaudit.account(event, DELTA)
    assert found.proved.upper == pytest.approx(2.1245152, abs=1e-5)
    assert found.own_samples == pytest.approx(1.6483332, abs=1e-5)
    said = dpaudit.account(event, DELTA, samples="independent")
    assert said.proved.upper == pytest.approx(1.6483332, abs=1e-5)
    assert said.own_samples is None


FORMS = {
    "counts that differ": (
        (gaussian(), gaussian(count=600)),
        (gaussian(1.0, 600), gaussian(count=400)),
    ),
    "another beside": (
        (gaussian(), GaussianRelease(sensitivity=1.0, noise_scale=9.0), gaussian()),
        (JOINT, GaussianRelease(sensitivity=1.0, noise_scale=9.0)),
    ),
    "another rate": ((gaussian(), gaussian(ratio=0.02), gaussian()), (JOINT, gaussian(ratio=0.02))),
    "three": ((gaussian(2.0), gaussian(2.0), gaussian()), (JOINT,)),
    "nested": ((Sequence((gaussian(),)), Sequence((gaussian(),))), (JOINT,)),
    "repeated": ((Sequence((gaussian(), gaussian())),), (JOINT,)),
    "two pairs": (
        (gaussian(), gaussian(), gaussian(ratio=0.02), gaussian(ratio=0.02)),
        (JOINT, gaussian(1.0, ratio=0.02)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_each_form_of_the_same_doubt_is_seen(form):
    events, joint = FORMS[form]
    shared = if_shared(ways_of(Sequence(events)))
    assert shared.exact
    for delta in (1e-6, 1e-3):
        exact = proved(Sequence(joint), delta)
        assert proved(shared.event, delta) == pytest.approx(exact, rel=1e-9)
        worse = proved(worse_reading(Sequence(events)), delta)
        assert worse == pytest.approx(max(exact, proved(Sequence(events), delta)), rel=1e-9)


def test_without_noise_samples_of_their_own_are_worse():
    """They hold the record with probability 1 - (1 - q)^2, and one sample with q."""
    event = Sequence((gaussian(0.05, 1, 0.3), gaussian(0.06, 1, 0.3)))
    own, shared = proved_guarantee(event), proved_guarantee(if_shared(ways_of(event)).event)
    assert own.delta(0.5) > 1.2 * shared.delta(0.5)
    worse = proved_guarantee(worse_reading(event))
    assert worse.delta(0.5) == own.delta(0.5)
    assert worse.advantage() == own.advantage() > shared.advantage()


@pytest.mark.parametrize(
    "event",
    [
        gaussian(),
        repeat_event(gaussian(), 3),
        Sequence((gaussian(),)),
        Sequence((gaussian(), gaussian(ratio=0.02))),
        Sequence((gaussian(), GaussianRelease(sensitivity=1.0, noise_scale=2.0))),
        Sequence((GaussianRelease(sensitivity=1.0, noise_scale=2.0),) * 2),
        Sequence((gaussian(), gaussian(count=0))),
        Parallel((gaussian(), gaussian())),
        Sequence(
            (
                gaussian(),
                BatchedGaussian(records=100, batch_size=1, noise_multiplier=1.0, sampling="fixed"),
            )
        ),
    ],
)
def test_what_leaves_no_doubt_is_as_it_was(event):
    assert worse_reading(event) == event


def test_training_and_rounds_say_what_they_share(tmp_path):
    run = '[[release]]\nkind = "dp-sgd"\nrecords = 1000\nbatch_size = 10\nepochs = 1\n'
    for text in (2 * run, 2 * ("[[round]]\ncount = 9\n" + table("round.release", count=1)), run):
        assert dpaudit.account(file_of(tmp_path, text), DELTA).own_samples is None
    beside = "[[round]]\ncount = 1000\n" + table("round.release", count=1) + table()
    found = dpaudit.account(file_of(tmp_path, beside), DELTA)
    assert found.proved.upper == pytest.approx(2.1245152, abs=2e-7)


def test_a_group_may_hold_releases_of_one_sample(tmp_path):
    group = "[[group]]\n" + 2 * table("group.release") + "[[group]]\n" + table("group.release", 2.0)
    found = dpaudit.account(file_of(tmp_path, group), DELTA)
    assert found.proved.upper == pytest.approx(2.1245152, abs=2e-7)
    across = Sequence((gaussian(), Parallel((gaussian(), gaussian(2.0)))))
    assert proved(worse_reading(across)) == pytest.approx(2.1245152, abs=2e-7)


def test_a_gaussian_and_a_laplace_release_of_one_sample_by_quadrature():
    """Both outputs of one Poisson sample: the bound is above the exact delta, and no lower end."""
    q, noise, scale, epsilon = 0.3, 1.5, 2.0, 0.3
    x, weights = np.polynomial.legendre.leggauss(300)
    x, weights = 14 * x, 14 * weights
    y = np.linspace(-30, 31, 6101)
    normal = [
        np.exp(-(((x - mean) / noise) ** 2) / 2) / noise / math.sqrt(2 * math.pi) for mean in (0, 1)
    ]
    double = [np.exp(-np.abs(y - mean) / scale) / (2 * scale) for mean in (0, 1)]
    plain, moved = (np.outer(normal[n], double[n]) for n in (0, 1))
    mixed = (1 - q) * plain + q * moved
    gaps = (mixed - math.exp(epsilon) * plain, plain - math.exp(epsilon) * mixed)
    exact = max(float(weights @ np.maximum(gap, 0).sum(axis=1)) * (y[1] - y[0]) for gap in gaps)
    event = Sequence((gaussian(noise, 1, q), laplace(scale, 1, q)))
    shared = if_shared(ways_of(event))
    assert not shared.exact
    assert exact <= proved_guarantee(shared.event).delta(epsilon) <= 1.5 * exact
    found = dpaudit.account(event, 1e-3)
    assert all(answer.lower is None for answer in found.answers)
    assert found.proved.upper > found.own_samples


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 30.0, 690.0, 710.0, 1e4])
def test_the_gaussian_that_a_laplace_release_is_made_of(epsilon):
    """It tells more at the corner of pure DP: of a false-positive rate 1 / (1 + e^epsilon)."""
    event = Sequence((gaussian(1.0, 1), laplace(1 / epsilon, 1)))
    joint = if_shared(ways_of(event)).event.noise_multiplier
    mu = math.sqrt(max(0.0, joint**-2 - 1))
    if epsilon <= 690:
        assert ndtr(-mu / 2) <= expit(-epsilon) * (1 + 1e-6)
    else:  # in logarithms: ndtr(-t) <= exp(-t^2 / 2) / 2
        assert mu**2 / 8 >= epsilon * (1 - 1e-9)


def test_calibration_meets_the_target_on_the_worse_reading():
    def make(noise):
        return Sequence((gaussian(noise, 100), gaussian(noise, 100)))

    found = calibrate(make, 1.0, DELTA)
    assert proved(one_sample([gaussian(found.value, 1)] * 2, 100)) <= 1.0
    assert found.epsilon == pytest.approx(1.0, abs=1e-6)
    less = calibrate(make, 1.0, DELTA, samples="independent")
    assert less.value < 0.95 * found.value


@pytest.mark.parametrize("said", ["shared", "", 1, ["independent"]])
def test_what_is_said_of_samples_is_known_or_refused(tmp_path, said):
    text = f"samples = {json.dumps(said)}\n" + 2 * table()
    with pytest.raises(InvalidArgument, match="samples"):
        dpaudit.account(file_of(tmp_path, text), DELTA)
    with pytest.raises(InvalidArgument, match="samples"):
        dpaudit.account(Sequence((gaussian(), gaussian())), DELTA, samples=said)


@pytest.mark.parametrize("counts", [(5, 20), (20, 5), (7, 7), (1, 3)])
def test_rounds_are_of_both_releases_as_long_as_there_are_both(counts):
    """After them the longer one has rounds of its own, and no round comes twice."""
    short, long = sorted(counts)
    parts = laplace(4.0, counts[0]), laplace(9.0, counts[1])
    found = if_shared(ways_of(Sequence(parts))).event
    rounds = found.events if isinstance(found, Sequence) else (found,)
    both = one_sample([laplace(4.0, 1), laplace(9.0, 1)], short)
    rest = laplace(4.0 if counts[0] > counts[1] else 9.0, long - short)
    assert rounds[0] == both
    assert [one.count for one in rounds] == [n for n in (short, long - short) if n]
    assert all(proved(one, 0.0) == pytest.approx(proved(rest, 0.0)) for one in rounds[1:])


def test_a_sample_of_laplace_noise_alone_stays_that_beside_a_mixed_one():
    alone = [PoissonSubsampledLaplace(sampling_ratio=0.3, noise_scale=s) for s in (4.0, 5.0)]
    mixed = [
        PoissonSubsampledLaplace(sampling_ratio=0.1, noise_scale=8.0),
        PoissonSubsampledGaussian(sampling_ratio=0.1, noise_multiplier=3.0),
    ]
    for events in ([*alone, *mixed], [*mixed, *alone]):
        shared = if_shared(ways_of(Sequence(tuple(events))))
        assert shared is not None
        assert not shared.exact
        kinds = {type(one): one for one in shared.event.events}
        assert len(shared.event.events) == 2
        laplace = kinds[PoissonSubsampledLaplace]
        assert laplace.sampling_ratio == 0.3
        assert laplace.sensitivity / laplace.noise_scale == pytest.approx(1 / 4 + 1 / 5)
        assert kinds[PoissonSubsampledGaussian].sampling_ratio == 0.1
