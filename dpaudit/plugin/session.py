"""The summary of a whole run of pytest, and its report."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import Any

from dpaudit.report.formatting import format_significant
from dpaudit.verdicts import VERDICTS

_BEGAN = monotonic()
Found = Mapping[str, Sequence[Mapping[str, Any]]]


def format_session_summary(
    found: Found, directory: str | None, baseline: str | None = None
) -> list[str]:
    """Return the lines that end a run, after its report was written, if one was asked for.

    Parameters
    ----------
    found
        What was found, by test.
    directory
        Of the report, if one is wanted.
    baseline
        The file of accepted refutations, if there is one.
    """
    audits = [one for entries in found.values() for one in entries]
    counts = Counter(str(one["verdict"]) for one in audits)
    alpha = math.fsum(float(one["alpha"]) for one in audits)
    verdicts = ", ".join(f"{counts[name]} {name}" for name in VERDICTS if counts[name])
    kept = sum(bool(one["kept"]) for one in audits)
    accepted = sum(bool(one.get("accepted")) for one in audits)
    each = max((float(one["alpha"]) for one in audits), default=0.0)
    lines = [
        f"dpaudit: {verdicts or 'no verdict'}; error probability {format_significant(each)} each, "
        f"{format_significant(alpha)} together"
        + (f"; {accepted} refuted and accepted" if accepted else "")
        + (f"; {kept} of {len(audits)} drawn before and kept" if kept else "")
    ]
    if baseline is not None:
        lines += _format_baseline_comparison(audits, Path(baseline))
    if directory is not None:
        lines.append(f"dpaudit: report: {_write_session_report(found, Path(directory))}")
    return lines


def _format_baseline_comparison(audits: Sequence[Mapping[str, Any]], path: Path) -> list[str]:
    """Return the states of accepted refutations, and those without a test in the run."""
    from dpaudit.auditing.specification.baseline import Baseline
    from dpaudit.errors import DpauditError
    from dpaudit.escaping import one_line

    lines = [f"dpaudit: {one_line(one['baseline'])}" for one in audits if one["baseline"]]
    try:
        others = Baseline(path).unmatched([one["audit"] for one in audits])
    except DpauditError as error:
        return [*lines, f"dpaudit: baseline: {error}"]
    return [*lines, *(f"dpaudit: no test of this run is the accepted {one}" for one in others)]


def _write_session_report(found: Found, directory: Path) -> str:
    """Write the report of a run and return the path of its page, or why it could not be."""
    from dpaudit.auditing.outcome.error_budget import whole_report
    from dpaudit.errors import DpauditError
    from dpaudit.execution import available_cores
    from dpaudit.files import write_files
    from dpaudit.report.document import write_report
    from dpaudit.report.schema import Environment, Result

    audits = [one for entries in found.values() for one in entries]
    missing = [test for test, entries in found.items() if not entries]
    environment = Environment.of_this_machine(available_cores(), monotonic() - _BEGAN)
    results = [Result.model_validate_json(one["result"]) for one in audits]
    certificates = [json.loads(one["certificate"]) for one in audits if one["certificate"]]
    private = any(one["private"] for one in audits)
    try:
        report = whole_report(results, environment, missing)
        paths = write_report(report, directory, holds_records=private)
        if certificates:
            content = certificates[0] if len(certificates) == 1 else certificates
            file = {directory / "certificate.json": json.dumps(content).encode("utf-8") + b"\n"}
            write_files(directory, file, private=private)
    except DpauditError as error:
        return f"not written: {error}"
    return str(paths.html)
