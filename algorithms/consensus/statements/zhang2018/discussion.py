"""Rows of sections 6 and 7."""

from __future__ import annotations

from dpaudit.algorithms.consensus.statements.zhang2018 import causes
from dpaudit.algorithms.consensus.statements.zhang2018.evidence import (
    make_repair_reference,
    make_zhang2018_counterexample,
    make_zhang2018_proof,
)
from dpaudit.extension.ledger import (
    AuditEvidence,
    Consequence,
    Convention,
    LedgerRow,
    OpenQuestion,
)

_INSIDE = (
    "Held fixed is the noise in the dual variable, eta V e, as section 6.2 does, and then a larger "
    "penalty has the smaller effect."
)
_AS_WRITTEN = (
    "In (24) and (25), to which the section refers, the noise is e, with a law of its own, and the "
    "same e moves the model further the larger eta is."
)

ROWS = (
    LedgerRow(
        name="zhang2018-section6-both",
        place="section 6",
        statement="The numerical results show that increasing penalties improve both at once.",
        standing="gloss",
        evidence=Consequence(
            "zhang2018-figure2-both", "The numerical results are Figure 2.", link="restates"
        ),
    ),
    LedgerRow(
        name="zhang2018-section61-resistant",
        place="section 6.1",
        statement="Increasing the penalty parameters makes the algorithm more noise resistant.",
        standing="gloss",
        evidence=make_zhang2018_counterexample("remarks:resistance_to_noise"),
        cause=causes.INSIDE.name,
        repair="noise of one law in the dual variable, which has a smaller effect",
        repair_check=make_repair_reference("remarks:resistance_to_dual_noise"),
        defence=_INSIDE,
        answer=_AS_WRITTEN,
    ),
    LedgerRow(
        name="zhang2018-section61-smaller-updates",
        place="section 6.1",
        statement=(
            "In (25) a larger eta_i(t+1) results in a smaller distance between f_i(t+1) and f_i(t)."
        ),
        standing="gloss",
        evidence=make_zhang2018_counterexample("remarks:smaller_updates"),
        cause=causes.PULL.name,
        defence=(
            "It does where all nodes agree and there is no noise: then the penalty pulls to f_i(t)."
        ),
        answer=(
            "Nodes have to come to an agreement first, and noise is what the section is about. A "
            "node at its own minimum moves the further, the larger its penalty is."
        ),
    ),
    LedgerRow(
        name="zhang2018-section61-toward",
        place="section 6.1",
        statement="In the non-private case f_i(t) always moves toward the optimum.",
        standing="gloss",
        evidence=make_zhang2018_counterexample("remarks:toward_optimum"),
        cause=causes.TOWARD.name,
        defence="In the long run it does: M-ADMM converges, where its penalties stay bounded.",
        answer="'Always' is every step, which the next sentence contrasts with 'in each step'.",
        note="The distances of the instance are 1, 4 and 2 at t = 0, 1 and 2.",
    ),
    LedgerRow(
        name="zhang2018-section61-slows",
        place="section 6.1",
        statement="In the non-private case smaller updates slow the process down.",
        standing="gloss",
        evidence=Consequence(
            "zhang2018-figure1b", "Figure 1 (b) is what shows it.", link="restates"
        ),
    ),
    LedgerRow(
        name="zhang2018-section61-not-toward",
        place="section 6.1",
        statement="In the private case f_i(t) does not always move toward the optimum.",
        standing="gloss",
        evidence=make_zhang2018_proof("remarks:away_from_optimum"),
    ),
    LedgerRow(
        name="zhang2018-section61-variance",
        place="section 6.1",
        statement=(
            "When the perturbation has a larger variance, it is more likely that f_i(t) moves "
            "further away from the optimum in some iterations."
        ),
        standing="gloss",
        evidence=make_zhang2018_proof("remarks:farther_with_noise"),
        note=(
            "Of one step, which without noise would lead toward the optimum, as the section "
            "supposes. Where it would lead away, noise can only help."
        ),
    ),
    LedgerRow(
        name="zhang2018-section61-stabilises",
        place="section 6.1",
        statement=(
            "Because a larger eta_i(t) leads to a smaller update, it keeps f_i(t) from moving too "
            "far away from the optimum, and so stabilises the algorithm (a smaller L_range(t))."
        ),
        standing="gloss",
        evidence=Consequence(
            "zhang2018-section61-smaller-updates",
            "Its reason is that updates are smaller.",
            link="implies",
        ),
    ),
    LedgerRow(
        name="zhang2018-section62-noise",
        place="section 6.2",
        statement="More added noise means a stronger privacy guarantee.",
        standing="gloss",
        privacy=True,
        evidence=make_zhang2018_proof("remarks:more_noise"),
    ),
    LedgerRow(
        name="zhang2018-section62-perturbation",
        place="section 6.2",
        statement=(
            "Increasing eta_i(t) and alpha_i(t) so that the overall perturbation 2 eta V e'f "
            "increases leads to less privacy loss."
        ),
        standing="gloss",
        privacy=True,
        evidence=make_zhang2018_proof("remarks:growing_perturbation"),
    ),
    LedgerRow(
        name="zhang2018-section62-allows",
        place="section 6.2",
        statement=(
            "The noise resistance of an increasing eta_i(t) allows larger noise without "
            "jeopardising convergence."
        ),
        standing="gloss",
        evidence=Consequence(
            "zhang2018-section61-resistant",
            "It is derived from that resistance, of which only the repaired form is true.",
        ),
        cause=causes.INSIDE.name,
    ),
    LedgerRow(
        name="zhang2018-section62-strengthens",
        place="section 6.2",
        statement="Keeping eta_i(t) private further strengthens privacy protection.",
        standing="gloss",
        privacy=True,
        evidence=OpenQuestion(
            "Who sees less learns no more, and (26) holds either way; whether a smaller number "
            "than (26) holds of those who do not see the penalties was not worked out."
        ),
    ),
    LedgerRow(
        name="zhang2018-section62-infers",
        place="section 6.2",
        statement=(
            "An attacker who knows all other records of a node, all its and its neighbours' "
            "models, theta and the penalties can infer the unknown data point (x, y) with high "
            "confidence, from the optimality conditions of all iterations."
        ),
        standing="gloss",
        evidence=make_zhang2018_counterexample("densities:check_mirrored_record"),
        cause=causes.MIRROR.name,
        repair="y x in place of (x, y), with constant penalties and over enough iterations",
        defence="Appendix E, to which it refers, says 'the features up to a scaling factor'.",
        answer="(x, y) and (-x, -y) give everything that is broadcast the same law.",
    ),
    LedgerRow(
        name="zhang2018-section62",
        place="section 6.2",
        statement=(
            "If the penalties are private to each node, it is impossible for the attacker to infer "
            "the unknown data."
        ),
        standing="gloss",
        privacy=True,
        evidence=AuditEvidence("zhang2018-section62"),
        cause=causes.KNOWN.name,
        defence=(
            "At the noise of the figures, alpha = 3, the attack finds no more than a guess does."
        ),
        answer=(
            "Then it is the noise that hides the record. At alpha = 30 the record is found without "
            "the penalties, and without noise always: they do not make it impossible."
        ),
    ),
    LedgerRow(
        name="zhang2018-section62-features",
        place="section 6.2",
        statement=(
            "Even if the attacker knows that an individual takes part, it remains hard to infer "
            "its features."
        ),
        standing="gloss",
        privacy=True,
        evidence=OpenQuestion(
            "How hard it is depends on the noise, of which the sentence says nothing. The attacker "
            "of zhang2018-section62 knows that it takes part, and not the penalties: without noise "
            "and at alpha = 30 the record is found, and at the noise of the figures, alpha = 3, no "
            "more than by a guess. A bound on what any attacker finds there would settle it."
        ),
    ),
    LedgerRow(
        name="zhang2018-section63-contribution",
        place="section 6.3",
        statement=(
            "Increasing the eta_i improves the algorithm's ability to resist noise, regardless of "
            "the noise distribution."
        ),
        standing="gloss",
        evidence=Consequence(
            "zhang2018-section61-resistant",
            "It is section 6.1's statement, and the counterexample has noise of any law.",
            link="restates",
        ),
        repair="noise in the dual variable, whatever its law is",
        repair_check=make_repair_reference("remarks:resistance_to_dual_noise"),
    ),
    LedgerRow(
        name="zhang2018-section63-degrades",
        place="section 6.3",
        statement=(
            "With more noise in each iteration the accuracy does not degrade significantly, which "
            "improves the trade-off between privacy and utility."
        ),
        standing="gloss",
        evidence=Consequence(
            "zhang2018-figure2-both", "The paper shows it by Figure 2.", link="restates"
        ),
    ),
    LedgerRow(
        name="zhang2018-section63-gaussian",
        place="section 6.3",
        statement=(
            "With Gaussian noise and (epsilon, delta)-differential privacy tighter bounds on the "
            "privacy loss can be had."
        ),
        standing="gloss",
        privacy=True,
        evidence=OpenQuestion(
            "It is a suggestion without a number; at a delta above 0 the paper's own noise has "
            "bounds far below (26) too (dpaudit account zhang2018-pp)."
        ),
    ),
    LedgerRow(
        name="zhang2018-section63-methods",
        place="section 6.3",
        statement=(
            "Other methods of private empirical risk minimisation can be used in every iteration, "
            "with the same conclusion, as robustness rises with the eta_i: accuracy and privacy "
            "can both be improved."
        ),
        standing="gloss",
        evidence=Consequence(
            "zhang2018-section63-contribution",
            "It is concluded from that robustness, with noise of another law.",
        ),
    ),
    LedgerRow(
        name="zhang2018-section63-observation",
        place="section 6.3; section 7",
        statement=(
            "The key observation: the overall perturbation 2 eta_i(t) V_i e_i(t)'f_i(t) is related "
            "to the parameter eta_i(t) that controls the step size; section 7 says that they are "
            "correlated so that they change in opposite directions."
        ),
        standing="gloss",
        evidence=Convention("The algorithm is made so: noise enters (62) times eta_i(t)."),
        note=(
            "That a larger eta_i(t) means a smaller step is a row of its own, of section 6.1, and "
            "refuted."
        ),
    ),
    LedgerRow(
        name="zhang2018-section63-opposite",
        place="section 6.3",
        statement=(
            "If step size and perturbation phi(e, xi) move in opposite directions as xi varies, "
            "both accuracy and privacy can be improved by varying xi over time."
        ),
        standing="gloss",
        evidence=OpenQuestion(
            "It is a programme: phi, the step size and both measures are left open."
        ),
    ),
    LedgerRow(
        name="zhang2018-section63-subgradient",
        place="section 6.3",
        statement=(
            "In the subgradient algorithm of Huang et al. 2015 sensitivity, step size and "
            "perturbation fall together."
        ),
        standing="gloss",
        evidence=Convention("It is about another paper."),
    ),
    LedgerRow(
        name="zhang2018-section63-sensitivity",
        place="section 6.3",
        statement="For ADMM the sensitivity of the algorithm is independent of the step size.",
        standing="gloss",
        evidence=make_zhang2018_counterexample("remarks:sensitivity_of_noise"),
        cause=causes.UNIT.name,
        repair="the sensitivity of the gradient, 2 C/B",
        repair_check=make_repair_reference("remarks:sensitivity_of_gradient"),
        defence="The overall perturbation 2 eta V e stands beside a gradient that moves by 2 C/B.",
        answer=(
            "Of that it is true. What is drawn and enters (62) is e, which moves by C/(eta V B), "
            "and what is broadcast moves by 2 C/(B(rho/N + 2 eta V)) at most."
        ),
    ),
    LedgerRow(
        name="zhang2018-section63-increase",
        place="section 6.3",
        statement="The perturbation needs to increase to improve the privacy guarantee.",
        standing="gloss",
        evidence=make_zhang2018_counterexample("remarks:constant_perturbation"),
        cause=causes.UNIT.name,
        repair="the part of (26) with alpha, as the one with c_1 falls with eta alone",
        repair_check=make_repair_reference("remarks:growing_perturbation"),
        defence="The part with c_1 is small beside alpha in the experiments.",
        answer="Small, but it falls while 2 eta V e keeps its law: alpha may grow with eta.",
    ),
    LedgerRow(
        name="zhang2018-section63-compensates",
        place="section 6.3",
        statement="The decreasing step size compensates for the increase in noise.",
        standing="gloss",
        evidence=Consequence(
            "zhang2018-section61-resistant",
            "It is derived from that resistance, of which only the repaired form is true.",
        ),
        cause=causes.INSIDE.name,
    ),
    LedgerRow(
        name="zhang2018-section63-never-arises",
        place="section 6.3",
        statement=(
            "The issue never arises in Zhang & Zhu 2017, which analyses a single iteration; doing "
            "so leads to a significant total loss."
        ),
        standing="gloss",
        evidence=Convention("It is about another paper."),
    ),
    LedgerRow(
        name="zhang2018-section7",
        place="section 7",
        statement="ADMM is modified so that privacy improves without compromising accuracy.",
        standing="gloss",
        evidence=Consequence(
            "zhang2018-figure2-both", "The paper shows it by Figure 2.", link="restates"
        ),
    ),
)
