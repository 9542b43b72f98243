"""Adaptive inputs: known strategies, patterns by brute force, and what is no exact view."""

import copy
import math
import pickle
from functools import partial

import numpy as np
import pytest

import dpaudit
from dpaudit.accounts.matrix import MatrixParameters, sensitivity
from dpaudit.affine.form import NotAffine
from dpaudit.affine.reading import read_recursion
from dpaudit.errors import InvalidArgument
from tests.affine import adaptive, oracle

BAND = [1.0, 0.5, 0.375] + [0.0] * 5


@pytest.fixture(autouse=True)
def few_runs(monkeypatch):
    """Compare each recursion with few plain runs: what they catch is seen in any of them."""
    monkeypatch.setattr("dpaudit.affine.api.read_recursion", partial(read_recursion, runs=10))


def learned(recursion, observers=None, **inputs):
    return dpaudit.views(recursion, private=dpaudit.AdaptiveInputs(**inputs), observers=observers)


# --- strategies of which the numbers are known -----------------------------------------------


@pytest.mark.parametrize("dimension", [1, 3])
@pytest.mark.parametrize(
    "coefficients",
    [
        [1.0] + [0.0] * 7,
        adaptive.square_root(8),
        BAND,
        [0.8**k for k in range(8)],
    ],
)
def test_correlated_noise_has_the_longest_column_of_its_strategy(coefficients, dimension):
    recursion = adaptive.train(adaptive.toeplitz(coefficients), scale=2.0)
    found = learned(recursion, steps=8, dimension=dimension, norm=3.0)
    mu = 1.5 * math.hypot(*coefficients)
    for name in ("inputs", "models"):
        assert not found.view(name).is_upper
        assert found.view(name).proof == "exact"
        assert found.mu(name).lower <= mu * (1 + 1e-15)
        assert found.mu(name).upper == pytest.approx(mu, rel=1e-12)
        assert found.mu(name).width <= 1e-12 * mu


def test_a_tree_has_the_root_of_its_depth():
    found = learned(adaptive.grow_tree, steps=8, dimension=2)
    assert found.mu("output").lower == pytest.approx(2.0, rel=1e-12)
    assert found.mu("output").upper == pytest.approx(2.0, rel=1e-12)
    half = learned(adaptive.grow_tree, steps=6).mu("output")  # round 0 is in three nodes
    assert half.upper == pytest.approx(math.sqrt(3), rel=1e-12)


def test_replaced_records_count_twice():
    recursion = adaptive.train(adaptive.toeplitz([1.0, 0.5]))
    once = learned(recursion, steps=2).mu("inputs").upper
    twice = learned(recursion, steps=2, relation="replace-record").mu("inputs").upper
    assert twice == pytest.approx(2 * once, rel=1e-14)


@pytest.mark.parametrize("share", [0.3, 0.9])
def test_noise_that_is_taken_back_over_epochs(share):
    recursion, coefficients = adaptive.take_back(9, share)
    table = adaptive.matrix_of(adaptive.toeplitz(coefficients))
    found = learned(recursion, steps=9, participation="cyclic", separation=3).mu("output")
    mu = max(np.linalg.norm(table[:, first::3].sum(axis=1)) for first in range(3))
    assert found.lower == pytest.approx(mu, rel=1e-12)
    assert found.upper == pytest.approx(mu, rel=1e-12)


def test_the_account_of_matrix_mechanisms_says_the_same():
    recursion, _ = adaptive.take_back(12, 0.5)
    rounds = {"participation": "min-separation", "separation": 3, "participations": 2}
    named = MatrixParameters(strategy="lambda-cgd", cancellation=0.5, rounds=12, **rounds)
    found = learned(recursion, steps=12, **rounds).mu("output")
    assert found.upper == pytest.approx(sensitivity(named).upper, rel=1e-12)
    assert found.lower == pytest.approx(sensitivity(named).lower, rel=1e-12)


def test_a_band_makes_participations_that_are_far_apart_add_up():
    coefficients = [1.0, 0.5, 0.375] + [0.0] * 6
    recursion = adaptive.train(adaptive.toeplitz(coefficients))
    given = {"participation": "min-separation", "separation": 3}
    found = learned(recursion, steps=9, **given).mu("inputs")
    assert found.upper == pytest.approx(math.sqrt(3) * math.hypot(1.0, 0.5, 0.375), rel=1e-12)
    found = learned(recursion, steps=9, participations=2, **given).mu("inputs")
    assert found.upper == pytest.approx(math.sqrt(2) * math.hypot(1.0, 0.5, 0.375), rel=1e-12)


