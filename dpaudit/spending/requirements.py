"""Requirements of a budget: one spelling of each group, and no charge below the proved cost."""

from __future__ import annotations

from collections.abc import Sequence

from dpaudit.accounting.strongest_guarantee import proved_guarantee
from dpaudit.errors import (
    InvalidArgument,
)
from dpaudit.spending.chain import (
    BrokenChain,
    Chain,
    ChainEntry,
    name_of_group,
)
from dpaudit.spending.charges import (
    ONE_GROUP,
    event_of,
)


def check_stated_epsilon(entry: ChainEntry, name: str) -> None:
    """Refuse a line that is charged less than the accountants prove of its release."""
    if entry.stated is None:
        return
    plain = event_of(entry.model_copy(update={"stated": None}))
    proved = proved_guarantee(plain).epsilon(entry.stated.delta)
    # Another version or machine may give an epsilon that differs in its last digits; a line that is
    # charged too little is further off.
    if proved > entry.stated.epsilon * (1 + 1e-6):
        raise BrokenChain(
            f"{name}: stated: got epsilon {entry.stated.epsilon}, expected at least {proved}"
        )


def require_known_groups(chain: Chain, groups: Sequence[str]) -> set[str]:
    """Return the names of groups; refuse another spelling of one that was charged before."""
    if isinstance(groups, str):
        raise InvalidArgument("groups", groups, "a list of names")
    if groups and chain.header.partition is None:
        expected = "none: the budget states no partition into groups (partition, --groups)"
        raise InvalidArgument("groups", list(groups), expected)
    named = {name_of_group(require_some_words("groups", one)) for one in groups}
    # Two spellings of one group would each have a total of their own, and the group would spend
    # twice.
    known = {one.casefold(): one for entry in chain.charged for one in entry.groups}
    for one in sorted(named):
        like = known.get(one.casefold(), one)
        if like != one:
            expected = f"{like!r}, as it was charged before: one group has one name"
            raise InvalidArgument("groups", one, expected)
    return named


def check_partition(partition: str | None, relation: str) -> None:
    """Refuse groups where a record that is replaced may be in another group than it was."""
    if partition is None:
        return
    require_some_words("partition", partition)
    if relation not in ONE_GROUP:
        expected = f"none: under {relation} the record that is put in may be in another group"
        raise InvalidArgument("partition", partition, expected)


def require_some_words(name: str, text: str) -> str:
    """Return a text with something in it."""
    if not isinstance(text, str) or not text.strip():
        raise InvalidArgument(name, text, "some words")
    return text
