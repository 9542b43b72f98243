"""Every way to end a run, with its status and the line it ends with (docs/exit-statuses.md).

A way runs in this process wherever a process of its own adds nothing: standard output is then a
real file, pipe or device all the same.
"""

import io
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import dpaudit.selftest.run as selftest_run
from dpaudit.auditing import run_claim
from dpaudit.cli import publish
from dpaudit.cli.main import main
from dpaudit.execution import Executor
from dpaudit.extension.case import SearchCase
from dpaudit.extension.claim import Claim
from dpaudit.extension.parameters import Parameters
from dpaudit.extension.settings import Settings
from dpaudit.refutation import Attained, certificates_text
from dpaudit.report import render
from dpaudit.report.document import read_report
from dpaudit.selftest import answers
from dpaudit.selftest.estimators import CASES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "exit-statuses.md").read_text(encoding="utf-8")
ROWS = [
    (int(status), what) for status, what in re.findall(r"^\| (\d+) \|[^|]*\| (.*) \|$", PAGE, re.M)
]
NUMBERS = itertools.count()

MODULE = """
import os, shutil, signal, sys
import numpy as np
from dpaudit.errors import DpauditError

class Broken:
    def sample(self, dataset, trials, rng):
        return np.sum(dataset) + rng.laplace(scale=0.2, size=trials)

class Sound:
    def sample(self, dataset, trials, rng):
        return np.sum(dataset) + rng.laplace(scale=4.0, size=trials)

class Leave(BaseException):
    pass

class Wordless(Exception):
    def __str__(self):
        sys.exit(0)

class Ours(DpauditError):
    def __str__(self):
        sys.exit(0)

def doing(deed):
    class Doing(Broken):
        calls = 0
        def sample(self, dataset, trials, rng):
            self.calls += 1
            if self.calls > {after}:
                deed()
            return super().sample(dataset, trials, rng)
    return Doing

def raising(error):
    def deed():
        raise error
    return doing(deed)

"""
LAW = """
from dpaudit import GaussianSteps, Step

class Following:
    steps = 1
    def check(self, dataset): pass
    def start(self, dataset, trials): return np.zeros((trials, 1))
    def step(self, state, dataset):
        return Step(np.full_like(state, np.mean(dataset)), np.array([0.5]))
    def shift(self, state, pair):
        return np.full_like(state, np.mean(pair.neighbour) - np.mean(pair.dataset))
    def advance(self, state, output): return output
    def squared_shift_bounds(self, pair):
        total = (np.mean(pair.neighbour) - np.mean(pair.dataset)) ** 2 / 0.5**2
        return total, total

class Other(GaussianSteps):
    def sample(self, dataset, trials, rng):
        return 3 * super().sample(dataset, trials, rng)
"""
ENTRY = """
[[audit]]
mechanism = "{module}:{mechanism}"
name = "{name}"
dataset = [0]
neighbour = [1]
epsilon = 1.0
delta = {delta}
trials = 200
"""


@dataclass
class Ran:
    status: int
    out: str
    err: str
    folder: Path

    @property
    def last(self):
        """The line it ends with: what it complains of, or else what it shows."""
        return ((self.err or self.out).rstrip().splitlines() or [""])[-1]


@dataclass
class Here:
    """A folder of its own, and what runs there."""

    folder: Path
    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture
    made: list[str] = field(default_factory=list)

    def audits(self, *mechanisms, code="", after=0, delta=0.0):
        """Write a specification of these mechanisms, called one, two, ..., and their module."""
        module = f"ways_to_end_{next(NUMBERS)}"
        self.made.append(module)
        (self.folder / f"{module}.py").write_text(MODULE.replace("{after}", str(after)) + code)
        names = ("one", "two", "three")
        text = [
            ENTRY.format(module=module, mechanism=mechanism, name=name, delta=delta)
            for name, mechanism in zip(names, mechanisms, strict=False)
        ]
        path = self.folder / "audit.toml"
        path.write_text("".join(text))
        return str(path)

    def run(self, *arguments):
        """Run the command line in this process."""
        with pytest.raises(SystemExit) as left:
            main([str(one) for one in arguments])
        seen = self.capsys.readouterr()
        return Ran(left.value.code, seen.out, seen.err, self.folder)

    def audit(self, *arguments):
        return self.run("audit", *arguments, "--workers", "1")

    def onto(self, stream, *arguments):
        """Run it with another standard output, and look at that afterwards."""
        with self.monkeypatch.context() as patched:
            patched.setattr(sys, "stdout", stream)
            return self.run(*arguments)

    def process(self, *arguments, shell="{}", **options):
        """Run it as a process of its own, in a shell that does something around it."""
        command = " ".join([sys.executable, "-m", "dpaudit", *map(str, arguments)])
        done = subprocess.run(
            ["bash", "-c", shell.format(command)],
            capture_output=True,
            text=True,
            cwd=self.folder,
            timeout=300,
            check=False,
            **options,
        )
        return Ran(done.returncode, done.stdout, done.stderr, self.folder)

    @contextmanager
    def started(self, *arguments):
        """Yield a process that is running; neither it nor its workers outlive the block."""
        command = [sys.executable, "-m", "dpaudit", *map(str, arguments)]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
            start_new_session=True,
        ) as process:  # fmt: skip
            try:
                yield process
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)


