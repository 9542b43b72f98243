"""Which words people use.

Noisy counts of all words that occur reveal who wrote a rare one, as the groups of a table do. There
is no public list of all words. So the repaired function leaves out a word unless its noisy count is
above a limit that noise alone exceeds with probability at most delta. This makes it
(1, 0.001)-differentially private. A person counts for 3 words at most, so the counts move by 3.
"""

import math
from collections import Counter

import pandas as pd

import dpaudit
from dpaudit.domains import Texts

DELTA, MOST = 1e-3, 3


def counted(table):
    return Counter(word for text in table["text"] for word in sorted(set(text.split()))[:MOST])


def broken(table, rng):
    return {word: n + rng.laplace(scale=MOST) for word, n in counted(table).items()}


def repaired(table, rng):
    least = 1 + MOST * math.log(MOST / (2 * DELTA))
    noisy = {word: n + rng.laplace(scale=MOST) for word, n in counted(table).items()}
    return {word: n for word, n in noisy.items() if n > least}


table = pd.DataFrame({"text": ["the cat sat"] * 20 + ["a rare disease"]})
claim = {"epsilon": 1.0, "delta": DELTA, "relation": "add-remove-record"}
writers = {"columns": {"text": Texts(longest=20)}, "records": (20, 21)}
shown = {"trials": 3000, "show_records": True}
proofs = [dpaudit.prove(one, domain=writers, **claim) for one in (broken, repaired)]
audits = [
    dpaudit.audit(one, table, table.iloc[:-1], **claim, **shown) for one in (broken, repaired)
]
print(*proofs, *audits, sep="\n")
