"""Environments of packages: this one, or an own environment that is built once.

An environment is named by a hash of its requirements and its Python, built under another name and
renamed when it is whole, and found again by that name. Nothing in it knows of dpaudit.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

from dpaudit.errors import DpauditError, InvalidArgument, VerbatimText
from dpaudit.execution.pool import Crew
from dpaudit.execution.processes import Limits, TaskReference
from dpaudit.execution.units import Unit
from dpaudit.extension.package import Package
from dpaudit.scan.finding import PackageEnvironment
from dpaudit.scan.remote.foreign import SCRIPT
from dpaudit.scan.remote.interpreters import find_interpreter

_NAMED = re.compile(
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)==(?P<version>[A-Za-z0-9][A-Za-z0-9.+!-]*)"
)
# Newest first; the worker needs Python 3.9 or later.
_PYTHONS = ("3.13", "3.12", "3.11", "3.10", "3.9")
_PATIENCE = 1800.0  # seconds for an environment to be built


class CannotBeBuilt(DpauditError):
    """An environment that cannot be built."""


@dataclass(frozen=True)
class VersionEnvironment:
    """The environment of one version of a package.

    Parameters
    ----------
    python
        The Python of its environment; None beside dpaudit.
    version
        Of the package.
    requirements
        What the environment was built from; empty beside dpaudit.
    """

    python: str | None
    version: str
    requirements: tuple[str, ...] = ()

    @property
    def command(self) -> str:
        """The Python that runs there."""
        return self.python or sys.executable

    def crew(self, limits: Limits) -> Crew:
        """Return workers there."""
        return Crew(limits, self.command)

    def described(self) -> PackageEnvironment:
        """Return the installed packages there, for a report.

        Raises
        ------
        DpauditError
            Its Python does not run, or cannot say it.
        """
        task = TaskReference(f"{SCRIPT}:about", {})
        try:
            with self.crew(Limits(timeout=120.0)) as crew:
                (((python, versions),),) = crew.draw(task, [Unit(1, np.random.SeedSequence(0))], 1)
        except DpauditError as error:
            where = Path(self.command).parents[1]
            again = "" if self.python is None else "; without it, it is built again"
            raise DpauditError(f"environment {where}: does not work ({error}){again}") from error
        return PackageEnvironment(
            python=python,
            isolated=self.python is not None,
            requirements=list(self.requirements),
            versions=versions,
        )


def place_of(package: Package, pinned: str | None = None) -> VersionEnvironment:
    """Return where a package runs, its environment built if need be.

    Parameters
    ----------
    package
        The card.
    pinned
        ``distribution==version``, or a version: an environment of its own for it. None takes the
        package that is installed beside dpaudit if the card knows its version, else the card's
        first version in an environment of its own.

    Raises
    ------
    InvalidArgument
        It names another distribution.
    DpauditError
        The environment cannot be built, in one line.
    """
    if pinned is None:
        here = find_installed_version(package.distribution)
        # Only a version that the card knows is scanned in place: another one may document other
        # claims.
        if here in package.versions:
            return VersionEnvironment(None, str(here))
    wanted = package.versions[0] if pinned is None else _parse_pinned_version(package, pinned)
    requirements = package.pins(wanted)
    alone = requirements[:1] if package.bare else ()
    return VersionEnvironment(
        str(build_environment(requirements, package.python, alone)), wanted, requirements
    )


def find_installed_version(distribution: str) -> str | None:
    """Return the version of a distribution that is installed beside dpaudit, if one is."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def _parse_pinned_version(package: Package, pinned: str) -> str:
    if "==" not in pinned:
        pinned = f"{package.distribution}=={pinned}"
    found = _NAMED.fullmatch(pinned)
    same = found is not None and _normalise_distribution_name(
        found["name"]
    ) == _normalise_distribution_name(package.distribution)
    if found is None or not same:
        expected = (
            f"{package.distribution}==VERSION, such as {package.pins(package.versions[0])[0]}"
        )
        raise InvalidArgument("env", pinned, expected)
    return found["version"]


def _normalise_distribution_name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


# Building


def get_environment_cache() -> Path:
    """Return the folder of all environments: in the user's cache, or ``DPAUDIT_ENVIRONMENTS``."""
    if given := os.environ.get("DPAUDIT_ENVIRONMENTS"):
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "dpaudit" / "environments"


def build_environment(
    requirements: Sequence[str], python: str = "", alone: Sequence[str] = ()
) -> Path:
    """Return the Python of an environment with some requirements, built if there is none yet.

    Parameters
    ----------
    requirements
        As pip takes them.
    python
        Which versions of Python will do, such as ``<3.12``; empty for dpaudit's own.
    alone
        Those that are installed without what they depend on.

    Raises
    ------
    DpauditError
        It cannot be built: no such Python, or what pip said last.
    """
    chosen = _choose_interpreter(python)
    bare = [f"{one} alone" for one in alone]
    named = "\n".join([*sorted(requirements), _read_python_version(chosen), *bare])
    target = get_environment_cache() / hashlib.sha256(named.encode()).hexdigest()[:20]
    if not (target / "bin" / "python").exists():
        if target.exists():  # its Python was removed, or moved
            shutil.rmtree(target, ignore_errors=True)
        _build_at_target(target, chosen, requirements, alone)
    return target / "bin" / "python"


