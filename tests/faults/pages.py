"""Pages of kinds of fault: ``python -m tests.faults.pages`` runs what finds each, and writes it.

Of a page that is there only what its command printed is kept, so that a test can rebuild the rest.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from dpaudit.faults.catalogue import Fault, all_faults
from dpaudit.faults.pages import index_of, page_of

PAGES = Path(__file__).resolve().parents[2] / "docs" / "faults"
WIDTH = "100"
NOTHING_KEPT = {"DPAUDIT_STORE": ""}  # else a slow machine says where outputs are kept


def lay_out(fault: Fault, function: str, folder: Path) -> list[str]:
    """Write a function and the files of its command into a folder, and return the command."""
    (folder / "release.py").write_text(function, encoding="utf-8")
    for name, text in fault.files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return shlex.split(fault.command)[1:]


def printed(fault: Fault) -> str:
    """Return what the command prints on the broken function."""
    with tempfile.TemporaryDirectory() as folder:
        words = lay_out(fault, fault.broken, Path(folder))
        code = "from dpaudit.cli.main import main; main()"
        made = subprocess.run(
            [sys.executable, "-c", code, *words],
            cwd=folder,
            env={"COLUMNS": WIDTH, "PATH": "", "HOME": folder, "TERM": "dumb", **NOTHING_KEPT},
            capture_output=True,
            text=True,
            check=False,
        )
    assert fault.code in made.stdout, f"{fault.code}: {made.stdout}{made.stderr}"
    return made.stdout.replace(f"{folder}/", "")


def can_run(fault: Fault) -> bool:
    """Return whether the library that it needs is there."""
    return fault.needs is None or find_spec(fault.needs) is not None


def shown(code: str) -> str | None:
    """Return what the page shows as printed; None if it shows nothing, or there is none."""
    if not (PAGES / f"{code}.md").exists():
        return None
    page = (PAGES / f"{code}.md").read_text(encoding="utf-8")
    block = page.partition("```console\n")[2].partition("\n```")[0]
    return block.partition("\n")[2] or None


def main() -> None:
    """Run the commands and write all pages, or those that are named; ``--texts`` runs none."""
    PAGES.mkdir(exist_ok=True)
    faults, asked = all_faults(), sys.argv[1:]
    runs = "--texts" not in asked
    for code in [one for one in asked if one in faults] or faults:
        fault = faults[code]
        text = page_of(fault, printed(fault) if runs and can_run(fault) else shown(code))
        (PAGES / f"{code}.md").write_text(text, encoding="utf-8")
        print(code, flush=True)
    (PAGES / "index.md").write_text(index_of(faults.values()), encoding="utf-8")


if __name__ == "__main__":
    main()
