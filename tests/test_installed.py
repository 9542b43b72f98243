"""An installed dpaudit beside a user's own folders ``attacks/`` and ``algorithms/``.

The user's folders and those of dpaudit do not take each other's place: by console script, by
``python -m dpaudit`` and under pytest, from an editable install and from a wheel.
"""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

OWN = """
import os
from pathlib import Path
import numpy as np
from algorithms import SCALE
from attacks import WHOSE


class Sum:
    def sample(self, dataset, trials, rng):
        from attacks.late import shift  # when it runs, also in a worker

        assert WHOSE == "the user's"
        with (Path(__file__).parent / "processes").open("a") as noted:
            noted.write(f"{os.getpid()} ")
        return shift(dataset.sum()) + rng.laplace(scale=SCALE, size=trials)
"""
SPECIFICATION = """
[[audit]]
claim = "huang2020-theorem6"
trials = 200
parameters = { nodes = 2, iterations = 2, inner_steps = 2 }

[[audit]]
mechanism = "own:Sum"
dataset = [0.0, 1.0]
neighbour = [1.0, 1.0]
delta = 0.0
trials = 1000
"""
SUITE = """
import numpy as np
from attacks import WHOSE
from own import Sum

import dpaudit


def test_own_mechanism():
    assert WHOSE == "the user's"
    found = dpaudit.audit(Sum(), np.array([0.0, 1.0]), np.array([1.0, 1.0]), epsilon=1.0)
    assert found.verdict == "refuted"


def test_published_claim():
    short = {"nodes": 2, "iterations": 2, "inner_steps": 2}
    settings = dpaudit.Settings(trials=200, parameters=short)
    assert dpaudit.audit_claim("huang2020-theorem6", settings).verdict == "proved"
"""


@pytest.fixture
def folder(tmp_path):
    """Return a user's folder: packages of the same names as ours, a mechanism, a specification."""
    place = tmp_path / "users"
    for name in ("attacks", "algorithms"):
        (place / name).mkdir(parents=True)
        (place / name / "__init__.py").write_text('WHOSE = "the user\'s"\nSCALE = 0.25\n')
    (place / "attacks" / "late.py").write_text("def shift(value):\n    return value + 1\n")
    (place / "own.py").write_text(OWN)
    (place / "audit.toml").write_text(SPECIFICATION)
    (place / "test_own.py").write_text(SUITE)
    return place


def run(command, folder):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PYTEST"))}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


# As ``python -m dpaudit``, with workers for work of any length; the mechanism notes who runs it.
HANDED_OUT = """
from functools import partial
from dpaudit import execution
execution.Executor = partial(execution.Executor, worth=-1.0)
from dpaudit.cli.main import main
main()
"""
BOTH = (1, ["proved", "refuted"])  # the user's own claim is refuted


def audited(command, folder, workers=1):
    """Return the exit status of an audit of the specification, and the verdicts."""
    ran = run([*command, "audit", "audit.toml", "--json", "--workers", str(workers)], folder)
    results = json.loads(ran.stdout)["results"] if ran.stdout else [{"verdict": ran.stderr}]
    return ran.returncode, [one["verdict"] for one in results]


def suite(python, folder):
    """Return the exit status of the user's tests, and the last line of what they say."""
    options = ["-q", "-p", "no:cacheprovider", "test_own.py"]
    ran = run([python, "-m", "pytest", *options], folder)
    return ran.returncode, ran.stdout.strip().rpartition("\n")[2] or ran.stderr


def ways(python):
    """Return how dpaudit is started: by its console script, and as a module."""
    script = Path(python).parent / "dpaudit"
    return {"console script": [str(script)], "module": [python, "-m", "dpaudit"]}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("way", ways(sys.executable))
def test_a_users_folders_break_no_audit(folder, way):
    assert audited(ways(sys.executable)[way], folder) == BOTH


@pytest.mark.slow
def test_workers_find_a_users_module(folder):
    own = SPECIFICATION[SPECIFICATION.rindex("[[audit]]") :].replace("1000", "300")
    (folder / "audit.toml").write_text(own)
    found = audited([sys.executable, "-c", HANDED_OUT], folder, workers=2)
    assert found == (1, ["refuted"])
    assert len(set((folder / "processes").read_text().split())) >= 2


@pytest.mark.slow
@pytest.mark.sampled(1)
def test_a_users_folders_break_no_test_suite(folder):
    status, said = suite(sys.executable, folder)
    assert status == 0, said
    assert "2 passed" in said


@pytest.mark.slow
def test_an_audit_leaves_the_import_path_as_it_was(folder):
    code = (
        "import sys; before = list(sys.path); from dpaudit.cli.main import main\n"
        "try: main(['audit', 'users/audit.toml', '--json', '--quiet'])\n"
        "except SystemExit as end: assert end.code == 1, end.code\n"
        "assert sys.path == before, sys.path"
    )
    ran = run([sys.executable, "-c", code], folder.parent)
    assert ran.returncode == 0, ran.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Return a wheel built from a copy of the source."""
    source, built = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "dpaudit", source / "dpaudit")  # what its links lead to is copied too
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", str(built)]
    ran = run([*command, str(source)], built)
    assert ran.returncode == 0, ran.stderr
    (found,) = built.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """Return the Python of a fresh environment with the wheel, and today's dependencies."""
    place = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
    python = place / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python)]
    subprocess.run([*pip, "install", "-q", "--no-deps", "--no-index", wheel], check=True)
    # A line of a .pth file adds a path, but not what the .pth files there would add: no editable.
    (site,) = (place / "lib").glob("python*/site-packages")
    here = Path(pytest.__file__).resolve().parents[1]
    (site / "dependencies.pth").write_text(f"{here}\n")
    ran = run([python, "-c", "import dpaudit; print(dpaudit.__file__)"], place)
    assert Path(ran.stdout.strip()).is_relative_to(place), ran.stderr
    return str(python)


@pytest.mark.slow
def test_a_wheel_takes_one_top_level_name(wheel):
    with zipfile.ZipFile(wheel) as contents:
        tops = {name.split("/")[0] for name in contents.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"dpaudit"}


@pytest.mark.slow
def test_a_users_folders_break_nothing_of_a_wheel(installed, folder):
    for command in ways(installed).values():
        assert audited(command, folder) == BOTH
    assert audited([installed, "-c", HANDED_OUT], folder, workers=2) == BOTH
    status, said = suite(installed, folder)
    assert status == 0, said
    assert "2 passed" in said
