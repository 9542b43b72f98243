"""A record that is planted in a user's data is found in no file and on no stream, unless asked for.

Every case is a way for data to come in, and a way to fail with it or to end well. It runs as it is
and with ``--show-records``: the first run shows the record nowhere, the second somewhere.
"""

import itertools
import json
import re
import stat
import sys
from dataclasses import dataclass, field

import numpy as np
import pytest

from dpaudit import Dataset, audit, audit_outputs
from dpaudit.adapters._calls import collect_call_outputs, one_value
from dpaudit.algorithms.tables.joining import KeyedTable, join_tables
from dpaudit.cli.main import main
from dpaudit.errors import DpauditError
from dpaudit.execution import Executor
from dpaudit.extension.settings import Settings
from dpaudit.mechanisms.foreign.isolation import Isolation
from dpaudit.neighbours import REPLACE_RECORD, Pair
from dpaudit.redaction import (
    Policy,
    Record,
    apply_policy,
    are_shown,
    format_hidden_value,
    get_policy,
    run,
    set_records_shown,
)
from dpaudit.report import render
from dpaudit.testing import assert_not_refuted, assert_sensitivity

NUMBER, TEXT = 8675309.4242, "Zebulon-Quill"
FOUND = re.compile(r"8\.?,?6,?75,?30|Zebulon")
HASH = re.compile(r"#[0-9a-f]{8}\b")

MODULE = f"""
import sys, warnings
import numpy as np

NUMBER, TEXT = {NUMBER}, "{TEXT}"

class Sum:
    def sample(self, dataset, trials, rng):
        return np.sum(dataset) + rng.laplace(scale=0.2, size=trials)

class Constant:
    def sample(self, dataset, trials, rng):
        return np.full(trials, np.sum(dataset))

class Fails(Sum):
    def sample(self, dataset, trials, rng):
        raise ValueError(f"no such record: {{list(dataset)}}")

class FailsBehind(Sum):
    def sample(self, dataset, trials, rng):
        try:
            float(TEXT)
        except ValueError as error:
            raise KeyError(dataset[0]) from error

class Leaves(Sum):
    def sample(self, dataset, trials, rng):
        sys.exit(f"refused: {{dataset[0]}}")

class Asserts(Sum):
    def sample(self, dataset, trials, rng):
        assert dataset[0] < 1, f"{{dataset[0]}} is too large"

class Words(Sum):
    def sample(self, dataset, trials, rng):
        return [TEXT] * trials

class Opens(Sum):
    def sample(self, dataset, trials, rng):
        return np.load(f"{{TEXT}}.npy")

class Warns(Sum):
    def sample(self, dataset, trials, rng):
        warnings.warn(f"odd record {{dataset[0]}}")
        raise RuntimeError("after the warning")

class Made:
    def __init__(self):
        raise ValueError(f"cannot be made of {{NUMBER}}")

ONE, OTHER = np.array([NUMBER, 1.0]), np.array([0.0, 1.0])
PAIR, TWO, WORDS = (ONE, OTHER), (ONE, np.zeros(2)), ([TEXT], [0.0])
LIST, EMPTY = [PAIR], dict(dataset=ONE)

def raises():
    raise ValueError(f"no pair with {{NUMBER}}")
"""
AUDIT = """
[[audit]]
name = "own"
mechanism = "{module}:{mechanism}"
{data}
epsilon = 1.0
delta = 0.0
trials = 200
"""
INLINE = f"dataset = [{NUMBER}, 1.0]\nneighbour = [0.0, 1.0]"
NUMBERS = itertools.count()


@dataclass
class Case:
    """What is written, and the words of the command; ``shown`` is False where nothing is to see."""

    words: tuple[str, ...]
    files: dict[str, str | bytes] = field(default_factory=dict)
    shown: bool = True


def own(data=INLINE, mechanism="Sum", options=("--in-process",), shown=True, **files):
    text = AUDIT.format(module="{module}", mechanism=mechanism, data=data)
    files = {name.replace("_", "."): content for name, content in files.items()}
    return Case(("audit", "audit.toml", *options), {"audit.toml": text, **files}, shown)


def saved(array):
    import io

    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def on_data(kind, text, *options, shown=True):
    words = ("audit", "huang2020-lemma5", "--data", kind, "--data-path", "own.data", *options)
    return Case(words, {"own.data": text}, shown)


