"""Each rule of the checker against plain numbers, and against files that state it wrongly."""

import copy
import math
from fractions import Fraction

import numpy as np
import pytest

import dpaudit
from dpaudit.domains import Domain
from dpaudit.guarantees.kinds import ApproximateDP
from dpaudit.proving import checker
from dpaudit.proving.certificate import make_proof_certificate
from dpaudit.proving.runs.reading import read_trace
from tests.proving.bent import is_of_the_code

HALF = Fraction(1, 2)
EXACT = {
    "inverse": lambda x: 1 / x, "sqrt": math.sqrt, "exp": math.exp, "log": math.log,
    "sin": math.sin, "cos": math.cos, "arctan": math.atan, "floor": math.floor, "rint": round,
}  # fmt: skip
POLY = ((Fraction(2), ((0, 2), (1, 1))), (Fraction(-3), ((1, 3),)), (Fraction(1), ()))
BIN = (Fraction(0), Fraction(1))
MANY = (Fraction(1, 4), (1, 4))
CASES = [
    *((name, 1, None, function) for name, function in EXACT.items()),
    ("poly", 2, POLY, lambda a, b: 2 * a * a * b - 3 * b**3 + 1),
    ("inside", 1, (*BIN, True), lambda x: 0 <= x <= 1),
    ("inside", 1, (*BIN, False), lambda x: 0 <= x < 1),
    ("inside", 1, (-math.inf, Fraction(1), False), lambda x: x < 1),
    ("inside", 1, (Fraction(1), Fraction(1), True), lambda x: x == 1),
    ("others", 1, checker.as_interval(Fraction(3)), lambda x: 3 * x),
    *(("order", 3, (by, (1, 1, 1)), lambda *xs, by=by: np.quantile(xs, float(by)))
      for by in (Fraction(0), Fraction(1, 4), HALF, Fraction(1))),
    ("order", 2, MANY, lambda a, b: np.quantile([a, b, b, b, b], 0.25)),
]  # fmt: skip


def random_interval(rng):
    ends = sorted(Fraction(int(one), 4) for one in rng.integers(-12, 13, 2))
    return checker.Interval(*ends)


def value_in(interval, rng):
    share = Fraction(int(rng.integers(0, 9)), 8)
    return interval.low + share * (interval.high - interval.low)


def moved(name, xs, apart, extra):
    """Return between which ends a function moves, by what a rule says."""
    jets = [(x, {0: checker.as_interval(far)}) for x, far in zip(xs, apart, strict=True)]
    return checker.apply_to_jets(name, jets, extra)[1].get(0, checker.STILL)


@pytest.mark.parametrize(
    ("name", "count", "extra", "function"), CASES, ids=lambda one: str(one)[:9]
)
def test_ends_and_slopes_hold_all_values(name, count, extra, function):
    rng = np.random.default_rng(3)
    bounded = 0
    for _ in range(150):
        xs = [random_interval(rng) for _ in range(count)]
        ends, _ = checker.apply_rule(name, xs, extra)
        if ends is None:
            continue
        bounded += 1
        one, other = ([value_in(x, rng) for x in xs] for _ in range(2))
        first, second = (float(function(*map(float, at))) for at in (one, other))
        assert ends.low - 1e-9 <= first <= ends.high + 1e-9
        low, high = moved(name, xs, [b - a for a, b in zip(one, other, strict=True)], extra)
        assert low - 1e-9 <= second - first <= high + 1e-9
    assert bounded > 10


@pytest.mark.parametrize("name", ["inverse", "log", "sqrt"])
def test_a_function_that_may_have_no_value_has_no_ends(name):
    assert checker.apply_rule(name, [checker.Interval(Fraction(-1), Fraction(1))], None)[0] is None


# Files

RECORDS = Domain(bounds=(0, 1), records=4)
SOME = Domain(bounds=(0, 1), records=(1, 9))
ROWS = Domain(bounds=(-9, 9), columns=2, records=4)


