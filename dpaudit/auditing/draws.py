"""Block tasks: what a worker draws and the few numbers it sends back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dpaudit._typing import Array
from dpaudit.errors import MechanismError
from dpaudit.estimation.exact_loss import TiltedLosses
from dpaudit.execution import Block, Executor, block_size, plan_blocks, stream
from dpaudit.laws.mechanism import HasLaw, Mechanism, Tiltable, checked_sample
from dpaudit.neighbours import Pair, Side

_ROUNDING = 1e-9
# Rows that tell whether randomness comes from the generator, and how rarely chance may look so.
_ROWS, _COLLISION = (3, 64, 2048), 1e-9


@dataclass(frozen=True)
class Drawer:
    """Draws transcripts of a mechanism on a pair, block by block.

    Parameters
    ----------
    mechanism, pair
        What is drawn from.
    executor
        Who computes.
    seed
        The audit's seed; every purpose gets a stream of its own.
    block
        Trials per block.
    """

    mechanism: Any
    pair: Pair[Any]
    executor: Executor
    seed: int
    block: int

    @classmethod
    def probing(
        cls, mechanism: Mechanism[Any], pair: Pair[Any], executor: Executor, seed: int
    ) -> Drawer:
        """Return a drawer whose blocks fit in memory; two transcripts are drawn to find out.

        Raises
        ------
        MechanismError
            The mechanism breaks its contract on either dataset.
        """
        rng = stream(seed, "probe")
        shapes = {
            checked_sample(mechanism, dataset, 2, np.random.default_rng(rng)).shape
            for dataset in (pair.dataset, pair.neighbour)
        }
        _require_rng(mechanism, pair.dataset, seed)
        if len(shapes) > 1:
            raise MechanismError(
                f"mechanism {type(mechanism).__name__}: transcripts of shapes {sorted(shapes)} on "
                "the two datasets, expected the same shape on both"
            )
        size = int(np.prod(shapes.pop()[1:])) * 8
        return cls(mechanism, pair, executor, seed, block_size(size))

    def tilted(self, side: Side, tilt: float, trials: int, purpose: str) -> TiltedLosses:
        """Return the losses of ``trials`` tilted trials in one direction of the pair."""
        pair = self.pair.seen_from(side)
        task = partial(tilted_block, self.mechanism, pair, tilt)
        parts = self._map(task, trials, purpose, side)
        loss, log_mgf = (np.concatenate(part) for part in zip(*parts, strict=True))
        bound = float(self.mechanism.log_mgf_bounds(pair, tilt)[1])
        _require_bound(self.mechanism, log_mgf, bound)
        return TiltedLosses(loss, log_mgf, tilt, bound)

    def losses(self, side: Side, trials: int, purpose: str) -> Array:
        """Return ``log p/q`` of untilted transcripts of the dataset, or of the neighbour."""
        task = partial(loss_block, self.mechanism, self.pair, side)
        return np.concatenate(list(self._map(task, trials, purpose, side)))

    def residuals(self, side: Side, trials: int, purpose: str) -> Array:
        """Return the probability-integral transforms of untilted transcripts."""
        dataset = self.pair.on(side)
        task = partial(residual_block, self.mechanism, dataset)
        return np.concatenate(list(self._map(task, trials, purpose, side)))

    def both_losses(
        self, side: Side, tilt: float, trials: int, purpose: str
    ) -> tuple[Array, Array]:
        """Return tilted losses as summed while sampling, and as computed from the transcripts."""
        pair = self.pair.seen_from(side)
        task = partial(consistency_block, self.mechanism, pair, tilt)
        parts = self._map(task, trials, purpose, side)
        first, second = (np.concatenate(part) for part in zip(*parts, strict=True))
        return first, second

    def transcripts(self, side: Side, trials: int, purpose: str) -> Array:
        """Return untilted transcripts themselves, shape ``(trials, ...)``."""
        dataset = self.pair.on(side)
        task = partial(transcript_block, self.mechanism, dataset)
        return np.concatenate(list(self._map(task, trials, purpose, side)))

    def scores(self, scores: Sequence[Any], side: Side, trials: int, purpose: str) -> Array:
        """Return every score of fresh transcripts, shape ``(len(scores), trials)``."""
        dataset = self.pair.on(side)
        task = partial(score_block, self.mechanism, dataset, tuple(scores))
        return np.concatenate(list(self._map(task, trials, purpose, side)), axis=1)

    def _map(self, task: Any, trials: int, purpose: str, side: Side) -> Any:
        blocks = plan_blocks(trials, self.block, stream(self.seed, purpose, side.value))
        return self.executor.map(task, blocks, f"{purpose} ({side.value})")


def _require_rng(mechanism: Mechanism[Any], dataset: Any, seed: int) -> None:
    """Refuse a mechanism whose transcripts differ, but not with the generator it is given.

    Outputs that take few values may be the same by chance: then more are drawn.
    """
    for rows in _ROWS:
        first, second = (
            checked_sample(mechanism, dataset, rows, np.random.default_rng(stream(seed, name)))
            for name in ("one generator", "another generator")
        )
        if not np.array_equal(first, second):
            return
        if _log_collision(first) < math.log(_COLLISION):
            raise MechanismError(
                f"mechanism {type(mechanism).__name__}: the same transcripts came from two "
                "different generators, expected all randomness to come from the rng argument"
            )


def _log_collision(rows: Array) -> float:
    """Return the logarithm of how probable it is that as many rows of that law are the same."""
    _, counts = np.unique(rows.reshape(len(rows), -1), axis=0, return_counts=True)
    return len(rows) * math.log(float(np.sum((counts / len(rows)) ** 2)))


def tilted_block(
    mechanism: Tiltable[Any], pair: Pair[Any], tilt: float, block: Block
) -> tuple[Array, Array]:
    """Return the privacy losses and log-moments of a block of tilted trials."""
    sample = mechanism.sample_tilted(pair, tilt, block.trials, block.generator())
    return (
        _per_trial(mechanism, "privacy_loss", sample.privacy_loss, block.trials),
        _per_trial(mechanism, "log_mgf", sample.log_mgf, block.trials),
    )


def loss_block(mechanism: HasLaw[Any], pair: Pair[Any], side: Side, block: Block) -> Array:
    """Return the privacy losses of a block of untilted trials."""
    dataset = pair.on(side)
    transcripts = checked_sample(mechanism, dataset, block.trials, block.generator())
    loss = mechanism.privacy_loss(transcripts, pair)
    return _per_trial(mechanism, "privacy_loss", loss, block.trials)


def residual_block(mechanism: HasLaw[Any], dataset: Any, block: Block) -> Array:
    """Return the residuals of a block of untilted trials, in the transcripts' places if known."""
    transcripts = checked_sample(mechanism, dataset, block.trials, block.generator())
    residuals = np.asarray(mechanism.uniform_residuals(transcripts, dataset), dtype=np.float64)
    if not residuals.size or residuals.size % block.trials:
        raise MechanismError(
            f"mechanism {type(mechanism).__name__}: uniform_residuals returned shape "
            f"{residuals.shape}, expected as many numbers for each of {block.trials} trials"
        )
    if residuals.size == transcripts.size:
        return residuals.reshape(transcripts.shape)
    return residuals.reshape(block.trials, -1, _whole_rows(residuals, transcripts))


