"""The appendix: the proof of Theorem 7."""

from __future__ import annotations

from dpaudit.algorithms.multistep.statements.causes import (
    ADDED,
    EXPECTATION,
    GAIN,
    HARMONIC,
    LEFT_OVER,
    NODES,
    STRICT,
)
from dpaudit.algorithms.multistep.statements.evidence import (
    make_multistep_counterexample,
    make_multistep_proof,
)
from dpaudit.extension.ledger import Consequence, LedgerRow, OpenQuestion

_SLIP = "So it is, and counts as one."

_FIRST = (
    LedgerRow(
        name="huang2020-equation27",
        place="appendix, eq. (27)",
        statement="Expected risk plus beta times the violation is the maximum over duals of norm "
        "at most beta of the expectation of risk less <gamma_ij, w^_i - w^_j>.",
        standing="proof step",
        evidence=make_multistep_counterexample("appendix:maximum_and_expectation"),
        cause=EXPECTATION.name,
        repair="the expectation of the maximum",
        defence="It is right without noise, and for every run.",
        answer="Of random models the right side is smaller. What follows it holds for every run, "
        "so that nothing is lost; it counts as a misprint.",
    ),
    LedgerRow(
        name="huang2020-equation28",
        place="appendix, eq. (28)",
        statement="By convexity this is at most the average over k and r of <grad L_i(w~), w~ - "
        "w*> less the products with gamma.",
        standing="proof step",
        evidence=make_multistep_proof("appendix:convex_average"),
    ),
    LedgerRow(
        name="huang2020-equation29",
        place="appendix, eq. (29)",
        statement="The noise joins the gradient, and <xi_i, w* - w_i^{k,r+1}> is left over.",
        standing="proof step",
        evidence=make_multistep_counterexample("appendix:noise_joins"),
        cause=LEFT_OVER.name,
        repair="<xi_i, w* - w~_i^{k,r}> is left over",
        defence="Both have mean 0, and the text below (39) has w_i^{k,r}.",
        answer=_SLIP,
    ),
    LedgerRow(
        name="huang2020-equation30",
        place="appendix, eq. (30) and the definition of xi_i above it",
        statement="With xi_i = xi_i^{k,r} / (2 rho |N_i| + eta_i^{k,r}) the product of grad L_i + "
        "xi_i with w~^{k,r+1} - w* is that of (2 rho |N_i| + eta) (w~^{k,r} - w~^{k,r+1}), plus "
        "the pull of duals and neighbours.",
        standing="proof step",
        evidence=make_multistep_counterexample("appendix:noise_as_gradient"),
        cause=ADDED.name,
        repair="the same with xi_i = -(2 rho |N_i| + eta_i^{k,r+1}) xi_i^{k,r+1}",
        defence="(39) computes with the right size, and the sign does not matter to its law.",
        answer=_SLIP,
    ),
    LedgerRow(
        name="huang2020-equation31",
        place="appendix, eq. (31)",
        statement="The product of w~^{k,r} - w~^{k,r+1} and w~^{k,r+1} - w* in three squares.",
        standing="proof step",
        evidence=make_multistep_proof("appendix:three_points"),
    ),
    LedgerRow(
        name="huang2020-equation32",
        place="appendix, eq. (32)",
        statement="The pull of duals and neighbours, averaged over the inner steps, by the dual "
        "update (15).",
        standing="proof step",
        evidence=make_multistep_proof("appendix:pull_of_neighbours"),
    ),
    LedgerRow(
        name="huang2020-equation33",
        place="appendix, eq. (33)",
        statement="The sum of <w~^{k,r+1} - w~_i^k, w* - w~^{k,r+1}> is a double sum, and below 0.",
        standing="proof step",
        evidence=make_multistep_counterexample("appendix:scatter"),
        cause=STRICT.name,
        repair="at most 0 in place of below 0",
        defence="At most is meant, and is all that is used.",
        answer=_SLIP,
    ),
    LedgerRow(
        name="huang2020-equation34",
        place="appendix, eq. (34)",
        statement="The movement of what two neighbours agree on is bounded by a difference of "
        "squares and the movement of their dual.",
        standing="proof step",
        evidence=make_multistep_proof("appendix:common_ground"),
    ),
    LedgerRow(
        name="huang2020-equation35",
        place="appendix, eq. (35)",
        statement="By Young's inequality a product is at most a square over 2 eta and eta / 2 "
        "times a square.",
        standing="proof step",
        evidence=make_multistep_proof("appendix:young"),
    ),
)