@pytest.fixture
def here(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)
    # Pictures take most of the time of a report, and have tests of their own.
    monkeypatch.setattr(render, "_drawn", lambda document, index: {"numbers": "<svg></svg>"})
    monkeypatch.setattr(render, "_overview", lambda report: None)
    monkeypatch.setattr("dpaudit.selftest.write.draw", lambda result, kind: b"<svg></svg>")
    # What a suite run in the background ignores, it has to hear of here.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    place = Here(tmp_path, monkeypatch, capsys)
    yield place
    signal.signal(signal.SIGINT, before)
    for module in place.made:
        sys.modules.pop(module, None)


WAYS = []


def way(status, row, line, *marks):
    """Register a way to end: its status, its row of the page, the line it ends with."""

    def register(function):
        name = function.__name__.removeprefix("_")
        WAYS.append(pytest.param(function, status, row, line, id=name, marks=marks))
        return function

    return register


JUDGED, REFUTED = "and no claim is refuted", "at least one claim is refuted"
USAGE, MISSING, WITHHELD = "wrong usage", "a verdict is missing", "a verdict is withheld"
THEIRS, STREAM, WRITING = (
    "other people's code",
    "standard output was closed",
    "could not be written",
)
INTERRUPTED, TERMINATED = "interrupted (SIGINT", "asked to terminate"
STANDS, FAILS = "and all stand", "at least one fails"
SOUND, UNSOUND = "and all are sound", "at least one is not sound"
WRITTEN = "all output was written"
SHOWN = r"Write the full report with --out DIRECTORY\."
FULL = r"error: standard output: cannot be written \(No space left on device\), so .*"
PIPE = r"error: standard output: cannot be written \(Broken pipe\), so .*"
INTERRUPT, TERMINATE = "interrupted", "terminated"
slow = pytest.mark.slow


# Verdicts


@way(0, JUDGED, SHOWN)
def _a_claim_that_stands(here):
    return here.audit(here.audits("Sound"))


@way(1, REFUTED, SHOWN)
def _a_claim_that_falls(here):
    return here.audit(here.audits("Broken"))


@way(1, REFUTED, SHOWN, slow)
def _one_of_two_that_falls(here):
    return here.audit(here.audits("Sound", "Broken"))


@way(1, REFUTED, r"Report: .*report\.html")
def _a_report_of_it(here):
    return here.audit(here.audits("Broken"), "--out", here.folder / "out")


@way(1, REFUTED, r"\}")
def _as_json(here):
    ran = here.audit(here.audits("Broken"), "--json")
    assert json.loads(ran.out)["results"][0]["verdict"] == "refuted"
    return ran


@way(1, REFUTED, "imported")
def _words_of_their_own_on_standard_output(here):
    """What other code prints is no result, and the stream it puts there is none either."""
    code = "print('imported')\nimport io\nsys.stdout = io.StringIO()\n"
    with here.monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", sys.stdout)
        ran = here.audit(here.audits("Broken", code=code))
    assert "imported" not in ran.out
    assert "refuted" in ran.out
    return ran


def ascii_stream():
    return io.TextIOWrapper(io.BytesIO(), encoding="ascii")


@way(1, REFUTED, "")
def _an_encoding_without_epsilon(here):
    shown = ascii_stream()
    ran = here.onto(shown, "audit", here.audits("Broken"))
    assert b"refuted" in shown.buffer.getvalue()
    assert b"\\u03b5 = 1" in shown.buffer.getvalue()
    return ran


@way(1, REFUTED, "")
def _json_in_an_encoding_without_epsilon(here):
    path = Path(here.audits("Broken"))
    path.write_text(path.read_text().replace('"one"', '"ε é 😀"'), encoding="utf-8")
    shown = ascii_stream()
    ran = here.onto(shown, "audit", path, "--json")
    assert json.loads(shown.buffer.getvalue())["results"][0]["claim"] == "ε é 😀"
    return ran


@way(1, REFUTED, "")
def _a_name_that_no_encoding_has(here):
    (here.folder / "out\udcff").mkdir()
    shown = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    ran = here.onto(shown, "audit", here.audits("Broken"), "--out", "out\udcff")
    assert b"Report: out\\udcff" in shown.buffer.getvalue()
    return ran


# Wrong usage


@way(2, USAGE, "error: claim: got 'nobody-lemma1', expected one of: .*")
def _a_claim_that_nobody_states(here):
    return here.run("audit", "nobody-lemma1")


@way(2, USAGE, "error: claim: got 'nobody-lemma1', expected one of: .*")
def _a_claim_that_nobody_states_beside_a_good_one(here):
    ran = here.run("audit", here.audits("Broken"), "nobody-lemma1")
    assert ran.out == ""
    return ran


@way(2, USAGE, r"error: gone\.toml: cannot be read \(No such file or directory\), expected .*")
def _a_file_that_is_missing(here):
    return here.run("audit", "gone.toml")


@way(2, USAGE, r"error: bad\.toml: is not valid TOML: .*")
def _a_file_that_is_no_toml(here):
    (here.folder / "bad.toml").write_text("[audit")
    return here.run("audit", "bad.toml")


@way(2, USAGE, r"error: --out: got '', expected the name of a folder, such as --out report.*")
def _no_name_for_out(here):
    return here.run("audit", here.audits("Broken"), "--out", "")


@way(2, USAGE, r"error: No such option: --bogus.*")
def _an_option_that_there_is_not(here):
    return here.run("audit", "--bogus")


@way(2, USAGE, r"error: No such command 'judge'.*")
def _a_command_that_there_is_not(here):
    return here.run("judge")