def laplace_sum(x, rng):
    return x.sum() + rng.laplace(scale=2.0)


def by_place(x, rng):
    return x[0] + 2 * x[3] + rng.laplace(scale=2.0)


def histogram(x, rng):
    return np.histogram(x, bins=[0, 0.5, 1])[0] + rng.laplace(scale=2.0, size=2)


def clipped(x, rng):
    length = np.linalg.norm(x, axis=1, keepdims=True)
    return (x * np.minimum(1, 1 / length)).sum(axis=0) + rng.normal(scale=2.0, size=2)


def middle(x, rng):
    return np.median(x) + rng.laplace(scale=1.0)


def variance(x, rng):
    return x.var() + rng.laplace(scale=1.0)


def largest(x, rng):
    return np.argmax(x.sum(axis=0) + rng.gumbel(scale=20.0, size=2))


def answers(x, rng):
    truth = x > 0.5
    return np.where(rng.random(4) < 0.75, truth, ~truth)


def whole_noise(x, rng):
    return int((x > 0.5).sum()) + rng.geometric(0.5) - rng.geometric(0.5)


def of_a_sample(x, rng):
    return (x * (rng.random(len(x)) < 0.25)).sum() + rng.laplace(scale=1.0)


def of_samples(x, rng):
    return [(x * (rng.random(len(x)) < 0.125)).sum() + rng.normal(scale=2.0) for _ in range(3)]


def from_uniforms(x, rng):
    u = rng.random() - 0.5
    return x.sum() - 2 * np.sign(u) * np.log(1 - 2 * np.abs(u))


def twice(x, rng):
    return x.sum() + rng.laplace(scale=4.0), (x**2).sum() + rng.laplace(scale=4.0)


KNOWN = {
    laplace_sum: (RECORDS, 0.5), by_place: (RECORDS, 1.0), histogram: (RECORDS, 1.0),
    clipped: (ROWS, None), middle: (RECORDS, 0.5), variance: (RECORDS, 3 / 16),
    largest: (ROWS, 1.8), answers: (RECORDS, math.log(3)), whole_noise: (SOME, math.log(2)),
    of_a_sample: (SOME, math.log1p(0.25 * math.expm1(1))), of_samples: (SOME, None),
    from_uniforms: (RECORDS, 0.5), twice: (RECORDS, 0.5),
}  # fmt: skip


class Certificates(dict):
    """Proofs of the functions of `KNOWN`, each made when it is first asked for."""

    def __missing__(self, function):
        domain, pure = KNOWN[function]
        relation = "add-remove-record" if domain is SOME else "replace-record"
        trace = read_trace(function, domain, relation, runs=2)
        claim = ApproximateDP(0.0, 0.0 if pure is not None else 1e-5)
        self[function] = make_proof_certificate(trace, None, claim)
        return self[function]


@pytest.fixture(scope="module")
def certificates():
    return Certificates()


def passes(bent, document):
    """Return whether a file is verified, as one of the code that it was of."""
    try:
        checker.check_proof_certificate(bent)
    except checker.NotVerified:
        return False
    return is_of_the_code(bent, document)


FUNCTIONS = pytest.mark.parametrize("function", KNOWN, ids=lambda one: one.__name__)


@FUNCTIONS
def test_a_claim_is_the_known_one(certificates, function):
    document, (_, pure) = certificates[function], KNOWN[function]
    assert passes(document, document)
    if pure is not None:
        assert document["instance"]["claim"]["epsilon"] == pytest.approx(pure, rel=1e-9)


def test_gaussian_noise_costs_what_is_known(certificates):
    claim = certificates[clipped]["instance"]["claim"]
    assert claim["epsilon"] == pytest.approx(dpaudit.GaussianDP(1.0).epsilon(1e-5), rel=1e-6)
    sampled = certificates[of_samples]["instance"]["claim"]
    assert 0.3 < sampled["epsilon"] < dpaudit.GaussianDP(3**0.5 / 2).epsilon(1e-5) / 3


