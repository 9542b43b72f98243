"""diffprivlib (IBM): its accountant of epsilon and delta."""

from diffprivlib import BudgetAccountant


def total(question):
    """Return the total so far, with the given slack."""
    if question["asks"] != "spent":
        return None
    if any(part["kind"] not in ("pure", "approximate") for part in question["release"]):
        return None
    accountant = BudgetAccountant(slack=question["at"])
    for part in question["release"]:
        for _ in range(part["count"]):
            accountant.spend(part["epsilon"], part.get("delta", 0.0))
    return tuple(accountant.total())


METHODS = {"BudgetAccountant": total}
