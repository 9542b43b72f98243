r"""Re-checks the refutation of hu2020's Corollary 1, as printed or as a theorem on composition.

Kind ``support``: the first message of Algorithm 1 tells the two datasets apart
(`dpaudit.algorithms.sharing.verify.hu2020.support`), so that no epsilon' is finite at any delta
below 1.

Kind ``approximate-dp``: a composition that breaks a multiple of the formula. The claim: T releases,
each (eps, delta)-DP, are (c eps', T delta + delta')-DP with

    eps' = sqrt(2 T ln(1/delta')) eps + T eps (e^eps - 1)

and a factor c that the certificate states. What refutes it are T randomised responses: each tells
the secret with probability delta, and else answers truthfully with probability ``e^eps /
(1 + e^eps)``, which is (eps, delta)-DP. Their exact delta at e, with binomial masses P_j and losses
``(T - 2 j) eps``, is ``1 - (1 - delta)^T (1 - sum_j P_j (1 - e^(e - (T - 2 j) eps))_+)``.
"""

from __future__ import annotations

from dpaudit.algorithms.sharing.verify.hu2020.support import verify_message_support
from dpaudit.algorithms.sharing.verify.hu2020.update import format_claim_factor
from dpaudit.verification import Document, Outcome
from dpaudit.verification.reals import Real, exp, log, smallest, sqrt

# A certificate is somebody else's file: without a limit it could keep the verifier busy for good.
_MOST = 10_000  # releases: the sum has as many terms


def recompute(document: Document) -> Outcome:
    """Return the claimed epsilon and the exact delta at a larger one.

    Raises
    ------
    DataError
        The kind is another, or a parameter is outside its domain.

    Examples
    --------
    >>> from dpaudit.verification import Document
    >>> outcome = recompute(
    ...     Document(
    ...         path="c.json",
    ...         claim="hu2020-corollary1",
    ...         kind="approximate-dp",
    ...         parameters={
    ...             "epsilon": 1.0, "delta": 0.01, "iterations": 1, "slack": 0.2, "factor": 0.1,
    ...         },
    ...         quantities={},
    ...         assumptions={},
    ...         instance={"epsilon": 0.5},
    ...     )
    ... )
    >>> float(outcome.quantities["ratio"]) > 1
    True
    >>> round(float(outcome.assumptions["claimed delta is exceeded"][1]), 4)
    0.2948
    """
    if document.kind == "support":
        return first_message(document, "parameter")
    document.require_kind("approximate-dp")
    epsilon, delta, slack = (_at_most_one(document, n) for n in ("epsilon", "delta", "slack"))
    count = document.count("iterations")
    if count > _MOST:
        raise document.refused("parameters.iterations", count, f"at most {_MOST}")
    drift = count * epsilon * (exp(epsilon) - 1)
    claimed = document.positive("factor") * (sqrt(-2 * count * log(slack)) * epsilon + drift)
    total, witness = count * delta + slack, Real(document.array("epsilon", ()))
    exact = _exact_delta(epsilon, delta, count, witness)
    ratio = witness / claimed
    return Outcome(
        assumptions={"claimed delta is exceeded": (total, exact)},
        quantities={
            "claimed epsilon": claimed,
            "claimed delta": total,
            "exact delta over claimed delta": exact / total,
            "ratio": ratio,
        },
        summary=f"{count} randomised responses: at epsilon {float(witness):.6g}, "
        f"{float(ratio):.6g} times the claimed one{format_claim_factor(document)}, delta is still "
        f"{float(exact):.6g}",
    )


def first_message(document: Document, variant: str) -> Outcome:
    """Return the outcome for a run with the noise of a variant: T delta + delta' is claimed."""
    document.choice("variant", variant)
    _at_most_one(document, "epsilon")
    delta, slack = (_at_most_one(document, name) for name in ("delta", "slack"))
    document.positive("factor")
    return verify_message_support(document, document.count("iterations") * delta + slack)


def _exact_delta(epsilon: Real, delta: Real, count: int, at: Real) -> Real:
    """Return the exact delta at ``at``.

    Masses are those of ``count`` answers of which j are lies, each from the one before.
    """
    odds = exp(-epsilon)  # of a lie against the truth
    mass, below = (1 / (1 + odds)) ** count, Real(0)
    for j in range(count + 1):
        # The loss falls as lies become more, so once a term's loss is below the witness so are all
        # that follow.
        gap = smallest((at - (count - 2 * j) * epsilon, 0))
        if gap.ball.is_zero():
            break
        below += mass * (1 - exp(gap))
        mass = mass * odds * (count - j) / (j + 1)
    return 1 - (1 - delta) ** count * (1 - below)


def _at_most_one(document: Document, name: str) -> Real:
    value: Real = document.positive(name)
    if value > 1 or (name != "epsilon" and value == 1):
        expected = "in (0, 1]" if name == "epsilon" else "in (0, 1)"
        raise document.refused(f"parameters.{name}", float(value), expected)
    return value
