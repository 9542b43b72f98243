"""The formats of other tools, by the name that ``--format`` has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from dpaudit.report.annotations import render_github_commands
from dpaudit.report.brief import render_brief
from dpaudit.report.entries import ReportEntries
from dpaudit.report.junit import render_junit
from dpaudit.report.sarif import make_sarif_log

FORMATS: Mapping[str, Callable[[ReportEntries], str]] = MappingProxyType(
    {
        "github": render_github_commands,
        "junit": render_junit,
        "sarif": make_sarif_log,
        "markdown": render_brief,
    }
)
