"""The report of a proof as plain values: text, tables, JSON, and the part that audits use."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import ROUND_CEILING
from pathlib import Path
from typing import Any

from dpaudit.faults.catalogue import fault_line
from dpaudit.files import prepare_directory, write_files
from dpaudit.formats import add_schema, to_json
from dpaudit.guarantees.kinds import (
    ApproximateDP,
    GaussianDP,
    Guarantee,
    PureDP,
    ZeroConcentratedDP,
)
from dpaudit.notebook import render_notebook_table as html_table
from dpaudit.notebook import render_piece
from dpaudit.proving.events.composition import PathCost
from dpaudit.proving.events.releases import ReleaseCost
from dpaudit.proving.refusals import ProofRefusal
from dpaudit.report.formatting import format_significant
from dpaudit.verdicts import RELATIVE_ROUNDING, STATUSES, Verdict

COLUMNS = ("line", "release", "times", "epsilon", "mu")
_DIGITS = 8


@dataclass(frozen=True)
class ReleaseLine:
    """The releases of one line of the source by one mechanism.

    Parameters
    ----------
    place, mechanism
        The line, and what it is: "Laplace", "Gaussian", "noisy argmax", ...
    count
        How many releases there are.
    epsilon, mu, rho
        What they cost together; infinite where there is no such number.
    """

    place: str
    mechanism: str
    count: int
    epsilon: float
    mu: float
    rho: float

    @classmethod
    def of(cls, releases: Sequence[ReleaseCost]) -> ReleaseLine:
        """Return the line of releases of one place and one mechanism."""
        first = releases[0]
        return cls(
            first.place,
            first.mechanism,
            len(releases),
            math.fsum(one.epsilon for one in releases),
            math.hypot(*(one.mu for one in releases)),
            math.fsum(one.rho for one in releases),
        )


def lines_of(path: PathCost) -> tuple[ReleaseLine, ...]:
    """Return the releases of a path by line of the source, in the order of the first of each."""
    found = dict[tuple[str, str], list[ReleaseCost]]()
    for one in path.releases:
        found.setdefault((one.place, one.mechanism), []).append(one)
    return tuple(map(ReleaseLine.of, found.values()))


@dataclass(frozen=True)
class ProofNumbers:
    """The guarantee of a function in each of the numbers that a claim may use.

    Parameters
    ----------
    epsilon, delta
        The epsilon at the delta of the claim.
    pure
        Epsilon at delta 0; infinite where there is none.
    mu, rho
        Of Gaussian and of zero-concentrated differential privacy; infinite where none is proved.
    """

    epsilon: float
    delta: float
    pure: float
    mu: float
    rho: float

    def guarantee_for(self, claim: Guarantee | None) -> Guarantee | None:
        """Return the guarantee that says most about a claim; None where nothing is finite."""
        match claim:
            case GaussianDP() if math.isfinite(self.mu):
                return GaussianDP(self.mu)
            case ZeroConcentratedDP() if math.isfinite(self.rho):
                return ZeroConcentratedDP(self.rho)
        return min(self._guarantees(), key=lambda one: one.epsilon(self.delta), default=None)

    def _guarantees(self) -> Iterator[Guarantee]:
        if math.isfinite(self.pure):
            yield PureDP(self.pure)
        if math.isfinite(self.mu):
            yield GaussianDP(self.mu)
        if math.isfinite(self.epsilon):
            yield ApproximateDP(self.epsilon, self.delta)
        if math.isfinite(self.rho):
            yield ZeroConcentratedDP(self.rho)

    def of(self, claim: Guarantee) -> float:
        """Return the number that a claim is about."""
        match claim:
            case GaussianDP():
                return self.mu
            case ZeroConcentratedDP():
                return self.rho
            case ApproximateDP() | PureDP():
                return self.epsilon
        return math.inf


@dataclass(frozen=True, kw_only=True)
class CodeProof:
    """Whether a claim is proved of a function, from its code.

    Parameters
    ----------
    name
        Of the function.
    claim
        What is claimed of it; None where nobody claims anything.
    relation, records
        Which datasets are neighbours, and the fewest and the most records; None for any number.
    numbers
        What is proved; None where nothing is.
    lines
        The releases, by line of the source: those of the path that spends most.
    refusal
        Where the proof stopped, why, and what would help.
    paths
        How many ways the function goes on noisy values.
    compared
        How many calls on plain datasets gave what the program gives that was read.
    certificate
        What others can check again; None where there is none.
    uncertified
        Why there is none.

    Notes
    -----
    Formal guarantee: where ``numbers`` is given, the function keeps them for all neighbours of the
    domain, over the real numbers; rounding is to the disadvantage of the claim.
    """

    name: str
    relation: str
    records: tuple[int, int] | None = None
    claim: Guarantee | None = None
    numbers: ProofNumbers | None = None
    lines: tuple[ReleaseLine, ...] = ()
    refusal: ProofRefusal | None = None
    paths: int = 1
    compared: int = 0
    certificate: Mapping[str, Any] | None = None
    uncertified: str = ""

    @property
    def verdict(self) -> Verdict:
        """``proved``, or ``withheld``: a proof that fails says nothing about a claim."""
        return "proved" if self.is_proved else "withheld"

    @property
    def is_proved(self) -> bool:
        """Whether the claim is proved; without a claim, whether anything is."""
        if self.numbers is None:
            return False
        if self.claim is None:
            return math.isfinite(self.numbers.epsilon)
        return self.numbers.of(self.claim) <= _get_guarantee_number(self.claim) * (
            1 + RELATIVE_ROUNDING
        )

    @property
    def status(self) -> int:
        """The exit status: 0 of a proved bound, else 2."""
        return STATUSES[self.verdict]

    @property
    def guarantee(self) -> Guarantee | None:
        """The proved guarantee: the claim itself if only rounding separates the two."""
        if self.numbers is None:
            return None
        beyond = self.claim is not None and self.numbers.of(self.claim) > _get_guarantee_number(
            self.claim
        )
        return self.claim if beyond and self.is_proved else self.numbers.guarantee_for(self.claim)

    @property
    def certified_claim(self) -> Guarantee | None:
        """The guarantee that the certificate shows alone; weaker if its checker follows less."""
        return (
            None if self.certificate is None else _claim_of(self.certificate["instance"]["claim"])
        )

    # --- showing -----------------------------------------------------------------------------

    def sentences(self) -> Iterator[str]:
        """Yield the proved guarantee, or the line that stopped the proof."""
        yield f"{self.name}: {self._headline()}"
        if self.numbers is not None:
            yield f"{self.of_whom} {self._format_confirmation()}"
        if self.certified_claim not in (None, self.claim) and self.is_proved and self.claim:
            shown = _format_guarantee(self.certified_claim or self.claim)
            yield f"The certificate shows only {shown}: its checker has fewer rules than the proof."
        if self.refusal is not None and self.refusal.fault is not None:
            yield fault_line(self.refusal.fault)

    @property
    def of_whom(self) -> str:
        """The neighbours of the proof, in a sentence."""
        return f"For all neighbours in the domain ({self.relation}), datasets {self._size()}."

    def _size(self) -> str:
        if self.records is None:
            return "of any size"
        low, high = self.records
        if low == high:
            return "of 1 record" if low == 1 else f"of {low} records"
        return f"of {low} to {high} records"

    def _format_confirmation(self) -> str:
        ways = f"{self.paths} paths were" if self.paths > 1 else "One call was"
        return f"{ways} read; {self.compared} calls on plain data confirm it."

    def _headline(self) -> str:
        if self.refusal is not None:
            return f"not proved, because of {self.refusal}"
        if self.claim is None:
            return f"proved: {self._proved()}"
        claimed = _format_guarantee(self.claim)
        if self.is_proved:
            proved = self._proved()
            return f"proved: the function is {claimed}. {proved[0].upper()}{proved[1:]}."
        return f"not proved: the claim is {claimed}, but the proof gives only {self._proved()}."

    def _proved(self) -> str:
        assert self.numbers is not None
        given = self.numbers
        epsilon = f"epsilon {_format_proof_number(given.epsilon)} at delta {given.delta:g}"
        more = [
            f"{name} {_format_proof_number(value)}"
            for name, value in (("mu", given.mu), ("rho", given.rho))
            if math.isfinite(value)
        ]
        return ", ".join([epsilon, *more])

    def rows(self) -> Iterator[tuple[str, ...]]:
        """Yield the cells of a table of releases, under `COLUMNS`."""
        for one in self.lines:
            cost = (_format_proof_number(one.epsilon), _format_proof_number(one.mu))
            yield (one.place, one.mechanism, str(one.count), *cost)

    def text(self) -> str:
        """Return all of it as text."""
        rows = [COLUMNS, *self.rows()] if self.lines else []
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        table = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
        return "\n".join([*self.sentences(), *table])

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        title, *others = self.sentences()
        parts = [html_table("Releases", COLUMNS, self.rows())] if self.lines else []
        return render_piece(title, others, *parts)

    # --- files -------------------------------------------------------------------------------

    def document(self) -> dict[str, Any]:
        """Return all of it as plain JSON values; infinite numbers are the string "Infinity"."""
        found = {
            "function": self.name,
            "verdict": self.verdict,
            "claim": None if self.claim is None else _document_of(self.claim),
            "relation": self.relation,
            "records": self.records,
            "numbers": None if self.numbers is None else asdict(self.numbers),
            "releases": [asdict(one) for one in self.lines],
            "refusal": None if self.refusal is None else asdict(self.refusal),
            "paths": self.paths,
            "compared": self.compared,
            "uncertified": self.uncertified,
        }
        return add_schema("code-proof", to_json(found, non_finite="Infinity"))

    @classmethod
    def from_document(
        cls, found: Mapping[str, Any], certificate: Mapping[str, Any] | None
    ) -> CodeProof:
        """Return the proof of a document, with its certificate."""
        given = _numbers_of(found)
        refusal, numbers, claim = given["refusal"], given["numbers"], given["claim"]
        return cls(
            name=given["function"],
            relation=given["relation"],
            records=None if given["records"] is None else tuple(given["records"]),
            claim=None if claim is None else _claim_of(claim),
            numbers=None if numbers is None else ProofNumbers(**numbers),
            lines=tuple(ReleaseLine(**one) for one in given["releases"]),
            refusal=None if refusal is None else ProofRefusal(**refusal),
            paths=given["paths"],
            compared=given["compared"],
            certificate=certificate,
            uncertified=given["uncertified"],
        )

    def save(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write report and certificate into a folder, and return the files.

        ``dpaudit verify`` checks the certificate again.

        Raises
        ------
        DataError
            The folder or a file in it cannot be written.
        """
        prepare_directory(folder)
        at = Path(folder)
        texts = {at / "report.json": json.dumps(self.document(), indent=2)}
        if self.certificate is not None:
            texts[at / "certificate.json"] = json.dumps(self.certificate, indent=1)
        contents = {path: f"{text}\n".encode() for path, text in texts.items()}
        write_files(at, contents)
        return list(contents)


