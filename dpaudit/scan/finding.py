"""The document of a scan: the mechanisms it checked, its findings, and the claims that held.

A finding is a certified refutation of a claim that a package's documentation makes, under the
relation that it claims. The same under a relation that nobody claims is information.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from dpaudit.estimation.joint import joint_lower_bound
from dpaudit.extension.package import PackageClaim
from dpaudit.guarantees import kinds
from dpaudit.report.counts import Probability, ReportPart
from dpaudit.scan.reproduction.values import value_of
from dpaudit.verdicts import Verdict, in_present_words

Kind = Literal["structure", "distribution", "floating point"]
Test = Literal["raised", "equals", "above", "below", "several"]
Found = Annotated[Verdict, BeforeValidator(in_present_words)]


class ClaimedGuarantee(ReportPart):
    """The claim of the documentation about one setting, and its place."""

    words: str = Field(description="The guarantee in words, such as '(1, 0)-DP'.")
    epsilon: float | None = None
    delta: Probability | None = None
    rho: float | None = None
    mu: float | None = None
    order: float | None = None
    relation: str | None = Field(description="As documented; null where it does not say.")
    where: str


def make_claimed_guarantee(claim: PackageClaim, parameters: Mapping[str, Any]) -> ClaimedGuarantee:
    """Return the guarantee of a card's claim at a setting."""
    words, numbers = "", dict[str, float]()
    match claim.guarantee(parameters):
        case kinds.PureDP(at_epsilon=epsilon):
            words, numbers = f"{epsilon:g}-DP", {"epsilon": epsilon, "delta": 0.0}
        case kinds.ApproximateDP(at_epsilon=epsilon, at_delta=delta):
            words, numbers = f"({epsilon:g}, {delta:g})-DP", {"epsilon": epsilon, "delta": delta}
        case kinds.ZeroConcentratedDP(rho=rho):
            words, numbers = f"{rho:g}-zCDP", {"rho": rho}
        case kinds.GaussianDP(mu=mu):
            words, numbers = f"{mu:g}-GDP", {"mu": mu}
        case kinds.RenyiDP(order=order, at_epsilon=epsilon):
            words, numbers = f"({order:g}, {epsilon:g})-RDP", {"order": order, "epsilon": epsilon}
    return ClaimedGuarantee(words=words, relation=claim.relation, where=claim.where, **numbers)


class SeenEvent(ReportPart):
    """An event of outputs, in words and as a test of one part, with its counts on fresh outputs."""

    words: str
    part: str = Field(description="The path of the part that is looked at; empty for several.")
    test: Test
    value: float | str | None = None
    on_dataset: int
    on_neighbour: int
    runs: int


class CarryingCounts(ReportPart):
    """The counts that carry a bound: of one event on fresh outputs, fixed before they were drawn.

    One exact test (`dpaudit.estimation.joint`) of them gives ``lower`` at ``delta`` with the error
    probability ``alpha``; `recomputed` does it again.
    """

    on_dataset: int
    on_neighbour: int
    runs: int = Field(description="Of each dataset.")
    favours: Literal["dataset", "neighbour"]
    delta: Probability
    alpha: Probability
    lower: float
    complement: bool = Field(
        default=False, description="Whether the finding's words are of the complement."
    )

    @classmethod
    def of(
        cls, hits: Sequence[int], runs: int, above: bool, delta: float, alpha: float
    ) -> CarryingCounts:
        """Return the counts of an event with the bound that they carry.

        Parameters
        ----------
        hits
            On the dataset and on its neighbour.
        runs
            Outputs of each.
        above
            Whether the event favours the dataset.
        delta, alpha
            Of the test.
        """
        favoured, other = hits if above else hits[::-1]
        lower = joint_lower_bound(favoured, other, runs, runs, delta=delta, alpha=alpha)
        return cls(
            on_dataset=hits[0],
            on_neighbour=hits[1],
            runs=runs,
            favours="dataset" if above else "neighbour",
            delta=delta,
            alpha=alpha,
            lower=lower,
        )

    def recomputed(self) -> float:
        """Return the bound that the counts carry, worked out again.

        Examples
        --------
        >>> CarryingCounts.of((90, 3), 100, True, 0.0, 1e-3).recomputed() > 1
        True
        """
        hits = (self.on_dataset, self.on_neighbour)
        above = self.favours == "dataset"
        return CarryingCounts.of(hits, self.runs, above, self.delta, self.alpha).lower


