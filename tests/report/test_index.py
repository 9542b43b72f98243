from __future__ import annotations

import base64
import hashlib
import re

import pytest

from dpaudit.report.document import read_index, write_index, write_report
from dpaudit.report.formatting import make_shown_numbers
from dpaudit.report.index import (
    IndexRow,
    format_index_headline,
    format_plain_finding,
    make_index_sections,
)

from . import samples

VARIANT = "another | start"


@pytest.fixture
def folder(tmp_path):
    lemma = samples.report(
        samples.searched(), samples.searched(variant=VARIANT, verdict="not refuted")
    )
    theorem = samples.report(samples.no_finite_epsilon())
    for name, report in (("lemma", lemma), ("theorem", theorem)):
        write_report(report, tmp_path / name)
        (tmp_path / name / "certificate.json").write_text("[]")
    page = write_index({"lemma": (lemma, [True, False]), "theorem": (theorem, [True])}, tmp_path)
    assert page == tmp_path / "index.html"
    return tmp_path


@pytest.mark.parametrize("name", ["index.html", "index.md"])
def test_it_counts_audits_and_claims_and_shows_every_number(folder, name):
    text = (folder / name).read_text(encoding="utf-8")
    assert "2 of 2 claims are refuted as printed." in text
    assert text.count("at most -0.7533") == 2
    assert "ε = 1" in text
    assert "∞" in text
    assert "at least ∞" not in text
    assert "—" in text
    assert "None" not in text


def rows(*given):
    return [
        IndexRow(
            folder="a", place=1, result=result, shown=make_shown_numbers(result), certified=False
        )
        for result in given
    ]


def of(claim, verdict, standing="claim", variant=None):
    change = {"claim": claim, "verdict": verdict, "standing": standing, "variant": variant}
    return samples.searched().model_copy(update=change)


def test_a_claim_falls_with_any_audit_of_it_as_printed_and_with_no_other():
    held, broken = "not refuted", "refuted"
    given = [of("a", held), of("a", broken, variant="elsewhere"), of("b", held)]
    given += [of("b", broken, "variant", "stricter"), of("c", broken, "question")]
    said = format_index_headline(rows(*given))
    found = "1 of 2 claims is refuted as printed; nothing that was tried contradicts the other."
    assert said == found
    assert format_index_headline(rows(of("a", held))).startswith(
        "None of 1 claim is refuted as printed;"
    )
    assert "the verdict on 1 is withheld" in format_index_headline(
        rows(of("a", "withheld"), of("b", broken))
    )
    assert format_index_headline([]) == "No claim was audited."
    assert [section.title for section in make_index_sections(rows(*given))] == [
        "Claims, as printed",
        "Variants",
        "Questions",
    ]


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (samples.result(verdict="withheld"), "Nothing can be said."),
        (samples.refuted(), "An attacker goes from 50% to "),
        (
            samples.no_finite_epsilon(),
            "An attacker goes from 50% to entirely sure; claimed: 73.1%.",
        ),
        (samples.sensitivity(), "It is 1.4 times what is claimed."),
        (samples.searched(), "It reaches 0.0467, where -0.7533 is claimed."),
    ],
)
def test_what_was_found_in_a_sentence(result, words):
    assert words in format_plain_finding(result)


def test_the_policy_of_the_page_lets_its_own_script_run_and_no_other(folder):
    page = (folder / "index.html").read_text(encoding="utf-8")
    script = re.search(r"<script>(.*?)</script>", page, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page
    assert page.count("<script") == 1


def test_a_statement_is_said_once_for_all_variants(folder):
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert page.count(samples.searched().statement) == 1


def test_links_lead_to_the_variant(folder):
    page = (folder / "index.html").read_text(encoding="utf-8")
    links = re.findall(r'href="([^"]+)"', page)
    assert "lemma/report.html#claim-2" in links
    assert links.count("lemma/certificate.json") == 1
    for link in links:
        path, _, anchor = link.partition("#")
        target = (folder / path).read_text(encoding="utf-8")
        assert not anchor or f'id="{anchor}"' in target


def test_markdown_rows_stay_rows(folder):
    lines = (folder / "index.md").read_text(encoding="utf-8").splitlines()
    rows = [line for line in lines if line.startswith("|")]
    assert len(rows) == 2 + 3
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {6}


def test_json_writes_infinities_as_words(folder):
    rows = read_index(folder / "index.json")
    assert [row["lower"] for row in rows] == [0.0467, 0.0467, "Infinity"]
    assert [row["variant"] for row in rows] == [None, VARIANT, None]
    assert rows[1]["certificate"] is None
