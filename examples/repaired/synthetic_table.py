"""A synthetic table that holds real rows.

Rows drawn from the table look random and are records of people: who sees one knows that it was
there. The repaired function draws from a noisy count of every combination that could occur; what
comes after the noise can no longer leak.
"""

import numpy as np
import pandas as pd

import dpaudit

CITIES = ["Oslo", "Rome", "Kyiv"]


def broken(table, rng):
    return table.sample(n=3, replace=True, random_state=int(rng.integers(2**32)))


def repaired(table, rng):
    counts = table["city"].value_counts().reindex(CITIES, fill_value=0)
    noisy = np.maximum(counts + rng.laplace(scale=1.0, size=len(CITIES)), 0) + 1e-9
    return pd.DataFrame({"city": rng.choice(CITIES, size=3, p=noisy / noisy.sum())})


table = pd.DataFrame({"city": ["Oslo", "Oslo", "Rome", "Kyiv"]})
options = {"epsilon": 1.0, "trials": 1000, "show_records": True}
for mechanism in (broken, repaired):
    print(dpaudit.audit(mechanism, table, table.iloc[:3], **options))
