"""Rows of appendices D and E: the proof of Theorem 4.1, and the attack on known penalties."""

from __future__ import annotations

from dpaudit.algorithms.consensus.statements.zhang2018 import causes
from dpaudit.algorithms.consensus.statements.zhang2018.evidence import (
    make_repair_reference,
    make_zhang2018_counterexample,
    make_zhang2018_proof,
)
from dpaudit.extension.ledger import AuditEvidence, Consequence, LedgerRow

ROWS = (
    LedgerRow(
        name="zhang2018-equation57",
        place="appendix D, eq. (57)",
        statement=(
            "The ratio of joint densities is a product over iterations; f(0) adds nothing, as it "
            "is drawn independently of the data."
        ),
        standing="proof step",
        privacy=True,
        evidence=make_zhang2018_proof("densities:chain_rule"),
    ),
    LedgerRow(
        name="zhang2018-equation58",
        place="appendix D, eq. (58)",
        statement="The noise behind an output, from the optimality condition of (25).",
        standing="proof step",
        privacy=True,
        evidence=make_zhang2018_proof("densities:noise_behind"),
        note="The last sum is over the neighbours V_i, where the text has N_i.",
    ),
    LedgerRow(
        name="zhang2018-appendixD-bijective",
        place="appendix D, after eq. (58)",
        statement="Given the past, F_i(t) and E_i(t) are bijective.",
        standing="proof step",
        privacy=True,
        evidence=make_zhang2018_proof("densities:change_of_variables"),
    ),
    LedgerRow(
        name="zhang2018-equation59",
        place="appendix D, eq. (59)",
        statement="In every iteration only the node with the differing record is left.",
        standing="proof step",
        privacy=True,
        evidence=make_zhang2018_proof("densities:chain_rule"),
        note="{f_i(r)} stands for the broadcasts of all nodes, as section 2.2 says of {f_i}.",
    ),
    LedgerRow(
        name="zhang2018-equation60",
        place="appendix D, eq. (60)",
        statement="The density of F_i(t) is that of E_i(t) at g^-1(f) times |det J(g^-1(f))|.",
        standing="proof step",
        privacy=True,
        evidence=make_zhang2018_proof("densities:change_of_variables"),
    ),
    LedgerRow(
        name="zhang2018-footnote4",
        place="appendix D, footnote 4",
        statement=(
            "With |det J(g^-1(f))|^-1 in place of it, as the footnote says that Zhang & Zhu 2017 "
            "and Chaudhuri et al. 2011 have it, the formula is wrong."
        ),
        standing="gloss",
        privacy=True,
        evidence=AuditEvidence("zhang2018-footnote4"),
        note="Of the formula; what the two papers write was not read here.",
    ),
    LedgerRow(
        name="zhang2018-equation61",
        place="appendix D, eq. (61)",
        statement="The ratio is a product of ratios of noise and one of determinants.",
        standing="proof step",
        privacy=True,
        evidence=Consequence(
            "zhang2018-equation60", "It is (60) in the one factor that (59) leaves."
        ),
    ),
    LedgerRow(
        name="zhang2018-equation62",
        place="appendix D, eq. (62) and (63)",
        statement=(
            "The ratios of noise are at most exp(sum_t C alpha_i(t) / (eta_i(t) V_i B_i)), as "
            "noise moves by at most C / (eta V B)."
        ),
        standing="proof step",
        privacy=True,
        evidence=make_zhang2018_proof("densities:noise_shift"),
    ),
    LedgerRow(
        name="zhang2018-appendixD-jacobian",
        place="appendix D, after eq. (63)",
        statement="The Jacobian matrix, and H + G for the neighbour's; G has rank two at most.",
        standing="proof step",
        privacy=True,
        evidence=make_zhang2018_proof("densities:jacobian"),
    ),
    LedgerRow(
        name="zhang2018-equation64",
        place="appendix D, eq. (64)",
        statement="c_1 / ((B_i/C)(rho/N + 2 eta_i(t) V_i)) < 1/2, by the condition on theta.",
        standing="proof step",
        privacy=True,
        evidence=make_zhang2018_proof("densities:small_share"),
    ),
    LedgerRow(
        name="zhang2018-equation65",
        place="appendix D, eq. (65) and the bounds before it",
        statement="The eigenvalues of H, G and H^-1 G, and the bound on the ratio of determinants.",
        standing="proof step",
        privacy=True,
        evidence=make_zhang2018_proof("densities:eigenvalues"),
        note=(
            "With one feature the line before (65) takes 0 for the eigenvalue that is missing; "
            "(65) holds as it is."
        ),
    ),
    LedgerRow(
        name="zhang2018-appendixD-logarithm",
        place="appendix D, before eq. (66)",
        statement="-ln(1 - x) < 1.4 x for any real number x in [0, 0.5].",
        standing="proof step",
        evidence=make_zhang2018_counterexample("densities:logarithm_at_zero"),
        cause=causes.STRICT.name,
        repair="x in (0, 0.5]",
        repair_check=make_repair_reference("densities:logarithm"),
        defence="Only x > 0 is used, as c_1 is.",
        answer="Yes.",
    ),
    LedgerRow(
        name="zhang2018-equation66",
        place="appendix D, eq. (66)",
        statement="So the ratio of determinants is at most exp(sum_t 1.4 C c_1 / (eta V B)).",
        standing="proof step",
        privacy=True,
        evidence=make_zhang2018_proof("densities:logarithm"),
    ),
    LedgerRow(
        name="zhang2018-appendixD-total",
        place="appendix D, last two displays",
        statement="(63) and (66) together bound (61), and give beta.",
        standing="proof step",
        privacy=True,
        evidence=make_zhang2018_proof("densities:total_bound"),
    ),
    LedgerRow(
        name="zhang2018-equation67",
        place="appendix E, the display that the text calls (67)",
        statement="The stationarity condition, with the missing record's part on the left.",
        standing="proof step",
        evidence=make_zhang2018_proof("densities:noise_behind"),
    ),
    LedgerRow(
        name="zhang2018-appendixE-computes",
        place="appendix E",
        statement="The attacker can compute its right side completely.",
        standing="gloss",
        evidence=make_zhang2018_proof("densities:computable_side"),
    ),
    LedgerRow(
        name="zhang2018-appendixE-mean",
        place="appendix E",
        statement=(
            "Over many iterations the mean of the noise is near 0 with high probability: read of "
            "alpha_i(t) that stay above one number, as where they are constant or increase."
        ),
        standing="gloss",
        evidence=make_zhang2018_proof("densities:average_noise"),
    ),
    LedgerRow(
        name="zhang2018-appendixE",
        place="appendix E",
        statement=(
            "That allows the attacker to determine the features of the unknown individual up to a "
            "scaling factor."
        ),
        standing="gloss",
        evidence=AuditEvidence("zhang2018-appendixE"),
        cause=causes.SIGNAL.name,
        repair="penalties that do not grow, and enough iterations",
        defence="At alpha = 30 and with penalties that hardly grow, averaging finds the record.",
        answer=(
            "With the noise of the figures, or penalties that grow as theirs do, it misses the "
            "record in most runs; the longer it averages, the more it misses."
        ),
    ),
)
