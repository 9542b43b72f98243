"""Draws of a unit, and the few numbers of it that are kept.

Each of these runs where the unit is computed, in this process or in a worker, so that this module
imports little.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit._typing import Array
from dpaudit.errors import MechanismError
from dpaudit.execution.units import Unit
from dpaudit.mechanisms.mechanism import (
    HasLaw,
    Mechanism,
    TailDraws,
    Tiltable,
    TiltedSample,
    draw_checked_sample,
    name_of,
)
from dpaudit.mechanisms.outputs.layout import find_clock_columns
from dpaudit.neighbours import Pair, Side


def draw_tilted_unit(
    mechanism: Tiltable[Any], pair: Pair[Any], tilt: float | TailDraws, unit: Unit
) -> tuple[Array, Array]:
    """Return the privacy losses and log-moments of a unit of tilted or aimed trials."""
    sample = _draw_tilted_sample(mechanism, pair, tilt, unit)
    return (
        _per_trial(mechanism, "privacy_loss", sample.privacy_loss, unit.trials),
        _per_trial(mechanism, "log_mgf", sample.log_mgf, unit.trials),
    )


def _draw_tilted_sample(
    mechanism: Tiltable[Any], pair: Pair[Any], tilt: float | TailDraws, unit: Unit
) -> TiltedSample:
    if isinstance(tilt, TailDraws):
        return tilt.sample(unit.trials, unit.generator())
    return mechanism.sample_tilted(pair, tilt, unit.trials, unit.generator())


def loss_unit(mechanism: HasLaw[Any], pair: Pair[Any], side: Side, unit: Unit) -> Array:
    """Return the privacy losses of a unit of untilted trials."""
    dataset = pair.on(side)
    outputs = draw_checked_sample(mechanism, dataset, unit.trials, unit.generator())
    loss = mechanism.privacy_loss(outputs, pair)
    return _per_trial(mechanism, "privacy_loss", loss, unit.trials)


def residual_unit(mechanism: HasLaw[Any], dataset: Any, unit: Unit) -> Array:
    """Return the residuals of a unit of untilted trials, in the outputs' places if known."""
    outputs = draw_checked_sample(mechanism, dataset, unit.trials, unit.generator())
    residuals = np.asarray(mechanism.uniform_residuals(outputs, dataset), dtype=np.float64)
    if not residuals.size or residuals.size % unit.trials:
        raise MechanismError(
            f"mechanism {name_of(mechanism)}: uniform_residuals returned shape "
            f"{residuals.shape}, expected as many numbers for each of {unit.trials} trials"
        )
    if residuals.size == outputs.size:
        return residuals.reshape(outputs.shape)
    return residuals.reshape(unit.trials, -1, _whole_rows(residuals, outputs))


def _whole_rows(residuals: Array, outputs: Array) -> int:
    """Return the length of the outputs' last axis if residuals are rows of it, else of all."""
    each, last = residuals.size // len(outputs), outputs.shape[-1]
    return last if outputs.ndim > 1 and each % last == 0 else each


def consistency_unit(
    mechanism: Tiltable[Any], pair: Pair[Any], tilt: float | TailDraws, unit: Unit
) -> tuple[Array, Array]:
    """Return the losses of a unit of tilted or aimed trials, computed in two ways."""
    sample = _draw_tilted_sample(mechanism, pair, tilt, unit)
    again = mechanism.privacy_loss(sample.outputs, pair)
    return (
        _per_trial(mechanism, "privacy_loss", sample.privacy_loss, unit.trials),
        _per_trial(mechanism, "privacy_loss", again, unit.trials),
    )


def output_unit(mechanism: Mechanism[Any], dataset: Any, unit: Unit) -> Array:
    """Return a unit of outputs."""
    return draw_checked_sample(mechanism, dataset, unit.trials, unit.generator())


def score_unit(
    mechanism: Mechanism[Any], dataset: Any, scores: tuple[Any, ...], unit: Unit
) -> Array:
    """Return every score of a unit of outputs, shape ``(len(scores), R)``."""
    outputs = draw_checked_sample(mechanism, dataset, unit.trials, unit.generator())
    return np.stack([_per_trial(s, "score", s(outputs), unit.trials) for s in scores])


