"""``dpaudit explain``: a kind of fault, broken and repaired, or the list of all."""

from __future__ import annotations

from typing import Annotated

import typer

import dpaudit.cli.completion as completion
import dpaudit.cli.streams as streams
from dpaudit.errors import UnknownName
from dpaudit.faults.catalogue import all_faults
from dpaudit.faults.pages import format_fault_essentials


def explain(
    code: Annotated[
        str | None,
        typer.Argument(
            help="The code of a finding, such as DPA001; without a code all are listed.",
            autocompletion=completion.of(*all_faults()),
        ),
    ] = None,
) -> None:
    """Explain a kind of fault: why it leaks, how it is found, and a function before and after.

    Findings carry the code where their evidence decides the kind.
    """
    if code is None:
        for fault in all_faults().values():
            streams.write_result_text(f"{fault.code}  {fault.title}")
        return
    found = all_faults().get(code.upper())
    if found is None:
        raise UnknownName("kind of fault", code, all_faults())
    streams.write_result_text(format_fault_essentials(found))
