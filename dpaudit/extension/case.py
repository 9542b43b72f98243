"""Cases: claims with a fixed instance, which can be run and judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from numpy.random import Generator

from dpaudit.extension.settings import Settings
from dpaudit.guarantees.currency import Currency
from dpaudit.guarantees.kinds import Guarantee
from dpaudit.mechanisms.foreign.code_mechanism import ObservationSettings
from dpaudit.mechanisms.mechanism import Mechanism
from dpaudit.neighbours import Pair
from dpaudit.refutation.certificate import Certificate
from dpaudit.refutation.worst_instance import WorstInstance


@dataclass(frozen=True, kw_only=True)
class AssumptionOutcome:
    """Whether an assumption of the claim holds on the instance, and how that was seen."""

    name: str
    holds: bool
    evidence: str


@dataclass(frozen=True, kw_only=True)
class Proof:
    """A guarantee that follows from a theorem, and which one.

    Parameters
    ----------
    guarantee, source
        The proved guarantee, and the theorem that gives it.
    declared
        True if it is proved for a release that somebody declares, which says nothing about the
        code.
    """

    guarantee: Guarantee
    source: str
    declared: bool = False


@dataclass(frozen=True, kw_only=True)
class ProofObstacle:
    """The place where a proof from the code stopped, the reason, and a remedy; empty if unknown.

    ``fault`` is the code of its kind of fault, where it is one.
    """

    place: str
    reason: str
    cure: str = ""
    fault: str | None = None


@dataclass(frozen=True, kw_only=True)
class DistanceClaim:
    """The claim about any two datasets for one unit of their distance, and the distance of a pair.

    Parameters
    ----------
    claimed
        A unit of distance.
    distance, apart
        What the distance is called, and how far the two datasets of the pair are apart.
    """

    claimed: Guarantee
    distance: str
    apart: float


@dataclass(frozen=True, kw_only=True)
class PrivacyCase:
    """A mechanism, a pair and the guarantee that is claimed for it.

    Parameters
    ----------
    mechanism, pair
        The mechanism, and the pair of datasets.
    claimed
        The guarantee of the claim.
    at_delta
        The delta at which the audit measures epsilon.
    proved
        The guarantee that a theorem gives for this configuration, if there is one.
    requires_proof
        True if somebody asks for a proof, so that a claim that is not refuted is not enough.
    proof_stop
        The line that stopped a proof from the code, if one was tried.
    pair_ceiling
        A proved guarantee for this pair alone.
    view, data
        The observer's view and the records, in words.
    default_trials
        The number of certifying outputs for each dataset that give a useful answer in about a
        minute.
    parameters
        Every public parameter of the mechanism.
    certify
        A function of the measured lower end, called when that refutes the claim: it returns a
        certificate that can be checked without drawing, or None.
    candidates
        The same claim on other pairs, all of which obey its relation: the audit ranks them on a
        part of its trials and certifies the worst on fresh ones. Empty audits ``pair``.
    elsewhere
        A function that makes a mechanism of this process anew in processes of its own, where an
        audit that would refute draws again. By default the mechanism is sent there as it is.
    relation_was_read
        True if nobody named the relation of the pair, so that a verdict may depend on it.
    caveat
        The reservation of a refutation about the pair: that it holds values which nobody declared
        possible.
    made
        The pair as plain data from which it can be made again, if it holds nobody's records: empty
        if the two datasets alone state that, None for a pair that may hold records.
    unvarying
        True if no part of the first outputs varied.
    currency
        The number of a claim that names no point, and the deltas at which it may be audited. The
        audit then begins at ``at_delta``, and chooses a delta by outputs that certify nothing.
    reading
        The form of a call and the observed part of the returned value, for a mechanism of one's
        own.
    a_unit
        The claim for one unit of distance, if there is one: ``claimed`` is then the claim for this
        pair, and candidates at other distances have other claims.
    """

    mechanism: Mechanism[Any]
    pair: Pair[Any]
    claimed: Guarantee
    at_delta: float
    view: str
    data: str
    default_trials: int
    parameters: Mapping[str, Any]
    assumptions: tuple[AssumptionOutcome, ...] = ()
    proved: Proof | None = None
    proof_stop: ProofObstacle | None = None
    requires_proof: bool = False
    pair_ceiling: Proof | None = None
    notes: tuple[str, ...] = ()
    certify: Callable[[float], Certificate | None] | None = None
    candidates: tuple[PrivacyCase, ...] = ()
    elsewhere: Callable[[], Mechanism[Any]] | None = None
    relation_was_read: bool = False
    caveat: str | None = None
    made: Mapping[str, Any] | None = None
    unvarying: bool = False
    currency: Currency | None = None
    reading: ObservationSettings | None = None
    a_unit: DistanceClaim | None = None


@dataclass(frozen=True, kw_only=True)
class SearchCase:
    """A claimed bound on a number, and a search for an instance on which it is exceeded.

    Parameters
    ----------
    bound
        The claimed bound: a sensitivity, an epsilon (at ``at_delta``), or any other number,
        depending on the kind of the claim.
    attain
        A function that spends a budget of evaluated instances and returns the worst. Its ratio
        decides, as the bound may differ from instance to instance.
    at_delta
        The delta of a claimed epsilon.
    quantity
        The number that a claim of the kind ``property`` bounds, in a few words.
    effort
        The unit of the budget.
    proved
        A bound that a proof supports, with its source.
    is_ratio
        True if ``bound`` and ``proved`` are of the ratio of a property's sides, which is shown
        then, and not the sides themselves.
    """

    bound: float
    attain: Callable[[int, Generator], WorstInstance]
    view: str
    data: str
    relation: str
    pair: str
    default_trials: int
    parameters: Mapping[str, Any]
    at_delta: float | None = None
    quantity: str | None = None
    effort: str = "evaluated states"
    assumptions: tuple[AssumptionOutcome, ...] = ()
    proved: tuple[float, str] | None = None
    is_ratio: bool = False
    notes: tuple[str, ...] = field(default=())


Case = PrivacyCase | SearchCase


class Prepare(Protocol):
    """Turns settings into a case, or raises an `InvalidArgument` that names the wrong one."""

    def __call__(self, settings: Settings, parameters: Any) -> Case:
        """Return the case."""
        ...
