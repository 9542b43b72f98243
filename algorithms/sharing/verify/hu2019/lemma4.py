r"""Re-checks a violation of hu2019's Lemma 4 from the certificate alone.

With ``s_m = sigma_max(D_m'D_m)`` the claim is, as published with c = 1 and factor 1,

    L^{t+1} - L^t <= factor (c sum_m s_m ||dx_m||^2 + L^2/rho ||dz||^2)
                     - sum_m gamma_m/2 ||dx_m||^2 - gamma/2 ||dz||^2

The ratio is 1 plus the excess over the terms that factor multiplies. Both Lagrangians are computed
by their definition, from states that iterations from the start have reached.
"""

from __future__ import annotations

from dpaudit.algorithms.sharing.verify.hu2019.iterations import (
    CertificateProblem,
    CertificateState,
    compute_column_square,
    compute_lagrangian_real,
    problem_of,
    run_to_audited_step,
)
from dpaudit.errors import VerbatimText
from dpaudit.verification import Document, Outcome
from dpaudit.verification.reals import Number, Real, total

_VERSIONS = ("published", "with-penalty", "corrected")


def recompute(document: Document) -> Outcome:
    """Return every assumption and quantity of the claim, recomputed from the instance.

    Raises
    ------
    DataError
        A parameter is outside its domain, or an array does not have the shape they say.

    Examples
    --------
    >>> zero = [0.0]
    >>> document = Document(
    ...     path="c.json",
    ...     claim="hu2019-lemma4",
    ...     kind="property",
    ...     parameters={
    ...         "parties": 2, "features": 1, "samples": 1, "penalty": 3.0, "factor": 1.0,
    ...         "regulariser_weight": 0.0, "loss": "squared", "loss_weight": 1.0, "iteration": 2,
    ...         "version": "published",
    ...     },
    ...     quantities={},
    ...     assumptions={},
    ...     instance={
    ...         "designs": [[[1.0]], [[1.0]]], "labels": [1.0], "models": [zero, zero],
    ...         "prediction": zero, "dual": zero,
    ...     },
    ... )
    >>> outcome = recompute(document)
    >>> round(float(outcome.quantities["rise"] - outcome.quantities["bound"]), 12)
    0.25
    """
    document.require_kind("property")
    version = document.choice("version", *_VERSIONS)
    problem = problem_of(document)
    factor = document.positive("factor")
    before, after = run_to_audited_step(document, problem)
    convexity, slack = _compute_lemma4_terms(problem, version, before, after)
    slack *= factor
    if slack == 0:
        raise document.refused("instance", VerbatimText("variables that do not move"), "a step")
    rise, bound = (
        compute_lagrangian_real(problem, after) - compute_lagrangian_real(problem, before),
        slack - convexity,
    )
    reached = {"reached by an iteration": (2, document.count("iteration"))}
    quantities = {"rise": rise, "bound": bound, "ratio": 1 + (rise - bound) / slack}
    return Outcome(
        assumptions=problem.assumptions() | reached,
        quantities=quantities,
        summary=f"the augmented Lagrangian changes by {float(rise):.6g} where at most "
        f"{float(bound):.6g} is claimed{_format_altered_lemma(version, float(factor))}",
        reservations=() if version == "published" else (f"version {version}",),
    )


def _compute_lemma4_terms(
    problem: CertificateProblem, version: str, before: CertificateState, after: CertificateState
) -> tuple[Real, Real]:
    """Return the terms of strong convexity, and those that the claim allows against them."""
    factors: dict[str, Number] = {
        "published": 1,
        "with-penalty": problem.rho / 2,
        "corrected": (len(problem.designs) - 1) * problem.rho / 2,
    }
    centre = compute_column_square(after.prediction - before.prediction)
    pairs = zip(after.models, before.models, strict=True)
    models = [compute_column_square(new - old) for new, old in pairs]
    moduli, tops = problem.moduli, [top for _, top in problem.spectra]
    convexity = problem.modulus / 2 * centre
    convexity += total(g * x for g, x in zip(moduli, models, strict=True)) / 2
    slack = problem.smoothness**2 / problem.rho * centre
    slack += factors[version] * total(s * x for s, x in zip(tops, models, strict=True))
    return convexity, slack


def _format_altered_lemma(version: str, factor: float) -> str:
    if (version, factor) == ("published", 1.0):
        return ""
    return f" by the version {version} with factor {factor:g}, not by the published one"