@way(2, USAGE, r"error: targets: got \[\], expected names of claims or files, or else --all")
def _nothing_to_audit(here):
    return here.run("audit")


# Other people's code


LEFT = r"ended the program with sys\.exit\({}\) in ways_to_end_\d+\.py, line \d+"


def left(code):
    return f"error: .*{LEFT.format(code)}.*"


@way(2, THEIRS, left(0))
def _leaving_at_import(here):
    return here.audit(here.audits("Broken", code="sys.exit(0)\n"))


@way(2, THEIRS, left(""))
def _leaving_at_import_without_a_status(here):
    return here.audit(here.audits("Broken", code="sys.exit()\n"))


@way(2, THEIRS, left("'sorry'"))
def _leaving_at_import_with_words(here):
    return here.audit(here.audits("Broken", code="raise SystemExit('sorry')\n"))


@way(2, THEIRS, left(1))
def _leaving_in_a_constructor(here):
    code = "class Leaving(Broken):\n    def __init__(self): sys.exit(1)\n"
    return here.audit(here.audits("Leaving", code=code))


@way(2, THEIRS, left(0))
def _leaving_in_sample(here):
    return here.audit(here.audits("Leaving", code="Leaving = doing(lambda: sys.exit(0))\n"))


@way(2, THEIRS, left(0))
def _leaving_in_a_later_sample(here):
    code = "Leaving = doing(lambda: sys.exit(0))\n"
    return here.audit(here.audits("Leaving", code=code, after=5))


@way(2, THEIRS, left(0))
def _leaving_where_a_law_is_asked(here):
    code = LAW + (
        "class Leaving(Following):\n    def squared_shift_bounds(self, pair): sys.exit(0)\n"
        "mechanism = GaussianSteps(Leaving())\n"
    )
    return here.audit(here.audits("mechanism", code=code, delta=1e-5))


@way(2, THEIRS, left(0))
def _leaving_as_the_pair_is_made(here):
    path = Path(here.audits("Broken", code="def pair(): sys.exit(0)\n"))
    (module,) = here.made
    text = path.read_text().replace("dataset = [0]\nneighbour = [1]", f"pair = '{module}:pair'")
    path.write_text(text)
    return here.audit(path)


@way(2, THEIRS, r"error: .*raised Leave: 'gone' in ways_to_end_\d+\.py, line \d+.*")
def _an_exception_that_is_no_error(here):
    return here.audit(here.audits("Leaving", code="Leaving = raising(Leave('gone'))\n"))


@way(2, THEIRS, r"error: .*\(Leave: 'gone' in ways_to_end_\d+\.py, line \d+\)")
def _an_exception_that_is_no_error_at_import(here):
    return here.audit(here.audits("Broken", code="raise Leave('gone')\n"))


@way(2, THEIRS, r"error: .*raised GeneratorExit: .*")
def _a_generator_that_is_asked_to_end(here):
    return here.audit(here.audits("Leaving", code="Leaving = raising(GeneratorExit())\n"))


@way(2, THEIRS, r"error: .*raised Exit: .*")
def _the_exit_of_another_command_line(here):
    code = "import typer\nLeaving = raising(typer.Exit(0))\n"
    return here.audit(here.audits("Leaving", code=code))


@way(2, THEIRS, r"error: .*raised EOFError: .*")
def _the_end_of_their_input(here):
    return here.audit(here.audits("Leaving", code="Leaving = raising(EOFError('no more'))\n"))


@way(2, THEIRS, r"error: .*raised BrokenPipeError: .*")
def _a_pipe_of_their_own_that_broke(here):
    code = "Leaving = raising(BrokenPipeError(32, 'Broken pipe'))\n"
    return here.audit(here.audits("Leaving", code=code))


@way(2, THEIRS, r"error: .*raised Wordless: its text cannot be shown in .*")
def _an_error_that_leaves_as_it_is_shown(here):
    return here.audit(here.audits("Leaving", code="Leaving = raising(Wordless())\n"))


@way(2, THEIRS, "error: Ours: its text cannot be shown in .*")
def _an_error_of_ours_that_leaves_as_it_is_shown(here):
    return here.audit(here.audits("Leaving", code="Leaving = raising(Ours())\n"))


@way(2, THEIRS, "error: two lines")
def _an_error_of_ours_in_two_lines(here):
    code = "Leaving = raising(DpauditError('two\\nlines'))\n"
    return here.audit(here.audits("Leaving", code=code))


@way(2, THEIRS, "error: dpaudit cannot start, SystemExit: 0; install it again, .*")
def _a_module_of_theirs_with_the_name_of_a_library(here):
    (here.folder / "typer.py").write_text("raise SystemExit(0)")
    return here.process("version")


@way(2, THEIRS, r"error: .*\(SyntaxError: .* in .*ways_to_end_\d+\.py, line \d+\)")
def _a_module_that_is_no_python(here):
    return here.audit(here.audits("Broken", code="def\n"))


@way(2, THEIRS, r"error: .*raised RecursionError: .*")
def _a_recursion_without_end(here):
    code = "def deed(): deed()\nLeaving = doing(deed)\n"
    return here.audit(here.audits("Leaving", code=code))


