"""Rows of hu2019: section 7.1 up to Lemma 5."""

from __future__ import annotations

from dpaudit.algorithms.sharing.statements.hu2019.evidence import (
    make_check_reference,
    make_hu2019_counterexample,
    make_hu2019_proof,
)
from dpaudit.extension.ledger import AuditEvidence, Convention, LedgerRow

ROWS = (
    LedgerRow(
        name="hu2019-equation12",
        place="section 7.1, eq. (12)",
        statement="g_m and h, the objectives of (6) and (7).",
        standing="definition",
        evidence=Convention("Definitions."),
    ),
    LedgerRow(
        name="hu2019-lemma2",
        place="section 7.1, Lemma 2",
        statement="grad l(z^{t+1}) = y^{t+1}, and ||y^{t+1} - y^t||^2 <= L^2 ||z^{t+1} - z^t||^2.",
        standing="theorem",
        evidence=AuditEvidence("hu2019-lemma2"),
        note="Proved from t = 1 on, where an iteration made y^t. In the first iteration y^0 is the "
        "start's: from zero y moves rho times as far as z.",
    ),
    LedgerRow(
        name="hu2019-equation13",
        place="section 7.1, proof of Lemma 2, eq. (13)",
        statement="By the optimality in (7) and by (8), grad l(z^{t+1}) = y^{t+1}.",
        standing="proof step",
        evidence=make_hu2019_proof("lemmas:slope_is_dual"),
    ),
    LedgerRow(
        name="hu2019-equation14",
        place="section 7.1, proof of Lemma 2, eq. (14)",
        statement="||y^{t+1} - y^t||^2 = ||grad l(z^{t+1}) - grad l(z^t)||^2 <= L^2 ||z^{t+1} - "
        "z^t||^2.",
        standing="proof step",
        evidence=make_hu2019_proof("lemmas:dual_moves_less"),
        note="From t = 1 on.",
    ),
    LedgerRow(
        name="hu2019-lemma3",
        place="section 7.1, Lemma 3, eq. (15)",
        statement="What parallel steps add to ||sum_m x_m - z||^2, less what they add one by one, "
        "is at most sum_m ||x_m^{t+1} - x_m^t||^2.",
        standing="theorem",
        evidence=AuditEvidence("hu2019-lemma3"),
        cause="sign in Lemma 3",
        repair_check=make_check_reference("lemmas:cost_of_parallel_steps"),
        repair="M - 1 times the right side",
        defence="For one or two parties it is true.",
        answer="Three equal steps make 9 - 3 = 6 on the left and 3 on the right.",
    ),
    LedgerRow(
        name="hu2019-lemma3-squares",
        place="section 7.1, proof of Lemma 3, first line",
        statement="The left side is a sum of products (p + q)'(p - q).",
        standing="proof step",
        evidence=make_hu2019_proof("lemmas:first_line_of_lemma_3"),
    ),
    LedgerRow(
        name="hu2019-lemma3-sign",
        place="section 7.1, proof of Lemma 3, second line",
        statement="It is -sum_m sum_{k != m} (x_k^{t+1} - x_k^t)'(x_m^{t+1} - x_m^t).",
        standing="proof step",
        evidence=make_hu2019_counterexample("lemmas:sign_of_cross_products"),
        cause="sign in Lemma 3",
        repair="the sum without the minus",
        defence="None: two equal steps of 1 decide it.",
        answer="As polynomials the two differ in the sign.",
    ),
    LedgerRow(
        name="hu2019-lemma3-bound",
        place="section 7.1, proof of Lemma 3, last two lines",
        statement="-sum_m sum_{k != m} u_k'u_m = -||sum_m u_m||^2 + sum_m ||u_m||^2 <= "
        "sum_m ||u_m||^2.",
        standing="proof step",
        evidence=make_hu2019_proof("lemmas:last_lines_of_lemma_3"),
    ),
    LedgerRow(
        name="hu2019-lemma4",
        place="section 7.1, Lemma 4",
        statement="L^{t+1} - L^t <= -sum_m (gamma_m/2 - sigma_max(D_m'D_m)) ||x_m^{t+1} - "
        "x_m^t||^2 - (gamma/2 - L^2/rho) ||z^{t+1} - z^t||^2.",
        standing="theorem",
        evidence=AuditEvidence("hu2019-lemma4"),
        cause="sign in Lemma 3",
        repair_check=make_check_reference("lemmas:fall_with_the_penalty"),
        repair="(M - 1) rho/2 times sigma_max",
        defence="For (M - 1) rho <= 2 it is true.",
        answer="Assumption 1 allows more: without a regulariser rho is at least 2, so that it is "
        "left with two parties at rho = 2 or with one. The augmented Lagrangian may rise.",
    ),
    LedgerRow(
        name="hu2019-equation16",
        place="section 7.1, proof of Lemma 4, eq. (16)",
        statement="L^{t+1} - L^t is split at L(x^{t+1}, z^{t+1}; y^t).",
        standing="proof step",
        evidence=make_hu2019_proof("lemmas:two_halves"),
    ),
    LedgerRow(
        name="hu2019-equation17",
        place="section 7.1, proof of Lemma 4, eq. (17), first two equalities",
        statement="The first part is <y^{t+1} - y^t, sum_m D_m x_m^{t+1} - z^{t+1}> = ||y^{t+1} - "
        "y^t||^2 / rho.",
        standing="proof step",
        evidence=make_hu2019_proof("lemmas:step_of_the_dual"),
    ),
    LedgerRow(
        name="hu2019-equation17-equality",
        place="section 7.1, proof of Lemma 4, eq. (17), last equality",
        statement="||y^{t+1} - y^t||^2 / rho = L^2/rho ||z^{t+1} - z^t||^2.",
        standing="proof step",
        evidence=make_hu2019_counterexample("lemmas:smoothness_is_no_equality"),
        cause="equality for an inequality in (17)",
        repair_check=make_check_reference("lemmas:dual_moves_less"),
        repair="<= in place of =",
        defence="It cites Lemma 2, which is an inequality.",
        answer="So do we read it: a misprint.",
    ),
    LedgerRow(
        name="hu2019-equation18-order",
        place="section 7.1, proof of Lemma 4, eq. (18), first inequality",
        statement="The second part is at most the step of x at z^{t+1}, plus the step of z from "
        "x^t to x^{t+1}.",
        standing="proof step",
        evidence=make_hu2019_counterexample("lemmas:order_of_the_blocks"),
        cause="order of the blocks in (18)",
        repair="an equality, with x moved at z^t and z at x^{t+1}",
        defence="A proof with the blocks in the right order takes the same steps.",
        answer="It does; as printed the inequality fails with one party.",
    ),
    LedgerRow(
        name="hu2019-equation18-parallel",
        place="section 7.1, proof of Lemma 4, eq. (18), second inequality",
        statement="By Lemma 3 parallel steps cost at most sum_m ||D_m (x_m^{t+1} - x_m^t)||^2 more "
        "than steps one by one.",
        standing="proof step",
        evidence=make_hu2019_counterexample("lemmas:check_lost_penalty"),
        cause="factor rho/2 in (18)",
        repair_check=make_check_reference("lemmas:cost_of_parallel_steps"),
        repair="(M - 1) rho/2 times the sum",
        defence="For rho <= 2 and two parties it is true.",
        answer="The bracket that Lemma 3 is about stands behind rho/2; and for three parties Lemma "
        "3 is false.",
    ),
    LedgerRow(
        name="hu2019-equation18-objectives",
        place="section 7.1, proof of Lemma 4, eq. (18), the equality",
        statement="These terms are sum_m (g_m(x_m^{t+1}) - g_m(x_m^t)) + h(z^{t+1}) - h(z^t), with "
        "(12).",
        standing="proof step",
        evidence=make_hu2019_counterexample("lemmas:terms_of_the_subproblems"),
        cause="order of the blocks in (18)",
        repair="the same, of terms with z^t for x and x^{t+1} for z",
        defence="It is what the right order would give.",
        answer="The printed terms have z^{t+1} where g_m has z^t, and x^t where h has x^{t+1}.",
    ),
    LedgerRow(
        name="hu2019-equation18-steps",
        place="section 7.1, proof of Lemma 4, eq. (18), last three inequalities",
        statement="By strong convexity, by optimality in (6) and (7), and by the largest "
        "eigenvalue the brackets are at most -gamma_m/2, -gamma/2 and sigma_max times squared "
        "steps.",
        standing="proof step",
        evidence=make_hu2019_proof("lemmas:steps_of_the_subproblems"),
    ),
    LedgerRow(
        name="hu2019-subgradient",
        place="section 7.1, proof of Lemma 4, after eq. (18)",
        statement="grad g_m stands for a subgradient where g_m is convex and not smooth.",
        standing="definition",
        evidence=Convention("It is a notation, which the steps above allow for."),
    ),
    LedgerRow(
        name="hu2019-equation18",
        place="section 7.1, proof of Lemma 4, eq. (18)",
        statement="L(x^{t+1}, z^{t+1}; y^t) - L(x^t, z^t; y^t) is at most the bound of Lemma 4 "
        "without L^2/rho.",
        standing="proof step",
        evidence=make_hu2019_counterexample("lemmas:fall_before_the_dual"),
        cause="sign in Lemma 3",
        repair_check=make_check_reference("lemmas:fall_with_the_penalty"),
        repair="(M - 1) rho/2 times sigma_max",
        defence="As of Lemma 4.",
        answer="Three parties with one column 1 each, at rho = 2, fall by 14/27 where 50/27 is "
        "claimed.",
    ),
    LedgerRow(
        name="hu2019-lemma5",
        place="section 7.1, Lemma 5, eq. (19)",
        statement="The limit of the augmented Lagrangian exists and is bounded from below.",
        standing="theorem",
        evidence=AuditEvidence("hu2019-lemma5"),
        cause="sign in Lemma 3",
        defence="Where Lemma 4 is true, (M - 1) rho <= 2, it is true; and bounded below it is.",
        answer="Three parties inside Assumption 1 make it grow without bound, or alternate between "
        "two values for ever.",
    ),
    LedgerRow(
        name="hu2019-equation20",
        place="section 7.1, proof of Lemma 5, eq. (20)",
        statement="The augmented Lagrangian has the term rho/2 ||D_m x_m^{t+1} - z^{t+1}||^2.",
        standing="proof step",
        evidence=make_hu2019_counterexample("lemmas:sum_left_out"),
        cause="sum left out of (20)",
        repair_check=make_check_reference("lemmas:check_bounded_below"),
        repair="rho/2 ||sum_m D_m x_m^{t+1} - z^{t+1}||^2",
        defence="(5) has the sum.",
        answer="So do we read it: a misprint. With it (20) is proved, in the row below.",
    ),
    LedgerRow(
        name="hu2019-bounded-below",
        place="section 7.1, proof of Lemma 5, eq. (20) and after it",
        statement="L^{t+1} >= the objective at x^{t+1} + (rho - L)/2 ||sum_m D_m x_m^{t+1} - "
        "z^{t+1}||^2, which is bounded below.",
        standing="proof step",
        evidence=make_hu2019_proof("lemmas:check_bounded_below"),
    ),
    LedgerRow(
        name="hu2019-decreasing",
        place="section 7.1, proof of Lemma 5, end",
        statement="By Assumption 1.2 and Lemma 4 the augmented Lagrangian is decreasing.",
        standing="proof step",
        evidence=make_hu2019_counterexample("lemmas:rising_lagrangian"),
        cause="sign in Lemma 3",
        defence="As of Lemma 4.",
        answer="Three parties with one column 1 each, at rho = 2, make it rise by 8/81.",
    ),
)