_SECOND = (
    LedgerRow(
        name="huang2020-equation36",
        place="appendix, eq. (36)",
        statement="What one iteration gains: (29) to (35) added up, with a plus before "
        "||w~^{k,r+1} - w*||^2, w_i^{k,r+1} in the left-over product and w~_i^{k+1} in the last "
        "term.",
        standing="proof step",
        evidence=make_multistep_counterexample("appendix:gain"),
        cause=GAIN.name,
        repair="the same with a minus, w~_i^{k,r} and w~_i^k, and the xi_i that (30) needs",
        defence="(40) uses the right sign, and (37) cancels the last term with w~_i^k.",
        answer=_SLIP,
    ),
    LedgerRow(
        name="huang2020-equation37",
        place="appendix, eq. (37)",
        statement="The products with a dual are those with the algorithm's duals, and a product of "
        "differences.",
        standing="proof step",
        evidence=make_multistep_proof("appendix:duals_of_pairs"),
        note="For duals that start at 0, or at opposite values of opposite pairs.",
    ),
    LedgerRow(
        name="huang2020-equation38",
        place="appendix, eq. (38)",
        statement="That product of differences in three squares of duals, over 2 rho.",
        standing="proof step",
        evidence=make_multistep_proof("appendix:dual_step"),
    ),
    LedgerRow(
        name="huang2020-equation39",
        place="appendix, eq. (39)",
        statement="As L is c_2-Lipschitz, E ||grad L_i + xi_i||^2 = c_2^2 / n^2 + d c_0^2 c_1^2 t "
        "l 8 ln(1.25/delta) / (epsilon^2 m_i^2).",
        standing="proof step",
        evidence=make_multistep_counterexample("rates:second_moment"),
        cause=NODES.name,
        repair="at most that, if every n L_i is c_2-Lipschitz",
        defence="c_2 is meant as n times a Lipschitz constant of every L_i, and at most for equal.",
        answer="The text says of the objective. Theorem 7 falls with it under that reading.",
    ),
    LedgerRow(
        name="huang2020-zero-mean",
        place="appendix, below eq. (39)",
        statement="E <xi_i, w* - w_i^{k,r}> = 0.",
        standing="proof step",
        evidence=make_multistep_proof("appendix:noise_without_mean"),
    ),
    LedgerRow(
        name="huang2020-equation40-sum",
        place="appendix, eq. (40), first inequality",
        statement="By (27), (28), (36), (37) and (38), what (21) measures is at most the average "
        "of E ||grad L_i + xi_i||^2 / (2 eta), and eta_i^{t,l} D^2 / 2, rho |N_i| D^2 and |N_i| / "
        "rho max ||gamma^0 - gamma||^2 over t.",
        standing="proof step",
        evidence=OpenQuestion(
            "Two steps are missing. The sum of eta (||w~^{k,r} - w*||^2 - ||w~^{k,r+1} - w*||^2) "
            "is at most its last weight times D^2 only if the weights never fall, and from "
            "eta^{k,l} to eta^{k+1,1} they do for l >= 2, from k = 2 on at the latest: 2 k l "
            "against 2 (k + 1), in squares. "
            "And (28) averages r = 0 .. l - 1, where (37) averages r = 1 .. l, which leaves "
            "<gamma_ij, .> of the first and the last model over t l. A proof, or a run of the "
            "algorithm that exceeds it, would settle it; for l = 1 only the second step is "
            "missing."
        ),
    ),
    LedgerRow(
        name="huang2020-equation40-constant",
        place="appendix, eq. (40), second inequality",
        statement="With (23) and (39) this is at most the right side of (24), whose first term has "
        "sqrt(2).",
        standing="proof step",
        evidence=make_multistep_counterexample("rates:double_sum"),
        cause=HARMONIC.name,
        repair="at most that with 3 / sqrt(2) in place of sqrt(2)",
        defence="For l = 1 it is right, and a constant matters little.",
        answer="The theorem states it for every l, as an inequality, and for t = l = 12 it fails "
        "itself.",
    ),
    LedgerRow(
        name="huang2020-equation40",
        place="appendix, eq. (40), first line to last",
        statement="So Theorem 7 is proved.",
        standing="proof step",
        evidence=Consequence("huang2020-theorem7", "It is the theorem.", "restates"),
    ),
)

ROWS = (*_FIRST, *_SECOND)
