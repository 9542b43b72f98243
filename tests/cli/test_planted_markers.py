"""A record that is planted is looked for at every door that shows numbers of single outputs."""

import io
import json
import os
import pty
import re
import subprocess
import sys
import threading
import time
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import dpaudit
from dpaudit import Pair, relation
from dpaudit.errors import MechanismError
from dpaudit.mechanisms.foreign.isolation import Isolation
from dpaudit.testing import assert_not_refuted

NUMBER = 8675309.4242
# Of the record, and of what is worked out of it with the scale of the noise: no five digits.
SCALE = 7.0
DIGITS = re.compile(r"8\.?,?6,?75\.?,?3|12393\.?2?|1\.2393|1239329")
HASH = re.compile(r"#[0-9a-f]{8,}|[0-9a-f]{32,}")

MODULE = f"""
import numpy as np

def total(data, rng):
    return np.sum(data) + rng.laplace(scale={SCALE})

def parts(data, rng):
    return [np.sum(data) + rng.laplace(scale={SCALE}), np.max(data), np.max(data) - 41.5]

def gaussian(data, rng):
    return np.sum(data) + rng.normal(scale={SCALE})

def of_scale(data, rng):
    return rng.laplace(scale=np.max(data))

def bare(data, rng):
    return float(np.sum(data))

def in_text(data, rng):
    return {{"count": len(data) + rng.laplace(scale={SCALE}), "first": str(data[0])}}

def misspells(data, rng):
    return {{"age": data[0]}}["agee"]

def refuses(data, rng):
    raise ValueError(f"{{data[0]}} is too large")
"""
MECHANISMS = ("total", "gaussian", "of_scale", "bare", "in_text")
OUT = ("--out", "out", "--format", "sarif=out.sarif", "--format", "junit=out.xml")


def holds(text):
    return bool(DIGITS.search(HASH.sub("#", text)))


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "planted_module.py").write_text(MODULE)
    (tmp_path / "a.csv").write_text(f"{NUMBER}\n1\n")
    (tmp_path / "b.csv").write_text("2.5\n1\n")
    yield tmp_path
    sys.modules.pop("planted_module", None)


def written(folder):
    """Return the text of everything that a command wrote, its metadata and names too."""
    made = {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name.startswith(("out", "replay", "certificate", "report"))
    }
    return {name: f"{name} {content.decode('latin-1')}" for name, content in made.items()}


def replayed(dpaudit, name, *more):
    pair = ("--dataset", "a.csv", "--neighbour", "b.csv", "--epsilon", "1", "--in-process")
    return dpaudit("replay", f"planted_module:{name}", *pair, *OUT, *more)


@pytest.mark.parametrize(
    "name", [*MECHANISMS[:1], *(pytest.param(n, marks=pytest.mark.slow) for n in MECHANISMS[1:])]
)
def test_a_replay_shows_no_movement_in_all_digits(dpaudit, place, name):
    ran = replayed(dpaudit, name)
    texts = {"out": ran.out, "err": ran.err, **written(place)}
    assert ran.status in (1, 2)
    assert len(texts) >= 7
    assert {one for one, text in texts.items() if holds(text)} == set()


def test_a_replay_shows_a_movement_where_records_are_asked_for(dpaudit, place):
    replayed(dpaudit, "total", "--show-records")
    document = json.loads((place / "out/replay.json").read_text())
    assert document["calls"][0]["moved"] == pytest.approx(NUMBER - 2.5, rel=1e-12)
    assert document["calls"][0]["spent"] == pytest.approx((NUMBER - 2.5) / SCALE, rel=1e-12)


def test_upper_ends_of_a_replay_are_rounded_up_and_lower_ends_down():
    def mean(data, rng):
        return float(data.sum()) + rng.laplace(scale=SCALE)

    pair = np.array([2.345678, 0.0]), np.array([0.0, 0.0])
    found = dpaudit.replay(mean, *pair, epsilon=0.1, isolation=Isolation(in_process=True))
    document, true = found.document(), 2.345678 / SCALE  # 0.335096857
    assert document["composed"] == 0.3351 > true
    assert document["findings"][0]["epsilon"] == 0.335 < true
    assert found.calls[0].moved == pytest.approx(2.345678, rel=1e-12)


