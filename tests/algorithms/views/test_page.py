"""What docs/views.md shows is what runs."""

import doctest
import re
import shlex
from pathlib import Path

import pytest

from dpaudit.cli.main import main

PAGE = (Path(__file__).parents[3] / "docs" / "views.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, flags=re.M | re.S)


def commands():
    """Yield each command with the lines that it prints; those that draw take a while."""
    for part in "".join(blocks("console")).split("$ dpaudit ")[1:]:
        command, *shown = part.strip().splitlines()
        marks = [pytest.mark.slow] if "--out" in command else []
        yield pytest.param(command, shown, id=command, marks=marks)


@pytest.mark.parametrize(("command", "shown"), list(commands()))
def test_commands_print_what_is_shown(command, shown, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    (tmp_path / "views.toml").write_text(blocks("toml")[0])
    with pytest.raises(SystemExit) as ended:
        main(shlex.split(command))
    written = capsys.readouterr()
    refused = bool(shown) and shown[0].startswith("error: ")
    assert bool(ended.value.code) is refused
    lines = (written.err if refused else written.out).strip().splitlines()
    assert [line.rstrip() for line in lines[: len(shown)]] == shown


def test_python_prints_what_is_shown():
    (example,) = blocks("python")
    test = doctest.DocTestParser().get_doctest(example, {}, "views", None, None)
    outcome = doctest.DocTestRunner().run(test)
    assert (outcome.failed, outcome.attempted) == (0, 8)
