"""The reduced update of a client is the whole one: by search, exactly, and by the algorithm."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaudit.algorithms.tables.claims.equation38 import (
    CLAIM,
    Equation38Parameters,
    compare_update_objectives,
    find_worst_join,
)
from dpaudit.algorithms.tables.verify.equation38 import recompute
from dpaudit.errors import DataError, InvalidArgument

WITHOUT = {"counts": "none"}


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("parameters", [{}, {"rows": 3, "tuples": 8}], ids=str)
def test_it_is_not_refuted(audited, parameters, seed):
    found = audited(CLAIM, seed=seed, parameters=parameters)
    assert found.result.verdict == "proved"
    assert found.result.measured.lower == found.result.proved.value == 0


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("counts", ["none", "squared"])
def test_other_counts_are_refuted_and_verified(audited, plain, judged, counts, seed):
    found = audited(CLAIM, seed=seed, parameters={"counts": counts})
    assert found.result.verdict == "refuted"
    verdict = judged(plain(found.certificate), recompute)
    assert verdict.failures == ()
    assert verdict.ratio > 1


def test_where_every_tuple_is_in_one_row_no_counts_are_needed():
    rng = np.random.default_rng(0)
    join = find_worst_join(Equation38Parameters(rows=4, tuples=4), 1, rng)
    vars(join)["mapping"] = np.arange(4.0)
    assert (
        compare_update_objectives(join, "none")[0]
        == compare_update_objectives(join, "squared")[0]
        == 0
    )


@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 8), st.integers(1, 3))
def test_real_numbers_agree_to_rounding(seed, rows, tuples, classes):
    rng = np.random.default_rng(seed)
    parameters = Equation38Parameters(rows=rows, tuples=tuples, classes=classes)
    join = find_worst_join(parameters, 1, rng)
    for name in ("dual", "gap", "here", "there"):
        vars(join)[name] = rng.standard_normal(getattr(join, name).shape)
    vars(join)["penalty"] = float(rng.uniform(0.01, 5))
    difference, size = compare_update_objectives(join, "published")
    assert difference <= 1e-13 * size


@pytest.mark.parametrize(
    ("value", "path", "named"),
    [
        ("sensitivity", ("kind",), "kind"),
        (51, ("parameters", "rows"), "parameters.rows"),
        ("all", ("parameters", "counts"), "parameters.counts"),
        (0.0, ("instance", "penalty"), "instance.penalty"),
        ([9, 0, 0, 0, 0, 0], ("instance", "mapping"), "instance.mapping"),
        ([[1.0]], ("instance", "here"), "instance.here"),
    ],
)
def test_a_malformed_certificate_names_the_field(
    audited, plain, judged, changed, value, path, named
):
    document = changed(plain(audited(CLAIM, parameters=WITHOUT).certificate), value, *path)
    with pytest.raises(DataError, match=named):
        judged(document, recompute)


def test_with_the_counts_of_the_paper_a_certificate_proves_nothing(audited, plain, judged, changed):
    document = plain(audited(CLAIM, parameters=WITHOUT).certificate)
    assert judged(changed(document, "published", "parameters", "counts"), recompute).failures


def test_data_are_refused(audited):
    with pytest.raises(InvalidArgument, match=r"^data: "):
        audited(CLAIM, data="breast-cancer")
