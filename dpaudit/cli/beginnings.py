"""Beginnings: things that somebody may have in hand, and the command for each."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

SAMPLE = "dataset.csv"
NEIGHBOUR = "neighbour.csv"


@dataclass(frozen=True)
class Beginning:
    """A thing that somebody has, and the command to type for it.

    Parameters
    ----------
    word, title
        As `dpaudit start` takes it, and what it is.
    commands
        Command lines, as words, the one to type first. None where nobody can say anything.
    replace
        What to put in the place of words of the command.
    remark
        What to know of it, in a sentence or two.
    page
        Of the documentation.
    """

    word: str
    title: str
    commands: tuple[tuple[str, ...], ...]
    remark: str
    page: str
    replace: Mapping[str, str] = field(default_factory=dict)

    def lines(self, found: Mapping[str, str] | None = None) -> list[str]:
        """Return the command lines, with found names in the place of samples.

        Examples
        --------
        >>> beginning_of("outputs").lines({"dataset.csv": "a.csv"})[0]
        'dpaudit audit --outputs a.csv neighbour.csv --epsilon 1'
        """
        known = found or {}
        return [shlex.join(known.get(word, word) for word in one) for one in self.commands]


_FILES = {
    SAMPLE: "the records, one a line",
    NEIGHBOUR: "the same with one record more, or one less",
}
_CLAIM = {"1": "the epsilon that is claimed"}
_AUDIT = ("dpaudit", "audit")
_PAIR = ("--dataset", SAMPLE, "--neighbour", NEIGHBOUR, "--epsilon", "1")

BEGINNINGS = (
    Beginning(
        "code",
        "a function in Python that I can call",
        ((*_AUDIT, "mine.py:release", *_PAIR),),
        "It runs in its own processes. Without a neighbour, --relation lets dpaudit search for the "
        "worst one; dpaudit prove mine.py:release tries a proof.",
        "docs/tutorial.md",
        {"mine.py:release": "file and function", **_FILES, **_CLAIM},
    ),
    Beginning(
        "program",
        "a program in another language",
        ((*_AUDIT, "--command", "./noiser {data} {seed}", *_PAIR),),
        "It is run once for every output, and prints a number, a line or JSON.",
        "docs/programs.md",
        {"./noiser {data} {seed}": "how it is run, on which file", **_FILES, **_CLAIM},
    ),
    Beginning(
        "service",
        "a service that answers over the network",
        ((*_AUDIT, "--url", "http://host/count?rows={data}&nonce={fresh}", *_PAIR),),
        "Its answers must not come from a cache: {fresh} is new in every request. --body sends the "
        "data in a request of its own kind, --rate keeps to a limit.",
        "docs/services.md",
        {"http://host/count": "the request, with {data} where records go", **_FILES, **_CLAIM},
    ),
    Beginning(
        "outputs",
        "outputs that somebody drew on two datasets, in files",
        (
            (*_AUDIT, "--outputs", SAMPLE, NEIGHBOUR, "--epsilon", "1"),
            (*_AUDIT, "--watch", "-", "--epsilon", "1"),
        ),
        "One output on each line, 40 or more for each dataset; the second command reads them as "
        "they come.",
        "docs/outputs.md",
        {SAMPLE: "outputs on the dataset", NEIGHBOUR: "outputs on its neighbour", **_CLAIM},
    ),
    Beginning(
        "table",
        "a table of an attack: how often it was right",
        (
            (
                "dpaudit",
                "table",
                "--hits",
                "471",
                "--of",
                "500",
                "--false-hits",
                "23",
                "--of",
                "500",
            ),
        ),
        'Four counts of a paper: how often it said "in" with the target, and without.',
        "docs/attack-tables.md",
        {"471 of 500": 'said "in" with the target', "23 of 500": 'said "in" without it'},
    ),
    Beginning(
        "scores",
        "an attack's scores of members and of others, one run for each score",
        (("dpaudit", "scores", "members.csv", "others.csv"),),
        "TPR at FPR, AUROC and accuracy with intervals, and a certified epsilon.",
        "docs/scores.md",
        {"members.csv": "a score a run with the target", "others.csv": "a score a run without it"},
    ),
    Beginning(
        "canaries",
        "scores of many canaries in one training",
        (("dpaudit", "canary", "scores.csv"),),
        "Each canary was included by a coin: columns score and included.",
        "docs/canaries.md",
        {"scores.csv": "a canary a row"},
    ),
    Beginning(
        "parameters",
        "parameters of a mechanism or of a training, and no code",
        (
            ("dpaudit", "account", "gaussian", "--set", "noise_multiplier=2"),
            (
                *("dpaudit", "account", "dp-sgd", "--noise-multiplier", "1.1"),
                *("--batch-size", "256", "--records", "60000", "--epochs", "20"),
            ),
        ),
        "The epsilon that every accountant can prove; dpaudit list releases names other releases.",
        "docs/accounting.md",
        {"numbers": "its own"},
    ),
    Beginning(
        "record",
        "a statement of a vendor or a registry",
        (("dpaudit", "deployment", "record.yaml"),),
        "It says whether the numbers agree with each other, and which are missing.",
        "docs/deployment-records.md",
        {"record.yaml": "the statement"},
    ),
    Beginning(
        "package",
        "a library of other people",
        (("dpaudit", "scan", "diffprivlib"),),
        "Every mechanism that its documentation names, each on neighbours that show a leak.",
        "docs/scan.md",
        {"diffprivlib": "its name; dpaudit scan --list names those that are known"},
    ),
    Beginning(
        "twin",
        "only a table and its synthetic twin",
        (),
        "Nobody can say anything about its privacy: privacy is about the other tables that could "
        "have come out, and one table is one outcome. A distance between the two measures no "
        "privacy: a "
        "program that tosses a coin and returns either good synthetic data or the table itself "
        "passes half of the time, and a private one may fail by chance. With the program that "
        "made the twin, begin at code or program: it is run on the table and on a neighbour.",
        "docs/start.md",
    ),
)


# What the pages call them as well.
_ALSO = {
    "attack": "table",
    "files": "outputs",
    "function": "code",
    "library": "package",
    "statement": "record",
    "stream": "outputs",
    "training": "canaries",
    "vendor": "record",
}


def beginning_of(word: str) -> Beginning:
    """Return the beginning of a word, of another word for it, or of its number in the menu.

    Raises
    ------
    UnknownName
        There is none.

    Examples
    --------
    >>> beginning_of("4").word
    'outputs'
    >>> beginning_of("function").word
    'code'
    """
    from dpaudit.errors import UnknownName

    named = word.strip().lower()
    for number, one in enumerate(BEGINNINGS, 1):
        if _ALSO.get(named, named) in (one.word, str(number)):
            return one
    raise UnknownName("start", word, [one.word for one in BEGINNINGS])
