"""Causes of false statements in both papers on ADMM sharing, whose privacy sections are alike.

A cause that both papers have is one object, and counted once.
"""

from dpaudit.extension.ledger import Cause

SUPPORT = Cause(
    name="support of the noise",
    text="Noise is drawn for the model x_m, so that what is sent, D_m x~_m, lies in the column "
    "space of the data. The proof draws it for the message, with the same law on all data.",
    nature="fault",
    privacy=True,
)

ANY_NOISE = Cause(
    name="noise of Theorem 1",
    text="Theorem 1 lets D_m xi be Gaussian with variance sigma^2. Of N independent entries, with "
    "a C that bounds the sensitivity, it is proved; of the noise that the algorithm draws, or "
    "with the C of Lemma 1, it is false.",
    nature="reading",
    privacy=True,
)

INVERSE = Cause(
    name="norm of the inverse",
    text="The proof of Lemma 1 takes ||(D'D)^-1|| for 1/d_m. Rows of norm 1 give trace(D'D) = N; "
    "they keep no eigenvalue away from 0.",
    nature="fault",
    privacy=True,
)

SPECTRAL = Cause(
    name="spectral norm of the design",
    text="The proof of Lemma 1 takes ||D v|| and ||D'v|| for at most ||v||. Rows of norm 1 allow "
    "||D|| = sqrt(N). Lemma 1 is false by that alone, where D'D = d_m I.",
    nature="fault",
    privacy=True,
)

SLOPE = Cause(
    name="slope for its derivative",
    text="The proof of Lemma 1 counts lambda ||R''|| for lambda R'(x), which is at most lambda "
    "||R'(0)|| + lambda ||R''|| ||x||. Lemma 1 is false by that alone.",
    nature="fault",
    privacy=True,
)

ONE_NUMBER = Cause(
    name="noise of N entries taken for one number",
    text="The proof of Theorem 1 bounds the privacy loss through |D_m xi| as if it were a number. "
    "It "
    "is a vector with an entry for every sample, and as long as about sqrt(N) standard deviations.",
    nature="fault",
)

EXPONENT = Cause(
    name="exponent of the Gaussian tail",
    text="At r the tail's exponent is (4 L - epsilon)^2 / (16 L) with L = ln(1.25/delta); the "
    "proof "
    "of Theorem 1 has 8 for 16, and its next step needs the error.",
    nature="fault",
)

BOUNDED = Cause(
    name="bounded iterates",
    text="Assumption 1.1 bounds what the algorithm computes, which nothing in it projects, and "
    "what "
    "has Gaussian noise in it, which no bound holds.",
    nature="assumption",
)

STATIONARY = Cause(
    name="gradient zero at a border",
    text="The proof of Lemma 1 sets a gradient to 0 at a minimum over a set that Assumption 1.1 "
    "bounds, where the minimum may lie on the border.",
    nature="assumption",
)

DENSITY = Cause(
    name="densities for probabilities",
    text="Theorem 1 is written for single outputs. Of one output P is a density, which has a unit, "
    "and delta has none.",
    nature="reading",
    privacy=True,
)

NO_GAIN = Cause(
    name="a bound above the sum",
    text="For T below 20 and a delta' of 1/100000 or less, Corollary 1 exceeds T epsilon, which "
    "holds by adding up.",
    nature="reading",
    privacy=True,
)

SINGLE_VALUE = Cause(
    name="little sent taken for little told",
    text="One number for each sample is sent in each iteration. Without noise N messages give all "
    "inner products of a party's records.",
    nature="reading",
)

REDUNDANT = Cause(
    name="the dual variable is sent",
    text="Each party pulls y, which follows from the residuals that it pulls as well.",
    nature="reading",
)

SAME_LIMIT = Cause(
    name="an algorithm credited with a regulariser",
    text="Where ADMM converges, it and the central solver have the same limit on the same problem. "
    "A better loss is that of another regulariser or of stopping early.",
    nature="reading",
)

A2_THRESHOLD = Cause(
    name="threshold of A_2",
    text="The proof of Theorem 1 splits the noise at delta/2, a probability, where the length r is "
    "meant.",
    nature="misprint",
)

ABSOLUTE_VALUE = Cause(
    name="display of the loss bound",
    text="Two lines of the proof of Theorem 1 have the absolute value of a sum for the sum of "
    "absolute values, and lose epsilon^2.",
    nature="misprint",
)
