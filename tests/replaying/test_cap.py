"""The most that a replay's counts can certify, against every count that there may be."""

import math
from dataclasses import replace

import pytest

from dpaudit.estimation.joint import joint_lower_bound
from dpaudit.replaying.counting import ALPHA, COUNTS, GUIDED, count_needed_runs, most_of_counts
from dpaudit.replaying.page import format_replay_summary
from dpaudit.replaying.result import Replay, ReplayFinding
from dpaudit.replaying.spending import Spending

CLAIMS = [(1.0, 0.0, 1), (5.0, 1e-5, 3)]


def made(epsilon, delta, pairs, **given):
    fields = {"edit": None, "findings": (), "calls": (), "unread": (), "runs": 12, "form": "f"}
    return Replay(
        mechanism="f",
        epsilon=epsilon,
        delta=delta,
        relation="replace-record",
        spending=Spending(),
        pairs=pairs,
        seed=0,
        **fields | given,
    )


@pytest.mark.parametrize(("epsilon", "delta", "pairs"), CLAIMS)
def test_no_counts_certify_more_and_some_certify_as_much(epsilon, delta, pairs):
    cap, alpha = most_of_counts(epsilon, delta, pairs), ALPHA / (COUNTS * pairs)
    assert made(epsilon, delta, pairs).cap == cap
    few, many = count_needed_runs(epsilon, delta, alpha), GUIDED - GUIDED // 4
    runs = max(few, many)
    counts = [(runs - 1, 0), (runs, 1), (runs // 2, 0), (runs, runs // 2)]
    tried = [(min(few, many), 0, min(few, many)), *((*one, runs) for one in counts)]
    found = [
        joint_lower_bound(hits, other, made, made, delta=delta, alpha=alpha)
        for hits, other, made in tried
    ]
    assert max(found) <= cap
    assert cap == joint_lower_bound(runs, 0, runs, runs, delta=delta, alpha=alpha) > max(found[1:])


def test_without_delta_it_is_near_a_closed_form():
    """Randomised response makes so clear counts likeliest: ``(1 + e^-epsilon)^(-2 n) = alpha``."""
    alpha = ALPHA / (COUNTS * 4)
    runs = max(count_needed_runs(2.0, 0.0, alpha), 1500)
    most = -math.log(math.expm1(-math.log(alpha) / (2 * runs)))
    assert most - 0.05 < most_of_counts(2.0, 0.0, 4) <= most


def test_more_pairs_share_one_error_probability_and_show_less():
    caps = [most_of_counts(1.0, 0.0, pairs) for pairs in (1, 8)]
    assert caps == sorted(caps, reverse=True)
    assert len(set(caps)) == 2


@pytest.mark.parametrize(("pairs", "words"), [(1, "one pair"), (3, "3 pairs")])
def test_not_refuted_says_what_was_looked_at_and_the_cap_and_other_verdicts_do_not(pairs, words):
    from dpaudit.replaying.result import ReplayFinding

    said = " ".join(format_replay_summary(made(1.0, 0.0, pairs)))
    assert f"Not refuted: the replay tried {words}." in said
    shown = float(said.split("can certify at most ")[1].split()[0].rstrip("."))
    cap = most_of_counts(1.0, 0.0, pairs)
    assert cap * (1 - 1e-3) <= shown <= cap
    for tier in ("proof", "violation", "withheld"):
        found = ReplayFinding(kind="raw value", tier=tier, words="w")
        assert "can certify at most" not in " ".join(
            format_replay_summary(made(1.0, 0.0, pairs, findings=(found,)))
        )


@pytest.mark.parametrize("value", [1.23451, 0.98764999, 3e-7 / 7])
def test_what_is_spent_is_rounded_up_in_a_file_and_nothing_else_is(value):
    """An upper number of four digits is no smaller than what it stands for."""
    spending = Spending(epsilon=value, mu=value, excess=value)
    written = made(1.0, 0.0, 1)
    written = replace(written, spending=spending).document()
    assert written["composed"] == written["spending"]["epsilon"] == written["spending"]["mu"]
    assert value <= written["composed"] < value * 1.001
    assert written["spending"]["excess"] == pytest.approx(value, rel=5.1e-4)
    finding = ReplayFinding(kind="k", tier="proof", words="w", epsilon=value)
    (told,) = replace(made(1.0, 0.0, 1), findings=(finding,)).document()["findings"]
    assert value * 0.999 < told["epsilon"] <= value
