"""Rows of section 3: modified ADMM, its convergence and its rate."""

from __future__ import annotations

from dpaudit.algorithms.consensus.statements.zhang2018 import causes
from dpaudit.algorithms.consensus.statements.zhang2018.evidence import (
    make_repair_reference,
    make_zhang2018_counterexample,
    make_zhang2018_proof,
)
from dpaudit.extension.ledger import AuditEvidence, Consequence, Convention, LedgerRow

ONE_PENALTY = "one penalty for all nodes"
_OWN = (
    "Penalties of the nodes' own, as in Figure 1 (a), are what the paper is about; (39) needs them "
    "equal."
)
_SHARED = "In Figures 1 (b) to 4 all nodes share one penalty, for which the step holds."

ROWS = (
    LedgerRow(
        name="zhang2018-section31-conventional",
        place="section 3.1",
        statement=(
            "Conventional ADMM has one fixed penalty, equal to the dual step; variants with other "
            "penalties are modifications of (4) to (7), not of (8) and (9)."
        ),
        standing="gloss",
        evidence=Convention("It is about other papers."),
    ),
    LedgerRow(
        name="zhang2018-section31-steps",
        place="section 3.1",
        statement=(
            "For simplicity theta is fixed for all nodes in the analysis, 'but can also be private "
            "information as we show in numerical experiments'."
        ),
        standing="gloss",
        evidence=Consequence(
            "zhang2018-figure1a-steps", "Figure 1 (a) is that experiment.", link="restates"
        ),
    ),
    LedgerRow(
        name="zhang2018-section31-steps-optimum",
        place="section 3.1 and section 5.1, as of a method that solves (1)",
        statement=(
            "M-ADMM may have a dual step for each node: read so that it solves (1) all the same."
        ),
        standing="gloss",
        evidence=make_zhang2018_counterexample("remarks:own_dual_steps"),
        cause=causes.OWN_STEPS.name,
        defence=(
            "The text says that theta can be private, and shows a loss that settles; of where the "
            "iterations end it says nothing."
        ),
        answer=(
            "Read so it is zhang2018-section31-steps. But what they converge to has the gradients "
            "O_i'(f)/theta_i sum to zero, where the optimum of (1) has the O_i'(f): it is another "
            "problem's solution. Two nodes with the steps 1/2 and 1/4 end at 2/3 where the optimum "
            "is 1/2."
        ),
    ),
    LedgerRow(
        name="zhang2018-section31-pairs",
        place="section 3.1, the display before eq. (10)",
        statement=(
            "With eta_ij(t+1) in (4), (5) and theta in (6), (7) the update of f_i has the weights "
            "(eta_ij + eta_ji)/2 and that of lambda_i the step theta/2."
        ),
        standing="proof step",
        evidence=make_zhang2018_proof("stacking:own_constraint_penalties"),
    ),
    LedgerRow(
        name="zhang2018-section31-violates",
        place="section 3.1",
        statement="So node i needs eta_ji, which is to be node j's private information.",
        standing="gloss",
        evidence=Consequence("zhang2018-section31-pairs", "eta_ji is in node i's update."),
    ),
    LedgerRow(
        name="zhang2018-equation10",
        place="section 3.1, eq. (10) and (11)",
        statement="The updates of M-ADMM, with eta_i(t+1) known to node i alone.",
        standing="definition",
        evidence=Convention("It defines the algorithm."),
    ),
    LedgerRow(
        name="zhang2018-section31-name",
        place="section 3.1, after eq. (11)",
        statement="eta_i(t+1) is no longer a penalty parameter of any equality constraint of (2).",
        standing="gloss",
        evidence=Convention("It explains why it is called a penalty all the same."),
    ),
    LedgerRow(
        name="zhang2018-section32-converges",
        place="section 3.2",
        statement=(
            "M-ADMM converges to the optimal solution under a set of common technical assumptions."
        ),
        standing="gloss",
        evidence=Consequence("zhang2018-theorem31", "That theorem is meant.", link="restates"),
        repair="one penalty for all nodes, which stays below a bound",
        repair_check=make_repair_reference("convergence:check_bounded_convergence"),
    ),
    LedgerRow(
        name="zhang2018-assumption1",
        place="section 3.2, Assumption 1",
        statement="O(f_i, D_i) is convex and continuously differentiable in f_i.",
        standing="hypothesis",
        evidence=Convention("It is a hypothesis, which logistic regression meets."),
    ),
    LedgerRow(
        name="zhang2018-assumption2",
        place="section 3.2, Assumption 2",
        statement="The set of solutions of (1) has at least one bounded element.",
        standing="hypothesis",
        evidence=Convention("It is a hypothesis, which a strongly convex objective meets."),
    ),
    LedgerRow(
        name="zhang2018-equation12",
        place="section 3.2, eq. (12)",
        statement="The optimality condition of (10).",
        standing="proof step",
        evidence=make_zhang2018_proof("stacking:stationarity"),
    ),
    LedgerRow(
        name="zhang2018-equation13",
        place="section 3.2, eq. (13) and (14)",
        statement="(11) and (12) in matrices, with degrees D, adjacency A and penalties W(t).",
        standing="proof step",
        evidence=make_zhang2018_proof("stacking:check_stacked_updates"),
    ),
    LedgerRow(
        name="zhang2018-laplacians",
        place="section 3.2, after eq. (14)",
        statement=(
            "In a connected network D - A and D + A are positive semi-definite, and the null space "
            "of D - A is spanned by 1."
        ),
        standing="proof step",
        evidence=make_zhang2018_proof("stacking:laplacian_squares"),
    ),
    LedgerRow(
        name="zhang2018-equation15",
        place="section 3.2, eq. (15) and (16)",
        statement=(
            "Lambda(t) is in the column space of D - A, so Y(t) with 2 Lambda(t) = sqrt(D - A) "
            "Y(t) exists, and (13), (14) become (15), (16)."
        ),
        standing="proof step",
        evidence=make_zhang2018_proof("stacking:check_rooted_updates"),
    ),
    LedgerRow(
        name="zhang2018-lemma31",
        place="section 3.2, Lemma 3.1, eq. (17) and (18)",
        statement=(
            "f* is consensual and its common row is an optimal solution of (1), if and only if "
            "there is a Y* = sqrt(D - A) X with which f* satisfies (17) and (18)."
        ),
        standing="theorem",
        evidence=make_zhang2018_proof("convergence:same_optimum"),
        note="It is cited from Ling et al. 2016.",
    ),
    LedgerRow(
        name="zhang2018-lemma31-hence",
        place="section 3.2, after Lemma 3.1",
        statement=(
            "So convergence to a pair that satisfies (17) and (18) is convergence to an optimum."
        ),
        standing="gloss",
        evidence=Consequence("zhang2018-lemma31", "The pair's models are all the optimal one."),
    ),
    LedgerRow(
        name="zhang2018-equation19",
        place="section 3.2, Theorem 3.1, eq. (19)",
        statement="<Z(t+1) - Z*, J(t+1)(Z(t+1) - Z(t))> <= 0 in every step of M-ADMM.",
        standing="theorem",
        evidence=make_zhang2018_counterexample("convergence:inequality19"),
        cause=causes.PRODUCTS.name,
        repair=ONE_PENALTY,
        repair_check=make_repair_reference("stacking:check_shared_forms"),
        defence=_SHARED,
        answer=_OWN,
    ),
    LedgerRow(
        name="zhang2018-theorem31",
        place="section 3.2, Theorem 3.1",
        statement=(
            "If eta_i(t+1) >= eta_i(t) >= theta > 0 and eta_i(t) < infinity for all t and i, then "
            "(Y(t), f(t)) converges to (Y*, f*)."
        ),
        standing="theorem",
        evidence=AuditEvidence("zhang2018-theorem31"),
        cause=causes.BOUND.name,
        repair="one penalty for all nodes, which stays below a bound",
        repair_check=make_repair_reference("convergence:check_bounded_convergence"),
        defence=(
            "The condition is meant as a bound that all eta_i(t) share, as (43) shows; in a finite "
            "number of iterations there is one."
        ),
        answer=(
            "The experiments have penalties that grow geometrically, and section 5.1 calls them "
            "consistent with the theorem. With such penalties two nodes keep at least 56/135 of "
            "their distance to the optimum. With penalties of the nodes' own and a bound the "
            "paper's proof is lost with (19); of quadratics another one shows it (variant "
            "bounded-penalties), and of other convex functions it is open."
        ),
    ),
    LedgerRow(
        name="zhang2018-assumption3",
        place="section 3.3, Assumption 3, eq. (20)",
        statement="O(f_i, D_i) is m_i-strongly convex, with an M_i-Lipschitz gradient.",
        standing="hypothesis",
        evidence=Convention("It is a hypothesis, which regularised logistic regression meets."),
    ),
    LedgerRow(
        name="zhang2018-equation21",
        place="section 3.3, Theorem 3.2, eq. (21) and (22)",
        statement=(
            "The conditions on delta(t), with mu > 1 and the singular values of two matrices."
        ),
        standing="hypothesis",
        evidence=Convention("They are the hypotheses of Theorem 3.2."),
    ),
    LedgerRow(
        name="zhang2018-contraction",
        place="section 3.3, Theorem 3.2",
        statement=(
            "(1 + delta(t)) ||Z(t) - Z*||^2 <= ||Z(t-1) - Z*||^2 in the norm of J(t), for any "
            "delta(t) that satisfies (21) and (22)."
        ),
        standing="theorem",
        evidence=make_zhang2018_counterexample("rates:contraction"),
        cause=causes.PRODUCTS.name,
        repair=ONE_PENALTY,
        repair_check=make_repair_reference("rates:check_shared_contraction"),
        defence=_SHARED,
        answer=_OWN,
        note="With delta = 1/8, which meets (21) and (22), the distance grows instead.",
    ),
    LedgerRow(
        name="zhang2018-theorem32",
        place="section 3.3, Theorem 3.2",
        statement=(
            "(1 + delta(t)) ||Z(t) - Z*||^2 <= ||Z(t-1) - Z*||^2 with the delta(t) of (23), also "
            "where all nodes share one penalty."
        ),
        standing="theorem",
        evidence=AuditEvidence("zhang2018-theorem32"),
        cause=causes.SMALLEST.name,
        repair="one penalty for all nodes, and 2 m_o in place of 2 m_o + 2 sigma-_min in (23)",
        repair_check=make_repair_reference("rates:check_proved_rate"),
        defence=(
            "sigma_min is defined as the smallest nonzero singular value, and is meant to be used "
            "where models differ."
        ),
        answer="The distance to the optimum has a part in which all models agree; (22) has it too.",
    ),
    LedgerRow(
        name="zhang2018-theorem32-converges",
        place="section 3.3, Theorem 3.2",
        statement=("(Y(t), f(t)) 'converges to (Y*, f*) in the following sense': the contraction."),
        standing="theorem",
        evidence=Consequence(
            "zhang2018-contraction", "The sense is the contraction, no more.", link="restates"
        ),
        repair=ONE_PENALTY,
        repair_check=make_repair_reference("rates:check_shared_contraction"),
    ),
    LedgerRow(
        name="zhang2018-theorem32-limit",
        place="section 3.3, Theorem 3.2, 'converges' read as it is without the sense that follows",
        statement="Under the same conditions (Y(t), f(t)) tends to (Y*, f*).",
        standing="theorem",
        evidence=make_zhang2018_counterexample("convergence:convergence"),
        cause=causes.UNBOUNDED_SENSE.name,
        repair="one penalty for all nodes, which stays below a bound",
        repair_check=make_repair_reference("convergence:check_bounded_convergence"),
        defence="'In the following sense' says what is meant: the contraction, no more.",
        answer=(
            "Read so it is zhang2018-theorem32-converges. A reader of 'converges' expects a limit. "
            "In the "
            "counterexample all nodes share a penalty, so that the contraction holds, but in a "
            "norm that grows with the penalties, and with delta(t) that tend to 0. Its functions "
            "are strongly convex, as Assumption 3 asks."
        ),
    ),
    LedgerRow(
        name="zhang2018-equation23",
        place="section 3.3, Theorem 3.2, eq. (23)",
        statement="The number (23) is a lower bound on delta(t): it satisfies (21) and (22).",
        standing="theorem",
        evidence=AuditEvidence("zhang2018-equation23"),
        cause=causes.SMALLEST.name,
        repair="one penalty for all nodes, and 2 m_o in place of 2 m_o + 2 sigma-_min",
        repair_check=make_repair_reference("rates:check_proved_rate"),
        defence="The right side of (22) is at least 2 m_o + 2 sigma-_min where models differ.",
        answer="It is 2 m_o where they agree, and (22) is asked for in every direction.",
    ),
    LedgerRow(
        name="zhang2018-section33-singular-values",
        place="section 3.3, after eq. (23)",
        statement=(
            "'Larger penalty results in larger' sigma-_max(t) and sigma~_max(t): strictly where "
            "the penalties of all nodes are larger, and at least as large where some are."
        ),
        standing="gloss",
        evidence=make_zhang2018_proof("rates:singular_values_grow"),
    ),
    LedgerRow(
        name="zhang2018-section33-first-term",
        place="section 3.3, after eq. (23)",
        statement="The first term of (23) is smaller when sigma~_max(t) is larger.",
        standing="gloss",
        evidence=make_zhang2018_proof("rates:rate_terms"),
    ),
    LedgerRow(
        name="zhang2018-section33-second-term",
        place="section 3.3, after eq. (23)",
        statement=(
            "The second term of (23) is bounded by theta sigma_min(D - A)(mu - 1)(2 m_o + 2 "
            "sigma-_min) / (mu sigma-_max^2), which is smaller when sigma-_max is larger."
        ),
        standing="gloss",
        evidence=make_zhang2018_proof("rates:second_term_bound"),
        note="With everything else held fixed; sigma-_min grows with the penalties too.",
    ),
    LedgerRow(
        name="zhang2018-section3",
        place="section 3.3, after eq. (23)",
        statement="Therefore the convergence rate 1 + delta(t) decreases as the eta_i(t) increase.",
        standing="gloss",
        evidence=AuditEvidence("zhang2018-section3"),
        cause=causes.FALLING.name,
        repair="the rate with 2 m_o in place of 2 m_o + 2 sigma-_min, and one penalty",
        repair_check=make_repair_reference("rates:falling_smaller_rate"),
        defence="Once penalties are large sigma-_max^2 outgrows sigma-_min, and the rate falls.",
        answer="They start near theta in every experiment: from eta = theta on, (23) first rises.",
        note="An exact instance is `rates:falling_rate`.",
    ),
)
