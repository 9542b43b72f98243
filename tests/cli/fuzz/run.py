"""A script that runs strange command lines in one process, and prints what went wrong as JSON.

Arguments are ``FOLDER quick|all|apart COUNT SEED CERTIFICATE...``. Whatever takes longer than a
moment is interrupted, which is one more way to end; ``apart``, each is a process of its own.
"""

import io
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from contextlib import suppress
from pathlib import Path

from matplotlib import get_cachedir, get_configdir

from dpaudit.cli.main import app, main
from dpaudit.report.document import read_report

from .examples import MODULE, examples, minimal
from .strange import changed_file, changed_line

COMMANDS = {one.name for one in app.registered_commands}
MOMENTS, MEMORY = {"quick": 0.3, "all": 1.5}, 6 * 2**30
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
CHANGES = {
    "os.rename": (0, 1),
    "os.remove": (0,),
    "os.mkdir": (0,),
    "os.link": (1,),
    "os.rmdir": (0,),
}


class Places:
    """Hears which files are written."""

    def __init__(self, folder):
        self.outside, self.listens = [], False
        self.allowed = (str(folder), "/dev/", "/proc/", get_configdir(), get_cachedir())

    def __call__(self, event, given):
        if not self.listens:
            return
        if event == "open" and isinstance(given[0], (str, bytes)) and (given[2] or 0) & WRITING:
            self.note(given[0])
        for place in CHANGES.get(event, ()):
            self.note(given[place])

    def note(self, name):
        path = os.path.abspath(os.fsdecode(name))
        own = path.startswith(self.allowed) or "__pycache__" in path
        if not own:
            self.outside.append(path)


class Runs:
    """Strange runs in one folder, and what was wrong with them."""

    def __init__(self, folder, which, seed, certificates):
        self.folder, self.rng = Path(folder).resolve(), random.Random(seed)
        every = examples([minimal(Path(one).read_text()) for one in certificates])
        self.examples = [one for one in every if one.quick or which != "quick"]
        self.moment = MOMENTS.get(which)
        if which == "apart":
            self.run = self.apart
        self.places, self.statuses, self.wrong = Places(self.folder), Counter(), []
        self.unforeseen = Counter()
        sys.addaudithook(self.places)

    def one(self):
        """Make a strange run and judge how it ended."""
        arguments, _, files, _ = self.rng.choice(self.examples)
        written = {name: text.encode() for name, text in files.items()}
        which = self.rng.random()
        if files and which < 0.7:
            written[next(iter(files))] = changed_file(self.rng, next(iter(files.values())))
        if not files or which > 0.6:
            arguments = changed_line(self.rng, arguments)
        self.lay_out(written)
        ended = self.run(list(arguments), self.moment)
        self.statuses[f"{arguments[0] if arguments[0] in COMMANDS else '?'} {ended[0]}"] += 1
        for what in self.complaints(arguments, *ended):
            self.wrong.append([what, list(arguments), self.kept(written), ended[2][-600:]])

    def as_they_are(self):
        """Return how the examples end that nothing makes strange."""
        found = []
        for arguments, expected, files, _ in self.examples:
            self.lay_out({name: text.encode() for name, text in files.items()})
            status, out, err = self.run(list(arguments), 60.0)
            wrong = self.complaints(arguments, status, out, err)
            found.append(
                {"example": arguments, "status": status, "expected": expected, "wrong": wrong}
            )
        return found

    def lay_out(self, written):
        for path in self.folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif path.name != "fuzzed.py":
                path.unlink()
        (self.folder / "fuzzed.py").write_text(MODULE)
        for name, data in written.items():
            (self.folder / name).write_bytes(data)

    def kept(self, written):
        """Return the strange files of a run, to look at them."""
        return {name: repr(data[:3000]) for name, data in written.items()}

    def run(self, arguments, moment):
        """Return status, standard output and standard error; no number is a status that fails."""
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
        before, status = (sys.stdout, sys.stderr), None
        sys.stdout, sys.stderr = out, err
        self.places.listens = True
        signal.setitimer(signal.ITIMER_REAL, moment)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("default")
                main(arguments)
        except SystemExit as left:
            status = left.code if left.__cause__ is None else f"last resort: {left.__cause__!r}"
        except BaseException as error:
            status = f"raised {error!r}"
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            self.places.listens = False
            sys.stdout, sys.stderr = before
        return status, *(one.buffer.getvalue().decode() for one in self.flushed(out, err))

    def apart(self, arguments, moment):
        """Return the same of a process of its own, which no word of a line with a NUL reaches."""
        line = [one.replace("\0", "?").encode("utf-8", "surrogateescape") for one in arguments]
        done = subprocess.run(
            [sys.executable, "-m", "dpaudit", *line],
            capture_output=True,
            check=False,
            cwd=self.folder,
        )
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def flushed(self, *streams):
        for one in streams:
            one.flush()
        return streams

    def complaints(self, arguments, status, out, err):
        """Return what is wrong with an end."""
        outside, self.places.outside = self.places.outside, []
        lines = err.rstrip().splitlines() or [""]
        if "an unexpected error" in err or re.search(r"error: (\S+: )?[A-Z]\w+Error\b", err):
            self.unforeseen[f"{lines[-1][:300]} {arguments}"] += 1
        judging = arguments[0] in ("audit", "verify", "selftest")
        found = {
            "a status that is not on the page": status in (0, 1, 2, 130),
            "a traceback": "Traceback" not in err,
            "files elsewhere": not outside,
            "1 without a judgement": status != 1 or judging,
            "no output": status not in (0, 1) or bool(out.strip()),
            "an error beside a judgement": status not in (0, 1) or "error:" not in err,
            "no error": status != 2 or "error: " in err or "Usage" in err,
            "no file half written": not list(self.folder.rglob("*.part")),
            "no interruption": status != 130 or lines[-1].startswith("interrupted"),
        }
        wrong = [what for what, holds in found.items() if not holds]
        if arguments[0] == "audit" and status in (0, 1):
            wrong += self.verdict_is_written(arguments, status, out)
        return [f"{what} ({status}, {outside})" for what in wrong]

    def verdict_is_written(self, arguments, status, out):
        """Return what is wrong with the verdicts that a judgement stands on."""
        shown = "verdict" in out or "refuted" in out or "Usage" in out
        reports = list(self.folder.glob("*/report.json"))
        if not shown:
            return ["no verdict is shown"]
        refuted = [r.verdict == "refuted" for one in reports for r in read_report(one).results]
        if reports and any(refuted) != (status == 1) and "Usage" not in out:
            return ["the report says otherwise"]
        return []


def interrupted(*_):
    raise KeyboardInterrupt


def all_of_them(folder, which, count, seed, *certificates):
    """Make so many strange runs; print how they ended, and what was wrong."""
    signal.signal(signal.SIGALRM, interrupted)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    sys.unraisablehook = lambda _: None
    runs = Runs(folder, which, seed, certificates)
    os.chdir(folder)
    tempfile.tempdir = str(runs.folder)
    plain = runs.as_they_are()
    for _ in range(int(count)):
        runs.one()
    with suppress(OSError):
        runs.lay_out({})
    told = {
        "plain": plain,
        "statuses": runs.statuses,
        "wrong": runs.wrong,
        "unforeseen": runs.unforeseen,
    }
    print(json.dumps(told, indent=1))


if __name__ == "__main__":
    all_of_them(*sys.argv[1:])
