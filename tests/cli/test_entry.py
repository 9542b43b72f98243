"""The door: what a bare command, a cut pipe, a claim without a delta and a wrong file are told."""

import json
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import dpaudit as package
from dpaudit import relation
from dpaudit.auditing.specification.audits_file import read_specification, records_from, settings_of
from dpaudit.errors import DataError, InvalidArgument
from dpaudit.report.formatting import format_seconds
from dpaudit.report.render import render_html, render_markdown
from tests.report import samples

pytest_plugins = "pytester"

REPORTS = Path(__file__).parents[2] / "reports"

MODULE = """
def noisy(data, rng):
    return sum(data) + rng.laplace(scale=0.25)
"""


@pytest.mark.parametrize(("words", "named"), [((), "audit"), (("store",), "prune")])
def test_a_bare_command_prints_one_help_and_is_no_error(dpaudit, words, named):
    bare, asked = dpaudit(*words), dpaudit(*words, "--help")
    assert (bare.status, bare.err) == (0, "")
    assert bare.out.rstrip() == asked.out.rstrip()
    assert bare.out.count("Usage:") == 1
    assert named in bare.out


def test_an_unknown_command_is_an_error_all_the_same(dpaudit):
    assert dpaudit("adit").status == dpaudit("store", "prun").status == 2


def test_a_reader_who_has_seen_enough_of_a_list_is_told_nothing():
    """Standard output is a pipe whose reader leaves at once, as `head -1` does."""
    command = f"{sys.executable} -m dpaudit list | head -1"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["Claims"]
    assert done.stderr == ""


# A claim's delta is 0 unless it is given, at every door


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "own_door.py").write_text(MODULE)
    (tmp_path / "a.json").write_text("[0.0, 1.0]")
    (tmp_path / "b.json").write_text("[1.0, 1.0]")
    yield tmp_path
    sys.modules.pop("own_door", None)


PAIR = ("--dataset", "a.json", "--neighbour", "b.json")


def test_a_specification_without_a_delta_claims_none(place):
    file = place / "audit.toml"
    text = (
        '[[audit]]\nmechanism = "own_door:noisy"\ndataset = [0.0]\nneighbour = [1.0]\nepsilon = 1\n'
    )
    file.write_text(text)
    (one,) = read_specification(file)
    assert settings_of(one, {}).delta == 0
    assert settings_of(one, {"delta": 1e-3}).delta == 1e-3
    file.write_text(f"{text}delta = 1e-4\n")
    (one,) = read_specification(file)
    assert settings_of(one, {}).delta == 1e-4


def test_the_command_line_and_a_stream_claim_none(dpaudit, place):
    given = ("--epsilon", "1", "--trials", "200", "--in-process", "--json", "--quiet")
    ran = dpaudit("audit", "own_door.py:noisy", *PAIR, *given)
    assert json.loads(ran.out)["results"][0]["claimed"]["delta"] == 0
    (place / "stream.csv").write_text("dataset,0.5\nneighbour,0.25\n" * 60)
    ran = dpaudit("audit", "--watch", "stream.csv", "--epsilon", "1", "--json")
    assert json.loads(ran.out)["results"][0]["claimed"]["delta"] == 0


def test_python_claims_none():
    def noisy(data, rng):
        return data.sum() + rng.laplace()

    pair = np.array([0.0, 1.0]), np.array([1.0, 1.0])
    assert package.audit(noisy, *pair, epsilon=1.0, trials=100).claimed.delta == 0
    assert package.replay(noisy, *pair, epsilon=1.0).delta == 0


def test_commands_that_ask_take_a_usual_delta_and_print_it(dpaudit, tmp_path):
    asked = ("--noise-multiplier", "1", "--epochs", "1", "--batch-size", "10", "--records", "100")
    assert "delta = 1e-05" in dpaudit("account", "dp-sgd", *asked).out
    scores = tmp_path / "scores.csv"
    rng = np.random.default_rng(3)
    lines = [f"{rng.normal()},{rng.integers(2)}" for _ in range(100)]
    scores.write_text("\n".join(["score,included", *lines]))
    ran = dpaudit("canary", str(scores), "--design", "independent")
    assert ran.status == 0
    assert "at delta = 1e-5" in " ".join(ran.out.split())


@pytest.mark.parametrize("command", ["audit", "replay", "canary"])
def test_the_help_says_that_a_claim_has_no_default(dpaudit, command):
    lines = " ".join(dpaudit(command, "--help").out.replace("│", " ").split())
    assert "no default" in lines[lines.index("--epsilon") :]


# Files


def test_a_certificate_is_checked_for_a_function_of_a_file(dpaudit, place):
    given = ("--epsilon", "1", "--delta", "0", "--trials", "3000", "--out", "report", "--quiet")
    assert dpaudit("audit", "own_door.py:noisy", *PAIR, *given).status == 1
    ran = dpaudit("verify", "report/certificate.json", "--mechanism", "own_door.py:noisy", *PAIR)
    assert ran.status == 0, ran.err
    assert "own_door:noisy: verified" in ran.out
    assert dpaudit("verify", "report/certificate.json", "--json").status == 2  # nothing is named
    for named in ("report", "report/report.html", "report/report.json", "report/report.md"):
        ran = dpaudit("verify", named)
        assert ran.status == 2
        assert "its certificate is report/certificate.json: verify that" in ran.err
    (place / "report" / "certificate.json").unlink()
    assert "has no certificate.json" in dpaudit("verify", "report").err


