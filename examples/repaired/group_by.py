"""Sums by group of a table, and who is in it.

`groupby` returns the groups that occur. If Eve is the only customer in Elm, the line for Elm says
that she is in the table, however much noise its sum has. The repaired function publishes a sum
for every town of a public list, whether anybody lives there or not.
"""

import pandas as pd

import dpaudit
from dpaudit.domains import Categories, Numbers

TOWNS = ("Ash", "Birch", "Elm")


def broken(table, rng):
    sums = table["spent"].clip(0, 1).groupby(table["town"]).sum()
    return {town: spent + rng.laplace(scale=1.0) for town, spent in sums.items()}


def repaired(table, rng):
    spent = table["spent"].clip(0, 1)
    return {town: spent[table["town"] == town].sum() + rng.laplace(scale=1.0) for town in TOWNS}


table = pd.DataFrame({"town": ["Ash", "Ash", "Birch", "Elm"], "spent": [0.2, 0.9, 0.5, 0.4]})
claim = {"epsilon": 1.0, "relation": "add-remove-record"}
columns = {"town": Categories(values=TOWNS), "spent": Numbers(low=0, high=100)}
customers = {"columns": columns, "records": (3, 4)}
shown = {"trials": 1000, "show_records": True}
proofs = [dpaudit.prove(one, domain=customers, **claim) for one in (broken, repaired)]
audits = [dpaudit.audit(one, table, table.iloc[:3], **claim, **shown) for one in (broken, repaired)]
print(*proofs, *audits, sep="\n")
