"""Subjects of a sheet: facts from the fields of reports of any command."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR
from pathlib import Path
from typing import Any

from dpaudit.errors import DataError
from dpaudit.escaping import one_line
from dpaudit.formats import read_json
from dpaudit.guarantees.guarantee import Guarantee
from dpaudit.guarantees.kinds import ApproximateDP, GaussianDP
from dpaudit.report.acceptance import Acceptance
from dpaudit.report.document import read_report
from dpaudit.report.formatting import (
    format_result_label,
    format_significant,
    make_shown_numbers,
    value_of,
)
from dpaudit.report.schema import Report, Result
from dpaudit.sheet.certificates import (
    NO_CERTIFICATE,
    CertificateCheck,
    ProofSubject,
    ReportStatement,
    assign_certificates,
    certificates_of,
    check_stated,
)
from dpaudit.verdicts import Verdict, choose_gravest_verdict
from dpaudit.verification import Document, Reader
from dpaudit.verification.outputs import CLAIM as OUTPUTS


@dataclass(frozen=True, kw_only=True)
class SheetSubject:
    """One result of a report: the facts that a sheet rests on.

    Parameters
    ----------
    name, command
        What it is called, and the command whose report it is.
    verdict
        None where nothing is judged, as of an account.
    claimed, measured, proved
        The three numbers as a report shows them; empty where there is none.
    guarantee
        The claim, where it limits an attacker's success.
    epsilon, delta
        The claim, where sums of it mean something.
    claimed_by, proved_by
        Who states the claim, and what the proof rests on.
    relation, view, pair
        What neighbours are, what is seen, and what was audited.
    outputs, certain
        How many outputs were drawn, and at which confidence.
    certificate
        What became of it.
    from_code
        Whether what is proved is proved from the code itself.
    """

    name: str
    command: str
    file: Path
    digest: str
    verdict: Verdict | None
    claimed: str = ""
    measured: str = ""
    proved: str = ""
    guarantee: Guarantee | None = None
    epsilon: float | None = None
    delta: float | None = None
    claimed_by: str = ""
    proved_by: str = ""
    relation: str = ""
    view: str = ""
    about: str | None = None
    outputs: int | None = None
    certificate: CertificateCheck = NO_CERTIFICATE
    from_code: bool = False
    checks: tuple[int, int] = (0, 0)
    observed: Sequence[str] = ()
    numbers_tried: int | None = None
    success: float | None = None
    code: str | None = None
    sha256: str | None = None
    version: str | None = None
    created: str | None = None
    acceptance: Acceptance | None = None
    missing: Sequence[str] = field(default=())


_NAMES = ("report.json", "replay.json", "scan.json", "canary.json")


def read_subjects(given: str | Path, reader: Reader) -> list[SheetSubject]:
    """Return the results of a report: a file, or the folder that a command wrote.

    Raises
    ------
    DataError
        There is no report there, or it is none that a sheet can be made of.
    """
    file = _file_of(Path(given))
    content = file.read_bytes() if file.is_file() else b""
    # The digest is of the bytes that are read here: a second reading could be of another file.
    digest = hashlib.sha256(content).hexdigest()
    try:
        document = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError):
        raise DataError(f"{one_line(str(file))}: is no report: not JSON") from None
    fields = document.keys() if isinstance(document, dict) else ()
    known = dict.fromkeys(fields)
    for needed, make in _READERS:
        if known.keys() >= needed:
            try:
                return make(file, digest, document, reader)
            # A report is a file that somebody may have edited; whatever it lacks is an error
            # that names it.
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                what = type(error).__name__
                raise DataError(f"{one_line(str(file))}: is a damaged report ({what})") from error
    expected = "a report of audit, canary, table, replay, prove, account or scan"
    raise DataError(f"{one_line(str(file))}: is no such report, expected {expected}")


def _file_of(given: Path) -> Path:
    if given.is_file():
        return given
    if not given.is_dir():
        raise DataError(f"{one_line(str(given))}: no such file or folder, expected a report")
    found = [given / name for name in _NAMES if (given / name).is_file()]
    found += sorted(given.glob("account-*.json"))
    if len(found) != 1:
        what = "holds no report" if not found else "holds several reports: name one"
        raise DataError(f"{one_line(str(given))}: {what}")
    return found[0]


# Reports of audits


def _of_report(file: Path, digest: str, document: Any, reader: Reader) -> list[SheetSubject]:
    report = read_report(file)
    if not report.results:
        raise DataError(f"{one_line(str(file))}: a report without a result")
    refuted = [one for one in report.results if one.verdict == "refuted"]
    stated = list(map(_make_stated_result, refuted))
    found = assign_certificates(stated, certificates_of(file.parent))
    checked = [check_stated(*each, reader) for each in zip(stated, found, strict=True)]
    waiting = iter(checked)
    return [
        _of_result(
            one, report, file, digest, next(waiting) if one.verdict == "refuted" else NO_CERTIFICATE
        )
        for one in report.results
    ]


def _of_result(
    result: Result,
    report: Report,
    file: Path,
    digest: str,
    certificate: CertificateCheck,
) -> SheetSubject:
    shown, point = make_shown_numbers(result), result.claimed
    states = value_of(point, result.kind) is not None
    by_epsilon = result.kind == "privacy" and result.quantity is None and states
    checks = [*result.contract, *result.self_checks]
    # A confidence of 1 is that of a search, which evaluates instances and draws nothing.
    drawn = result.measured.confidence < 1
    return SheetSubject(
        name=format_result_label(result),
        command="audit",
        file=file,
        digest=digest,
        verdict=result.verdict,
        claimed=_format_stated_value(shown.sign, shown.claimed, shown.claimed_delta)
        if states
        else "",
        measured="" if result.verdict == "withheld" else f"{shown.measured} {shown.surety}",
        proved=""
        if result.proved is None
        else _format_stated_value(shown.sign, shown.proved, shown.proved_delta),
        guarantee=_make_attacker_guarantee(result) if states else None,
        epsilon=point.epsilon if by_epsilon else None,
        delta=point.delta if by_epsilon else None,
        claimed_by=one_line(result.source),
        proved_by="" if result.proved is None else one_line(result.proved.source),
        relation=one_line(result.relation),
        view=one_line(result.view),
        about=_get_about_line(result.parameters),
        outputs=result.trials if drawn and result.verdict != "withheld" else None,
        certificate=certificate,
        checks=(sum(one.passed for one in checks), len(checks)),
        observed=tuple(map(one_line, result.observe)),
        success=None if result.witness is None else result.witness.success,
        code=None if result.code is None else one_line(result.code.reference),
        sha256=None if result.code is None else result.code.sha256,
        version=one_line(report.environment.dpaudit),
        created=one_line(report.environment.created),
        acceptance=result.acceptance,
        missing=tuple(map(one_line, report.missing)),
    )


def _make_stated_result(result: Result) -> ReportStatement:
    """Return the statements that the certificate of a refutation has to repeat."""
    point = {"epsilon": result.claimed.epsilon, "delta": result.claimed.delta}
    files = _files_of_outputs(result)
    return ReportStatement(
        claim=result.claim if files is None else OUTPUTS,
        lower=result.measured.lower,
        number=value_of(result.claimed, result.kind),
        sha256=None if result.code is None else result.code.sha256,
        claimed=None if point["epsilon"] is None else point,
        relation=one_line(result.relation),
        files=files,
    )


def _files_of_outputs(result: Result) -> Sequence[str] | None:
    """Return the digests of the files that hold the outputs of a result; None where it has none."""
    digests = result.parameters.get("sha256")
    return digests if "outputs" in result.parameters and isinstance(digests, list) else None


def _get_about_line(parameters: Mapping[str, Any]) -> str | None:
    about = parameters.get("about")
    return one_line(about) if isinstance(about, str) and one_line(about) else None


def _format_stated_value(sign: str, value: str, delta: str | None) -> str:
    return f"{sign} {value}" + ("" if delta is None else f" at δ = {delta}")


def _make_attacker_guarantee(result: Result) -> Guarantee | None:
    """Return the claim as a limit on an attacker, where it is one."""
    if result.kind != "privacy":
        return None
    point = result.claimed
    if result.quantity is None and point.epsilon is not None and math.isfinite(point.epsilon):
        return ApproximateDP(point.epsilon, point.delta or 0.0)
    if result.quantity in ("μ", "mu") and point.value is not None:
        return GaussianDP(point.value)
    return None


# Other reports


def _of_replay(file: Path, digest: str, document: Any, reader: Reader) -> list[SheetSubject]:
    read_json(file, "replay")
    claimed = document["claimed"]
    epsilon, delta = float(claimed["epsilon"]), float(claimed["delta"])
    proofs = [one["epsilon"] for one in document["findings"] if one["tier"] == "proof"]
    most = max((float(one) for one in proofs if one is not None), default=None)
    beside = certificates_of(file.parent)
    checked = NO_CERTIFICATE
    if document["verdict"] == "refuted":
        stated = {"epsilon": epsilon, "delta": delta}
        checked = _as_replayed(beside, stated, str(document["relation"]), most, reader)
    return [
        SheetSubject(
            name=one_line(str(document["mechanism"])),
            command="replay",
            file=file,
            digest=digest,
            verdict=_require_known_verdict(document["verdict"]),
            claimed=_format_stated_value(
                "ε =", format_significant(epsilon), format_significant(delta)
            ),
            measured=""
            if most is None
            else f"at least {_format_rounded_floor(most)}, by a replay of one pair",
            guarantee=ApproximateDP(epsilon, delta),
            epsilon=epsilon,
            delta=delta,
            claimed_by="whoever ran the replay",
            relation=one_line(str(document["relation"])),
            certificate=checked,
            code=one_line(str(document["mechanism"])),
        )
    ]


def _as_replayed(
    beside: list[Document] | CertificateCheck,
    claimed: Mapping[str, float],
    relation: str,
    most: float | None,
    reader: Reader,
) -> CertificateCheck:
    """Return the check of a replay's certificate that proves at least ``most``."""
    if isinstance(beside, CertificateCheck) or not beside:
        return beside if isinstance(beside, CertificateCheck) else NO_CERTIFICATE
    stated = ReportStatement(claim=beside[0].claim, lower=None, claimed=claimed, relation=relation)
    found = check_stated(stated, beside[0], reader)
    proved = None if found.ratio is None else found.ratio * claimed["epsilon"]
    if proved is not None and most is not None and most > proved * _ROUNDED:
        return CertificateCheck(
            "fails",
            f"it proves {_format_rounded_floor(proved)}, and the report says "
            f"{_format_rounded_floor(most)}",
        )
    return found


