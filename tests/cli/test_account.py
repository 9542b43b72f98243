"""``dpaudit account`` and ``dpaudit calibrate``: tables, files, refusals."""

import csv
import json
import math

import pytest

from dpaudit.guarantees.gaussian import epsilon_at

SPECIFICATION = """
[[release]]
kind = "gaussian"
noise_scale = 4.0
count = 10

[[release]]
kind = "laplace"
noise_scale = 10.0
count = 20
"""


@pytest.fixture
def sequence(tmp_path):
    path = tmp_path / "two.toml"
    path.write_text(SPECIFICATION)
    return path


def test_account_shows_every_accountant_and_what_it_means(dpaudit):
    ran = dpaudit("account", "gaussian", "--set", "noise_scale=5", "--set", "count=25")
    assert ran.status == 0
    assert "4.3771781" in ran.out
    assert "Proved: epsilon = 4.3771781 at delta = 1e-05." in ran.out
    assert "0.6915 for a prior of 0.5" in ran.out  # Phi(1/2), rounded up
    assert "No answer from: basic" in ran.out


def test_bounds_are_rounded_to_the_side_on_which_they_hold(dpaudit):
    exact = epsilon_at(1.0, math.log(1e-7))
    ran = dpaudit("account", "gaussian", "--delta", "1e-7")
    line = next(line for line in ran.out.splitlines() if line.startswith("Proved"))
    assert float(line.split()[3]) >= exact
    table = next(line for line in ran.out.splitlines() if "numerical" in line)
    lower, upper = (float(x) for x in table.split("[")[1].split("]")[0].split(","))
    assert lower <= exact <= upper


def test_json_has_refusals_and_no_times(dpaudit):
    ran = dpaudit("account", "laplace", "--set", "count=100", "--json")
    document = json.loads(ran.out)
    assert document["parameters"] == [
        {"kind": "laplace", "count": 100, "sensitivity": 1.0, "noise_scale": 1.0}
    ]
    said = {answer["accountant"]: answer for answer in document["answers"]}
    assert "expected Gaussian releases" in said["Gaussian DP"]["refusal"]
    assert said["numerical"]["lower"] <= said["numerical"]["upper"] <= said["optimal"]["upper"]
    assert "seconds" not in ran.out


@pytest.mark.slow
def test_a_sequence_from_a_file_is_drawn_and_written(dpaudit, sequence, tmp_path):
    out = tmp_path / "account"
    ran = dpaudit("account", str(sequence), "--out", str(out))
    assert ran.status == 0, ran.err
    names = {path.name for path in out.iterdir()}
    assert names == {f"account-two.{kind}" for kind in ("json", "csv", "png", "svg")}
    rows = list(csv.DictReader((out / "account-two.csv").read_text().splitlines()))
    growth = [row for row in rows if row["panel"].startswith("epsilon")]
    curve = [float(row["y"]) for row in growth if row["curve"] == "proved"]
    assert curve == sorted(curve)
    assert len(curve) > 3
    proved = json.loads((out / "account-two.json").read_text())["proved"]["upper"]
    assert curve[0] == proved


def test_calibration_round_trips_through_account(dpaudit):
    ran = dpaudit("calibrate", "laplace", "--set", "count=10", "--epsilon", "2", "--json")
    found = json.loads(ran.out)
    assert found["proved"]["epsilon"] <= 2.0
    again = dpaudit(
        "account", "laplace", "--set", "count=10", "--set", f"noise_scale={found['value']!r}",
        "--json",
    )  # fmt: skip
    assert json.loads(again.out)["proved"]["upper"] == found["proved"]["epsilon"]
    assert found["proved"]["epsilon"] == pytest.approx(2.0, rel=1e-6)


def test_calibration_says_how_to_check_it(dpaudit):
    ran = dpaudit("calibrate", "gaussian", "--set", "sensitivity=2.0")
    assert "noise_scale=7.46126" in ran.out
    assert "dpaudit account gaussian --delta 1e-05 --set sensitivity=2.0 --set" in ran.out


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "count"), [("gaussian", 1), ("laplace", 10)])
def test_groups_cost_more_than_one(dpaudit, kind, count):
    words = ["account", kind, "--set", f"count={count}", "--set", "noise_scale=20"]
    single = json.loads(dpaudit(*words, "--json").out)["proved"]["upper"]
    size, epsilon = json.loads(dpaudit(*words, "--group", "2", "--json").out)["meaning"]["group"]
    assert size == 2
    assert single < epsilon < 5 * single
    assert "group: got 0" in dpaudit(*words, "--group", "0").err


def test_what_a_group_pays_is_said(dpaudit):
    ran = dpaudit("account", "gaussian", "--group", "2")
    assert "For groups of 2: epsilon = " in ran.out


def test_show_and_list_know_releases(dpaudit):
    assert "noise_rate" in dpaudit("show", "exponential-norm").out
    assert "subsampled-gaussian" in dpaudit("list").out
    releases = json.loads(dpaudit("list", "--json").out)["releases"]
    assert "gaussian" in {release["name"] for release in releases}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["account", "nope"], "release: got 'nope', expected one of"),
        (["account", "gaussian", "--set", "noise_scale=0"], "noise_scale: got 0"),
        (["account", "gaussian", "--set", "nois=1"], "parameter: got 'nois', expected one of"),
        (["account", "gaussian", "--delta", "2"], "delta: got 2.0"),
        (["account", "missing.toml"], "missing.toml: cannot be read"),
        (["calibrate", "gaussian", "--epsilon", "0"], "epsilon: got 0.0"),
        (["calibrate", "gaussian", "--set", "noise_scale=1"], "this one is solved for"),
        (["calibrate", "gaussian", "--set", "sensitivity=0"], "above 1e-12 to meet"),
    ],
)
def test_bad_input_is_one_line_and_status_two(dpaudit, arguments, message):
    ran = dpaudit(*arguments)
    assert ran.status == 2
    assert message in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[release]]\nnoise_scale = 1\n", "a table with a kind"),
        ("[other]\nx = 1\n", "expected [[release]], [[round]], [[budget]] or [[group]] tables"),
        ("release = 3\n", "got 3, expected tables"),
        ("[[round]]\ncount = 2\n", "release: got no table"),
        ("[[round]]\n[[round.release]]\nkind = 'laplace'\n", "releases of a sample"),
        ("[[group]]\nx = 1\n", "a table of release, round or budget tables"),
        ("[[release]]\nkind = 'gaussian'\ncount = 0\n", "no release"),
        ("not toml", "is not valid TOML"),
    ],
)
def test_bad_files_are_refused(dpaudit, tmp_path, text, message):
    path = tmp_path / "bad.toml"
    path.write_text(text)
    ran = dpaudit("account", str(path))
    assert ran.status == 2
    assert message in ran.err


def test_a_sequence_takes_no_changes_and_no_calibration(dpaudit, sequence):
    assert "the file has several releases" in dpaudit("account", str(sequence), "--set", "a=1").err
    assert "a single release" in dpaudit("calibrate", str(sequence)).err


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "setting",
    ["count=100000000000", "sensitivity=1e-300", "sensitivity=1e300", "noise_scale=1e-300"],
)
@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_extreme_parameters_end_in_an_answer_or_one_line(dpaudit, kind, setting):
    ran = dpaudit("account", kind, "--set", setting)
    assert ran.status in (0, 2)
    assert "unforeseen" not in ran.err
    assert ran.status == 0 or ran.err.count("\n") == 1
