"""What leaked is said by the part and the value that did, whichever side it is on."""

from __future__ import annotations

import re

import numpy as np
import pytest

import dpaudit
from dpaudit.auditing.explain.event_words import _format_code_value
from dpaudit.mechanisms.foreign.isolation import Isolation

IN_PROCESS = Isolation(in_process=True)
PAIR = np.array([0.0]), np.array([1.0])
BOTH_WAYS = pytest.mark.parametrize("pair", [PAIR, PAIR[::-1]], ids=["from", "to"])
BACK = pytest.param(PAIR[::-1], marks=pytest.mark.slow)
# Long ones: the way back is slow.
THERE = pytest.mark.parametrize("pair", [PAIR, BACK], ids=["from", "to"])


def leak(mechanism, pair, trials=6000, epsilon=0.5, seed=1):
    result = dpaudit.audit(
        mechanism, *pair, epsilon=epsilon, trials=trials, seed=seed, isolation=IN_PROCESS
    )
    assert result.verdict == "refuted"
    assert result.witness is not None
    assert result.witness.refutes, result.reason
    counts = result.witness.on_dataset, result.witness.on_neighbour
    return result.witness.event, counts if pair is PAIR else counts[::-1]


@BOTH_WAYS
def test_the_sign_of_a_zero(pair):
    def signed(data, trials, rng):
        return np.full(trials, -0.0 if data[0] else 0.0)

    event, (without, with_it) = leak(signed, pair)
    assert event == "`output` is -0"
    assert without == 0 < with_it


@BOTH_WAYS
def test_a_value_between_others(pair):
    def one_of_four(data, trials, rng):
        rates = [0.3, 0.1, 0.3, 0.3] if data[0] else [0.2, 0.4, 0.2, 0.2]
        return rng.choice([1.0, 2.0, 3.0, 4.0], size=trials, p=rates)

    event, (without, with_it) = leak(one_of_four, pair)
    # Values of few that there are may be records, as may be what lies between two of them.
    hidden = r"a number #[0-9a-f]{8}"
    if re.fullmatch(f"`output` (is {hidden}|less far than {hidden} from {hidden})", event):
        assert without > 3 * with_it
    else:
        many, far = " or ".join([hidden] * 3), f"farther than {hidden} from {hidden}"
        assert re.fullmatch(f"`output` (is {many}|{far})", event)
        assert without < with_it


@THERE
def test_a_key_that_is_sometimes_missing(pair):
    def groups(data, rng):
        found = {"a": rng.laplace(), "b": 5 + rng.laplace()}
        if data[0] and rng.random() < 0.02:
            del found["b"]
        return found

    event, (without, with_it) = leak(groups, pair, trials=8000)
    assert event.endswith(" is absent")
    assert without == 0 < with_it


@BOTH_WAYS
def test_text_whose_length_alone_tells(pair):
    def name(data, rng):
        return str(rng.integers(10**8, 10**9)) + ("0" if data[0] else "")

    event, counts = leak(name, pair, trials=2000)
    assert event in ("len(`output`) > 9.5", "len(`output`) < 9.5")
    assert min(counts) == 0 < max(counts)


@pytest.mark.sampled(3)
@BOTH_WAYS
@pytest.mark.parametrize(
    ("value", "words"), [(np.nan, "NaN"), (np.inf, "infinite"), (-np.inf, "minus infinity")]
)
def test_what_is_no_number_and_so_rare_that_no_layout_knows_it(value, words, pair):
    def rarely(data, trials, rng):
        return np.where(rng.random(trials) < 2e-3 * data[0], value, rng.normal(size=trials))

    event, (without, with_it) = leak(rarely, pair, trials=60_000)
    assert event == f"`output` is {words}"
    assert without == 0 < with_it


@THERE
def test_a_part_that_turns_up_rarely(pair):
    def tables(data, rng):
        extra = {"of one": rng.laplace()} if data[0] and rng.random() < 0.01 else {}
        return {"total": rng.laplace()} | extra

    event, (without, with_it) = leak(tables, pair, trials=12_000, seed=3)
    assert event.startswith("`output[#")
    assert event.endswith((" is new", " is there"))
    assert without == 0 < with_it


@pytest.mark.parametrize(
    ("known", "words"),
    [
        (("number", "nan"), "NaN"),
        (("raised", "KeyError"), "KeyError"),
        (None, "one outcome that was not seen again when its words were read"),
    ],
)
def test_a_code_is_never_said_itself(known, words):
    assert _format_code_value(5.606178453494749, known) == words
