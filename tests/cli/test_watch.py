"""``dpaudit audit --watch``: a stream of outputs is bet on as it comes."""

import io
import json
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

import dpaudit.auditing.samples.stream as stream
from dpaudit.errors import DataError
from dpaudit.report.document import read_report

CLAIM = ("--epsilon", "1", "--delta", "0")


def lines(scale, count, seed=0, both=("dataset", "neighbour"), share=0.5):
    rng = np.random.default_rng(seed)
    sides = (rng.random(count) > share).astype(int)
    values = rng.laplace(1.0 - sides, scale)
    return "".join(f"{both[s]},{v}\n" for s, v in zip(sides, values, strict=True))


@pytest.fixture
def watched(dpaudit, monkeypatch):
    def run(text, *arguments):
        data = text if isinstance(text, bytes) else text.encode()
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
        return dpaudit("audit", "--watch", "-", *arguments)

    return run


def test_a_broken_mechanism_is_refuted_while_it_runs(watched):
    ran = watched(lines(0.5, 20_000), *CLAIM)
    assert ran.status == 1
    assert "epsilon at least" in ran.out.splitlines()[0]
    assert "Refuted after" in " ".join(ran.out.split())


def test_a_stream_too_short_for_a_bet_has_a_report(watched, tmp_path):
    ran = watched(lines(0.5, 60), *CLAIM, "--out", str(tmp_path))
    assert (ran.status, ran.err) == (0, "")
    assert "There was no bet yet." in (tmp_path / "report.md").read_text()
    assert read_report(tmp_path / "report.json").results[0].verdict == "not refuted"


def test_a_correct_mechanism_is_not_refuted(watched):
    ran = watched(lines(1.0, 3000), *CLAIM, "--confidence", "0.999999")
    assert ran.status == 0
    assert "not refuted" in ran.out


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_unequal_numbers_of_both_sides_are_paired_in_order(watched, share):
    ran = watched(lines(0.4, 3000, share=share), *CLAIM, "--json")
    result = json.loads(ran.out)["results"][0]
    counts = result["counts"]
    both = counts["outputs of the dataset"], counts["outputs of the neighbour"]
    assert result["verdict"] == "refuted"
    assert result["trials"] == min(both) < max(both)
    assert f"{max(both) - min(both):,} outputs" in " ".join(result["notes"])


def test_sides_by_number_header_blank_lines_and_byte_order_mark(watched):
    words = watched(lines(0.5, 800), *CLAIM, "--json")
    text = "\ufeffside,output\r\n\r\n" + lines(0.5, 800, both=("0", "1")).replace("\n", "\r\n")
    numbers = watched(text, *CLAIM, "--json")
    one, other = (json.loads(ran.out)["results"][0] for ran in (words, numbers))
    assert one["measured"] == other["measured"]


def test_swapped_sides_say_the_same_of_a_symmetric_mechanism(watched):
    swapped = watched(lines(0.5, 3000, both=("neighbour", "dataset")), *CLAIM)
    assert swapped.status == 1


def test_outputs_of_several_numbers(watched):
    text = "".join(
        f"{line},{noise}\n"
        for line, noise in zip(
            lines(0.4, 2000).splitlines(), np.random.default_rng(3).normal(size=2000), strict=True
        )
    )
    assert watched(text, *CLAIM).status == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["standard input", "empty stream"]),
        ("\n\n", ["empty stream"]),
        ("dataset,1\ndataset,2\n", ["no output of the neighbour"]),
        ("1,0.5\n", ["no output of the dataset"]),
        ("dataset,1\nneighbour,x\n", ["line 2", "'x'"]),
        ("dataset,1\nneighbour,nan\n", ["line 2", "'nan'", "finite"]),
        ("dataset,inf\n", ["line 1", "'inf'", "finite"]),
        ("dataset,1\nneighbour,1,2\n", ["line 2", "2 numbers", "1 numbers"]),
        ("dataset,1\nother,2\n", ["line 2", "'other'", "dataset or neighbour"]),
        ("dataset\n", ["line 1", "no number"]),
        ("dataset,\n", ["line 1", "''"]),
        ("2,0.5\n", ["line 1", "'2'"]),
        (b"\xff\xfe\x00,3\n", ["line 1"]),
        ("side,value\nother,name\ndataset,1\n", ["line 2", "'other'"]),
        ("dataset,1_000\n", ["line 1", "'1_000'"]),
    ],
)
def test_a_stream_that_cannot_be_read_is_refused(watched, text, words):
    ran = watched(text, *CLAIM, "--show-records")
    assert ran.status == 2
    assert ran.err.startswith("error: ")
    assert ran.err.count("\n") == 1
    for word in words:
        assert word in ran.err


