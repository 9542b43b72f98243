"""What adapters do without the libraries: loop, refuse, and say what to install."""

import pickle

import numpy as np
import pytest

from dpaudit import Pair, relation
from dpaudit.adapters.diffprivlib import DiffprivlibMechanism, DiffprivlibRelease
from dpaudit.adapters.opendp import OpenDPMechanism
from dpaudit.errors import DpauditError, InvalidArgument
from dpaudit.testing import assert_not_refuted

PAIR = Pair(np.array([0.0]), np.array([1.0]), relation("replace-record"))


class Noise:
    """Stands in for a mechanism of diffprivlib."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def randomise(self, value):
        return value + self.rng.laplace()


class Measurement:
    """Stands in for a measurement of OpenDP."""

    def __init__(self, input_domain, output_measure="MaxDivergence"):
        self.input_domain, self.output_measure = input_domain, output_measure

    def __call__(self, argument):
        self.argument = argument
        return 0.0

    def map(self, distance):
        return 2 * distance


def test_a_seeded_library_gives_one_result_for_one_seed():
    mechanism = DiffprivlibMechanism(Noise)
    first, again, other = (
        mechanism.sample(PAIR.dataset, 4, np.random.default_rng(seed)) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.slow
def test_the_adapter_is_audited_like_any_mechanism():
    found = assert_not_refuted(DiffprivlibMechanism(Noise), PAIR, 1.0, 0.0, trials=1000)
    assert found.measured.lower > 0.2
    with pytest.raises(AssertionError, match=r"^refuted"):
        assert_not_refuted(DiffprivlibMechanism(Noise), PAIR, 0.3, 0.0, trials=1000)


def test_every_trial_of_a_release_has_a_seed_of_its_own():
    seeds = DiffprivlibRelease(lambda data, seed: seed).sample(None, 100, np.random.default_rng(0))
    assert len(set(seeds.tolist())) == 100


@pytest.mark.parametrize(
    ("domain", "dataset", "argument"),
    [
        ("AtomDomain(T=f64)", [2.0], 2.0),
        ("AtomDomain(T=i32)", [2.0], 2),
        ("VectorDomain(AtomDomain(T=f64))", [0.5, 1.0], [0.5, 1.0]),
        ("VectorDomain(AtomDomain(T=u8))", [3.0, 1.0], [3, 1]),
    ],
)
def test_a_dataset_becomes_what_the_domain_holds(domain, dataset, argument):
    mechanism = OpenDPMechanism(lambda: Measurement(domain))
    mechanism.sample(np.array(dataset), 1, np.random.default_rng(0))
    given = mechanism.measurement.argument
    assert given == argument
    assert type(given) is type(argument)


def test_a_domain_of_one_value_refuses_more():
    mechanism = OpenDPMechanism(lambda: Measurement("AtomDomain(T=f64)"))
    with pytest.raises(InvalidArgument, match=r"^dataset: "):
        mechanism.sample(np.zeros(2), 1, np.random.default_rng(0))


def test_only_a_pure_epsilon_is_a_claim():
    assert OpenDPMechanism(lambda: Measurement("")).claimed_epsilon(1.5) == 3.0
    concentrated = OpenDPMechanism(lambda: Measurement("", "ZeroConcentratedDivergence"))
    with pytest.raises(DpauditError, match="expected MaxDivergence"):
        concentrated.claimed_epsilon(1.0)


def test_a_measurement_is_built_anew_in_another_process():
    mechanism = OpenDPMechanism(lambda: Measurement(""))
    assert mechanism.measurement is mechanism.measurement
    copied = OpenDPMechanism(len)
    copied._measurement = lambda: None  # what does not pickle stays behind
    assert pickle.loads(pickle.dumps(copied)).build is len


def missing(library):
    def build(*_):
        raise ModuleNotFoundError(f"No module named {library!r}", name=library)

    return build


@pytest.mark.parametrize(
    ("mechanism", "extra"),
    [
        (OpenDPMechanism(missing("opendp")), "opendp"),
        (DiffprivlibMechanism(missing("diffprivlib")), "diffprivlib"),
        (DiffprivlibRelease(missing("diffprivlib.tools")), "diffprivlib"),
    ],
)
def test_a_missing_library_is_named_with_the_remedy(mechanism, extra):
    with pytest.raises(DpauditError, match=rf"pip install 'dpaudit\[{extra}\]'"):
        mechanism.sample(np.zeros(1), 1, np.random.default_rng(0))


def test_another_missing_library_is_not_blamed_on_this_one():
    with pytest.raises(ModuleNotFoundError):
        OpenDPMechanism(missing("polars")).sample(np.zeros(1), 1, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: OpenDPMechanism("no function"), "build"),
        (lambda: OpenDPMechanism(len, prepare=3), "prepare"),
        (
            lambda: DiffprivlibMechanism(Noise).sample(np.zeros(2), 1, np.random.default_rng(0)),
            "dataset",
        ),
        (
            lambda: DiffprivlibRelease(lambda d, s: "text").sample(0, 2, np.random.default_rng(0)),
            "output",
        ),
    ],
)
def test_refusals(call, name):
    with pytest.raises(InvalidArgument) as refused:
        call()
    assert refused.value.name == name
