"""Programs that a proof is asked of, with domains, claims, and whether these are true.

* Twins (`examples.replayed`): each flaw beside its repair, of arrays. Where the repair clips,
  records go beyond its bounds.
* Mechanisms (`examples.mechanisms`): the pairs that numpy and pandas alone make.
* Loops (`examples/loops`): each with its true and its false claim.
* Releases (`examples/proved`): trainings and statistics at the numbers of the accountants.
* CheckDP's programs (`examples.checkdp`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks._own_examples import load_example
from dpaudit.domains import Categories, Numbers

checkdp, mechanisms, replayed = map(load_example, ("checkdp", "mechanisms", "replayed"))
REPLACE, ADD_REMOVE = "replace-record", "add-remove-record"


@dataclass(frozen=True)
class Subject:
    """A program, and what is asked of it.

    Attributes
    ----------
    name
        Of the program, or of the flaw and which twin it is.
    is_right
        Whether the claim is true.
    note
        What has to be known to read its row, empty mostly.
    """

    name: str
    function: Callable[..., Any]
    domain: dict[str, Any]
    relation: str
    epsilon: float
    delta: float = 0.0
    is_right: bool = True
    note: str = ""


# Twins

_UNIT, _WIDE = {"bounds": (0, 1), "records": 6}, {"bounds": (0, 40), "records": 6}
_BEYOND = frozenset(
    (
        "unclipped",
        "order of clip and sum",
        "exception",
        "global numpy",
        "centre as argument",
        "standard library",
        "gauss of the standard library",
        "secrets",
        "scipy",
    )
)
OF_LISTS = frozenset(("labels from data", "NaN"))


def twins() -> Iterator[Subject]:
    """Yield both twins of every flaw of arrays, the repaired one first."""
    for twin in replayed.TWINS:
        if twin.flaw in OF_LISTS:
            continue
        domain = _WIDE if twin.flaw in _BEYOND else _UNIT
        for is_right, function in ((True, twin.repaired), (False, twin.broken)):
            yield Subject(
                twin.flaw, function, domain, REPLACE, twin.epsilon, twin.delta, is_right=is_right
            )


# Mechanisms

_TABLE = {"columns": {"g": Categories(values=("a", "b")), "x": Numbers()}, "records": (1, 4)}
_FEW = {"bounds": (0, 1), "records": (1, 6)}
_FOUR = {"bounds": (0, 1), "records": 4}
_ROWS = {"bounds": (0, 1), "records": (1, 4), "columns": 2}
_LABELLED = {"bounds": (0, 1), "records": 4, "columns": 2, "labels": (0, 1, 7)}
_PURE = "the noise is Gaussian, so the claim has delta = 1e-5; the audit has delta = 0"
_SIZE = "the number of records is public: under add-remove-record, the output would reveal it"
_FALSE = (
    "it holds only if the last record is removed; without any other one, all later records shift"
)
MECHANISMS: dict[str, tuple[dict[str, Any], str, float, str]] = {
    "group means": (_TABLE, ADD_REMOVE, 0.0, ""),
    "an empty group": (_TABLE, ADD_REMOVE, 0.0, ""),
    "a forgotten bin": (_FOUR, REPLACE, 0.0, ""),
    "edges of the data": (_FEW, ADD_REMOVE, 0.0, ""),
    "noise divided twice": (_FOUR, REPLACE, 0.0, ""),
    "noise of a mean": (_FOUR, REPLACE, 0.0, ""),
    "clamping": (_FOUR, REPLACE, 0.0, ""),
    "a median": (_FOUR, REPLACE, 0.0, _SIZE),
    "lengths": (_FEW, ADD_REMOVE, 0.0, _FALSE),
    "a sample": (_FEW, ADD_REMOVE, 0.0, ""),
    "class lists": (_LABELLED, REPLACE, 0.0, ""),
    "one model": (_LABELLED, REPLACE, 0.0, ""),
    "a gradient": (_ROWS, ADD_REMOVE, 1e-5, _PURE),
    "synthetic tables": (_TABLE, ADD_REMOVE, 0.0, ""),
    "exceptions": (_FOUR, REPLACE, 0.0, ""),
    "warnings": (_FOUR, REPLACE, 0.0, ""),
    "a budget": (_FOUR, REPLACE, 0.0, ""),
    "a threshold": (_FOUR, REPLACE, 0.0, ""),
}
OF_TEXTS = frozenset(("words", "a question"))


def pairs() -> Iterator[Subject]:
    """Yield both of every pair of mechanisms that is of numpy and pandas, the repaired first."""
    for name, (domain, relation, delta, note) in MECHANISMS.items():
        broken, repaired, *_ = mechanisms.AUDITS[name]
        is_false = note == _FALSE
        yield Subject(name, repaired, domain, relation, 1.0, delta, not is_false, note)
        yield Subject(name, broken, domain, relation, 1.0, delta, is_right=False)


# Loops, and what CheckDP knows

_DIGIT = 1e-4  # the last of what a loop states
_FAR = {"bounds": (-60, 60)}
LOOPS: dict[str, tuple[dict[str, Any], str]] = {
    "binary_mechanism": ({"bounds": (0, 1), "records": 8, "integers": True}, REPLACE),
    "consensus_admm": ({"bounds": (0, 1), "records": 3}, REPLACE),
    "follow_the_leader": ({**_FAR, "records": 8}, REPLACE),
    "gossip": ({"bounds": (0, 1), "records": 5}, REPLACE),
    "gradient_descent": ({**_FAR, "records": 4, "columns": 3}, REPLACE),
    "k_means": ({"bounds": (-1, 1), "records": (1, 8)}, ADD_REMOVE),
    "mean_by_corrections": ({"bounds": (0, 1), "records": 4}, REPLACE),
    "power_iteration": ({"bounds": (-1, 1), "norm": 1.0, "records": 4, "columns": 2}, REPLACE),
    "stochastic_gradient_descent": ({**_FAR, "records": (1, 4), "columns": 2}, ADD_REMOVE),
    "teachers": ({"bounds": (0, 2), "integers": True, "records": 10, "columns": 5}, REPLACE),
}
RELEASES = ("gradient_descent", "stochastic_gradient_descent", "linearised_admm", "shared_budget")


def loops() -> Iterator[Subject]:
    """Yield the loops of `examples/loops`, each with its true and its false claim."""
    for name, (domain, relation) in LOOPS.items():
        module = load_example(f"loops/{name}")
        asked = (getattr(module, name), domain, relation)
        yield Subject(name, *asked, module.EPSILON + _DIGIT, module.DELTA)
        yield Subject(name, *asked, module.FALSE_EPSILON, module.DELTA, is_right=False)


def releases() -> Iterator[Subject]:
    """Yield the programs of `examples/proved`, and each with a claim a tenth too small."""
    for name in RELEASES:
        module = load_example(f"proved/{name}")
        asked = (getattr(module, name), module.DOMAIN, module.RELATION)
        yield Subject(name, *asked, module.EPSILON, module.DELTA)
        yield Subject(name, *asked, 0.9 * module.EPSILON, module.DELTA, is_right=False)


def programs() -> Iterator[Subject]:
    """Yield CheckDP's programs."""
    for one in checkdp.PROGRAMS:
        yield Subject(
            one.name,
            one.release,
            one.domain,
            one.relation,
            one.epsilon,
            is_right=not one.wrong,
            note=one.wrong,
        )


SETS: dict[str, Callable[[], Iterator[Subject]]] = {
    "twins": twins,
    "mechanisms": pairs,
    "loops": loops,
    "releases": releases,
    "CheckDP": programs,
}
