"""Releases and coins are found, noise that is used twice is refused."""

from __future__ import annotations

import pytest

from dpaudit.proving.events.kinds import ReleaseReader, classify_nodes
from dpaudit.proving.events.release_forms import Additive, Selection
from dpaudit.proving.program import PathProgram
from dpaudit.proving.refusals import NotProved
from dpaudit.proving.trace import NodeKind
from tests.proving.sketches import Sketch

PUBLIC, PRIVATE, NOISE, NOISY = NodeKind.PUBLIC, NodeKind.PRIVATE, NodeKind.NOISE, NodeKind.NOISY


def _releases(program: PathProgram) -> list[object]:
    return ReleaseReader(program).read().releases


def test_a_sum_with_noise_is_one_release() -> None:
    own = Sketch()
    noisy = own("add", own.total(), own("multiply", own.draw(), own.constant(2.0)))
    (release,) = _releases(own.show(noisy))
    assert isinstance(release, Additive)
    assert release.node.index == noisy
    assert release.noise.law == "laplace"


def test_what_is_made_of_a_release_is_public() -> None:
    own = Sketch()
    noisy = own("add", own.total(), own.draw())
    half = own("multiply", noisy, own.constant(0.5))
    square = own("multiply", noisy, noisy)
    kinds = classify_nodes(own.show(half, square))
    assert (kinds[noisy], kinds[half], kinds[square]) == (NOISY, PUBLIC, PUBLIC)
    assert len(_releases(own.program)) == 1


def test_a_value_that_is_shown_without_noise_is_refused_at_its_line() -> None:
    own = Sketch()
    with pytest.raises(NotProved) as caught:
        classify_nodes(own.show(own("max", own.records, axis=None)))
    assert caught.value.refusal.place == "max here"


@pytest.mark.parametrize("shape", [(), (2,)])
def test_noise_that_hides_two_values_is_refused(shape: tuple[int, ...]) -> None:
    own = Sketch()
    noise = own.draw(shape=shape)
    first = noise if shape == () else own.take(noise, 0)
    one = own("add", own.total(), first)
    two = own("subtract", own("max", own.records, axis=None), first)
    with pytest.raises(NotProved) as caught:
        classify_nodes(own.show(one, two))
    assert caught.value.refusal.place in {"add here", "subtract here"}


def test_other_entries_of_a_draw_hide_other_values() -> None:
    own = Sketch()
    noise = own.draw(shape=(2,))
    one = own("add", own.total(), own.take(noise, 0))
    two = own("add", own.total(), own.take(noise, 1))
    assert len(_releases(own.show(one, two))) == 2


def test_entries_that_are_turned_around_are_followed() -> None:
    own = Sketch()
    noise = own.draw(shape=(2, 2))
    turned = own("transpose", noise, shape=(2, 2), axes=[1, 0])
    corner = own("take", turned, shape=(1, 1), key=[[0], [1]])  # noise[1, 0]
    same = own("take", noise, shape=(1, 1), key=[[1], [0]])
    other = own("take", noise, shape=(1, 1), key=[[0], [1]])
    total = own("broadcast", own.total(), shape=(1, 1))
    ends = [own("add", total, one, shape=(1, 1)) for one in (corner, other, same)]
    assert len(_releases(own.show(*ends[:2]))) == 2
    with pytest.raises(NotProved):
        classify_nodes(own.show(ends[0], ends[2]))


def test_one_draw_for_all_entries_of_a_vector_is_refused() -> None:
    own = Sketch()
    with pytest.raises(NotProved):
        classify_nodes(own.show(own("add", own.records, own.draw(), shape=(5,))))
    own = Sketch()
    assert classify_nodes(own.show(own("add", own.records, own.draw(shape=(5,)), shape=(5,))))


def test_noise_that_is_looked_at_hides_nothing() -> None:
    for order in (1, -1):
        own = Sketch()
        noise = own.draw()
        noisy = own("add", own.total(), noise)
        with pytest.raises(NotProved):
            classify_nodes(own.show(*(noisy, own("sign", noise))[::order]))


def test_a_coin_is_public() -> None:
    own = Sketch()
    coin = own("less", own.draw("uniform"), own.constant(0.5))
    own("decide", coin, outcome=True)
    noisy = own("add", own("multiply", own.total(), coin), own.draw())
    kinds = classify_nodes(own.show(noisy))
    assert kinds[coin] is PUBLIC


def test_a_branch_on_a_record_is_refused_and_one_on_a_release_is_not() -> None:
    own = Sketch()
    own("decide", own("less", own.total(), own.constant(1.0)), outcome=True)
    with pytest.raises(NotProved):
        classify_nodes(own.show(own.constant(1.0)))
    own = Sketch()
    noisy = own("add", own.total(), own.draw())
    own("decide", own("less", noisy, own.constant(1.0)), outcome=True)
    assert len(_releases(own.show(own.constant(1.0)))) == 1


