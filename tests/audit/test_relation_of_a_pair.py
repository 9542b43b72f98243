"""The relation that a file names beside a pair of code: taken where it holds, else refused."""

import numpy as np
import pytest

from dpaudit.auditing.specification.audits_file import _as_pair
from dpaudit.errors import InvalidArgument
from dpaudit.neighbours import ADD_REMOVE_RECORD, REPLACE_RECORD, Pair

REPLACED = Pair(np.array([0.0, 1.0]), np.array([0.0, 0.5]), REPLACE_RECORD)


def test_a_pair_keeps_its_relation_where_none_is_named():
    assert _as_pair("pair", REPLACED, None).pair.relation is REPLACE_RECORD


@pytest.mark.parametrize("named", ["replace-record", "metric: euclidean"])
def test_a_relation_that_the_pair_obeys_is_taken(named):
    assert _as_pair("pair", REPLACED, named).pair.relation.name == named


@pytest.mark.parametrize(
    ("pair", "named"),
    [
        (REPLACED, "add-remove-record"),
        (Pair(np.zeros(3), np.zeros(2), ADD_REMOVE_RECORD), "replace-record"),
    ],
)
def test_a_relation_that_the_pair_contradicts_is_refused(pair, named):
    with pytest.raises(InvalidArgument, match="pair"):
        _as_pair("pair", pair, named)
