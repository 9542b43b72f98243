"""Which words people use.

Noisy counts of the words that occur tell who wrote a rare one, as groups of a table do. There is
no public list of all words, so that the repaired function keeps silent about a word unless its
noisy count is above what noise alone reaches with probability delta: the guarantee becomes (1,
0.001). A person counts at most 3 words, which is what the counts can move by in all.
"""

import math
from collections import Counter

import dpaudit

DELTA, MOST = 1e-3, 3


def counted(texts):
    return Counter(word for text in texts for word in sorted(set(text.split()))[:MOST])


def broken(texts, rng):
    return {word: n + rng.laplace(scale=MOST) for word, n in counted(texts).items()}


def repaired(texts, rng):
    least = 1 + MOST * math.log(MOST / (2 * DELTA))
    noisy = {word: n + rng.laplace(scale=MOST) for word, n in counted(texts).items()}
    return {word: n for word, n in noisy.items() if n > least}


texts = ["the cat sat"] * 20 + ["a rare disease"]
options = {"epsilon": 1.0, "delta": DELTA, "trials": 3000, "show_records": True}
for mechanism in (broken, repaired):
    print(dpaudit.audit(mechanism, texts, texts[:-1], **options))
