"""What the README shows is what runs: its Python, its commands and their output."""

import doctest
import re
import shlex
from pathlib import Path

import pytest

from dpaudit.cli.main import main
from dpaudit.extension.claim import Claim

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
ADD_A_CLAIM = (ROOT / "docs" / "add-a-claim.md").read_text(encoding="utf-8")
CURRENCIES = (ROOT / "docs" / "currencies.md").read_text(encoding="utf-8")
CANARIES = (ROOT / "docs" / "canaries.md").read_text(encoding="utf-8")
REPLAY = (ROOT / "docs" / "replay.md").read_text(encoding="utf-8")
HIDDEN_STATE = (ROOT / "docs" / "hidden-state.md").read_text(encoding="utf-8")


def blocks(language, text=README):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.M | re.S)


@pytest.mark.parametrize(
    ("text", "least"),
    [(README, 3), (ADD_A_CLAIM, 1), (CURRENCIES, 2), (HIDDEN_STATE, 2), (REPLAY, 1), (CANARIES, 1)],
)
def test_python_examples(text, least):
    examples = [block for block in blocks("python", text) if ">>>" in block]
    assert len(examples) >= least
    names = {}  # what an example defines, the ones below it may use
    for number, block in enumerate(examples):
        test = doctest.DocTestParser().get_doctest(block, names, f"example {number}", None, None)
        test.globs = names
        outcome = doctest.DocTestRunner().run(test, clear_globs=False)
        assert outcome.failed == 0
        assert outcome.attempted > 0


def printed():
    """Return the blocks that show commands, of which some take a while."""
    slow = ("dpaudit account", "huang2020-theorem6 --epsilon 20")
    return [
        pytest.param(block, marks=[pytest.mark.slow] if any(s in block for s in slow) else [])
        for block in blocks("console")
    ]


@pytest.mark.parametrize("block", printed())
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


def test_the_home_that_is_shown_is_a_claim():
    (home,) = (b for b in blocks("python", ADD_A_CLAIM) if "CLAIM =" in b)
    names: dict[str, object] = {"__name__": "my_audit.claims.lemma1"}
    exec(compile(home, "add-a-claim.md", "exec"), names)
    claim = names["CLAIM"]
    assert isinstance(claim, Claim)
    assert claim.parameters().model_dump() == {"records": 10, "factor": 1.0}


def test_what_the_page_on_architecture_names_is_there():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    paths = re.findall(r"`((?:algorithms|attacks|dpaudit|tests)/[\w/.]+)`", page)
    assert len(paths) >= 5
    assert [path for path in paths if not (ROOT / path).exists()] == []
    rooms = {path.name for path in (ROOT / "dpaudit").iterdir() if path.is_dir()}
    assert {room for room in rooms - {"__pycache__"} if room not in page} == set()
