"""Arrays of other libraries: without a copy where that is possible, and with every bit."""

import numpy as np
import pytest

import dpaudit
from dpaudit.mechanisms.outputs.tensors import _with_known_type, host_array


class Tensor:
    """What DLPack asks for, and nothing that numpy would take by other ways."""

    def __init__(self, numbers, device=1, attached=False):
        self.numbers, self.device, self.attached = np.asarray(numbers), device, attached

    def __len__(self):
        return len(self.numbers)

    def __dlpack__(self, **asked):
        if self.attached or self.device != 1:
            raise BufferError("a tensor that needs a gradient, or on a device")
        return self.numbers.__dlpack__(**asked)

    def __dlpack_device__(self):
        return self.device, 0

    def detach(self):
        return Tensor(self.numbers, self.device)

    def cpu(self):
        return self.numbers


def test_no_copy_is_made_of_what_is_in_memory():
    numbers = np.arange(6.0).reshape(2, 3)
    assert np.shares_memory(host_array(Tensor(numbers)), numbers)
    assert np.shares_memory(host_array(Tensor(numbers, attached=True)), numbers)


def test_what_is_on_a_device_is_fetched():
    np.testing.assert_array_equal(host_array(Tensor([1, 2], device=2)), [1, 2])


@pytest.mark.parametrize("device", [1, 2])
@pytest.mark.parametrize(
    "numbers",
    [
        np.array([2**53 + 1]),
        np.array([0.1], dtype=np.float32),
        np.array([True]),
    ],
    ids=lambda one: str(one.dtype),
)
def test_numbers_keep_their_type_wherever_they_are(numbers, device):
    found = host_array(Tensor(numbers, device=device))
    assert found.dtype == numbers.dtype
    assert found.tolist() == numbers.tolist()


def test_a_type_that_numpy_does_not_have_becomes_doubles():
    class Rounded:
        dtype = "torch.bfloat16"

        def double(self):
            return np.array([0.5])

    assert _with_known_type(Rounded()).tolist() == [0.5]


def test_records_with_fields_are_fetched_as_they_are():
    records = np.array([(0.5, 7)], dtype=[("a", np.float32), ("b", np.int64)])
    found = host_array(Tensor(records, device=2))
    assert (found.dtype, found.tolist()) == (records.dtype, [(0.5, 7)])


@pytest.mark.parametrize("value", [1.5, "text", [1, 2], np.float32(1), None])
def test_anything_else_is_left_as_it_is(value):
    assert host_array(value) is value


def audited(returned):
    return dpaudit.audit(returned, [0.0], [1.0], epsilon=1.0, trials=2000)


def test_batches_are_audited_as_those_of_numpy():
    def of_tensors(data, trials, rng):
        return Tensor(sum(data) + rng.laplace(scale=0.5, size=trials))

    def of_arrays(data, trials, rng):
        return sum(data) + rng.laplace(scale=0.5, size=trials)

    assert audited(of_tensors).measured == audited(of_arrays).measured
    assert audited(of_tensors).verdict == "refuted"


def test_outputs_of_calls_may_be_tensors():
    def one(data, rng):
        return {"sum": Tensor([sum(data) + rng.laplace(scale=0.5)])}

    assert audited(one).verdict == "refuted"


@pytest.mark.parametrize("kind", ["float32", "float64", "bfloat16"])
def test_torch(kind):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    tensor = torch.arange(5, dtype=getattr(torch, kind)).requires_grad_()
    found = host_array(tensor)
    np.testing.assert_array_equal(found, np.arange(5.0))
    if kind != "bfloat16":
        assert found.ctypes.data == tensor.data_ptr()


@pytest.mark.parametrize("kind", ["float32", "bfloat16"])
def test_jax(kind):
    numpy = pytest.importorskip("jax.numpy", reason="jax is not installed")
    found = host_array(numpy.arange(5, dtype=kind))
    np.testing.assert_array_equal(found, np.arange(5.0))
    assert found.dtype.kind == "f"
