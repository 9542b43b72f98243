"""``dpaudit canary``: files in, the report of every audit out, one line for what is malformed."""

import json

import numpy as np
import pytest

from dpaudit.report.document import read_report


@pytest.fixture
def rng():
    return np.random.default_rng(20260119)


@pytest.fixture
def table(rng):
    included = rng.random(400) < 0.5
    return {"score": rng.normal(size=400) + 4 * included, "included": included}


@pytest.fixture
def file(tmp_path, table):
    path = tmp_path / "scores.csv"
    write(path, table)
    return str(path)


def write(path, table):
    rows = zip(*(column.tolist() for column in table.values()), strict=True)
    lines = [",".join(table), *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n")


def test_a_claim_is_refuted(dpaudit, file, tmp_path):
    ran = dpaudit("canary", file, "--delta", "1e-5", "--epsilon", "1", "--out", str(tmp_path / "r"))
    assert (ran.status, ran.err) == (1, "")
    assert "refuted" in ran.out
    assert "not certified" in ran.out
    (result,) = read_report(tmp_path / "r" / "report.json").results
    assert result.measured.lower > result.claimed.epsilon == 1
    again = dpaudit(*result.rerun.split()[1:], "--json")
    (same,) = json.loads(again.out)["results"]
    assert same["measured"] == result.measured.model_dump()
    assert same["rerun"] == result.rerun


def test_a_question_refutes_nothing(dpaudit, file):
    assert dpaudit("canary", file, "--delta", "1e-5").status == 0


def test_every_kind_of_file_says_the_same(dpaudit, file, tmp_path, table):
    np.savez(tmp_path / "scores.npz", **table)
    kinds = [file, str(tmp_path / "scores.npz")]
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        pass
    else:
        pyarrow.parquet.write_table(pyarrow.table(table), tmp_path / "scores.parquet")
        kinds.append(str(tmp_path / "scores.parquet"))
    found = [
        json.loads(dpaudit("canary", kind, "--delta", "1e-5", "--json").out)["results"][0]
        for kind in kinds
    ]
    assert len({one["parameters"]["sha256"] for one in found}) == 1
    assert len({one["measured"]["lower"] for one in found}) == 1


def test_a_gaussian_claim_and_a_design(dpaudit, file):
    ran = dpaudit("canary", file, "--delta=1e-5", "--mu=.5", "--design=independent", "--json")
    (result,) = json.loads(ran.out)["results"]
    assert (ran.status, result["quantity"], result["claimed"]["value"]) == (1, "μ", 0.5)


def test_a_broken_design_is_withheld(dpaudit, tmp_path, table):
    write(tmp_path / "s.csv", table | {"included": np.arange(400) % 2})
    ran = dpaudit("canary", str(tmp_path / "s.csv"), "--delta", "1e-5")
    assert ran.status == 2
    assert "withheld" in ran.out
    assert ran.err.startswith("error: canaries: withheld, as coins of canaries")
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("s.csv", "score,kept\n1,0\n", "has no column 'included'"),
        ("s.csv", "included\n1\n", "has no column 'score'"),
        ("s.csv", "", "is empty"),
        ("s.csv", "score,included\n", "has no rows"),
        ("s.csv", "score,included\n1,0\nnan,1\n", "line 3: score: got nan"),
        ("s.csv", "score,included\n1,0\ninf,1\n", "line 3: score: got inf"),
        ("s.csv", "score,included\n1,0\nx,1\n", "line 3: score: got text of 1 character"),
        ("s.csv", "score,included\n1,0\n2,\n", "line 3: included: is missing"),
        ("s.csv", "score,included\n1,0\n2\n", "line 3: included: is missing"),
        ("s.csv", "score,included\n1,0\n2,2\n", "line 3: included: got"),
        ("s.csv", "score,included\n1,1\n2,1\n", "2 of 2 canaries are included"),
        ("s.csv", b"\xff\xfe\x00", "is no table of text"),
        ("s.npz", b"nothing", "is no .npz file"),
        ("s.npz", b"", "is no .npz file"),
        ("s.json", "{}", "expected a file of canaries"),
        ("missing.csv", None, "cannot be read (No such file or directory)"),
    ],
)
def test_malformed_files_are_one_line(dpaudit, tmp_path, name, content, words):
    path = tmp_path / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        path.write_text(content)
    check_refused(dpaudit("canary", str(path), "--delta", "1e-5"), words)


def test_arrays_of_objects_are_not_unpickled(dpaudit, tmp_path):
    path = tmp_path / "s.npz"
    np.savez(path, score=np.array([1, None], dtype=object), included=np.array([0, 1]))
    check_refused(dpaudit("canary", str(path), "--delta", "1e-5"), "is no .npz file of numbers")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--delta", "2"), "delta: got 2.0"),
        (("--delta", "x"), "--delta: got 'x'"),
        (("--delta", "1e-5", "--epsilon", "1", "--mu", "1"), "--mu: got 1.0"),
        (("--delta", "1e-5", "--guesses", "a"), "--guesses: got 'a'"),
        (("--delta", "1e-5", "--design", "pairs"), "group: got None"),
    ],
)
def test_options_that_are_wrong_are_one_line(dpaudit, file, options, words):
    check_refused(dpaudit("canary", file, *options), words)


def check_refused(ran, words):
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith("error: ")
    assert ran.err.count("\n") == 1
    assert words in ran.err
