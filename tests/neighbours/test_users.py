"""The records of one user: added or replaced, on whichever side they are."""

import pandas as pd
import pytest

from dpaudit.errors import InvalidArgument
from dpaudit.neighbours.cells import make_cells, user_records
from dpaudit.neighbours.found_relations import find_pair_relation

BOTH = pd.DataFrame({"who": ["ann", "bob", "bob", "cid"], "x": [1.0, 2.0, 3.0, 4.0]})
WITHOUT_BOB = BOTH[BOTH["who"] != "bob"]
OTHER_BOB = BOTH.assign(x=[1.0, 7.0, 8.0, 4.0])


@pytest.mark.parametrize("swapped", [False, True])
def test_the_first_record_of_a_user_that_was_added_is_found_on_the_side_that_has_it(swapped):
    sides = (WITHOUT_BOB, BOTH) if swapped else (BOTH, WITHOUT_BOB)
    assert user_records(make_cells(*sides), "who", added=True) == 1
    assert find_pair_relation(*sides, "add-remove-user: who")[0].relation.name == "add-remove-user"


def test_the_first_record_of_a_user_that_was_replaced_is_found():
    assert user_records(make_cells(BOTH, OTHER_BOB), "who", added=False) == 1
    assert (
        find_pair_relation(BOTH, OTHER_BOB, "replace-user: who")[0].relation.name == "replace-user"
    )


@pytest.mark.parametrize(
    ("sides", "relation"),
    [
        ((BOTH, OTHER_BOB), "add-remove-user: who"),
        ((BOTH, WITHOUT_BOB), "replace-user: who"),
        ((WITHOUT_BOB, BOTH), "replace-user: who"),
        ((BOTH, BOTH[BOTH["who"] == "ann"]), "add-remove-user: who"),
    ],
)
def test_a_user_of_the_other_relation_or_several_users_are_refused(sides, relation):
    with pytest.raises(InvalidArgument, match="pair"):
        find_pair_relation(*sides, relation)


def test_a_user_of_records_that_are_dicts_is_named_without_quotes():
    sides = [[{"who": "ann", "x": 1}, {"who": "bob", "x": n}] for n in (2, 3)]
    assert user_records(make_cells(*sides), "who", added=False) == 1
    assert user_records(make_cells(sides[0], sides[0][:1]), "who", added=True) == 1


@pytest.mark.parametrize("swapped", [False, True])
def test_labels_of_rows_count_where_both_tables_have_some(swapped):
    numbered = pd.DataFrame({"x": [1.0, 2.0]})
    labelled = numbered.set_axis(["p", "q"])
    sides = (labelled, numbered) if swapped else (numbered, labelled)
    assert make_cells(*sides).columns == ("x",)
    assert make_cells(labelled, labelled.set_axis(["p", "r"])).columns == ("x", "the index")
