"""Observations of what an environment sends, kind by kind."""

from __future__ import annotations

import numpy as np
import pytest

from dpaudit.errors import MechanismError
from dpaudit.scan.remote.decoding import decode_observation


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (1.5, 1.5),
        (None, None),
        ("a", "a"),
        (("dict", [("a", 1), (("items", "tuple", [1, 2]), ("set", [3]))]), {"a": 1, (1, 2): {3}}),
        (("dict", [(("items", "list", [1]), 2)]), {"[1]": 2}),
        (("dict", [(np.int64(3), 4)]), {3: 4}),
        (("set", [1, ("items", "list", [2])]), {1, "[2]"}),
        (("items", "list", [1, ("items", "tuple", [])]), [1, ()]),
        (("items", "tuple", [1, 2]), (1, 2)),
        (("items", "complex", [1.0, -2.0]), 1 - 2j),
        (("warned", ("items", "list", [5]), ["low"]), {"output": [5], "warnings": ["low"]}),
    ],
)
def test_an_observation_is_what_was_sent(given, found):
    made = decode_observation(given)
    assert made == found
    assert type(made) is type(found)


def test_keys_of_numpy_are_plain():
    ((key, _),) = decode_observation(("dict", [(np.float32(0.5), 1)])).items()
    assert (key, type(key)) == (0.5, float)


@pytest.mark.parametrize(
    ("given", "name", "held"),
    [
        (("object", "Model", [("w", ("items", "list", [1]))]), "Model", {"w": [1]}),
        (("items", "deque", [1, 2]), "deque", {"items": [1, 2]}),
        (("other", "Decimal", "1.5"), "Decimal", {"value": "1.5"}),
        (("of type", "Money", ("set", [1])), "Money", {"value": {1}}),
        (
            ("array", "object", [2, 1], [1, ("items", "tuple", [2])]),
            "array of object",
            {"shape": (2, 1), "values": [1, (2,)]},
        ),
    ],
)
def test_other_types_have_their_name_and_what_they_hold(given, name, held):
    made, again = decode_observation(given), decode_observation(given)
    assert (type(made).__name__, vars(made)) == (name, held)
    assert type(made) is type(again)


def test_an_error_has_its_name_and_its_text():
    error = decode_observation(("raised", "EmptyTable", "no records"))
    assert isinstance(error, Exception)
    assert (type(error).__name__, str(error)) == ("EmptyTable", "no records")
    assert type(error) is type(decode_observation(("raised", "EmptyTable", "others")))


@pytest.mark.parametrize(
    "given", [("nothing of the kind", 1), (), ("dict", 1), ("raised", "A"), ("items", 1, [])]
)
def test_what_was_not_agreed_on_is_refused(given):
    with pytest.raises(MechanismError, match="none that was agreed on"):
        decode_observation(given)
