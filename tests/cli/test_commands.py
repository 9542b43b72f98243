"""What each command prints and how it ends."""

import io
import json
import re
import subprocess
import sys
import zipfile
from importlib.metadata import entry_points, version

import pytest
from rich.console import Console

from dpaudit.cli import progress
from dpaudit.report.document import read_report
from dpaudit.report.schema import Report

THEOREM_6, LEMMA_5 = "huang2020-theorem6", "huang2020-lemma5"
# What a command prints depends neither on the size of a run nor on who computes.
ALONE = ("--workers", "1")
SMALL = ("--set", "nodes=2", "--set", "iterations=2", "--set", "inner_steps=2")
SHORT = (*ALONE, *SMALL)
FEW = (*ALONE, "--set", "iterations=3", "--set", "records=8", "--set", "dimension=3")


def test_list_names_claims_and_attacks(dpaudit):
    ran = dpaudit("list")
    assert ran.status == 0
    for name in (THEOREM_6, LEMMA_5, "likelihood-ratio", "linear-classifier"):
        assert name in ran.out


def test_list_for_machines(dpaudit):
    listed = json.loads(dpaudit("list", "--json").out)
    names = [claim["name"] for claim in listed["claims"]]
    assert names == sorted(names)
    installed = {entry.name for entry in entry_points(group="dpaudit.claims")}
    assert set(names) == installed > {"hu2020-lemma1", LEMMA_5, THEOREM_6}


def test_show_gives_statement_assumptions_and_every_parameter(dpaudit):
    from dpaudit.algorithms.multistep.claims.theorem6 import Deployment

    ran = dpaudit("show", THEOREM_6)
    assert ran.status == 0
    assert "Theorem 6, eq. (20)" in ran.out
    assert "connected graph" in ran.out
    assert all(name in ran.out for name in Deployment.model_fields)


def test_show_of_an_unknown_claim(dpaudit):
    ran = dpaudit("show", "huang2020-lemma6")
    assert ran.status == 2
    assert "did you mean 'huang2020-lemma5'?" in ran.err


@pytest.mark.slow
def test_exit_status_says_whether_something_was_refuted(dpaudit):
    audit = ("audit", THEOREM_6, *SMALL, "--trials", "300")
    assert dpaudit(*audit).status == 0
    assert dpaudit(*audit, "--epsilon", "20").status == 1


def test_json_has_the_promised_shape(dpaudit):
    ran = dpaudit(
        "audit", LEMMA_5, THEOREM_6, *ALONE, "--trials", "300", "--json", "--epsilon", "20"
    )
    document = json.loads(ran.out)
    lemma, theorem = document["results"]
    assert ran.status == 1
    assert theorem["claim"] == THEOREM_6
    assert theorem["verdict"] == "refuted"
    assert theorem["claimed"]["epsilon"] == 20.0
    assert theorem["claimed"]["delta"] == 1e-5
    assert theorem["proved"]["epsilon"] == pytest.approx(25.4426, abs=1e-4)
    assert set(theorem["measured"]) >= {"lower", "upper", "confidence"}
    assert (theorem["trials"], theorem["seed"]) == (300, 0)
    assert lemma["verdict"] == "proved"
    Report.model_validate_json(ran.out)


def test_the_report_can_be_read_back_and_its_command_repeats_it(dpaudit, tmp_path):
    first = dpaudit(
        *("audit", THEOREM_6, "--trials", "250", "--seed", "5", "--data", "breast-cancer"),
        *(*SHORT, "--set", "graph=ring", "--out", str(tmp_path / "one")),
    )
    assert first.status == 0
    assert "report.html" in first.out
    one = read_report(tmp_path / "one" / "report.json").results[0]
    import shlex

    words = shlex.split(one.rerun)
    assert words[0] == "dpaudit"
    dpaudit(*words[1:], "--workers", "2", "--out", str(tmp_path / "two"))
    assert read_report(tmp_path / "two" / "report.json").results[0] == one


def test_a_specification_file_audits_claims_and_own_mechanisms(dpaudit, tmp_path):
    (tmp_path / "own_sum.py").write_text(
        "import numpy as np\n"
        "class Sum:\n"
        "    def sample(self, dataset, trials, rng):\n"
        "        return np.sum(dataset) + rng.laplace(scale=0.25, size=trials)\n"
    )
    np_file = tmp_path / "neighbour.csv"
    np_file.write_text("1\n1\n")
    (tmp_path / "two.toml").write_text(
        f"[[audit]]\nclaim = '{THEOREM_6}'\ntrials = 200\n"
        "[audit.parameters]\nnodes = 2\niterations = 2\ninner_steps = 2\n"
        "[[audit]]\nmechanism = 'own_sum:Sum'\nname = 'own sum'\ndataset = [0, 1]\n"
        "neighbour = 'neighbour.csv'\nepsilon = 1.0\ndelta = 0.0\ntrials = 2000\n"
    )
    ran = dpaudit("audit", str(tmp_path / "two.toml"), *ALONE, "--json")
    claim, own = json.loads(ran.out)["results"]
    assert claim["parameters"]["nodes"] == 2
    assert claim["trials"] == 200
    assert own["claim"] == "own sum"
    assert own["verdict"] == "refuted"
    assert 2.0 < own["measured"]["lower"] <= 4.0
    assert own["proved"] is None
    assert ran.status == 1


