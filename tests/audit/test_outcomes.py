"""What a mechanism returns becomes doubles without loss, or is refused; and what tells zeros apart.

A conversion that merges outcomes hides leaks that show in nothing else.
"""

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.random import default_rng

import dpaudit
import dpaudit.auditing.explain.output_parts as output_parts
from dpaudit.attacks.distinguishers import lowest_bits
from dpaudit.auditing.samples.stream import StreamWatch
from dpaudit.errors import DataError, InvalidArgument, MechanismError
from dpaudit.estimation.event import choose_event, event_bound
from dpaudit.estimation.sequential.game import BettingTarget
from dpaudit.mechanisms.foreign.code_mechanism import as_mechanism
from dpaudit.mechanisms.foreign.isolation import Isolation
from dpaudit.mechanisms.mechanism import draw_checked_sample
from dpaudit.mechanisms.outputs.outcomes import Inexact, as_doubles

IN_PROCESS = Isolation(in_process=True)
LARGE = 2**53 + 1
BIG = np.longdouble(2) ** 60 + 1  # a double on no machine; a long double on some
WIDE = pytest.mark.skipif(
    np.finfo(np.longdouble).nmant < 60, reason="long doubles are doubles on this machine"
)


@pytest.mark.parametrize(
    "kept",
    [
        np.array([True, False]),
        np.array([-(2**53), 2**53]),
        np.array([2**62, -(2**63)]),
        np.array([2**63], dtype=np.uint64),
        np.array([2**64 - 2**11], dtype=np.uint64),
        np.array([0.1, -0.0], dtype=np.float32),
        np.array([6e-8, 0.5], dtype=np.float16),
        np.array([0.5, 1e300], dtype=np.longdouble),
        np.array([2**70, Fraction(1, 4), Decimal("0.5"), np.float32(0.1), True], dtype=object),
        np.ma.masked_array([1.0, 2.0], mask=[False, False]),
        [2**70, 0.5],
        [[1, 2.5], [-0.0, 5e-324]],
    ],
    ids=repr,
)
def test_what_doubles_hold_is_kept(kept):
    found = as_doubles(kept)
    assert found.dtype == np.float64
    expected = np.asarray(kept, dtype=object)
    assert found.shape == expected.shape
    assert all(one == other for one, other in zip(found.flat, expected.flat, strict=True))


