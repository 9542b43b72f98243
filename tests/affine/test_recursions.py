"""Sixteen published recursions: their mu by an oracle, in closed form, and from draws."""

import inspect
import itertools

import numpy as np
import pytest

import dpaudit
from tests.affine import draws, oracle
from tests.affine.closed_forms import FORMS
from tests.own_examples import EXAMPLES, load_example

NAMES = sorted(path.stem for path in (EXAMPLES / "recursions").glob("*.py"))
MODULES = {name: load_example(f"recursions/{name}") for name in NAMES}
RECURSIONS = {
    function: (module, getattr(module, function))
    for module in MODULES.values()
    for function in module.MU
}


def stated():
    """Return every number that a module states, by function, change and observer."""
    return {
        (function, change, observer): mu
        for function, (module, _) in RECURSIONS.items()
        for change, by_observer in module.MU[function].items()
        for observer, mu in by_observer.items()
    }


def seen_by(name):
    """Return what takes an observer's part out of an output."""

    def seen(output):
        if isinstance(output, dict):
            return output[name]
        return [one.value for one in output if name in (one.sender, one.receiver, "eavesdropper")]

    return seen


def everything(output):
    return output if isinstance(output, dict) else [one.value for one in output]


# Part of the private numbers of a recursion, and who looks.
PARTS = [
    ("dsgd", [0, 1, 2], "node 2"),  # the labels of node 0
    ("admm_sharing", [0, 1, 2, 3], "party 1"),
    ("noisy_momentum", [0, 1, 2], "last model"),
    ("secure_sums", [0, 1, 5], "server"),
]


def test_there_are_sixteen_and_each_states_its_numbers():
    assert len(MODULES) == 16
    for module in MODULES.values():
        public = {
            name
            for name, one in vars(module).items()
            if inspect.isfunction(one) and not name.startswith("_")
        }
        assert public == set(module.MU)
        for function, by_change in module.MU.items():
            assert set(by_change) == set(module.CHANGES)
            output = getattr(module, function)(module.PRIVATE.copy(), np.random.default_rng(0))
            for by_observer in by_change.values():
                assert not isinstance(output, dict) or set(output) == set(by_observer)
                assert all(oracle.flat(seen_by(observer)(output)).size for observer in by_observer)


@pytest.mark.parametrize("name", NAMES)
def test_a_recursion_has_at_most_thirty_lines(name):
    functions = [one for _, one in inspect.getmembers(MODULES[name], inspect.isfunction)]
    helpers = sum(_lines(one) for one in functions if one.__name__.startswith("_"))
    public = [_lines(one) for one in functions if not one.__name__.startswith("_")]
    assert max(public) + helpers <= 30


def _lines(function):
    return len(inspect.getsource(function).splitlines())


@pytest.mark.parametrize("function", RECURSIONS)
def test_a_stated_number_is_that_of_the_oracle(function):
    module, recursion = RECURSIONS[function]
    for change, by_observer in module.MU[function].items():
        for observer, mu in by_observer.items():
            move = module.CHANGES[change]
            found = oracle.mu(recursion, module.PRIVATE, seen_by(observer), move)
            assert found == pytest.approx(mu, rel=1e-9), (change, observer)


def test_a_closed_form_is_the_stated_number():
    numbers = stated()
    assert set(FORMS) <= set(numbers)
    assert {function for function, _, _ in FORMS} == set(RECURSIONS)
    for case, mu in FORMS.items():
        assert numbers[case] == pytest.approx(float(mu), rel=1e-9), case