_ROUNDED = 1.001  # a report of a replay has four digits


def _of_proof(file: Path, digest: str, document: Any, reader: Reader) -> list[SheetSubject]:
    read_json(file, "code-proof")
    claim = document["claim"]
    beside = certificates_of(file.parent)
    stated = ReportStatement(claim="proof", lower=None, claimed=claim, proves=_program_of(document))
    [found] = assign_certificates([stated], beside)
    checked = check_stated(stated, found, reader)
    code = None
    if not isinstance(beside, CertificateCheck) and beside:
        named = beside[0].instance.get("mechanism")
        code = named if isinstance(named, Mapping) else None
    proved = document["verdict"] == "proved"
    point = _get_finite_point(claim)
    stated_claim = ", ".join(f"{name} = {value}" for name, value in claim.items())
    return [
        SheetSubject(
            name=one_line(str(document["function"])),
            command="prove",
            file=file,
            digest=digest,
            verdict="proved" if proved else "not refuted",
            claimed=one_line(stated_claim),
            proved=_at_most(*point) if proved and point is not None else "",
            guarantee=None if point is None else ApproximateDP(*point),
            epsilon=None if point is None else point[0],
            delta=None if point is None else point[1],
            claimed_by="whoever ran the proof",
            proved_by="its code, for all datasets of the domain",
            relation=one_line(str(document["relation"])),
            certificate=checked if proved else NO_CERTIFICATE,
            from_code=proved,
            code=None if code is None else one_line(str(code.get("reference"))),
            sha256=None if code is None else one_line(str(code.get("sha256"))),
        )
    ]