@pytest.mark.parametrize(
    ("lost", "words"),
    [
        (np.array([LARGE]), "integers that are no doubles"),
        (np.array([2**63 - 1]), "integers that are no doubles"),
        (np.array([-LARGE]), "integers that are no doubles"),
        (np.array([2**64 - 1], dtype=np.uint64), "integers that are no doubles"),
        ([LARGE, 0.5], "integers that are no doubles"),
        ([2**64 + 1], "integers that are no doubles"),
        ([10**400], "beyond doubles"),
        ([Fraction(1, 3)], "numbers of type Fraction that are no doubles"),
        ([Decimal("0.1")], "numbers of type Decimal that are no doubles"),
        ([1.0, None], "objects of type NoneType"),
        (np.array([1j, 2.0], dtype=object), "objects of type complex"),
        (np.array([1.0 + 0j]), "complex numbers"),
        (["1.5"], "text"),
        (np.array([b"1"]), "text"),
        (np.zeros(2, dtype=[("a", float)]), "records with fields"),
        (np.array(["2020-01-01"], dtype="datetime64[D]"), "dates or times"),
        (np.ma.masked_array([1.0, 2.0], mask=[False, True]), "a masked array"),
        ([np.ma.masked_array([1.0], mask=[True])], "a masked array"),
        pytest.param(np.array([BIG]), "that are no doubles", marks=WIDE),
        pytest.param(np.array([np.longdouble(1) / 3]), "that are no doubles", marks=WIDE),
        pytest.param(np.array([np.finfo(np.longdouble).max]), "no doubles", marks=WIDE),
        pytest.param(np.array([np.longdouble(5e-324) / 4]), "no doubles", marks=WIDE),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_doubles_do_not_hold_is_refused(lost, words):
    with pytest.raises(Inexact) as raised:
        as_doubles(lost)
    assert words in raised.value.found
    assert raised.value.instead


def test_what_is_not_finite_is_left_to_the_caller():
    found = as_doubles(np.array([math.nan, math.inf], dtype=np.longdouble))
    np.testing.assert_array_equal(found, [math.nan, math.inf])
    np.testing.assert_array_equal(as_doubles([Decimal("nan"), math.inf]), [math.nan, math.inf])


def test_signs_of_zero_and_denormals_stay():
    kept = np.array([-0.0, 0.0, 5e-324, -5e-324, np.finfo(float).tiny / 3])
    assert as_doubles(kept).tobytes() == kept.tobytes()
    assert as_doubles(kept.astype(object)).tobytes() == kept.tobytes()
    assert as_doubles(kept) is not kept


def test_a_mechanism_is_named_with_what_it_returned_and_should():
    def counting(dataset, trials, rng):
        return np.full(trials, LARGE)

    with pytest.raises(MechanismError) as raised:
        draw_checked_sample(as_mechanism(counting), None, 3, default_rng(0))
    message = str(raised.value)
    assert message.startswith("mechanism ")
    assert "f(data, 3, rng) returned integers that are no doubles" in message
    assert "expected two numbers for each" in message
    assert str(LARGE) not in message


def test_drawn_outputs_keep_to_the_same_rule():
    good = np.arange(100.0)
    with pytest.raises(InvalidArgument, match=r"^on_neighbour: got integers that"):
        dpaudit.audit_outputs(good, np.full(100, LARGE), epsilon=1.0)
    with pytest.raises(InvalidArgument, match=r"^on_dataset: got a masked array"):
        dpaudit.audit_outputs(np.ma.masked_less(good, 5), good, epsilon=1.0)


# Lines of a stream


def watched(*numbers):
    watch = StreamWatch(BettingTarget(1.0, 0.0, 0.05))
    lines = (f"{side},{number}" for number in numbers for side in ("dataset", "neighbour"))
    watch.take(enumerate(lines, start=1))
    return watch


@pytest.mark.parametrize(
    "written",
    [
        *("9007199254740993", "1e-400", "4e-324", "0.12345678901234567890123", "1" * 25),
        "9007199254740993.0",
    ],
)
def test_a_line_whose_number_is_no_double_is_refused(written):
    with pytest.raises(DataError, match="numbers that doubles hold with all the digits written"):
        watched(written)


@pytest.mark.parametrize(
    "written",
    [
        *(
            "0.1",
            "0.10000000000000001",
            "0.1000000000000000055511151231257827021181583404541015625",
        ),
        *("1e23", "5e-324", "4.9e-324", "-0.0", "-0", "0e5", "+1.50", "9007199254740992", "1E5"),
        *(f"{np.float32(0.1)}", f"{np.float32(0.1):.20f}", "1.7976931348623157e308", ".5", "5."),
    ],
)
def test_a_line_whose_number_is_a_double_is_taken(written):
    watch = watched(written)
    assert watch.bettor.pairs == 1


# What is nothing to arithmetic


@dataclass(frozen=True)
class Tells:
    """Returns 0 or the other zero; which it is more often says what the dataset is."""

    other: float
    honest: bool = False

    def sample(self, dataset, trials, rng):
        often = 0.5 if self.honest or not dataset[0] else 0.99
        return np.where(rng.random(trials) < often, self.other, 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("other", [-0.0, 5e-324], ids=repr)
def test_a_leak_through_zeros_alone_is_found(other):
    def found(mechanism):
        options = {"epsilon": 0.5, "trials": 2000, "isolation": IN_PROCESS}
        return dpaudit.audit(mechanism, [1.0], [0.0], **options)

    assert found(Tells(other)).verdict == "refuted"
    assert found(Tells(other, honest=True)).verdict == "not refuted"


@pytest.mark.parametrize("other", [-0.0, 5e-324], ids=repr)
def test_lowest_bits_tell_zeros_apart(other):
    def lower(mechanism):
        rng = default_rng(1)
        on_p, on_q, *fresh = (
            mechanism.sample(data, 1000, rng) for data in ([1.0], [0.0], [1.0], [0.0])
        )
        score = lowest_bits.fit(None, None, on_p, on_q, rng)
        event = choose_event(score(on_p), score(on_q), 0.0)
        return event_bound(*map(score, fresh), event, 0.0, 0.001).lower

    assert lower(Tells(other)) > 0.5
    assert lower(Tells(other, honest=True)) == 0


@pytest.mark.parametrize("other", ["-0.0", "5e-324"])
def test_a_stream_that_leaks_through_zeros_alone_is_caught(other):
    def stream(honest):
        rng = default_rng(3)
        for number in range(2000):
            side = ("dataset", "neighbour")[number % 2]
            often = 0.99 if side == "dataset" and not honest else 0.5
            yield number + 1, f"{side},{other if rng.random() < often else '0.0'}"

    assert StreamWatch(BettingTarget(0.3, 0.0, 0.05), "histogram").take(stream(False))
    assert not StreamWatch(BettingTarget(0.3, 0.0, 0.05), "histogram").take(stream(True))


@pytest.mark.parametrize(
    ("data", "relation", "epsilon", "words"),
    [
        (
            ([1.0, 1.0], [1.0]),
            None,
            1.0,
            "The smallest relation that explains the difference is add-remove-record.",
        ),
        (
            ([1.0, 1.0], [1.0]),
            None,
            9.0,
            "The smallest relation that explains the difference is add-remove-record.",
        ),
        (
            ([1.0, 1.0], [1.0, 0.0]),
            None,
            1.2,
            "two steps apart, and the claim allows an epsilon of 2.4 for two steps",
        ),
        (
            ([1.0], [1.0, 2.0, 3.0]),
            "declared: one user",
            9.0,
            "Neighbours: one user, as the caller",
        ),
        (([1.0, 1.0], [1.0]), "add-remove-record", 9.0, "not evidence that the claim holds."),
    ],
)
def test_the_verdict_says_by_which_relation_the_two_are_neighbours(data, relation, epsilon, words):
    def noisy_sum(records, trials, rng):
        return np.sum(records) + rng.laplace(0, 0.5, trials)

    found = dpaudit.audit(
        noisy_sum, *data, epsilon=epsilon, relation=relation, trials=4000, isolation=IN_PROCESS
    )
    assert words in found.reason
    assert ("obey" in found.reason) == (relation is None)


def test_a_function_that_returns_nothing_has_no_verdict():
    """What returns something now and then, however rarely, has one."""

    def forgets(records, rng):
        rng.laplace()

    def seldom(records, rng):
        return 1 if rng.random() < 0.01 else None

    given = {"epsilon": 1.0, "trials": 500, "isolation": IN_PROCESS}
    found = dpaudit.audit(forgets, [1.0, 2.0], [1.0], **given)
    assert found.verdict == "withheld"
    assert "let the function return the value that it releases" in found.reason
    assert dpaudit.audit(seldom, [1.0, 2.0], [1.0], **given).verdict == "not refuted"


def test_what_is_not_refuted_says_what_so_many_outputs_can_show():
    """The cap is what the same number of outputs certify of a function that releases its data."""
    given = {"trials": 500, "isolation": IN_PROCESS}
    quiet = dpaudit.audit(lambda data, rng: rng.random() < 0.5, [1.0], [0.0], epsilon=1.0, **given)
    loud = dpaudit.audit(
        lambda data, rng: data[0] + 1e-9 * rng.random(), [1.0], [0.0], epsilon=1.0, **given
    )
    assert (quiet.verdict, loud.verdict) == ("not refuted", "refuted")
    assert quiet.measured.cap == loud.measured.cap == loud.measured.lower
    assert "This many outputs can certify at most 5.785." in quiet.reason
    short = dpaudit.audit(lambda data, rng: rng.random() < 0.5, [1.0], [0.0], epsilon=9.0, **given)
    assert ", which is not enough to refute the claim." in short.reason


@pytest.mark.parametrize(
    ("output", "asked"), [(lambda rng: 3, False), (lambda rng: {"mean": None}, True)]
)
def test_a_function_that_may_have_forgotten_its_return_is_asked_about_it(output, asked):
    def mechanism(records, rng):
        return output(rng)

    found = dpaudit.audit(
        mechanism, [1.0, 2.0], [1.0], epsilon=1.0, trials=400, isolation=IN_PROCESS
    )
    assert found.verdict == "not refuted"
    assert ("that the function returns the value that it releases" in found.reason) == asked


def now_and_then(data, trials, rng):
    """Return noise, and with probability 1e-3 a record that is not 0."""
    told = rng.random(trials) < 1e-3 * data[0]
    return np.where(told, 100.0 * data[0], rng.laplace(0, 1.0, trials))


def nearly_fair(data, trials, rng):
    """Return a coin that falls on heads 2% too often."""
    return rng.random(trials) < (0.51 if data[0] else 0.5)


RARELY = np.array([0.0]), np.array([1.0])
RARE = {"epsilon": 1.0, "delta": 1e-5, "trials": 300_000}
WEAK = {"epsilon": 1e-3, "trials": 200_000}


@pytest.mark.parametrize(
    ("mechanism", "given"),
    [pytest.param(now_and_then, RARE, marks=pytest.mark.slow), (nearly_fair, WEAK)],
)
def test_an_event_that_a_few_runs_do_not_show_is_named(mechanism, given):
    pair = np.array([0.0]), np.array([1.0])
    found = dpaudit.audit(mechanism, *pair, isolation=IN_PROCESS, confidence=0.999, **given)
    assert "`output` " in found.reason
    assert found.witness.runs > 3000
    assert found.witness.refutes == (mechanism is now_and_then)
    if mechanism is now_and_then:
        assert found.witness.on_dataset <= 3 < 15 < found.witness.on_neighbour < 90


def test_only_an_event_that_always_happens_is_at_the_ceiling():
    def told(data, trials, rng):
        return np.where(rng.random(trials) < 0.1 * data[0], "record", "nothing")

    found = dpaudit.audit(told, *RARELY, epsilon=1.0, trials=4000, isolation=IN_PROCESS)
    assert found.witness.on_dataset == 0 < found.witness.on_neighbour < 200
    assert found.witness.ceiling is None
    assert "never occurred on the dataset: the true epsilon may be infinite" in found.reason


def test_what_is_no_number_is_named_by_its_code():
    def odd(data, trials, rng):
        return np.where(rng.random(trials) < 0.05 * data[0], -np.inf, rng.normal(size=trials))

    for pair in (RARELY, RARELY[::-1]):
        found = dpaudit.audit(odd, *pair, epsilon=1.0, trials=4_000, isolation=IN_PROCESS)
        assert found.witness.event == "`output` is minus infinity"


@pytest.mark.parametrize(
    ("dataset", "neighbour", "nothing"),
    [([0.0, 0.0], [0.0, 0.0], True), ([0.0, 0.0], [0.0, 1.0], False), ([0.0, 1.0], [0.0], False)],
)
def test_nothing_is_returned_where_neither_side_returns_anything(
    monkeypatch, dataset, neighbour, nothing
):
    monkeypatch.setattr(output_parts, "_is_nothing", lambda layout: True)
    sides = [SimpleNamespace(scores=np.array(one)) for one in (dataset, neighbour)]
    found = output_parts.something_returned(None, sides)
    assert [one.passed for one in found] == [False] * nothing
