"""A scan in files: JSON for machines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dpaudit.files import write_files
from dpaudit.formats import add_schema, read_json
from dpaudit.scan.finding import ScanResult

NAME = "scan.json"


def make_scan_document(result: ScanResult) -> dict[str, Any]:
    """Return a scan as it stands in its file."""
    return add_schema("scan", result.model_dump(mode="json"))


def read(path: Path) -> ScanResult:
    """Return the scan that a file holds.

    Raises
    ------
    DataError
        It cannot be read, is no JSON, or is of a later schema.
    """
    content = read_json(path, "scan")
    content.pop("schema", None)
    return ScanResult.model_validate(content)


def write_scan_json(result: ScanResult, folder: Path) -> Path:
    """Write ``scan.json``, whole or not at all; return its path.

    Raises
    ------
    DataError
        It cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(make_scan_document(result), indent=2, allow_nan=False) + "\n"
    write_files(folder, {folder / NAME: text.encode("utf-8")})
    return folder / NAME
