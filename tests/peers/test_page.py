"""The page says who is ahead, in either direction, and the measured parts can be asked here."""

import os
import sys

import pytest

from benchmarks.peers import page, peers, work
from dpaudit.scan.accountants.asking import ask_in_environment


def row(peer, **given):
    blank = dict.fromkeys(("lower", "upper", "true", "first", "seconds"))
    return {"work": "w", "peer": peer, "method": "m", "words": "", **blank, **given}


def found(accounts=(), audits=(), canaries=(), sniper=()):
    return {
        "machine": "here",
        "repeats": 1,
        "draws": 1,
        "quick": True,
        "requirements": {"other": ["other==1.0"]},
        "accounts": list(accounts),
        "audits": list(audits),
        "canaries": list(canaries),
        "sniper": list(sniper),
    }


OWN = row("dpaudit", lower=1.0, upper=1.1, seconds=2.0, true=1.0)


@pytest.mark.parametrize(
    ("part", "theirs", "line"),
    [
        ("accounts", row("other", upper=1.2, seconds=1.0), "takes 0.5 times our time, 0.2 above"),
        ("accounts", row("other", upper=1.05, seconds=3.0), "other (m) is 0.05 above the truth"),
        ("audits", row("other", lower=2.0, seconds=3.0), "we certify 0.5 times what other (m)"),
        ("audits", row("other", lower=0.5, seconds=1.0), "other (m) takes 0.5 times our time"),
        ("canaries", row("other", lower=2.0, seconds=3.0), "we certify 0.5 times what other (m)"),
        ("sniper", row("DP-Sniper", lower=2.0), "we certify 0.5 times what DP-Sniper"),
    ],
)
def test_where_we_are_behind_it_says_so(part, theirs, line):
    (said,) = page.behind(found(**{part: [OWN, theirs]}))
    assert line in said
    assert said in page.written(found(**{part: [OWN, theirs]}))


@pytest.mark.parametrize(
    ("part", "theirs"),
    [
        ("accounts", row("other", upper=1.2, seconds=3.0)),
        ("audits", row("other", lower=0.5, seconds=3.0)),
        ("sniper", row("DP-Sniper", lower=0.5)),
    ],
)
def test_where_we_are_ahead_it_does_not(part, theirs):
    assert page.behind(found(**{part: [OWN, theirs]})) == []
    assert "Nowhere in this run." in page.written(found(**{part: [OWN, theirs]}))


def test_what_failed_is_told():
    failed = row("other", words="ValueError: no")
    assert "| w | other | m (ValueError) | — |" in page.written(found(accounts=[OWN, failed]))


def test_a_ratio_is_of_the_same_work():
    other = row("other", upper=1.2, seconds=1.0) | {"work": "another"}
    assert page.behind(found(accounts=[OWN, other])) == []


def test_the_page_there_is_was_made_by_the_command():
    text = (peers.ASKED.parents[2] / "docs" / "peers.md").read_text(encoding="utf-8")
    assert "Made by `make peers`" in text
    assert "## Where dpaudit is behind" in text
    named = {one.name for one in (*peers.ACCOUNTANTS, *peers.AUDITORS, *peers.CANARIES)}
    assert {name for name in (*named, "DP-Sniper") if f"| {name} |" not in text} <= {"DP-Sniper"}
    for one in (*work.RELEASES, *work.AUDITS, *work.CANARIES):
        assert f"| {one} |" in text


# Our own side can be asked here as the others are in their environments.


def test_our_own_bracket_is_asked_as_the_others_are():
    question = work.questions()["Gaussian, sigma 20, 1000 times"]
    (said,) = ask_in_environment(
        peers.ACCOUNTANTS[0].file, [("proved bracket", question)], memory=None
    )
    assert said.values[0] <= said.values[1] <= said.values[2]
    assert said.values[2] == pytest.approx(7.511275900744784, rel=1e-9)


def test_our_own_bound_is_asked_as_the_others_are(monkeypatch):
    monkeypatch.setitem(os.environ, "DPAUDIT_PEER", "own_auditing")
    (question,) = work.scores("mu 3, delta 1e-2, 10,000 runs", 1)
    asked = [("audit_outputs", question)]
    (said,) = ask_in_environment(
        peers.ASKED / "with_scores.py", asked, python=sys.executable, memory=None
    )
    assert 0.4 * question.true < said.values[0] < question.true
