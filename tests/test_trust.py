"""What docs/trust.md and SECURITY.md say is trusted, row by row, as the interpreter reports it.

Commands run in one process that writes down every audit event of Python: what is opened, imported,
executed, unpickled, started and connected to.
"""

import io
import json
import os
import pickle
import re
import socket
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from shutil import which

import numpy as np
import pytest

import dpaudit
from dpaudit import audit_scores, verify
from dpaudit.errors import DataError, InvalidArgument
from dpaudit.refutation.certificate import certificates_text
from dpaudit.services.answers import ServiceAnswer, output_of
from tests.services.servers import reply, serving

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.always  # but what is slow: whichever test comes first takes what all take
DRIVER = """
import json, os, sys
events, heard = [], False
STARTED = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork")
LISTENED = ("open", "import", "exec", "pickle.find_class", "sqlite3.connect", *STARTED)

def hook(event, given):
    if heard and (event in LISTENED or event.startswith(("socket.", "urllib.", "http."))):
        if event == "exec":
            given = (getattr(given[0], "co_filename", "?"),)
        if event == "open" and isinstance(given[0], str):
            writes = given[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
            given = (os.path.abspath(given[0]), "w" if writes else "r")
        if event == "sqlite3.connect":
            event, given = "open", (os.path.abspath(given[0]), "w")
        events.append([event, str(given[0]), str(given[1]) if len(given) > 1 else ""])

sys.addaudithook(hook)
sys.path += [os.path.abspath("../site"), os.getcwd()]  # what a file names could be imported
from dpaudit.cli.main import main
from dpaudit.report.document import read_index, read_report
from dpaudit.formats import read_json
READERS = {"@report": read_report, "@index": read_index}
READERS["@selftest"] = lambda path: read_json(path, "selftest")

def forged(path):
    from dpaudit.store.keeping import Storing, keep_audit, use_storing
    command = {"command": "audit", "targets": ["decoy:fit"], "in_process": True}
    with use_storing(Storing(path, command)), keep_audit("decoy:fit", "any"):
        pass

READERS["@store"] = lambda path: forged(__import__("pathlib").Path(path))

def run(words):
    if words[0] in READERS:
        return READERS[words[0]](words[1])
    main(words)

ran = {}
for name, words in json.load(open(sys.argv[1])).items():
    before, heard, status = set(sys.modules), True, 0
    try:
        run(words)
    except SystemExit as ended:
        status = ended.code
    except Exception as error:
        status = repr(error)
    heard = False
    ran[name] = {"status": status, "events": list(events), "new": sorted({*sys.modules} - before)}
    events.clear()
json.dump(ran, open(sys.argv[2], "w"))
"""
DECOY = (
    "open('touched', 'w').write(__name__)\nclass Sum: pass\nPAIR = CLAIM = fit = recompute = 1\n"
)
SUM = """
import numpy as np
class Sum:
    def sample(self, dataset, trials, rng):
        return np.sum(dataset) + rng.laplace(scale=0.2, size=trials)
def total(dataset):
    return np.sum(dataset)
def shifted(x, rng):
    return x + rng.normal()
def noisy(x, rng):
    return x.sum() + rng.laplace()
"""
AUDIT = """
[audit]
mechanism = "own_sum:Sum"
dataset = "one.{kind}"
neighbour = "other.csv"
epsilon = 1.0
delta = 0.0
trials = 100
"""
THEIRS = """
from dpaudit.extension.figure import Figure
FIGURE = Figure(name="theirs", title="t", source="s", statements={}, run="theirs:drawn")
def drawn(request):
    from dpaudit.datasets import csv
    from dpaudit.plots import Curve, Panel
    from dpaudit.reproduction.result import Reproduction
    y = csv(request.data_path, "ill").features[:, 0].tolist()
    panel = Panel(title="t", x_label="x", y_label="y", curves=(Curve(label="c", x=y, y=y),))
    return Reproduction(
        figure="theirs", title="t", source="s", panels=(panel,), judgements=(), parameters={}
    )
"""
SCANNED = """
from dpaudit.extension.package import PackageClaim, Package, Subject

CLAIM = PackageClaim(epsilon=1.0, relation="add-remove-record", where="as it says")
SUM = Subject(name="sum", code="noisy", claims=(CLAIM,), datasets=([0.5],), nan=False)
PACKAGE = Package(
    name="theirs", distribution="theirs", code="their_subjects", versions=("1.0",), subjects=(SUM,)
)
"""
PLAIN = """
def noisy(data, trials, rng):
    return min(len(data), 2) + rng.laplace(size=trials)
"""
INSTALLED = {
    "theirs.py": THEIRS,
    "their_card.py": SCANNED,
    "their_subjects.py": PLAIN,
    "theirs-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n",
    "theirs-1.0.dist-info/entry_points.txt": "[dpaudit.figures]\ntheirs = theirs:FIGURE\n"
    "[dpaudit.packages]\ntheirs = their_card:PACKAGE\n",
}
RELEASES = "[[release]]\nkind = 'gaussian'\nnoise_scale = 5.0\n"
TABLE = "a,ill\n0.5,1\n0.7,-1\n0.1,1\n0.2,-1\n"
QUICK = ("--trials", "100", "--workers", "1")
CSV = ("--data", "csv", "--data-path", "own.csv", "--data-option", "label_column=ill")
ON_CSV = (*CSV, "--set", "nodes=2", "--set", "graph=complete")
CLAIM = ("--epsilon", "1", "--delta", "0")
ON_FILES = ("--dataset", "one.csv", "--neighbour", "other.csv")
BOUNDED = ["--domain", "bounds=[0,1]", "--domain", "records=3", "--epsilon", "1"]
SEARCHED = (*ON_FILES[:2], "--relation", "replace-record", "--bounds", "0,1")
CERTIFICATES = ROOT / "reports" / "huang2020-theorem4" / "certificate.json"