def noisy_sum(data, rng):
    return float(np.sum(data)) + rng.laplace(scale=SCALE)


def test_what_a_notebook_shows_of_a_result_holds_no_record():
    sides = [NUMBER, 1.0], [2.5, 1.0]
    here = Isolation(in_process=True)
    found = dpaudit.replay(noisy_sum, *map(np.array, sides), epsilon=1.0, isolation=here)
    audited = dpaudit.audit(
        noisy_sum, *sides, relation="replace-record", epsilon=1e9, trials=100, isolation=here
    )
    shown = [repr(found), repr(found.calls), repr(found.findings), found._repr_html_()]
    shown += [repr(audited), str(audited), audited._repr_html_(), audited.model_dump_json()]
    assert [text for text in shown if holds(text)] == []
    assert holds(str(found.calls[0].moved))


COMMANDS = [
    ("audit", "--relation", "replace-record", "--trials", "100", "--in-process"),
    ("replay", "--in-process"),
    pytest.param(("replay",), marks=pytest.mark.slow),
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: words[0])
@pytest.mark.parametrize(
    ("name", "said"), [("misspells", """KeyError: "'agee'\""""), ("refuses", "ValueError: (show_")]
)
def test_words_of_an_error_are_shown_where_made_data_raise_them_too(
    dpaudit, place, command, name, said
):
    """What a door says of code that fails: what is wrong with it, and nothing of a record."""
    pair = ("--dataset", "a.csv", "--neighbour", "b.csv", "--epsilon", "1")
    door, *more = command
    ran = dpaudit(door, f"planted_module:{name}", *pair, *OUT, *more)
    texts = {"out": ran.out, "err": ran.err, **written(place)}
    assert ran.status == 2
    assert said in ran.err
    assert "in planted_module.py, line " in ran.err
    assert {one for one, text in texts.items() if holds(text)} == set()
    assert "is too large" not in "".join(texts.values())


@pytest.mark.parametrize(
    "door",
    [
        lambda function, pair: dpaudit.audit(function, *pair, epsilon=1.0, trials=100, **HIDDEN),
        lambda function, pair: dpaudit.replay(function, *pair, epsilon=1.0, **HIDDEN),
        lambda function, pair: assert_not_refuted(
            function, Pair(*pair, relation("replace-record")), epsilon=1.0, trials=100
        ),
    ],
    ids=["audit", "replay", "assertion"],
)
def test_python_says_what_is_wrong_with_code_and_hides_a_record(door):
    for function, said in ((misspells, "'agee'"), (refuses, "(show_records=True")):
        try:
            words = " ".join(one.words for one in door(function, PAIR).findings)
        except (MechanismError, AssertionError) as error:
            words = str(error)
        assert said in words
        assert not holds(words)


def misspells(data, rng):
    return {"age": data[0]}["agee"]


def refuses(data, rng):
    raise ValueError(f"{data[0]} is too large")


PAIR = np.array([NUMBER, 1.0]), np.array([2.5, 1.0])
HIDDEN = {"isolation": Isolation(in_process=True), "relation": "replace-record"}


@pytest.mark.parametrize("name", ["total", pytest.param("in_text", marks=pytest.mark.slow)])
def test_pictures_hold_no_record(dpaudit, place, name):
    """A page's pictures are drawn in text, as are the files that others show."""
    pair = ("--dataset", "a.csv", "--neighbour", "b.csv", "--epsilon", "1")
    more = ("--relation", "replace-record", "--trials", "400", "--in-process")
    ran = dpaudit("audit", f"planted_module:{name}", *pair, *OUT, *more)
    assert ran.status == 1
    page = written(place)["out/report.html"]
    pictures = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    assert len(pictures) >= 2
    assert [one for one in pictures if holds(one)] == []
    assert {one for one, text in written(place).items() if holds(text)} == set()


