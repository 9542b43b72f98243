"""Causes of false statements in both papers on ADMM sharing, whose privacy sections are alike.

A cause that both papers have is one object, and counted once.
"""

from dpaudit.extension.ledger import Cause

SUPPORT = Cause(
    name="support of the noise",
    text="The algorithm draws noise for the model x_m, so the message D_m x~_m lies in the "
    "column space of the data. The proof draws noise for the message, with the same law on "
    "all data.",
    nature="fault",
    privacy=True,
)

ANY_NOISE = Cause(
    name="noise of Theorem 1",
    text="Theorem 1 lets D_m xi be Gaussian with variance sigma^2. The theorem is proved if D_m "
    "xi has N independent entries and C bounds the sensitivity. It is false for the noise "
    "that the algorithm draws, and with the C of Lemma 1.",
    nature="reading",
    privacy=True,
)

INVERSE = Cause(
    name="norm of the inverse",
    text="The proof of Lemma 1 uses 1/d_m as the value of ||(D'D)^-1||. Rows of norm 1 give "
    "trace(D'D) = N, but they keep no eigenvalue away from 0.",
    nature="fault",
    privacy=True,
)

SPECTRAL = Cause(
    name="spectral norm of the design",
    text="The proof of Lemma 1 assumes that ||D v|| and ||D'v|| are at most ||v||. Rows of norm "
    "1 allow ||D|| = sqrt(N). This error alone makes Lemma 1 false, even if D'D = d_m I.",
    nature="fault",
    privacy=True,
)

SLOPE = Cause(
    name="slope for its derivative",
    text="The proof of Lemma 1 uses lambda ||R''|| as a bound for lambda R'(x), which is at most "
    "lambda ||R'(0)|| + lambda ||R''|| ||x||. This error alone makes Lemma 1 false.",
    nature="fault",
    privacy=True,
)

ONE_NUMBER = Cause(
    name="noise of N entries taken for one number",
    text="The proof of Theorem 1 bounds the privacy loss through |D_m xi| as if D_m xi were a "
    "number. It is a vector with an entry for every sample, and its length is about sqrt(N) "
    "standard deviations.",
    nature="fault",
)

EXPONENT = Cause(
    name="exponent of the Gaussian tail",
    text="At r, the exponent of the tail is (4 L - epsilon)^2 / (16 L) with L = ln(1.25/delta); "
    "the proof of Theorem 1 has 8 instead of 16, and its next step needs this error.",
    nature="fault",
)

BOUNDED = Cause(
    name="bounded iterates",
    text="Assumption 1.1 bounds values that the algorithm computes and never projects, and "
    "values with Gaussian noise, which have no bound.",
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
    text="Theorem 1 is written for single outputs. For a single output, P is a density, which "
    "has a unit, but delta has none.",
    nature="reading",
    privacy=True,
)

NO_GAIN = Cause(
    name="a bound above the sum",
    text="For T below 20 and a delta' of 1/100000 or less, Corollary 1 gives more than T "
    "epsilon, which is the sum of the guarantees.",
    nature="reading",
    privacy=True,
)

SINGLE_VALUE = Cause(
    name="little sent taken for little told",
    text="Each iteration sends one number for each sample. Without noise, N messages reveal all "
    "inner products of a party's records.",
    nature="reading",
)

REDUNDANT = Cause(
    name="the dual variable is sent",
    text="Each party pulls y, although y follows from the residuals that the party pulls as well.",
    nature="reading",
)

SAME_LIMIT = Cause(
    name="an algorithm credited with a regulariser",
    text="If ADMM converges, it has the same limit as the central solver on the same problem. A "
    "better loss comes from another regulariser or from stopping early.",
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