class Malice:
    def __reduce__(self):
        return (os.mkdir, ("unpickled",))


def saved(array):
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def naming_modules_and_paths(place):
    """Return a certificate whose every word is a module, a reference, a path or a pickle."""
    genuine = json.loads(CERTIFICATES.read_text())[1]
    decoy, file = "decoy_claims.theorem:recompute", str(place / "secret.csv")
    words = [decoy, "decoy_claims.theorem", file, f"file://{file}", "!!python/object:decoy.Sum"]
    texts = [
        genuine | {field: word}
        for field in ("claim", "source", "relation", "kind")
        for word in words
    ]
    texts += [
        genuine | {"parameters": genuine["parameters"] | {"loss": word, "path": word}}
        for word in words
    ]
    code = pickle.dumps(Malice(), protocol=0).decode()
    return [*texts, genuine | {"instance": {"one": code, "other": {"py/reduce": code}}}]


def of_counts(place):
    """Return certificates of counts that name files of the writer's choice."""
    genuine = json.loads(CERTIFICATES.read_text())[1] | {"kind": "statistical"}
    genuine |= {"claim": "huang2020-theorem6", "assumptions": []}
    file = str(place / "secret.csv")
    label = {"label_column": "ill"}
    settings = [
        {"data": "csv", "data_path": file, "data_options": label, "trials": 100},
        {"data": "csv", "data_options": {**label, "path": file}, "trials": 100},
        {"data": file, "trials": 100},
        {"parameters": {"loss": file, "data": file}, "trials": 100},
        {"attack": "decoy:fit", "trials": 100},
    ]
    return [genuine | {"instance": {"settings": one}} for one in settings]


def of_a_mechanism(place):
    """Return a certificate of somebody's mechanism that names a module and files to open."""
    genuine = json.loads(CERTIFICATES.read_text())[1] | {"kind": "mechanism"}
    file = str(place / "secret.csv")
    instance = {
        "settings": {"trials": 100, "data_path": file},
        "claimed": {"epsilon": 1.0, "delta": 0.0},
        "reading": {"form": None, "read": None, "observe": []},
        "mechanism": {"reference": "decoy:Sum", "sha256": file},
        "pair": {"salt": "0" * 32, "dataset": file, "neighbour": file, "data": [file, file]},
    }
    return genuine | {"relation": "replace-record", "assumptions": [], "instance": instance}


def of_canaries():
    """Return the certificate of the scores that `written` writes."""
    scores = np.array([2.0, 1.0] * 9 + [2.0])
    return audit_scores(scores, scores == 2, delta=1e-5, claim=0.01).certificate


def written(place):
    """Write the files of all commands; those that nobody names would leave a trace if they ran."""
    files = {
        "own_sum.py": SUM,
        "rel.toml": RELEASES,
        "own.csv": TABLE,
        "stated.yaml": "variant: pure\nepsilon: !!python/object/apply:decoy.Sum [1]\ndelta: 0\n",
        "scores.csv": "score,included\n" + "2,1\n1,0\n" * 9 + "2,1\n",
        "canaries.json": certificates_text([of_canaries()]),
        "secret.csv": TABLE,
        "one.csv": "0.5\n1\n",
        "other.csv": "0\n1\n",
        "lines": "dataset,1\nneighbour,2\n",
        "csv.toml": AUDIT.format(kind="csv"),
        "npy.toml": AUDIT.format(kind="npy"),
        "c.json": CERTIFICATES.read_text(),
        "names.json": json.dumps(naming_modules_and_paths(place)),
        "counts.json": json.dumps(of_counts(place)),
        "own.json": json.dumps(of_a_mechanism(place)),
        "report.json": (ROOT / "reports/huang2020-theorem4/report.json").read_text(),
        "index.json": (ROOT / "reports/index.json").read_text(),
        "selftest.json": (ROOT / "reports/selftest/selftest.json").read_text(),
        "names-report.json": '{"schema": 1, "schema_version": "1.3", "py/object": "decoy"}',
    }  # fmt: skip
    files |= dict.fromkeys(("decoy.py", "secrets.py", "graphlib.py", "colorsys.py"), DECOY)
    for name, text in files.items():
        (place / name).write_text(text)
    (place / "decoy_claims").mkdir()
    for name in ("__init__", "theorem"):
        (place / "decoy_claims" / f"{name}.py").write_text(DECOY)
    (place / "one.npy").write_bytes(saved(np.array([Malice()], dtype=object)))
    np.savez(place / "one.npz", score=np.array([Malice()], dtype=object), included=np.ones(1))


