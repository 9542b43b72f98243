"""The page of programs that were to be proved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Found = Mapping[str, Any]
_ABOUT = (
    "# Programs that are proved",
    "",
    "Made by `make proofs`. Do not edit it.",
    "",
    "`dpaudit.prove` reads a program and proves its claim for all data of a domain, or names the",
    "line that stops the proof. Most of these programs come in pairs: one has a true claim and one",
    "a false claim. A proof of a false claim would be an error of the prover. There are five sets:",
    "",
    "* *twins*: functions of arrays, in `examples/replayed.py`;",
    "* *mechanisms*: those of `examples/mechanisms.py` that are written with numpy and pandas;",
    "* *loops*: [loops with known numbers](loops.md);",
    "* *releases*: training runs and statistics in `examples/proved/`, each also with a claim that",
    "  is a tenth too small;",
    "* *CheckDP*: [CheckDP's programs](checkdp.md), in `examples/checkdp.py`.",
    "",
)


def written(found: Found) -> str:
    """Return the page as Markdown."""
    lines = [*_ABOUT, *_summary(found["sets"]), *_long(found["long"])]
    for name, rows in found["sets"].items():
        lines += _table(name, rows)
    lines += [f"On {found['machine']}.", ""]
    return "\n".join(lines)


def _summary(sets: Mapping[str, Sequence[Found]]) -> Iterator[str]:
    yield from (
        "| programs | true claims | proved | within 5% | false claims | proved | slowest, CPU s |",
        "|---|---:|---:|---:|---:|---:|---:|",
    )
    for name, rows in sets.items():
        yield _line(name, *_counts(rows))
    yield ""


def _counts(rows: Sequence[Found]) -> Iterator[str]:
    right, wrong = ([row for row in rows if row["is_right"] is of] for of in (True, False))
    yield str(len(right))
    yield str(sum(row["is_proved"] for row in right))
    yield str(sum(row["is_close"] for row in right))
    yield str(len(wrong))
    yield str(sum(row["is_proved"] for row in wrong))
    yield f"{max(row['seconds'] for row in rows):.2f}"


def _long(found: Found) -> Iterator[str]:
    yield from (
        f"For a program of {found['operations']:,} operations, reading the code takes",
        f"{found['read']:.1f} CPU s and bounding its epsilon {found['bound']:.1f};",
        f"a plain run takes {found['plain']:.2f} s.",
        "",
    )


def _table(name: str, rows: Sequence[Found]) -> Iterator[str]:
    yield from (
        f"## {title(name)}",
        "",
        "| program | function | claim | proved | stops at | CPU s |",
        "|---|---|---|---:|---|---:|",
    )
    yield from (f"{line_of(row)} {row['seconds']:.2f} |" for row in rows)
    yield ""
    notes = {row["name"]: row["note"] for row in rows if row["note"]}
    yield from (f"* {escaped(name)}: {note}." for name, note in notes.items())
    yield from ([""] if notes else [])


def title(name: str) -> str:
    """Return the heading of a set."""
    return f"{name[0].upper()}{name[1:]}"


def line_of(row: Found) -> str:
    """Return the line of a program in its table, but for the time it took."""
    number = "—" if row["epsilon"] is None else f"{row['epsilon']:.5g}"
    name, line = escaped(row["name"]), escaped(row["line"])
    return _line(name, f"`{row['function']}`", _claim(row), number, line)


def _claim(row: Found) -> str:
    right = "true" if row["is_right"] else "**false**"
    delta = f", {row['delta']:g}" if row["delta"] else ""
    return f"{row['claimed']:.5g}{delta}; {right}"


def escaped(text: str) -> str:
    """Return a text as a cell, in which a bar would end it and a star change the type."""
    return "".join(f"\\{one}" if one in "|*_<>[]" else one for one in text)


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