def _program_of(document: Mapping[str, Any]) -> ProofSubject:
    records = document["records"]
    return ProofSubject(
        function=str(document["function"]),
        relation=str(document["relation"]),
        records=None if records is None else (int(records[0]), int(records[1])),
    )


def _of_account(file: Path, digest: str, document: Any, reader: Reader) -> list[SheetSubject]:
    read_json(file, "account")
    proved = document["proved"]
    point = None if proved is None else _get_finite_point({"epsilon": proved["upper"], **document})
    return [
        SheetSubject(
            name=one_line(str(document["name"])),
            command="account",
            file=file,
            digest=digest,
            verdict=None,
            proved="" if point is None else _at_most(*point),
            guarantee=None if point is None else ApproximateDP(*point),
            epsilon=None if point is None else point[0],
            delta=None if point is None else point[1],
            proved_by="" if proved is None else one_line(str(proved["source"])),
            relation=one_line(str(document["relation"])),
        )
    ]


def _of_scan(file: Path, digest: str, document: Any, reader: Reader) -> list[SheetSubject]:
    from dpaudit.scan.finding import ScanResult

    read_json(file, "scan")
    body = {name: one for name, one in document.items() if name != "schema"}
    found = ScanResult.model_validate(body)
    judged = list(found.verdicts)
    # The verdicts of a scan name only what decides its exit status; what held is added, or a
    # scan without a finding would have none at all.
    judged += [one.verdict for one in found.checked if one.verdict in ("not refuted", "proved")]
    subjects = {one.subject for one in found.checked}
    refuted = {one.subject for one in found.findings}
    return [
        SheetSubject(
            name=one_line(f"{found.distribution} {found.version}"),
            command="scan",
            file=file,
            digest=digest,
            verdict=choose_gravest_verdict(judged),
            measured=f"{len(refuted)} of {len(subjects | refuted)} mechanisms refuted, "
            f"{len(found.withheld)} withheld",
            claimed="what its documentation states of each mechanism",
            claimed_by=one_line(f"the documentation of {found.distribution}"),
            relation="as its documentation states for each mechanism",
            numbers_tried=len(found.floating),
            code=one_line(f"{found.distribution} {found.version}"),
            version=one_line(found.dpaudit),
            created=one_line(found.date),
        )
    ]