COUNTED = ["--hits", "9", "--of", "10", "--false-hits", "1", "--of", "10"]
COMMANDS = {
    "version": ["version"],
    "schema": ["schema"],
    "list": ["list"],
    "show": ["show", "huang2020-lemma5"],
    "ledger": ["ledger", "huang2020"],
    "ledger of reports": ["ledger", "huang2020", "--reports", "."],
    "new": ["new", "claim", "smith2031-lemma1", "--into", "package"],
    "new program": ["new", "program", "--language", "rust", "--into", "rusty"],
    "account": ["account", "rel.toml", "--json"],
    "calibrate": ["calibrate", "rel.toml"],
    "spend new": ["spend", "new", "budget.jsonl", "--epsilon", "30"],
    "spend add": ["spend", "add", "budget.jsonl", "laplace", "noise_scale=2"],
    "spend show": ["spend", "show", "budget.jsonl", "--out", "spent"],
    "verify": ["verify", "c.json"],
    "verify names": ["verify", "names.json"],
    "verify counts": ["verify", "counts.json"],
    "report": ["@report", "report.json"],
    "index": ["@index", "index.json"],
    "selftest.json": ["@selftest", "selftest.json"],
    "report names": ["@report", "names-report.json"],
    "watch": ["audit", "--watch", "lines", *CLAIM],
    "claim": ["audit", "huang2020-lemma5", *QUICK, *ON_CSV, "--out", "out"],
    "store ls": ["store", "ls", "out"],
    "store show": ["store", "show", "out", "1"],
    "merge": ["merge", "out", "--into", "all.sqlite"],
    "resume": ["resume", "out"],
    "forged": ["@store", "forged.sqlite"],
    "resume forged": ["resume", "forged.sqlite"],
    "own": ["audit", "csv.toml", *QUICK],
    "verify own": ["verify", "own.json", "--mechanism", "own_sum:Sum", *ON_FILES],
    "function": ["audit", "own_sum:Sum", *QUICK, *CLAIM, *ON_FILES],
    "verify scores": ["verify", "canaries.json", "--scores", "scores.csv"],
    "canary pickled": ["canary", "one.npz", "--delta", "1e-5"],
    "canary": ["canary", "scores.csv", "--delta", "1e-5", "--out", "judged"],
    "deployment": ["deployment", "stated.yaml", "--out", "stated"],
    "table": ["table", *COUNTED, "--out", "judged"],
    "replay": ["replay", "own_sum:Sum", "--epsilon", "1", *ON_FILES, "--out", "replayed"],
    "sensitivity": ["sensitivity", "own_sum.py:total", *SEARCHED],
    "prove": ["prove", "own_sum.py:noisy", *BOUNDED, "--out", "proved"],
    "views": ["views", "own_sum.py:shifted", "--private", "one.csv", "--out", "viewed"],
    "pickled": ["audit", "npy.toml", *QUICK],
    "program": ["audit", "--command", "cat {data}", *ON_FILES, *CLAIM, *QUICK, "--no-store"],
    "in process": ["audit", "csv.toml", *QUICK, "--in-process"],
    "reproduce": ["reproduce", "theirs", "--data", "own.csv", "--out", "figures"],
    "scan --list": ["scan", "theirs", "--list"],
    "scan": ["scan", "theirs", "--trials", "100", "--workers", "1", "--out", "scanned"],
    "attack": ["attack", "message-support", "--set", "records=60", "--set", "messages=200"],
}
# Commands that run mechanisms or draw figures take a minute together, in a process of their own.
AT_WORK = {"claim", "store ls", "store show", "merge", "resume", "own", "verify own", "function"}
AT_WORK |= {"replay", "sensitivity", "prove", "views", "program", "in process", "reproduce"}
AT_WORK |= {"scan --list", "scan", "attack"}
FOLDERS = {"HOME": "home", "TMPDIR": "tmp"}
CACHE = {"MPLCONFIGDIR": str(Path.home() / ".cache" / "matplotlib"), "COLUMNS": "100"}