# --- patterns, against everything ------------------------------------------------------------


def random_rows(rng, size):
    rows = [[1 + rng.random(), *rng.normal(size=t)] for t in range(size)]
    return [[float(one) for one in row] for row in rows]


@pytest.mark.parametrize("seed", range(12))
def test_patterns_are_between_what_signs_and_sizes_give(seed):
    rng = np.random.default_rng(seed)
    size, apart = 6, int(rng.integers(1, 4))
    rows = random_rows(rng, size)
    recursion = adaptive.train(rows)
    noise, data = oracle.coefficients(
        adaptive.fixed(recursion), np.zeros((size, 1)), lambda output: output["models"]
    )
    gram = data.T @ np.linalg.solve(noise @ noise.T, data)
    sets = list(adaptive.patterns(size, apart, 3))
    low, high = adaptive.largest(gram, sets)
    found = learned(
        recursion, steps=size, participation="min-separation", separation=apart, participations=3
    )
    for mu in (found.mu("models"), found.mu("inputs")):
        assert mu.lower <= high * (1 + 1e-9)
        assert mu.lower >= 0.8 * low  # signs are a search
        assert mu.upper == pytest.approx(high, rel=1e-9)
    listed = learned(recursion, steps=size, patterns=sets).mu("models")
    assert listed.upper == pytest.approx(high, rel=1e-9)
    assert listed.lower <= low * (1 + 1e-9)  # of one dimension, signs are all there is


def test_coordinates_that_are_mixed_have_a_bracket():
    rng = np.random.default_rng(5)
    turns = rng.normal(size=(4, 2, 2)) + 2 * np.eye(2)

    def mix(inputs, rng):
        seen, model = [], np.zeros(2)
        for t in range(4):
            model = 0.5 * model + turns[t] @ inputs.at(t, model) + rng.normal(size=2)
            seen.append(model)
        return np.array(seen)

    noise, data = oracle.coefficients(adaptive.fixed(mix), np.zeros((4, 2)), lambda seen: seen)
    factor = np.linalg.solve(np.linalg.cholesky(noise @ noise.T), data).reshape(8, 4, 2)
    once = max(np.linalg.norm(factor[:, t], 2) for t in range(4))
    found = learned(mix, steps=4, dimension=2).mu("output")
    assert found.lower == pytest.approx(once, rel=1e-12)
    assert found.upper == pytest.approx(once, rel=1e-12)
    found = learned(mix, steps=4, dimension=2, participation="cyclic", separation=2).mu("output")
    angles = np.linspace(0, 2 * np.pi, 721)
    circle = np.stack([np.cos(angles), np.sin(angles)])
    best = 0.0
    for first, second in ((0, 2), (1, 3)):
        moved = (factor[:, first] @ circle)[:, :, None] + (factor[:, second] @ circle)[:, None]
        best = max(best, np.sqrt((moved**2).sum(axis=0)).max())
    assert best * (1 - 1e-4) <= found.lower <= best * (1 + 1e-4)
    assert best <= found.upper <= 1.3 * best


def test_a_first_round_that_is_not_seen_leaves_the_others_alike():
    def late(inputs, rng):
        inputs.at(0)
        first = inputs.at(1) + rng.normal(size=2)
        return [first, inputs.at(2, first) + 0.5 * first + rng.normal(size=2)]

    found = learned(late, steps=3, dimension=2, participation="cyclic").mu("output")
    assert found.lower == pytest.approx(math.sqrt(2), rel=1e-12)
    assert found.upper == pytest.approx(math.sqrt(2), rel=1e-12)


def test_a_record_of_given_rounds_is_in_no_other():
    def louder(inputs, rng):
        return [inputs.at(t) + rng.normal(scale=2.0**t, size=1) for t in range(4)]

    assert learned(louder, steps=4).mu("output").upper == 1.0
    assert learned(louder, steps=4, patterns=[(2,), (3,)]).mu("output").upper == 0.25
    both = learned(louder, steps=4, patterns=[(1, 2), (3,)]).mu("output")
    assert both.upper == pytest.approx(math.hypot(0.5, 0.25), rel=1e-12)


