"""What the cards name exists, fits together, and gets more private with more noise."""

import math
import subprocess
import sys

import pytest
from pydantic import ValidationError

from dpaudit.accounting.calibrate import calibrate
from dpaudit.accounting.proved import proved_guarantee
from dpaudit.algorithms import card_parameters as parameters
from dpaudit.algorithms import card_releases as releases
from dpaudit.algorithms import cards
from dpaudit.extension.registry import RELEASES
from dpaudit.extension.release import ReleaseCard
from dpaudit.neighbours import RELATIONS

CARDS = [value for value in vars(cards).values() if isinstance(value, ReleaseCard)]
SMALL = {"iterations": 2}

each_card = pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)


def small(card, **options):
    model = card.load_parameters()
    return model(**(SMALL if "iterations" in model.model_fields else {}) | options)


def test_all_are_registered():
    assert len(CARDS) == 9
    assert all(RELEASES.get(card.name) is card for card in CARDS)


@each_card
def test_a_card_s_parts_fit(card):
    model = card.load_parameters()
    assert card.relation in RELATIONS
    assert card.noise in model.model_fields
    assert card.count is None or card.count in model.model_fields
    assert all(field.description for field in model.model_fields.values())
    assert proved_guarantee(card.load_event()(model())).delta(1e9) == 0


@each_card
def test_more_noise_is_more_private(card):
    start = getattr(small(card), card.noise)
    found = []
    for factor in (0.5, 1.0, 2.0, 4.0):
        given = small(card, **{card.noise: start * factor**card.more_noise})
        found.append(proved_guarantee(card.load_event()(given)).epsilon(1e-5))
    assert found == sorted(found, reverse=True)
    assert found[0] > found[-1]


@each_card
def test_a_target_can_be_met(card):
    if card.name in ("zhang2018-dvp", "recycled-admm"):
        return  # the same kind of event as PP
    make = card.load_event()
    found = calibrate(
        lambda noise: make(small(card, **{card.noise: noise})),
        0.5,
        1e-5,
        more_noise=card.more_noise,
    )
    assert found.epsilon == pytest.approx(0.5, rel=1e-6)


@each_card
def test_a_published_formula_answers_beside_the_proved_one(card):
    formula, model = card.load_published(), card.load_parameters()
    if formula is None:
        assert card.name in ("zhang2018-pvp", "recycled-admm", "dp-admm-2019")
        return
    said = formula(model(), 1e-5)
    assert said.delta in (0.0, 1e-5)
    assert 0 < said.epsilon < math.inf
    assert said.source
    assert formula(model(), 0.0).epsilon > 0


def test_theorem_6_says_where_it_is_false():
    given = parameters.MultiStep(iterations=1, inner_steps=1, noise_multiplier=0.4)
    assert releases.theorem6(given, 1e-5).note.startswith("false here: true up to epsilon = 8.42")
    assert releases.theorem6(parameters.MultiStep(), 1e-5).note.startswith("true up to")


def test_the_message_formula_rests_on_lemma_1():
    """3 / (66 * 1) * (0.001 * 1 + (1 + 2) * 1) = 0.13640909."""
    said = releases.corollary1(parameters.Messages(noise_scale=5.0), 1e-5)
    assert "0.1364," in said.note
    far = parameters.Messages(noise_scale=0.5)
    assert releases.corollary1(far, 1e-5).epsilon == math.inf


def test_labels_attain_theorem_1():
    given = parameters.Labels()
    proved = proved_guarantee(releases.labels(given)).epsilon(0.0)
    assert proved == pytest.approx(releases.labels_theorem1(given, 0.0).epsilon)


def test_cards_are_light():
    code = "import sys, dpaudit.algorithms.cards; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"numpy", "pydantic"}.isdisjoint(done.stdout.split())


@pytest.mark.parametrize("options", [{"noise_rate": 0.0}, {"records": 0}, {"typo": 1}])
def test_bad_parameters_are_refused(options):
    with pytest.raises(ValidationError):
        parameters.PenaltyPerturbation(**options)