def glance_unit(mechanism: Any, datasets: tuple[Any, ...], unit: Unit) -> tuple[str, float]:
    """Return a digest of a unit of outputs, of the dataset with its number, and their seconds."""
    found: tuple[str, float] = mechanism.glance(datasets[unit.which], unit.trials, unit.generator())
    return found


def read_unit(mechanism: Any, datasets: tuple[Any, ...], unit: Unit) -> tuple[Any, ...]:
    """Return the reading of a unit's output, of the dataset with its number."""
    return tuple(mechanism.read(datasets[unit.which], unit.generator()))


def side_unit(mechanism: Mechanism[Any], pair: Pair[Any], score: Any, unit: Unit) -> Array:
    """Return two numbers of a unit of outputs of the unit's side, shape ``(2, R)``.

    The score, and a number that all entries of an output have a part in.
    """
    side = list(Side)[unit.which]
    return score_unit(mechanism, pair.on(side), (score, make_output_projection(mechanism)), unit)


def beside_unit(
    mechanism: Mechanism[Any], pair: Pair[Any], score: Any, wanted: Any, unit: Unit
) -> tuple[Array, Array]:
    """Return the numbers of `side_unit`, and the outputs if they are wanted, else none of them.

    ``wanted`` says it of the number that a unit has on its side.
    """
    outputs = side_output_unit(mechanism, pair, unit)
    both = (one(outputs) for one in (score, make_output_projection(mechanism)))
    numbers = np.stack([_per_trial(mechanism, "score", one, unit.trials) for one in both])
    return numbers, outputs if wanted(unit.seed.spawn_key[-1]) else outputs[:0]


def draw_counted_unit(
    mechanism: Mechanism[Any], pair: Pair[Any], counted: Any, most: int, unit: Unit
) -> tuple[Any, Array]:
    """Return the counts of a unit of the unit's side, and the numbers to compare.

    That is the score and another number of at most so many outputs, as `side_unit` returns
    them.
    """
    dataset = pair.on(list(Side)[unit.which])
    outputs = draw_checked_sample(mechanism, dataset, unit.trials, unit.generator())
    score = _per_trial(mechanism, "score", counted.score(outputs), unit.trials)
    kept = choose_compared_trials(unit.trials, most)
    number = _per_trial(
        mechanism, "score", make_output_projection(mechanism)(outputs[kept]), len(kept)
    )
    return counted.count(score), np.stack([score[kept], number])


def choose_compared_trials(trials: int, most: int) -> NDArray[np.int64]:
    """Return which trials of a call are compared: from the beginning, and from the middle on.

    So next ones and those half a call apart are there.

    Examples
    --------
    >>> choose_compared_trials(100, 4), choose_compared_trials(3, 4)
    (array([ 0,  1, 50, 51]), array([0, 1, 2]))
    """
    if trials <= most:
        return np.arange(trials)
    first = most // 2
    return np.concatenate([np.arange(first), trials // 2 + np.arange(most - first)])


def side_output_unit(mechanism: Mechanism[Any], pair: Pair[Any], unit: Unit) -> Array:
    """Return a unit of outputs of the unit's side."""
    return output_unit(mechanism, pair.on(list(Side)[unit.which]), unit)


def make_output_projection(mechanism: object) -> Callable[[Array], Array]:
    """Return a projection of outputs to one number each, of all but the time they took."""
    times = find_clock_columns(getattr(mechanism, "layout", None))
    if not times:
        return project_outputs
    return lambda outputs: project_outputs(np.delete(outputs, times, axis=1))


def project_outputs(outputs: Array) -> Array:
    """Return one number of each output that all of its entries have a part in.

    Examples
    --------
    >>> project_outputs(np.ones((2, 3))).shape
    (2,)
    """
    flat = outputs.reshape(len(outputs), -1)
    # The weights are the same in every process, as numbers of different workers are compared.
    weights = np.random.default_rng(0).uniform(0.5, 1.5, flat.shape[1])
    return np.asarray(flat @ weights)


def _per_trial(owner: object, what: str, values: Any, trials: int) -> Array:
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (trials,) or np.isnan(array).any():
        found = f"shape {array.shape}" if array.shape != (trials,) else "NaN"
        raise MechanismError(
            f"mechanism {name_of(owner)}: {what} returned {found}, "
            f"expected {trials} numbers, one a trial"
        )
    return array
