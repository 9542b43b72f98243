"""The table of all kinds of fault: the error, how it is found, and how to repair it."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import metadata, resources
from pathlib import Path
from typing import Any

_ADDRESS = "DPAUDIT_DOCS"  # the variable that says where the documentation is served
_PROJECT_URL = "documentation"


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A kind of fault.

    Parameters
    ----------
    code
        What findings carry, such as ``"DPA001"``; it stays for ever.
    title, why, cure
        What is wrong, why it leaks, and what to do.
    finding
        How it is found, in words.
    command
        What finds it in the file ``release.py``, in which either function is saved.
    broken, repaired
        A function with the fault, and without.
    files
        By their names, what the command reads.
    also
        What else is known by this code.
    needs
        A library without which neither function runs.
    """

    code: str
    title: str
    why: str
    cure: str
    finding: str
    command: str
    broken: str
    repaired: str
    files: Mapping[str, str]
    also: tuple[str, ...] = ()
    needs: str | None = None

    @property
    def page(self) -> str:
        """The page of the documentation, as a path below its home."""
        return f"docs/faults/{self.code}.md"

    @property
    def line(self) -> str:
        """The code, the title and where more stands, in a line.

        Examples
        --------
        >>> fault_of("DPA001").line
        'DPA001: noise scaled by the data (dpaudit explain DPA001)'
        """
        return f"{self.code}: {self.title} ({self.address or f'dpaudit explain {self.code}'})"

    @property
    def address(self) -> str | None:
        """The address of the page, None where none is known.

        It is below the one that the environment names (``DPAUDIT_DOCS``), or that the package
        states for its documentation.
        """
        home = os.environ.get(_ADDRESS) or _find_documentation_address()
        return f"{home.rstrip('/')}/faults/{self.code}.html" if home else None

    @property
    def uri(self) -> str | None:
        """The address of the page, else that of its file in a checkout; None without either."""
        # An installed package has no documentation beside it; a checkout has it two folders up.
        file = Path(__file__).resolve().parents[2] / self.page
        return self.address or (file.as_uri() if file.is_file() else None)


@cache
def all_faults() -> Mapping[str, Fault]:
    """Return every kind of fault by its code, in the order of codes.

    Examples
    --------
    >>> next(iter(all_faults()))
    'DPA001'
    """
    source = resources.files("dpaudit.faults").joinpath("faults.toml")
    tables = tomllib.loads(source.read_text(encoding="utf-8"))
    return {code: _parse_fault(code, table) for code, table in sorted(tables.items())}


def fault_of(code: str) -> Fault:
    """Return the kind of fault that has a code.

    Raises
    ------
    KeyError
        There is none.
    """
    return all_faults()[code]


def fault_line(code: str) -> str:
    """Return the line of a kind of fault; of a code that this version does not know, the code."""
    fault = all_faults().get(code)
    return code if fault is None else fault.line


def _parse_fault(code: str, table: Mapping[str, Any]) -> Fault:
    given = {**table, "also": tuple(table.get("also", ()))}
    return Fault(code=code, **given)


@cache
def _find_documentation_address() -> str | None:
    """Return the address of a package's documentation, from its metadata."""
    stated = metadata.metadata("dpaudit").get_all("Project-URL") or []
    # Metadata of a package hold each address as one text, the label and the address with a
    # comma between.
    labels = (one.partition(",") for one in stated)
    return next((url.strip() for name, _, url in labels if name.lower() == _PROJECT_URL), None)