@way(2, THEIRS, r"error: .*raised KeyError: .* in ways_to_end_\d+\.py, line \d+, expected .*")
def _an_error_of_theirs_with_its_calls(here):
    code = "Leaving = doing(lambda: {}['age'])\n"
    plain = here.audit(here.audits("Leaving", code=code))
    assert "Traceback" not in plain.err
    told = here.audit(here.audits("Leaving", code=code), "--traceback")
    assert "Traceback (most recent call last)" in told.err
    assert "in sample" in told.err
    assert told.err.endswith(plain.err.replace(here.made[0], here.made[1]))
    return plain


@way(2, THEIRS, "error: .*unforeseen, OverflowError.*; --traceback or DPAUDIT_DEBUG=1 shows where")
def _what_nobody_foresaw(here):
    plain = here.run("audit", "huang2020-theorem6", "--epsilon", "1e-300")
    here.monkeypatch.setenv("DPAUDIT_DEBUG", "1")
    told = here.run("audit", "huang2020-theorem6", "--epsilon", "1e-300")
    assert (told.status, "Traceback" in told.err) == (2, True)
    return plain


def attacking(here, deed):
    card = SimpleNamespace(
        name="theirs", load_parameters=lambda: Parameters, load=lambda: lambda *given: deed()
    )
    here.monkeypatch.setattr("dpaudit.cli.attack.card_called", lambda name: card)
    return here.run("attack", "theirs")


@way(2, THEIRS, "error: ended the program with sys.exit.0. in .*test_ways_to_end.py, line .*")
def _an_attack_that_leaves(here):
    return attacking(here, leave)


@way(130, INTERRUPTED, INTERRUPT)
def _an_interrupt_of_an_attack(here):
    return attacking(here, interrupt)


# Several audits


@way(2, MISSING, "error: two: .*ended the program.*")
def _one_of_three_that_leaves(here):
    code = "Leaving = doing(lambda: sys.exit(0))\n"
    out = here.folder / "out"
    ran = here.audit(here.audits("Sound", "Leaving", "Broken", code=code), "--out", out)
    report = read_report(out / "report.json")
    assert [one.claim for one in report.results] == ["one", "three"]
    assert "three: The certified lower bound" in ran.out
    assert ran.err.count("\n") == 1
    return ran


@way(2, MISSING, "error: one: mechanism: got .*ended the program.*")
def _one_of_two_that_leaves_as_it_is_prepared(here):
    code = "class Leaving(Broken):\n    def __init__(self): sys.exit(1)\n"
    ran = here.audit(here.audits("Leaving", "Broken", code=code))
    assert "two: The certified lower bound" in ran.out
    return ran


@way(2, WITHHELD, "error: one: the law does not match the code .*")
def _a_law_of_other_code(here):
    path = here.audits("mechanism", code=LAW + "mechanism = Other(Following())\n", delta=1e-5)
    return here.audit(path)


# Standard output


