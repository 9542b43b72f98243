"""``dpaudit attack``: the table, the files, the refusals, and one result from one seed."""

import csv
import json

import pytest

from dpaudit.cli.main import main
from dpaudit.extension.registry import ATTACKS

SMALL = {
    "canary-audit": ["epsilons=[4]", "canaries=100"],
    "stationarity": [
        "iterations=[4,6]",
        "noise_rates=[50]",
        "runs=2",
        "records=10",
        "dimension=3",
    ],
    "prediction-inversion": ["tuples=80", "columns=4", "known=10"],
    "membership-inference": [
        "algorithm=fdml",
        "start_scales=[0,1]",
        "iterations=1",
        "runs=50",
        "shadow_runs=20",
    ],
}


def arguments(name):
    return [word for change in SMALL[name] for word in ("--set", change)]


def test_every_study_is_tried_here():
    assert SMALL.keys() <= ATTACKS.all().keys()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", SMALL)
def test_what_is_printed_is_what_is_written(dpaudit, tmp_path, name):
    ran = dpaudit("attack", name, *arguments(name), "--out", str(tmp_path))
    assert ran.status == 0
    assert "The attacker wants" in ran.out
    assert "Chance: " in ran.out
    document = json.loads((tmp_path / f"{name}.json").read_text())
    with (tmp_path / f"{name}.csv").open() as file:
        assert len(list(csv.DictReader(file))) == len(document["rows"])
    assert (
        document["parameters"].keys() == ATTACKS.all()[name].load_parameters().model_fields.keys()
    )
    assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / f"{name}.png").stat().st_size > 5000


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", SMALL)
def test_one_seed_gives_one_result(dpaudit, name):
    first, again, other = (
        json.loads(dpaudit("attack", name, *arguments(name), "--json", "--seed", seed).out)
        for seed in ("3", "3", "4")
    )
    assert first == again
    assert first["rows"] != other["rows"]


def test_tuples_are_recovered_under_label_and_feature_noise(dpaudit):
    ran = dpaudit("attack", "prediction-inversion", *arguments("prediction-inversion"), "--json")
    rows = json.loads(ran.out)["rows"]
    assert all(row["error"] < 1e-6 < row["without the knowledge"] for row in rows)


@pytest.mark.slow  # in the fast run: tests/attacks/stationarity
def test_a_record_that_takes_no_part_is_not_found(dpaudit):
    """With ten independent runs, medians of a guess in ten dimensions stay below one half."""
    changes = ["record=does not", "runs=10", "iterations=[30]", "noise_rates=[100]", "shorter=[]"]
    words = [word for change in changes for word in ("--set", change)]
    (row,) = json.loads(dpaudit("attack", "stationarity", *words, "--json").out)["rows"]
    for estimator in ("averaged", "likelihood", "private eta"):
        assert abs(row[estimator]) < 0.5
    there = [w if w != "record=does not" else "record=takes part" for w in words]
    (row,) = json.loads(dpaudit("attack", "stationarity", *there, "--json").out)["rows"]
    assert row["likelihood"] > 0.9


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nonsense"], "attack: got 'nonsense', expected one of: "),
        (["likelihood-ratio"], "claim: got None, expected a value: it has no default"),
        (["stationarity", "--set", "runs=0"], "runs: got 0"),
        (["stationarity", "--set", "iterations=[0]"], "iterations: got [0]"),
        (["stationarity", "--set", "noise_rates=[0]"], "noise_rates: got [0"),
        (
            ["stationarity", "--set", "noise_rates=[1e-300]", "--set", "iterations=[5]"],
            "noise_rates: got [1e-300]",
        ),
        (["stationarity", "--set", "loss_weight=1e300"], "loss_weight: got 1e+300"),
        (["prediction-inversion", "--set", "epsilon=1e-300"], "epsilon: got 1e-300"),
        (["canary-audit", "--set", "canaries=1000000"], "canaries: got 1000000"),
        (["membership-inference", "--set", "algorithm=sgd"], "algorithm: got 'sgd'"),
        (["stationarity", "--set", "colour=red"], "parameter: got 'colour', expected one of"),
        (["stationarity", "--seed", "-1"], "seed: got -1"),
        (["prediction-inversion", "--set", "columns=99"], "columns: got 99"),
        (["prediction-inversion", "--set", "known=400"], "known: got 400"),
        (["prediction-inversion", "--set", "tuples=9999"], "tuples: got 9999"),
    ],
)
def test_bad_input_is_one_line(dpaudit, words, told):
    ran = dpaudit("attack", *words)
    assert ran.status == 2
    assert told in ran.err
    assert ran.err.count("\n") == 1


def test_show_prints_threat_model_and_parameters(dpaudit):
    ran = dpaudit("show", "stationarity")
    assert "The attacker knows all records of a node but one" in ran.out
    assert "noise_rates" in ran.out


def test_help_names_the_command(capsys):
    with pytest.raises(SystemExit):
        main(["attack", "--help"])
    assert "--out" in capsys.readouterr().out


@pytest.mark.parametrize("more", [(), ("--json",)], ids=["text", "json"])
def test_a_store_that_an_attack_leaves_is_named(dpaudit, tmp_path, more):
    store = tmp_path / "kept.sqlite"
    ran = dpaudit(
        "attack", "stationarity", *arguments("stationarity"), "--store", str(store), *more
    )
    said = ran.err if more else ran.out
    assert f"Holds records: {store} (mode 0600)" in said
    ran = dpaudit("attack", "stationarity", *arguments("stationarity"), "--no-store", *more)
    assert "Holds records" not in ran.out + ran.err
