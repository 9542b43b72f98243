"""Pages of the examples: ``python -m tests.examples.pages`` runs every script and writes its page.

The script is the source: its docstring is the text. Below it stand the three numbers of the broken
function and of the repaired one, the code, and what it printed. Numbers are taken from what the
script makes, its ``proofs`` and ``audits``, and kept in ``numbers.json``, so that a test rebuilds
every page of them and of the output that it shows.
"""

import ast
import contextlib
import io
import json
import math
import runpy
import sys
from dataclasses import asdict
from decimal import ROUND_CEILING, ROUND_FLOOR
from pathlib import Path

from dpaudit.report.formatting import format_significant

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
NUMBERS = PAGES / "numbers.json"
HEAD = "| | claimed | proved | measured | verdict |\n|---|---|---|---|---|\n"
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


def ran(name: str) -> tuple[str, dict[str, dict]]:
    """Run a script as such, in this process; return what it prints, and its numbers."""
    with contextlib.redirect_stdout(io.StringIO()) as said:
        names = runpy.run_path(str(script(name)), run_name="__main__")
    pairs = zip(names["proofs"], names["audits"], strict=True)
    return said.getvalue(), {proof.name: numbers(proof, audit) for proof, audit in pairs}


def numbers(proof, audit) -> dict[str, object]:
    """Return what is claimed, proved and measured of a function, as plain values."""
    proved = proof.numbers.epsilon if proof.numbers else math.inf
    both = proof.verdict == "proved" and audit.verdict == "not refuted"
    return {
        "claimed": audit.claimed.epsilon,
        "delta": audit.claimed.delta,
        "proved": proved if math.isfinite(proved) else None,
        "stop": asdict(proof.refusal) if proof.refusal else None,
        "measured": audit.lower,
        "verdict": "proved" if both else audit.verdict,
    }


def page(name: str, output: str, found: dict[str, dict]) -> str:
    """Return the page of a script, of what it printed and of its numbers."""
    title, text, code = parts(script(name).read_text(encoding="utf-8"))
    return (
        f"# {title}\n\n{_spans(text)}\n\n{table(found)}\n```python\n{code}\n```\n\n"
        f"`python examples/repaired/{name}.py` prints:\n\n{OPENED}{output}{CLOSED}"
    )


def table(found: dict[str, dict]) -> str:
    """Return the three numbers of each function, and the line at which each proof stops."""
    rows = [f"| `{name}` | {' | '.join(cells(one))} |\n" for name, one in found.items()]
    stops = [
        f"The proof of `{name}` stops at {_stop(**one['stop'])}.\n"
        for name, one in found.items()
        if one["stop"]
    ]
    return "\n".join([HEAD + "".join(rows), *stops])


def cells(one: dict) -> list[str]:
    """Return the cells of a function: claimed, proved, measured, verdict."""
    claimed = f"ε = {format_significant(one['claimed'])}"
    if one["delta"]:
        claimed += f", δ = {format_significant(one['delta'])}"
    proved = "—" if one["proved"] is None else f"ε = {_upper(one['proved'])}"
    measured = format_significant(one["measured"], rounding=ROUND_FLOOR)
    return [claimed, proved, f"ε ≥ {measured}", f"**{one['verdict']}**"]


def kept() -> dict[str, dict[str, dict]]:
    """Return the numbers of every script that ran."""
    return json.loads(NUMBERS.read_text(encoding="utf-8")) if NUMBERS.is_file() else {}


def shown(text: str) -> str:
    """Return the output that a page shows."""
    return text.partition(OPENED)[2].removesuffix(CLOSED)


def index() -> str:
    """Return the page that lists all others."""
    lines = [
        "# Examples: broken and repaired\n",
        "Twelve scripts, each with a mistake that people make and its repair, from a count to a",
        "training run. For both functions, each shows three numbers: the *claimed* epsilon, the",
        "epsilon that `dpaudit.prove` *proved* from the code for all data, and the lower bound",
        "that an audit *measured* on one pair, with 95% confidence. A dash means that a line",
        "stopped the proof; the example names this line.\n",
        "| example | function | claimed | proved | measured | verdict |",
        "|---|---|---|---|---|---|",
    ]
    for name, functions in kept().items():
        title, _, _ = parts(script(name).read_text(encoding="utf-8"))
        for place, (function, one) in enumerate(functions.items()):
            first = "" if place else f"[{title}]({name}.md)"
            lines.append(f"| {first} | `{function}` | {' | '.join(cells(one))} |")
    end = (
        "\n`make examples` runs the scripts and writes these pages; a test runs every script again."
    )
    return "\n".join([*lines, end]) + "\n"


_KIND = ", which is [{0}](../faults/{0}.md)"


def _stop(place: str, reason: str, cure: str, fault: str | None = None) -> str:
    """Return where a proof stopped: the line of a script with its text, and the reason."""
    file, _, line = place.partition(" ")[0].partition(":")
    text = (SCRIPTS / file).read_text(encoding="utf-8").splitlines()[int(line) - 1]
    more = (f" ({cure})" if cure else "") + (_KIND.format(fault) if fault else "")
    return f"line {line}, `{text.strip()}`: {reason}{more}"


def _upper(epsilon: float) -> str:
    """Return a proved number, rounded up; the last digits are those of doubles."""
    return format_significant(round(epsilon, 8), rounding=ROUND_CEILING)


def _spans(text: str) -> str:
    """Return text with its spans of code as Markdown has them."""
    return text.replace("``", "`")


def write(name: str) -> None:
    """Run a script, write its page, and keep its numbers."""
    output, found = ran(name)
    together = kept() | {name: found}
    ordered = {one: together[one] for one in ORDER if one in together}
    NUMBERS.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (PAGES / f"{name}.md").write_text(page(name, output, found), encoding="utf-8")


def main() -> None:
    """Run the scripts and write all pages."""
    PAGES.mkdir(exist_ok=True)
    for name in sys.argv[1:] or ORDER:
        write(name)
        print(name, flush=True)
    (PAGES / "index.md").write_text(index(), encoding="utf-8")


if __name__ == "__main__":
    main()
