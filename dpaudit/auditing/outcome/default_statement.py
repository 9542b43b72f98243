"""The statement of a case where nobody has put it in words."""

from __future__ import annotations

from typing import Literal

from dpaudit.extension.case import Case, PrivacyCase
from dpaudit.extension.claim import Statement


def make_case_statement(case: Case) -> Statement:
    """Return the claim of a case in words, if nobody has stated it."""
    if isinstance(case, PrivacyCase):
        claimed = f"({case.claimed.epsilon(case.at_delta):g}, {case.at_delta:g})-DP"
        return Statement(
            name=type(case.mechanism).__name__,
            title="A mechanism of one's own",
            statement=f"the mechanism is {claimed}",
            source="the case",
            kind="privacy",
            relation=case.pair.relation.name,
            assumptions={},
        )
    quantity = case.quantity or ("epsilon" if case.at_delta is not None else "sensitivity")
    kinds: dict[str, Literal["privacy", "sensitivity"]]
    kinds = {"epsilon": "privacy", "sensitivity": "sensitivity"}
    return Statement(
        name=quantity,
        title="A bound of one's own",
        statement=f"the {quantity} is at most {case.bound:g}",
        source="the case",
        kind=kinds.get(quantity, "property"),
        relation=case.relation,
        assumptions={},
    )
