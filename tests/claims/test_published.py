"""The published audits: complete, consistent, and every certificate in them verified."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dpaudit.extension.registry as registry
from dpaudit.cli.publish import get_published_settings
from dpaudit.formats import read_json
from dpaudit.report.document import read_index, read_report
from dpaudit.report.formatting import format_result_label, value_of
from dpaudit.verification import read, verify

REPORTS = Path(__file__).parents[2] / "reports"
AGAIN = "run: dpaudit audit --all --out reports"
CLAIMS = sorted(registry.CLAIMS.all())
NAMES = {name: list(get_published_settings(registry.CLAIMS.get(name), {})) for name in CLAIMS}


@pytest.fixture(scope="session")
def folder() -> Path:
    return REPORTS


@pytest.fixture(scope="session")
def index(folder) -> list[dict[str, Any]]:
    path = folder / "index.json"
    assert path.is_file(), f"{path} is missing; {AGAIN}"
    return read_index(path)


def rows_of(index, name):
    return [row for row in index if row["claim"] == name]


def as_written(value):
    """Return a number as the index writes it: infinities are words."""
    return {float("inf"): "Infinity", float("-inf"): "-Infinity"}.get(value, value)


@pytest.mark.parametrize("name", CLAIMS)
def test_every_installed_claim_and_variant_is_published(name, index):
    variants = [variant for variant, _ in NAMES[name]]
    assert [row["variant"] for row in rows_of(index, name)] == variants, AGAIN


def test_nothing_else_is_published(folder, index):
    assert {row["claim"] for row in index} == set(CLAIMS)
    found = {path.name for path in folder.iterdir() if path.is_dir()}
    assert found == {*CLAIMS, "selftest", "packages", "figures", "deployments"}


def test_the_published_self_test_is_the_full_one_and_found_nothing_wrong(folder):
    document = read_json(folder / "selftest" / "selftest.json", "selftest")
    assert document["full"]
    assert document["failures"] == []
    for one in document["estimators"]:
        assert one["sound"] != one["made_unsound"], one["estimator"]


@pytest.mark.parametrize("name", CLAIMS)
def test_rows_agree_with_the_report_and_the_claim(name, folder, index):
    report = read_report(folder / name / "report.json")
    for row, result in zip(rows_of(index, name), report.results, strict=True):
        assert (result.claim, result.variant) == (name, row["variant"])
        assert result.statement == registry.CLAIMS.get(name).statement, AGAIN
        for part in ("verdict", "reason", "kind", "rerun", "standing", "scope"):
            assert row[part] == getattr(result, part)
        assert row["label"] == format_result_label(result)
        assert row["claimed"] == as_written(value_of(result.claimed, result.kind))
        assert row["proved"] == as_written(value_of(result.proved, result.kind))
        assert row["lower"] == as_written(result.measured.lower)
        assert row["upper"] == as_written(result.measured.upper)


@pytest.mark.parametrize("name", CLAIMS)
def test_a_certificate_stands_behind_every_refutation_and_nothing_else(name, folder, index):
    rows = rows_of(index, name)
    assert rows, AGAIN
    linked = [row["certificate"] for row in rows if row["certificate"] is not None]
    assert len(linked) == sum(row["verdict"] == "refuted" for row in rows)
    assert all(row["verdict"] == "refuted" for row in rows if row["certificate"] is not None)
    path = folder / name / "certificate.json"
    assert {folder / link for link in linked} == ({path} if path.exists() else set())


# What is counted, or integrated in many digits, takes tens of seconds.
LONG = {
    *("tables-theorem2", "zhang2018-section62", "zhang2018-theorem31", "zhang2018-appendixE"),
    "hu2020-assumption1",
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] if name in LONG else []) for name in CLAIMS],
)
def test_every_certificate_is_verified(name, folder, index):
    refuted = sum(row["verdict"] == "refuted" for row in rows_of(index, name))
    path = folder / name / "certificate.json"
    documents = read(path) if refuted else ()
    assert len(documents) == refuted
    for document in documents:
        verdict = verify(document)
        assert (verdict.claim, verdict.failures) == (name, ())


def test_every_audit_says_under_which_reading_or_in_which_regime(index):
    assert [row["label"] for row in index if not row["scope"]] == []


def test_what_nobody_claims_and_variants_are_no_claims(index):
    questions = {row["claim"] for row in index if row["standing"] == "question"}
    assert questions == {"huang2020-broadcast", "zhang2018-broadcasts"}
    for name in set(CLAIMS) - questions:
        first = rows_of(index, name)[0]
        assert (first["variant"], first["standing"]) == (None, "claim")
