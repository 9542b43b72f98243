"""Sections 4 to 7: utility, its discussion, experiments and conclusion."""

from __future__ import annotations

from dpaudit.algorithms.multistep.statements.algorithm import MORE_NOISE
from dpaudit.algorithms.multistep.statements.causes import (
    BOUND,
    HARMONIC,
    NETWORK,
    NODES,
    NOISE,
    RATE,
    REGULARISER,
)
from dpaudit.algorithms.multistep.statements.evidence import (
    CHECKS,
    make_multistep_counterexample,
    make_multistep_proof,
)
from dpaudit.extension.ledger import (
    AuditEvidence,
    Consequence,
    Convention,
    LedgerRow,
    ReproductionEvidence,
)

_THEOREM = (
    LedgerRow(
        name="huang2020-equation21",
        place="section 4, eq. (21)",
        statement="Utility is measured by the expected excess risk of the models that are put out, "
        "plus beta times their distances.",
        standing="definition",
        evidence=Convention("It is a definition."),
        note="The expectation is printed of the risk alone, and the outputs are named twice.",
    ),
    LedgerRow(
        name="huang2020-lipschitz-objective",
        place="section 4.1, Theorem 7, first hypothesis",
        statement="The objective L is c_2-Lipschitz.",
        standing="hypothesis",
        evidence=Convention("It is assumed."),
        note="(39) uses that every n L_i is c_2-Lipschitz.",
    ),
    LedgerRow(
        name="huang2020-bounded-models",
        place="section 4.1, Theorem 7, second and third hypothesis; appendix, sentence above eq. "
        "(27) and below eq. (39)",
        statement="Models, with their noise, lie in a set of diameter D, and all duals have norm "
        "at most beta.",
        standing="hypothesis",
        evidence=make_multistep_counterexample("rates:check_unbounded_noise"),
        cause=NOISE.name,
        defence="It is a customary assumption, and leaving a large set is improbable.",
        answer="Then the theorem holds with a probability, and D and beta grow with sigma, t and "
        "l, on which (24) does not let them depend. Algorithm 1 projects nothing. Our audits of "
        "the theorem suppose it all the same, and the runs that refute it have no noise: their "
        "models do lie in such a set.",
    ),
    LedgerRow(
        name="huang2020-equation22",
        place="section 4.1, Theorem 7, eq. (22) and (23)",
        statement="The output w^_i averages w~_i^{k,r} over k = 1 .. t and r = 0 .. l - 1; the "
        "weights eta_i^{k,r} grow like sqrt(k r).",
        standing="definition",
        evidence=Convention("They are definitions."),
    ),
    LedgerRow(
        name="huang2020-theorem7",
        place="section 4.1, Theorem 7, eq. (24)",
        statement="The expected excess risk and violation are at most the sum over nodes of "
        "sqrt(2) D / sqrt(t l) sqrt(c_2^2 / n^2 + d c_0^2 c_1^2 t l 8 ln(1.25/delta) / (epsilon^2 "
        "m_i^2)) + |N_i| (rho D^2 + beta^2 / rho) / t.",
        standing="theorem",
        evidence=make_multistep_counterexample("one_node:utility"),
        cause=HARMONIC.name,
        defence="It is a matter of a constant: with 3 / sqrt(2) in place of sqrt(2) nothing is "
        "known against it, and for l = 1 no search refutes it if c_2 is meant of every n L_i.",
        answer="The theorem is an inequality for every l, and several inner steps are what the "
        "paper is about. With one node all readings of c_2 are one; n nodes that share the loss, "
        "each with 1/n of it, do the same where rho and beta are small.",
        note="The instance has no noise (epsilon = infinity, as in section 4.2), and its models "
        "lie in a set of diameter D: every hypothesis is met, and noise that is small enough "
        "changes nothing. For one node and l = 1 the theorem is true: checks/rates.py, one_step, "
        "is the proof.",
    ),
    LedgerRow(
        name="huang2020-theorem7-objective",
        place="section 4.1, Theorem 7, with c_2 read as the first hypothesis has it",
        statement="The same for every l, l = 1 as well, where the objective, the sum of all L_i, "
        "is c_2-Lipschitz.",
        standing="theorem",
        evidence=AuditEvidence("huang2020-theorem7"),
        cause=NODES.name,
        defence="c_2 is meant as n times a Lipschitz constant of every L_i; the n + mu D / n of "
        "section 5.4 is about that.",
        answer="The text says of the objective L. With the other reading no search refutes it for "
        "l = 1.",
    ),
)