@dataclass(frozen=True)
class Ran:
    """What a command did: its status, and events as (kind, what, how)."""

    place: Path
    status: object
    events: tuple[tuple[str, str, str], ...]
    new: frozenset[str]

    def of(self, *kinds):
        return {what for kind, what, _ in self.events if kind.startswith(kinds)}

    @property
    def opened(self):
        """Files beside the code of packages and what the system and libraries have."""
        paths = {Path(what) for what in self.of("open") if what.startswith("/")}
        return {self._named(path) for path in paths if not _is_usual(path, self.place)}

    @property
    def wrote(self):
        found = {Path(what) for kind, what, how in self.events if (kind, how) == ("open", "w")}
        return {
            self._named(path)
            for path in found
            if path.is_absolute() and not _is_usual(path, self.place)
        }

    @property
    def foreign_code(self):
        """Files whose code ran and that are no installed package's."""
        return {
            Path(what).name for what in self.of("exec") if what.startswith(f"{self.place}/work/")
        }

    def _named(self, path):
        here = path.is_relative_to(self.place / "work")
        return str(path.relative_to(self.place / "work")) if here else str(path)


def _is_usual(path, place):
    code = [sys.prefix, sys.base_prefix, sysconfig.get_path("purelib"), *map(str, _packages())]
    system = ["/proc", "/sys", "/dev", "/etc", "/usr/share", "/usr/lib", "/lib"]
    own = [
        place / "site",
        place / "home",
        place / "tmp",
        place / "driver.py",
        Path.home() / ".cache",
    ]
    kept = [ROOT / name for name in ("dpaudit", "algorithms", "attacks", "src")]
    usual = [*map(Path, (*code, *system)), *own, *kept]
    return any(path.is_relative_to(one) for one in usual)


def _packages():
    return {Path(one).resolve() for one in sys.path if one.endswith("site-packages")}


def run_all(place, commands):
    work = place / "work"
    for folder in (work, place / "home", place / "tmp", place / "site/theirs-1.0.dist-info"):
        folder.mkdir(parents=True)
    for name, text in INSTALLED.items():
        (place / "site" / name).write_text(text)
    written(work)
    (place / "driver.py").write_text(DRIVER)
    (place / "commands.json").write_text(json.dumps(commands))
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DPAUDIT")}
    subprocess.run(
        [sys.executable, "../driver.py", "../commands.json", "../ran.json"],
        cwd=work,
        env=kept | {name: str(place / folder) for name, folder in FOLDERS.items()} | CACHE,
        capture_output=True,
        check=True,
    )
    ran = json.loads((place / "ran.json").read_text())
    return {
        name: Ran(place, one["status"], tuple(map(tuple, one["events"])), frozenset(one["new"]))
        for name, one in ran.items()
    }


class Runs(dict):
    """What commands did, of which those of one process run when one of them is asked for."""

    def __init__(self, factory):
        super().__init__()
        self.factory = factory

    def __missing__(self, name):
        together = {
            one: words for one, words in COMMANDS.items() if (one in AT_WORK) == (name in AT_WORK)
        }
        self |= run_all(self.factory.mktemp("trust"), together)
        return self[name]


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    return Runs(tmp_path_factory)


# Every row is tested

ROWS = [
    cells[0].strip()
    for page in ("docs/trust.md", "SECURITY.md")
    for line in (ROOT / page).read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and len(cells := line.strip("|").split("|")) > 1
    and cells[0].strip() not in ("what", "command", "data", "", "---")
]  # fmt: skip
TESTED = {}


def row(*beginnings):
    """Note that a test is of the rows that begin so."""

    def noted(test):
        TESTED.update(dict.fromkeys(beginnings, test))
        return test

    return noted


def test_every_row_has_a_test():
    assert len(ROWS) > 25
    assert [one for one in ROWS if one not in TESTED] == []
    assert [one for one in TESTED if one not in ROWS] == []


# Code and data


def nothing_started(done):
    """Return what a command started, connected to, or unpickled: nothing, if all is well."""
    fonts = {"fc-list"}  # what matplotlib asks the system for, once for its cache
    return done.of(*("subprocess", "os.", "socket.", "urllib.", "http.", "pickle.")) - fonts


@pytest.mark.slow
@row("a specification of audits (`audit.toml`)", "a module that a specification names")
@row("specifications (`audit.toml`) and the modules they name")
def test_a_specification_is_code(ran):
    assert ran["in process"].status == 1
    assert "own_sum.py" in ran["in process"].foreign_code
    assert ran["own"].status == 1  # and its module ran elsewhere
    assert ran["own"].foreign_code == set()
    started = [how for kind, _, how in ran["own"].events if kind == "subprocess.Popen"]
    assert ["worker.py" in how for how in started] in ([True], [])  # one waits, or is started


