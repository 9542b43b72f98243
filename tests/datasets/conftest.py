"""The raw files of the real datasets, and what stands in for them."""

import os

import pytest

from dpaudit.datasets.sources import DATA_VARIABLE

# Read once: the tests of the lookup change the variable.
DATA_DIRECTORY = os.environ.get(DATA_VARIABLE)


@pytest.fixture(scope="session")
def raw_files():
    if not DATA_DIRECTORY:
        pytest.skip(f"{DATA_VARIABLE} does not name the directory of the raw files")
    return DATA_DIRECTORY


@pytest.fixture
def no_data_variable(monkeypatch):
    monkeypatch.delenv(DATA_VARIABLE, raising=False)


@pytest.fixture
def openml(monkeypatch, no_data_variable):
    """Return a function that decides what `fetch_openml` answers, and the list of its calls."""
    calls = []

    def answer(with_what):
        def fetch(name, **options):
            calls.append((name, options))
            if isinstance(with_what, BaseException):
                raise with_what
            return with_what

        monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
        return calls

    return answer
