"""What one side alone shows: outputs that were drawn alone disagree if either side does."""

import pytest

from dpaudit.auditing.sampling.separate_processes import Against, _SideCounts
from dpaudit.estimation.score_events import ThresholdEvent

SEEN = _SideCounts(
    (1000, 20), (2000, 2000), ThresholdEvent(True, 0.0, 0.0), Against(8.0, 0.0, 1e-6)
)


@pytest.mark.parametrize("hits", [(64, 3), (192, 3), (128, 30)])
def test_a_side_that_differs_alone_is_seen(hits):
    assert SEEN._chance(hits, (256, 256)) < 1e-6


def test_sides_that_agree_are_not():
    assert SEEN._chance((128, 3), (256, 256)) == 1.0