_DISCUSSION = (
    LedgerRow(
        name="huang2020-smaller-epsilon-costs",
        place="section 4.2, first paragraph, second sentence",
        statement="Theorem 7 demonstrates the trade-off: with a smaller epsilon the utility that "
        "it promises decreases.",
        standing="gloss",
        evidence=make_multistep_proof("rates:bound_and_epsilon"),
    ),
    LedgerRow(
        name="huang2020-section42",
        place="section 4.2, first paragraph, third sentence",
        statement="With epsilon extremely large the approach converges like O(1/t).",
        standing="gloss",
        evidence=make_multistep_counterexample("rates:order"),
        cause=RATE.name,
        repair="O(1 / sqrt(t)), for one node and l = 1",
        defence="The terms of (24) with rho and beta are over t, as for ADMM.",
        answer="Its first term is not, and the error is not either: of one fixed problem it is of "
        "the order of 1 / sqrt(t).",
    ),
    LedgerRow(
        name="huang2020-matches-admm",
        place="section 4.2, first paragraph, third sentence, second half",
        statement="That rate matches the one of conventional ADMM, O(1/t).",
        standing="gloss",
        evidence=Consequence("huang2020-section42", "It is the same rate.", "implies"),
    ),
    LedgerRow(
        name="huang2020-bound-and-steps",
        place="section 4.2, second paragraph, first sentence",
        statement="'Theorem 7 demonstrates that our approach can be improved by allowing multiple "
        "approximate primal variable updates': read as, the bound (24) falls with l.",
        standing="gloss",
        evidence=make_multistep_proof("rates:bound_and_steps"),
        note="It is about the formula (24), which for l > 1 no longer bounds the error "
        "(huang2020-theorem7).",
    ),
    LedgerRow(
        name="huang2020-inner-steps",
        place="section 4.2, second paragraph, second sentence",
        statement="With a larger l the approach 'can' achieve better accuracy: read of all data, "
        "as the theorem is.",
        standing="gloss",
        evidence=AuditEvidence("huang2020-inner-steps"),
        cause=BOUND.name,
        repair="the bound of (24) is smaller",
        defence='The text says "can": of the bound, or on some data.',
        answer="Of the bound it is huang2020-bound-and-steps, and on some data "
        "huang2020-inner-steps-can: both are proved. The audits are of the stricter reading, to "
        "which the reference to Theorem 7 leads: there are data on which more steps have an error "
        "that is hundreds of times as large.",
    ),
    LedgerRow(
        name="huang2020-inner-steps-can",
        place="section 4.2, second paragraph, second sentence, with 'can' as it stands",
        statement="With a larger l the approach can achieve better accuracy: on some data it does.",
        standing="gloss",
        evidence=make_multistep_proof("rates:steps_that_help"),
    ),
    LedgerRow(
        name="huang2020-large-t",
        place="section 4.2, third paragraph, first half",
        statement="For t large enough the error is O(sum_i sqrt(d ln(1/delta)) / (m_i epsilon)).",
        standing="gloss",
        evidence=Consequence(
            "huang2020-theorem7",
            "As t grows, what is left of (24) is the sum of 4 D c_0 c_1 sqrt(d ln(1.25/delta)) / "
            "(m_i epsilon).",
        ),
    ),
    LedgerRow(
        name="huang2020-comparable",
        place="section 4.2, third paragraph, second half",
        statement="That bound is comparable to the best known, O(sqrt(d ln(1/delta)) / (N "
        "epsilon)) with N records in all.",
        standing="gloss",
        evidence=make_multistep_counterexample("rates:sum_over_nodes"),
        cause=NETWORK.name,
        repair="the same for a fixed number of nodes with as many records each",
        repair_check=CHECKS + "rates:check_fixed_network",
        defence="For a given network n is a constant, and (1) adds up n mean losses.",
        answer="Read so the sentence is true, and the repair is its proof. It falls where n "
        "counts, over which the bound sums: then it is n^2 times the other, or n times of the mean "
        "loss of all records, 100 in the paper's own experiments.",
    ),
)

