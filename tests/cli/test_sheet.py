"""The sheet for who signs: never more than the report, and the certificate checked again."""

import datetime
import json
import re
import shutil
from pathlib import Path

import pytest

from dpaudit.auditing.api import audit
from dpaudit.guarantees.kinds import PureDP
from dpaudit.mechanisms.foreign.isolation import Isolation
from dpaudit.report.document import write_report
from dpaudit.report.schema import Environment, Report
from dpaudit.sheet import Signer, make_sheet, read_subjects, render_page, render_text
from dpaudit.sheet.answers import _format_attacker_promise
from dpaudit.sheet.subjects import sha256_of
from dpaudit.verification import Reader

ROOT = Path(__file__).parents[2]
TODAY = datetime.date(2031, 3, 10)
REFUTED = ROOT / "reports" / "hu2020-corollary1"  # its certificates are instances, and no draws


def made(*folders, signer=None, digest=None, reader=None):
    found = [one for each in folders for one in read_subjects(each, reader or Reader())]
    return make_sheet(found, signer or Signer(by="Anna", on=TODAY), digest)


def parts(sheet, word):
    [answer] = [one for one in sheet.answers if word in one.question]
    return answer.parts


def standings(sheet):
    return {part.standing for answer in sheet.answers for part in answer.parts}


@pytest.fixture(scope="module")
def results():
    """Results of each verdict of one mechanism, as a report has them."""
    import numpy as np

    def noisy(data, trials, rng):
        return np.sum(data) + rng.laplace(scale=0.5, size=trials)

    pair = np.array([0.0]), np.array([1.0])
    given = {"trials": 400, "isolation": Isolation(in_process=True)}
    refuted = audit(noisy, *pair, epsilon=0.5, **given)
    stands = refuted.model_copy(
        update={
            "verdict": "not refuted",
            "claimed": refuted.claimed.model_copy(update={"epsilon": 2.0}),
        }
    )
    return {
        "refuted": refuted,
        "not refuted": stands,
        "withheld": refuted.model_copy(update={"verdict": "withheld"}),
    }


def written(folder, *found, certificates=()):
    environment = Environment.of_this_machine(1, 1.0)
    report = Report(results=list(found), environment=environment)
    write_report(report, folder, certificates)
    return folder


@pytest.mark.parametrize(
    ("verdict", "first"),
    [
        ("refuted", r"\*\*REFUTED: at least .*No certificate stands behind it\.\*\*"),
        ("not refuted", r"\*\*NOT REFUTED: .*no evidence that it holds\. There is no certificate"),
        ("withheld", r"\*\*WITHHELD: the audit cannot decide"),
    ],
)
def test_the_first_line_says_the_verdict_and_nothing_is_shown(tmp_path, results, verdict, first):
    sheet = made(written(tmp_path / "r", results[verdict]))
    text = render_text(sheet)
    assert re.match(first, text.splitlines()[0])
    assert "shown" not in standings(sheet)
    assert sheet.headline in re.sub(r"<[^>]+>", "", render_page(sheet)).replace("&#39;", "'")


def test_a_certificate_that_was_not_checked_shows_nothing(tmp_path, results):
    certificate = results["refuted"].certificate
    assert certificate.kind == "mechanism"
    folder = written(tmp_path / "r", results["refuted"], certificates=[certificate])
    sheet = made(folder)
    assert "was not checked for this sheet" in sheet.headline
    assert "shown" not in standings(sheet)


@pytest.mark.parametrize("change", ["value", "claimed", "sha256", "relation", "no json"])
def test_a_certificate_of_another_report_fails(tmp_path, results, change):
    certificate = results["refuted"].certificate
    folder = written(tmp_path / "r", results["refuted"], certificates=[certificate])
    file = folder / "certificate.json"
    document = json.loads(file.read_text())
    if change == "value":
        document["quantities"]["value"] /= 1.01
    elif change == "claimed":
        document["instance"]["claimed"]["epsilon"] = 0.25
    elif change == "sha256":
        document["instance"]["mechanism"]["sha256"] = "0" * 64
    elif change == "relation":
        document["relation"] = "replace-cell"
    text = json.dumps(document) if change != "no json" else "{"
    file.write_text(text)
    sheet = made(folder)
    assert "ITS CERTIFICATE DOES NOT VERIFY" in sheet.headline
    assert "shown" not in standings(sheet)