def _get_guarantee_number(claim: Guarantee) -> float:
    """Return the number that a claim is about."""
    match claim:
        case GaussianDP(mu=value) | ZeroConcentratedDP(rho=value):
            return value
        case ApproximateDP(at_epsilon=value) | PureDP(at_epsilon=value):
            return value
    raise TypeError(claim)


def delta_of(claim: Guarantee | None) -> float:
    """Return the delta of a claim."""
    return claim.at_delta if isinstance(claim, ApproximateDP) else 0.0


def _format_guarantee(claim: Guarantee) -> str:
    match claim:
        case GaussianDP(mu=value):
            return f"{value:g}-Gaussian DP"
        case ZeroConcentratedDP(rho=value):
            return f"{value:g}-zero-concentrated DP"
    return f"({_get_guarantee_number(claim):g}, {delta_of(claim):g})-DP"


def _document_of(claim: Guarantee) -> dict[str, float]:
    match claim:
        case GaussianDP(mu=value):
            return {"mu": value}
        case ZeroConcentratedDP(rho=value):
            return {"rho": value}
    return {"epsilon": _get_guarantee_number(claim), "delta": delta_of(claim)}


def _claim_of(found: Mapping[str, float]) -> Guarantee:
    match found:
        case {"mu": value}:
            return GaussianDP(value)
        case {"rho": value}:
            return ZeroConcentratedDP(value)
    return ApproximateDP(found["epsilon"], found["delta"])


def _format_proof_number(value: float) -> str:
    return format_significant(value, _DIGITS, ROUND_CEILING)


def _numbers_of(value: Any) -> Any:
    """Return a value with its infinite numbers again."""
    if isinstance(value, Mapping):
        return {name: _numbers_of(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_numbers_of(one) for one in value]
    return math.inf if value == "Infinity" else value
