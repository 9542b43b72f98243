r"""Whether batches keep the utility guarantee.

Note 1 samples batches with replacement in place of full gradients and says that this "also leads to
the same utility guarantee in Theorem 7". On data whose records at a node are all the same a batch
of any size has the full gradient, and the stochastic variant is Algorithm 1: it falls where Theorem
7 falls. With c_2 read as a Lipschitz constant of every n L_i it is not refuted here either, on such
data. (On others, (39) needs the second moment of a batch's gradient, which can be above the square
of the mean's.)

Of its privacy the note says nothing. The noise is that of full gradients, and a record that is
drawn K times into a batch of s moves the update ``K m_i / s`` times as far as Lemma 5 allows:
nothing is proved of it (``dpaudit audit huang2020-theorem6 --set batch_size=1``).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic import Field

from dpaudit.algorithms.multistep.claims import theorem7
from dpaudit.algorithms.multistep.claims.theorem7 import Utility
from dpaudit.extension.claim import Claim, Variant

if TYPE_CHECKING:
    from dpaudit.extension.case import SearchCase
    from dpaudit.extension.settings import Settings


class Batches(Utility):
    """Public parameters: a star whose centre holds all the loss, of records that are the same."""

    batch_size: int = Field(1, ge=1, description="records of a batch: any number, they are equal")


def prepare_note1_search(settings: Settings, parameters: Batches) -> SearchCase:
    """Return the audit on a star.

    Examples
    --------
    >>> from dpaudit.extension.settings import Settings
    >>> prepare_note1_search(Settings(), Batches(nodes=4, iterations=4)).data
    'equal records of norm 1 at the centre of a star, and of norm 0 at its leaves'
    """
    case = theorem7.prepare_for(CLAIM, settings, parameters)
    return replace(
        case,
        data="equal records of norm 1 at the centre of a star, and of norm 0 at its leaves",
        notes=(
            *case.notes,
            "Records of a node are equal, so that every batch has the full gradient.",
        ),
    )


CLAIM = Claim(
    name="huang2020-note1",
    title="Utility with batches",
    statement=(
        "The variant that replaces gradients by those of a batch, sampled with replacement, also "
        "has the utility guarantee of Theorem 7, eq. (24)."
    ),
    source="Huang & Gong, multi-step DP-ADMM, Note 1",
    kind="property",
    relation="replace-record",
    assumptions=theorem7.CLAIM.assumptions,
    prepare=prepare_note1_search,
    parameters=Batches,
    scope="With c_2 read as a Lipschitz constant of every n L_i this search finds nothing.",
    published={
        "c_2 of every node": Variant(
            settings={"parameters": {"lipschitz": "node"}},
            scope="The other reading of c_2, which the text does not give; tried on equal records.",
            printed=True,
        ),
    },
)
