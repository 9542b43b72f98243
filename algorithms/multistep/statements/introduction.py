"""The abstract and sections 1 and 2: the problem, ADMM and privacy."""

from __future__ import annotations

from dpaudit.algorithms.multistep.statements.causes import MOMENTS, RATIO, TAIL
from dpaudit.algorithms.multistep.statements.evidence import (
    make_multistep_counterexample,
    make_multistep_proof,
)
from dpaudit.extension.ledger import AuditEvidence, Consequence, Convention, LedgerRow

_GAUSSIAN = (
    "The theorem is used of Gaussian mechanisms with the noise of Theorem 6 only, for which "
    "something like it holds while sqrt(t) epsilon is small."
)

_FRONT = (
    LedgerRow(
        name="huang2020-robustly",
        place="abstract; sections 1 and 3.1",
        statement="For a wide range of convex problems, approximating the objective lets "
        "calibrated noise enter the updates robustly: read as, its size is known for every convex "
        "Lipschitz loss, smooth or not, strongly convex or not.",
        standing="gloss",
        evidence=Consequence("huang2020-lemma5", "The sensitivity (16) has c_1 in it alone."),
    ),
    LedgerRow(
        name="huang2020-higher-utility",
        place="abstract; section 1, first and second contribution; sections 3.1 and 7",
        statement="With multiple approximate updates of a node in each iteration the approach 'can "
        "obtain higher utility'.",
        standing="gloss",
        evidence=Consequence("huang2020-inner-steps", "Section 4.2 says the same.", "restates"),
        repair="the bound of (24) is smaller",
    ),
    LedgerRow(
        name="huang2020-asymptotic",
        place="abstract; section 1, second contribution; section 7",
        statement="The error bounds are asymptotic, or comparable, to the best that are known for "
        "differentially private empirical risk minimisation.",
        standing="gloss",
        evidence=Consequence("huang2020-comparable", "Section 4.2 says the same.", "restates"),
        repair="the same for a fixed number of nodes with as many records each",
    ),
    LedgerRow(
        name="huang2020-cited",
        place="sections 1, 2.3, 3.1 and 6",
        statement="What others have shown of ADMM and of private learning: distributed ADMM "
        "converges linearly, or like O(1/t); DP-ADMM converges like O(1/sqrt(t)); half of the "
        "updates of recycled ADMM reveal nothing; shared models let an adversary infer data; "
        "the Gaussian mechanism gives (epsilon, delta)-differential privacy.",
        standing="gloss",
        evidence=Convention("It cites others, and is no result of this paper."),
    ),
    LedgerRow(
        name="huang2020-achieves-privacy",
        place="section 1; section 3.1",
        statement="With calibrated noise the approach can achieve (epsilon, delta)-differential "
        "privacy.",
        standing="gloss",
        privacy=True,
        evidence=make_multistep_proof("privacy:enough_noise"),
        note="It is that of (20) with a c_0 for each epsilon and delta (huang2020-theorem6-order).",
    ),
    LedgerRow(
        name="huang2020-exchanged",
        place="section 1; sections 2.3 and 3.1",
        statement="The privacy concern comes from the iterates that nodes exchange with their "
        "neighbours.",
        standing="hypothesis",
        privacy=True,
        evidence=Convention("It says what the adversary sees."),
        note="Theorem 6 is about more: all noisy models. What the exchanged averages alone reveal "
        "is the question huang2020-broadcast.",
    ),
    LedgerRow(
        name="huang2020-experiments",
        place="section 1, third contribution",
        statement="Experiments on real data show a better trade-off of privacy and utility than "
        "that of previous works.",
        standing="gloss",
        evidence=Consequence(
            "huang2020-figure3-better", "Figure 3 is this comparison.", "restates"
        ),
    ),
)

