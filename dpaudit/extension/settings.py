"""The settings of an audit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import dpaudit._check as check
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.extension.setting_table import AuditSettings

WORST_CASE = "worst-case"


@dataclass(frozen=True, kw_only=True)
class Settings(AuditSettings):
    """The settings of an audit; None leaves the choice to the claim.

    Parameters
    ----------
    epsilon, delta
        The claimed guarantee.
    data
        ``worst-case``, or the name of a dataset.
    data_path, data_options
        The folder of the dataset's files, and other options of its loader, none of which names a
        place.
    trials
        The number of certifying outputs for each dataset of the pair.
    confidence
        The confidence of everything that the audit certifies about this claim. A command with
        several claims shares its own among them (`dpaudit.auditing.outcome.error_budget`).
    seed
        The only source of randomness.
    estimator
        ``auto``, ``exact-loss`` or ``event``.
    distinguisher
        The only distinguisher whose score the event bound may use; by default all that work on the
        mechanism.
    doubles
        ``report`` or ``refute``: the part that the lowest bits of outputs may play.
    until_refuted
        True to bet on outputs as they are drawn and to stop at a refutation; ``trials`` is then the
        largest number of outputs.
    candidate_pairs
        The number of pairs of neighbours among which the audit chooses the worst; None audits one
        pair.
    parameters
        The claim's own parameters.
    unit
        The number of trials in a unit of work (`dpaudit.execution.units`); by default as many as
        fit in memory and take at most a second. It is part of the plan, and the report states it.
    time
        The seconds that an audit by drawing may take; ``trials`` then limits the first look
        (`dpaudit.auditing.estimators.group_sequential`).
    looks
        The trials and the share of the error probability of each look, in place of a time.
    show_records
        True to let messages, the report and its certificate hold records and outputs.
    """

    def __post_init__(self) -> None:
        check.non_negative("epsilon", self.epsilon)
        check.require_delta("delta", self.delta)
        check.require_probability("confidence", self.confidence)
        check.require_integer("seed", self.seed, least=0)
        check.require_choice("estimator", self.estimator, ("auto", "exact-loss", "event"))
        check.require_choice("doubles", self.doubles, ("report", "refute"))
        if self.trials is not None:
            check.require_integer("trials", self.trials, least=100)
        if self.unit is not None:
            check.require_integer("unit", self.unit, least=1)
        if self.candidate_pairs is not None:
            check.require_integer("pairs", self.candidate_pairs, least=1)
        if self.time is not None:
            check.require_positive("time", self.time)
        if self.looks is not None:
            # The class is frozen, and files have lists where a setting has tuples.
            object.__setattr__(self, "looks", _validate_looks(self.looks))
        if self.until_refuted and (self.time is not None or self.looks is not None):
            expected = "nothing with --until-refuted, which stops by itself; --trials is its cap"
            raise InvalidArgument("time", self.time or VerbatimText("looks"), expected)
        if not isinstance(self.data_options, Mapping) or "path" in self.data_options:
            expected = "options by name without path: data_path says where the files are"
            raise InvalidArgument("data_option", self.data_options, expected)
        if self.until_refuted and self.estimator == "exact-loss":
            expected = "event or auto: --until-refuted bets on outputs"
            raise InvalidArgument("estimator", self.estimator, expected)
        if self.are_bits_tried and self.estimator == "exact-loss":
            expected = "event or auto: with --doubles refute the audit looks at outputs"
            raise InvalidArgument("estimator", self.estimator, expected)
        if self.are_bits_tried and self.distinguisher is not None:
            expected = "none: with --doubles refute the audit tries lowest bits beside all others"
            raise InvalidArgument("distinguisher", self.distinguisher, expected)

    @property
    def are_bits_tried(self) -> bool:
        """Whether the lowest bits of doubles may refute the claim."""
        return self.doubles == "refute"

    def document(self) -> dict[str, Any]:
        """Return the settings as certificates state them, where a distinguisher is an attack.

        Examples
        --------
        >>> Settings(distinguisher="histogram").document()["attack"]
        'histogram'
        """
        stated = asdict(self)
        del stated["show_records"]  # that of whoever asks, and no number depends on it
        for name in ("unit", "time", "looks"):  # older readers do not know them
            if stated[name] is None:
                del stated[name]
        if not self.are_bits_tried:
            del stated["doubles"]
        return {_STATED.get(name, name): value for name, value in stated.items()}

    @property
    def data_is_public(self) -> bool:
        """Whether the records are made up, or come with an installed library."""
        # With a path, the records of anybody may stand under a public name.
        return self.data.replace("_", "-") in _PUBLIC and self.data_path is None

    @classmethod
    def get_certificate_names(cls) -> frozenset[str]:
        """Return the names that a certificate may state.

        Examples
        --------
        >>> names = Settings.get_certificate_names()
        >>> {"attack", "unit"} < names, "show_records" in names
        (True, False)
        """
        names = {one.name for one in fields(cls)} - {"show_records"}
        return frozenset(_STATED.get(name, name) for name in names)

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Settings:
        """Return the settings that a certificate states, all of whose names are known.

        Examples
        --------
        >>> Settings.read({"attack": "histogram"}).distinguisher
        'histogram'
        """
        names = {stated: name for name, stated in _STATED.items()}
        return cls(**{names.get(name, name): value for name, value in document.items()})


def _validate_looks(looks: Sequence[Sequence[float]]) -> tuple[tuple[int, float], ...]:
    expected = "pairs of at least 4 trials and a share above 0, shares of 1 at most together"
    if not all(len(look) == 2 for look in looks):
        raise InvalidArgument("looks", looks, expected)
    found = tuple((check.require_integer("looks", n, least=4), float(share)) for n, share in looks)
    shares = [share for _, share in found]
    # The comparisons are negated so that NaN is refused. Shares that add up to 1 may miss it by the
    # rounding of doubles.
    if not shares or not min(shares) > 0 or not sum(shares) <= 1 + 1e-9:
        raise InvalidArgument("looks", looks, expected)
    return found


_PUBLIC = (WORST_CASE, "breast-cancer")
_STATED = {"distinguisher": "attack"}  # the name in certificates, of before the word was taken