@FUNCTIONS
def test_no_less_is_verified(certificates, function):
    bent = copy.deepcopy(certificates[function])
    bent["instance"]["claim"]["epsilon"] *= 0.999
    assert not passes(bent, certificates[function])


@FUNCTIONS
def test_a_smaller_set_of_records_is_refused(certificates, function):
    bent = copy.deepcopy(certificates[function])
    bent["instance"]["paths"][0]["hints"].pop()
    assert not passes(bent, certificates[function])
    bent = copy.deepcopy(certificates[function])
    part = bent["instance"]["universe"]["parts"][0]
    part["high"] = [one / 2 for one in part["high"]]
    assert not passes(bent, certificates[function])


@FUNCTIONS
def test_the_other_relation_is_refused(certificates, function):
    bent = copy.deepcopy(certificates[function])
    universe = bent["instance"]["universe"]
    adds = universe["relation"] == "add-remove-record"
    universe["relation"] = "replace-record" if adds else "add-remove-record"
    universe["records"] = universe["parts"][0]["shape"][0] = 4 if adds else None
    assert not passes(bent, certificates[function])


@FUNCTIONS
def test_a_bigger_scale_is_not_of_the_code(certificates, function):
    bent = copy.deepcopy(certificates[function])
    for node in bent["instance"]["paths"][0]["nodes"]:
        given = node["parameters"]
        if "factors" in given:
            given["factors"] = [2 * one for one in given["factors"]]
        if "factor" in given:
            given["factor"] *= 2
        if "odds" in given:
            given["odds"] = [[a, b, 0.5] for a, b, _ in given["odds"]]
    assert not passes(bent, certificates[function])


def test_noise_that_hides_twice_is_refused(certificates):
    bent = copy.deepcopy(certificates[twice])
    releases = [
        one for one in bent["instance"]["paths"][0]["nodes"] if one["operation"] == "release"
    ]
    releases[1]["parameters"]["draws"] = releases[0]["parameters"]["draws"]
    with pytest.raises(checker.NotVerified, match="used twice"):
        checker.check_proof_certificate(bent)


# What no writer writes


def bent_nodes(document, operation, **parameters):
    """Return a copy in which the first node of an operation has other parameters."""
    bent = copy.deepcopy(document)
    nodes = bent["instance"]["paths"][0]["nodes"]
    next(one for one in nodes if one["operation"] == operation)["parameters"] |= parameters
    return bent


def is_refused(bent):
    try:
        checker.check_instance(bent["instance"])
    except checker.NotVerified:
        return True
    return False


@pytest.mark.parametrize(
    "terms",
    [[[1, [[0, 1], [0, 1]]]], [[1, [[0, -1]]]], [[1, [[0, 0]]]], [[1, [[7, 1]]]], [[1, [[0, 99]]]],
     [["1/0", [[0, 1]]]], [["Infinity", [[0, 1]]]], [[None, []]]],
)  # fmt: skip
def test_a_polynomial_is_one(certificates, terms):
    assert is_refused(bent_nodes(certificates[by_place], "poly", terms=terms))


@pytest.mark.parametrize(
    "given", [{"margin": -1}, {"by": 0}, {"by": -1}, {"by": "Infinity"}], ids=str
)
def test_a_vector_is_shortened(certificates, given):
    bent = bent_nodes(certificates[clipped], "clip", **given)
    assert is_refused(bent) or given == {"by": "Infinity"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [({}, False), ({"high": 0.75}, True), ({"closed": True}, True), ({"low": 0.25}, False),
     ({"low": 0.25, "high": 2}, True), ({"low": 0.5, "high": 1, "closed": True}, False)],
    ids=str,
)  # fmt: skip
def test_sets_of_a_family_do_not_overlap(certificates, given, expected):
    assert is_refused(bent_nodes(certificates[histogram], "inside", **given)) is expected


