"""Help texts: every argument and option has one, which names things and begins no clause."""

import re

import click
import pytest
from typer.main import get_command

from dpaudit.cli.main import app

NO_HELP = re.compile(
    r"$|(?:As|How|Of|What|Where|Whether|Which|Who|Whose|With)\b|.*\bwhat\b", re.DOTALL
)


def list_texts(command, words=("dpaudit",)):
    """Yield the help of a command, of its arguments and options, and of the commands below it."""
    yield words, command.help or ""
    for one in command.params:
        yield (*words, one.opts[0]), getattr(one, "help", None) or ""
    for name, below in getattr(command, "commands", {}).items():
        yield from list_texts(below, (*words, name))


TEXTS = dict(list_texts(get_command(app)))


def test_every_help_text_names_things():
    assert {words: text for words, text in TEXTS.items() if NO_HELP.match(text)} == {}


def test_options_of_commands_below_commands_are_read():
    assert {("dpaudit", "audit", "--observe"), ("dpaudit", "spend", "new", "--unit")} <= set(TEXTS)


@pytest.mark.parametrize("text", ["", "What you have.", "Of a training.", "Keep what is drawn."])
def test_a_text_without_a_thing_is_found(text):
    command = click.Command("draw", help="Draw.", params=[click.Option(["--it"], help=text)])
    assert [words for words, text in list_texts(command) if NO_HELP.match(text)] == [
        ("dpaudit", "--it")
    ]
