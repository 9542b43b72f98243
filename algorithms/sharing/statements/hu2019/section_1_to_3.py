"""Rows of hu2019: abstract and sections 1 to 3, and later statements on the same subjects."""

from __future__ import annotations

from dpaudit.algorithms.sharing.statements.hu2019.evidence import (
    make_hu2019_counterexample,
    make_hu2019_proof,
)
from dpaudit.extension.ledger import Consequence, Convention, LedgerRow, OpenQuestion

ROWS = (
    LedgerRow(
        name="hu2019-little-leakage",
        place="abstract; section 1",
        statement="A party shares a single value for each sample, which minimises the risk of "
        "leakage and largely prevents its features from being disclosed.",
        standing="gloss",
        evidence=make_hu2019_counterexample("method:column_from_a_message"),
        cause="little sent taken for little told",
        defence="'Largely' compares with sending the features themselves, and section 4 says that "
        "messages may reveal sensitive data.",
        answer="So compared it is true, and nothing is measured. Of what is disclosed: with the "
        "squared norm for R_m the message is a known function of the data. For one "
        "column it tells the square of every feature exactly, from one sample and one iteration "
        "on.",
    ),
    LedgerRow(
        name="hu2019-shown-convergence",
        place="abstract; sections 1, 3 and 6",
        statement="Convergence and iteration complexity are established for the parallel "
        "algorithm, under convex and non-convex losses.",
        standing="gloss",
        evidence=Consequence(
            "hu2019-convergence", "Part 1 of the theorem is what is said to be shown.", "implies"
        ),
    ),
    LedgerRow(
        name="hu2019-shown-privacy",
        place="abstract; sections 1, 1.1 and 4",
        statement="Noise that is carefully designed bounds the privacy guarantee: the messages are "
        "(epsilon, delta)-differentially private.",
        standing="gloss",
        privacy=True,
        evidence=Consequence(
            "hu2019-selected-sigma", "It is said of the noise that is designed.", "restates"
        ),
        repair="N independent entries of noise on the message, a C that bounds the sensitivity, "
        "and delta up to 1/4",
        repair_check="dpaudit.algorithms.sharing.statements.checks.theorem1:check_repaired_theorem",
    ),
    LedgerRow(
        name="hu2019-robust",
        place="abstract; sections 1 and 6",
        statement="The algorithms converge efficiently and in a robust fashion, with an advantage "
        "over gradient methods in high dimension.",
        standing="gloss",
        evidence=OpenQuestion(
            "It is said of runs on two datasets, which the rows of the figures are about. Of all "
            "problems inside Assumption 1 it is not true: on some the algorithm diverges, by "
            "hu2019-convergence."
        ),
    ),
    LedgerRow(
        name="hu2019-nothing-raw",
        place="sections 1, 2 and 6",
        statement="No party shares raw features or the parameters of its local model.",
        standing="definition",
        evidence=Convention("It says what the messages of Algorithm 1 are: D_m x_m."),
    ),
    LedgerRow(
        name="hu2019-first-parallel",
        place="section 1",
        statement="For non-convex losses convergence of ADMM sharing was known for sequential "
        "(Gauss-Seidel) updates alone.",
        standing="gloss",
        evidence=OpenQuestion(
            "A statement about all earlier work, of which some is cited; nobody searched it here."
        ),
    ),
    LedgerRow(
        name="hu2019-related-work",
        place="section 1.1",
        statement="Others' methods split samples, give no privacy guarantee, answer simpler "
        "queries, or encrypt, at a cost.",
        standing="gloss",
        evidence=Convention("Statements about the work of others, which is cited."),
    ),
    LedgerRow(
        name="hu2019-unexplored",
        place="section 1.1",
        statement="Private learning over split features is as important as other settings, and "
        "yet to be explored.",
        standing="gloss",
        evidence=OpenQuestion(
            "It is a matter of degree: the paper cites Lou and Cheung 2018, whose title has "
            "both, and a private version of Hu et al. 2019. Nobody searched earlier work here."
        ),
    ),
    LedgerRow(
        name="hu2019-insensitive",
        place="section 1",
        statement="The law of the shared values is relatively insensitive to any change of a "
        "single feature in a party's data.",
        standing="gloss",
        privacy=True,
        evidence=make_hu2019_counterexample("privacy:one_sided_message"),
        cause="support of the noise",
        defence="It describes what differential privacy is for.",
        answer="Two designs that differ in the sign of one entry have messages in different "
        "planes: an event has probability 1 under one of them and 0 under the other.",
    ),
    LedgerRow(
        name="hu2019-scales",
        place="section 1",
        statement="The method scales as the number of features increases, unlike the gradient "
        "method it is compared to.",
        standing="gloss",
        evidence=OpenQuestion("No rate in the number of features is stated for either method."),
    ),
    LedgerRow(
        name="hu2019-loss-of-epochs",
        place="section 1.1",
        statement="Privacy loss increases as the number of epochs increases.",
        standing="gloss",
        privacy=True,
        evidence=make_hu2019_proof("privacy:more_rounds_cost_more"),
        note="Of the bound (11).",
    ),
    LedgerRow(
        name="hu2019-dense-features",
        place="section 1.1",
        statement="ADMM sharing is more efficient for dense features than Frank-Wolfe, and scales "
        "much better with their number.",
        standing="gloss",
        evidence=OpenQuestion(
            "Section 3, to which it refers, counts operations of (7) and of no other algorithm; no "
            "experiment runs Frank-Wolfe."
        ),
    ),
    LedgerRow(
        name="hu2019-source-of-risk",
        place="section 1.1",
        statement="In learning, unlike in static queries, the risk comes from the values that are "
        "shared in the optimisation.",
        standing="gloss",
        evidence=Convention("It says what an adversary sees: the messages of all iterations."),
    ),
    LedgerRow(
        name="hu2019-all-at-once",
        place="section 1.1",
        statement="The design achieves minimum message passing, fast convergence and a bounded "
        "privacy cost at once.",
        standing="gloss",
        privacy=True,
        evidence=Consequence(
            "hu2019-corollary1", "The bounded privacy cost is Corollary 1's.", "implies"
        ),
    ),
    LedgerRow(
        name="hu2019-data",
        place="section 2",
        statement="N samples with d features on M parties: D = [D_1, ..., D_M], d = sum_m d_m, "
        "x = (x_1, ..., x_M).",
        standing="definition",
        evidence=Convention("Notation."),
    ),
    LedgerRow(
        name="hu2019-labels",
        place="section 2",
        statement="Y_i in {-1, 1}^N is the label of sample i.",
        standing="definition",
        evidence=make_hu2019_counterexample("method:labels_of_all_samples"),
        cause="labels in section 2",
        repair="Y_i in {-1, 1}",
        defence="The context says that a sample has one label.",
        answer="So do we: it is a misprint, as is k = 1, ..., N for i beside it.",
    ),
    LedgerRow(
        name="hu2019-risk",
        place="section 2",
        statement="The regularised empirical risk 1/N sum_i l_i(f(D^i; x), Y_i) + lambda R(x) over "
        "a closed convex set X.",
        standing="definition",
        evidence=Convention("The problem that the paper sets itself."),
    ),
    LedgerRow(
        name="hu2019-form-of-the-loss",
        place="section 2",
        statement="sum_i l_i(f(D^i; x), Y_i) = sum_i l_i(D^i x, Y_i) = l(sum_m D_m^i x_m).",
        standing="hypothesis",
        evidence=make_hu2019_counterexample("method:free_sample"),
        cause="free index of the loss",
        repair="l(sum_m D_m x_m)",
        defence="Notation is abused, as the text says, and (1) has it right.",
        answer="The index i stays free on the right side. It is a misprint.",
    ),
    LedgerRow(
        name="hu2019-range-of-models",
        place="section 2",
        statement="The framework has support vector machines, Lasso, logistic regression and "
        "boosting in it.",
        standing="gloss",
        evidence=make_hu2019_proof("method:same_margins"),
        note="Of the form (1), in which outputs of a party's own weak learners are its columns for "
        "boosting. Assumption 1.1, a Lipschitz slope, leaves out the hinge loss and "
        "the exponential loss, and with them what section 7 says.",
    ),
    LedgerRow(
        name="hu2019-equation1",
        place="section 2, eq. (1) and (2)",
        statement="The risk can be written as l(sum_m D_m x_m) + lambda sum_m R_m(x_m) with x_m in "
        "closed convex sets X_m.",
        standing="proof step",
        evidence=make_hu2019_counterexample("method:compact_form"),
        cause="1/N between the risk and (1)",
        repair="l with the factor 1/N in it",
        defence="l is any loss, and takes up the factor; the text says that its notation is "
        "abused.",
        answer="As l was defined just before, (1) has another minimiser with the same lambda. It "
        "is a misprint: no proof uses the factor.",
    ),
    LedgerRow(
        name="hu2019-separable",
        place="section 2",
        statement="The regulariser is separable, R(x) = sum_m R_m(x_m).",
        standing="hypothesis",
        evidence=Convention("A choice of the model, which goes with what parties share."),
    ),
    LedgerRow(
        name="hu2019-single-value",
        place="section 3",
        statement="Each party shares a single value in each iteration.",
        standing="gloss",
        evidence=make_hu2019_counterexample("method:values_in_a_message"),
        cause="a single value for a message",
        repair="a single value for each sample",
        defence="The abstract says 'for each sample'.",
        answer="So does Algorithm 1: D_m x_m has N entries. It is a misprint.",
    ),
    LedgerRow(
        name="hu2019-minimum-messages",
        place="section 3",
        statement="That is the minimum of message passing.",
        standing="gloss",
        evidence=Consequence(
            "hu2020-minimum-messages", "It is the same sentence on the same messages.", "restates"
        ),
        cause="the dual variable is sent",
        repair="N numbers sent and 2 N received by a party, of which N are enough",
        repair_check="dpaudit.algorithms.sharing.statements.checks.algorithm:dual_from_residuals",
        answer="It is not the least even of what this algorithm needs: y, which every party "
        "pulls in line 3, follows by (8) from the residuals that it pulls in the same line. A "
        "third of what a party sends and receives is superfluous.",
    ),
    LedgerRow(
        name="hu2019-equation3",
        place="section 3, eq. (3) and (4)",
        statement="Problem (1) is equivalent to minimising l(z) + lambda sum_m R_m(x_m) subject to "
        "sum_m D_m x_m - z = 0.",
        standing="proof step",
        evidence=make_hu2019_proof("method:split_problem"),
    ),
    LedgerRow(
        name="hu2019-equation5",
        place="section 3, eq. (5)",
        statement="The augmented Lagrangian of (3) and (4), with the dual variable y and the "
        "penalty rho.",
        standing="definition",
        evidence=Convention("A definition."),
    ),
    LedgerRow(
        name="hu2019-equation6",
        place="section 3, eq. (6) to (8), Algorithm 1",
        statement="x_m minimises the augmented Lagrangian over X_m with the others' old models, "
        "all parties in parallel; then z, and y^{t+1} = y^t + rho (sum_m D_m x_m^{t+1} - z^{t+1}).",
        standing="definition",
        evidence=Convention("The algorithm."),
    ),
    LedgerRow(
        name="hu2019-subtraction",
        place="section 3, Algorithm 1, lines 3 and 4",
        statement="A party obtains sum_{k != m} D_k x_k^t - z^t by subtracting its own D_m x_m^t "
        "from what it pulls.",
        standing="proof step",
        evidence=make_hu2019_proof("method:check_subtracted_part"),
    ),
    LedgerRow(
        name="hu2019-overhead",
        place="section 3, Algorithm 1, lines 3, 4 and 12",
        statement="This trick reduces communication overhead.",
        standing="gloss",
        evidence=make_hu2019_proof("method:numbers_on_the_way"),
        note="2 N numbers for a party instead of (M + 1) N: (M - 1) N less. A vector of its own "
        "for each party would be as long, but the central node would have to make M of them.",
    ),
    LedgerRow(
        name="hu2019-both-aims",
        place="section 3, after Algorithm 1",
        statement="(6) minimises the regulariser and brings the global prediction close to z^t at "
        "the same time; (7) minimises the loss and brings z close to the sum of all local "
        "predictions.",
        standing="gloss",
        evidence=Convention("It reads the terms of (6) and (7), whose sums are what is minimised."),
        note="With the terms of y both are squares: in (6) the prediction is drawn to z^t - "
        "y^t/rho, and in (7) z to the sum plus y^t/rho.",
    ),
    LedgerRow(
        name="hu2019-quadratic-program",
        place="sections 3 and 5",
        statement="When R_m is the l_2 norm, (6) is a trivial quadratic program.",
        standing="gloss",
        evidence=make_hu2019_counterexample("method:norm_is_no_quadratic"),
        cause="l_2 norm for its square",
        repair="the squared l_2 norm, with linear constraints or none",
        defence="'l_2 norm regularisation' commonly means the square.",
        answer="So do we read it. The norm itself is not quadratic, and a ball is no linear "
        "constraint.",
        repair_check="dpaudit.algorithms.sharing.statements.checks.algorithm:quadratic_program",
    ),
    LedgerRow(
        name="hu2019-cost-of-z",
        place="sections 3 and 5",
        statement="The cost of (7) is independent of the number of features; it is an optimisation "
        "over one scalar for each sample.",
        standing="gloss",
        evidence=make_hu2019_proof("method:prediction_by_samples"),
        note="Given sum_m D_m x_m, for a loss that is a sum over samples.",
    ),
    LedgerRow(
        name="hu2019-scalable",
        place="section 3",
        statement="Thus the algorithm is scalable to a large number of features, as compared to "
        "SGD or Frank-Wolfe.",
        standing="gloss",
        evidence=OpenQuestion(
            "(7) does not grow with features, but (6) does: it is a least-squares problem in d_m "
            "variables, where a step of SGD costs d_m. No number of iterations is compared."
        ),
    ),
)
