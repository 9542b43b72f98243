"""What is shown of views: a table with the worst first, pictures, files, and compositions."""

import json
import math

import numpy as np
import pytest

import dpaudit
from dpaudit.accounting.pairs.composition import Bracket
from dpaudit.affine.report import ViewsReport, format_mu_bracket


def gossip(x, rng):
    sent = []
    for _ in range(4):
        messages = x + rng.normal(scale=2.0, size=3)
        x = (x + np.roll(messages, 1)) / 2
        sent.append(messages)
    sent = np.array(sent)
    return {"node 0": sent[:, [0, 2]], "the wire": sent, "raw": x}


@pytest.fixture(scope="module")
def found():
    return dpaudit.views(gossip, private=np.zeros(3))


def test_the_worst_view_comes_first_and_infinite_ones_are_said_in_words():
    def both(x, rng):
        return {"raw": x * 2.0, "sum": x.sum() + rng.normal()}

    plain = dpaudit.views(both, private=np.zeros(2))
    lines = str(plain).splitlines()
    rows = [line.split() for line in lines[4:]]
    assert rows[0][:3] == ["0", "raw", "infinite"]
    assert [row[2] for row in rows[:4]] == ["infinite"] * 4
    assert rows[4] == ["0", "sum", "1", "4.3771781"]
    assert lines[-1] == "From raw, everything noise hides nothing about 0, 1: mu is infinite."


def test_numbers_are_rounded_up_and_two_ends_outwards():
    assert format_mu_bracket(Bracket(1 / 3, 1 / 3)) == "0.3333333334"
    assert format_mu_bracket(Bracket(1 / 3, 2 / 3), 3) == "[0.333, 0.667]"
    assert format_mu_bracket(Bracket(1.0, math.inf)) == "[1, ∞]"


def test_a_row_in_latex_for_each_view(found):
    rows = found.to_latex().splitlines()
    assert len(rows) == len(found.table)
    assert all(row.count("&") == 3 and row.endswith(r" \\") for row in rows)
    assert "the wire" in rows[0] or "everything" in rows[0]


@pytest.mark.slow
def test_the_picture_has_every_number_and_a_curve_for_each_mu(found, tmp_path):
    grid, curves = found.figure(tmp_path / "views.svg")
    written = {text.get_text() for text in grid.texts}
    mus = [one.mu.upper for one in found.table.values()]
    assert written == {f"{mu:.3g}".replace("inf", "∞") for mu in mus}
    different = {f"{mu:.9g}" for mu in mus if 0 < mu < math.inf}
    assert len(curves.lines) == min(len(different), 7)
    top = curves.lines[0]
    worst = dpaudit.GaussianDP(max(mu for mu in mus if mu < math.inf))
    for epsilon, delta in zip(top.get_xdata(), top.get_ydata(), strict=True):
        assert delta == pytest.approx(worst.delta(float(epsilon)), rel=1e-6)
    assert (tmp_path / "views.svg").read_text().startswith("<?xml")


@pytest.mark.slow
def test_a_picture_where_no_mu_is_finite():
    axes = dpaudit.views(lambda x, rng: x + 0.0 * rng.normal(), private=np.zeros(1)).figure()
    assert len(axes) == 1
    assert [text.get_text() for text in axes[0].texts] == ["∞"]


def test_the_document_holds_all_that_is_shown(found):
    document = json.loads(json.dumps(found.document()))
    again = ViewsReport.from_document(document, found.report.certificate)
    assert again.text() == str(found)
    assert "<table>" in found._repr_html_()


@pytest.mark.slow
def test_a_folder_loses_a_certificate_that_is_not_of_its_report(found, tmp_path, monkeypatch):
    found.save(tmp_path)
    assert (tmp_path / "certificate.json").exists()
    monkeypatch.setattr("dpaudit.affine.certificate.MOST_ROWS", 0)
    dpaudit.views(gossip, private=np.zeros(3)).save(tmp_path)
    assert not (tmp_path / "certificate.json").exists()


def test_views_compose_with_other_releases(found):
    """Two views and a Laplace release: between both parts alone and what each has, added up."""
    seen, wire = found.release("node 0"), found.release("the wire")
    laplace = dpaudit.LaplaceRelease(sensitivity=1.0, noise_scale=2.0)
    mus = [found.guarantee(name).mu for name in ("node 0", "the wire")]
    gaussian = dpaudit.account(dpaudit.Sequence((seen, wire)), delta=1e-5).proved.upper
    assert gaussian == pytest.approx(dpaudit.GaussianDP(math.hypot(*mus)).epsilon(1e-5), rel=1e-6)
    together = dpaudit.account(dpaudit.Sequence((seen, wire, laplace)), delta=1e-5).proved.upper
    assert gaussian < together < gaussian + 0.5
    assert together > dpaudit.account(laplace, delta=1e-5).proved.upper
