"""``dpaudit attack message-support``: one message of ADMM sharing tells which data it came from."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.random import SeedSequence, default_rng
from pydantic import BaseModel, ConfigDict, Field

from dpaudit._typing import Array
from dpaudit.algorithms.sharing.algorithm import SharingADMM
from dpaudit.algorithms.sharing.noise import MessageNoise, Noise, ParameterNoise, WhitenedNoise
from dpaudit.attacks.distinguishers.column_space import (
    ColumnSpaceScore,
    compute_relative_residuals,
    fit,
    messages_of,
)
from dpaudit.datasets import Dataset, load, subset
from dpaudit.errors import InvalidArgument
from dpaudit.estimation.event import choose_event
from dpaudit.estimation.joint import joint_lower_bound
from dpaudit.execution import Progress, stream
from dpaudit.extension.attack import Cell, Findings, get_column_numbers
from dpaudit.neighbours import REPLACE_COLUMN, Pair
from dpaudit.plots import Curve, Panel

Variant = Literal["parameter", "whitened", "message"]
# Of sigma: squares of messages neither vanish nor overflow.
_LEAST = 1e-100
_MOST = 1e100
_PILOT = 50  # messages of each dataset that set the threshold


class MessageSupportParameters(BaseModel):
    """The data, where the noise goes, and how many messages are judged."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    data: Literal["breast-cancer", "adult"] = Field("breast-cancer", description="records")
    records: int | None = Field(None, ge=2, description="a random part of them (by default all)")
    parties: int = Field(2, ge=1, description="M; the columns are dealt out evenly, in order")
    variants: list[Variant] = Field(
        ["parameter", "whitened", "message"],
        min_length=1,
        description="where the noise goes: on x, on x as (D'D)^-1 shapes it, or on D x",
    )
    noise_scales: list[float] = Field([1.0, 1000.0], min_length=1, description="sigma, several")
    messages: int = Field(1000, ge=10, description="that are judged, of each dataset")
    delta: float = Field(1e-5, ge=0, lt=1, description="at which epsilon is certified")
    confidence: float = Field(0.95, gt=0, lt=1, description="of each lower bound")


def run(parameters: MessageSupportParameters, seed: int, progress: Progress) -> Findings:
    """Return a line for each variant and noise scale: how many messages give their data away.

    Raises
    ------
    InvalidArgument, DataError
        A noise scale is outside its domain, there are too few columns, or the data is not at hand.

    Examples
    --------
    >>> from dpaudit.execution import Silent
    >>> small = MessageSupportParameters(records=60, variants=["whitened", "message"], messages=50)
    >>> [row["told right"] for row in run(small, 0, Silent()).rows]
    [1.0, 1.0, 0.5, 0.5]
    """
    if not all(_LEAST <= scale <= _MOST for scale in parameters.noise_scales):
        expected = f"numbers above 0, from {_LEAST:g} to {_MOST:g}"
        raise InvalidArgument("noise_scales", parameters.noise_scales, expected)
    pair = one_entry_flipped(_load_message_records(parameters, seed))
    blocks = _split_feature_blocks(pair.dataset, parameters.parties)
    cases = [(v, s) for v in parameters.variants for s in parameters.noise_scales]
    progress.start("attacking", len(cases))
    rows = []
    for variant, scale in cases:
        own = stream(seed, f"{variant} at {scale!r}")
        rows.append(measure_message_row(parameters, pair, blocks, variant, scale, own))
        progress.advance(1)
    panels = (_make_message_panel(parameters.variants, rows),)
    return Findings(
        rows=rows,
        reading=_format_message_reading(parameters, pair, rows),
        chance=_CHANCE,
        panels=panels,
    )


def _make_message_panel(variants: list[Variant], rows: list[dict[str, Cell]]) -> Panel:
    curves = []
    for variant in variants:
        own = [row for row in rows if row["noise on"] == variant]
        sigmas = get_column_numbers(own, "sigma")
        curves.append(
            Curve(label=variant, x=sigmas, y=get_column_numbers(own, "certified epsilon"))
        )
    return Panel(
        title="one message each",
        x_label="sigma",
        y_label="certified epsilon",
        curves=tuple(curves),
        log_x=True,
    )


_CHANCE = "half are told right, and epsilon 0 is certified but for the error probability"


def one_entry_flipped(data: Dataset) -> Pair[Dataset]:
    """Return data and a neighbour: the largest entry of at most 1/2 with its sign flipped.

    Rows keep their norms, and ``||D - D'||`` is at most 1, as hu2020's Theorem 1 asks.

    Raises
    ------
    InvalidArgument
        No entry is in (0, 1/2] in absolute value.

    Examples
    --------
    >>> pair = one_entry_flipped(Dataset([[0.6, 0.8], [0.1, 0.2]], [1, -1]))
    >>> pair.neighbour.features.tolist(), pair.index
    ([[0.6, 0.8], [0.1, -0.2]], 1)
    """
    sizes = np.abs(data.features)
    sizes[sizes > 0.5] = 0.0
    if not sizes.any():
        raise InvalidArgument("data", data.name, "an entry of absolute value in (0, 1/2]")
    features = data.features.copy()
    features[np.unravel_index(np.argmax(sizes), sizes.shape)] *= -1
    neighbour = Dataset(features, data.labels, node_sizes=data.node_sizes, name=data.name)
    return Pair(data, neighbour, REPLACE_COLUMN)


