"""Six private mechanisms and six broken ones in every form, by either command, in either order.

As text, as a function, a class and an instance, in a script's ``__main__``, and in a notebook.
"""

from __future__ import annotations

import inspect
import json
import os
import secrets
import subprocess
import sys
import uuid

import pytest

import dpaudit
from dpaudit.auditing.api import own_case
from dpaudit.auditing.run import audit_case
from dpaudit.errors import MechanismError
from dpaudit.extension.settings import Settings
from dpaudit.guarantees.kinds import ApproximateDP
from dpaudit.laws.isolated import Isolation, referred
from dpaudit.neighbours.found import found_pair
from dpaudit.replaying.api import replay

from . import kept, varying
from .folder import reached

PAIR = [1.0, 2.0, 3.0], [1.0, 2.0, 2.0]
PRIVATE = (
    *("key_of_a_file", "key_of_the_environment", "key_of_a_server", "key_drawn_at_import"),
    *("noise_of_a_dictionary", "kept_beside_the_time"),
)
BROKEN = (
    *("scale_of_json", "exact_beside_the_time", "exact_beside_a_counter", "noise_of_numpy"),
    *("half_the_noise", "leak_in_some"),
)
SLOW, OTHERS = pytest.mark.slow, ("text", "class", "instance", "script", "notebook")
SETTINGS = {"epsilon": 1.0, "trials": 600, "confidence": 0.9999}
CASES = [("kept", name) for name in PRIVATE] + [("varying", name) for name in BROKEN]
SEEDS = pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
SCRIPT = """
if __name__ == "__main__":
    import dpaudit
    from dpaudit.errors import MechanismError
    def verdict(function):
        try:
            return function().verdict
        except MechanismError:
            return "withheld"
    given = ({0}, [1.0, 2.0, 3.0], [1.0, 2.0, 2.0])
    audit = lambda: dpaudit.audit(*given, seed={1}, **{2})
    replay = lambda: dpaudit.replay(*given, epsilon=1.0, seed={1})
    print([verdict(one) for one in (audit, replay, audit)])
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    with reached(tmp_path_factory.mktemp(f"forms-{uuid.uuid4().hex}")) as found:
        for module in (kept, varying):
            name = module.__name__.rpartition(".")[2]
            lines = [f"import {name}", *(_class_of(module, one) for one in _names(name))]
            (found / f"{name}_classes.py").write_text("\n".join(lines))
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


def verdict_of(function):
    try:
        return function().verdict
    except MechanismError:
        return "withheld"


def by_text(folder, module, name, seed):
    def audited():
        case, words = own_case(
            referred(f"{module}:{name}", Isolation()),
            found_pair(*PAIR, None)[0],
            claimed=ApproximateDP(1.0, 0.0),
        )
        settings = Settings(trials=600, delta=0.0, seed=seed, confidence=0.9999)
        return audit_case(case, settings, statement=words)

    return orders(audited, f"{module}:{name}", seed, folder)


def orders(audited, given, seed, folder=None):
    """Return the verdicts of an audit, of a replay after it, and of the audit again."""

    def replayed():
        return replay(given, *PAIR, epsilon=1.0, seed=seed, folder=folder)

    return [verdict_of(one) for one in (audited, replayed, audited)]


def of_object(given, seed):
    return orders(lambda: dpaudit.audit(given, *PAIR, seed=seed, **SETTINGS), given, seed)


def by_function(folder, module, name, seed):
    return of_object(getattr(__import__(module), name), seed)


def by_class(folder, module, name, seed):
    return of_object(getattr(__import__(f"{module}_classes"), name), seed)


def by_instance(folder, module, name, seed):
    return of_object(getattr(__import__(f"{module}_classes"), name)(), seed)


def by_notebook(folder, module, name, seed):
    """Return the verdicts on a function of a cell, which no process can import."""
    path = folder / f"{module}.py"
    space = {"__name__": "__main__", "__file__": str(path)}
    exec(compile(path.read_text(), "<cell>", "exec"), space)
    return of_object(space[name], seed)


def by_script(folder, module, name, seed):
    path = folder / f"script_{name}.py"
    settings = repr({"trials": 600, "confidence": 0.9999, "epsilon": 1.0})
    ending = SCRIPT.replace("{0}", name).replace("{1}", str(seed)).replace("{2}", settings)
    path.write_text((folder / f"{module}.py").read_text() + ending)
    done = subprocess.run(
        [sys.executable, str(path)],
        capture_output=True,
        text=True,
        env=dict(os.environ),
        cwd=folder,
        check=True,
    )
    found: list[str] = json.loads(done.stdout.strip().splitlines()[-1].replace("'", '"'))
    return found


@pytest.mark.slow
@SEEDS
@pytest.mark.parametrize("form", ["function", *(pytest.param(one, marks=SLOW) for one in OTHERS)])
@pytest.mark.parametrize(("module", "name"), CASES, ids=[name for _, name in CASES])
def test_the_verdicts_agree_in_every_form_and_order(folder, module, name, form, seed):
    first, replayed, again = globals()[f"by_{form}"](folder, module, name, seed)
    assert first == again
    if module == "kept":
        assert {first, replayed} <= {"withheld", "not refuted"}
    else:
        assert first == "refuted"
