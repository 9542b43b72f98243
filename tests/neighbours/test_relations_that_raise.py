"""What a caller's relation raises is shown where the words hold no record, and hidden elsewhere."""

import numpy as np
import pytest

import dpaudit.redaction as redaction
from dpaudit.errors import InvalidArgument
from dpaudit.neighbours.found_relations import chosen_relation

MARKER = 8675309.0
PAIR = [MARKER, 2.0], [MARKER, 3.0]


def a_slip(dataset, neighbour):
    return dataset["patients"] == neighbour["patients"]


def a_name(dataset, neighbour):
    return {"age": 1}["agee"]


def too_deep(dataset, neighbour):
    return too_deep(dataset, neighbour)


def a_record(dataset, neighbour):
    raise ValueError(f"no such patient: {dataset[0]}")


def a_difference(dataset, neighbour):
    raise ValueError(f"they are {neighbour[1] - dataset[1] + dataset[0]} apart")


def a_size(dataset, neighbour):
    return np.empty((int(dataset[0]), 2**30))


def said(holds, shown=False):
    relation = chosen_relation(holds)
    with redaction.run(shown), pytest.raises(InvalidArgument) as raised:
        relation.check(*PAIR)
    return str(raised.value)


@pytest.mark.parametrize(
    ("holds", "words"),
    [
        (a_slip, "list indices must be integers or slices, not str"),
        (a_name, "KeyError: \"'agee'\""),
        (too_deep, "RecursionError: 'maximum recursion depth exceeded"),
    ],
)
def test_what_went_wrong_is_said_where_no_record_is_in_the_words(holds, words):
    assert words in said(holds)
    assert "test_relations_that_raise.py" in said(holds)


@pytest.mark.parametrize("holds", [a_record, a_difference, a_size])
def test_words_that_hold_a_record_stay_hidden(holds):
    assert "8675" not in said(holds)
    assert "show_records" in said(holds)
    assert "8675" in said(holds, shown=True)