@row("an answer of a service (`--url`, `dpaudit.Service`)")
def test_an_answer_of_a_service_is_data():
    for body in (b"[" * 70 + b"]" * 70, b"[" * 10**6, b"NaN", b"\xff"):
        with pytest.raises(dpaudit.DpauditError):
            output_of(ServiceAnswer(200, "OK", {"content-type": "application/json"}, body), None)
    with serving(lambda _: reply("x" * 2**20)) as server:
        with pytest.raises(dpaudit.DpauditError, match="max_bytes"):
            dpaudit.Service(server.url)([1], np.random.default_rng(0))


@row("`audit --url ADDRESS`", "services that `--url` or `dpaudit.Service` names")
def test_a_service_is_asked_and_nobody_else(monkeypatch):
    connect, asked = socket.create_connection, []
    monkeypatch.setattr(
        socket, "create_connection", lambda to, *how: asked.append(to) or connect(to, *how)
    )
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("A_SECRET", "s3cr3t")
    with serving(lambda _: reply(1)) as other, serving(lambda one: away(one, other)) as server:
        service = dpaudit.Service(f"{server.url}/?n={{fresh}}", headers={"X-Token": "env:A_SECRET"})
        assert service([1], np.random.default_rng(0)) == 2
        with pytest.raises(dpaudit.DpauditError, match="another host"):
            dpaudit.Service(f"{server.url}/away")([1], np.random.default_rng(0))
        here = server.url.rpartition("/")[2]
    assert {f"{host}:{port}" for host, port in asked} == {here}
    assert server.asked[0].headers["x-token"] == "s3cr3t"
    assert "s3cr3t" not in repr(service) + service.digest + str(vars(service))


def away(asked, other):
    """Answer with a redirect to another server where one asks for it."""
    return (302, {"Location": other.url}, b"") if asked.path == "/away" else reply(2)


@pytest.mark.slow
@row("other files in the folder of a specification")
def test_a_file_beside_a_specification_takes_no_place(ran):
    assert {file for name in COMMANDS for file in ran[name].foreign_code} == {"own_sum.py"}
    assert not any((ran[name].place / "work" / "touched").exists() for name in ("own", "verify"))


@row("an installed package with entry points of dpaudit")
@row("installed packages with entry points of dpaudit")
def test_cards_of_installed_packages_are_imported(ran):
    """What lists them all comes first of those that import them."""
    assert "theirs" in ran["list"].new
    assert "dpaudit.algorithms.multistep.claims.lemma5" in ran["list"].new
    assert "dpaudit.attacks.cards" in ran["list"].new
    assert not any(name.startswith("dpaudit.a") for name in ran["version"].new | ran["schema"].new)


@row("a certificate")
@row("certificates, reports, tables of records, streams of outputs, files of releases")
def test_a_certificate_is_data(ran):
    assert [ran[name].status for name in ("verify", "verify names", "verify counts")] == [0, 2, 2]
    for name in ("verify", "verify names", "verify counts"):
        assert nothing_started(ran[name]) == set()
        assert ran[name].foreign_code == set()
        assert not any("decoy" in what for what in ran[name].of("import"))
        assert not any("secret" in what for what in ran[name].of("open"))


@row("a report (`report.json`, `index.json`, `selftest.json`)")
def test_a_report_is_data(ran):
    assert [ran[name].status for name in ("report", "index", "selftest.json")] == [0, 0, 0]
    assert "not a valid report" in ran["report names"].status
    for name in ("report", "index", "selftest.json", "report names"):
        assert nothing_started(ran[name]) == set()
        assert len(ran[name].opened) == 1
        assert not any("decoy" in what for what in ran[name].of("import", "exec"))


@row("a table of records (CSV, LIBSVM, UCI Adult, `.npy`)")
def test_a_table_is_data(ran):
    assert ran["pickled"].status == 2
    assert "one.npy" in ran["pickled"].opened
    assert ran["pickled"].of("pickle.") == set()
    assert not (ran["pickled"].place / "work" / "unpickled").exists()


@row("scores of canaries (`canary`; CSV, Parquet, `.npz`)")
def test_scores_are_data(ran):
    assert nothing_started(ran["canary"]) == set()
    assert ran["canary pickled"].status == 2
    assert ran["canary pickled"].opened == {"one.npz"}
    assert ran["canary pickled"].of("pickle.") == set()
    assert not (ran["canary pickled"].place / "work" / "unpickled").exists()


@row("a stream of outputs (`--watch`)")
def test_a_stream_is_data(ran):
    assert nothing_started(ran["watch"]) == set()
    assert ran["watch"].foreign_code == set()


@row("a file of releases (`account`, `calibrate`, `spend`)")
def test_a_file_of_releases_is_data(ran):
    for name in ("account", "calibrate"):
        assert ran[name].status == 0
        assert nothing_started(ran[name]) == set()
        assert ran[name].foreign_code == set()


