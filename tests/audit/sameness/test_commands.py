"""Six private mechanisms and six broken ones: the other commands say what the audit says.

Verify draws a certificate's outputs again, a store answers a second time, and a scan looks at the
same code as a package's. In `test_forms.py` are the audit and the replay, in every form.
"""

from __future__ import annotations

import inspect
import secrets
import sys
import uuid
from functools import partial

import pytest

import dpaudit
from dpaudit.execution import Limits
from dpaudit.guarantees.kinds import PureDP
from dpaudit.neighbours.found_relations import find_pair_relation
from dpaudit.scan.certification.certify import SampleSizes, certify_claim
from dpaudit.scan.remote.environments import VersionEnvironment
from dpaudit.scan.remote.foreign import Foreign
from dpaudit.verification import Reader

from . import kept, varying
from .folder import reached
from .orders import PAIR, SETTINGS, Commands
from .test_forms import BROKEN, PRIVATE

SLOW = pytest.mark.slow
SEEDS = pytest.mark.parametrize("seed", [0, pytest.param(1, marks=SLOW)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    with reached(tmp_path_factory.mktemp(f"commands-{uuid.uuid4().hex}")) as found:
        for module in (kept, varying):
            home = module.__name__.rpartition(".")[2]
            lines = ["import numpy as np", f"import {home}"]
            lines += [_scanned(module, home, name) for name in (*PRIVATE, *BROKEN)]
            (found / f"{home}_scanned.py").write_text("\n".join(filter(None, lines)) + "\n")
        yield found


def _scanned(module, home, name):
    """Return the source of a function as a package's subject is called; nothing for another's."""
    if not hasattr(module, name):
        return ""
    many = len(inspect.signature(getattr(module, name)).parameters) > 1
    given = "data, np.random.default_rng()" if many else "data"
    return f"def {name}(data, epsilon):\n    return {home}.{name}({given})"


@pytest.fixture(autouse=True)
def reachable(folder, monkeypatch):
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("KEPT_KEY", secrets.token_hex(16))
    yield
    for name in ("kept", "varying"):
        sys.modules.pop(name, None)


def audited(given, seed, **more):
    return dpaudit.audit(given, *PAIR, seed=seed, **SETTINGS, **more)


def few(names, usual):
    """Return names, of which all but some are left to the slow suite."""
    return [one if one in usual else pytest.param(one, marks=SLOW) for one in names]


@pytest.mark.sampled(1)
@SEEDS
@pytest.mark.parametrize("name", few(BROKEN, []))
def test_what_an_audit_refutes_is_verified_in_either_form(name, seed, tmp_path):
    function = getattr(__import__("varying"), name)
    path = audited(function, seed).certificate.write(tmp_path / "certificate.json")
    chosen = {"dataset": PAIR[0], "neighbour": PAIR[1], "confidence": 0.9999}
    for given in (function, f"varying:{name}"):
        (verdict,) = dpaudit.verify(path, Reader(mechanism=given, seed=seed + 7, **chosen))
        assert verdict.verified, verdict.failures


@pytest.mark.slow
@SEEDS
@pytest.mark.parametrize("name", ["scale_of_json", "half_the_noise"])
def test_what_a_replay_refutes_is_verified_in_either_form(folder, name, seed, tmp_path):
    function = getattr(__import__("varying"), name)
    found = dpaudit.replay(f"varying:{name}", *PAIR, epsilon=1.0, seed=seed, folder=folder)
    assert found.verdict == "refuted", found.findings
    path = found.certificates[0].write(tmp_path / "certificate.json")
    for given in (function, f"varying:{name}"):
        reader = Reader(mechanism=given, dataset=PAIR[0], neighbour=PAIR[1], seed=seed + 7)
        (verdict,) = dpaudit.verify(path, reader)
        assert verdict.verified, verdict.failures


@pytest.mark.slow
@pytest.mark.sampled(1)
@SEEDS
@pytest.mark.parametrize("name", PRIVATE)
def test_no_certificate_of_a_broken_one_is_verified_of_a_private_one(name, seed, tmp_path):
    broken = __import__("varying").half_the_noise
    path = audited(broken, seed).certificate.write(tmp_path / "certificate.json")
    text = path.read_text().replace("varying", "kept").replace("half_the_noise", name)
    path.write_text(text)
    chosen = {"dataset": PAIR[0], "neighbour": PAIR[1], "seed": seed, "confidence": 0.9999}
    for given in (getattr(__import__("kept"), name), f"kept:{name}"):
        (verdict,) = dpaudit.verify(path, Reader(mechanism=given, **chosen))
        assert not verdict.verified


@pytest.mark.slow
@pytest.mark.sampled(1)
@pytest.mark.filterwarnings("ignore::dpaudit.store.keeping.NotKept")  # it is drawn twice then
@SEEDS
@pytest.mark.parametrize(
    ("module", "name"), [("kept", n) for n in PRIVATE] + [("varying", n) for n in BROKEN]
)
def test_a_store_gives_the_same_verdict_again(module, name, seed, tmp_path):
    function = getattr(__import__(module), name)
    verdicts = [
        Commands(function, seed, tmp_path, partial(audited, store=tmp_path / "kept.store")).audit()
        for _ in range(2)
    ]
    assert len(set(verdicts)) == 1
    assert (verdicts[0] == "refuted") == (module == "varying")


def scanned(folder, module, name, seed):
    """Return what a scan certifies of a function in a package's environment."""
    file, pair = str(folder / f"{module}_scanned.py"), find_pair_relation(*PAIR, None)[0]
    with VersionEnvironment(None, "1.0").crew(Limits()) as crew:
        mechanism = Foreign(crew, file, name, {"epsilon": 1.0}, distribution="No-One")
        return certify_claim(mechanism, pair, PureDP(1.0), SampleSizes(200, 600), 1e-4, seed=seed)


@pytest.mark.sampled(1)
@SEEDS
@pytest.mark.parametrize("name", few(PRIVATE, ["key_of_a_file"]))
def test_a_scan_accuses_no_private_one(folder, name, seed):
    assert not scanned(folder, "kept", name, seed).refuted


@pytest.mark.sampled(1)
@SEEDS
@pytest.mark.parametrize("name", few(BROKEN, ["scale_of_json"]))
def test_a_scan_misses_no_broken_one(folder, name, seed):
    found = scanned(folder, "varying", name, seed)
    assert (found.refuted, found.kept) == (True, False), found.why
