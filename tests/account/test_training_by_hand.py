"""What a training script says as an event, and what an account makes of it, number by number."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest

import dpaudit.accounts.account as account_module
from dpaudit.accounting.accountants import AccountantAnswer
from dpaudit.accounting.events import (
    AllocatedGaussian,
    ApproximateRelease,
    BatchedGaussian,
    GaussianRelease,
    LaplaceRelease,
    Parallel,
    PoissonSubsampledGaussian,
    PoissonSubsampledLaplace,
    PrivateSelection,
    Sequence,
    ShuffledGaussian,
)
from dpaudit.accounting.optimal import OptimalComposition
from dpaudit.accounting.samples import SampleRelease
from dpaudit.accounts.account import (
    _require_consistent_answers,
    _to_plain_account,
    account,
    account_for,
)
from dpaudit.accounts.curves import _make_accountant_curve, _trade_off
from dpaudit.accounts.display import format_answer_row
from dpaudit.accounts.releases import _parse_fraction_share, parameters_of
from dpaudit.accounts.sharing import (
    GROUPS,
    _one_relation,
    convert_event_to_cards,
    find_sharing,
    of_own_samples,
    read_held_tables,
    read_release,
    samples_of,
    tables_of,
    ways_of_part,
)
from dpaudit.accounts.target import AccountPart, AccountTarget
from dpaudit.accounts.training import (
    COVERED,
    Training,
    _count_training_batches,
    _format_draw_probability,
    format_training_remarks,
    format_training_scope,
    relation_of,
    run_event,
    training_event,
)
from dpaudit.errors import ConvergenceError, InvalidArgument, UnsupportedEvent
from dpaudit.extension.registry import RELEASES
from dpaudit.guarantees.kinds import PureDP

RUN = {"records": 1000, "batch_size": 300, "epochs": 3, "noise_multiplier": 2.0}


def training(**changes):
    return Training(**RUN | changes)


# --- steps, epochs, batches -----------------------------------------------------------------------


def test_steps_are_the_epochs_times_the_records_over_the_batch_rounded_up():
    assert training().sums == 10
    assert training(records=900).sums == 9
    assert training(records=901).sums == 10
    assert training(batch_size=1000).sums == 3
    assert (
        training(steps=7).sums == training(rounds=7).sums == training(steps=7, rounds=7).sums == 7
    )
    with pytest.raises(InvalidArgument, match="as many as steps, 7"):
        _ = training(steps=7, rounds=8).sums


def test_an_epoch_has_an_incomplete_batch_unless_records_pick_one():
    assert training().batches == 4
    assert training(records=900).batches == 3
    assert _count_training_batches(training(sampling="shuffle")) == 4
    assert _count_training_batches(training(sampling="balls-and-bins")) == 3


@pytest.mark.parametrize(
    ("sampling", "steps", "epochs"), [("shuffle", 8, 2), ("cyclic", 4, 1), ("balls-and-bins", 9, 3)]
)
def test_steps_of_whole_epochs(sampling, steps, epochs):
    assert training(sampling=sampling).passes == 3
    assert training(sampling=sampling, steps=steps).passes == epochs
    each = _count_training_batches(training(sampling=sampling))
    with pytest.raises(InvalidArgument, match=f"{steps} or {steps + each}"):
        _ = training(sampling=sampling, steps=steps + 1).passes
    with pytest.raises(InvalidArgument, match=rf": {each}$"):
        _ = training(sampling=sampling, steps=1).passes


# --- events ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "event"),
    [
        ({}, PoissonSubsampledGaussian(sampling_ratio=0.3, noise_multiplier=2.0, count=10)),
        (
            {"relation": "zero-out-record"},
            PoissonSubsampledGaussian(sampling_ratio=0.3, noise_multiplier=2.0, count=10),
        ),
        (
            {"relation": "replace-record"},
            BatchedGaussian(
                records=1000,
                batch_size=300,
                noise_multiplier=2.0,
                relation="replace-record",
                count=10,
            ),
        ),
        (
            {"sampling": "fixed"},
            BatchedGaussian(
                records=1000,
                batch_size=300,
                noise_multiplier=2.0,
                sampling="fixed",
                relation="replace-record",
                count=10,
            ),
        ),
        ({"sampling": "shuffle"}, ShuffledGaussian(batches=4, noise_multiplier=2.0, count=3)),
        (
            {"sampling": "balls-and-bins"},
            AllocatedGaussian(batches=3, noise_multiplier=2.0, count=3),
        ),
        ({"sampling": "cyclic"}, GaussianRelease(sensitivity=1.0, noise_scale=2.0, count=3)),
        (
            {"sampling": "cyclic", "relation": "replace-record"},
            GaussianRelease(sensitivity=2.0, noise_scale=2.0, count=3),
        ),
        ({"sampling": "none"}, GaussianRelease(sensitivity=1.0, noise_scale=2.0, count=10)),
        (
            {"sampling": "none", "relation": "replace-record"},
            GaussianRelease(sensitivity=2.0, noise_scale=2.0, count=10),
        ),
    ],
)
def test_each_sampler_has_its_event(changes, event):
    assert run_event(training(**changes)) == event


def test_a_ratio_is_rounded_up_and_a_batch_is_no_larger_than_the_data():
    ratio = run_event(training(records=3, batch_size=1)).sampling_ratio
    assert Fraction(ratio) > Fraction(1, 3) > Fraction(math.nextafter(ratio, 0))
    assert run_event(training(batch_size=1000)).sampling_ratio == 1.0
    with pytest.raises(InvalidArgument, match="batch_size"):
        run_event(training(batch_size=1001))


def test_relations_are_those_that_a_sampler_has():
    for sampling, covered in COVERED.items():
        assert relation_of(training(sampling=sampling)) == covered[0]
        for relation in ("add-remove-record", "replace-record", "zero-out-record"):
            asked = training(sampling=sampling, relation=relation)
            if relation in covered:
                assert relation_of(asked) == relation
            else:
                with pytest.raises(InvalidArgument, match=sampling):
                    relation_of(asked)
    assert COVERED["balls-and-bins"] == ("add-remove-record", "zero-out-record")
    assert COVERED["shuffle"] == COVERED["cyclic"] == ("zero-out-record", "replace-record")


def test_all_runs_or_the_best_of_a_random_number():
    assert training_event(training(runs=3)).count == 30
    best = training_event(training(runs=2.5, selection="geometric"))
    assert best == PrivateSelection(base=run_event(training()), runs=2.5, law="geometric")
    with pytest.raises(InvalidArgument, match="runs"):
        training_event(training(runs=2.5))


def test_sentences_say_how_often():
    assert "; 10 steps." in format_training_scope(training())
    assert "; 3 epochs." in format_training_scope(training(sampling="cyclic"))
    assert "; 1 epoch." in format_training_scope(training(sampling="cyclic", epochs=1))
    assert "one of 3 batches" in format_training_scope(training(sampling="balls-and-bins"))
    assert _format_draw_probability(training(records=3, batch_size=1)) == "0.333334"
    assert (
        _format_draw_probability(training(records=10**8, batch_size=10**8 - 1))
        == "99999999 / 100000000"
    )
    assert _format_draw_probability(training(batch_size=1000)) == "1"


def test_a_loader_that_makes_more_batches_is_told_of():
    def told(**changes):
        return " ".join(format_training_remarks(training(**changes), 0.0))

    assert "give --steps 12" in told()
    assert "--steps" not in told(records=900)
    assert "--steps" not in told(steps=10)
    assert "--steps" not in told(sampling="cyclic")
    assert "For one training run" in told()
    assert "For 3 training runs" in told(runs=3)
    assert "geometric number of runs" in told(runs=3, selection="geometric")


def test_epochs_that_no_loader_makes_of_so_many_steps_are_told_of():
    def told(steps, **changes):
        return " ".join(format_training_remarks(training(steps=steps, **changes), 0.0))

    assert "ignores the 3 epochs" in told(8)
    assert "8 steps of 300 records each go 2.4 times through 1000 records" in told(8)
    assert "ignores the 3 epochs" in told(13)
    for steps in (9, 10, 12):  # incomplete batches dropped, none at all, and made
        assert "epochs" not in told(steps)
    assert "ignores the 3 epochs" in told(8, sampling="shuffle")
    own = Training(records=1000, batch_size=300, steps=1)
    assert "epochs" not in " ".join(format_training_remarks(own, 0.0))


# --- tables and parts -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "found"),
    [("1/4", 0.25), (" 1 / 4 ", 0.25), ("1/0", "1/0"), ("-1/4", "-1/4"), ("1/2/3", "1/2/3")],
)
def test_shares_are_fractions_of_whole_numbers(given, found):
    assert _parse_fraction_share(given) == found
    assert Fraction(_parse_fraction_share("2/3")) > Fraction(2, 3)
    assert _parse_fraction_share(0.5) == 0.5


ONE = PoissonSubsampledGaussian(sampling_ratio=0.1, noise_multiplier=2.0, count=5)
PLAIN = GaussianRelease(sensitivity=1.0, noise_scale=2.0)


def test_parts_of_an_event_have_cards_and_groups_stay_together():
    event = Sequence((PLAIN, Parallel((ONE, PLAIN), 3), PLAIN))
    (first, given), (second, groups) = convert_event_to_cards(event)
    assert (first.name, given["count"]) == ("gaussian", 2)
    assert (second, groups["count"]) == (GROUPS, 3)
    assert [one["release"][0]["kind"] for one in groups["group"]] == [
        "subsampled-gaussian",
        "gaussian",
    ]
    assert parameters_of(PLAIN) == {"sensitivity": 1.0, "noise_scale": 2.0, "count": 1}
    with pytest.raises(UnsupportedEvent):
        parameters_of(PrivateSelection(base=Sequence((PLAIN, ONE)), runs=2.0))


def test_what_a_part_shares():
    assert find_sharing("round", ONE) == [{"of": "round", "shared": "one sample", "releases": 5}]
    assert find_sharing("gaussian", PLAIN) == []
    several = replace(PLAIN, count=2)
    assert find_sharing("gaussian", several)[0] == {
        "of": "gaussian",
        "shared": "nothing",
        "releases": 2,
    }
    assert find_sharing("gaussian", several, known=False)[0]["shared"] == "nothing"
    assert find_sharing("x", ONE, known=False)[0]["shared"] == "unknown"
    assert find_sharing("x", replace(ONE, count=1))[0]["shared"] == "nothing"


def test_tables_of_a_file_by_their_names():
    document = {"release": {"kind": "a"}, "round": [{"release": {"kind": "b"}}], "samples": "x"}
    assert tables_of(document, "f") == [
        {"kind": "a"},
        {"kind": "round", "release": [{"kind": "b"}]},
    ]
    assert tables_of({"budget": [{"norm": "l1"}]}, "f") == [
        {"kind": "shared-budget", "norm": "l1", "release": []}
    ]
    assert read_held_tables("group", [{"x": 1}]) == [{"x": 1}]
    assert samples_of({"samples": "independent"}, "f") == "independent"
    assert samples_of({}, "f") is None
    with pytest.raises(InvalidArgument, match="samples in f"):
        samples_of({"samples": "shared"}, "f")


def test_rounds_and_trainings_say_that_they_draw_samples_of_their_own():
    target = AccountTarget.of(Sequence((ONE, PoissonSubsampledLaplace(sampling_ratio=0.1))))
    said = [ways_of_part(p.card, p.parameters, p.event) for p in target.parts]
    assert not any(draw.said for ways in said for way in ways for draw in way)
    sgd = AccountPart.of(RELEASES.get("dp-sgd"), {})
    assert [d.said for w in ways_of_part(sgd.card, sgd.parameters, sgd.event) for d in w] == [True]
    assert isinstance(target.written[0][0], SampleRelease)


def test_a_target_has_one_relation_and_releases_something():
    with pytest.raises(InvalidArgument, match="no release"):
        AccountTarget.of(replace(PLAIN, count=0))
    batch = BatchedGaussian(
        records=10, batch_size=2, noise_multiplier=1.0, relation="replace-record"
    )
    with pytest.raises(InvalidArgument, match="one neighbour relation"):
        AccountTarget.of(Sequence((ONE, batch)))
    assert AccountTarget.of(Sequence((PLAIN, batch))).relation == "replace-record"
    assert AccountTarget.of(PLAIN).relation == "any"
    assert AccountTarget.of(PrivateSelection(base=batch, runs=2.0)).relation == "replace-record"
    assert AccountTarget.of(PrivateSelection(base=ONE, runs=2.0)).relation == "add-remove-record"


def test_lengths_are_counts_of_one_part_or_repetitions():
    single = AccountTarget.of(replace(PLAIN, count=4))
    assert (single.length, single.at(7)) == (4, replace(PLAIN, count=7))
    several = AccountTarget.of(Sequence((PLAIN, LaplaceRelease(sensitivity=1.0, noise_scale=3.0))))
    assert several.length == 1
    assert [one.count for one in several.at(3).events] == [3, 3]
    doubtful = AccountTarget.of(Sequence((ONE, replace(ONE, noise_multiplier=3.0))))
    assert doubtful.if_shared is not None
    assert replace(doubtful, samples="independent").if_shared is None
    assert replace(doubtful, samples="independent").event == doubtful.own


# --- accounts -------------------------------------------------------------------------------------

RESPONSE = ApproximateRelease(epsilon=0.5, count=2)


def test_an_account_means_what_is_proved():
    found = account(RESPONSE, 0.0, group=3)
    assert found.proved.upper == 1.0
    assert found.meaning.group == (3, 3.0)
    assert [prior for prior, _ in found.meaning.success] == [0.5, 0.1, 0.01]
    truth = 1 / (1 + math.exp(-0.5))
    assert found.meaning.advantage == pytest.approx(truth**2 - (1 - truth) ** 2)
    assert found.meaning.success[0][1] == pytest.approx(0.5 + found.meaning.advantage / 2)
    assert found.own_samples is None
    with pytest.raises(InvalidArgument, match="parameters"):
        account(RESPONSE, 0.0, noise_scale=1.0)


@pytest.mark.parametrize("said", [None, "independent"])
def test_what_is_not_exact_has_no_lower_end(said, monkeypatch):
    """A Gaussian and a Laplace release that may be of one sample: bounded from above alone."""
    laplace = PoissonSubsampledLaplace(sampling_ratio=0.1, noise_scale=2.0)
    mixed = Sequence((replace(ONE, count=1), laplace))
    monkeypatch.setattr(account_module, "ask_all", lambda *_: (answered(1.0, 2.0),))
    own = {True: PureDP(1.5), False: PureDP(2.0)}
    monkeypatch.setattr(account_module, "proved_guarantee", lambda event: own[event == mixed])
    monkeypatch.setattr(account_module, "compute_event_totals", lambda event: {})
    found = account_for(AccountTarget.of(mixed, said), 1e-3)
    (only,) = found.answers
    assert only.lower == (None if said is None else 1.0)
    assert found.proved.upper == 2.0
    if said is None:
        assert found.own_samples == pytest.approx(PureDP(1.5).epsilon(1e-3))
        assert any("a sample of its own" in one for one in found.remarks)
    else:
        assert found.own_samples is None


def answered(lower, upper):
    return AccountantAnswer(accountant="a", kind="bracket", source="", lower=lower, upper=upper)


def test_accountants_that_contradict_each_other_are_an_error():
    _require_consistent_answers((answered(1.0, 2.0), answered(None, 1.5), answered(1.5, 3.0)))
    _require_consistent_answers((answered(None, None),))
    with pytest.raises(ConvergenceError, match="contradict"):
        _require_consistent_answers((answered(1.0, 2.0), answered(2.1, 3.0)))


def test_infinities_are_text_and_times_are_left_out():
    given = {"a": [math.inf, 1.0], "seconds": 3.0, "b": {"seconds": 1.0, "c": (-math.inf,)}}
    assert _to_plain_account(given) == {"a": ["inf", 1.0], "b": {"c": ["-inf"]}}


def test_ends_are_shown_outwards():
    assert format_answer_row(answered(1.23456789, 1.23456781))[1:3] == ("1.23456", "1.23457")
    assert of_own_samples(1.23456789, 4) == [
        "If each release draws a sample of its own: epsilon = 1.235."
    ]
    assert of_own_samples(None, 4) == []


def test_curves_have_finite_points_above_zero_and_both_kinds_of_line():
    assert _make_accountant_curve("a", [(1, 0.0), (2, math.inf)]) is None
    assert _make_accountant_curve("a", [(1, 0.0), (2, 3.0), (4, math.inf)]).y == [3.0]
    proved, nothing = _trade_off(AccountTarget.of(RESPONSE)).curves
    exact = OptimalComposition((RESPONSE,))
    for x, y in zip(proved.x, proved.y, strict=True):
        assert exact.trade_off(x) - 0.01 <= y <= exact.trade_off(x) + 1e-12
    assert (nothing.x, nothing.y) == ([0.0, 1.0], [1.0, 0.0])


@pytest.mark.parametrize(
    ("sampling", "said"),
    [
        ("poisson", "each record is in each batch by itself, with probability 0.3; 4 steps."),
        ("fixed", "each batch is a fresh uniform subset of 3 of 10 records; 4 steps."),
        ("fixed-replacement", "each batch is 3 draws of a record out of 10; 4 steps."),
        ("shuffle", "4 batches an epoch, in a random order of the records; 1 epoch."),
        ("balls-and-bins", "each record picks one of 3 batches at random, once an epoch; 1 epoch."),
        ("cyclic", "each record is in the same one of 4 batches in every epoch; 1 epoch."),
        ("none", "no gain by sampling: a record may be in every batch; 4 steps."),
    ],
)
def test_an_answer_says_how_batches_are_made(sampling, said):
    one = training(sampling=sampling, records=10, batch_size=3, epochs=1)
    assert format_training_scope(one) == f"Holds for --sampling {sampling}: {said}"


def test_releases_in_a_table_are_about_one_relation():
    plain, sampled, replaced = (
        read_release(table)
        for table in (
            {"kind": "gaussian"},
            {"kind": "subsampled-gaussian"},
            {"kind": "dp-sgd", "sampling": "fixed"},
        )
    )
    assert _one_relation([plain]) == _one_relation([plain, plain]) == "any"
    assert _one_relation([plain, sampled]) == _one_relation([sampled]) == "add-remove-record"
    assert _one_relation([replaced, plain]) == "replace-record"
    with pytest.raises(InvalidArgument, match="one neighbour relation"):
        _one_relation([plain, sampled, replaced])


@pytest.mark.parametrize("table", [["kind"], "kind", None, {"kind": 3}, {"name": "gaussian"}])
def test_a_release_is_a_table_with_a_kind(table):
    with pytest.raises(InvalidArgument, match=r"release in file\.toml.*a table with a kind"):
        read_release(table, "file.toml")
