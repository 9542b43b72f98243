"""What a setting is about, what its values are, and where it may be given."""

from __future__ import annotations

from enum import Enum


class Group(Enum):
    """What a setting is about, as help pages show it."""

    CLAIM = "Claim"
    DATA = "Data"
    MECHANISM = "Mechanism of your own"
    EFFORT = "Effort"
    OUTPUT = "Output"
    MACHINE = "Machine"


class Kind(Enum):
    """What values of a setting are."""

    NUMBER = "a number"
    NUMBERS = "two numbers"
    INTEGER = "an integer"
    FLAG = "whether"
    WORD = "a word"
    WORDS = "words"
    FILE = "a file or folder"
    RECORDS = "records, or a file of them"
    CURVE = "epsilons with their deltas, or a file of them"
    BOUNDS = "low and high, for all columns or by column"
    LOOKS = "trials and shares"
    PARAMETERS = "values by name"


class Door(Enum):
    """Where an audit may be asked for."""

    PYTHON = "dpaudit.audit"
    COMMAND = "dpaudit audit"
    FILE = "a file of audits, of a mechanism"
    CLAIM = "a file of audits, of an installed claim"
    MARKER = "pytest.mark.dp"
    STREAM = "dpaudit audit --watch"
    REPLAY = "dpaudit replay"
    SENSITIVITY = "dpaudit sensitivity"
    VIEWS = "dpaudit views"
    PROVE = "dpaudit prove"
