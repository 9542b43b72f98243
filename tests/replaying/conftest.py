import pytest

from dpaudit.mechanisms.foreign.isolation import Isolation
from dpaudit.replaying.api import replay


@pytest.fixture
def replay_here():
    """Replay in this process, as is quickest."""

    def run(function, dataset, neighbour=None, *, epsilon=1.0, **options):
        here = Isolation(in_process=True)
        return replay(function, dataset, neighbour, epsilon=epsilon, isolation=here, **options)

    return run
