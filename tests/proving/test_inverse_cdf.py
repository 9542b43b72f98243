"""Noise that is made of uniform draws is known by its law, and what only looks like it is not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dpaudit.proving.events.bound import cost_of_path
from dpaudit.proving.events.inverse_cdf import with_plain_laws
from dpaudit.proving.events.kinds import ReleaseReader
from dpaudit.proving.events.release_forms import Additive
from dpaudit.proving.program import PathProgram, evaluate_program
from dpaudit.proving.refusals import NotProved
from dpaudit.proving.universe import Part, Universe
from tests.proving.sketches import Sketch


def _textbook(own: Sketch, *, middle: float = 0.5, two: float = 2.0, scale: float = -3.0) -> int:
    """Write ``scale * sign(v) * log(1 - two * |v|)`` for a uniform draw less the middle."""
    v = own("subtract", own.draw("uniform"), own.constant(middle))
    inner = own(
        "subtract", own.constant(1.0), own("multiply", own.constant(two), own("absolute", v))
    )
    signed = own("multiply", own.constant(scale), own("sign", v))
    return own("multiply", signed, own("log", inner))


def _with_copysign(own: Sketch) -> int:
    v = own("subtract", own.draw("uniform"), own.constant(0.5))
    one = own.constant(1.0)
    sign = own("where", own("less", v, own.constant(0.0)), own("negative", one), one)
    inner = own("log1p", own("multiply", own("absolute", v), own.constant(-2.0)))
    return own("multiply", own("multiply", own.constant(-3.0), sign), inner)


def _of_exponential_and_sign(own: Sketch) -> int:
    coin = own("less", own.draw("uniform"), own.constant(0.5))
    sign = own("where", coin, own.constant(-1.0), own.constant(1.0))
    return own("multiply", sign, own.scaled("exponential", 3.0))


def _of_two_logarithms(own: Sketch) -> int:
    logs = [own("log", own.draw("uniform")) for _ in range(2)]
    first, second = (own("multiply", own.constant(3.0), one) for one in logs)
    return own("subtract", first, second)


LAPLACE = {
    "textbook": _textbook,
    "copysign": _with_copysign,
    "signed": _of_exponential_and_sign,
    "logarithms": _of_two_logarithms,
}


@pytest.mark.parametrize("name", LAPLACE)
def test_laplace_noise_of_uniform_draws_is_known(name: str) -> None:
    own = Sketch()
    program = with_plain_laws(own.show(own("add", own.total(), LAPLACE[name](own))))
    reader = ReleaseReader(program)
    (release,) = reader.read().releases
    assert isinstance(release, Additive)
    assert release.noise.law == "laplace"
    assert release.noise.scale is not None
    scale = reader.draft.value(release.noise.scale)
    assert scale is not None
    assert abs(scale) == pytest.approx(3.0, rel=1e-15)
    assert abs(scale) <= 3.0


@pytest.mark.parametrize("name", LAPLACE)
def test_its_law_is_the_one_that_stands_in_the_program(name: str) -> None:
    own = Sketch()
    noise = LAPLACE[name](own)
    rng = np.random.default_rng(7)
    laws = [n.parameters["law"] for n in own.program.nodes if n.operation == "draw"]
    draws = [rng.random(4000) if law == "uniform" else rng.exponential(size=4000) for law in laws]
    found = evaluate_program(own.program, {"": np.zeros(5)}, draws)[noise]
    assert stats.kstest(found, stats.laplace(scale=3).cdf).pvalue > 1e-3


@pytest.mark.parametrize("changed", [{"middle": 0.4}, {"two": 1.5}])
def test_what_is_no_inverse_of_a_cdf_is_refused(changed: dict[str, float]) -> None:
    own = Sketch()
    program = own.show(own("add", own.total(), _textbook(own, **changed)))
    with pytest.raises(NotProved):
        ReleaseReader(with_plain_laws(program)).read()


def test_a_uniform_draw_that_is_shown_too_makes_no_noise() -> None:
    own = Sketch()
    noisy = own("add", own.total(), _textbook(own))
    uniform = next(one.index for one in own.program.nodes if one.operation == "draw")
    program = own.show(noisy, uniform)
    assert with_plain_laws(program).nodes == program.nodes
    with pytest.raises(NotProved):
        ReleaseReader(with_plain_laws(program)).read()


def test_a_program_without_uniform_draws_stays_as_it_is() -> None:
    own = Sketch()
    program: PathProgram = own.show(own("add", own.total(), own.draw()))
    assert with_plain_laws(program) is program


def _direction(own: Sketch, dimension: int) -> int:
    z = own.draw("normal", (dimension,))
    square = own("power", z, own.constant(2.0), shape=(dimension,))
    length = own("sqrt", own("sum", square, axis=None))
    return own("divide", z, length, shape=(dimension,))


def _norm_noise(own: Sketch, *, order: float = 3.0) -> int:
    unit = _direction(own, 3)
    radius = own("multiply", own.draw("gamma", order=order), own.constant(4.0))
    return own("multiply", unit, radius, shape=(3,))


def _three_sums(own: Sketch) -> int:
    return own("broadcast", own.total(), shape=(3,))


def _cost(program: PathProgram) -> float:
    part = Part("", (5,), np.array(0.0), np.array(1.0))
    return cost_of_path(program, Universe((part,), 5, "replace")).epsilon


def test_a_direction_and_a_radius_cost_the_euclidean_distance() -> None:
    own = Sketch()
    noisy = own("add", _three_sums(own), _norm_noise(own), shape=(3,))
    assert _cost(own.show(noisy)) == pytest.approx(np.sqrt(3) / 4, rel=1e-9)


def test_a_radius_of_another_law_or_a_direction_in_parts_is_refused() -> None:
    own = Sketch()
    noisy = own("add", _three_sums(own), _norm_noise(own, order=2.0), shape=(3,))
    with pytest.raises(NotProved):
        _cost(own.show(noisy))
    own = Sketch()
    noise = _norm_noise(own)
    with pytest.raises(NotProved):
        _cost(own.show(own("add", own.total(), own.take(noise, 0))))
    own = Sketch()
    noisy = own("add", _three_sums(own), _norm_noise(own), shape=(3,))
    scaled = own("multiply", noisy, own.constant([1.0, 1.0, 9.0], (3,)), shape=(3,))
    assert _cost(own.show(noisy, scaled)) == pytest.approx(np.sqrt(3) / 4, rel=1e-9)
