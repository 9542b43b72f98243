"""When each installed distinguisher is tried: what its card says is what audits go by."""

from __future__ import annotations

import pytest

import dpaudit.extension.registry as registry

# Tried by default; needs the law; of few values; of combinations of entries; of bits.
CARDS = {
    "column-space": (False, False, False, False, False),
    "histogram": (False, False, True, False, False),
    "learned": (False, False, False, False, False),
    "likelihood-ratio": (True, True, False, False, False),
    "linear-classifier": (True, False, False, False, False),
    "linear-discriminant": (False, False, False, True, False),
    "lowest-bits": (False, False, False, False, True),
}


@pytest.mark.parametrize("name", sorted(CARDS))
def test_a_distinguisher_is_tried_where_its_card_says(name):
    card = registry.DISTINGUISHERS.get(name)
    found = card.default, card.needs_law, card.for_few_values, card.for_combinations, card.of_bits
    assert found == CARDS[name]


def test_no_distinguisher_is_forgotten():
    assert sorted(CARDS) == sorted(registry.DISTINGUISHERS)