@contextmanager
def closed_pipe():
    """Yield a pipe that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as pipe:
        yield pipe


def full_disk():
    """Return a file on a disk without room."""
    return open("/dev/full", "w")


@way(2, STREAM, PIPE)
def _a_pipe_that_nobody_reads(here):
    out = here.folder / "out"
    with closed_pipe() as pipe:
        ran = here.onto(pipe, "audit", here.audits("Broken"), "--out", out)
    assert read_report(out / "report.json").results[0].verdict == "refuted"
    return ran


@way(2, STREAM, PIPE, slow)
def _json_into_a_pipe_that_nobody_reads(here):
    with closed_pipe() as pipe:
        return here.onto(pipe, "audit", here.audits("Broken"), "--json")


@way(2, STREAM, FULL)
def _a_full_disk(here):
    with full_disk() as full:
        return here.onto(full, "audit", here.audits("Sound"))


@way(2, STREAM, FULL, slow)
def _json_onto_a_full_disk(here):
    with full_disk() as full:
        return here.onto(full, "audit", here.audits("Sound"), "--json")


@way(2, STREAM, "error: standard output: is closed, .*")
def _no_standard_output(here):
    return here.onto(None, "audit", here.audits("Sound"))


@way(2, STREAM, r"error: standard output: cannot be written \(I/O operation on closed file.*")
def _standard_output_that_they_close(here):
    code = "stream = sys.__ways_to_end__\nstream.close()\n"
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    here.monkeypatch.setattr(sys, "__ways_to_end__", stream, raising=False)
    return here.onto(stream, "audit", here.audits("Broken", code=code))


@way(2, STREAM, FULL)
def _a_list_onto_a_full_disk(here):
    with full_disk() as full:
        return here.onto(full, "list")


@way(2, STREAM, PIPE)
def _help_into_a_pipe_that_nobody_reads(here):
    for arguments in ([], ["audit"], ["verify"]):
        with closed_pipe() as pipe:
            ran = here.onto(pipe, *arguments, "--help")
        assert ran.status == 2
    return ran


@way(2, STREAM, FULL)
def _the_version_onto_a_full_disk(here):
    for arguments in (["version"], ["--version"], ["schema"], ["list", "--json"]):
        with full_disk() as full:
            ran = here.onto(full, *arguments)
            assert ran.status == 2
    return ran


@way(0, WRITTEN, r"\d+\.\d+.*")
def _a_version_that_is_written(here):
    return here.run("version")


@way(0, WRITTEN, r".*\bmean\b.*|.*")
def _a_list_in_ascii(here):
    shown = ascii_stream()
    ran = here.onto(shown, "list")
    assert b"huang2020-theorem6" in shown.buffer.getvalue()
    return ran


@way(1, REFUTED, "")
def _standard_error_that_is_full(here):
    with full_disk() as full, here.monkeypatch.context() as patched:
        patched.setattr(sys, "stderr", full)
        return replace(here.audit(here.audits("Broken")), out="")


@way(2, MISSING, "")
def _standard_error_that_is_full_when_there_is_something_to_say(here):
    code = "Leaving = doing(lambda: sys.exit(0))\n"
    with full_disk() as full, here.monkeypatch.context() as patched:
        patched.setattr(sys, "stderr", full)
        return replace(here.audit(here.audits("Leaving", "Broken", code=code)), out="")


def watching(here, *arguments):
    lines = ["dataset,0", "neighbour,1"] * 300
    (here.folder / "outputs.csv").write_text("\n".join(lines))
    return here.run("audit", "--watch", "outputs.csv", "--delta", "0", "--out", "out", *arguments)


@way(1, REFUTED, "Report: out/report.html")
def _a_stream_that_is_watched(here):
    return watching(here)


@way(2, STREAM, FULL)
def _a_stream_that_is_watched_onto_a_full_disk(here):
    for arguments in (["--json"], []):
        with full_disk() as full, here.monkeypatch.context() as patched:
            patched.setattr(sys, "stdout", full)
            ran = watching(here, *arguments)
        assert ran.status == 2
        assert read_report(here.folder / "out" / "report.json").results[0].verdict == "refuted"
    return ran


# Reports


@way(2, WRITING, r"error: .*file: the report cannot be written here \(.*\); choose another.*")
def _out_that_is_a_file(here):
    (here.folder / "file").write_text("mine")
    ran = here.audit(here.audits("Broken"), "--out", here.folder / "file")
    assert (here.folder / "file").read_text() == "mine"
    return ran


@way(2, WRITING, r"error: .*out: the report cannot be written here \(.*\); choose another.*")
def _out_that_becomes_a_file(here):
    out = here.folder / "out"
    code = f"def deed():\n    shutil.rmtree({str(out)!r})\n    open({str(out)!r}, 'w').close()\n"
    code += "    Doing.sample = Broken.sample\nDoing = doing(deed)\n"
    ran = here.audit(here.audits("Doing", code=code, after=1), "--out", out)
    assert "one: The certified lower bound" in ran.out
    return ran


@way(1, REFUTED, r"Report: .*report\.html")
def _out_that_vanishes(here):
    out = here.folder / "out"
    code = f"Doing = doing(lambda: shutil.rmtree({str(out)!r}, ignore_errors=True))\n"
    ran = here.audit(here.audits("Doing", code=code, after=1), "--out", out)
    assert read_report(out / "report.json").results[0].verdict == "refuted"
    return ran


@way(2, WRITING, r"error: .*out: the report cannot be written here \(.*\); choose another.*")
def _a_folder_in_the_place_of_a_file(here):
    out = here.folder / "out"
    (out / "report.md").mkdir(parents=True)
    (out / "report.json").write_text("old")
    ran = here.audit(here.audits("Broken"), "--out", out)
    assert {path.name for path in out.iterdir()} == {"report.md", "report.json"}
    assert (out / "report.json").read_text() == "old"
    assert "one: The certified lower bound" in ran.out
    return ran


@way(2, WRITING, r"error: .*out: the report cannot be written here \(No space left.*\); choose.*")
def _a_disk_that_is_full_when_the_second_file_moves(here):
    out, moves, move = here.folder / "out", itertools.count(), os.replace
    out.mkdir()
    for name in ("report.json", "report.md"):
        (out / name).write_text("old")

    def fails(old, new):
        if next(moves) % 3 == 1 and str(old).endswith(".part"):
            raise OSError(28, "No space left on device")
        move(old, new)

    here.monkeypatch.setattr(os, "replace", fails)
    ran = here.audit(here.audits("Broken"), "--out", out)
    assert {path.name: path.read_text() for path in out.iterdir()} == {
        "report.json": "old", "report.md": "old",
    }  # fmt: skip
    return ran


@way(1, REFUTED, r"Report: .*report\.html")
def _links_at_the_names_of_the_files(here):
    """Neither a link at the old temporary name nor one in the report's place is followed."""
    out, mine = here.folder / "out", here.folder / "mine"
    out.mkdir()
    mine.write_text("mine")
    for name in (f".report.json.{os.getpid()}.part", "report.json", "report.md"):
        (out / name).symlink_to(mine)
    ran = here.audit(here.audits("Broken"), "--out", out)
    assert mine.read_text() == "mine"
    assert read_report(out / "report.json").results[0].verdict == "refuted"
    assert not (out / "report.md").is_symlink()
    (out / f".report.json.{os.getpid()}.part").unlink()
    assert not list(out.glob(".*.old"))
    return ran


needs_permissions = pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")


@way(2, WRITING, r"error: .*out: the report cannot be written here \(Perm.*", needs_permissions)
def _a_folder_that_may_not_be_written(here):
    (here.folder / "out").mkdir(mode=0o500)
    return here.audit(here.audits("Broken"), "--out", here.folder / "out")


# Signals


@way(130, INTERRUPTED, INTERRUPT)
def _an_interrupt(here):
    code = "Doing = doing(lambda: os.kill(os.getpid(), signal.SIGINT))\n"
    return here.audit(here.audits("Doing", code=code, after=1))


