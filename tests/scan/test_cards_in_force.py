"""Cards say what they said: whoever changes one writes down that it is meant."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpaudit.extension.package import MadePair, PackageClaim, Subject
from tests.scan.cards_in_force import digits_of, held_by, in_force, written

SUBJECT = Subject(
    name="sum",
    code="total",
    claims=(PackageClaim(epsilon="epsilon", where="docstring"),),
    parameters=({"epsilon": 1.0},),
    datasets=([0.0, 1.0],),
    pairs=(MadePair(dataset=[0.0], neighbour=[1.0], relation="replace-record"),),
)


@pytest.mark.parametrize("card", sorted(written()))
def test_what_a_card_says_was_meant(card: str) -> None:
    assert in_force_by_card()[card] == written()[card]


def in_force_by_card(found: dict[str, dict[str, str]] = {}) -> dict[str, dict[str, str]]:  # noqa: B006
    if not found:
        found.update(in_force())
    return found


def test_every_card_is_written_down() -> None:
    assert in_force_by_card().keys() == written().keys()


@pytest.mark.parametrize(
    "change",
    [
        {"claims": (PackageClaim(epsilon=2.0, where="docstring"),)},
        {"claims": (PackageClaim(epsilon="epsilon", delta=0.1, where="docstring"),)},
        {"parameters": ({"epsilon": 2.0},)},
        {"datasets": ([0.0, 2.0],)},
        {"bounds": (0, 1)},
        {"relations": ("replace-record",)},
        {"nan": False},
        {"additive": True},
        {"trials": 7},
        {"domain": lambda data, _: 1.0 not in data},
        {"pairs": (MadePair(dataset=[1.0], neighbour=[0.0], relation="replace-record"),)},
    ],
)
def test_whatever_changes_in_a_subject_is_seen(change: dict[str, object]) -> None:
    assert digits_of(held_by(replace(SUBJECT, **change))) != digits_of(held_by(SUBJECT))  # type: ignore[arg-type]


def test_digits_are_those_of_the_values() -> None:
    assert digits_of({"a": np.array([1, 2])}) == digits_of({"a": np.array([1, 2])})
    assert digits_of(np.array([1, 2])) != digits_of(np.array([1.0, 2.0]))
    assert digits_of([1, 2]) != digits_of([2, 1])
