"""The page itself, which every way is a row of."""

from . import (
    test_certificates,
    test_other_code,
    test_processes,
    test_processes_of_mechanisms,
    test_records_and_budgets,
    test_replays_and_scans,
    test_reports,
    test_self_test,
    test_several_audits,
    test_signals,
    test_standard_output,
    test_usage,
    test_verdicts,
)
from .ways import ROWS

MODULES = (
    test_certificates,
    test_other_code,
    test_processes,
    test_processes_of_mechanisms,
    test_records_and_budgets,
    test_replays_and_scans,
    test_reports,
    test_self_test,
    test_several_audits,
    test_signals,
    test_standard_output,
    test_usage,
    test_verdicts,
)


def test_every_row_has_its_ways():
    rows = set().union(*(module.WAYS.rows for module in MODULES))
    assert len(ROWS) == 36
    assert [what for _, what in ROWS if not any(row in what for row in rows)] == []
    assert sum(len(module.WAYS.cases) for module in MODULES) > 80


def test_the_help_names_the_statuses(here):
    said = " ".join(here.run("--help").out.split())
    assert "exit-statuses.md" in said
    assert all(str(status) in said for status, _ in ROWS)
