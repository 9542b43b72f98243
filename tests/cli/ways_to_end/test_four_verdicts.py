"""Every ending at every door is one of the four verdicts, with its status and nothing stronger."""

import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import dpaudit
import dpaudit.auditing.estimators.group_sequential as group_sequential
from dpaudit.mechanisms.foreign.isolation import Isolation
from dpaudit.report.schema import Report, json_schema
from dpaudit.scan.accountants.document import AccountantScan
from dpaudit.scan.finding import ScanResult
from dpaudit.scan.publication.published_scan import PublishedScan
from dpaudit.verdicts import STATUSES, VERDICTS, status_of

from .test_replays_and_scans import scan

MODULE = """
import hashlib, os
import numpy as np

def refuted(data, rng):
    return float(np.sum(data)) + rng.laplace(scale=0.05)

def stands(data, rng):
    return float(np.sum(data)) + rng.laplace(scale=1.0)

def nothing(data, rng):
    float(np.sum(data)) + rng.laplace(scale=1.0)

def broken_contract(data, trials, rng):
    return float(np.sum(data)) + rng.laplace() + 0.01 * rng.laplace(size=trials)

def withdrawn(data, rng):
    salt = os.environ["DPAUDIT_TEST_SALT"] + repr([float(one) for one in data])
    seed = int(hashlib.sha256(salt.encode()).hexdigest()[:8], 16)
    return float(np.sum(data)) + np.random.default_rng(seed).laplace()
"""
OTHER_MODULE = """
import hashlib, os
import numpy as np

KEY = os.urandom(8).hex()

def differs(data, rng):
    text = KEY + repr([float(one) for one in data])
    seed = int(hashlib.sha256(text.encode()).hexdigest()[:8], 16)
    return float(np.sum(data)) + np.random.default_rng(seed).laplace()
"""
X, Y = [0.0, 1.0], [1.0, 1.0]
HERE = Isolation(in_process=True)
CLAIM = "huang2020-theorem6"  # a theorem proves it
SHORT = ("nodes=2", "iterations=1", "inner_steps=1")


@dataclass(frozen=True)
class Reached:
    """What a door said: its verdict, its exit status, and all of its words."""

    verdict: str
    status: int
    words: str


@dataclass(frozen=True)
class Ending:
    """A function that ends so, and what is said of it."""

    function: str
    verdict: str
    alone: bool = False  # in processes of its own
    time: float | None = None
    says: str = ""


ENDINGS = {
    "refuted": Ending("refuted", "refuted", says="exceeds the claimed epsilon 1"),
    "not refuted": Ending("stands", "not refuted"),
    "nothing returned": Ending("nothing", "withheld", says="let the function return"),
    "contract broken": Ending("broken_contract", "withheld", says="noise in common"),
    "out of time": Ending("stands", "withheld", time=1e-6, says="the time of 1e-06 s ended"),
    "finding withdrawn": Ending("withdrawn", "withheld", alone=True, says="drawn before"),
    "differs by process": Ending("differs", "withheld", alone=True, says="in common"),
}


@pytest.fixture
def place(here, monkeypatch):
    monkeypatch.setenv("DPAUDIT_TEST_SALT", "salt")
    for name, code in (("four_verdicts", MODULE), ("drawn_at_import", OTHER_MODULE)):
        (here.folder / f"{name}.py").write_text(code)
    for name, rows in (("a", X), ("b", Y)):
        (here.folder / f"{name}.csv").write_text("\n".join(map(str, rows)) + "\n")
    here.made += ["four_verdicts", "drawn_at_import"]
    monkeypatch.syspath_prepend(here.folder)
    return here


def target(ending):
    module = "drawn_at_import" if ending.function == "differs" else "four_verdicts"
    return f"{module}:{ending.function}"


def options(ending):
    given = ["--workers", "1"] + ([] if ending.alone else ["--in-process"])
    return [*given, *(["--time", str(ending.time)] if ending.time else ["--trials", "400"])]


def of_report(ran, folder):
    """Return what a report, its page and the terminal say, which is one and the same."""
    (result,) = json.loads((folder / "report.json").read_text())["results"]
    pages = [(folder / f"report.{kind}").read_text() for kind in ("md", "html")]
    assert f"Verdict: **{result['verdict']}**" in pages[0]
    assert re.search(rf"\b{result['verdict']}\b", ran.out)
    spoken = re.sub(r"[│\s]+", " ", ran.out + ran.err)
    return Reached(result["verdict"], ran.status, f"{spoken} {result['reason']}")


def by_python(place, ending):
    module = __import__(target(ending).partition(":")[0])
    given = {"time": ending.time} if ending.time else {"trials": 400}
    isolation = Isolation() if ending.alone else HERE
    function = getattr(module, ending.function)
    result = dpaudit.audit(function, X, Y, epsilon=1.0, isolation=isolation, **given)
    return Reached(result.verdict, status_of([result.verdict]), result.reason)


