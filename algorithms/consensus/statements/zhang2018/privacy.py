"""Rows of sections 4 and 5: penalty perturbation, its guarantee, and the experiments."""

from __future__ import annotations

from dpaudit.algorithms.consensus.statements.zhang2018 import causes
from dpaudit.algorithms.consensus.statements.zhang2018.evidence import (
    make_repair_reference,
    make_zhang2018_counterexample,
    make_zhang2018_proof,
)
from dpaudit.extension.ledger import (
    AuditEvidence,
    Consequence,
    Convention,
    LedgerRow,
    OpenQuestion,
    ReproductionEvidence,
)

ROWS = (
    LedgerRow(
        name="zhang2018-equation24",
        place="section 4, eq. (24) and (25)",
        statement="The perturbed objective of a node, and its minimiser, which is broadcast.",
        standing="definition",
        evidence=Convention("It defines the algorithm."),
    ),
    LedgerRow(
        name="zhang2018-section4-gamma",
        place="section 4, after eq. (24)",
        statement=(
            "A norm of the Gamma law with shape d and scale 1/alpha and a uniform direction give "
            "noise with a density proportional to exp(-alpha ||e||)."
        ),
        standing="gloss",
        privacy=True,
        evidence=make_zhang2018_proof("densities:gamma_norm"),
    ),
    LedgerRow(
        name="zhang2018-section4-dual-noise",
        place="section 4, the display after eq. (25)",
        statement="(25) is equivalent to adding the noise eta V e to the dual variable.",
        standing="proof step",
        evidence=make_zhang2018_proof("densities:dual_noise"),
        note="The text refers to this display as (26); that number is the bound of Theorem 4.1.",
    ),
    LedgerRow(
        name="zhang2018-section4-reduces",
        place="section 4, before Algorithm 1",
        statement=(
            "With eta_i(t+1) = eta = theta it is the dual variable perturbation of Zhang & Zhu "
            "2017."
        ),
        standing="proof step",
        evidence=Consequence(
            "zhang2018-section4-dual-noise",
            "With these penalties (10) and (11) are (8) and (9), and section 2.4 says of the "
            "method that noise is added to lambda_i(t) before (8).",
        ),
    ),
    LedgerRow(
        name="zhang2018-footnote3",
        place="section 4, footnote 3",
        statement=(
            "Zhang & Zhu 2017 impose a privacy constraint on a single iteration; here none is "
            "imposed, and the total privacy loss is calculated."
        ),
        standing="gloss",
        evidence=Convention("It says what is calculated: the loss of Theorem 4.1."),
    ),
    LedgerRow(
        name="zhang2018-algorithm1",
        place="section 4, Algorithm 1",
        statement=(
            "Penalty perturbation, with theta such that 2 c_1 < (B_i/C)(rho/N + 2 theta V_i)."
        ),
        standing="definition",
        evidence=Convention("It defines the algorithm."),
    ),
    LedgerRow(
        name="zhang2018-algorithm1-output",
        place="section 4, Algorithm 1, output",
        statement="Its output beta is an upper bound of the total privacy loss.",
        standing="gloss",
        privacy=True,
        evidence=Consequence("zhang2018-theorem41", "The number is that of (26)."),
    ),
    LedgerRow(
        name="zhang2018-section4-condition",
        place="section 4, after Algorithm 1",
        statement=(
            "The condition on theta helps to bound the privacy loss, and convergence does not "
            "need it."
        ),
        standing="gloss",
        evidence=make_zhang2018_proof("convergence:without_condition_on_theta"),
        note=(
            "A bound of our own, never above (26), does without it too (zhang2018-theorem41, "
            "without-the-condition-on-theta)."
        ),
    ),
    LedgerRow(
        name="zhang2018-definition41",
        place="section 4, Definition 4.1",
        statement=(
            "beta-differential privacy during T iterations: of all that nodes exchange, as every "
            "intermediate result is an output."
        ),
        standing="definition",
        privacy=True,
        evidence=Convention("It is a definition."),
    ),
    LedgerRow(
        name="zhang2018-assumption4",
        place="section 4, Assumption 4",
        statement="L is strictly convex and twice differentiable, |L'| <= 1 and 0 < L'' <= c_1.",
        standing="hypothesis",
        privacy=True,
        evidence=Convention(
            "It is a hypothesis; that the logistic loss meets it is a row of its own."
        ),
    ),
    LedgerRow(
        name="zhang2018-assumption5",
        place="section 4, Assumption 5",
        statement="R is 1-strongly convex and twice continuously differentiable.",
        standing="hypothesis",
        privacy=True,
        evidence=Convention("It is a hypothesis, which R(f) = ||f||^2 / 2 meets."),
    ),
    LedgerRow(
        name="zhang2018-theorem41",
        place="section 4, Theorem 4.1, eq. (26)",
        statement=(
            "With records of norm at most 1 penalty perturbation is beta-differentially private, "
            "beta >= max_i sum_t C (1.4 c_1 + alpha_i(t)) / (eta_i(t) V_i B_i)."
        ),
        standing="theorem",
        privacy=True,
        evidence=AuditEvidence("zhang2018-theorem41"),
        note=(
            "Proved step by step in the docstring of its claim; the determinant costs at most "
            "1/2.8 of what (26) has for it."
        ),
    ),
    LedgerRow(
        name="zhang2018-section5-people",
        place="section 5",
        statement="Adult has around 48,842 individuals.",
        standing="gloss",
        evidence=make_zhang2018_proof("remarks:people_of_adult"),
    ),
    LedgerRow(
        name="zhang2018-section5-records",
        place="section 5",
        statement="After preprocessing it has 45,223 individuals with 105 features.",
        standing="gloss",
        evidence=make_zhang2018_counterexample("remarks:records_of_adult"),
        cause=causes.COUNT.name,
        repair="45,222 individuals with 104 features",
        defence=(
            "One more of each: the first line of adult.test is no individual, and a reader that "
            "takes it for one gets both numbers if it also makes a category of it."
        ),
        answer="Nothing in the paper depends on it.",
    ),
    LedgerRow(
        name="zhang2018-section5-logistic",
        place="section 5",
        statement="The logistic loss has |L'| <= 1 and L'' <= c_1 = 1/4.",
        standing="gloss",
        privacy=True,
        evidence=make_zhang2018_proof("densities:logistic_loss"),
    ),
    LedgerRow(
        name="zhang2018-section5-measures",
        place="section 5 and section 5.2",
        statement=(
            "L(t) is the average loss, P(t) the bound of (26) up to t, L_mean(t) and L_range(t) "
            "the mean and the range of L(t) over 10 independent runs; the smaller they are, the "
            "higher accuracy, guarantee and stability."
        ),
        standing="definition",
        evidence=Convention("It defines what the experiments measure."),
    ),
    LedgerRow(
        name="zhang2018-section51-settings",
        place="section 5.1, first sentence",
        statement=(
            "Five nodes with eta_i(t) = eta_i(1) q_i^(t-1), where eta_i(1) = 0.55, 0.65, 0.6, "
            "0.55, 0.6 and q_i = 1.01, 1.03, 1.1, 1.2, 1.02; in Figure 1 (b) all eta_i(t) = 0.5 "
            "q_1^(t-1). theta = 0.5."
        ),
        standing="definition",
        evidence=Convention("They are choices."),
    ),
    LedgerRow(
        name="zhang2018-figure1a",
        place="section 5.1, Figure 1 (a)",
        statement="M-ADMM converges with private penalties that increase geometrically.",
        standing="figure",
        evidence=ReproductionEvidence("zhang2018-figure1", "converges"),
    ),
    LedgerRow(
        name="zhang2018-figure1a-consistent",
        place="section 5.1, Figure 1 (a)",
        statement=(
            "'This is consistent with Theorem 3.1': a run that converges does not contradict it."
        ),
        standing="gloss",
        evidence=Consequence(
            "zhang2018-figure1a", "It is so if the figure shows convergence.", link="restates"
        ),
        note=(
            "It does not confirm the theorem, which is refuted. These penalties grow without a "
            "bound, and a loss that settles may do so short of the optimum: with them and five "
            "nodes of one record each, most of the distance is left (zhang2018-theorem31, variant "
            "penalties-of-figure-1a)."
        ),
    ),
    LedgerRow(
        name="zhang2018-figure1a-steps",
        place="section 5.1, Figure 1 (a)",
        statement="M-ADMM converges with a dual step that is not fixed, or differs between nodes.",
        standing="figure",
        evidence=ReproductionEvidence("zhang2018-figure1", "other steps"),
    ),
    LedgerRow(
        name="zhang2018-figure1b",
        place="section 5.1, Figure 1 (b)",
        statement="Increasing penalties slow convergence down, and a larger increase does so more.",
        standing="figure",
        evidence=ReproductionEvidence("zhang2018-figure1", "slows down"),
    ),
    LedgerRow(
        name="zhang2018-figure1b-consistent",
        place="section 5.1, Figure 1 (b)",
        statement=(
            "'Which is consistent with Theorem 3.2': slower convergence does not contradict it."
        ),
        standing="gloss",
        evidence=Consequence(
            "zhang2018-figure1b", "It is so if the figure shows it.", link="restates"
        ),
        note=(
            "It does not confirm the theorem, which bounds the rate from below; that this bound "
            "falls as penalties increase is zhang2018-section3."
        ),
    ),
    LedgerRow(
        name="zhang2018-section52-settings",
        place="section 5.2, second and fourth sentence",
        statement=(
            "For simplicity theta = 0.5, eta_i(t) = theta q_1^(t-1) and alpha_i(t) = alpha(1) "
            "q_2^(t-1) for all nodes, and 10 independent runs of each setting."
        ),
        standing="definition",
        evidence=Convention("They are choices."),
    ),
    LedgerRow(
        name="zhang2018-section52-similar",
        place="section 5.2",
        statement="Results are similar when eta_i(t) and alpha_i(t) vary from node to node.",
        standing="gloss",
        evidence=OpenQuestion("No figure shows it, and no setting is given."),
    ),
    LedgerRow(
        name="zhang2018-figure2-trade-off",
        place="section 5.2, Figure 2",
        statement=(
            "With either method a better accuracy comes at the expense of a higher privacy loss."
        ),
        standing="figure",
        evidence=ReproductionEvidence("zhang2018-figure2", "trade-off"),
    ),
    LedgerRow(
        name="zhang2018-figure2-both",
        place="section 5.2, Figure 2",
        statement=(
            "With suitable q_1 and q_2 penalty perturbation outperforms dual variable perturbation "
            "significantly, in both accuracy and privacy."
        ),
        standing="figure",
        evidence=ReproductionEvidence("zhang2018-figure2", "both at once"),
    ),
    LedgerRow(
        name="zhang2018-section52-large",
        place="section 5.2, before Figure 3",
        statement="On larger networks, of tens and hundreds of nodes, convergence is attained.",
        standing="gloss",
        evidence=OpenQuestion(
            "No figure shows the distance to the optimum, nor a network of tens."
        ),
    ),
    LedgerRow(
        name="zhang2018-figure3",
        place="section 5.2, Figure 3",
        statement=(
            "Penalty perturbation outperforms Zhang & Zhu 2017 on 100 nodes with evenly spread "
            "records."
        ),
        standing="figure",
        evidence=ReproductionEvidence("zhang2018-figure3", "both at once"),
    ),
    LedgerRow(
        name="zhang2018-figure4",
        place="section 5.2, Figure 4",
        statement=(
            "Penalty perturbation outperforms Zhang & Zhu 2017 on 100 nodes with unevenly spread "
            "records."
        ),
        standing="figure",
        evidence=ReproductionEvidence("zhang2018-figure4", "both at once"),
    ),
    LedgerRow(
        name="zhang2018-figure4-uneven-drawn",
        place="section 5.2, Figures 3 and 4",
        statement="The figures show a higher privacy loss where sample sizes are uneven.",
        standing="figure",
        evidence=ReproductionEvidence("zhang2018-figure4", "uneven costs"),
    ),
    LedgerRow(
        name="zhang2018-figure4-uneven",
        place="section 5.2, after Figure 4",
        statement=(
            "As the node with the largest loss dominates and the loss increases as its samples "
            "decrease (Theorem 4.1), the loss is higher where sample sizes are uneven."
        ),
        standing="gloss",
        privacy=True,
        evidence=make_zhang2018_counterexample("remarks:uneven_star"),
        cause=causes.DEGREES.name,
        repair="the bound of (26) is, where all nodes have as many neighbours",
        repair_check=make_repair_reference("remarks:uneven_records"),
        defence="It compares Figure 4 with Figure 3, other things being equal.",
        answer=(
            "So read it is true, and the repair is its proof. As a conclusion "
            "from Theorem 4.1 about every network it needs equal degrees: in a star "
            "whose centre has fewer records than the leaves the bound is lower than with even "
            "sizes."
        ),
    ),
)