def csv(text, *options, label="ill", shown=True):
    return on_data("csv", text, "--data-option", f"label_column={label}", *options, shown=shown)


RAW, NODE = ("--data-option", "scaled=false"), ("--set", "nodes=2", "--set", "graph=complete")
FROM_FILE = 'dataset = "one.{0}"\nneighbour = "one.{0}"'
CSV = {
    "a-cell-of-text": csv(f"a,ill\n{TEXT},1\n2,-1\n"),
    "a-label": csv(f"a,ill\n1,{TEXT}\n2,other\n"),
    "a-label-that-is-a-number": csv(f"a,ill\n1,{NUMBER}\n2,3\n"),
    "no-header": csv(f"{NUMBER},{TEXT},1\n2,3,-1\n"),
    "no-header-and-no-number": csv(f"{TEXT},yes\nBob,no\n"),
    "no-header-and-a-cell": csv(f"{NUMBER},1\n{TEXT},-1\n", label="1"),
    "the-same-twice": csv(f"{NUMBER},{NUMBER},1\n", shown=False),
    "a-long-row": csv(f"a,ill\n1,1\n1,2,{NUMBER}\n", shown=False),
    "a-long-record": csv(f"a,ill\n{NUMBER},1\n0,-1\n0,1\n", *RAW, *NODE),
    "bytes": Case(
        ("audit", "huang2020-lemma5", "--data", "csv", "--data-path", "own.data", *RAW),
        {"own.data": f"a,ill\n{TEXT}".encode() + b"\xff,1\n"},
        shown=False,
    ),
}
SPARSE = {
    "a-token": on_data("libsvm", f"+1 1:1\n-1 1:{TEXT}\n"),
    "a-label": on_data("libsvm", f"{TEXT} 1:1\n-1 1:1\n"),
    "labels": on_data("libsvm", f"{NUMBER} 1:1\n-1 1:1\n"),
    "an-index": on_data("libsvm", "+1 8675309:1 2:1\n", "--data-option", "n_features=3"),
    "a-long-record": on_data("libsvm", f"+1 1:{NUMBER}\n-1 1:1\n+1 1:1\n", *RAW, *NODE),
}
OWN = {
    "two-records-differ": own(f"dataset = [{NUMBER}, 2]\nneighbour = [0, 1]", shown=False),
    "rows-of-two-lengths": own(f"dataset = [[{NUMBER}], [1, 2]]\nneighbour = [0, 1]"),
    "text-inline": own(f'dataset = ["{TEXT}", 1]\nneighbour = [0, 1]'),
    "a-number-alone": own(f"dataset = {NUMBER}\nneighbour = 1"),
    "pairs-of-lists": own(f"pairs = [[[{NUMBER}], [0]]]"),
    "pairs-of-text": own(f'pairs = ["{TEXT}"]'),
    "pairs-of-another-name": own(
        f"pairs = [{{dataset = [{NUMBER}], neighbor = [0]}}]", shown=False
    ),
    "records-under-another-name": own(f"{INLINE}\nrelation = [{NUMBER}]"),
    "a-table-that-is-a-list": Case(
        ("audit", "audit.toml"), {"audit.toml": f"audit = [[{NUMBER}]]"}
    ),
    "broken-toml": own(f"dataset = [{NUMBER} {NUMBER}]\nneighbour = [0]", shown=False),
    "a-csv-of-text": own(FROM_FILE.format("csv"), one_csv=f"1,2\n3,{TEXT}\n"),
    "a-csv-of-two-lengths": own(FROM_FILE.format("csv"), shown=False, one_csv=f"1,2\n{NUMBER}\n"),
    "an-array-of-text": own(FROM_FILE.format("npy"), one_npy=saved(np.array([TEXT]))),
    "an-array-of-objects": own(
        FROM_FILE.format("npy"), shown=False, one_npy=saved(np.array([{TEXT: NUMBER}]))
    ),
    "a-record-array": own(
        FROM_FILE.format("npy"),
        shown=False,
        one_npy=saved(np.array([(NUMBER, TEXT)], dtype=[("a", "f8"), ("b", "U20")])),
    ),
    "a-pair-of-code-with-two-differences": own('pair = "{module}:TWO"', shown=False),
    "a-pair-of-code-with-text": own('pair = "{module}:WORDS"', shown=False),
    "a-pair-of-code-that-is-none": own('pair = "{module}:EMPTY"'),
    "a-pair-of-code-that-fails": own('pair = "{module}:raises"'),
    "pairs-of-code-that-are-none": own('pairs = "{module}:EMPTY"'),
    "pairs-of-code-that-are-no-pairs": own('pairs = "{module}:TWO"'),
    "pairs-of-code-that-fail": own('pairs = "{module}:raises"'),
    "a-mechanism-that-cannot-be-made": own(mechanism="Made"),
    "a-mechanism-that-fails": own(mechanism="Fails"),
    "a-mechanism-that-fails-for-a-reason": own(
        mechanism="FailsBehind", options=("--in-process", "--traceback")
    ),
    "a-mechanism-that-leaves": own(mechanism="Leaves"),
    "a-mechanism-that-asserts": own(mechanism="Asserts"),
    "a-mechanism-that-opens-a-file-of-a-record": own(mechanism="Opens"),
    "a-mechanism-that-warns": own(mechanism="Warns"),
    "a-module-that-fails": Case(
        ("audit", "audit.toml", "--in-process", "--traceback"),
        {
            "audit.toml": AUDIT.format(module="failing_{module}", mechanism="Sum", data=INLINE),
            "failing_{module}.py": f"float(bytes.fromhex('{TEXT.encode().hex()}').decode())",
        },
    ),
}
APART = {
    "fails": own(mechanism="FailsBehind", options=("--traceback",)),
    "leaves": own(mechanism="Leaves", options=()),
    "warns": own(mechanism="Warns", options=()),
    "cannot-be-made": own(mechanism="Made", options=("--traceback",)),
    "a-pair-that-fails": own('pair = "{module}:raises"', options=()),
}
STREAM = {
    "a-side": Case(("--epsilon", "1", "--delta", "0"), {"lines": f"dataset,1\n{NUMBER},2\n"}),
    "a-number": Case(("--epsilon", "1", "--delta", "0"), {"lines": f"dataset,1\ndataset,{TEXT}\n"}),
    "a-length": Case(
        ("--epsilon", "1", "--delta", "0"),
        {"lines": f"dataset,{NUMBER}\nneighbour,{NUMBER},1\n"},
        shown=False,
    ),
}
CERTIFICATE = json.dumps(
    {
        "format": "dpaudit-certificate",
        "version": 1,
        "claim": "huang2020-lemma5",
        "kind": "sensitivity",
        "source": "",
        "relation": "replace-record",
        "parameters": {"loss": "logistic", "dimension": 1, "edges": 1, "nodes": 2}
        | {"penalty": 1, "node": 0, "node_size": 1, "eta": 1, "factor": 1},
        "quantities": {"bound": 1.0, "movement": 2.0, "ratio": 2.0},
        "assumptions": [],
        "instance": {"record": [NUMBER], "replacement": f"{TEXT}", "edges": [[0, 1]]},
    }
)