def _whole_rows(residuals: Array, transcripts: Array) -> int:
    """Return the length of the transcripts' last axis if residuals are rows of it, else of all."""
    each, last = residuals.size // len(transcripts), transcripts.shape[-1]
    return last if transcripts.ndim > 1 and each % last == 0 else each


def consistency_block(
    mechanism: Tiltable[Any], pair: Pair[Any], tilt: float, block: Block
) -> tuple[Array, Array]:
    """Return the losses of a block of tilted trials, computed in two ways."""
    sample = mechanism.sample_tilted(pair, tilt, block.trials, block.generator())
    again = mechanism.privacy_loss(sample.transcripts, pair)
    return (
        _per_trial(mechanism, "privacy_loss", sample.privacy_loss, block.trials),
        _per_trial(mechanism, "privacy_loss", again, block.trials),
    )


def transcript_block(mechanism: Mechanism[Any], dataset: Any, block: Block) -> Array:
    """Return a block of transcripts."""
    return checked_sample(mechanism, dataset, block.trials, block.generator())


def score_block(
    mechanism: Mechanism[Any], dataset: Any, scores: tuple[Any, ...], block: Block
) -> Array:
    """Return every score of a block of transcripts, shape ``(len(scores), R)``."""
    transcripts = checked_sample(mechanism, dataset, block.trials, block.generator())
    return np.stack([_per_trial(s, "score", s(transcripts), block.trials) for s in scores])


def _per_trial(owner: object, what: str, values: Any, trials: int) -> Array:
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (trials,) or np.isnan(array).any():
        found = f"shape {array.shape}" if array.shape != (trials,) else "NaN"
        raise MechanismError(
            f"mechanism {type(owner).__name__}: {what} returned {found}, "
            f"expected {trials} numbers, one a trial"
        )
    return array


def _require_bound(mechanism: object, log_mgf: Array, bound: float) -> None:
    largest = float(log_mgf.max())
    if largest > bound + _ROUNDING * (1 + abs(bound)):
        raise MechanismError(
            f"mechanism {type(mechanism).__name__}: log_mgf_bounds returned {bound:.6g}, "
            f"expected at least the {largest:.6g} of a transcript that was drawn"
        )
