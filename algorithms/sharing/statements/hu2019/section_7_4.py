"""Rows of hu2019: section 7.4, the proof of Theorem 1."""

from __future__ import annotations

from dpaudit.algorithms.sharing.statements.hu2019.evidence import (
    make_check_reference,
    make_hu2019_counterexample,
    make_hu2019_proof,
)
from dpaudit.extension.ledger import Consequence, LedgerRow

ROWS = (
    LedgerRow(
        name="hu2019-theorem1-loss",
        place="section 7.4, first display",
        statement="The privacy loss of D_m x~_m is |ln P(D_m xi)/P(D_m' xi)|.",
        standing="proof step",
        evidence=make_hu2019_counterexample("noise:loss_without_means"),
        cause="means left out of the privacy loss",
        repair="the ratio at values of the noise that differ by the difference of the means",
        defence="The next display has the difference of the means.",
        answer="So do we read it: a misprint. At one value two equal laws have the ratio 1.",
    ),
    LedgerRow(
        name="hu2019-theorem1-law",
        place="section 7.4, before the second display",
        statement="D_m xi and D_m' xi are both sampled from N(0, sigma^2).",
        standing="proof step",
        privacy=True,
        evidence=make_hu2019_counterexample("privacy:variance_of_a_message"),
        cause="support of the noise",
        defence="Along the column space the variance is sigma^2 in every direction.",
        answer="Across it there is none, and the neighbour has another column space: the two laws "
        "have no density by one another.",
        repair="noise N(0, sigma^2 I) on the message, which no xi in R^(d_m) gives for N > d_m",
    ),
    LedgerRow(
        name="hu2019-theorem1-expression",
        place="section 7.4, second display, the equality",
        statement="The loss is |2 xi ||Delta|| + ||Delta||^2| / (2 sigma^2), Delta the difference "
        "of the messages.",
        standing="proof step",
        evidence=make_hu2019_counterexample("noise:product_of_a_number"),
        cause="noise of N entries taken for one number",
        repair="2 <D_m xi, Delta> + ||Delta||^2",
        defence="The component of the noise along Delta is all that enters, and it is a number.",
        answer="With that component it is right; as printed it has the vector xi, of d_m entries, "
        "times a length.",
    ),
    LedgerRow(
        name="hu2019-theorem1-larger",
        place="section 7.4, second display, the inequality",
        statement="With ||Delta|| <= C it is at most |2 D_m xi C + C^2| / (2 sigma^2).",
        standing="proof step",
        evidence=make_hu2019_counterexample("noise:noise_below_zero"),
        cause="display of the loss bound",
        repair="2 |D_m xi| C + C^2",
        defence="Only large noise matters in what follows.",
        answer="For noise of the other sign the right side may be 0. With the absolute value "
        "inside it is right.",
    ),
    LedgerRow(
        name="hu2019-theorem1-logarithm",
        place="section 7.4, second display and after it",
        statement="sigma^2 = C^2 2 ln(1.25/sigma) / epsilon^2.",
        standing="proof step",
        evidence=make_hu2019_counterexample("noise:logarithm_of_sigma"),
        cause="sigma for delta in the logarithm",
        repair="ln(1.25/delta)",
        defence="Theorem 1 has delta.",
        answer="So do we read it: a misprint, throughout the proof. ln(1.25/sigma) is negative "
        "for sigma above 1.25.",
    ),
    LedgerRow(
        name="hu2019-theorem1-need",
        place="section 7.4, second display, last equality, and third",
        statement="That is |(2 D_m xi + C) epsilon^2 / (4 C ln(1.25/delta))|, at most epsilon for "
        "|D_m xi| <= r = 2 C ln(1.25/delta)/epsilon - C/2.",
        standing="proof step",
        evidence=make_hu2019_proof("noise:check_cancelled_bound"),
        note="With delta in the logarithm.",
    ),
    LedgerRow(
        name="hu2019-equation44",
        place="section 7.4, eq. (44)",
        statement="P(|D_m xi| >= r) <= delta.",
        standing="proof step",
        evidence=make_hu2019_counterexample("noise:tail_of_a_vector"),
        cause="noise of N entries taken for one number",
        repair_check=make_check_reference("noise:half_of_the_tail"),
        repair="the component of D_m xi along a direction",
        defence="Of one entry, or of one component, it is true for delta <= 2/5.",
        answer="D_m xi has d_m entries in its column space, and its length exceeds r too often "
        "from two on.",
    ),
    LedgerRow(
        name="hu2019-half-tail",
        place="section 7.4, after eq. (44), and after eq. (45)",
        statement="P(D_m xi >= r) <= delta/2, which leads to (44).",
        standing="proof step",
        evidence=make_hu2019_proof("noise:half_of_the_tail"),
        note="Of one component, for delta <= 2/5 ('small'), with delta in r's logarithm (the "
        "slip is counted in hu2019-theorem1-logarithm), and by another way than the text's.",
    ),
    LedgerRow(
        name="hu2019-tail-bound",
        place="section 7.4, the tail bound of the normal law",
        statement="P(D_m xi > r) <= sigma/(r sqrt(2 pi)) exp(-r^2/(2 sigma^2)).",
        standing="proof step",
        evidence=make_hu2019_proof("noise:normal_tail"),
    ),
    LedgerRow(
        name="hu2019-exponent",
        place="section 7.4, after the tail bound",
        statement="At r that is C sqrt(2 ln(1.25/delta)) / (r sqrt(2 pi) epsilon) times "
        "exp(-(4 ln(1.25/delta) - epsilon)^2 / (8 ln(1.25/delta))).",
        standing="proof step",
        evidence=make_hu2019_counterexample("noise:exponent_of_the_tail"),
        cause="exponent of the Gaussian tail",
        repair="16 ln(1.25/delta) in the denominator",
        defence="The result, delta/2, is right all the same.",
        answer="It is, by another way. The next step is false with 16, at epsilon = 1 and delta = "
        "1e-5, so that the proof needs the error.",
    ),
    LedgerRow(
        name="hu2019-equation45",
        place="section 7.4, eq. (45)",
        statement="For small delta and epsilon <= 1 the factor before exp is below 1/sqrt(2 pi).",
        standing="proof step",
        evidence=make_hu2019_proof("noise:factor_of_the_tail"),
        note="For delta <= 2/5, with delta in the logarithm.",
    ),
    LedgerRow(
        name="hu2019-exponent-step",
        place="section 7.4, after eq. (45)",
        statement="By (45), -(4 ln(1.25/sigma) - epsilon)^2 / (8 ln(1.25/sigma)) < ln(sqrt(2 "
        "pi) delta/2).",
        standing="proof step",
        evidence=make_hu2019_proof("noise:logarithm_of_the_tail"),
        note="With delta for sigma, a misprint that hu2019-theorem1-logarithm counts, and for "
        "delta <= 2/5; not 'by (45)', though; and with 16, the right exponent, it is false.",
    ),
    LedgerRow(
        name="hu2019-events",
        place="section 7.4, A_1 and A_2",
        statement="A_1 has |D_m xi| <= exp(ln(sqrt(2 pi) delta/2)) / sqrt(2 pi), A_2 the rest, so "
        "that A_2 has probability at most delta.",
        standing="proof step",
        evidence=make_hu2019_counterexample("noise:event_of_small_noise"),
        cause="threshold of A_2",
        repair="r in place of that number",
        defence="r is what the proof has shown it of.",
        answer="So do we read it: a misprint. The number is delta/2, a probability.",
    ),
    LedgerRow(
        name="hu2019-last-display",
        place="section 7.4, last display",
        statement="P(D_m x~ | D_m) < e^epsilon P(D_m x~ | D_m') + delta.",
        standing="proof step",
        privacy=True,
        evidence=Consequence("hu2019-theorem1", "It is what Theorem 1 says.", "restates"),
        repair="that of sets, with the repair of Theorem 1",
        repair_check="dpaudit.algorithms.sharing.statements.checks.theorem1:check_repaired_theorem",
    ),
)
