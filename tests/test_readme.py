"""What the README shows is what runs: its Python, its commands and their output."""

import doctest
import re
import shlex
from pathlib import Path

import pytest

from dpaudit.cli.main import main

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README, flags=re.M | re.S)


def test_python_examples():
    examples = [block for block in blocks("python") if ">>>" in block]
    assert len(examples) >= 2
    for number, block in enumerate(examples):
        test = doctest.DocTestParser().get_doctest(block, {}, f"README {number}", None, None)
        outcome = doctest.DocTestRunner().run(test)
        assert outcome.failed == 0
        assert outcome.attempted > 0


@pytest.mark.parametrize("block", blocks("console"))
def test_commands_print_what_is_shown(block, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    module, toml = (next(b for b in blocks(kind) if ">>>" not in b) for kind in ("python", "toml"))
    (tmp_path / "my_mechanism.py").write_text(module)
    (tmp_path / "audit.toml").write_text(toml)
    for command, shown in commands(block):
        with pytest.raises(SystemExit):
            main(shlex.split(command))
        printed = [line.rstrip() for line in capsys.readouterr().out.strip().splitlines()]
        assert printed[: len(shown)] == shown


def commands(block):
    """Yield each command of a block with the lines that it prints."""
    for part in block.strip().split("$ dpaudit ")[1:]:
        command, *shown = part.strip().splitlines()
        yield command, shown


def test_the_test_file_passes():
    (module,) = (b for b in blocks("python") if "def test_" in b)
    names: dict[str, object] = {}
    exec(compile(module, "README.md", "exec"), names)
    tests = [value for name, value in names.items() if name.startswith("test_")]
    assert len(tests) == 2
    for test in tests:
        test()


def test_every_command_named_exists():
    named = set(re.findall(r"^    dpaudit (\w+)", README, flags=re.M))
    assert named
    for command in named:
        with pytest.raises(SystemExit) as ended:
            main([command, "--help"])
        assert ended.value.code == 0
