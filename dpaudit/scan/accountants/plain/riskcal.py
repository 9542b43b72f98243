"""riskcal: the advantage of attacks, and epsilon by connect-the-dots."""

import math

from riskcal import analysis
from riskcal.accountants import CTDAccountant


def accountant_of(question):
    """Return an accountant that has stepped through the release, or None."""
    steps = []
    for part in question["release"]:
        if part["kind"] not in ("gaussian", "sampled"):
            return None
        steps.append((part["noise"], part.get("ratio", 1.0), part["count"]))
    accountant = CTDAccountant()
    accountant.history = steps
    return accountant


def ctd(question):
    """Return the answer by connect-the-dots."""
    accountant = accountant_of(question)
    if accountant is None or question["asks"] not in ("epsilon", "advantage"):
        return None
    if question["asks"] == "epsilon":
        return accountant.get_epsilon(delta=question["at"])
    return accountant.get_advantage()


def advantage(question):
    """Return the advantage that follows from a guarantee alone."""
    (part, *more) = question["release"]
    if question["asks"] != "advantage" or more:
        return None
    kind, count = part["kind"], part["count"]
    if kind == "gaussian":
        return analysis.get_advantage_from_gdp(math.sqrt(count) / part["noise"])
    if kind in ("pure", "approximate", "response") and count == 1:
        return analysis.get_advantage_from_adp(part["epsilon"], part.get("delta", 0.0))
    if kind == "concentrated":
        return analysis.get_advantage_from_zcdp(part["rho"] * count)
    return None


METHODS = {"CTDAccountant": ctd, "get_advantage_from": advantage}