@row("a budget (`spend`; `budget.jsonl`)")
def test_a_budget_is_data(ran):
    for name in ("spend add", "spend show"):
        assert ran[name].status == 0
        assert nothing_started(ran[name]) == set()
        assert ran[name].foreign_code == set()


@pytest.mark.parametrize(
    ("settings", "refused"),
    [
        (
            {"data": "csv", "data_options": {"path": "secret.csv"}},
            r"data_option: got .*, expected options by name without path",
        ),
        ({"data": "libsvm", "data_options": {"n_features": 10**9}}, r"n_features: got 1000000000"),
        ({"data_options": ["path"]}, "data_options: got .*, expected an object"),
        ({"parameters": 3}, "parameters: got 3, expected an object"),
        ({"show_records": True}, "expected an object with some of: "),
    ],
)
def test_a_certificate_of_counts_chooses_neither_place_nor_size(settings, refused, tmp_path):
    genuine = json.loads(CERTIFICATES.read_text())[1] | {"kind": "statistical"}
    genuine |= {"claim": "huang2020-theorem6", "instance": {"settings": settings}}
    path = tmp_path / "c.json"
    path.write_text(json.dumps(genuine))
    with pytest.raises((DataError, InvalidArgument), match=refused):
        verify(path)


# Commands


@row(
    "`version`, `schema`",
    "`list`, `show`, `ledger`",
    "`ledger --reports DIRECTORY`",
    "`account`, `calibrate`",
)
@pytest.mark.parametrize(
    ("name", "opened"),
    [
        *(("version", set()), ("schema", set()), ("list", set()), ("show", set())),
        *(("account", {"rel.toml"}), ("calibrate", {"rel.toml"})),
        *(("ledger", set()), ("ledger of reports", {"index.json"})),
    ],
)
def test_commands_that_only_look(ran, name, opened):
    assert ran[name].status == 0
    assert ran[name].opened == opened
    assert ran[name].wrote == set()
    assert nothing_started(ran[name]) == set()


@row("`new claim`")
def test_a_new_package_is_written_and_nothing_else(ran):
    assert ran["new"].status == 0
    assert ran["new"].opened - ran["new"].wrote == set()
    assert {one.split("/")[0] for one in ran["new"].wrote} == {"package"}
    assert ran["new"].foreign_code == set()
    assert nothing_started(ran["new"]) == set()


@row("`spend new`, `spend add`, `spend mend`", "`spend check`, `spend show`, `spend verify`")
def test_a_budget_is_opened_and_nothing_else(ran):
    for name in ("spend new", "spend add", "spend show"):
        assert ran[name].status == 0
        opened = {one for one in ran[name].opened - {"."} if not one.startswith("spent")}
        assert {re.sub(r"^\.budget\.jsonl\.\w+\.part$", "budget.jsonl", one) for one in opened} == {
            "budget.jsonl"
        }
    assert {one.split("/")[0] for one in ran["spend show"].wrote} == {"spent"}


@row("`new program`")
def test_a_helper_is_written_and_nothing_else(ran):
    assert ran["new program"].status == 0
    assert ran["new program"].opened - ran["new program"].wrote == set()
    assert {one.split("/")[0] for one in ran["new program"].wrote} == {"rusty"}
    assert nothing_started(ran["new program"]) == set()


@row("`verify`", "`verify`, of counts")
@pytest.mark.parametrize("name", ["verify", "verify names", "verify counts"])
def test_verify_opens_what_it_was_given(ran, name):
    assert ran[name].opened == {COMMANDS[name][1]}
    assert ran[name].wrote == set()


@row("`verify --scores FILE`")
def test_verify_counts_the_scores_of_the_reader(ran):
    assert ran["verify scores"].status == 0
    assert ran["verify scores"].opened == {"canaries.json", "scores.csv"}
    assert ran["verify scores"].wrote == set()
    assert nothing_started(ran["verify scores"]) == set()


@pytest.mark.slow
@row("`verify --mechanism MODULE:OBJECT`")
def test_verify_runs_the_mechanism_of_the_reader(ran):
    assert ran["verify own"].status == 1
    opened = {one for one in ran["verify own"].opened if not re.search(r"own_sum|__pycache__", one)}
    assert opened - {"."} == {"own.json", "one.csv", "other.csv"}
    assert ran["verify own"].foreign_code == set()
    assert ran["verify own"].wrote == set()
    assert not (ran["verify own"].place / "work" / "touched").exists()


