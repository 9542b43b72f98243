"""Pages of the examples: ``python -m tests.examples.pages`` runs every script and writes its page.

The script is the source: its docstring is the text, below it stands the code, and below that what
it printed. Of a page that is there only its output is kept, so that a test can rebuild the rest.
"""

import ast
import contextlib
import io
import re
import runpy
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "examples" / "repaired"
PAGES = ROOT / "docs" / "examples"
# From five lines to a training run.
ORDER = (
    "five_lines",
    "histogram",
    "clamping",
    "randomised_response",
    "several_queries",
    "group_by",
    "words",
    "median",
    "threshold",
    "synthetic_table",
    "regression",
    "training",
)
OPENED, CLOSED = "```text\n", "```\n"


def script(name: str) -> Path:
    """Return the path of a script."""
    return SCRIPTS / f"{name}.py"


def parts(source: str) -> tuple[str, str, str]:
    """Return the title of a script, its text and its code."""
    tree = ast.parse(source)
    title, _, text = (ast.get_docstring(tree) or "").partition("\n")
    end = tree.body[0].end_lineno
    code = "".join(source.splitlines(keepends=True)[end:]).strip("\n")
    return title.rstrip("."), text.strip(), code


def printed(name: str) -> str:
    """Run a script as such, in this process, and return what it prints."""
    with contextlib.redirect_stdout(io.StringIO()) as said:
        runpy.run_path(str(script(name)), run_name="__main__")
    return said.getvalue()


def page(name: str, output: str) -> str:
    """Return the page of a script."""
    title, text, code = parts(script(name).read_text(encoding="utf-8"))
    return (
        f"# {title}\n\n{_spans(text)}\n\n```python\n{code}\n```\n\n"
        f"`python examples/repaired/{name}.py` prints:\n\n{OPENED}{output}{CLOSED}"
    )


def shown(text: str) -> str:
    """Return the output that a page shows."""
    return text.partition(OPENED)[2].removesuffix(CLOSED)


def index() -> str:
    """Return the page that lists all others."""
    lines = [
        "# Examples: broken and repaired\n",
        "Twelve scripts, each with a mistake that people make and its repair, from a count to a",
        "training run. Each page is made from its script, and a test runs the script again.\n",
        "| example | broken |",
        "|---|---|",
    ]
    for name in ORDER:
        title, _, _ = parts(script(name).read_text(encoding="utf-8"))
        lines.append(f"| [{title}]({name}.md) | {measured(name)} |")
    return "\n".join(lines) + "\n"


def measured(name: str) -> str:
    """Return what a page says was measured of the broken function, beside what is claimed."""
    output = shown((PAGES / f"{name}.md").read_text(encoding="utf-8"))
    claimed = re.search(r"claimed +ε = (\S+)", output)
    lower = re.search(r"measured +(at least \S+)", output)
    return f"ε = {claimed[1]} claimed, {lower[1]} measured" if claimed and lower else ""


def _spans(text: str) -> str:
    """Return text with its spans of code as Markdown has them."""
    return text.replace("``", "`")


def main() -> None:
    """Run the scripts and write all pages."""
    PAGES.mkdir(exist_ok=True)
    for name in sys.argv[1:] or ORDER:
        (PAGES / f"{name}.md").write_text(page(name, printed(name)), encoding="utf-8")
        print(name, flush=True)
    (PAGES / "index.md").write_text(index(), encoding="utf-8")


if __name__ == "__main__":
    main()
