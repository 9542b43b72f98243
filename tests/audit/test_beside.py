"""A module beside a specification hides no library, and says so when it is hidden itself."""

import json
import subprocess
import sys
import warnings

import pytest

from dpaudit.auditing.specification.sibling_modules import HiddenModule, require_reachable
from dpaudit.errors import InvalidArgument

SUM = """
import numpy as np
class Sum:
    def sample(self, dataset, trials, rng):
        return np.sum(dataset) + rng.laplace(scale=0.2, size=trials)
"""
AUDIT = """
[audit]
mechanism = "{module}:Sum"
dataset = [0]
neighbour = [1]
epsilon = 1.0
delta = 0.0
trials = 200
"""
LIBRARIES = ("numpy", "secrets", "pydantic", "typer", "json", "sklearn")


def audit(folder, *options):
    command = [sys.executable, "-m", "dpaudit", "audit", "audit.toml", "--json", *options]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "options",
    [(), pytest.param(("--in-process",), marks=pytest.mark.slow)],
    ids=["apart", "in-process"],
)
def test_no_file_beside_a_specification_takes_the_place_of_a_library(tmp_path, options):
    for name in LIBRARIES:
        (tmp_path / f"{name}.py").write_text(f"raise SystemExit('{name} of the folder')")
    (tmp_path / "own_sum.py").write_text(SUM)
    (tmp_path / "audit.toml").write_text(AUDIT.format(module="own_sum"))
    ran = audit(tmp_path, *options)
    assert ran.returncode == 1
    assert json.loads(ran.stdout)["results"][0]["verdict"] == "refuted"
    (line,) = ran.stderr.splitlines()  # own_sum imports numpy: which is meant?
    assert line.startswith("warning: ")
    assert "/numpy.py cannot be imported, as numpy is " in line
    assert line.endswith("/numpy/__init__.py; rename it")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    return tmp_path


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("sys", "Python's own; "),
        ("secrets", "Python's own /.*/secrets.py; "),
        ("numpy", "/.*/numpy/__init__.py; "),
    ],
)
def test_a_hidden_module_that_is_named_is_refused(folder, name, where):
    (folder / f"{name}.py").write_text(SUM)
    with pytest.raises(InvalidArgument, match=f"/{name}.py cannot be imported, as .* is {where}"):
        require_reachable({"pair": None, "mechanism": f"{name}.part:Sum"}, folder, {})


def test_a_module_that_was_imported_from_elsewhere_is_refused(folder):
    (folder / "own_sum.py").write_text(SUM)
    other = type(sys)("own_sum")
    other.__file__ = __file__
    with pytest.raises(InvalidArgument, match=f"as own_sum is {__file__}; rename it"):
        require_reachable({"mechanism": "own_sum:Sum"}, folder, {"own_sum": other})


def test_what_a_module_imports_in_turn_is_a_warning(folder):
    (folder / "own_sum.py").write_text("import own_helpers, own_sum\n" + SUM)
    (folder / "own_helpers.py").write_text("def f():\n    from secrets import token_bytes\n")
    (folder / "secrets.py").write_text("")
    with pytest.warns(HiddenModule, match="/secrets.py cannot be imported, as secrets is"):
        require_reachable({"mechanism": "own_sum:Sum"}, folder, {})


def test_names_that_are_free_or_not_beside_are_let_be(folder):
    (folder / "own_sum.py").write_text("from . import numpy\nimport own_package, no_such\n" + SUM)
    (folder / "own_package").mkdir()
    (folder / "own_package" / "__init__.py").write_text("import own_faulty")
    (folder / "own_faulty.py").write_text("def")
    references = {"mechanism": "own_sum:Sum", "pair": "numpy:pi", "pairs": "nowhere:PAIRS"}
    with warnings.catch_warnings(record=True) as caught:
        require_reachable(references, folder, {})
    assert caught == []
