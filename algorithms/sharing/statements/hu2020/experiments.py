"""Sections 5 and 6: experiments, figures and conclusion."""

from __future__ import annotations

from dpaudit.algorithms.sharing.statements import causes
from dpaudit.extension.ledger import (
    Consequence,
    Convention,
    CounterexampleEvidence,
    LedgerRow,
    OpenQuestion,
    ProofEvidence,
    ReproductionEvidence,
)

_CHECKS = "dpaudit.algorithms.sharing.statements.checks"
STAND_IN = "synthetic records made to look like gisette's"
_SAME = "hu2019 has the same figure and the same text: one run decides both."
_ON_A9A = f"{_SAME} It divides rows of a9a by their norm, as Assumption 1.3 asks."

ROWS = (
    LedgerRow(
        name="hu2020-model",
        place="section 5",
        statement="What is trained is logistic regression with l_2 regularisation, on a9a and "
        "gisette.",
        standing="definition",
        evidence=Convention("Which model the experiments train."),
    ),
    LedgerRow(
        name="hu2020-sizes",
        place="section 5",
        statement="a9a has 123 features in parts of 66 and 57; gisette has 5000 in parts of "
        "2000, 2000 and 1000.",
        standing="gloss",
        evidence=ProofEvidence(f"{_CHECKS}.experiments:splits"),
    ),
    LedgerRow(
        name="hu2020-datasets",
        place="section 5",
        statement="a9a has 32561 training and 16281 test samples, gisette 6000 and 1000.",
        standing="definition",
        evidence=Convention("Which datasets are used, preprocessed as they are published."),
        note="The numbers of a9a are those of its files; a test reads them where these are.",
    ),
    LedgerRow(
        name="hu2020-file-sizes",
        place="section 5",
        statement="a9a is 4 MB, and gisette 297 MB.",
        standing="gloss",
        evidence=OpenQuestion(
            "Which files, in which form, is not said. Those of a9a that are published today "
            "have 2.3 and 1.2 MB."
        ),
    ),
    LedgerRow(
        name="hu2020-wide",
        place="section 5",
        statement="a9a has few features; gisette has relatively many.",
        standing="gloss",
        evidence=ProofEvidence(f"{_CHECKS}.experiments:features"),
    ),
    LedgerRow(
        name="hu2020-prototype",
        place="section 5",
        statement="A prototype in Python with scipy's optimisation solves (6) by L-BFGS-B and "
        "(8) entry by entry, on one machine (Core i9-9900X, 128 GB); x, y and z start at 0, the "
        "parameters of SGD at random.",
        standing="gloss",
        evidence=Convention("Choices of the experiments."),
        note="As all starts at 0, the first message is noise alone.",
    ),
    LedgerRow(
        name="hu2020-figure1-slower",
        place="section 5, Figure 1",
        statement="On a9a ADMM is slower than SGD.",
        standing="figure",
        evidence=ReproductionEvidence("hu2020-figure1", "slower on a9a"),
        note=_ON_A9A,
    ),
    LedgerRow(
        name="hu2020-figure1-slightly",
        place="section 5, Figure 1",
        statement="On a9a ADMM is slower only slightly.",
        standing="figure",
        evidence=ReproductionEvidence("hu2020-figure1", "only slightly"),
        note=_ON_A9A,
    ),
    LedgerRow(
        name="hu2020-figure1-end",
        place="section 5, Figure 1",
        statement="On a9a both reach the same test log loss in the end.",
        standing="figure",
        evidence=ReproductionEvidence("hu2020-figure1", "same end"),
        note=_ON_A9A,
    ),
    LedgerRow(
        name="hu2020-figure2-epochs",
        place="section 5, Figure 2",
        statement="On gisette SGD converges slowly, and ADMM is efficient and robust.",
        standing="figure",
        evidence=ReproductionEvidence("hu2020-figure2", "fewer epochs", STAND_IN),
        note=_SAME,
    ),
    LedgerRow(
        name="hu2020-figure2-end",
        place="section 5, Figure 2",
        statement="ADMM's test log loss converges to 0.08 after a few epochs, that of SGD only to "
        "0.1 with much more.",
        standing="figure",
        evidence=ReproductionEvidence("hu2020-figure2", "better end", STAND_IN),
        note=_SAME,
    ),
    LedgerRow(
        name="hu2020-superior",
        place="section 5",
        statement="This shows that ADMM is superior when the number of features is large.",
        standing="gloss",
        evidence=OpenQuestion("One dataset, and one step size of SGD, do not decide it."),
    ),
    LedgerRow(
        name="hu2020-trivial-program",
        place="section 5",
        statement="In each epoch the x update is a trivial quadratic program, which is solved "
        "efficiently.",
        standing="gloss",
        evidence=Consequence("hu2020-quadratic", "It says the same.", "restates"),
        repair="the squared l_2 norm, with linear constraints or none",
        repair_check=f"{_CHECKS}.algorithm:quadratic_program",
    ),
    LedgerRow(
        name="hu2020-scalar",
        place="section 5",
        statement="For each sample the z update is an optimisation over a single scalar, whatever "
        "the number of features.",
        standing="gloss",
        evidence=ProofEvidence(f"{_CHECKS}.algorithm:one_scalar_per_sample"),
    ),
    LedgerRow(
        name="hu2020-stronger-with-less",
        place="section 5",
        statement="Corollary 1 implies that the total guarantee is stronger if fewer epochs are "
        "needed.",
        standing="gloss",
        evidence=Consequence("hu2020-loss-grows", "(10) rises with T.", "restates"),
        privacy=True,
    ),
    LedgerRow(
        name="hu2020-more-appealing",
        place="section 5",
        statement="Its fast convergence makes ADMM more appealing than SGD to achieve differential "
        "privacy, especially with wide features.",
        standing="gloss",
        evidence=OpenQuestion(
            "The paper runs SGD without noise. Test loss of both at one epsilon and delta, with "
            "noise that has a proof, would settle it."
        ),
        privacy=True,
    ),
    LedgerRow(
        name="hu2020-baselines",
        place="section 5, Figure 3",
        statement="The two baselines are logistic regression on all features, and on those of "
        "the first party, trained by sklearn's built-in function.",
        standing="definition",
        evidence=Convention(
            "What is compared; settings of sklearn, above all the weight of its regulariser, "
            "are not given."
        ),
    ),
    LedgerRow(
        name="hu2020-figure3-features",
        place="section 5, Figure 3(a)",
        statement="On a9a: Performance is boosted significantly by more features than those of "
        "party 1.",
        standing="figure",
        evidence=ReproductionEvidence("hu2020-figure3", "more features on a9a"),
        note=_ON_A9A,
    ),
    LedgerRow(
        name="hu2020-figure3-features-wide",
        place="section 5, Figure 3(b)",
        statement="On gisette: Performance is boosted significantly by more features than those of "
        "party 1.",
        standing="figure",
        evidence=ReproductionEvidence("hu2020-figure3", "more features on wide data", STAND_IN),
        note=_SAME,
    ),
    LedgerRow(
        name="hu2020-figure3-central",
        place="section 5, Figure 3(b)",
        statement="ADMM is even better than the model that sklearn trains with all features.",
        standing="figure",
        evidence=ReproductionEvidence("hu2020-figure3", "better than central", STAND_IN),
        note=_SAME,
    ),
    LedgerRow(
        name="hu2020-better-at-many",
        place="section 5",
        statement="It further shows that ADMM sharing is better on datasets with many features.",
        standing="gloss",
        evidence=CounterexampleEvidence(f"{_CHECKS}.algorithm:limit_of_admm"),
        cause=causes.SAME_LIMIT.name,
        defence="What counts is the loss on test data after as many epochs as are run, and there "
        "ADMM is lower.",
        answer="So read it is the figure again, of one dataset. As a statement about the algorithm "
        "it is false: sklearn minimises the same convex objective if it is given the same weight "
        "of the regulariser, and ADMM's fixed point is its minimiser, on any data. A lower test "
        "loss is that of another weight, or of stopping before the minimum, which sklearn can do "
        "too.",
    ),
    LedgerRow(
        name="hu2020-figure3-moderate",
        place="section 5, Figures 1(b) and 3(a)",
        statement="On a9a: After moderate perturbations the algorithm still converges in "
        "relatively few "
        "epochs, and improves on the local model.",
        standing="figure",
        evidence=ReproductionEvidence("hu2020-figure3", "moderate noise on a9a"),
        note=_ON_A9A,
    ),
    LedgerRow(
        name="hu2020-figure3-moderate-wide",
        place="section 5, Figures 2(b) and 3(b)",
        statement="On gisette: After moderate perturbations the algorithm still converges in "
        "relatively few "
        "epochs, and improves on the local model.",
        standing="figure",
        evidence=ReproductionEvidence("hu2020-figure3", "moderate noise on wide data", STAND_IN),
        note=_SAME,
    ),
    LedgerRow(
        name="hu2020-figure3-ruin",
        place="section 5, Figures 1(b) and 3(a)",
        statement="On a9a: Too much noise may ruin the model.",
        standing="figure",
        evidence=ReproductionEvidence("hu2020-figure3", "too much noise on a9a"),
        note=_ON_A9A,
    ),
    LedgerRow(
        name="hu2020-figure3-ruin-wide",
        place="section 5, Figures 2(b) and 3(b)",
        statement="On gisette: Too much noise may ruin the model.",
        standing="figure",
        evidence=ReproductionEvidence("hu2020-figure3", "too much noise on wide data", STAND_IN),
        note=_SAME,
    ),
    LedgerRow(
        name="hu2020-well-contained",
        place="section 5",
        statement="The privacy cost is well contained, as the algorithm converges in a few epochs.",
        standing="gloss",
        evidence=Consequence(
            "hu2020-below-twenty", "The cost of a few epochs is that of T below 20.", "restates"
        ),
        privacy=True,
        note="No epsilon of the noise levels in the figures is given.",
    ),
    LedgerRow(
        name="hu2020-conclusion-shares",
        place="section 6",
        statement="Only intermediate values are shared, not even parameters of the model.",
        standing="gloss",
        evidence=Convention("What Algorithm 1 sends."),
    ),
    LedgerRow(
        name="hu2020-conclusion-guarantee",
        place="section 6",
        statement="Differential privacy gives a guarantee within T epochs.",
        standing="gloss",
        evidence=Consequence("hu2020-corollary1", "It sums this up.", "restates"),
        privacy=True,
        repair="T messages that are each (epsilon, delta)-differentially private given those "
        "before",
        repair_check="dpaudit.algorithms.sharing.statements.checks.composition:composition",
    ),
    LedgerRow(
        name="hu2020-conclusion-convergence",
        place="section 6",
        statement="ADMM sharing converges efficiently, especially where features are many.",
        standing="gloss",
        evidence=Consequence("hu2020-figure2-epochs", "It sums this up.", "restates"),
    ),
    LedgerRow(
        name="hu2020-conclusion-both",
        place="section 6",
        statement="The private algorithm predicts better than a model of local features alone "
        "while ensuring a certain level of differential privacy.",
        standing="gloss",
        evidence=Consequence(
            "hu2020-corollary1", "The level that is ensured is that of Corollary 1.", "implies"
        ),
        privacy=True,
    ),
)
