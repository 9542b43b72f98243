"""One report of every kind."""

from __future__ import annotations

import pytest

from dpaudit.report.schema import Report

from . import samples


@pytest.fixture
def usual() -> Report:
    return samples.usual()


@pytest.fixture
def hostile() -> Report:
    return samples.report(samples.hostile(), samples.infinite())