@way(143, TERMINATED, TERMINATE)
def _a_request_to_terminate(here):
    code = "Doing = doing(lambda: os.kill(os.getpid(), signal.SIGTERM))\n"
    ran = here.audit(here.audits("Doing", code=code, after=1))
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    return ran


@way(130, INTERRUPTED, INTERRUPT)
def _an_interrupt_that_they_raise(here):
    return here.audit(here.audits("Doing", code="Doing = raising(KeyboardInterrupt())\n"))


@way(130, INTERRUPTED, INTERRUPT)
def _an_interrupt_at_import(here):
    return here.audit(here.audits("Broken", code="raise KeyboardInterrupt\n"))


@way(130, INTERRUPTED, INTERRUPT)
def _an_interrupt_of_bets(here):
    code = "Doing = doing(lambda: os.kill(os.getpid(), signal.SIGINT))\n"
    code += "Doing.sample.__globals__['Broken'].sample = Sound.sample\n"
    path = here.audits("Doing", code=code, after=40)
    ran = here.audit(path, "--until-refuted", "--trials", "100000", "--out", "out")
    assert read_report(here.folder / "out" / "report.json").results[0].verdict == "not refuted"
    return ran


def stopped_at_the_second(here, signal_name, out):
    code = f"Doing = doing(lambda: os.kill(os.getpid(), signal.{signal_name}))\n"
    path = here.audits("Broken", "Doing", "Sound", code=code, after=1)
    ran = here.audit(path, "--out", out)
    assert [one.claim for one in read_report(out / "report.json").results] == ["one"]
    assert "one: The certified lower bound" in ran.out
    return ran


@way(130, INTERRUPTED, "interrupted: 1 of 3 ended; missing: two, three")
def _an_interrupt_of_the_second_of_three(here):
    return stopped_at_the_second(here, "SIGINT", here.folder / "out")


@way(143, TERMINATED, "terminated: 1 of 3 ended; missing: two, three")
def _a_request_to_terminate_at_the_second_of_three(here):
    return stopped_at_the_second(here, "SIGTERM", here.folder / "out")


@way(130, INTERRUPTED, INTERRUPT)
def _an_interrupt_while_the_report_is_written(here):
    out, moves, move = here.folder / "out", itertools.count(), os.replace

    def interrupted(old, new):
        if next(moves) == 1:
            raise KeyboardInterrupt
        move(old, new)

    here.monkeypatch.setattr(os, "replace", interrupted)
    ran = here.audit(here.audits("Broken"), "--out", out)
    assert read_report(out / "report.json").results[0].verdict == "refuted"
    assert "one: The certified lower bound" in ran.out
    return ran


# Certificates


@pytest.fixture(scope="module")
def genuine():
    parameters = {"features": 8, "samples": 32, "parties": 2}
    found = run_claim("hu2020-lemma1", Settings(trials=400, parameters=parameters), Executor())
    return certificates_text((found.certificate,))


@pytest.fixture(autouse=True)
def certificates(here, request):
    if "certificate" in request.node.name:
        text = request.getfixturevalue("genuine")
        (here.folder / "good.json").write_text(text)
        changed = json.loads(text)
        changed["quantities"]["ratio"] *= 2
        (here.folder / "bad.json").write_text(json.dumps(changed))


@way(0, STANDS, r"good\.json: hu2020-lemma1: verified, .*")
def _a_certificate_that_stands(here):
    return here.run("verify", "good.json")


@way(1, FAILS, r"  ratio: the file states .*")
def _a_certificate_that_fails(here):
    return here.run("verify", "good.json", "bad.json")


@way(2, MISSING, r"error: gone\.json: cannot be read \(No such file or directory\)")
def _a_certificate_that_is_missing_among_others(here):
    ran = here.run("verify", "gone.json", "bad.json", "good.json")
    assert "bad.json: hu2020-lemma1: fails" in ran.out
    assert "good.json: hu2020-lemma1: verified" in ran.out
    return ran


@way(2, MISSING, r"error: no\.json: is not JSON .*")
def _a_certificate_that_is_none_among_others_as_json(here):
    (here.folder / "no.json").write_text("{")
    ran = here.run("verify", "no.json", "good.json", "--json")
    assert [one["verified"] for one in json.loads(ran.out)] == [True]
    return ran


@way(2, STREAM, FULL)
def _a_certificate_that_stands_on_a_full_disk(here):
    with full_disk() as full:
        return here.onto(full, "verify", "good.json")


def verifying(here, deed):
    from dpaudit.verification import judge

    verify, done = judge.verify, []

    def acting(document, *asked, **more):
        if done:
            deed()
        done.append(document)
        return verify(document, *asked, **more)

    here.monkeypatch.setattr(judge, "verify", acting)
    ran = here.run("verify", "good.json", "bad.json")
    assert "good.json: hu2020-lemma1: verified" in ran.out
    return ran


def leave():
    sys.exit(0)


def interrupt():
    raise KeyboardInterrupt


@way(2, MISSING, "error: .*ended the program with sys.exit.0.*")
def _a_verifier_of_a_certificate_that_leaves(here):
    return verifying(here, leave)


@way(130, INTERRUPTED, INTERRUPT)
def _an_interrupt_at_the_second_certificate(here):
    return verifying(here, interrupt)


# The self-test


