"""What a place answers, what is no answer, and when nothing is waited for any longer."""

from __future__ import annotations

import io
import json
import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

import dpaudit.scan.remote.bench as bench
from dpaudit.scan.remote.bench import START, Bench, InstalledPackage

RUN = {"out": ["number", 1.0]}
HERE = InstalledPackage(python=Path(sys.executable), code=Path("tools.py"))


@pytest.mark.parametrize(
    ("sides", "good"),
    [
        ([[RUN], [RUN]], True),
        ([[RUN, {}], [RUN]], True),
        ([[RUN], []], False),
        ([[], [RUN]], False),
        ([[RUN]], False),
        ([[RUN]] * 3, False),
        (([RUN], [RUN]), False),
        ([{"a": RUN}, [RUN]], False),
        ([[RUN], [RUN, 1]], False),
        ([[RUN], [{"out": ["number"]}]], False),
        ([[{"out": ["number", 1.0, 2]}], [RUN]], False),
        ([[{"out": 1.0}], [RUN]], False),
        (None, False),
    ],
)
def test_an_answer_holds_runs_of_both_datasets(sides, good):
    assert bench._are_runs(sides) is good


class Process:
    """A process whose answers are given, line by line."""

    def __init__(self, *answers):
        self.read, self.write = os.pipe()
        self.stdout = os.fdopen(self.read, "rb")
        self.stdin = io.BytesIO()
        self.answers = list(answers)
        self.stdin = SimpleNamespace(write=self.stdin.write, flush=self.answer, given=self.stdin)

    def answer(self):
        if self.answers:
            os.write(self.write, self.answers.pop(0))

    def hang_up(self):
        if self.write is not None:
            os.close(self.write)
        self.write = None


@pytest.fixture
def asking(monkeypatch):
    """Return a function that makes a bench on processes with these answers."""
    started, ended, processes = [], [], []

    class Stack:
        def enter_context(self, process):
            return process

        def close(self):
            ended.append(1)

    def made(*some, **given):
        waiting = list(some)
        processes.extend(some)
        monkeypatch.setattr(
            bench, "_start_program", lambda *asked: started.append(asked) or waiting.pop(0)
        )
        one = Bench(HERE, "total", _open=Stack(), **given)
        one.started, one.ended = started, ended
        return one

    yield made
    for process in processes:
        process.hang_up()
        process.stdout.close()


def line(sides):
    return json.dumps({"sides": sides}).encode() + b"\n"


def parts(one, seconds=5.0):
    return one.parts("{'n': 1}", ("[1]", "[2]"), 7, seconds)


def test_the_parts_of_both_sides_come_back(asking):
    process = Process(line([[RUN], [{}]]), line([[{}], [RUN]]))
    one = asking(process)
    assert parts(one) == [[RUN], [{}]]
    assert parts(one) == [[{}], [RUN]]
    ((words, folder, _),) = one.started
    assert words == [sys.executable, "-I", str(bench.PROBE), "tools.py", "total"]
    assert folder is None
    first, second = process.stdin.given.getvalue().splitlines()
    order = {"parameters": "{'n': 1}", "datasets": ["[1]", "[2]"], "runs": 7, "seconds": 5.0}
    assert json.loads(first) == json.loads(second) == order


def test_an_answer_may_come_in_pieces_and_two_at_once(asking):
    whole = line([[RUN], [RUN]])
    one = asking(Process(whole + whole[:5], whole[5:]))
    assert parts(one) == parts(one) == [[RUN], [RUN]]
    assert one._text == b""


@pytest.mark.parametrize("answer", [b"no JSON\n", b"[1]\n", b"1\n", b"[" * 20_000 + b"\n"])
def test_what_is_no_answer_ends_the_process_and_the_next_is_asked(asking, monkeypatch, answer):
    one = asking(Process(answer), Process(line([[RUN], [RUN]])))
    monkeypatch.setattr(bench.contextlib, "ExitStack", lambda: one._open)
    assert parts(one) is None
    assert len(one.ended) == 1
    assert parts(one) == [[RUN], [RUN]]
    assert len(one.started) == 2


def test_an_answer_without_runs_is_none_and_the_process_goes_on(asking):
    failed = json.dumps({"failed": "ValueError"}).encode() + b"\n"
    one = asking(Process(failed, line([[RUN], []]), line([[RUN], [RUN]])))
    assert parts(one) is None
    assert parts(one) is None
    assert parts(one) == [[RUN], [RUN]]
    assert (len(one.started), one.ended) == (1, [])


def test_a_process_that_ended_or_says_nothing_in_time_is_none(asking, monkeypatch):
    over = Process()
    over.hang_up()
    one = asking(over, Process(), until=time.monotonic() + 0.05)
    monkeypatch.setattr(bench.contextlib, "ExitStack", lambda: one._open)
    assert parts(one) is None
    assert one._process is None
    assert parts(one, seconds=100.0) is None
    assert len(one.ended) == 2


def test_no_answer_is_waited_for_longer_than_asked_or_than_is_left(asking, monkeypatch):
    monkeypatch.setattr(bench.time, "monotonic", lambda: 100.0)
    waits = []
    monkeypatch.setattr(Bench, "_asked", lambda self, order, seconds: waits.append(seconds))
    for until in (float("inf"), 100.0 + 3.0, 90.0):
        one = asking(until=until)
        assert one.left == max(0.0, until - 100.0)
        assert parts(one, seconds=5.0) is None
    assert waits == [3 * 5.0 + START, 3.0, 0.0]


def test_a_bench_ends_its_process(asking):
    with asking(Process(line([[RUN], [RUN]]))) as one:
        parts(one)
        assert one.ended == []
    assert one.ended == [1]
    assert one._process is None


@pytest.mark.parametrize(
    ("ends", "status", "printed"),
    [(b"a\xff\n", 0, "a\ufffd\n"), (b"a\n", 1, None), (b"", 0, "")],
)
def test_a_script_is_run_in_an_empty_folder_and_says_what_it_prints(
    monkeypatch, ends, status, printed
):
    seen = []

    class Started:
        def __init__(self, asked, folder, given):
            text = (Path(folder) / "reproduction.py").read_text(encoding="utf-8")
            seen.append((asked, os.listdir(folder), text))

        def __enter__(self):
            return SimpleNamespace(communicate=lambda timeout: (ends, None), returncode=status)

        def __exit__(self, *error):
            return False

    monkeypatch.setattr(bench, "_start_program", Started)
    assert HERE.run("print('ε')", seconds=5) == printed
    ((asked, names, text),) = seen
    assert asked == [sys.executable, "-I", "reproduction.py"]
    assert (names, text) == (["reproduction.py"], "print('ε')")