def by_command(place, ending):
    pair = ("--dataset", "a.csv", "--neighbour", "b.csv", "--epsilon", "1")
    ran = place.run("audit", target(ending), *pair, *options(ending), "--out", "out", "--quiet")
    return of_report(ran, place.folder / "out")


def by_file(place, ending):
    text = (
        f'[[audit]]\nmechanism = "{target(ending)}"\nname = "one"\n'
        f"dataset = {X}\nneighbour = {Y}\nepsilon = 1.0\ndelta = 0.0\n"
    )
    (place.folder / "own.toml").write_text(text)
    ran = place.run("audit", "own.toml", *options(ending), "--out", "out", "--quiet")
    return of_report(ran, place.folder / "out")


def by_resume(place, ending):
    by_command(place, ending)
    alone = () if ending.alone else ("--in-process",)
    ran = place.run("resume", "out", target(ending), *alone)
    return of_report(ran, place.folder / "out")


def by_pytest(place, ending):
    given = f"time={ending.time}" if ending.time else "trials=400"
    where = "Isolation()" if ending.alone else "Isolation(in_process=True)"
    module, name = target(ending).split(":")
    (place.folder / "test_own.py").write_text(
        f"import pytest\nfrom dpaudit.mechanisms.foreign.isolation import Isolation\n"
        f"from {module} import {name}\n\n@pytest.mark.dp(epsilon=1)\ndef test_it(dp_audit):\n"
        f"    dp_audit({name}, {X}, {Y}, {given}, isolation={where})\n"
    )
    options = ("-p", "no:cacheprovider", "-p", "no:randomly", f"--rootdir={place.folder}")
    ended = pytest.main([str(place.folder / "test_own.py"), "-q", *options])
    sys.modules.pop("test_own", None)
    words = re.sub(r"\s+", " ", place.capsys.readouterr().out)
    (verdict,) = re.findall(r"dpaudit: 1 ([a-z ]+);", words)
    return Reached(verdict, {0: STATUSES[verdict], 1: STATUSES[verdict] or 9}[int(ended)], words)


DOORS = {
    "python": by_python,
    "command": by_command,
    "file": by_file,
    "resume": by_resume,
    "pytest": by_pytest,
}
QUICK = {
    ("python", "refuted"),
    ("command", "not refuted"),
    ("command", "out of time"),
    ("file", "contract broken"),
    ("pytest", "nothing returned"),
    ("resume", "nothing returned"),
}
NEVER = {("resume", "out of time")}  # where nothing was drawn nothing is kept


def cells():
    for door in DOORS:
        for ending in ENDINGS:
            if (door, ending) in NEVER:
                continue
            marks = () if (door, ending) in QUICK else pytest.mark.slow
            yield pytest.param(door, ending, marks=marks, id=f"{door}-{ending}")


@pytest.mark.parametrize(("door", "name"), [*cells()])
def test_an_audit_ends_with_one_of_four_verdicts(place, door, name):
    ending = ENDINGS[name]
    if ending.time is not None:
        place.monkeypatch.setattr(group_sequential, "_OVER", -1.0)  # what a busy machine would take
    reached = DOORS[door](place, ending)
    assert (reached.verdict, reached.status) == (ending.verdict, STATUSES[ending.verdict])
    assert door == "pytest" or ending.says in reached.words
    assert "at least 0 " not in reached.words
    if ending.verdict == "not refuted" and door != "pytest":
        assert "certified lower bound 0." in reached.words
        assert re.search(r"This many outputs can certify at most [\d.]+", reached.words)


# What other doors reach: a replay has no time but that of a process, and canaries have no function.


@pytest.mark.parametrize(
    ("name", "says"),
    [
        pytest.param("refuted", "epsilon is at least 19.99", marks=pytest.mark.slow),
        pytest.param("not refuted", "So many", marks=pytest.mark.slow),
        pytest.param("nothing returned", "returns None", marks=pytest.mark.slow),
        pytest.param("finding withdrawn", "drawn before", marks=pytest.mark.slow),
        pytest.param("differs by process", "calls reuse", marks=pytest.mark.slow),
    ],
)
def test_a_replay_ends_with_one_of_four_verdicts(place, name, says):
    ending = ENDINGS[name]
    pair = ("--dataset", "a.csv", "--neighbour", "b.csv", "--epsilon", "1")
    ran = place.run("replay", target(ending), *pair, "--json")
    document = json.loads(ran.out)
    assert (document["verdict"], ran.status) == (ending.verdict, STATUSES[ending.verdict])
    assert name == "not refuted" or says in " ".join(one["words"] for one in document["findings"])
    if name == "not refuted":
        assert (document["runs"], document["pairs"]) == (20, 1)
        assert 1 < document["cap"] < 10


