"""From a result to a document a stranger can read and re-check: JSON, Markdown, HTML."""

from dpaudit.report.document import ReportPaths, prepare_directory, read_report, write_report
from dpaudit.report.render import render_html, render_markdown
from dpaudit.report.schema import SCHEMA_VERSION, Report, Result, json_schema
from dpaudit.report.terminal import budget_line, verdict_table

__all__ = [
    "SCHEMA_VERSION",
    "Report",
    "ReportPaths",
    "Result",
    "budget_line",
    "json_schema",
    "prepare_directory",
    "read_report",
    "render_html",
    "render_markdown",
    "verdict_table",
    "write_report",
]
