"""The command line of a program: its words, those for data and seed, and which code it is."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from dpaudit.errors import InvalidArgument

DATA = "{data}"
SEED = "{seed}"
_SHELL = frozenset(("|", ">", ">>", "<", "&&", "||", ";", "&", "2>&1"))
_CLASS_PATH = ("-cp", "-classpath", "--class-path", "--module-path", "-p")
_COMPILED = (".class", ".jar")
# What is looked at.
_MOST = 1000  # files of a folder
_LARGEST = 2**28  # bytes of all files
_BLOCK = 2**20


@dataclass(frozen=True)
class CommandLine:
    """The words of a command line, and the folder in which it runs.

    Parameters
    ----------
    text
        The command line; no shell reads it. ``{data}`` stands for the path of the data, and
        ``{seed}`` for an integer.
    folder
        Where it runs.

    Examples
    --------
    >>> CommandLine("cat {data}").filled(data="a.csv", seed=3)
    ['cat', 'a.csv']
    >>> CommandLine("cat {data} | wc -l").arguments
    Traceback (most recent call last):
    dpaudit.errors.InvalidArgument: command: got 'cat {data} | wc -l', expected one program and \
its arguments: no shell reads '|'; write sh -c '...' around the part that a shell has to read
    """

    text: str
    folder: str | None = None

    @cached_property
    def arguments(self) -> list[str]:
        """The program and its arguments."""
        try:
            words = shlex.split(self.text)
        except (ValueError, AttributeError, TypeError):
            raise InvalidArgument("command", self.text, "words with quotes in pairs") from None
        if not words or "\0" in self.text:
            raise InvalidArgument("command", self.text, "a program and its arguments")
        if of_shell := [one for one in words if one in _SHELL]:
            cure = "write sh -c '...' around the part that a shell has to read"
            expected = f"one program and its arguments: no shell reads {of_shell[0]!r}; {cure}"
            raise InvalidArgument("command", self.text, expected)
        return words

    def has(self, place: str) -> bool:
        """Return whether the data or a seed are among the words."""
        return any(place in one for one in self.arguments)

    def filled(self, data: str = "", seed: int | None = None) -> list[str]:
        """Return the words with the path of the data, and a seed, in their places."""
        given = "" if seed is None else str(seed)
        return [one.replace(DATA, data).replace(SEED, given) for one in self.arguments]

    @cached_property
    def executable(self) -> Path:
        """The file that is run.

        Raises
        ------
        InvalidArgument
            There is none.
        """
        name = self.arguments[0]
        found = os.path.join(self.folder or ".", name) if "/" in name else name
        where = shutil.which(found)
        if where is None:
            reason = "is not an executable file" if "/" in name else "is not on the path"
            if "/" in name and not Path(found).exists():
                reason = "is not there"
            expected = f"a program that can be run: {name!r} {reason}"
            raise InvalidArgument("command", self.text, expected)
        return Path(where).resolve()

    def files(self) -> Iterator[Path]:
        """Yield the program, and the files that its arguments name: scripts, classes, archives."""
        yield self.executable
        for before, word in zip(self.arguments, self.arguments[1:], strict=False):
            yield from self._named(word, before in _CLASS_PATH)
        if self.executable.name == "java" and not any(one in _CLASS_PATH for one in self.arguments):
            yield from _find_compiled_files(Path(self.folder or "."))

    def _named(self, word: str, is_class_path: bool) -> Iterator[Path]:
        for part in word.split(":") if is_class_path else _paths_in(word):
            path = Path(self.folder or ".") / part
            try:
                if path.is_file():
                    yield path
                elif is_class_path and path.is_dir():
                    yield from _find_compiled_files(path)
            except (OSError, ValueError):  # it is too long to be a path
                continue


def _paths_in(word: str) -> Sequence[str]:
    """Return the possible paths in an argument: itself, its words, or the value of an option."""
    return list(dict.fromkeys([word, word.partition("=")[2], *word.split()]))[:_MOST]


def _find_compiled_files(folder: Path) -> list[Path]:
    found = sorted(one for kind in _COMPILED for one in folder.rglob(f"*{kind}"))
    return found[:_MOST]


def digest_of(file: Path) -> str:
    """Return the SHA-256 of a file; of a large one of its size and its first part."""
    hashed = hashlib.sha256()
    with file.open("rb") as opened:
        left = _LARGEST
        while left > 0 and (block := opened.read(_BLOCK)):
            hashed.update(block)
            left -= len(block)
    if left <= 0:
        hashed.update(str(file.stat().st_size).encode())
    return hashed.hexdigest()