def _get_finite_point(claim: Mapping[str, Any]) -> tuple[float, float] | None:
    """Return a claim of epsilon and delta, None if it is another."""
    epsilon, delta = claim.get("epsilon"), claim.get("delta")
    if isinstance(epsilon, float | int) and isinstance(delta, float | int):
        return (float(epsilon), float(delta)) if math.isfinite(epsilon) else None
    return None


def _at_most(epsilon: float, delta: float) -> str:
    """Return the proved guarantee; epsilon and delta are rounded up, so that both stay true.

    Examples
    --------
    >>> _at_most(0.92634, 1e-5)
    'ε ≤ 0.9264 at δ = 1e-5'
    """
    epsilon, delta = float(epsilon), float(delta)
    shown = (
        format_significant(epsilon, rounding=ROUND_CEILING),
        format_significant(delta, rounding=ROUND_CEILING),
    )
    return _format_stated_value("ε ≤", *shown)


def _format_rounded_floor(value: float) -> str:
    return format_significant(value, rounding=ROUND_FLOOR)


def _require_known_verdict(word: Any) -> Verdict:
    if word not in ("refuted", "withheld", "not refuted", "proved"):
        raise ValueError(word)
    return word  # type: ignore[no-any-return]


_READERS = (
    ({"results", "environment"}, _of_report),
    ({"mechanism", "findings", "verdict", "claimed"}, _of_replay),
    ({"function", "numbers", "verdict", "claim"}, _of_proof),
    ({"answers", "proved", "delta", "name"}, _of_account),
    ({"package", "distribution", "checked", "findings"}, _of_scan),
)


def sha256_of(reference: str, folder: Path) -> str | None:
    """Return the digest of the file that a module is in, below a folder; None where there is none.

    Examples
    --------
    >>> print(sha256_of("nowhere:function", Path(".")))
    None
    """
    from dpaudit.mechanisms.foreign.code_identity import make_code

    place = folder.joinpath(*reference.partition(":")[0].split("."))
    for file in (place.with_suffix(".py"), place / "__init__.py"):
        if found := make_code(reference, str(file)):
            return found.sha256
    return None
