"""Where the real data are."""

import os

import pytest


@pytest.fixture
def adult_path():
    path = os.environ.get("DPAUDIT_DATA")
    if path is None:
        pytest.skip("DPAUDIT_DATA is not set: the Adult files are not at hand")
    return path
