"""Code that is not affine, or that nobody can read, is refused: by its line, and for good."""

import collections
import inspect
import pickle
import random
from dataclasses import dataclass, field

import numpy as np
import pytest
from scipy import stats

import dpaudit
from dpaudit import Message
from dpaudit.affine.changes import L2Ball
from dpaudit.affine.form import NotAffine
from dpaudit.errors import InvalidArgument

REFUSED = {}  # functions, and how many numbers are private


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


# --- what is done -----------------------------------------------------------------------------


@refused()
def takes_absolute_values(x, rng):
    return np.abs(x) + rng.normal(size=3)  # here


@refused()
def takes_the_larger(x, rng):
    return max(x) + rng.normal()  # here


@refused()
def sorts(x, rng):
    x.sort()  # here
    return x + rng.normal(size=3)


@refused()
def sorts_a_list(x, rng):
    return np.array(sorted(x)) + rng.normal(size=3)  # here


@refused()
def clips(x, rng):
    norm = np.linalg.norm(x)  # here
    return x / max(1.0, norm) + rng.normal(size=3)


@refused()
def clips_each(x, rng):
    return x.clip(-1, 1) + rng.normal(size=3)  # here


@refused()
def rounds(x, rng):
    return np.round(x, 3) + rng.normal(size=3)  # here


@refused()
def squares(x, rng):
    return x**2 + rng.normal(size=3)  # here


@refused()
def multiplies_data_and_noise(x, rng):
    return x * rng.normal(size=3)  # here


@refused()
def multiplies_data_by_itself(x, rng):
    return x @ x + rng.normal()  # here


@refused()
def divides_by_data(x, rng):
    return 1.0 / x + rng.normal(size=3)  # here


@refused()
def stretches_letters(x, rng):
    return np.einsum("ij,ij->", x.reshape(3, 1), np.ones((3, 2))) + rng.normal()  # here


@refused()
def draws_around_too_short_a_mean(x, rng):
    return rng.multivariate_normal(x[:1], np.eye(3))  # here


@refused()
def divides_by_zero(x, rng):
    return x / np.array([1.0, 0.0, 1.0]) + rng.normal(size=3)  # here


@refused()
def branches(x, rng):
    if x[0] > 0:  # here
        return x
    return x + rng.normal(size=3)


@refused()
def counts_rounds_by_noise(x, rng):
    while rng.normal() < 1:  # here
        x = x + rng.normal(size=3)
    return x


@refused()
def takes_noise_that_is_positive(x, rng):
    noise = rng.normal(size=3)
    return x + noise[noise > 0].sum()  # here


@refused()
def indexes_by_data(x, rng):
    return np.arange(5.0)[int(x[0])] + rng.normal()  # here


@refused()
def takes_the_place_of_the_largest(x, rng):
    return x[np.argmax(x)] + rng.normal()  # here


@refused()
def swallows_a_refusal(x, rng):
    try:
        return x + float(x[0])  # here
    except Exception:
        return x + rng.normal(size=3)


@refused()
def swallows_everything(x, rng):
    try:
        x = x + np.exp(x)  # here
    except BaseException:
        pass
    return x + rng.normal(size=3)


@refused()
def asks_what_it_has(x, rng):
    return x if hasattr(x, "flags") else x + rng.normal(size=3)  # here


@refused()
def asks_for_a_type(x, rng):
    return x if type(x) is np.ndarray else x + rng.normal(size=3)


@refused()
def leaks_of_large_arrays_only(x, rng):
    if isinstance(x, np.ndarray) and np.abs(x).max() > 1e6:
        return x
    return x + rng.normal(size=3)


@refused()
def transforms(x, rng):
    return np.fft.fft(x).real + rng.normal(size=3)  # here


@refused()
def multiplies_by_a_complex_number(x, rng):
    return (1j * x).imag + rng.normal(size=3)  # here


@refused()
def multiplies_by_nan(x, rng):
    return np.nan * x + rng.normal(size=3)  # here


@refused()
def drowns_in_infinite_noise(x, rng):
    return x + np.inf * rng.normal(size=3)  # here


@refused()
def cancels_infinity(x, rng):
    return 0.0 * (np.inf * x) + rng.normal(size=3)  # here


@refused()
def adds_nan(x, rng):
    return x + np.array([np.nan, 0.0, 0.0]) + rng.normal(size=3)  # here


