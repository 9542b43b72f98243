"""Whether the law of an output seems to refute, or state that is kept beside the call.

Code that keeps its answers, such as a cache by dataset or noise that the first call draws, gives
outputs of one process that are no independent ones. What seems to refute is therefore looked at in
new processes: where rates, or a part that never varied, are others there, nothing is refuted.

Noise may be kept outside all processes as well: in a file, a variable of the environment, another
process, or the hour. Where a part that the certifying event reads never varied on a side, import
and a few calls are therefore watched in a new interpreter whose clocks are ahead: where another
answer comes, or something was touched that may hold noise, nothing is refuted. What is installed
with a package is the same for everybody, and is none of it.

Both can only withdraw a refutation, so that they cost no error probability.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import fisher_exact

from dpaudit._typing import Array
from dpaudit.errors import shorten_path
from dpaudit.execution import stream
from dpaudit.execution.failures import DrawTimeout
from dpaudit.mechanisms.outputs.steadiness import is_one, last_bits
from dpaudit.neighbours import Pair, Side
from dpaudit.scan.remote.foreign import Foreign
from dpaudit.watching.watch import Touch

KEPT = (
    "outputs differ from process to process, as when an answer is kept: the outputs of one process "
    "certify nothing"
)
# Where outputs did not vary, a refutation is looked at again in new processes.
_PROCESSES = (2, 24)  # at least, and at most
_SECONDS = 1.0  # that may pass before no more processes are started
_LOOKED = 8  # outputs of each dataset in each process
# The test is made for every refutation. A larger p-value would withdraw true findings now and
# then, and a state that is shared shows in far smaller ones.
_IMPROBABLE = 1e-6  # p-value of outputs that are too improbable for one law
_IMPORTING = 180.0  # seconds that a package may take to be imported
_NO_TIME = (
    "the part that distinguishes the datasets was the same in every answer, and no time was left "
    "to check whether it is kept outside the call: give the scan more time"
)
_FEW = 3  # outputs that are not as all the others: fewer are a glitch
_AHEAD = 1  # steps of the clocks


class CountedOutputs(NamedTuple):
    """Outputs on one dataset: the parts that an event reads, shape ``(n, k)``, and its hits."""

    parts: Array
    hits: int


@dataclass(frozen=True)
class RefutationLook:
    """A second look at a refutation.

    Parameters
    ----------
    mechanism, pair, seed
        What is drawn from, on what, and how.
    draw
        Returns so many outputs of either dataset, for a purpose.
    read
        Returns what an event reads in outputs.
    """

    mechanism: Foreign
    pair: Pair[Any]
    seed: int
    draw: Callable[[int, str], Sequence[Any]]
    read: Callable[[Any], CountedOutputs]

    def why_kept(self, seen: Sequence[CountedOutputs]) -> str:
        """Return why outputs that were counted refute nothing; nothing if they do.

        Parameters
        ----------
        seen
            What the event reads in the outputs that count it, on either dataset.
        """
        return KEPT if self._differs_elsewhere(seen) else self._outside(seen)

    def _differs_elsewhere(self, seen: Sequence[CountedOutputs]) -> bool:
        """Return whether new processes show that the outputs which were counted share a state."""
        crew, until = self.mechanism.crew, time.monotonic() + _SECONDS
        # Hits that vary have counts that one new process can contradict. Hits that never vary
        # may be one draw that is kept, which only several processes show.
        varies = any(0 < one.hits < len(one.parts) for one in seen)
        fewest, most = _PROCESSES
        for place in range(1 if varies else most):
            if place >= fewest and time.monotonic() > until:
                break
            crew.close()  # the next call starts another process
            try:
                with crew.patient(_IMPORTING):
                    drawn = self.draw(_LOOKED, f"process {place}")
            except DrawTimeout:
                break
            if any(_is_another(*both) for both in zip(seen, map(self.read, drawn), strict=True)):
                return True
        return False

    def _outside(self, seen: Sequence[CountedOutputs]) -> str:
        """Return possible sources of noise for parts that never varied on a side."""
        steady = _steady([one.parts for one in seen])
        if not any(map(len, steady)):
            return ""
        words = stream(self.seed, "what is touched")
        datasets = [self.pair.on(side) for side in Side]
        try:
            touches, found = self.mechanism.watched(datasets, words, _AHEAD, _IMPORTING)
        except DrawTimeout:
            return _NO_TIME
        if touches:
            return _format_touched_names(touches)
        for one, again, columns in zip(seen, found, steady, strict=True):
            usual, now = (
                np.median(one.parts[:, columns], axis=0),
                self.read(again).parts[:, columns],
            )
            if any(not is_one(np.append(now[:, n], usual[n])) for n in range(len(columns))):
                return _format_touched_names(
                    [("clock", "in a new interpreter, at another time, it differs")]
                )
        return ""


def _is_another(one: CountedOutputs, again: CountedOutputs) -> bool:
    """Return whether another process' outputs have another law, by an event or by fixed parts."""
    held, others = one.parts, again.parts
    # Only parts that are fixed in both are compared by value: of a part that varies, two
    # samples differ without telling anything.
    fixed = (held == held[:1]).all(axis=0) & (others == others[:1]).all(axis=0)
    if (held[0, fixed] != others[0, fixed]).any():
        return True
    table = [[two.hits, len(two.parts) - two.hits] for two in (one, again)]
    return bool(fisher_exact(table).pvalue < _IMPROBABLE)


def _steady(sides: Sequence[Array]) -> list[list[int]]:
    """Return of either side the parts that never vary there, and are not the same on both.

    Examples
    --------
    >>> fixed, moving = np.ones(4), np.arange(4.0)
    >>> _steady([np.stack([fixed, moving], axis=1), np.stack([2 * fixed, fixed], axis=1)])
    [[0], [0, 1]]
    """
    columns = range(sides[0].shape[1])
    # A part that is the same on both datasets tells nothing apart, and cannot have carried the
    # refutation.
    telling = [n for n in columns if not is_one(np.concatenate([one[:, n] for one in sides]))]
    return [[n for n in telling if _is_steady(one[:, n])] for one in sides]


def _is_steady(values: Array) -> bool:
    # Sums of the same numbers in another order differ in their last bits, which are no noise.
    far = np.abs(values - float(np.median(values))) > last_bits(values)
    return int(far.sum()) < _FEW


def _format_touched_names(touches: Sequence[Touch]) -> str:
    shown = "; ".join(f"{kind} {shorten_path(name)}" for kind, name in touches[:3])
    return (
        "the part that distinguishes the datasets was the same in every answer, and may be noise "
        f"that was drawn earlier and is kept outside the call ({shown})"
    )
