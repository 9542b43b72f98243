"""A private mechanism and a broken one on a backend's workers, in every form: the same verdicts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import dpaudit
from dpaudit.auditing.api import own_case
from dpaudit.auditing.run import audit_case
from dpaudit.errors import MechanismError
from dpaudit.execution import Executor
from dpaudit.execution.backends import Backend
from dpaudit.extension.settings import Settings
from dpaudit.guarantees.kinds import ApproximateDP
from dpaudit.mechanisms.foreign.isolation import Isolation, isolate_reference
from dpaudit.neighbours.found_relations import find_pair_relation

from .test_cluster import cluster, free_port

pytestmark = pytest.mark.slow
HERE = Path(__file__).parent
PAIR = [1.0, 2.0, 3.0], [1.0, 2.0, 2.0]
TRIALS, CONFIDENCE = 600, 0.9999
FORMS = ("text", "function", "class", "instance", "script", "notebook")
SCRIPT = """

if __name__ == "__main__":
    import sys
    import dpaudit
    from dpaudit.errors import MechanismError
    from dpaudit.execution import Executor
    from dpaudit.execution.backends import Backend
    name, address = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
    backend = Backend("dask", address) if address else Backend("loky", workers=2)
    asked = {"epsilon": 1.0, "trials": 600, "confidence": 0.9999}
    try:
        given = globals()[name], [1.0, 2.0, 3.0], [1.0, 2.0, 2.0]
        print(dpaudit.audit(*given, executor=Executor(backend=backend), **asked).verdict)
    except MechanismError:
        print("withheld")
"""


@pytest.fixture(scope="module", params=["loky", "dask"])
def address(request):
    """Return the address of a scheduler of dask, or none for processes of this machine."""
    if request.param == "loky":
        yield None
        return
    pytest.importorskip("distributed", reason="dask is not installed: make cluster")
    port = free_port()
    with cluster(port, workers=2):
        yield f"tcp://127.0.0.1:{port}"


@pytest.fixture(autouse=True)
def reachable(monkeypatch):
    monkeypatch.syspath_prepend(str(HERE))
    yield
    sys.modules.pop("keeping", None)


def audited(form, name, executor):
    """Return an audit of a mechanism in a form."""
    if form == "text":
        return by_text(f"keeping:{name}", executor)
    if form == "notebook":
        space = {"__name__": "__main__"}
        exec(compile((HERE / "keeping.py").read_text(), "<cell>", "exec"), space)
        given = space[name]
    else:
        given = getattr(__import__("keeping"), name if form == "function" else name.title())
        given = given() if form == "instance" else given
    asked = {"epsilon": 1.0, "trials": TRIALS, "confidence": CONFIDENCE}
    return dpaudit.audit(given, *PAIR, executor=executor, **asked)


def by_text(reference, executor):
    pair, claimed = find_pair_relation(*PAIR, None)[0], ApproximateDP(1.0, 0.0)
    case, words = own_case(isolate_reference(reference, Isolation()), pair, claimed=claimed)
    settings = Settings(trials=TRIALS, delta=0.0, confidence=CONFIDENCE)
    return audit_case(case, settings, statement=words, executor=executor)


def by_script(folder, name, address):
    script = folder / "script.py"
    script.write_text((HERE / "keeping.py").read_text() + SCRIPT)
    words = [sys.executable, str(script), name, *([address] if address else [])]
    ran = subprocess.run(
        words, cwd=folder, env=dict(os.environ), capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip().splitlines()[-1]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("name", "verdict"), [("private", "withheld"), ("broken", "refuted")])
def test_the_verdicts_are_the_same_on_every_worker(address, tmp_path, name, form, verdict):
    if form == "script":
        assert by_script(tmp_path, name, address) == verdict
        return
    backend = Backend("dask", address) if address else Backend("loky", workers=2)
    try:
        found = audited(form, name, Executor(backend=backend))
    except MechanismError:
        assert verdict == "withheld"
        return
    assert found.verdict == verdict, found.reason
    assert sum(backend.done.values()) > 0
