"""Six private mechanisms and six broken ones in every form, by every command, in several orders.

As text, as a function, a class and an instance, in a script's ``__main__``, and in a notebook. Each
form of each mechanism has an order of commands of its own, and another one with another seed. Of
scores of canaries a canary is no private mechanism's: what is kept gives all of them one noise.
"""

from __future__ import annotations

import hashlib
import inspect
import itertools
import json
import linecache
import os
import secrets
import shutil
import subprocess
import sys
import uuid

import pytest

from dpaudit.auditing.api import own_case
from dpaudit.auditing.run import run_case
from dpaudit.extension.settings import Settings
from dpaudit.guarantees.kinds import ApproximateDP
from dpaudit.mechanisms.foreign.isolation import Isolation, isolate_reference
from dpaudit.neighbours.found_relations import find_pair_relation

from . import kept, varying
from .folder import HERE, reached
from .orders import ORDERS, PAIR, Commands, by_object

PRIVATE = (
    *("key_of_a_file", "key_of_the_environment", "key_of_a_server", "key_drawn_at_import"),
    *("noise_of_a_dictionary", "kept_beside_the_time"),
)
BROKEN = (
    *("scale_of_json", "exact_beside_the_time", "exact_beside_a_counter", "noise_of_numpy"),
    *("half_the_noise", "leak_in_some"),
)

SLOW, CELL = pytest.mark.slow, itertools.count(1)
FORMS = ("function", "text", "class", "instance", "script", "notebook")
CASES = [("kept", name) for name in PRIVATE] + [("varying", name) for name in BROKEN]
SEEDS = pytest.mark.parametrize("seed", [0, pytest.param(1, marks=SLOW)])
SCRIPT = """
if __name__ == "__main__":
    import orders
    seed, certificates, order = sys.argv[1:]
    found = orders.Commands({0}, int(seed), certificates).verdicts(order.split(","))
    print(",".join(found))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    with reached(tmp_path_factory.mktemp(f"forms-{uuid.uuid4().hex}")) as found:
        shutil.copy(HERE / "orders.py", found)
        for module in (kept, varying):
            name = module.__name__.rpartition(".")[2]
            lines = [f"import {name}", *(_class_of(module, one) for one in _names(name))]
            (found / f"{name}_classes.py").write_text("\n".join(lines))
            for one in _names(name):
                script = (found / f"{name}.py").read_text() + "\n\nimport sys\n" + SCRIPT
                (found / f"script_{one}.py").write_text(script.replace("{0}", one))
        yield found


def _names(module):
    return [name for home, name in CASES if home == module]


def _class_of(module, name):
    """Return the source of a class that calls a function."""
    given = ", ".join(inspect.signature(getattr(module, name)).parameters)
    home = module.__name__.rpartition(".")[2]
    return f"class {name}:\n    def __call__(self, {given}):\n        return {home}.{name}({given})"


@pytest.fixture(autouse=True)
def reachable(folder, monkeypatch):
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("KEPT_KEY", secrets.token_hex(16))
    yield
    for name in ("kept", "varying", "kept_classes", "varying_classes"):
        sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def of_broken(folder, tmp_path_factory):
    """Return a folder with the certificates of an audit and of a replay of a broken mechanism."""
    place = tmp_path_factory.mktemp("broken")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        given = __import__("varying").half_the_noise
        assert Commands(given, 5, place).verdicts(("audit", "replay")) == ["refuted", "refuted"]
    return place


def audited_by_text(given, seed):
    case, words = own_case(
        isolate_reference(given, Isolation()),
        find_pair_relation(*PAIR, None)[0],
        claimed=ApproximateDP(1.0, 0.0),
    )
    settings = Settings(trials=600, delta=0.0, seed=seed, confidence=0.9999)
    found = run_case(case, settings, statement=words)
    return found.result.keep(found.certificate, holds_records=False)


def of_cell(source, folder):
    """Return what a cell of a notebook defines: no process imports it, and its source is known."""
    cell = f"<ipython-input-{next(CELL)}-{hashlib.sha256(source.encode()).hexdigest()[:12]}>"
    linecache.cache[cell] = len(source), None, source.splitlines(keepends=True), cell
    space = {"__name__": "__main__", "__file__": str(folder / "cell.py")}
    exec(compile(source, cell, "exec"), space)
    return space


def form_of(folder, module, name, form):
    """Return a mechanism in a form, how it is audited, and the file of its code."""
    if form == "text":
        return f"{module}:{name}", audited_by_text, folder / f"{module}.py"
    if form == "notebook":
        return of_cell((folder / f"{module}.py").read_text(), folder)[name], by_object, None
    home = f"{module}_classes" if form in ("class", "instance") else module
    found = getattr(__import__(home), name)
    return (found() if form == "instance" else found), by_object, folder / f"{home}.py"


def verdicts(folder, module, name, form, seed, place, order):
    if form != "script":
        given, audited, _ = form_of(folder, module, name, form)
        return Commands(given, seed, place, audited).verdicts(order)
    done = subprocess.run(
        [sys.executable, f"script_{name}.py", str(seed), str(place), ",".join(order)],
        capture_output=True,
        text=True,
        env=dict(os.environ) | {"PYTHONPATH": str(folder)},
        cwd=folder,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().splitlines()[-1].split(",")


def forge(of_broken, place, file):
    """Write a broken mechanism's certificates as if they were of the code of a file."""
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    for path in of_broken.iterdir():
        stated = json.loads(path.read_text())
        stated["instance"]["mechanism"]["sha256"] = digest
        (place / path.name).write_text(json.dumps(stated))


def order_of(name, form, seed):
    """Return an order: each mechanism has every one, in several forms."""
    names = [one for _, one in CASES]
    return ORDERS[(names.index(name) + FORMS.index(form) + 2 * seed) % len(ORDERS)]


FAST = {("half_the_noise", "function")}
CELLS = [
    pytest.param(*case, form, id=f"{case[1]}-{form}", marks=() if (case[1], form) in FAST else SLOW)
    for case in CASES
    for form in FORMS
]


@SEEDS
@pytest.mark.parametrize(("module", "name", "form"), CELLS)
def test_the_verdicts_are_the_same_in_every_form_and_order(
    folder, of_broken, module, name, form, seed, tmp_path
):
    order = order_of(name, form, seed)
    if module == "kept":
        order = tuple(one for one in order if one != "canary")
        file = file_of(folder, module, name, form)
        if file is not None:
            forge(of_broken, tmp_path, file)
    found = verdicts(folder, module, name, form, seed, tmp_path, order)
    assert found == [expected(module, name, form, command) for command in order], order


def file_of(folder, module, name, form):
    """Return the file that holds the code of a form, if one does."""
    if form == "script":
        return folder / f"script_{name}.py"
    return form_of(folder, module, name, form)[2]


# What was counted of single outputs is no evidence that a file can state.
UNSTATED = {"leak_in_some"}


def expected(module, name, form, command):
    """Return the verdict of a command."""
    if not command.startswith("verify"):
        return "refuted" if module == "varying" else "withheld"
    if form == "notebook" or (command == "verify replay" and name in UNSTATED):
        return "no certificate"
    return "verified" if module == "varying" else "not verified"
