"""Rows of hu2019: section 5, on experiments, and figures 1 to 3."""

from __future__ import annotations

from dpaudit.algorithms.sharing.statements.hu2019.evidence import make_hu2019_proof
from dpaudit.algorithms.sharing.statements.hu2020.experiments import STAND_IN
from dpaudit.extension.ledger import (
    Consequence,
    Convention,
    LedgerRow,
    OpenQuestion,
    ProofEvidence,
    ReproductionEvidence,
)

_SAME = "hu2020 has the same figure and the same text: one run decides both."
_ON_A9A = f"{_SAME} It divides rows of a9a by their norm, as Assumption 2.3 asks."

ROWS = (
    LedgerRow(
        name="hu2019-model",
        place="section 5",
        statement="What is trained is logistic regression with l_2 regularisation, on a9a and "
        "gisette.",
        standing="definition",
        evidence=Convention("Which model the experiments train."),
    ),
    LedgerRow(
        name="hu2019-sizes",
        place="section 5",
        statement="a9a has 123 features in parts of 66 and 57; gisette has 5000 in parts of 2000, "
        "2000 and 1000.",
        standing="gloss",
        evidence=make_hu2019_proof("method:parts_of_the_data"),
    ),
    LedgerRow(
        name="hu2019-wide",
        place="section 5",
        statement="a9a has few features; gisette has relatively many.",
        standing="gloss",
        evidence=ProofEvidence("dpaudit.algorithms.sharing.statements.checks.experiments:features"),
    ),
    LedgerRow(
        name="hu2019-datasets",
        place="section 5, captions of Fig. 1 and 2",
        statement="a9a has 32561 training and 16281 testing samples, gisette 6000 and 1000.",
        standing="definition",
        evidence=Convention("Which datasets are used, preprocessed as they are published."),
        note="Published rows are not of length 1, as Assumption 2.3 asks.",
    ),
    LedgerRow(
        name="hu2019-file-sizes",
        place="section 5",
        statement="a9a is 4 MB, and gisette 297 MB.",
        standing="gloss",
        evidence=OpenQuestion(
            "Which files, in which form, is not said. Those of a9a that are published today "
            "have 2.3 and 1.2 MB."
        ),
    ),
    LedgerRow(
        name="hu2019-set-up",
        place="section 5",
        statement="A prototype in Python with scipy's optimisation solves (6) by L-BFGS-B and "
        "(7) entry by entry, on one machine (Core i9-9900X, 128 GB); x, y and z begin at 0, SGD "
        "at random numbers.",
        standing="definition",
        evidence=Convention("How the experiments were run."),
        note="From zero the first iteration leaves every x_m at 0 where R_m is least there.",
    ),
    LedgerRow(
        name="hu2019-figure1",
        place="section 5, Fig. 1(a)",
        statement="On a9a ADMM is slower than SGD.",
        standing="figure",
        evidence=ReproductionEvidence("hu2020-figure1", "slower on a9a"),
        note=_ON_A9A,
    ),
    LedgerRow(
        name="hu2019-figure1-slightly",
        place="section 5, Fig. 1(a)",
        statement="On a9a it is slower only slightly.",
        standing="figure",
        evidence=ReproductionEvidence("hu2020-figure1", "only slightly"),
        note=_ON_A9A,
    ),
    LedgerRow(
        name="hu2019-figure1-end",
        place="section 5, Fig. 1(a)",
        statement="On a9a both reach the same testing log loss in the end.",
        standing="figure",
        evidence=ReproductionEvidence("hu2020-figure1", "same end"),
        note=_ON_A9A,
    ),
    LedgerRow(
        name="hu2019-figure2",
        place="section 5, Fig. 2(a)",
        statement="On gisette ADMM is efficient and robust, and SGD converges slowly.",
        standing="figure",
        evidence=ReproductionEvidence("hu2020-figure2", "fewer epochs", STAND_IN),
        note=_SAME,
    ),
    LedgerRow(
        name="hu2019-figure2-end",
        place="section 5, Fig. 2(a)",
        statement="On gisette ADMM reaches a testing log loss of 0.08 after a few epochs, SGD 0.1 "
        "after many more.",
        standing="figure",
        evidence=ReproductionEvidence("hu2020-figure2", "better end", STAND_IN),
        note=_SAME,
    ),
    LedgerRow(
        name="hu2019-superior",
        place="section 5",
        statement="This shows that ADMM is superior when the number of features is large.",
        standing="gloss",
        evidence=OpenQuestion("One dataset, and one step size of SGD, do not decide it."),
    ),
    LedgerRow(
        name="hu2019-stronger-guarantee",
        place="section 5",
        statement="Corollary 1 implies that the total guarantee is stronger if fewer epochs are "
        "needed.",
        standing="gloss",
        privacy=True,
        evidence=Consequence(
            "hu2019-guarantee-drops", "Its epsilon' and delta grow with T.", "follows"
        ),
    ),
    LedgerRow(
        name="hu2019-more-appealing",
        place="section 5",
        statement="Fast convergence makes ADMM sharing more appealing for differential privacy "
        "than SGD, above all for wide features.",
        standing="gloss",
        privacy=True,
        evidence=OpenQuestion("No private SGD is run, and none has its guarantee compared."),
    ),
    LedgerRow(
        name="hu2019-baselines",
        place="section 5, Fig. 3",
        statement="The two baselines are logistic regression on all features, and on those of "
        "the first party, trained by sklearn's built-in function.",
        standing="definition",
        evidence=Convention(
            "What is compared; settings of sklearn, above all the weight of its regulariser, "
            "are not given."
        ),
    ),
    LedgerRow(
        name="hu2019-figure3",
        place="section 5, Fig. 3(a)",
        statement="On a9a the model of the first party is much better with features of other "
        "parties.",
        standing="figure",
        evidence=ReproductionEvidence("hu2020-figure3", "more features on a9a"),
        note=_ON_A9A,
    ),
    LedgerRow(
        name="hu2019-figure3-wide",
        place="section 5, Fig. 3(b)",
        statement="So it is on gisette.",
        standing="figure",
        evidence=ReproductionEvidence("hu2020-figure3", "more features on wide data", STAND_IN),
        note=_SAME,
    ),
    LedgerRow(
        name="hu2019-figure3b",
        place="section 5, Fig. 3(b)",
        statement="On gisette ADMM sharing has even better test loss than the centrally trained "
        "baseline.",
        standing="figure",
        evidence=ReproductionEvidence("hu2020-figure3", "better than central", STAND_IN),
        note=_SAME,
    ),
    LedgerRow(
        name="hu2019-better-at-many",
        place="section 5",
        statement="This shows that ADMM sharing is better on datasets with many features.",
        standing="gloss",
        evidence=Consequence(
            "hu2020-better-at-many", "It is the same sentence on the same figure.", "restates"
        ),
        cause="an algorithm credited with a regulariser",
    ),
    LedgerRow(
        name="hu2019-moderate-noise",
        place="sections 1 and 5, Fig. 1(b)",
        statement="On a9a ADMM still converges under moderate noise, in few epochs.",
        standing="figure",
        evidence=ReproductionEvidence("hu2020-figure3", "moderate noise on a9a"),
        note=_ON_A9A,
    ),
    LedgerRow(
        name="hu2019-too-much-noise",
        place="section 5, Fig. 1(b)",
        statement="On a9a too much noise may ruin the model.",
        standing="figure",
        evidence=ReproductionEvidence("hu2020-figure3", "too much noise on a9a"),
        note=_ON_A9A,
    ),
    LedgerRow(
        name="hu2019-moderate-noise-wide",
        place="sections 1 and 5, Fig. 2(b)",
        statement="On gisette it still converges under moderate noise.",
        standing="figure",
        evidence=ReproductionEvidence("hu2020-figure3", "moderate noise on wide data", STAND_IN),
        note=_SAME,
    ),
    LedgerRow(
        name="hu2019-too-much-noise-wide",
        place="section 5, Fig. 2(b)",
        statement="On gisette too much noise may ruin the model.",
        standing="figure",
        evidence=ReproductionEvidence("hu2020-figure3", "too much noise on wide data", STAND_IN),
        note=_SAME,
    ),
)