def selftest(here, *deeds):
    """Run a self-test of one estimator, or one that does something, after the other."""
    (cheap, *_) = (case for case in CASES if case.estimator == "one run")

    def doing(deed):
        def run(*arguments):
            deed()
            return cheap.run(*arguments)

        return run

    cases = [
        replace(cheap, law=f"law {i}", run=doing(deed), share=1.0) for i, deed in enumerate(deeds)
    ]
    here.monkeypatch.setattr(selftest_run, "CASES", cases)
    here.monkeypatch.setattr(selftest_run, "CONTROLS", ())
    here.monkeypatch.setattr(selftest_run, "QUICK", replace(selftest_run.QUICK, audits=5))
    here.monkeypatch.setattr(answers, "installed", lambda published: [])
    return here.run("selftest", "--workers", "1", "--out", "out")


def nothing():
    pass


@way(0, SOUND, "Report: .*selftest.html")
def _a_self_test_that_is_sound(here):
    return selftest(here, nothing)


@way(1, UNSOUND, "Report: .*selftest.html")
def _a_self_test_that_is_not(here):
    here.monkeypatch.setattr(selftest_run.Tested, "sound", False)
    return selftest(here, nothing)


@way(2, MISSING, "error: one run on law 0: failed: ended the program with sys.exit.0.*")
def _a_self_test_with_one_that_leaves(here):
    ran = selftest(here, leave, nothing)
    written = json.loads((here.folder / "out" / "selftest.json").read_text())
    assert not written["passed"]
    assert "Unfinished, 1 of 2. Missing: one run on law 0" in " ".join(ran.out.split())
    return ran


@way(130, INTERRUPTED, "interrupted: 1 of 3 ended; missing: one run on law 1, one run on law 2")
def _an_interrupt_of_a_self_test(here):
    ran = selftest(here, nothing, interrupt, nothing)
    written = json.loads((here.folder / "out" / "selftest.json").read_text())
    assert (written["passed"], written["interrupted"]) == (False, True)
    assert [one["name"][-1] for one in written["missing"]] == ["1", "2"]
    return ran


@way(130, INTERRUPTED, INTERRUPT)
def _an_interrupt_of_a_self_test_before_anything_ended(here):
    return selftest(here, interrupt, nothing)


# Every claim


def every(here, deeds, *arguments):
    """Audit every claim of a few that do something when they are audited."""

    def prepared(deed):
        def prepare(settings, parameters):
            def attain(trials, rng):
                deed()
                return Attained(value=2.0, bound=1.0, instance="here")

            return SearchCase(
                bound=1.0, attain=attain, view="all", data="none", relation="any", pair="any",
                default_trials=100, parameters={},
            )  # fmt: skip

        return prepare

    cards = {
        name: Claim(
            name=name, title=name, statement=name, source="an example", relation="any",
            assumptions={}, prepare=prepared(deed), parameters=Parameters, kind="sensitivity",
        )
        for name, deed in deeds.items()
    }  # fmt: skip
    claims = SimpleNamespace(all=lambda: cards, get=cards.__getitem__)
    here.monkeypatch.setattr(publish.registry, "CLAIMS", claims)
    here.monkeypatch.setattr("dpaudit.auditing.run.registry.CLAIMS", claims)
    return here.run("audit", "--all", "--workers", "1", "--out", "out", *arguments)


def index(here):
    entries = json.loads((here.folder / "out" / "index.json").read_text())
    return {one["label"]: one["verdict"] for one in entries}


@way(1, REFUTED, "Index: out/index.html")
def _every_claim(here):
    ran = every(here, {"a": nothing, "b": nothing})
    assert index(here) == {"a": "refuted", "b": "refuted"}
    return ran


@way(2, MISSING, "error: a: ended the program with sys.exit.0.*")
def _every_claim_and_one_that_leaves(here):
    ran = every(here, {"a": leave, "b": nothing})
    assert index(here) == {"b": "refuted", "a": None}
    page = (here.folder / "out" / "index.html").read_text()
    assert "Only 1 of 2 audits gave a verdict. Missing: a (failed: " in page
    return ran


@way(130, INTERRUPTED, "interrupted: 1 of 3 ended; missing: b, c")
def _an_interrupt_of_every_claim(here):
    ran = every(here, {"a": nothing, "b": interrupt, "c": nothing})
    assert index(here) == {"a": "refuted", "b": None, "c": None}
    assert read_report(here.folder / "out" / "a" / "report.json").results[0].verdict == "refuted"
    page = (here.folder / "out" / "index.html").read_text()
    assert "Interrupted, 1 of 3. Missing: b (not run); c (not run)." in page
    return ran


@way(2, STREAM, FULL)
def _every_claim_onto_a_full_disk(here):
    with full_disk() as full, here.monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", full)
        ran = every(here, {"a": nothing})
    assert index(here) == {"a": "refuted"}
    return ran


@way(2, WRITING, r"error: .*the report cannot be written here .*")
def _every_claim_and_a_report_that_cannot_be_written(here):
    (here.folder / "out").mkdir()
    (here.folder / "out" / "a").write_text("mine")
    ran = every(here, {"a": nothing, "b": nothing})
    assert (here.folder / "out" / "b" / "report.json").exists()
    return ran


# Processes of their own: what Python does after the last line is seen there only


AWAY = "{} | true; exit ${{PIPESTATUS[0]}}"


@way(2, STREAM, FULL)
def _a_process_on_a_full_disk(here):
    return here.process("version", shell="{} > /dev/full")


@way(2, STREAM, PIPE)
def _a_process_into_a_closed_pipe(here):
    return here.process("schema", shell=AWAY)


