"""The claim that a certificate of a replay is about, on the pair of its reader."""

from __future__ import annotations

import math
from typing import Any, TypeGuard

from dpaudit.verification.document import Document


def get_instance_part(document: Document, name: str) -> dict[str, Any]:
    """Return a part of the instance, or raise `DataError`."""
    found = document.instance.get(name)
    if not isinstance(found, dict):
        raise document.refused(f"instance.{name}", found, "an object")
    return found


def claim_of(document: Document, apart: float | None = None) -> tuple[float, float]:
    """Return the file's claim on the pair: for a unit of distance, times the pair's distance.

    The distance is the reader's own: what the file says of it decides nothing.
    """
    from dpaudit.guarantees.rounding import product_up

    stated = get_instance_part(document, "claimed")
    epsilon, delta = stated.get("epsilon"), stated.get("delta")
    if (
        stated.keys() == {"epsilon", "delta"}
        and _is_finite_number(epsilon)
        and _is_finite_number(delta)
    ):
        if epsilon >= 0 and 0 <= delta < 1:
            # The product is rounded up: a claim that came out a little smaller would be refuted
            # by rounding alone.
            here = epsilon if apart is None else product_up(float(epsilon), apart)
            if math.isfinite(here):
                return float(here), float(delta)
    raise document.refused("instance.claimed", stated, "epsilon and delta")


def _is_finite_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and type(value) is not bool and math.isfinite(value)