def test_a_stream_that_breaks_off_shows_what_was_found(dpaudit, monkeypatch):
    class Breaking(io.BytesIO):
        def read1(self, size=-1):
            read = super().read1(size)
            if not read:
                raise OSError(5, "Input/output error")
            return read

    broken = SimpleNamespace(buffer=Breaking(lines(1.0, 600).encode()))
    monkeypatch.setattr(sys, "stdin", broken)
    ran = dpaudit("audit", "--watch", "-", *CLAIM)
    assert ran.status == 2
    assert "standard input: cannot be read on (Input/output error)" in ran.err
    assert "not refuted" in ran.out


def test_a_closed_input_is_refused(dpaudit, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    ran = dpaudit("audit", "--watch", "-", *CLAIM)
    assert ran.status == 2
    assert "standard input: is closed" in ran.err


def test_a_line_without_end_is_refused(monkeypatch):
    monkeypatch.setattr(stream, "_LONGEST_LINE", 1000)
    with pytest.raises(DataError, match="line 2: got more than 0 MiB without an end"):
        list(stream.read_numbered_lines([b"dataset,1\n", *[b"0" * 100] * 20]))


def test_wide_outputs_sorted_by_side_are_bet_on(watched, monkeypatch):
    monkeypatch.setattr(stream, "_MOST_WAITING", 20)
    text = "dataset,1\n" * 90 + "neighbour,0\n" * 90
    ran = watched(text, *CLAIM)
    assert ran.status == 1


def test_huge_numbers_are_bet_on(watched):
    text = "".join(
        f"{side},{value}\n" for side, value in [("dataset", 1e308), ("neighbour", -1e308)] * 90
    )
    ran = watched(text, *CLAIM)
    assert ran.status == 1
    assert ran.err == ""


def test_what_was_found_before_a_bad_line_is_shown_and_written(watched, tmp_path):
    ran = watched(lines(1.0, 600) + "neighbour,?\n", *CLAIM, "--out", str(tmp_path / "found"))
    assert ran.status == 2
    assert "line 601" in ran.err
    assert "not refuted" in ran.out
    result = read_report(tmp_path / "found" / "report.json").results[0]
    assert result.trials > 250
    assert result.wealth is not None


def test_a_bad_line_after_the_refutation_changes_nothing(watched):
    assert watched(lines(0.3, 2000) + "neighbour,?\n", *CLAIM).status == 1


def test_a_file(dpaudit, tmp_path):
    path = tmp_path / "outputs.csv"
    path.write_text(lines(0.5, 2000))
    assert dpaudit("audit", "--watch", str(path), *CLAIM).status == 1
    missing = dpaudit("audit", "--watch", str(tmp_path / "none.csv"), *CLAIM)
    assert (missing.status, "cannot be read" in missing.err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--trials", "500"), "trials: got 500"),
        (("--set", "a=1"), "parameters"),
        (("some-claim",), "no targets"),
        (("--all",), "no --all"),
        (("--accept", "old"), "--accept: got 'old', expected nothing with --watch"),
        (("--baseline", "b.toml"), "--baseline: got 'b.toml'"),
        (("--store", "s.sqlite"), "--store: got 's.sqlite'"),
        (("--shard", "1/2"), "--shard: got '1/2'"),
        (("--backend", "dask"), "--backend: got 'dask'"),
        (("--scheduler", "tcp://host:1"), "--scheduler: got"),
        (("--command", "./noiser {data}"), "--command: got"),
        (("--dataset", "a.csv"), "--dataset: got 'a.csv'"),
        (("--timeout", "5"), "--timeout: got 5"),
        (("--attack", "likelihood-ratio"), "works without the mechanism's law"),
        (("--epsilon", "-1"), "epsilon: got -1.0"),
        (("--confidence", "1"), "confidence: got 1.0"),
    ],
)
def test_options_that_mean_nothing_to_a_stream_are_refused(watched, arguments, words):
    ran = watched(lines(1.0, 100), *arguments)
    assert (ran.status, ran.out) == (2, "")
    assert words in ran.err


