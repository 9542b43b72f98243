"""What a function makes of one history: one array, or as many as it returns."""

from __future__ import annotations

import numpy as np
import pytest

from dpaudit.tracing import functions


@pytest.mark.parametrize("kind", [tuple, list])
def test_of_several_arrays_each_is_one_of_the_history(monkeypatch, kind):
    parts = [np.zeros(2), np.ones(2)]
    monkeypatch.setattr(functions, "BoundedArray", lambda reading, spread: (reading, spread))
    monkeypatch.setattr(functions, "make_history_spread", lambda sample: sample)
    monkeypatch.setattr(functions, "_call_on_plain_arrays", lambda *_: kind(parts))
    found = functions._of_history("a reading", None, (), {})
    assert [spread is part for (_, spread), part in zip(found, parts, strict=True)] == [True, True]
    monkeypatch.setattr(functions, "_call_on_plain_arrays", lambda *_: parts[0])
    assert functions._of_history("a reading", None, (), {}) == ("a reading", parts[0])