def test_a_scale_that_depends_on_records_is_refused() -> None:
    own = Sketch()
    noise = own("multiply", own.draw(), own("max", own.records, axis=None))
    with pytest.raises(NotProved):
        classify_nodes(own.show(own("add", own.total(), noise)))


def test_the_place_of_the_largest_noisy_value_is_a_release_unless_more_is_shown() -> None:
    own = Sketch()
    scores = own("add", own.records, own.draw("gumbel", (5,)), shape=(5,))
    best = own("argmax", scores, axis=None)
    (release,) = _releases(own.show(best))
    assert isinstance(release, Selection)
    (release,) = _releases(own.show(best, own("max", scores, axis=None)))
    assert isinstance(release, Additive)


def test_noise_that_travels_apart_from_its_value_is_put_together() -> None:
    own = Sketch()
    pieces = [own("reshape", own("add", own.total(), own.draw()), shape=(1,)) for _ in range(2)]
    joined = own("concatenate", *pieces, shape=(2,), axis=0)
    (release,) = _releases(own.show(joined))
    assert isinstance(release, Additive)
    assert release.node.index == joined


@pytest.mark.parametrize(
    ("laws", "sum_law"),
    [(("normal", "normal"), "normal"), (("exponential", "exponential"), "laplace")],
)
def test_sums_of_noise_have_their_law(laws: tuple[str, str], sum_law: str) -> None:
    own = Sketch()
    once = own("add", own.total(), own.draw(laws[0]))
    (release,) = _releases(own.show(own("subtract", once, own.draw(laws[1]))))
    assert isinstance(release, Additive)
    assert release.noise.law == sum_law


def test_a_sum_of_noise_without_a_rule_releases_what_it_was_added_to_first() -> None:
    own = Sketch()
    once = own("add", own.total(), own.draw("laplace"))
    (release,) = _releases(own.show(own("add", once, own.draw("normal"))))
    assert isinstance(release, Additive)
    assert release.node.index == once


def test_a_noisy_value_is_not_a_scale_free_of_charge() -> None:
    own = Sketch()
    noisy = own("add", own.total(), own.draw())
    later = own("add", own.total(), own("multiply", own.draw(), noisy))
    assert len(_releases(own.show(later))) == 2  # the scale is public once it is released


def test_values_put_into_an_array_one_by_one_are_one_release() -> None:
    own = Sketch()
    array = own.constant([0.0, 0.0], (2,))
    for place in range(2):
        noisy = own("add", own.total(), own.draw())
        array = own("assign", array, noisy, shape=(2,), key=[[place]])
    (release,) = _releases(own.show(own("argmax", array, axis=None)))
    assert isinstance(release, Selection)


def test_an_entry_without_noise_is_refused() -> None:
    own = Sketch()
    noise = own("assign", own.constant([0.0] * 5, (5,)), own.draw(), shape=(5,), key=[[1]])
    with pytest.raises(NotProved):
        classify_nodes(own.show(own("add", own.records, noise, shape=(5,))))


def test_what_has_an_entry_for_each_record_tells_how_many_there_are() -> None:
    own = Sketch(None)
    ones = own("broadcast", own.constant(1.0), shape=(None,))
    with pytest.raises(NotProved):
        classify_nodes(own.show(own("sum", ones, axis=None)))
    own = Sketch(None)
    coins = own("less", own.draw("uniform", (None,)), own.constant(0.5), shape=(None,))
    with pytest.raises(NotProved):
        classify_nodes(own.show(own("sum", coins, axis=None)))
    with pytest.raises(NotProved):
        classify_nodes(own.show(coins))


def test_the_size_of_the_data_needs_noise() -> None:
    own = Sketch(None)
    size = own("size")
    with pytest.raises(NotProved):
        classify_nodes(own.show(size))
    assert len(_releases(own.show(own("add", size, own.draw())))) == 1


def test_one_draw_that_stands_twice_is_refused() -> None:
    own = Sketch()
    noisy = [own("add", own.total(), own.program.add("draw", shape=(), law="laplace", number=0))]
    noisy.append(
        own("add", own.total(), own.program.add("draw", shape=(), law="laplace", number=0))
    )
    with pytest.raises(NotProved):
        classify_nodes(own.show(*noisy))


def test_a_private_scale_is_named_at_its_line() -> None:
    own = Sketch()
    noise = own("multiply", own.draw(), own("max", own.records, axis=None))
    with pytest.raises(NotProved) as caught:
        classify_nodes(own.show(own("add", own.total(), noise)))
    assert caught.value.refusal.place == "multiply here"
    assert "scale" in str(caught.value)