ENDLESS = """
import sys, time
import numpy as np
rng, scale = np.random.default_rng(0), float(sys.argv[1])
try:
    while True:
        for side, centre in (("dataset", 1), ("neighbour", 0)):
            print(f"{side},{rng.laplace(centre, scale)}", flush=True)
        time.sleep(0.002)
except BrokenPipeError:
    sys.stderr.close()
"""
WATCH = ("-c", "from dpaudit.cli.main import main; main()", "audit", "--watch", "-", *CLAIM)


@contextmanager
def piped(scale):
    """Yield a watch that reads an endless mechanism; neither outlives the test."""
    with subprocess.Popen(
        [sys.executable, "-c", ENDLESS, str(scale)], stdout=subprocess.PIPE
    ) as mechanism, subprocess.Popen(
        [sys.executable, *WATCH], stdin=mechanism.stdout, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, preexec_fn=interruptible,
    ) as watched_pipe:  # fmt: skip
        mechanism.stdout.close()
        try:
            yield watched_pipe
        finally:
            mechanism.kill()
            watched_pipe.kill()


def interruptible():
    """What a suite run in the background ignores, its children would ignore too."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.mark.slow
def test_an_endless_pipe_ends_at_the_refutation():
    with piped(0.4) as watching:
        out, _ = watching.communicate(timeout=120)
    assert watching.returncode == 1
    assert "Refuted after" in " ".join(out.split())


@pytest.mark.slow
def test_an_interrupt_shows_what_was_found():
    with piped(1.0) as watching:
        watching.stdout.readline()  # the first change: it reads
        watching.send_signal(signal.SIGINT)
        out, err = watching.communicate(timeout=120)
    assert watching.returncode == 130
    assert "interrupted" in err
    assert "watched stream" in out


def in_json(count, seed=0, leak=0.05, both=("dataset", "neighbour")):
    """Return lines of an object with a key that only the dataset ever has."""
    rng = np.random.default_rng(seed)
    found = []
    for number in range(count):
        output = {"n": rng.laplace(), "kind": str(rng.choice(["a", "b"])), "of": [1, None]}
        if number % 2 == 0 and rng.random() < leak:
            output["Alice"] = float("nan")
        found.append(json.dumps({both[number % 2]: output}) + "\n")
    return "".join(found)


@pytest.mark.parametrize("both", [("dataset", "neighbour"), ("0", "1")])
def test_any_output_is_bet_on(watched, both):
    ran = watched(in_json(6000, leak=0.2, both=both), "--epsilon", "1", "--delta", "0.01", "--json")
    result = json.loads(ran.out)["results"][0]
    assert ran.status == 1
    assert result["view"] == "what each line holds, in parts"
    assert "Alice" not in ran.out


def test_outputs_that_tell_nothing_refute_nothing(watched):
    ran = watched(in_json(3000, leak=0.0), *CLAIM, "--confidence", "0.999")
    assert ran.status == 0


def test_numbers_are_bet_on_alike_as_json(watched):
    plain = lines(0.5, 3000)
    sided = [line.split(",") for line in plain.splitlines()]
    as_json = "".join(f'{{"{side}": {value}}}\n' for side, value in sided)
    ran = [watched(text, *CLAIM, "--json") for text in (plain, as_json)]
    results = [json.loads(one.out)["results"][0] for one in ran]
    assert [one.status for one in ran] == [1, 1]
    after = [re.search(r"Refuted after (\S+) outputs", one["reason"])[1] for one in results]
    assert after[0] == after[1]


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ('{"dataset": 1, "neighbour": 2}', "no such object"),
        ('{"dataset": 1, "dataset": 2}', "no JSON"),
        ('{"elsewhere": 1}', "expected an object with a side"),
        ('{"dataset": {"a": 1, "a": 2}}', "no JSON"),
        ('{"dataset": ', "no JSON"),
        ('{"dataset": ' + "[" * 100_000, "no JSON"),
        ("dataset,1", "no JSON"),
        ("{}", "no such object"),
    ],
    ids=lambda text: text[:30],
)
def test_a_line_that_is_no_output_ends_the_watch_at_its_number(watched, line, named):
    ran = watched('{"dataset": 1}\n' + line + "\n", *CLAIM)
    assert ran.status == 2
    assert "line 2: got" in ran.err
    assert named in ran.err
    assert len(ran.err.splitlines()) == 1


def test_too_few_outputs_of_any_kind_are_said_to_be(watched):
    ran = watched(in_json(40), *CLAIM)
    assert ran.status == 2
    assert "fewer than 32 outputs of one side" in ran.err
