"""Certificates whose pair a search made: made again from the file, and looked at again."""

import copy
import datetime
import json
import sys
import zlib
from contextlib import nullcontext, suppress

import numpy as np
import pytest

import dpaudit
from dpaudit.auditing.pairs.made_pairs import convert_made_pair
from dpaudit.auditing.repeat.own_certificate import of_pair
from dpaudit.domains import Booleans, Categories, Dates, Domain, Integers, Numbers, Schema, Texts
from dpaudit.domains.stating import convert_domain, dataset_stated, domain_stated
from dpaudit.errors import DataError, InvalidArgument, UnknownName
from dpaudit.neighbours.cells import value_key
from dpaudit.redaction import compute_data_fingerprint
from dpaudit.search.engine import search_pairs
from dpaudit.search.space import UnitPair, space_apart, space_of
from dpaudit.verification import judge, mechanism
from dpaudit.verification.data import OtherPair
from dpaudit.verification.document import Document
from dpaudit.verification.redrawn_counts import Reader

UNIT = Domain(bounds=(0, 1), records=3)
COLUMNS = {
    "age": Integers(low=0, high=120),
    "sex": Categories(values=("f", "m")),
    "ok": Booleans(missing=True),
    "name": Texts(longest=3, missing=True),
    "day": Dates(first=datetime.date(2000, 1, 1), last=datetime.date(2005, 1, 1)),
    "pay": Numbers(low=0, high=9.5, missing=True),
}
DOMAINS = {
    "numbers": (UNIT, "replace-record"),
    "fewer": (Domain(bounds=(0, 1), records=(0, 3), form="list"), "add-remove-record"),
    "missing": (Domain(bounds=(0, 1), missing=True, records=2), "replace-record"),
    "table": (Domain(columns=COLUMNS, records=(1, 3)), "add-remove-record"),
    "schema": (Domain(columns=Schema(COLUMNS), form="dicts"), "replace-cell"),
    "labels": (Domain(bounds=(-1, 1), columns=2, norm=1.0, labels=(-1, 1)), "replace-label"),
    "users": (Domain(bounds=(0, 1), users=2, records=2), "add-remove-user: who"),
    "edges": (Domain(nodes=4), "add-remove-edge"),
    "nodes": (Domain(nodes=4), "replace-node"),
}


def _scattered(data, rng):
    return zlib.crc32(str(data).encode()) % 97 + rng.laplace()


def places(domain, relation):
    """Return the space and some pairs that a search finds there."""
    found = search_pairs(
        lambda data, rng: hash(str(data)) % 97 + rng.laplace(), domain, relation, calls=60
    )
    return space_of(domain, relation), [one.place for one in found.found]


def document(pair, made, relation):
    """Return a certificate that states a pair as it was made, as it is read from a file."""
    instance = {"pair": of_pair(pair, bytes(16), made)}
    instance |= {"claimed": {"epsilon": 1.0, "delta": 0.0}, "settings": {}}
    instance |= {
        "mechanism": {"sha256": ""},
        "reading": {"form": None, "read": None, "observe": []},
    }
    return Document(
        path="c.json",
        claim="f",
        kind="mechanism",
        relation=relation,
        parameters={},
        quantities={"bound": 1.0},
        instance=json.loads(json.dumps(instance, allow_nan=False)),
        assumptions={},
    )


@pytest.mark.parametrize("name", DOMAINS)
def test_a_pair_is_made_again_as_it_was(name):
    domain, relation = DOMAINS[name]
    space, found = places(domain, relation)
    assert found
    for place in found:
        pair = space.pair(place)
        made = convert_made_pair(pair, place, domain)
        given = document(pair, made, pair.relation.name)
        again = mechanism._pair(given, Reader(seed=1))
        assert again.relation.name == pair.relation.name
        for one, other in ((pair.dataset, again.dataset), (pair.neighbour, again.neighbour)):
            assert type(one) is type(other)
            assert compute_data_fingerprint(one, b"a") == compute_data_fingerprint(other, b"a")
            assert getattr(one, "dtype", None) == getattr(other, "dtype", None)
            assert list(getattr(one, "dtypes", ())) == list(getattr(other, "dtypes", ()))
        assert mechanism._other_records(given, again) == []


def test_a_pair_of_a_distance_is_made_again():
    domain, metric = Domain(bounds=(0, 9), records=2), dpaudit.metric("manhattan")
    space = space_apart(domain, metric)
    units = (((0.0,), (1.0,)),)
    place = UnitPair(units, 0, ((5.0,), (2.5,)))
    pair = space.pair(place)
    given = document(pair, convert_made_pair(pair, place, domain), "metric: manhattan")
    again = mechanism._pair(given, Reader(seed=1))
    assert (again.dataset.tolist(), again.neighbour.tolist()) == ([0.0, 1.0], [5.0, 2.5])
    assert mechanism.distance_of(again, Reader(seed=1)) == 6.5