@way(2, STREAM, FULL, slow)
def _an_audit_on_a_full_disk(here):
    return here.process("audit", here.audits("Broken"), shell="{} > /dev/full")


@way(2, STREAM, PIPE, slow)
def _an_audit_into_a_closed_pipe(here):
    return here.process("audit", here.audits("Broken"), shell=AWAY)


@way(1, REFUTED, SHOWN, slow)
def _a_process_in_ascii(here):
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    return here.process("audit", here.audits("Broken"), env=environment)


@way(1, REFUTED, SHOWN, slow)
def _a_process_in_the_locale_c(here):
    off = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    return here.process("audit", here.audits("Broken"), env=os.environ | off)


@way(2, STREAM, "error: standard output: is closed, .*", slow)
def _a_process_without_standard_output(here):
    return here.process("audit", here.audits("Broken"), shell="{} >&-")


@way(1, REFUTED, SHOWN, slow)
def _a_process_without_standard_error(here):
    return here.process("audit", here.audits("Broken"), shell="{} 2>&-")


@way(2, STREAM, PIPE, slow)
def _the_help_of_a_process_into_a_closed_pipe(here):
    return here.process("--help", shell=AWAY)


@way(2, THEIRS, left(0), slow)
def _a_process_with_workers_that_leave(here):
    code = "Leaving = doing(lambda: sys.exit(0))\n"
    path = here.audits("Leaving", code=code, after=5)
    return here.process("audit", path, "--workers", "2")


def started_and_stopped(here, number):
    code = "import time\ndef deed():\n    print('drawing', file=sys.stderr, flush=True)\n"
    code += "    time.sleep(60)\nDoing = doing(deed)\n"
    path = here.audits("Broken", "Doing", code=code, after=1)
    with here.started("audit", path, "--out", "out", "--workers", "1") as process:
        assert process.stderr.readline() == "drawing\n"
        process.send_signal(number)
        out, err = process.communicate(timeout=120)
    assert "one: The certified lower bound" in out
    assert read_report(here.folder / "out" / "report.json").results[0].claim == "one"
    return Ran(process.returncode, out, err, here.folder)


@way(130, INTERRUPTED, "interrupted: 1 of 2 ended; missing: two", slow)
def _a_process_that_is_interrupted(here):
    return started_and_stopped(here, signal.SIGINT)


@way(143, TERMINATED, "terminated: 1 of 2 ended; missing: two", slow)
def _a_process_that_is_terminated(here):
    return started_and_stopped(here, signal.SIGTERM)


def wait_for_an_index(here, process):
    """Wait until a process has written what its first audit found."""
    while not (here.folder / "out" / "index.json").exists():
        assert process.poll() is None
        time.sleep(0.05)


def stopped_gallery(here, number):
    """Stop a process that audits every installed claim once a few have ended."""
    with here.started("audit", "--all", "--trials", "200", "--out", "out", "--quiet") as process:
        wait_for_an_index(here, process)
        process.send_signal(number)
        out, err = process.communicate(timeout=300)
    page = (here.folder / "out" / "index.html").read_text()
    assert re.search(r"Interrupted, \d+ of \d+\. Missing: ", page)
    return Ran(process.returncode, out, err, here.folder)


@way(130, INTERRUPTED, r"interrupted: \d+ of \d+ ended; missing: .*", slow)
def _a_gallery_that_is_interrupted(here):
    return stopped_gallery(here, signal.SIGINT)


@way(143, TERMINATED, r"terminated: \d+ of \d+ ended; missing: .*", slow)
def _a_gallery_that_is_terminated(here):
    return stopped_gallery(here, signal.SIGTERM)


# All of them


@pytest.mark.parametrize(("ends", "status", "row", "line"), WAYS)
def test_a_run_ends_as_the_page_says(here, ends, status, row, line):
    ran = ends(here)
    assert ran.status == status, ran
    assert re.fullmatch(line, ran.last), ran
    assert "Traceback" not in ran.err
    assert status not in (0, 1) or "error:" not in ran.err
    assert not list(ran.folder.rglob("*.part"))
    assert [number for number, what in ROWS if row in what] == [status]


def test_every_row_of_the_page_has_its_ways():
    assert len(ROWS) == 15
    rows = [one.values[2] for one in WAYS]
    assert [what for _, what in ROWS if not any(row in what for row in rows)] == []
    assert len(WAYS) > 80


def test_the_help_names_the_statuses_of_the_page(here):
    said = " ".join(here.run("--help").out.split())
    assert "exit-statuses.md" in said
    assert all(str(status) in said for status, _ in ROWS)


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.0, 0.4, 1.3, 3.1, 7.9])
def test_what_had_ended_before_a_kill_is_whole(here, seconds):
    with here.started("audit", "--all", "--trials", "200", "--out", "out", "--quiet") as process:
        wait_for_an_index(here, process)
        time.sleep(seconds)
        process.kill()
        process.wait(timeout=60)
    out = here.folder / "out"
    for path in out.glob("*/report.json"):
        assert read_report(path).results
        assert path.with_name("report.html").read_text().rstrip().endswith("</html>")
    for path in out.glob("*/certificate.json"):
        assert json.loads(path.read_text())
    entries = json.loads((out / "index.json").read_text())
    verdicts = [one for one in entries if one["verdict"]]
    assert 0 < len(verdicts) < len(entries)
    for entry in verdicts:
        results = read_report(out / entry["claim"] / "report.json").results
        assert entry["variant"] in [one.variant for one in results]
