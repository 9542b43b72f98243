"""The code blocks of a page, and how each is run.

A block follows these rules, which a page can only leave by a mark above the block:

* Python with ``>>>`` is a doctest; other Python, TOML, CSV and YAML is the file that the paragraph
  above names (``Save this as `mine.py` ``), or is executed, or read.
* Of a console the lines after ``$ `` are commands, with the lines that they print first; a line of
  three dots stands for any others.
* Java, JavaScript and Rust are the files that the paragraph above names, or are read.
* ``text`` is no code.

A mark is a comment of its own line: ``<!-- run: slow -->``, ``<!-- run: with opendp -->`` (where
that is installed; ``with the program sqlite3`` where that is), ``<!-- run: elsewhere, because ...
-->`` (not here: it needs another machine).
"""

from __future__ import annotations

import contextlib
import csv
import difflib
import doctest
import importlib
import io
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import matplotlib.pyplot as plt
import pytest
from ruamel.yaml import YAML

from dpaudit.cli.main import main

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(
    r"^(?P<indent> *)```(?P<language>[\w{}-]*)[^\n]*\n(?P<text>.*?)^(?P=indent)```$", re.M | re.S
)
NAMED = re.compile(r"(?:[Ss]ave|and)\s+this\s+as\s+`([\w./-]+\.\w+)`")
MARK = re.compile(r"<!-- run: (.+?) -->\s*$")
READ_ONLY = ("text", "json", "html", "markdown", "java", "javascript", "rust", "")


@dataclass(frozen=True, kw_only=True)
class Block:
    """A block of code, and what the page says of it."""

    page: str
    line: int
    language: str
    text: str
    file: str | None
    mark: str | None

    @property
    def shown(self) -> str:
        """Return what a test is called."""
        return f"{self.page}:{self.line}"


def blocks(path: Path) -> list[Block]:
    """Return the blocks of a page, in order."""
    page = path.read_text(encoding="utf-8")
    return [_block(path.name, page, found) for found in BLOCK.finditer(page)]


def _block(name: str, page: str, found: re.Match[str]) -> Block:
    above = page[: found.start()].rstrip()
    mark = MARK.search(above)
    if mark:
        above = above[: mark.start()].rstrip()
    files = NAMED.findall(above.rpartition("\n\n")[2])
    return Block(
        page=name,
        line=page[: found.start()].count("\n") + 1,
        language=found["language"],
        text=re.sub(f"^{found['indent']}", "", found["text"], flags=re.M),
        file=files[-1] if files else None,
        mark=mark[1] if mark else None,
    )


PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
WITH_CODE = [page for page in PAGES if any(b.language not in ("text", "") for b in blocks(page))]


def named(page: Path) -> str:
    return page.relative_to(ROOT).with_suffix("").as_posix().removeprefix("docs/")


