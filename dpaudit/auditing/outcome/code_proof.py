"""The proof from the code of an audited mechanism, for all neighbours of a domain."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from dpaudit.errors import DpauditError, InvalidArgument
from dpaudit.extension.case import Proof, ProofObstacle
from dpaudit.extension.settings import Settings
from dpaudit.guarantees.kinds import ApproximateDP, GaussianDP, Guarantee, ZeroConcentratedDP
from dpaudit.mechanisms.foreign.isolation import Placement
from dpaudit.neighbours import Metric, Relation
from dpaudit.proving.api import ProofQuestion
from dpaudit.proving.isolated_proofs import prove_mechanism
from dpaudit.proving.refusals import ProofRefusal
from dpaudit.proving.report import CodeProof
from dpaudit.proving.runs.reading import RUNS

BY_CODE = "the code, read for all neighbours of the domain"
_FEWEST = 20  # plain runs at least
_FOR_EACH = 5  # trials for each plain run
_USUAL = 10_000  # trials, where nobody says how many
_CLAIMS = (ApproximateDP, GaussianDP, ZeroConcentratedDP)


def prove_code(
    placed: Placement, domain: Any, relation: Any, claimed: Guarantee, trials: int
) -> CodeProof | None:
    """Return the proof from the code of a mechanism; None if nobody asks for one.

    Parameters
    ----------
    placed
        The mechanism, where it runs.
    domain, relation
        The datasets, and which of them are neighbours. Without a domain there is nothing to prove.
    claimed
        The claim: proofs bound epsilon, mu and rho.
    trials
        Of the audit: where these are few, as of slow code, so are the plain runs of the proof.
    """
    plain = isinstance(relation, str | Relation) and not isinstance(relation, Metric)
    if domain is None or not plain or not isinstance(claimed, _CLAIMS):
        return None
    try:
        runs = min(RUNS, max(_FEWEST, trials // _FOR_EACH))
        question = replace(ProofQuestion.of(domain, relation, (None, 0.0, claimed)), runs=runs)
        return prove_mechanism(placed.mechanism, question)
    except DpauditError as error:  # a proof is beside the audit: it stops none
        return CodeProof(
            name="", relation="", claim=claimed, refusal=ProofRefusal("the domain", str(error))
        )


def trials_of(settings: Settings) -> int:
    """Return the trials of an audit as `prove_code` takes them: none where there is a time."""
    return 0 if settings.time else settings.trials or _USUAL


def is_proof_required(asked: str | None) -> bool:
    """Return whether somebody asks for a proof, by the verdict that a claim has to have.

    Raises
    ------
    InvalidArgument
        Another verdict is asked for.
    """
    if asked not in (None, "proved"):
        raise InvalidArgument("require", asked, "proved")
    return asked == "proved"


def parts_of_case(code: CodeProof | None) -> dict[str, Any]:
    """Return the proof of a case, or the line that stopped it."""
    if code is None:
        return {}
    if code.guarantee is not None:
        return {"proved": Proof(guarantee=code.guarantee, source=BY_CODE)}
    stop = code.refusal or ProofRefusal(code.name, "no number that is proved is finite")
    return {"proof_stop": ProofObstacle(**asdict(stop))}
