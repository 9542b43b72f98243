"""The first files of a project that audits: a specification, a test, and a job that runs both.

What is written runs at once. A function that is found is tried on five made-up ages; where that
fails, it stands in the specification as a comment with the reason, and an example is audited.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from dpaudit.auditing.repeat.plan import CommandPlan
from dpaudit.auditing.specification.audits_file import (
    of_command_line,
    prepare_mechanism_audit,
    settings_of,
)
from dpaudit.auditing.specification.noisy_functions import NoisyFunction
from dpaudit.errors import DataError, DpauditError
from dpaudit.escaping import one_line
from dpaudit.execution import Executor
from dpaudit.execution.processes import Limits
from dpaudit.files import write_files
from dpaudit.mechanisms.foreign.isolation import Isolation

SPECIFICATION = "privacy.toml"
TEST = "test_privacy.py"
EXAMPLE = "private_average.py"
JOBS: Mapping[str, str] = {
    "github": ".github/workflows/privacy.yml",
    "gitlab": ".gitlab-ci.yml",
}
_DATASET = [31.0, 44.0, 47.0, 52.0, 75.0]
_NEIGHBOUR = [31.0, 44.0, 47.0, 52.0, 0.0]
_TRIALS = 2000
_FEW = 100
_SECONDS = 20.0
_HEAD = """\
# What is claimed, and of what: dpaudit audit {specification}
#
# The records are made up. Put five records of yours in their place, or a file of them
# (dataset = "ages.csv"), and for the neighbour the same with the record changed that tells most.
# Then write the epsilon that you claim. docs/specifications.md has all keys.
"""
_TABLE = """
[[audit]]
mechanism = "{reference}"
relation = "replace-record"
dataset = {dataset}
neighbour = {neighbour}
epsilon = {epsilon}
delta = 0.0
trials = {trials}
"""
_EXAMPLE = '''\
"""An example to begin with: replace it by a function of yours."""

import numpy as np


def average_age(ages, rng):
    """Return the average of ages from 0 to 100, with epsilon = {epsilon} for a changed record."""
    clipped = np.clip(ages, 0, 100)
    return clipped.mean() + rng.laplace(scale=100 / ({epsilon} * len(clipped)))
'''
_TEST = '''\
"""What functions claim about privacy; a claim that is refuted fails its test."""

import numpy as np
import pytest
{imports}

DATASET = np.array({dataset})
NEIGHBOUR = np.array({neighbour})  # one record is another
{tests}'''
_ONE_TEST = """

@pytest.mark.dp(epsilon={epsilon}, relation="replace-record", trials={trials})
def test_{name}(dp_audit):
    dp_audit({called}, DATASET, NEIGHBOUR)
"""
_GITHUB = """\
name: privacy
on: [push, pull_request]
permissions:
  contents: read
jobs:
  privacy:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - run: {install}
      - run: {audit} --format github
      - run: {test}
      - if: always()
        uses: actions/upload-artifact@v4
        with:
          name: privacy-report
          path: privacy-report
"""
_GITLAB = """\
privacy:
  image: python:3.12
  script:
    - {install}
    - {audit} --format junit=privacy.xml
    - {test}
  artifacts:
    when: always
    paths:
      - privacy-report
    reports:
      junit: privacy.xml
