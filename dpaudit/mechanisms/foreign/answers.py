"""Answers of a worker about a mechanism: numbers, arrays, text, and lists of these.

An answer is never unpickled where it arrives, but for neighbours and what a search found, which
hold other people's types.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple
from typing import Any

import numpy as np
from numpy.random import Generator

from dpaudit.execution.tasks import to_pickle
from dpaudit.mechanisms.foreign.searches import search_with
from dpaudit.mechanisms.mechanism import draw_checked_sample
from dpaudit.mechanisms.outputs.layout import Layout, LayoutColumn, PartLayout, Plain


def answer_layout(mechanism: Any, *arguments: Any) -> tuple[Any, ...]:
    """Return a layout as plain data."""
    found = mechanism.laid_out(*arguments)
    if isinstance(found, Plain):
        return (found.shape, found.kind, found.steady, found.drifts), [], {}, (), (), ()
    columns = [astuple(one) for one in found.columns]
    return None, columns, found.usual, found.ignored, found.opened, found.numbered


def parse_layout_answer(answer: Sequence[Any]) -> Layout:
    """Return the layout that `answer_layout` answered."""
    plain, columns, usual, ignored, opened, numbered = answer
    if plain is not None:
        shape, kind, steady, drifts = plain
        return Plain(tuple(shape), kind, tuple(steady), tuple(drifts))
    return PartLayout(
        tuple(LayoutColumn(*one) for one in columns),
        usual,
        tuple(ignored),
        tuple(opened),
        tuple(numbered),
    )


def answer_texts(mechanism: Any, *arguments: Any) -> list[tuple[float, str, str]]:
    """Return codes, each with its kind and its text."""
    return [(code, *named) for code, named in mechanism.texts(*arguments).items()]


def answer_fixed_parts(mechanism: Any, *arguments: Any) -> dict[str, list[float]]:
    """Return the parts that are the same in all observations of this process, by path."""
    found: dict[str, list[float]] = mechanism.find_fixed_parts(*arguments)
    return found


def answer_neighbours(mechanism: Any, pair: Any) -> bytes:
    """Return the neighbours that a mechanism has for a pair, pickled."""
    return to_pickle(list(mechanism.neighbours(pair)))


def pickle_search_result(mechanism: Any, *given: Any) -> bytes:
    """Return the result of a search in a domain, pickled."""
    return to_pickle(search_with(mechanism, *given))


def sample_with_state(mechanism: Any, dataset: Any, trials: int, rng: Generator) -> tuple[Any, Any]:
    """Return outputs, and the state in which the mechanism left the generator."""
    return draw_checked_sample(mechanism, dataset, trials, rng), rng.bit_generator.state


def answer_method(mechanism: Any, method: str, *arguments: Any) -> Any:
    """Return the result of a method."""
    return getattr(mechanism, method)(*arguments)


def in_digits(mechanism: Any, *arguments: Any) -> float:
    """Return a loss in digits as a double."""
    return float(mechanism.loss_in_digits(*arguments))


def all_in_digits(mechanism: Any, outputs: Any, *arguments: Any) -> list[float]:
    """Return the losses of outputs in many digits, side by side where the mechanism can."""
    if (together := getattr(mechanism, "losses_in_digits", None)) is not None:
        return [float(one) for one in together(outputs, *arguments)]
    return [float(mechanism.loss_in_digits(one, *arguments)) for one in outputs]


def answer_tilted_sample(mechanism: Any, how: str, pair: Any, *given: Any) -> Any:
    """Return the draws of another law, and the state of the generator thereafter."""
    *_, rng = given
    drawn = getattr(mechanism, how)(pair, *given)
    parts = [np.asarray(one) for one in (drawn.outputs, drawn.privacy_loss, drawn.log_mgf)]
    return parts, rng.bit_generator.state
