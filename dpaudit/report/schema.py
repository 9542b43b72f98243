"""The report's document: versioned, validated, and the single source of every rendering.

A report is plain data. Everything in it is either a number that was computed, a public parameter,
or a sentence; nothing is derived again when it is drawn. `SCHEMA_VERSION` follows semantic
versioning: a reader of version 1 can read every 1.x document; ``schema`` is its major part, as all
JSON files have it (`dpaudit.formats`).
"""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PrivateAttr, model_validator
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from dpaudit.formats import SCHEMAS
from dpaudit.report.acceptance import Acceptance as Acceptance
from dpaudit.report.checks import AssumptionCheck as AssumptionCheck
from dpaudit.report.checks import SelfCheck as SelfCheck
from dpaudit.report.counts import BinCounts, Probability, ReportPart, ScoreCounts, WealthPath
from dpaudit.report.environment import Environment as Environment
from dpaudit.report.environment import Taken as Taken
from dpaudit.report.law import ReadLaw
from dpaudit.report.lines import CodeLine
from dpaudit.report.proofs import ProofStop as ProofStop
from dpaudit.report.proofs import Proved as Proved
from dpaudit.report.views import (
    draw_figure,
    render_latex,
    render_notebook,
    render_text,
    save_report,
)
from dpaudit.verdicts import Verdict

if TYPE_CHECKING:
    from dpaudit.refutation.certificate import Certificate
    from dpaudit.report.document import ReportPaths

SCHEMA_VERSION = "1.5"

Label = Literal["certificate", "assumption"]


class Claimed(ReportPart):
    """The claim of the source: an (epsilon, delta) guarantee, or a bound on another number.

    A privacy claim in another currency (mu, rho, a Renyi divergence) has its number in ``value``.
    """

    epsilon: float | None = None
    delta: Probability | None = None
    sensitivity: float | None = None
    value: float | None = None
    strict: bool = Field(default=False, description="Whether it has to be below the value.")


class AUnit(ReportPart):
    """The claim for one unit of distance, if the claim is about any two datasets.

    What is claimed of the pair that was audited is this times how far the two are ``apart``, or its
    square of a claim of rho; it stands in ``claimed`` of the result.
    """

    distance: str = Field(description="Its name: euclidean, manhattan, ..., or a function's.")
    claimed: float = Field(description="Epsilon, mu or rho a unit of distance.")
    apart: float = Field(description="How far the two datasets of the pair are apart.")


class Measured(ReportPart):
    """The bounds that the trials certify about this pair, in the unit of the claim.

    ``lower`` is at most, and ``upper`` at least, the true value of the audited pair, both together
    with probability ``confidence``. ``upper`` is null where nothing rigorous bounds it, and
    ``upper_note`` then says why. ``estimate`` is a point estimate and certifies nothing. A
    ``certificate`` holds with its confidence: one from outputs alone whatever the mechanism is, one
    from exact losses for the law that the mechanism states, which the self-checks compare with what
    its code draws. An ``assumption`` is neither, and decides no verdict. Where the verdict is
    withheld, nothing was measured: ``lower`` is 0 then, which says nothing.
    """

    lower: float
    upper: float | None
    confidence: Probability
    label: Label = "certificate"
    estimate: float | None = None
    estimate_label: Label = "assumption"
    estimator: str
    upper_note: str | None = None
    cap: float | None = Field(
        default=None, description="The most that so many outputs can certify; null of exact losses."
    )
    pair_ceiling: float | None = Field(
        default=None, description="A proved upper bound for this pair alone, not from trials."
    )


class ModelBased(ReportPart):
    """A number for epsilon that holds if a model does: shown, and never judged.

    ``upper`` is null for a point estimate, which ``lower`` then is.
    """

    name: str
    label: Literal["assumption"] = "assumption"
    lower: float
    upper: float | None
    confidence: Probability | None
    assumes: str
    source: str


