"""Section 7: the proofs of Lemma 1 and Theorem 1."""

from __future__ import annotations

from dpaudit.algorithms.sharing.statements import causes
from dpaudit.algorithms.sharing.statements.hu2019 import causes as earlier
from dpaudit.extension.ledger import (
    AuditEvidence,
    Consequence,
    Convention,
    CounterexampleEvidence,
    LedgerRow,
    ProofEvidence,
)

_CHECKS = "dpaudit.algorithms.sharing.statements.checks"
_EARLIER = "dpaudit.algorithms.sharing.statements.hu2019.checks.noise"  # of the same text
_LETTERS = "The paper prints ln(1.25/sigma), and means ln(1.25/delta)."

ROWS = (
    LedgerRow(
        name="hu2020-stationary",
        place="section 7.1, first display",
        statement="By optimality D x = -D (rho D'D)^-1 [lambda R'(x) + D'y + rho D'(sum_{k != m} "
        "D_k x~_k - z)], on both datasets.",
        standing="proof step",
        evidence=CounterexampleEvidence(f"{_CHECKS}.lemma1:stationary_point"),
        cause=causes.STATIONARY.name,
        repair="the same for X_m = R^d and independent columns of D_m",
        repair_check=f"{_CHECKS}.lemma1:interior_stationary_point",
        defence="Where the minimum is inside X_m the gradient is 0, and D'D can be inverted where "
        "features are independent.",
        answer="Assumption 1.1 bounds X_m, so that the minimum may lie on its border, where a "
        "normal of X_m is missing. Independent columns are not among the assumptions.",
        note="It refers to (7), and means (6).",
    ),
    LedgerRow(
        name="hu2020-equation11",
        place="section 7.1, second display, Phi_1, Phi_2, eq. (11)",
        statement="D x - D' x' = Phi_1 + Phi_2.",
        standing="proof step",
        evidence=ProofEvidence(f"{_CHECKS}.lemma1:decomposition"),
    ),
    LedgerRow(
        name="hu2020-object",
        place="section 7.1, after (11)",
        statement="The object is to prove that the largest ||x - x'|| is bounded.",
        standing="gloss",
        evidence=Convention("It announces what follows, which is about D x - D' x'."),
    ),
    LedgerRow(
        name="hu2020-triangle",
        place="section 7.1, after (11)",
        statement="The largest movement is at most the largest ||Phi_1|| plus the largest "
        "||Phi_2||.",
        standing="proof step",
        evidence=ProofEvidence(f"{_CHECKS}.lemma1:triangle"),
    ),
    LedgerRow(
        name="hu2020-phi2",
        place="section 7.1, bound on Phi_2",
        statement="By Assumption 1.3, ||Phi_2|| <= 2/(d_m rho) ||lambda R'(x') + D''y + rho "
        "D''(sum_{k != m} D_k x~_k - z)||.",
        standing="proof step",
        evidence=CounterexampleEvidence(f"{_CHECKS}.lemma1:phi2_bound"),
        cause=causes.INVERSE.name,
        privacy=True,
        defence="It holds where both D'D are d_m times the identity.",
        answer="Unit rows do not give that, and neighbours of it do not have it: two records that "
        "meet every hypothesis exceed the bound.",
    ),
    LedgerRow(
        name="hu2020-slope",
        place="section 7.1, by the mean value theorem, its first term",
        statement="lambda R'(x') is lambda D''R''(x*) for some x*, of norm at most lambda ||R''||.",
        standing="proof step",
        evidence=CounterexampleEvidence(f"{_CHECKS}.lemma1:movement_by_the_slope"),
        privacy=True,
        cause=causes.SLOPE.name,
        repair="lambda ||R'(0)|| + lambda c_1 b_1 for lambda ||R''||",
        defence="With R'(0) = 0 and models of norm at most 1 it is true.",
        answer="Assumption 1 has neither, and D''R''(x*) has another shape. By this step alone "
        "Lemma 1 is false: for a linear R, which has c_1 = 0, the bound is exceeded where D'D = "
        "d_m I and y = z = 0.",
    ),
    LedgerRow(
        name="hu2020-mean-value",
        place="section 7.1, by the mean value theorem, its inequality",
        statement="2/(d_m rho) times that norm is at most 2/(d_m rho) [lambda ||R''|| + ||y|| + "
        "rho ||sum_{k != m} D_k x~_k - z||].",
        standing="proof step",
        evidence=CounterexampleEvidence(f"{_CHECKS}.lemma1:bracket_bound"),
        privacy=True,
        cause=causes.SPECTRAL.name,
        repair="sqrt(N) ||y|| for ||y||, and likewise for the last norm",
        repair_check=f"{_CHECKS}.lemma1:rows_of_norm_one",
        defence="Of a single record, or where columns are short, ||D'y|| <= ||y||.",
        answer="||D'|| may be sqrt(N): two records at a small angle show it. By this step alone "
        "Lemma 1 is false: 256 records in 16 columns with D'D = d_m I on both designs, for which "
        "every other step is right, exceed C.",
    ),
    LedgerRow(
        name="hu2020-phi1",
        place="section 7.1, bound on Phi_1, its inequality",
        statement="||Phi_1|| <= rho^-1 ||(D'D)^-1|| [lambda ||R''|| + ||y|| + rho ||sum_{k != m} "
        "D_k x~_k - z||].",
        standing="proof step",
        evidence=CounterexampleEvidence(f"{_CHECKS}.lemma1:phi1_bound"),
        cause=causes.SPECTRAL.name,
        repair="||D (D'D)^-1|| for ||(D'D)^-1||, and ||R''|| ||x - x'|| for ||R''||",
        repair_check=f"{_CHECKS}.lemma1:check_repaired_phi1_bound",
        defence="It holds where singular values of D are at most 1, and models at most 1 apart.",
        answer="Nine records that meet every hypothesis have D'D with eigenvalues 4 and 5, and "
        "exceed it.",
    ),
    LedgerRow(
        name="hu2020-inverse",
        place="section 7.1, bound on Phi_1, its equality",
        statement="||(D'D)^-1|| = 1/d_m.",
        standing="proof step",
        evidence=CounterexampleEvidence(f"{_CHECKS}.lemma1:norm_of_the_inverse"),
        privacy=True,
        cause=causes.INVERSE.name,
        defence="It holds where D'D is d_m times the identity, as for d_m^2 records with "
        "orthogonal columns.",
        answer="Unit rows give the trace N of D'D, and no least eigenvalue.",
    ),
    LedgerRow(
        name="hu2020-first-bound",
        place="section 7.1, last display, first inequality",
        statement="The movement is at most 3/(d_m rho) [lambda c_1 + ||y^t|| + rho ||sum_{k != "
        "m} D_k x~_k - z||].",
        standing="proof step",
        evidence=Consequence(
            "hu2020-lemma1",
            "Of one party the sum is empty and the bracket at most that of Lemma 1, which falls "
            "for one party.",
            "implies",
        ),
        privacy=True,
    ),
    LedgerRow(
        name="hu2020-others",
        place="section 7.1, last display",
        statement="||sum_{k != m} D_k x~_k - z|| <= ||z|| + sum_{k != m} ||x~_k||.",
        standing="proof step",
        evidence=CounterexampleEvidence(f"{_CHECKS}.lemma1:others_bound"),
        cause=causes.SPECTRAL.name,
        repair="sqrt(N) ||x~_k|| for ||x~_k||",
        repair_check=f"{_CHECKS}.lemma1:rows_of_norm_one",
        defence="Of a single record ||D_k x|| <= ||x||.",
        answer="Two equal records have ||D_k x|| = sqrt(2) ||x||.",
    ),
    LedgerRow(
        name="hu2020-last-bound",
        place="section 7.1, last display",
        statement="lambda c_1 + ||y|| + rho ||z|| + rho sum_{k != m} ||x~_k|| <= lambda c_1 + (1 + "
        "M rho) b_1.",
        standing="proof step",
        evidence=ProofEvidence(f"{_CHECKS}.lemma1:last_bound"),
        note="Given Assumption 1.1, also of x~_k, which has noise in it.",
    ),
    LedgerRow(
        name="hu2020-bounded",
        place="section 7.1, last display",
        statement="So the movement is at most 3/(d_m rho) [lambda c_1 + (1 + M rho) b_1].",
        standing="proof step",
        evidence=Consequence("hu2020-lemma1", "This is the lemma.", "restates"),
        privacy=True,
        repair="(1/rho + 1 + (M - 1) sqrt(N)) b_1, for convex R_m that are least in X_m at 0",
        repair_check=f"{_CHECKS}.lemma1:check_repaired_bound",
    ),
    LedgerRow(
        name="hu2020-loss",
        place="section 7.2, first display",
        statement="The privacy loss |ln P(D x~ | D) / P(D' x~ | D')| is |ln P(D xi) / P(D' xi)|.",
        standing="proof step",
        evidence=CounterexampleEvidence(f"{_EARLIER}:loss_without_means"),
        cause=earlier.MEANS.name,
        repair="the ratio at the two values of the noise that give one output",
        repair_check=f"{_CHECKS}.theorem1:loss_of_an_output",
        defence="The next display has the difference of the means.",
        answer="So it is read: a misprint. At one value two equal laws have the ratio 1. In the "
        "middle x~ stands beside xi where x is meant.",
    ),
    LedgerRow(
        name="hu2020-same-law",
        place="section 7.2, after the first display",
        statement="D xi and D' xi are both drawn from N(0, sigma^2).",
        standing="proof step",
        evidence=CounterexampleEvidence(f"{_CHECKS}.theorem1:laws_of_the_noise"),
        cause=causes.SUPPORT.name,
        privacy=True,
        repair="noise N(0, sigma^2 I) on the message, which no xi in R^d gives for N > d_m",
        defence="Theorem 1 lets D xi be drawn, not xi; every entry has variance sigma^2 on both "
        "datasets, as rows have norm 1.",
        answer="The entries' covariances are those of the records, sigma^2 D D', and differ "
        "between neighbours. What is drawn in (7) and sent in Algorithm 1 has that law.",
    ),
    LedgerRow(
        name="hu2020-loss-in-numbers",
        place="section 7.2, second display",
        statement="The loss is |(2 xi ||w|| + ||w||^2) / (2 sigma^2)| with w = D x - D' x'.",
        standing="proof step",
        evidence=CounterexampleEvidence(f"{_CHECKS}.theorem1:loss_in_numbers"),
        cause=causes.ONE_NUMBER.name,
        repair="<D xi, w> for xi ||w||",
        repair_check=f"{_CHECKS}.theorem1:exact_loss",
        defence="For one entry it is right, and for several with the noise along w in place of xi; "
        "with |D xi| it is an upper bound.",
        answer="With |D xi|, as (12) reads it, the bound is so loose that (12) is false.",
    ),
    LedgerRow(
        name="hu2020-logarithm",
        place="section 7.2, second display and after it",
        statement="sigma^2 = 2 ln(1.25/sigma) C^2 / epsilon^2.",
        standing="proof step",
        evidence=CounterexampleEvidence(f"{_EARLIER}:logarithm_of_sigma"),
        cause=earlier.SIGMA.name,
        repair="ln(1.25/delta)",
        defence="Theorem 1 has delta.",
        answer="So it is read: a misprint, throughout the proof. ln(1.25/sigma) is below 0 for "
        "sigma above 1.25.",
    ),
    LedgerRow(
        name="hu2020-loss-bound",
        place="section 7.2, second display",
        statement="That is at most |(2 D xi C + C^2) / (4 C^2 ln(1.25/sigma))| = |(2 D xi + C) "
        "epsilon^2 / (4 C ln(1.25/sigma))|.",
        standing="proof step",
        evidence=CounterexampleEvidence(f"{_CHECKS}.theorem1:check_printed_loss_bound"),
        cause=causes.ABSOLUTE_VALUE.name,
        repair="(2 |u| + C) epsilon^2 / (4 C ln(1.25/delta)), u being the noise along w",
        repair_check=f"{_CHECKS}.theorem1:loss_bound",
        defence="The last expression is what is used, for noise that is not below 0.",
        answer="It is: the two slips are harmless, and repaired by absolute values.",
        note=_LETTERS,
    ),
    LedgerRow(
        name="hu2020-length",
        place="section 7.2, third display",
        statement="It is at most epsilon if |D xi| <= 2 C ln(1.25/sigma) / epsilon - C/2.",
        standing="proof step",
        evidence=ProofEvidence(f"{_CHECKS}.theorem1:length_that_suffices"),
        note=_LETTERS,
    ),
    LedgerRow(
        name="hu2020-equation12",
        place="section 7.2, eq. (12)",
        statement="P(|D xi| >= 2 C ln(1.25/sigma) / epsilon - C/2) <= delta.",
        standing="proof step",
        evidence=AuditEvidence("hu2020-equation12"),
        cause=causes.ONE_NUMBER.name,
        repair="the same of the noise along w, for delta up to 1/4",
        repair_check=f"{_CHECKS}.theorem1:tail_of_one_entry",
        defence="The loss depends on the noise along w alone, which is one Gaussian number.",
        answer="Then (12) has to be said of that number: as printed it is about |D xi|, which "
        "exceeds the length more often than delta allows for two samples, and for eight thousands "
        "of times as often.",
        note=_LETTERS,
    ),
    LedgerRow(
        name="hu2020-half",
        place="section 7.2, after (12)",
        statement="P(D xi >= ...) <= delta/2 leads to (12).",
        standing="proof step",
        evidence=ProofEvidence(f"{_CHECKS}.theorem1:half_of_the_tail"),
        note="For one entry; it is no stronger than (12), but the same.",
    ),
    LedgerRow(
        name="hu2020-tail",
        place="section 7.2, tail bound",
        statement="P(D xi > r) <= sigma / (r sqrt(2 pi)) exp(-r^2 / (2 sigma^2)).",
        standing="proof step",
        evidence=ProofEvidence(f"{_CHECKS}.theorem1:tail_bound"),
        note="For one entry.",
    ),
    LedgerRow(
        name="hu2020-exponent",
        place="section 7.2, before (13)",
        statement="At r the bound's exponent is -[4 ln(1.25/sigma) - epsilon]^2 / (8 "
        "ln(1.25/sigma)).",
        standing="proof step",
        evidence=CounterexampleEvidence(f"{_CHECKS}.theorem1:check_printed_exponent"),
        cause=causes.EXPONENT.name,
        repair="16 for 8 in the exponent",
        repair_check=f"{_CHECKS}.theorem1:exponent",
        defence="It is a slip of a factor in a proof whose conclusion, for one entry of noise, is "
        "a textbook's.",
        answer="The next step uses it: with the exponent as it is, that step is false at epsilon = "
        "1. The conclusion is true of one entry by a closer look at the factor that (13) throws "
        "away.",
        note=_LETTERS,
    ),
    LedgerRow(
        name="hu2020-equation13",
        place="section 7.2, eq. (13)",
        statement="For small delta and epsilon <= 1 the factor before the exponential is below "
        "1/sqrt(2 pi).",
        standing="proof step",
        evidence=ProofEvidence(f"{_CHECKS}.theorem1:equation13"),
        note="Small is up to 0.49 here.",
    ),
    LedgerRow(
        name="hu2020-after13",
        place="section 7.2, after (13)",
        statement="-[4 ln(1.25/sigma) - epsilon]^2 / (8 ln(1.25/sigma)) < ln(sqrt(2 pi) delta/2).",
        standing="proof step",
        evidence=ProofEvidence(f"{_CHECKS}.theorem1:step_with_the_printed_exponent"),
        note="True as printed, of an exponent that is not the tail's, and not by (13).",
    ),
    LedgerRow(
        name="hu2020-tail-of-one-entry",
        place="section 7.2, before the sets",
        statement="P(D xi >= 2 C ln(1.25/sigma) / epsilon - C/2) < delta/2.",
        standing="proof step",
        evidence=ProofEvidence(f"{_CHECKS}.theorem1:tail_of_one_entry"),
        note="Proved for one entry of noise and delta up to 1/4, by another way than the paper's.",
    ),
    LedgerRow(
        name="hu2020-sets",
        place="section 7.2, A_1 and A_2",
        statement="The noise is split at exp(ln(sqrt(2 pi) delta/2)) / sqrt(2 pi): on A_1 the loss "
        "is at most epsilon, and A_2 has probability at most delta.",
        standing="proof step",
        evidence=CounterexampleEvidence(f"{_CHECKS}.theorem1:probability_of_a2"),
        cause=causes.A2_THRESHOLD.name,
        repair="2 C ln(1.25/delta) / epsilon - C/2 for the threshold, for the noise along w",
        repair_check=f"{_CHECKS}.theorem1:check_repaired_theorem",
        defence="The length r of (12) is meant.",
        answer="Then it is the repaired form. The printed threshold is delta/2, which nearly all "
        "noise exceeds.",
    ),
    LedgerRow(
        name="hu2020-conclusion-of-proof",
        place="section 7.2, last display",
        statement="P(D x~ | D) < e^epsilon P(D x~ | D') + delta.",
        standing="proof step",
        evidence=Consequence("hu2020-theorem1", "This is the theorem.", "restates"),
        privacy=True,
        repair="that of sets, with the repair of Theorem 1",
        repair_check=f"{_CHECKS}.theorem1:check_repaired_theorem",
    ),
)
