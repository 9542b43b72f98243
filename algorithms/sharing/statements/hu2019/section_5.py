"""Rows of hu2019: section 5, on experiments, and figures 1 to 3."""

from __future__ import annotations

from dpaudit.algorithms.sharing.statements.hu2019.evidence import proof
from dpaudit.extension.ledger import Consequence, Convention, LedgerRow, OpenQuestion

_NO_RUN = "No published run draws this figure again yet."

ROWS = (
    LedgerRow(
        name="hu2019-sizes",
        place="section 5",
        statement="a9a has 123 features in parts of 66 and 57; gisette has 5000 in parts of 2000, "
        "2000 and 1000.",
        standing="gloss",
        evidence=proof("method:parts_of_the_data"),
    ),
    LedgerRow(
        name="hu2019-set-up",
        place="section 5",
        statement="L-BFGS-B for (6), scalar optimisation for (7); x, y and z begin at 0; SGD "
        "begins at random numbers.",
        standing="definition",
        evidence=Convention("How the experiments were run."),
        note="From zero the first iteration leaves every x_m at 0 where R_m is least there.",
    ),
    LedgerRow(
        name="hu2019-figure1",
        place="section 5, Fig. 1(a)",
        statement="On a9a ADMM is slightly slower than SGD, and both reach the same testing log "
        "loss.",
        standing="figure",
        evidence=OpenQuestion(_NO_RUN),
    ),
    LedgerRow(
        name="hu2019-figure2",
        place="section 5, Fig. 2(a)",
        statement="On gisette ADMM reaches a testing log loss of 0.08 after a few epochs, SGD 0.1 "
        "after many more.",
        standing="figure",
        evidence=OpenQuestion(_NO_RUN),
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
        evidence=OpenQuestion("No private SGD is run, and none has its guarantee compared."),
    ),
    LedgerRow(
        name="hu2019-figure3",
        place="section 5, Fig. 3",
        statement="With features of other parties the model of the first is much better than with "
        "its own alone.",
        standing="figure",
        evidence=OpenQuestion(_NO_RUN),
    ),
    LedgerRow(
        name="hu2019-figure3b",
        place="section 5, Fig. 3(b)",
        statement="On gisette ADMM sharing has even better test loss than the centrally trained "
        "baseline, which shows that it is better for many features.",
        standing="figure",
        evidence=OpenQuestion(
            "Both minimise the same objective if they have the same lambda, which is not said; a "
            "better test loss is then that of another regulariser or of stopping early."
        ),
    ),
    LedgerRow(
        name="hu2019-moderate-noise",
        place="sections 1 and 5, Fig. 1(b) and 2(b)",
        statement="Under moderate noise the algorithm still converges in few epochs; too much "
        "noise may ruin the model.",
        standing="figure",
        evidence=OpenQuestion(_NO_RUN),
    ),
)