def test_a_certificate_that_stands_shows_a_refutation():
    sheet = made(REFUTED)
    assert "certificate" not in sheet.headline.lower() or "NOT VERIFY" not in sheet.headline
    refuted = [one for one in sheet.subjects if one.verdict == "refuted"]
    assert {one.certificate.state for one in refuted} == {"verified"}
    assert "shown" in {part.standing for part in parts(sheet, "Correctness")}


def test_each_result_has_a_certificate_of_its_own(tmp_path):
    """Five audits of one claim: the certificate of one is worth nothing for the others."""
    folder = shutil.copytree(ROOT / "reports" / "hu2020-lemma1", tmp_path / "copy")
    file = folder / "certificate.json"
    file.write_text(json.dumps(json.loads(file.read_text())[:1]))
    found = [one.certificate.state for one in made(folder).subjects]
    assert found == ["verified", *["none"] * 4]


def test_a_certificate_that_was_changed_shows_nothing(tmp_path):
    folder = shutil.copytree(REFUTED, tmp_path / "copy")
    file = folder / "certificate.json"
    content = json.loads(file.read_text())
    for one in content if isinstance(content, list) else [content]:
        one["quantities"] = {n: 1.5 * value for n, value in one["quantities"].items()}
    file.write_text(json.dumps(content))
    sheet = made(folder)
    assert "shown" not in standings(sheet)
    refuted = [one for one in sheet.subjects if one.verdict == "refuted"]
    assert {one.certificate.state for one in refuted} == {"fails"}
    assert "NOT VERIFY" in sheet.headline


def about(result, name, **other):
    return result.model_copy(update={"parameters": {"about": name}, "claim": "x", **other})


def test_epsilons_add_up_of_the_same_data_alone(tmp_path, results):
    stands = results["not refuted"]
    one, same = about(stands, "survey"), about(stands, "survey")
    other = about(stands, "census")
    folders = [
        written(tmp_path / str(place), result.model_copy(update={"claim": f"c{place}"}))
        for place, result in enumerate((one, same, other, stands))
    ]
    [sums] = parts(made(*folders[:2]), "Composition")
    assert "ε = 4 at δ = 0 for these 2 releases" in sums.text
    assert sums.standing == "claimed"
    for pair in (folders[1:3], (folders[0], folders[3])):
        [sums] = parts(made(*pair), "Composition")
        assert (sums.standing, "ε" in sums.text) == ("not looked at", False)


@pytest.mark.parametrize("verdict", ["refuted", "withheld"])
def test_nothing_adds_up_with_a_claim_that_falls(tmp_path, results, verdict):
    both = [about(results[one], "survey", claim=one) for one in ("not refuted", verdict)]
    folders = [written(tmp_path / one.claim, one) for one in both]
    [sums] = parts(made(*folders), "Composition")
    assert (sums.standing, "ε" in sums.text) == ("not looked at", False)


def test_other_units_do_not_add_up(tmp_path, results):
    both = [about(results["not refuted"], "survey", claim=one, relation=one) for one in "ab"]
    [sums] = parts(made(*(written(tmp_path / one.claim, one) for one in both)), "Composition")
    assert sums.standing == "not looked at"


def test_what_is_over_or_of_other_code_is_void(tmp_path, results):
    folder = written(tmp_path / "r", results["not refuted"])
    past = Signer(by=None, on=TODAY, until=TODAY - datetime.timedelta(days=1))
    assert made(folder, signer=past).headline.startswith("VOID: it was valid until 2031-03-09.")
    assert made(folder, signer=Signer(by=None, on=TODAY, until=TODAY)).headline.startswith("NOT")
    assert made(folder, digest="0" * 64).headline.startswith("VOID: the code differs")
    same = results["not refuted"].code.sha256
    assert made(folder, digest=same).headline.startswith("NOT")


