"""Section 3: the algorithm and its privacy."""

from __future__ import annotations

from dpaudit.algorithms.multistep.statements.causes import CLOSED, CONSTANT, LARGE, SIGN
from dpaudit.algorithms.multistep.statements.evidence import (
    make_multistep_counterexample,
    make_multistep_proof,
)
from dpaudit.extension.ledger import AuditEvidence, Consequence, Convention, LedgerRow

_SIGN = (
    "It is a slip: (18), the solution of (13a), has the right sign, and so has Algorithm 1's code."
)
_SIGN_ANSWER = "So it is, and counts as one; who implements (12) and (13a) as printed ascends."
MORE_NOISE = (
    "sigma = sqrt(t l / 2) / (sqrt(ln(1/delta) + epsilon) - sqrt(ln(1/delta))), for delta in (0, 1)"
)

_UPDATES = (
    LedgerRow(
        name="huang2020-equation11",
        place="section 3.2, eq. (11)",
        statement="L_i(w_i) is about L_i(w~) + <grad L_i(w~), w~ - w_i> + eta / 2 ||w_i - w~||^2.",
        standing="proof step",
        evidence=make_multistep_counterexample("update:linear_term"),
        cause=SIGN.name,
        repair="<grad L_i(w~), w_i - w~> in place of <grad L_i(w~), w~ - w_i>",
        defence=_SIGN,
        answer=_SIGN_ANSWER,
    ),
    LedgerRow(
        name="huang2020-eta",
        place="section 3.2, below eq. (11)",
        statement="eta controls the distance between an updated model and the one before: a larger "
        "eta makes it smaller.",
        standing="gloss",
        evidence=make_multistep_proof("update:distance"),
    ),
    LedgerRow(
        name="huang2020-equation12",
        place="section 3.2, eq. (12)",
        statement="With (11) in (8), the approximate Lagrangian has the linear term "
        "<grad L_i(w~), w~ - w_i>.",
        standing="proof step",
        evidence=Consequence("huang2020-equation11", "It is (11) put into (8).", "restates"),
        repair="<grad L_i(w~), w_i - w~> in place of <grad L_i(w~), w~ - w_i>",
    ),
    LedgerRow(
        name="huang2020-equation13",
        place="section 3.2, eq. (13), (13a)",
        statement="The primal update w_i^{k,r+1} = min of (12) over w_i is an inexact minimisation "
        "in place of (9a).",
        standing="proof step",
        evidence=make_multistep_counterexample("update:ascent"),
        cause=SIGN.name,
        repair="w_i^{k,r+1} = argmin of (12) with <grad L_i(w~), w_i - w~>",
        defence=_SIGN,
        answer=_SIGN_ANSWER,
    ),
    LedgerRow(
        name="huang2020-noise",
        place="section 3.2, eq. (13b) and (14)",
        statement="Each update gets noise N(0, s^2 sigma^2 I).",
        standing="definition",
        evidence=Convention("It is a step of the algorithm."),
    ),
    LedgerRow(
        name="huang2020-algorithm1",
        place="section 3.2, eq. (15) and Algorithm 1",
        statement="The dual update, the average w~_i^k of l models that a node sends, and the "
        "whole algorithm.",
        standing="definition",
        evidence=Convention("It is the algorithm."),
        note="It starts from any duals; (37) and (40) need duals of 0, as section 2.2 has them.",
    ),
    LedgerRow(
        name="huang2020-cost",
        place="section 3.2, Note 1, first and second sentence; section 4.2",
        statement="A larger l costs more computation in each iteration, and batches need less.",
        standing="gloss",
        evidence=make_multistep_proof("update:cost"),
    ),
    LedgerRow(
        name="huang2020-note1",
        place="section 3.2, Note 1, third sentence",
        statement="The variant that draws batches with replacement has the same utility guarantee, "
        "Theorem 7.",
        standing="gloss",
        evidence=Consequence(
            "huang2020-theorem7",
            "Where all records of a node are equal, a batch has the full gradient, and the variant "
            "is Algorithm 1.",
            "implies",
        ),
        note="Of privacy it says nothing: a record that is drawn twice moves an update twice as "
        "far. On other data (39) would need the second moment of a batch's gradient.",
    ),
    LedgerRow(
        name="huang2020-note2",
        place="section 3.2, Note 2",
        statement="A node shares the average and not the last model, and duals use what is shared.",
        standing="definition",
        evidence=Convention("It is a choice; what it hides is the question huang2020-broadcast."),
    ),
)

