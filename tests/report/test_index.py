from __future__ import annotations

import re

import pytest

from dpaudit.report.document import read_index, write_index, write_report

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
    assert "2 of 3 audits refuted what they looked at; 2 claims were audited." in text
    assert text.count("at most -0.7533") == 2
    assert "ε = 1" in text
    assert "∞" in text
    assert "at least ∞" not in text
    assert "—" in text
    assert "None" not in text


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