def test_the_most_that_an_attacker_can_do_is_rounded_up():
    assert 0.5498 < PureDP(0.2).success(0.5) < 0.54984
    assert "is right in 54.99% at most." in _format_attacker_promise(PureDP(0.2), None)


def test_the_digest_is_that_of_the_file(tmp_path):
    (tmp_path / "mine.py").write_text("x = 1\n")
    import hashlib

    assert sha256_of("mine:x", tmp_path) == hashlib.sha256(b"x = 1\n").hexdigest()


def test_time_is_looked_at_where_it_was(tmp_path, results):
    stands = results["not refuted"]
    [part] = parts(made(written(tmp_path / "r", stands)), "timing")
    assert part.standing == "not looked at"
    timed = stands.model_copy(update={"observe": ["time"]})
    [part] = parts(made(written(tmp_path / "t", timed)), "timing")
    assert part.standing == "claimed"


def test_hostile_words_stay_words(tmp_path, results):
    hostile = "<script>alert(1)</script> | **a** \u202e\x1b[31m"
    result = results["not refuted"].model_copy(
        update={"claim": hostile, "source": hostile, "view": hostile, "relation": hostile}
    )
    sheet = made(written(tmp_path / "r", result), signer=Signer(by=hostile, on=TODAY))
    page, text = render_page(sheet), render_text(sheet)
    assert "<script" not in page + text
    assert "\x1b" not in page + text
    assert "http" not in page.replace("http-equiv", "")
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} <= {4, 6}


FORGED = (
    ("function", "train_model"),
    ("relation", "add-remove-record"),
    ("records", [5000, 5000]),
    ("claim", {"epsilon": 1.0, "mu": 0.001}),
)


def test_two_results_of_one_name_are_two(dpaudit, tmp_path, results):
    """The second one is refuted, and stands on the sheet."""
    folder = written(tmp_path / "r", results["not refuted"], results["refuted"])
    again = shutil.copytree(folder, tmp_path / "again")
    for given in ((folder,), (folder, again)):
        ran = dpaudit("sheet", *map(str, given))
        assert ran.out.startswith("**REFUTED: 1 of 2")


def test_what_several_reports_miss_is_named(tmp_path, results):
    folders = []
    for name in ("one", "two"):
        folders.append(written(tmp_path / name, results["not refuted"]))
        file = folders[-1] / "report.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), "missing": [name]}))
    assert "Audits that gave no result: one, two." in made(*folders).headline


def test_code_of_which_no_file_is_found_was_not_compared(dpaudit, tmp_path, results):
    folder = written(tmp_path / "r", results["not refuted"])
    ran = dpaudit("sheet", str(folder), "--mechanism", "nowhere_at_all:function")
    assert ran.out.startswith("**NOT COMPARED: no file of the named code was found. NOT")


