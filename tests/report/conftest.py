"""One report of every kind."""

from __future__ import annotations

import pytest

from dpaudit.report.render import render_html
from dpaudit.report.schema import Report

from . import samples


@pytest.fixture(scope="session")
def usual() -> Report:
    return samples.usual()


@pytest.fixture(scope="session")
def hostile() -> Report:
    return samples.report(samples.hostile(), samples.infinite())


# To write a page draws all its figures: once for all tests that read it.


@pytest.fixture(scope="session")
def usual_html(usual) -> str:
    return render_html(usual)


@pytest.fixture(scope="session")
def hostile_html(hostile) -> str:
    return render_html(hostile)