class ScanFinding(ReportPart):
    """A claim that was refuted on one pair of datasets.

    ``parameters``, ``dataset`` and ``neighbour`` are Python expressions
    (`dpaudit.scan.reproduction.values`). ``lower`` is certified, in the number of the claim
    (epsilon at ``at_delta``, rho or mu), on outputs that chose nothing; it holds with
    ``confidence`` for all findings of a scan together.
    """

    package: str
    version: str
    subject: str
    code: str = Field(description="The plain function that was run.")
    kind: Kind
    fault: str | None = Field(
        default=None,
        description="The code of its kind of fault; null if its event does not decide one.",
    )
    violation: bool = Field(
        description="Whether the relation is the one that is claimed, or all that are tried are "
        "refuted where the documentation names none."
    )
    parameters: str
    dataset: str
    neighbour: str
    edit: str
    relation: str
    claimed: ClaimedGuarantee
    event: SeenEvent
    tested: CarryingCounts | None = Field(
        default=None, description="The counts that carry the bound; null if they were not kept."
    )
    lower: float
    at_delta: Probability
    confidence: Probability
    trials: int = Field(description="Fresh outputs of each dataset that counted the event.")
    sentence: str
    also: list[str] = Field(
        default=[], description="Settings and relations under which it was refuted as well."
    )
    remedy: str | None = None
    reproduction: str | None = Field(
        default=None, description="A script that needs only the package and shows it again."
    )
    reproduced: str | None = Field(default=None, description="What the script printed.")
    reproduction_event: str | None = Field(
        default=None, description="The event that the script counts, an expression of `out`."
    )

    def values(self) -> tuple[dict[str, Any], Any, Any]:
        """Return parameters, dataset and neighbour as values."""
        return value_of(self.parameters), value_of(self.dataset), value_of(self.neighbour)


class ClaimCheck(ReportPart):
    """One claim of one subject under one relation, over all its settings."""

    subject: str
    relation: str
    claimed: ClaimedGuarantee
    documented: bool = Field(description="Whether the documentation claims this relation.")
    verdict: Found
    settings: int
    pairs: int
    runs: int = Field(description="Outputs that were drawn in all, on both sides.")
    lower: float | None = Field(default=None, description="The largest certified lower end.")
    tested: CarryingCounts | None = Field(default=None, description="The counts that carry it.")
    parameters: str | None = Field(default=None, description="The setting it was certified at.")
    why: str = ""

    @property
    def counts(self) -> bool:
        """Whether it is about a claim: no line that is information alone."""
        return self.documented or self.claimed.relation is None


class FailedSearch(ReportPart):
    """A search for the worst pair that failed: pairs of the card's data alone were looked at."""

    subject: str
    setting: int = Field(description="Which of the subject's, from 0.")
    why: str = Field(description="What the search, or the process that it asks, says.")

    @property
    def words(self) -> str:
        """All of it, in a sentence."""
        return f"{self.subject}: the search for pairs of setting {self.setting} failed: {self.why}"


class FloatingCheck(ReportPart):
    """One corner of numbers of one additive subject under one relation, over all its settings."""

    subject: str
    corner: str
    relation: str
    documented: bool = Field(description="Whether the documentation claims this relation.")
    verdict: Verdict | None = Field(
        description="Null where the subject has no such numbers, or was refuted already."
    )
    settings: int
    runs: int = Field(description="Outputs that were drawn in all, on both sides.")
    lower: float | None = Field(default=None, description="The largest certified lower end.")
    tested: CarryingCounts | None = Field(default=None, description="The counts that carry it.")
    claimed: float | None = Field(default=None, description="The claimed epsilon there.")
    why: str = ""

    @model_validator(mode="before")
    @classmethod
    def _in_present_words(cls, content: Any) -> Any:
        """Read older scans: they say "not run" with a reason, be it time or no such numbers."""
        if not isinstance(content, dict) or content.get("verdict") != "not run":
            return content
        of_time = str(content.get("why", "")).startswith("no time")
        return content | {"verdict": "withheld" if of_time else None}