@contextlib.contextmanager
def inside(place: Path) -> Iterator[None]:
    """Work in a folder, whose modules can be imported and are forgotten afterwards."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        patch.syspath_prepend(place)
        try:
            yield
        finally:
            plt.close("all")
            for name in [name for name, one in sys.modules.items() if is_below(place, one)]:
                del sys.modules[name]


def is_below(place: Path, module: ModuleType) -> bool:
    """Return whether a module is of a file there, or a package of folders there alone."""
    found = vars(module).get("__file__")
    try:
        folders = [found] if found else [*vars(module).get("__path__", [])]
    except KeyError:  # of a package whose parent was forgotten
        return False
    return bool(folders) and all(str(one).startswith(str(place)) for one in folders)


def elsewhere(block: Block) -> bool:
    """Return whether a block cannot run on one machine alone; the page has to say why."""
    return (block.mark or "").startswith("elsewhere, because ")


def run(block: Block, names: dict[str, Any]) -> None:
    """Run one block in the present folder; ``names`` are what blocks above it defined."""
    if block.file:
        Path(block.file).parent.mkdir(parents=True, exist_ok=True)
        Path(block.file).write_text(block.text, encoding="utf-8")
    if block.language == "python" and ">>>" in block.text:
        _doctest(block, names)
    elif block.language == "python":
        _python(block, names)
    elif block.language == "console":
        _commands(block.text)
    elif block.language == "toml":
        tomllib.loads(block.text)
    elif block.language == "csv":
        assert len({len(row) for row in csv.reader(io.StringIO(block.text))}) == 1
    elif block.language == "yaml":
        YAML(typ="safe").load(block.text)
    else:
        assert block.language in READ_ONLY, f"{block.shown}: no rule for {block.language!r}"


def _python(block: Block, names: dict[str, Any]) -> None:
    """Run Python: of a file of its own under its own name, of a package as an import does it."""
    code, path = compile(block.text, block.shown, "exec"), Path(block.file or "")
    if path.name.startswith("test_"):
        return
    if len(path.parts) > 1:
        importlib.import_module(".".join(path.with_suffix("").parts))
    else:
        exec(code, {"__name__": path.stem} if block.file else names)


def _doctest(block: Block, names: dict[str, Any]) -> None:
    test = doctest.DocTestParser().get_doctest(block.text, names, block.shown, block.page, 0)
    test.globs = names
    said = io.StringIO()
    outcome = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(
        test, out=said.write, clear_globs=False
    )
    assert outcome.failed == 0, said.getvalue()
    assert outcome.attempted > 0


def _commands(text: str) -> None:
    assert text.startswith("$ "), "a console begins with a prompt"
    for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
        command, *shown = part.replace("\\\n", " ").rstrip().splitlines()
        command = command.partition("  # ")[0].strip()
        out, err, status = _ran(shlex.split(command))
        failed = bool(shown) and shown[0].startswith("error: ")
        lines = [line.rstrip() for line in (err if failed else out).strip().splitlines()]
        if failed:
            assert status == 2, command
        else:
            judged = command.startswith("dpaudit") or (command.startswith("pytest") and shown)
            assert status in ((0, 1) if judged else (0,)), f"{command}\n{out}{err}"
        _same(lines, shown, command)


def _same(lines: list[str], shown: list[str], command: str) -> None:
    said = "\n".join([command, *difflib.unified_diff(shown, lines, "shown", "runs", lineterm="")])
    while shown:
        if shown[0] == "...":
            rest = shown[1:]
            assert not rest or rest[0] in lines, said
            lines, shown = lines[lines.index(rest[0]) if rest else 0 :], rest
            continue
        here = shown.index("...") if "..." in shown else len(shown)
        assert lines[:here] == shown[:here], said
        lines, shown = lines[here:], shown[here:]


def _ran(words: list[str]) -> tuple[str, str, int]:
    if words[0] == "dpaudit":
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            with pytest.raises(SystemExit) as ended:
                main(words[1:])
        return out.getvalue(), err.getvalue(), int(ended.value.code or 0)
    if words[:3] == ["pip", "install", "--editable"]:
        _install_in_place(Path.cwd())
        return "", "", 0
    if words[:2] == ["pip", "install"]:
        _installable(words[2:])
        return "", "", 0
    programs = {"python": [sys.executable]}
    programs |= {name: [sys.executable, "-m", name] for name in ("pytest", "ruff", "mypy")}
    assert words[0] in programs, f"no rule for the command {words[0]!r}"
    done = subprocess.run(
        [*programs[words[0]], *words[1:]], capture_output=True, text=True, timeout=300, check=False
    )
    return done.stdout, done.stderr, done.returncode


def _installable(what: list[str]) -> None:
    """Check that the package has the extras that an installation names."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for one in what:
        name, _, extras = one.partition("[")
        if name == "dpaudit" and extras:
            assert set(extras.rstrip("]").split(",")) <= set(project["optional-dependencies"]), one


def _install_in_place(folder: Path) -> None:
    """Let the package in a folder that is on the import path be found: its name and entry points.

    That is what pip writes of an editable installation, which takes a network to build.
    """
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    name, version = project["name"], project["version"]
    about = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    about.mkdir()
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    (about / "METADATA").write_text(metadata, encoding="utf-8")
    groups = [
        "\n".join([f"[{group}]", *(f"{one} = {home}" for one, home in entries.items()), ""])
        for group, entries in project["entry-points"].items()
    ]
    (about / "entry_points.txt").write_text("\n".join(groups), encoding="utf-8")