_SENSITIVITY = (
    LedgerRow(
        name="huang2020-lemma5",
        place="section 3.3, Lemma 5, eq. (16), and the end of its proof",
        statement="If the loss is c_1-Lipschitz, the update (13a) has l2 sensitivity 2 c_1 / "
        "((2 rho |N_i| + eta_i^{k,r+1}) m_i).",
        standing="theorem",
        privacy=True,
        evidence=AuditEvidence("huang2020-lemma5"),
        note="Attained by losses of slope c_1 on both sides; of others it is an upper bound.",
    ),
    LedgerRow(
        name="huang2020-equation17",
        place="section 3.3, proof of Lemma 5, eq. (17)",
        statement="The sensitivity is the largest distance of updates on neighbouring datasets.",
        standing="definition",
        privacy=True,
        evidence=Convention("It is a definition."),
    ),
    LedgerRow(
        name="huang2020-equation18",
        place="section 3.3, proof of Lemma 5, eq. (18)",
        statement="The update (13a) in closed form, with L_i(w~) in its numerator and "
        "2 rho |N_i| + eta_i^{k,r} in its denominator.",
        standing="proof step",
        evidence=make_multistep_counterexample("update:check_closed_form"),
        cause=CLOSED.name,
        repair="grad L_i(w~) in the numerator and eta_i^{k,r+1} in the denominator",
        defence="It is a slip: (19) has the gradient and the index.",
        answer="So it is, and counts as one. The repaired formula solves (13a) with its sign "
        "repaired.",
    ),
    LedgerRow(
        name="huang2020-equation19",
        place="section 3.3, proof of Lemma 5, eq. (19)",
        statement="Two updates differ by the difference of two gradients of one record over "
        "(2 rho |N_i| + eta) m_i, at most twice the norm of one.",
        standing="proof step",
        privacy=True,
        evidence=make_multistep_proof("update:movement"),
    ),
)

_GUARANTEE = (
    LedgerRow(
        name="huang2020-theorem6",
        place="section 3.3, Theorem 6, eq. (20); section 7",
        statement="'Let epsilon, delta >= 0 be arbitrary. There exists constant c_0 so that' "
        "Algorithm 1 is (epsilon, delta)-DP with sigma = c_0 sqrt(2 t l ln(1.25/delta)) / epsilon: "
        "read of one number c_0.",
        standing="theorem",
        privacy=True,
        evidence=AuditEvidence("huang2020-theorem6"),
        cause=CONSTANT.name,
        repair=MORE_NOISE,
        defence="'There exists' stands after 'arbitrary': c_0 may depend on epsilon and delta. And "
        "nobody uses epsilon above 8, below which c_0 = 1 is right at delta = 1e-5, with room to "
        "spare.",
        answer="Read so it is huang2020-theorem6-order, and proved. The audits are of the stricter "
        "reading, that of who sets c_0 to a number. For l = 1 all noisy models are broadcast, and "
        "whatever t is it is false from 8.42 on with c_0 = 1, and further up with any other.",
    ),
    LedgerRow(
        name="huang2020-theorem6-order",
        place="section 3.3, Theorem 6, in the order of its words",
        statement="For each epsilon > 0 and each delta in (0, 1) there is a c_0, which depends on "
        "both, with which the noise of (20) makes Algorithm 1 (epsilon, delta)-DP.",
        standing="theorem",
        privacy=True,
        evidence=make_multistep_proof("privacy:enough_noise"),
        note="c_0 = (sqrt(ln(1/delta) + epsilon) + sqrt(ln(1/delta))) / (2 sqrt(ln(1.25/delta))) "
        "is one, whatever t and l are. At epsilon = 0 and at delta = 0 (20) is infinite.",
    ),
    LedgerRow(
        name="huang2020-theorem6-constant",
        place="section 3.3, Theorem 6, its second sentence, as section 4.2 uses it",
        statement="There exists a constant c_0: one, which the bounds of section 4.2 leave out.",
        standing="theorem",
        privacy=True,
        evidence=make_multistep_counterexample("privacy:no_constant_of_noise"),
        cause=CONSTANT.name,
        repair=MORE_NOISE,
        defence="'There exists' stands after 'arbitrary': c_0 may depend on epsilon and delta, and "
        "the adversary sees averages only.",
        answer="Read so it is huang2020-theorem6-order, which is proved. But then c_0 grows with "
        "epsilon, and O(sqrt(d ln(1/delta)) / (m epsilon)) lacks it. For l = 1 the averages are "
        "the noisy models themselves.",
    ),
    LedgerRow(
        name="huang2020-each-update",
        place="section 3.3, proof of Theorem 6, second sentence",
        statement="By Theorem A.1 of Dwork & Roth each update is (epsilon / (c_0 sqrt(t l)), "
        "delta)-DP, as in the theorem for arbitrary epsilon: read of one number c_0.",
        standing="proof step",
        privacy=True,
        evidence=make_multistep_counterexample("privacy:large_epsilon"),
        cause=LARGE.name,
        repair="the same where epsilon / (c_0 sqrt(t l)) is below 1",
        defence="With many iterations, or a c_0 above epsilon, epsilon / (c_0 sqrt(t l)) is below "
        "1.",
        answer="Then it is true, and has to be said: of one c_0 the theorem is for every t, l and "
        "epsilon.",
    ),
    LedgerRow(
        name="huang2020-composition-step",
        place="section 3.3, proof of Theorem 6, third and fourth sentence",
        statement="As t l such algorithms, composed by Theorem 4, Algorithm 1 is (epsilon, "
        "delta)-DP.",
        standing="proof step",
        privacy=True,
        evidence=Consequence("huang2020-theorem6", "It is the theorem's last step.", "restates"),
        repair=MORE_NOISE,
    ),
)

ROWS = (*_UPDATES, *_SENSITIVITY, *_GUARANTEE)