def test_reports_of_other_commands(dpaudit, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(
        "import numpy as np\n"
        "def noisy(ages, rng):\n"
        "    return np.clip(ages, 0, 100).sum() + rng.laplace(scale=100.0)\n"
    )
    given = ("--domain", "bounds=[0,100]", "--domain", "records=5", "--epsilon", "1")
    assert dpaudit("prove", "mine.py:noisy", *given, "--out", "proof").status == 0
    ran = dpaudit("sheet", "proof", "--out", "sheet", "--by", "Anna")
    assert (ran.status, "PROVED from the code: ε ≤ 1 at δ = 0" in ran.out) == (0, True)
    sheet = made(tmp_path / "proof")
    assert "only the file says what code this is" in sheet.headline
    assert {part.standing for part in parts(sheet, "Correctness")} == {"claimed"}
    assert {part.standing for part in parts(sheet, "In words")} == {"shown"}
    ran = dpaudit("sheet", "proof", "--mechanism", "mine.py:noisy")
    assert re.search(r"Correctness[^|]*\| \*\*shown\*\*", ran.out)
    certificate = tmp_path / "proof" / "certificate.json"
    original = certificate.read_text()
    stated = (tmp_path / "proof" / "report.json").read_text()
    document = json.loads(original)
    document["instance"]["claim"]["epsilon"] = 0.5  # what its program does not keep
    certificate.write_text(json.dumps(document))
    assert "shown" not in standings(made(tmp_path / "proof"))
    report = tmp_path / "proof" / "report.json"
    claim = {"epsilon": 0.5, "delta": 0.0}
    report.write_text(json.dumps({**json.loads(report.read_text()), "claim": claim}))
    assert "shown" not in standings(made(tmp_path / "proof"))
    certificate.write_text(original)
    for name, value in FORGED:
        report.write_text(json.dumps({**json.loads(stated), name: value}))
        assert "DOES NOT VERIFY" in made(tmp_path / "proof").headline, name
        assert "shown" not in standings(made(tmp_path / "proof"))
    report.write_text(json.dumps({**json.loads(stated), "claim": claim}))
    certificate.unlink()
    assert "No certificate stands behind it" in made(tmp_path / "proof").headline

    release = ("gaussian", "--set", "noise_scale=4", "--delta", "1e-5")
    assert dpaudit("account", *release, "--out", "account").status == 0
    sheet = made(tmp_path / "account")
    assert sheet.headline.startswith("NO CODE WAS AUDITED: ε ≤ 0.9264 at δ = 1e-5")  # rounded up
    assert {part.standing for part in parts(sheet, "Correctness")} == {"not looked at"}

    counts = ("--hits", "471", "--of", "500", "--false-hits", "23", "--of", "500")
    assert dpaudit("table", *counts, "--out", "table").status == 0
    assert made(tmp_path / "table").headline.startswith("NOTHING IS CLAIMED: at least 2.62")


@pytest.fixture
def outputs(dpaudit, tmp_path, monkeypatch):
    """A refutation from two files of outputs, as a reviewer has it."""
    import numpy as np

    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name, count in (("with.csv", 42), ("without.csv", 41)):
        np.savetxt(name, count + rng.laplace(scale=0.4, size=800))
    files = ("--outputs", "with.csv", "without.csv")
    assert dpaudit("audit", *files, "--epsilon", "1", "--out", "review").status == 1
    return tmp_path / "review"


def test_files_of_outputs_are_counted_again_for_a_sheet(dpaudit, outputs):
    assert "Its certificate stands with a reservation (the counts" in made(outputs).headline
    for files in (["with.csv", "without.csv"], ["without.csv", "with.csv", "review/report.json"]):
        given = [word for one in files for word in ("--outputs", one)]
        ran = dpaudit("sheet", "review", *given)
        assert "Its certificate was checked again for this sheet and stands" in ran.out
    ran = dpaudit("sheet", "review", "--outputs", "with.csv", "--outputs", "with.csv")
    assert "ITS CERTIFICATE DOES NOT VERIFY" in ran.out
    ran = dpaudit("sheet", "review", "--outputs", "none.csv")
    assert "was not checked for this sheet: none.csv: cannot be read" in ran.out


@pytest.mark.parametrize(
    ("part", "name", "other"),
    [("parameters", "epsilon", 0.5), ("instance", "sha256", ["0" * 64] * 2)],
)
def test_a_certificate_of_other_outputs_or_another_claim_fails(outputs, part, name, other):
    file = outputs / "certificate.json"
    document = json.loads(file.read_text())
    document[part][name] = other
    file.write_text(json.dumps(document))
    assert "ITS CERTIFICATE DOES NOT VERIFY (it is for " in made(outputs).headline


def test_what_is_no_report_is_named(dpaudit, tmp_path):
    for name, content in (("a.json", "{}"), ("b.json", "{"), ("c.json", "[1]")):
        (tmp_path / name).write_text(content)
        ran = dpaudit("sheet", str(tmp_path / name))
        assert (ran.status, ran.out, name in ran.err) == (2, "", True)
    assert dpaudit("sheet", str(tmp_path / "gone")).status == 2
    (tmp_path / "empty").mkdir()
    assert "holds no report" in dpaudit("sheet", str(tmp_path / "empty")).err
    damaged = '{"function": 1, "numbers": 2, "verdict": "proved", "claim": 3, "schema": 1}'
    (tmp_path / "d.json").write_text(damaged)
    assert "damaged" in dpaudit("sheet", str(tmp_path / "d.json")).err