@pytest.fixture
def ran(tmp_path, monkeypatch, capfd):
    """Return what a command wrote: both streams, and the files it made."""
    monkeypatch.setenv("COLUMNS", "1000")
    monkeypatch.chdir(tmp_path)
    # Pictures take most of the time of a report, and are drawn from its JSON.
    monkeypatch.setattr(
        render, "_render_cached_figures", lambda document, index: {"numbers": "<svg></svg>"}
    )
    given = set()

    def written(case, *more):
        module = f"of_records_{next(NUMBERS)}"
        files = {"{module}.py": MODULE, **case.files}
        for name, content in files.items():
            path = tmp_path / name.replace("{module}", module)
            given.add(path)
            if isinstance(content, bytes):
                path.write_bytes(content)
            else:
                path.write_text(content.replace("{module}", module))
        with pytest.raises(SystemExit) as ended:
            main([*case.words, *more])
        found = [one for one in tmp_path.rglob("*") if one.is_file() and one not in given]
        made = [one for one in found if not one.name.startswith("store.sqlite")]
        made = [one for one in made if "__pycache__" not in one.parts]
        texts = {str(path.relative_to(tmp_path)): path.read_bytes().decode() for path in made}
        out, err = capfd.readouterr()
        return ended.value.code, {"out": out, "err": err, **texts}

    yield written
    for name in [one for one in sys.modules if one.split("_", 1)[-1].startswith("records_")]:
        del sys.modules[name]


