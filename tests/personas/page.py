"""What each persona types: the files and commands of a section of docs/first-hour.md, in order."""

import re
from dataclasses import dataclass
from pathlib import Path

from dpaudit.execution import importable

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "first-hour.md"
with importable(ROOT / "tests" / "docs"):
    from blocks import Block, blocks
# By the first noun of their sections.
PERSONAS = ("engineer", "researcher", "reviewer", "maintainer")
MOST_LINES, MOST_SECONDS = 15, 300


@dataclass(frozen=True)
class Step:
    """A line that a persona types: a command with what it shows, or a file that an editor saves."""

    text: str
    shown: tuple[str, ...] = ()
    file: str | None = None


def steps(persona: str) -> list[Step]:
    """Return what a persona types, in order."""
    first, last = _lines_of(persona)
    found = [one for one in blocks(PAGE) if first < one.line < last]
    return [step for block in found for step in _steps(block)]


def _lines_of(persona: str) -> tuple[int, int]:
    """Return the lines of the page between which the section of a persona stands."""
    text = PAGE.read_text(encoding="utf-8").splitlines()
    heads = [number for number, line in enumerate(text, 1) if line.startswith("## ")]
    own = next(one for one in heads if text[one - 1].split()[2] == persona)
    return own, next((one for one in heads if one > own), len(text) + 1)


def _steps(block: Block) -> list[Step]:
    if block.file:
        return [Step(block.text, file=block.file)]
    if block.language != "console":
        return []
    return [_command(part) for part in re.split(r"^\$ ", block.text, flags=re.M)[1:]]


def _command(text: str) -> Step:
    command, *shown = text.rstrip().splitlines()
    return Step(command, tuple(shown))