def test_what_code_or_records_describe_is_not_stated():
    import pandas

    table = pandas.DataFrame({"age": [31, 75]})
    for domain in (
        Domain(make=lambda rng: rng.random(3)),
        Domain(examples=([1.0, 2.0],)),
        Domain(around=np.zeros(3)),
        Domain(columns=Schema.of(table), of_records=True),
    ):
        assert convert_domain(domain) is None


def forged(changes, relation="replace-record", domain=None):
    """Return the verdict on a certificate of three zeros and a one, of which parts are others."""
    given = {"bounds": [0.0, 1.0], "records": 3} if domain is None else domain
    made = {"domain": given, "dataset": [[[0.0]]] * 3, "user": None}
    made |= {"neighbour": [[[1.0]], [[0.0]], [[0.0]]]} | changes
    pair = space_of(UNIT, "replace-record").pair
    one = document(pair(UnitPair(((((0.0,),),)) * 3, 0, ((1.0,),))), {"x": 1}, relation)
    instance = copy.deepcopy(dict(one.instance))
    instance["pair"]["made"] = made
    altered = Document(**{**vars(one), "instance": instance})
    return judge.verify(altered, Reader(seed=1, mechanism="nowhere:f"))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"neighbour": [[[1.0]], [[1.0]], [[0.0]]]}, "2 differing places"),  # no neighbours
        ({"neighbour": [[[0.0]]] * 3}, "0 differing places"),
        ({"neighbour": [[[7.0]], [[0.0]], [[0.0]]]}, "a value that the domain does not allow"),
        ({"neighbour": [[[True]], [[0.0]], [[0.0]]]}, "a value of another kind"),
        ({"neighbour": [[["1"]], [[0.0]], [[0.0]]]}, "a value of another kind"),
        ({"neighbour": [[[None]], [[0.0]], [[0.0]]]}, "a value that the domain does not allow"),
        ({"neighbour": [[[0.0]]] * 4}, "a list of 3 to 3 records"),
        ({"neighbour": [[[0.0], [1.0]], [[0.0]], [[0.0]]]}, "at most 1 records of one"),
        ({"neighbour": [[[0.0, 1.0]], [[0.0]], [[0.0]]]}, "records of 1"),
        ({"neighbour": {"a": 1}}, "a list of 3 to 3 records"),
        ({"domain": {"bounds": [0.0, 1.0], "make": "os:system"}}, "expected some of bounds"),
        ({"domain": {"bounds": [0.0, 1.0], "around": [1]}}, "expected some of bounds"),
        ({"domain": {"nodes": 10**9}}, "nodes: got 1000000000"),
        ({"domain": {"columns": 10**9}}, "columns: got 1000000000"),
        ({"domain": {"columns": {"a": {"kind": "Schema"}}}}, "columns: got another kind"),
        (
            {"domain": {"columns": {"a": {"kind": "Integers", "x": 1}}}},
            "columns: got another field",
        ),
        ({"domain": [1]}, "expected some of bounds"),
    ],
)
def test_a_forged_pair_fails_before_any_code_runs(changes, said):
    verdict = forged(changes)
    assert not verdict.verified
    assert verdict.failures[0].startswith("pair: the two that the file holds are not as it says")
    assert said in verdict.failures[0]


def test_a_forged_relation_fails():
    """Three records differ: who says that it is one, or two of a kind, is not believed."""
    other = {"neighbour": [[[1.0]], [[1.0]], [[1.0]]]}
    named = "replace-record", "add-remove-record", "replace-cell", "add-remove-edge"
    for relation in (*named, "replace-column", "replace-tuple", "declared: a step", "no such"):
        with suppress(DataError, UnknownName):
            assert not forged(other, relation).verified


def test_a_search_declares_nothing():
    """What a file declares of a pair that a search made makes no neighbours of it."""
    units = [[[0.0]], [[1.0]], [[0.0]]]
    made = {"domain": {"bounds": [0.0, 1.0], "records": 3}, "dataset": units, "user": None}
    for neighbour, is_read in (([[[0.5]], *units[1:]], True), ([[[0.5]]] * 3, False)):
        pair = {"salt": "00" * 8, "declared": "one visit", "made": made | {"neighbour": neighbour}}
        given = Document(
            path="c.json", claim="f", kind="mechanism", relation="replace-record",
            parameters={}, quantities={}, instance={"pair": pair}, assumptions={},
        )  # fmt: skip
        with nullcontext() if is_read else pytest.raises(OtherPair):
            assert mechanism._pair(given, Reader(seed=1)).relation.name == "replace-record"