class PackageEnvironment(ReportPart):
    """The environment in which the package ran."""

    python: str
    isolated: bool
    requirements: list[str]
    versions: dict[str, str] = Field(description="Of what is installed there, by distribution.")


class Certainty(ReportPart):
    """The shares of one error probability among all checks."""

    confidence: Probability
    words: str


class ScanResult(ReportPart):
    """All that a scan of one version of a package did."""

    package: str
    distribution: str
    version: str
    home: str
    date: str
    dpaudit: str
    seed: int
    repeats: bool = Field(description="Whether one seed gives the same digits again.")
    environment: PackageEnvironment
    certainty: Certainty
    seconds: float
    checks: dict[str, int] = Field(description="How many checks were made, by kind.")
    checked: list[ClaimCheck]
    findings: list[ScanFinding]
    information: list[ScanFinding] = Field(
        description="What was refuted under a relation that the documentation does not claim."
    )
    floating: list[FloatingCheck] = Field(
        default=[], description="Corners of numbers, of subjects that publish a value plus noise."
    )
    skipped: dict[str, str] = Field(description="Subjects that could not be run, and why.")
    unreached: list[str] = Field(
        default=[], description="What there was no time for; it tells nothing of what was seen."
    )
    notes: list[str]
    failed_searches: list[FailedSearch] = Field(
        default=[], description="Of settings whose pairs no search looked for."
    )

    @property
    def remarks(self) -> list[str]:
        """The notes on skipped checks, on failures, and on anything else, as lines."""
        return [*self.unreached, *(one.words for one in self.failed_searches), *self.notes]

    @property
    def withheld(self) -> dict[str, str]:
        """Subjects of which a claim has no verdict, and why."""
        return withheld_subjects(self.checked, self.floating, self.skipped)

    @property
    def verdicts(self) -> list[Verdict]:
        """The verdicts that decide the exit status: of every finding and every withheld subject."""
        found: list[Verdict] = ["refuted" for _ in self.findings]
        return found + ["withheld" for _ in self.withheld]


def withheld_subjects(
    checked: Sequence[ClaimCheck], floating: Sequence[FloatingCheck], skipped: Mapping[str, str]
) -> dict[str, str]:
    """Return the subjects of which a claim has no verdict, and why.

    Where the documentation names no relation, a claim has one as soon as it stands under one that
    was tried.
    """
    found = dict[str, str]()
    for subject, lines in _by_claim(checked).items():
        for of_claim in lines:
            if all(one.verdict in ("refuted", "withheld", None) for one in of_claim):
                why = [one.why for one in of_claim if one.verdict == "withheld"]
                found |= {subject: why[0]} if why and subject not in found else {}
    # A subject that could not be run at all has the last word: nothing else that is said of it
    # rests on outputs.
    return _withheld_of_numbers(floating) | found | dict(skipped)


def _withheld_of_numbers(floating: Sequence[FloatingCheck]) -> dict[str, str]:
    """Return subjects of which the verdict on a corner of numbers is withheld, and why."""
    claimed = {one.subject for one in floating if one.documented}
    return {
        one.subject: one.why
        for one in floating
        if one.verdict == "withheld" and (one.documented or one.subject not in claimed)
    }


def _by_claim(checked: Sequence[ClaimCheck]) -> dict[str, list[list[ClaimCheck]]]:
    """Return, by subject, the lines about claims: of each claim one a relation."""
    numbers, found = Counter[tuple[str, str]](), dict[str, dict[int, list[ClaimCheck]]]()
    for one in checked:
        # A card's claims have no names of their own. The lines of one relation come in the
        # order of the claims, so that equal places belong to one claim.
        place = numbers[one.subject, one.relation]
        numbers[one.subject, one.relation] += 1
        of_subject = found.setdefault(one.subject, {})
        if one.counts:
            of_subject.setdefault(place, []).append(one)
    return {subject: list(claims.values()) for subject, claims in found.items()}
