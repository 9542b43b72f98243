"""Certificates of mechanisms of one's own: judged on fresh draws of the reader's code and data."""

from __future__ import annotations

import datetime
import json
import os
import shutil
import sys
import uuid
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

import dpaudit
from dpaudit.cli.main import main
from dpaudit.errors import DataError, InvalidArgument
from dpaudit.mechanisms.foreign.code_identity import code_of
from dpaudit.redaction import compute_data_fingerprint
from dpaudit.verification import Reader

HALF, RIGHT = "0.5", "1.0"
CODE = """
class Both:
    def __init__(self, one, other):
        self.one, self.other = one, other


def noisy_sum(data, trials, rng):
    return data.sum() + rng.laplace(scale={scale}, size=trials)


def two(data, rng):
    return Both(float(data.sum() + rng.laplace(scale={scale})), 0.0)
"""
DATASET, NEIGHBOUR = np.array([0.0, 1.0]), np.array([1.0, 1.0])


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Return a folder with a module that has half the noise that epsilon 1 takes."""
    home = tmp_path_factory.mktemp("own")
    (home / f"own_{uuid.uuid4().hex}.py").write_text(CODE.format(scale=HALF))
    return home


@pytest.fixture
def own(home, tmp_path, monkeypatch):
    """Return the name of the module, which lies in the folder that is worked in."""
    (module,) = home.glob("own_*.py")
    shutil.copy(module, tmp_path)
    (tmp_path / "d.csv").write_text("0\n1\n")
    (tmp_path / "e.csv").write_text("1\n1\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, module.stem, raising=False)
    return module.stem


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        main([*map(str, arguments), "--workers", "1"] if arguments[0] == "audit" else arguments)
    return ended.value.code, capsys.readouterr()


@pytest.fixture
def certificate(home, own):
    """Return the certificate of an audit, as the name of a file in this folder."""
    kept = home / "certificate.json"
    if not kept.exists():
        mechanism = __import__(own).noisy_sum
        result = dpaudit.audit(mechanism, DATASET, NEIGHBOUR, epsilon=1.0, trials=2000)
        result.certificate.write(kept)
    return shutil.copy(kept, "certificate.json")


def written(own, capsys):
    """Return the path of the certificate that the command line writes."""
    pair = ("--dataset", "d.csv", "--neighbour", "e.csv")
    status, said = run(
        capsys, "audit", f"{own}:noisy_sum", *pair, "--epsilon", 1, "--trials", 2000, "--out", "r"
    )
    assert status == 1
    assert "--mechanism module:object --dataset FILE" in said.out.replace("\n", " ")
    return "r/certificate.json"


def changed(path, **parts):
    """Write the certificate with other parts of its instance, and return the new file's name."""
    with open(path) as file:
        document = json.load(file)
    for name, value in parts.items():
        document["instance"][name] = value
    with open("changed.json", "w") as file:
        json.dump(document, file)
    return "changed.json"


def reader(own, **given):
    sides = {"dataset": DATASET, "neighbour": NEIGHBOUR, "confidence": 0.999, "seed": 3}
    return Reader(**{"mechanism": f"{own}:noisy_sum", **sides, **given})


def test_the_reader_who_has_code_and_data_verifies_it(own, capsys):
    certificate = written(own, capsys)
    given = ("--mechanism", f"{own}:noisy_sum", "--dataset", "d.csv", "--neighbour", "e.csv")
    status, said = run(capsys, "verify", certificate, *given, "--reproduce")
    assert status == 0, said
    assert f"{own}:noisy_sum: verified, against the claim that it is (1, 0)-DP: " in said.out
    assert "neighbours: one record" in said.out
    kept = json.loads(Path(certificate).read_text())["instance"]["pair"]
    assert kept.keys() == {"salt", "dataset", "neighbour", "declared"}


def test_it_takes_the_readers_mechanism_and_data(own, certificate, capsys):
    status, said = run(capsys, "verify", certificate)
    assert status == 2
    assert "--mechanism module:object" in said.err
    status, said = run(capsys, "verify", certificate, "--mechanism", f"{own}:noisy_sum")
    assert status == 2
    assert "--dataset and --neighbour" in said.err
    given = ("--mechanism", f"{own}:noisy_sum", "--dataset", "d.csv")
    status, said = run(capsys, "verify", certificate, *given)
    assert status == 2
    assert "both datasets" in said.err
    status, said = run(capsys, "verify", certificate, "--dataset", "d.csv")
    assert status == 2
    assert "nothing without --mechanism" in said.err


