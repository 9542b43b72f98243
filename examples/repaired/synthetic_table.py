"""A synthetic table that holds real rows.

Rows drawn from the table look random, but each is the record of a person: a reader who sees one
knows that it was in the table. The repaired function draws from noisy counts of all cities. Its
steps after the noise can no longer leak anything.
"""

import numpy as np
import pandas as pd

import dpaudit
from dpaudit.domains import Categories

CITIES = ("Oslo", "Rome", "Kyiv")


def broken(table, rng):
    return table["city"].sample(n=3, replace=True, random_state=rng).to_numpy()


def repaired(table, rng):
    counts = np.array([(table["city"] == city).sum() for city in CITIES])
    noisy = np.maximum(counts + rng.laplace(scale=1.0, size=len(CITIES)), 0) + 1e-9
    return rng.choice(CITIES, size=3, p=noisy / noisy.sum())


table = pd.DataFrame({"city": ["Oslo", "Oslo", "Rome", "Kyiv"]})
claim = {"epsilon": 1.0, "relation": "add-remove-record"}
people = {"columns": {"city": Categories(values=CITIES)}, "records": (3, 4)}
shown = {"trials": 1000, "show_records": True}
proofs = [dpaudit.prove(one, domain=people, **claim) for one in (broken, repaired)]
audits = [dpaudit.audit(one, table, table.iloc[:3], **claim, **shown) for one in (broken, repaired)]
print(*proofs, *audits, sep="\n")