@pytest.mark.slow
@row("`prove MODULE:FUNCTION`")
def test_a_proof_is_looked_for_elsewhere(ran):
    assert ran["prove"].status == 0
    outside = r"own_sum|__pycache__|proved"
    assert {one for one in ran["prove"].opened if not re.search(outside, one)} - {"."} == set()
    assert ran["prove"].foreign_code == set()
    assert {one.split("/")[0] for one in ran["prove"].wrote} == {"proved"}
    assert not (ran["prove"].place / "work" / "touched").exists()


@pytest.mark.slow
@row("`views MODULE:FUNCTION`")
def test_a_recursion_is_read_elsewhere(ran):
    assert ran["views"].status == 0
    outside = r"own_sum|__pycache__|viewed"
    opened = {one for one in ran["views"].opened if not re.search(outside, one)}
    assert opened - {"."} == {"one.csv"}
    assert ran["views"].foreign_code == set()
    assert {one.split("/")[0] for one in ran["views"].wrote} == {"viewed"}
    assert not (ran["views"].place / "work" / "touched").exists()


@row("`canary`")
def test_scores_of_canaries_are_read_and_judged(ran):
    assert ran["canary"].status == 0
    opened = {one for one in ran["canary"].opened if not one.startswith("judged")}
    assert opened - {"."} == {"scores.csv"}
    assert {one.split("/")[0] for one in ran["canary"].wrote} == {"judged"}
    assert nothing_started(ran["canary"]) == set()


@row("`deployment`", "a statement of a deployment (`deployment`; YAML, JSON, TOML)")
def test_a_statement_is_read_and_builds_nothing(ran):
    assert ran["deployment"].status == 0
    opened = {one for one in ran["deployment"].opened if not one.startswith("stated/")}
    assert opened - {".", "stated"} == {"stated.yaml"}
    assert {one.split("/")[0] for one in ran["deployment"].wrote} == {"stated"}
    assert nothing_started(ran["deployment"]) == set()


@pytest.mark.slow
@row("`replay MODULE:FUNCTION`")
def test_a_replay_runs_the_function_elsewhere(ran):
    assert ran["replay"].status in (0, 1)
    outside = r"own_sum|__pycache__|replayed"
    opened = {one for one in ran["replay"].opened if not re.search(outside, one)}
    assert opened - {"."} == {"one.csv", "other.csv"}
    assert ran["replay"].foreign_code == set()
    assert {one.split("/")[0] for one in ran["replay"].wrote} == {"replayed"}
    assert not (ran["replay"].place / "work" / "touched").exists()


@pytest.mark.slow
@row("`sensitivity MODULE:FUNCTION`")
def test_a_query_is_run_elsewhere(ran):
    assert ran["sensitivity"].status == 0
    outside = r"own_sum|__pycache__"
    opened = {one for one in ran["sensitivity"].opened if not re.search(outside, one)}
    assert opened - {"."} == {"one.csv"}
    assert ran["sensitivity"].foreign_code == set()
    assert ran["sensitivity"].wrote == set()
    assert not (ran["sensitivity"].place / "work" / "touched").exists()


@pytest.mark.slow
@row("`audit CLAIM`")
def test_the_audit_of_a_claim(ran):
    assert ran["claim"].status == 0
    assert nothing_started(ran["claim"]) == set()
    files = {"report.json", "report.md", "report.html", "store.sqlite"}
    assert {one for one in ran["claim"].opened if not one.startswith("out")} == {"own.csv"}
    assert {one.split("/")[0] for one in ran["claim"].wrote} == {"out"}
    assert {one.name for one in (ran["claim"].place / "work" / "out").iterdir()} == files


@row("a store of audits (`store.sqlite`)", "`resume`")
@pytest.mark.parametrize(
    ("name", "status"), [pytest.param("resume", 0, marks=pytest.mark.slow), ("resume forged", 2)]
)
def test_what_a_store_says_is_repeated_only_where_it_names_no_code(ran, name, status):
    assert ran[name].status == status
    assert ran["forged"].status == 0
    files = {"out", "own.csv"} if name == "resume" else {"forged.sqlite"}
    assert {one.split("/")[0] for one in ran[name].opened} == files
    assert nothing_started(ran[name]) == set()
    assert ran[name].foreign_code == set()
    assert not any("decoy" in what for what in ran[name].of("import"))


@pytest.mark.slow
@row("`store`, `merge`")
def test_stores_are_read_as_data(ran):
    for name, wrote in {
        "store ls": {"out"},
        "store show": {"out"},
        "merge": {"out", "all.sqlite"},
    }.items():
        assert ran[name].status == 0
        assert {one.split("/")[0] for one in ran[name].opened} == wrote
        assert nothing_started(ran[name]) == set()
        assert ran[name].foreign_code == set()
        assert "dpaudit.extension.registry" not in ran[name].new


