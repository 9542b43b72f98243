"""The power of the Jacobian: by integration, by determinants, and by draws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import kstest, laplace

from dpaudit.algorithms.consensus.claims.footnote4 import (
    CLAIM,
    FootnoteParameters,
    IntegerNode,
    compute_inverse_jacobian,
    find_worst_density_node,
)
from dpaudit.algorithms.consensus.verify.footnote4 import recompute
from dpaudit.errors import DataError, InvalidArgument

OTHER = {"power": -1}


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_power_of_60_is_not_refuted_and_the_other_is(audited, plain, judged, seed):
    found = audited(CLAIM, seed=seed)
    assert found.result.verdict == "proved"
    assert found.result.proved.value == 0
    other = audited(CLAIM, seed=seed, parameters=OTHER)
    assert other.result.verdict == "refuted"
    verdict = judged(plain(other.certificate), recompute)
    assert verdict.failures == ()
    assert verdict.ratio > 1


@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 4))
def test_the_determinant_is_that_of_derivatives(seed, records, dimension):
    """Minus the Jacobian of ``e(f)`` that makes f stationary: eq. (58), by differences."""
    node = find_worst_density_node(
        FootnoteParameters(records=records, dimension=dimension), 1, np.random.default_rng(seed)
    )

    def noise(f):
        slope = node.loss_weight / records * node.features.T @ (node.features @ f - 1)
        return -(slope + node.ridge * f) / node.stretch - f

    step = 0.5  # it is affine
    jacobian = [(noise(step * row) - noise(-step * row)) / (2 * step) for row in np.eye(dimension)]
    assert abs(np.linalg.det(jacobian)) == pytest.approx(compute_inverse_jacobian(node), rel=1e-9)


@pytest.mark.parametrize(("power", "total"), [(1, 1.0), (-1, 1 / 9)])
def test_the_total_by_quadrature(power, total):
    node = IntegerNode(features=np.array([[2.0]]), stretch=2.0, loss_weight=1.0, ridge=0.0)
    slope = compute_inverse_jacobian(node)
    assert slope == pytest.approx(3.0)

    def density(f):
        return laplace.pdf(1 - slope * f) * slope**power

    found = quad(density, -20, 20, points=[1 / slope], limit=200)[0]
    assert found == pytest.approx(total, rel=1e-6)


def test_draws_follow_the_formula():
    """f solves ``slope f = 1 - e`` for noise e: its density is that of (60)."""
    slope, rng = 3.0, np.random.default_rng(0)
    f = (1 - rng.laplace(size=20_000)) / slope
    assert kstest(f, laplace(loc=1 / slope, scale=1 / slope).cdf).pvalue > 1e-3
    heights = laplace.pdf(1 - slope * f) * slope  # the formula with the power 1
    assert heights == pytest.approx(laplace.pdf(f, loc=1 / slope, scale=1 / slope))


@pytest.mark.parametrize(
    ("value", "path", "named"),
    [
        ("sensitivity", ("kind",), "kind"),
        (51, ("parameters", "records"), "parameters.records"),
        (2, ("parameters", "power"), "parameters.power"),
        (0.0, ("instance", "stretch"), "instance"),
        ([[1.0]], ("instance", "features"), "instance.features"),
    ],
)
def test_a_malformed_certificate_names_the_field(
    audited, plain, judged, changed, value, path, named
):
    document = changed(plain(audited(CLAIM, parameters=OTHER).certificate), value, *path)
    with pytest.raises(DataError, match=named):
        judged(document, recompute)


def test_with_the_power_of_60_a_certificate_proves_nothing(audited, plain, judged, changed):
    document = plain(audited(CLAIM, parameters=OTHER).certificate)
    assert judged(changed(document, 1, "parameters", "power"), recompute).failures


def test_data_are_refused(audited):
    with pytest.raises(InvalidArgument, match=r"^data: "):
        audited(CLAIM, data="breast-cancer")
