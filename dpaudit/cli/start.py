"""``dpaudit start``: the one command to type for a thing that you have."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

import dpaudit.cli.completion as completion
import dpaudit.cli.streams as streams
from dpaudit.cli.beginnings import BEGINNINGS, Beginning, beginning_of
from dpaudit.cli.suggestions import find_suggestions


def start(
    thing: Annotated[
        str | None,
        typer.Argument(
            help="The thing that you have: " + ", ".join(one.word for one in BEGINNINGS) + ".",
            autocompletion=completion.of(*(one.word for one in BEGINNINGS)),
        ),
    ] = None,
) -> int:
    """Show the one command to type for your code, outputs, table, scores or record.

    At a terminal it asks; else it lists the choices. Nothing is run.
    """
    if thing is None:
        streams.write_result_text("\n".join(format_menu()))
        if not is_asked():
            return 0
        thing = read_answer("Number or word: ")
        if not thing.strip():
            return 0
    streams.write_result_text("\n".join(format_beginning(beginning_of(thing), Path.cwd())))
    return 0


def is_asked() -> bool:
    """Return whether somebody sits at a terminal who can answer."""
    # Both ends are asked: with the results in a pipe, nobody would see the question's menu.
    return all(
        one is not None and one.isatty() for one in (sys.stdin, streams.get_results_stream())
    )


def read_answer(question: str) -> str:
    """Return a person's answer at the terminal; "" at the end of the input."""
    # The question goes to standard error, since standard output holds results alone.
    streams.write_to_stderr(question.rstrip())
    return (sys.stdin.readline() if sys.stdin is not None else "").strip()


def format_menu() -> list[str]:
    """Return the menu, a line each."""
    lines = ["What do you have?"]
    wide = max(len(one.word) for one in BEGINNINGS)
    for number, one in enumerate(BEGINNINGS, 1):
        lines.append(f"{number:3}  {one.word:{wide}}  {one.title}")
    return [*lines, "dpaudit start WORD shows the command, such as dpaudit start outputs."]


def format_beginning(beginning: Beginning, folder: Path) -> list[str]:
    """Return the command to type, its words to replace, and the fitting files of a folder."""
    lines = [f"{beginning.title[:1].upper()}{beginning.title[1:]}:"]
    lines += [f"  {line}" for line in beginning.lines()]
    lines += [f"    {word}: {meaning}" for word, meaning in beginning.replace.items()]
    lines.append(beginning.remark)
    for found in find_suggestions(beginning.word, folder):
        lines += ["With the files here:", *(f"  {line}" for line in beginning.lines(found)[:1])]
    return [*lines, f"More: {beginning.page}"]
