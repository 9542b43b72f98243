"""How a signature is read: what is said of it, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from dpaudit.errors import InvalidArgument
from dpaudit.mechanisms.foreign.calling import Argument, form_of


def annotated(data, source: np.random.Generator):
    return source.normal() + data.sum()


READ = {
    "f(data)": [lambda x: 0, lambda samples: 0, lambda data, r=2.0: 0, lambda x, g=9.8: 0],
    "f(data, rng)": [lambda x, r: 0, lambda d, random_state: 0, annotated, lambda n, rng: 0],
    "f(data, trials, rng)": [lambda x, n, rng: 0, lambda x, size, g: 0, lambda n, trials, rng: 0],
    "f(trials, data)": [lambda trials, values: 0],
    "f(rng, data)": [lambda rng, x: 0],
    "f(data, rng=rng)": [lambda x, *, rng: 0, lambda x, rng=None: 0],
}


@pytest.mark.parametrize(("form", "function"), [(k, f) for k, fs in READ.items() for f in fs])
def test_arguments_are_read_by_their_names(form, function):
    assert str(form_of(function)) == form


@pytest.mark.parametrize(
    ("function", "unknown"),
    [
        (lambda data, epsilon: 0, "epsilon"),
        (lambda data, bins, rng: 0, "bins"),
        (lambda data, k, rng: 0, "k"),
        (lambda data, trials, size, rng: 0, "size"),
    ],
)
def test_an_argument_that_nobody_knows_is_refused_by_name(function, unknown):
    with pytest.raises(
        InvalidArgument, match=rf"meaning of {unknown} is unknown: fix it with functools"
    ):
        form_of(function)


def test_labels_beside_data_are_named_as_a_part_of_the_data():
    with pytest.raises(InvalidArgument, match=r"y is unknown: data with labels are one argument"):
        form_of(lambda X, y, rng: 0)


def test_what_is_refused_may_be_overruled():
    assert str(form_of(lambda data, k, rng: 0, "f(data, trials, rng)")) == "f(data, trials, rng)"


@pytest.mark.parametrize(
    ("written", "many"),
    [
        ("f(data, trials, rng)", True),
        ("f(data, trials)", True),
        ("f(data, rng)", False),
        ("f(data)", False),
    ],
)
def test_a_call_returns_many_where_it_is_told_how_many(written, many):
    assert form_of(lambda *given: 0, written).many is many


def test_randomness_is_what_the_parameter_is_called():
    rng = np.random.default_rng
    assert Argument("rng", "seed").of(rng(5)) == int(rng(5).integers(2**32))
    old = Argument("rng", "random_state").of(rng(5))
    expected = np.random.RandomState(np.random.MT19937(int(rng(5).integers(2**63))))
    assert old.random_sample() == expected.random_sample()
    given = rng(5)
    assert Argument("rng", "source").of(given) is given
    assert Argument("data", "seed").of(7.0) == 7.0
