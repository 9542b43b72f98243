"""Rows of the abstract, of section 1 and of section 2."""

from __future__ import annotations

from dpaudit.algorithms.consensus.statements.zhang2018 import causes
from dpaudit.algorithms.consensus.statements.zhang2018.evidence import (
    make_repair_reference,
    make_zhang2018_counterexample,
    make_zhang2018_proof,
)
from dpaudit.extension.ledger import Consequence, Convention, LedgerRow

ROWS = (
    LedgerRow(
        name="zhang2018-abstract-single-node",
        place="abstract and section 1",
        statement=(
            "Zhang & Zhu 2017 bound the privacy loss of a single node in one iteration only, which "
            "makes it hard to weigh utility against the loss of all nodes over all iterations."
        ),
        standing="gloss",
        evidence=Convention("It is about another paper, which is not audited."),
    ),
    LedgerRow(
        name="zhang2018-section1-earlier",
        place="section 1",
        statement=(
            "To the best of the authors' knowledge only Zhang & Zhu 2017 apply differential "
            "privacy to ADMM."
        ),
        standing="gloss",
        evidence=Convention("It is about the literature of the time."),
    ),
    LedgerRow(
        name="zhang2018-abstract-both",
        place="abstract and section 1",
        statement=(
            "A perturbation that is correlated with the penalties improves utility and privacy "
            "at once."
        ),
        standing="gloss",
        evidence=Consequence(
            "zhang2018-figure2-both", "The paper shows it by Figure 2.", link="restates"
        ),
    ),
    LedgerRow(
        name="zhang2018-abstract-own-penalty",
        place="abstract and section 1",
        statement=(
            "Every node chooses its own penalty in every iteration, and apart from the step size "
            "of the dual update."
        ),
        standing="definition",
        evidence=Convention("It is the modification that (10) and (11) define."),
    ),
    LedgerRow(
        name="zhang2018-abstract-convergence",
        place="abstract and section 1",
        statement="The condition under which modified ADMM converges is derived.",
        standing="gloss",
        evidence=Consequence("zhang2018-theorem31", "That theorem is meant.", link="restates"),
        repair="one penalty for all nodes, which stays below a bound",
        repair_check=make_repair_reference("convergence:check_bounded_convergence"),
    ),
    LedgerRow(
        name="zhang2018-abstract-rate",
        place="abstract, section 1 and section 3.3",
        statement="A lower bound on the convergence rate is derived.",
        standing="gloss",
        evidence=Consequence("zhang2018-theorem32", "That theorem is meant.", link="restates"),
        repair="one penalty for all nodes, and 2 m_o in place of 2 m_o + 2 sigma-_min in (23)",
        repair_check=make_repair_reference("rates:check_proved_rate"),
    ),
    LedgerRow(
        name="zhang2018-section1-rates",
        place="section 1",
        statement="ADMM converges at the rate O(1/k), subgradient methods at O(1/sqrt(k)).",
        standing="gloss",
        evidence=Convention("It is cited from Wei & Ozdaglar 2012."),
    ),
    LedgerRow(
        name="zhang2018-section1-accumulates",
        place="section 1 and section 2.4",
        statement="The privacy loss accumulates over the iterations.",
        standing="gloss",
        privacy=True,
        evidence=make_zhang2018_proof("remarks:accumulating_loss"),
    ),
    LedgerRow(
        name="zhang2018-section1-results",
        place="section 1",
        statement=(
            "Increasing the penalty over iterations gives a stronger privacy guarantee and better "
            "performance: more stable convergence and a higher accuracy."
        ),
        standing="gloss",
        evidence=Consequence(
            "zhang2018-figure2-both", "The numerical results are Figure 2.", link="restates"
        ),
    ),
    LedgerRow(
        name="zhang2018-equation1",
        place="section 2.1, eq. (1)",
        statement="The problem: regularised empirical risk, with C <= B_i and rho > 0.",
        standing="definition",
        evidence=Convention("It defines the problem."),
    ),
    LedgerRow(
        name="zhang2018-section21-goal",
        place="section 2.1, after eq. (1)",
        statement=(
            "The goal: one classifier of all data sets, trained by ADMM at all nodes, with privacy "
            "for each data sample."
        ),
        standing="definition",
        evidence=Convention("It is an aim, not a result."),
    ),
    LedgerRow(
        name="zhang2018-footnote1",
        place="section 2.1, footnote 1",
        statement="A network is connected if every node is reachable from every other.",
        standing="definition",
        evidence=Convention("It is a definition."),
    ),
    LedgerRow(
        name="zhang2018-footnote2",
        place="section 2.1, footnote 2",
        statement=(
            "Penalty perturbation applies to general distributed algorithms based on ADMM, as the "
            "analysis of convergence and privacy in sections 3 and 4 remains valid."
        ),
        standing="gloss",
        privacy=True,
        evidence=make_zhang2018_counterexample("remarks:many_directions"),
        cause=causes.FORM.name,
        repair="losses L(u'f) of a margin with |L'| <= 1 and 0 < L'' <= c_1",
        repair_check=make_repair_reference("remarks:margin_form"),
        defence=(
            "The footnote speaks of problems like regression, whose losses are functions of a "
            "margin too."
        ),
        answer=(
            "For these the proof is valid as it is. 'General' is more: where a record bends the "
            "objective in all d directions, the ratio of determinants in (61) has d factors, and "
            "the loss of one output passes (26)."
        ),
    ),
    LedgerRow(
        name="zhang2018-footnote2-margins",
        place="section 2.1, footnote 2",
        statement="The privacy analysis is not limited to classification.",
        standing="gloss",
        privacy=True,
        evidence=make_zhang2018_proof("remarks:margin_form"),
    ),
    LedgerRow(
        name="zhang2018-equation2",
        place="section 2.2, eq. (2)",
        statement="With a copy of the classifier at every node (1) becomes (2), equivalently.",
        standing="proof step",
        evidence=make_zhang2018_proof("stacking:equivalent_problem"),
    ),
    LedgerRow(
        name="zhang2018-equation3",
        place="section 2.2, eq. (3) to (7)",
        statement="The augmented Lagrangian, and the updates of conventional ADMM.",
        standing="definition",
        evidence=Convention("It defines the algorithm."),
    ),
    LedgerRow(
        name="zhang2018-equal-duals",
        place="section 2.2, before eq. (8)",
        statement=(
            "If the duals start at zero, lambda^a_ij(t) = lambda^b_ij(t) and lambda^k_ij(t) = "
            "-lambda^k_ji(t) in all iterations (Lemma 3 of Forero et al. 2010)."
        ),
        standing="proof step",
        evidence=Consequence("zhang2018-equation28", "The rest is induction on t."),
    ),
    LedgerRow(
        name="zhang2018-equation8",
        place="section 2.2, eq. (8) and (9)",
        statement="The updates (4) to (7) can be simplified to (8) and (9).",
        standing="proof step",
        evidence=make_zhang2018_proof("stacking:check_simplified_lagrangian"),
        note=(
            "(8) holds from t = 0 on if w_ij(0) is the mean of f_i(0) and f_j(0), which the text "
            "leaves open; with any other w(0) from t = 1 on."
        ),
    ),
    LedgerRow(
        name="zhang2018-section23-definition",
        place="section 2.3",
        statement="Definition of epsilon-differential privacy, and of neighbouring datasets.",
        standing="definition",
        privacy=True,
        evidence=Convention("It is a definition."),
    ),
    LedgerRow(
        name="zhang2018-section23-almost-same",
        place="section 2.3",
        statement=(
            "For a sufficiently small epsilon an adversary observes almost the same output, "
            "whether or not an individual is present."
        ),
        standing="gloss",
        privacy=True,
        evidence=make_zhang2018_proof("remarks:almost_same_output"),
    ),
    LedgerRow(
        name="zhang2018-section24-methods",
        place="section 2.4",
        statement="Dual and primal variable perturbation, as Zhang & Zhu 2017 proposed them.",
        standing="definition",
        evidence=Convention("It describes another paper's algorithms."),
    ),
    LedgerRow(
        name="zhang2018-section24-private",
        place="section 2.4",
        statement="Each node decides its own penalty in every iteration and does not exchange it.",
        standing="definition",
        evidence=Convention("It is a choice of this paper."),
    ),
)
