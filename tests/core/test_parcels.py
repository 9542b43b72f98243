"""What goes to other processes arrives as it was, however large, and is no larger than allowed."""

import pickle

import numpy as np
import pytest

from dpaudit.execution.failures import CannotTravel
from dpaudit.execution.parcels import parcel_of


@pytest.mark.parametrize("entries", [1, 10**3, 10**5, 3 * 10**6])
def test_an_array_of_any_size_arrives(entries):
    """A large one is written as a buffer, which has no length."""
    given = np.arange(entries, dtype=np.float64)
    found = pickle.loads(parcel_of({"records": given}).blob)
    assert np.array_equal(found["records"], given)


@pytest.mark.parametrize("entries", [10**3, 3 * 10**6])
def test_a_limit_counts_bytes_and_not_entries(entries):
    given = np.zeros(entries)
    size = len(parcel_of(given).blob)
    assert len(parcel_of(given, at_most=size).blob) == size
    with pytest.raises(CannotTravel, match="too large"):
        parcel_of(given, at_most=size - 1)
