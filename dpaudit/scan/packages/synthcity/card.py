"""The scan of synthcity: the labels that PATE-GAN publishes, and the schema of its data.

Teachers are trained on parts of the data that do not meet, so that a record moves one vote. Votes
are what is tried here: of them the package draws the noisy labels, and its moments accountant says
what they cost. With nine votes, five to four, its moment of order 1 stays 0 where ``lamda`` is 3:
the exponent of its bound is ``2 lamda (order - 1) + 1`` where ``2 lamda order`` is meant. Whatever
the number of labels, it then says ``log(1 / delta)`` at most.
"""

from __future__ import annotations

import math

from dpaudit.extension.package import MadePair, Package, PackageClaim, Subject

_WHERE = (
    "docstring of PATEGANPlugin: generating synthetic data with differential privacy guarantees; "
    "epsilon is the parameter of differential privacy"
)
_RECORDS = 27  # of which `fit` makes its delta
_FIT = {"epsilon": 5.0, "delta": 1 / (_RECORDS * math.sqrt(_RECORDS)), "rows": 20}
_VOTES = [1, 1, 1, 1, 0, 0, 0, 0, 0]
_FEW = 20
_NUMBERS = [number / _FEW for number in range(_FEW)]
_LARGEST = tuple(
    MadePair(dataset=_NUMBERS, neighbour=[*rest, 9.0], relation=relation, edit=words)
    for rest, relation, words in (
        (_NUMBERS[:-1], "replace-record", "another one, who has the largest value"),
        (_NUMBERS, "add-remove-record", "one more, who has the largest value"),
    )
)

PACKAGE = Package(
    name="synthcity",
    distribution="synthcity",
    code="dpaudit.scan.packages.synthcity.subjects",
    versions=("0.2.12",),
    # Newer ones of Opacus need a newer torch than it allows.
    requirements=("torch==2.2.2", "opacus==1.5.2"),
    home="https://github.com/vanderschaarlab/synthcity",
    python="<3.12",
    subjects=(
        Subject(
            name="PATE-GAN, noisy labels",
            code="labels",
            claims=(
                PackageClaim(
                    epsilon="epsilon",
                    delta="delta",
                    relation="replace-record",
                    where=_WHERE + "; training goes on while its moments accountant is below it",
                ),
            ),
            parameters=({**_FIT, "lamda": 3.0}, {**_FIT, "lamda": 0.1}),
            pairs=(
                MadePair(
                    dataset=_VOTES,
                    neighbour=[*_VOTES[:4], 1, *_VOTES[5:]],
                    relation="replace-record",
                    edit="another record, so that its teacher votes otherwise",
                ),
            ),
            relations=("replace-record",),
            trials=6_000,
            about="how many of 20 rows nine teachers with noise call real",
        ),
        Subject(
            name="PATE-GAN, the schema of its data",
            code="schema",
            claims=(PackageClaim(epsilon="epsilon", delta="delta", where=_WHERE),),
            parameters=({"epsilon": 1.0, "delta": 1 / (_FEW * math.sqrt(_FEW))},),
            pairs=_LARGEST,
            nan=False,
            trials=60,
            about="between which numbers it generates, and says that it does",
        ),
    ),
)
