"""What an observer of an optimizer keeps of a step: noisy sums in units of the clipping norm."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from dpaudit.adapters._calls import collect_call_outputs, convert_library_import_errors, one_value
from dpaudit.adapters.opacus import OpacusNoisyGradients
from dpaudit.errors import DpauditError, InvalidArgument


class Gradient:
    """A gradient with the face of a tensor."""

    def __init__(self, values):
        self.values = np.asarray(values, dtype=np.float32)

    def detach(self):
        return self

    def cpu(self):
        return self

    def numpy(self):
        return self.values


def optimizer(reduction, *, hook=None):
    made = SimpleNamespace(
        params=[SimpleNamespace(grad=Gradient(one)) for one in ([[1.0, 2.0]], [3.0])],
        loss_reduction=reduction, expected_batch_size=8, accumulated_iterations=3,
        max_grad_norm=0.5, step_hook=hook, attached=[],
    )  # fmt: skip
    made.attach_step_hook = made.attached.append
    return made


@pytest.mark.parametrize(("reduction", "factor"), [("sum", 2.0), ("mean", 48.0)])
def test_a_mean_is_multiplied_back_and_the_norm_divided_out(reduction, factor):
    """Eight records in each of three iterations were averaged; the norm is a half."""
    one = optimizer(reduction)
    seen = OpacusNoisyGradients(one)
    assert one.attached == [seen]
    seen(one)
    seen(one)
    assert [step.tolist() for step in seen.steps] == [[factor, 2 * factor, 3 * factor]] * 2
    assert seen.steps[0].dtype == np.float64


def test_a_hook_that_was_there_is_called_first():
    told = []
    one = optimizer("sum", hook=lambda given: told.append((given, len(seen.steps))))
    seen = OpacusNoisyGradients(one)
    seen(one)
    assert told == [(one, 0)]
    assert len(seen.steps) == 1


def test_each_trial_is_a_call_of_its_own():
    asked = []

    def call(trial):
        asked.append(trial)
        return [trial, -trial]

    assert collect_call_outputs(call, 3).tolist() == [[0, 0], [1, -1], [2, -2]]
    assert asked == [0, 1, 2]
    for outputs in ([[1.0], [1.0, 2.0]], [["a"], ["b"]], [[None], [1.0, 2.0]]):
        with pytest.raises(InvalidArgument, match="the same count in every output"):
            collect_call_outputs(lambda trial, outputs=outputs: outputs[trial], 2)


def test_the_only_entry_of_a_dataset_is_its_value():
    assert one_value([2.5]) == one_value(np.array([[2.5]])) == one_value(2.5) == 2.5
    for dataset in ([], [1.0, 2.0]):
        with pytest.raises(InvalidArgument, match="one entry"):
            one_value(dataset)


@pytest.mark.parametrize(
    ("missing", "named"), [("lib", True), ("lib.part", True), ("other", False), (None, False)]
)
def test_only_a_failed_import_of_the_library_names_the_remedy(missing, named):
    error = ImportError("no", name=missing)
    with (
        pytest.raises(DpauditError if named else ImportError) as raised,
        convert_library_import_errors("lib", "extra"),
    ):
        raise error
    assert ("dpaudit[extra]" in str(raised.value)) is named
