"""The certificate that lies beside a report, checked again, and whether it is of this report."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from dpaudit.errors import DataError, DpauditError
from dpaudit.escaping import one_line
from dpaudit.verification import Document, Reader, read, verify

State = Literal["verified", "reserved", "fails", "not checked", "none"]
_OF_CODE = ("mechanism", "replay")  # kinds that are drawn again by whoever has the code
_OF_ONE_DATASET = ("property",)  # kinds that have no neighbours
_OF_COUNTS = ("attack-table", "outputs")
_AGREEMENT = 1e-6
_NO_MORE = 1 + _AGREEMENT  # a report may state less than its certificate


@dataclass(frozen=True)
class CertificateCheck:
    """The state of one result's certificate.

    Parameters
    ----------
    state
        ``verified``, ``reserved`` where its numbers stand for another claim than the published one,
        ``fails``, ``not checked``, or ``none`` where there is no certificate.
    why
        What failed, what is reserved, or what is missing.
    ratio
        Of one that was checked: what it certifies over what is claimed.
    """

    state: State
    why: str = ""
    ratio: float | None = None

    @property
    def stands(self) -> bool:
        """Whether its numbers were checked and hold, of this code or of one that only it names."""
        return self.state in ("verified", "reserved")

    @property
    def shows(self) -> bool:
        """Whether the number of the report may be called shown."""
        return self.state == "verified"


NO_CERTIFICATE = CertificateCheck("none")


@dataclass(frozen=True, kw_only=True)
class ProofSubject:
    """The subject of a proof in its report: function, neighbours and datasets."""

    function: str
    relation: str
    records: tuple[int, int] | None


@dataclass(frozen=True, kw_only=True)
class ReportStatement:
    """The statements of a report that its certificate has to repeat; None if it does not.

    ``number`` is the claimed one, which ``lower`` is divided by for the ratio of a certificate, and
    ``files`` are the digests of the files of outputs that the report is about.
    """

    claim: str
    lower: float | None
    number: float | None = None
    sha256: str | None = None
    claimed: Mapping[str, Any] | None = None
    relation: str | None = None
    proves: ProofSubject | None = None
    files: Sequence[str] | None = None


def certificates_of(folder: Path) -> list[Document] | CertificateCheck:
    """Return the certificates that lie in a folder, or why they cannot be read."""
    file = folder / "certificate.json"
    if not file.exists():
        return []
    try:
        return list(read(file))
    except DpauditError as error:
        return CertificateCheck("fails", one_line(str(error)))


def assign_certificates(
    stated: Sequence[ReportStatement], found: list[Document] | CertificateCheck
) -> list[Document | CertificateCheck]:
    """Return the certificate of each refutation of a report; none has two, and each stands once.

    One with the very number of a result is that result's. The others are in the order of the
    results where there are as many of them as of results without one, and else nobody's.
    """
    if isinstance(found, CertificateCheck):
        return [found] * len(stated)
    left = list(found)
    given: dict[int, Document] = {}
    for place, one in enumerate(stated):
        fitting = [doc for doc in left if doc.claim == one.claim and _has_stated_number(doc, one)]
        if fitting:
            given[place] = fitting[0]
            left.remove(fitting[0])
    for claim in {one.claim for one in stated}:
        others = [doc for doc in left if doc.claim == claim]
        bare = [p for p, one in enumerate(stated) if one.claim == claim and p not in given]
        # Where the numbers differ, nobody can say which certificate is whose, and a wrong pair
        # could show a result that nothing stands behind.
        given |= dict(zip(bare, others, strict=True)) if len(others) == len(bare) else {}
    return [given.get(place, NO_CERTIFICATE) for place in range(len(stated))]


def check_stated(
    stated: ReportStatement, found: Document | CertificateCheck, reader: Reader
) -> CertificateCheck:
    """Return the check of a result's certificate.

    One that states another number that was drawn, another claim or other code than the report
    fails, whatever it is worth by itself.
    """
    if isinstance(found, CertificateCheck):
        return found
    for disagreement in _find_report_disagreements(found, stated):
        return CertificateCheck("fails", disagreement)
    return check_document(found, reader)


def check_document(document: Document, reader: Reader) -> CertificateCheck:
    """Return the check of one certificate."""
    # Nothing that a certificate names is imported, so that only a reader who names the code can
    # check it.
    if document.kind in _OF_CODE and reader.mechanism is None:
        return CertificateCheck(
            "not checked", "nobody named the code (--mechanism, --command or --url)"
        )
    try:
        verdict = verify(document, _with_files_of(document, reader))
    except DpauditError as error:
        # An error means that the check could not be made, which is not a certificate that fails.
        return CertificateCheck("not checked", one_line(str(error)))
    if not verdict.verified:
        return CertificateCheck("fails", one_line(verdict.failures[0]))
    if verdict.reservations:
        return CertificateCheck(
            "reserved", one_line("; ".join(verdict.reservations)), verdict.ratio
        )
    return CertificateCheck("verified", ratio=verdict.ratio)


def _with_files_of(document: Document, reader: Reader) -> Reader:
    """Return the reader with those of its files of outputs that a certificate is of, in its order.

    Where some are missing, all stay: they are not those of the certificate, which then fails.
    """
    digests = document.instance.get("sha256")
    if document.kind != "outputs":
        return replace(reader, outputs=())
    if not reader.outputs or not isinstance(digests, list):
        return reader
    files = {_compute_file_sha256(Path(one)): one for one in reader.outputs}
    if not all(isinstance(one, str) and one in files for one in digests):
        return reader
    return replace(reader, outputs=[files[one] for one in digests])


def _compute_file_sha256(file: Path) -> str:
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError as error:
        raise DataError(f"{file}: cannot be read ({error.strerror or 'damaged'})") from None


def _has_stated_number(document: Document, stated: ReportStatement) -> bool:
    """Return whether a certificate has the very number of a report, itself or over the claim."""
    quantities, number = document.quantities, stated.number
    value = quantities.get("value")
    if value is None and number is not None and 0 < number < math.inf:
        value = quantities.get("ratio", math.nan) * number
    return value is not None and stated.lower is not None and _are_close(value, stated.lower)


def _are_close(value: float, lower: float) -> bool:
    return math.isclose(value, lower, rel_tol=_AGREEMENT, abs_tol=_AGREEMENT)


def _find_report_disagreements(document: Document, stated: ReportStatement) -> Iterable[str]:
    """Yield the statements of a certificate that differ from its report."""
    value = document.quantities.get("value")
    if stated.lower is not None and value is not None and stated.lower > value * _NO_MORE:
        yield f"it states {value:.6g}, and the report {stated.lower:.6g}"
    code = document.instance.get("mechanism")
    if isinstance(code, Mapping) and stated.sha256 not in (None, code.get("sha256")):
        yield "it is for other code than the report"
    if stated.files is not None and list(stated.files) != document.instance.get("sha256"):
        yield "it is for other files of outputs than the report"
    claimed = _get_claimed_numbers(document)
    if isinstance(claimed, Mapping) and stated.claimed is not None:
        if _numbers_in(claimed) != _numbers_in(stated.claimed):
            yield "it is for another claim than the report"
    if stated.relation not in (None, document.relation) and document.kind not in _OF_ONE_DATASET:
        yield "it is for other neighbours than the report"
    if stated.proves is not None:
        yield from _find_proof_differences(document, stated.proves)


def _numbers_in(claim: Mapping[str, Any]) -> dict[str, Any]:
    """Return a claim without a delta of 0, which some state and others leave out."""
    return {name: value for name, value in claim.items() if (name, value or 0) != ("delta", 0)}


def _find_proof_differences(document: Document, program: ProofSubject) -> Iterable[str]:
    """Yield the subjects of a proof's certificate that its report does not have."""
    code, universe = document.instance.get("mechanism"), document.instance.get("universe")
    reference = code.get("reference") if isinstance(code, Mapping) else None
    if reference is not None and _last_name(str(reference)) != _last_name(program.function):
        yield f"it is for {one_line(str(reference))}, and the report is about another function"
    stated = universe if isinstance(universe, Mapping) else {}
    if stated.get("relation") != program.relation:
        yield "it is for other neighbours than the report"
    if program.records is not None and stated.get("records") not in program.records:
        yield "it is for datasets of another size than the report"


def _last_name(reference: str) -> str:
    return reference.rpartition(":")[2].rpartition(".")[2]


def _get_claimed_numbers(document: Document) -> Any:
    """Return the claim in a certificate: of counts its parameters, else of its instance."""
    if document.kind in _OF_COUNTS:
        return {name: document.parameters.get(name) for name in ("epsilon", "delta")}
    return document.instance.get("claimed", document.instance.get("claim"))
