"""Causes of false statements in hu2019, one for each fault."""

from __future__ import annotations

from dataclasses import replace

from dpaudit.algorithms.sharing.statements import causes
from dpaudit.extension.ledger import Cause

# Of both papers

BOUNDED = replace(
    causes.BOUNDED,
    text="Assumption 2.1 bounds values that the algorithm computes and never projects, and "
    "values with Gaussian noise, which have no bound.",
)
BORDER = replace(
    causes.STATIONARY,
    text="Proofs set the gradient of (6) to zero at its minimum over X_m, which may lie on the "
    "border of X_m.",
)
DISPLAY = replace(
    causes.ABSOLUTE_VALUE,
    text="A line of the proof of Theorem 1 has the absolute value of a sum for the sum of absolute "
    "values.",
)
_OF_BOTH = (
    causes.SUPPORT,
    causes.ANY_NOISE,
    causes.INVERSE,
    causes.SPECTRAL,
    causes.SLOPE,
    causes.ONE_NUMBER,
    causes.EXPONENT,
    causes.NO_GAIN,
    causes.DENSITY,
    causes.SINGLE_VALUE,
    causes.A2_THRESHOLD,
    causes.REDUNDANT,
    causes.SAME_LIMIT,
)

# Faults

SIGN = Cause(
    name="sign in Lemma 3",
    text="The products of different parties' steps enter (15) with a plus; the proof has a "
    "minus. With three or more parties, parallel steps may add up, and then the iterations "
    "diverge.",
    nature="fault",
)
PENALTY = Cause(
    name="factor rho/2 in (18)",
    text="Parallel steps cost rho/2 times the quantity that Lemma 3 bounds; (18) drops this "
    "factor.",
    nature="fault",
)
CONSTANT = Cause(
    name="constant C_2",
    text="C_2 has the sum of gamma_m/2, but Lemma 4 gives the smallest gamma_m/2 - sigma_max.",
    nature="fault",
)

# Misprints

INDEX = Cause(
    name="index in (37)",
    text="By (8), the gap at t comes from the step of y to t; (37) has the step after t. The "
    "fact that (38) needs follows from (36).",
    nature="misprint",
)

SUBSEQUENCE = Cause(
    name="choice of the subsequence in Part 3",
    text="The proof takes one convergent subsequence, and then supposes that it stays away from "
    "Z*. It has to take a convergent part of a subsequence that stays away from Z*.",
    nature="misprint",
)

SEQUENTIAL = Cause(
    name="conditions of a sequential update",
    text="(22), (23) and (26) have the new models of the parties before m, as in a Gauss-Seidel "
    "update; (6) uses old models of all other parties. If steps vanish, (24) follows from "
    "both.",
    nature="misprint",
)

BLOCKS = Cause(
    name="order of the blocks in (18)",
    text="(18) takes the step of x at z^{t+1} and the step of z at x^t; the algorithm moves x at "
    "z^t and z at x^{t+1}. In that order its steps give the same bound.",
    nature="misprint",
)

AMBIGUOUS_LABELS = Cause(
    name="labels in section 2",
    text="Y_i is one label; the printed set has N entries. Likewise k = 1, ..., N for i.",
    nature="misprint",
)
FREE_INDEX = Cause(
    name="free index of the loss",
    text="A sum over samples is equated with an expression that still has the index of a sample.",
    nature="misprint",
)
SCALING = Cause(
    name="1/N between the risk and (1)",
    text="The risk is a mean over samples and (1) a sum, with one lambda.",
    nature="misprint",
)
ONE_VALUE = Cause(
    name="a single value for a message",
    text="A message has an entry for every sample, as the abstract says.",
    nature="misprint",
)
SQUARED = Cause(
    name="l_2 norm for its square",
    text="(6) is quadratic with the square of the norm as the regulariser, not with the norm.",
    nature="misprint",
)
EQUALITY = Cause(
    name="equality for an inequality in (17)",
    text="Lemma 2 is an inequality, and (17) writes an equals sign for it.",
    nature="misprint",
)
LOST_SUM = Cause(
    name="sum left out of (20)",
    text="||D_m x_m - z||^2 stands where the sum over m is meant.",
    nature="misprint",
)
LOST_WEIGHT = Cause(
    name="lambda left out of (35)",
    text="Assumption 1.4 bounds the slope of R_m; (35) drops lambda before it.",
    nature="misprint",
)
LOSS_FOR_SLOPE = Cause(
    name="l for its slope in (36)",
    text="l(z) stands where grad l(z) is meant.",
    nature="misprint",
)
SIGMA = Cause(
    name="sigma for delta in the logarithm",
    text="ln(1.25/sigma) stands where ln(1.25/delta) is meant, throughout the proof of Theorem 1.",
    nature="misprint",
)
MEANS = Cause(
    name="means left out of the privacy loss",
    text="The ratio of the densities of the messages is written as the ratio of the densities of "
    "the noise at a single value.",
    nature="misprint",
)

# Readings

UNIT = Cause(
    name="unit of Definition 1's distance",
    text="Datasets are at l_1 distance 1 at most. Only for counts does this mean one entry with "
    "any value.",
    nature="reading",
    privacy=True,
)
FAILING = Cause(
    name="delta as a probability of failure",
    text="Under an (epsilon, delta) guarantee, outputs with a larger ratio may have a "
    "probability above delta.",
    nature="reading",
    privacy=True,
)

CAUSES = (
    *_OF_BOTH,
    *(value for value in tuple(globals().values()) if isinstance(value, Cause)),
)
