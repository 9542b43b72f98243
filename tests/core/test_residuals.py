"""The ledger of residuals: nothing outside a block, merged within one, places named in errors."""

from __future__ import annotations

import numpy as np
import pytest

from dpaudit.errors import ConvergenceError, InvalidArgument
from dpaudit.mechanisms.residuals import (
    add_error_place,
    is_recording_residuals,
    record_residuals,
    report_residuals,
)


def test_nothing_is_kept_outside_a_block() -> None:
    report_residuals("argmin", np.ones(3), tolerance=1.0, measure="gradient")
    assert not is_recording_residuals()
    with record_residuals() as residuals:
        assert is_recording_residuals()
    report_residuals("argmin", np.ones(3), tolerance=1.0, measure="gradient")
    assert residuals.reached == ()


def test_the_worst_and_the_number_of_problems_are_kept_by_solver_and_tolerance() -> None:
    with record_residuals() as residuals:
        report_residuals("argmin", np.array([[1e-9, 3e-9]]), tolerance=1e-8, measure="gradient")
        report_residuals("argmin", np.array([2e-9]), tolerance=1e-8, measure="gradient")
        report_residuals("argmin", np.array([5e-3]), tolerance=1e-2, measure="gradient")
        report_residuals("z-update", np.array([]), tolerance=1e-2, measure="distance")
    fine, rough = residuals.reached
    assert (fine.problems, fine.worst, fine.tolerance) == (3, 3e-9, 1e-8)
    assert (rough.problems, rough.worst) == (1, 5e-3)


@pytest.mark.parametrize("bad", [2e-8, np.nan, np.inf])
def test_what_was_measured_is_held_to_the_tolerance(bad: float) -> None:
    found = np.array([[1e-9, 1e-9], [1e-9, bad]])
    with record_residuals() as residuals:
        with pytest.raises(
            ConvergenceError, match=r"^z-update: trial 1 has a distance of .*at most"
        ):
            report_residuals("z-update", found, tolerance=1e-8, measure="distance")
    assert residuals.reached == ()


def test_an_inner_block_leaves_the_outer_one_alone() -> None:
    with record_residuals() as outer:
        with record_residuals() as inner:
            report_residuals("argmin", np.ones(1), tolerance=1.0, measure="gradient")
        report_residuals("argmin", np.zeros(1), tolerance=1.0, measure="gradient")
    assert [r.worst for r in inner.reached] == [1.0]
    assert [r.worst for r in outer.reached] == [0.0]


def test_places_add_up_and_other_errors_pass() -> None:
    with pytest.raises(ConvergenceError, match=r"^step 3: party 1: trial 2 stopped$"):
        with add_error_place("step 3"), add_error_place("party 1"):
            raise ConvergenceError("trial 2 stopped")
    with pytest.raises(InvalidArgument, match=r"^x: got 1"):
        with add_error_place("step 3"):
            raise InvalidArgument("x", 1, "2")