def found_in(texts):
    return {name for name, text in texts.items() if FOUND.search(HASH.sub("#", text))}


def looked_at(ran, case, *more):
    """Return the status, where the record is by default, and where it is if it is asked for."""
    status, quiet = ran(case, *more)
    again, shown = ran(case, *more, "--show-records")
    assert again == status
    return status, found_in(quiet), found_in(shown)


def ways(cases):
    return pytest.mark.parametrize("case", cases.values(), ids=cases)


@ways(CSV)
@pytest.mark.sampled(5)
def test_a_table_that_is_refused(ran, case):
    assert looked_at(ran, case) == (2, set(), {"err"} if case.shown else set())


@ways(SPARSE)
@pytest.mark.sampled(2)
def test_a_sparse_file_that_is_refused(ran, case):
    assert looked_at(ran, case) == (2, set(), {"err"} if case.shown else set())


@ways(OWN)
@pytest.mark.sampled(14)
def test_a_specification_that_fails(ran, case):
    assert looked_at(ran, case, "--workers", "1") == (2, set(), {"err"} if case.shown else set())


@ways(APART)
@pytest.mark.sampled(2)
def test_a_specification_that_fails_in_another_process(ran, case):
    assert looked_at(ran, case) == (2, set(), {"err"})


@ways(STREAM)
def test_a_stream_that_is_refused(ran, case):
    case = Case(("audit", "--watch", "lines", *case.words), case.files, case.shown)
    assert looked_at(ran, case) == (2, set(), {"err"} if case.shown else set())


def test_a_certificate_that_is_refused(ran):
    case = Case(("verify", "c.json"), {"c.json": CERTIFICATE})
    assert looked_at(ran, case) == (2, set(), {"err"})


# Files

REPORT = {f"out/{one}" for one in ("certificate.json", "report.json", "report.md", "report.html")}


def modes(folder):
    files = folder.glob("[!s]*")  # a store is its owner's alone in any case
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in files}


def test_the_files_of_an_audit(ran, tmp_path):
    case = own(options=("--in-process", "--out", "out"))
    status, texts = ran(case)
    assert (status, found_in(texts)) == (1, set())
    assert "Holds records: out/store.sqlite (mode 0600)" in texts["out"]
    assert set(modes(tmp_path / "out").values()) == {0o666 & ~umask()}
    status, texts = ran(case, "--show-records")
    assert (status, found_in(texts)) == (1, REPORT)
    assert f"(index 0): [{NUMBER}] and [0.0]" in texts["out/report.json"]
    assert set(modes(tmp_path / "out").values()) == {0o600}
    listed = ("report.json", "report.md", "report.html", "certificate.json")
    listed = (*listed, "store.sqlite")  # which holds outputs whatever is shown
    said = f"Holds records: {', '.join(f'out/{one}' for one in listed)} (mode 0600)"
    assert said in texts["out"]
    status, texts = ran(case)
    assert (status, found_in(texts)) == (1, set())
    assert set(modes(tmp_path / "out").values()) == {0o666 & ~umask()}


@pytest.mark.slow
def test_files_are_named_beside_json_too(ran):
    status, texts = ran(own(options=("--in-process", "--json", "--out", "out")), "--show-records")
    assert status == 1
    assert json.loads(texts["out"])["results"]
    assert texts["err"].startswith("Holds records: out/report.json, ")


def umask():
    import os

    mask = os.umask(0)
    os.umask(mask)
    return mask


# A threshold between two constants tells either to who knows the other.
OTHER_NUMBER = 1234567.875
PLANTED = (NUMBER, OTHER_NUMBER, (NUMBER + OTHER_NUMBER) / 2, NUMBER - OTHER_NUMBER)
WRITTEN = re.compile(r"\d[\d,]*\.?\d*(?:e[+-]?\d+)?")


def near_a_planted_number(text):
    numbers = [float(one.replace(",", "")) for one in WRITTEN.findall(text)]
    return [one for one in numbers for planted in PLANTED if abs(one / planted - 1) < 0.03]


