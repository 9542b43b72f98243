"""Kinds of settings: their subjects, their values, and the doors that take them."""

from __future__ import annotations

from enum import Enum


class Group(Enum):
    """The subject of a setting, as help pages show it."""

    CLAIM = "Claim"
    DATA = "Data"
    MECHANISM = "Mechanism of your own"
    EFFORT = "Effort"
    OUTPUT = "Output"
    MACHINE = "Machine"


class Kind(Enum):
    """The kind of a setting's values."""

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
    """The doors through which a person asks for an audit."""

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
