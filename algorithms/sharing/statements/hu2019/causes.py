"""What is wrong in hu2019, one cause a fault."""

from __future__ import annotations

from dpaudit.extension.ledger import Cause

# Faults

SIGN = Cause(
    name="sign in Lemma 3",
    text="The products of different parties' steps enter (15) with a plus; the proof has a minus. "
    "From three parties on parallel steps may add up, and the iterations diverge.",
    nature="fault",
)
PENALTY = Cause(
    name="factor rho/2 in (18)",
    text="Parallel steps cost rho/2 times what Lemma 3 bounds; (18) drops the factor.",
    nature="fault",
)
BLOCKS = Cause(
    name="order of the blocks in (18)",
    text="(18) takes the step of x at z^{t+1} and the step of z at x^t; the algorithm moves x at "
    "z^t and z at x^{t+1}.",
    nature="fault",
)
SEQUENTIAL = Cause(
    name="conditions of a sequential update",
    text="(22), (23) and (26) have the new models of parties before m, as in a Gauss-Seidel "
    "update; (6) uses old models of all others.",
    nature="fault",
)
SUBSEQUENCE = Cause(
    name="choice of the subsequence in Part 3",
    text="The proof takes one convergent subsequence, and then supposes that this one stays away "
    "from Z*; only some other one need do so.",
    nature="fault",
)
INDEX = Cause(
    name="index in (37)",
    text="By (8) the gap at t is made of the step of y to t; (37) has the step from t on.",
    nature="fault",
)
CONSTANT = Cause(
    name="constant C_2",
    text="C_2 has the sum of gamma_m/2 where Lemma 4 gives the least gamma_m/2 - sigma_max.",
    nature="fault",
)
SUPPORT = Cause(
    name="support of the noise",
    text="Noise is drawn for the model x_m, so that what is sent lies in the column space of the "
    "data. The proof draws it for the message, with the same law on all data.",
    nature="fault",
    privacy=True,
)
INVERSE = Cause(
    name="norm of the inverse",
    text="The proof of Lemma 1 takes ||(D'D)^-1|| for 1/d_m. Rows of length 1 give trace(D'D) = N; "
    "they keep no eigenvalue away from 0.",
    nature="fault",
    privacy=True,
)
SPECTRAL = Cause(
    name="spectral norm of the design",
    text="The proof of Lemma 1 takes ||D v|| and ||D'v|| for at most ||v||. Rows of length 1 allow "
    "||D|| = sqrt(N).",
    nature="fault",
)
ONE_NUMBER = Cause(
    name="noise of N entries taken for one number",
    text="The proof of Theorem 1 treats D_m xi as a number. It is a vector with an entry for every "
    "sample.",
    nature="fault",
)
EXPONENT = Cause(
    name="exponent of the Gaussian tail",
    text="At r the tail's exponent is (4 L - epsilon)^2 / (16 L) with L = ln(1.25/delta); the "
    "proof of Theorem 1 has 8 for 16, and its next step needs the error.",
    nature="fault",
)
LITTLE_SENT = Cause(
    name="little sent taken for little told",
    text="One number for each sample is sent in each iteration. Without noise N messages give all "
    "inner products of a party's records, and one message its feature up to the sign where it has "
    "one.",
    nature="fault",
)

# Assumptions

BOUNDED = Cause(
    name="bounded iterates",
    text="Assumption 2.1 bounds variables that have Gaussian noise in them, which no bound holds.",
    nature="assumption",
)
BORDER = Cause(
    name="gradient zero at a border",
    text="Proofs set the gradient of (6) to zero at its minimum over X_m, which may lie on the "
    "border of X_m.",
    nature="assumption",
)

# Misprints

AMBIGUOUS_LABELS = Cause(
    name="labels in section 2",
    text="Y_i is one label; the printed set has N entries. Likewise k = 1, ..., N for i.",
    nature="misprint",
)
FREE_INDEX = Cause(
    name="free index of the loss",
    text="A sum over samples is set equal to an expression with the sample's index left in it.",
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
    text="A regulariser with which (6) is quadratic is the square of the norm.",
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
    text="The ratio of the messages' densities is written as that of the noise at one value.",
    nature="misprint",
)
ABSOLUTE_VALUE = Cause(
    name="display of the loss bound",
    text="The absolute value of a sum stands where the sum of absolute values is meant.",
    nature="misprint",
)
THRESHOLD = Cause(
    name="threshold of A_2",
    text="The proof of Theorem 1 splits the noise at delta/2, a probability, where the length r is "
    "meant.",
    nature="misprint",
)

# Readings

UNIT = Cause(
    name="unit of Definition 1's distance",
    text="Datasets are within 1 of each other in l_1 distance, which is one entry of any value for "
    "counts alone.",
    nature="reading",
    privacy=True,
)
FAILING = Cause(
    name="delta as a probability of failure",
    text="An (epsilon, delta) guarantee lets outputs with a larger ratio be more likely than "
    "delta.",
    nature="reading",
    privacy=True,
)
CONFINED = Cause(
    name="a finite bound taken for a small one",
    text="(11) is finite for every T; whether it protects depends on epsilon, which may be 1.",
    nature="reading",
    privacy=True,
)

CAUSES = tuple(value for value in globals().values() if isinstance(value, Cause))
