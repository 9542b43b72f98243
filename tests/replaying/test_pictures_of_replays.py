"""What the pictures of a replay show, read off their axes; and its row in LaTeX."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpaudit.replaying.page import unit_of
from dpaudit.replaying.pictures import draw_replay, row_of_replay, show_replay
from dpaudit.replaying.result import Replay, ReplayedCall, ReplayFinding
from dpaudit.replaying.spending import Spending


def a_call(index=0, kind="laplace", spent=0.5):
    return ReplayedCall(
        index=index, place=f"f.py:{index} in f", name=kind, kind=kind, shape=(), scale=1.0,
        other_scale=1.0, moved=1.0, seen="sum", steady=True, declared=None, epsilon=None,
        spent=spent,
    )  # fmt: skip


def replay(*calls, **given):
    fields = {
        "mechanism": "f_1", "epsilon": 0.75, "delta": 0.0, "relation": "r", "edit": None,
        "findings": (), "spending": Spending(), "unread": (), "runs": 1, "pairs": 1, "form": "f",
        "seed": 0,
    }  # fmt: skip
    return Replay(calls=tuple(calls), **fields | given)


LAPLACE, GAUSS = a_call(spent=0.5), a_call(1, "normal", 0.25)


def test_units_have_pictures_of_their_own_and_only_calls_that_spend_stand_there():
    assert (unit_of(LAPLACE), unit_of(GAUSS)) == ("epsilon", "mu")
    both = show_replay(replay(LAPLACE, GAUSS, a_call(2), a_call(3, spent=None)))
    assert [one.name for one in both] == ["epsilon", "mu"]
    assert both[0].label == "epsilon that each of 2 noisy calls of f_1 spends."
    assert both[1].label == "mu that each of 1 noisy calls of f_1 spends."
    assert [one.size for one in both] == [(6.4, 1.4 + 0.48), (6.4, 1.4 + 0.24)]
    many = show_replay(replay(*(a_call(n) for n in range(41))))
    assert many[0].size == (6.4, 1.4 + 0.24 * 40)
    assert [one.name for one in show_replay(replay(GAUSS))] == ["mu"]


def lines(axes):
    return {one.get_label(): float(one.get_xdata()[0]) for one in axes.lines}


def test_bars_are_what_calls_spend_from_above_to_below():
    (axes,) = draw_replay(replay(a_call(0), a_call(1, spent=0.25)))
    assert [one.get_width() for one in axes.patches] == [0.5, 0.25]
    assert [one.get_text() for one in axes.get_yticklabels()] == ["f.py:0 in f", "f.py:1 in f"]
    assert axes.yaxis.get_inverted()
    assert axes.get_xlim()[0] == 0.0
    assert axes.get_xlabel() == "epsilon on this pair"
    assert lines(axes)["claimed"] == 0.75


@pytest.mark.parametrize(
    ("spending", "together"),
    [
        (Spending(epsilon=1.25), 1.25),
        (Spending(epsilon=math.inf), None),
        (Spending(), None),
    ],
)
def test_what_all_spend_together_has_a_line_where_it_is_a_number(spending, together):
    found = replay(LAPLACE, spending=spending)
    (axes,) = draw_replay(found)
    assert lines(axes).get("all calls together") == together


def test_no_claim_in_epsilon_is_drawn_among_mu():
    axes = draw_replay(replay(LAPLACE, GAUSS, spending=Spending(mu=0.3)))
    assert "claimed" in lines(axes[0])
    assert lines(axes[1]) == {"all calls together": 0.3}


def test_many_calls_are_in_order_and_have_no_names():
    (named,) = draw_replay(replay(*(a_call(n) for n in range(40))))
    assert (len(named.get_yticks()), named.get_ylabel()) == (40, "")
    (axes,) = draw_replay(replay(*(a_call(n) for n in range(41))))
    assert axes.get_ylabel() == "noisy call, in order"


def test_where_nothing_is_spent_that_is_said(tmp_path):
    found = replay(a_call(spent=None))
    (shown,) = show_replay(found)
    assert (shown.name, shown.size) == ("nothing", (6.4, 1.2))
    file = tmp_path / "nothing.svg"
    (axes,) = draw_replay(found, file)
    assert len(axes.texts) == 1
    assert not axes.axison
    assert file.exists()
    assert isinstance(draw_replay(found), np.ndarray)


PROOF = ReplayFinding(kind="raw value", tier="proof", words="w")


@pytest.mark.parametrize(
    ("given", "delta", "together", "verdict"),
    [
        ({}, False, None, "not refuted"),
        ({"delta": 1e-5}, True, None, "not refuted"),
        ({"spending": Spending(epsilon=1.00001)}, False, 1.00001, "not refuted"),
        ({"findings": (PROOF,)}, False, None, "refuted"),
    ],
)
def test_a_row_holds_name_claim_what_is_spent_and_the_verdict(given, delta, together, verdict):
    row = row_of_replay(replay(LAPLACE, **given))
    cells = [one.strip() for one in row.removesuffix(r"\\").split("&")]
    assert (cells[0], cells[3]) == (r"f\_1", verdict)
    assert ("delta" in cells[1], "0.75" in cells[1]) == (delta, True)
    assert together is None or together < float(cells[2].strip("$")) < together * 1.01
