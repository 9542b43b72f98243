"""A release, built, checked and tried on every supported Python: ``make release``.

It builds a source distribution and from that a wheel, checks metadata, contents, versions, citation
and issue forms, and on each Python installs the wheel into a clean environment with the pinned
dependencies and runs the README there, from the files of the source distribution. The status is
1 if anything fails, and 3 if all went well but a Python was missing (0 with ``--allow-missing``).
"""

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from dpaudit.scan.remote.interpreters import find_interpreter
from tests.release import checks

ROOT = Path(__file__).resolve().parents[2]
FAILED, MISSING = 1, 3
FORMS = ROOT / ".github" / "ISSUE_TEMPLATE"
README_TESTS = ("tests/test_readme.py",)
EXAMPLE_TESTS = "tests/examples"
QUIET = ("-q", "-p", "no:cacheprovider")
EVERY = ("-m", "slow or not slow", *QUIET)


@dataclass
class Outcome:
    """What failed, which Pythons were missing, and what an upload still needs."""

    failed: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)

    def note(self, name: str, complaints: list[str]) -> bool:
        """Print how a step went, and keep its name if it failed."""
        print(f"{'FAILED' if complaints else 'ok':7}{name}", flush=True)
        for line in complaints:
            print(f"       {line}", flush=True)
        if complaints:
            self.failed.append(name)
        return not complaints

    def status(self, allow_missing: bool) -> int:
        """Return the exit status."""
        if self.failed:
            return FAILED
        return MISSING if self.missing and not allow_missing else 0


def said(command: list[str], cwd: Path = ROOT) -> list[str]:
    """Return the last lines of what a command says if it fails, else nothing."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PYTEST", "PIP_R"))}
    done = subprocess.run(
        command,
        cwd=cwd,
        env=kept,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode == 0:
        return []
    return (done.stdout + done.stderr).strip().splitlines()[-40:] or [f"status {done.returncode}"]


def tool(module: str, *words: object) -> list[str]:
    """Return the command of a tool that is installed beside this Python."""
    return [sys.executable, "-m", module, *map(str, words)]


# Steps


def built(folder: Path, outcome: Outcome) -> tuple[Path, Path] | None:
    """Build both files, in place of those of an earlier release."""
    for old in [*folder.glob(f"{checks.NAME}-*.tar.gz"), *folder.glob(f"{checks.NAME}-*.whl")]:
        old.unlink()
    command = tool("build", "--outdir", folder)
    if not outcome.note("build of sdist and wheel", said(command)):
        return None
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return sdist, wheel


def checked(sdist: Path, wheel: Path, outcome: Outcome) -> None:
    """Check files, metadata and what the repository says beside them."""
    declared = checks.project(ROOT)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    about = checks.metadata(wheel)
    outcome.note("versions and dates", checks.about_versions(ROOT))
    outcome.note("files of the wheel", checks.about_wheel(wheel))
    outcome.note("files of the sdist", checks.about_sdist(sdist, readme))
    outcome.note("metadata, classifiers, addresses", checks.about_metadata(about, declared))
    for name, command in tools(sdist, wheel):
        outcome.note(name, said(command))
    outcome.left += checks.left_to_state(about)


def tools(sdist: Path, wheel: Path) -> Iterator[tuple[str, list[str]]]:
    """Return what other people's tools check, by name."""
    yield "pyproject.toml (validate-pyproject)", tool("validate_pyproject", ROOT / "pyproject.toml")
    yield "description (twine)", tool("twine", "check", "--strict", sdist, wheel)
    yield "wheel (check-wheel-contents)", tool("check_wheel_contents", wheel)
    schema = ("check_jsonschema", "--builtin-schema")
    citation = ROOT / "CITATION.cff"
    yield (
        "CITATION.cff",
        tool(*schema, "vendor.citation-file-format", "--force-filetype", "yaml", citation),
    )
    forms = [one for one in sorted(FORMS.glob("*.yml")) if one.name != "config.yml"]
    yield "issue forms", tool(*schema, "vendor.github-issue-forms", *forms)
    yield "issue chooser", tool(*schema, "vendor.github-issue-config", FORMS / "config.yml")


def tried(python: str, name: str, sdist: Path, wheel: Path, outcome: Outcome) -> None:
    """Install the wheel into a clean environment, and run the README there."""
    with tempfile.TemporaryDirectory(prefix="release-") as given:
        place = Path(given)
        own, source = place / "environment" / "bin" / "python", unpacked(sdist, place)
        start = time.monotonic()
        steps = {
            "environment": [python, "-m", "venv", str(place / "environment")],
            "wheel installed": [str(own), *installing(wheel)],
            "consistent": [str(own), "-m", "pip", "check"],
            "is the wheel's": [str(own), "-P", "-c", imported(place)],
            "dpaudit list": [str(own.with_name("dpaudit")), "list"],
            "README run": [str(own), "-P", "-m", "pytest", *EVERY, *README_TESTS],
            "examples run": [str(own), "-P", "-m", "pytest", *QUIET, EXAMPLE_TESTS],
        }
        for step, command in steps.items():
            if not outcome.note(f"Python {name}: {step}", said(command, source)):
                return
        print(f"       Python {name} took {time.monotonic() - start:.0f} seconds", flush=True)


def unpacked(sdist: Path, place: Path) -> Path:
    """Return the folder of a source distribution that was unpacked."""
    with tarfile.open(sdist) as opened:
        opened.extractall(place, filter="data")
    return place / sdist.name.removesuffix(".tar.gz")


def installing(wheel: Path) -> list[str]:
    """Return the words by which pip installs the wheel with its pinned dependencies."""
    quiet = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    return [*quiet, "--constraint", str(ROOT / "constraints.txt"), f"{wheel.resolve()}[testing]"]


def imported(place: Path) -> str:
    """Return code that fails unless dpaudit comes from the environment, not from the source."""
    return (
        "import dpaudit, pathlib, sys; here = pathlib.Path(dpaudit.__file__).resolve(); "
        f"sys.exit(not here.is_relative_to({str(place.resolve() / 'environment')!r}))"
    )


def main(words: list[str] | None = None) -> int:
    """Build, check and try a release; return the exit status."""
    options = _options().parse_args(words)
    outcome, start = Outcome(), time.monotonic()
    if (files := built(options.out, outcome)) is None:
        return FAILED
    checked(*files, outcome)
    for minor in checks.minors(checks.project(ROOT)["requires-python"]):
        if (python := find_interpreter(f"3.{minor}", options.python)) is None:
            print(f"MISSED Python 3.{minor}: no interpreter here runs and can make environments")
            outcome.missing.append(f"3.{minor}")
        else:
            tried(python, f"3.{minor}", *files, outcome)
    _close(outcome, files, time.monotonic() - start)
    return outcome.status(options.allow_missing)


def _close(outcome: Outcome, files: tuple[Path, Path], seconds: float) -> None:
    print(f"\n{', '.join(one.name for one in files)}: {seconds:.0f} seconds")
    for name in outcome.failed:
        print(f"FAILED {name}")
    for line in outcome.left:
        print(f"BEFORE AN UPLOAD: {line}")
    if outcome.missing:
        print(
            f"NOT TRIED on Python {', '.join(outcome.missing)}: name interpreters with "
            "RELEASE_ARGS='--python PATH', or go on without with ALLOW_MISSING=1"
        )


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, prog="make release RELEASE_ARGS=")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder of both files")
    parser.add_argument("--python", action="append", default=[], help="a Python to try, too")
    parser.add_argument(
        "--allow-missing", action="store_true", help="status 0 though a Python is missing"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