def test_what_a_certificate_makes_of_its_claim_is_one_of_four_words(dpaudit, place):
    given = ("--epsilon", "1", "--delta", "0", "--trials", "3000", "--out", "report", "--quiet")
    dpaudit("audit", "own_door.py:noisy", *PAIR, *given)
    file = place / "report" / "certificate.json"
    words = ("verify", str(file), "--mechanism", "own_door.py:noisy", *PAIR, "--json")
    (found,) = json.loads(dpaudit(*words).out)
    assert (found["verified"], found["verdict"]) == (True, "refuted")
    stated = json.loads(file.read_text())
    stated["quantities"]["bound"] = 0.5  # not what it claims to refute
    file.write_text(json.dumps(stated))
    (found,) = json.loads(dpaudit(*words).out)
    assert (found["verified"], found["verdict"]) == (False, "withheld")


def test_verify_shows_that_it_works(dpaudit, monkeypatch):
    """Whoever watches sees how many certificates there are, and each that is done."""
    seen = []

    @contextmanager
    def bar(name, *, shown):
        seen.append((name, shown))
        yield SimpleNamespace(
            start=lambda stage, count: seen.append((stage, count)), advance=seen.append
        )

    monkeypatch.setattr("dpaudit.cli.verify.progress_bar", bar)
    published = [
        str(REPORTS / name / "certificate.json") for name in ("hu2019-lemma3", "zhang2018-section3")
    ]
    assert dpaudit("verify", *published).status == 0
    assert seen[:2] == [("verify", True), ("checking certificates", 3)]
    assert seen[2:] == [1, 1, 1]
    assert dpaudit("verify", published[0], "--json").status == 0
    assert ("verify", False) in seen  # what is for machines shows none


def test_a_marker_of_pytest_claims_no_delta(pytester):
    pytester.makepyfile(
        """
        import pytest
        from dpaudit.mechanisms.foreign.isolation import Isolation

        def noisy(data, rng):
            return sum(data) + rng.laplace()

        @pytest.mark.dp(epsilon=1, trials=100)
        def test_one(dp_audit):
            found = dp_audit(noisy, [0.0], [1.0], isolation=Isolation(in_process=True))
            assert (found.claimed.epsilon, found.claimed.delta) == (1, 0)
        """
    )
    done = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-W", "ignore")
    done.assert_outcomes(passed=1)


def test_a_report_that_took_no_time_says_so_in_words():
    found = samples.report(samples.result())
    found = found.model_copy(
        update={"environment": found.environment.model_copy(update={"seconds": 0.04})}
    )
    for page in (render_html(found), render_markdown(found)):
        assert "in less than a second" in page
        assert "in 0 seconds" not in page


def test_what_took_no_time_is_said_in_words():
    assert [
        format_seconds(0.0),
        format_seconds(0.04),
        format_seconds(1.0),
        format_seconds(90.0),
    ] == [
        "less than a second",
        "less than a second",
        "1 second",
        "90 seconds",
    ]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_columns_have_the_separator_of_their_file(tmp_path, separator):
    file = tmp_path / "table.csv"
    file.write_text(f"1.5{separator}2\n3{separator}4\n")
    assert np.array_equal(records_from(file), [[1.5, 2.0], [3.0, 4.0]])
    file.write_text(f"age{separator}income\n1.5{separator}2\n3{separator}4\n")
    table = records_from(file)
    assert list(table.columns) == ["age", "income"]
    assert table.to_numpy().tolist() == [[1.5, 2.0], [3.0, 4.0]]


def test_decimal_commas_are_read_or_refused(tmp_path):
    file = tmp_path / "table.csv"
    file.write_text("age;income\n1,5;2\n3,25;4\n")
    assert records_from(file).to_numpy().tolist() == [[1.5, 2.0], [3.25, 4.0]]
    for text in ("1,5;2,5\n", "age,name;income\n1,2;3\n"):
        file.write_text(text)
        with pytest.raises(DataError, match="separated by ',' or ';', expected one of them"):
            records_from(file)
    file.write_text("age\n1\n2\n")  # one column is one column
    assert list(records_from(file).columns) == ["age"]


def test_tuples_of_several_lengths_are_records():
    remove, replace = (relation(one) for one in ("add-remove-record", "replace-record"))
    baskets = [(1, 2), (1, 2, 3), (4,)]
    assert remove.check(baskets, baskets[:1] + baskets[2:]) == 1
    assert remove.check(baskets[:2], baskets[:1]) == 1  # the rest are alike in length
    assert replace.check(baskets, [(1, 2), (1, 2), (4,)]) == 1
    with pytest.raises(InvalidArgument):
        remove.check(baskets, baskets[:1])
    with pytest.raises(InvalidArgument):
        remove.check(baskets, [(1, 2), (1, 2, 4)])