_PROBLEM = (
    LedgerRow(
        name="huang2020-problem",
        place="section 2.1, eq. (1)",
        statement="The problem: minimise over w in W the sum over nodes of their mean losses, plus "
        "lambda phi(w), on a connected undirected graph.",
        standing="definition",
        evidence=Convention("It defines the problem."),
    ),
    LedgerRow(
        name="huang2020-convex-lipschitz",
        place="section 2.1; section 4.1",
        statement="The loss and the regulariser are convex and Lipschitz.",
        standing="hypothesis",
        evidence=Convention("It is assumed."),
        note="The regulariser of section 5, ||w||^2 / 2, is Lipschitz on a bounded W only.",
    ),
    LedgerRow(
        name="huang2020-definitions12",
        place="section 2.1, Definitions 1 and 2, eq. (2) and (3)",
        statement="A convex function lies above its tangents; a c-Lipschitz function changes by at "
        "most c times the distance.",
        standing="definition",
        evidence=Convention("They are definitions."),
    ),
    LedgerRow(
        name="huang2020-equation4",
        place="section 2.2, eq. (4), (4a) and (4b)",
        statement="Problem (1) can be written as (4a) with the constraints (4b), which make all "
        "local models equal.",
        standing="proof step",
        evidence=make_multistep_proof("admm:consensus_problem"),
    ),
    LedgerRow(
        name="huang2020-lagrangian",
        place="section 2.2, eq. (5), (6) and (7), (7a) to (7d)",
        statement="The local objective L_i, the augmented Lagrangian, and ADMM's updates of "
        "models, auxiliary variables and multipliers.",
        standing="definition",
        evidence=Convention("They are definitions."),
    ),
    LedgerRow(
        name="huang2020-multipliers",
        place="section 2.2, below eq. (7)",
        statement="Multipliers that start at 0 stay equal, gamma^1 = gamma^2, and then z_ij = "
        "(w_i + w_j) / 2.",
        standing="proof step",
        evidence=make_multistep_proof("admm:equal_multipliers"),
    ),
    LedgerRow(
        name="huang2020-equation9",
        place="section 2.2, eq. (8) and (9), (9a) and (9b)",
        statement="With gamma_i = sum_j gamma_ij and (8), the updates (7) can be simplified to "
        "(9).",
        standing="proof step",
        evidence=make_multistep_proof("admm:simple_updates"),
    ),
)