# --- what is no exact view -------------------------------------------------------------------


def test_who_sees_the_last_model_alone_is_given_the_others():
    recursion = adaptive.train(adaptive.toeplitz([1.0, 0.0, 0.0, 0.0]))
    found = learned(recursion, steps=4).view("last")
    assert found.is_upper
    assert found.mu.lower == pytest.approx(0.5, rel=1e-12)
    assert found.mu.upper == pytest.approx(1.0, rel=1e-12)


def walk(own, hidden=1.0):
    """Return two steps of a walk that only ends in public; the second input knows the first."""

    def recursion(inputs, rng):
        state = inputs.at(0) + rng.normal(scale=hidden, size=1)
        return state + inputs.at(1, state) + rng.normal(scale=own, size=1)

    return recursion


@pytest.mark.parametrize("gain", [1.0, 9.0, 1000.0])
def test_inputs_that_know_a_hidden_state_beat_those_that_do_not(gain):
    def respond(x, rng):  # the other records answer the hidden state: an input of its own kind
        state = x + rng.normal()
        return state + gain * state + rng.normal()

    found = learned(walk(1.0), steps=2, dimension=1).view("output")
    naive = 1 / math.sqrt(2)
    beaten = dpaudit.views(respond, private=0.0).mu("output")
    assert beaten.lower == pytest.approx((1 + gain) / math.hypot(1 + gain, 1), rel=1e-12)
    assert beaten.lower > 1.2 * naive
    assert found.is_upper
    assert found.mu.lower == pytest.approx(naive, rel=1e-12)
    assert beaten.upper <= found.mu.upper == pytest.approx(1.0, rel=1e-12)


def test_an_input_that_knows_the_noise_to_come_has_no_bound():
    def leak(inputs, rng):
        noise = rng.normal(size=1)
        return inputs.at(0, noise) + noise

    found = learned(leak, steps=1).view("output")
    assert found.is_upper
    assert found.mu.lower == 1.0
    assert found.mu.upper == math.inf


def test_noise_that_two_rows_share_hides_only_one():
    def share(inputs, rng):
        noise = rng.normal(size=1)
        first = inputs.at(0) + noise
        return [first, inputs.at(1, first) + noise]

    assert learned(share, steps=2).mu("output").lower == math.inf


def test_noise_that_is_known_is_no_noise_of_its_own():
    def reuse(inputs, rng):
        noise = rng.normal(size=1)
        first = inputs.at(0) + rng.normal(size=1)
        return {"noise": noise, "rows": [first, inputs.at(1, first) + noise]}

    found = learned(reuse, steps=2)
    assert found.mu("rows").upper == 1.0
    assert found.mu("everything").lower == math.inf


def test_a_model_without_noise_is_hidden_from_whom_only_the_end_is_shown():
    def perturb(inputs, rng):
        model = np.zeros(1)
        for t in range(3):
            model = model + inputs.at(t, model)
        return model + rng.normal(size=1)

    found = learned(perturb, steps=3).view("output")
    assert found.mu.lower == pytest.approx(1.0, rel=1e-12)
    assert found.mu.upper == math.inf


def test_sums_that_differ_by_what_is_hidden_are_known():
    """An argument is a combination of rows that no single line of the code makes of them."""

    def mixed(inputs, rng):
        first, second = inputs.at(0) + rng.normal(size=1), rng.normal(size=1)
        third = inputs.at(1, first - second) + rng.normal(size=1)
        return {"both": [first + second, 2 * second, third], "one": [first + second, third]}

    found = learned(mixed, steps=2)
    assert not found.view("both").is_upper
    assert found.view("both").proof == "exact"
    assert found.mu("both").upper == pytest.approx(1.0, rel=1e-12)
    assert found.view("one").is_upper


def test_who_sees_the_first_rounds_needs_nothing_of_later_ones():
    recursion = adaptive.train(adaptive.toeplitz([1.0, 0.5, 0.0, 0.0]))
    found = learned(recursion, {"first": lambda seen: seen["inputs"][:2]}, steps=4).view("first")
    assert not found.is_upper
    assert found.mu.upper == pytest.approx(math.hypot(1.0, 0.5), rel=1e-12)


