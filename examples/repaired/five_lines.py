"""A count, in five lines.

A count moves by 1 when a person joins, so that Laplace noise of scale 1 makes it 1-differentially
private. Half of that noise is enough for 2 and not for 1: the audit says so from what the
function returns, without reading a line of it.
"""

import dpaudit


def broken(people, rng):
    return len(people) + rng.laplace(scale=0.5)


def repaired(people, rng):
    return len(people) + rng.laplace(scale=1.0)


for mechanism in (broken, repaired):
    print(dpaudit.audit(mechanism, ["Ann", "Bob", "Cid"], ["Ann", "Bob"], epsilon=1.0))
