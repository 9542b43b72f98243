"""Causes of false statements in Huang & Gong, 2020, each under one name.

A misprint is a formula of which everything that the paper derives from it follows as well from the
corrected form; docs/papers.md has this rule for all papers.
"""

from __future__ import annotations

from dpaudit.extension.ledger import Cause

RATIO = Cause(
    name="delta as a probability of failure",
    text="(epsilon, delta)-DP is read as a bound on the ratio that fails with probability delta.",
    nature="reading",
    privacy=True,
)
MOMENTS = Cause(
    name="Gaussian moments of every algorithm",
    text="The proof uses the log moments of a Gaussian mechanism for every private algorithm. "
    "With these moments, delta would stay the same; for other algorithms, events of "
    "probability delta add up, whatever epsilon is.",
    nature="fault",
    privacy=True,
)
TAIL = Cause(
    name="a term of the tail bound",
    text="Of epsilon' = a + 2 sqrt(a ln(1/delta)), with a = t epsilon^2 / (4 ln(1.25/delta)), the "
    "proof of Theorem 4 keeps the second term. The first one grows like the square of epsilon, and "
    "no constant makes up for it.",
    nature="fault",
    privacy=True,
)
CONSTANT = Cause(
    name="one constant, or one for each epsilon",
    text="'Let epsilon, delta be arbitrary. There exists c_0' lets c_0 depend on both, and the "
    "theorem is then true. It is false for one c_0 that serves every epsilon, which section "
    "4.2 leaves out of its O.",
    nature="reading",
    privacy=True,
)
LARGE = Cause(
    name="noise for epsilon below 1",
    text="Theorem A.1 of Dwork & Roth is for epsilon below 1. With one c_0, the proof uses it "
    "for updates whose epsilon is larger; a c_0 above epsilon avoids this.",
    nature="reading",
    privacy=True,
)
NODES = Cause(
    name="c_2 over n for one node",
    text="The objective is c_2-Lipschitz, and (39) uses c_2 / n as a Lipschitz constant of each "
    "of its n summands. But a sum can be flatter than its summands.",
    nature="reading",
)
HARMONIC = Cause(
    name="double sum of 1 / sqrt(k r)",
    text="The sum over k <= t and r <= l is about 4 sqrt(t l), and the last step of (40) needs "
    "2 sqrt(t l). For l = 1 it is right; for t = l = 12 the theorem falls.",
    nature="fault",
)
RATE = Cause(
    name="1 / sqrt(t) read as 1 / t",
    text="Without privacy, the first term of (24) remains, and its order is 1 / sqrt(t l).",
    nature="fault",
)
BOUND = Cause(
    name="a bound read as the error",
    text="An upper bound on the error falls with l; this does not mean that the error falls.",
    nature="reading",
)
NETWORK = Cause(
    name="bounds without the number of nodes",
    text="For equal nodes, the sum of 1 / m_i over the nodes is n^2 / N, but the text compares "
    "it with 1 / N.",
    nature="reading",
)
NOISE = Cause(
    name="bounded iterates",
    text="Models with Gaussian noise, and the duals that add them up, leave every bounded set.",
    nature="assumption",
)
SIGN = Cause(
    name="sign of the linear term",
    text="(11) and (12) have <grad L, w~ - w> for <grad L, w - w~>, with which (13a) ascends. (18) "
    "has the right sign.",
    nature="misprint",
)
CLOSED = Cause(
    name="L for its gradient",
    text="(18) has L in place of its gradient, and eta^{k,r} in place of eta^{k,r+1} in its "
    "denominator; (16) and (19) are right.",
    nature="misprint",
)
EXPECTATION = Cause(
    name="maximum outside of the expectation",
    text="(27) has the maximum over gamma of an expectation for the expectation of a maximum. The "
    "steps that follow hold for every run, and so inside the expectation.",
    nature="misprint",
)
ADDED = Cause(
    name="xi_i divided and of the wrong step",
    text="The noise acts as a part of the gradient if it is multiplied by -(2 rho |N_i| + "
    "eta^{k,r+1}), as (39) has its size; the text above (30) divides, without the sign, and takes "
    "the noise of the step before.",
    nature="misprint",
)
LEFT_OVER = Cause(
    name="point of the left-over product",
    text="The term that remains in (29) is <xi_i, w* - w~^{k,r}>; (29) and (36) have w^{k,r+1}, "
    "and the text below (39) has w^{k,r}. The mean of each of these terms is 0.",
    nature="misprint",
)
STRICT = Cause(
    name="less for at most",
    text="The sum of (33) can be 0, and at most is all that (36) uses.",
    nature="misprint",
)
GAIN = Cause(
    name="signs and indices of (36)",
    text="(36) has a plus before ||w~^{k,r+1} - w*||^2, where (31) gives the minus that (40) "
    "needs, and w~^{k+1} in its last term, where (32) and (37) have w~^k.",
    nature="misprint",
)
REGULARISER = Cause(
    name="one node's share of the regulariser",
    text="The Lipschitz constant of the sum of all L_i contains mu D; the share of each node is "
    "mu D / n.",
    nature="misprint",
)

CAUSES = (
    RATIO,
    MOMENTS,
    TAIL,
    CONSTANT,
    LARGE,
    NODES,
    HARMONIC,
    RATE,
    BOUND,
    NETWORK,
    NOISE,
    SIGN,
    CLOSED,
    EXPECTATION,
    ADDED,
    LEFT_OVER,
    STRICT,
    GAIN,
    REGULARISER,
)
