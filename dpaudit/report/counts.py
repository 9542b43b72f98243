"""Counts that a bound follows from, as a report states them: of bets, of bins, of scores."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Probability = Annotated[float, Field(ge=0, le=1)]


class ReportPart(BaseModel):
    """Base of every part: unknown fields are refused, infinities are written as strings."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, ser_json_inf_nan="strings", serialize_by_alias=True
    )


class BetEvent(ReportPart):
    """An event that is bet on: whose score, which dataset it favours, its share of the wealth."""

    attack: str
    favours: Literal["dataset", "neighbour"]
    share: float


class BetRow(ReportPart):
    """The results of pairs that were bet on at the same rates, for each event in order."""

    pairs: int
    rates: list[tuple[float, float]] = Field(
        description="What they were guessed to be, on the dataset that the event favours and on "
        "the other."
    )
    hits: list[tuple[int, int]] = Field(description="Outputs in the event, on the same two.")


class WealthPath(ReportPart):
    """The path of the wealth of bets against the claim, over outputs of each dataset.

    The claim is refuted where the wealth reaches its goal, 1 over the error probability. The bound
    is the largest of ``epsilons`` whose wealth, and that of all before it, reached the goal at the
    end of a row of ``bets`` (docs/numbers.md): whoever has the rows can work it out again.
    """

    transcripts: list[int]
    log10_wealth: list[float]
    log10_goal: float
    refuted_after: int | None
    epsilons: list[float] = Field(default=[], description="What is bet against, ascending.")
    events: list[BetEvent] = []
    stakes: list[float] = Field(
        default=[], description="Of Kelly's stake; the bettors of an event, one each, share alike."
    )
    bets: list[BetRow] = []


class BinCounts(ReportPart):
    """The counts of bins that carry a bound on a divergence, and the bet that was fixed before.

    Whoever has them can work out ``bound`` again (docs/numbers.md).
    """

    favours: Literal["dataset", "neighbour"]
    order: float
    log_ratios: list[float] = Field(description="Of each bin.")
    slope: float
    centre: float
    stake: float
    trials: tuple[int, int] = Field(description="Planned, of the favoured dataset and the other.")
    hits: tuple[list[int], list[int]] = Field(
        description="Outputs in each bin, of the same two, up to where the bet had won most."
    )
    alpha: Probability
    unit: float = Field(description="What the divergence is divided by: its order, or 1.")
    bound: float


class ScoreCounts(ReportPart):
    """The numbers of scores of either side between two edges, by their distance from the threshold.

    The unit is the spread of all scores (half of them lie within it), so that no output is told.
    What lies beyond the first and the last edge is counted next to them.
    """

    edges: list[float]
    on_dataset: list[int]
    on_neighbour: list[int]
    above: bool = Field(description="Whether the event is what lies above the threshold, at 0.")
