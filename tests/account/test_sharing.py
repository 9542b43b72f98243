"""What releases share decides what they lose: one sample, one budget, disjoint data, or nothing."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest

import dpaudit
from dpaudit.accounting.events import (
    AllocatedGaussian,
    BatchedGaussian,
    GaussianRelease,
    LaplaceRelease,
    Parallel,
    PoissonSubsampledGaussian,
    PoissonSubsampledLaplace,
    Sequence,
)
from dpaudit.accounting.samples import if_shared, ways_of
from dpaudit.accounting.sharing import get_alternatives, one_budget, one_sample
from dpaudit.accounting.strongest_guarantee import bound_proved_epsilon, proved_guarantee
from dpaudit.accounts.releases import KINDS
from dpaudit.accounts.sharing import BUDGET, ROUND
from dpaudit.accounts.target import AccountTarget
from dpaudit.accounts.training import Training, run_event
from dpaudit.errors import InvalidArgument
from dpaudit.extension.registry import RELEASES

ROOT = math.sqrt(2)
SUM = {"kind": "subsampled-gaussian", "sampling_ratio": 0.01, "noise_multiplier": ROOT}


def written(folder, text):
    path = folder / "releases.toml"
    path.write_text(text)
    return str(path)


def table(name, **values):
    lines = [f"{key} = {json.dumps(value)}" for key, value in values.items()]
    return "\n".join([name, *lines, ""])


# One sample


def test_a_sum_and_a_count_of_one_sample_are_one_release_with_less_noise(tmp_path):
    """A clipped sum and the number of those clipped, of one Poisson sample, a thousand times."""
    head = table("[[round]]", count=1000)
    path = written(tmp_path, head + 2 * table("[[round.release]]", **SUM))
    found = dpaudit.account(path, 1e-6)
    assert found.proved.lower == pytest.approx(2.12451515, abs=1e-7)
    assert 2.1245151 < found.proved.lower <= found.proved.upper <= 2.1245152
    assert found.shared == ({"of": "round", "shared": "one sample", "releases": 1000},)
    assert "one and the same sample" in found.words[0]


def test_a_file_says_that_each_release_draws_a_sample_of_its_own(tmp_path):
    text = 'samples = "independent"\n' + 2 * table("[[release]]", **SUM, count=1000)
    path = written(tmp_path, text)
    found = dpaudit.account(path, 1e-6)
    assert found.proved.upper == pytest.approx(1.6483332, abs=1e-7)
    assert {one["shared"] for one in found.shared} == {"nothing"}
    assert any(
        "each release is taken to draw a sample of its own" in w.lower() for w in found.words
    )
    assert found.own_samples is None
    assert not found.remarks


@pytest.mark.parametrize("noises", [(2.0,), (1.0, 1.0), (0.7, 3.0, 3.0), (1.3,) * 7])
def test_the_joint_noise_is_that_of_the_concatenated_sums(noises):
    """Terms of norm 1 in each sum, in units of each noise, are one term of this norm."""
    parts = [PoissonSubsampledGaussian(sampling_ratio=0.1, noise_multiplier=z) for z in noises]
    joint = one_sample(parts, 3)
    norm = np.linalg.norm([1 / z for z in noises])
    assert joint.noise_multiplier == pytest.approx(1 / norm, rel=1e-15)
    assert joint.noise_multiplier <= 1 / norm * (1 + 1e-15)
    assert (joint.sampling_ratio, joint.count) == (0.1, 3)


def test_the_joint_release_is_attained_in_two_dimensions():
    """Two sums of one sample, by quadrature over both outputs: no less, and no more."""
    q, first, second, epsilon = 0.3, 1.5, 2.5, 0.4
    x, weights = np.polynomial.legendre.leggauss(400)
    x, weights = 14 * x, 14 * weights

    def density(mean, scale):
        return np.exp(-(((x - mean) / scale) ** 2) / 2) / (scale * math.sqrt(2 * math.pi))

    none = np.outer(density(0, first), density(0, second))
    there = np.outer(density(1, first), density(1, second))
    mixed = (1 - q) * none + q * there
    gaps = (mixed - math.exp(epsilon) * none, none - math.exp(epsilon) * mixed)
    both = max(float(weights @ np.maximum(gap, 0) @ weights) for gap in gaps)
    parts = [
        PoissonSubsampledGaussian(sampling_ratio=q, noise_multiplier=z) for z in (first, second)
    ]
    assert proved_guarantee(one_sample(parts)).delta(epsilon) == pytest.approx(both, rel=1e-4)
    apart = proved_guarantee(Sequence(tuple(parts))).delta(epsilon)
    assert apart < 0.9 * both  # what is said where each draws a sample of its own


def test_two_laplace_sums_of_one_sample_by_quadrature():
    q, epsilon, x = 0.2, 0.1, np.linspace(-25, 25, 2001)
    none = np.exp(-np.abs(x)) / 2
    there = np.exp(-np.abs(x - 0.7)) / 2
    plain, moved = np.outer(none, none), np.outer(there, there)
    mixed = (1 - q) * plain + q * moved
    cell = (x[1] - x[0]) ** 2
    delta = float(np.maximum(mixed - math.exp(epsilon) * plain, 0).sum()) * cell
    part = PoissonSubsampledLaplace(sampling_ratio=q, sensitivity=0.7, count=2)
    joint = one_sample([part])
    assert joint.sensitivity == pytest.approx(1.4)
    proved = proved_guarantee(joint).delta(epsilon)
    assert delta <= proved * (1 + 1e-3)  # all of the shift in one coordinate is the worst


@pytest.mark.parametrize(
    "parts",
    [
        (),
        (GaussianRelease(sensitivity=1.0, noise_scale=1.0),),
        (
            PoissonSubsampledGaussian(sampling_ratio=0.1, noise_multiplier=1.0),
            PoissonSubsampledGaussian(sampling_ratio=0.2, noise_multiplier=1.0),
        ),
        (
            PoissonSubsampledGaussian(sampling_ratio=0.1, noise_multiplier=1.0),
            PoissonSubsampledLaplace(sampling_ratio=0.1),
        ),
        (
            AllocatedGaussian(batches=10, noise_multiplier=1.0),
            AllocatedGaussian(batches=20, noise_multiplier=1.0),
        ),
    ],
)
def test_samples_that_are_not_one_are_refused(parts):
    with pytest.raises(InvalidArgument, match="sample"):
        one_sample(parts)


def test_every_sampler_has_rounds():
    fixed = BatchedGaussian(records=50, batch_size=5, noise_multiplier=2.0, sampling="fixed")
    assert one_sample([fixed, fixed], 4).noise_multiplier == pytest.approx(2 / ROOT)
    epochs = AllocatedGaussian(batches=10, noise_multiplier=2.0)
    assert one_sample([epochs] * 4).noise_multiplier == 1.0
    assert if_shared(ways_of(Sequence((fixed, epochs)))) is None
    assert if_shared(ways_of(Sequence((fixed,)))) is None
    assert if_shared(ways_of(Sequence((fixed, epochs, fixed)))) is not None


MANY = {
    "matrix": {
        "strategy": "identity", "rounds": 4, "participation": "poisson", "sampling_ratio": 0.1,
        "noise_scale": 0.05, "relation": "add-remove-record",
    },
    "dp-sgd": {"records": 10, "batch_size": 1, "steps": 4, "noise_multiplier": 0.05},
}  # fmt: skip


@pytest.mark.parametrize("kind", MANY)
def test_a_release_of_many_samples_is_none_of_a_round(kind, tmp_path):
    """Each of its four samples finds the record with .1, so that delta is no less than 1 - .9^4."""
    alone = written(tmp_path, table("[[release]]", kind=kind, **MANY[kind]))
    event = PoissonSubsampledGaussian(sampling_ratio=0.1, noise_multiplier=0.05, count=4)
    assert dpaudit.account(alone, 1e-5).proved.upper == dpaudit.account(event, 1e-5).proved.upper
    assert proved_guarantee(event).delta(1.0) >= 1 - 0.9**4
    held = written(tmp_path, "[[round]]\n" + table("[[round.release]]", kind=kind, **MANY[kind]))
    with pytest.raises(InvalidArgument, match=rf"^release: got '{kind}', .*\[\[release\]\]"):
        dpaudit.account(held, 1e-5)


def test_a_round_of_rounds_is_refused():
    inner = {"kind": "round", "release": [SUM, SUM], "count": 9}
    with pytest.raises(InvalidArgument, match=r"^release: got 'round', .* one sample"):
        ROUND.event(ROUND.parameters(release=[inner]))


# One budget


@pytest.mark.parametrize(
    ("kind", "parameters", "mu"),
    [
        ("matrix", {"strategy": "prefix", "rounds": 100}, 10.0),
        ("correlated-outputs", {"weights": [3, 4]}, 5.0),
        ("binary-tree", {"leaves": 8}, 2.0),
    ],
)
def test_a_budget_does_not_bound_multiples_of_what_a_record_contributes(kind, parameters, mu):
    """A record that contributes 1 has this mu: no budget of 1 makes it less."""
    assert dpaudit.account(kind, 1e-5, **parameters).total["mu"] == pytest.approx(mu)
    held = [{"kind": kind, **parameters}]
    with pytest.raises(InvalidArgument, match=rf"^release: got '{kind}', .*does not bound"):
        BUDGET.event(BUDGET.parameters(norm="l2", sensitivity=1.0, release=held))


def test_every_kind_in_a_round_or_budget_has_the_numbers_of_its_parameters():
    plain = [card for card in map(RELEASES.get, RELEASES) if card.plain]
    assert {card.name for card in plain} == {one.name for one in KINDS.values() if one.plain}
    for card in plain:
        given = card.parameters()
        assert vars(card.event(given)) == given.model_dump(), card.name


def test_windows_that_share_an_l1_bound(tmp_path):
    """2^16 in ten minutes and 2^20 a day, noise of scale 2^16 / 10: a day is 160, not 1,440."""
    window = {"kind": "laplace", "sensitivity": 65536.0, "noise_scale": 6553.6, "count": 144}
    alone = written(tmp_path, table("[[release]]", **window))
    assert dpaudit.account(alone, 0.0).proved.upper == 1440
    assert dpaudit.account(alone, 1e-6).proved.upper == pytest.approx(1377.1786, abs=1e-4)
    head = table("[[budget]]", norm="l1", sensitivity=1048576.0)
    found = dpaudit.account(written(tmp_path, head + table("[[budget.release]]", **window)), 0.0)
    assert found.proved.upper == 160
    assert found.shared[0]["shared"] == "one budget"


def test_a_budget_goes_where_there_is_the_least_noise_first():
    quiet = LaplaceRelease(sensitivity=2.0, noise_scale=10.0, count=3)
    loud = LaplaceRelease(sensitivity=1.0, noise_scale=2.0)
    assert one_budget("l1", 4.0, [quiet, loud]).epsilon == pytest.approx(1 / 2 + 3 / 10)
    assert one_budget("l1", 100.0, [quiet, loud]).epsilon == pytest.approx(1 / 2 + 6 / 10)
    gaussian = GaussianRelease(sensitivity=3.0, noise_scale=2.0, count=9)
    assert one_budget("l2", 4.0, [gaussian]).sensitivity == pytest.approx(2.0)


def test_no_split_of_a_budget_loses_more():
    """Every split of it among the releases, and one that waits for outputs: none is above."""
    rng = np.random.default_rng(4)
    scales, caps, budget = np.array([1.0, 2.0, 5.0]), np.array([0.5, 1.0, 3.0]), 2.0
    parts = [
        LaplaceRelease(sensitivity=float(c), noise_scale=float(s))
        for c, s in zip(caps, scales, strict=True)
    ]
    most = one_budget("l1", budget, parts).epsilon
    splits = np.minimum(rng.dirichlet(np.ones(3), 4000) * budget, caps)
    assert (splits / scales).sum(axis=1).max() <= most
    assert most == pytest.approx(0.5 + 0.5 + 0.5 / 5)


@pytest.mark.parametrize(
    ("norm", "part"),
    [
        ("l1", GaussianRelease(sensitivity=1.0, noise_scale=1.0)),
        ("l2", LaplaceRelease(sensitivity=1.0, noise_scale=1.0)),
    ],
)
def test_a_norm_that_is_not_that_of_the_noise_is_refused(norm, part):
    with pytest.raises(InvalidArgument, match="Laplace releases under l1"):
        one_budget(norm, 1.0, [part])


# Disjoint data


def test_of_groups_the_worst_counts(tmp_path):
    one = LaplaceRelease(sensitivity=1.0, noise_scale=2.0)
    two = LaplaceRelease(sensitivity=1.0, noise_scale=4.0, count=3)
    both = Parallel((one, two))
    assert proved_guarantee(both).epsilon(0.0) == 0.75
    for delta in (0.0, 1e-5, 0.1):
        worst = max(proved_guarantee(way).epsilon(delta) for way in (one, two))
        assert bound_proved_epsilon(both, delta).upper == worst
    for epsilon in (0.0, 0.2, 0.6):
        deltas = [proved_guarantee(way).delta(epsilon) for way in (one, two)]
        assert proved_guarantee(both).delta(epsilon) == max(deltas) > min(deltas)
    text = table("[[release]]", kind="laplace", noise_scale=10.0)
    for scale in (2.0, 4.0):
        text += "[[group]]\n" + table("[[group.release]]", kind="laplace", noise_scale=scale)
    found = dpaudit.account(written(tmp_path, text), 0.0)
    assert found.proved.upper == 0.6
    assert {"of": "parallel-groups", "shared": "disjoint data", "releases": 2} in found.shared


def test_two_records_may_be_in_two_groups():
    """What holds for one record holds for two of them only as for a chain, not group by group."""
    one = GaussianRelease(sensitivity=1.0, noise_scale=1.0)
    pair = proved_guarantee(Parallel((one, one))).group(2)
    two = GaussianRelease(sensitivity=ROOT, noise_scale=1.0)  # one record in each
    assert pair.delta(1.0) >= proved_guarantee(two).delta(1.0)


def test_partitions_combine():
    parts = [GaussianRelease(sensitivity=1.0, noise_scale=s) for s in (1.0, 2.0, 3.0, 4.0)]
    event = Sequence((Parallel(tuple(parts[:2]), 3), Parallel(tuple(parts[2:]))))
    exact = max(3 / a**2 + 1 / b**2 for a, b in itertools.product((1.0, 2.0), (3.0, 4.0)))
    assert len(get_alternatives(event)) == 4
    assert proved_guarantee(event).delta(1.0) == pytest.approx(
        dpaudit.GaussianDP(math.sqrt(exact)).delta(1.0)
    )
    assert AccountTarget.of(event).event is not None
    assert dpaudit.account(event, 1e-5).total["mu"] == pytest.approx(math.sqrt(exact))


# Steps, and totals


def test_steps_as_the_loader_makes_them():
    sixty = {"epochs": 60, "batch_size": 256, "records": 60_000, "noise_multiplier": 1.1}
    assert run_event(Training(**sixty)).count == 14_063
    assert run_event(Training(**sixty, steps=14_100)).count == 14_100
    assert run_event(Training(**sixty, rounds=14_100)).count == 14_100
    found = dpaudit.account("dp-sgd", 1e-5, **sixty)
    assert any("--steps 14100" in line for line in found.remarks)
    assert not any(
        "loader" in line for line in dpaudit.account("dp-sgd", 1e-5, **sixty, steps=9).remarks
    )


@pytest.mark.parametrize("sampling", ["shuffle", "balls-and-bins", "cyclic"])
def test_steps_of_a_sampler_of_epochs_are_whole_epochs(sampling):
    given = {"batch_size": 10, "records": 100, "sampling": sampling}
    assert run_event(Training(**given, steps=30)).count == 3
    with pytest.raises(InvalidArgument, match="30 or 40"):
        run_event(Training(**given, steps=35))


def test_steps_and_rounds_that_differ_are_refused():
    with pytest.raises(InvalidArgument, match="rounds: got 3, expected as many as steps, 4"):
        run_event(Training(steps=4, rounds=3))


@pytest.mark.parametrize("ratio", ["2/3000", " 2 / 3000 "])
def test_ratios_are_given_as_fractions(ratio):
    plain = dpaudit.account("subsampled-gaussian", 1e-5, sampling_ratio=2 / 3000, count=50)
    found = dpaudit.account("subsampled-gaussian", 1e-5, sampling_ratio=ratio, count=50)
    assert found.proved.upper == pytest.approx(plain.proved.upper, rel=1e-12)


@pytest.mark.parametrize("ratio", ["2/0", "3/2", "a/b", "-1/2", "1/2/3"])
def test_a_ratio_that_is_none_is_refused(ratio):
    with pytest.raises(InvalidArgument, match="sampling_ratio"):
        dpaudit.account("subsampled-gaussian", 1e-5, sampling_ratio=ratio)


def test_totals_are_those_of_what_was_written():
    from dpaudit.accounting.events import ZeroConcentratedRelease

    five = dpaudit.account(Sequence((ZeroConcentratedRelease(rho=0.0049),) * 5), 1e-5)
    assert five.total == {"mu": None, "rho": 0.0245}
    gaussian = dpaudit.account("gaussian", 1e-5, noise_scale=5.0, count=25)
    assert gaussian.total == {"mu": 1.0, "rho": 0.5}
    none = dpaudit.account("subsampled-gaussian", 1e-5)
    assert none.total == {"mu": None, "rho": None}


@pytest.mark.parametrize("delta", [0.9, 0.5, 0.1])
def test_a_large_delta_asks_for_no_epsilon(delta):
    found = dpaudit.account(
        "subsampled-gaussian", delta, noise_multiplier=1.0, sampling_ratio=0.01, count=10
    )
    assert found.proved.upper == 0


def test_halves_of_a_budget_add_up(tmp_path):
    text = table("[[release]]", kind="approximate", epsilon=0.5)
    text += table("[[release]]", kind="laplace", sensitivity=2.0, noise_scale=2.0)
    assert dpaudit.account(written(tmp_path, text), 0.0).proved.upper == 1.5
