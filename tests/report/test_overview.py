"""What an index shows at first sight: claims by what they fall by, with a stamp of each."""

from __future__ import annotations

import math
import re

import pytest

from dpaudit.extension.ledger import (
    AuditEvidence,
    Cause,
    Consequence,
    LedgerRow,
    Paper,
    ProofEvidence,
)
from dpaudit.report.catalogue import Catalogue, entries_of_claims
from dpaudit.report.document import write_index
from dpaudit.report.formatting import make_shown_numbers
from dpaudit.report.groups import MARKS, group_claims
from dpaudit.report.index import IndexRow, make_index_sections
from dpaudit.report.schema import Claimed, Measured
from dpaudit.report.thumbnails import WIDTH, place_of, render_thumbnail
from dpaudit.verdicts import VERDICTS

from . import samples

SIGN = Cause(name="a sign", text="It has the other sign.", nature="fault")
NOISE = Cause(name="the noise", text="It has no density.", nature="fault", privacy=True)
TYPO = Cause(name="an index", text="It is one off.", nature="misprint")


def ledger_row(name, evidence=None, **fields):
    given = evidence or AuditEvidence(name)
    return LedgerRow(
        name=name, place="", statement="", standing="theorem", evidence=given, **fields
    )


PAPER = Paper(
    name="smith2031",
    title="",
    citation="",
    causes=(TYPO, SIGN, NOISE),
    rows=(
        ledger_row("a-typo", cause="an index", repair="with t + 1"),
        ledger_row("a-sign", cause="a sign"),
        ledger_row("another-sign", cause="a sign"),
        ledger_row("a-noise", cause="the noise"),
        ledger_row("a-proof", ProofEvidence("module:function")),
        ledger_row("a-consequence", Consequence("a-noise", "It rests on it.")),
    ),
)
KNOWN = Catalogue(titles={"a-sign": "A sum"}, entries=entries_of_claims([PAPER]))


def audited(claim, verdict, lower=1.0, **fields):
    one = Measured(lower=lower, upper=None, confidence=0.95, estimator="")
    result = samples.result(claim=claim, verdict=verdict, measured=one, **fields)
    return IndexRow(
        folder=claim, place=1, result=result, shown=make_shown_numbers(result), certified=False
    )


ROWS = [
    audited("held", "not refuted"),
    audited("a-typo", "refuted"),
    audited("a-sign", "refuted"),
    audited("a-proof", "not refuted"),
    audited("a-noise", "refuted"),
    audited("another-sign", "refuted"),
    audited("unexplained", "refuted"),
    audited("a-consequence", "refuted"),
    audited("unsaid", "withheld"),
]


def shown(rows, known=KNOWN):
    return [(g.title, [tile.claim for tile in g.tiles]) for g in group_claims(rows, known)]


def test_claims_that_fall_by_one_cause_stand_together_and_privacy_comes_first():
    assert shown(ROWS) == [
        ("the noise", ["a-noise", "a-consequence"]),
        ("a sign", ["a-sign", "another-sign"]),
        ("an index", ["a-typo"]),
        ("Refuted", ["unexplained"]),
        ("Withheld", ["unsaid"]),
        ("Not refuted", ["held"]),
        ("Proved", ["a-proof"]),
    ]


def test_a_cause_is_none_where_nothing_is_refuted():
    assert shown([audited("a-sign", "not refuted")]) == [("Not refuted", ["a-sign"])]
    assert shown([audited("a-proof", "refuted")]) == [("Refuted", ["a-proof"])]


def test_a_cause_of_one_name_in_two_papers_is_one():
    other = Paper(
        name="jones2031",
        title="",
        citation="",
        causes=(SIGN,),
        rows=(ledger_row("other", cause="a sign"),),
    )
    known = Catalogue(entries=entries_of_claims([PAPER, other]))
    rows = [audited("a-sign", "refuted"), audited("other", "refuted")]
    assert shown(rows, known) == [("a sign", ["a-sign", "other"])]


def test_every_verdict_has_a_mark_of_its_own():
    marks = [MARKS[verdict] for verdict in VERDICTS] + [MARKS["repaired"]]
    assert len(set(marks)) == len(marks)
    tiles = [tile.verdict for group in group_claims(ROWS, KNOWN) for tile in group.tiles]
    assert "✎ refuted as printed" in tiles
    assert "✓ proved" in tiles


def test_the_page_and_the_markdown_name_claims_and_causes(tmp_path):
    report = samples.report(ROWS[2].result, ROWS[1].result)
    write_index({"folder": (report, [False, False])}, tmp_path, catalogue=KNOWN)
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert page.index('class="stamp"') < page.index("<table")
    for text in (page, (tmp_path / "index.md").read_text(encoding="utf-8")):
        for words in (
            "a sign",
            "It has the other sign.",
            "A sum",
            "a-sign",
            "an index",
            "misprint",
        ):
            assert words in text
        assert text.index("a sign") < text.index("an index")


def test_of_a_claim_all_audits_stand_in_their_own_order_below():
    rows = [audited("a-sign", "not refuted", 0.5), audited("a-sign", "refuted", 2.0)]
    (section,) = make_index_sections(rows, KNOWN)
    assert section.rows == rows
    assert [part.title for part in section.parts] == ["a sign"]


@pytest.mark.parametrize(
    ("value", "claimed", "place"),
    [
        (1.0, 1.0, 0.0),
        (2.0, 1.0, 1 / 3),
        (1.0, 2.0, -1 / 3),
        (-1.0, -2.0, 1 / 3),
        (-2.0, -1.0, -1 / 3),
        (1.0, 0.0, 1.0),
        (-1.0, 0.0, -1.0),
        (math.inf, 1.0, 1.0),
        (1.0, math.inf, -1.0),
        (1e308, 1e308 / 2, 1 / 3),
        (math.inf, math.inf, 0.0),
    ],
)
def test_a_place_is_right_of_the_claim_only_beyond_it(value, claimed, place):
    assert place_of(value, claimed) == pytest.approx(place)


def xs(svg):
    """Return how far right each stroke of what was measured goes."""
    found = []
    for path in re.findall(r'class="(?:bar|rest|end)"[^>]* d="M([^"]+)"', svg):
        start = float(re.match(r"[\d.]+", path).group())
        reach = re.search(r"([hH])([\d.]+)", path)
        steps = 0.0 if reach is None else float(reach[2])
        found.append(start + steps if reach is not None and reach[1] == "h" else max(start, steps))
    return found


@pytest.mark.parametrize("lower", [-1.0, 0.0, 0.3, 0.999, 1.0])
def test_a_stamp_shows_nothing_beyond_a_claim_that_stands(lower):
    drawn = render_thumbnail(
        audited("c", "not refuted", lower, claimed=Claimed(epsilon=1.0)).result, "x"
    )
    assert max(xs(drawn)) <= WIDTH / 2 + 0.01


def test_a_stamp_points_beyond_a_claim_that_falls():
    drawn = render_thumbnail(
        audited("c", "refuted", 1.5, claimed=Claimed(epsilon=1.0)).result, 'a "b" <c'
    )
    assert max(xs(drawn)) > WIDTH - 10
    assert min(xs(drawn)) > WIDTH / 2
    assert 'aria-label="a &quot;b&quot; &lt;c"' in drawn


def test_a_stamp_of_a_withheld_verdict_shows_no_measurement():
    assert xs(render_thumbnail(audited("c", "withheld").result, "x")) == []
