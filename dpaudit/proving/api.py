"""``dpaudit.prove``: whether a claim is proved of a function, from its code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import dpaudit._check as check
from dpaudit._references import stop_here
from dpaudit.domains import Domain, domain_of
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.guarantees.kinds import (
    ApproximateDP,
    GaussianDP,
    Guarantee,
    PureDP,
    ZeroConcentratedDP,
)
from dpaudit.mechanisms.foreign.calling import CallForm, form_of
from dpaudit.neighbours.tables import Relation
from dpaudit.proving.certificate import make_proof_certificate
from dpaudit.proving.events.bound import Bound, bound_trace
from dpaudit.proving.refusals import NotProved
from dpaudit.proving.report import CodeProof, ProofNumbers, delta_of, lines_of
from dpaudit.proving.runs.reading import RUNS
from dpaudit.proving.runs.request import TraceRequest, name_of, reference_of
from dpaudit.proving.trace import FunctionTrace
from dpaudit.redaction import are_shown

Function = Callable[..., Any]


def prove(
    function: Function,
    *,
    domain: Domain | Any,
    relation: str | Relation = "replace-record",
    epsilon: float | None = None,
    delta: float = 0.0,
    claim: Guarantee | None = None,
    form: str | None = None,
    seed: int = 0,
    certified: bool = False,
) -> CodeProof:
    """Prove from its code that a function keeps a claim, for all neighbours of a domain.

    The function runs in this process: once on values that stand for those of every dataset, and on
    200 plain datasets, which have to confirm that reading. The proof stops at the first line that
    no rule covers.

    Parameters
    ----------
    function
        The function: ``f(data)`` or ``f(data, rng)``, of numpy, pandas and plain Python.
    domain
        The datasets that are possible: a `dpaudit.Domain`, a dict of its arguments such as
        ``dict(bounds=(0, 1), records=6)``, or anything else that `dpaudit.domains.domain_of` takes.
    relation
        The relation that makes two datasets neighbours.
    epsilon, delta
        The claimed guarantee. Without epsilon, the result shows the proved epsilon at this delta.
    claim
        The claimed guarantee in place of epsilon and delta: `GaussianDP` or `ZeroConcentratedDP`.
    form
        The form of a call, such as ``"f(data, rng)"``; by default the signature states it.
    seed
        The seed of the plain runs; no bound depends on it.
    certified
        True to make a certificate for `CodeProof.save`, which may take longer than the proof.

    Returns
    -------
    CodeProof
        Its ``verdict`` is ``proved`` or ``withheld``. If it is withheld, ``refusal`` holds the
        line, the reason and a remedy, or ``numbers`` holds the guarantee that is proved instead.

    Raises
    ------
    InvalidArgument
        An argument does not fit its description here.

    Notes
    -----
    Formal guarantee: a proved guarantee holds over the real numbers, for every pair of neighbours
    of the domain. docs/proving.md has the rules and the assumptions.

    Examples
    --------
    >>> import numpy as np
    >>> def noisy_mean(data, rng):
    ...     return np.clip(data, 0, 10).mean() + rng.laplace(scale=1 / len(data))
    >>> found = prove(noisy_mean, domain=dict(bounds=(0, 100), records=50), epsilon=10)
    >>> found.verdict, round(found.numbers.pure, 9)
    ('proved', 10.0)
    >>> found = prove(noisy_mean, domain=dict(bounds=(0, 100), records=50), epsilon=1)
    >>> found.verdict
    'withheld'
    """
    stop_here()
    certified = check.require_boolean("certified", certified)
    asked = ProofQuestion.of(domain, relation, (epsilon, delta, claim), seed, certified=certified)
    return asked.answer(function, form_of(function, form))


@dataclass(frozen=True, eq=False)
class ProofQuestion:
    """A question about a provable bound on any function.

    Parameters
    ----------
    domain, relation
        The datasets, and which of them are neighbours.
    claim, delta
        What is claimed, and the delta at which epsilon is shown.
    seed, runs
        Of the plain runs, and how many there are.
    certified
        Whether a certificate is made.
    """

    domain: Domain
    relation: str | Relation
    claim: Guarantee | None
    delta: float
    seed: int = 0
    certified: bool = False
    runs: int = RUNS

    @classmethod
    def of(
        cls,
        domain: Any,
        relation: str | Relation,
        claim: tuple[float | None, float, Guarantee | None],
        seed: int = 0,
        *,
        certified: bool = False,
    ) -> ProofQuestion:
        """Return the question of arguments as `prove` takes them."""
        claimed = _resolve_proof_claim(*claim)
        delta = check.require_delta("delta", claim[1]) if claimed is None else delta_of(claimed)
        seed = check.require_integer("seed", seed, least=0)
        return cls(domain_of(domain), relation, claimed, delta, seed, certified)

    @property
    def request(self) -> TraceRequest:
        """The traces of a function, for this question."""
        return TraceRequest(self.domain, self.relation, self.seed, self.runs)

    def answer(self, function: Function, form: CallForm) -> CodeProof:
        """Return the proof of a function that is called so, and runs here."""
        name, reference = name_of(function), reference_of(function)
        try:
            traces = self.request.read(function, form)
        except NotProved as error:
            return self.refuse(name, error)
        return self.judge(name, traces, reference)

    def refuse(self, name: str, error: NotProved) -> CodeProof:
        """Return the refusal of a function that the reading cannot follow."""
        return CodeProof(**self._known(name), refusal=error.refusal)

    def judge(self, name: str, traces: Sequence[FunctionTrace], reference: str | None) -> CodeProof:
        """Return the proof of a function by its traces, one for each size of a dataset.

        ``reference`` is where others find it, ``module:name``, for the certificate.
        """
        try:
            several = [(one, bound_trace(one)) for one in traces]
        except NotProved as error:
            return self.refuse(name, error)
        certified = self._certified(several, reference)
        return CodeProof(
            **self._known(name), **_merge_trace_bounds(several, self.delta), **certified
        )

    def _known(self, name: str) -> dict[str, Any]:
        request = self.request
        return {
            "name": name,
            "relation": request.relation_name,
            "records": request.sizes,
            "claim": self.claim,
        }

    def _certified(
        self, several: Sequence[tuple[FunctionTrace, Bound]], reference: str | None
    ) -> dict[str, Any]:
        """Return the certificate, or why there is none."""
        if not self.certified:
            return {"uncertified": "none was asked for"}
        if self.domain.of_records and not are_shown():
            return {"uncertified": "the proof would take its ends and categories from the records"}
        if len(several) > 1:
            return {"uncertified": "datasets of several sizes: give records= one number"}
        ((trace, bound),) = several
        try:
            return {"certificate": make_proof_certificate(trace, bound, self.claim, reference)}
        except NotProved as error:
            return {"uncertified": str(error)}


def _resolve_proof_claim(
    epsilon: float | None, delta: float, claim: Guarantee | None
) -> Guarantee | None:
    """Return the claimed guarantee, if there is one."""
    if claim is not None:
        if epsilon is not None or delta != 0:
            raise InvalidArgument("epsilon", VerbatimText("and a claim"), "one of the two")
        if isinstance(claim, PureDP):
            return ApproximateDP(claim.at_epsilon, 0.0)
        if not isinstance(claim, ApproximateDP | GaussianDP | ZeroConcentratedDP):
            expected = "epsilon and delta, GaussianDP or ZeroConcentratedDP, which proofs bound"
            raise InvalidArgument("claim", VerbatimText(type(claim).__name__), expected)
        return claim
    return None if epsilon is None else ApproximateDP(epsilon, delta)


def _merge_trace_bounds(
    several: Sequence[tuple[FunctionTrace, Bound]], delta: float
) -> dict[str, Any]:
    """Return the bounds that hold for datasets of every size."""
    bounds = [bound for _, bound in several]
    epsilons = [bound.epsilon(delta) for bound in bounds]
    worst = bounds[epsilons.index(max(epsilons))]
    pure, mu, rho = (max(getattr(one, name) for one in bounds) for name in ("pure", "mu", "rho"))
    return {
        "numbers": ProofNumbers(max(epsilons), delta, pure, mu, rho),
        "lines": lines_of(max(worst.paths, key=lambda one: (one.epsilon, one.mu, one.rho))),
        "paths": max(len(trace.paths) for trace, _ in several),
        "compared": sum(trace.compared for trace, _ in several),
    }