def test_other_code_and_other_data_fail(own, certificate, tmp_path):
    (verdict,) = dpaudit.verify(certificate, reader(own, dataset=np.array([1.0, 0.0])))
    assert verdict.failures == ("dataset: is not that of the certificate",)
    (tmp_path / f"{own}.py").write_text(CODE.format(scale=HALF) + "# another\n")
    (verdict,) = dpaudit.verify(certificate, reader(own))
    assert [one.startswith("mechanism: its code is not") for one in verdict.failures] == [True]


def test_a_forged_refutation_of_a_true_claim_fails(own, certificate, tmp_path):
    (tmp_path / f"{own}.py").write_text(CODE.format(scale=RIGHT))
    code = code_of(__import__(own).noisy_sum)
    forged = changed(certificate, mechanism=code._asdict())
    (verdict,) = dpaudit.verify(forged, reader(own))
    assert not verdict.verified
    assert verdict.failures[0].startswith("the claim is not refuted")


def test_nothing_that_the_file_names_is_imported(own, certificate, tmp_path):
    trap = tmp_path / "trap_of_the_file.py"
    trap.write_text("import pathlib; pathlib.Path('sprung').touch()\n")
    stated = {"reference": "trap_of_the_file:f", "sha256": "0" * 64}
    (verdict,) = dpaudit.verify(changed(certificate, mechanism=stated), reader(own))
    assert not verdict.verified
    assert not os.path.exists("sprung")


@pytest.mark.parametrize(
    ("parts", "named"),
    [
        ({"reading": []}, "instance.reading"),
        ({"claimed": {"epsilon": "1", "delta": 0}}, "claimed"),
        ({"claimed": {"mu": 1.0, "rho": 1.0}}, "rho"),
        ({"claimed": {"epsilon": 1.0, "mu": 1.0}}, "claimed"),
        ({"claimed": {}}, "claimed"),
        ({"pair": {"salt": "xyz"}}, "salt"),
        ({"pair": None}, "instance.pair"),
        ({"settings": {"trials": 10**9}}, "trials"),
        ({"settings": {"unit": 10**9}}, "unit"),
        ({"settings": {"time": 60}}, "time"),
        ({"settings": {"looks": 5}}, "as audits write it"),
        ({"settings": {"attack": {}}}, "as audits write it|distinguisher"),
        ({"settings": {"parameters": {"epsilon": 1.0, "delta": 0.1}}}, "parameters"),
        ({"settings": {"data": "csv"}}, "settings.data"),
        ({"claimed": {"mu": [[[[1.0]]]]}}, "claimed"),
        ({"claimed": {"mu": 1e200}}, "mu"),
        ({"claimed": {"renyi": [1.0000001, 0.5]}}, "order"),
    ],
    ids=str,
)
def test_what_is_no_certificate_is_one_line_that_names_it(own, certificate, parts, named):
    with pytest.raises((DataError, InvalidArgument), match=named):
        dpaudit.verify(changed(certificate, **parts), reader(own))


@pytest.mark.slow
def test_it_holds_records_where_they_are_shown_and_is_then_for_its_owner_alone(own, tmp_path):
    module = __import__(own)
    claim = dpaudit.GaussianDP(0.3)
    result = dpaudit.audit(
        module.noisy_sum, DATASET, NEIGHBOUR, claim=claim, trials=2000, show_records=True
    )
    path = result.save("shown").certificate
    assert path.stat().st_mode & 0o077 == 0
    (verdict,) = dpaudit.verify(path, reader(own, dataset=None, neighbour=None))
    assert verdict.verified, verdict.failures
    hidden = dpaudit.audit(module.noisy_sum, DATASET, NEIGHBOUR, claim=claim, trials=2000)
    assert "data" not in hidden.certificate.instance["pair"]


