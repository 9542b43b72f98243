"""Dependences of outputs that are not independent: the kinds that tests tell apart."""

from __future__ import annotations

from typing import NamedTuple

import dpaudit.faults.codes as codes


class Dependence(NamedTuple):
    """A dependence, if it is not chance: its code, and words with the cure."""

    code: str
    words: str


ONCE = Dependence(
    codes.NOISE_SHARED_IN_CALL,
    "outputs of one call have noise in common: draw separate noise for every output, as "
    "rng.laplace(size=trials) does",
)
KEPT = Dependence(
    codes.STATE_KEPT,
    "outputs of one process have something in common: draw no noise when the mechanism is "
    "imported or made, and keep none from call to call",
)
MOVING = Dependence(
    codes.LAW_MOVES,
    "the law changes from call to call: keep no counter, clock or other state that outputs "
    "depend on",
)
PAIRED = Dependence(
    codes.NOISE_SHARED_IN_CALL,
    "outputs of one call depend on each other: draw the noise of each by itself, not in pairs or "
    "in a chain",
)
CHAINED = Dependence(
    codes.STATE_KEPT,
    "an output depends on the call before: keep nothing from call to call, and seed no generator "
    "by the clock",
)
TWICE = Dependence(
    codes.NOISE_SHARED_IN_CALL,
    "outputs of one call use the same noise: draw separate noise for every output",
)
SEEDED = Dependence(
    codes.CALLS_REPEAT,
    "calls repeat one another: take all randomness from the rng argument, and seed no generator "
    "inside",
)
SHARED = Dependence(
    codes.STATE_KEPT, "the two datasets share their noise: keep none from call to call"
)