def test_inputs_behind_a_hidden_argument_count_too():
    """What is seen is made of the last input alone, and that depends on those before."""

    def chain(inputs, rng):
        first = inputs.at(0) + rng.normal(scale=2.0, size=1)
        second = inputs.at(1, first) + rng.normal(scale=4.0, size=1)
        return inputs.at(2, second) + rng.normal(scale=8.0, size=1)

    found = learned(chain, steps=3).view("output")
    assert found.is_upper
    assert found.mu.lower == 0.125
    assert found.mu.upper == 0.5  # of the first


def test_other_peoples_inputs_are_known_as_far_as_their_arguments_are():
    """Two nodes; each trains on its own and hears the noisy model of the other one."""

    def pair(private, rng):
        mine, other = private["mine"], private["other"]
        here, there, seen = np.zeros(1), np.zeros(1), {"other": [], "wire": []}
        for t in range(3):
            here, there = here + mine.at(t, here), there + other.at(t, there)
            sent = [here + rng.normal(size=1), there + rng.normal(size=1)]
            here, there = sent[0] + 0.5 * sent[1], there + sent[0]
            seen["wire"] += sent
            seen["other"] += [sent, there]
        return seen

    private = {name: dpaudit.AdaptiveInputs(steps=3) for name in ("mine", "other")}
    found = dpaudit.views(pair, private=private)
    own = found.view("other", about="mine")
    assert not own.is_upper
    assert own.mu.upper == pytest.approx(1.0, rel=1e-12)
    wire = found.view("wire", about="mine")  # what "other" adds is a function of what is sent
    assert not wire.is_upper
    assert wire.mu.upper == pytest.approx(1.0, rel=1e-12)
    assert found.view("wire", about="other").is_upper  # whose own state has no noise
    assert found.mu("wire", about="other").upper == math.inf


def test_data_beside_inputs_change_by_themselves():
    def start_noisily(private, rng):
        model = private["start"] + rng.normal(scale=4.0, size=1)
        noisy = private["inputs"].at(0, model) + model + rng.normal(size=1)
        return {"both": [model, noisy], "end": noisy}

    private = {"start": np.zeros(1), "inputs": dpaudit.AdaptiveInputs(steps=1)}
    found = dpaudit.views(start_noisily, private=private)
    assert found.mu("both", "start").upper == 0.25
    assert found.mu("both", "inputs").upper == 1.0
    assert found.view("end", "start").is_upper
    assert found.mu("end", "start").lower == pytest.approx(1 / math.sqrt(17), rel=1e-12)
    assert found.mu("end", "start").upper == 0.25
    with pytest.raises(InvalidArgument, match="a part of the private data"):
        dpaudit.views(start_noisily, private=private, about={"all": lambda x: [*x.values()]})
    with pytest.raises(InvalidArgument, match="name whose data"):
        dpaudit.views(start_noisily, private=private, change=[1.0])


# --- code that is not read ---------------------------------------------------------------------


def first_input(of):
    def recursion(inputs, rng):
        return of(inputs) + rng.normal(size=1)

    return recursion


class Model:
    def __init__(self, weights):
        self.weights = weights


@pytest.mark.parametrize(
    ("of", "reason"),
    [
        (lambda inputs: inputs.at(0) ** 2, "not linear"),
        (lambda inputs: inputs.at(0) * inputs.at(1), "multiplied"),
        (lambda inputs: inputs.at(0) + inputs.at(0), r"input of round \d+ twice"),
        (lambda inputs: inputs.at(2), "does not exist"),
        (lambda inputs: inputs.at(0.5), "does not exist"),
        (lambda inputs: inputs.at(0, Model(np.zeros(1))), "but Model"),
        (lambda inputs: inputs.at(0, {1}), "but set"),
        (lambda inputs: inputs.at(1, np.sign(inputs.at(0))), "not linear"),
        (lambda inputs: pickle.loads(pickle.dumps(inputs)).at(0), "leave the process"),
    ],
)
def test_what_cannot_be_followed_is_refused_with_its_line(of, reason):
    with pytest.raises(NotAffine, match=reason) as refused:
        learned(first_input(of), steps=2)
    assert "test_adaptive.py" in refused.value.place


def is_plain(value):
    return isinstance(value, np.ndarray)


