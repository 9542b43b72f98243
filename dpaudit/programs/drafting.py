"""Helpers for other languages, which speak the protocol, each with a mechanism to begin with."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from dpaudit.errors import InvalidArgument, UnknownName
from dpaudit.files import write_files

LANGUAGES = {
    "java": ("Dpaudit.java", "Noiser.java"),
    "javascript": ("dpaudit.js", "noiser.js"),
    "rust": ("dpaudit.rs", "noiser.rs"),
}


def helper_files(language: str) -> dict[str, str]:
    """Return the helper of a language, and a mechanism that uses it, by their names.

    Raises
    ------
    UnknownName
        There is none for that language.

    Examples
    --------
    >>> list(helper_files("rust"))
    ['dpaudit.rs', 'noiser.rs']
    """
    if language not in LANGUAGES:
        raise UnknownName("language", language, LANGUAGES)
    folder = files("dpaudit.programs").joinpath("helpers")
    return {name: folder.joinpath(name).read_text(encoding="utf-8") for name in LANGUAGES[language]}


def write_helper(language: str, folder: Path) -> list[Path]:
    """Write the files of a language; return them. Files that exist already are left as they are.

    Raises
    ------
    InvalidArgument
        One of its files is there, or the folder is a file.
    """
    if folder.exists() and not folder.is_dir():
        raise InvalidArgument("--into", str(folder), "a folder, or a name that does not exist yet")
    contents = {folder / name: text.encode() for name, text in helper_files(language).items()}
    for path in contents:
        if path.exists() or path.is_symlink():
            raise InvalidArgument("--into", str(folder), f"a folder without {path.name}")
    write_files(folder, contents)
    return list(contents)
