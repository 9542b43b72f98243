"""Messages of a claim's own instances: of the norm that is asked for, and as far out as any."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpaudit.algorithms.sharing.claims.hu2020.column_space import distance, message_of


@pytest.mark.parametrize("bound", [0.25, 3.0])
def test_the_model_of_a_message_has_the_norm_and_is_the_farthest_of_its_columns(bound):
    rng = np.random.default_rng(4)
    design = rng.normal(size=(6, 2))
    design[:2, 0] = 0.1, 0.2
    score = np.array([1.0, 2.0, -1.0, -1.0, -1.0, -1.0])
    found = message_of({"design": design, "score": score}, bound)
    assert np.linalg.norm(found.model) == pytest.approx(bound)
    assert found.design is design
    assert (found.neighbour != design).sum() == 2
    far = distance(found)
    for angle in np.linspace(0.0, np.pi, 60):
        other = replace(found, model=np.array([np.cos(angle), np.sin(angle)]))
        assert distance(other) <= far + 1e-9
