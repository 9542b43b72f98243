"""Notebooks, executed: ``python -m tests.notebooks.executed`` writes what they show into them.

The notebooks are the source, text and code; their outputs are written by this. What is kept is what
a reader sees: HTML where there is some, else text, and no times.
"""

import os
import re
import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "notebooks"
PATIENCE = 120  # seconds a cell, on a busy machine
_PICTURE = re.compile(r"<svg .*?</svg>", re.DOTALL)
_AS_MANY = re.compile(r"\d+ replays on each dataset with other noise, and in \d+")


def notebooks() -> list[Path]:
    """Return the notebooks of the documentation."""
    return sorted(FOLDER.glob("*.ipynb"))


def read(path: Path) -> Any:
    """Return a notebook, checked against the schema of its format."""
    found = nbformat.read(path, as_version=4)
    nbformat.validate(found)
    return found


def executed(notebook: Any, folder: Path) -> Any:
    """Return a copy that was executed in a fresh kernel in a folder; a cell that raises raises."""
    copy = nbformat.from_dict(notebook)
    for cell in code(copy):
        cell.outputs, cell.execution_count = [], None
    client = NotebookClient(
        copy,
        timeout=PATIENCE,
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute()
    for cell in code(copy):
        cell.outputs = [kept(one) for one in cell.outputs if not _cleared(one)]
    return copy


def code(notebook: Any) -> list[Any]:
    """Return the cells of code."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def kept(output: Any) -> Any:
    """Return an output without the text that stands for its HTML."""
    if "text/html" in output.get("data", {}):
        output.data = {"text/html": output.data["text/html"]}
    return output


def _cleared(output: Any) -> bool:
    """Return whether an output is a bar that went away when its stage was done."""
    return output.get("data", {}).get("text/html") == ""


def seen(notebook: Any) -> list[list[str]]:
    """Return what each cell of code shows; of pictures, that there are some.

    And of the runs that a replay makes to look further, none of the counts: it makes as many as
    there is time for.
    """
    return [[_words(output) for output in cell.outputs] for cell in code(notebook)]


def _words(output: Any) -> str:
    data = output.get("data", {})
    text = output.get("text") or data.get("text/html") or data.get("text/plain", "")
    return _AS_MANY.sub("many runs", _PICTURE.sub("<svg/>", text))


def main() -> None:
    """Execute notebooks and write their outputs; what they draw is for no other audit."""
    os.environ["DPAUDIT_STORE"] = ""
    for path in [FOLDER / f"{name}.ipynb" for name in sys.argv[1:]] or notebooks():
        nbformat.write(executed(read(path), FOLDER), path)
        print(path.name, flush=True)


if __name__ == "__main__":
    main()
