"""Editors and type checkers find all of ``dpaudit``: in the checkout, and installed in place.

The top-level folders ``algorithms/`` and ``attacks/`` are rooms of ``dpaudit``. The tools run no
import hook, so each test asks them for names in both rooms, and for one that is not there.
"""

import json
import subprocess
import sys
from pathlib import Path

import jedi
import pytest

ROOT = Path(__file__).resolve().parents[1]
USER = """\
import dpaudit.algorithms.multistep.claims.theorem4 as theorem4
from dpaudit.algorithms.sharing.releases import HU2020_MESSAGE
from dpaudit.attacks.cards import STATIONARITY

reveal_type(theorem4.CLAIM)
reveal_type(HU2020_MESSAGE)
reveal_type(STATIONARITY)
"""
TYPES = ["Claim", "ReleaseCard", "Attack"]
WRONG = "from dpaudit.algorithms import an_algorithm_that_nobody_wrote\n"
NAMES = {"theorem4": (1, 55), "HU2020_MESSAGE": (2, 50), "STATIONARITY": (3, 36)}


@pytest.fixture(params=["checkout", "elsewhere"])
def place(request, tmp_path):
    """Return a folder: in the checkout, where Python finds dpaudit beside it, or of a user."""
    return ROOT if request.param == "checkout" else tmp_path


def run_pyright(folder, text):
    """Return what pyright says of a module that imports dpaudit, as (severity, message)."""
    module = folder / "seen_by_pyright.py"
    project = folder / "pyrightconfig.json"
    module.write_text(text)
    project.write_text(json.dumps({"include": [module.name], "typeCheckingMode": "standard"}))
    try:
        command = [sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath"]
        done = subprocess.run(
            [*command, sys.executable, "--project", str(folder)],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        module.unlink()
        project.unlink()
    assert done.stdout, (done.returncode, done.stderr)
    found = json.loads(done.stdout)["generalDiagnostics"]
    return [(one["severity"], one["message"]) for one in found]


def test_pyright_finds_every_room(place):
    said = run_pyright(place, USER + WRONG)
    assert [text for level, text in said if level == "error"] == [
        '"an_algorithm_that_nobody_wrote" is unknown import symbol'
    ]
    revealed = [text for level, text in said if level == "information"]
    assert [text.rpartition("is ")[2].strip('"') for text in revealed] == TYPES


def test_jedi_finds_every_room(place):
    script = jedi.Script(USER, path=place / "seen.py", project=jedi.Project(place))
    for name, (line, column) in NAMES.items():
        (found,) = script.goto(line, column, follow_imports=True)
        assert found.name == name
        assert Path(found.module_path).resolve().is_relative_to(ROOT)
    unknown = jedi.Script(WRONG, path=place / "seen.py", project=jedi.Project(place))
    assert unknown.goto(1, 40, follow_imports=True) == []


@pytest.mark.slow
def test_mypy_finds_every_room_from_elsewhere(tmp_path):  # `make types` is about the checkout
    module = tmp_path / "seen.py"
    module.write_text(USER)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", str(module)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    revealed = done.stdout.splitlines()[: len(TYPES)]
    assert [line.rpartition(".")[2].strip('"') for line in revealed] == TYPES


def test_nothing_else_of_the_checkout_is_on_the_import_path(tmp_path):
    code = (
        "import importlib.util as u; print([n for n in "
        "('algorithms', 'attacks', 'benchmarks', 'docs', 'reports') if u.find_spec(n)])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
