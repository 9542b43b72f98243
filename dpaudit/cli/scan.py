"""``dpaudit scan``: every mechanism of a package, audited against its documented claims."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from dpaudit.cli.console import make_cell, make_console
from dpaudit.cli.ending import FINE, Traceback, collect_failures, report_failures
from dpaudit.cli.formats import Format, Formats, formats_of, give_formats
from dpaudit.cli.options import Json, Quiet, folder_option, integer_option, number_option
from dpaudit.cli.progress import progress_bar
from dpaudit.errors import DpauditError
from dpaudit.verdicts import status_of

if TYPE_CHECKING:
    from dpaudit.extension.package import Package
    from dpaudit.scan.finding import ScanFinding, ScanResult

_MIB = 2**20
_LOOKING = 0.7  # of the time, where reproductions of the findings are made too


def scan(
    name: Annotated[
        str | None,
        typer.Argument(metavar="PACKAGE", help="A package that has a card; --list shows them."),
    ] = None,
    env: Annotated[
        str | None,
        typer.Option(
            "--env",
            metavar="NAME==VERSION",
            help="Scan this version in an environment of its own, which is built once.",
        ),
    ] = None,
    subject: Annotated[
        list[str] | None,
        typer.Option(
            "--subject", metavar="NAME", help="Scan only this subject, or those below it."
        ),
    ] = None,
    seconds: Annotated[
        float, number_option("--time", "Seconds for the whole scan, reproductions included.")
    ] = 600.0,
    trials: Annotated[
        int,
        integer_option("--trials", "The largest number of certifying outputs for each dataset."),
    ] = 10_000,
    confidence: Annotated[
        float, number_option("--confidence", "The confidence of all findings together.")
    ] = 1 - 1e-6,
    seed: Annotated[
        int, integer_option("--seed", "The seed of all randomness that is not the package's own.")
    ] = 0,
    workers: Annotated[
        int | None,
        integer_option(
            "--workers", "The number of subjects that run at a time (default: one on every core)."
        ),
    ] = None,
    timeout: Annotated[
        float, number_option("--timeout", "Seconds that a call of the package may take.")
    ] = 20.0,
    memory: Annotated[
        int | None,
        integer_option("--memory", "The memory limit of a process of the package, in MiB (4096)."),
    ] = None,
    out: Annotated[str | None, folder_option("Write the report here.")] = None,
    publish: Annotated[
        str | None,
        typer.Option(
            "--publish",
            metavar="DIRECTORY",
            help="Write the public findings into this gallery; PACKAGE.toml there states threads.",
        ),
    ] = None,
    disclosure: Annotated[
        str,
        typer.Option(
            "--disclosure",
            metavar="DIRECTORY",
            help="Write drafts of issues for the maintainers here, with --out or --publish.",
        ),
    ] = "disclosure",
    accountant: Annotated[
        bool,
        typer.Option(
            "--accountant",
            help="Ask the package's accountant, and judge its answers; a package that is nothing "
            "else needs no option.",
        ),
    ] = False,
    listed: Annotated[
        bool, typer.Option("--list", help="Show packages, or the subjects of one; run nothing.")
    ] = False,
    formats: Format = None,
    as_json: Json = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> int:
    """Scan a package: every mechanism, query and model that its card names, or its accountant.

    Exit status: 0 if no claim of its documentation is refuted, 1 if one is, 2 if the verdict on
    one is withheld.
    """
    from dpaudit.cli.scan_accountant import list_accountants, scan_one
    from dpaudit.errors import InvalidArgument
    from dpaudit.extension.registry import PACKAGES
    from dpaudit.scan.accountants.cards import ACCOUNTANTS

    if name is None and not listed:
        raise InvalidArgument(
            "PACKAGE", None, f"one of: {', '.join(sorted({*PACKAGES, *ACCOUNTANTS}))}"
        )
    asked_formats = formats_of(formats, as_json)
    if accountant or name in ACCOUNTANTS.keys() - set(PACKAGES):
        if listed:
            list_accountants(name)
            return FINE
        return scan_one(str(name), env, out, publish, formats=asked_formats, quiet=quiet)
    if listed:
        _print_packages(
            PACKAGES.all() if name is None else {name: PACKAGES.get(name)}, subjects=bool(name)
        )
        if name is None:
            list_accountants(None)
        return FINE
    assert name is not None
    budget = {
        "seconds": seconds,
        "trials": trials,
        "confidence": confidence,
        "timeout": timeout,
        "memory": (4096 if memory is None else memory) * _MIB,
    }
    asked = {"env": env, "subjects": subject or (), "seed": seed, "workers": workers}
    places = Destinations(out=out, gallery=publish, disclosure=disclosure)
    return run(PACKAGES.get(name), budget, asked, places, formats=asked_formats, quiet=quiet)


@dataclass(frozen=True, kw_only=True)
class Destinations:
    """The destinations of a scan: the report, the gallery, and drafts of issues."""

    out: str | None
    gallery: str | None
    disclosure: str

    @property
    def any(self) -> bool:
        """Whether anything is written at all."""
        return self.out is not None or self.gallery is not None

    def prepare(self, package: str) -> None:
        """Try every folder and a person's statements, so that a long scan does not end in vain."""
        from dpaudit.files import prepare_directory
        from dpaudit.scan.publication.known_findings import PackageNotes

        for one in (self.out, self.gallery):
            if one is not None:
                prepare_directory(one)
        if self.any and Path(self.disclosure).exists():  # else it is made for findings alone
            prepare_directory(self.disclosure)
        if self.gallery is not None:
            PackageNotes.read(Path(self.gallery) / f"{package}.toml")

    def write(self, result: ScanResult) -> list[str]:
        """Write a scan; return lines that say where."""
        from dpaudit.scan.evidence import write_scan_evidence

        out, gallery = (None if one is None else Path(one) for one in (self.out, self.gallery))
        files = write_scan_evidence(result, out, gallery, Path(self.disclosure))
        named = {"Report": files.page, "Published": files.published}
        lines = [f"{name}: {path}" for name, path in named.items() if path is not None]
        if files.drafts:
            drafts = ", ".join(map(str, files.drafts))
            lines.append(f"Drafts of issues, for their owner alone (mode 0600): {drafts}")
        return lines