_PRIVACY = (
    LedgerRow(
        name="huang2020-goal",
        place="section 2.3, second paragraph",
        statement="The goal: to protect nodes' datasets from an adversary who infers sensitive "
        "information from the shared messages.",
        standing="definition",
        privacy=True,
        evidence=Convention("It is an aim, not a result."),
    ),
    LedgerRow(
        name="huang2020-equation10",
        place="section 2.3, Definition 3, eq. (10)",
        statement="(epsilon, delta)-differential privacy, of datasets that differ in one tuple.",
        standing="definition",
        privacy=True,
        evidence=Convention("It is a definition."),
    ),
    LedgerRow(
        name="huang2020-definition3",
        place="section 2.3, below eq. (10)",
        statement="(10) means that with probability at least 1 - delta the ratio of the two "
        "probabilities is bounded by e^epsilon.",
        standing="gloss",
        privacy=True,
        evidence=AuditEvidence("huang2020-definition3"),
        cause=RATIO.name,
        repair="the ratio exceeds e^(2 epsilon) with probability at most delta / (1 - e^-epsilon)",
        defence="It is a customary way to put it, and nothing is derived from it.",
        answer="Readers take it for what is promised. The probability that a ratio exceeds "
        "e^epsilon can be near 1 for every delta, however small.",
    ),
    LedgerRow(
        name="huang2020-smaller-epsilon",
        place="section 2.3, below Definition 3",
        statement="A smaller epsilon or a smaller delta gives better protection.",
        standing="gloss",
        privacy=True,
        evidence=make_multistep_proof("privacy:weaker_guarantees"),
    ),
    LedgerRow(
        name="huang2020-theorem4",
        place="section 2.3, Theorem 4",
        statement="For any epsilon and delta from 0, t (epsilon, delta)-DP algorithms, composed "
        "adaptively, are (c_0 sqrt(t) epsilon, delta)-DP for some constant c_0.",
        standing="theorem",
        privacy=True,
        evidence=AuditEvidence("huang2020-theorem4"),
        cause=MOMENTS.name,
        repair="(sqrt(2 t ln(1/d)) epsilon + t epsilon (e^epsilon - 1), t delta + d)-DP for every "
        "d > 0 (Dwork, Rothblum & Vadhan 2010)",
        defence=_GAUSSIAN,
        answer="It is stated of every (epsilon, delta)-DP algorithm, of epsilon = 0 as well, and "
        "Gaussian mechanisms exceed it too once they are many.",
    ),
    LedgerRow(
        name="huang2020-theorem4-constant",
        place="section 2.3, Theorem 4, its last words",
        statement="There is a constant c_0 for which this is so.",
        standing="theorem",
        privacy=True,
        evidence=make_multistep_counterexample("privacy:no_constant_of_composition"),
        cause=MOMENTS.name,
        defence=_GAUSSIAN,
        answer="Whatever c_0 is, it stands beside epsilon, and what is missing is missing in "
        "delta.",
    ),
    LedgerRow(
        name="huang2020-log-moment",
        place="section 2.3, proof of Theorem 4, second sentence",
        statement="The tau-th log moment of the privacy loss of an (epsilon, delta)-DP algorithm "
        "is at most t tau (tau + 1) epsilon^2 / (4 ln(1.25/delta)), where t = 1 is meant.",
        standing="proof step",
        privacy=True,
        evidence=make_multistep_counterexample("privacy:log_moment"),
        cause=MOMENTS.name,
        repair="the same of Gaussian mechanisms with sigma = sqrt(2 ln(1.25/delta)) / epsilon",
        defence="It is computed for the mechanism that the paper uses.",
        answer="The theorem that it proves is about every algorithm. Others have larger moments, "
        "or none that are finite.",
    ),
    LedgerRow(
        name="huang2020-moments-add",
        place="section 2.3, proof of Theorem 4, third sentence",
        statement="By linear composability the log moment of all t algorithms is t tau (tau + 1) "
        "epsilon^2 / (4 ln(1.25/delta)).",
        standing="proof step",
        privacy=True,
        evidence=Consequence("huang2020-log-moment", "For t = 1 it is that statement.", "implies"),
        repair="the same of Gaussian mechanisms with sigma = sqrt(2 ln(1.25/delta)) / epsilon",
    ),
    LedgerRow(
        name="huang2020-tail-bound",
        place="section 2.3, proof of Theorem 4, fourth sentence",
        statement="By the tail bound of the log moment, epsilon' from sqrt(t ln(1/delta) / "
        "ln(1.25/delta)) epsilon on is enough.",
        standing="proof step",
        privacy=True,
        evidence=make_multistep_counterexample("privacy:tail_bound"),
        cause=TAIL.name,
        repair="t epsilon^2 / (4 ln(1.25/delta)) more than that is enough",
        defence="The dropped term is small where sqrt(t) epsilon is.",
        answer="Theorems 4 and 6 are for every epsilon, and as the dropped term is of another "
        "order, no constant makes up for it.",
    ),
    LedgerRow(
        name="huang2020-proof-constant",
        place="section 2.3, proof of Theorem 4, fifth sentence",
        statement="Thus there exists a constant c_0 with epsilon' = c_0 sqrt(t) epsilon.",
        standing="proof step",
        privacy=True,
        evidence=Consequence("huang2020-theorem4-constant", "It is the theorem.", "restates"),
    ),
)

ROWS = (*_FRONT, *_PROBLEM, *_PRIVACY)
