"""Rows of hu2019: section 7.2, on the number of iterations."""

from __future__ import annotations

from dpaudit.algorithms.sharing.statements.hu2019.evidence import (
    make_check_reference,
    make_hu2019_counterexample,
    make_hu2019_proof,
)
from dpaudit.extension.ledger import AuditEvidence, LedgerRow

_INTERIOR = "Where X_m is the whole space, or its constraint is not active, it is true."

ROWS = (
    LedgerRow(
        name="hu2019-equation32",
        place="section 7.2, eq. (32) and the two displays before it",
        statement="By optimality in (6), 0 is in lambda dR_m(x_m^{t+1}) + D'y^t + ..., and "
        "x_m^{t+1} = prox_{lambda R_m}[x_m^{t+1} - D'y^t - ...].",
        standing="proof step",
        evidence=make_hu2019_counterexample("rate:check_fixed_point_with_constraint"),
        cause="gradient zero at a border",
        repair="prox of lambda R_m and the indicator of X_m, with D_m'y^t",
        defence=_INTERIOR,
        answer="(6) minimises over X_m. With the indicator in prox the condition is right. (D'y "
        "has another length than x_m: D_m'y is meant.)",
    ),
    LedgerRow(
        name="hu2019-equation33",
        place="section 7.2, eq. (33)",
        statement="||x_m^t - prox[x_m^t - grad_{x_m}(L - lambda R)]|| <= 2 ||x_m^t - x_m^{t+1}|| + "
        "rho ||D_m'D_m (x_m^{t+1} - x_m^t)||.",
        standing="proof step",
        evidence=make_hu2019_counterexample("rate:prox_step_with_constraint"),
        cause="gradient zero at a border",
        repair_check=make_check_reference("rate:prox_steps"),
        repair="prox of lambda R_m and the indicator of X_m",
        defence=_INTERIOR,
        answer="At rest on the border of X_m the right side is 0 and the left is not.",
    ),
    LedgerRow(
        name="hu2019-equation33-nonexpansive",
        place="section 7.2, eq. (33), its two inequalities",
        statement="By the triangle inequality, and as prox does not expand distances, (33) follows "
        "from (32).",
        standing="proof step",
        evidence=make_hu2019_proof("rate:prox_steps"),
    ),
    LedgerRow(
        name="hu2019-equation34",
        place="section 7.2, eq. (34)",
        statement="For a smooth R_m, lambda grad R_m(x_m^{t+1}) + D'y^t + rho D_m'(...) = 0.",
        standing="proof step",
        evidence=make_hu2019_counterexample("rate:slope_with_constraint"),
        cause="gradient zero at a border",
        repair="-(...) in the normal cone of X_m, with D_m'y^t",
        defence=_INTERIOR,
        answer="(6) minimises over X_m, and (26) has the right condition.",
    ),
    LedgerRow(
        name="hu2019-equation35",
        place="section 7.2, eq. (35)",
        statement="So ||grad_{x_m} L^t|| <= L_m ||x_m^{t+1} - x_m^t|| + rho ||D_m'D_m (x_m^{t+1} - "
        "x_m^t)||.",
        standing="proof step",
        evidence=make_hu2019_counterexample("rate:check_lost_weight"),
        cause="lambda left out of (35)",
        repair="lambda L_m",
        defence="The line before has lambda.",
        answer="So do we read it: a misprint.",
    ),
    LedgerRow(
        name="hu2019-equation36",
        place="section 7.2, eq. (36), its two equalities",
        statement="||grad_z L^t|| = ||l(z^t) - y^t + rho (z^t - sum_m D_m x_m^t)||.",
        standing="proof step",
        evidence=make_hu2019_counterexample("rate:loss_for_its_slope"),
        cause="l for its slope in (36)",
        repair_check=make_check_reference("rate:slope_by_prediction"),
        repair="grad l(z^t)",
        defence="The display before has grad l.",
        answer="So do we read it: a misprint.",
    ),
    LedgerRow(
        name="hu2019-equation36-bound",
        place="section 7.2, eq. (36) and the display before it",
        statement="||grad_z L^t|| <= (L + rho) ||z^{t+1} - z^t|| + rho sum_m ||D_m (x_m^{t+1} - "
        "x_m^t)||.",
        standing="proof step",
        evidence=make_hu2019_proof("rate:slope_by_prediction"),
    ),
    LedgerRow(
        name="hu2019-equation37",
        place="section 7.2, eq. (37)",
        statement="||sum_m D_m x_m^t - z^t|| = ||y^{t+1} - y^t|| / rho <= L/rho ||z^{t+1} - z^t||.",
        standing="proof step",
        evidence=make_hu2019_counterexample("rate:gap_one_step_early"),
        cause="index in (37)",
        repair="y^t - y^{t-1} and z^t - z^{t-1}",
        defence="(38) can be had without it.",
        answer="By (8) the gap at t is (y^t - y^{t-1})/rho, and steps shrink where runs converge.",
    ),
    LedgerRow(
        name="hu2019-equation38",
        place="section 7.2, eq. (38)",
        statement="There is C_1 > 0 with V^t <= C_1 (||z^{t+1} - z^t||^2 + sum_m ||x_m^{t+1} - "
        "x_m^t||^2).",
        standing="proof step",
        evidence=make_hu2019_counterexample("rate:residual_at_rest"),
        cause="gradient zero at a border",
        repair_check=make_check_reference("rate:residual_by_steps"),
        repair="V^t with prox of lambda R_m and the indicator of X_m, from t = 1 on",
        defence=_INTERIOR,
        answer="At rest on the border of X_m the right side is 0, and V^t, as (33) has it, is not. "
        "With the indicator in prox it is proved, by (36) in place of (37), and with C_1 in "
        "numbers.",
        note="V^t is defined in a theorem that is missing from the text (Theorem ??).",
    ),
    LedgerRow(
        name="hu2019-equation39",
        place="section 7.2, eq. (39)",
        statement="By Lemma 4 L^t - L^{t+1} >= C_2 (||z^{t+1} - z^t||^2 + sum_m ||x_m^{t+1} - "
        "x_m^t||^2), C_2 = min(sum_m gamma_m/2, gamma/2 - L^2/rho).",
        standing="proof step",
        evidence=make_hu2019_counterexample("rate:fall_by_the_constant"),
        cause="constant C_2",
        repair_check=make_check_reference("rate:falls_and_steps"),
        repair="C_2 = min(min_m (gamma_m - (M - 1) rho sigma_max)/2, gamma/2 - L^2/rho), where it "
        "is positive",
        defence="Some constant is all that the proof needs.",
        answer="On the instance Lemma 4 is true, and its least gamma_m/2 - sigma_max is 0; where "
        "(M - 1) rho is above 2 no positive constant need exist.",
    ),
    LedgerRow(
        name="hu2019-equation40",
        place="section 7.2, eq. (40)",
        statement="V^t <= C_1/C_2 (L^t - L^{t+1}), whose brackets are not printed.",
        standing="proof step",
        evidence=make_hu2019_counterexample("rate:residual_by_fall"),
        cause="sign in Lemma 3",
        defence="Where Lemma 4 is true, with the right C_2, it follows.",
        answer="Where the augmented Lagrangian rises the right side is negative.",
    ),
    LedgerRow(
        name="hu2019-equation41",
        place="section 7.2, eq. (41)",
        statement="sum_{t <= T} V^t <= C_1/C_2 (L^1 - L^{T+1}) <= C_1/C_2 (L^1 - f).",
        standing="proof step",
        evidence=make_hu2019_counterexample("rate:sum_of_residuals"),
        cause="sign in Lemma 3",
        defence="As of (40).",
        answer="V^t grows like the squares of the steps, and the right side does not.",
    ),
    LedgerRow(
        name="hu2019-equation42",
        place="section 7.2, eq. (42)",
        statement="T(epsilon) epsilon <= C_1/C_2 (L^1 - f): V^t is at most epsilon within a number "
        "of iterations that grows like 1/epsilon.",
        standing="theorem",
        evidence=AuditEvidence("hu2019-equation42"),
        cause="sign in Lemma 3",
        defence="Where (M - 1) rho is below 2 it is true, with another C_2.",
        answer="Where V^t stays above a positive number T(epsilon) is infinite for a small "
        "epsilon.",
    ),
)