DISTINGUISHERS = ("histogram", "learned", "linear-classifier", "lowest-bits")
CLAIMS = {
    "epsilon": ("--epsilon", "1"),
    "bets": ("--epsilon", "1", "--until-refuted"),
    "zCDP": ("--rho", "1"),
    "Renyi": ("--renyi", "2", "1"),
    "Gaussian": ("--mu", "1"),
}
THRESHOLDS = [
    pytest.param(*case, marks=() if case == ("bare", "histogram", "bets") else pytest.mark.slow)
    for case in product(("total", "bare", "parts", "in_text"), DISTINGUISHERS, CLAIMS)
]


@pytest.mark.parametrize(("name", "distinguisher", "claim"), THRESHOLDS)
def test_no_threshold_of_a_distinguisher_shows_a_record(dpaudit, place, name, distinguisher, claim):
    pair = ("--dataset", "a.csv", "--neighbour", "b.csv", "--relation", "replace-record")
    more = ("--trials", "200", "--in-process", "--distinguisher", distinguisher)
    ran = dpaudit("audit", f"planted_module:{name}", *pair, *CLAIMS[claim], *OUT, *more)
    texts = {"out": ran.out, "err": ran.err, **written(place)}
    assert {one for one, text in texts.items() if holds(text)} == set()
    assert ran.status in (0, 1) or "expected" in ran.err
    assert ran.status == 2 or len(texts) >= 7


def test_canaries_show_no_score(dpaudit, place):
    rows = [f"{NUMBER + i},{i % 2}" for i in range(60)]
    (place / "canaries.csv").write_text("score,included\n" + "\n".join(rows) + "\n")
    ran = dpaudit("canary", "canaries.csv", "--epsilon", "1", *OUT)
    texts = {"out": ran.out, "err": ran.err, **written(place)}
    assert ran.status in (0, 1)
    assert len(texts) >= 6
    assert {one for one, text in texts.items() if holds(text)} == set()


@pytest.mark.slow
@pytest.mark.parametrize("words", ["audit", "verify", "resume"])
def test_nothing_shows_a_record_while_a_command_runs(place, words):
    """On a terminal, whose progress line is read, and in every file of its temporary folder."""
    temporary = place / "tmp"
    temporary.mkdir()
    pair = ("--dataset", "a.csv", "--neighbour", "b.csv")
    audit = ("audit", "planted_module:total", *pair, "--epsilon", "1", "--trials", "3000")
    assert_nothing_is_seen(place, temporary, *audit, *OUT, "--relation", "replace-record")
    if words == "verify":
        of = ("out/certificate.json", "--mechanism", "planted_module:total", *pair)
        assert_nothing_is_seen(place, temporary, "verify", *of)
    if words == "resume":
        assert_nothing_is_seen(place, temporary, "resume", "out")


def assert_nothing_is_seen(place, temporary, *words):
    leader, follower = pty.openpty()
    environment = os.environ | {"TMPDIR": str(temporary), "COLUMNS": "200", "TERM": "xterm"}
    command = [sys.executable, "-m", "dpaudit", *words]
    seen, held = io.BytesIO(), set()
    with subprocess.Popen(
        command, stdin=follower, stdout=follower, stderr=follower, cwd=place, env=environment
    ) as process:
        os.close(follower)
        reader = threading.Thread(target=_read_all, args=(leader, seen))
        reader.start()
        while process.poll() is None:
            held |= set(_holding(temporary))
            time.sleep(0.02)
        reader.join()
    text = seen.getvalue().decode("utf-8", "replace")
    assert text
    assert "Traceback" not in text
    assert process.returncode in (0, 1), text
    assert (holds(text), held) == (False, set())
    assert {one for one, content in written(place).items() if holds(content)} == set()


def _read_all(leader, seen):
    while True:
        try:
            piece = os.read(leader, 65536)
        except OSError:
            return
        if not piece:
            return
        seen.write(piece)


def _holding(temporary):
    """Yield files of a folder in which the record stands as a number or as its eight bytes."""
    for path in Path(temporary).rglob("*"):
        try:
            content = path.read_bytes() if path.is_file() else b""
        except OSError:
            continue
        if np.float64(NUMBER).tobytes() in content or holds(content.decode("latin-1")):
            yield path.name