@pytest.mark.parametrize(
    "odds",
    [[[0, 0, 1], [1, 1, 1]], [[0, 0, 0.5], [1, 0, 0.5]], [[0, 0, 1.5], [0, 1, -0.5], [1, 0, 1]],
     [[0, 0, 0.5], [0, 1, 0.5]], []],
    ids=str,
)  # fmt: skip
def test_odds_are_those_of_all_numbers(certificates, odds):
    assert is_refused(bent_nodes(certificates[answers], "respond", odds=odds))


def test_a_coin_of_a_sample_is_for_one_thing(certificates):
    bent = copy.deepcopy(certificates[of_a_sample])
    nodes = bent["instance"]["paths"][0]["nodes"]
    total = next(one for one in nodes if one["operation"] == "total")
    draw = total["parameters"]["sample"]
    shown = {"draws": [draw], "factors": [1], "each": True}
    nodes.append({"operation": "release", "operands": [total["operands"][0]], "parameters": shown,
                  "place": "?"})  # fmt: skip
    assert is_refused(bent)


def test_releases_of_one_sample_are_one_release(certificates):
    bent = copy.deepcopy(certificates[of_samples])
    nodes = bent["instance"]["paths"][0]["nodes"]
    totals = [one for one in nodes if one["operation"] == "total"]
    for one in totals:
        one["parameters"]["sample"] = totals[0]["parameters"]["sample"]
    cost = checker.check_instance(bent["instance"])
    assert cost.paths[-1][1] == [(Fraction(1, 8), Fraction(3, 4))]


def test_a_sample_with_two_kinds_of_noise_gains_nothing(certificates):
    bent = copy.deepcopy(certificates[of_samples])
    nodes, draws = bent["instance"]["paths"][0]["nodes"], bent["instance"]["draws"]
    totals = [one for one in nodes if one["operation"] == "total"]
    for one in totals:
        one["parameters"]["sample"] = totals[0]["parameters"]["sample"]
    next(one for one in draws if one["law"] == "normal")["law"] = "laplace"
    cost = checker.check_instance(bent["instance"])
    assert cost.paths[-1][1] == []
    assert (cost.pure, cost.square) == (HALF, HALF)


@pytest.mark.parametrize(
    "change", [{"p": 0.25}, {"p": 0}, {"p": 1}, {"law": "exponential"}], ids=str
)
def test_a_difference_of_other_draws_hides_nothing(certificates, change):
    bent = copy.deepcopy(certificates[whole_noise])
    bent["instance"]["draws"][0] |= change
    assert is_refused(bent)


def test_vectors_that_are_shortened_apart_lie_in_two_balls(certificates):
    bent = copy.deepcopy(certificates[clipped])
    first = checker.check_instance(bent["instance"])
    nodes, outputs = (bent["instance"]["paths"][0][key] for key in ("nodes", "outputs"))
    again, moved = [copy.deepcopy(one) for one in nodes], len(nodes)
    for one in again:
        one["operands"] = [k + moved for k in one["operands"]]
        if one["operation"] == "clip":
            one["parameters"]["margin"] = 1
        if one["operation"] == "release":
            one["parameters"]["draws"] = [k + 2 for k in one["parameters"]["draws"]]
    bent["instance"]["draws"] *= 2
    bent["instance"]["paths"][0]["hints"] = [[None] * 4]
    nodes += again
    outputs += [k + moved for k in outputs]
    cost = checker.check_instance(bent["instance"])
    assert cost.square == 2 * first.square


@pytest.mark.parametrize(
    "search",
    [[], [[], []], [[[0, 1]], []], [[[0, 1], [0, 0]], [0, [], []]], [[[0, 0]], [0, []]],
     [[[99, 0]], []], [[[0, 2]], []]],
    ids=str,
)  # fmt: skip
def test_no_hint_makes_less_of_a_move(certificates, search):
    bent = copy.deepcopy(certificates[variance])
    bent["instance"]["paths"][0]["hints"] = [[[search]]]
    try:
        cost = checker.check_instance(bent["instance"])
    except checker.NotVerified:
        return
    assert cost.pure >= Fraction(3, 16)