def test_options_override_the_specification(dpaudit, tmp_path):
    (tmp_path / "one.toml").write_text(f"[audit]\nclaim = '{THEOREM_6}'\ntrials = 200\n")
    ran = dpaudit("audit", str(tmp_path / "one.toml"), *SHORT, "--json", "--trials", "300")
    assert json.loads(ran.out)["results"][0]["trials"] == 300


def test_schema_and_version(dpaudit):
    assert json.loads(dpaudit("schema").out)["title"] == "Report"
    assert json.loads(dpaudit("schema", "scan").out)["title"] == "ScanResult"
    assert json.loads(dpaudit("schema", "published-scan").out)["title"] == "PublishedScan"
    assert dpaudit("version").out.strip() == version("dpaudit")


THIRD_PARTY = """
from dpaudit.extension.claim import Claim
from dpaudit.extension.parameters import Parameters
CLAIM = Claim(
    name="other2027-theorem1", title="Somebody's theorem", statement="s", source="Other 2027",
    kind="privacy", relation="replace-record", assumptions={},
    prepare=lambda settings, parameters: None,
    parameters=Parameters,
)
"""


def list_with(tmp_path, *claims):
    """Run ``dpaudit list`` beside an installed package that registers these claims."""
    wheel = tmp_path / "other_claims-1.0-py3-none-any.whl"
    info = "other_claims-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("other_claims.py", THIRD_PARTY)
        archive.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: other-claims\nVersion: 1.0\n"
        )
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/entry_points.txt", "\n".join(["[dpaudit.claims]", *claims, ""]))
        archive.writestr(f"{info}/RECORD", "")
    place = tmp_path / "installed"
    pip = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--quiet"]
    subprocess.run([*pip, "--target", str(place), str(wheel)], check=True, capture_output=True)
    return subprocess.run(
        [sys.executable, "-m", "dpaudit", "list"],
        env={"PYTHONPATH": str(place), "PATH": "", "COLUMNS": "120"},
        capture_output=True,
        text=True,
        check=True,
    )


def test_a_third_party_package_adds_its_claim(tmp_path):
    ran = list_with(tmp_path, "other2027-theorem1 = other_claims:CLAIM")
    assert "other2027-theorem1" in ran.stdout
    assert "Somebody's theorem" in ran.stdout
    assert THEOREM_6 in ran.stdout
    assert ran.stderr == ""


def test_a_broken_entry_point_is_a_warning_on_one_line(tmp_path):
    ran = list_with(
        tmp_path,
        "gone = other_claims.nowhere:CLAIM",
        "other2027-theorem1 = other_claims:CLAIM",
        "text = other_claims:__name__",
    )
    assert "other2027-theorem1" in ran.stdout
    assert THEOREM_6 in ran.stdout
    gone, text = ran.stderr.splitlines()
    assert gone.startswith("warning: entry point gone of dpaudit.claims (other-claims): ")
    assert "ModuleNotFoundError" in gone
    assert text.startswith("warning: entry point text of dpaudit.claims (other-claims): ")
    assert text.endswith("expected a Claim; it is left out")


def test_progress_goes_to_a_terminal_only_and_never_into_the_results(dpaudit):
    ran = dpaudit("audit", THEOREM_6, *SHORT, "--trials", "300", "--json")
    assert ran.err == ""
    json.loads(ran.out)


def test_a_terminal_sees_the_stage_and_what_remains():
    screen = io.StringIO()
    with progress.show_stage_bar(
        "a claim", Console(file=screen, force_terminal=True, width=120)
    ) as shown:
        shown.start("certifying (dataset)", 200)
        shown.advance(100)
        shown._bars.refresh()
    seen = screen.getvalue()
    assert "a claim: certifying (dataset)" in seen
    assert "100/200" in seen
    assert "left:" in seen


@pytest.mark.slow
def test_a_largest_loss_leaves_its_share_to_the_others(dpaudit):
    """At delta = 0 the loss of an output is computed: nothing about it is left to chance."""
    ran = dpaudit(
        *("audit", "zhang2018-broadcasts", "zhang2018-broadcasts", "--delta", "0"),
        *(*FEW, "--trials", "100", "--json"),
    )
    report = Report.model_validate_json(ran.out)
    assert report.budget == []
    assert [one.measured.confidence for one in report.results] == [1, 1]