@pytest.mark.parametrize("function", RECURSIONS)
def test_runs_are_the_forms_of_their_normals(function):
    module, recursion = RECURSIONS[function]
    noise, data = oracle.coefficients(recursion, module.PRIVATE, everything)
    base = oracle.flat(everything(recursion(module.PRIVATE.copy(), oracle.Impulse())))
    for seed in range(3):
        private = np.random.default_rng(100 + seed).standard_normal(module.PRIVATE.shape)
        output = oracle.flat(everything(recursion(private.copy(), np.random.default_rng(seed))))
        normals = np.random.default_rng(seed).standard_normal(noise.shape[1])
        expected = base + data @ private.ravel() + noise @ normals
        assert output == pytest.approx(expected, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("function", RECURSIONS)
def test_views_say_the_same(function):
    module, recursion = RECURSIONS[function]
    for change, by_observer in module.MU[function].items():
        observers = {one: one for one in by_observer}
        move = module.CHANGES[change]
        found = dpaudit.views(recursion, private=module.PRIVATE, observers=observers, change=move)
        for observer, mu in by_observer.items():
            ends = found.mu(observer)
            assert ends.lower <= ends.upper
            assert [ends.lower, ends.upper] == pytest.approx([mu, mu], rel=1e-9), (change, observer)


@pytest.mark.parametrize(("function", "part", "observer"), PARTS)
def test_a_ball_and_a_box_are_as_large_as_their_worst_change(function, part, observer):
    module, recursion = RECURSIONS[function]
    gram = oracle.gram(recursion, module.PRIVATE, seen_by(observer))[np.ix_(part, part)]
    corners = np.array(list(itertools.product((1, -1), repeat=len(part))))
    largest = {
        "l2": np.linalg.eigvalsh(gram)[-1],
        "l1": np.diagonal(gram).max(),
        "box": np.einsum("ci,ij,cj->c", corners, gram, corners).max(),
    }
    for norm, square in largest.items():
        found = dpaudit.views(
            recursion,
            private=module.PRIVATE,
            observers={observer: observer},
            about={"part": lambda private: private.ravel()[part]},
            norm=norm,
            radius=0.5,
        ).mu(observer)
        expected = 0.5 * np.sqrt(square)
        assert [found.lower, found.upper] == pytest.approx([expected] * 2, rel=1e-9), norm


RUNS, AT_ONCE = 1_000_000, 25_000


@pytest.mark.slow
@pytest.mark.parametrize("function", RECURSIONS)
def test_a_million_draws_have_the_stated_loss(function):
    module, recursion = RECURSIONS[function]
    for change, by_observer in module.MU[function].items():
        move = module.CHANGES[change]
        tests = {one: _best_test(recursion, module, one, move) for one in by_observer}
        for side, data in enumerate((module.PRIVATE, module.PRIVATE + move)):
            scores = _scores(recursion, data, tests, seed=side)
            for observer, mu in by_observer.items():
                mean = side * (mu if np.isfinite(mu) else 1.0)
                _like_a_normal(scores[observer], mean, float(np.isfinite(mu)), (change, observer))


def _best_test(recursion, module, observer, move):
    """Return weights of what is seen: a score of variance 1 that moves by mu, or of 0 by 1."""
    noise, data = oracle.coefficients(recursion, module.PRIVATE, seen_by(observer))
    shift = data @ move.ravel()
    shortest = oracle.least_noise(noise, shift)
    if shortest is None:
        left, values, _ = np.linalg.svd(noise, full_matrices=False)
        range_of_noise = left[:, values > oracle.RANK * values.max(initial=0.0)]
        rest = shift - range_of_noise @ (range_of_noise.T @ shift)
        return rest / (rest @ rest)
    return (
        np.linalg.pinv(noise, rcond=oracle.RANK).T
        @ shortest
        / max(np.linalg.norm(shortest), 1e-300)
    )


def _scores(recursion, data, tests, seed):
    rng, scores = np.random.default_rng(seed), {one: [] for one in tests}
    for _ in range(RUNS // AT_ONCE):
        output = recursion(data.astype(object), draws.ManyDraws(AT_ONCE, rng))
        for observer, weights in tests.items():
            scores[observer].append(
                weights @ draws.flat(seen_by(observer)(output), AT_ONCE).astype(float)
            )
    return {observer: np.concatenate(parts) for observer, parts in scores.items()}


def _like_a_normal(scores, mean, variance, case):
    if variance == 0:
        assert scores == pytest.approx(mean, abs=1e-6), case
        return
    assert abs(scores.mean() - mean) * np.sqrt(RUNS) < 4, case
    assert abs(scores.var() - 1) * np.sqrt(RUNS / 2) < 4, case
