"""Causes of false statements in the paper: each fault, misprint and reading under one name."""

from __future__ import annotations

from dpaudit.extension.ledger import Cause

PRODUCTS = Cause(
    name="products that are not semi-definite",
    text=(
        "W(D + A) and (W - theta I)(D - A) are products of semi-definite matrices. Where nodes "
        "have penalties of their own they are not symmetric, and their quadratic forms are "
        "negative in some directions: (38) does not give (39), and what is written as a squared "
        "norm is none."
    ),
    nature="fault",
)
BOUND = Cause(
    name="penalties without a bound",
    text=(
        "eta_i(t) < infinity at every t allows penalties that grow for ever. The right side of "
        "(43) is then infinite, and the models stop before the optimum."
    ),
    nature="fault",
)
SMALLEST = Cause(
    name="smallest nonzero singular value",
    text=(
        "In the direction in which all nodes agree, (W - theta I)(D - A) is zero. A lower bound "
        "with its smallest nonzero singular value does not hold there."
    ),
    nature="fault",
)
FALLING = Cause(
    name="a falling upper bound",
    text=(
        "An upper bound of the second term of (23) falls, but the term itself rises with its "
        "numerator, 2 m_o + 2 sigma-_min, while penalties are near theta."
    ),
    nature="fault",
)
STEPS = Cause(
    name="differences that vanish",
    text=(
        "A sequence whose differences tend to zero need not converge, as the harmonic sums do not."
    ),
    nature="fault",
)
PULL = Cause(
    name="what the penalty pulls to",
    text=(
        "The penalty of (10) and (25) pulls f_i to the mean of f_i(t) and its neighbours' models, "
        "less the noise; not to f_i(t). The larger it is, the more of these moves reaches f_i."
    ),
    nature="fault",
)
INSIDE = Cause(
    name="noise inside of the penalty",
    text=(
        "In (24), noise e moves the model by 2 eta V / (m + 2 eta V) times e, which grows with "
        "eta. If noise of a fixed law is in the dual variable, its effect falls: it is 2 / (m + "
        "2 eta V) times the noise."
    ),
    nature="reading",
)
TOWARD = Cause(
    name="distance to the optimum",
    text=(
        "A model of M-ADMM need not come nearer to the optimum in every step: a node's first "
        "step is towards the minimum for its own data."
    ),
    nature="fault",
)
SIGNAL = Cause(
    name="a signal that stops growing",
    text=(
        "With penalties that grow, the record's part of the sum of the stationarity conditions "
        "converges, and the noise's does not: averaging over more iterations finds less."
    ),
    nature="fault",
)
KNOWN = Cause(
    name="an unknown factor of a known vector",
    text=(
        "In each stationarity condition, the private penalty multiplies a vector that the "
        "attacker knows: this is one unknown number in each iteration, which the attacker can "
        "integrate or project out."
    ),
    nature="fault",
    privacy=True,
)
MIRROR = Cause(
    name="record and mirror image",
    text=(
        "Everything depends on y x, which is the same for (x, y) and (-x, -y): no attacker can "
        "distinguish these two records."
    ),
    nature="reading",
)
FORM = Cause(
    name="losses of a margin",
    text=(
        "Section 4 bounds determinants by two directions for each record. If a record bends the "
        "objective in all d directions, the determinant has d factors."
    ),
    nature="reading",
    privacy=True,
)
UNIT = Cause(
    name="what sensitivity is measured in",
    text=(
        "A record moves the gradient of a node's objective by at most 2 C/B whatever eta is, the "
        "noise behind an output by C/(eta V B), and the minimiser by 2 C/(B(rho/N + 2 eta V))."
    ),
    nature="reading",
)
DEGREES = Cause(
    name="neighbours of small nodes",
    text=(
        "A node's loss by (26) has V_i B_i below it. Uneven sizes raise the largest loss where all "
        "nodes have as many neighbours; else small nodes may be those with many."
    ),
    nature="reading",
    privacy=True,
)
STRICT = Cause(
    name="a strict inequality at zero",
    text="-ln(1 - x) < 1.4 x is asserted on [0, 1/2], and both sides are 0 at x = 0.",
    nature="misprint",
)
VECTOR = Cause(
    name="a sum in place of a vector",
    text="W D 1 is the vector of the eta_i V_i; the text has their sum.",
    nature="misprint",
)
TILDE = Cause(
    name="tilde for bar",
    text=(
        "Appendix C has sigma~, of W(D + A), in (52), in (54) and in its last line, where Theorem "
        "3.2 and the lines before have sigma-, of (W - theta I)(D - A)."
    ),
    nature="misprint",
)
COUNT = Cause(
    name="records and features of Adult",
    text="The files have 45,222 complete records, from which 104 columns of features follow.",
    nature="misprint",
)
OWN_STEPS = Cause(
    name="dual steps of nodes",
    text=(
        "If nodes have separate dual steps, the objective of node i has weight 1/theta_i: in "
        "the limit, the models agree on the optimum of sum_i O_i/theta_i."
    ),
    nature="reading",
)
UNBOUNDED_SENSE = Cause(
    name="convergence in the sense of a contraction",
    text=(
        "Theorem 3.2 has models that converge 'in the following sense', a contraction in a norm "
        "that may grow for ever: with it they need not tend to the optimum."
    ),
    nature="reading",
)
CAUSES = (
    OWN_STEPS,
    UNBOUNDED_SENSE,
    PRODUCTS,
    BOUND,
    SMALLEST,
    FALLING,
    STEPS,
    PULL,
    INSIDE,
    TOWARD,
    SIGNAL,
    KNOWN,
    MIRROR,
    FORM,
    UNIT,
    DEGREES,
    STRICT,
    VECTOR,
    TILDE,
    COUNT,
)