class CarryingEvent(ReportPart):
    """The event whose counts carry the bound, on the outputs that certify it.

    One exact test of the two counts gives ``epsilon`` at ``delta`` with the error probability
    ``alpha``, outcomes in ``order`` (docs/numbers.md): whoever has these numbers can work it out
    again.
    """

    words: str
    plain: bool = Field(description="Whether they name one part of the output and a value of it.")
    hits: tuple[int, int] = Field(description="On the dataset and on its neighbour.")
    runs: tuple[int, int] = Field(description="Outputs of either that certify.")
    delta: Probability
    alpha: Probability
    epsilon: float
    order: Literal["likelihood", "interval"] = Field(
        default="likelihood", description="What the test ranks outcomes by."
    )
    sentence: str


class Witness(ReportPart):
    """An event of few parts of the output that explains, and its counts on fresh outputs.

    ``lower`` is what these outputs certify by themselves, with ``confidence``; the verdict rests on
    what was measured and not on them. ``ceiling`` is the most that the audit's outputs could
    have certified, where the event was never seen on one of the two.
    """

    event: str
    parts: list[str] = Field(description="Paths of the parts of the output it is about.")
    on_dataset: int
    on_neighbour: int
    runs: int = Field(description="Of each dataset, drawn for this alone.")
    lower: float
    confidence: Probability
    refutes: bool = Field(description="Whether that is above the claim.")
    ceiling: float | None = None
    success: Probability = Field(
        description="How often an attacker who uses this event guesses right, at even odds."
    )
    sentence: str
    fault: str | None = Field(default=None, description="The code of the kind of fault it shows.")


class SmallestPair(ReportPart):
    """The smallest pair found on which a refuted claim falls too: records both have are left out.

    What is seen on it was drawn for it alone, and the verdict does not rest on it.
    """

    records: list[int] = Field(description="Of the dataset and of its neighbour.")
    of: list[int] = Field(description="What the audited pair has.")
    witness: Witness
    sentence: str


class PairSearch(ReportPart):
    """The audited pair among several, and the cost of ranking them.

    ``promised`` are estimates of each pair's epsilon on outputs that certify nothing; where
    pairs have different claims, of how soon each falls.
    """

    candidates: int
    chosen: int = Field(description="Its number, from 1.")
    promised: list[float]
    label: Literal["assumption"] = "assumption"
    transcripts: int = Field(description="Spent on ranking, per dataset, all pairs together.")
    of_trials: int = Field(description="What the audit was given, per dataset.")


class BudgetEntry(ReportPart):
    """A share of the report's error probability, and its purpose."""

    purpose: str
    alpha: Probability


class DeltaCurves(ReportPart):
    """delta against epsilon: claimed, proved, and a band that holds at all points at once."""

    epsilon: list[float]
    claimed: list[float] | None = None
    proved: list[float] | None = None
    band_lower: list[float] | None = None
    band_upper: list[float | None] | None = None
    band_confidence: Probability | None = None
    band_label: Label = "certificate"


class TradeOffCurves(ReportPart):
    """False-negative rate of the best attack against its false-positive rate.

    ``measured`` is the empirical curve of the attack that was run: a point estimate, null where too
    few outputs show a rate. ``claimed`` and ``proved`` are the curves that no attack can go
    below if the guarantee is true.
    """

    false_positive_rate: list[float]
    claimed: list[float] | None = None
    proved: list[float] | None = None
    measured: list[float | None] | None = None
    measured_label: Label = "assumption"


class CodeFile(ReportPart):
    """The file of the audited code: its path, and a digest of all of it.

    Files that it imports are not in the digest.
    """

    reference: str
    sha256: str


Standing = Literal["claim", "variant", "question"]


