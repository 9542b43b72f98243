"""What a reader who had not seen the code found, each as a test."""

from __future__ import annotations

import random
from dataclasses import dataclass

import mpmath
import numpy as np
import pytest

import dpaudit
from dpaudit import Message
from dpaudit.affine.form import NotAffine
from dpaudit.errors import InvalidArgument


@dataclass
class Round:
    """A record of a round."""

    sent: list[Message]


def test_messages_in_a_record_are_heard():
    def send(x, rng):
        first = Message(x + rng.normal(), sender="a", receiver="b")
        second = Message(x + rng.normal(scale=0.5), sender="a", receiver="b")
        return {"log": [first], "round": Round([second])}

    found = dpaudit.views(send, private=0.0)
    for name in ("b", "eavesdropper"):
        assert found.mu(name).upper == pytest.approx(5**0.5)


def test_equal_generators_of_the_standard_library_are_not_two():
    one, other = random.Random(3), random.Random(3)

    def draw_twice(x, rng):
        return [x + one.gauss(0, 1), x + other.gauss(0, 1)]

    with pytest.raises(NotAffine, match="a generator is copied"):
        dpaudit.views(draw_twice, private=0.0)


def test_unequal_generators_of_the_standard_library_are_two():
    one, other = random.Random(3), random.Random(4)

    def draw_twice(x, rng):
        return [x + one.gauss(0, 1), x + other.gauss(0, 1)]

    assert dpaudit.views(draw_twice, private=0.0).mu("output").upper == pytest.approx(2**0.5)


@pytest.mark.parametrize("offset", [1.7e12, -1e11])
def test_a_large_offset_hides_nothing(offset):
    def guess_type(x, rng):
        scale = 0.01 if type(x) is np.ndarray else 1.0
        return offset + x + rng.normal(scale=scale, size=3)

    with pytest.raises(NotAffine, match="digits of the noise are lost"):
        dpaudit.views(guess_type, private=np.zeros(3))


def test_a_small_offset_hides_no_other_scale():
    def guess_type(x, rng):
        return 1e6 + x + rng.normal(scale=0.99 if type(x) is np.ndarray else 1.0, size=3)

    with pytest.raises(NotAffine, match="reads types"):
        dpaudit.views(guess_type, private=np.zeros(3))


@pytest.mark.parametrize("dtype", [int, np.float32, bool])
def test_private_arrays_are_doubles(dtype):
    with pytest.raises(InvalidArgument, match="private"):
        dpaudit.views(lambda x, rng: x + rng.normal(), private=np.zeros(2, dtype=dtype))


def test_a_participant_that_is_a_number_has_a_guarantee():
    def send(x, rng):
        return Message(x + rng.normal(), sender=0, receiver=1)

    found = dpaudit.views(send, private=0.0)
    assert found.guarantee(1).mu == 1.0
    with pytest.raises(InvalidArgument, match="view"):
        found.guarantee("nobody")


def test_an_observer_changes_nothing_that_others_see():
    def release(x, rng):
        return {"a": x + rng.normal(size=2)}

    def overwrite(output):
        output["a"][:] = 0.0
        return output["a"]

    observers = {"first": overwrite, "second": lambda output: output["a"]}
    found = dpaudit.views(release, private=np.zeros(2), observers=observers)
    assert [found.mu(name, 0).upper for name in observers] == [0.0, 1.0]


def test_what_an_observer_makes_of_the_output_is_compared():
    def release(x, rng):
        return x + rng.normal(size=2)

    def look(output):
        return output if type(output) is not np.ndarray else output * np.array([0.5, 2.0])

    with pytest.raises(NotAffine, match="reads types"):
        dpaudit.views(release, private=np.zeros(2), observers={"one": look})


def test_an_observer_that_fails_on_plain_arrays_is_named():
    def look(output):
        return output if type(output) is not np.ndarray else output[9]

    def release(x, rng):
        return x + rng.normal(size=2)

    with pytest.raises(InvalidArgument, match="one, which raises IndexError"):
        dpaudit.views(release, private=np.zeros(2), observers={"one": look})


def test_an_observer_that_fails_is_named():
    with pytest.raises(InvalidArgument, match="nosy, which raises KeyError"):
        dpaudit.views(lambda x, rng: {}, private=0.0, observers={"nosy": lambda out: out["b"]})


def ill_conditioned(size, condition):
    rng = np.random.default_rng(size)
    basis = np.linalg.qr(rng.normal(size=(size, size)))[0]
    found = basis @ np.diag(np.geomspace(1, 1 / condition, size)) @ basis.T
    return (found + found.T) / 2


@pytest.mark.parametrize(("size", "condition"), [(3, 1e7), (4, 1e6), (12, 1e6)])
def test_ill_conditioned_solutions_are_those_of_sixty_digits(size, condition):
    matrix = ill_conditioned(size, condition)

    def correlate(x, rng):
        return x + rng.multivariate_normal(np.zeros(size), matrix)

    def solve(x, rng):
        return np.linalg.solve(matrix, x) + rng.normal(size=size)

    with mpmath.workdps(60):
        inverse = mpmath.matrix(matrix.tolist()) ** -1
        known = mpmath.sqrt(inverse[0, 0]), mpmath.norm(inverse[:, 0], 2)
        for function, mu in zip((correlate, solve), known, strict=True):
            ends = dpaudit.views(function, private=np.zeros(size)).mu("output", 0)
            assert ends.lower <= mu <= ends.upper


@pytest.mark.parametrize("scale", [1e-160, 1e-100, 1e100])
def test_a_ball_of_any_size_is_enclosed(scale):
    def release(x, rng):
        return x + rng.normal(scale=scale, size=2)

    mu = dpaudit.views(release, private=np.zeros(2), about={"x": slice(None)}).mu("output")
    assert mu.lower <= 1 / scale * (1 + 1e-15)
    assert mu.upper >= 1 / scale * (1 - 1e-15)
    assert mu.width <= 1e-12 * mu.upper


def test_a_remark_says_that_last_digits_decide():
    third = np.full((3, 3), 1 / 3)

    def average_twice(x, rng):
        noise = rng.normal()
        return [x.mean() + noise, third @ x + noise]

    found = dpaudit.views(average_twice, private=np.zeros(3))
    assert found.view("output", 0).hangs_on_digits
    assert "Digits beyond the eleventh decide what these learn: output." in " ".join(
        str(found).split()
    )


def test_no_remark_is_made_of_views_that_are_well_conditioned():
    def release(x, rng):
        return {"one": x + rng.normal(scale=1e-6, size=2), "raw": x, "sum": x.sum() + rng.normal()}

    found = dpaudit.views(release, private=np.zeros(2))
    assert not any(view.hangs_on_digits for view in found.table.values())


def test_many_private_numbers_take_little_memory():
    def average(x, rng):
        return x.mean(axis=0) + rng.normal(size=2)

    found = dpaudit.views(average, private=np.zeros((600, 2)))
    assert found.mu("output", 7).upper == pytest.approx(1 / 600)
