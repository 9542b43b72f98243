"""A package with a claim to begin with: it runs, and its mathematics is there to be replaced.

What it holds is in ``draft/``: a false bound on the sensitivity of a mean, its search, its
verifier, the row of its paper's ledger, and the tests of all of them.
"""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from string import Template

from dpaudit.errors import DataError, InvalidArgument
from dpaudit.escaping import one_line
from dpaudit.extension.registry import CLAIMS, PAPERS
from dpaudit.files import write_files

# One hyphen parts paper and statement: the paper becomes a package, the rest a module.
_NAME = re.compile(r"(?P<paper>[a-z][a-z0-9]*)-(?P<statement>[a-z][a-z0-9]*(?:-[a-z0-9]+)*)")
# The name becomes folders, modules and an entry point, some of which have a limit and all of
# which people type.
_LONGEST = 40
_PLACES = {
    "pyproject.toml": "pyproject.toml",
    "$paper/mean.py": "mean.py",
    "$paper/claims/$module.py": "claim.py",
    "$paper/verify/$module.py": "verify.py",
    "$paper/statements/paper.py": "paper.py",
    "$paper/statements/checks.py": "checks.py",
    "tests/test_$module.py": "test.py",
}


@dataclass(frozen=True)
class DraftName:
    """The name of a claim, and with it its paper and its module.

    Parameters
    ----------
    claim
        Paper and statement, with a hyphen between them.

    Raises
    ------
    InvalidArgument
        It is no such name, or something else bears it.

    Examples
    --------
    >>> DraftName("smith2031-lemma-1").words["module"]
    'lemma_1'
    """

    claim: str

    def __post_init__(self) -> None:
        expected = "PAPER-STATEMENT in small letters and digits, such as smith2031-lemma1"
        parts = _NAME.fullmatch(self.claim)
        # The paper becomes a package, and no import statement can name a keyword.
        if parts is None or keyword.iskeyword(parts["paper"]):
            raise InvalidArgument("NAME", self.claim, expected)
        if len(self.claim) > _LONGEST:
            raise InvalidArgument("NAME", self.claim, f"at most {_LONGEST} letters")
        if keyword.iskeyword(self.words["module"]):
            raise InvalidArgument("NAME", self.claim, "a statement that is no word of Python")
        if self.claim in CLAIMS:
            raise InvalidArgument("NAME", self.claim, "a claim that is not installed yet")
        if parts["paper"] in PAPERS:
            expected = f"a paper without a package: add the claim to that of {parts['paper']}, and "
            expected += "its row to the PAPER of it, as docs/add-a-claim.md shows"
            raise InvalidArgument("NAME", self.claim, expected)
        # Of two packages of one name, one hides the other.
        if find_spec(parts["paper"]) is not None:
            raise InvalidArgument("NAME", self.claim, "a paper that no installed package is called")

    @property
    def words(self) -> dict[str, str]:
        """The replacements of words in the draft."""
        paper, _, statement = self.claim.partition("-")
        return {
            "claim": self.claim,
            "paper": paper,
            "project": f"{paper}-audit",
            "module": statement.replace("-", "_"),
            "statement": _format_statement_name(statement),
        }


def _format_statement_name(identifier: str) -> str:
    """Return the name of a statement in papers: Lemma 1."""
    return " ".join(re.findall(r"[a-z]+|[0-9]+", identifier)).capitalize()


def draft_files(name: DraftName) -> dict[str, str]:
    """Return the files of a draft by their paths in its folder.

    Examples
    --------
    >>> list(draft_files(DraftName("smith2031-lemma1")))[:3]
    ['pyproject.toml', 'smith2031/mean.py', 'smith2031/claims/lemma1.py']
    """
    # The files end in .txt, as they hold placeholders where Python has names.
    folder = files("dpaudit.extension").joinpath("draft")
    return {
        Template(path).substitute(name.words): Template(
            folder.joinpath(f"{file}.txt").read_text(encoding="utf-8")
        ).substitute(name.words)
        for path, file in _PLACES.items()
    }


def write_draft(name: DraftName, folder: Path) -> list[Path]:
    """Write a draft; return its files. Files that exist already are left as they are.

    Raises
    ------
    InvalidArgument
        One of its files is there, or the folder is a file.
    DataError
        The folder cannot be written.
    """
    if folder.exists() and not folder.is_dir():
        raise InvalidArgument("--into", str(folder), "a folder, or a name that does not exist yet")
    # Every path is looked at before the first is written: a refusal leaves nothing behind.
    contents = {folder / path: text.encode("utf-8") for path, text in draft_files(name).items()}
    for path in contents:
        # A broken link does not exist for ``exists``, and still bears the name.
        if path.exists() or path.is_symlink():
            raise InvalidArgument("--into", str(folder), f"a folder without {path.name}")
    for path in contents:
        _make_folder(path.parent)
    write_files(folder, contents)
    return list(contents)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise DataError(f"{one_line(str(folder))}: cannot be made ({reason})") from None