def _load_message_records(parameters: MessageSupportParameters, seed: int) -> Dataset:
    data = load(parameters.data)
    if parameters.records is None:
        return data
    return subset(data, parameters.records, default_rng(stream(seed, "records")))


def _split_feature_blocks(data: Dataset, parties: int) -> tuple[int, ...]:
    if parties > data.dimension:
        raise InvalidArgument("parties", parties, f"at most {data.dimension}, one a feature")
    return tuple(len(part) for part in np.array_split(np.arange(data.dimension), parties))


def _make_variant_noise(variant: Variant, scale: float) -> Noise:
    match variant:
        case "parameter":
            return ParameterNoise(scale)
        case "whitened":
            return WhitenedNoise(scale)
        case "message":
            return MessageNoise(scale)


def measure_message_row(
    parameters: MessageSupportParameters,
    pair: Pair[Dataset],
    blocks: tuple[int, ...],
    variant: Variant,
    scale: float,
    own: SeedSequence,
) -> dict[str, Cell]:
    """Return the row of one message each of fresh runs; the threshold is set on others."""
    rng = default_rng(own)
    # One iteration is enough: the first message already lies in its own column space.
    seen = SharingADMM(
        block_sizes=blocks, iterations=1, noise=_make_variant_noise(variant, scale)
    ).messages()

    def draw_messages(runs: int) -> tuple[Array, Array]:
        return seen.sample(pair.dataset, runs, rng), seen.sample(pair.neighbour, runs, rng)

    pilot = draw_messages(_PILOT)
    score = fit(seen, pair, *pilot, rng)
    # The score and the event rest on the pilot alone, so that hits among these are binomial.
    fresh = draw_messages(parameters.messages)
    scored = score(pilot[0]), score(pilot[1]), score(fresh[0]), score(fresh[1])
    return {
        "noise on": variant,
        "sigma": scale,
        "outside its own space": _measure_median_residual(
            score, fresh, (score.basis, score.other_basis)
        ),
        "outside the other": _measure_median_residual(
            score, fresh, (score.other_basis, score.basis)
        ),
        **_measure_told_right(parameters, *scored),
    }


def _measure_median_residual(
    score: ColumnSpaceScore, outputs: tuple[Array, Array], bases: tuple[Array, Array]
) -> float:
    """Return the median residual of either dataset's messages outside its basis: the larger one.

    One column space may hold the other; then only messages of the larger one lie outside.
    """
    sent = (messages_of(each, score.party, len(bases[0])) for each in outputs)
    found = [
        np.median(compute_relative_residuals(each, basis))
        for each, basis in zip(sent, bases, strict=True)
    ]
    return float(max(found))


def _measure_told_right(
    parameters: MessageSupportParameters,
    pilot: Array,
    other_pilot: Array,
    scores: Array,
    other_scores: Array,
) -> dict[str, Cell]:
    """Return the share of messages that are put down to the right dataset, and its bound.

    The event is chosen on the pilot; where it favours the neighbour, the two change places.
    """
    event = choose_event(pilot, other_pilot, parameters.delta)
    hits, others = event.hits(scores), event.hits(other_scores)
    hits, others = (hits, others) if event.above else (others, hits)
    runs, alpha = parameters.messages, 1 - parameters.confidence
    lower = joint_lower_bound(hits, others, runs, runs, delta=parameters.delta, alpha=alpha)
    return {"told right": (hits + runs - others) / (2 * runs), "certified epsilon": lower}


def _format_message_reading(
    parameters: MessageSupportParameters, pair: Pair[Dataset], rows: list[dict[str, Cell]]
) -> list[str]:
    moved = float(np.linalg.norm(pair.dataset.features - pair.neighbour.features))
    return [
        f"The neighbour has one entry of column {pair.index} with its sign flipped, ||D - D'||_F = "
        f"{moved:.3g}; median distances of messages from their own column space and from the "
        "other dataset's, relative to their lengths, of the dataset where they are larger.",
        *_format_distinguished_rows(parameters, rows),
    ]


def _format_distinguished_rows(
    parameters: MessageSupportParameters, rows: list[dict[str, Cell]]
) -> list[str]:
    """Return the remarks on messages' column space in lines with noise on the model."""
    model = [row for row in rows if row["noise on"] != "message"]
    apart = [row for row in model if row["told right"] == 1]
    # What the joint bound gives at delta = 0 where every message of one dataset is a hit and none
    # of the other: p^(2 n) = alpha with e^-epsilon = 1/p - 1.
    most = -math.log((1 - parameters.confidence) ** (-1 / (2 * parameters.messages)) - 1)
    words = []
    if apart:
        words.append(
            f"With noise on the model ({_format_row_names(apart)}) the message stays in the "
            "column space of "
            "its own data, so that one message tells the two apart, and no epsilon is finite: what "
            f"is certified, {most:.3g} at the most, grows with the number of messages alone."
        )
    if missed := [row for row in model if row not in apart]:
        shares = ", ".join(f"{value:.3g}" for value in get_column_numbers(missed, "told right"))
        words.append(
            f"With noise on the model ({_format_row_names(missed)}) one message does not always "
            "tell the two "
            f"apart: {shares} are told right. Where the two column spaces are the same, as with no "
            "more records than a party has columns, a message says nothing by its space."
        )
    return words


def _format_row_names(rows: list[dict[str, Cell]]) -> str:
    return ", ".join(f"{row['noise on']} at sigma = {row['sigma']:g}" for row in rows)
