"""Runs the seeded faults: each one, put into a copy of the tree, has to make a test fail.

For every fault, in a copy of the working tree of its own: the test that killed it last time
(``killers.json``, whether it is marked slow or not), then the doctests of the changed module and
the tests that reach it (`reach`), likeliest first, and for survivors alone all that ``make test``
runs, and the slow tests of the likeliest files. At the end the killers run on the tree as it is: a
test that fails there has killed nothing; one that killed nothing before is tried there at once, and
if it fails, the others go on. The rules of the architecture and the packaging are left
out: they say nothing about a fault.

    make mutants                                   all, on two cores; status 1 if one survives
    make mutants FAULT=my-fault.toml               those of a file of your own
    make mutants MUTANTS_ARGS=--resume             all but those that an ended run has killed
    make mutants MUTANTS_ARGS='--only seed-ignored --only far-neighbours'
    make mutants MUTANTS_ARGS=--list
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import SimpleQueue
from threading import Lock

from .faults import PACKAGES, ROOMS, ROOT, Fault, faults, faults_in, sources
from .journal import Journal
from .reach import Reach, reach

KILLERS = Path(__file__).with_name("killers.json")
JOURNAL = ROOT / "build" / "mutants" / "kills.jsonl"
# What a checkout holds besides the sources; a test that lacks a file here would kill every fault.
IGNORED = (".git", ".venv", "build", "dist", "__pycache__", "*.egg-info", ".*_cache", ".hypothesis")
# What looks at the tree itself.
LEFT_OUT = (
    "tests/test_architecture.py",
    "tests/test_packaging.py",
    "tests/test_trust.py",
    "tests/mutants",
)
_TOLD = 20  # faults after which the time that is left is told
FIRST = 3  # test files that run before the others are as much as imported
QUICK, NEAR, ALL = 300, 1200, 1800  # CPU seconds: one test, those that reach the module, all
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+?\.py::.*?)(?: - .*)?$", re.MULTILINE)
# A file that is not collected, as where two have one name, shows no fault.
_UNCOLLECTED = re.compile(r"^ERROR (\S+?\.py)(?: - .*)?$", re.MULTILINE)
# Statuses of pytest: none failed; tests or imports failed; a test that was named is not there.
_PASSED, _STOPPED, _GONE = (0, 5), (1, 2), 4
# Of a module its doctests: classes such as Tested are none that pytest should collect.
_MARKED = ("-m", "")  # slow ones too
_SLOW = ("-m", "slow")
_DOCTESTS = ("-o", "python_classes=OnlyDoctests", "-o", "python_functions=only_doctests")
_IMPORTED = "ignore:Module already imported:pytest.PytestAssertRewriteWarning"  # by the nursery


@dataclass(frozen=True)
class Outcome:
    """What became of a fault: the killer, or none."""

    fault: Fault
    killer: str | None
    seconds: float
    note: str = ""


@dataclass
class Copy:
    """A copy of the working tree that is what its tests import."""

    root: Path
    nursery: subprocess.Popen[str] = field(init=False)

    @classmethod
    def made_in(cls, folder: Path) -> Copy:
        """Copy the tree with the links in its package, and see that the copy is imported."""
        ignored = shutil.ignore_patterns(*IGNORED)
        shutil.copytree(ROOT, folder, symlinks=True, ignore=ignored, dirs_exist_ok=True)
        copy = cls(folder)
        copy.check_imports()
        copy.start()
        return copy

    def check_imports(self) -> None:
        """Raise unless all three packages come from the copy."""
        names = ("dpaudit", *(f"dpaudit.{name}" for name in PACKAGES[1:]))
        code = f"import {', '.join(names)}; print({', '.join(f'{n}.__file__' for n in names)})"
        given = subprocess.run(
            [sys.executable, "-c", code],
            cwd=self.root,
            env=self.environment,
            capture_output=True,
            text=True,
            check=True,
        )
        for path in given.stdout.split():
            if not Path(path).is_relative_to(self.root):
                raise RuntimeError(f"{path} is imported, not the copy in {self.root}")

    @property
    def environment(self) -> dict[str, str]:
        """The copy first on the path, one thread, a home of its own for what is cached."""
        threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        return os.environ | dict.fromkeys(threads, "1") | {"PYTHONPATH": str(self.root)}

    def write(self, path: Path, text: str) -> None:
        """Write a source, and forget what was compiled of it."""
        target = self.root / path
        target.write_text(text, encoding="utf-8")
        compiled = Path(importlib.util.cache_from_source(str(target)))
        for one in compiled.parent.glob(f"{target.stem}.*"):
            one.unlink()

    def failing(self, selection: Sequence[str], seconds: float, most: int = 1) -> list[str]:
        """Return the tests of a selection that fail, so many at most; raise if time runs out.

        A file that cannot be collected is left out: it counts as a failure, and would end the run.
        """
        arguments = [f"--maxfail={most}", "-q", "--tb=no", "-p", "no:cacheprovider"]
        arguments += ["--continue-on-collection-errors"]
        arguments += ["-p", "tests.mutants.limit", "-W", _IMPORTED]
        arguments += [f"--ignore=dpaudit/{name}" for name in PACKAGES[1:]]
        arguments += [f"--ignore={name}" for name in LEFT_OUT]
        status, text = self._tested([*arguments, *selection], seconds)
        if uncollected := set(_UNCOLLECTED.findall(text)):
            left = [one for one in selection if one.partition("::")[0] not in uncollected]
            if len(left) < len(selection) and not any(_is_named(one) for one in left):
                return []
            options = [f"--ignore={one}" for one in sorted(uncollected)]
            if not set(options) <= set(selection):
                return self.failing([*left, *options], seconds, most)
        if status in _PASSED or (status == _GONE and "ERROR: not found: " in text):
            return []  # a killer that was renamed, or whose name holds what the fault changes
        failed: list[str] = _FAILED.findall(text)
        if status not in _STOPPED or not failed:
            raise RuntimeError(f"pytest ended with status {status}: {text.strip()[-2000:]}")
        return failed

    def _tested(self, arguments: Sequence[str], seconds: float) -> tuple[int, str]:
        log = self.root / "pytest.log"
        asked = json.dumps({"arguments": arguments, "log": str(log), "seconds": seconds})
        self.nursery.stdin.write(f"{asked}\n")
        self.nursery.stdin.flush()
        answer = json.loads(self.nursery.stdout.readline())
        if answer["late"]:
            raise TimeoutError
        return answer["status"], log.read_text(encoding="utf-8", errors="replace")

    def start(self) -> None:
        """Start the process that runs pytest in this copy; it ends with the thread that does so."""
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.mutants.nursery"],
            cwd=self.root,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        if process.stdout.readline() != "ready\n":
            raise RuntimeError("the process that runs the tests does not start")
        self.nursery = process

    def close(self) -> None:
        """End that process, and all that it started."""
        self.nursery.terminate()
        self.nursery.wait()


@dataclass
class Runner:
    """Gives every fault to a copy that is free."""

    every: Sequence[Copy]
    copies: SimpleQueue[Copy]
    reach: Reach
    killers: dict[str, str]
    near: float = NEAR
    lock: Lock = field(default_factory=Lock)
    failing_anyway: dict[str, bool] = field(default_factory=dict)

    def close(self) -> None:
        """End the processes of all copies."""
        for one in self.every:
            one.close()

    def outcome(self, fault: Fault) -> Outcome:
        """Return what becomes of a fault."""
        copy, started = self.copies.get(), time.perf_counter()
        path = fault.place(sources())
        try:
            copy.write(path, fault.applied(sources()[path]))
            try:
                killer, note = self._killer(fault, path, copy)
            finally:
                copy.write(path, sources()[path])
        finally:
            self.copies.put(copy)
        if killer is not None:
            with self.lock:
                self.killers[fault.name] = killer
        return Outcome(fault, killer, time.perf_counter() - started, note)

    def _killer(self, fault: Fault, path: Path, copy: Copy) -> tuple[str | None, str]:
        for selection, seconds in self._stages(fault, path):
            try:
                found = self._first_failing(fault, path, copy, selection, seconds)
            except TimeoutError:
                return None, f"undecided after {seconds:g} s of CPU"
            if found:
                return found, ""
        return None, ""

    def _first_failing(
        self, fault: Fault, path: Path, copy: Copy, selection: Sequence[str], seconds: float
    ) -> str | None:
        """Return the first test that fails with the fault and not without it."""
        while True:
            asked = self._without_failing_anyway(selection)
            found = copy.failing(asked, seconds) if asked is not None else []
            if not found or not self._fails_anyway(found[0], fault, path, copy):
                return found[0] if found else None

    def _without_failing_anyway(self, selection: Sequence[str]) -> list[str] | None:
        """Return a selection without what fails on the tree as it is; None if nothing is left."""
        failing = sorted(name for name, fails in self.failing_anyway.items() if fails)
        left = [one for one in selection if one not in failing]
        if len(left) < len(selection) and not any(_is_named(one) for one in left):
            return None
        options = [f"--ignore={one}" for one in failing if one.endswith(".py")]
        return [*left, *options, *(f"--deselect={one}" for one in failing)]

    def _fails_anyway(self, test: str, fault: Fault, path: Path, copy: Copy) -> bool:
        """Return whether a test fails without the fault: looked at once, before it counts."""
        if test in self.killers.values():  # looked at in the end
            return False
        if test not in self.failing_anyway:
            text = sources()[path]
            copy.write(path, text)
            try:
                fails = bool(copy.failing([*_MARKED, test], QUICK))
            finally:
                copy.write(path, fault.applied(text))
            self.failing_anyway[test] = fails
        return self.failing_anyway[test]

    def _stages(self, fault: Fault, path: Path) -> Iterable[tuple[list[str], float]]:
        known = self.killers.get(fault.name, "")
        if known and (ROOT / known.partition("::")[0]).exists():
            yield [*_MARKED, known], QUICK
            if "[" in known:  # another case of it, where the fault changed the name of this one
                yield [*_MARKED, known.partition("[")[0]], QUICK
        left_out = tuple(str(ROOT / name) for name in LEFT_OUT)
        reaching = [one for one in self.reach.tests_of(path) if not str(one).startswith(left_out)]
        tests = [str(one.relative_to(ROOT)) for one in reaching]
        # Alone: doctests import a module anew, and tests would see two.
        yield [*_DOCTESTS, str(path)], QUICK
        yield tests[:FIRST], self.near
        if tests[FIRST:]:
            yield tests[FIRST:], self.near
        if self.near == NEAR:
            yield [], ALL
            yield [*_SLOW, *tests[:FIRST]], NEAR


def _is_named(argument: str) -> bool:
    """Return whether an argument of pytest names tests, and is no option."""
    return ".py" in argument and not argument.startswith("--")


def main() -> int:
    """Run the faults that were asked for, and say what became of each."""
    asked = _arguments()
    chosen = _chosen(asked)
    if asked.list:
        for one in chosen:
            print(f"{one.room:12}{one.kind:13}{one.name:40}{one.what}")
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # and leave nothing behind
    known = json.loads(KILLERS.read_text(encoding="utf-8")) if KILLERS.exists() else {}
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        outcomes = _run(chosen, asked, dict(known), Path(folder))
    if asked.record:
        found = {one.fault.name: one.killer for one in outcomes if one.killer is not None}
        kept = {name: killer for name, killer in known.items() if name in _names()} | found
        KILLERS.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    alive = [one for one in outcomes if one.killer is None]
    for one in alive:
        print(_line(one))
    print(f"{len(outcomes) - len(alive)} of {len(outcomes)} faults killed")
    return 1 if alive else 0


def _chosen(asked: argparse.Namespace) -> list[Fault]:
    """Return the faults that were asked for; each has its place, or it is an error."""
    if asked.fault is not None:
        chosen = list(faults_in(asked.fault, "planted"))
    else:
        chosen = [one for one in faults() if _wanted(one, asked)]
    for one in chosen:
        one.place(sources())
    return chosen


def _run(
    chosen: Sequence[Fault], asked: argparse.Namespace, known: dict[str, str], folder: Path
) -> list[Outcome]:
    copies: SimpleQueue[Copy] = SimpleQueue()
    every = list[Copy]()
    runner = Runner(every, copies, reach(), known, asked.near)
    try:
        for number in range(asked.workers):
            every.append(Copy.made_in(folder / str(number)))
            copies.put(every[-1])
        return _run_by(runner, chosen, asked)
    finally:
        runner.close()


def _run_by(runner: Runner, chosen: Sequence[Fault], asked: argparse.Namespace) -> list[Outcome]:
    journal = Journal(JOURNAL)
    if not asked.resume:
        journal.forget()
    kept = {one.name: journal.killer_of(one) for one in chosen}
    outcomes = [Outcome(one, kept[one.name], 0.0) for one in chosen if kept[one.name] is not None]
    left = [one for one in chosen if kept[one.name] is None]
    for number, found in enumerate(_outcomes(runner, left, asked.workers), start=len(outcomes) + 1):
        outcomes.append(found)
        if found.killer is not None:
            journal.add(found.fault, found.killer)
        print(f"{number}/{len(chosen)} {_line(found)}", flush=True)
    return _without_false_killers(outcomes, runner.every[0])


def _outcomes(runner: Runner, faults: Sequence[Fault], workers: int) -> Iterator[Outcome]:
    """Yield outcomes as they come, and say now and then how long the others take."""
    began = time.perf_counter()
    pool = ThreadPoolExecutor(workers)
    try:
        running = [pool.submit(runner.outcome, one) for one in faults]
        for number, done in enumerate(as_completed(running), start=1):
            yield done.result()
            if number % _TOLD == 0:
                pace = (time.perf_counter() - began) / number
                print(f"about {pace * (len(faults) - number) / 60:.0f} min left", flush=True)
    except BaseException:  # those that run end with the processes of their copies
        runner.close()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _without_false_killers(outcomes: list[Outcome], copy: Copy) -> list[Outcome]:
    """Return the outcomes, those without a killer whose killer fails on the tree as it is."""
    killers = sorted({one.killer for one in outcomes if one.killer and ".py" in one.killer})
    failing = set(copy.failing([*_MARKED, *killers], ALL, most=len(killers))) if killers else set()
    for killer in sorted(failing):
        print(f"{killer} fails on the tree as it is")
    return [replace(one, killer=None) if one.killer in failing else one for one in outcomes]


def _line(outcome: Outcome) -> str:
    ended = "killed" if outcome.killer else "SURVIVED"
    by = outcome.killer or outcome.note or "nothing"
    return f"{ended:9}{outcome.seconds:7.1f} s  {outcome.fault.name:40}{by}"


def _names() -> set[str]:
    return {one.name for one in faults()}


def _wanted(fault: Fault, asked: argparse.Namespace) -> bool:
    named = not asked.only or fault.name in asked.only
    return named and (not asked.room or fault.room in asked.room)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__.partition("\n")[0])
    parser.add_argument("--only", action="append", choices=sorted(_names()), metavar="NAME")
    parser.add_argument("--room", action="append", choices=ROOMS)
    parser.add_argument("--fault", type=Path, metavar="FILE", help="those of a file of your own")
    parser.add_argument("--resume", action="store_true", help="go on where a run was ended")
    parser.add_argument("--list", action="store_true", help="name the faults and run none")
    parser.add_argument(
        "--near", type=float, default=NEAR, help="CPU seconds; if given, not `make test`"
    )
    parser.add_argument("--record", action="store_true", help="keep the killers for the next run")
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    if asked.record and asked.fault is not None:
        parser.error("--record keeps killers of the faults in tests/mutants alone, not of --fault")
    return asked


if __name__ == "__main__":
    sys.exit(main())