@refused()
def writes_into_whole_numbers(x, rng):
    whole = np.zeros(3, dtype=int)
    whole[:] = x  # here
    return whole + rng.normal(size=3)


@refused()
def writes_into_single_precision(x, rng):
    single = np.zeros(3, dtype=np.float32)
    single += x  # here
    return single + rng.normal(size=3)


@refused()
def rounds_to_single_precision(x, rng):
    return np.add(x, rng.normal(size=3), dtype=np.float32)  # here


@refused()
def sums_in_whole_numbers(x, rng):
    return np.cumsum(x, dtype=int) + rng.normal(size=3)  # here


@refused()
def draws_in_single_precision(x, rng):
    return x + rng.standard_normal(3, dtype="f4")  # here


@refused()
def writes_by_an_iterator(x, rng):
    total = np.zeros(3)
    for one in np.nditer(total, op_flags=["readwrite"]):
        one[...] = x[0]  # here
    return total + rng.normal(size=3)


@refused()
def writes_by_a_mask(x, rng):
    np.putmask(x, [True, False, True], 7.0)  # here
    return x + rng.normal(size=3)


@refused()
def copies_where(x, rng):
    np.copyto(x, 7.0, where=[True, False, True])  # here
    return x + rng.normal(size=3)


@refused()
def sums_where(x, rng):
    return np.sum(x, where=[True, False, True]) + rng.normal()  # here


@refused()
def averages_where(x, rng):
    return x.mean(where=[True, False, True]) + rng.normal()  # here


@refused()
def sums_from_a_start(x, rng):
    return np.add.reduce(x, initial=1.0) + rng.normal()  # here


@refused()
def pads_oddly(x, rng):
    return np.pad(x, 1, mode="reflect", reflect_type="odd") + rng.normal(size=5)  # here


@refused()
def differs_from_a_start(x, rng):
    return np.diff(x, prepend=0.0) + rng.normal(size=3)  # here


@refused()
def sets_a_shape(x, rng):
    x.shape = (3, 1)  # here
    return x + rng.normal(size=(3, 1))


@refused()
def writes_all_of_it_flat(x, rng):
    total = np.zeros(3)
    total.flat = x  # here
    return total + rng.normal(size=3)


@refused()
def leaves_the_process(x, rng):
    return pickle.loads(pickle.dumps(x)) + rng.normal(size=3)  # here


@refused()
def reads_back_what_it_writes(x, rng):
    return x + float("0" + "".join(one for one in str(x) if one.isdigit())) + rng.normal(size=3)


# --- what is drawn ----------------------------------------------------------------------------


@refused()
def draws_of_another_law(x, rng):
    return x + rng.laplace(size=3)  # here


@refused()
def draws_a_truncated_law(x, rng):
    return x + stats.norm.ppf(rng.random(3))  # here


@refused()
def chooses(x, rng):
    return rng.choice(x) + rng.normal()  # here


@refused()
def permutes(x, rng):
    return x[rng.permutation(3)] + rng.normal(size=3)  # here


@refused()
def scales_noise_by_data(x, rng):
    return rng.normal(0.0, x)  # here


@refused()
def scales_noise_by_noise(x, rng):
    return x + rng.normal(0.0, rng.normal(size=3))  # here


@refused()
def seeds(x, rng):
    return x + np.random.default_rng(3).normal(size=3)  # here


@refused()
def seeds_bits(x, rng):
    return x + np.random.Generator(np.random.PCG64(3)).normal(size=3)  # here


@refused()
def seeds_the_old_way(x, rng):
    return x + np.random.RandomState(3).normal(size=3)  # here


@refused()
def seeds_everybody(x, rng):
    np.random.seed(3)  # noqa: NPY002
    return x + np.random.normal(size=3)  # here  # noqa: NPY002


@refused()
def seeds_python(x, rng):
    return x[0] + random.Random(3).gauss(0, 1)  # here


@refused()
def seeds_scipy(x, rng):
    return x + stats.norm(0, 2).rvs(size=3, random_state=3)  # here


HELD = {"rng": np.random.default_rng(5)}
CACHE = {}
CALLS = []


@refused()
def draws_from_a_generator_that_is_held(x, rng):
    return x + HELD["rng"].normal(size=3)