"""
_TEMPLATES = {"github": _GITHUB, "gitlab": _GITLAB}


@dataclass(frozen=True)
class FunctionCheck:
    """A function that was found, and why it does not run on made-up records; None if it does."""

    function: NoisyFunction
    why: str | None


@dataclass(frozen=True, kw_only=True)
class FirstFiles:
    """The files to write into a project.

    Parameters
    ----------
    folder
        Of the project.
    ci
        Whose job: a name of `JOBS`.
    epsilon
        That is claimed at first.
    tried
        The functions that were found; the example stands in where none runs.
    """

    folder: Path
    ci: str
    epsilon: float
    tried: Sequence[FunctionCheck] = field(default=())

    @property
    def audited(self) -> list[str]:
        """The functions that are audited at first."""
        return [one.function.reference for one in self.tried if one.why is None]

    def contents(self) -> dict[str, str]:
        """Return the files by their paths below the folder."""
        audited = self.audited or [f"{Path(EXAMPLE).stem}:average_age"]
        example = {} if self.audited else {EXAMPLE: _EXAMPLE.format(epsilon=self.epsilon)}
        return {
            **example,
            SPECIFICATION: self._specification(audited),
            TEST: self._test(audited),
            JOBS[self.ci]: self._job(),
        }

    def write(self) -> list[Path]:
        """Write the files where none is there; return their paths.

        Raises
        ------
        DataError
            One is there already, and nothing is written; or one cannot be written.
        """
        files = {self.folder / name: text for name, text in self.contents().items()}
        # All are looked at before any is written, so that nothing is left half done.
        refuse_present(list(files))
        for file, text in files.items():
            write_files(file.parent, {file: text.encode("utf-8")})
        return list(files)

    def _specification(self, audited: Sequence[str]) -> str:
        head = _HEAD.format(specification=SPECIFICATION)
        tables = [self._table(one) for one in audited]
        others = [self._comment(one) for one in self.tried if one.why is not None]
        return head + "".join([*tables, *others])

    def _table(self, reference: str) -> str:
        return _TABLE.format(
            reference=reference,
            dataset=_DATASET,
            neighbour=_NEIGHBOUR,
            epsilon=self.epsilon,
            trials=_TRIALS,
        )

    def _comment(self, one: FunctionCheck) -> str:
        """Return the table of a function that does not run on made-up records, as a comment."""
        lines = self._table(one.function.reference).strip().splitlines()
        why = f"# {one.function.reference} does not run yet: {one.why}"
        return "\n" + "\n".join([why, *(f"# {line}" for line in lines)]) + "\n"

    def _test(self, audited: Sequence[str]) -> str:
        modules = sorted({one.partition(":")[0] for one in audited})
        names = [one.replace(".", "_").replace(":", "_") for one in audited]
        tests = [
            _ONE_TEST.format(
                name=name, called=one.replace(":", "."), epsilon=self.epsilon, trials=_TRIALS
            )
            for name, one in zip(names, audited, strict=True)
        ]
        return _TEST.format(
            imports="\n".join(f"import {one}" for one in modules),
            dataset=_DATASET,
            neighbour=_NEIGHBOUR,
            tests="".join(tests),
        )

    def _job(self) -> str:
        needs = 'python -m pip install "dpaudit[testing]"'
        if (self.folder / "requirements.txt").is_file():
            needs += " -r requirements.txt"
        if any((self.folder / name).is_file() for name in ("pyproject.toml", "setup.py")):
            needs += " -e ."
        return _TEMPLATES[self.ci].format(
            install=needs,
            audit=f"dpaudit audit {SPECIFICATION} --out privacy-report",
            test=f"python -m pytest {TEST}",
        )


def refuse_present(files: Sequence[Path]) -> None:
    """Refuse to write over files.

    Raises
    ------
    DataError
        One is there.
    """
    for file in files:
        # exists() follows a link, and is false for one that leads nowhere.
        if file.exists() or file.is_symlink():
            cure = "nothing is written over: move it away, or name another folder by --into"
            raise DataError(f"{one_line(str(file))}: is there already, and {cure}")


def get_first_file_paths(folder: Path, ci: str) -> list[Path]:
    """Return the files that are written whatever is found."""
    return [folder / name for name in (SPECIFICATION, TEST, JOBS[ci])]


def _is_importable(reference: str, folder: Path) -> bool:
    """Return whether the package of a function is found: one below ``src`` has to be installed."""
    top = reference.partition(":")[0].partition(".")[0]
    if any((folder / name).exists() for name in (top, f"{top}.py")):
        return True
    try:
        return find_spec(top) is not None
    except ValueError:  # a module that somebody made without one
        return True


def try_function(function: NoisyFunction, folder: Path, epsilon: float) -> FunctionCheck:
    """Return whether a function is audited on made-up records: its code runs, in a process."""
    if not _is_importable(function.reference, folder):
        return FunctionCheck(function, "its package is not installed: pip install --editable .")
    given = {"dataset": _DATASET, "neighbour": _NEIGHBOUR, "relation": "replace-record"}
    isolation = Isolation(limits=Limits(timeout=_SECONDS))
    try:
        asked = of_command_line(function.reference, given, epsilon)
        settings = settings_of(asked, {"trials": _FEW})
        path = folder / SPECIFICATION
        result = prepare_mechanism_audit(asked, settings, path, CommandPlan(), isolation).run(
            Executor()
        )
    except DpauditError as error:
        return FunctionCheck(function, one_line(str(error)))
    withheld = result.result.verdict == "withheld"
    return FunctionCheck(function, one_line(result.result.reason) if withheld else None)