@pytest.mark.parametrize(
    ("subject", "verdict"),
    [
        pytest.param("laplace_sum", "not refuted", marks=pytest.mark.slow),
        pytest.param("no_sensitivity", "refuted", marks=pytest.mark.slow),
        pytest.param("fails", "withheld", marks=pytest.mark.slow),
        pytest.param("draws_once", "withheld", marks=pytest.mark.slow),
        pytest.param("slow", "withheld", marks=pytest.mark.slow),
    ],
)
def test_a_scan_ends_with_one_of_four_verdicts(here, subject, verdict):
    ran = scan(here, subject, "--json")
    document = json.loads(ran.out)
    told = [one["verdict"] for one in [*document["checked"], *document["floating"]]]
    assert set(told) <= {*VERDICTS, None}
    assert ran.status == STATUSES[verdict]
    assert told == [] or verdict in told
    assert (f"{subject}: withheld: " in ran.err) == (verdict == "withheld")


@pytest.mark.parametrize(
    ("included", "claim", "verdict"),
    [
        (lambda scores, coins: coins, "4", "not refuted"),
        (lambda scores, coins: scores > 0, "1", "refuted"),
        (lambda scores, coins: np.arange(len(scores)) % 2, "1", "withheld"),  # no coins
    ],
    ids=["noise", "all told", "no coins"],
)
def test_canaries_end_with_one_of_four_verdicts(place, included, claim, verdict):
    rng = np.random.default_rng(5)
    scores, coins = rng.normal(size=400), rng.integers(0, 2, 400)
    there = np.asarray(included(scores, coins)).astype(int)
    rows = [f"{score},{coin}" for score, coin in zip(scores, there, strict=True)]
    (place.folder / "c.csv").write_text("score,included\n" + "\n".join(rows) + "\n")
    ran = place.run("canary", "c.csv", "--epsilon", claim, "--delta", "1e-5", "--out", "out")
    reached = of_report(ran, place.folder / "out")
    assert (reached.verdict, reached.status) == (verdict, STATUSES[verdict])


@pytest.mark.parametrize("door", ["command", pytest.param("resume", marks=pytest.mark.slow)])
def test_a_theorem_proves_at_either_door(place, door):
    given = [word for one in SHORT for word in ("--set", one)]
    ran = place.run("audit", CLAIM, *given, "--trials", "200", "--out", "out", "--workers", "1")
    if door == "resume":
        ran = place.run("resume", "out")
    reached = of_report(ran, place.folder / "out")
    assert (reached.verdict, reached.status) == ("proved", 0)
    assert "A theorem proves at most" in reached.words


@pytest.mark.parametrize(("factor", "status"), [(1, 0), (3, 1)])
def test_verify_says_what_a_certificate_makes_of_its_claim(place, factor, status):
    """Its verdict is one of the four; a certificate that claims more than it shows refutes none."""
    place.run("audit", "hu2019-lemma3", "--out", "out", "--trials", "200", "--workers", "1")
    path = place.folder / "out" / "certificate.json"
    content = json.loads(path.read_text())
    content["quantities"] = {name: factor * x for name, x in content["quantities"].items()}
    path.write_text(json.dumps(content))
    ran = place.run("verify", str(path), "--json")
    (one,) = json.loads(ran.out)
    assert ran.status == status
    assert one["verdict"] == ("refuted" if factor == 1 else "withheld")


# No fifth word


def of_key(document, key):
    """Yield whatever stands under a key anywhere in a JSON document."""
    if isinstance(document, dict):
        for name, value in document.items():
            if name == key:
                yield value
            yield from of_key(value, key)
    elif isinstance(document, list):
        for one in document:
            yield from of_key(one, key)


def words_of(schema):
    """Return the words that a schema of a verdict allows."""
    if "anyOf" in schema:
        return {word for one in schema["anyOf"] for word in words_of(one)}
    return set(schema.get("enum", ())) | ({None} if schema.get("type") == "null" else set())


@pytest.mark.parametrize("model", [Report, ScanResult, PublishedScan, AccountantScan])
def test_a_schema_knows_four_verdicts(model):
    stated = list(of_key(json_schema(model), "verdict"))
    assert stated or model is AccountantScan  # of its numbers there are judgements
    assert all(set(VERDICTS) <= words_of(one) <= {*VERDICTS, None} for one in stated)


def test_every_published_verdict_is_one_of_four():
    found = [
        verdict
        for path in sorted((Path(__file__).parents[3] / "reports").rglob("*.json"))
        for verdict in of_key(json.loads(path.read_text("utf-8")), "verdict")
    ]
    assert len(found) > 200
    assert set(found) <= {*VERDICTS, None}


RIVALS = re.compile(r"inconclusive|unknown verdict|\bnot run\b|no verdict was reached", re.I)
# What earlier versions wrote.
NO_VERDICTS = {"exit-statuses.md": "Reports of earlier versions"}


def test_pages_know_no_other_word():
    root = Path(__file__).parents[3]
    pages = [root / "README.md", *root.glob("docs/*.md"), *root.glob("reports/**/*.md")]
    told = [
        (path.name, line)
        for path in pages
        for line in path.read_text("utf-8").splitlines()
        if RIVALS.search(line) and NO_VERDICTS.get(path.name, RIVALS.pattern) not in line
    ]
    assert told == []
