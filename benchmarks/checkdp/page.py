"""The page of CheckDP's programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.proofs.page import escaped

Found = Mapping[str, Any]
_ABOUT = (
    "# CheckDP's seventeen programs",
    "",
    "Made by `make checkdp`. Do not edit it.",
    "",
    "CheckDP (Wang, Ding, Kifer and Zhang, CCS 2020) proves programs in a small language of its",
    "own, or finds a counterexample. `examples/checkdp.py` has these programs in plain numpy:",
    "eight keep the epsilon that they claim, nine do not. The literature says which ones. Where it",
    "leaves a number open, we chose one that is large enough for six or eight answers to show the",
    "error, so our times cannot be compared with CheckDP's.",
    "",
    "dpaudit first tries to prove each claim from the code. If it finds no proof, it audits the",
    "program. It gets the domain and the claim, but no dataset and no label. Between neighbours,",
    "every answer may move by 1, each in its own direction; the answers of MonotoneSVT all move in",
    "the same direction; for sums, one number is replaced.",
    "",
)


def written(found: Found) -> str:
    """Return the page as Markdown."""
    rows = found["answers"]
    right, wrong = ([r for r in rows if r["proof"]["is_right"] is of] for of in (True, False))
    lines = [
        *_ABOUT,
        f"Of the {len(right)} right programs, {_count(right, 'proved')} are proved and",
        f"{_count(right, 'refuted')} refuted; of the {len(wrong)} wrong ones,",
        f"{_count(wrong, 'refuted')} are refuted and {_count(wrong, 'proved')} proved.",
        "",
        *_table(rows),
        *_faults(wrong),
        *_how(found),
    ]
    return "\n".join(lines)


def _count(rows: Sequence[Found], verdict: str) -> int:
    return sum(row["verdict"] == verdict for row in rows)


def _table(rows: Sequence[Found]) -> Iterator[str]:
    yield from (
        "| program | function | claim | verdict | proved | certified | CPU s | proof stops at |",
        "|---|---|---:|---|---:|---:|---:|---|",
    )
    for row in rows:
        proof = row["proof"]
        cells = (
            proof["name"],
            f"`{proof['function']}`",
            f"{proof['claimed']:g}",
            row["verdict"],
            "—" if proof["epsilon"] is None else f"{proof['epsilon']:.4g}",
            "—" if row["verdict"] == "proved" else f"{row['lower']:.3g}",
            f"{row['seconds']:.1f}",
            escaped(proof["line"]),
        )
        yield f"| {' | '.join(cells)} |"
    yield ""


def _faults(rows: Sequence[Found]) -> Iterator[str]:
    yield from ("Errors of the nine wrong programs:", "")
    yield from (f"* {row['proof']['name']}: {row['proof']['note']}." for row in rows)
    yield ""


def _how(found: Found) -> Iterator[str]:
    options = found["options"]
    yield from (
        f"An audit draws {options['trials']} outputs on each dataset, at a confidence of",
        f"{options['confidence_true']:g} for right claims and",
        f"{options['confidence_false']:g} for wrong ones.",
        "A claim that is not refuted is not thereby proved. Measured on",
        f"{found['machine']}.",
        "",
    )