def _build_at_target(
    target: Path, base: str, requirements: Sequence[str], alone: Sequence[str]
) -> None:
    """Build an environment under another name, and give it its name when it is whole."""
    # The number of the process keeps two scans that build the same environment out of each
    # other's way.
    half = target.with_name(f"{target.name}.{os.getpid()}.part")
    shown = " ".join(requirements)
    try:
        half.parent.mkdir(parents=True, exist_ok=True)
        for command in _generate_build_commands(half, base, requirements, alone):
            _run_build_command(command, shown)
        (half / "requirements.txt").write_text("\n".join(requirements) + "\n", encoding="utf-8")
        try:
            half.rename(target)
        except OSError:
            if not (target / "bin" / "python").exists():  # else another scan was quicker
                raise
    except OSError as error:
        raise CannotBeBuilt(f"environment for {shown}: cannot be built: {error}") from error
    finally:
        shutil.rmtree(half, ignore_errors=True)


def _generate_build_commands(
    half: Path, base: str, requirements: Sequence[str], alone: Sequence[str]
) -> Iterator[list[str]]:
    python = str(half / "bin" / "python")
    others = [one for one in requirements if one not in alone]
    if uv := shutil.which("uv"):
        yield [uv, "venv", "--quiet", "--python", base, str(half)]
        install = [uv, "pip", "install", "--quiet", "--python", python]
        yield from _generate_install_commands(install, others, alone)
        return
    yield [base, "-m", "venv", str(half)]
    quiet = ("--quiet", "--disable-pip-version-check", "--no-input")
    yield from _generate_install_commands([python, "-m", "pip", "install", *quiet], others, alone)


def _generate_install_commands(
    install: list[str], others: Sequence[str], alone: Sequence[str]
) -> Iterator[list[str]]:
    if alone:
        yield [*install, "--no-deps", *alone]
    if others:
        yield [*install, *others]


def _run_build_command(command: Sequence[str], shown: str) -> None:
    # PYTHONPATH would let modules of the caller's environment stand in for those that are
    # installed.
    environment = {name: one for name, one in os.environ.items() if name != "PYTHONPATH"}
    try:
        subprocess.run(
            command,
            check=True,
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            stdin=subprocess.DEVNULL,
            env=environment,
        )
    except subprocess.TimeoutExpired as error:
        said = f"not done after {_PATIENCE:g} seconds"
        raise CannotBeBuilt(f"environment for {shown}: {said}") from error
    except subprocess.CalledProcessError as error:
        said = _last_line(error.stderr) or _last_line(error.stdout) or f"status {error.returncode}"
        raise CannotBeBuilt(f"environment for {shown}: {said}") from error


def _last_line(text: str | None) -> str:
    """Return the line that names the error: the last with such a word, else the last line."""
    lines = [line.strip() for line in (text or "").splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().startswith("error")]
    return (errors or lines or [""])[-1]


def _choose_interpreter(wanted: str) -> str:
    """Return a Python whose version will do: this one, else another that is found."""
    if _is_version_wanted(_of_this(), wanted):
        return sys.executable
    for one in _PYTHONS:
        if _is_version_wanted(one, wanted) and (found := find_interpreter(one)) is not None:
            return found
    expected = f"a Python {wanted} on the path, from pyenv or uv, for an environment of its own"
    raise InvalidArgument("python", VerbatimText(_of_this()), expected)


def _read_python_version(command: str) -> str:
    if command == sys.executable:
        return _of_this()
    asked = "import sys; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run([command, "-c", asked], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _of_this() -> str:
    return f"{sys.version_info[0]}.{sys.version_info[1]}"


def _is_version_wanted(given: str, wanted: str) -> bool:
    """Return whether a version of Python is among those wanted.

    Examples
    --------
    >>> (
    ...     _is_version_wanted("3.11", ">=3.9,<3.12"),
    ...     _is_version_wanted("3.12", "<3.12"),
    ...     _is_version_wanted("3.9", ""),
    ...     _is_version_wanted("3.9", "3.9"),
    ... )
    (True, False, True, True)
    """
    compared = {
        ">=": lambda one, other: one >= other,
        "<=": lambda one, other: one <= other,
        "==": lambda one, other: one == other,
        "<": lambda one, other: one < other,
        ">": lambda one, other: one > other,
    }
    version_given = _parse_version_numbers(given)
    for condition in filter(None, map(str.strip, wanted.split(","))):
        sign = next((one for one in compared if condition.startswith(one)), "")
        if not compared[sign or "=="](
            version_given, _parse_version_numbers(condition.removeprefix(sign))
        ):
            return False
    return True


def _parse_version_numbers(given: str) -> tuple[int, ...]:
    try:
        return tuple(int(one) for one in given.strip().split("."))
    except ValueError:
        raise InvalidArgument("python", given, "versions such as >=3.9,<3.12") from None