def run(
    package: Package,
    budget: dict[str, Any],
    asked: dict[str, Any],
    places: Destinations,
    *,
    formats: Formats,
    quiet: bool,
) -> int:
    """Scan a package, write and show the results, and return the exit status.

    Raises
    ------
    InvalidArgument, UnknownName
        An argument is out of range, or names nothing.
    DpauditError
        The environment cannot be built.
    """
    from dpaudit.scan.entries import make_scan_entries
    from dpaudit.scan.evidence import with_reproductions
    from dpaudit.scan.scan import ScanBudget, scan_package
    from dpaudit.scan.write import make_scan_document

    places.prepare(package.name)
    given = ScanBudget(**budget)
    looking = _LOOKING * given.seconds if places.any else given.seconds
    with progress_bar("scan", shown=not (quiet or formats.shown)) as progress:
        result = scan_package(
            package, budget=replace(given, seconds=looking), progress=progress, **asked
        )
        if places.any:
            left = given.seconds - result.seconds
            result = with_reproductions(
                result, package, asked["env"], progress, left, asked["workers"]
            )
    # A subject without a verdict is a failure of the command, as status 0 says that every claim
    # was decided.
    failures = [DpauditError(f"{one}: withheld: {why}") for one, why in result.withheld.items()]
    said = list[str]()
    if places.any:
        with collect_failures(failures):
            said += places.write(result)
    entries = make_scan_entries(result, Path.cwd())
    document = json.dumps(make_scan_document(result), indent=2)
    give_formats(formats, entries, document, failures)
    if formats.shown is None:
        with collect_failures(failures):
            _print_scan(result, said)
    return report_failures(status_of(result.verdicts), failures)


# What is shown


def _print_packages(packages: dict[str, Package], *, subjects: bool) -> None:
    shown = make_console()
    for package in packages.values():
        count, versions = len(package.subjects), ", ".join(package.versions)
        shown.print(f"{package.name}: {count} subjects; versions {versions}", soft_wrap=True)
        if not subjects:
            continue
        for one in package.subjects:
            settings = f"{len(one.parameters)} settings" if len(one.parameters) > 1 else "1 setting"
            relations = " and ".join(one.relations)
            shown.print(f"  {one.name}: {settings}, {relations}", soft_wrap=True)
            for claim in one.claims:
                shown.print(f"    {claim.where}", soft_wrap=True)


def _print_scan(result: ScanResult, said: Sequence[str]) -> None:
    shown = make_console()
    shown.print(_make_scan_table(result))
    _show_findings("Findings", result.findings)
    _show_findings(
        "Refuted under a relation that the documentation does not claim", result.information
    )
    for note in result.remarks:
        shown.print(f"Note: {note}", soft_wrap=True)
    for line in (*said, _format_scan_closing(result)):
        shown.print(line, soft_wrap=True)


def _make_scan_table(result: ScanResult) -> Table:
    title = f"{result.distribution} {result.version}, {result.date}"
    table = Table(title=title, title_justify="left", title_style="bold")
    for column in ("subject", "relation", "claimed", "certified", "verdict"):
        table.add_column(column, overflow="fold")
    for one in result.checked:
        lower = "" if one.lower is None else f"ε ≥ {_format_scan_lower_end(one.lower)}"
        relation = one.relation + (" (claimed)" if one.documented else "")
        table.add_row(
            *map(make_cell, (one.subject, relation, one.claimed.words, lower, one.verdict))
        )
    return table


def _format_scan_lower_end(lower: float) -> str:
    from decimal import ROUND_FLOOR

    from dpaudit.report.formatting import format_significant

    return format_significant(lower, rounding=ROUND_FLOOR)


def _show_findings(title: str, findings: Sequence[ScanFinding]) -> None:
    if not findings:
        return
    from dpaudit.faults.catalogue import fault_line

    shown = make_console()
    shown.print(f"{title}:", style="bold")
    for number, one in enumerate(findings, start=1):
        shown.print(f"{number}. {one.sentence}", soft_wrap=True)
        shown.print(f"   parameters {one.parameters}, {one.relation}", soft_wrap=True)
        shown.print(f"   dataset    {one.dataset}", soft_wrap=True)
        shown.print(f"   neighbour  {one.neighbour}", soft_wrap=True)
        shown.print(f"   claimed    {one.claimed.words}: {one.claimed.where}", soft_wrap=True)
        if one.fault is not None:
            shown.print(f"   kind       {fault_line(one.fault)}", soft_wrap=True)


def _format_scan_closing(result: ScanResult) -> str:
    from decimal import ROUND_FLOOR

    from dpaudit.report.formatting import format_significant
    from dpaudit.scan.publication.pages import format_undecided_subjects

    checks = ", ".join(f"{count} {what}" for what, count in result.checks.items())
    found = f"{len(result.findings)} findings" if result.findings else "No finding"
    sure = format_significant(result.certainty.confidence, 10, ROUND_FLOOR)
    return (
        f"{found}{format_undecided_subjects(len(result.withheld))} at a confidence of {sure} for "
        "all together. "
        f"Checked: {checks}, in {result.seconds:.0f} seconds. One seed gives the same verdicts; "
        "digits repeat only where the package draws from generators that can be seeded."
    )
