"""What tests of laws that are read share."""

import pytest

import dpaudit.tracing.reading as reading
from dpaudit.tracing.draws import draw_value


@pytest.fixture
def unseen(monkeypatch):
    """Read laws from usual runs alone: what is rare is left for later checks."""
    monkeypatch.setattr(reading, "draw_widely", draw_value)