@pytest.mark.slow
@row("`audit FILE.toml`", "`audit FILE.toml --in-process`")
@pytest.mark.parametrize("name", ["own", "in process"])
def test_the_audit_of_a_specification(ran, name):
    named = {"csv.toml", "one.csv", "other.csv"}
    beside = {one for one in ran[name].opened if not re.search(r"own_sum|__pycache__", one)}
    assert beside - {"."} == named
    assert ran[name].of("socket.connect", "socket.getaddrinfo", "urllib", "http") == set()
    if name == "in process":
        assert ran[name].of("os.exec", "os.system", "os.fork") == set()


@pytest.mark.slow
@row("`audit MODULE:OBJECT`")
def test_the_audit_of_a_function(ran):
    assert ran["function"].status == 1
    opened = {one for one in ran["function"].opened if not re.search(r"own_sum|__pycache__", one)}
    assert opened - {"."} == {"one.csv", "other.csv"}
    assert ran["function"].foreign_code == set()
    assert ran["function"].wrote == set()


@pytest.mark.slow
@row("`audit --command COMMAND`, or such a key in a file")
def test_the_audit_of_a_program(ran):
    assert ran["program"].status in (1, 2)
    program = str(Path(which("cat")).resolve())
    assert ran["program"].opened - {"."} <= {"one.csv", "other.csv", program}
    assert ran["program"].opened >= {"one.csv", "other.csv"}
    assert ran["program"].wrote == set()
    started = [how for kind, _, how in ran["program"].events if kind == "subprocess.Popen"]
    assert ["worker.py" in how for how in started] == [True]  # which starts the program


@row("`audit --watch FILE`")
def test_the_audit_of_a_stream(ran):
    assert ran["watch"].opened == {"lines"}
    assert ran["watch"].wrote == set()


@pytest.mark.slow
@row("`attack`")
def test_an_attack(ran):
    assert ran["attack"].status == 0
    assert ran["attack"].opened == set()
    assert nothing_started(ran["attack"]) == set()


@pytest.mark.slow
@row("`reproduce`")
def test_a_figure(ran):
    assert ran["reproduce"].status == 0
    opened = {one for one in ran["reproduce"].opened if not one.startswith("figures")}
    assert opened == {"own.csv"}
    assert {one.split("/")[0] for one in ran["reproduce"].wrote} == {"figures"}
    assert nothing_started(ran["reproduce"]) == set()


@pytest.mark.slow
@row("`scan --list`", "`scan`", "a package that is scanned, and what its environment is built from")
def test_a_scan(ran):
    """The package is installed here: no environment is built."""
    assert ran["scan --list"].status == 0
    assert nothing_started(ran["scan --list"]) == set()
    assert ran["scan --list"].opened == set()
    assert ran["scan"].status == 0
    assert {one.split("/")[0] for one in ran["scan"].wrote} == {"scanned"}
    assert ran["scan"].foreign_code == set()
    assert not any("their_subjects" in what for what in ran["scan"].of("exec", "import"))
    started = [how for kind, _, how in ran["scan"].events if kind == "subprocess.Popen"]
    assert ["worker.py" in how for how in started] in ([True], [])  # one waits, or is started


@pytest.mark.slow
@row("`selftest`")
def test_the_self_test(tmp_path):
    done = run_all(tmp_path, {"selftest": ["selftest", "--workers", "1"]})["selftest"]
    assert done.status == 0
    assert done.wrote == set()
    assert done.opened == set()
    assert done.of("socket.connect", "socket.getaddrinfo", "urllib", "http", "pickle") == set()


@row("`audit --all`")
def test_all_published_audits_read_no_file_of_a_users():
    from dpaudit.cli.publish import get_published_settings, refuse_other_settings
    from dpaudit.errors import InvalidArgument
    from dpaudit.extension.registry import CLAIMS

    every = [one for card in CLAIMS.all().values() for one in get_published_settings(card, {})]
    assert all(settings.data_is_public for _, settings in every)
    for name in ("data", "data_path", "data_options", "show_records"):
        with pytest.raises(InvalidArgument, match="nothing with --all"):
            refuse_other_settings({name: "own.csv"})


# Records and text, which tests of their own go through


@row("`worst-case`, and instances that a search finds")
@row("`breast-cancer`, which comes with scikit-learn")
@row("`adult`, `a9a`, `csv`, `libsvm`, and whatever has a `--data-path`")
@row("the datasets of a specification, of `dpaudit.audit`, of a test")
@row("your records and a mechanism's outputs", "what data says")
def test_records_and_text_have_tests_of_their_own():
    """In tests/cli/test_records.py, tests/cli/test_hostile_text.py and the pages they are about."""
    page = (ROOT / "tests" / "cli" / "test_records.py").read_text(encoding="utf-8")
    for name in ("test_data_is_public_if_it_comes_with_a_library", "test_the_certificate_of_an_"):
        assert name in page
    assert "planted_everywhere" in (ROOT / "tests/cli/test_hostile_text.py").read_text("utf-8")