@pytest.mark.parametrize(
    "of",
    [
        lambda inputs, model: inputs.at(0, 2 * model if is_plain(model) else model),
        lambda inputs, model: inputs.at(int(is_plain(model)), model),
        lambda inputs, model: inputs.at(0) if is_plain(model) else inputs.at(0) + inputs.at(1),
    ],
)
def test_code_that_asks_other_inputs_of_plain_arrays_is_refused(of):
    def recursion(inputs, rng):
        model = rng.normal(size=1)
        return [model, of(inputs, model) + rng.normal(size=1)]

    with pytest.raises(NotAffine):
        learned(recursion, steps=2)


def test_copies_of_inputs_are_the_same_inputs():
    def recursion(inputs, rng):
        first = copy.deepcopy(inputs).at(0) + rng.normal(size=1)
        return [first, copy.copy(inputs).at(1, first) + rng.normal(size=1)]

    assert learned(recursion, steps=2).mu("output").upper == 1.0
    private = dpaudit.AdaptiveInputs(steps=2)
    assert [one.step for one in read_recursion(recursion, private).calls] == [0, 1]


def test_rounds_may_be_run_in_any_order():
    def backwards(inputs, rng):
        first = inputs.at(1) + rng.normal(scale=2.0, size=1)
        return [first, inputs.at(0, first) + rng.normal(size=1)]

    assert learned(backwards, steps=2, patterns=[(1,)]).mu("output").upper == 0.5


# --- arguments, and runs for real ------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        {"steps": 0},
        {"steps": 2, "dimension": 0},
        {"steps": 2, "norm": -1.0},
        {"steps": 2, "participation": "poisson"},
        {"steps": 2, "participations": 2},
        {"steps": 4, "participation": "cyclic", "separation": 2, "participations": 3},
        {"steps": 2, "patterns": []},
        {"steps": 2, "patterns": [(0, 2)]},
        {"steps": 2, "patterns": [()]},
        {"steps": 2, "patterns": [(0,)], "participation": "cyclic"},
        {"steps": 2, "relation": "add-remove-record"},
    ],
)
def test_inputs_that_are_none_are_refused(given):
    with pytest.raises(InvalidArgument):
        dpaudit.AdaptiveInputs(**given)


def test_a_run_for_real_clips_what_each_record_adds():
    records = np.array([[3.0, 4.0], [0.3, 0.4]])
    inputs = dpaudit.AdaptiveInputs(steps=2, dimension=2, function=lambda t, model: records - model)
    assert inputs.at(0, np.zeros(2)) == pytest.approx([0.9, 1.2])
    end = adaptive.train(adaptive.toeplitz([1.0, 0.0]))(inputs, np.random.default_rng(0))
    assert end["inputs"].shape == (2, 2)
    with pytest.raises(InvalidArgument, match="step"):
        inputs.at(2, np.zeros(2))
    with pytest.raises(InvalidArgument, match="function"):
        dpaudit.AdaptiveInputs(steps=2).at(0)
    with pytest.raises(InvalidArgument, match="rows of 3 numbers"):
        dpaudit.AdaptiveInputs(steps=2, dimension=3, function=lambda t: records).at(0)


def test_a_norm_of_zero_tells_nothing():
    recursion = adaptive.train(adaptive.toeplitz([1.0, 0.0]))
    assert learned(recursion, steps=2, norm=0.0).mu("last").upper == 0.0


# --- what is shown ---------------------------------------------------------------------------


def test_a_table_says_which_views_are_upper_ones(tmp_path):
    recursion = adaptive.train(adaptive.toeplitz([1.0, 0.0, 0.0, 0.0]))
    found = learned(recursion, steps=4)
    lines = str(found).splitlines()
    (last,) = [one for one in lines if "last" in one]
    assert "last (upper view)" in last
    assert "[0.5, 1" in last
    assert any("in one of 4 rounds" in one for one in lines)
    assert sum("upper view" in one for one in lines) == 2  # and the remark that says what it is
    assert found.report.certificate is None
    kept = {one["observer"]: one["upper_view"] for one in found.document()["views"]}
    assert kept == {"inputs": False, "models": False, "last": True, "everything": False}
    assert "views.md" in {one.name for one in found.save(tmp_path)}


def test_changes_of_several_kinds_are_all_named():
    def both(private, rng):
        return private["start"] + private["inputs"].at(0) + rng.normal(size=1)

    private = {"start": np.zeros(1), "inputs": dpaudit.AdaptiveInputs(steps=1, norm=2.0)}
    text = str(dpaudit.views(both, private=private))
    assert "by at most 1 (l2); or by at most 2 (l2) in one of 1 rounds" in text
