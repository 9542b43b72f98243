"""Rows of hu2019: section 7.3, the proof of Lemma 1."""

from __future__ import annotations

from dpaudit.algorithms.sharing.statements.hu2019.evidence import (
    make_hu2019_counterexample,
    make_hu2019_proof,
)
from dpaudit.extension.ledger import (
    Consequence,
    Convention,
    CounterexampleEvidence,
    LedgerRow,
    ProofEvidence,
)

_SHARED = "dpaudit.algorithms.sharing.statements.checks.lemma1"  # of the same text in hu2020

ROWS = (
    LedgerRow(
        name="hu2019-lemma1-optimality",
        place="section 7.3, first display",
        statement="By optimality D_m x_m = -D_m (rho D_m'D_m)^-1 [lambda R_m'(x_m) + D_m'y^t + rho "
        "D_m'(sum_{k != m} D_k x~_k - z)].",
        standing="proof step",
        evidence=make_hu2019_counterexample("sensitivity:message_at_constraint"),
        cause="gradient zero at a border",
        repair="the same, where the constraint x_m in X_m is not active",
        defence="X_m may be so large that it is not.",
        answer="Assumption 2.1 bounds the feasible set, so that the minimum may be on its border.",
    ),
    LedgerRow(
        name="hu2019-equation43",
        place="section 7.3, second display, Phi_1, Phi_2, eq. (43)",
        statement="The difference of the two messages is Phi_1 + Phi_2.",
        standing="proof step",
        evidence=make_hu2019_proof("sensitivity:message_in_two_parts"),
        note="Given the first display.",
    ),
    LedgerRow(
        name="hu2019-lemma1-object",
        place="section 7.3, after eq. (43)",
        statement="The object is to bound the change of x_m.",
        standing="gloss",
        evidence=Convention("What is to be shown. It is D_m x_m that is bounded, in what follows."),
    ),
    LedgerRow(
        name="hu2019-lemma1-triangle",
        place="section 7.3, after eq. (43)",
        statement="The largest movement is at most the largest ||Phi_1|| plus the largest "
        "||Phi_2||.",
        standing="proof step",
        evidence=ProofEvidence(f"{_SHARED}:triangle"),
    ),
    LedgerRow(
        name="hu2019-lemma1-phi2",
        place="section 7.3, bound on Phi_2, from Assumption 2.3",
        statement="||Phi_2|| <= 2/(d_m rho) ||lambda R_m' + D_m''y^t + rho D_m''(sum - z)||.",
        standing="proof step",
        privacy=True,
        evidence=make_hu2019_counterexample("sensitivity:second_part"),
        cause="norm of the inverse",
        defence="For designs with orthogonal columns of length sqrt(d_m) it is true.",
        answer="Rows of length 1 do not make columns orthogonal: two rows that are nearly parallel "
        "make the inverse long.",
    ),
    LedgerRow(
        name="hu2019-lemma1-slope",
        place="section 7.3, by the mean value theorem, its first term",
        statement="lambda R_m'(x_m) is lambda D_m''R_m''(x*) for some x*, of norm at most lambda "
        "||R_m''||.",
        standing="proof step",
        privacy=True,
        evidence=CounterexampleEvidence(f"{_SHARED}:movement_by_the_slope"),
        cause="slope for its derivative",
        repair="lambda ||R_m'(0)|| + lambda c_1 b_1 for lambda ||R_m''||",
        defence="With R_m'(0) = 0 and models of norm at most 1 it is true.",
        answer="Assumption 2 has neither, and D_m''R_m''(x*) has another shape. By this step alone "
        "Lemma 1 is false: for a linear R_m, which has c_1 = 0, the bound is exceeded where "
        "D_m'D_m = d_m I and y = z = 0.",
    ),
    LedgerRow(
        name="hu2019-lemma1-mean-value",
        place="section 7.3, by the mean value theorem, its inequality",
        statement="The bracket is at most lambda ||R_m''|| + ||y^t|| + rho ||sum - z||.",
        standing="proof step",
        privacy=True,
        evidence=make_hu2019_counterexample("sensitivity:check_projected_dual"),
        cause="spectral norm of the design",
        defence="Given its first term it is true for designs of spectral norm at most 1.",
        answer="Rows of length 1 give a spectral norm of up to sqrt(N). By this step alone Lemma 1 "
        "is false: 256 records in 16 columns with D'D = d_m I on both designs, for which every "
        "other step is right, exceed C.",
        repair="sqrt(N) ||y^t|| for ||y^t||, and likewise for the last norm",
        repair_check=f"{_SHARED}:rows_of_norm_one",
    ),
    LedgerRow(
        name="hu2019-lemma1-phi1",
        place="section 7.3, bound on Phi_1, its inequality",
        statement="||Phi_1|| <= ||(D_m'D_m)^-1|| / rho [lambda ||R_m''|| + ||y^t|| + rho ||sum - "
        "z||].",
        standing="proof step",
        evidence=make_hu2019_counterexample("sensitivity:first_part"),
        cause="spectral norm of the design",
        defence="It is true for designs of spectral norm at most 1, and models at most 1 apart.",
        answer="It drops ||D_m||: D_m (D_m'D_m)^-1 has the norm 1/sqrt(sigma_min), which is more "
        "than 1/sigma_min where sigma_min is above 1.",
        repair="||D_m (D_m'D_m)^-1|| for ||(D_m'D_m)^-1||, and ||R_m''|| ||x - x'|| for ||R_m''||",
        repair_check=f"{_SHARED}:check_repaired_phi1_bound",
    ),
    LedgerRow(
        name="hu2019-lemma1-inverse",
        place="section 7.3, bound on Phi_1, its equality",
        statement="||(D_m'D_m)^-1|| = 1/d_m.",
        standing="proof step",
        privacy=True,
        evidence=make_hu2019_counterexample("sensitivity:inverse_of_a_design"),
        cause="norm of the inverse",
        defence="For D_m'D_m = d_m I it is true.",
        answer="With rows of length 1 the mean eigenvalue of D_m'D_m is N/d_m, and the least may "
        "be near 0.",
    ),
    LedgerRow(
        name="hu2019-lemma1-first",
        place="section 7.3, last display, first inequality",
        statement="The movement is at most 3/(d_m rho) [lambda c_1 + ||y^t|| + rho ||sum_{k != "
        "m} D_k x~_k - z||].",
        standing="proof step",
        evidence=Consequence(
            "hu2019-lemma1",
            "Of one party the sum is empty and the bracket at most that of Lemma 1, which falls "
            "for one party.",
            "implies",
        ),
        privacy=True,
    ),
    LedgerRow(
        name="hu2019-lemma1-others",
        place="section 7.3, last display, second inequality",
        statement="||sum_{k != m} D_k x~_k - z|| <= ||z|| + sum_{k != m} ||x~_k||.",
        standing="proof step",
        evidence=make_hu2019_counterexample("sensitivity:message_of_others"),
        cause="spectral norm of the design",
        defence="It is true for designs of spectral norm at most 1.",
        answer="A column of four ones sends twice its model.",
        repair="sqrt(N) ||x~_k|| for ||x~_k||",
        repair_check=f"{_SHARED}:rows_of_norm_one",
    ),
    LedgerRow(
        name="hu2019-lemma1-sum",
        place="section 7.3, last display, last inequality",
        statement="With norms of at most b_1 the bracket is at most lambda c_1 + (1 + M rho) b_1.",
        standing="proof step",
        evidence=make_hu2019_proof("sensitivity:sum_of_bounds"),
        note="x~ has noise, so that no b_1 holds for it: see Assumption 2.1.",
    ),
    LedgerRow(
        name="hu2019-lemma1-bounded",
        place="section 7.3, last display",
        statement="So the movement is bounded, by 3/(d_m rho) [lambda c_1 + (1 + M rho) b_1].",
        standing="proof step",
        evidence=Consequence("hu2019-lemma1", "This is the lemma.", "restates"),
        privacy=True,
        repair="(1/rho + 1 + (M - 1) sqrt(N)) b_1, for convex R_m that are least in X_m at 0",
        repair_check=f"{_SHARED}:check_repaired_bound",
    ),
)
