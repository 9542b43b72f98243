"""Rows of hu2019: section 7.1, the theorem on limit points in three parts."""

from __future__ import annotations

from dpaudit.algorithms.sharing.statements.hu2019.evidence import (
    make_hu2019_counterexample,
    make_hu2019_proof,
)
from dpaudit.extension.ledger import AuditEvidence, Consequence, LedgerRow

_PARALLEL = "The proof of the sequential algorithm has them right, and where steps of x vanish "
_PARALLEL += "the difference does too."

ROWS = (
    LedgerRow(
        name="hu2019-convergence",
        place="section 7.1, Theorem ??, Part 1",
        statement="||x_m^{t+1} - x_m^t||, ||z^{t+1} - z^t||, ||y^{t+1} - y^t|| and the gap "
        "sum_m D_m x_m - z tend to 0.",
        standing="theorem",
        evidence=AuditEvidence("hu2019-convergence"),
        cause="sign in Lemma 3",
        defence="Where (M - 1) rho is below 2, and for sequential updates, it is true. The theorem "
        "itself is missing from the text.",
        answer="Three parties inside Assumption 1 grow without bound, and with bounded models "
        "alternate for ever.",
    ),
    LedgerRow(
        name="hu2019-convergence-dual",
        place="section 7.1, Part 1, last two sentences; Part 2, first sentence",
        statement="Where steps of z tend to 0, so do those of y, by Lemma 2, and the gap, by (8).",
        standing="proof step",
        evidence=make_hu2019_proof("limit_points:steps_follow"),
    ),
    LedgerRow(
        name="hu2019-stationary-limits",
        place="section 7.1, Theorem ??, Part 2, and after eq. (25) and (26)",
        statement="Every limit point is stationary: sum_m D_m x_m* = z*, grad l(z*) = y*, and x_m* "
        "is optimal for y*.",
        standing="theorem",
        evidence=make_hu2019_counterexample("limit_points:gap_of_a_limit_point"),
        cause="sign in Lemma 3",
        defence="It follows where steps tend to 0.",
        answer="They do not: a run from zero has the limit point x_m = 2, z = 15/7 with the gap "
        "27/7.",
    ),
    LedgerRow(
        name="hu2019-equation21",
        place="section 7.1, Part 2, eq. (21)",
        statement="grad l(z^{t+1}) - y^t + rho (z^{t+1} - sum_m D_m x_m^{t+1}) = 0.",
        standing="proof step",
        evidence=make_hu2019_proof("lemmas:slope_is_dual"),
    ),
    LedgerRow(
        name="hu2019-limit-slope",
        place="section 7.1, Part 2, after eq. (21)",
        statement="Taking the limit, grad l(z*) = y* at a limit point.",
        standing="proof step",
        evidence=Consequence(
            "hu2019-equation13", "grad l is continuous, and y^t = grad l(z^t) for every t >= 1."
        ),
        note="It needs no vanishing gap, which the text takes for it.",
    ),
    LedgerRow(
        name="hu2019-equation22",
        place="section 7.1, Part 2, eq. (22)",
        statement="By optimality in (6), <x_m - x_m^{t+1}, lambda eta_m + D_m'y^t + rho "
        "D_m'(sum_{k <= m} D_k x_k^{t+1} + sum_{k > m} D_k x_k^t - z^t)> >= 0 on X_m.",
        standing="proof step",
        evidence=make_hu2019_counterexample("limit_points:sequential_conditions"),
        cause="conditions of a sequential update",
        repair="D_k x_k^t for every k other than m",
        defence=_PARALLEL,
        answer="(6) has old models of all others, and at a given t the condition is false.",
    ),
    LedgerRow(
        name="hu2019-equation23",
        place="section 7.1, Part 2, eq. (23)",
        statement="As R_m is convex, lambda R_m(x_m) - lambda R_m(x_m^{t+1}) plus the product of "
        "(22) without eta is not negative on X_m.",
        standing="proof step",
        evidence=make_hu2019_counterexample("limit_points:sequential_conditions"),
        cause="conditions of a sequential update",
        repair="D_k x_k^t for every k other than m",
        defence=_PARALLEL,
        answer="With R_m = 0 it is (22).",
    ),
    LedgerRow(
        name="hu2019-equation24",
        place="section 7.1, Part 2, eq. (24)",
        statement="In the limit lambda R_m(x_m) - lambda R_m(x_m*) + <x_m - x_m*, D_m'y*> >= 0 on "
        "X_m.",
        standing="proof step",
        evidence=make_hu2019_counterexample("limit_points:products_of_a_limit_point"),
        cause="sign in Lemma 3",
        defence="It follows where steps of x tend to 0.",
        answer="They do not: at the limit point x_m = 2 the product with x_m = -2 is -288/7.",
    ),
    LedgerRow(
        name="hu2019-equation25",
        place="section 7.1, Part 2, eq. (25)",
        statement="(24) is equivalent to lambda R_m(x) + <y*, D_m x> >= lambda R_m(x_m*) + <y*, "
        "D_m x_m*> on X_m.",
        standing="proof step",
        evidence=make_hu2019_proof("limit_points:rewritten_products"),
    ),
    LedgerRow(
        name="hu2019-equation26",
        place="section 7.1, Part 2, eq. (26)",
        statement="Likewise (22) with lambda grad R_m, where R_m is smooth and not convex.",
        standing="proof step",
        evidence=make_hu2019_counterexample("limit_points:sequential_conditions_of_nonconvex"),
        cause="conditions of a sequential update",
        repair="D_k x_k^t for every k other than m",
        defence=_PARALLEL,
        answer="(6) has old models of all others, and at a given t the condition is false.",
    ),
    LedgerRow(
        name="hu2019-set-convergence",
        place="section 7.1, Theorem ??, Part 3",
        statement="If every X_m is compact, the iterates converge to the set Z* of stationary "
        "points.",
        standing="theorem",
        evidence=make_hu2019_counterexample("limit_points:distance_of_bounded_models"),
        cause="sign in Lemma 3",
        defence="It follows from Parts 1 and 2.",
        answer="A run from zero with models in [-2, 2] alternates for ever, and stays at least 8/7 "
        "away from Z*.",
    ),
    LedgerRow(
        name="hu2019-limit-points-exist",
        place="section 7.1, Part 3, first paragraph",
        statement="If every X_m is compact, the sequences of x, z and y have limit points.",
        standing="proof step",
        evidence=make_hu2019_proof("limit_points:check_bounded_iterates"),
        note="Of z the text has it from Part 1, which is refuted; it holds without.",
    ),
    LedgerRow(
        name="hu2019-equation27",
        place="section 7.1, Part 3, eq. (27)",
        statement="A subsequence converges to some limit point.",
        standing="proof step",
        evidence=Consequence(
            "hu2019-limit-points-exist", "Bounded sequences have convergent subsequences."
        ),
    ),
    LedgerRow(
        name="hu2019-equation27-member",
        place="section 7.1, Part 3, after eq. (27)",
        statement="By Part 2 this limit point is in Z*.",
        standing="proof step",
        evidence=Consequence("hu2019-stationary-limits", "It is Part 2.", "restates"),
    ),
    LedgerRow(
        name="hu2019-equation28",
        place="section 7.1, Part 3, eq. (28)",
        statement="If the sequence does not converge to Z*, this subsequence has a distance from "
        "Z* that tends to some gamma > 0.",
        standing="proof step",
        evidence=make_hu2019_counterexample("limit_points:subsequence_that_stays"),
        cause="choice of the subsequence in Part 3",
        repair="a subsequence that stays gamma away, and a convergent one of that",
        defence="The argument is a common one, and the subsequence may be chosen first.",
        answer="It has to be: 0, 1, 0, 1, ... does not converge to {0}, and its even places do.",
    ),
    LedgerRow(
        name="hu2019-equation29",
        place="section 7.1, Part 3, eq. (29)",
        statement="From some J(gamma) on the subsequence is within gamma/2 of its limit.",
        standing="proof step",
        evidence=Consequence("hu2019-equation27", "It is what convergence means."),
    ),
    LedgerRow(
        name="hu2019-equation30",
        place="section 7.1, Part 3, eq. (30)",
        statement="The distance to Z* is at most that to a point of Z*.",
        standing="proof step",
        evidence=make_hu2019_proof("limit_points:distance_to_a_set"),
    ),
    LedgerRow(
        name="hu2019-equation31",
        place="section 7.1, Part 3, eq. (31)",
        statement="So from J(gamma) on the subsequence is within gamma/2 of Z*, which contradicts "
        "(28).",
        standing="proof step",
        evidence=make_hu2019_counterexample("limit_points:distance_of_a_subsequence"),
        cause="sign in Lemma 3",
        defence="Of a limit point in Z* it follows from (29) and (30), as a contradiction.",
        answer="Without Part 2 the limit point need not be in Z*, and there is none: every second "
        "state of the run stays at the distance gamma.",
    ),
)