class Result(ReportPart):
    """One audited claim: the three numbers, the verdict, and all that supports them."""

    claim: str
    kind: Literal["privacy", "sensitivity", "property"]
    quantity: str | None = Field(
        default=None,
        description="What a claim of kind property bounds, in words; of privacy in another number "
        "than epsilon, its symbol.",
    )
    variant: str | None = Field(default=None, description="Which of several published audits.")
    standing: Standing = Field(
        default="claim",
        description="The claim as its source prints it, a variant of it, or what nobody claims.",
    )
    scope: str | None = Field(
        default=None,
        description="Under which reading a refutation would not hold, or what regime was tried.",
    )
    statement: str
    source: str
    verdict: Verdict
    reason: str
    acceptance: Acceptance | None = Field(
        default=None, description="What the baseline says of it, if one was given; of 1.5."
    )
    fault: str | None = Field(
        default=None,
        description="The code of the kind of fault (docs/faults/index.md) that a refutation or a "
        "check shows; null where that is not decided.",
    )
    claimed: Claimed
    a_unit: AUnit | None = Field(
        default=None, description="Of a claim that is stated a unit of a distance."
    )
    proved: Proved | None
    proof_stop: ProofStop | None = Field(
        default=None, description="What stopped a proof from the code, where one was tried."
    )
    requires_proof: bool = Field(
        default=False, description="Whether a claim that is not refuted is not enough."
    )
    measured: Measured
    trials: int
    seed: int
    view: str
    relation: str
    pair: str
    data: str
    parameters: dict[str, Any]
    assumptions: list[AssumptionCheck]
    self_checks: list[SelfCheck]
    contract: list[SelfCheck] = Field(
        default=[], description="Checks that outputs were independent: bounds on them assume it."
    )
    budget: list[BudgetEntry]
    delta_curves: DeltaCurves | None = None
    trade_off: TradeOffCurves | None = None
    model_based: list[ModelBased] = Field(default=[])
    wealth: WealthPath | None = None
    scores: ScoreCounts | None = Field(
        default=None, description="Of an event: scores that did not choose it, of either side."
    )
    pair_search: PairSearch | None = None
    carrying_event: CarryingEvent | None = Field(
        default=None, description="Of a bound that the counts of one event carry."
    )
    bin_counts: BinCounts | None = Field(
        default=None, description="Of a bound on a divergence: the counts that carry it."
    )
    witness: Witness | None = Field(default=None, description="Of a refutation from outputs alone.")
    smallest_pair: SmallestPair | None = Field(
        default=None, description="Of a refutation from outputs alone, if one was found."
    )
    law: ReadLaw | None = Field(default=None, description="Read from the code; null if none was.")
    lines: list[CodeLine] = Field(
        default=[], description="Of a refutation from outputs alone: where the code draws noise."
    )
    unvarying: bool = Field(
        default=False, description="Whether no part of the outputs varied at first."
    )
    notes: list[str] = Field(default=[])
    counts: dict[str, int] = Field(default={}, description="Outputs drawn, by purpose.")
    unit: int | None = Field(
        default=None, description="Outputs that one call drew: the unit of seed and of work."
    )
    repeatable: bool = Field(
        default=True,
        description="Whether the seed repeats it: not if a mechanism has randomness of its own.",
    )
    observe: list[str] = Field(
        default=[], description="What counted besides outputs, such as time; of 1.5."
    )
    code: CodeFile | None = Field(
        default=None, description="Of a mechanism of one's own, where a file holds it; of 1.5."
    )
    rerun: str = Field(description="The command that repeats this audit.")
    # Private attributes stand in no document: the certificate has a file of its own, and
    # whether records are held depends on who runs the command.
    _certificate: Certificate | None = PrivateAttr(default=None)
    _holds_records: bool = PrivateAttr(default=False)

    @model_validator(mode="after")
    def _only_certificates_refute(self) -> Result:
        if self.verdict == "refuted" and self.measured.label != "certificate":
            raise ValueError("only a certificate refutes a claim")
        return self

    @property
    def misses_proof(self) -> bool:
        """Whether a proof is asked for, and there is none."""
        return self.requires_proof and (self.verdict == "not refuted" or self.is_accepted)

    @property
    def is_accepted(self) -> bool:
        """Whether it is a refutation that a baseline accepts: its verdict stays as it is."""
        known = self.acceptance
        return self.verdict == "refuted" and known is not None and known.state == "accepted"

    @property
    def certificate(self) -> Certificate | None:
        """The evidence for others to check, for a refutation that was just reached."""
        return self._certificate

    def keep(self, certificate: Certificate | None, *, holds_records: bool) -> Self:
        """Record the files to `save` beside the report, and whether only the user may read them."""
        self._certificate, self._holds_records = certificate, holds_records
        return self

    @property
    def holds_records(self) -> bool:
        """Whether records or outputs may stand in it."""
        return self._holds_records

    @property
    def lower(self) -> float:
        """The certified lower end, in the unit of the claim."""
        return self.measured.lower

    @property
    def upper(self) -> float | None:
        """The certified upper end, if anything rigorous bounds it."""
        return self.measured.upper

    def save(self, directory: str | os.PathLike[str]) -> ReportPaths:
        """Write ``report.json``, ``report.md`` and ``report.html`` into a directory.

        A refutation that was just reached leaves its ``certificate.json`` beside them, for
        ``dpaudit verify``.

        Raises
        ------
        DataError
            The directory or a file in it cannot be written.
        """
        return save_report(self, directory)

    def show(self) -> None:
        """Print the claim, the three numbers and the reason of the verdict."""
        print(self)

    def figure(
        self, path: str | os.PathLike[str] | None = None, *, width: float | None = None
    ) -> NDArray[np.object_]:
        """Return matplotlib axes, shape ``(pictures,)``, with the pictures of the report.

        They are written to ``path`` where one is given, which ends in ``.pdf``, ``.svg`` or
        ``.png``; a PDF holds its fonts. ``width`` is in inches, say 3.3 for one column of two.
        The figure is ``axes[0].figure``; nothing else holds it.

        Raises
        ------
        InvalidArgument, DataError
            The file ends otherwise or cannot be written, or the width is below 2 inches.
        """
        return draw_figure(self, path, width=width)

    def to_latex(self) -> str:
        r"""Return the name, the three numbers and the verdict: a row of five columns in LaTeX."""
        return render_latex(self)

    def __str__(self) -> str:
        return render_text(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {str(self).splitlines()[0]}>"

    def _repr_html_(self) -> str:
        return render_notebook(self)

    @property
    def alpha(self) -> float:
        """The error probability that this result spends: 0 where nothing was left to chance."""
        return math.fsum(entry.alpha for entry in self.budget)


class Report(ReportPart):
    """A report: the results of one command, and the environment that produced them.

    ``confidence`` is that of everything certified in it together: 1 less the sum of ``budget``.
    """

    schema_: int = Field(
        default=SCHEMAS["report"],
        alias="schema",
        ge=1,
        description="Rises when a reader has to know something new; absent before 1.3.",
    )
    schema_version: str = SCHEMA_VERSION
    confidence: Probability | None = Field(
        default=None, description="Of all results together; null in a report of before 1.2."
    )
    budget: list[BudgetEntry] = Field(
        default=[], description="The error probability of the whole report, by result."
    )
    results: list[Result]
    missing: list[str] = Field(
        default=[],
        description="The audits that were asked for and gave no result, or none yet; of 1.3.",
    )
    unmatched: list[str] = Field(
        default=[],
        description="Entries of a baseline that are about none of the audits; of 1.5.",
    )
    environment: Environment


def json_schema(model: type[ReportPart] = Report) -> dict[str, Any]:
    """Return the JSON Schema of a report, or of another document.

    A document whose file is stamped with its schema alone (`dpaudit.formats`) has it there too.

    Examples
    --------
    >>> json_schema()["title"]
    'Report'
    """
    found = model.model_json_schema(schema_generator=_WithInfinities)
    if "schema" not in found["properties"]:
        found["properties"] = {"schema": {"type": "integer", "minimum": 1}, **found["properties"]}
    return found


class _WithInfinities(GenerateJsonSchema):
    """JSON has no infinity: say in the schema how one is written, where one can occur."""

    def float_schema(self, schema: core_schema.FloatSchema) -> JsonSchemaValue:
        number = super().float_schema(schema)
        if "le" in schema:  # a probability
            return number
        return {"anyOf": [number, {"enum": ["Infinity", "-Infinity", "NaN"]}]}
