"""Whatever is wrong with the input: one line that names it, exit status 2, no traceback."""

import pytest

THEOREM_6 = "huang2020-theorem6"
QUICK = ("--trials", "200")


def check_refused(ran, *words):
    assert ran.status == 2
    assert ran.out == ""
    assert ran.err.startswith("error: ")
    assert ran.err.count("\n") == 1
    assert "Traceback" not in ran.err
    for word in words:
        assert word in ran.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nope"], ["claim", "'nope'", THEOREM_6]),
        (["huang2020-theorem66"], ["did you mean 'huang2020-theorem6'"]),
        ([THEOREM_6, "--delta", "1.5"], ["delta: got 1.5", "[0, 1)"]),
        ([THEOREM_6, "--delta", "0"], ["delta: got 0.0", "(0, 1)"]),
        ([THEOREM_6, "--delta", "many"], ["--delta: got 'many'", "a number"]),
        ([THEOREM_6, "--epsilon", "nan"], ["epsilon: got nan"]),
        ([THEOREM_6, "--epsilon", "-1"], ["epsilon: got -1.0", "at least 0"]),
        ([THEOREM_6, "--confidence", "95"], ["confidence: got 95.0", "(0, 1)"]),
        ([THEOREM_6, "--trials", "3"], ["trials: got 3", "at least 100"]),
        ([THEOREM_6, "--trials", "1.5"], ["--trials: got '1.5'", "an integer"]),
        ([THEOREM_6, "--seed", "-1"], ["seed: got -1"]),
        ([THEOREM_6, "--workers", "0"], ["workers: got 0", "at least 1"]),
        ([THEOREM_6, "--estimator", "guess"], ["estimator: got 'guess'", "exact-loss"]),
        ([THEOREM_6, "--attack", "guess", "--estimator", "event"], ["distinguisher: got 'guess'"]),
        ([THEOREM_6, "--data", "aduld"], ["dataset: got 'aduld'", "did you mean 'adult'"]),
        ([THEOREM_6, "--data", "adult", "--data-path", "/none"], ["/none", "adult.data"]),
        ([THEOREM_6, "--set", "nodes"], ["--set: got 'nodes'", "KEY=VALUE"]),
        ([THEOREM_6, "--set", "nods=3"], ["'nods'", "nodes"]),
        ([THEOREM_6, "--set", "nodes=x"], ["nodes: got 'x'", "integer"]),
        ([THEOREM_6, "--set", "loss=quadratic"], ["loss: got 'quadratic'", "logistic"]),
        (
            [THEOREM_6, "--set", "nodes=4", "--set", "edges=[[0,1],[2,3]]"],
            ["graph: got 2 parts", "connected"],
        ),
        ([THEOREM_6, "--set", "edges=[[0,9]]"], ["edge: got (0, 9)"]),
        (["missing.toml"], ["missing.toml", "cannot be read"]),
        ([THEOREM_6, "--epsilon", "1e-300"], ["unforeseen", "OverflowError"]),
        ([THEOREM_6, "--data-path", "x"], ["data_path: got 'x'", "worst case"]),
        ([THEOREM_6, "--bogus"], ["--bogus"]),
        ([THEOREM_6, "--pairs", "0"], ["pairs: got 0", "at least 1"]),
        ([THEOREM_6, "--pairs", "x"], ["--pairs: got 'x'", "an integer"]),
        (["hu2020-lemma1", "--pairs", "5"], ["pairs: got 5", "searched"]),
        (["--watch", "-", "--workers", "-5"], ["workers: got -5", "nothing with --watch"]),
        (["hu2020-lemma1", "--until-refuted"], ["--until-refuted", "searched"]),
        ([THEOREM_6, "--until-refuted", "--estimator", "exact-loss"], ["estimator", "event"]),
        (["--all", "--until-refuted"], ["until_refuted", "--all"]),
        ([], ["targets"]),
    ],
)
def test_arguments(dpaudit, arguments, words):
    check_refused(dpaudit("audit", *arguments), *words)


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [("label", "0", ["label"]), ("first", "", ["first"]), ("first", "nan", ["first"])],
)
def test_records(dpaudit, tmp_path, column, value, words):
    rows = [["first", "second", "label"], ["0.1", "0.2", "1"], ["0.3", "0.1", "-1"]] * 1
    rows += [["0.5", "0.5", "1"], ["0.4", "0.4", "-1"]]
    rows[2][rows[0].index(column)] = value
    table = tmp_path / "table.csv"
    table.write_text("\n".join(",".join(row) for row in rows) + "\n")
    data = ["--data", "csv", "--data-path", str(table), "--data-option", "label_column=label"]
    check_refused(dpaudit("audit", THEOREM_6, *data, "--set", "nodes=1", *QUICK), *words)