@pytest.mark.slow
def test_what_is_looked_at_and_a_declared_relation_go_along(own):
    module = __import__(own)
    result = dpaudit.audit(
        module.two,
        DATASET,
        NEIGHBOUR,
        epsilon=1.0,
        relation="declared: one visit",
        read="one",
        trials=2000,
    )
    path = result.save("read").certificate
    (verdict,) = dpaudit.verify(path, reader(own, mechanism=module.two, read="one"))
    assert verdict.verified, verdict.failures
    assert verdict.summary.endswith("neighbours: one visit, as the caller declares")


@pytest.mark.slow
def test_what_no_file_can_state_has_no_certificate(own):
    module = __import__(own)
    given = {"epsilon": 1.0, "trials": 1000}
    looked = dpaudit.audit(module.two, DATASET, NEIGHBOUR, read=lambda both: both.one, **given)
    assert (looked.verdict, looked.certificate) == ("refuted", None)
    kept = dpaudit.audit(module.noisy_sum, DATASET, NEIGHBOUR, epsilon=9.0, trials=1000)
    assert (kept.verdict, kept.certificate) == ("not refuted", None)


@pytest.mark.slow
def test_one_seed_gives_one_certificate(own):
    module = __import__(own)
    one, other = (
        dpaudit.audit(module.noisy_sum, DATASET, NEIGHBOUR, epsilon=1.0, trials=1000)
        for _ in range(2)
    )
    assert one.certificate.document() == other.certificate.document()
    assert one == other


def test_fingerprints_tell_data_of_any_kind_apart():
    pandas = pytest.importorskip("pandas")
    sparse = pytest.importorskip("scipy.sparse")
    one = pandas.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})
    salt = b"0" * 16
    kinds = [
        one,
        one.assign(a=[1.0, 3.0]),
        one.rename(columns={"a": "c"}),
        {"a", "b"},
        {"a", "c"},
        sparse.csr_matrix(np.eye(2)),
        sparse.csr_matrix(2 * np.eye(2)),
        [1.0, 2.0],
        ["1.0", "2.0"],
        {"a": 1.0},
    ]
    assert len({compute_data_fingerprint(kind, salt) for kind in kinds}) == len(kinds)
    assert compute_data_fingerprint(one, salt) == compute_data_fingerprint(one.copy(), salt)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("reading", "named"),
    [
        ({"form": "__wrapped__(data)", "read": None, "observe": []}, "form"),
        ({"form": None, "read": ["one"], "observe": []}, "read"),
        ({"form": None, "read": None, "observe": ["time"]}, "observe"),
        ({"form": 3, "read": None, "observe": []}, "form"),
    ],
    ids=str,
)
def test_what_is_looked_at_is_the_readers_to_say(own, certificate, reading, named):
    (verdict,) = dpaudit.verify(changed(certificate, reading=reading), reader(own))
    assert [one.split(":")[0] for one in verdict.failures] == [named]


def test_a_certificate_of_a_claim_says_nothing_of_a_mechanism(own):
    path = Path(__file__).parents[2] / "reports" / "hu2020-lemma1" / "certificate.json"
    with pytest.raises(DataError, match="leave out --mechanism"):
        dpaudit.verify(path, reader(own))


def test_the_point_of_a_curve_may_be_another_on_fresh_draws(own, certificate):
    points = [[0.1 * n, 0.3 - 0.01 * n] for n in range(1, 20)]
    (verdict,) = dpaudit.verify(changed(certificate, claimed={"curve": points}), reader(own))
    assert verdict.verified, verdict.failures


def test_data_that_no_hash_tells_apart_have_no_certificate(own):
    class Silent:
        def __repr__(self):
            return "<Silent at 0x0>"

    assert compute_data_fingerprint([Silent()], b"0" * 16) == compute_data_fingerprint(
        [Silent()], b"0" * 16
    )
    days = [[datetime.date(2020, 1, day)] for day in (1, 2)]
    numbers = [[Decimal("0.1")], [Decimal("0.2")], [1j], [2j], days[0], days[1]]
    assert len({compute_data_fingerprint(one, b"0" * 16) for one in numbers}) == len(numbers)


def test_an_audit_by_events_that_was_asked_for_is_verified(own, certificate):
    settings = {"epsilon": 1.0, "delta": 0.0, "trials": 2000, "estimator": "event"}
    (verdict,) = dpaudit.verify(changed(certificate, settings=settings), reader(own))
    assert verdict.verified, verdict.failures
