"""What the cards name exists, fits together, and gets more private with more noise."""

import math
import subprocess
import sys

import pytest
from pydantic import ValidationError

from dpaudit.accounting.calibrate import calibrate
from dpaudit.accounting.strongest_guarantee import proved_guarantee
from dpaudit.algorithms.consensus import releases as consensus
from dpaudit.algorithms.multistep import releases as multistep
from dpaudit.algorithms.problems.smooth_losses import SMOOTH_LOSSES
from dpaudit.algorithms.sharing import releases as sharing
from dpaudit.algorithms.tables import releases as tables
from dpaudit.extension.registry import RELEASES
from dpaudit.extension.release import ReleaseCard
from dpaudit.neighbours import RELATIONS

FAMILIES = (consensus, multistep, sharing, tables)
CARDS = [
    value
    for family in FAMILIES
    for value in vars(family).values()
    if isinstance(value, ReleaseCard)
]
SMALL = {"iterations": 2}

each_card = pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)


def small(card, **options):
    model = card.parameters
    return model(**(SMALL if "iterations" in model.model_fields else {}) | options)


HIDDEN = {f"huang2020-{seen}" for seen in ("averages", "last", "final")}
UNPUBLISHED = {"zhang2018-pvp", "recycled-admm", "dp-admm-2019"} | HIDDEN


def test_all_are_registered():
    assert len(CARDS) == 12
    assert all(RELEASES.get(card.name) is card for card in CARDS)


@each_card
def test_a_card_s_parts_fit(card):
    model = card.parameters
    assert card.relation in RELATIONS
    assert card.noise in model.model_fields
    assert card.count is None or card.count in model.model_fields
    assert all(field.description for field in model.model_fields.values())
    # No double stands for so little, and what is above 0 is rounded up.
    assert proved_guarantee(card.event(model())).delta(1e9) <= math.ulp(0.0)


@pytest.mark.sampled(1)
@each_card
def test_more_noise_is_more_private(card):
    start = getattr(small(card), card.noise)
    found = []
    for factor in (0.5, 1.0, 2.0, 4.0):
        given = small(card, **{card.noise: start * factor**card.more_noise})
        found.append(proved_guarantee(card.event(given)).epsilon(1e-5))
    assert found == sorted(found, reverse=True)
    assert found[0] > found[-1]


# Each takes a composition at many noises: PP, the longest, is left to the slow ones.
MET = [
    pytest.param(one, id=one.name, marks=[pytest.mark.slow] * (one.name == "zhang2018-pp"))
    for one in CARDS
]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("card", MET)
def test_a_target_can_be_met(card):
    if card.name in ("zhang2018-dvp", "recycled-admm"):
        return  # the same kind of event as PP
    make = card.event
    found = calibrate(
        lambda noise: make(small(card, **{card.noise: noise})),
        0.5,
        1e-5,
        more_noise=card.more_noise,
    )
    assert found.epsilon == pytest.approx(0.5, rel=1e-6)


@each_card
def test_a_published_formula_answers_beside_the_proved_one(card):
    formula, model = card.published, card.parameters
    if formula is None:
        assert card.name in UNPUBLISHED
        return
    said = formula(model(), 1e-5)
    assert said.delta in (0.0, 1e-5)
    assert 0 < said.epsilon < math.inf
    assert said.source
    assert formula(model(), 0.0).epsilon > 0


def test_theorem_6_says_where_it_is_false():
    given = multistep.MultiStep(iterations=1, inner_steps=1, noise_multiplier=0.4)
    assert multistep.publish_theorem6_epsilon(given, 1e-5).note.startswith(
        "false here: true up to epsilon = 8.42"
    )
    assert multistep.publish_theorem6_epsilon(multistep.MultiStep(), 1e-5).note.startswith(
        "true up to"
    )


def test_the_message_formula_rests_on_lemma_1():
    """3 / (66 * 1) * (0.001 * 1 + (1 + 2) * 1) = 0.13640909."""
    said = sharing.publish_corollary1_epsilon(sharing.Messages(noise_scale=5.0), 1e-5)
    assert "0.1364," in said.note
    far = sharing.Messages(noise_scale=0.5)
    assert sharing.publish_corollary1_epsilon(far, 1e-5).epsilon == math.inf


def test_labels_attain_theorem_1():
    given = tables.LabelReleaseParameters()
    proved = proved_guarantee(tables.labels(given)).epsilon(0.0)
    assert proved == pytest.approx(tables.labels_theorem1(given, 0.0).epsilon)


def test_cards_are_light():
    modules = ", ".join(family.__name__ for family in FAMILIES)
    code = f"import sys, {modules}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"numpy", "scipy"}.isdisjoint(done.stdout.split())


def test_the_parameters_name_every_loss():
    described = consensus.Consensus.model_fields["loss"].description
    assert described == "; ".join(SMOOTH_LOSSES)


@pytest.mark.parametrize("options", [{"noise_rate": 0.0}, {"records": 0}, {"typo": 1}])
def test_bad_parameters_are_refused(options):
    with pytest.raises(ValidationError):
        consensus.PenaltyPerturbationParameters(**options)
