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
    "CheckDP (Wang, Ding, Kifer and Zhang, CCS 2020) proves programs of a small language of its",
    "own, or finds a counterexample. These are its programs in plain numpy, written anew in",
    "`examples/checkdp.py`: eight keep the epsilon that they claim, nine do not. Which they are is",
    "from the literature; where it leaves a number open, ours is large enough for six or eight",
    "answers to show what is wrong, so times are no comparison with CheckDP's.",
    "",
    "Every claim is first to be proved of the code. What is not proved is audited, given domain",
    "and claim, and neither a dataset nor the label. All answers may move by 1, in directions of",
    "their own; those of MonotoneSVT in one direction; of sums one number is replaced.",
    "",
)


def written(found: Found) -> str:
    """Return the page as Markdown."""
    rows = found["answers"]
    right, wrong = ([r for r in rows if r["proof"]["is_right"] is of] for of in (True, False))
    lines = [
        *_ABOUT,
        f"Proved are {_count(right, 'proved')} of the {len(right)} right ones and",
        f"{_count(wrong, 'proved')} of the wrong; refuted are {_count(wrong, 'refuted')} of the",
        f"{len(wrong)} wrong ones and {_count(right, 'refuted')} of the right.",
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
    yield from ("What is wrong with the nine:", "")
    yield from (f"* {row['proof']['name']}: {row['proof']['note']}." for row in rows)
    yield ""


def _how(found: Found) -> Iterator[str]:
    options = found["options"]
    yield from (
        f"An audit has {options['trials']} outputs a side; right claims are audited at a",
        f"confidence of {options['confidence_true']:g}, wrong ones at",
        f"{options['confidence_false']:g}. What is not refuted is not thereby proved. On",
        f"{found['machine']}.",
        "",
    )
