"""Section 4: assumptions, sensitivity, and the privacy of an iteration and of a run."""

from __future__ import annotations

from dpaudit.algorithms.sharing.statements import causes
from dpaudit.extension.ledger import (
    AuditEvidence,
    Consequence,
    Convention,
    CounterexampleEvidence,
    LedgerRow,
    OpenQuestion,
    ProofEvidence,
)

_CHECKS = "dpaudit.algorithms.sharing.statements.checks"

ROWS = (
    LedgerRow(
        name="hu2020-analysis",
        place="section 4",
        statement="Algorithm 1 with the outputs D_m x~_m^{t+1}, t = 0, ..., T - 1, is (epsilon, "
        "delta)-differentially private for some carefully selected sigma.",
        standing="gloss",
        evidence=CounterexampleEvidence(f"{_CHECKS}.theorem1:check_separated_neighbours"),
        cause=causes.SUPPORT.name,
        defence="Theorem 1 says which sigma.",
        answer="With the noise of (7) none is large enough: an event has probability 1 under a "
        "dataset and 0 under its neighbour.",
        privacy=True,
        repair="N independent entries of noise on the message, a C that bounds the sensitivity, "
        "and delta up to 1/4",
        repair_check=f"{_CHECKS}.theorem1:check_repaired_theorem",
    ),
    LedgerRow(
        name="hu2020-assumption1",
        place="section 4, Assumption 1.1",
        statement='The feasible set {x, y} and "the dual variable z" are bounded: their norms are '
        "at most b_1.",
        standing="hypothesis",
        evidence=AuditEvidence("hu2020-assumption1"),
        cause=causes.BOUNDED.name,
        defence="It is usual in the literature, and can be had by projecting on a ball; without "
        "noise, on given data, some b_1 is true of a run that converges.",
        answer="Algorithm 1 does not project, and x~_m and z have Gaussian noise in them, whose "
        "scale in Theorem 1 is itself proportional to b_1: the probability of exceeding b_1 has a "
        "lower bound that b_1 does not enter.",
        note="y is the dual variable, and z the copy of the predictions. Lemma 1 and Theorem 1 "
        "are refuted where it is met: on one step that begins with y, z and models within b_1.",
    ),
    LedgerRow(
        name="hu2020-assumption1.2",
        place="section 4, Assumption 1.2",
        statement="R_m has a second derivative that is at most c_1 in size.",
        standing="hypothesis",
        evidence=Convention("A choice of regularisers: ||x||^2/2 has c_1 = 1, ||x||_1 has none."),
    ),
    LedgerRow(
        name="hu2020-assumption1.3",
        place="section 4, Assumption 1.3",
        statement="Each row of D_m has norm 1.",
        standing="hypothesis",
        evidence=Convention("Records can be scaled so."),
        note="Of two neighbours that both have unit rows, and differ in one column, only signs in "
        "that column differ.",
    ),
    LedgerRow(
        name="hu2020-assumption-sources",
        place="section 4",
        statement="The assumptions are widely used: 1.1 is adopted in [28] and [29], 1.2 comes "
        "from [21], 1.3 from [21] and [28].",
        standing="gloss",
        evidence=Convention("Citations."),
    ),
    LedgerRow(
        name="hu2020-definition1",
        place="section 4, Definition 1",
        statement="The sensitivity of D_m x_m is its largest movement in L2 norm between datasets "
        "that differ in one feature column with ||D_m - D_m'|| <= 1.",
        standing="definition",
        evidence=Convention("A definition."),
    ),
    LedgerRow(
        name="hu2020-lemma1",
        place="section 4, Lemma 1",
        statement="The sensitivity of D_m x_m is at most C = 3 / (d_m rho) [lambda c_1 + (1 + M "
        "rho) b_1].",
        standing="theorem",
        evidence=AuditEvidence("hu2020-lemma1"),
        privacy=True,
        cause=causes.INVERSE.name,
        repair="(1/rho + 1 + (M - 1) sqrt(N)) b_1, for convex R_m that are least in X_m at 0",
        repair_check=f"{_CHECKS}.lemma1:check_repaired_bound",
        defence="Where columns are orthogonal and D'D = d_m I the factor 1/d_m is right, and "
        "features are often nearly uncorrelated.",
        answer="Unit rows give trace(D'D) = N, so that D'D = d_m I needs N = d_m^2 records; the "
        "lemma asks for unit rows only. Instances that meet every hypothesis exceed C several "
        "times, and by more the more features there are. Where D'D = d_m I it is exceeded too, by "
        "another step: see hu2020-mean-value.",
        note="It falls for one party and for several, from 8 features on.",
    ),
    LedgerRow(
        name="hu2020-theorem1",
        place="section 4, Theorem 1",
        statement="With D_m xi_m Gaussian of variance sigma^2, sigma = sqrt(2 ln(1.25/delta)) C / "
        "epsilon, epsilon in (0, 1], each iteration is (epsilon, delta)-differentially private.",
        standing="theorem",
        evidence=AuditEvidence("hu2020-theorem1"),
        privacy=True,
        cause=causes.ANY_NOISE.name,
        repair="N independent entries of noise on the message D_m x_m, a C that bounds the "
        "sensitivity, and delta up to 1/4",
        repair_check=f"{_CHECKS}.theorem1:check_repaired_theorem",
        defence='"Let D_m xi be sampled" can be read as N independent entries of noise on the '
        'message, and "C is the upper bound" as any true one: then it is the Gaussian mechanism.',
        answer="That reading is the variant with the corrected sensitivity, and is proved: so "
        "read the theorem is true. It is neither what Algorithm 1 draws, where no xi_m gives N "
        "independent entries if N > d_m, nor does it take the C of Lemma 1, with which the "
        "claim fails for noise on the message too.",
        note="The audits are of stricter readings: noise on the message with the C of Lemma 1, and "
        "noise as drawn in (7), where one message separates neighbours whose columns span "
        "different spaces, so that delta is 1 at every epsilon.",
    ),
    LedgerRow(
        name="hu2020-density",
        place="section 4, Theorem 1, last sentence",
        statement="Specifically, for any output P(D_m x~_m | D_m) <= e^epsilon P(D_m' x~_m | D_m') "
        "+ delta.",
        standing="gloss",
        evidence=AuditEvidence("hu2020-density"),
        privacy=True,
        cause=causes.DENSITY.name,
        repair="P of sets of outputs, with the repair of Theorem 1",
        defence="It abbreviates the definition of section 3, which is about sets.",
        answer='It says "for any output" and "always", and the proof begins with the logarithm of '
        "this ratio of densities, to which delta cannot be added. Read with sets it is the "
        "theorem, and true where that is.",
    ),
    LedgerRow(
        name="hu2020-composition",
        place="section 4",
        statement="By the composition theory of [17] T such iterations have the guarantee of "
        "Corollary 1.",
        standing="proof step",
        evidence=ProofEvidence(f"{_CHECKS}.composition:composition"),
        privacy=True,
        note="Of the implication alone.",
    ),
    LedgerRow(
        name="hu2020-corollary1",
        place="section 4, Corollary 1, eq. (10)",
        statement="For any delta' > 0, Algorithm 1 is (epsilon', T delta + delta')-differentially "
        "private, epsilon' = sqrt(2 T ln(1/delta')) epsilon + T epsilon (e^epsilon - 1).",
        standing="theorem",
        evidence=AuditEvidence("hu2020-corollary1"),
        privacy=True,
        cause=causes.SUPPORT.name,
        repair="T messages that are each (epsilon, delta)-differentially private given those "
        "before",
        repair_check=f"{_CHECKS}.composition:composition",
        defence="Given Theorem 1 it is advanced composition, which is a theorem.",
        answer="Theorem 1 falls, and with it the first message of a run: it separates neighbours "
        "for the noise that Algorithm 1 draws.",
    ),
    LedgerRow(
        name="hu2020-drops",
        place="section 4",
        statement="The guarantee may drop dramatically if T grows to a large value, since the "
        "number of exposed results grows linearly in T.",
        standing="gloss",
        evidence=ProofEvidence(f"{_CHECKS}.composition:growth"),
        privacy=True,
    ),
    LedgerRow(
        name="hu2020-fewer-epochs",
        place="section 4",
        statement="Experiments show that ADMM sharing takes much fewer epochs than SGD where "
        "features are many.",
        standing="gloss",
        evidence=Consequence("hu2020-figure2-epochs", "It refers to this figure.", "restates"),
    ),
    LedgerRow(
        name="hu2020-wide-advantage",
        place="section 4",
        statement="So ADMM sharing has a great advantage for wide features as compared to SGD or "
        "Frank-Wolfe.",
        standing="gloss",
        evidence=OpenQuestion(
            "The paper runs no Frank-Wolfe, and SGD without noise; runs of all three at one "
            "privacy would settle it."
        ),
    ),
    LedgerRow(
        name="hu2020-below-twenty",
        place="section 4",
        statement="When T is confined to less than 20, the risk of privacy loss is also confined.",
        standing="gloss",
        evidence=CounterexampleEvidence(f"{_CHECKS}.composition:fewer_than_twenty"),
        privacy=True,
        cause=causes.NO_GAIN.name,
        defence="T Gaussian messages with a true sensitivity compose far better than (10) says: 19 "
        "of them have an epsilon of a few units at the same delta. And any finite bound confines.",
        answer="That is another theorem and another sensitivity. Read as finite, it is true of "
        "(10) for every T. With a delta' of 1/100000 or less epsilon' of (10) is above T "
        "epsilon, which holds by adding up: below 20 the corollary confines less than no "
        "theorem does. For the noise of (7) no T confines anything.",
    ),
)
