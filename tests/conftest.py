"""Audits of claims from their home modules, and verdicts on what they certify."""

import copy
import gc
import json
import os
import random
from collections import defaultdict

# Test files run side by side, one a core: libraries that read these have not been loaded yet.
os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
# What a test draws is for no other test: it is kept where one says so.
os.environ["DPAUDIT_STORE"] = ""
# With these, as on a CI machine, help is written for a terminal even where it goes elsewhere.
os.environ.pop("GITHUB_ACTIONS", None)
os.environ.pop("FORCE_COLOR", None)
os.environ.pop("PY_COLORS", None)

import hypothesis
import pytest
from _pytest.doctest import DoctestModule

import tests.compiling as compiling
import tests.costs as costs
from dpaudit.auditing.run import run_case
from dpaudit.execution import one_thread
from dpaudit.extension.parameters import parse_parameters
from dpaudit.extension.settings import Settings
from dpaudit.redaction import set_records_shown
from dpaudit.refutation import certificates_text

# No test judges time: an example may take as long as a busy machine makes it.
hypothesis.settings.register_profile("tests", deadline=None)
hypothesis.settings.load_profile("tests")


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path):
    """Seek doctests in the files of tests that have some: seeking is a look at every object."""
    found = yield
    if file_path.suffix == ".py" and ">>> " not in file_path.read_text(encoding="utf-8"):
        return [one for one in found if not isinstance(one, DoctestModule)]
    return found


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """Look for no garbage among tens of thousands of tests, neither now nor while they run."""
    gc.disable()
    compiling.compile_share(session.config)
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)  # before pytest deselects by markers
def pytest_collection_modifyitems(config, items):
    """Leave some cases of a function in the fast suite, where all take too long; others are slow.

    So many as ``costs.toml`` allows, and no more than ``sampled(count)`` says. What is marked
    ``always`` is fast whatever it takes, and so is what soon catches a seeded fault.
    """
    measured = config.pluginmanager.hasplugin("tests.costs")
    known = {} if measured else costs.read_costs()
    files = defaultdict(lambda: defaultdict(list))
    for item in items:
        if not item.get_closest_marker("slow") and not item.get_closest_marker("always"):
            files[item.nodeid.partition("::")[0]][costs.family_of(item.nodeid)].append(item)
    for families in files.values():
        cases = {name: _most(found) for name, found in families.items()}
        fast = costs.choose_fast(cases, known)
        for name, found in families.items():
            _mark_slow(name, found, cases[name] if measured else fast[name], known)


def _most(cases):
    marker = cases[0].get_closest_marker("sampled")
    return min(len(cases), marker.args[0]) if marker else len(cases)


def _mark_slow(name, cases, fast, known):
    chosen = random.Random(name).sample(range(len(cases)), min(fast, len(cases)))
    for place in set(range(len(cases))) - set(chosen):
        if not costs.is_quick_catch(cases[place].nodeid, len(cases), known):
            cases[place].add_marker(pytest.mark.slow)


@pytest.fixture
def records_shown():
    """Let messages hold values of records, as --show-records does."""
    with set_records_shown():
        yield


@pytest.fixture(scope="session")
def audited():
    def audit(card, **asked):
        settings = Settings(**asked)
        parameters = parse_parameters(card.parameters, settings.parameters)
        with one_thread():
            case = card.prepare(settings, parameters)
        return run_case(case, settings, statement=card, rerun="rerun")

    return audit


@pytest.fixture
def judged(tmp_path, monkeypatch):
    """Return a verdict on a certificate, with the verifier given and not an installed one."""
    from dpaudit.verification import judge
    from dpaudit.verification.document import read

    def verdict(document, recompute):
        path = tmp_path / "c.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        monkeypatch.setattr(judge, "_verifier", lambda claim: recompute)
        (read_back,) = read(path)
        return judge.verify(read_back)

    return verdict


@pytest.fixture(scope="session")
def plain():
    def document(certificate):
        return json.loads(certificates_text((certificate,)))

    return document


@pytest.fixture(scope="session")
def changed():
    def change(document, value, *path):
        result = copy.deepcopy(document)
        place = result
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value(place[path[-1]]) if callable(value) else value
        return result

    return change
