"""Sums by group of a table, and who is in it.

`groupby` returns the groups that occur. If Eve is the only customer in Elm, the line for Elm says
that she is in the table, however much noise its sum has. The repaired function publishes a sum
for every town of a list that is public, whether anybody lives there or not.
"""

import pandas as pd

import dpaudit

TOWNS = ["Ash", "Birch", "Elm"]


def broken(table, rng):
    sums = table["spent"].clip(0, 1).groupby(table["town"]).sum()
    return {town: spent + rng.laplace(scale=1.0) for town, spent in sums.items()}


def repaired(table, rng):
    sums = table["spent"].clip(0, 1).groupby(table["town"]).sum()
    return {town: sums.get(town, 0.0) + rng.laplace(scale=1.0) for town in TOWNS}


table = pd.DataFrame({"town": ["Ash", "Ash", "Birch", "Elm"], "spent": [0.2, 0.9, 0.5, 0.4]})
options = {"epsilon": 1.0, "trials": 1000, "show_records": True}
for mechanism in (broken, repaired):
    print(dpaudit.audit(mechanism, table, table.iloc[:3], **options))
