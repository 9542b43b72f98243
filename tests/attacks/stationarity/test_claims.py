"""What zhang2018 says about attackers: averaging works, and private penalties do not prevent it."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from dpaudit.attacks.stationarity.claims.appendix_e import CLAIM as APPENDIX_E
from dpaudit.attacks.stationarity.claims.section62 import CLAIM as SECTION_6_2
from dpaudit.attacks.stationarity.measures import most_by_chance, rarely_more
from dpaudit.auditing.repeat.certificate_draws import statistical_certificate
from dpaudit.auditing.run import run_claim
from dpaudit.errors import DataError, InvalidArgument
from dpaudit.execution import Executor
from dpaudit.extension import registry
from dpaudit.extension.settings import Settings
from dpaudit.refutation import certificates_text
from dpaudit.verification import read, verify

# d = 4 and T = 10 instead of 10 and 200; less noise makes up for it.
SMALL = {
    "nodes": 2,
    "dimension": 4,
    "records": 10,
    "loss_weight": 10.0,
    "iterations": 10,
    "noise_rate": 300.0,
    "cosine": 0.9,
    "runs": 7,
}
LARGER = {"nodes": 5, "iterations": 30, "cosine": 0.8, "runs": 20}
SIZES = [{}, pytest.param(LARGER, marks=pytest.mark.slow)]
BLIND = [{"participates": False}, {"noise_rate": 1e-3}]
CARDS = [APPENDIX_E, SECTION_6_2]
KNOWN = {card.name: card for card in CARDS}


def asked(seed=0, **parameters):
    return {"seed": seed, "parameters": SMALL | parameters}


@pytest.fixture(autouse=True)
def installed(monkeypatch):
    monkeypatch.setattr(registry, "CLAIMS", SimpleNamespace(get=KNOWN.__getitem__))


# Section 6.2


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES, ids=["small", "larger"])
def test_private_penalties_do_not_hide_the_record(audited, size):
    result = audited(SECTION_6_2, **asked(**size)).result
    runs, cosine = ((SMALL | size)[name] for name in ("runs", "cosine"))
    assert result.verdict == "refuted"
    assert result.claimed.value == most_by_chance(runs, cosine, 4, 1e-9)
    assert result.claimed.value < result.measured.lower <= runs
    assert "a guess has one with probability" in result.reason
    assert {a.name for a in result.assumptions} == set(SECTION_6_2.assumptions)
    assert all(a.holds for a in result.assumptions)


def test_without_noise_every_record_is_found(audited):
    variant = SECTION_6_2.published["no noise"].settings["parameters"]
    result = audited(SECTION_6_2, parameters=variant).result
    assert result.verdict == "refuted"
    assert result.measured.lower == variant["runs"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_the_default_audits(audited, seed):
    assert audited(SECTION_6_2, seed=seed).result.verdict == "refuted"
    assert audited(APPENDIX_E, seed=seed).result.verdict == "not refuted"


def test_an_allowance_of_all_runs_is_not_refuted(audited):
    most = most_by_chance(7, 0.9, 4, 1e-9)
    result = audited(SECTION_6_2, **asked(iterations=5, factor=7 / most)).result
    assert result.verdict == "not refuted"


@pytest.mark.sampled(1)
@pytest.mark.parametrize("blind", BLIND)
@pytest.mark.parametrize(("audits", "runs"), [(1, 7), pytest.param(6, 20, marks=pytest.mark.slow)])
def test_no_false_alarm_where_nothing_is_revealed(audited, blind, audits, runs):
    seen = []
    for seed in range(audits):
        short = {"iterations": 3, "runs": runs}
        result = audited(SECTION_6_2, **asked(seed, **short | blind)).result
        assert result.verdict == "not refuted"
        seen.append(result.measured.lower)
    # All runs together: what guesses do.
    assert sum(seen) <= most_by_chance(runs * audits, 0.9, 4, 1e-6)


# Appendix E


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES, ids=["small", "larger"])
def test_averaging_finds_the_direction(audited, size):
    result = audited(APPENDIX_E, **asked(**size)).result
    runs = (SMALL | size)["runs"]
    assert result.verdict == "not refuted"
    assert result.measured.lower <= runs / 7
    assert result.claimed.value == rarely_more(runs, 0.5, 1e-6)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("blind", BLIND)
@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in (1, 2))])
def test_an_average_of_nothing_is_caught(audited, blind, seed):
    result = audited(APPENDIX_E, **asked(seed, **{"iterations": 3, "runs": 25} | blind)).result
    assert result.verdict == "refuted"


# Both


@pytest.mark.slow
@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)
def test_one_seed_gives_one_result(audited, card):
    short = asked(iterations=3, runs=3)
    first, again = (audited(card, **short).result for _ in range(2))
    assert first == again
    assert audited(card, **short | {"seed": 1}).result.notes != first.notes


@pytest.mark.slow
def test_broadcasts_buy_runs(audited):
    result = audited(SECTION_6_2, **asked(iterations=20), trials=109).result
    assert "over 5 runs" in result.notes[-1]
    assert result.claimed.value == most_by_chance(5, 0.9, 4, 1e-9)


def test_a_large_weight_is_named_as_an_assumption_that_does_not_hold(audited):
    result = audited(SECTION_6_2, **asked(nodes=5, iterations=5, loss_weight=20.0, runs=2)).result
    assert [a.name for a in result.assumptions if not a.holds] == ["loss weight"]


@pytest.fixture(scope="module")
def drawn():
    """Return a refuting audit and its settings; the claims come from their home modules."""
    settings = Settings(**asked(iterations=14))  # 98 broadcasts
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(registry, "CLAIMS", SimpleNamespace(get=KNOWN.__getitem__))
        return run_claim(SECTION_6_2.name, settings, Executor()), settings


@pytest.fixture
def document(drawn):
    return json.loads(certificates_text([drawn[0].certificate]))


def test_a_refutation_by_drawing_has_its_counts_as_certificate(drawn):
    audited, settings = drawn
    assert audited.certificate.kind == "statistical"
    assert audited.certificate == statistical_certificate(audited.result, settings)


def judged(document, tmp_path):
    path = tmp_path / "c.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return verify(*read(path))


def test_the_certificate_is_drawn_again(document, tmp_path):
    verdict = judged(document, tmp_path)
    assert verdict.verified, verdict.failures
    assert verdict.ratio > 1


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("tamper", "failure"),
    [
        (lambda d: d["quantities"].update(bound=1.0), "bound: the file states 1"),
        pytest.param(
            lambda d: d["instance"]["settings"]["parameters"].update(participates=False),
            "the claim is not refuted",
            marks=pytest.mark.slow,
        ),
        (
            lambda d: d["instance"]["settings"]["parameters"].update(factor=2.0),
            "the claim is not refuted",
        ),
    ],
)
def test_a_tampered_certificate_fails(document, tmp_path, tamper, failure):
    tamper(document)
    try:
        failures = judged(document, tmp_path).failures
    except DataError as error:  # nothing is left to compare
        failures = (str(error),)
    assert any(failure in each for each in failures), failures


def test_a_certificate_without_settings_is_malformed(document, tmp_path):
    document["instance"] = {}
    with pytest.raises(DataError, match=r"instance\.settings: got None"):
        judged(document, tmp_path)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"data": "adult"}, "data"),
        ({"data_path": "a"}, "data_path"),
        ({"data_options": {"a": 1}}, "data_option"),
        ({"trials": 150}, "trials"),
        ({"parameters": {"dimension": 2}}, "dimension"),
        ({"parameters": {"noise_rate": 0}}, "noise_rate"),
        ({"parameters": {"cosine": 1.0}}, "cosine"),
        ({"parameters": {"norm": 1.5}}, "norm"),
        ({"parameters": {"spread": 0.5}}, "spread"),
        ({"parameters": {"alpha": 3}}, "parameter"),
    ],
)
@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)
def test_bad_input_is_named(audited, card, given, named):
    with pytest.raises(InvalidArgument, match=f"^{named}: "):
        audited(card, **given)


def test_averaging_asks_for_noise(audited):
    with pytest.raises(InvalidArgument, match=r"^noise: got False, expected true"):
        audited(APPENDIX_E, parameters={"noise": False})


def test_the_false_alarm_rate_is_the_one_of_the_bound():
    """The bound's tail is exact: drawn binomials exceed smaller bounds as often as computed."""
    rng = np.random.default_rng(0)
    counts = rng.binomial(20, 0.0255, 200_000)
    most = most_by_chance(20, 0.6, 10, 0.01)
    assert np.mean(counts > most) <= 0.01 * 1.1