BETS = pytest.param(("--until-refuted",), marks=pytest.mark.slow)


@pytest.mark.parametrize("more", [(), BETS], ids=["counted", "bets"])
def test_no_number_is_near_one_that_single_outputs_have(ran, more):
    data = f"dataset = [{NUMBER}]\nneighbour = [{OTHER_NUMBER}]"
    formats = ("--format", "sarif=out.sarif", "--format", "junit=out.xml", "--out", "out")
    case = own(data, "Constant", ("--in-process", *formats, *more))
    status, texts = ran(case)
    assert (status, {name for name, text in texts.items() if near_a_planted_number(text)}) == (
        1,
        set(),
    )
    if not more:
        assert re.search(r"`output` [<>] a number #[0-9a-f]{8}", texts["out.sarif"])
        status, texts = ran(case, "--show-records")
        assert near_a_planted_number(texts["out.sarif"])


@pytest.mark.slow
def test_the_json_of_an_audit(ran):
    assert looked_at(ran, own(options=("--in-process", "--json"))) == (1, set(), {"out"})


SMALL = "".join(f"0.8675309{i},{1 - 2 * (i % 2)}\n" for i in range(8))


def test_the_certificate_of_an_audit(ran, tmp_path):
    factor = ("--set", "factor=0.1", "--set", "nodes=2", "--trials", "200")
    case = csv(f"a,ill\n{SMALL}", *RAW, *factor, "--out", "out")
    status, texts = ran(case)
    assert (status, found_in(texts)) == (1, set())
    certificate = json.loads(texts["out/certificate.json"])
    assert certificate["kind"] == "statistical"
    assert "would hold records" in texts["out/report.json"]
    status, texts = ran(case, "--show-records")
    assert (status, found_in(texts)) == (1, {"out/certificate.json"})
    assert json.loads(texts["out/certificate.json"])["kind"] == "sensitivity"
    assert set(modes(tmp_path / "out").values()) == {0o600}
    assert "out/certificate.json" in texts["out"].partition("Holds records: ")[2]


def test_the_report_of_a_stream(ran):
    lines = f"dataset,{NUMBER}\nneighbour,1\n" * 60
    case = Case(("audit", "--watch", "lines", *CLAIM, "--out", "out"), {"lines": lines})
    status, texts = ran(case, "--show-records")
    assert (status, found_in(texts)) == (1, set())


CLAIM = ("--epsilon", "1", "--delta", "0")

# From Python


def noisy_sum(dataset, trials, rng):
    return np.sum(dataset) + rng.laplace(scale=0.2, size=trials)


def failing(dataset, trials, rng):
    raise ValueError(f"no such record: {dataset}")


HERE = Isolation(in_process=True)
ONE, OTHER = np.array([NUMBER, 1.0]), np.array([0.0, 1.0])
BOTH = Pair(ONE, OTHER, REPLACE_RECORD)
TABLES = [
    KeyedTable("visits", [[1.0]], {"patient": [TEXT]}),
    KeyedTable("patients", [[1.0]], {"patient": ["nobody"]}),
]
CALLS = {
    "no-neighbours": (lambda: audit(noisy_sum, ONE, np.zeros(2), epsilon=1.0), False),
    "text": (lambda: audit(noisy_sum, [TEXT], [1.0], epsilon=1.0), False),
    "data-for-a-mechanism": (lambda: audit(ONE, ONE, OTHER, epsilon=1.0), True),
    "a-failure": (lambda: audit(failing, ONE, OTHER, epsilon=1.0, isolation=HERE), True),
    "outputs-of-text": (lambda: audit_outputs([TEXT], [1.0], epsilon=1.0), True),
    "a-dataset-of-text": (lambda: Dataset([[TEXT]], [1]), True),
    "a-dataset-with-a-hole": (lambda: Dataset([[NUMBER, np.nan]], [1]), False),
    "a-label": (lambda: Dataset([[1.0]], [NUMBER]).require_signed_labels(), True),
    "a-norm": (lambda: Dataset([[NUMBER]], [1]).require_unit_rows(), True),
    "a-key": (lambda: join_tables(TABLES, labels=[1]), True),
    "an-adapted-output": (lambda: collect_call_outputs(lambda trial: TEXT, 2), True),
    "an-adapted-query": (lambda: one_value(ONE), True),
    "not-a-pair": (lambda: assert_not_refuted(noisy_sum, (ONE, OTHER), 1.0, 0.0), True),
    "a-sensitivity": (lambda: assert_sensitivity(np.sum, 1.0, [BOTH]), None),
    "pairs-that-are-none": (lambda: assert_sensitivity(np.sum, 1.0, [(ONE, OTHER)]), True),
}