MODULE = """
import numpy as np

class Good:
    def sample(self, dataset, trials, rng):
        return np.sum(dataset) + rng.normal(size=trials)

class WrongShape:
    def sample(self, dataset, trials, rng):
        return np.zeros((trials + 1, 3))

class NotANumber:
    def sample(self, dataset, trials, rng):
        return np.full(trials, np.nan)

class Failing:
    def sample(self, dataset, trials, rng):
        raise RuntimeError("two\\nlines")

class ChangingShape:
    def sample(self, dataset, trials, rng):
        return np.zeros((trials, int(np.sum(dataset)) + 1))

def failing():
    raise OSError("no such luck")

NUMBER = 3
"""


@pytest.fixture
def audit_toml(tmp_path, dpaudit):
    (tmp_path / "refused_mechanisms.py").write_text(MODULE)

    def run(text, *arguments):
        path = tmp_path / "audit.toml"
        path.write_text(text)
        return dpaudit("audit", str(path), *QUICK, *arguments)

    return run


def specification(mechanism="Good", module="refused_mechanisms:", **changes):
    keys = {
        "mechanism": f"'{module}{mechanism}'",
        "dataset": "[0.0, 1.0]",
        "neighbour": "[1.0, 1.0]",
    } | changes
    return "[audit]\n" + "\n".join(f"{key} = {value}" for key, value in keys.items()) + "\n"


PAIRS = "[audit]\nmechanism = 'refused_mechanisms:Good'\npairs = {}\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (specification("WrongShape"), ["WrongShape", "(5, 3)", "(4, ...)"]),
        (specification("Failing"), ["Failing", "RuntimeError", "two"]),
        (specification("missing"), ["refused_mechanisms:missing", "imported"]),
        (specification("failing"), ["refused_mechanisms:failing", "no such luck"]),
        (specification("NUMBER"), ["refused_mechanisms:NUMBER", "sample(dataset, trials, rng)"]),
        (specification("no_colon", module=""), ["mechanism: got 'no_colon'", "module:object"]),
        (specification(neighbour="[1.0, 2.0]"), ["pair: got 2 differing records", "exactly one"]),
        (specification(neighbour="[0.0, 1.0]"), ["pair: got 0 differing records"]),
        (specification(neighbour="'away.npy'"), ["away.npy", "cannot be read"]),
        (specification(relation="'cousins'"), ["relation: got 'cousins'", "replace-record"]),
        (specification(delta="1.5"), ["delta: got 1.5"]),
        (specification(delta="'x'"), ["delta: got 'x'", "number"]),
        (specification(colour="'red'"), ["'colour'", "neighbour"]),
        ("[audit]\nclaim = 'nope'\n", ["claim: got 'nope'"]),
        ("[audit]\nclaim = 'a'\nmechanism = 'b:c'\n", ["either a claim or a mechanism"]),
        (specification(pairs="[]"), ["dataset", "either dataset or pairs"]),
        (PAIRS.format("[]"), ["pairs: got []", "at least one pair"]),
        (PAIRS.format("[{dataset = [0.0], neighbour = [0.0]}]"), ["0 differing records"]),
        (PAIRS.format("[{dataset = [0.0]}]"), ["neighbour"]),
        (PAIRS.format("'refused_mechanisms:NUMBER'"), ["pairs: got 3", "a list of pairs"]),
        (PAIRS.format("'refused_mechanisms:failing'"), ["no such luck"]),
        ("[other]\n", ["one [audit] table"]),
        ("[audit\n", ["not valid TOML"]),
    ],
)
def test_specifications(audit_toml, text, words):
    check_refused(audit_toml(text, "--show-records"), *words)


def test_a_report_that_cannot_be_written_is_refused_before_the_audit(dpaudit, tmp_path):
    (tmp_path / "file").write_text("")
    ran = dpaudit("audit", THEOREM_6, *QUICK, "--out", str(tmp_path / "file"))
    check_refused(ran, "file", "choose another directory")


def test_a_failure_half_way_shows_and_writes_what_was_finished(audit_toml, dpaudit, tmp_path):
    good = specification().replace("[audit]", "[[audit]]")
    bad = specification("WrongShape").replace("[audit]", "[[audit]]")
    ran = audit_toml(good + bad, "--out", str(tmp_path / "report"))
    assert ran.status == 2
    assert "refused_mechanisms:Good" in ran.out
    assert "WrongShape" in ran.err
    assert (tmp_path / "report" / "report.json").exists()
