"""hu2019's Lemma 3 holds for two vectors and fails for three; corrected it holds for all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dpaudit.algorithms.sharing.claims.hu2019.lemma3 import (
    CLAIM,
    IterationVectors,
    compute_lemma3_sides,
)
from dpaudit.algorithms.sharing.verify.hu2019.lemma3 import recompute
from dpaudit.errors import DataError


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_search_breaks_it_and_the_certificate_is_verified(audited, plain, judged, seed):
    found = audited(CLAIM, seed=seed)
    assert found.result.verdict == "refuted"
    assert found.result.measured.lower == 2.0  # (9 - 3) / 3, and no three vectors do more
    verdict = judged(plain(found.certificate), recompute)
    assert verdict.failures == ()
    assert verdict.ratio > 1


@pytest.mark.parametrize(
    "parameters",
    [
        {"parties": 1},
        {"parties": 2},
        {"factor": 2.0},
        {"parties": 5, "factor": 4.0},
        {"parties": 5, "version": "corrected"},
        {"parties": 7, "dimension": 3, "version": "corrected"},
    ],
    ids=str,
)
def test_what_is_true_is_not_refuted(audited, parameters):
    found = audited(CLAIM, parameters=parameters)
    assert found.result.verdict == "not refuted"
    assert found.certificate is None


@pytest.mark.parametrize(
    "parameters", [{"factor": 1.9}, {"parties": 5, "version": "corrected", "factor": 0.8}], ids=str
)
def test_halved_bounds_are_refuted(audited, parameters):
    assert audited(CLAIM, parameters=parameters).result.verdict == "refuted"


@given(st.data(), st.integers(1, 6), st.integers(1, 3))
def test_both_sides_are_those_of_the_proof(data, parties, dimension):
    entries = st.integers(-50, 50).map(float)
    before, after = (data.draw(arrays(float, (parties, dimension), elements=entries)) for _ in "xy")
    z = data.draw(arrays(float, dimension, elements=entries))
    left, right = compute_lemma3_sides(IterationVectors(before=before, after=after, z=z))
    moved = after - before
    assert left == np.sum(moved.sum(axis=0) ** 2) - right
    assert left <= (parties - 1) * right


@pytest.mark.parametrize(
    ("value", "path", "named"),
    [
        ("sensitivity", ("kind",), "kind"),
        (200, ("parameters", "parties"), "parameters.parties"),
        ("else", ("parameters", "version"), "parameters.version"),
        ([[0.0], [0.0], [0.0]], ("instance", "after"), "instance.after"),
    ],
)
def test_a_malformed_certificate_names_the_field(
    audited, plain, judged, changed, value, path, named
):
    document = changed(plain(audited(CLAIM).certificate), value, *path)
    document = changed(document, [[0.0], [0.0], [0.0]], "instance", "before")
    with pytest.raises(DataError, match=named):
        judged(document, recompute)


def test_another_step_is_seen(audited, plain, judged, changed):
    document = plain(audited(CLAIM).certificate)
    document = changed(document, [[3.0], [-3.0], [0.0]], "instance", "after")
    assert judged(document, recompute).failures
