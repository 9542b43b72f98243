"""``dpaudit verify``: a true certificate stands, every kind of tampering is named."""

import copy
import json

import pytest

from dpaudit.auditing import run_claim
from dpaudit.execution import Executor
from dpaudit.extension.settings import Settings
from dpaudit.refutation import certificates_text


def certificate(trials, **parameters):
    settings = Settings(trials=trials, parameters=parameters)
    return run_claim("hu2020-lemma1", settings, Executor()).certificate


@pytest.fixture(scope="module")
def genuine():
    found = certificate(2000, features=8, samples=32, parties=2)
    return json.loads(certificates_text((found,)))


@pytest.fixture
def written(tmp_path):
    def write(document, name="c.json"):
        path = tmp_path / name
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        return str(path)

    return write


def test_a_genuine_certificate_is_verified(dpaudit, genuine, written):
    ran = dpaudit("verify", written(genuine))
    assert (ran.status, ran.err) == (0, "")
    assert "c.json: hu2020-lemma1: verified, " in ran.out


@pytest.mark.sampled(1)
@pytest.mark.parametrize("features", [8, 16, 32])
def test_certificates_of_the_three_sizes_are_verified(dpaudit, written, features):
    found = certificate(600, features=features)
    ran = dpaudit("verify", written(certificates_text((found,))), "--json")
    (outcome,) = json.loads(ran.out)
    assert ran.status == 0
    assert outcome["verified"]
    assert outcome["failures"] == []
    assert outcome["ratio"] == pytest.approx(found.quantities["ratio"], rel=1e-8)


def scaled(values, factor):
    return [factor * value for value in values]


def longer_row(instance):
    instance["design"][0] = scaled(instance["design"][0], 1 + 1e-9)


def longer_row_of_the_neighbour(instance):
    instance["neighbour"][3] = scaled(instance["neighbour"][3], 1 - 1e-9)


def longer_row_of_the_others(instance):
    instance["others"][0][0] *= 1.0001


def second_column(instance):
    instance["neighbour"][0][1] *= -1


def far_neighbour(instance):
    for row, other in zip(instance["design"], instance["neighbour"], strict=True):
        other[0] = -row[0]


def long_state(instance):
    for name in ("dual", "prediction", "models"):
        instance[name] = scaled(instance[name], 50.0)


def long_dual(instance):
    instance["dual"] = scaled(instance["dual"], 50.0)


def long_prediction(instance):
    instance["prediction"] = scaled(instance["prediction"], 50.0)


def long_models(instance):
    instance["models"] = scaled(instance["models"], 50.0)


VIOLATIONS = {
    "unit rows": longer_row,
    "unit rows of the neighbour": longer_row_of_the_neighbour,
    "unit rows of the others": longer_row_of_the_others,
    "one column differs": second_column,
    "close neighbours": far_neighbour,
    "bounded model": long_state,
    "bounded model of the neighbour": long_state,
    "bounded models of the others": long_models,
    "bounded dual": long_dual,
    "bounded prediction": long_prediction,
}


def test_every_assumption_is_violated_once(genuine):
    assert {stated["name"] for stated in genuine["assumptions"]} == set(VIOLATIONS)


@pytest.mark.parametrize("name", VIOLATIONS)
def test_a_violated_assumption_is_named(dpaudit, genuine, written, name):
    document = copy.deepcopy(genuine)
    VIOLATIONS[name](document["instance"])
    ran = dpaudit("verify", written(document))
    assert ran.status == 1
    assert "c.json: hu2020-lemma1: fails" in ran.out
    assert any(
        line.startswith(f"  {name}: ") and "is above" in line for line in ran.out.splitlines()
    )


@pytest.mark.parametrize("name", ["bound", "movement", "ratio"])
@pytest.mark.parametrize("factor", [1.001, 0.5, -1.0])
def test_a_changed_quantity_is_named(dpaudit, genuine, written, name, factor):
    document = copy.deepcopy(genuine)
    document["quantities"][name] *= factor
    ran = dpaudit("verify", written(document))
    assert ran.status == 1
    assert f"  {name}: the file states" in ran.out


@pytest.mark.parametrize("word", ["value", "limit"])
def test_a_changed_number_of_an_assumption_is_named(dpaudit, genuine, written, word):
    for i, stated in enumerate(genuine["assumptions"]):
        document = copy.deepcopy(genuine)
        document["assumptions"][i][word] += 0.01
        ran = dpaudit("verify", written(document))
        assert ran.status == 1
        assert f"  {stated['name']} ({word}): the file states" in ran.out


@pytest.mark.parametrize("name", ["penalty", "regulariser_weight", "bound"])
def test_a_changed_parameter_is_noticed(dpaudit, genuine, written, name):
    document = copy.deepcopy(genuine)
    document["parameters"][name] *= 1.5
    assert dpaudit("verify", written(document)).status == 1