@pytest.mark.parametrize("changes", [{"user": 3}, {"further": 1}, {"dataset": None, "user": [1]}])
def test_what_is_no_made_pair_is_no_certificate(changes):
    with pytest.raises(DataError, match=r"instance\.pair\.made"):
        forged(changes)


def test_a_record_that_is_too_long_is_none_of_its_domain():
    ball = Domain(bounds=(-1, 1), columns=2, norm=1.0, records=1)
    assert dataset_stated(ball, [[[1.0, 0.0]]]).tolist() == [[1.0, 0.0]]
    for longer in ([0.8, 0.8], [1.0, 4e-5]):
        with pytest.raises(InvalidArgument, match="longer than the domain allows"):
            dataset_stated(ball, [[longer]])


def test_the_domain_is_said_with_the_verdict():
    from dpaudit.verification.data import words_of_domain

    domain, relation = DOMAINS["numbers"]
    space, found = places(domain, relation)
    pair = space.pair(found[0])
    given = document(pair, convert_made_pair(pair, found[0], domain), "replace-record")
    said = words_of_domain(given, Reader(seed=1))
    assert said == '; datasets: {"bounds": [0.0, 1.0], "records": 3}'
    assert words_of_domain(given, Reader(seed=1, dataset=[1.0])) == ""  # the reader's own


@pytest.mark.parametrize("name", DOMAINS)
def test_a_domain_is_read_as_it_was_stated(name):
    domain = DOMAINS[name][0]
    again = domain_stated(json.loads(json.dumps(convert_domain(domain))))
    assert convert_domain(again) == convert_domain(domain)
    assert again.sizes == domain.sizes
    assert value_key(again.layout.columns) == value_key(domain.layout.columns)


@pytest.mark.slow
def test_a_pair_that_holds_records_is_not_in_the_file():
    """Beside a dataset, a pair that takes a record of it is stated by its hashes alone."""

    def told(data, rng):
        return float(data[0] * (round(1e4 * data[-1]) == 9876)) + rng.laplace(scale=0.05)

    records = np.array([0.1234, 0.5678, 0.9876])
    given = {"relation": "replace-record", "epsilon": 0.1, "trials": 1000}
    result = dpaudit.audit(told, records, bounds=(0, 1), **given)
    assert result.certificate.instance["pair"].keys() == {
        "salt", "dataset", "neighbour", "declared",
    }  # fmt: skip


SOURCE = """
def noisy_sum(data, rng):
    return data.sum() + rng.laplace(scale={scale})
"""


@pytest.mark.slow
@pytest.mark.parametrize("command", ["audit", "replay"])
def test_the_code_alone_verifies_it(command, tmp_path, monkeypatch, capsys):
    from dpaudit.cli.main import main

    monkeypatch.chdir(tmp_path)
    for name, scale in (("half_the_noise", 0.5), ("all_the_noise", 1.0)):
        (tmp_path / f"{name}.py").write_text(SOURCE.format(scale=scale))
        monkeypatch.delitem(sys.modules, name, raising=False)

    def ran(*words):
        with pytest.raises(SystemExit) as ended:
            main([*words])
        return ended.value.code, capsys.readouterr().out.replace("\n", " ")

    domain = ("--domain", "bounds=[0,1]", "--domain", "records=4", "--relation", "replace-record")
    effort = ("--trials", "2000") if command == "audit" else ()
    words = (command, "half_the_noise.py:noisy_sum", *domain, "--epsilon", "1", *effort)
    status, said = ran(*words, "--out", "out")
    assert status == 1
    assert command == "replay" or "--mechanism module:object" in said
    assert "--dataset FILE" not in said
    status, said = ran(
        "verify", "out/certificate.json", "--mechanism", "half_the_noise.py:noisy_sum"
    )
    assert status == 0, said
    assert '"records": 4' in said
    status, said = ran(
        "verify", "out/certificate.json", "--mechanism", "all_the_noise.py:noisy_sum"
    )
    assert status == 1
    assert "its code is not that of the certificate" in said
    held = json.loads((tmp_path / "out/certificate.json").read_text())
    held["instance"]["pair"]["made"]["neighbour"] = held["instance"]["pair"]["made"]["dataset"]
    (tmp_path / "forged.json").write_text(json.dumps(held))
    status, said = ran("verify", "forged.json", "--mechanism", "half_the_noise.py:noisy_sum")
    assert status == 1
    assert "are not as it says" in said
