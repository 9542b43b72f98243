"""A law that was read from code, in a report: where noise meets data, and where it leaks."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from dpaudit.report.counts import ReportPart


class NoisyLine(ReportPart):
    """The noisy values that a line of the source forms in a call.

    Numbers are of the pair that was audited, and of a few calls.
    """

    place: str
    noise: str = Field(
        description="The law of the noise: normal, laplace, discrete laplace, choice, or public, "
        "of a draw that no dataset changes."
    )
    values: int = Field(description="How many such values a call forms there.")
    scale: float | None = Field(
        description="The least of the noise; null where it differs from call to call or between "
        "the datasets, unless records are shown: it may tell one."
    )
    moved: float | None = Field(
        description="How far a centre moves: Euclidean for normal noise, the sum of sizes for "
        "laplace noise. It may tell a record, and is null unless records are shown."
    )
    share: float = Field(description="Of the expected privacy loss of an output.")


class ReadLaw(ReportPart):
    """The law of plain code, read by running both datasets with the same noisy values."""

    covers: Literal["outputs", "noisy values"] = Field(
        default="outputs",
        description="What its losses are those of: outputs, where these determine every noisy "
        "value; else the noisy values alone, of which outputs tell less, so that nothing is "
        "certified by them.",
    )
    lines: list[NoisyLine]
