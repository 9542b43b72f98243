"""Published certificates whose numbers are computed again, moved: each fails or says the same."""

import json
from pathlib import Path

import numpy as np
import pytest

from dpaudit.verification import Reader, judge
from dpaudit.verification.schema import COMPUTED
from tests.verification.test_moved import moved, verdict

REPORTS = Path(__file__).parents[2] / "reports"


def computed():
    """Return every published certificate whose numbers are computed again, with its place."""
    return [
        pytest.param(content, id=f"{path.parent.name}-{n}")
        for path in sorted(REPORTS.glob("*/certificate.json"))
        for n, content in enumerate(_listed(json.loads(path.read_text())))
        if content["kind"] in COMPUTED
    ]


def _listed(content):
    return content if isinstance(content, list) else [content]


def stands_or_fails(content, count, monkeypatch):
    """Say of so many moved files, none of them restated, that they fail or say the same.

    This is stricter than an oracle (`tests/claims/test_moved_claims.py` has those): what the file
    states are numbers that follow from the rest of it, so that no other number may be verified.
    """
    reader, rng = Reader(), np.random.default_rng(5)
    first = verdict(content, reader)
    assert first.verified
    monkeypatch.setattr(judge, "SECONDS", 0.5)
    for n in range(count):
        found = verdict(moved(content, rng, 1 + n % 2), reader)
        if found is not None and found.verified:
            assert found.ratio == pytest.approx(first.ratio, rel=1e-7)
            assert found.claim == first.claim
            assert found.summary == first.summary or found.reservations


@pytest.mark.sampled(5)
@pytest.mark.parametrize("content", computed())
def test_a_computed_file_that_is_moved_fails_or_says_the_same(content, monkeypatch):
    stands_or_fails(content, 12, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("content", computed())
def test_a_computed_file_fails_or_says_the_same_however_often_it_is_moved(content, monkeypatch):
    stands_or_fails(content, 60 if len(json.dumps(content)) > 20_000 else 400, monkeypatch)
