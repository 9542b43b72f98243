"""``dpaudit account dp-sgd`` and ``dpaudit calibrate dp-sgd``: by what a training script says."""

import json

import pytest

TRAINING = ("--epochs", "10", "--batch-size", "256", "--records", "60000")


def answer(dpaudit, *words):
    ran = dpaudit("account", "dp-sgd", *TRAINING, "--noise-multiplier", "1.1", *words, "--json")
    assert ran.status == 0, ran.err
    return json.loads(ran.out)


def test_poisson_samples_are_the_subsampled_gaussian(dpaudit):
    found = answer(dpaudit, "--sampling", "poisson")
    settings = ("sampling_ratio=0.0042666666666666667", "noise_multiplier=1.1", "count=2344")
    words = [word for setting in settings for word in ("--set", setting)]
    same = json.loads(dpaudit("account", "subsampled-gaussian", *words, "--json").out)
    assert found["proved"]["upper"] == same["proved"]["upper"]
    assert found["relation"] == "add-remove-record"


@pytest.mark.parametrize(
    ("sampling", "relation"),
    [
        ("shuffle", "zero-out-record"),
        ("fixed", "replace-record"),
        ("cyclic", "zero-out-record"),
        ("none", "add-remove-record"),
    ],
)
def test_the_answer_says_which_sampler_and_relation_it_holds_for(dpaudit, sampling, relation):
    found = answer(dpaudit, "--sampling", sampling)
    assert found["relation"] == relation
    assert found["words"][0].startswith(f"Holds for --sampling {sampling}: ")
    assert found["remarks"][-1].startswith("For one training run.")


def test_shuffling_has_a_lower_end_and_no_gain(dpaudit):
    found = answer(dpaudit, "--sampling", "shuffle")
    cyclic = answer(dpaudit, "--sampling", "cyclic")
    assert found["proved"]["upper"] == pytest.approx(cyclic["proved"]["upper"])
    assert 5.2 < found["proved"]["lower"] < found["proved"]["upper"]
    assert "No theorem says what shuffling gains" in found["remarks"][0]


def test_a_loader_that_shuffles_is_no_poisson_sampler(dpaudit):
    ran = dpaudit(
        "account", "dp-sgd", "--batch-size", "600", "--noise-multiplier", "0.6", "--sampling",
        "shuffle",
    )  # fmt: skip
    said = " ".join(ran.out.split())
    assert "claims 3.8156 at this delta; some neighbours lose at least 8.00208" in said


def test_calibration_takes_the_same_words(dpaudit):
    words = (*TRAINING, "--sampling", "cyclic", "--epsilon", "3")
    ran = dpaudit("calibrate", "dp-sgd", *words)
    assert "noise_multiplier=4.39744" in ran.out
    assert "Holds for --sampling cyclic" in ran.out
    assert "zero-out-record" in ran.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--sampling", "cyclic", "--relation", "add-remove"), "expected zero-out-record or"),
        (("--sampling", "riffle"), "sampling: got 'riffle', expected 'poisson'"),
        (("--epochs", "0"), "epochs: got 0"),
        (("--batch-size", "70000"), "batch_size: got 70000, expected at most the number of"),
        (("--epochs", "x"), "--epochs: got 'x', expected an integer"),
    ],
)
def test_what_is_no_training_is_one_line(dpaudit, words, message):
    ran = dpaudit("account", "dp-sgd", *words)
    assert ran.status == 2
    assert message in ran.err
    assert ran.err.count("\n") == 1


def test_options_of_a_training_are_refused_elsewhere(dpaudit):
    ran = dpaudit("account", "gaussian", "--epochs", "2")
    assert "parameter: got 'epochs', expected one of: " in ran.err
