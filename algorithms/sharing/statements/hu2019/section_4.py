"""Rows of hu2019: section 4, on differential privacy."""

from __future__ import annotations

from dpaudit.algorithms.sharing.statements.hu2019.evidence import (
    make_hu2019_counterexample,
    make_hu2019_proof,
)
from dpaudit.extension.ledger import (
    AuditEvidence,
    Consequence,
    Convention,
    LedgerRow,
    OpenQuestion,
    ProofEvidence,
)

_SHARED = "dpaudit.algorithms.sharing.statements.checks"  # of both papers' text

ROWS = (
    LedgerRow(
        name="hu2019-strong-guarantee",
        place="section 4",
        statement="Differential privacy is a strong guarantee: noise keeps answers close if an "
        "entry changes, so that little about the raw data can be inferred.",
        standing="gloss",
        evidence=Convention("It introduces the definition."),
    ),
    LedgerRow(
        name="hu2019-definition1",
        place="section 4, Definition 1, eq. (9)",
        statement="(epsilon, delta)-differential privacy, of datasets with |x - y|_1 <= 1.",
        standing="definition",
        evidence=Convention("A definition."),
    ),
    LedgerRow(
        name="hu2019-small-epsilon",
        place="section 4, after Definition 1",
        statement="When epsilon is small, exp(epsilon) is approximately 1 + epsilon.",
        standing="gloss",
        evidence=make_hu2019_proof("privacy:little_more_than_one"),
    ),
    LedgerRow(
        name="hu2019-any-value",
        place="section 4, after Definition 1",
        statement="|x - y|_1 <= 1 means: if all entries but one are leaked, outputs differ by at "
        "most epsilon no matter what value the remaining entry takes, so that no adversary infers "
        "it.",
        standing="gloss",
        privacy=True,
        evidence=make_hu2019_counterexample("privacy:entry_of_any_value"),
        cause="unit of Definition 1's distance",
        defence="It is the common explanation, of datasets that are histograms.",
        answer="Here entries are features, and the distance is that of their values: an entry that "
        "moves by 10 is ten units away, where 10 epsilon is allowed.",
    ),
    LedgerRow(
        name="hu2019-meaning-of-delta",
        place="section 4, after Definition 1",
        statement="delta allows the guarantee of epsilon to fail with probability delta.",
        standing="gloss",
        privacy=True,
        evidence=make_hu2019_counterexample("privacy:failing_share"),
        cause="delta as a probability of failure",
        defence="It is the usual way to say it, and the proof of Theorem 1 goes the direction in "
        "which it is true: failing rarely implies (9).",
        answer="(9) does not imply failing rarely: two laws with total variation 1/2 are (0, 1/2)-"
        "private, and outputs that break epsilon = 0 have probability 3/4.",
    ),
    LedgerRow(
        name="hu2019-messages-reveal",
        place="section 4",
        statement="The shared messages may reveal sensitive data of D_m.",
        standing="gloss",
        evidence=make_hu2019_proof("method:messages_tell_features"),
    ),
    LedgerRow(
        name="hu2019-equation10",
        place="section 4, eq. (10)",
        statement="The perturbed updates: noise xi_m ~ N(0, sigma^2 (D_m'D_m)^-1) on the model, "
        "x~_m = x_m + xi_m in all messages, z and y.",
        standing="definition",
        evidence=Convention("The algorithm."),
    ),
    LedgerRow(
        name="hu2019-selected-sigma",
        place="section 4, before Assumption 1",
        statement="(10) is (epsilon, delta)-differentially private for some carefully selected "
        "sigma_{m,t+1}.",
        standing="theorem",
        privacy=True,
        evidence=make_hu2019_counterexample("privacy:one_sided_message"),
        cause="support of the noise",
        defence="Theorem 1 says which sigma.",
        answer="No sigma is large enough. The noise on the message, D_m xi, stays in the column "
        "space of D_m, which neighbouring designs do not share: on the instance an event has "
        "probability 1 under one and 0 under the other, whatever sigma, epsilon and delta < 1.",
        repair="N independent entries of noise on the message, a C that bounds the sensitivity, "
        "and delta up to 1/4",
        repair_check=f"{_SHARED}.theorem1:check_repaired_theorem",
    ),
    LedgerRow(
        name="hu2019-assumption1-1",
        place="section 4, Assumption 1.1",
        statement="The slope of l is L-Lipschitz; every X_m is closed and convex; every D_m has "
        "full column rank.",
        standing="hypothesis",
        evidence=Convention("A hypothesis."),
    ),
    LedgerRow(
        name="hu2019-assumption1-2",
        place="section 4, Assumption 1.2 (a) to (c)",
        statement="(6) and (7) are strongly convex with moduli gamma_m and gamma; gamma_m >= 2 "
        "sigma_max(D_m'D_m); rho gamma > 2 L^2 and rho >= L.",
        standing="hypothesis",
        evidence=Convention("A hypothesis."),
    ),
    LedgerRow(
        name="hu2019-assumption1-3",
        place="section 4, Assumption 1.3",
        statement="The objective has a lower bound over the product of the X_m, called f.",
        standing="hypothesis",
        evidence=Convention("A hypothesis."),
    ),
    LedgerRow(
        name="hu2019-assumption1-4",
        place="section 4, Assumption 1.4",
        statement="R_m is smooth and non-convex, with an L_m-Lipschitz slope, or convex.",
        standing="hypothesis",
        evidence=Convention("A hypothesis."),
    ),
    LedgerRow(
        name="hu2019-achievable",
        place="section 4, after Assumption 1",
        statement="Assumption 1.2 is achievable if rho is large enough.",
        standing="gloss",
        evidence=make_hu2019_proof("privacy:achievable_penalty"),
        note="Above max(2 L, max_m (2 sigma_max + lambda L_m)/sigma_min). Without a regulariser it "
        "asks for a rho of at least 2, so that from three parties on (M - 1) rho is above 2, where "
        "Lemma 4 fails.",
    ),
    LedgerRow(
        name="hu2019-assumption2-1",
        place="section 4, Assumption 2.1",
        statement="The feasible set {x, y} and the dual variable z are bounded by b_1.",
        standing="hypothesis",
        evidence=make_hu2019_counterexample("privacy:prediction_beyond_bound"),
        cause="bounded iterates",
        defence="It is adopted from the literature, and one may clip.",
        answer="(10) clips nothing, and its noise is Gaussian: z and y, and x~, exceed every bound "
        "with a probability above 0. (And the dual variable is y, not z.)",
        note="Lemma 1 and Theorem 1 are refuted where it is met: on one step that begins with "
        "y, z and models within b_1.",
    ),
    LedgerRow(
        name="hu2019-assumption2-2",
        place="section 4, Assumption 2.2",
        statement="R_m is twice differentiable with |R_m''| <= c_1.",
        standing="hypothesis",
        evidence=Convention("A hypothesis."),
    ),
    LedgerRow(
        name="hu2019-assumption2-3",
        place="section 4, Assumption 2.3",
        statement="Each row of D_m has length 1.",
        standing="hypothesis",
        evidence=Convention("A hypothesis."),
    ),
    LedgerRow(
        name="hu2019-common-assumptions",
        place="section 4, after Assumptions 1 and 2",
        statement="Assumptions 1.1, 1.3 and 1.4 are common in the literature, as are 2.1 to 2.3.",
        standing="gloss",
        evidence=Convention("Citations."),
    ),
    LedgerRow(
        name="hu2019-definition2",
        place="section 4, Definition 2",
        statement="The l_2 sensitivity of D_m x_m: the largest change over designs that differ in "
        "one feature column, with ||D_m - D_m'|| <= 1.",
        standing="definition",
        evidence=Convention("A definition."),
        note="With Assumption 2.3 a changed entry of the column can only change its sign: its "
        "square is what the rest of the row leaves.",
    ),
    LedgerRow(
        name="hu2019-lemma1",
        place="section 4, Lemma 1",
        statement="Under Assumptions 1 and 2 the l_2 sensitivity of D_m x_m is at most "
        "C = 3/(d_m rho) [lambda c_1 + (1 + M rho) b_1].",
        standing="theorem",
        privacy=True,
        evidence=AuditEvidence("hu2019-lemma1"),
        cause="norm of the inverse",
        repair="(1/rho + 1 + (M - 1) sqrt(N)) b_1, for convex R_m that are least in X_m at 0",
        repair_check=f"{_SHARED}.lemma1:check_repaired_bound",
        defence="For designs with D_m'D_m = d_m I the proof's step is right.",
        answer="With rows of length 1 the trace of D_m'D_m is N, and its least eigenvalue may be "
        "near 0. Assumption 1.2(b) bounds the condition number by about rho/2, and inside it the "
        "bound is exceeded. Where D_m'D_m is d_m I it is exceeded too, by another step: see "
        "hu2019-lemma1-mean-value.",
    ),
    LedgerRow(
        name="hu2019-theorem1",
        place="section 4, Theorem 1",
        statement="With C the bound of the sensitivity, epsilon in (0, 1] and D_m xi Gaussian "
        "of mean zero and variance sigma^2, sigma = sqrt(2 ln(1.25/delta)) C / epsilon, each "
        "iteration is (epsilon, delta)-differentially private.",
        standing="theorem",
        privacy=True,
        evidence=AuditEvidence("hu2019-theorem1"),
        cause="noise of Theorem 1",
        repair="N independent entries of noise on the message D_m x_m, a C that bounds the "
        "sensitivity, and delta up to 1/4",
        repair_check=f"{_SHARED}.theorem1:check_repaired_theorem",
        defence="Theorem 1 lets D_m xi have a Gaussian law, and supposes that C bounds the "
        "sensitivity; read as noise on the message in all directions, it is the Gaussian "
        "mechanism.",
        answer="That reading is proved, and so read the theorem is true. Corollary 1 uses it of "
        "(10), whose D_m xi has the covariance sigma^2 D_m (D_m'D_m)^-1 D_m': one message tells "
        "two column spaces apart. And the C that the paper gives, that of Lemma 1, does not "
        "bound the sensitivity.",
        note="The audits are of the stricter reading, with the noise of (10).",
    ),
    LedgerRow(
        name="hu2019-theorem1-outputs",
        place="section 4, Theorem 1, last display",
        statement="For any neighbours and any output P(D_m x~ | D_m) <= e^epsilon P(D_m' x~ | "
        "D_m') + delta always holds.",
        standing="theorem",
        privacy=True,
        evidence=Consequence(
            "hu2020-density", "It is the same sentence of the same theorem.", "restates"
        ),
        cause="densities for probabilities",
        repair="P of sets of outputs, with the repair of Theorem 1",
        defence="It abbreviates Definition 1, which is about sets.",
        answer='It says "for any output" and "always holds", and the proof begins with the '
        "logarithm of this ratio of densities, to which delta cannot be added. Read with sets "
        "it is the theorem, and true where that is.",
    ),
    LedgerRow(
        name="hu2019-composition",
        place="section 4, before Corollary 1",
        statement="By the composition theory of Dwork & Roth T such iterations have the guarantee "
        "of Corollary 1.",
        standing="proof step",
        privacy=True,
        evidence=ProofEvidence(f"{_SHARED}.composition:composition"),
        note="Of the implication alone.",
    ),
    LedgerRow(
        name="hu2019-corollary1",
        place="section 4, Corollary 1, eq. (11)",
        statement="Within T epochs (10) is (epsilon', T delta + delta')-differentially private, "
        "epsilon' = sqrt(2 T ln(1/delta')) epsilon + T epsilon (e^epsilon - 1).",
        standing="theorem",
        privacy=True,
        evidence=AuditEvidence("hu2019-corollary1"),
        cause="support of the noise",
        repair="T messages that are each (epsilon, delta)-differentially private given those "
        "before",
        repair_check=f"{_SHARED}.composition:composition",
        defence="The composition theorem that it cites is right.",
        answer="It composes iterations that Theorem 1 would make private. The first message alone "
        "tells two neighbours apart.",
    ),
    LedgerRow(
        name="hu2019-guarantee-drops",
        place="section 4, after Corollary 1",
        statement="The guarantee may drop dramatically if T grows to a large value, as the number "
        "of exposed results grows linearly in T.",
        standing="gloss",
        privacy=True,
        evidence=make_hu2019_proof("privacy:more_rounds_cost_more"),
    ),
    LedgerRow(
        name="hu2019-fewer-epochs",
        place="sections 1.1 and 4",
        statement="ADMM sharing converges in fewer epochs than SGD when the number of features is "
        "large, as the experiments show.",
        standing="gloss",
        evidence=OpenQuestion("It is what figure 2 is said to show."),
    ),
    LedgerRow(
        name="hu2019-advantage",
        place="section 4, after Corollary 1",
        statement="Therefore it is of great advantage for wide features, compared to SGD and "
        "Frank-Wolfe.",
        standing="gloss",
        evidence=OpenQuestion(
            "Epochs of the three algorithms cost different amounts, and no guarantee of the other "
            "two is stated."
        ),
    ),
    LedgerRow(
        name="hu2019-confined-risk",
        place="section 4, after Corollary 1; section 5",
        statement="When T is less than 20 the risk of privacy loss is confined; it is well "
        "contained as the algorithm converges in a few epochs.",
        standing="gloss",
        privacy=True,
        evidence=make_hu2019_counterexample("privacy:fewer_than_twenty_rounds"),
        cause="a bound above the sum",
        defence="With epsilon of a tenth or less an iteration, (11) is small for 20 of them; "
        "and no number is given for 'confined': any finite bound confines.",
        answer="Read as finite, it is true of (11) for every T. Read as small: Theorem 1 allows "
        "epsilon = 1, where (11) is 53.6 at T = 19 and 55.8 at T = 20: nearly any certainty "
        "about a record. Adding up 19 guarantees gives 19: below 23 epochs the corollary "
        "confines less than no theorem does, for every epsilon.",
    ),
    LedgerRow(
        name="hu2019-guarantee-in-use",
        place="sections 5 and 6",
        statement="A privacy guarantee within T epochs is derived; under moderate noise the local "
        "model improves while a certain level of differential privacy is ensured.",
        standing="gloss",
        privacy=True,
        evidence=Consequence("hu2019-corollary1", "The guarantee is Corollary 1's.", "implies"),
    ),
)
