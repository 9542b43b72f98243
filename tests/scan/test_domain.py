"""Only what the documentation allows accuses: data of the domain, neighbours, and its own claim."""

import sys
from pathlib import Path

import numpy as np
import pytest

from dpaudit.errors import InvalidArgument
from dpaudit.extension.package import MadePair, PackageClaim, Subject
from dpaudit.guarantees.kinds import PureDP
from dpaudit.scan.candidates.corners import CORNERS, corner_pairs
from dpaudit.scan.candidates.pairs import make_subject_pairs
from dpaudit.scan.certification.events import ExpressionEvent
from dpaudit.scan.finding import make_claimed_guarantee
from dpaudit.scan.remote.bench import Bench, InstalledPackage
from dpaudit.scan.remote.probe import split_output_parts
from dpaudit.scan.reproduction.reproduction import _Case, _rounder_setting, _Study, claim_of
from dpaudit.search.edits import find_edited_neighbours
from tests.scan.samples import finding

CLAIM = PackageClaim(epsilon=1.0, where="docstring")
ADDS = "add-remove-record"


def subject(**given):
    return Subject(name="sum", code="f", **{"claims": (CLAIM,), "bounds": (0.0, 1.0), **given})


# The domain


def test_no_corner_has_data_that_the_documentation_does_not_allow():
    of_tenths = subject(
        datasets=([0.5, 1.0],), domain=lambda data, _: all(one * 10 % 1 == 0 for one in data)
    )
    found = list(corner_pairs(of_tenths, {}))
    assert {one.corner.name for one in found} == {"saturation", "zeros"}
    assert len(list(corner_pairs(subject(datasets=([0.5, 1.0],)), {}))) > len(found)


@pytest.mark.parametrize(
    ("dataset", "corner"),
    [([1, 2], "integers beyond 2^53"), *(([0.5, 2.0], one.name) for one in CORNERS if one.values)],
)
def test_every_number_of_a_corner_is_tried_that_the_bounds_and_the_records_allow(dataset, corner):
    everything = subject(datasets=(dataset,), bounds=(-float("inf"), float("inf")))
    (values,) = (one.values for one in CORNERS if one.name == corner)
    kinds = {type(one) for one in dataset}
    due = [(a, b) for a, b in values if {type(a), type(b)} == kinds and a != b]
    found = {
        tuple(set(one.pair.dataset[-1:] + one.pair.neighbour[-1:]))
        for one in corner_pairs(everything, {})
        if one.corner.name == corner and one.relation == "replace-record"
    }
    assert {frozenset(one) for one in due} <= set(map(frozenset, found))
    assert due or corner in ("zeros", "integers beyond 2^53")


def test_no_reproduction_has_data_that_the_documentation_does_not_allow():
    study = _Study(None, CLAIM, False, "", lambda data, _: len(data) > 1)
    assert study.tried({}, ([0.0, 1.0], [0.0])) is None


@pytest.mark.parametrize("records", [[b"a", b"b"], [[1], [2]], [("a", [0.2]), ("b", [0.5])]])
def test_a_record_without_a_value_is_made_only_where_one_may_lack_it(records):
    rng = np.random.default_rng(0)
    found = find_edited_neighbours(records, ADDS, nan=False, rng=rng)
    assert not any("None" in repr(one.pair.neighbour) for one in found)


# Neighbours


def test_a_pair_of_the_card_is_of_a_relation_that_is_counted():
    pair = MadePair(dataset=[0.0], neighbour=[1.0], relation="replace-record")
    with pytest.raises(InvalidArgument, match="relation of a pair: got 'replace-record'"):
        make_subject_pairs(subject(pairs=(pair,), relations=(ADDS,)), 0, most=3)


@pytest.mark.parametrize("neighbour", [[1.0], [1.0, 3.0, 4.0], [0.0, 1.0, 2.0, 3.0, 4.0]])
def test_a_pair_of_the_card_that_differs_in_two_records_is_none(neighbour):
    pair = MadePair(dataset=[1.0, 2.0, 3.0], neighbour=neighbour, relation=ADDS)
    with pytest.raises(InvalidArgument):
        make_subject_pairs(subject(pairs=(pair,), relations=(ADDS,)), 0, most=3)


def test_of_data_that_are_no_records_the_relation_is_the_cards_word():
    pair = MadePair(dataset=3, neighbour=4, relation=ADDS)
    (found,) = make_subject_pairs(subject(pairs=(pair,), relations=(ADDS,)), 0, most=3)
    assert (found.pair.dataset, found.pair.neighbour) == (3, 4)


# Claims


def test_a_reproduction_is_of_the_claim_that_was_refuted():
    """Two claims of one sentence: the other relation has twice the epsilon."""
    claims = [
        PackageClaim(epsilon=epsilon, relation=relation, where="one sentence")
        for epsilon, relation in (
            ("epsilon", ADDS),
            (lambda given: 2 * given["epsilon"], "replace-record"),
        )
    ]
    for claim in claims:
        refuted = finding("sum", claimed=make_claimed_guarantee(claim, {"epsilon": 1.0}))
        assert claim_of(refuted, subject(claims=tuple(claims))) is claim


def test_of_a_setting_only_what_the_claim_follows_is_rounded():
    setting = {"epsilon": 0.93, "sensitivity": 0.73}
    case = _Case(
        setting,
        ([0.0], [1.0]),
        ExpressionEvent("out > 0", (9, 0), (9, 9), 2.0, 1, ""),
        20,
        PureDP(0.93),
    )
    rounded = [
        given for given, _ in _rounder_setting(PackageClaim(epsilon="epsilon", where="it"))(case)
    ]
    assert rounded
    assert {given["sensitivity"] for given in rounded} == {0.73}
    assert not list(_rounder_setting(PackageClaim(epsilon=0.93, where="it"))(case))


# Answers that are none


def test_what_a_package_writes_in_the_place_of_an_answer_is_none(tmp_path):
    code = Path(tmp_path) / "liar.py"
    code.write_text(
        "import json\ndef liar(data, told):\n    json.dumps = lambda *_: told\n    return 0.0\n"
    )
    with Bench(InstalledPackage(python=Path(sys.executable), code=code), "liar") as bench:
        for told in ("nothing found", "[1, 2]", '{"sides": 5}', '{"sides": [[3], [4]]}'):
            assert bench.parts(repr({"told": told}), ("[0]", "[1]"), 1, 5.0) is None


def test_names_of_attributes_that_are_no_names_are_no_part_of_an_event():
    class Held:
        pass

    out = Held()
    vars(out).update({"x; import os": 1.0, "class": 2.0, "value": 3.0})
    assert set(split_output_parts(out)) == {"type(out).__name__", "out.value"}