def test_an_assumption_left_out_or_made_up_is_named(dpaudit, genuine, written):
    document = copy.deepcopy(genuine)
    document["assumptions"][0]["name"] = "good weather"
    ran = dpaudit("verify", written(document))
    assert ran.status == 1
    assert "unit rows: the file does not state this assumption" in ran.out
    assert "good weather: is no assumption of the claim" in ran.out


def test_a_ratio_that_is_not_above_one_refutes_nothing(dpaudit, genuine, written):
    document = copy.deepcopy(genuine)
    for name in ("dual", "prediction", "models"):
        document["instance"][name] = scaled(document["instance"][name], 0.01)
    ran = dpaudit("verify", written(document))
    assert ran.status == 1
    assert "is not above 1" in ran.out


def test_one_bad_file_among_good_ones_decides_the_status(dpaudit, genuine, written):
    document = copy.deepcopy(genuine)
    document["quantities"]["ratio"] = 100.0
    ran = dpaudit("verify", written(genuine, "good.json"), written(document, "bad.json"))
    assert ran.status == 1
    assert "good.json: hu2020-lemma1: verified" in ran.out
    assert "bad.json: hu2020-lemma1: fails" in ran.out


# What is no certificate at all: one line, exit status 2


def without(document, *path):
    document = copy.deepcopy(document)
    inner = document
    for key in path[:-1]:
        inner = inner[key]
    del inner[path[-1]]
    return document


def changed(document, value, *path):
    document = copy.deepcopy(document)
    inner = document
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return document


MALFORMED = {
    "not JSON": lambda d: "{",
    "a list": lambda d: "[]",
    "NaN": lambda d: json.dumps(d).replace('"version": 1', '"version": NaN'),
    "a name twice": lambda d: json.dumps(d).replace('"claim":', '"claim": "x", "claim":'),
    "another format": lambda d: changed(d, "other", "format"),
    "another version": lambda d: changed(d, 2, "version"),
    "version true": lambda d: changed(d, True, "version"),
    "no claim": lambda d: without(d, "claim"),
    "unknown claim": lambda d: changed(d, "nobody-lemma1", "claim"),
    "no instance": lambda d: without(d, "instance"),
    "no design": lambda d: without(d, "instance", "design"),
    "short dual": lambda d: without(d, "instance", "dual", 0),
    "text in the dual": lambda d: changed(d, "1", "instance", "dual", 0),
    "infinite dual": lambda d: json.dumps(changed(d, 7e99, "instance", "dual", 0)).replace(
        "7e+99", "1e999"
    ),
    "more features": lambda d: changed(d, 9, "parameters", "features"),
    "fractional features": lambda d: changed(d, 8.0, "parameters", "features"),
    "no penalty": lambda d: without(d, "parameters", "penalty"),
    "penalty 0": lambda d: changed(d, 0, "parameters", "penalty"),
    "another curvature": lambda d: changed(d, 2.0, "parameters", "curvature"),
    "hardly regularised": lambda d: changed(d, 1e-60, "parameters", "regulariser_weight"),
    "no ratio": lambda d: without(d, "quantities", "ratio"),
    "no assumptions": lambda d: without(d, "assumptions"),
    "text as a limit": lambda d: changed(d, "1", "assumptions", 0, "limit"),
    "huge value": lambda d: changed(d, 10**400, "assumptions", 0, "value"),
    "an assumption twice": lambda d: changed(d, d["assumptions"] * 2, "assumptions"),
}


@pytest.mark.parametrize("kind", MALFORMED)
def test_a_malformed_certificate_is_one_line(dpaudit, genuine, written, kind):
    ran = dpaudit("verify", written(MALFORMED[kind](genuine)))
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith("error: ")
    assert ran.err.count("\n") == 1


def test_a_missing_file_is_one_line(dpaudit, tmp_path):
    ran = dpaudit("verify", str(tmp_path / "gone.json"))
    assert (ran.status, ran.err.count("\n")) == (2, 1)
    assert "cannot be read" in ran.err


def test_a_verifier_shares_nothing_with_the_search():
    import re
    import subprocess
    import sys

    code = "import sys, dpaudit.algorithms.sharing.verify.hu2020.lemma1; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    own = {name for name in loaded if name.split(".")[0] == "dpaudit"}
    ground = r"errors|escaping|formats|reals|redaction|verdicts|_harmless|_packages|_references"
    rooms = rf"{ground}|verification.*|algorithms(\.sharing(\.verify.*)?)?"
    allowed = rf"dpaudit(\.({rooms}))?"
    assert {name for name in own if not re.fullmatch(allowed, name)} == set()
    assert "numpy" not in loaded
