"""Rows of appendices B and C: the proofs of Theorems 3.1 and 3.2."""

from __future__ import annotations

from dpaudit.algorithms.consensus.statements.zhang2018 import causes
from dpaudit.algorithms.consensus.statements.zhang2018.convergence import ONE_PENALTY
from dpaudit.algorithms.consensus.statements.zhang2018.evidence import (
    make_repair_reference,
    make_zhang2018_counterexample,
    make_zhang2018_proof,
)
from dpaudit.extension.ledger import Consequence, LedgerRow, OpenQuestion

_EQUAL = "With one penalty for all nodes, as in Figures 1 (b) to 4, it holds."
_DIFFER = "Penalties that differ are the paper's subject; Figure 1 (a) has them."
_FINITE = "With penalties that stay below a bound it holds."
_GROW = "The experiments have penalties that grow without one."

ROWS = (
    LedgerRow(
        name="zhang2018-equation34",
        place="appendix B, eq. (34) and (35)",
        statement="(15) less (17), and (16) less (18).",
        standing="proof step",
        evidence=make_zhang2018_proof("stacking:differences_from_optimum"),
    ),
    LedgerRow(
        name="zhang2018-equation36",
        place="appendix B, eq. (36), (37) and (38)",
        statement="Monotone gradients with (34), a symmetric root, and J give (38).",
        standing="proof step",
        evidence=make_zhang2018_proof("stacking:monotone_step"),
        note="This holds for penalties of the nodes' own; only the next step does not.",
    ),
    LedgerRow(
        name="zhang2018-appendixB-semidefinite",
        place="appendix B, after eq. (38)",
        statement=(
            "The eigenvalues of (W(t+1) - theta I)(D - A) are not negative, so it is positive "
            "semi-definite, and so is the last term of (38)."
        ),
        standing="proof step",
        evidence=make_zhang2018_counterexample("convergence:excess_form"),
        cause=causes.PRODUCTS.name,
        repair=ONE_PENALTY,
        repair_check=make_repair_reference("stacking:check_shared_forms"),
        defence=_EQUAL,
        answer=_DIFFER,
    ),
    LedgerRow(
        name="zhang2018-equation39",
        place="appendix B, eq. (39)",
        statement="<Z(t+1) - Z*, J(t+1)(Z(t+1) - Z(t))> <= 0.",
        standing="proof step",
        evidence=Consequence("zhang2018-equation19", "It is (19).", link="restates"),
        repair=ONE_PENALTY,
        repair_check=make_repair_reference("stacking:check_shared_forms"),
    ),
    LedgerRow(
        name="zhang2018-appendixB-squares",
        place="appendix B, before eq. (40)",
        statement=(
            "(39) can be written as ||Z(t+1) - Z*||^2 / 2 + ||Z(t+1) - Z(t)||^2 / 2 - "
            "||Z(t) - Z*||^2 / 2 <= 0, in the norm of J(t+1)."
        ),
        standing="proof step",
        evidence=make_zhang2018_counterexample("stacking:own_cosine_rule"),
        cause=causes.PRODUCTS.name,
        repair=ONE_PENALTY,
        repair_check=make_repair_reference("stacking:check_shared_cosine_rule"),
        defence=_EQUAL,
        answer="It takes J(t+1) for symmetric; W(D + A) is not where penalties differ.",
    ),
    LedgerRow(
        name="zhang2018-equation40",
        place="appendix B, eq. (40)",
        statement="The same, with ||Z(t) - Z*||^2 in the norm of J(t) added and subtracted.",
        standing="proof step",
        evidence=make_zhang2018_counterexample("convergence:equation40"),
        cause=causes.PRODUCTS.name,
        repair=ONE_PENALTY,
        repair_check=make_repair_reference("stacking:check_shared_cosine_rule"),
        defence=_EQUAL,
        answer=_DIFFER,
    ),
    LedgerRow(
        name="zhang2018-appendixB-growth",
        place="appendix B, before eq. (41)",
        statement="(W(t+1) - W(t))(D + A) is positive semi-definite, as penalties do not fall.",
        standing="proof step",
        evidence=make_zhang2018_counterexample("convergence:growth_form"),
        cause=causes.PRODUCTS.name,
        repair=ONE_PENALTY,
        repair_check=make_repair_reference("stacking:check_shared_forms"),
        defence="(41) does not need it: the matrix has no negative entries.",
        answer="That is so; the statement itself is false where one penalty grows alone.",
    ),
    LedgerRow(
        name="zhang2018-appendixB-finite",
        place="appendix B, before eq. (41)",
        statement="The models stay bounded: U = sup |f_i(t) - f_c*| is finite.",
        standing="proof step",
        evidence=OpenQuestion(
            "Nothing is said for it. It follows from (39) where one penalty of all nodes stays "
            "below a bound, and for penalties that grow geometrically; for penalties of the nodes' "
            "own in general it is open."
        ),
    ),
    LedgerRow(
        name="zhang2018-equation41",
        place="appendix B, eq. (41)",
        statement=(
            "What W(t+1) - W(t) adds to ||Z(t) - Z*||^2 is at most U^2 times what it adds to the "
            "square of ones."
        ),
        standing="proof step",
        evidence=make_zhang2018_proof("convergence:equation41"),
        note="Given U.",
    ),
    LedgerRow(
        name="zhang2018-equation42",
        place="appendix B, eq. (42)",
        statement="(40) and (41) together.",
        standing="proof step",
        evidence=make_zhang2018_counterexample("convergence:equation40"),
        cause=causes.PRODUCTS.name,
        repair=ONE_PENALTY,
        repair_check=make_repair_reference("stacking:check_shared_cosine_rule"),
        defence=_EQUAL,
        answer="With penalties that stay as they are (42) is (40).",
    ),
    LedgerRow(
        name="zhang2018-equation43",
        place="appendix B, eq. (43)",
        statement="(42) summed over all t; the right side is finite, as every eta_i(t) is.",
        standing="proof step",
        evidence=make_zhang2018_counterexample("convergence:equation43"),
        cause=causes.BOUND.name,
        repair="one penalty for all nodes, which stays below a bound",
        repair_check=make_repair_reference("convergence:check_bounded_convergence"),
        defence=_FINITE,
        answer=_GROW,
    ),
    LedgerRow(
        name="zhang2018-equation44",
        place="appendix B, eq. (44) and (45)",
        statement="||f(t+1) - f(t)||^2 in W(t+1)(D + A), and ||Y(t+1) - Y(t)||^2, tend to zero.",
        standing="proof step",
        evidence=Consequence("zhang2018-equation43", "The sum on the left of (43) converges."),
        cause=causes.BOUND.name,
        note="Proved where one penalty of all nodes stays below a bound, with (43).",
    ),
    LedgerRow(
        name="zhang2018-appendixB-stationary",
        place="appendix B, after eq. (45)",
        statement=(
            "So Y(t) converges to a point Y^s, and from differences that tend to zero f(t) "
            "converges to a point f^s."
        ),
        standing="proof step",
        evidence=make_zhang2018_counterexample("convergence:vanishing_steps"),
        cause=causes.STEPS.name,
        repair=(
            "distances to a limit point, which (39) makes converge to 0 for one penalty that stays "
            "below a bound"
        ),
        repair_check=make_repair_reference("convergence:check_bounded_convergence"),
        defence="That Z(t) converges is true where (39) is.",
        answer="By an argument that the paper does not have; (45) alone does not show it.",
    ),
    LedgerRow(
        name="zhang2018-appendixB-consensus",
        place="appendix B, after eq. (45)",
        statement=(
            "(16) and (45) give sqrt(D - A) f(t+1) -> 0, so that f(t) tends to the multiples of 1, "
            "and (44) leaves two cases: f(t+1) - f(t) -> 0, or W(D + A) 1 -> 0."
        ),
        standing="proof step",
        evidence=make_zhang2018_proof("convergence:two_cases"),
        note="Given (44) and (45).",
    ),
    LedgerRow(
        name="zhang2018-appendixB-vector",
        place="appendix B, second statement after eq. (45)",
        statement="W(t+1)(D + A) 1 = W(t+1) A 1 + sum_i eta_i(t+1) V_i.",
        standing="proof step",
        evidence=make_zhang2018_counterexample("convergence:second_statement"),
        cause=causes.VECTOR.name,
        repair="the vector of the eta_i(t+1) V_i in place of their sum",
        repair_check=make_repair_reference("convergence:second_statement_repaired"),
        defence="A slip of notation; only the sign of the entries is used.",
        answer="Yes.",
    ),
    LedgerRow(
        name="zhang2018-appendixB-second-case",
        place="appendix B, after the two statements",
        statement="The second case cannot be, as eta_i(t) >= theta > 0 and no entry is negative.",
        standing="proof step",
        evidence=make_zhang2018_proof("convergence:second_statement_repaired"),
    ),
    LedgerRow(
        name="zhang2018-equation46",
        place="appendix B, eq. (46)",
        statement="In the limit (15) becomes (46), without the term of f(t+1) - f(t).",
        standing="proof step",
        evidence=make_zhang2018_counterexample("convergence:equation46"),
        cause=causes.BOUND.name,
        repair="penalties that stay below a bound",
        repair_check=make_repair_reference("convergence:check_bounded_limit"),
        defence=_FINITE,
        answer=(
            "W(t+1)(f(t+1) - f(t)) need not tend to zero where W(t+1) has no bound; (44) has its "
            "square over W(t+1)."
        ),
        note="(46) also keeps W(t+1), which has an index that the limit has not.",
    ),
    LedgerRow(
        name="zhang2018-equation47",
        place="appendix B, eq. (47)",
        statement="sqrt(D - A) f^s = 0.",
        standing="proof step",
        evidence=Consequence("zhang2018-appendixB-consensus", "f^s is the limit of f(t)."),
    ),
    LedgerRow(
        name="zhang2018-equation48",
        place="appendix B, eq. (48)",
        statement="The gradient at f^s and sqrt(D - A) Y^s sum to zero: the limit is an optimum.",
        standing="proof step",
        evidence=make_zhang2018_counterexample("convergence:equation46"),
        cause=causes.BOUND.name,
        repair="penalties that stay below a bound",
        repair_check=make_repair_reference("convergence:check_bounded_limit"),
        defence=_FINITE,
        answer=_GROW,
    ),
    LedgerRow(
        name="zhang2018-equation49",
        place="appendix C, eq. (49) and (50)",
        statement="(20), summed over the nodes.",
        standing="proof step",
        evidence=make_zhang2018_proof("rates:check_summed_assumption"),
    ),
    LedgerRow(
        name="zhang2018-equation51",
        place="appendix C, eq. (51) and the inequality before it",
        statement=(
            "||C_1 + C_2||^2 <= mu ||C_1||^2 + mu/(mu - 1) ||C_2||^2 for mu > 1, used twice on "
            "(34)."
        ),
        standing="proof step",
        evidence=make_zhang2018_proof("stacking:young_steps"),
    ),
    LedgerRow(
        name="zhang2018-appendixC-norms",
        place="appendix C, after eq. (51)",
        statement=(
            "||C_1 C_2||^2 <= sigma_max(C_1) ||C_2||^2 in the norm of C_1', for any matrices."
        ),
        standing="proof step",
        evidence=make_zhang2018_counterexample("rates:norm_of_product"),
        cause=causes.PRODUCTS.name,
        repair="a symmetric, positive semi-definite C_1",
        repair_check=make_repair_reference("rates:semidefinite_norm"),
        defence="It is used for W(D + A), which is that with one penalty for all nodes.",
        answer=_DIFFER,
    ),
    LedgerRow(
        name="zhang2018-appendixC-least",
        place="appendix C, after eq. (51)",
        statement=(
            "sigma_min(C_1)^2 ||C_2||^2 <= ||C_1 C_2||^2 for any matrices, with the smallest "
            "nonzero singular value."
        ),
        standing="proof step",
        evidence=make_zhang2018_counterexample("rates:least_singular_value"),
        cause=causes.SMALLEST.name,
        repair="columns of C_2 that are orthogonal to the null space of C_1",
        repair_check=make_repair_reference("rates:least_on_range"),
        defence="Its first use is for Y(t+1) - Y*, whose columns are in the range of sqrt(D - A).",
        answer="There it holds. In (23) it is used for f(t+1) - f*, whose columns are not.",
    ),
    LedgerRow(
        name="zhang2018-appendixC-most",
        place="appendix C, after eq. (51)",
        statement="||C_1 C_2||^2 <= sigma_max(C_1)^2 ||C_2||^2 for any matrices.",
        standing="proof step",
        evidence=make_zhang2018_proof("rates:largest_singular_value"),
    ),
    LedgerRow(
        name="zhang2018-equation52",
        place="appendix C, eq. (52) and the display before it",
        statement=(
            "||Y(t+1) - Y*||^2 / theta, and then ||Z(t+1) - Z*||^2, by squares of f(t+1) - f(t) "
            "and f(t+1) - f*."
        ),
        standing="proof step",
        evidence=make_zhang2018_counterexample("rates:equation52"),
        cause=causes.PRODUCTS.name,
        repair=ONE_PENALTY,
        repair_check=make_repair_reference("rates:check_shared_contraction"),
        defence=_EQUAL,
        answer=(
            "The square of f(t+1) - f(t) in W(D + A) can be negative, and stands on the side that "
            "is to be the larger one."
        ),
        note="(52) has sigma~_max where the display before it has sigma-_max, which is no larger.",
    ),
    LedgerRow(
        name="zhang2018-equation53",
        place="appendix C, eq. (53)",
        statement="delta(t+1) meets (21).",
        standing="proof step",
        evidence=make_zhang2018_proof("rates:equation53"),
    ),
    LedgerRow(
        name="zhang2018-equation54",
        place="appendix C, eq. (54)",
        statement="delta(t+1) meets (22), with sigma~_max in place of sigma-_max.",
        standing="proof step",
        evidence=make_zhang2018_counterexample("rates:equation54"),
        cause=causes.TILDE.name,
        repair="sigma-_max, as in (22)",
        repair_check=make_repair_reference("rates:bars_for_tildes"),
        defence="A slip of notation: the theorem and the display before (52) have sigma-_max.",
        answer="Yes; (22) is what is used.",
    ),
    LedgerRow(
        name="zhang2018-equation55",
        place="appendix C, eq. (55)",
        statement="So delta(t+1) ||Z(t+1) - Z*||^2 is at most the right side of (55).",
        standing="proof step",
        evidence=make_zhang2018_counterexample("rates:equation55"),
        cause=causes.PRODUCTS.name,
        repair=ONE_PENALTY,
        repair_check=make_repair_reference("rates:check_shared_contraction"),
        defence=_EQUAL,
        answer=_DIFFER,
    ),
    LedgerRow(
        name="zhang2018-appendixC-inner",
        place="appendix C, the display before eq. (56)",
        statement="(49) with the difference of gradients from (34).",
        standing="proof step",
        evidence=make_zhang2018_proof("rates:inner_before_equation56"),
    ),
    LedgerRow(
        name="zhang2018-equation56",
        place="appendix C, eq. (56)",
        statement="The same in squares, as in the proof of Theorem 3.1.",
        standing="proof step",
        evidence=make_zhang2018_counterexample("rates:equation56"),
        cause=causes.PRODUCTS.name,
        repair=ONE_PENALTY,
        repair_check=make_repair_reference("rates:check_shared_contraction"),
        defence=_EQUAL,
        answer=_DIFFER,
    ),
    LedgerRow(
        name="zhang2018-appendixC-sum",
        place="appendix C, after eq. (56)",
        statement="(55) and (56) sum up to the contraction.",
        standing="proof step",
        evidence=make_zhang2018_proof("rates:check_summed_inequalities"),
        note="Given both.",
    ),
    LedgerRow(
        name="zhang2018-appendixC-rate",
        place="appendix C, last line",
        statement=(
            "One delta(t+1) that satisfies (53) and (54) is the minimum of (23), with sigma~."
        ),
        standing="proof step",
        evidence=make_zhang2018_counterexample("rates:last_line"),
        cause=causes.SMALLEST.name,
        repair="2 m_o in place of 2 m_o + 2 sigma~_min, and one penalty for all nodes",
        repair_check=make_repair_reference("rates:check_proved_rate"),
        defence="It is (23), with tildes for bars.",
        answer="Neither meets (22), or (54), where all nodes agree.",
    ),
)
