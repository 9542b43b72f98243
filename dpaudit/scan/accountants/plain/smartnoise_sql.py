"""smartnoise-sql: its odometers of epsilon and delta."""

from snsql import Privacy
from snsql.sql.odometer import Odometer, OdometerHeterogeneous


def parts_of(question):
    """Return (epsilon, delta, count) of each part, or None."""
    if question["asks"] != "spent":
        return None
    parts = question["release"]
    if any(part["kind"] not in ("pure", "approximate") for part in parts):
        return None
    return [(part["epsilon"], part.get("delta", 0.0), part["count"]) for part in parts]


def homogeneous(question):
    """Return the total of equal queries."""
    parts = parts_of(question)
    if parts is None or len(parts) > 1 or question["at"]:
        return None  # its slack is half of delta, and no choice of the user's
    ((epsilon, delta, count),) = parts
    odometer = Odometer(Privacy(epsilon=epsilon, delta=delta))
    odometer.spend(count)
    return odometer.spent


def heterogeneous(question):
    """Return the total of queries that differ."""
    parts = parts_of(question)
    if parts is None or question["at"]:
        return None
    odometer = OdometerHeterogeneous(None)
    for epsilon, delta, count in parts:
        for _ in range(count):
            odometer.spend(Privacy(epsilon=epsilon, delta=delta))
    return odometer.spent


METHODS = {"Odometer": homogeneous, "OdometerHeterogeneous": heterogeneous}
