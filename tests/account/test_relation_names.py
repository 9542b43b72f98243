"""Relations of trainings have the names that they have at every other door."""

import pytest

from dpaudit.accounting.events import ZERO_OUT
from dpaudit.accounts.training import COVERED, Training, relation_of
from dpaudit.errors import InvalidArgument
from dpaudit.extension.parameters import parse_parameters
from dpaudit.neighbours import relation


@pytest.mark.parametrize("sampling", COVERED)
def test_every_relation_of_a_sampler_is_asked_for_by_its_own_name(sampling):
    for name in COVERED[sampling]:
        assert relation_of(Training(sampling=sampling, relation=name)) == name
        if name != ZERO_OUT:  # of accounting alone
            assert relation(name).name == name


@pytest.mark.parametrize("short", ["add-remove", "replace", "zero-out"])
def test_the_short_forms_are_still_understood(short):
    assert relation_of(Training(relation=short)) == f"{short}-record"


@pytest.mark.parametrize("given", ["remove", "replace-cell", "-record", 3, None])
def test_others_are_refused_with_the_names_that_there_are(given):
    if given is None:
        assert parse_parameters(Training, {"relation": None}).relation is None
        return
    with pytest.raises(InvalidArgument, match="'replace-record' or 'zero-out-record'"):
        parse_parameters(Training, {"relation": given})