_EXPERIMENTS = (
    LedgerRow(
        name="huang2020-equation25",
        place="section 5.1, eq. (25) and (26)",
        statement="The logistic loss, and L_i with the regulariser lambda ||w||^2 / (2 n).",
        standing="definition",
        evidence=Convention("They are definitions."),
    ),
    LedgerRow(
        name="huang2020-data",
        place="section 5.2",
        statement="Adult has 48,842 records of 14 attributes; after preprocessing 45,222 of 104 "
        "features, rows of norm at most 1, labels 1 and -1.",
        standing="gloss",
        evidence=make_multistep_proof("rates:records_of_adult"),
    ),
    LedgerRow(
        name="huang2020-baselines",
        place="section 5.3",
        statement="The approach is compared with four baselines.",
        standing="definition",
        evidence=Convention("It is a choice."),
        note="Five are listed, of which four are private.",
    ),
    LedgerRow(
        name="huang2020-settings",
        place="section 5.4, second and third sentence",
        statement="rho = 0.001, mu = 0.0001, 100 nodes fully connected, evenly divided data, means "
        "of 10 runs; l = 10 in Figure 1, epsilon = 1 in Figure 2, delta = 1e-5.",
        standing="definition",
        evidence=Convention("They are choices; t and D are not given."),
    ),
    LedgerRow(
        name="huang2020-preprocessed",
        place="section 5.4, second sentence",
        statement="By preprocessing the objective is (n + mu D / n)-Lipschitz.",
        standing="gloss",
        evidence=make_multistep_counterexample("rates:lipschitz_constant"),
        cause=REGULARISER.name,
        repair="(n + mu D)-Lipschitz",
        defence="It is a slip, and of no consequence: mu is 0.0001.",
        answer="So it is, and counts as one.",
    ),
    LedgerRow(
        name="huang2020-figure1",
        place="section 5.4, Figure 1",
        statement="A larger epsilon has a smaller empirical risk, consistent with Theorem 7.",
        standing="figure",
        evidence=ReproductionEvidence("huang2020-figure1", "privacy costs utility"),
    ),
    LedgerRow(
        name="huang2020-figure2",
        place="section 5.4, Figure 2",
        statement="At epsilon = 1 a larger l, from 1 to 25, has a smaller empirical risk, "
        "consistent with Theorem 7.",
        standing="figure",
        evidence=ReproductionEvidence("huang2020-figure2", "more steps help"),
    ),
    LedgerRow(
        name="huang2020-figure3-better",
        place="section 5.4, Figure 3, (a) and (b)",
        statement="The approach has a better utility than the other private algorithms.",
        standing="figure",
        evidence=ReproductionEvidence("huang2020-figure3", "better"),
    ),
    LedgerRow(
        name="huang2020-figure3-steadier",
        place="section 5.4, Figure 3, (a) and (b)",
        statement="Its updates are more stable than theirs.",
        standing="figure",
        evidence=ReproductionEvidence("huang2020-figure3", "steadier"),
    ),
)

_CONCLUSION = (
    LedgerRow(
        name="huang2020-improvement",
        place="section 6.3, last sentence",
        statement="The theoretical analysis demonstrates the improvement over previous work.",
        standing="gloss",
        evidence=Consequence(
            "huang2020-inner-steps", "What is new is several updates in an iteration.", "restates"
        ),
        repair="the bound of (24) is smaller",
    ),
    LedgerRow(
        name="huang2020-accountant",
        place="section 7, third sentence",
        statement="The noise is set properly for the guarantee, by the moments accountant.",
        standing="gloss",
        privacy=True,
        evidence=Consequence(
            "huang2020-theorem6", "It is the guarantee that is meant.", "restates"
        ),
        repair=MORE_NOISE,
    ),
)

ROWS = (*_THEOREM, *_DISCUSSION, *_EXPERIMENTS, *_CONCLUSION)
