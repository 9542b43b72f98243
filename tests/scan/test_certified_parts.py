"""What each attempt of a certification may spend, and events as tests and counts, on both sides."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from dpaudit.execution.failures import WorkerEnded
from dpaudit.mechanisms.outputs.features import LogRatios, OneOf, OnePart, OneValue
from dpaudit.mechanisms.outputs.layout import INFINITE, NAN
from dpaudit.mechanisms.outputs.leaves import ABSENT
from dpaudit.scan.certification import certify
from dpaudit.scan.certification.certify import SampleSizes, certify_claim
from dpaudit.scan.remote.foreign import SharedCall

# The error probability


class Mechanism:
    """A mechanism of which only the way in which it is drawn matters."""

    def __init__(self, how="together", alone=False):
        self.how, self.alone = how, alone

    def drawn_apart(self):
        return Mechanism("apart", self.alone)

    def one_by_one(self):
        return Mechanism("one by one", True)


@pytest.mark.parametrize(
    ("fails", "spent"),
    [
        ([], [("together", 0.5)]),
        ([WorkerEnded("gone")], [("together", 0.5), ("one by one", 0.5)]),
        ([SharedCall()], [("together", 0.5), ("apart", 0.25)]),
        (
            [SharedCall(), WorkerEnded("gone")],
            [("together", 0.5), ("apart", 0.25), ("one by one", 0.25)],
        ),
    ],
)
def test_all_attempts_together_spend_the_error_probability_and_share_no_seed(
    monkeypatch, fails, spent
):
    made, left = [], list(fails)

    def attempted(draws, claimed, sizes, alpha, until):
        made.append((draws.mechanism.how, alpha / 0.01, draws.seed, sizes, until))
        if left:
            raise left.pop(0)
        return "found"

    monkeypatch.setattr(certify, "_try_certification", attempted)
    assert certify_claim(Mechanism(), None, None, SampleSizes(500, 4000), 0.01, 7, 99.0) == "found"
    assert [(how, pytest.approx(share)) for how, share, *_ in made] == [
        (how, pytest.approx(share)) for how, share in spent
    ]
    assert sum(share for _, share, *_ in made) <= 1 + 1e-12
    assert len({seed for _, _, seed, *_ in made}) == len(made)
    assert made[0][2] == 7
    assert {until for *_, until in made} == {99.0}
    for how, _, _, sizes, _ in made:
        assert sizes == (SampleSizes(16, 120) if how == "one by one" else SampleSizes(500, 4000))


@pytest.mark.parametrize(
    "sizes", [SampleSizes(500, 4000), SampleSizes(8, 60), SampleSizes(8, 4000)]
)
def test_what_is_drawn_one_by_one_is_drawn_less_often(monkeypatch, sizes):
    made = []
    monkeypatch.setattr(certify, "_try_certification", lambda *given: made.append(given[2]))
    certify_claim(Mechanism(alone=True), None, None, sizes, 0.01, 7)
    assert made == [SampleSizes(min(16, sizes.choosing), min(120, sizes.counting))]


# Events as tests


CODES = np.array([1.0, 2.0, 3.0])


def tried(score, above=True, threshold=0.5, columns=(0,)):
    def happened(values):
        return (values >= threshold) == above

    event = SimpleNamespace(above=above, threshold=threshold, happened=happened)
    return SimpleNamespace(score=score, event=event, columns=columns)


def words(flipped=False, ratios=(), known=(), fresh=()):
    columns = [SimpleNamespace(path=path, discrete=False) for path in ("output[0]", "output[1]")]
    return SimpleNamespace(
        of=lambda one, hits: ("words", flipped),
        layout=SimpleNamespace(columns=columns),
        features=SimpleNamespace(ratios=dict(ratios)),
        known=lambda codes: {code: dict(known)[code] for code in codes if code in dict(known)},
        fresh=list(fresh),
    )


@pytest.mark.parametrize("flipped", [False, True])
@pytest.mark.parametrize("above", [False, True])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_threshold_is_said_from_the_side_that_its_words_name(flipped, above, sign):
    """With a sign of -1, scores at or above a threshold are numbers at or below its negative."""
    found = certify._make_event_test(tried(OnePart(0, sign), above), flipped, words())
    upwards = above if sign > 0 else not above
    assert found == (("above" if upwards != flipped else "below"), 0.5 * sign)


@pytest.mark.parametrize("flipped", [False, True])
def test_counts_are_of_the_event_or_of_its_complement(flipped):
    seen, said = certify._describe_event(tried(OnePart(0)), (30, 4), words(flipped), 100)
    assert said is flipped
    assert (seen.on_dataset, seen.on_neighbour, seen.runs) == (
        (70, 96, 100) if flipped else (30, 4, 100)
    )
    assert (seen.words, seen.part) == ("words", "output[0]")
    several, _ = certify._describe_event(
        tried(OnePart(0), columns=(0, 1)), (30, 4), words(flipped), 100
    )
    assert several.part == ""


@pytest.mark.parametrize(
    ("ratios", "flipped", "found"),
    [
        ([0.0, 1.0, 0.0], False, ("equals", 2.0)),
        ([1.0, 0.0, 1.0], False, ("several", None)),
        ([1.0, 0.0, 1.0], True, ("equals", 2.0)),
        ([0.0, 1.0, 0.0], True, ("several", None)),
        ([0.0, 0.0, 0.0], False, ("several", None)),
    ],
)
def test_one_code_is_an_equality_with_what_is_inside_of_what_is_said(ratios, flipped, found):
    score = OneOf(0, LogRatios(CODES, np.array(ratios)))
    assert certify._make_event_test(tried(score), flipped, words()) == found


@pytest.mark.parametrize(
    ("known", "found"),
    [
        (("raised", "KeyError"), ("raised", "KeyError")),
        (("text", "yes"), ("equals", "yes")),
        (("rest", "others"), ("several", None)),
        (None, ("several", None)),
    ],
)
def test_a_code_of_a_text_is_the_text_or_the_error(known, found):
    ratios = LogRatios(CODES, np.array([0.0, 1.0, 0.0]))
    held = words(ratios={0: ratios}, known={} if known is None else {2.0: known})
    assert certify._make_event_test(tried(OnePart(0)), False, held) == found
    gone = LogRatios(np.array([ABSENT.code, 9e9]), np.array([1.0, 0.0]))
    assert certify._make_event_test(tried(OnePart(0)), False, words(ratios={0: gone})) == (
        "equals",
        "absent",
    )


@pytest.mark.parametrize(
    ("score", "threshold", "seen", "found"),
    [
        (OneValue(0, NAN, 1.0), 0.5, [], ("equals", "nan")),
        (OneValue(0, -INFINITE, 1.0), 0.5, [], ("equals", "-inf")),
        (OneValue(0, -0.0, 1.0), 0.5, [], ("equals", "-0.0")),
        (OnePart(0, 1.0, 3.0), 0.5, [], ("several", None)),
        (OnePart(0), 1e295, [1.0, NAN], ("equals", "nan") if NAN > 1e295 else ("several", None)),
        (OnePart(0), 1e295, [1.0, INFINITE], ("equals", "inf")),
        (OnePart(0), -1e295, [1.0, -INFINITE], ("equals", "-inf")),
        (OnePart(0), 1e295, [1.0, 2.0], ("several", None)),
        (OnePart(0), 1e295, [INFINITE, NAN], ("several", None)),
    ],
)
def test_what_is_no_usual_number_is_an_equality(score, threshold, seen, found):
    held = words(fresh=[np.array(seen).reshape(-1, 1)] * 2)
    assert certify._make_event_test(tried(score, threshold=threshold), False, held) == found


@pytest.mark.parametrize(
    ("discrete", "score", "threshold", "kind"),
    [
        ([False, False], OnePart(0), 0.5, "distribution"),
        ([True, False], OnePart(0), 0.5, "distribution"),
        ([True, True], OnePart(0), 0.5, "structure"),
        ([False, False], OneValue(0, NAN, 1.0), 0.5, "structure"),
        ([False, False], OnePart(0), -1e295, "structure"),
    ],
)
def test_an_event_of_what_is_discrete_or_no_number_is_about_structure(
    discrete, score, threshold, kind
):
    layout = SimpleNamespace(columns=[SimpleNamespace(discrete=one) for one in discrete])
    assert (
        certify._classify_event(tried(score, threshold=threshold, columns=(0, 1)), layout, [])
        == kind
    )


# How many outputs count


@pytest.mark.parametrize(
    ("until", "pace", "outputs"),
    [(math.inf, 0.5, math.inf), (100.0, 0.5, 100.0), (0.0, 0.5, 50), (100.0, 0.0, 0.5e11)],
)
def test_as_many_are_drawn_as_half_of_the_time_that_is_left_allows(
    monkeypatch, until, pace, outputs
):
    monkeypatch.setattr(certify.time, "monotonic", lambda: 0.0)
    assert certify._estimate_output_budget(until, pace) == pytest.approx(outputs)
