"""Code that is not affine, or that nobody can read, is refused: by its line, and for good."""

import collections
import inspect
from dataclasses import dataclass, field

import numpy as np
import pytest

import dpaudit
from dpaudit import Message
from dpaudit.affine.form import NotAffine
from dpaudit.errors import InvalidArgument

REFUSED = {}


def refused(private=3):
    """Note a function of an array of so many numbers; its line marked ``# here`` is the one."""

    def note(function):
        REFUSED[function.__name__] = (function, private)
        return function

    return note


def line_of(function):
    """Return the number of the line that is marked, or of the first one."""
    lines, first = inspect.getsourcelines(function)
    return first + next((n for n, line in enumerate(lines) if "# here" in line), 0)


# --- what is returned ------------------------------------------------------------------------


@refused()
def yields(x, rng):
    yield x + rng.normal()


@refused()
def returns_a_map(x, rng):
    return map(float, [1.0])


@refused()
def returns_values_of_a_dictionary(x, rng):
    return {"a": x}.values()


@refused()
def returns_a_deque(x, rng):
    return collections.deque([x])


@refused()
def returns_an_object(x, rng):
    class Model:
        weights = x

    return Model()


@dataclass
class Hiding:
    shown: object
    hidden: object = field(init=False)


@refused()
def returns_a_record_that_holds_more(x, rng):
    found = Hiding(x + rng.normal(size=3))
    found.hidden = x
    return found


@refused()
def returns_an_array_of_objects(x, rng):
    return np.array([lambda: x], dtype=object)


@refused()
def writes_a_text(x, rng):
    return {"log": f"{x}", "sent": x + rng.normal(size=3)}  # here


@refused()
def writes_a_text_of_another_shape(x, rng):
    return {"log": str(x), "sent": x + rng.normal(size=3)}


@refused()
def tells_a_truth_value_of_plain_arrays(x, rng):
    return isinstance(x, np.ndarray) and bool(x[0] > 0), x + rng.normal(size=3)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_affine_is_refused_by_its_line(name):
    function, private = REFUSED[name]
    data = np.zeros(private) if isinstance(private, int) else private
    with pytest.raises(NotAffine) as caught:
        dpaudit.views(function, private=data)
    assert caught.value.place.startswith(f"test_refusals.py:{line_of(function)} "), caught.value


# --- who sees what ---------------------------------------------------------------------------


def release(x, rng):
    return {"a": x + rng.normal(size=3), "b": x}


@pytest.mark.parametrize(
    "seen",
    [
        lambda output: output.values(),
        lambda output: (one for one in output.values()),
        lambda output: map(np.sum, output.values()),
        lambda output: output.get("c"),
        lambda output: [output.get("c")],
        "c",
        ["a", "c"],
    ],
)
def test_an_observer_that_nobody_can_read_is_refused(seen):
    with pytest.raises(InvalidArgument, match="observers"):
        dpaudit.views(release, private=np.zeros(3), observers={"one": seen})


@pytest.mark.parametrize("names", [{0: "a", "0": "b"}, {"0": "a", 0: "b"}])
def test_two_observers_of_one_name_are_refused(names):
    with pytest.raises(InvalidArgument, match="differ as texts"):
        dpaudit.views(release, private=np.zeros(3), observers=names)
    with pytest.raises(InvalidArgument, match="differ as texts"):
        dpaudit.views(lambda x, rng: dict.fromkeys(names, x), private=np.zeros(3))
    with pytest.raises(InvalidArgument, match="differ as texts"):
        dpaudit.views(release, private=np.zeros(3), about=dict.fromkeys(names, 0))


@pytest.mark.parametrize("receiver", [(0, 1), [(0, 1)], 0.5, [None], object()])
def test_a_participant_is_a_text_or_a_whole_number(receiver):
    with pytest.raises(InvalidArgument, match="receiver"):
        Message(1.0, sender=0, receiver=receiver)
    with pytest.raises(InvalidArgument, match="sender"):
        Message(1.0, sender=(0, 1))


@pytest.mark.parametrize(
    "receiver",
    [[1, 2], range(1, 3), {1, 2}, iter([1, 2]), {1: 0, 2: 0}, np.array([1, 2]), ["1", 2.0], None],
)
def test_all_who_receive_a_message_see_it(receiver):
    def tell(x, rng):
        return [Message(x, 0, receiver), Message(1.0, 2, 1)]

    found = dpaudit.views(tell, private=0.0)
    assert found.mu("1").lower == found.mu("2").lower == np.inf


def test_a_message_is_what_it_was_when_it_was_sent():
    def tell(x, rng):
        sent = [Message(x, 0, 1)]
        x += rng.normal(size=3)
        return [*sent, Message(x, 0, 2)]

    found = dpaudit.views(tell, private=np.zeros(3))
    assert found.mu("1", 0).lower == np.inf
    assert found.mu("2", 0).upper == 1.0


def test_what_is_returned_beside_messages_is_seen_by_somebody():
    def tell(x, rng):
        return [Message(x + rng.normal(size=3), 0, 1)], x

    assert dpaudit.views(tell, private=np.zeros(3)).mu("everything", 0).lower == np.inf


# --- what changes ----------------------------------------------------------------------------


def unlike(x, rng):
    return {"sent": x["a"] + rng.normal(), "other": x["b"] + rng.normal(scale=0.5)}


def test_a_change_is_of_the_numbers_that_it_names():
    private = {"a": 0.0, "b": 0.0}
    found = dpaudit.views(unlike, private=private, change={"b": 1.0, "a": 0.0})
    assert (found.mu("sent").upper, found.mu("other").upper) == (0.0, 2.0)


@pytest.mark.parametrize("change", [{"a": 1.0}, [1.0, 0.0], {"a": 1.0, "b": [0.0]}, 1.0])
def test_a_change_of_another_form_is_refused(change):
    with pytest.raises(InvalidArgument, match="change"):
        dpaudit.views(unlike, private={"a": 0.0, "b": 0.0}, change=change)


def test_a_change_of_another_shape_is_refused():
    def release(x, rng):
        return x + rng.normal(size=(2, 3))

    with pytest.raises(InvalidArgument, match="change"):
        dpaudit.views(release, private=np.zeros((2, 3)), change=np.zeros((3, 2)))
    for more in ({"about": {"x": 0}}, {"radius": 2.0}):
        with pytest.raises(InvalidArgument, match=next(iter(more))):
            dpaudit.views(release, private=np.zeros((2, 3)), change=np.zeros((2, 3)), **more)


def test_a_number_that_is_named_twice_changes_once():
    def release(x, rng):
        return x[0] + rng.normal()

    about = {"x": lambda x: [x[0], x[0]]}
    assert dpaudit.views(release, private=np.zeros(3), about=about).worst.upper == 1.0


# --- what is done to plain arrays only ---------------------------------------------------------


@pytest.mark.parametrize("share", [1e3, 1.0, 1e-3, 1e-6])
@pytest.mark.parametrize("above", [0.0, 1e3, 1e7])
def test_a_small_number_is_not_hidden_by_large_ones(share, above):
    def leak(x, rng):
        is_plain = isinstance(x, float) and abs(x) > above
        leaked = share * x if is_plain else 0.0
        return {"large": 1e9 * x + rng.normal(), "small": leaked + share * rng.normal()}

    with pytest.raises(NotAffine, match="it does something else"):
        dpaudit.views(leak, private=0.0)
