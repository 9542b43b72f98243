"""Canaries as they were given, and the choices that are fixed before their scores are read."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import default_rng
from numpy.typing import NDArray

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.estimation import canaries
from dpaudit.estimation.canaries import CanaryGame, Design, Plan
from dpaudit.execution import stream
from dpaudit.guarantees.kinds import ApproximateDP, GaussianDP, Guarantee, PureDP
from dpaudit.redaction import Record

ESTIMATORS = ("exact", "f-dp")


@dataclass(frozen=True, kw_only=True)
class CanaryTable:
    """Canaries as they were given: shape ``(n,)`` each; ``group`` is None where there is none."""

    scores: Array
    included: NDArray[np.bool_]
    group: NDArray[np.int64] | None

    @property
    def digest(self) -> str:
        """The SHA-256 of scores, inclusion and groups, in the order of the rows."""
        # The byte order is fixed, so that the digest is the same on every machine.
        hashed = hashlib.sha256(self.scores.astype("<f8").tobytes())
        hashed.update(self.included.astype(np.uint8).tobytes())
        if self.group is not None:
            hashed.update(self.group.astype("<i8").tobytes())
        return hashed.hexdigest()

    @property
    def groups(self) -> NDArray[np.int64]:
        """The groups; one, where none is given."""
        return np.zeros(len(self.scores), np.int64) if self.group is None else self.group


@dataclass(frozen=True, kw_only=True)
class CanaryRequest:
    """The plan that is fixed before anyone reads scores."""

    design: Design
    estimator: str
    plans: tuple[Plan, ...]
    claim: Guarantee | None
    delta: float
    confidence: float
    seed: int

    @property
    def alpha(self) -> float:
        """The error probability."""
        return 1 - self.confidence

    @property
    def in_mu(self) -> bool:
        """Whether the claim, and so the measured number, is Gaussian."""
        return isinstance(self.claim, GaussianDP)

    @property
    def claimed(self) -> float | None:
        """The claimed mu or epsilon, if anything is claimed."""
        if isinstance(self.claim, GaussianDP):
            return self.claim.mu
        return None if self.claim is None else self.claim.epsilon(self.delta)


def as_table(scores: Any, included: Any, group: Any = None) -> CanaryTable:
    """Return canaries as arrays.

    Raises
    ------
    InvalidArgument
        They are not numbers, not 0 or 1, not of one length, or of one side only.
    """
    numbers = check.finite_array("scores", scores, ndim=1)
    flags = _parse_inclusion_flags(included)
    codes = None if group is None else _encode_groups(group)
    for name, column in (("included", flags), ("group", codes)):
        if column is not None and len(column) != len(numbers):
            given = VerbatimText(f"{len(column)} rows")
            raise InvalidArgument(name, given, f"{len(numbers)}, one a score")
    kept = int(flags.sum())
    if kept in (0, len(flags)):
        given = VerbatimText(f"{kept} of {len(flags)} canaries are included")
        raise InvalidArgument("included", given, "some that are and some that are not")
    return CanaryTable(scores=numbers, included=flags, group=codes)


def _parse_inclusion_flags(included: Any) -> NDArray[np.bool_]:
    expected = "0 or 1 a canary, in one axis"
    try:
        array = np.asarray(included)
        if array.dtype.kind not in "biuf":
            raise ValueError
        bad = ~np.isin(array, (0, 1))
    except (TypeError, ValueError):
        raise InvalidArgument("included", Record(included), expected) from None
    if array.ndim != 1:
        raise InvalidArgument("included", VerbatimText(f"shape {array.shape}"), expected)
    if bad.any():
        place = int(np.flatnonzero(bad)[0])
        raise InvalidArgument(f"included[{place}]", Record(array[place].item()), "0 or 1")
    return array.astype(np.bool_)


def _encode_groups(group: Any) -> NDArray[np.int64]:
    try:
        array = np.asarray(group)
        if array.ndim != 1 or (array.dtype.kind == "f" and np.isnan(array).any()):
            raise ValueError
        return np.unique(array, return_inverse=True)[1].astype(np.int64)
    except (TypeError, ValueError):
        raise InvalidArgument("group", Record(group), "one value a canary, none missing") from None


def resolve_canary_settings(
    table: CanaryTable,
    delta: float | None,
    confidence: float,
    design: str | None,
    estimator: str | None,
    claim: float | Guarantee | None,
    seed: int,
    guesses: Sequence[int] | None,
) -> CanaryRequest:
    """Return the plan that is fixed before scores are read, from inclusion and groups alone."""
    if delta is None:
        raise InvalidArgument("delta", delta, "a number in [0, 1): where epsilon is bounded")
    check.require_delta("delta", delta)
    check.require_probability("confidence", confidence)
    check.require_integer("seed", seed, least=0)
    stated = _parse_canary_claim(claim, delta)
    usual = "f-dp" if isinstance(stated, GaussianDP) else "exact"
    chosen = check.require_choice("estimator", estimator or usual, ESTIMATORS)
    if isinstance(stated, GaussianDP) and chosen == "exact":
        raise InvalidArgument("estimator", chosen, "'f-dp': the claim is a whole curve")
    kind = _resolve_canary_design(table, design)
    coins = len(table.scores) // 2 if kind == "pairs" else len(table.scores)
    return CanaryRequest(
        design=kind,
        estimator=chosen,
        plans=_parse_guess_plans(guesses, coins),
        claim=stated,
        delta=delta,
        confidence=confidence,
        seed=seed,
    )


def _parse_canary_claim(claim: float | Guarantee | None, delta: float) -> Guarantee | None:
    if claim is None or isinstance(claim, Guarantee):
        return claim
    epsilon = check.non_negative("claim", claim)
    return ApproximateDP(epsilon, delta) if delta else PureDP(epsilon)


def _parse_guess_plans(guesses: Sequence[int] | None, coins: int) -> tuple[Plan, ...]:
    if guesses is None:
        return canaries.default_plans(coins)
    sizes = [check.require_integer("guesses", one, least=1) for one in guesses]
    if not sizes or len(set(sizes)) < len(sizes) or max(sizes) > coins:
        expected = f"different numbers of guesses, at most {coins}, as there are coins"
        raise InvalidArgument("guesses", sizes, expected)
    return canaries.make_plans(sorted(sizes))


def _resolve_canary_design(table: CanaryTable, design: str | None) -> Design:
    """Return the design; where none is named, that of the groups and of how many are included."""
    if design is None:
        return usual_design(table)
    paired = table.group is not None and _is_paired(table)
    named = check.require_choice("design", design, canaries.DESIGNS)
    if named in ("pairs", "runs") and table.group is None:
        raise InvalidArgument("group", None, f"the {named[:-1]} of each canary: design {named!r}")
    if named == "pairs" and not paired:
        raise InvalidArgument(
            "group", VerbatimText(_odd_pair(table)), "two canaries, one of them included"
        )
    found: Design = next(one for one in canaries.DESIGNS if one == named)
    return found


def usual_design(table: CanaryTable) -> Design:
    """Return the design that groups, and the number of included canaries, say."""
    if table.group is not None:
        return "pairs" if _is_paired(table) else "runs"
    # To choose by the count is sound: the test of a fixed size is the stricter one on the same
    # counts, so that it rejects nothing that the test of independent coins would not.
    half = abs(2 * int(table.included.sum()) - len(table.included)) <= 1
    return "fixed-size" if half else "independent"


def _is_paired(table: CanaryTable) -> bool:
    sizes, kept = _per_group(table)
    return bool((sizes == 2).all() and (kept == 1).all())


def _per_group(table: CanaryTable) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    kept = np.bincount(table.groups[table.included], minlength=int(table.groups.max()) + 1)
    return np.bincount(table.groups), kept


def _odd_pair(table: CanaryTable) -> str:
    sizes, kept = _per_group(table)
    place = int(np.flatnonzero((sizes != 2) | (kept != 1))[0])
    return f"a group of {sizes[place]} with {kept[place]} included"


def game_of(table: CanaryTable, asked: CanaryRequest) -> CanaryGame:
    """Return the game that the design plays; its order is drawn, so that ties say nothing."""
    # The rows may be sorted by inclusion: without a random order, ties would tell.
    order = default_rng(stream(asked.seed, "canaries", "ties")).permutation(len(table.scores))
    scores, included = table.scores[order], table.included[order]
    signs = np.where(included, 1, -1).astype(np.int8)
    if asked.design == "pairs":
        rows = np.argsort(table.groups[order], kind="stable").reshape(-1, 2)
        apart = scores[rows[:, 0]] - scores[rows[:, 1]]
        # Once the higher score of a pair is the guess, the coin says whether it is the right one.
        coins = np.where(apart < 0, -signs[rows[:, 0]], signs[rows[:, 0]])
        return CanaryGame(scores=np.abs(apart), coins=coins, highest=True)
    if asked.design == "fixed-size":
        given = canaries.log_probability_of_size(int(included.sum()), len(included))
        return CanaryGame(scores=scores, coins=signs, log_given=given)
    return CanaryGame(scores=scores, coins=signs)
