"""What a user installs: version, typing marker, data files, plug-ins, pins, quick start-up."""

import importlib
import importlib.metadata
import re
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.release.checks import DATA

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("dpaudit", "algorithms", "attacks")
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
PLUGINS = [
    (group, name, value)
    for group, entries in PROJECT["entry-points"].items()
    for name, value in entries.items()
]
HEAVY = ("numpy", "scipy", "sklearn", "statsmodels", "matplotlib", "pandas", "pydantic", "networkx")


def test_installed_version_is_the_declared_one():
    assert importlib.metadata.version("dpaudit") == PROJECT["version"]


def test_changelog_has_a_section_for_the_version():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    sections = re.findall(r"^## \[(.+?)\]", changelog, flags=re.MULTILINE)
    assert sections[0] == "Unreleased"
    assert PROJECT["version"] in sections


def test_the_package_is_marked_as_typed():
    assert (ROOT / "dpaudit" / "py.typed").is_file()  # its subpackages with it


def data_files(package):
    files = (path for path in (ROOT / package).rglob("*") if path.is_file())
    skipped = (".py", ".pyc", ".md")  # modules, their caches, and notes for developers
    return [path.relative_to(ROOT / package) for path in files if path.suffix not in skipped]


def test_every_data_file_is_one_that_a_release_expects():
    files = [file.as_posix() for file in data_files("dpaudit")]
    for linked in ("algorithms", "attacks"):
        files += [f"{linked}/{file.as_posix()}" for file in data_files(linked)]
    assert files
    assert [file for file in files if not any(fnmatch(file, p) for p in DATA)] == []


# Entry points


@pytest.mark.parametrize(("group", "name", "value"), PLUGINS)
def test_entry_point_resolves(group, name, value):
    module, _, attribute = value.partition(":")
    found = importlib.import_module(module)
    assert not attribute or hasattr(found, attribute)  # a plugin of pytest is a module


@pytest.mark.parametrize("group", ["dpaudit.claims", "dpaudit.distinguishers", "dpaudit.attacks"])
def test_installed_entry_points_are_the_declared_ones(group):
    ours = importlib.metadata.distribution("dpaudit").entry_points.select(group=group)
    assert {entry.name: entry.value for entry in ours} == PROJECT["entry-points"][group]


def test_console_script_resolves():
    module, _, attribute = PROJECT["scripts"]["dpaudit"].partition(":")
    assert callable(getattr(importlib.import_module(module), attribute))


# A command line that answers at once


def imports_of(statement):
    code = f"import sys; {statement}; print('\\n'.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return set(done.stdout.split())


def test_command_line_starts_without_heavy_imports():
    assert imports_of("import dpaudit.cli.main").isdisjoint(HEAVY)


LISTED = set(HEAVY) - {"numpy", "pydantic"}  # of cards, and of the models of their parameters


@pytest.mark.parametrize(
    "words",
    [
        ("list",),
        ("show", "huang2020-theorem6"),
        ("show", "learned"),
        ("show", "gaussian"),
    ],
    ids=" ".join,
)
def test_lists_and_pages_are_shown_without_what_audits(words):
    """The command prints first, which is dropped; the names of modules come after it."""
    command = f"from dpaudit.cli.main import app; app({list(words)!r}, standalone_mode=False)"
    loaded = imports_of(command)
    assert "rich" in loaded
    assert loaded.isdisjoint(LISTED)


def test_a_heavy_import_would_be_seen():
    assert "numpy" in imports_of("import dpaudit.neighbours")


# Pins


def pins():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


PIN = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==(\d[A-Za-z0-9.]*)")


@pytest.mark.parametrize("pin", pins())
def test_pin_is_one_exact_release(pin):
    assert PIN.fullmatch(pin)


@pytest.mark.parametrize(
    "line",
    ["numpy>=2", "numpy", "numpy==2.*", "-e .", "numpy @ https://host/x.whl", "numpy==2 --hash=x"],
)
def test_an_inexact_pin_is_caught(line):
    assert not PIN.fullmatch(line)


# pld needs attrs below 24 and diffprivlib scikit-learn below 1.9, which would hold everybody else
# back; the others are only of use to who has mechanisms of theirs.
UNPINNED_EXTRAS = (
    "pld",
    "diffprivlib",
    "opendp",
    "python-dp",
    "pipeline-dp",
    "smartnoise-sql",
    "smartnoise-synth",
    "mbi",
    "opacus",
    "jax-privacy",
    "nvflare",
)


def requirements():
    extras = PROJECT["optional-dependencies"]
    pinned = [lines for name, lines in extras.items() if name not in UNPINNED_EXTRAS]
    listed = PROJECT["dependencies"] + [line for lines in pinned for line in lines]
    return [line for line in listed if Requirement(line).name != "dpaudit"]


@pytest.mark.parametrize("line", requirements())
def test_every_requirement_is_pinned_within_its_range(line):
    pinned = {canonicalize_name(name): version for name, version in PIN.findall("\n".join(pins()))}
    requirement = Requirement(line)
    assert requirement.specifier.contains(pinned[canonicalize_name(requirement.name)])


def test_makefile_accepts_the_declared_pythons():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    oldest, newest = (
        int(re.search(rf"^{n} := (\d+)$", makefile, re.M)[1]) for n in ("OLDEST", "NEWEST")
    )
    assert PROJECT["requires-python"] == f">=3.{oldest},<3.{newest + 1}"
