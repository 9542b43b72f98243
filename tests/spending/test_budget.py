"""What users call: charges, checks, groups, relations, samples, and the block that holds a lock."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dpaudit
from dpaudit import Budget, PoissonSubsampledGaussian, Sequence
from dpaudit.errors import (
    BudgetExceeded,
    DataError,
    DpauditError,
    InvalidArgument,
    UnsupportedEvent,
)
from dpaudit.spending.charges import totals_of, usual_names


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget.jsonl"


def spent_by(budget, group=None):
    groups = budget.overview().groups
    return next(one.spent[0] for one in groups if one.name == group)


def test_a_charge_that_does_not_fit_leaves_the_file_as_it_was(path):
    budget = Budget.create(path, epsilon=1.0)
    budget.charge("laplace", noise_scale=2)
    before = path.read_bytes()
    with pytest.raises(BudgetExceeded, match=r"epsilon would be 1\.5 of 1; nothing was charged"):
        budget.charge("laplace", noise_scale=1)
    assert path.read_bytes() == before
    assert budget.charge("laplace", noise_scale=2).more.count == 0


def test_what_is_out_already_is_charged_and_the_budget_no_longer_holds(path):
    budget = Budget.create(path, epsilon=1.0)
    budget.charge("laplace", noise_scale=0.5, released=True)
    overview = budget.overview()
    assert overview.limits[0].spent == 2.0
    assert not overview.is_kept
    assert "exceeded" in overview.remarks
    assert not budget.check("laplace", noise_scale=1e9).fits


def test_groups_are_charged_in_parallel(path):
    budget = Budget.create(path, epsilon=1.0, partition="the region a person lives in")
    budget.charge("laplace", noise_scale=4, groups=["north"])
    budget.charge("laplace", noise_scale=2, groups=["south", "west"])
    assert budget.overview().limits[0].spent == 0.5  # the worst, not the sum
    budget.charge("laplace", noise_scale=5)
    assert spent_by(budget, "north") == 0.45
    assert spent_by(budget, "south") == 0.7
    assert spent_by(budget) == 0.2
    assert budget.check("laplace", noise_scale=2, groups=["north"]).fits
    assert not budget.check("laplace", noise_scale=2, groups=["south"]).fits
    assert not budget.check("laplace", noise_scale=2).fits
    assert budget.check("laplace", noise_scale=1.25, groups=["east"]).fits  # a new one
    assert not budget.check("laplace", noise_scale=1.2, groups=["east"]).fits


def test_groups_without_a_partition_are_refused(path):
    budget = Budget.create(path, epsilon=1.0)
    with pytest.raises(InvalidArgument, match="partition"):
        budget.charge("laplace", noise_scale=2, groups=["north"])


def test_groups_are_refused_where_a_record_may_move_to_another(path):
    with pytest.raises(InvalidArgument, match="may be in another group"):
        Budget.create(path, epsilon=1.0, relation="replace", partition="regions")
    assert not path.exists()


def test_a_release_about_other_neighbours_is_refused(path):
    budget = Budget.create(path, epsilon=5.0)
    with pytest.raises(InvalidArgument, match=r"replace-record.*expected add-remove-record"):
        budget.charge("randomised-response", truth=0.6)
    other = Budget.create(path.with_name("other.jsonl"), epsilon=5.0, relation="replace")
    assert other.charge("randomised-response", truth=0.6).fits


def test_who_may_share_a_sample_has_to_say(path):
    budget = Budget.create(path, epsilon=3.0, delta=1e-6)
    given = {"q": 0.01, "sigma": 2.0, "times": 100}
    with pytest.raises(InvalidArgument, match="samples"):
        budget.charge("subsampled-gaussian", **given)
    event = PoissonSubsampledGaussian(sampling_ratio=0.01, noise_multiplier=2.0, count=100)
    with pytest.raises(InvalidArgument, match="samples"):
        budget.charge(event)
    first = budget.charge("subsampled-gaussian", samples="independent", **given)
    assert budget.charge(event, samples="independent").entry.release == first.entry.release
    assert budget.charge("dp-sgd", epochs=1).fits  # draws a sample of its own in each step


@pytest.mark.parametrize("name", ["gaussian", "pure", "subsampled-gaussian"])
def test_nothing_is_charged_by_the_defaults_of_a_release(path, name):
    budget = Budget.create(path, epsilon=100.0, delta=1e-6)
    before = path.read_bytes()
    with pytest.raises(InvalidArgument, match="parameters"):
        budget.charge(name, samples="independent")
    assert path.read_bytes() == before


def test_what_no_theorem_prices_is_charged_at_a_delta(path):
    budget = Budget.create(path, epsilon=3.0, delta=1e-5)
    given = {"records": 1000, "batch_size": 50, "noise_multiplier": 2.0, "sampling": "fixed"}
    with pytest.raises(UnsupportedEvent, match="at_delta"):
        budget.charge("batched-gaussian", samples="independent", **given)
    charge = budget.charge("batched-gaussian", samples="independent", at_delta=1e-7, **given)
    proved = dpaudit.account("batched-gaussian", 1e-7, samples="independent", **given).proved
    assert charge.entry.stated.epsilon >= proved.upper * (1 - 1e-6)
    assert charge.entry.stated.delta == 1e-7
    budget.verify()


def test_limits_in_other_currencies(path):
    rho = Budget.create(path, rho=0.5)
    assert rho.charge("zero-concentrated", rho=0.2).more.count == 1
    with pytest.raises(BudgetExceeded, match="deltas of releases"):
        rho.charge("approximate", epsilon=0.1, delta=1e-9)
    mu = Budget.create(path.with_name("mu.jsonl"), mu=1.0)
    assert mu.charge("gaussian", sigma=2).more.count == 3
    curve = Budget.create(path.with_name("c.jsonl"), curve=[(1.0, 1e-3), (3.0, 1e-6)])
    both = [
        Budget.create(path.with_name(f"{e}.jsonl"), epsilon=e, delta=d).check("gaussian", sigma=9)
        for e, d in ((1.0, 1e-3), (3.0, 1e-6))
    ]
    assert curve.check("gaussian", sigma=9).more.count == min(one.more.count for one in both)


def test_planned_is_what_the_account_says(path):
    budget = Budget.create(path, epsilon=1.0, delta=1e-6, filter="planned")
    budget.charge("gaussian", sigma=10)
    budget.charge("laplace", noise_scale=20)
    event = Sequence(
        (
            dpaudit.GaussianRelease(sensitivity=1.0, noise_scale=10.0),
            dpaudit.LaplaceRelease(sensitivity=1.0, noise_scale=20.0),
        )
    )
    spent = budget.overview().limits[0].spent
    assert spent == pytest.approx(dpaudit.account(event, 1e-6).proved.upper, rel=1e-12)


def test_a_block_holds_the_lock(path):
    with Budget.create(path, epsilon=1.0) as budget:
        if budget.check("laplace", noise_scale=2).fits:
            budget.charge("laplace", noise_scale=2)
        with pytest.raises(DataError, match="held it for too long"):
            Budget(path, wait=0.02).charge("laplace", noise_scale=2)
    assert Budget(path, wait=0.02).charge("laplace", noise_scale=2).entry.number == 2


def test_a_file_that_was_replaced_or_rolled_back_is_seen(path):
    budget = Budget.create(path, epsilon=9.0)
    budget.charge("laplace", noise_scale=2)
    first = path.read_bytes()
    budget.charge("laplace", noise_scale=2)
    path.write_bytes(first)
    with pytest.raises(DataError, match="lacks line 3 as it was"):
        budget.charge("laplace", noise_scale=2)
    other = Budget.create(path.with_name("other.jsonl"), epsilon=9.0)
    other.path.replace(path)
    with pytest.raises(DataError, match="is no longer the same budget"):
        budget.charge("laplace", noise_scale=2)


def test_a_clock_that_is_behind_is_said_and_changes_nothing(path, monkeypatch):
    budget = Budget.create(path, epsilon=9.0)
    times = iter(["2031-05-01T10:00:00Z", "2031-04-01T10:00:00Z"])
    monkeypatch.setattr("dpaudit.spending.budget._format_utc_now", lambda: next(times))
    budget.charge("laplace", noise_scale=2)
    budget.charge("laplace", noise_scale=2)
    overview = budget.overview()
    assert "clock-behind" in overview.remarks
    assert overview.limits[0].spent == 1.0
    assert [one.number for one in overview.releases] == [1, 2]


def test_times_are_those_of_one_zone(path, monkeypatch):
    import time

    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        budget = Budget.create(path, epsilon=9.0)
        budget.charge("laplace", noise_scale=2)
    finally:
        monkeypatch.undo()
        time.tzset()
    budget.charge("laplace", noise_scale=2)
    assert "clock-behind" not in budget.overview().remarks
    assert all(one.charged_at.endswith("Z") for one in budget.overview().releases)


def test_nothing_is_made_twice(path):
    Budget.create(path, epsilon=1.0)
    before = path.read_bytes()
    with pytest.raises(DataError, match="is there already"):
        Budget.create(path, epsilon=2.0)
    assert path.read_bytes() == before
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_usual_names_are_understood():
    assert usual_names("laplace", {"b": 2})["noise_scale"] == 2
    assert usual_names("laplace", {"eps": 0.5}) == usual_names("laplace", {"epsilon": 0.5})
    assert usual_names("dp-sgd", {"sigma": 2}) == {"noise_multiplier": 2}
    assert usual_names("zero-concentrated", {"sigma": 2}) == {"sigma": 2}
    with pytest.raises(InvalidArgument, match="one value of noise_scale"):
        usual_names("gaussian", {"sigma": 2, "std": 3})


def test_releases_are_called_as_users_call_them(path):
    budget = Budget.create(path, epsilon=1.0)
    assert budget.check("laplace", epsilon=0.3, sensitivity=3).spent == pytest.approx(
        0.3, rel=1e-14
    )
    assert budget.check("laplace", epsilon=0.3, sensitivity=3).spent >= 0.3
    assert budget.check("pure", epsilon=0.1).spent == 0.1
    with pytest.raises(InvalidArgument, match="nothing in addition to a scale"):
        budget.check("laplace", epsilon=0.3, b=3)


def test_a_pure_budget_says_why_it_has_no_number_for_gaussian_noise(path):
    budget = Budget.create(path, epsilon=1.0)
    with pytest.raises(BudgetExceeded, match="pure DP, has no number for it"):
        budget.charge("gaussian", sigma=100)


@pytest.mark.parametrize("relation", ["replace", "replace-label", "replace-column"])
def test_a_record_that_is_replaced_may_be_in_two_groups_of_a_release(path, tmp_path, relation):
    """Each group costs 0.5: a record that moves costs 1, and the worst group alone is half."""
    group = '[[group]]\n[[group.release]]\nkind = "laplace"\nnoise_scale = 2\n'
    (tmp_path / "night.toml").write_text(group * 2)
    budget = Budget.create(path, epsilon=0.75, relation=relation)
    with pytest.raises(InvalidArgument, match="without groups: under replace"):
        budget.charge(str(tmp_path / "night.toml"))
    with pytest.raises(InvalidArgument, match="without groups: under replace"):
        budget.charge("parallel-groups", at_delta=1e-9, count=1)
    one = Budget.create(path.with_name("other.jsonl"), epsilon=0.75)
    assert one.charge(str(tmp_path / "night.toml")).spent == 0.5


@pytest.mark.parametrize("spelling", [" north", "north\n", "No\u0308rd", "north  west"])
def test_a_group_has_no_second_budget_under_another_spelling(path, spelling):
    budget = Budget.create(path, epsilon=1.0, partition="regions")
    names = ("north", "N\u00f6rd", "north west")
    for name in ("north", "No\u0308rd", "north west"):
        budget.charge("laplace", noise_scale=2, groups=[name])
    found = budget.check("laplace", noise_scale=2, groups=[spelling])
    assert found.spent == 1.0
    assert set(found.entry.groups) < set(names)


def test_a_group_in_other_capitals_is_refused(path):
    budget = Budget.create(path, epsilon=1.0, partition="regions")
    budget.charge("laplace", noise_scale=2, groups=["north"])
    with pytest.raises(InvalidArgument, match="expected 'north', as it was charged before"):
        budget.charge("laplace", noise_scale=2, groups=["North"])


KINDS = (
    ("gaussian", {"noise_scale": (4.0, 60.0)}),
    ("laplace", {"noise_scale": (8.0, 200.0)}),
    ("zero-concentrated", {"rho": (1e-5, 0.01)}),
    ("approximate", {"epsilon": (1e-3, 0.1)}),
    ("subsampled-gaussian", {"noise_multiplier": (1.0, 4.0), "sampling_ratio": (0.001, 0.05)}),
    ("discrete-gaussian", {"noise_scale": (5.0, 50.0)}),
    ("binary-tree", {"noise_scale": (20.0, 90.0)}),
)


@pytest.mark.slow
@pytest.mark.parametrize("filter", ["any", "zcdp", "renyi", "planned"])
@pytest.mark.parametrize("seed", range(4))
def test_no_budget_is_under_the_accountants(path, filter, seed):
    """Any releases, of any groups, in any order: what is spent is at least what is proved of it."""
    rng = np.random.default_rng(seed)
    budget = Budget.create(path, epsilon=50.0, delta=1e-5, filter=filter, partition="regions")
    for _ in range(8):
        kind, ranges = KINDS[rng.integers(len(KINDS))]
        given = {name: float(np.round(rng.uniform(*ends), 3)) for name, ends in ranges.items()}
        groups = [["north"], ["south"], []][rng.integers(3)]
        budget.charge(kind, samples="independent", groups=groups, released=True, **given)
    for group, total in totals_of(budget.read()).items():
        proved = dpaudit.account(total.event, 1e-5, samples="independent").proved
        assert spent_by(budget, group) >= proved.upper * (1 - 1e-12)


@pytest.mark.parametrize("release", ["gausian", "nothing.toml"])
def test_what_is_no_release_is_refused(path, release):
    budget = Budget.create(path, epsilon=1.0)
    with pytest.raises(DpauditError):
        budget.charge(release)


def test_a_file_of_releases_is_one_line(path, tmp_path):
    file = tmp_path / "night.toml"
    file.write_text('[[release]]\nkind = "laplace"\nnoise_scale = 4\n' * 2)
    budget = Budget.create(path, epsilon=1.0)
    charge = budget.charge(str(file))
    assert (charge.spent, charge.more.count, len(charge.entry.release)) == (0.5, 1, 2)


def test_a_tree_is_charged_once(path):
    budget = Budget.create(path, epsilon=1.0, delta=1e-6, filter="gaussian")
    charge = budget.charge("binary-tree", leaves=365, noise_scale=20.0)
    proved = dpaudit.account("binary-tree", 1e-6, leaves=365, noise_scale=20.0).proved
    assert charge.spent == pytest.approx(proved.upper, rel=1e-12)
    assert math.isfinite(budget.overview().odometer.epsilon)


@pytest.mark.parametrize(
    ("limit", "name", "given", "own"),
    [
        ({"epsilon": 1.0}, "laplace", {"noise_scale": 1.0}, "noise_scale"),
        ({"epsilon": 1.0}, "approximate", {"epsilon": 0.9}, "epsilon"),
        ({"rho": 0.1}, "gaussian", {"noise_scale": 1.0}, "noise_scale"),
        ({"rho": 0.1}, "zero-concentrated", {"rho": 0.5}, "rho"),
        ({"epsilon": 1.0, "delta": 1e-6}, "gaussian", {"noise_scale": 1.0}, "noise_scale"),
    ],
)
def test_what_would_fit_does_fit_and_hardly_more_does(path, limit, name, given, own):
    budget = Budget.create(path, **limit)
    if name in ("laplace", "approximate"):
        budget.charge("laplace", noise_scale=2)
    found = budget.check(name, **given).would_fit
    assert found.name == own
    assert budget.check(name, **given | {own: found.value}).fits
    beyond = found.value / 1.01 if found.is_least else found.value * 1.01
    assert not budget.check(name, **given | {own: beyond}).fits
    with pytest.raises(BudgetExceeded, match=rf"nothing was charged; {own}=.* would fit$"):
        budget.charge(name, **given)
    assert budget.check(name, **given | {own: found.value}).would_fit is None


@pytest.mark.parametrize(
    ("limit", "cure"),
    [
        ({"rho": 0.1}, "a budget in rho has none: one of --epsilon and --delta has"),
        ({"mu": 0.1}, "a budget in mu has none: one of --epsilon and --delta has"),
        ({"epsilon": 1.0}, "a budget of pure DP has none: one with --delta has"),
        ({"epsilon": 1.0, "delta": 1e-9, "filter": "basic"}, "--delta of a new budget"),
        ({"epsilon": 1.0, "delta": 1e-9, "filter": "zcdp"}, "--own-delta, of a new budget"),
    ],
)
def test_who_has_no_delta_left_is_told_of_a_budget_that_can_be_made(path, limit, cure):
    budget = Budget.create(path, **limit)
    with pytest.raises(BudgetExceeded) as raised:
        budget.charge("approximate", epsilon=0.01, delta=1e-8)
    assert cure in str(raised.value)
    takes = {**limit, "own_delta": 5e-10}
    if "--own-delta" in cure:
        Budget.create(path.with_name("other.jsonl"), **takes)
        return
    with pytest.raises(InvalidArgument, match=r"^own_delta: got 5e-10, expected nothing"):
        Budget.create(path.with_name("other.jsonl"), **takes)