@pytest.mark.slow
def test_several_claims_share_one_error_probability(dpaudit):
    claims = (LEMMA_5, THEOREM_6, "huang2020-broadcast")
    ran = dpaudit("audit", *claims, *ALONE, "--trials", "100", "--json")
    report = Report.model_validate_json(ran.out)
    assert [entry.alpha for entry in report.budget] == pytest.approx([0.025, 0.025])
    assert report.confidence == pytest.approx(0.95)
    assert [r.measured.confidence for r in report.results] == pytest.approx([1, 0.975, 0.975])


@pytest.mark.slow
def test_a_file_with_several_audits_is_repeated_by_its_command(dpaudit, tmp_path):
    """Each entry keeps what is its own: its claim, its confidence, its share."""
    import shlex

    (tmp_path / "three_sums.py").write_text(
        "import numpy as np\n"
        "class Sum:\n"
        "    def sample(self, dataset, trials, rng):\n"
        "        return np.sum(dataset) + rng.laplace(scale=1.0, size=trials)\n"
    )
    entry = "[[audit]]\nmechanism = 'three_sums:Sum'\ndataset = [0]\nneighbour = [1]\n"
    path = tmp_path / "three.toml"
    path.write_text(
        f"{entry}epsilon = 0.5\nconfidence = 0.99\ndelta = 0.0\n"
        f"{entry}epsilon = 2.0\ndelta = 0.1\n{entry}epsilon = 3.0\nseed = 4\n"
    )
    ran = dpaudit("audit", str(path), LEMMA_5, *ALONE, "--trials", "400", "--json")
    results = json.loads(ran.out)["results"]
    assert [one["measured"]["confidence"] for one in results] == pytest.approx(
        [0.99, 0.975, 0.975, 1]
    )
    for command in {one["rerun"] for one in results[:3]}:
        again = dpaudit(*shlex.split(command)[1:], *ALONE, "--json")
        assert json.loads(again.out)["results"] == results


@pytest.mark.slow
def test_one_of_several_audits_that_fails_is_named_and_the_others_run(dpaudit, tmp_path):
    (tmp_path / "failing_sums.py").write_text(
        "import numpy as np\n"
        "class Good:\n"
        "    def sample(self, dataset, trials, rng):\n"
        "        return np.sum(dataset) + rng.laplace(scale=1.0, size=trials)\n"
        "class Bad:\n"
        "    def sample(self, dataset, trials, rng):\n"
        "        return [0.0] * (trials + 1)\n"
    )
    entry = "[[audit]]\nmechanism = 'failing_sums:{0}'\nname = '{1}'\ndataset = [0]\n"
    entries = [("Good", "first"), ("Bad", "second"), ("Good", "third"), ("Good", "fourth")]
    path = tmp_path / "four.toml"
    path.write_text("".join(entry.format(*e) + "neighbour = [1]\ntrials = 200\n" for e in entries))
    ran = dpaudit("audit", str(path), *ALONE)
    assert ran.status == 2
    assert all(name in ran.out for name in ("first", "third", "fourth"))
    assert ran.err.startswith("error: second: ")
    assert ran.err.count("\n") == 1


@pytest.mark.slow
def test_an_audit_that_stops_is_repeated_by_its_command(dpaudit, tmp_path):
    import shlex

    (tmp_path / "half_noise.py").write_text(
        "import numpy as np\n"
        "class Sum:\n"
        "    def sample(self, dataset, trials, rng):\n"
        "        return np.sum(dataset) + rng.laplace(scale=0.5, size=trials)\n"
    )
    path = tmp_path / "half.toml"
    path.write_text(
        "[audit]\nmechanism = 'half_noise:Sum'\ndataset = [0, 1]\nneighbour = [1, 1]\n"
        "epsilon = 1.0\ndelta = 0.0\nuntil_refuted = true\n"
    )
    ran = dpaudit("audit", str(path), "--json")
    result = json.loads(ran.out)["results"][0]
    assert ran.status == 1
    assert 50 < result["wealth"]["refuted_after"] <= result["trials"] < 400
    again = dpaudit(*shlex.split(result["rerun"])[1:], "--json")
    assert json.loads(again.out)["results"][0] == result
    assert "Refuted after" in dpaudit("audit", str(path)).out


@pytest.mark.parametrize("command", ["audit", "attack", "selftest", "reproduce", "account"])
def test_help_says_what_is_taken_if_nothing_is_given(dpaudit, command):
    """Square brackets are markup to the terminal: what is in them would not be shown."""
    shown = " ".join(dpaudit(command, "--help").out.replace("│", " ").split())
    assert not re.search(r" [.;]( |$)", shown)
