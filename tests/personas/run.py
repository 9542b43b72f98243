"""Four personas from a fresh clone and from the wheel: ``python -m tests.personas.run``.

Each has an environment of its own with the versions of constraints.txt, and types what its section
of docs/first-hour.md shows. What it shows has to come, in at most 15 lines and five minutes.
"""

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests.personas.page import MOST_LINES, MOST_SECONDS, PERSONAS, ROOT, Step, steps

SOURCES = ("clone", "wheel")


@dataclass(frozen=True)
class Place:
    """A folder of a persona's own, with a Python of its own, and what is installed from."""

    folder: Path
    source: Path

    @property
    def programs(self) -> Path:
        """Return where the programs of the environment are."""
        return self.folder / "own" / "bin"

    def typed(self, command: str) -> subprocess.CompletedProcess[str]:
        """Type a command; ``pip install dpaudit`` installs what is tried here."""
        wanted = command.replace(" 'dpaudit[", f" '{self.source}[")
        wanted = wanted.replace("install dpaudit", f"install '{self.source}'")
        environment = os.environ | {
            "PATH": f"{self.programs}{os.pathsep}{os.environ['PATH']}",
            "PIP_CONSTRAINT": str(ROOT / "constraints.txt"),
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "DPAUDIT_STORE": "",
        }
        return _ended(
            subprocess.Popen(
                wanted, shell=True, cwd=self.folder, env=environment, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
            )
        )  # fmt: skip


def _ended(running: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    """Wait for a command; end it with all that it started where it takes too long."""
    try:
        out, err = running.communicate(timeout=MOST_SECONDS)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
        running.communicate()
        raise
    return subprocess.CompletedProcess(running.args, running.returncode, out, err)


def prepared(kind: str, folder: Path) -> Path:
    """Return what is installed: a clone of what is committed, or the wheel that is built of it."""
    clone = folder / "clone"
    if not clone.exists():
        _run("git", "clone", "--quiet", str(ROOT), str(clone))
    if kind == "clone":
        return clone
    if not list(folder.glob("*.whl")):
        words = ("-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder))
        _run(sys.executable, *words, str(clone))
    (wheel,) = folder.glob("*.whl")
    return wheel


def _run(*words: str) -> None:
    subprocess.run(words, check=True)


def tried(persona: str, place: Place) -> tuple[float, list[str]]:
    """Let a persona type its lines; return the seconds, and whatever did not come."""
    place.folder.mkdir(parents=True)
    began, wrong = time.monotonic(), list[str]()
    _run(sys.executable, "-m", "venv", str(place.folder / "own"))
    for step in steps(persona):
        try:
            wrong += done(step, place)
        except subprocess.TimeoutExpired as late:
            wrong.append(f"{step.text}: not done in {late.timeout:g} s")
            break
    return time.monotonic() - began, wrong


def done(step: Step, place: Place) -> list[str]:
    """Carry out a line; return what it should have shown and did not."""
    if step.file:
        (place.folder / step.file).write_text(step.text, encoding="utf-8")
        return []
    said = place.typed(step.text)
    fails = step.text.startswith(("pip", "python", "dpaudit new", "dpaudit verify", "sed"))
    if said.returncode not in ((0,) if fails else (0, 1)):
        return [f"{step.text}: status {said.returncode}\n{said.stdout}{said.stderr}"]
    wanted = [line for line in step.shown if line != "..."]
    return [
        f"{step.text}: {line!r} is not in\n{said.stdout}{said.stderr}"
        for line in wanted
        if line not in said.stdout
    ]


def judged(persona: str, seconds: float, wrong: list[str]) -> tuple[str, bool]:
    """Return a line on how a persona fared, and whether it fared well."""
    lines = len(steps(persona))
    good = not wrong and lines <= MOST_LINES and seconds <= MOST_SECONDS
    verdict = "gets there" if good else "stumbles"
    return f"{persona:<12}{lines:>3} lines {seconds:>6.0f} s  {verdict}", good


def main() -> int:
    """Try personas that are named, or all of them, from the sources asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("personas", nargs="*", metavar="PERSONA", help=", ".join(PERSONAS))
    parser.add_argument("--source", choices=SOURCES, action="append")
    asked, all_good = parser.parse_args(), True
    with tempfile.TemporaryDirectory() as made:
        for kind in asked.source or SOURCES:
            source = prepared(kind, Path(made))
            for persona in asked.personas or PERSONAS:
                # Beside the clone, not in it: pytest would take the clone's settings for theirs.
                place = Place(Path(made) / f"from-{kind}" / persona, source)
                seconds, wrong = tried(persona, place)
                said, good = judged(persona, seconds, wrong)
                print(f"{kind:<6} {said}", *wrong, sep="\n", flush=True)
                all_good = all_good and good
    return 0 if all_good else 1


if __name__ == "__main__":
    sys.exit(main())
