"""Every card of a package: functions that take its parameters, and pairs that can be made."""

import ast
import importlib.util
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from numpy.random import default_rng

from dpaudit.errors import InvalidArgument
from dpaudit.extension.package import Package, PackageClaim, Parameters, Subject
from dpaudit.extension.registry import PACKAGES
from dpaudit.neighbours.candidates import Candidate
from dpaudit.scan.candidates.pairs import make_subject_pairs as pairs_of
from dpaudit.scan.packages.python_dp import card as python_dp
from dpaudit.search.edits import find_edited_neighbours

CARDS = [PACKAGES.get(name) for name in PACKAGES]
SUBJECTS = [(card, subject) for card in CARDS for subject in card.subjects]
names = [f"{card.name}: {subject.name}" for card, subject in SUBJECTS]
every_subject = pytest.mark.parametrize(("card", "subject"), SUBJECTS, ids=names)


def functions(card: Package) -> dict[str, ast.arguments]:
    found = importlib.util.find_spec(card.code)
    assert found is not None
    assert found.origin is not None
    tree = ast.parse(Path(found.origin).read_text(encoding="utf-8"))
    return {one.name: one.args for one in tree.body if isinstance(one, ast.FunctionDef)}


def accepted(arguments: ast.arguments, given: set[str]) -> bool:
    named = [one.arg for one in (*arguments.args, *arguments.kwonlyargs)]
    optional = [one.arg for one in arguments.args[len(arguments.args) - len(arguments.defaults) :]]
    optional += [one.arg for one in arguments.kwonlyargs]
    missing = set(named) - given - set(optional) - {"data", "trials", "rng"}
    return not missing and (arguments.kwarg is not None or given <= set(named))


@every_subject
def test_function_takes_the_parameters_of_every_setting(card: Package, subject: Subject) -> None:
    arguments = functions(card)[subject.code]
    assert arguments.args[0].arg == "data"
    for setting in subject.parameters:
        assert accepted(arguments, set(setting)), setting


@every_subject
def test_claims_say_where_and_follow_every_setting(card: Package, subject: Subject) -> None:
    for setting in subject.parameters:
        for claim in subject.claims:
            assert claim.guarantee(setting) is not None
            assert len(claim.where) > 20


def pairs(subject: Subject) -> Iterator[object]:
    for setting in subject.parameters:
        yield from subject.pairs_of(setting)
        for dataset in subject.datasets_of(setting):
            for relation in subject.relations:
                yield from made(subject, subject.bounds_of(setting), dataset, relation)


def made(subject: Subject, bounds: Any, dataset: object, relation: str) -> list[Candidate]:
    rng = default_rng(0)
    try:
        return find_edited_neighbours(
            dataset, relation, bounds=bounds, nan=subject.nan, most=3, rng=rng
        )
    except InvalidArgument:
        return []  # another dataset of the subject has neighbours


@every_subject
def test_pairs_can_be_made(card: Package, subject: Subject) -> None:
    assert next(pairs(subject), None) is not None


def test_a_setting_that_the_function_does_not_take_is_seen() -> None:
    arguments = ast.parse("def f(data, epsilon, *, bins=2): pass").body[0].args  # type: ignore[attr-defined]
    assert accepted(arguments, {"epsilon"})
    assert not accepted(arguments, {"bins"})
    assert not accepted(arguments, {"epsilon", "width"})


def test_no_pair_has_data_that_the_documentation_does_not_allow() -> None:
    claim = PackageClaim(epsilon=1.0, where="docstring")

    def known(dataset: Any, given: Parameters) -> bool:
        return set(dataset) <= set(given["classes"])

    open_to_all = Subject(
        name="classes",
        code="classes",
        claims=(claim,),
        parameters=({"classes": ("a", "b")},),
        datasets=(["a", "b", "b"],),
    )
    closed = replace(open_to_all, domain=known)
    pairs = [pairs_of(one, 0, most=20) for one in (open_to_all, closed)]
    new = [
        [one for one in found if not known(one.pair.neighbour, {"classes": "ab"})]
        for found in pairs
    ]
    assert new[0]  # negative control: without a domain there are such pairs
    assert not new[1]
    assert pairs[1]


def test_values_that_the_sensitivity_moves_are_tried_where_doubles_merge_integers() -> None:
    pairs = [
        (one.dataset, one.neighbour)
        for one in python_dp._make_sensitivity_pairs({"sensitivity": 1})
    ]
    assert pairs == [([0], [1]), ([2**53], [2**53 + 1])]
    pairs = [
        (one.dataset, one.neighbour)
        for one in python_dp._make_sensitivity_pairs({"sensitivity": 0.5})
    ]
    assert pairs == [([0.0], [0.5])]
