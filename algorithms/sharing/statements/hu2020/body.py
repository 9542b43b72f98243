"""Abstract, introduction, and sections 2 and 3: the problem and the algorithm."""

from __future__ import annotations

from dpaudit.algorithms.sharing.statements import causes
from dpaudit.algorithms.sharing.statements.hu2019 import causes as earlier
from dpaudit.extension.ledger import (
    Consequence,
    Convention,
    CounterexampleEvidence,
    LedgerRow,
    OpenQuestion,
    ProofEvidence,
)

_CHECKS = "dpaudit.algorithms.sharing.statements.checks.algorithm"

_EARLIER = "dpaudit.algorithms.sharing.statements.hu2019.checks.method"  # of the same text

_SEPARATED = "dpaudit.algorithms.sharing.statements.checks.theorem1:check_separated_neighbours"

ROWS = (
    LedgerRow(
        name="hu2020-largely-prevents",
        place="abstract; section 1",
        statement="Each party only shares a single value for each sample, which minimises the risk "
        "of leakage, and largely prevents that its features are disclosed.",
        standing="gloss",
        evidence=CounterexampleEvidence(f"{_CHECKS}:check_disclosed_features"),
        cause=causes.SINGLE_VALUE.name,
        defence='"Largely" leaves room, a sample has more features than it has messages at first, '
        "and noise is added in section 3 to give a guarantee.",
        answer="Compared with sending the features it is true. But for R = ||x||^2/2 and "
        "without noise the centre knows all but D in D x = -D D'w / lambda, so that N messages "
        "give D D': every inner product of the party's records, that is the records but for a "
        "rotation. Where a party has one feature, one message is that feature up to a factor.",
    ),
    LedgerRow(
        name="hu2020-abstract-privacy",
        place="abstract",
        statement="With carefully designed noise the algorithm is differentially private, and its "
        "guarantee is bounded.",
        standing="gloss",
        evidence=Consequence("hu2020-corollary1", "It announces this.", "restates"),
        privacy=True,
        repair="T messages that are each (epsilon, delta)-differentially private given those "
        "before",
        repair_check="dpaudit.algorithms.sharing.statements.checks.composition:composition",
    ),
    LedgerRow(
        name="hu2020-abstract-experiments",
        place="abstract; section 1",
        statement="Experiments show that the algorithm converges efficiently, and has an advantage "
        "over SGD on data with many features.",
        standing="gloss",
        evidence=Consequence("hu2020-figure2-epochs", "It announces this.", "restates"),
    ),
    LedgerRow(
        name="hu2020-no-parameters",
        place="section 1",
        statement="No participant shares raw features or parameters of its model; each sends a "
        "single value for each sample.",
        standing="gloss",
        evidence=Convention(
            "What Algorithm 1 sends in each iteration; what that tells is hu2020-largely-prevents."
        ),
        note="In each iteration: T values for each sample in a run.",
    ),
    LedgerRow(
        name="hu2020-intro-privacy",
        place="section 1",
        statement="Perturbed by carefully designed Gaussian noise, the values sent are (epsilon, "
        "delta)-differentially private.",
        standing="gloss",
        evidence=Consequence("hu2020-analysis", "It announces this.", "restates"),
        privacy=True,
        repair="N independent entries of noise on the message, a C that bounds the sensitivity, "
        "and delta up to 1/4",
        repair_check="dpaudit.algorithms.sharing.statements.checks.theorem1:check_repaired_theorem",
    ),
    LedgerRow(
        name="hu2020-insensitive",
        place="section 1",
        statement="The law of the values sent is relatively insensitive to any change of a single "
        "feature of a party's data.",
        standing="gloss",
        evidence=CounterexampleEvidence(_SEPARATED),
        cause=causes.SUPPORT.name,
        defence="It says in words what differential privacy is for.",
        answer="One message has probability 1 of an event under one dataset, and 0 under its "
        "neighbour, whatever sigma is.",
        privacy=True,
    ),
    LedgerRow(
        name="hu2020-intro-scales",
        place="section 1",
        statement="Compared to gradient methods the algorithm scales as features grow in number, "
        "and converges robustly.",
        standing="gloss",
        evidence=Consequence("hu2020-scalable", "The first half is that of section 3.", "restates"),
        note="Robust convergence is only said of experiments; no theorem of this paper is about "
        "it.",
    ),
    LedgerRow(
        name="hu2020-intro-moderate",
        place="section 1",
        statement="The algorithm also converges under moderate noise, so that features of other "
        "parties can be used.",
        standing="gloss",
        evidence=Consequence("hu2020-figure3-moderate", "It announces this.", "restates"),
    ),
    LedgerRow(
        name="hu2020-unique",
        place="section 1, related work",
        statement="Unlike earlier work it enables private learning among nodes that hold different "
        "features of the same samples, which is as important as other settings, and relatively "
        "under-explored.",
        standing="gloss",
        evidence=OpenQuestion(
            "How far a field is explored, a statement about what others published, is not judged "
            "here; [8] of its own list is on privacy over split features. What this work enables "
            "is in the rows on privacy."
        ),
    ),
    LedgerRow(
        name="hu2020-related-guarantee",
        place="section 1, related work",
        statement="This work establishes an (epsilon, delta)-differential privacy guarantee for "
        "federated learning over distributed features.",
        standing="gloss",
        evidence=Consequence("hu2020-corollary1", "It announces this.", "restates"),
        privacy=True,
        repair="T messages that are each (epsilon, delta)-differentially private given those "
        "before",
        repair_check="dpaudit.algorithms.sharing.statements.checks.composition:composition",
    ),
    LedgerRow(
        name="hu2020-related-epochs",
        place="section 1, related work",
        statement="ADMM sharing converges in fewer epochs than gradient methods where features are "
        "many.",
        standing="gloss",
        evidence=Consequence("hu2020-figure2-epochs", "It announces this.", "restates"),
    ),
    LedgerRow(
        name="hu2020-loss-grows",
        place="section 1, related work",
        statement="The privacy loss increases as the number of epochs increases.",
        standing="gloss",
        evidence=ProofEvidence("dpaudit.algorithms.sharing.statements.checks.composition:growth"),
        privacy=True,
    ),
    LedgerRow(
        name="hu2020-dimensions",
        place="section 2",
        statement="N samples, each with d features on M parties: d is the sum of the d_m.",
        standing="definition",
        evidence=Convention("It names the parts of a split."),
    ),
    LedgerRow(
        name="hu2020-erm",
        place="section 2",
        statement="The model minimises the mean loss of f(D^i; x) plus lambda R(x) over a closed "
        "convex set X.",
        standing="definition",
        evidence=Convention("It states the problem."),
    ),
    LedgerRow(
        name="hu2020-labels",
        place="section 2",
        statement="Y_i in {-1, 1}^N is the label of sample i.",
        standing="definition",
        evidence=CounterexampleEvidence(f"{_EARLIER}:labels_of_all_samples"),
        cause=earlier.AMBIGUOUS_LABELS.name,
        repair="Y_i in {-1, 1}",
        defence="A sample has one label, as the context says.",
        answer="So it is read: a misprint, which hu2019 has as well.",
    ),
    LedgerRow(
        name="hu2020-loss-form",
        place="section 2",
        statement="sum_i l_i(f(D^i; x), Y_i) = sum_i l_i(D^i x, Y_i) = l(sum_m D_m^i x_m), the "
        "labels being part of l, which may be non-convex.",
        standing="hypothesis",
        evidence=CounterexampleEvidence(f"{_EARLIER}:free_sample"),
        cause=earlier.FREE_INDEX.name,
        repair="l(sum_m D_m x_m)",
        defence="Notation is abused, as the text says, and (1) has it right.",
        answer="The index i stays free on the right side. It is a misprint.",
    ),
    LedgerRow(
        name="hu2020-common-models",
        place="section 2",
        statement="The framework incorporates support vector machines, lasso, logistic regression "
        "and boosting.",
        standing="gloss",
        evidence=ProofEvidence(f"{_CHECKS}:margins_by_party"),
        note="Of (1); for boosting a party's columns are the outputs of its own weak learners. "
        "Assumption 1.2, which the analysis needs, leaves out lasso: ||x||_1 has no second "
        "derivative.",
    ),
    LedgerRow(
        name="hu2020-equation1",
        place="section 2, eq. (1) and (2)",
        statement="The risk can be written as l(sum_m D_m x_m) + lambda sum_m R_m(x_m) with x_m in "
        "closed convex sets X_m.",
        standing="proof step",
        evidence=CounterexampleEvidence(f"{_EARLIER}:compact_form"),
        cause=earlier.SCALING.name,
        repair="l with the factor 1/N in it",
        defence="l is any loss, and takes up the factor; the text says that its notation is "
        "abused.",
        answer="With l as it is defined just before, (1) has another minimiser for the same "
        "lambda. It is a misprint: no proof uses the factor.",
    ),
    LedgerRow(
        name="hu2020-separable",
        place="section 2",
        statement="R(x) is the sum of the R_m(x_m), which suits parties that each regularise their "
        "own model.",
        standing="hypothesis",
        evidence=Convention("A choice of regularisers."),
    ),
    LedgerRow(
        name="hu2020-strong-guarantee",
        place="section 3",
        statement="Differential privacy is a strong guarantee: little about the raw data can be "
        "inferred from what is released.",
        standing="gloss",
        evidence=Convention("It introduces the definition."),
    ),
    LedgerRow(
        name="hu2020-definition-dp",
        place="section 3",
        statement="A randomised algorithm is (epsilon, delta)-differentially private if Pr(M(x) in "
        "S) <= exp(epsilon) Pr(M(y) in S) + delta for all S and all x, y with |x - y|_1 <= 1.",
        standing="definition",
        evidence=Convention("A definition."),
    ),
    LedgerRow(
        name="hu2020-single-value",
        place="section 3",
        statement="Each party shares a single value in each iteration.",
        standing="gloss",
        evidence=CounterexampleEvidence(f"{_EARLIER}:values_in_a_message"),
        cause=earlier.ONE_VALUE.name,
        repair="a single value for each sample",
        defence="The abstract says so.",
        answer="So does Algorithm 1: D_m x~_m has N entries. It is a misprint.",
    ),
    LedgerRow(
        name="hu2020-minimum-messages",
        place="section 3",
        statement="This requires the minimum of message passing.",
        standing="gloss",
        evidence=CounterexampleEvidence(f"{_CHECKS}:fewest_messages"),
        cause=causes.REDUNDANT.name,
        defence='"Minimum" may mean that little is sent: a number for each sample where the '
        "features of that sample are many.",
        answer="It is not the least even of what this algorithm needs: y, which every party pulls "
        "in line 3, follows by (9) from the residuals that it pulls in the same line. A third of "
        "what a party sends and receives is superfluous.",
        repair="N numbers sent and 2 N received by a party, of which N are enough",
        repair_check=f"{_CHECKS}:dual_from_residuals",
    ),
    LedgerRow(
        name="hu2020-equation3",
        place="section 3, eq. (3) and (4)",
        statement="Problem (1) is equivalent to minimising l(z) + lambda sum_m R_m(x_m) subject to "
        "sum_m D_m x_m - z = 0 and x_m in X_m.",
        standing="proof step",
        evidence=ProofEvidence(f"{_CHECKS}:check_copied_variable"),
    ),
    LedgerRow(
        name="hu2020-equation5",
        place="section 3, eq. (5)",
        statement="The augmented Lagrangian, with dual variable y and penalty rho.",
        standing="definition",
        evidence=Convention("A definition."),
    ),
    LedgerRow(
        name="hu2020-equation6",
        place="section 3, eq. (6)",
        statement="x_m minimises lambda R_m + <y, D_m x_m> + rho/2 ||sum_{k != m} D_k x~_k + D_m "
        "x_m - z||^2 over X_m, for all m in parallel.",
        standing="definition",
        evidence=Convention("A step of the algorithm."),
    ),
    LedgerRow(
        name="hu2020-equation7",
        place="section 3, eq. (7)",
        statement="x~_m = x_m + N(0, sigma_m^2).",
        standing="definition",
        evidence=Convention("A step of the algorithm."),
        note="Rows of norm 1 give every entry of D_m xi_m the variance sigma_m^2, as Theorem 1 "
        "asks; the entries are correlated, with covariance sigma_m^2 D_m D_m' of rank at most d_m.",
    ),
    LedgerRow(
        name="hu2020-equation8",
        place="section 3, eq. (8) and (9)",
        statement="z minimises l(z) - <y, z> + rho/2 ||sum_m D_m x~_m - z||^2, and y gains rho "
        "(sum_m D_m x~_m - z).",
        standing="definition",
        evidence=Convention("Steps of the algorithm."),
    ),
    LedgerRow(
        name="hu2020-algorithm1",
        place="section 3, Algorithm 1",
        statement="Parties pull the residual and y, compute x~_m by (6) and (7) and push D_m x~_m; "
        "the centre computes z and y by (8) and (9); all in parallel, T times.",
        standing="definition",
        evidence=Convention("The algorithm."),
        note="Its t runs from 1, so that messages are those of t = 2, ..., T + 1; section 4 counts "
        "them from 1.",
    ),
    LedgerRow(
        name="hu2020-line4",
        place="section 3, after Algorithm 1, on its lines 3, 4 and 12",
        statement="A party needs sum_{k != m} D_k x~_k - z; lines 3, 4 and 12 get it from one "
        "vector for all parties, which reduces communication.",
        standing="gloss",
        evidence=ProofEvidence(f"{_CHECKS}:subtraction"),
    ),
    LedgerRow(
        name="hu2020-both-aims",
        place="section 3",
        statement="(6) gives an x_m that minimises the regulariser and brings the prediction close "
        "to z; (8) a z that minimises the loss and is close to the parties' predictions.",
        standing="gloss",
        evidence=Convention("It reads the terms of (6) and (8), whose sums are what is minimised."),
    ),
    LedgerRow(
        name="hu2020-quadratic",
        place="section 3",
        statement="Where R_m is the l_2 norm, (6) is a trivial quadratic program, which can be "
        "solved efficiently.",
        standing="gloss",
        evidence=CounterexampleEvidence(f"{_EARLIER}:norm_is_no_quadratic"),
        cause=earlier.SQUARED.name,
        repair="the squared l_2 norm, with linear constraints or none",
        repair_check=f"{_CHECKS}:quadratic_program",
        defence="L_2-norm regularisation commonly means the square.",
        answer="So it is read. The norm itself is not quadratic, and a ball is no linear "
        "constraint.",
    ),
    LedgerRow(
        name="hu2020-perturbed-value",
        place="section 3",
        statement="The shared value D_m x_m is perturbed with carefully designed noise in (7), "
        "which gives differential privacy.",
        standing="gloss",
        evidence=CounterexampleEvidence(_SEPARATED),
        cause=causes.SUPPORT.name,
        defence="D_m x~_m has noise in every entry, of the variance that Theorem 1 asks for.",
        answer="(7) perturbs x_m, so that what is sent stays in the column space of the data, "
        "which neighbours do not share.",
        privacy=True,
        repair="N independent entries of noise on the message, a C that bounds the sensitivity, "
        "and delta up to 1/4",
        repair_check="dpaudit.algorithms.sharing.statements.checks.theorem1:check_repaired_theorem",
    ),
    LedgerRow(
        name="hu2020-independent-of-features",
        place="section 3",
        statement="The complexity of (8) does not depend on the number of features.",
        standing="gloss",
        evidence=ProofEvidence(f"{_CHECKS}:one_scalar_per_sample"),
    ),
    LedgerRow(
        name="hu2020-scalable",
        place="section 3",
        statement="This makes the algorithm scalable to many features, as compared to SGD or "
        "Frank-Wolfe.",
        standing="gloss",
        evidence=OpenQuestion(
            "No cost is compared. (6) reads all N d_m entries of D_m, as an epoch of SGD does, so "
            "that (8) alone decides nothing; operations until a given gap would, of all three "
            "algorithms."
        ),
    ),
)