@refused()
def draws_once_for_all_calls(x, rng):
    if "noise" not in CACHE:
        CACHE["noise"] = rng.normal(size=3)
    return x + CACHE["noise"]


@refused()
def draws_once_by_default(x, rng, noise=[]):  # noqa: B006
    noise += [] if noise else [rng.normal(size=3)]
    return x + noise[0]


@refused()
def does_otherwise_after_some_calls(x, rng):
    CALLS.append(None)
    return x + rng.normal(size=3) + (x if len(CALLS) % 7 == 0 else 0.0)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_affine_is_refused_by_its_line(name):
    function, private = REFUSED[name]
    data = np.zeros(private)
    with pytest.raises(NotAffine) as caught:
        dpaudit.views(function, private=data)
    assert len(REFUSED) >= 70
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


@pytest.mark.parametrize("at", [[0, 0], [0.5], [-1], [3]])
def test_places_of_a_change_are_whole_and_each_comes_once(at):
    def release(x, rng):
        return x + rng.normal(size=3)

    with pytest.raises((InvalidArgument, TypeError)):
        assert dpaudit.views(release, private=np.zeros(3), change=L2Ball(at)).worst


# --- what is done to plain arrays only ---------------------------------------------------------


@pytest.mark.parametrize("share", [1e3, 1.0, 1e-3, 1e-6])
@pytest.mark.parametrize("above", [0.0, 1e3, 1e7])
def test_a_small_number_is_not_hidden_by_large_ones(share, above):
    def leak(x, rng):
        is_plain = isinstance(x, float) and abs(x) > above
        leaked = share * x if is_plain else 0.0
        return {"large": 1e9 * x + rng.normal(), "small": leaked + share * rng.normal()}

    with pytest.raises(NotAffine, match="differently"):
        dpaudit.views(leak, private=0.0)


# --- shapes that a function does not take -------------------------------------------------------


def averages(x, rng):
    own = np.zeros(3) + x.mean(axis=0)  # three columns
    return own + rng.normal(size=3)


def sums(x, rng):
    return {"server": x["a"] + x["b"] + rng.normal(size=3)}


@pytest.mark.parametrize(
    ("function", "private", "shown", "said"),
    [
        (averages, np.zeros((5, 4)), r"shape \(5, 4\)", r"shapes \(3,\) \(4,\) ' in "),
        (averages, {"a": np.zeros(3)}, r"\{'a': shape \(3,\)\}", "no attribute 'mean'"),
        (sums, np.zeros(3), r"shape \(3,\)", "IndexError: "),
        (sums, {"a": np.zeros(3), "b": np.zeros(2)}, "'b': shape", r"\(3,\) \(2,\)"),
        (sums, {"a": np.zeros(3)}, r"\{'a': shape \(3,\)\}", "KeyError: \"'b'\""),
    ],
)
def test_shapes_that_do_not_fit_are_said_with_the_line_that_fails(function, private, shown, said):
    place = r"in \S*test_refusals.py, line \d+"
    words = f"private: got .*{shown}.*{function.__name__} runs: .*{said}.*"
    with pytest.raises(InvalidArgument, match=words) as refused:
        dpaudit.views(function, private=private)
    assert refused.match(place)


def test_the_shapes_that_fit_are_no_error():
    assert dpaudit.views(averages, private=np.zeros((5, 3))).worst.upper == pytest.approx(0.2)
    both = {"a": np.zeros(3), "b": np.zeros(3)}
    assert dpaudit.views(sums, private=both).worst.upper == pytest.approx(1.0)


def test_what_a_function_says_of_private_numbers_is_not_shown():
    data = {"own": np.array([8675309.0])}

    def refuses(x, rng):
        raise ValueError(f"{data['own'][0]} is too tall")

    with pytest.raises(InvalidArgument, match=r"private: got .* ValueError") as refused:
        dpaudit.views(refuses, private=data)
    assert "8675309" not in str(refused.value)


@pytest.mark.parametrize("name", ["observers", "about"])
def test_names_are_given_as_a_dictionary(name):
    with pytest.raises(InvalidArgument, match=rf"{name}: got \['a'\], expected a dictionary"):
        dpaudit.views(sums, private={"a": np.zeros(3), "b": np.zeros(3)}, **{name: ["a"]})
