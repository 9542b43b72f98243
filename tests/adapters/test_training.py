"""Adapters of Opacus, Flower and NVFlare: on stand-ins, and on the libraries where they are."""

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from dpaudit import Pair, relation
from dpaudit.adapters.federated_updates import FlowerMod, NVFlareFilter
from dpaudit.adapters.opacus import OpacusStep, OpacusTraining
from dpaudit.errors import DpauditError, InvalidArgument
from dpaudit.guarantees.kinds import GaussianDP
from dpaudit.testing import assert_not_refuted

UPDATES = Pair(np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]]), relation("replace-record"))
GRADIENTS = Pair(
    np.array([[3.0, 4.0]] * 3), np.array([[3.0, 4.0]] * 2), relation("add-remove-record")
)


# Without the libraries


@pytest.mark.parametrize(
    ("mechanism", "library"),
    [
        (OpacusStep(1.0), "opacus"),
        (FlowerMod(lambda: None), "flwr"),
        (NVFlareFilter(lambda: None), "nvflare"),
    ],
)
def test_a_library_that_is_missing_is_named(monkeypatch, mechanism, library):
    for name in (library, *(name for name in sys.modules if name.startswith(f"{library}."))):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "torch", ModuleType("torch"))
    with pytest.raises(DpauditError, match=f"^{library} is not installed"):
        mechanism.sample(np.zeros((1, 2)), 2, np.random.default_rng(0))


@pytest.mark.parametrize("given", [{"noise_multiplier": 0.0}, {"sample_rate": 2.0}])
def test_a_step_refuses_what_no_step_can_be_made_of(given):
    with pytest.raises(InvalidArgument, match=next(iter(given))):
        OpacusStep(**{"noise_multiplier": 1.0, **given})


def test_a_step_refuses_what_are_no_gradients():
    with pytest.raises(InvalidArgument, match="one row for each record"):
        OpacusStep(1.0).sample(np.zeros(3), 1, np.random.default_rng(0))


def test_a_training_is_seeded_and_torch_is_asked_for_nothing_else(monkeypatch):
    torch = ModuleType("torch")
    state = SimpleNamespace(seed=None)
    torch.manual_seed = lambda seed: setattr(state, "seed", seed)
    monkeypatch.setitem(sys.modules, "torch", torch)
    mechanism = OpacusTraining(lambda data: [data.sum(), state.seed])
    first, again, other = (
        mechanism.sample(np.ones(2), 3, np.random.default_rng(seed)) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert first.shape == (3, 2)
    assert (first != other).any()


def filtering(monkeypatch, process):
    """Put a stand-in for what the adapter imports of NVFlare in its place."""
    modules = {
        "nvflare": {},
        "nvflare.apis": {},
        "nvflare.apis.dxo": {
            "DXO": lambda kind, data: SimpleNamespace(data=data),
            "DataKind": SimpleNamespace(WEIGHT_DIFF="diff"),
        },
        "nvflare.apis.fl_context": {"FLContext": SimpleNamespace},
        "nvflare.apis.shareable": {"Shareable": dict},
    }
    for name, names in modules.items():
        module = ModuleType(name)
        module.__dict__.update(names)
        monkeypatch.setitem(sys.modules, name, module)
    return NVFlareFilter(lambda: SimpleNamespace(process_dxo=process))


def test_a_filter_draws_from_numpys_generator_which_is_put_back(monkeypatch):
    def noisy(dxo, shareable, context):
        dxo.data["update"] = dxo.data["update"] + np.random.laplace(size=2)  # noqa: NPY002
        return dxo

    mechanism = filtering(monkeypatch, noisy)
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    first, again = (mechanism.sample(np.zeros(2), 4, np.random.default_rng(5)) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002
    assert len(np.unique(first)) == first.size


def test_a_filter_that_sends_nothing_is_refused(monkeypatch):
    mechanism = filtering(monkeypatch, lambda *_: None)
    with pytest.raises(InvalidArgument, match="a client that sends something"):
        mechanism.sample(np.zeros(2), 1, np.random.default_rng(0))


def test_a_filter_that_writes_into_an_update_gets_the_dataset_s_for_every_output(monkeypatch):
    def adding(dxo, shareable, context):
        dxo.data["update"] += 1
        return dxo

    data = np.zeros(2)
    assert filtering(monkeypatch, adding).sample(data, 3, np.random.default_rng(0)).max() == 1
    assert (data == 0).all()


# With them


def test_opacus_keeps_its_noise_and_not_half_of_it():
    pytest.importorskip("opacus", reason="pip install 'dpaudit[opacus]'")
    epsilon = GaussianDP(1.0).epsilon(1e-2)
    assert_not_refuted(OpacusStep(1.0), GRADIENTS, epsilon, 1e-2, trials=4000)
    with pytest.raises(AssertionError, match=r"^refuted"):
        assert_not_refuted(OpacusStep(0.3), GRADIENTS, epsilon, 1e-2, trials=4000)


def test_opacus_draws_samples_of_the_rate_and_repeats_them():
    pytest.importorskip("opacus", reason="pip install 'dpaudit[opacus]'")
    mechanism = OpacusStep(1e-3, max_grad_norm=1.0, sample_rate=0.25)
    rows = np.eye(4)
    drawn = mechanism.sample(rows, 2000, np.random.default_rng(1))
    np.testing.assert_allclose(np.mean(drawn > 0.5, axis=0), 0.25, atol=0.04)
    again = mechanism.sample(rows, 2000, np.random.default_rng(1))
    np.testing.assert_array_equal(drawn, again)


def test_flower_keeps_its_epsilon_and_not_a_quarter_of_it():
    flwr = pytest.importorskip("flwr.clientapp.mod", reason="pip install flwr")
    mechanism = FlowerMod(lambda: flwr.LocalDpMod(1.0, 2.0, epsilon=1.0, delta=0.1))
    assert_not_refuted(mechanism, UPDATES, 1.0, 0.1, trials=4000)
    with pytest.raises(AssertionError, match=r"^refuted"):
        assert_not_refuted(mechanism, UPDATES, 0.1, 0.01, trials=8000)


def test_nvflare_keeps_its_epsilon():
    svt = pytest.importorskip(
        "nvflare.app_common.filters.svt_privacy", reason="pip install 'dpaudit[nvflare]'"
    )
    mechanism = NVFlareFilter(
        lambda: svt.SVTPrivacy(fraction=0.5, epsilon=1.0, noise_var=1.0, gamma=1.0, tau=0.1)
    )
    assert_not_refuted(mechanism, UPDATES, 2.0, 0.0, trials=4000)
