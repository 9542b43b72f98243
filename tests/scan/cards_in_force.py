"""What cards of packages say, as a few digits a subject: a change of one has to be meant.

No other test reads most of a card: it is the only place that says on which data a package of
somebody else is tried, and what it is held to. After a change that is meant:

    python -m tests.scan.cards_in_force
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from dpaudit.extension.package import Package, Subject
from dpaudit.extension.registry import PACKAGES
from dpaudit.scan.accountants.cards import ACCOUNTANTS

DIGITS = Path(__file__).with_name("cards.toml")


def digits_of(value: Any) -> str:
    """Return a few digits of a value, the same for what is equal."""
    text = json.dumps(value, default=_plain, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return [str(value.dtype), value.tolist()]
    if hasattr(value, "to_dict"):
        return value.to_dict("list")
    return sorted(map(repr, value)) if isinstance(value, set | frozenset) else repr(value)


def held_by(subject: Subject) -> Any:
    """Return all that a subject says of each of its settings."""
    plain = subject.code, subject.relations, subject.nan, subject.additive, subject.trials
    return [plain, [list(_held_in(subject, setting)) for setting in subject.parameters]]


def _held_in(subject: Subject, setting: Any) -> Iterator[Any]:
    yield dict(setting), subject.bounds_of(setting), list(subject.datasets_of(setting))
    yield [(repr(one.guarantee(setting)), one.relation, one.where) for one in subject.claims]
    for pair in subject.pairs_of(setting):
        known = [
            subject.domain is None or subject.domain(side, setting)
            for side in (pair.dataset, pair.neighbour)
        ]
        yield pair.dataset, pair.neighbour, pair.relation, pair.edit, known


def held_by_package(card: Package) -> Any:
    """Return what a card says of the package itself."""
    asked = {one: card.requirements_of[one] for one in sorted(card.requirements_of)}
    plain = card.distribution, card.code, card.versions, card.requirements, asked
    return [*plain, card.bare, card.home, card.python]


def in_force() -> dict[str, dict[str, str]]:
    """Return the digits of every subject of every card, and of every accountant."""
    found = {}
    for card in PACKAGES.all().values():
        subjects = {one.name: digits_of(held_by(one)) for one in card.subjects}
        found[card.name] = {"the package": digits_of(held_by_package(card))} | subjects
    found["accountants"] = {
        name: digits_of(asdict(card)) for name, card in sorted(ACCOUNTANTS.items())
    }
    return found


def written() -> dict[str, dict[str, str]]:
    """Return the digits that are written down."""
    found: dict[str, dict[str, str]] = tomllib.loads(DIGITS.read_text(encoding="utf-8"))
    return found


def write() -> None:
    """Write the digits of what is in force."""
    lines = ["# What cards say; see cards_in_force.py."]
    for card, rows in in_force().items():
        lines += ["", f"[{json.dumps(card)}]"]
        lines += [f"{json.dumps(name)} = {json.dumps(row)}" for name, row in rows.items()]
    DIGITS.write_text("\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    write()