@pytest.mark.parametrize(("call", "shown"), CALLS.values(), ids=CALLS)
def test_a_call_that_fails(call, shown):
    with pytest.raises((DpauditError, AssertionError)) as quiet:
        call()
    with set_records_shown(), pytest.raises((DpauditError, AssertionError)) as told:
        call()
    quiet, told = (HASH.sub("#", str(one.value)) for one in (quiet, told))
    if shown is None:  # how far a query moves is a number of the query
        quiet = quiet.partition("pair:")[2]
    assert not FOUND.search(quiet)
    assert bool(FOUND.search(told)) is (shown is not False)


@pytest.mark.slow
def test_python_asks_with_an_argument():
    with pytest.raises(DpauditError, match=FOUND):
        audit(failing, ONE, OTHER, epsilon=1.0, isolation=HERE, show_records=True)
    with pytest.raises(DpauditError, match=TEXT):
        audit_outputs([TEXT], [1.0], epsilon=1.0, show_records=True)
    given = {"epsilon": 1.0, "trials": 200, "isolation": HERE}
    assert str(NUMBER) in audit(noisy_sum, ONE, OTHER, **given, show_records=True).pair
    assert not FOUND.search(audit(noisy_sum, ONE, OTHER, **given).pair)


# What stands for a record


def test_equal_records_have_equal_hashes_within_a_run_only():
    with run():
        hashes = [
            format_hidden_value(one)
            for one in ([1, 2.0], np.array([1.0, 2.0]), (1, 2), [2, 1], ["1", 2])
        ]
        with run():
            assert format_hidden_value([1, 2]) == hashes[0]
    assert hashes[0] == hashes[1] == hashes[2]
    assert len(set(hashes)) == 3
    with run():
        assert format_hidden_value([1, 2]) != hashes[0]


def test_a_hash_cannot_be_tried_out():
    """Its salt is in no message, and two runs of the program share none."""
    assert len(get_policy().salt) == 16
    assert Policy().salt != Policy().salt
    assert "salt" not in repr(get_policy())


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (3, "a number"),
        (np.float64(3), "a number"),
        ("abc", "text of 3 characters"),
        ([[1, 2], [3, 4], [5, 6]], "values of shape (3, 2)"),
        ([[1, 2], [3]], "list"),
        (np.zeros((2, 3)), "values of shape (2, 3)"),
        (Dataset([[1.0]], [1]), "Dataset of shape (1, 1)"),
        ({"a": 1}, "dict"),
    ],
)
def test_what_is_hidden_has_a_kind_and_a_shape(value, kind):
    assert HASH.sub("#", repr(Record(value))) == f"{kind} #"


def test_a_worker_hides_and_shows_as_the_program_does():
    task = lambda unit: repr(Record([NUMBER]))  # noqa: E731
    units = [SimpleUnit() for _ in range(2)]
    everywhere = Executor(workers=2, worth=-1.0)
    with run():
        quiet, here = set(everywhere.map(task, units, "hidden")), repr(Record([NUMBER]))
    with apply_policy(Policy(shown=True)):
        told = set(everywhere.map(task, units, "shown"))
    assert quiet == {here}
    assert told == {f"[{NUMBER}]"}


def SimpleUnit():
    from dpaudit.execution import Unit

    return Unit(1, np.random.SeedSequence(0))


def test_settings_ask_and_certificates_do_not_say():
    assert "show_records" not in Settings(show_records=True).document()
    assert not are_shown()


@pytest.mark.parametrize(
    ("settings", "public"),
    [
        ({}, True),
        ({"data": "breast_cancer"}, True),
        ({"data": "breast-cancer", "data_path": "here"}, False),
        ({"data": "adult"}, False),
        ({"data": "csv", "data_path": "own.csv"}, False),
    ],
)
def test_data_is_public_if_it_comes_with_a_library(settings, public):
    assert Settings(**settings).data_is_public is public
